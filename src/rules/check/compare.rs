//! Comparing the two sides of an instance.

use super::data::Scale;
use super::instance::{BUDGET, Instance};
use crate::eval::{EvalError, LazyEvaluator, Options, Ties};
use crate::ir::{DType, Number, unflatten};
use crate::rules::Tier;
use crate::rules::arena::TermId;
use crate::rules::terms::Terms;

/// How far two ways to compute the same real number may lie apart in double precision, relatively.
const REAL: f64 = 1e-8;
/// How many roundings' worth two orders of floating-point operations may differ by on small operands.
const ROUNDINGS: f64 = 4096.0;
/// How often what operators leave open is answered in another way.
const ANSWERS: u64 = 3;

/// What comparing found.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Finding {
    Agree,
    /// One of the sides cannot be evaluated here.
    Undefined,
    /// The left side has a value where the right side has none.
    Partial,
    /// The values differ over the real numbers.
    Values {
        left: Vec<Number>,
        right: Vec<Number>,
    },
    /// The values agree over the real numbers but not as the tier claims.
    Tier {
        left: Vec<Number>,
        right: Vec<Number>,
    },
    /// The values agree as long as equal elements keep their order, which is open.
    Order {
        left: Vec<Number>,
        right: Vec<Number>,
    },
    /// The values agree by the reference semantics, and libtorch's differ.
    #[cfg(feature = "torch")]
    Libtorch {
        left: Vec<Number>,
        right: Vec<Number>,
    },
}

/// Compares the values of both sides as far as `tier` claims.
pub(super) fn compare(instance: &Instance, rhs: TermId, tier: Tier) -> Finding {
    // Over 8-bit floats nothing is evaluated without rounding, which where bits count may be left out.
    let rounds = tier == Tier::Exact && has_bytes(instance);
    let (left, right) = match (elements(instance, instance.lhs, rounds), elements(instance, rhs, rounds)) {
        (Ok(left), Ok(right)) => match both(left, right, tier) {
            Ok(both) => both,
            Err(finding) => return finding,
        },
        (Ok(_), Err(EvalError::IndexOutOfRange | EvalError::DivisionByZero)) => return Finding::Partial,
        _ => return Finding::Undefined,
    };
    let scale = instance.data.scale;
    let far = instance.data.is_far();
    if matches!(scale, Scale::Around(_) | Scale::Limits) && instance.adds_floats() {
        return Finding::Agree;
    }
    if far && tier != Tier::Exact && overflows(&left, &right) {
        return Finding::Undefined;
    }
    let tolerance = if let Tier::Approx(e) = tier { e.0 } else { REAL };
    if !close(&left, &right, tolerance, scale) {
        return Finding::Values { left, right };
    }
    if instance.leaves_open()
        && let Some((left, right)) = order_matters(instance, rhs, tier, tolerance)
    {
        return Finding::Order { left, right };
    }
    #[cfg(feature = "torch")]
    if let (Scale::Unit, Some((left, right))) = (scale, super::torch::values(instance, rhs)) {
        let tolerance = tolerance.max(ROUNDINGS * coarsest(instance));
        if !close(&left, &right, tolerance, scale) {
            return Finding::Libtorch { left, right };
        }
    }
    // How much may be lost by rounding is known for operands around 1 only.
    if tier > Tier::Real || tier == Tier::Real && far {
        return Finding::Agree;
    }
    let (Ok(left), Ok(right)) = (elements(instance, instance.lhs, true), elements(instance, rhs, true)) else {
        return Finding::Undefined;
    };
    let (left, right) = match both(left, right, tier) {
        Ok(both) => both,
        Err(finding) => return finding,
    };
    let holds = match tier {
        Tier::Exact => left == right,
        // What leaves the range of a narrow type says nothing of real numbers.
        _ if overflows(&left, &right) => true,
        // A cast that rounds shows as an error far above that of the operands' and the result's type.
        _ => close(&left, &right, ROUNDINGS * coarsest(instance), scale),
    };
    if holds { Finding::Agree } else { Finding::Tier { left, right } }
}

/// The values of both sides where they differ in how they order equal elements.
fn order_matters(instance: &Instance, rhs: TermId, tier: Tier, tolerance: f64) -> Option<(Vec<Number>, Vec<Number>)> {
    let exact = tier == Tier::Exact;
    let side = |root, answer| {
        let options = Options { rounding: exact, budget: BUDGET };
        LazyEvaluator::new(&instance.arena, options).with_ties(Ties::Drawn(answer)).tensor(root).ok()
    };
    (0..ANSWERS).find_map(|answer| {
        let (left, right) = (side(instance.lhs, answer)?, side(rhs, answer)?);
        let same = if exact { left == right } else { close(&left, &right, tolerance, instance.data.scale) };
        (!same).then_some((left, right))
    })
}

/// Whether an 8-bit float is among the types of the instance.
fn has_bytes(instance: &Instance) -> bool {
    instance.arena.types().any(|t| matches!(t.dtype, DType::F8E4M3 | DType::F8E5M2))
}

/// Whether the sides differ in leaving the range of their types: for operands that are not around 1 this says nothing about
/// real numbers.
fn overflows(left: &[Number], right: &[Number]) -> bool {
    left.iter().zip(right).any(|(a, b)| a != b && !(a.is_finite() && b.is_finite()))
}

/// The elements of a side, with every operator's result rounded to its type or not.
pub(super) fn values(instance: &Instance, side: TermId, rounding: bool) -> Result<Vec<Number>, EvalError> {
    let mut evaluator = LazyEvaluator::new(&instance.arena, Options { rounding, budget: BUDGET });
    evaluator.tensor(side)
}

/// As [`values`], where elements that are floats without a counterpart in an integer type are none.
fn elements(instance: &Instance, side: TermId, rounding: bool) -> Result<Vec<Option<Number>>, EvalError> {
    let mut evaluator = LazyEvaluator::new(&instance.arena, Options { rounding, budget: BUDGET });
    match evaluator.tensor(side) {
        Err(EvalError::Unrepresentable) => {}
        whole => return Ok(whole?.into_iter().map(Some).collect()),
    }
    let ty = instance.arena.ty(side);
    let element = |flat| match evaluator.element(side, &unflatten(&ty.shape, flat)) {
        Err(EvalError::Unrepresentable) => Ok(None),
        element => element.map(Some),
    };
    (0..ty.numel()).map(element).collect()
}

/// The elements that both sides have. Bit for bit, the right side has to have all that the left one has.
fn both(
    left: Vec<Option<Number>>,
    right: Vec<Option<Number>>,
    tier: Tier,
) -> Result<(Vec<Number>, Vec<Number>), Finding> {
    let there = |side: Vec<Option<Number>>| side.into_iter().flatten().collect();
    if left.len() != right.len() {
        return Ok((there(left), there(right)));
    }
    if tier != Tier::Exact {
        let whole = left.iter().chain(&right).all(Option::is_some);
        return if whole { Ok((there(left), there(right))) } else { Err(Finding::Undefined) };
    }
    if left.iter().zip(&right).any(|(a, b)| a.is_some() && b.is_none()) {
        return Err(Finding::Partial);
    }
    let none = !left.is_empty() && left.iter().all(Option::is_none);
    let common = left.into_iter().zip(right).filter_map(|(a, b)| a.zip(b)).unzip();
    if none { Err(Finding::Undefined) } else { Ok(common) }
}

/// Whether all elements agree: floats relative to the largest finite one.
fn close(left: &[Number], right: &[Number], tolerance: f64, scale: Scale) -> bool {
    let finite = left.iter().chain(right).filter(|v| v.is_finite());
    let largest = finite.fold(scale.floor(), |m, v| m.max(v.to_f64().abs()));
    let same = |a: Number, b: Number| match (a, b) {
        (Number::Float(x), Number::Float(y)) => x == y || x.0 == y.0 || (x.0 - y.0).abs() <= tolerance * largest,
        _ => a == b,
    };
    left.len() == right.len() && left.iter().zip(right).all(|(&a, &b)| same(a, b))
}

/// The largest rounding step among the float types of the operands and the result.
fn coarsest(instance: &Instance) -> f64 {
    let step = |dtype: DType| dtype.epsilon().unwrap_or(0.0);
    let result = step(instance.arena.ty(instance.lhs).dtype);
    instance.leaves().fold(result, |e, id| e.max(step(instance.arena.ty(id).dtype)))
}
