//! Strides followed through a graph, as PyTorch does.

use smallvec::SmallVec;

use super::{Graph, Layout, NodeKind, TensorType, Value};
use crate::ops::{Call, LayoutRule, Op};

/// The layout of every output of every node, by node index and slot. Inputs are taken as dense.
pub fn layouts(graph: &Graph) -> Vec<SmallVec<[Layout; 1]>> {
    let mut all: Vec<SmallVec<[Layout; 1]>> = Vec::with_capacity(graph.len());
    for (id, node) in graph.nodes() {
        let operands: SmallVec<[Value; 4]> = graph.operands(id);
        let of = |v: &Value| &all[v.node.index()][v.slot as usize];
        let layouts = match &node.kind {
            NodeKind::Op { op: Op::Table(def), attrs } => {
                let types: SmallVec<[&TensorType; 4]> = operands.iter().map(|&v| graph.ty(v)).collect();
                let inputs: SmallVec<[&Layout; 4]> = operands.iter().map(of).collect();
                let call = Call { op: def, attrs, operands: &types };
                (0..node.types.len()).map(|slot| output_layout(&call, slot, &node.types[slot], &inputs)).collect()
            }
            _ => node.types.iter().map(|t| Layout::contiguous(&t.shape)).collect(),
        };
        all.push(layouts);
    }
    all
}

/// The layout of one output, from the layouts of the operands.
pub fn output_layout(call: &Call, slot: usize, ty: &TensorType, operands: &[&Layout]) -> Layout {
    match call.op.layout {
        LayoutRule::Contiguous => Layout::contiguous(&ty.shape),
        LayoutRule::View(view) => view(call, slot, operands[0]).unwrap_or_else(|| Layout::contiguous(&ty.shape)),
        LayoutRule::Elementwise => {
            let pairs: SmallVec<[(&TensorType, &Layout); 4]> =
                call.operands.iter().copied().zip(operands.iter().copied()).collect();
            Layout::elementwise(&ty.shape, &pairs)
        }
    }
}
