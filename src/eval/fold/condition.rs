//! Conditions on an index: comparisons of formulas, and what is made of them.

use super::formula::{affine, combine, range, scale};
use crate::eval::constant::{Affine, Constant};
use crate::ir::TensorType;
use crate::ops::{Call, Comparison};

/// `x OP y` as constraints on the index.
pub(super) fn compare(comparison: Comparison, x: &Affine, y: &Affine, ty: &TensorType) -> Option<Constant> {
    let difference = combine(x, y, -1)?;
    let (low, high) = range(&difference, &ty.shape)?;
    let uniform = |value: bool| Some(Constant::Uniform(value.into()));
    let (equal, unequal) = (low == 0 && high == 0, low > 0 || high < 0);
    let always = match comparison {
        Comparison::LessOrEqual => (high <= 0, low > 0),
        Comparison::Less => (high < 0, low >= 0),
        Comparison::GreaterOrEqual => (low >= 0, high < 0),
        Comparison::Greater => (low > 0, high <= 0),
        Comparison::Equal => (equal, unequal),
        Comparison::NotEqual => (unequal, equal),
    };
    match always {
        (true, _) => return uniform(true),
        (_, true) => return uniform(false),
        _ => {}
    }
    let minus = scale(&difference, -1)?;
    let plus_one = |mut a: Affine| {
        a.offset = a.offset.checked_add(1)?;
        Some(a)
    };
    let constraints = match comparison {
        Comparison::LessOrEqual => vec![difference],
        Comparison::Less => vec![plus_one(difference)?],
        Comparison::GreaterOrEqual => vec![minus],
        Comparison::Greater => vec![plus_one(minus)?],
        Comparison::Equal => vec![difference, minus],
        Comparison::NotEqual => return None,
    };
    Some(Constant::Polyhedron(constraints))
}

/// `a <= 0` turned round: `a >= 1`.
pub(super) fn negation(a: &Affine) -> Option<Affine> {
    let mut out = scale(a, -1)?;
    out.offset = out.offset.checked_add(1)?;
    Some(out)
}

pub(super) fn conjunction(x: &Constant, y: &Constant, call: &Call, ty: &TensorType) -> Option<Constant> {
    let constraints = |c: &Constant, from: &TensorType| -> Option<Vec<Affine>> {
        let Constant::Polyhedron(all) = c else { return None };
        all.iter().map(|a| affine(&Constant::Affine(a.clone()), from, ty)).collect()
    };
    match (x.uniform(), y.uniform()) {
        (Some(v), _) | (_, Some(v)) if !v.is_true() => Some(Constant::Uniform(false.into())),
        (Some(_), _) => constraints(y, call.operands[1]).map(Constant::Polyhedron),
        (_, Some(_)) => constraints(x, call.operands[0]).map(Constant::Polyhedron),
        _ => {
            let mut all = constraints(x, call.operands[0])?;
            all.extend(constraints(y, call.operands[1])?);
            Some(Constant::Polyhedron(all))
        }
    }
}
