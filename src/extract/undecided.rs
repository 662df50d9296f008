//! Which operators to measure before forms of a graph can be told apart.

use indexmap::IndexSet;
use smallvec::SmallVec;

use super::plan::{self, Leaf, Leaves};
use super::{Candidate, FormSearch, candidates};
use crate::energy::{CostModel, KernelKey, Weights, graph_items};
use crate::ir::{Graph, Layout};
use crate::ops::TypeError;
use crate::prove::Context;

/// Operators without a measured figure in forms of parts of `graph` that would save energy if those operators cost no
/// more than `model` says: what to measure before [`cheaper_forms`] can tell. Of every part only the form of least energy
/// counts, so that figures for these may raise new questions.
pub(crate) fn undecided(graph: &Graph, context: &Context, model: &CostModel) -> Result<Vec<KernelKey>, TypeError> {
    let mut keys = IndexSet::new();
    let items = graph_items(graph, model);
    let (parts, all) = candidates(graph, &items, context, model, Weights::ENERGY, FormSearch::ByRules, None)?;
    for (found, leaves) in all.iter().map(Candidate::found) {
        // Only what the calls are is asked for.
        let leaf = |leaf: Leaf| Leaf { is_computed: false, made_of: None, ..leaf };
        let read = parts.leaves(leaves).read.into_iter().map(leaf).collect();
        let lie = Leaves { read, is_frozen: false };
        plan::for_each_call(&found.term.arena, found.term.root, &lie, &mut |call, lie, _| {
            let lie: SmallVec<[&Layout; 4]> = lie.iter().collect();
            let key = KernelKey::of_call(call, &lie, &graph.config);
            if model.is_guess(&key) {
                keys.insert(key);
            }
        });
    }
    Ok(keys.into_iter().collect())
}
