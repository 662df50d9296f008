//! Which input each value needs that was not needed before it: a quick test for partners. Layers of a model have weights of their own, so
//! that a value and its partner read the same one last, and the values of later layers read others.

use rustc_hash::FxHashMap;

use super::arena::{Head, TermArena, TermId};
use crate::ops::Op;

/// The place of an input in the order in which inputs were first used. 0 stands for none.
pub(super) type InputPlace = u32;

/// The newest input of each term of an arena.
#[derive(Debug, Default)]
pub(super) struct Newest {
    /// By term, as far as terms were looked at; nothing for inputs and views of them.
    of_terms: Vec<Option<InputPlace>>,
    of_inputs: FxHashMap<TermId, InputPlace>,
}

impl Newest {
    /// The place of the newest input that `term` is computed from. An input that nothing was computed from yet has none.
    pub(super) fn of(&mut self, arena: &TermArena, term: TermId) -> InputPlace {
        for n in self.of_terms.len()..=term.index() {
            let computed = arena.nth(n);
            // Weights may all be transposed before the first layer: they are used where something is computed from them.
            let is_computed =
                seen_through(arena, computed) == computed && !matches!(arena.head(computed), Head::Input(_));
            let place = is_computed.then(|| {
                let operands = arena.term(computed).operands.iter();
                operands.map(|&operand| self.of_operand(arena, operand)).max().unwrap_or_default()
            });
            self.of_terms.push(place);
        }
        let term = seen_through(arena, term);
        let computed = self.of_terms.get(term.index()).copied().flatten();
        computed.or_else(|| self.of_inputs.get(&term).copied()).unwrap_or_default()
    }

    fn of_operand(&mut self, arena: &TermArena, operand: TermId) -> InputPlace {
        let operand = seen_through(arena, operand);
        if matches!(arena.head(operand), Head::Input(_)) {
            let next = self.of_inputs.len() as InputPlace + 1;
            return *self.of_inputs.entry(operand).or_insert(next);
        }
        self.of_terms.get(operand.index()).copied().flatten().unwrap_or_default()
    }
}

/// What a view or cast, or a view of one, is of.
fn seen_through(arena: &TermArena, mut term: TermId) -> TermId {
    while let Some((Op::Table(def), ..)) = arena.op(term)
        && def.is_view_or_cast()
        && let [moved] = arena.term(term).operands[..]
    {
        term = moved;
    }
    term
}

#[cfg(test)]
mod tests {
    use super::super::kernel::{GraphLeaves, Side, graph_terms};
    use super::*;
    use crate::ir::text;

    #[test]
    fn an_input_is_new_to_the_values_from_its_first_use_on() {
        let source = "graph g(w2: f32[2, 2], w1: f32[4], x: f32[4]) {
            v = reshape(w2; shape=[4])\n a = mul(x, w1)\n b = mul(a, v)\n c = mul(x, w1)\n d = relu(a)\n e = full(; shape=[4], value=1, dtype=f32)
            return b }";
        let graph = text::parse("test.mir", source).unwrap();
        let mut arena = TermArena::default();
        let values = graph_terms(&mut arena, &graph, &GraphLeaves::of(&graph, Side::A, &[0, 1, 2])).unwrap();
        let mut newest = Newest::default();
        let mut of = |name: &str| {
            let (id, _) = graph.nodes().find(|(_, node)| &*node.name == name).unwrap();
            newest.of(&arena, values[id.index()][0])
        };
        let (a, b) = (of("a"), of("b"));
        assert!(b > a);
        assert_eq!([of("c"), of("d"), of("e")], [a, a, 0]);
    }
}
