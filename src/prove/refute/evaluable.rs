//! Refutation of graphs with operators that rules define: they are evaluated as what they compute.

use rustc_hash::FxHashSet;

use super::question::Question;
use super::{Location, refute};
use crate::ir::{Graph, NodeId};
use crate::prove::Witness;
use crate::rules::{InlinedDefinitions, RuleSet};

/// As [`refute`], with the operators that `rules` define written out. The location names operators of the given graphs.
pub(crate) fn refute_defined(question: &Question, rules: &RuleSet) -> Option<(Witness, Location)> {
    let Question { graphs, unproven, .. } = *question;
    let [a, b] = [0, 1].map(|side| Evaluable::new(graphs[side], unproven[side], rules));
    let graphs = [a.graph(graphs[0]), b.graph(graphs[1])];
    let question = Question { graphs, unproven: [&a.unproven, &b.unproven], ..*question };
    let (witness, found) = refute(&question)?;
    let location = Location {
        a: a.parts_of(found.a),
        b: b.parts_of(found.b),
        first_a: found.first_a.map(|id| a.part_of(id)),
        first_b: found.first_b.map(|id| b.part_of(id)),
    };
    Some((witness, location))
}

/// What `look` finds in both graphs with the operators that `rules` define written out, none of which is named as unproven.
pub(super) fn written_out<T>(question: &Question, rules: &RuleSet, look: impl FnOnce(&Question) -> T) -> T {
    let [a, b] = question.graphs.map(|graph| Evaluable::new(graph, &[], rules));
    let graphs = [a.graph(question.graphs[0]), b.graph(question.graphs[1])];
    look(&Question { graphs, unproven: [&[], &[]], ..*question })
}

/// A graph as it is evaluated.
struct Evaluable {
    written: Option<InlinedDefinitions>,
    unproven: Vec<NodeId>,
}

impl Evaluable {
    fn new(graph: &Graph, unproven: &[NodeId], rules: &RuleSet) -> Self {
        let written = rules.inline_definitions(graph);
        let unproven = match &written {
            None => unproven.to_vec(),
            Some(written) => {
                let all: FxHashSet<NodeId> = unproven.iter().copied().collect();
                let nodes = written.graph.nodes().map(|(id, _)| id);
                nodes.filter(|id| all.contains(&written.parts_of[id.index()])).collect()
            }
        };
        Evaluable { written, unproven }
    }

    fn graph<'g>(&'g self, given: &'g Graph) -> &'g Graph {
        self.written.as_ref().map_or(given, |w| &w.graph)
    }

    fn part_of(&self, id: NodeId) -> NodeId {
        self.written.as_ref().map_or(id, |w| w.parts_of[id.index()])
    }

    fn parts_of(&self, ids: Vec<NodeId>) -> Vec<NodeId> {
        let mut ids: Vec<NodeId> = ids.into_iter().map(|id| self.part_of(id)).collect();
        ids.dedup();
        ids
    }
}
