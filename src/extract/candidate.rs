//! Parts with the forms that their searches found, of which those are chosen that save most.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::part::{Part, Parts};
use super::plan;
use super::rewrite::{Elsewhere, Rewrite, is_slower, letter};
use super::search::{Found, closure};
use super::trim::Trimmed;
use crate::energy::{Bill, Cost, CostModel, Weights};
use crate::ir::{NodeId, Value};
use crate::prove::{Made, Places, Said, TermId, show};
use crate::rules::Tier;

/// By how much, relative to what they save, a form of several values together has to save more than the forms of one value each that it
/// rules out.
const MARGIN: f64 = 0.02;

/// A part with the form that its search found.
pub(super) struct Candidate {
    part: Part,
    found: Arc<Found>,
    trimmed: Trimmed,
    /// What the operators cost that it replaces.
    before: Cost,
    /// What the form executes in their place.
    bill: Bill,
    after: Cost,
}

impl Candidate {
    /// `None` where the form of the part saves nothing here.
    pub(super) fn new(
        part: Part,
        found: Arc<Found>,
        parts: &Parts,
        model: &CostModel,
        weights: Weights,
    ) -> Option<Candidate> {
        let mut arena = (*found.term.arena).clone();
        let terms: Vec<(Value, TermId)> =
            part.terms(parts, &mut arena).into_iter().filter(|(v, _)| part.nodes.contains(&v.node)).collect();
        let trimmed = Trimmed::of(parts.graph, &part.nodes, &part.roots, &part.leaves, &found.term, (&arena, &terms))?;
        let leaves = parts.leaves(&trimmed.leaves);
        let bill = plan::bill(&trimmed.arena, trimmed.root, &leaves, &parts.graph.config, model);
        let (before, after) = (parts.price(&trimmed.replaced).total(), bill.total());
        // Some kernel has to put a result where it is kept.
        let is_left = after.launches > 0 || !trimmed.roots.iter().any(|root| parts.users.is_written(root.node));
        let saves = weights.cost(&before) > weights.cost(&after);
        (is_left && saves).then_some(Candidate { part, found, trimmed, before, bill, after })
    }

    /// An operator that computes `first` again, which is read in its place.
    pub(super) fn again(id: NodeId, first: Value, parts: &Parts, weights: Weights) -> Option<Candidate> {
        let (part, term) = parts.single(id)?;
        let terms = [(first, term.root)];
        let trimmed = Trimmed::of(parts.graph, &part.nodes, &part.roots, &part.leaves, &term, (&term.arena, &terms))?;
        let (before, bill) = (parts.price(&trimmed.replaced).total(), Bill::default());
        let found = Found {
            term: term.clone(),
            after: bill.clone(),
            rules: Vec::new(),
            tier: Tier::Exact,
            assumed: Vec::new(),
            has_limits: false,
        };
        let candidate = Candidate { part, found: Arc::new(found), trimmed, before, after: bill.total(), bill };
        (candidate.saves(weights) > 0.0).then_some(candidate)
    }

    fn saves(&self, weights: Weights) -> f64 {
        weights.cost(&self.before) - weights.cost(&self.after)
    }

    pub(super) fn found(&self) -> (&Found, &[Value]) {
        (&self.found, &self.part.leaves)
    }

    pub(super) fn rewrite(self, parts: &Parts) -> Rewrite {
        let assumed = if self.found.assumed.is_empty() { Vec::new() } else { self.said(parts) };
        let Candidate { found, trimmed, before, bill, after, .. } = self;
        let Trimmed { replaced, roots, arena, root, leaves, given } = trimmed;
        let name =
            |n: u32| leaves.get(n as usize).map_or("?".to_owned(), |v| parts.graph.node(v.node).name.to_string());
        Rewrite {
            form: show(&arena, root, &name),
            pattern: show(&arena, root, &letter),
            replaced,
            before,
            after,
            bill,
            elsewhere: Elsewhere::default(),
            rules: found.rules.clone(),
            tier: found.tier,
            assumed,
            has_limits: found.has_limits,
            roots,
            arena,
            root,
            leaves,
            proof: found.term.clone(),
            given,
        }
    }

    /// What the form assumes, about the values of this part.
    fn said(&self, parts: &Parts) -> Vec<Said> {
        let mut arena = (*self.found.term.arena).clone();
        let made = |(value, term): (Value, TermId)| Made {
            term,
            node: parts.graph.node(value.node),
            slot: value.slot as usize,
            side: None,
        };
        let made: Vec<Made> = self.part.terms(parts, &mut arena).into_iter().map(made).collect();
        let closure = closure(&arena, &self.found.term.proof, Tier::ANY_ERROR);
        let places = Places::new(&arena, &closure, made);
        self.found.assumed.iter().map(|sentence| places.said(sentence)).collect()
    }
}

/// The candidates that save most, none of which replaces what another one does or reads; in the order of the graph. Where energy alone
/// counts, slower ones come last.
pub(super) fn without_overlaps(candidates: Vec<Candidate>, nodes: usize, weights: Weights) -> Vec<Candidate> {
    let (mut joint, mut single): (Vec<Candidate>, Vec<Candidate>) =
        candidates.into_iter().partition(|candidate| candidate.part.roots.len() > 1);
    sort(&mut single, weights);
    sort(&mut joint, weights);
    let mut chosen = Chosen::new(nodes);
    let alone: Vec<&Candidate> = single.iter().filter(|candidate| chosen.take(candidate)).collect();
    let mut touching: FxHashMap<NodeId, Vec<usize>> = FxHashMap::default();
    for (i, candidate) in alone.iter().enumerate() {
        candidate.trimmed.touched().for_each(|node| touching.entry(node).or_default().push(i));
    }
    let mut chosen = Chosen::new(nodes);
    joint.retain(|candidate| {
        let near: BTreeSet<usize> =
            candidate.trimmed.touched().filter_map(|node| touching.get(&node)).flatten().copied().collect();
        let ruled_out = near.into_iter().map(|i| alone[i]).filter(|other| excludes(&candidate.trimmed, &other.trimmed));
        let lost: f64 = ruled_out.map(|other| other.saves(weights)).sum();
        candidate.saves(weights) > lost * (1.0 + MARGIN) && chosen.take(candidate)
    });
    single.retain(|candidate| chosen.take(candidate));
    let mut all = joint;
    all.extend(single);
    all.sort_by(|x, y| x.trimmed.replaced.cmp(&y.trimmed.replaced));
    all
}

/// Those that save most first, slower ones last where energy alone counts.
fn sort(candidates: &mut [Candidate], weights: Weights) {
    let slower = |c: &Candidate| weights.is_energy() && is_slower(&c.before, &c.after);
    candidates.sort_by(|x, y| {
        let by_time = slower(x).cmp(&slower(y));
        // Of those that save the same but for rounding, the smallest one says best what changes.
        let saves = |c: &Candidate| (c.saves(weights) as f32).to_bits() >> 8;
        let by_savings = saves(y).cmp(&saves(x)).then_with(|| x.trimmed.replaced.len().cmp(&y.trimmed.replaced.len()));
        by_time.then(by_savings).then_with(|| x.trimmed.replaced.cmp(&y.trimmed.replaced))
    });
}

/// Whether only one of two can be in place: both replace an operator, or one leaves out what the other one reads.
fn excludes(x: &Trimmed, y: &Trimmed) -> bool {
    x.replaced.iter().any(|node| y.replaced.contains(node))
        || y.reads().any(|value| x.leaves_out(value.node))
        || x.reads().any(|value| y.leaves_out(value.node))
}

/// Which nodes of a graph are taken.
struct Chosen {
    replaced: Vec<bool>,
    /// Replaced, and what it computed is gone.
    gone: Vec<bool>,
    read: Vec<bool>,
}

impl Chosen {
    fn new(nodes: usize) -> Chosen {
        let none = || vec![false; nodes];
        Chosen { replaced: none(), gone: none(), read: none() }
    }

    /// Takes a candidate, if it can be in place beside those that were taken.
    fn take(&mut self, candidate: &Candidate) -> bool {
        let trimmed = &candidate.trimmed;
        let free = trimmed.replaced.iter().all(|node| {
            let taken = self.replaced[node.index()] || trimmed.leaves_out(*node) && self.read[node.index()];
            !taken
        });
        let free = free && trimmed.reads().all(|value| !self.gone[value.node.index()]);
        if free {
            for node in &trimmed.replaced {
                self.replaced[node.index()] = true;
                self.gone[node.index()] = trimmed.leaves_out(*node);
            }
            trimmed.reads().for_each(|value| self.read[value.node.index()] = true);
        }
        free
    }
}
