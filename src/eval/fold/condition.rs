//! Conditions on an index: comparisons of formulas, and what is made of them.

use super::formula::{affine, combine, range, scale};
use crate::eval::constant::{Affine, Constant};
use crate::ir::TensorType;
use crate::ops::Call;

/// `x OP y` as constraints on the index.
pub fn compare(name: &str, x: &Affine, y: &Affine, ty: &TensorType) -> Option<Constant> {
    let difference = combine(x, y, -1)?;
    let (low, high) = range(&difference, &ty.shape)?;
    let uniform = |value: bool| Some(Constant::Uniform(value.into()));
    let always = match name {
        "le" => (high <= 0, low > 0),
        "lt" => (high < 0, low >= 0),
        "ge" => (low >= 0, high < 0),
        "gt" => (low > 0, high <= 0),
        "eq" => (low == 0 && high == 0, low > 0 || high < 0),
        _ => (low > 0 || high < 0, low == 0 && high == 0),
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
    let constraints = match name {
        "le" => vec![difference],
        "lt" => vec![plus_one(difference)?],
        "ge" => vec![minus],
        "gt" => vec![plus_one(minus)?],
        "eq" => vec![difference, minus],
        _ => return None,
    };
    Some(Constant::Polyhedron(constraints))
}

/// `a <= 0` turned round: `a >= 1`.
pub fn negation(a: &Affine) -> Option<Affine> {
    let mut out = scale(a, -1)?;
    out.offset = out.offset.checked_add(1)?;
    Some(out)
}

pub fn conjunction(x: &Constant, y: &Constant, call: &Call, ty: &TensorType) -> Option<Constant> {
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
