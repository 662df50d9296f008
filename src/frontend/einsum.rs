//! Sums of products over named dimensions, as products of matrices between rearrangements.

use super::builder::{Converted, Lowering, Refusal, Values, int, ints};
use crate::ir::{AttrValue, Value};

/// A dimension: a letter, or one of those that `...` stands for, counted from the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Name {
    Letter(char),
    Hidden(usize),
}

/// A tensor with a name for each dimension.
#[derive(Clone)]
struct Factor {
    value: Value,
    names: Vec<Name>,
}

/// What an equation says of operands of certain ranks: the names of their dimensions, and those of the result.
#[derive(PartialEq, Debug)]
struct Equation {
    operands: Vec<Vec<Name>>,
    result: Vec<Name>,
}

impl Equation {
    /// `None` for an equation that does not fit operands of these ranks.
    fn parse(text: &str, ranks: &[usize]) -> Option<Equation> {
        let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let (left, right) = match text.split_once("->") {
            Some((left, right)) => (left, Some(right)),
            None => (text.as_str(), None),
        };
        let terms: Vec<&str> = left.split(',').collect();
        if terms.len() != ranks.len() {
            return None;
        }
        let operands: Vec<Vec<Name>> =
            terms.iter().zip(ranks).map(|(term, &rank)| of_term(term, Some(rank), 0)).collect::<Option<_>>()?;
        let all = || operands.iter().flatten();
        let hidden = all().filter_map(|n| if let Name::Hidden(i) = n { Some(i + 1) } else { None }).max().unwrap_or(0);
        let result = match right {
            Some(right) => of_term(right, None, hidden)?,
            None => {
                // The letters that stand once, in the order of the alphabet.
                let mut once: Vec<char> = left.chars().filter(char::is_ascii_alphabetic).collect();
                once.retain(|&c| left.matches(c).count() == 1);
                once.sort_unstable();
                (0..hidden).rev().map(Name::Hidden).chain(once.into_iter().map(Name::Letter)).collect()
            }
        };
        let distinct = result.iter().enumerate().all(|(i, n)| !result[..i].contains(n));
        let known = result.iter().all(|n| all().any(|m| m == n));
        (distinct && known).then_some(Equation { operands, result })
    }
}

/// The names in a term: of an operand of rank `rank`, or of the result, where `...` stands for `hidden` dimensions.
fn of_term(term: &str, rank: Option<usize>, hidden: usize) -> Option<Vec<Name>> {
    let letters = |text: &str| -> Option<Vec<Name>> {
        text.chars().map(|c| c.is_ascii_alphabetic().then_some(Name::Letter(c))).collect()
    };
    let mut names = Vec::new();
    match term.split_once("...") {
        None => names = letters(term)?,
        Some((before, after)) => {
            let (before, after) = (letters(before)?, letters(after)?);
            let count = match rank {
                Some(rank) => rank.checked_sub(before.len() + after.len())?,
                None => hidden,
            };
            names.extend(before);
            names.extend((0..count).rev().map(Name::Hidden));
            names.extend(after);
        }
    }
    rank.is_none_or(|rank| rank == names.len()).then_some(names)
}

/// Lowers `equation` over `operands`, which are multiplied from left to right. `path` says otherwise: pairs of places, each pair replaced by
/// its product at the end of the list. `None` where equation, path and operands do not fit together.
pub(super) fn einsum(lowering: &mut Lowering, equation: &str, path: Option<&[i64]>, operands: &[Value]) -> Converted {
    let ranks: Vec<usize> = operands.iter().map(|&x| lowering.rank(x)).collect();
    let Some(Equation { operands: names, result }) = Equation::parse(equation, &ranks) else { return Ok(None) };
    let alike = operands.windows(2).all(|pair| lowering.dtype(pair[0]) == lowering.dtype(pair[1]));
    let mut factors: Vec<Factor> = operands.iter().zip(names).map(|(&value, names)| Factor { value, names }).collect();
    let Some(pairs) = pairs(path, operands.len()) else { return Ok(None) };
    if !alike || !sizes_fit(lowering, &factors) {
        return Ok(None);
    }
    for i in 0..factors.len() {
        factors[i] = without_ones(lowering, i, &factors)?;
        factors[i] = diagonal(lowering, factors[i].clone())?;
    }
    for (i, j) in pairs {
        let y = factors.remove(j);
        let x = factors.remove(i);
        let needed = |n: Name| result.contains(&n) || factors.iter().any(|f| f.names.contains(&n));
        let product = product(lowering, x, y, &needed, factors.is_empty())?;
        let place = if path.is_some() { factors.len() } else { 0 };
        factors.insert(place, product);
    }
    let Some(factor) = factors.pop() else { return Ok(None) };
    let alone = operands.len() == 1;
    let Factor { value, names } = summed(lowering, factor, &|n| result.contains(&n))?;
    let dims = order(&names, &result);
    if alone {
        // This node stands for the whole.
        return lowering.emit("permute", &[("dims", ints(&dims))], &[value]);
    }
    Ok(Some(Values::from_elem(permuted(lowering, value, &dims)?, 1)))
}

/// Which two of the factors that are left are multiplied, step by step: the smaller place first.
fn pairs(path: Option<&[i64]>, factors: usize) -> Option<Vec<(usize, usize)>> {
    let steps = factors.saturating_sub(1);
    let Some(path) = path else { return Some(vec![(0, 1); steps]) };
    if path.len() != 2 * steps {
        return None;
    }
    let step = |(done, places): (usize, &[i64])| {
        let place = |i: i64| usize::try_from(i).ok().filter(|&i| i < factors - done);
        let (i, j) = (place(places[0])?, place(places[1])?);
        (i != j).then_some((i.min(j), i.max(j)))
    };
    path.chunks_exact(2).enumerate().map(step).collect()
}

fn size(lowering: &Lowering, factor: &Factor, name: Name) -> Option<usize> {
    let dim = factor.names.iter().position(|&n| n == name)?;
    lowering.graph.ty(factor.value).shape.get(dim).copied()
}

/// Whether dimensions of one name have one size, or 1, and one size within a tensor.
fn sizes_fit(lowering: &Lowering, factors: &[Factor]) -> bool {
    let sized = |f: &Factor| -> Vec<(Name, usize)> {
        f.names.iter().copied().zip(lowering.graph.ty(f.value).shape.iter().copied()).collect()
    };
    let agree = |all: &[(Name, usize)]| all.iter().all(|(n, a)| all.iter().all(|(m, b)| n != m || a == b));
    let mut wide = Vec::new();
    for factor in factors {
        let sizes = sized(factor);
        if !agree(&sizes) {
            return false;
        }
        wide.extend(sizes.into_iter().filter(|&(_, size)| size != 1));
    }
    agree(&wide)
}

/// A factor without the dimensions of size 1 that are wider in another one.
fn without_ones(lowering: &mut Lowering, which: usize, factors: &[Factor]) -> Result<Factor, Refusal> {
    let factor = &factors[which];
    let wider = |n: Name| factors.iter().any(|f| size(lowering, f, n).is_some_and(|size| size != 1));
    let kept = |n: Name| size(lowering, factor, n) != Some(1) || !wider(n);
    let shape = &lowering.graph.ty(factor.value).shape;
    let sizes = factor.names.iter().zip(shape).filter(|(n, _)| kept(**n)).map(|(_, &size)| size as i64);
    let sizes: Vec<i64> = sizes.collect();
    let names = factor.names.iter().copied().filter(|&n| kept(n)).collect();
    Ok(Factor { value: reshaped(lowering, factor.value, &sizes)?, names })
}

/// A factor that has each name once: what stands on the diagonal of dimensions of one name.
fn diagonal(lowering: &mut Lowering, mut factor: Factor) -> Result<Factor, Refusal> {
    while let Some((i, j)) = twice(&factor.names) {
        let dims = [("dim1", int(i as i64)), ("dim2", int(j as i64))];
        factor.value = lowering.implicit("diagonal", "diagonal", &dims, &[factor.value])?;
        let name = factor.names.remove(j);
        factor.names.remove(i);
        factor.names.push(name);
    }
    Ok(factor)
}

/// Where the first name that stands twice stands.
fn twice(names: &[Name]) -> Option<(usize, usize)> {
    (0..names.len()).find_map(|j| names[..j].iter().position(|n| *n == names[j]).map(|i| (i, j)))
}

/// A factor summed over the dimensions that are not kept.
fn summed(lowering: &mut Lowering, factor: Factor, kept: &dyn Fn(Name) -> bool) -> Result<Factor, Refusal> {
    let dims: Vec<i64> = (0..).zip(&factor.names).filter(|(_, n)| !kept(**n)).map(|(d, _)| d).collect();
    if dims.is_empty() {
        return Ok(factor);
    }
    let value = computed(lowering, "sum", &[("dim", ints(&dims))], &[factor.value], false)?;
    Ok(Factor { value, names: factor.names.into_iter().filter(|&n| kept(n)).collect() })
}

/// A node with a kernel of its own; the last one of a product stands for the whole.
fn computed(
    lowering: &mut Lowering,
    op: &str,
    attrs: &[(&str, AttrValue)],
    operands: &[Value],
    last: bool,
) -> Result<Value, Refusal> {
    if !last {
        return lowering.step(op, attrs, operands);
    }
    let values = lowering.emit(op, attrs, operands)?;
    values.and_then(|v| v.first().copied()).ok_or_else(|| Refusal::new(format!("needs the operator `{op}`")))
}

/// The product of two factors, summed over all dimensions but those that are needed.
fn product(
    lowering: &mut Lowering,
    x: Factor,
    y: Factor,
    needed: &dyn Fn(Name) -> bool,
    last: bool,
) -> Result<Factor, Refusal> {
    let x = summed(lowering, x, &|n| needed(n) || y.names.contains(&n))?;
    let y = summed(lowering, y, &|n| needed(n) || x.names.contains(&n))?;
    let (shared, left): (Vec<Name>, Vec<Name>) = x.names.iter().partition(|n| y.names.contains(n));
    let (batch, inner): (Vec<Name>, Vec<Name>) = shared.into_iter().partition(|&n| needed(n));
    let right: Vec<Name> = y.names.iter().copied().filter(|n| !x.names.contains(n)).collect();
    let sizes = |names: &[Name]| -> Vec<i64> {
        let of = |&n: &Name| size(lowering, &x, n).or_else(|| size(lowering, &y, n)).map(|n| n as i64);
        names.iter().filter_map(of).collect()
    };
    let (batches, rows, steps, columns) = (sizes(&batch), sizes(&left), sizes(&inner), sizes(&right));
    let result: Vec<i64> = [batches.as_slice(), &rows, &columns].concat();
    let names: Vec<Name> = [batch.as_slice(), &left, &right].concat();
    if inner.is_empty() {
        // Nothing is summed: elements times elements.
        let ones = |sizes: &[i64]| vec![1; sizes.len()];
        let x = arranged(lowering, &x, &[&batch, &left], &[batches.as_slice(), &rows, &ones(&columns)].concat())?;
        let y = arranged(lowering, &y, &[&batch, &right], &[batches.as_slice(), &ones(&rows), &columns].concat())?;
        return Ok(Factor { value: computed(lowering, "mul", &[], &[x, y], last)?, names });
    }
    let count = |sizes: &[i64]| -> i64 { sizes.iter().product() };
    let matrices = |a: i64, b: i64| [batches.as_slice(), &[a, b]].concat();
    let (rows, steps, columns) = (count(&rows), count(&steps), count(&columns));
    let x = arranged(lowering, &x, &[&batch, &left, &inner], &matrices(rows, steps))?;
    let y = arranged(lowering, &y, &[&batch, &inner, &right], &matrices(steps, columns))?;
    let product = computed(lowering, "matmul", &[], &[x, y], last)?;
    Ok(Factor { value: reshaped(lowering, product, &result)?, names })
}

/// A factor with its dimensions in this order, and then of this shape.
fn arranged(lowering: &mut Lowering, factor: &Factor, to: &[&[Name]], shape: &[i64]) -> Result<Value, Refusal> {
    let dims = order(&factor.names, &to.concat());
    let value = permuted(lowering, factor.value, &dims)?;
    reshaped(lowering, value, shape)
}

/// Where each of the names `to` stands in `from`.
fn order(from: &[Name], to: &[Name]) -> Vec<i64> {
    to.iter().filter_map(|n| from.iter().position(|m| m == n)).map(|d| d as i64).collect()
}

fn permuted(lowering: &mut Lowering, value: Value, dims: &[i64]) -> Result<Value, Refusal> {
    if dims.iter().copied().eq(0..dims.len() as i64) {
        return Ok(value);
    }
    lowering.implicit("permute", "permute", &[("dims", ints(dims))], &[value])
}

fn reshaped(lowering: &mut Lowering, value: Value, shape: &[i64]) -> Result<Value, Refusal> {
    if lowering.ty(value).shape.iter().map(|&d| d as i64).eq(shape.iter().copied()) {
        return Ok(value);
    }
    lowering.implicit("reshape", "reshape", &[("shape", ints(shape))], &[value])
}

#[cfg(test)]
mod tests {
    use super::{Equation, Name, pairs};

    fn shown(text: &str, ranks: &[usize]) -> Option<String> {
        let Equation { operands, result } = Equation::parse(text, ranks)?;
        let name = |n: &Name| match n {
            Name::Letter(c) => *c,
            Name::Hidden(i) => char::from_digit(*i as u32, 10).unwrap(),
        };
        let term = |names: &Vec<Name>| names.iter().map(name).collect::<String>();
        Some(format!("{}->{}", operands.iter().map(term).collect::<Vec<_>>().join(","), term(&result)))
    }

    #[test]
    fn dots_stand_for_the_dimensions_that_are_not_named() {
        assert_eq!(shown("...qd, ...kd -> ...qk", &[4, 3]).as_deref(), Some("10qd,0kd->10qk"));
        assert_eq!(shown("...A->A...", &[2]).as_deref(), Some("0A->A0"));
        assert_eq!(shown("...d,...d", &[3, 2]).as_deref(), Some("10d,0d->10"));
        assert_eq!(shown("...qd->...q", &[1]), None);
    }

    #[test]
    fn a_missing_result_has_the_letters_that_stand_once_in_order() {
        assert_eq!(shown("cb,bA", &[2, 2]).as_deref(), Some("cb,bA->Ac"));
        assert_eq!(shown("ii", &[2]).as_deref(), Some("ii->"));
    }

    #[test]
    fn equations_that_do_not_fit_are_told() {
        for (text, ranks) in
            [("ab->cb", &[2][..]), ("ab->aa", &[2]), ("ab,bc->ac", &[2]), ("a1->a", &[2]), ("ab->a", &[3])]
        {
            assert_eq!(shown(text, ranks), None, "{text}");
        }
    }

    #[test]
    fn a_path_names_two_places_of_what_is_left() {
        assert_eq!(pairs(Some(&[2, 0, 0, 1]), 3), Some(vec![(0, 2), (0, 1)]));
        assert_eq!(pairs(None, 3), Some(vec![(0, 1), (0, 1)]));
        for wrong in [&[1, 1, 0, 1][..], &[0, 3, 0, 1], &[0, 1, 0, 2], &[-1, 0, 0, 1], &[0, 1]] {
            assert_eq!(pairs(Some(wrong), 3), None);
        }
    }
}
