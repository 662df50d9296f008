//! The order in which an expression is read.

use rustc_hash::FxHashSet;

use crate::prove::{TermArena, TermId};

/// The terms of expressions for which `holds` is true, operands before their users and from left to right. The numbers of terms say
/// when a search made them, so reports do not go by those: a form that comes from a cache has other ones.
pub(super) fn post_order(arena: &TermArena, roots: &[TermId], holds: impl Fn(TermId) -> bool) -> Vec<TermId> {
    let mut all = Vec::new();
    let (mut seen, mut done) = (FxHashSet::default(), FxHashSet::default());
    let mut stack: Vec<TermId> = roots.iter().rev().copied().collect();
    while let Some(&term) = stack.last() {
        if holds(term) && seen.insert(term) {
            stack.extend(arena.term(term).operands.iter().rev());
            continue;
        }
        stack.pop();
        if seen.contains(&term) && done.insert(term) {
            all.push(term);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::text;
    use crate::prove::{GraphLeaves, Side, graph_terms};

    /// The names of a graph's operators, in the order of the expression.
    fn read(lines: &str) -> Vec<String> {
        let source = format!("graph g(x: f32[2], y: f32[2]) {{ {lines} c = sub(b, a) d = div(c, b) return d }}");
        let graph = text::parse("test.mir", &source).unwrap_or_else(|e| panic!("{e:?}"));
        let mut arena = TermArena::default();
        let values = graph_terms(&mut arena, &graph, &GraphLeaves::of(&graph, Side::A, &[0, 1])).unwrap();
        let root = graph.outputs()[0].value;
        let terms = post_order(&arena, &[values[root.node.index()][0]], |_| true);
        terms.iter().filter_map(|&t| Some(arena.op(t)?.0.name().to_owned())).collect()
    }

    #[test]
    fn the_order_is_that_of_the_expression_and_not_that_in_which_terms_were_made() {
        assert_eq!(read("a = exp(y) b = neg(x)"), ["neg", "exp", "sub", "div"]);
        assert_eq!(read("b = neg(x) a = exp(y)"), ["neg", "exp", "sub", "div"]);
    }
}
