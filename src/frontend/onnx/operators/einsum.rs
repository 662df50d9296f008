//! Sums of products over named dimensions.

use super::operator::{Operator, standard};
use crate::frontend::builder::{Refusal, int};
use crate::frontend::onnx::lowering::{Lowered, NodeLowering, one};
use crate::ir::{AttrValue, Value};

pub(super) const OPERATORS: &[Operator] = &[standard("Einsum", &[12, 28], einsum)];

/// A dimension: a letter, or one of those that `...` stands for, counted from the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Name {
    Letter(char),
    Batch(usize),
}

fn wrong(equation: &str) -> Refusal {
    Refusal::new(format!("has the equation `{equation}`, which does not fit its inputs"))
}

/// The names of the dimensions of a term, for a tensor of rank `rank`.
fn names(term: &str, rank: Option<usize>, batch: usize) -> Option<Vec<Name>> {
    let (before, after) = match term.split_once("...") {
        Some((before, after)) => (before, Some(after)),
        None => (term, None),
    };
    let letters = |text: &str| -> Option<Vec<Name>> {
        text.chars().map(|c| c.is_ascii_alphabetic().then_some(Name::Letter(c))).collect()
    };
    let mut all = letters(before)?;
    if let Some(after) = after {
        let after = letters(after)?;
        let count = match rank {
            Some(rank) => rank.checked_sub(all.len() + after.len())?,
            None => batch,
        };
        all.extend((0..count).rev().map(Name::Batch));
        all.extend(after);
    }
    rank.is_none_or(|rank| rank == all.len()).then_some(all)
}

fn einsum(s: &mut NodeLowering) -> Lowered {
    let equation: String = s.text("equation", "")?.chars().filter(|c| !c.is_whitespace()).collect();
    let (left, right) = match equation.split_once("->") {
        Some((left, right)) => (left, Some(right)),
        None => (equation.as_str(), None),
    };
    let operands = s.all()?;
    let terms: Vec<&str> = left.split(',').collect();
    if terms.len() != operands.len() {
        return Err(wrong(&equation));
    }
    let mut factors = Vec::new();
    for (term, &x) in terms.iter().zip(&operands) {
        let names = names(term, Some(s.rank(x)), 0).ok_or_else(|| wrong(&equation))?;
        factors.push(diagonal(s, x, names)?);
    }
    let all: Vec<Name> = factors.iter().flat_map(|(_, names)| names.iter().copied()).collect();
    let batch = all.iter().filter_map(|n| if let Name::Batch(i) = n { Some(i + 1) } else { None }).max().unwrap_or(0);
    let output = match right {
        Some(right) => names_of_output(right, batch).ok_or_else(|| wrong(&equation))?,
        None => {
            // What stands once, in the order of the alphabet.
            let count = |c: char| left.chars().filter(|&x| x == c).count();
            let mut letters: Vec<char> = left.chars().filter(|c| c.is_ascii_alphabetic() && count(*c) == 1).collect();
            letters.sort_unstable();
            (0..batch).rev().map(Name::Batch).chain(letters.into_iter().map(Name::Letter)).collect()
        }
    };
    if output.iter().any(|n| matches!(n, Name::Letter(_)) && !all.contains(n)) {
        return Err(wrong(&equation));
    }
    let mut factors = factors.into_iter();
    let (mut x, mut of_x) = factors.next().ok_or_else(|| wrong(&equation))?;
    let mut left: Vec<(Value, Vec<Name>)> = factors.collect();
    while !left.is_empty() {
        let (y, of_y) = left.remove(0);
        let later = |n: &Name| output.contains(n) || left.iter().any(|(_, names)| names.contains(n));
        let needed: Vec<Name> = of_x.iter().chain(&of_y).copied().filter(later).collect();
        (x, of_x) = product(s, (x, of_x), (y, of_y), &needed)?;
    }
    let (x, of_x) = summed(s, x, of_x, |n| output.contains(&n))?;
    // Batches that no input has are not there.
    let output: Vec<Name> = output.into_iter().filter(|n| of_x.contains(n)).collect();
    let order: Option<Vec<i64>> = output.iter().map(|n| of_x.iter().position(|m| m == n).map(|i| i as i64)).collect();
    let order = order.filter(|o| o.len() == of_x.len()).ok_or_else(|| wrong(&equation))?;
    one(s.permute(x, &order)?)
}

fn names_of_output(term: &str, batch: usize) -> Option<Vec<Name>> {
    let all = names(term, None, batch)?;
    let distinct = all.iter().enumerate().all(|(i, n)| !all[..i].contains(n));
    distinct.then_some(all)
}

/// A tensor without dimensions of one name: what stands on their diagonal.
fn diagonal(s: &mut NodeLowering, mut x: Value, mut names: Vec<Name>) -> Result<(Value, Vec<Name>), Refusal> {
    while let Some((i, j)) = (0..names.len()).find_map(|j| {
        let i = names[..j].iter().position(|n| *n == names[j])?;
        Some((i, j))
    }) {
        x = s.op("diagonal", &[("dim1", int(i as i64)), ("dim2", int(j as i64))], &[x])?;
        let name = names.remove(j);
        names.remove(i);
        names.push(name);
    }
    Ok((x, names))
}

/// A tensor summed over the dimensions that are not kept.
fn summed(
    s: &mut NodeLowering,
    x: Value,
    names: Vec<Name>,
    keep: impl Fn(Name) -> bool,
) -> Result<(Value, Vec<Name>), Refusal> {
    let dims: Vec<i64> = (0..).zip(&names).filter(|(_, n)| !keep(**n)).map(|(i, _)| i).collect();
    let x = s.reduce("sum", x, &dims, false)?;
    Ok((x, names.into_iter().filter(|n| keep(*n)).collect()))
}

/// The product of two tensors, summed over all dimensions but `needed`, as a product of batches of matrices.
fn product(
    s: &mut NodeLowering,
    (x, of_x): (Value, Vec<Name>),
    (y, of_y): (Value, Vec<Name>),
    needed: &[Name],
) -> Result<(Value, Vec<Name>), Refusal> {
    // What only one of them has, and nobody needs, is summed first.
    let (x, of_x) = summed(s, x, of_x, |n| needed.contains(&n) || of_y.contains(&n))?;
    let (y, of_y) = summed(s, y, of_y, |n| needed.contains(&n) || of_x.contains(&n))?;
    let (shared, own): (Vec<Name>, Vec<Name>) = of_x.iter().partition(|n| of_y.contains(n));
    let (batch, inner): (Vec<Name>, Vec<Name>) = shared.into_iter().partition(|n| needed.contains(n));
    let other: Vec<Name> = of_y.iter().copied().filter(|n| !of_x.contains(n)).collect();
    let size =
        |s: &NodeLowering, x: Value, of: &[Name], n: &Name| of.iter().position(|m| m == n).map_or(1, |i| s.size(x, i));
    let sizes = |s: &NodeLowering, names: &[Name]| -> Vec<i64> {
        names.iter().map(|n| size(s, x, &of_x, n).max(size(s, y, &of_y, n))).collect()
    };
    let (b, m, k, n) = (sizes(s, &batch), sizes(s, &own), sizes(s, &inner), sizes(s, &other));
    let shaped =
        |s: &mut NodeLowering, v: Value, of: &[Name], parts: [(&[Name], &[i64]); 3]| -> Result<Value, Refusal> {
            let order: Vec<Name> = parts.iter().flat_map(|(names, _)| names.iter().copied()).collect();
            let order: Vec<i64> =
                order.iter().filter_map(|n| of.iter().position(|m| m == n)).map(|i| i as i64).collect();
            let turned = s.permute(v, &order)?;
            // Sizes of 1 stand for all of a dimension.
            let full: Vec<i64> = parts.iter().flat_map(|(_, sizes)| sizes.iter().copied()).collect();
            let whole = s.expand(turned, &full)?;
            let mut flat: Vec<i64> = parts[0].1.to_vec();
            flat.extend(parts[1..].iter().map(|(_, sizes)| sizes.iter().product::<i64>()));
            s.reshape(whole, &flat)
        };
    let left = shaped(s, x, &of_x, [(&batch, &b), (&own, &m), (&inner, &k)])?;
    let right = shaped(s, y, &of_y, [(&batch, &b), (&inner, &k), (&other, &n)])?;
    let result = s.binary("matmul", left, right)?;
    let flat: Vec<i64> = [&b[..], &m[..], &n[..]].concat();
    let result = s.op("reshape", &[("shape", AttrValue::Ints(flat.into_iter().collect()))], &[result])?;
    Ok((result, [batch, own, other].concat()))
}
