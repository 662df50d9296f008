//! Whether a difference between two outputs may only mean that a guess was wrong.

use super::binding::Binding;
use crate::ir::{Graph, NodeId, NodeKind, Role};

impl Binding {
    /// Whether a difference in output number `output` may come from the binding: one of its values depends on an input
    /// that was bound by a guess or against the values that the files hold, or on a weight that could not be bound while the other
    /// one depends on weights that may belong to it. Those are weights that could not be bound either, and weights of which a binding
    /// file says something, since it need not say all. Where constants of a file may be made of weights and those are not held, or what a buffer holds is supposed, all differences are in doubt.
    pub fn is_doubtful(&self, a: &Graph, b: &Graph, output: usize) -> bool {
        self.is_doubtful_but_for(&[], a, b, output)
    }

    /// Whether it may come from anything else than from the order in which a user gives inputs.
    pub fn is_doubtful_in_any_order(&self, a: &Graph, b: &Graph, output: usize) -> bool {
        self.is_doubtful_but_for(&self.exchangeable, a, b, output)
    }

    /// As [`Self::is_doubtful`], with the guesses of the inputs `settled` taken for certain.
    fn is_doubtful_but_for(&self, settled: &[u32], a: &Graph, b: &Graph, output: usize) -> bool {
        let (Some(x), Some(y)) = (a.outputs().get(output), b.outputs().get(output)) else { return true };
        let left = self.reached(a, &self.a, vec![x.value.node]);
        let right = self.reached(b, &self.b, vec![y.value.node]);
        let is_open = |n: &u32| self.guessed.binary_search(n).is_ok() && settled.binary_search(n).is_err();
        let guessed = |n: &u32| is_open(n) || self.unlike.binary_search(n).is_ok();
        let stated = |own: &[u32]| own.iter().any(|n| self.stated.binary_search(n).is_ok());
        let alone = |own: &[u32], others: &[u32], given: bool| {
            own.iter().any(|n| {
                let input = self.inputs.get(*n as usize);
                !others.contains(n) && input.is_some_and(|i| given || i.role != Role::User)
            })
        };
        let [given_a, given_b] = self.gives_weights;
        let [alone_a, alone_b] = [alone(&left, &self.b, given_a), alone(&right, &self.a, given_b)];
        // A constant of a file may be a weight of the other side by another name.
        let [alone_a, alone_b] =
            [alone_a || alone_b && self.keeps_constants[0], alone_b || alone_a && self.keeps_constants[1]];
        self.keeps_folded_weights && self.held.is_none()
            || self.supposes_values
            || left.iter().chain(&right).any(guessed)
            || alone_a && (alone_b || stated(&right))
            || alone_b && stated(&left)
    }

    /// Whether some output depends on an input for which the two files hold different values.
    pub fn is_contradicted(&self, a: &Graph, b: &Graph) -> bool {
        let unlike = |graph: &Graph, numbers: &[u32]| {
            let outputs = graph.outputs().iter().map(|output| output.value.node).collect();
            self.reached(graph, numbers, outputs).iter().any(|n| self.unlike.binary_search(n).is_ok())
        };
        !self.unlike.is_empty() && (unlike(a, &self.a) || unlike(b, &self.b))
    }

    /// Numbers of the inputs that the nodes in `stack` depend on.
    fn reached(&self, graph: &Graph, numbers: &[u32], mut stack: Vec<NodeId>) -> Vec<u32> {
        let mut seen = vec![false; graph.len()];
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
