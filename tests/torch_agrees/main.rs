//! Against libtorch on the CPU: the reference evaluator, for every operator of the table, and the rules.
#![allow(clippy::unwrap_used, reason = "whoever runs it sees the panic")]
#![cfg(feature = "torch")]

mod draw;
#[path = "../edits/mod.rs"]
mod edits;
mod emitted;
mod fitting;
mod fitting_functions;
mod fitting_windows;
mod fold;
mod refused;
mod rules;
mod whole;
mod wild;
mod witness;

use magneton_ir::eval::{EvalError, GraphProgram, LazyEvaluator, Options, random};
use magneton_ir::ir::{Attrs, Graph, Number, Origin, Role, TensorType, Value};
use magneton_ir::ops::replay::{ReplayError, replay};
use magneton_ir::ops::tensors::{elements, type_of, upload};
use magneton_ir::ops::{self, Call, Family, Kernel, OpDef, canonical_attrs};
use tch::{Device, Tensor};

use draw::{Case, Draw};
use fitting::fitting;
use wild::{spoiled, wild};

/// Fitting calls drawn per operator.
const FITTING: u64 = 150;
/// Calls of random operands and attributes drawn per operator, most of which do not fit together.
const WILD: u64 = 2500;

/// What became of a case.
#[derive(PartialEq)]
enum Verdict {
    IllTyped,
    Agrees,
    /// Both sides refuse the values of the operands: a position is out of range.
    BothRefuse,
}

fn describe(op: &OpDef, attrs: &Attrs, case: &Case) -> String {
    let attrs: Vec<String> = op.attrs.iter().zip(attrs).map(|(a, v)| format!("{}={v}", a.name)).collect();
    let operands: Vec<String> = case.operands.iter().map(|o| o.ty.to_string()).collect();
    format!("{}({}; {})", op.name, operands.join(", "), attrs.join(", "))
}

/// Values are compared where both sides compute in about the precision of the result.
fn tolerance(types: &[&TensorType]) -> f64 {
    let narrowest = types.iter().filter(|t| t.dtype.is_float()).map(|t| t.dtype.epsilon().unwrap_or(0.0));
    match narrowest.fold(0.0, f64::max) {
        0.0 => 0.0,
        eps => (eps * 512.0).max(1e-10),
    }
}

fn check(op: &'static OpDef, case: &Case) -> Result<Verdict, String> {
    let mut attrs = op.attrs(&case.attrs).map_err(|e| e.to_string())?;
    let types: Vec<&TensorType> = case.operands.iter().map(|o| &o.ty).collect();
    canonical_attrs(op, &mut attrs, &types);
    let call = Call { op, attrs: &attrs, operands: &types };
    let Ok(wanted) = call.infer() else { return Ok(Verdict::IllTyped) };
    let what = describe(op, &attrs, case);

    let mut graph = Graph::new("case");
    let operands: Vec<Value> = (0..case.operands.len())
        .map(|i| graph.add_input(&format!("x{i}"), Role::User, case.operands[i].ty.clone(), Origin::default()).into())
        .collect();
    let node = graph.add_op("y", op, attrs.clone(), &operands, Origin::default()).map_err(|e| e.to_string())?;
    let mut program = GraphProgram::new(&graph, 0);
    for (i, operand) in case.operands.iter().enumerate() {
        program = program.with_input(i, operand.data.clone()).map_err(|e| e.to_string())?;
    }
    let mut evaluator = LazyEvaluator::new(&program, Options { rounding: false, budget: 1_000_000 });
    let ours: Result<Vec<Vec<Number>>, EvalError> =
        (0..wanted.len()).map(|slot| evaluator.tensor(Value::new(node, slot as u32))).collect();

    let tensors: Result<Vec<Tensor>, ReplayError> =
        case.operands.iter().map(|o| upload(&o.ty, &o.data, Device::Cpu)).collect();
    let theirs = tensors.and_then(|t| replay(&call, &t, Device::Cpu));
    let (ours, theirs) = match (ours, theirs) {
        (Err(EvalError::IndexOutOfRange | EvalError::DivisionByZero), Err(ReplayError::Torch(_)))
        // C++ leaves open what becomes of a float that an integer type lacks.
        | (Err(EvalError::Unrepresentable), Ok(_)) => {
            return Ok(Verdict::BothRefuse);
        }
        // What a transform makes of infinities and NaN depends on its algorithm.
        (Err(EvalError::NoSemantics(_)), Ok(_)) if op.name.starts_with("fft_") => return Ok(Verdict::BothRefuse),
        // A position out of range, with no element for which the evaluator would have to read it.
        (Ok(ours), Err(ReplayError::Torch(_))) if op.family == Family::Index && ours.iter().all(Vec::is_empty) => {
            return Ok(Verdict::BothRefuse);
        }
        (Ok(ours), Ok(theirs)) => (ours, theirs),
        (ours, theirs) => {
            return Err(format!("{what}: evaluator {ours:?}, libtorch {:?}", theirs.map_err(|e| e.to_string())));
        }
    };
    let found: Vec<Option<TensorType>> = theirs.iter().map(type_of).collect();
    if found != wanted.iter().cloned().map(Some).collect::<Vec<_>>() {
        return Err(format!("{what}: inferred {wanted:?}, libtorch gives {found:?}"));
    }
    let tolerance = tolerance(&types.iter().copied().chain(&wanted).collect::<Vec<_>>());
    for (slot, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        let floats = |values: &[Number]| values.iter().map(|v| v.to_f64()).collect::<Vec<_>>();
        let mut theirs = floats(&elements(theirs).map_err(|e| e.to_string())?);
        let mut ours = floats(ours);
        // Their order is open.
        if op.name == "eigvals" {
            let rows = wanted[slot].shape.last().copied().unwrap_or(1).max(1);
            ours.chunks_mut(rows).chain(theirs.chunks_mut(rows)).for_each(|m| m.sort_by(f64::total_cmp));
        }
        let scale = ours.iter().filter(|v| v.is_finite()).fold(1.0_f64, |m, v| m.max(v.abs()));
        let differs = |(a, b): (&f64, &f64)| {
            a != b
                && !(a.is_nan() && b.is_nan())
                && (a - b).abs().partial_cmp(&(tolerance * scale)).is_none_or(std::cmp::Ordering::is_gt)
        };
        if ours.len() != theirs.len() || ours.iter().zip(&theirs).any(differs) {
            let data: Vec<&Vec<Number>> = case.operands.iter().map(|o| &o.data).collect();
            return Err(format!("{what} slot {slot} on {data:?}:\n evaluator {ours:?}\n libtorch  {theirs:?}"));
        }
    }
    Ok(Verdict::Agrees)
}

/// Whether anything is known of the elements of the operator's results.
fn has_elements(op: &OpDef) -> bool {
    !matches!(op.kernel, Kernel::Opaque)
}

/// Fails with one line per operator that disagrees.
fn report(failures: Vec<String>) {
    assert!(failures.is_empty(), "{} operators disagree:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn every_operator_agrees_with_libtorch() {
    let mut failures = Vec::new();
    for op in ops::all().filter(|op| has_elements(op)) {
        let mut agreed = 0;
        for seed in 0..FITTING {
            let mut draw = Draw::new(random::mix(seed, 1));
            let Some(case) = fitting(op, &mut draw) else { break };
            match check(op, &case) {
                Ok(verdict) => agreed += u64::from(verdict == Verdict::Agrees),
                Err(failure) => {
                    failures.push(failure);
                    break;
                }
            }
        }
        if agreed < FITTING / 3 && !failures.last().is_some_and(|f| f.starts_with(op.name)) {
            failures.push(format!("{}: only {agreed} of {FITTING} cases were run", op.name));
        }
    }
    report(failures);
}

#[test]
fn whatever_the_type_rules_accept_runs_on_libtorch() {
    let mut failures = Vec::new();
    for op in ops::all().filter(|op| op.family != Family::Create) {
        // What training does is random; the order of ties is not defined, nor which of two values in one place counts.
        let random = |case: &Case| {
            // libtorch has no eigenvalues of matrices with NaN or infinity.
            matches!(op.name, "topk" | "kthvalue" | "index_put" | "eigvals" | "eigvalsh")
                || case.attrs.iter().any(|(n, v)| *n == "train" && v.as_bool() == Some(true))
        };
        for seed in 0..WILD {
            let mut draw = Draw::new(random::mix(seed, 2));
            let case = if draw.chance(2) { wild(op, &mut draw) } else { spoiled(op, &mut draw) };
            if random(&case) {
                continue;
            }
            if let Err(failure) = check(op, &case) {
                failures.push(failure);
                break;
            }
        }
    }
    report(failures);
}
