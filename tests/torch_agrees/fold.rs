//! Folded constants against libtorch, at the edges of every element type.

use magneton_ir::eval::{Constant, canonical, fold, random};
use magneton_ir::ir::{Number, TensorType, unflatten};
use magneton_ir::ops::replay::replay;
use magneton_ir::ops::tensors::{elements, upload};
use magneton_ir::ops::{self, Call, OpDef, canonical_attrs};
use tch::{Device, Tensor};

use super::draw::{Case, Draw};
use super::fitting::fitting;
use super::{describe, report};

/// Calls drawn per operator.
const CASES: u64 = 100;

/// Elements of all results of a call that were compared bit by bit; why the first that differs does.
fn compare(op: &'static OpDef, case: &Case) -> Result<usize, String> {
    let Ok(mut attrs) = op.attrs(&case.attrs) else { return Ok(0) };
    let types: Vec<&TensorType> = case.operands.iter().map(|o| &o.ty).collect();
    canonical_attrs(op, &mut attrs, &types);
    let call = Call { op, attrs: &attrs, operands: &types };
    let Ok(outputs) = call.infer() else { return Ok(0) };
    let constants: Vec<Constant> =
        case.operands.iter().map(|o| canonical(Constant::Dense(o.data.clone().into()), &o.ty)).collect();
    let constants: Vec<&Constant> = constants.iter().collect();
    let tensors: Result<Vec<Tensor>, _> = case.operands.iter().map(|o| upload(&o.ty, &o.data, Device::Cpu)).collect();
    let Ok(theirs) = tensors.and_then(|t| replay(&call, &t, Device::Cpu)) else { return Ok(0) };
    let mut compared = 0;
    // Anything else is near at best.
    if !outputs.iter().all(|ty| op.kernel.is_exact(&call, ty)) {
        return Ok(0);
    }
    for (slot, (ty, theirs)) in outputs.iter().zip(&theirs).enumerate() {
        let Some(folded) = fold(&call, slot, &constants, ty).filter(|f| f.exact) else { continue };
        let theirs = elements(theirs).map_err(|e| e.to_string())?;
        let ours: Vec<Number> = (0..ty.numel()).map(|flat| folded.value.at(ty, &unflatten(&ty.shape, flat))).collect();
        if ours != theirs {
            let data: Vec<&Vec<Number>> = case.operands.iter().map(|o| &o.data).collect();
            let what = describe(op, &attrs, case);
            return Err(format!("{what} slot {slot} on {data:?}:\n folded   {ours:?}\n libtorch {theirs:?}"));
        }
        compared += ours.len();
    }
    Ok(compared)
}

#[test]
#[ignore = "takes minutes; run it with `--ignored`"]
fn what_folds_exactly_is_what_libtorch_computes_bit_for_bit() {
    let (mut failures, mut compared) = (Vec::new(), 0);
    for op in ops::all() {
        for seed in 0..CASES {
            let mut draw = Draw { edges: true, ..Draw::new(random::mix(seed, 3)) };
            let Some(case) = fitting(op, &mut draw) else { break };
            match compare(op, &case) {
                Ok(count) => compared += count,
                Err(failure) => {
                    failures.push(failure);
                    break;
                }
            }
        }
    }
    report(failures);
    assert!(compared > 20_000, "only {compared} elements");
}
