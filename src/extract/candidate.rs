//! Parts with the forms that their searches found, of which those are chosen that save most.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::part::{Part, Parts};
use super::plan;
use super::rewrite::{Elsewhere, Rewrite, is_slower, letter};
use super::search::{Found, closure};
use super::trim::Trimmed;
use crate::energy::{Bill, Cost, CostModel, Weights};
use crate::ir::{NodeKind, Value};
use crate::prove::{Head, Made, Places, Said, TermArena, TermId, show};
use crate::rules::Tier;

/// By how much, relative to what they save, a form of several values together has to save more than the forms of one value each that it
/// rules out.
const WORTH: f64 = 0.02;

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

impl Part {
    /// The values that it reads and computes with their terms in the arena of its search, which knows it as terms over leaves that are
    /// numbered.
    fn terms(&self, parts: &Parts, arena: &mut TermArena) -> Vec<(Value, TermId)> {
        let mut here: FxHashMap<TermId, TermId> = FxHashMap::default();
        let mut terms = Vec::new();
        let term_of = |v: Value| parts.values[v.node.index()][v.slot as usize];
        for (n, &leaf) in (0..).zip(&self.leaves) {
            let input = (0..arena.len()).map(|t| arena.nth(t)).find(|&t| *arena.head(t) == Head::Input(n));
            if let Some(term) = input {
                here.insert(term_of(leaf), term);
                terms.push((leaf, term));
            }
        }
        for &id in &self.nodes {
            let node = parts.graph.node(id);
            let operands: Option<SmallVec<[TermId; 4]>> =
                parts.graph.operands(id).iter().map(|&v| here.get(&term_of(v)).copied()).collect();
            let (NodeKind::Op { op, attrs }, Some(operands)) = (&node.kind, operands) else { continue };
            for (slot, &graph_term) in parts.values[id.index()].iter().enumerate() {
                let known = here.get(&graph_term).copied();
                let call =
                    |arena: &mut TermArena| arena.call(op, attrs, slot as u32, &operands, Some(&node.types[slot])).ok();
                if let Some(term) = known.or_else(|| call(arena)) {
                    here.insert(graph_term, term);
                    terms.push((Value::new(id, slot as u32), term));
                }
            }
        }
        terms
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
    let alone: Vec<usize> = (0..single.len()).filter(|&i| chosen.take(&single[i])).collect();
    let mut chosen = Chosen::new(nodes);
    joint.retain(|candidate| {
        let ruled_out = alone.iter().map(|&i| &single[i]).filter(|other| !are_apart(candidate, other));
        let lost: f64 = ruled_out.map(|other| other.saves(weights)).sum();
        candidate.saves(weights) > lost * (1.0 + WORTH) && chosen.take(candidate)
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
        let by_savings = y.saves(weights).total_cmp(&x.saves(weights));
        by_time.then(by_savings).then_with(|| x.trimmed.replaced.cmp(&y.trimmed.replaced))
    });
}

/// Whether both can be in place.
fn are_apart(x: &Candidate, y: &Candidate) -> bool {
    let nodes = x.trimmed.replaced.iter().chain(&y.trimmed.replaced).map(|n| n.index());
    let mut chosen = Chosen::new(nodes.max().map_or(0, |n| n + 1));
    chosen.take(x) && chosen.take(y)
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
        let Trimmed { replaced, roots, .. } = &candidate.trimmed;
        let is = |of: &[bool], n: usize| of.get(n).copied().unwrap_or(false);
        let goes = |n: &usize| !roots.iter().any(|root| root.node.index() == *n);
        let reads = || candidate.trimmed.reads().map(|v| v.node.index());
        let free = replaced.iter().all(|n| !is(&self.replaced, n.index()))
            && replaced.iter().map(|n| n.index()).filter(goes).all(|n| !is(&self.read, n))
            && reads().all(|n| !is(&self.gone, n));
        if free {
            for n in replaced.iter().map(|n| n.index()) {
                self.replaced[n] = true;
                self.gone[n] = goes(&n);
            }
            for n in reads() {
                if let Some(read) = self.read.get_mut(n) {
                    *read = true;
                }
            }
        }
        free
    }
}
