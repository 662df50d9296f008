//! Matrix products.

use super::super::lowering::{Converted, NodeLowering, Refusal, Scalar, Values, ints};
use super::super::target::Target;
use crate::ir::Value;

pub(super) fn convert(site: &mut NodeLowering, target: Target) -> Converted {
    let operands = match target.name {
        "matmul" | "linalg_matmul" => [site.tensor("self")?, site.tensor("other")?],
        "mm" | "bmm" if target.overload.is_empty() => [site.tensor("self")?, site.tensor("mat2")?],
        "mv" => [site.tensor("self")?, site.tensor("vec")?],
        "dot" => [site.tensor("self")?, site.tensor("tensor")?],
        "linear" => {
            let mut operands = vec![site.tensor("input")?, site.tensor("weight")?];
            operands.extend(site.maybe_tensor("bias")?);
            return site.emit("linear", &[], &operands);
        }
        "einsum" => return einsum(site),
        "_grouped_mm" if !site.given("bias") && !site.given("out_dtype") && site.given("offs") => {
            let operands = [site.tensor("self")?, site.tensor("mat2")?, site.tensor("offs")?];
            let ranks = (site.rank(operands[0]), site.rank(operands[1]));
            return if ranks == (2, 3) { site.emit("grouped_mm", &[], &operands) } else { Ok(None) };
        }
        "addmm" if target.overload.is_empty() => return biased(site, "addmm", ["mat1", "mat2"]),
        "baddbmm" if target.overload.is_empty() => return biased(site, "baddbmm", ["batch1", "batch2"]),
        _ => return Ok(None),
    };
    site.emit("matmul", &[], &operands)
}

/// `beta * self + alpha * (x @ y)`.
fn biased(site: &mut NodeLowering, op: &str, [x, y]: [&str; 2]) -> Converted {
    let operands = [site.tensor("self")?, site.tensor(x)?, site.tensor(y)?];
    let attrs = [
        ("beta", site.maybe_scalar("beta")?.unwrap_or(Scalar::Int(1)).value().into()),
        ("alpha", site.maybe_scalar("alpha")?.unwrap_or(Scalar::Int(1)).value().into()),
    ];
    site.emit(op, &attrs, &operands)
}

/// The labels of a product of two tensors, by where they occur.
struct Labels {
    x: Vec<char>,
    y: Vec<char>,
    out: Vec<char>,
}

impl Labels {
    /// Reads `ab,bc->ac`. `None` for what is not a product of two tensors: repeated labels, labels that only one
    /// operand has and the result has not, dots, implicit results.
    fn parse(equation: &str) -> Option<Labels> {
        let equation: String = equation.chars().filter(|c| !c.is_whitespace()).collect();
        let (operands, out) = equation.split_once("->")?;
        let (x, y) = operands.split_once(',')?;
        let labels = |text: &str| -> Option<Vec<char>> {
            let all: Vec<char> = text.chars().collect();
            let distinct = all.iter().enumerate().all(|(i, c)| c.is_ascii_alphabetic() && !all[..i].contains(c));
            distinct.then_some(all)
        };
        let found = Labels { x: labels(x)?, y: labels(y)?, out: labels(out)? };
        let known = found.out.iter().all(|c| found.x.contains(c) || found.y.contains(c));
        let used = |c: &char, other: &[char]| other.contains(c) || found.out.contains(c);
        let summed_alone = !found.x.iter().all(|c| used(c, &found.y)) || !found.y.iter().all(|c| used(c, &found.x));
        (known && !summed_alone).then_some(found)
    }
}

/// A product of two tensors along named dimensions as a matrix product between rearrangements.
fn einsum(site: &mut NodeLowering) -> Converted {
    let tensors = site.tensors("tensors")?;
    let ranks: Vec<usize> = tensors.iter().map(|&t| site.rank(t)).collect();
    let Some(equation) = site.str("equation").and_then(|equation| spelled_out(equation, &ranks)) else {
        return Ok(None);
    };
    if let [x] = tensors[..] {
        return reordered(site, x, &equation);
    }
    let (Some(labels), [x, y]) = (Labels::parse(&equation), tensors.as_slice()) else {
        return Ok(None);
    };
    let (x, y) = (*x, *y);
    let size = |c: char| -> Option<i64> {
        let of = |value: Value, labels: &[char]| {
            labels.iter().position(|&l| l == c).and_then(|d| site.ty(value).shape.get(d).copied())
        };
        match (of(x, &labels.x), of(y, &labels.y)) {
            (Some(a), Some(b)) if a != b => None,
            (a, b) => a.or(b).map(|n| n as i64),
        }
    };
    let ranks = site.rank(x) == labels.x.len() && site.rank(y) == labels.y.len();
    let all = labels.x.iter().chain(&labels.y);
    if !ranks || all.into_iter().any(|&c| size(c).is_none()) || site.dtype(x) != site.dtype(y) {
        return Ok(None);
    }
    let sizes = |labels: &[char]| -> Vec<i64> { labels.iter().filter_map(|&c| size(c)).collect() };
    let which = |keep: &dyn Fn(&char) -> bool, from: &[char]| -> Vec<char> {
        from.iter().copied().filter(|c| keep(c)).collect()
    };
    let (in_x, in_y) = (|c: &char| labels.x.contains(c), |c: &char| labels.y.contains(c));
    let batch = which(&|c| in_x(c) && in_y(c), &labels.out);
    let left = which(&|c| !in_y(c), &labels.out);
    let right = which(&|c| !in_x(c), &labels.out);
    let inner = which(&|c| in_y(c) && !labels.out.contains(c), &labels.x);
    let count = |labels: &[char]| -> i64 { sizes(labels).iter().product() };
    let (rows, columns, steps) = (count(&left), count(&right), count(&inner));
    let batches = sizes(&batch);
    let matrix = |a: i64, b: i64| [batches.as_slice(), &[a, b]].concat();
    let (x_shape, y_shape) = (matrix(rows, steps), matrix(steps, columns));
    let result: Vec<char> = [batch.as_slice(), &left, &right].concat();
    let result_shape = sizes(&result);

    let x = rearranged(site, "x", x, &labels.x, &[batch.as_slice(), &left, &inner].concat(), &x_shape)?;
    let y = rearranged(site, "y", y, &labels.y, &[batch.as_slice(), &inner, &right].concat(), &y_shape)?;
    let Some(product) = site.emit("matmul", &[], &[x, y])?.and_then(|v| v.first().copied()) else {
        return Ok(None);
    };
    let apart = reshaped(site, "apart", product, &result_shape)?;
    Ok(Some(Values::from_elem(permuted(site, "out", apart, &result, &labels.out)?, 1)))
}

/// The equation with a letter for each dimension that `...` stands for in tensors of these ranks.
fn spelled_out(equation: &str, ranks: &[usize]) -> Option<String> {
    if !equation.contains("...") {
        return Some(equation.to_owned());
    }
    let (operands, _) = equation.split_once("->")?;
    let mut hidden = None;
    for (operand, rank) in operands.split(',').zip(ranks).filter(|(o, _)| o.contains("...")) {
        let named = operand.chars().filter(char::is_ascii_alphabetic).count();
        let count = rank.checked_sub(named)?;
        if *hidden.get_or_insert(count) != count {
            return None;
        }
    }
    let letters: String = ('A'..='Z').filter(|&c| !equation.contains(c)).take(hidden?).collect();
    (Some(letters.len()) == hidden).then(|| equation.replace("...", &letters))
}

/// One tensor with its dimensions in another order; those that the result lacks are summed, and of one that is named twice in a
/// row, the diagonal is taken.
fn reordered(site: &mut NodeLowering, x: Value, equation: &str) -> Converted {
    let Some((from, to)) = equation.split_once("->") else { return Ok(None) };
    let labels = |text: &str| -> Vec<char> { text.chars().filter(|c| !c.is_whitespace()).collect() };
    let (mut from, to) = (labels(from), labels(to));
    let each_once =
        |all: &[char]| all.iter().enumerate().all(|(i, c)| c.is_ascii_alphabetic() && !all[..i].contains(c));
    if from.len() != site.rank(x) || !each_once(&to) || !to.iter().all(|c| from.contains(c)) {
        return Ok(None);
    }
    let mut x = x;
    if let [a, b] = from[..]
        && a == b
    {
        x = site.implicit("diagonal", "diagonal", &[], &[x])?;
        from.pop();
    }
    if !each_once(&from) {
        return Ok(None);
    }
    let summed: Vec<i64> = (0..).zip(&from).filter(|(_, c)| !to.contains(c)).map(|(d, _)| d).collect();
    if !summed.is_empty() {
        x = site.implicit("sum", "sum", &[("dim", ints(&summed))], &[x])?;
        from.retain(|c| to.contains(c));
    }
    let dims: Vec<i64> = to.iter().filter_map(|c| from.iter().position(|f| f == c)).map(|d| d as i64).collect();
    site.emit("permute", &[("dims", ints(&dims))], &[x])
}

fn rearranged(
    site: &mut NodeLowering,
    part: &str,
    value: Value,
    from: &[char],
    to: &[char],
    shape: &[i64],
) -> Result<Value, Refusal> {
    let value = permuted(site, part, value, from, to)?;
    reshaped(site, part, value, shape)
}

/// `value` with its dimensions, labelled `from`, in the order `to`.
fn permuted(site: &mut NodeLowering, part: &str, value: Value, from: &[char], to: &[char]) -> Result<Value, Refusal> {
    if from == to {
        return Ok(value);
    }
    let dims: Vec<i64> = to.iter().filter_map(|c| from.iter().position(|f| f == c)).map(|d| d as i64).collect();
    site.implicit(part, "permute", &[("dims", ints(&dims))], &[value])
}

fn reshaped(site: &mut NodeLowering, part: &str, value: Value, shape: &[i64]) -> Result<Value, Refusal> {
    if site.ty(value).shape.iter().map(|&d| d as i64).eq(shape.iter().copied()) {
        return Ok(value);
    }
    site.implicit(part, "reshape", &[("shape", ints(shape))], &[value])
}

#[cfg(test)]
mod tests {
    use super::{Labels, spelled_out};

    #[test]
    fn dots_stand_for_the_dimensions_that_are_not_named() {
        assert_eq!(spelled_out("...qd,...kd->...qk", &[4, 4]).as_deref(), Some("ABqd,ABkd->ABqk"));
        assert_eq!(spelled_out("...A->A...", &[2]).as_deref(), Some("BA->AB"));
        assert_eq!(spelled_out("ij,jk->ik", &[2, 2]).as_deref(), Some("ij,jk->ik"));
        assert_eq!(spelled_out("...d,...d->...", &[3, 2]), None);
        assert_eq!(spelled_out("...qd->...q", &[1]), None);
    }

    #[test]
    fn equations_of_products_are_read() {
        let labels = Labels::parse("b h q d, b h k d -> b h q k").unwrap();
        assert_eq!((labels.x.len(), labels.y.len(), labels.out.iter().collect::<String>()), (4, 4, "bhqk".to_owned()));
        for other in ["ii,ij->j", "ab->ba", "ab,cd->ad", "...a,ab->...b", "ab,bc", "ab,bc->ad"] {
            assert!(Labels::parse(other).is_none(), "{other}");
        }
    }
}
