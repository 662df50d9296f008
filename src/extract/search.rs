//! The cheapest form of one part of a graph.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::contractions::contractions;
use super::plan::{self, By, Counts, Leaves};
use super::short::short_forms;
use super::spellings::{joined_products, parts_as_slices};
use super::term::Term;
use crate::energy::{Bill, CallPrice, CostModel, Weights};
use crate::ir::MathConfig;
use crate::ops::{Family, KernelClass, Op};
use crate::prove::{
    Closure, Context, Lemma, Limits, Narrow, Samples, Steps, TermArena, TermId, Window, assumed, cached, has_narrow,
    narrow, proven_equal, ranges, rolled,
};
use crate::rules::{RuleSet, Sentence, Tier};

/// Which forms are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FormSearch {
    /// Those that the rules lead to.
    ByRules,
    /// Those, short forms that no rule names, and forms of several values together. Takes longer.
    Thorough,
}

/// How far a search for alternatives goes: less than a proof, since there is one for every part of a graph.
const LIMITS: Limits = Limits { rounds: 5, nodes: 1_000, search: 200_000 };

/// So many parts that differ are searched as far. Where the rules alone are asked and a graph has more, each gets less.
const MAX_PARTS: usize = 400;

/// The least that a part gets.
const MIN_NODES: usize = 250;

/// How far a search goes in a graph with so many parts that differ.
pub(super) fn limits(forms: FormSearch, parts: usize) -> Limits {
    match forms {
        FormSearch::ByRules if parts > MAX_PARTS => {
            Limits { nodes: (LIMITS.nodes * MAX_PARTS / parts).max(MIN_NODES), ..LIMITS }
        }
        _ => LIMITS,
    }
}

/// How far a search for kernels that do the work of several goes after it: their nodes are added to its own.
const FUSED: Limits = Limits { rounds: 2, nodes: 500, search: 100_000 };

/// Searches that start from the form that the one before came to.
const MAX_REPEATS: usize = 3;

/// Short forms of one part that a proof is tried for.
const MAX_GUESSES: usize = 3;

/// What a short form may cost at most, relative to the form that the rules come to: theirs is the one with steps that say why.
const WORTH: f64 = 0.98;

/// What a search finds, whatever the leaves are called.
#[derive(Clone)]
pub(super) struct Found {
    pub term: Term,
    pub after: Bill,
    pub rules: Vec<Arc<str>>,
    pub tier: Tier,
    pub assumed: Vec<Sentence<TermId>>,
    /// Whether rules assume between which numbers elements lie.
    pub has_limits: bool,
}

/// A search for the cheapest form of one part, whose leaves are the inputs of `arena`.
pub(super) struct Search {
    pub arena: TermArena,
    pub root: TermId,
    /// What the part executes as it is.
    pub before: Bill,
    /// Whether it is too large for the rules, and may be a loop that can be rolled up.
    pub is_loop: bool,
}

/// A form as a cache keeps it; none if there is none that costs less.
type Kept = Option<Steps>;

/// What a part is priced with.
pub(super) struct Prices<'a> {
    pub model: &'a CostModel,
    pub config: &'a MathConfig,
    pub weights: Weights,
    pub calls: CallPrice,
    pub forms: FormSearch,
    pub limits: Limits,
    /// Of the figures of the model, where answers are remembered.
    pub fingerprint: Option<u64>,
}

impl Prices<'_> {
    fn cost(&self, bill: &Bill) -> f64 {
        self.weights.cost(&bill.total())
    }
}

impl Search {
    /// The cheapest form, if it takes less of what counts beyond doubt: the one that an earlier run found, or else this one.
    pub(super) fn run(self, leaves: &Leaves, prices: &Prices, context: &Context) -> Option<Found> {
        let Prices { config, weights, calls, forms, limits, fingerprint, .. } = prices;
        let (Some(cache), Some(fingerprint)) = (context.cache, fingerprint) else {
            return self.searched(leaves, prices, context.rules);
        };
        let asked = format!(
            "cheaper {} {leaves:?} {config:?} {weights:?} {calls:?} {forms:?} {} figures {fingerprint:016x}",
            self.root.index(),
            limits.nodes
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

    /// The cheapest form that the rules come to, or a short one that is cheaper still. A loop is rolled up first.
    fn searched(self, leaves: &Leaves, prices: &Prices, rules: &RuleSet) -> Option<Found> {
        let rolled = match prices.forms {
            FormSearch::Thorough => self.rolled(leaves, prices, rules),
            FormSearch::ByRules => None,
        };
        if self.is_loop {
            return rolled;
        }
        let by_rules = match (self.step_by_step(leaves, prices, rules), rolled) {
            (Some(by_rules), Some(rolled)) if prices.cost(&rolled.after) < prices.cost(&by_rules.after) => Some(rolled),
            (by_rules, rolled) => by_rules.or(rolled),
        };
        if prices.forms == FormSearch::ByRules {
            return by_rules;
        }
        let than = prices.cost(by_rules.as_ref().map_or(&self.before, |found| &found.after));
        self.short(leaves, prices, rules, &|bill| prices.cost(bill) < WORTH * than).or(by_rules)
    }

    /// The cheapest form of a loop over all of its steps at once.
    fn rolled(&self, leaves: &Leaves, prices: &Prices, rules: &RuleSet) -> Option<Found> {
        let mut arena = self.arena.clone();
        let rolled = rolled(&mut arena, self.root)?;
        let form = rolled.form;
        let after = self.saving(&arena, form, leaves, prices)?;
        let prove = |arena, ends, limits| proven_equal(rules, arena, ends, limits);
        let (arena, mut proof) = rolled.proof(arena, self.root, &prove)?;
        let whole = Search { arena: arena.clone(), root: form, before: self.before.clone(), is_loop: false };
        // What views cost is not in the bill: the rules leave out those that are idle.
        let better = whole.by_rules(leaves, prices, rules);
        let Some(better) = better.filter(|better| prices.cost(&better.after) <= prices.cost(&after)) else {
            return Some(found(arena, [self.root, form], after, proof));
        };
        proof.extend(better.term.proof.iter().cloned());
        Some(found(Arc::unwrap_or_clone(better.term.arena), [self.root, better.term.root], better.after, proof))
    }

    /// The form that the rules come to, and those that they come to from there: what many steps lead to is found from halfway.
    fn step_by_step(&self, leaves: &Leaves, prices: &Prices, rules: &RuleSet) -> Option<Found> {
        let mut best = self.by_rules(leaves, prices, rules)?;
        for _ in 0..MAX_REPEATS {
            // The next search starts from the steps so far, and not from all that was tried.
            let (mut arena, ends) = (self.arena.clone(), [self.root, best.term.root]);
            let steps = Steps::write(&best.term.arena, self.arena.len(), &best.term.proof, ends, rules);
            let Some((proof, [_, root])) = steps.read(&mut arena, rules) else { break };
            let halfway = Search { arena, root, before: self.before.clone(), is_loop: false };
            let next = halfway.by_rules(leaves, prices, rules);
            let Some(next) = next.filter(|next| prices.cost(&next.after) < WORTH * prices.cost(&best.after)) else {
                break;
            };
            let proof = proof.into_iter().chain(next.term.proof.iter().cloned()).collect();
            best = found(Arc::unwrap_or_clone(next.term.arena), [self.root, next.term.root], next.after, proof);
        }
        Some(best)
    }

    /// Saturates a window and extracts the form that takes least of what counts. Where that is not sure to save any, one that is better
    /// known may be.
    fn by_rules(&self, leaves: &Leaves, prices: &Prices, rules: &RuleSet) -> Option<Found> {
        let mut arena = self.arena.clone();
        let mut equal = Vec::new();
        if prices.forms == FormSearch::Thorough {
            equal = parts_as_slices(&mut arena, self.root);
            let (with_products, of_products) = joined_products(arena, self.root, rules);
            arena = with_products;
            equal.extend(of_products);
            let (with_products, of_sums) = contractions(arena, self.root, rules);
            arena = with_products;
            equal.extend(of_sums);
        }
        let (mut window, classes) = Window::with_steps(arena, equal, &[self.root]);
        window.saturate(rules, None, prices.limits);
        if prices.forms == FormSearch::Thorough {
            let nodes = window.egraph.total_number_of_nodes() + FUSED.nodes;
            window.fuse(rules, Limits { nodes, ..FUSED });
        }
        let ways = [
            (Counts::Value, prices.calls),
            (Counts::Value, CallPrice::default()),
            (Counts::UpperEnd, CallPrice::default()),
            (Counts::OtherOperatorsTwice, CallPrice::default()),
        ];
        // Where calls count nothing, the first two are one.
        let repeats = usize::from(prices.calls == CallPrice::default());
        let has_exponentials = plan::has_exponentials(&self.arena);
        for (counts, calls) in ways.into_iter().skip(repeats) {
            let by = By {
                counts,
                calls,
                has_exponentials,
                before: &self.before,
                weights: prices.weights,
                config: prices.config,
                model: prices.model,
            };
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
        forms.sort_by(|(_, x), (_, y)| prices.cost(x).total_cmp(&prices.cost(y)));
        forms.into_iter().take(MAX_GUESSES).find_map(|(form, after)| {
            let mut own = self.arena.clone();
            let form = own.import(&arena, form, &mut FxHashMap::default());
            let (arena, proof) = proven_equal(rules, own, [self.root, form], Limits::default())?;
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
    let (mut assumed, has_limits) = assumed(&mut arena, &proof);
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
    Found { term, after, rules, tier, assumed, has_limits }
}

/// The values that have to stay within the range of their types for `best` to be what `root` is.
fn narrow_values(arena: &TermArena, root: TermId, best: TermId, proof: &[Lemma]) -> Vec<Narrow> {
    if !has_narrow(arena) {
        return Vec::new();
    }
    let exact = closure(arena, proof, Tier::Exact);
    narrow(arena, &exact, &closure(arena, proof, Tier::ANY_ERROR), &[(root, best)])
}

/// What follows from those steps of a proof that are at least as strong as `tier`.
pub(super) fn closure(arena: &TermArena, proof: &[Lemma], tier: Tier) -> Closure {
    let mut closure = if tier == Tier::Exact { Closure::exact() } else { Closure::default() };
    closure.extend(arena);
    for (n, lemma) in (0..).zip(proof).filter(|(_, lemma)| lemma.tier() <= tier) {
        closure.assume(arena, lemma.before, lemma.after, n);
    }
    closure
}
