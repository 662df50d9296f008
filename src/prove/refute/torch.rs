//! A witness seen by libtorch: both graphs run whole, in f64, on the inputs of the witness.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use tch::{Device, Tensor};

use crate::ir::{AttrValue, DType, Graph, GraphError, NodeId, NodeKind, TensorType, Value};
use crate::ops::Op;
use crate::ops::replay::{ReplayError, upload};
use crate::ops::replay_graph::GraphReplay;
use crate::prove::{Bound, Witness};

/// Why libtorch could not run a witness.
#[derive(Debug, thiserror::Error)]
pub enum RerunError {
    #[error(transparent)]
    Replay(#[from] ReplayError),
    #[error("cannot be written in f64: {0}")]
    Graph(#[from] GraphError),
    #[error("the witness is of other graphs")]
    Mismatch,
}

/// The values of the witness' output element in A and in B, as libtorch computes them on the CPU. Every float is an f64,
/// so that rounding explains no difference; the values of the inputs are those of their own types.
pub fn rerun_with_torch(bound: &Bound, witness: &Witness) -> Result<[f64; 2], RerunError> {
    let Bound { a, b, binding } = bound;
    Ok([run(a, &binding.a, witness)?, run(b, &binding.b, witness)?])
}

/// How many elements the inputs and the largest value of a graph have: what running it whole takes.
pub fn elements_to_rerun(graph: &Graph) -> usize {
    let inputs: usize = graph.inputs().iter().map(|&n| graph.ty(n.into()).numel()).sum();
    let largest = graph.nodes().flat_map(|(_, node)| &node.types).map(TensorType::numel).max();
    inputs + largest.unwrap_or(0)
}

fn run(graph: &Graph, numbers: &[u32], witness: &Witness) -> Result<f64, RerunError> {
    let widened = widened(graph)?;
    let nodes: Vec<NodeId> = widened.nodes().map(|(id, _)| id).collect();
    let replay = GraphReplay::new(&widened, &nodes, Device::Cpu)?;
    let operand = |value: &Value| -> Result<Tensor, RerunError> {
        let position = widened.inputs().iter().position(|&n| n == value.node).ok_or(RerunError::Mismatch)?;
        let number = *numbers.get(position).ok_or(RerunError::Mismatch)? as usize;
        let (own, draw) = (graph.inputs().get(position), witness.inputs.get(number));
        let (Some(&own), Some(draw)) = (own, draw) else { return Err(RerunError::Mismatch) };
        let ty = graph.ty(own.into());
        let elements: Vec<f64> = (0..ty.numel()).map(|flat| draw.element(ty, flat)).collect();
        Ok(upload(widened.ty(*value), &elements, Device::Cpu)?)
    };
    let operands: Vec<Tensor> = replay.inputs().iter().map(operand).collect::<Result<_, _>>()?;
    let results = replay.run(&operands, true)?;
    let value = widened.outputs().get(witness.output_number).ok_or(RerunError::Mismatch)?.value;
    let mut outputs: Vec<Value> = widened.outputs().iter().map(|o| o.value).collect();
    outputs.sort_unstable();
    outputs.dedup();
    // An output that is an input is no result.
    outputs.retain(|v| !matches!(widened.node(v.node).kind, NodeKind::Input { .. } | NodeKind::Literal(_)));
    let place = outputs.iter().position(|&v| v == value).ok_or(RerunError::Mismatch)?;
    let tensor = results.get(place).ok_or(RerunError::Mismatch)?;
    let index: Vec<i64> = witness.index.iter().map(|&i| i as i64).collect();
    Ok(tensor.f_double_value(&index).map_err(ReplayError::from)?)
}

/// The same graph with f64 for every type of floats.
fn widened(graph: &Graph) -> Result<Graph, RerunError> {
    let wide = |dtype: DType| if dtype.is_float() { DType::F64 } else { dtype };
    let typed = |ty: &TensorType| TensorType { dtype: wide(ty.dtype), ..ty.clone() };
    let mut out = Graph::new(graph.name.clone());
    let mut moved: FxHashMap<Value, Value> = FxHashMap::default();
    for (id, node) in graph.nodes() {
        let origin = node.origin.clone();
        let new = match &node.kind {
            NodeKind::Input { role } => out.add_input(&node.name, *role, typed(&node.types[0]), origin),
            NodeKind::Literal(literal) => {
                out.add_literal(&node.name, typed(&node.types[0]), literal.data.clone(), origin)?
            }
            NodeKind::Op { op: Op::Table(def), attrs } => {
                let mut attrs = attrs.clone();
                for attr in &mut attrs {
                    if let AttrValue::DType(dtype) = attr {
                        *dtype = wide(*dtype);
                    }
                }
                let operands: SmallVec<[Value; 4]> =
                    graph.operands(id).iter().filter_map(|v| moved.get(v).copied()).collect();
                out.add_op(&node.name, def, attrs, &operands, origin)?
            }
            NodeKind::Op { op, .. } => return Err(ReplayError::Opaque(op.name().to_owned()).into()),
        };
        moved.extend((0..node.types.len() as u32).map(|slot| (Value::new(id, slot), Value::new(new, slot))));
    }
    for output in graph.outputs() {
        out.add_output(&output.name, *moved.get(&output.value).ok_or(RerunError::Mismatch)?);
    }
    Ok(out)
}
