//! Cheaper equivalents: forms that the rules prove equal to a part of a graph and that take less energy, or less of what counts otherwise.

mod apply;
mod candidate;
mod contractions;
mod dag;
mod fanout_free;
mod joint;
mod merge;
mod once;
mod part;
mod pay_off;
mod plan;
mod refuted;
mod rewrite;
mod search;
mod short;
mod spellings;
mod term;
mod trim;
mod undecided;
mod worth;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use crate::energy::{Bill, CallPrice, Calls, CostModel, Item, Weights};
use crate::ir::{Graph, NodeKind};
use crate::ops::TypeError;
use crate::prove::Context;

pub(crate) use apply::Applied;
use candidate::{Candidate, without_overlaps};
use fanout_free::MAX_OPERATORS;
pub(crate) use joint::results;
pub(crate) use merge::{Merged, Pair, merge};
pub use once::Once;
use part::{Part, Parts};
pub(crate) use pay_off::{Improved, pay_off};
use refuted::without_refuted;
pub(crate) use rewrite::{Rewrite, SLOWER, letter};
pub(crate) use search::FormSearch;
use search::{Found, Prices};
pub(crate) use undecided::undecided;

/// Parts of `graph`, whose nodes are priced as `items`, that have a form which takes less of what counts beyond doubt. They do not
/// overlap. What is computed once is [`Item::Once`] among `items`, and in forms costs nothing either. A call more counts what it does beside
/// so many calls whose kernels take so many microseconds: those of `graph`, if none are given.
pub(crate) fn cheaper_forms(
    graph: &Graph,
    items: &[Item],
    context: &Context,
    model: &CostModel,
    weights: Weights,
    forms: FormSearch,
    beside: Option<(Calls, f64)>,
) -> Result<Vec<Rewrite>, TypeError> {
    let (parts, all) = candidates(graph, items, context, model, weights, forms, beside)?;
    let chosen = without_overlaps(all, graph.len(), weights);
    let rewrites = chosen.into_iter().map(|candidate| candidate.rewrite(&parts)).collect();
    Ok(without_refuted(graph, rewrites, context))
}

/// Parts of `graph` that have a form which takes less of what counts beyond doubt. They may overlap.
fn candidates<'g>(
    graph: &'g Graph,
    items: &'g [Item],
    context: &Context,
    model: &CostModel,
    weights: Weights,
    forms: FormSearch,
    beside: Option<(Calls, f64)>,
) -> Result<(Parts<'g>, Vec<Candidate>), TypeError> {
    let mut parts = Parts::new(graph, items, model)?;
    let live = graph.live();
    for (root, node) in graph.nodes() {
        // What no output depends on is better left out than rewritten.
        if matches!(node.kind, NodeKind::Op { .. }) && node.types.len() == 1 && live[root.index()] {
            let cone = fanout_free::cone(graph, &parts.users, root, MAX_OPERATORS);
            parts.add(cone, root.into());
        }
    }
    if forms == FormSearch::Thorough {
        for (root, _) in graph.operators().filter(|(root, _)| live[root.index()]) {
            parts.add_loop(root);
        }
        joint::parts(graph, &parts.users, &live).into_iter().for_each(|part| parts.add_joint(part));
    }
    let searches = std::mem::take(&mut parts.searches);
    let total = searches.len() as u64;
    let done = AtomicU64::new(0);
    let fingerprint = context.cache.map(|_| model.fingerprint());
    let calls = match model.host() {
        Some(host) => {
            let kernels_us = items.iter().collect::<Bill>().total().time_us;
            let own = kernels_us.is_known().then(|| (Calls::of_graph(graph, items), kernels_us.value));
            let price = |(calls, kernels_us)| host.call_price(calls, kernels_us, weights);
            beside.or(own).map(price).unwrap_or_default()
        }
        None => CallPrice::default(),
    };
    let limits = search::limits(forms, searches.len());
    let prices = Prices { model, config: &graph.config, weights, calls, forms, limits, fingerprint };
    let found: Vec<Option<Arc<Found>>> = searches
        .into_par_iter()
        // A core that is done with its share, or with the proof, takes over what another one has not begun.
        .with_max_len(1)
        .map(|((_, leaves), search)| {
            let found = search.run(&leaves, &prices, context);
            context.progress.tick(done.fetch_add(1, Ordering::Relaxed) + 1, total);
            found.map(Arc::new)
        })
        .collect();
    let all = std::mem::take(&mut parts.all);
    let candidate = |(part, search): (Part, usize)| {
        let found = found[search].clone()?;
        Candidate::new(part, found, &parts, model, weights)
    };
    let mut all: Vec<Candidate> = all.into_iter().filter_map(candidate).collect();
    if forms == FormSearch::Thorough {
        let repeated = parts.repeated(&live).into_iter();
        all.extend(repeated.filter_map(|(id, first)| Candidate::again(id, first, &parts, weights)));
    }
    Ok((parts, all))
}
