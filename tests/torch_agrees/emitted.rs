//! Programs of one operator as they are written in Python, run by PyTorch: against the reference evaluator, in one process.

use std::io::Write;
use std::process::Command;

use magneton_ir::emit::{Program, python};
use magneton_ir::eval::{GraphProgram, LazyEvaluator, Options, random};
use magneton_ir::ir::{Graph, Number, Origin, Role, TensorType, Value};
use magneton_ir::ops::{self, OpDef, canonical_attrs, number};
use serde_json::{Value as Json, json};

use super::draw::{Case, Draw};
use super::fitting::fitting;
use super::{describe, has_elements, tolerance};

/// Calls drawn per operator.
const CALLS: u64 = 20;

/// What of a call is written as a number instead of a tensor.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    Tensors,
    NumberAt(usize),
}

fn shown(number: Number) -> Json {
    match number {
        Number::Int(v) => json!(v.to_string()),
        Number::Float(v) => json!(v.to_string()),
    }
}

fn tensor(ty: &TensorType, data: &[Number]) -> Json {
    let dtype = ty.dtype.to_string();
    json!({ "dtype": dtype, "shape": ty.shape.as_slice(), "data": data.iter().map(|&n| shown(n)).collect::<Vec<_>>() })
}

/// A program with its inputs and what it has to give; none where the call is ill-typed or has no value.
fn case(op: &'static OpDef, case: &Case, form: Form) -> Option<Result<Json, String>> {
    let mut attrs = op.attrs(&case.attrs).ok()?;
    let mut graph = Graph::new("case");
    let (mut operands, mut inputs): (Vec<Value>, Vec<usize>) = (Vec::new(), Vec::new());
    for (i, operand) in case.operands.iter().enumerate() {
        if form == Form::NumberAt(i) {
            let (def, attrs) = number(*operand.data.first()?, operand.ty.dtype);
            operands.push(graph.add_op("n", def, attrs, &[], Origin::implicit()).ok()?.into());
        } else {
            inputs.push(i);
            operands.push(graph.add_input(&format!("x{i}"), Role::User, operand.ty.clone(), Origin::default()).into());
        }
    }
    let types: Vec<TensorType> = operands.iter().map(|&v| graph.ty(v).clone()).collect();
    let types: Vec<&TensorType> = types.iter().collect();
    canonical_attrs(op, &mut attrs, &types);
    let node = graph.add_op("y", op, attrs.clone(), &operands, Origin::default()).ok()?;
    let wanted: Vec<TensorType> = graph.node(node).types.to_vec();
    for slot in 0..wanted.len() as u32 {
        graph.add_output(&format!("y{slot}"), Value::new(node, slot));
    }
    let mut program = GraphProgram::new(&graph, 0);
    for (place, &i) in inputs.iter().enumerate() {
        program = program.with_input(place, case.operands[i].data.clone()).ok()?;
    }
    let mut evaluator = LazyEvaluator::new(&program, Options { rounding: false, budget: 1_000_000 });
    let values: Vec<Vec<Number>> =
        (0..wanted.len()).map(|slot| evaluator.tensor(Value::new(node, slot as u32))).collect::<Result<_, _>>().ok()?;
    let what =
        format!("{} with {}", describe(op, &attrs, case), if form == Form::Tensors { "tensors" } else { "a number" });
    let text = Program::new(&graph, None).and_then(|program| python(&program, None));
    Some(text.map_err(|e| format!("{what}: {e}")).map(|text| {
        json!({
            "name": what,
            "program": text,
            "inputs": inputs.iter().map(|&i| tensor(&case.operands[i].ty, &case.operands[i].data)).collect::<Vec<_>>(),
            "outputs": wanted.iter().zip(&values).map(|(ty, data)| tensor(ty, data)).collect::<Vec<_>>(),
            "tolerance": tolerance(&types.iter().copied().chain(&wanted).collect::<Vec<_>>()),
            "open_order": op.name == "eigvals",
        })
    }))
}

#[test]
fn every_operator_is_written_as_what_it_computes() {
    let (mut failures, mut cases, mut operators, mut refused) = (Vec::new(), Vec::new(), 0, 0);
    for op in ops::all().filter(|op| has_elements(op)) {
        let before = cases.len();
        for seed in 0..CALLS {
            let mut draw = Draw::new(random::mix(seed, 7));
            let Some(drawn) = fitting(op, &mut draw) else { break };
            // PyTorch counts integers on a GPU only.
            if op.name == "histc" && drawn.operands.iter().any(|o| o.ty.dtype.is_int()) {
                continue;
            }
            let mut forms = vec![Form::Tensors];
            if op.operands.len() > 1 {
                forms.extend((0..drawn.operands.len()).map(Form::NumberAt));
            }
            for form in forms {
                match case(op, &drawn, form) {
                    Some(Ok(case)) => cases.push(case.to_string()),
                    // The drawn sizes are small, and one kernel takes rows of 16 bytes only.
                    Some(Err(reason)) if op.name == "grouped_mm" && reason.contains("16 bytes") => refused += 1,
                    Some(Err(reason)) => failures.push(reason),
                    None => {}
                }
            }
        }
        operators += 1;
        if cases.len() == before && op.name != "grouped_mm" {
            failures.push(format!("{}: no case was made", op.name));
        }
    }
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(cases.join("\n").as_bytes()).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/emit/cases.py");
    let output = Command::new("python3").arg(script).arg(file.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains(&format!("{} programs", cases.len())), "{said}");
    assert!(refused <= CALLS, "{refused} calls are refused");
    assert!(operators > 150 && failures.is_empty(), "{operators} operators:\n{}", failures.join("\n"));
}
