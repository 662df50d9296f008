//! A witness seen by libtorch: both graphs run whole, in f64, on the inputs of the witness.

use rayon::iter::{IntoParallelIterator, IntoParallelRefIterator, ParallelIterator};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use tch::{Device, Tensor};

use crate::eval::Draw;
use crate::ir::{AttrValue, DType, Graph, GraphError, NodeId, NodeKind, TensorType, Value};
use crate::libtorch::load_cuda;
use crate::ops::Op;
use crate::ops::replay::ReplayError;
use crate::ops::replay_graph::GraphReplay;
use crate::ops::tensors::kind;
use crate::prove::{BoundPair, Witness};

/// Why libtorch could not run a witness.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the message of each variant says it")]
pub enum RerunError {
    #[error(transparent)]
    Replay(#[from] ReplayError),
    #[error("cannot be written in f64: {0}")]
    Graph(#[from] GraphError),
    #[error("the witness is of other graphs")]
    Mismatch,
}

/// The values of the witness' output element in A and in B, as libtorch computes them on the GPU, or on the CPU where there
/// is none. Every float is an f64, so that rounding explains no difference; the values of the inputs are those of their own
/// types. One graph runs after the other, and of a graph only what is in use at one time is in memory.
///
/// # Errors
/// Operators that cannot be replayed, and failures of libtorch.
pub fn rerun_with_torch(bound: &BoundPair, witness: &Witness) -> Result<[f64; 2], RerunError> {
    let device = if load_cuda().is_ok() { Device::Cuda(0) } else { Device::Cpu };
    let BoundPair { a, b, binding } = bound;
    Ok([run(a, &binding.a, witness, device)?, run(b, &binding.b, witness, device)?])
}

fn run(graph: &Graph, numbers: &[u32], witness: &Witness, device: Device) -> Result<f64, RerunError> {
    let widened = widened(graph)?;
    let nodes: Vec<NodeId> = widened.nodes().map(|(id, _)| id).collect();
    let replay = GraphReplay::new(&widened, &nodes, device)?;
    let input = |i: usize| -> Result<Tensor, RerunError> {
        let value = replay.inputs().get(i).ok_or(RerunError::Mismatch)?;
        let position = widened.inputs().iter().position(|&n| n == value.node).ok_or(RerunError::Mismatch)?;
        let number = *numbers.get(position).ok_or(RerunError::Mismatch)? as usize;
        let (own, draw) = (graph.inputs().get(position), witness.inputs.get(number));
        let (Some(&own), Some(draw)) = (own, draw) else { return Err(RerunError::Mismatch) };
        Ok(drawn(draw, graph.ty(own.into()), widened.ty(*value).dtype, device)?)
    };
    let results = replay.run_with(input, true)?;
    let value = witness.output_number.and_then(|n| widened.outputs().get(n)).ok_or(RerunError::Mismatch)?.value;
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

/// Elements that are drawn before they go to the device.
const CHUNK: usize = 1 << 24;

/// An input of type `ty` as a tensor of another element type. Of a weight that is mostly 0, only the rest goes to the
/// device.
fn drawn(draw: &Draw, ty: &TensorType, dtype: DType, device: Device) -> Result<Tensor, ReplayError> {
    let options = (kind(dtype), device);
    let mut flat = Tensor::f_zeros([ty.numel() as i64], options)?;
    match draw.places(ty) {
        Some(places) => {
            let elements: Vec<f64> = places.par_iter().map(|&place| draw.element(ty, place)).collect();
            let places: Vec<i64> = places.into_iter().map(|place| place as i64).collect();
            let (places, elements) = (Tensor::f_from_slice(&places)?, Tensor::f_from_slice(&elements)?);
            let elements = elements.f_to_device(device)?.f_to_kind(kind(dtype))?;
            let _ = flat.f_index_copy_(0, &places.f_to_device(device)?, &elements)?;
        }
        None => {
            for start in (0..ty.numel()).step_by(CHUNK) {
                let end = ty.numel().min(start + CHUNK);
                let elements: Vec<f64> = (start..end).into_par_iter().map(|flat| draw.element(ty, flat)).collect();
                let mut part = flat.f_narrow(0, start as i64, elements.len() as i64)?;
                part.f_copy_(&Tensor::f_from_slice(&elements)?)?;
            }
        }
    }
    let sizes: Vec<i64> = ty.shape.iter().map(|&d| d as i64).collect();
    Ok(flat.f_reshape(&sizes[..])?)
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
    out.take_outputs(graph, |value| moved.get(&value).copied().ok_or(RerunError::Mismatch))?;
    Ok(out)
}
