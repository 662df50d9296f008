//! Which nodes run a kernel of their own. A front end takes one foreign node apart into several, of which those before the last are
//! computed on the fly by the kernel of the last. That holds for what such a kernel can compute as it reads, and not for the others.

use crate::ir::{Graph, NodeId, NodeKind, Value};
use crate::ops::{Arithmetic, Elements, Family, KernelClass, LayoutRule, OpDef, is_number};

/// Says of every implicit node that no other kernel can compute on the fly that it runs one.
pub(super) fn show_kernels(graph: &mut Graph) {
    let mut shown: Vec<NodeId> = Vec::new();
    for (id, node) in graph.nodes() {
        let Some(def) = table_op(graph, id) else { continue };
        let stands_alone = runs_alone(def.kernels);
        if node.origin.implicit && stands_alone {
            shown.push(id);
        }
        // A view runs nothing, and a kernel that stands alone reads what others have written.
        if stands_alone || !node.origin.implicit && is_view(def) {
            shown.extend(graph.operands(id).iter().filter_map(|&value| computed(graph, value)));
        }
    }
    shown.extend(graph.outputs().iter().filter_map(|output| computed(graph, output.value)));
    for id in shown {
        graph.make_explicit(id);
    }
}

/// Whether kernels of a class compute nothing on the fly, and are computed by no other.
fn runs_alone(class: KernelClass) -> bool {
    match class {
        KernelClass::Streaming
        | KernelClass::Rows
        | KernelClass::Moments
        | KernelClass::Columns
        | KernelClass::Gather => false,
        KernelClass::Product
        | KernelClass::Attention
        | KernelClass::MaskedAttention
        | KernelClass::AttentionInSteps
        | KernelClass::Convolution
        | KernelClass::Pointwise
        | KernelClass::Grouped
        | KernelClass::Depthwise
        | KernelClass::Window
        | KernelClass::Scatter
        | KernelClass::Scan
        | KernelClass::ColumnScan
        | KernelClass::Order
        | KernelClass::Factorisation => true,
    }
}

/// The implicit node behind views that computes `value`. Numbers, constants and casts are made where they are read, and parts of a tensor
/// are joined where they were written.
fn computed(graph: &Graph, value: Value) -> Option<NodeId> {
    let mut id = value.node;
    loop {
        let def = table_op(graph, id).filter(|_| graph.node(id).origin.implicit)?;
        if !is_view(def) {
            let computes = match def.elements {
                Elements::Placewise(function) => function != Arithmetic::Cast,
                Elements::Lane(_) => true,
                _ => false,
            };
            return (computes && !is_number(def) && def.family != Family::Create).then_some(id);
        }
        id = graph.operands(id).first()?.node;
    }
}

fn is_view(def: &OpDef) -> bool {
    matches!(def.layout, LayoutRule::View(_))
}

fn table_op(graph: &Graph, id: NodeId) -> Option<&'static OpDef> {
    match &graph.node(id).kind {
        NodeKind::Op { op, .. } => op.def(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::text;

    /// The names of the nodes that run a kernel of their own.
    fn shown(source: &str) -> Vec<String> {
        let mut graph = text::parse("kernels.mir", source).unwrap();
        show_kernels(&mut graph);
        let explicit = graph.operators().filter(|(_, node)| !node.origin.implicit);
        explicit.map(|(_, node)| node.name.to_string()).collect()
    }

    /// A product that ended in a view cost nothing.
    #[test]
    fn a_view_at_the_end_stands_for_no_kernel() {
        let source = "graph g(x: f32[4, 6], y: f32[6, 8]) {
            p = matmul(x, y) @ implicit
            r = reshape(p; shape=[2, 2, 8])
            return r
        }";
        assert_eq!(shown(source), ["p", "r"]);
    }

    #[test]
    fn a_kernel_that_stands_alone_reads_what_another_one_wrote() {
        let source = "graph g(x: f32[4, 6], y: f32[8, 6]) {
            a = add(x, x) @ implicit
            b = mul(a, a) @ implicit
            l = linear(b, y) @ implicit
            r = relu(l) @ implicit
            s = sum(r; dim=[0])
            return s
        }";
        assert_eq!(shown(source), ["b", "l", "s"]);
    }
}
