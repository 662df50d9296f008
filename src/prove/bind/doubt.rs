//! Whether a difference between two outputs may only mean that a guess was wrong.

use super::Binding;
use crate::ir::{Graph, NodeKind, Role, Value};

impl Binding {
    /// Whether a difference in output number `output` may come from the binding: one of its values depends on an input
    /// that was bound by a guess, or both depend on weights that could not be bound and may belong together.
    pub fn is_doubtful(&self, a: &Graph, b: &Graph, output: usize) -> bool {
        let (Some(x), Some(y)) = (a.outputs().get(output), b.outputs().get(output)) else { return true };
        let left = self.reached(a, &self.a, x.value);
        let right = self.reached(b, &self.b, y.value);
        let guessed = |n: &u32| self.guessed.binary_search(n).is_ok();
        let alone = |own: &[u32], others: &[u32]| {
            own.iter().any(|n| {
                let input = self.inputs.get(*n as usize);
                !others.contains(n) && input.is_some_and(|i| i.role != Role::User)
            })
        };
        left.iter().chain(&right).any(guessed) || alone(&left, &self.b) && alone(&right, &self.a)
    }

    /// Numbers of the inputs that `value` depends on.
    fn reached(&self, graph: &Graph, numbers: &[u32], value: Value) -> Vec<u32> {
        let mut seen = vec![false; graph.len()];
        let mut stack = vec![value.node];
        while let Some(node) = stack.pop() {
            if !std::mem::replace(&mut seen[node.index()], true) {
                stack.extend(graph.operands(node).iter().map(|v| v.node));
            }
        }
        let inputs = graph.inputs().iter().zip(numbers);
        let reached = inputs.filter(|(id, _)| seen[id.index()]);
        reached.filter(|(id, _)| matches!(graph.node(**id).kind, NodeKind::Input { .. })).map(|(_, &n)| n).collect()
    }
}
