//! What differing math flags do to a proof: its steps are about operators, and the flags change what those compute.

use ordered_float::OrderedFloat;
use smallvec::SmallVec;

use crate::ir::{Graph, MathConfig, NodeId, NodeKind, TensorType};
use crate::ops::{MathMode, Op};
use crate::rules::Tier;

/// Error of a product of f32 whose operands are rounded to the 11 bits of TF32 first, relative to the product of the absolute
/// values: 2⁻¹¹ for each operand. Relative to the product itself there is no bound, since its terms may cancel.
pub(super) const TF32: f64 = 1.0 / 1024.0;

/// How equal operators are whose flags differ: the tier that a proof about `nodes` of both graphs has at best. `None`
/// where the flags of A and of B mean the same for all of them.
pub(crate) fn math_tier(a: (&Graph, &[NodeId]), b: (&Graph, &[NodeId])) -> Option<Tier> {
    let flags = [&a.0.config, &b.0.config];
    let any = |(graph, nodes): (&Graph, &[NodeId])| nodes.iter().any(|&n| is_changed(graph, n, flags));
    (flags[0] != flags[1] && (any(a) || any(b))).then_some(Tier::Approx(OrderedFloat(TF32)))
}

/// Whether an operator is computed in TF32 under the flags of its graph and not under `other`.
pub(super) fn is_tf32(graph: &Graph, node: NodeId, other: &MathConfig) -> bool {
    mode(graph, node, &graph.config) == Some(MathMode::Tf32) && mode(graph, node, other) != Some(MathMode::Tf32)
}

fn mode(graph: &Graph, node: NodeId, config: &MathConfig) -> Option<MathMode> {
    let NodeKind::Op { op: Op::Table(def), .. } = &graph.node(node).kind else { return None };
    let operands = graph.operands(node);
    let types: SmallVec<[&TensorType; 4]> = operands.iter().map(|&v| graph.ty(v)).collect();
    def.math_mode(&types, config)
}

fn is_changed(graph: &Graph, node: NodeId, [a, b]: [&MathConfig; 2]) -> bool {
    mode(graph, node, a) != mode(graph, node, b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::text;

    fn tier(graph: &str) -> Option<Tier> {
        let a = text::parse("g.mir", graph).unwrap();
        let mut b = a.clone();
        b.config.allow_tf32 = true;
        let all: Vec<NodeId> = a.nodes().map(|(id, _)| id).collect();
        math_tier((&a, &all), (&b, &all))
    }

    #[test]
    fn flags_matter_to_f32_products_only() {
        let product = "graph g(x: f32[2, 2]) { y: f32[2, 2] = matmul(x, x) return y }";
        assert_eq!(tier(product), Some(Tier::Approx(OrderedFloat(TF32))));
        assert_eq!(tier(&product.replace("f32", "bf16")), None);
        assert_eq!(tier(&product.replace("matmul", "mul")), None);
    }
}
