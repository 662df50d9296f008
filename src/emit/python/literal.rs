//! Tensors whose elements are known, as Python text.

use std::fmt::Write;

use super::text::{float, sizes, torch_dtype};
use crate::elements;
use crate::emit::program::uniform;
use crate::ir::{Graph, Literal, NodeId, NodeKind, Number, TensorType};

/// More elements than this are written as bytes.
const MOST_WRITTEN_OUT: usize = 64;

/// Makes a tensor of bytes.
pub(super) const CONSTANT: &str = r#"

def constant(data, dtype, shape, device):
    return torch.frombuffer(bytearray(bytes.fromhex(data)), dtype=dtype).reshape(shape).to(device)
"#;

fn parts(graph: &Graph, node: NodeId) -> Option<(&TensorType, &[Number])> {
    let node = graph.node(node);
    match &node.kind {
        NodeKind::Literal(Literal { data }) => Some((node.types.first()?, data)),
        _ => None,
    }
}

pub(super) fn is_large(graph: &Graph, node: NodeId) -> bool {
    parts(graph, node).is_some_and(|(_, data)| data.len() > MOST_WRITTEN_OUT && uniform(data).is_none())
}

fn number(number: Number) -> String {
    match number {
        Number::Int(v) => v.to_string(),
        Number::Float(v) => float(v.0),
    }
}

/// The expression that makes the tensor.
pub(super) fn literal(graph: &Graph, node: NodeId) -> String {
    let Some((ty, data)) = parts(graph, node) else { return "None".to_owned() };
    let (shape, own) = (sizes(&ty.shape), torch_dtype(ty.dtype));
    if let Some(value) = uniform(data) {
        return format!("torch.full({shape}, {}, dtype={own}, device=device)", number(value));
    }
    if data.len() > MOST_WRITTEN_OUT {
        let mut hex = String::new();
        for byte in elements::bytes(ty.dtype, data) {
            let _ = write!(hex, "{byte:02x}");
        }
        return format!("constant(\"{hex}\", {own}, {shape}, device)");
    }
    let all: Vec<String> = data.iter().map(|&n| number(n)).collect();
    format!("torch.tensor([{}], dtype={own}, device=device).reshape({shape})", all.join(", "))
}
