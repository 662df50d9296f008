//! A second look at forms that are equal under assumptions: whether the graph gives other values with them.

use indexmap::IndexMap;
use rustc_hash::FxHashSet;

use super::apply::apply;
use super::rewrite::Rewrite;
use crate::ir::Graph;
use crate::prove::{Context, differ};

/// Kinds of forms that are tried one by one. Those beyond are left out with all others if together they change what the graph gives.
const MAX_KINDS: usize = 8;

/// The rewrites without those that assume between which numbers elements lie, and with which some input leads to other outputs: the logarithm
/// of a square is twice that of a number which is positive, and nothing says that it is.
pub(super) fn without_refuted(graph: &Graph, mut rewrites: Vec<Rewrite>, context: &Context) -> Vec<Rewrite> {
    let is_refuted = |some: &[Rewrite]| {
        !some.is_empty() && apply(graph, some).is_ok_and(|applied| differ(graph, &applied.graph, context))
    };
    let conditional: Vec<Rewrite> = rewrites.iter().filter(|rewrite| rewrite.has_limits).cloned().collect();
    if !is_refuted(&conditional) {
        return rewrites;
    }
    let mut kinds: IndexMap<String, Vec<Rewrite>> = IndexMap::new();
    for rewrite in conditional {
        kinds.entry(rewrite.pattern.clone()).or_default().push(rewrite);
    }
    let tried = kinds.into_iter().take(MAX_KINDS);
    let kept: FxHashSet<String> = tried.filter(|(_, some)| !is_refuted(some)).map(|(pattern, _)| pattern).collect();
    rewrites.retain(|rewrite| !rewrite.has_limits || kept.contains(&rewrite.pattern));
    rewrites
}
