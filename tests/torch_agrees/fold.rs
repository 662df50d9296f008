//! Folded constants against libtorch, at the edges of every element type.

use magneton_ir::eval::{Constant, canonical, fold, random};
use magneton_ir::ir::{DType, Number, TensorType, unflatten};
use magneton_ir::ops::replay::replay;
use magneton_ir::ops::tensors::{elements, upload};
use magneton_ir::ops::{self, Call, OpDef, canonical_attrs};
use tch::{Device, Tensor};

use super::draw::{Case, Draw, Operand, edge_element};
use super::fitting::fitting;
use super::{describe, has_elements, report, tolerance};

/// Calls drawn per operator.
const CASES: u64 = 400;

/// Elements that are compared at least, of every operator that has values.
const LEAST: usize = 50;

/// What was compared of an operator.
#[derive(Default)]
struct Compared {
    /// Elements that have to be the same bit by bit.
    exact: usize,
    /// Elements that have to be near.
    near: usize,
}

/// Makes some operands what programs have for constants: all elements alike, a formula over the index, a triangle.
fn shape_constants(case: &mut Case, draw: &mut Draw) {
    for Operand { ty, data } in &mut case.operands {
        let choice = draw.below(1 << 20) as u64;
        let value =
            if draw.edges { edge_element(ty.dtype, choice) } else { ty.dtype.element((choice % 7) as f64 - 3.0) };
        let far = [120, -128, 250, 32_765, (1 << 24) - 2, i64::from(i32::MAX) - 2];
        let start = if draw.edges && draw.chance(2) { draw.pick(&far) } else { draw.range(-4, 5) };
        let slopes: Vec<i64> = (0..ty.rank()).map(|_| draw.range(-2, 3)).collect();
        let diagonal = draw.range(-2, 3);
        let place = |flat: usize| unflatten(&ty.shape, flat);
        match draw.below(6) {
            0 => data.fill(value),
            1 | 2 if ty.dtype != DType::Bool => {
                let at = |flat| place(flat).iter().zip(&slopes).map(|(&i, s)| i as i64 * s).sum::<i64>();
                let formula = |flat| ty.dtype.store(Number::Int(start + at(flat))).unwrap_or(Number::ZERO);
                *data = (0..ty.numel()).map(formula).collect();
            }
            1 | 2 if ty.rank() >= 2 => {
                let below = |index: &[usize]| index[ty.rank() - 1] as i64 - index[ty.rank() - 2] as i64 <= diagonal;
                *data = (0..ty.numel()).map(|flat| Number::from(below(&place(flat)))).collect();
            }
            _ => {}
        }
    }
}

/// Compares all results of a call; why the first that differs does.
fn compare(op: &'static OpDef, case: &Case, edges: bool) -> Result<Compared, String> {
    let mut compared = Compared::default();
    let Ok(mut attrs) = op.attrs(&case.attrs) else { return Ok(compared) };
    let types: Vec<&TensorType> = case.operands.iter().map(|o| &o.ty).collect();
    canonical_attrs(op, &mut attrs, &types);
    let call = Call { op, attrs: &attrs, operands: &types };
    let Ok(outputs) = call.infer() else { return Ok(compared) };
    let constants: Vec<Constant> =
        case.operands.iter().map(|o| canonical(Constant::Dense(o.data.clone().into()), &o.ty)).collect();
    let constants: Vec<&Constant> = constants.iter().collect();
    let tensors: Result<Vec<Tensor>, _> = case.operands.iter().map(|o| upload(&o.ty, &o.data, Device::Cpu)).collect();
    let Ok(theirs) = tensors.and_then(|t| replay(&call, &t, Device::Cpu)) else { return Ok(compared) };
    for (slot, (ty, theirs)) in outputs.iter().zip(&theirs).enumerate() {
        let Some(folded) = fold(&call, slot, &constants, ty) else { continue };
        let mut theirs = elements(theirs).map_err(|e| e.to_string())?;
        let mut ours: Vec<Number> =
            (0..ty.numel()).map(|flat| folded.value.at(ty, &unflatten(&ty.shape, flat))).collect();
        // Their order is open.
        if op.name == "eigvals" {
            let rows = ty.shape.last().copied().unwrap_or(1).max(1);
            ours.chunks_mut(rows).chain(theirs.chunks_mut(rows)).for_each(<[Number]>::sort);
        }
        let same = if folded.exact {
            compared.exact += ours.len();
            ours == theirs
        } else if !edges {
            compared.near += ours.len();
            near(&ours, &theirs, tolerance(&types.iter().copied().chain([ty]).collect::<Vec<_>>()))
        } else {
            // In which order PyTorch adds and multiplies is open, and shows where values are far apart.
            continue;
        };
        if !same {
            let data: Vec<&Vec<Number>> = case.operands.iter().map(|o| &o.data).collect();
            let what = describe(op, &attrs, case);
            return Err(format!("{what} slot {slot} on {data:?}:\n folded   {ours:?}\n libtorch {theirs:?}"));
        }
    }
    Ok(compared)
}

fn near(ours: &[Number], theirs: &[Number], tolerance: f64) -> bool {
    let finite = ours.iter().map(|v| v.to_f64().abs()).filter(|v| v.is_finite());
    let scale = finite.fold(1.0, f64::max);
    let same = |(&a, &b): (&Number, &Number)| a == b || (a.to_f64() - b.to_f64()).abs() <= tolerance * scale;
    ours.len() == theirs.len() && ours.iter().zip(theirs).all(same)
}

#[test]
fn what_folds_is_what_libtorch_computes_and_bit_for_bit_where_it_claims_so() {
    let mut failures = Vec::new();
    for op in ops::all().filter(|op| has_elements(op)) {
        let mut all = Compared::default();
        for seed in 0..CASES {
            let mut draw = Draw { edges: seed % 2 == 0, ..Draw::new(random::mix(seed, 3)) };
            let Some(mut case) = fitting(op, &mut draw) else { break };
            // A matrix with a formula has eigenvalues that show every rounding.
            if op.name != "eigvals" && draw.chance(2) {
                shape_constants(&mut case, &mut draw);
            }
            match compare(op, &case, draw.edges) {
                Ok(Compared { exact, near }) => {
                    all.exact += exact;
                    all.near += near;
                }
                Err(failure) => {
                    failures.push(failure);
                    break;
                }
            }
        }
        println!("{:20} {:6} bit for bit, {:6} near", op.name, all.exact, all.near);
        if all.exact + all.near < LEAST && !failures.last().is_some_and(|f| f.starts_with(op.name)) {
            failures.push(format!("{}: only {} elements were compared", op.name, all.exact + all.near));
        }
    }
    report(failures);
}
