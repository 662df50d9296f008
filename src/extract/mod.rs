//! Cheaper equivalents: forms that the rules prove equal to a part of a graph and that take less energy, or less of what counts otherwise.

mod apply;
mod candidate;
mod dag;
mod fanout_free;
mod joint;
mod merge;
mod once;
mod part;
mod pay_off;
mod plan;
mod search;
mod short;
mod term;
mod trim;
mod undecided;
mod worth;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::energy::{Bill, CallPrice, Calls, Cost, CostModel, Item, Weights};
use crate::ir::{Graph, NodeId, NodeKind, Value};
use crate::ops::TypeError;
use crate::prove::{Context, Lemma, Said, TermArena, TermId};
use crate::rules::Tier;

pub(crate) use apply::{Applied, apply};
use candidate::{Candidate, without_overlaps};
pub(crate) use joint::results;
pub(crate) use merge::{Merged, Pair, merge};
pub use once::Once;
use part::{Part, Parts};
pub(crate) use pay_off::{Improved, pay_off};
use search::{Found, Prices};
pub(crate) use search::FormSearch;
use term::Term;
pub(crate) use undecided::undecided;

/// Operators that one rewrite may replace. Larger parts hold more forms than a search gets through.
const MAX_OPERATORS: usize = 12;

/// A part of a graph and a cheaper form of it.
#[derive(Clone)]
pub struct Rewrite {
    /// Operators that the cheaper form replaces, in topological order.
    pub replaced: Vec<NodeId>,
    /// The cheaper form, over the names of the values it reads.
    pub form: String,
    /// The same over letters, alike for parts that are alike.
    pub pattern: String,
    pub before: Cost,
    pub after: Cost,
    /// What the cheaper form executes.
    pub bill: Bill,
    elsewhere: Elsewhere,
    /// Rules of the proof, in order, each once.
    pub rules: Vec<Arc<str>>,
    pub tier: Tier,
    pub assumed: Vec<Said>,
    /// The values that the cheaper form computes, in the order of the graph.
    roots: Vec<Value>,
    /// The form: one term for all roots.
    arena: Arc<TermArena>,
    root: TermId,
    /// What stands for the inputs of `arena`, and of the arena of the proof.
    leaves: Vec<Value>,
    proof: Term,
}

/// What the layout of a form's result adds to the cost of other operators.
#[derive(Clone, Copy, Debug, Default)]
struct Elsewhere {
    mj: f64,
    us: f64,
}

impl Rewrite {
    /// What the form saves in the whole, in mJ.
    pub fn saves_mj(&self) -> f64 {
        self.before.energy_mj.value - self.after.energy_mj.value - self.elsewhere.mj
    }

    /// What the form saves in the whole, in microseconds; below 0 where it takes longer.
    pub fn saves_us(&self) -> f64 {
        self.before.time_us.value - self.after.time_us.value - self.elsewhere.us
    }

    /// What it saves of what counts.
    pub(crate) fn saves(&self, weights: Weights) -> f64 {
        weights.of(self.saves_mj(), self.saves_us())
    }

    /// Whether it takes less energy and more time, which is a matter of choice.
    pub fn is_trade_off(&self) -> bool {
        is_slower(&self.before, &self.after)
    }

    /// The same rewrite of a graph in which nodes stand elsewhere; `None` where one that it needs is missing.
    pub fn moved(&self, to: &FxHashMap<NodeId, NodeId>) -> Option<Rewrite> {
        let node = |id: &NodeId| to.get(id).copied();
        let replaced = self.replaced.iter().map(node).collect::<Option<_>>()?;
        let leaves = self.leaves.iter().map(|v| Some(Value::new(node(&v.node)?, v.slot))).collect::<Option<_>>()?;
        let roots = self.roots.iter().map(|v| Some(Value::new(node(&v.node)?, v.slot))).collect::<Option<_>>()?;
        Some(Rewrite { replaced, leaves, roots, ..self.clone() })
    }

    /// The cheaper form, whose input `n` stands for number `n` of the values that it reads.
    pub(crate) fn expression(&self) -> (&TermArena, TermId, &[Value]) {
        (&self.arena, self.root, &self.leaves)
    }

    /// The values that the cheaper form reads, of those that the part read that it replaces.
    fn reads(&self) -> impl Iterator<Item = Value> {
        joint::reads(&self.arena, self.root, &self.leaves)
    }

    /// The proof that the cheaper form equals what it replaces. Input `n` of the arena stands for a value that is read,
    /// which [`letter`] names.
    pub fn proof(&self) -> (&TermArena, &[Lemma]) {
        (&self.proof.arena, &self.proof.proof)
    }

    /// What is replaced and what takes its place, as terms of the arena of the proof.
    pub(crate) fn ends(&self) -> [TermId; 2] {
        [self.proof.replaced, self.proof.root]
    }
}

/// A time beyond which a cheaper form counts as slower, relative to the other one: it is a trade-off then, and no waste.
pub(crate) const SLOWER: f64 = 1.01;

/// Parts of `graph`, whose nodes are priced as `items`, that have a form which takes less of what counts beyond doubt. They do not
/// overlap. What is computed once is [`Item::Once`] among `items`, and in forms costs nothing either.
pub(crate) fn cheaper_forms(
    graph: &Graph,
    items: &[Item],
    context: &Context,
    model: &CostModel,
    weights: Weights,
    forms: FormSearch,
) -> Result<Vec<Rewrite>, TypeError> {
    let (parts, all) = candidates(graph, items, context, model, weights, forms)?;
    let chosen = without_overlaps(all, graph.len(), weights);
    Ok(chosen.into_iter().map(|candidate| candidate.rewrite(&parts)).collect())
}

/// Parts of `graph` that have a form which takes less of what counts beyond doubt. They may overlap.
fn candidates<'g>(
    graph: &'g Graph,
    items: &'g [Item],
    context: &Context,
    model: &CostModel,
    weights: Weights,
    forms: FormSearch,
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
        joint::parts(graph, &parts.users, &live).into_iter().for_each(|part| parts.add_joint(part));
    }
    let searches = std::mem::take(&mut parts.searches);
    let total = searches.len() as u64;
    let done = AtomicU64::new(0);
    let fingerprint = context.cache.map(|_| model.fingerprint());
    let calls = match model.host() {
        Some(host) => {
            let kernels_us = items.iter().collect::<Bill>().total().time_us;
            let all = Calls::of_graph(graph, items);
            if kernels_us.is_known() { host.call_price(all, kernels_us.value, weights) } else { CallPrice::default() }
        }
        None => CallPrice::default(),
    };
    let prices = Prices { model, config: &graph.config, weights, calls, forms, fingerprint };
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
    let candidate = |part: Part| {
        let found = found[part.search].clone()?;
        Candidate::new(part, found, &parts, model, weights)
    };
    let all = all.into_iter().filter_map(candidate).collect();
    Ok((parts, all))
}

/// `a`, `b`, `c` and so on; `v26` and so on after `z`.
pub(crate) fn letter(n: u32) -> String {
    u8::try_from(n).ok().filter(|&n| n < 26).map_or(format!("v{n}"), |n| char::from(b'a' + n).to_string())
}

fn is_slower(before: &Cost, after: &Cost) -> bool {
    after.time_us.value > before.time_us.value * SLOWER
}
