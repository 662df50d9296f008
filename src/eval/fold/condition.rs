//! Conditions on an index: comparisons of formulas.

use super::formula::{combine, range, scale};
use crate::eval::constant::{Affine, Constant, Region};
use crate::ir::TensorType;
use crate::ops::Comparison;

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
    Some(Constant::Region(Region::of_truth(constraints)))
}
