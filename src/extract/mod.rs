//! Cheaper equivalents: forms that the rules prove equal to a part of a graph and that take less energy, or less of what counts otherwise.

mod apply;
mod dag;
mod fanout_free;
mod merge;
mod once;
mod pay_off;
mod plan;
mod short;
mod undecided;
mod worth;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use indexmap::IndexMap;
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::energy::{Bill, Cost, CostModel, Item, Weights, computed_nodes};
use crate::ir::{Fixed, Graph, MathConfig, NodeId, NodeKind, Value, layouts};
use crate::ops::{Family, KernelClass, Op, TypeError};
use crate::prove::{
    Boundary, Closure, ConeKey, Context, GraphLeaves, Head, Lemma, Limits, Made, Narrow, Places, Said, Samples, Side,
    Steps, TermArena, TermId, Values, Window, assumed, cached, cone, graph_terms, has_narrow, narrow, proven_equal,
    ranges, show,
};
use crate::rules::{RuleSet, Sentence, Tier};

pub(crate) use apply::{Applied, apply};
use fanout_free::Users;
pub(crate) use merge::{Merged, Pair, merge};
pub use once::Once;
pub(crate) use pay_off::{Improved, pay_off};
use plan::{By, Counts, Leaf, Leaves};
use short::short_forms;
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

/// A form as a term of an arena of its own, whose input `n` stands for leaf `n`, and the proof that it equals
/// what it replaces.
#[derive(Clone)]
struct Term {
    arena: Arc<TermArena>,
    /// What it replaces.
    replaced: TermId,
    root: TermId,
    proof: Arc<[Lemma]>,
}

impl std::fmt::Debug for Term {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text(&|n| format!("%{n}")))
    }
}

impl Term {
    /// The form written down, given what its leaves are called.
    fn text(&self, leaf: &dyn Fn(u32) -> String) -> String {
        show(&self.arena, self.root, leaf)
    }
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

/// What a search finds, whatever the leaves are called.
#[derive(Clone)]
struct Found {
    term: Term,
    after: Bill,
    rules: Vec<Arc<str>>,
    tier: Tier,
    assumed: Vec<Sentence<TermId>>,
}

/// No GPU holds the operands of a part that moves more bytes: nobody runs it.
const MAX_BYTES: f64 = 1e12;

/// How far a search for alternatives goes: less than a proof, since there is one for every part of a graph.
const LIMITS: Limits = Limits { rounds: 5, nodes: 1_000, search: 200_000 };

/// Short forms of one part that a proof is tried for.
const MAX_GUESSES: usize = 3;

/// What a short form may cost at most, relative to the form that the rules come to: theirs is the one with steps that say why.
const WORTH: f64 = 0.98;

/// A time beyond which a cheaper form counts as slower, relative to the other one: it is a trade-off then, and no waste.
pub(crate) const SLOWER: f64 = 1.01;

/// Where cheaper forms are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Among {
    /// Forms that rules come to.
    Rules,
    /// Those, and short forms that no rule names. Takes longer.
    ShortForms,
}

/// Parts of `graph`, whose nodes are priced as `items`, that have a form which takes less of what counts beyond doubt. They do not
/// overlap. What is computed once is [`Item::Once`] among `items`, and in forms costs nothing either.
pub(crate) fn cheaper_forms(
    graph: &Graph,
    items: &[Item],
    context: &Context,
    model: &CostModel,
    (weights, among): (Weights, Among),
) -> Result<Vec<Rewrite>, TypeError> {
    let Candidates { all, values } = candidates(graph, items, context, model, (weights, among))?;
    let chosen = without_overlaps(all, graph.len(), weights);
    Ok(chosen.into_iter().map(|candidate| candidate.rewrite(graph, &values)).collect())
}

/// Parts of `graph` that have a form which takes less of what counts beyond doubt. They may overlap.
fn candidates(
    graph: &Graph,
    items: &[Item],
    context: &Context,
    model: &CostModel,
    (weights, among): (Weights, Among),
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
    let prices = Prices { model, config: &graph.config, weights, among, fingerprint };
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
    let candidate =
        |part: Part| found[part.search].clone().map(|found| Candidate { part, cost: found.after.total(), found });
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

/// What follows from those steps of a proof that are at least as strong as `tier`.
fn closure(arena: &TermArena, proof: &[Lemma], tier: Tier) -> Closure {
    let mut closure = if tier == Tier::Exact { Closure::exact() } else { Closure::default() };
    closure.extend(arena);
    for (n, lemma) in (0..).zip(proof).filter(|(_, lemma)| lemma.tier() <= tier) {
        closure.assume(arena, lemma.before, lemma.after, n);
    }
    closure
}

/// The values that have to stay within the range of their types for `best` to be what `root` is.
fn narrow_values(arena: &TermArena, root: TermId, best: TermId, proof: &[Lemma]) -> Vec<Narrow> {
    if !has_narrow(arena) {
        return Vec::new();
    }
    let exact = closure(arena, proof, Tier::Exact);
    narrow(arena, &exact, &closure(arena, proof, Tier::ANY_ERROR), &[(root, best)])
}

/// A search for the cheapest form of one part, whose leaves are the inputs of `arena`.
struct Search {
    arena: TermArena,
    root: TermId,
    /// What the part executes as it is.
    before: Bill,
}

/// A form as a cache keeps it; none if there is none that costs less.
type Kept = Option<Steps>;

/// What a part is priced with.
struct Prices<'a> {
    model: &'a CostModel,
    config: &'a MathConfig,
    weights: Weights,
    among: Among,
    /// Of the figures of the model, where answers are remembered.
    fingerprint: Option<u64>,
}

impl Search {
    /// The cheapest form, if it takes less of what counts beyond doubt: the one that an earlier run found, or else this one.
    fn run(self, leaves: &Leaves, prices: &Prices, context: &Context) -> Option<Found> {
        let Prices { config, weights, among, fingerprint, .. } = prices;
        let (Some(cache), Some(fingerprint)) = (context.cache, fingerprint) else {
            return self.searched(leaves, prices, context.rules);
        };
        let asked = format!(
            "cheaper {} {leaves:?} {config:?} {weights:?} {among:?} figures {fingerprint:016x}",
            self.root.index()
        );
        let question = cached::question(&asked, &self.arena, context.rules);
        if let Some(kept) = cached::get::<Kept>(cache, &question) {
            let mut arena = self.arena.clone();
            if let Some((proof, [from, to])) = kept?.read(&mut arena, context.rules)
                && from == self.root
            {
                let after = self.saving(&arena, to, leaves, prices)?;
                return Some(found(arena, [from, to], after, proof));
            }
            cache.invalid(&question);
        }
        let (known, root) = (self.arena.len(), self.root);
        let found = self.searched(leaves, prices, context.rules);
        let steps = found
            .as_ref()
            .map(|f| Steps::write(&f.term.arena, known, &f.term.proof, [root, f.term.root], context.rules));
        cached::put::<Kept>(cache, &question, &steps);
        found
    }

    /// The cheapest form that the rules come to, or a short one that is cheaper still.
    fn searched(self, leaves: &Leaves, prices: &Prices, rules: &RuleSet) -> Option<Found> {
        let by_rules = self.by_rules(leaves, prices, rules);
        if prices.among == Among::Rules {
            return by_rules;
        }
        let cost = |bill: &Bill| prices.weights.cost(&bill.total());
        let than = cost(by_rules.as_ref().map_or(&self.before, |found| &found.after));
        self.short(leaves, prices, rules, &|bill| cost(bill) < WORTH * than).or(by_rules)
    }

    /// Saturates a window and extracts the form that takes least of what counts. Where that is not sure to save any, one that is better
    /// known may be.
    fn by_rules(&self, leaves: &Leaves, prices: &Prices, rules: &RuleSet) -> Option<Found> {
        let (mut window, classes) = Window::new(self.arena.clone(), &[self.root]);
        window.saturate(rules, None, LIMITS);
        for counts in [Counts::Value, Counts::UpperEnd] {
            let by = By { counts, weights: prices.weights, config: prices.config, model: prices.model };
            let best = plan::cheapest(&mut window, classes[0], leaves, &by)?;
            if let Some(after) = self.saving(&window.arena, best, leaves, prices) {
                let proof = window.proof(self.root, best)?;
                return Some(found(window.arena, [self.root, best], after, proof));
            }
        }
        None
    }

    /// The cheapest short form that is proven, and that `is_better` than what is known.
    fn short(
        &self,
        leaves: &Leaves,
        prices: &Prices,
        rules: &RuleSet,
        is_better: &dyn Fn(&Bill) -> bool,
    ) -> Option<Found> {
        // What a view shows has a short form or none, and one kernel that streams is as short as can be.
        let Some((Op::Table(def), ..)) = self.arena.op(self.root) else { return None };
        let streams = def.kernels == KernelClass::Streaming && self.before.total().launches < 2;
        if def.family == Family::View || streams {
            return None;
        }
        let samples = Samples::of(&self.arena, self.root)?;
        let mut arena = self.arena.clone();
        let forms = short_forms(&mut arena, self.root);
        let forms = samples.alike(&arena, &forms).into_iter();
        let forms = forms.filter_map(|form| Some((form, self.saving(&arena, form, leaves, prices)?)));
        let mut forms: Vec<(TermId, Bill)> = forms.filter(|(_, after)| is_better(after)).collect();
        let cost = |bill: &Bill| prices.weights.cost(&bill.total());
        forms.sort_by(|(_, x), (_, y)| cost(x).total_cmp(&cost(y)));
        forms.into_iter().take(MAX_GUESSES).find_map(|(form, after)| {
            let mut own = self.arena.clone();
            let form = own.import(&arena, form, &mut FxHashMap::default());
            let (arena, proof) = proven_equal(rules, own, [self.root, form])?;
            Some(found(arena, [self.root, form], after, proof))
        })
    }

    /// What the form `best` executes, if that takes less of what counts than the part beyond doubt.
    fn saving(&self, arena: &TermArena, best: TermId, leaves: &Leaves, prices: &Prices) -> Option<Bill> {
        let after = plan::bill(arena, best, leaves, prices.config, prices.model);
        self.before.saving_of(&after, prices.weights).is_sure.then_some(after)
    }
}

fn found(mut arena: TermArena, [root, best]: [TermId; 2], after: Bill, proof: Vec<Lemma>) -> Found {
    let mut assumed = assumed(&mut arena, &proof);
    let narrow = narrow_values(&arena, root, best, &proof);
    assumed.extend(ranges(&arena, &narrow));
    let mut rules: Vec<Arc<str>> = Vec::new();
    for lemma in &proof {
        if !rules.iter().any(|n| &**n == lemma.name()) {
            rules.push(lemma.name().into());
        }
    }
    let mut tier = proof.iter().map(Lemma::tier).max().unwrap_or(Tier::Exact);
    if narrow.iter().any(|n| n.weakens) {
        tier = tier.max(Tier::Rounding);
    }
    let term = Term { arena: Arc::new(arena), replaced: root, root: best, proof: proof.into() };
    Found { term, after, rules, tier, assumed }
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
