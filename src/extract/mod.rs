//! Cheaper equivalents: forms that the rules prove equal to a part of a graph and that take less energy, or less of what counts otherwise.

mod apply;
mod dag;
mod fanout_free;
mod merge;
mod once;
mod pay_off;
mod plan;
mod search;
mod short;
mod term;
mod undecided;
mod worth;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use indexmap::IndexMap;
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::energy::{Bill, Cost, CostModel, Item, Weights, computed_nodes};
use crate::ir::{Fixed, Graph, NodeId, NodeKind, Value, layouts};
use crate::ops::TypeError;
use crate::prove::{
    Boundary, ConeKey, Context, GraphLeaves, Head, Lemma, Made, Places, Said, Side, TermArena, TermId, Values, cone,
    graph_terms,
};
use crate::rules::Tier;

pub(crate) use apply::{Applied, apply};
use fanout_free::Users;
pub(crate) use merge::{Merged, Pair, merge};
pub use once::Once;
pub(crate) use pay_off::{Improved, pay_off};
use plan::{Leaf, Leaves};
pub(crate) use search::FormSearch;
use search::{Found, Prices, Search, closure};
use term::Term;
pub(crate) use undecided::undecided;

/// Operators that one rewrite may replace. Larger parts hold more forms than a search gets through.
const MAX_OPERATORS: usize = 12;

/// A part of a graph and a cheaper form of it.
#[derive(Clone, Debug)]
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
    /// The value that the cheaper form computes.
    root: NodeId,
    /// What stands for the inputs of `term`.
    leaves: Vec<Value>,
    term: Term,
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
        Some(Rewrite { replaced, leaves, root: node(&self.root)?, ..self.clone() })
    }

    /// The cheaper form, whose input `n` stands for number `n` of the values that it reads.
    pub(crate) fn expression(&self) -> (&TermArena, TermId, &[Value]) {
        (&self.term.arena, self.term.root, &self.leaves)
    }

    /// The values that the cheaper form reads, of those that the part read that it replaces.
    fn reads(&self) -> impl Iterator<Item = Value> {
        let Term { arena, root, .. } = &self.term;
        let (mut seen, mut next) = (FxHashSet::from_iter([*root]), vec![*root]);
        while let Some(term) = next.pop() {
            next.extend(arena.term(term).operands.iter().filter(|&&o| seen.insert(o)));
        }
        seen.into_iter().filter_map(|term| match arena.head(term) {
            Head::Input(n) => self.leaves.get(*n as usize).copied(),
            _ => None,
        })
    }

    /// The proof that the cheaper form equals what it replaces. Input `n` of the arena stands for a value that is read,
    /// which [`letter`] names.
    pub fn proof(&self) -> (&TermArena, &[Lemma]) {
        (&self.term.arena, &self.term.proof)
    }

    /// What is replaced and what takes its place, as terms of the arena of the proof.
    pub(crate) fn ends(&self) -> [TermId; 2] {
        [self.term.replaced, self.term.root]
    }
}

/// No GPU holds the operands of a part that moves more bytes: nobody runs it.
const MAX_BYTES: f64 = 1e12;

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
    let Candidates { all, values } = candidates(graph, items, context, model, weights, forms)?;
    let chosen = without_overlaps(all, graph.len(), weights);
    Ok(chosen.into_iter().map(|candidate| candidate.rewrite(graph, &values)).collect())
}

/// Parts of `graph` that have a form which takes less of what counts beyond doubt. They may overlap.
fn candidates(
    graph: &Graph,
    items: &[Item],
    context: &Context,
    model: &CostModel,
    weights: Weights,
    forms: FormSearch,
) -> Result<Candidates, TypeError> {
    let computed = computed_nodes(graph, items);
    let fixed = Fixed::of(graph, model.is_frozen());
    let layouts = layouts(graph);
    let numbers: Vec<u32> = (0..graph.inputs().len() as u32).collect();
    let mut arena = TermArena::default();
    let values = graph_terms(&mut arena, graph, &GraphLeaves::of(graph, Side::A, &numbers))?;
    let users = Users::of(graph);
    let mut parts = Vec::new();
    // Parts that are alike, such as the layers of a model, are searched once.
    let mut searches: IndexMap<(ConeKey, Leaves), Search> = IndexMap::new();
    let live = graph.live();
    for (root, node) in graph.nodes() {
        // What no output depends on is better left out than rewritten.
        if !matches!(node.kind, NodeKind::Op { .. }) || node.types.len() != 1 || !live[root.index()] {
            continue;
        }
        let mut replaced = fanout_free::cone(graph, &users, root, MAX_OPERATORS);
        let price = |nodes: &[NodeId]| -> Bill { nodes.iter().map(|n| &items[n.index()]).collect() };
        let before = price(&replaced).total();
        if before.launches == 0 || !before.energy_mj.is_known() || before.bytes > MAX_BYTES {
            continue;
        }
        let inside: FxHashSet<TermId> = replaced.iter().flat_map(|n| values[n.index()].iter().copied()).collect();
        let top = values[root.index()][0];
        let Some(shape) = cone(&arena, &Inside(inside), &[top], 0, 2 * MAX_OPERATORS) else { continue };
        // What depends on no input is computed once, whatever form it has.
        if shape.leaves.iter().all(|&t| arena.constant(t).is_some()) {
            continue;
        }
        let value_of = values_read(graph, &values, &replaced);
        let leaves: Option<Vec<Value>> = shape.leaves.iter().map(|t| value_of.get(t).copied()).collect();
        let Some(leaves) = leaves else { continue };
        if leaves.iter().all(|v| fixed.made_of(v.node).is_some()) {
            continue;
        }
        // A constant that the form reads is computed as before, and what it costs is not saved.
        keep_computing(graph, &leaves, &mut replaced);
        let bill = price(&replaced);
        let before = bill.total();
        if before.launches == 0 {
            continue;
        }
        let read: Vec<Leaf> = leaves
            .iter()
            .map(|v| Leaf {
                layout: layouts[v.node.index()][v.slot as usize].clone(),
                is_computed: computed[v.node.index()],
                made_of: fixed.made_of(v.node),
            })
            .collect();
        let read = Leaves { read, is_frozen: fixed.any() };
        let entry = searches.entry((shape.key.clone(), read));
        let search = entry.index();
        entry.or_insert_with(|| {
            let (arena, copies) = shape.localise(&arena, &Nothing, &[top]);
            Search { arena, root: copies[0], before: bill }
        });
        parts.push(Part { root, replaced, before, leaves, search });
    }
    let total = searches.len() as u64;
    let done = AtomicU64::new(0);
    let fingerprint = context.cache.map(|_| model.fingerprint());
    let prices = Prices { model, config: &graph.config, weights, forms, fingerprint };
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
    let candidate = |part: Part| {
        let found = found[part.search].clone()?;
        let is_left = found.after.total().launches > 0 || !users.is_written(part.root);
        is_left.then(|| Candidate { part, cost: found.after.total(), found })
    };
    Ok(Candidates { all: parts.into_iter().filter_map(candidate).collect(), values })
}

/// The values that a part may read, by their terms: what its operators read from outside, and what they compute themselves.
fn values_read(graph: &Graph, values: &Values, part: &[NodeId]) -> FxHashMap<TermId, Value> {
    let own = part.iter().flat_map(|&id| (0..values[id.index()].len() as u32).map(move |slot| Value::new(id, slot)));
    let read = part.iter().flat_map(|&id| graph.operands(id)).filter(|v| !part.contains(&v.node));
    // Of two values of one term, the one from outside counts: it is there whatever becomes of the part.
    own.chain(read).map(|v| (values[v.node.index()][v.slot as usize], v)).collect()
}

/// Takes what `leaves` are computed by out of the operators that a form replaces.
fn keep_computing(graph: &Graph, leaves: &[Value], replaced: &mut Vec<NodeId>) {
    let mut kept: Vec<NodeId> = leaves.iter().map(|v| v.node).filter(|n| replaced.contains(n)).collect();
    while let Some(node) = kept.pop() {
        replaced.retain(|&n| n != node);
        kept.extend(graph.operands(node).iter().map(|v| v.node).filter(|n| replaced.contains(n)));
    }
}

/// `a`, `b`, `c` and so on; `v26` and so on after `z`.
pub(crate) fn letter(n: u32) -> String {
    u8::try_from(n).ok().filter(|&n| n < 26).map_or(format!("v{n}"), |n| char::from(b'a' + n).to_string())
}

fn is_slower(before: &Cost, after: &Cost) -> bool {
    after.time_us.value > before.time_us.value * SLOWER
}

/// The candidates that save most, none of which replaces what another one does; in the order of the graph. Where energy alone counts,
/// slower ones come last.
fn without_overlaps(mut candidates: Vec<Candidate>, nodes: usize, weights: Weights) -> Vec<Candidate> {
    let saves = |c: &Candidate| weights.cost(&c.part.before) - weights.cost(&c.cost);
    let slower = |c: &Candidate| weights.is_energy() && is_slower(&c.part.before, &c.cost);
    candidates.sort_by(|x, y| {
        let by_time = slower(x).cmp(&slower(y));
        by_time.then(saves(y).total_cmp(&saves(x))).then_with(|| x.part.replaced.cmp(&y.part.replaced))
    });
    let mut taken = vec![false; nodes];
    candidates.retain(|Candidate { part, .. }| {
        let free = part.replaced.iter().all(|n| !taken[n.index()]);
        if free {
            part.replaced.iter().for_each(|n| taken[n.index()] = true);
        }
        free
    });
    candidates.sort_by(|x, y| x.part.replaced.cmp(&y.part.replaced));
    candidates
}

/// A part of a graph that a cheaper form may replace.
struct Part {
    /// The value that it computes.
    root: NodeId,
    replaced: Vec<NodeId>,
    before: Cost,
    /// What it reads.
    leaves: Vec<Value>,
    /// Number of the search for its forms.
    search: usize,
}

/// A part with the form that its search found.
struct Candidate {
    part: Part,
    found: Arc<Found>,
    /// What the form costs.
    cost: Cost,
}

/// The candidates of a graph, with the terms of its values.
struct Candidates {
    all: Vec<Candidate>,
    values: Values,
}

impl Candidate {
    fn rewrite(self, graph: &Graph, values: &Values) -> Rewrite {
        let assumed = if self.found.assumed.is_empty() { Vec::new() } else { self.said(graph, values) };
        let Candidate { part, found, cost } = self;
        let name = |n: u32| part.leaves.get(n as usize).map_or("?".to_owned(), |v| graph.node(v.node).name.to_string());
        Rewrite {
            form: found.term.text(&name),
            pattern: found.term.text(&letter),
            replaced: part.replaced,
            before: part.before,
            after: cost,
            bill: found.after.clone(),
            elsewhere: Elsewhere::default(),
            rules: found.rules.clone(),
            tier: found.tier,
            assumed,
            root: part.root,
            leaves: part.leaves,
            term: found.term.clone(),
        }
    }

    /// What the form assumes, about the values of this part.
    fn said(&self, graph: &Graph, values: &Values) -> Vec<Said> {
        let Candidate { part, found, .. } = self;
        // The search knows this part as terms of its own, over leaves that are numbered.
        let mut arena = (*found.term.arena).clone();
        let mut here: FxHashMap<TermId, TermId> = FxHashMap::default();
        let mut made = Vec::new();
        let term_of = |v: Value| values[v.node.index()][v.slot as usize];
        for (n, &leaf) in (0..).zip(&part.leaves) {
            let input = (0..arena.len()).map(|t| arena.nth(t)).find(|&t| *arena.head(t) == Head::Input(n));
            if let Some(term) = input {
                here.insert(term_of(leaf), term);
                made.push(Made { term, node: graph.node(leaf.node), slot: leaf.slot as usize, side: None });
            }
        }
        for &id in &part.replaced {
            let node = graph.node(id);
            let operands: Option<SmallVec<[TermId; 4]>> =
                graph.operands(id).iter().map(|&v| here.get(&term_of(v)).copied()).collect();
            let (NodeKind::Op { op, attrs }, Some(operands)) = (&node.kind, operands) else { continue };
            for (slot, &graph_term) in values[id.index()].iter().enumerate() {
                let known = here.get(&graph_term).copied();
                let call =
                    |arena: &mut TermArena| arena.call(op, attrs, slot as u32, &operands, Some(&node.types[slot])).ok();
                if let Some(term) = known.or_else(|| call(&mut arena)) {
                    here.insert(graph_term, term);
                    made.push(Made { term, node, slot, side: None });
                }
            }
        }
        let closure = closure(&arena, &found.term.proof, Tier::ANY_ERROR);
        let places = Places::new(&arena, &closure, made);
        found.assumed.iter().map(|sentence| places.said(sentence)).collect()
    }
}

/// The terms of a part as a boundary: everything else is a leaf.
struct Inside(FxHashSet<TermId>);

impl Boundary for Inside {
    fn representative(&self, t: TermId) -> TermId {
        t
    }

    fn is_shared(&self, t: TermId) -> bool {
        !self.0.contains(&t)
    }

    fn passes(&self, _: &crate::ops::Op) -> bool {
        false
    }

    fn opens(&self, _: &crate::ops::Op) -> bool {
        false
    }
}

/// No classes: every term stands for itself.
struct Nothing;

impl Boundary for Nothing {
    fn representative(&self, t: TermId) -> TermId {
        t
    }

    fn is_shared(&self, _: TermId) -> bool {
        false
    }
}
