//! Rules under libtorch: a second opinion, because both sides of a rule share the reference evaluator.

use rustc_hash::FxHashMap;
use tch::{Device, Tensor};

use super::instance::{BUDGET, Instance};
use crate::eval::{LazyEvaluator, Options};
use crate::ir::{DType, Number};
use crate::ops::replay::replay;
use crate::ops::tensors::{elements, upload};
use crate::ops::{Call, Op};
use crate::rules::arena::{Term, TermId};
use crate::rules::terms::Terms;

/// The values of both sides as libtorch computes them on the CPU. `None` where it has no opinion: it lacks an operator,
/// refuses a number, rounds so coarsely that a difference says nothing, or leaves the finite numbers, where its kernels
/// differ among themselves.
pub(super) fn values(instance: &Instance, rhs: TermId) -> Option<(Vec<Number>, Vec<Number>)> {
    let fine = |dtype: DType| !dtype.is_float() || matches!(dtype, DType::F32 | DType::F64);
    let mut known = FxHashMap::default();
    let mut side = |root: TermId| {
        let tensor = tensor(instance, root, &fine, &mut known)?;
        elements(&tensor).ok()
    };
    let (left, right) = (side(instance.lhs)?, side(rhs)?);
    left.iter().chain(&right).all(|v| v.is_finite()).then_some((left, right))
}

/// Recursion is as deep as the patterns of the rule.
fn tensor(
    instance: &Instance,
    id: TermId,
    fine: &impl Fn(DType) -> bool,
    known: &mut FxHashMap<TermId, Tensor>,
) -> Option<Tensor> {
    if let Some(tensor) = known.get(&id) {
        return Some(tensor.shallow_clone());
    }
    let arena = &instance.arena;
    let ty = arena.ty(id);
    if !fine(ty.dtype) {
        return None;
    }
    let made = match arena.term(id) {
        Term::Leaf(data) => upload(ty, data, Device::Cpu).ok()?,
        Term::Constant(_) => {
            let options = Options { rounding: false, budget: BUDGET };
            upload(ty, &LazyEvaluator::new(arena, options).tensor(id).ok()?, Device::Cpu).ok()?
        }
        Term::Apply { op: Op::Table(op), attrs, slot, operands } => {
            let tensors: Vec<Tensor> =
                operands.iter().map(|&o| tensor(instance, o, fine, known)).collect::<Option<_>>()?;
            let types: Vec<_> = operands.iter().map(|&o| arena.ty(o)).collect();
            let mut results = replay(&Call { op, attrs, operands: &types }, &tensors, Device::Cpu).ok()?;
            (*slot < results.len()).then(|| results.swap_remove(*slot))?
        }
        Term::Apply { .. } => return None,
    };
    known.insert(id, made.shallow_clone());
    Some(made)
}
