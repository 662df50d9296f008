//! One proof attempt: a small e-graph over a cone, rules applied until both roots meet.

use std::collections::hash_map::Entry;
use std::ops::ControlFlow;
use std::sync::Arc;

use egg::{EGraph, Id};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::arena::{ConstantId, Head, TermArena, TermId, TypeId};
use super::associative::Associative;
use super::closure::Closure;
use super::kernel::{ELEMENTS, Instances, Leaves, same_elements};
use super::language::{Node, Types};
use super::lemma::{Lemma, Reason};
use super::plain_form::plainest;
use super::reach::Reach;
use crate::eval::Constant;
use crate::ir::{Attrs, TensorType};
use crate::ops::{Op, Sign, TypeError};
use crate::rules::{Bindings, Build, Outcome, Rule, RuleSet, Sentence, Terms, Tier, Visitor};

/// Name of the rule file with forms that one kernel computes: they cost less than what they are made of, and prove nothing.
const KERNELS: &str = "kernels";

/// Forms of a class that are compared element by element.
pub(super) const MAX_FORMS: usize = 6;

/// How far a search may go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub rounds: usize,
    /// Nodes in the e-graph.
    pub nodes: usize,
    /// Pattern nodes tried in one round, over all rules.
    pub search: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { rounds: 12, nodes: 1_500, search: 300_000 }
    }
}

/// Why a search ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The two roots are in one class.
    Proven,
    /// No rule has anything to add.
    Saturated,
    /// A limit was reached; names the rule that added most.
    Limit { busiest: Option<Arc<str>> },
    /// A rule joined two terms of different types: the rule is wrong.
    IllTyped { rule: Arc<str> },
}

/// What a match came to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rewritten {
    /// Two classes are one now.
    Joined,
    Nothing,
    /// A condition asks for a value that is not known yet.
    Open,
}

/// Number of a rule, the class that its left side matches, and what its variables stand for.
type Match = (usize, Id, Bindings<Id>);

/// An e-graph over a cone, with the log of what was done to it.
pub(crate) struct Window {
    pub arena: TermArena,
    pub egraph: EGraph<Node, Types>,
    pub lemmas: Vec<Lemma>,
    constants: FxHashMap<(TypeId, ConstantId), Id>,
    /// Nodes that move elements, each with one that it was tried to exchange with.
    pub(super) tried: FxHashSet<[TermId; 2]>,
}

impl Terms for Window {
    type Id = Id;

    fn visit(&self, id: Id, f: &mut Visitor<'_, Id>) -> ControlFlow<()> {
        for node in &self.egraph[id].nodes {
            if node.head.is_some()
                && let Some((op, attrs, slot)) = self.arena.op(node.term)
            {
                f(op, attrs, slot as usize, &node.children)?;
            }
        }
        ControlFlow::Continue(())
    }

    fn ty(&self, id: Id) -> &TensorType {
        self.arena.ty(self.egraph[id].data.term)
    }

    fn constant(&self, id: Id) -> Option<&Constant> {
        self.arena.constant(self.egraph[id].data.term)
    }

    fn sign(&self, id: Id) -> Sign {
        self.arena.term(self.egraph[id].data.term).sign
    }
}

impl Build for Window {
    fn apply(&mut self, op: &Op, attrs: &Attrs, slot: usize, operands: &[Id]) -> Result<Id, TypeError> {
        let terms: SmallVec<[TermId; 4]> = operands.iter().map(|&o| self.egraph[o].data.term).collect();
        let term = self.arena.call_of_rule(op, attrs, slot as u32, &terms)?;
        Ok(self.add(term, operands))
    }
}

impl Window {
    /// The e-graph of the terms of `arena`, whose inputs are leaves. Gives the classes of `roots`.
    pub(crate) fn new(arena: TermArena, roots: &[TermId]) -> (Window, Vec<Id>) {
        Window::with_steps(arena, Vec::new(), roots)
    }

    /// The same, where `steps` say that some of the terms are equal.
    pub(crate) fn with_steps(arena: TermArena, steps: Vec<Lemma>, roots: &[TermId]) -> (Window, Vec<Id>) {
        let mut window = Window {
            arena,
            egraph: EGraph::default(),
            lemmas: Vec::new(),
            constants: FxHashMap::default(),
            tried: FxHashSet::default(),
        };
        let mut classes: Vec<Id> = Vec::new();
        for n in 0..window.arena.len() {
            let term = window.arena.nth(n);
            let operands: SmallVec<[Id; 4]> =
                window.arena.term(term).operands.iter().map(|o| classes[o.index()]).collect();
            classes.push(window.add(term, &operands));
        }
        for step in &steps {
            window.egraph.union(classes[step.before.index()], classes[step.after.index()]);
        }
        window.lemmas = steps;
        window.rebuild();
        let roots = roots.iter().map(|r| classes[r.index()]).collect();
        (window, roots)
    }

    /// Restores the invariants of the e-graph. egg measures how long this takes, with a clock that calibrates itself on first use,
    /// which took 0.6 to 25 ms. Nobody reads that time, so egg gets a clock that stands still.
    fn rebuild(&mut self) {
        thread_local! {
            static CLOCK: quanta::Clock = quanta::Clock::mock().0;
        }
        CLOCK.with(|clock| quanta::with_clock(clock, || self.egraph.rebuild()));
    }

    /// The root of a term over classes of its operands.
    pub(super) fn node(&self, term: TermId, operands: &[Id]) -> Node {
        let t = self.arena.term(term);
        let (head, commutative) = match self.arena.head(term) {
            Head::Apply { op, .. } => (Some(t.head), op.commutative()),
            _ => (None, false),
        };
        let constant = self.arena.constant(term).is_some();
        Node { head, ty: t.ty, commutative, term, constant, children: operands.into() }
    }

    pub(super) fn add(&mut self, term: TermId, operands: &[Id]) -> Id {
        let (ty, value) = (self.arena.term(term).ty, self.arena.term(term).value);
        let id = self.egraph.add(self.node(term, operands));
        if let Some(value) = value {
            // All forms of one value are one class.
            match self.constants.entry((ty, value.id)) {
                Entry::Vacant(slot) => {
                    slot.insert(id);
                }
                Entry::Occupied(slot) => {
                    self.egraph.union(*slot.get(), id);
                }
            }
        }
        id
    }

    /// Applies rules until the goal's classes meet, nothing changes, or a limit is reached.
    pub(crate) fn saturate(&mut self, rules: &RuleSet, goal: Option<(Id, Id)>, limits: Limits) -> Stop {
        self.apply(rules, |rule| &*rule.family != KERNELS, goal, limits)
    }

    /// Adds forms that one kernel computes in place of several.
    pub(crate) fn fuse(&mut self, rules: &RuleSet, limits: Limits) -> Stop {
        self.apply(rules, |rule| &*rule.family == KERNELS, None, limits)
    }

    /// Applies those of `rules` that are `wanted`, as [`saturate`](Self::saturate) does.
    fn apply(
        &mut self,
        rules: &RuleSet,
        wanted: impl Fn(&Rule) -> bool,
        goal: Option<(Id, Id)>,
        limits: Limits,
    ) -> Stop {
        let mut seen: FxHashSet<Match> = FxHashSet::default();
        let mut added: FxHashMap<usize, usize> = FxHashMap::default();
        let busiest = |added: &FxHashMap<usize, usize>| {
            let most = added.iter().max_by_key(|&(&rule, &n)| (n, std::cmp::Reverse(rule)));
            most.map(|(&rule, _)| rules.rules()[rule].name.clone())
        };
        let met = |w: &Window| goal.is_some_and(|(a, b)| w.egraph.find(a) == w.egraph.find(b));
        if met(self) {
            return Stop::Proven;
        }
        // Who looks for forms gains nothing from knowing that two of them are equal.
        let associative = goal.map(|_| Associative::among(rules)).unwrap_or_default();
        self.settle(&associative);
        if met(self) {
            return Stop::Proven;
        }
        // Rules of associativity are not searched for: chains are compared by their operands instead.
        let height = |rule: &Rule| (rule.associativity().is_none() && wanted(rule)).then_some(rule.height);
        let heights: Vec<Option<usize>> = rules.rules().iter().map(|rule| height(rule)).collect();
        let highest = heights.iter().flatten().copied().max().unwrap_or(0);
        let mut complete = false;
        for _ in 0..limits.rounds {
            let reach = Reach::of_changes(&mut self.egraph, highest);
            // After a search that did not get through, every place may hold a match that was not seen.
            let matches;
            (matches, complete) = self.matches(rules, limits.search, |root, rule| {
                heights[rule].is_some_and(|height| !complete || reach.touches(root, height))
            });
            let mut changed = false;
            for (index, root, bindings) in matches {
                let found = (index, root, bindings);
                if seen.contains(&found) {
                    continue;
                }
                let nodes = self.egraph.total_number_of_nodes();
                match self.rewrite(&rules.rules()[index], root, found.2.clone()) {
                    Ok(Rewritten::Open) => {}
                    Ok(rewritten) => {
                        changed |= rewritten == Rewritten::Joined;
                        seen.insert(found);
                    }
                    Err(rule) => return Stop::IllTyped { rule },
                }
                *added.entry(index).or_default() += self.egraph.total_number_of_nodes().saturating_sub(nodes);
                if self.egraph.total_number_of_nodes() > limits.nodes {
                    self.settle(&associative);
                    return if met(self) { Stop::Proven } else { Stop::Limit { busiest: busiest(&added) } };
                }
            }
            changed |= self.move_elements(limits.nodes);
            self.rebuild();
            if self.egraph.analysis.mismatch.is_some() {
                return Stop::IllTyped { rule: busiest(&added).unwrap_or_else(|| "congruence".into()) };
            }
            if met(self) {
                return Stop::Proven;
            }
            // Most proofs need no chains, and to compare them in every round is not cheap.
            if !changed && !self.settle(&associative) {
                return if complete { Stop::Saturated } else { Stop::Limit { busiest: busiest(&added) } };
            }
        }
        self.settle(&associative);
        if met(self) { Stop::Proven } else { Stop::Limit { busiest: busiest(&added) } }
    }

    /// Joins two classes if a form of one and a form of the other are equal element by element, at `weakest` or better.
    pub(crate) fn meet_by_elements(
        &mut self,
        [a, b]: [Id; 2],
        leaves: &Leaves,
        weakest: Tier,
        budget: &mut usize,
    ) -> bool {
        let forms = |id: Id| self.egraph[id].nodes.iter().map(|node| node.term).take(MAX_FORMS).collect::<Vec<_>>();
        let (of_a, of_b) = (forms(a), forms(b));
        let mut pairs = of_a.iter().flat_map(|&x| of_b.iter().map(move |&y| (x, y)));
        let mut own = ELEMENTS.min(*budget);
        let before = own;
        let mut found =
            pairs.find_map(|(x, y)| Some((x, y, same_elements(&self.arena, [x, y], leaves, weakest, &mut own)?)));
        *budget -= before - own;
        if found.is_none()
            && let Some([x, y]) = plainest(&self.egraph, &mut self.arena, [a, b], leaves)
            && !(of_a.contains(&x) && of_b.contains(&y))
        {
            let mut own = ELEMENTS.min(*budget);
            let before = own;
            found = same_elements(&self.arena, [x, y], leaves, weakest, &mut own).map(|tier| (x, y, tier));
            *budget -= before - own;
        }
        let Some((before, after, tier)) = found else { return false };
        let mut leaves: Box<[TermId]> = leaves.iter().copied().collect();
        leaves.sort_unstable();
        self.lemmas.push(Lemma { before, after, reason: Reason::Elements { leaves, tier } });
        self.egraph.union(a, b);
        self.rebuild();
        true
    }

    /// Makes the e-graph clean, and joins what applies an associative operator to the same operands. Gives whether
    /// anything was joined.
    fn settle(&mut self, associative: &Associative) -> bool {
        self.rebuild();
        let joined = self.regroup(associative);
        if joined {
            self.rebuild();
        }
        joined
    }

    /// Every place where a rule's left side stands, and whether the search got through. Only classes that are `worth` a
    /// look for a rule are searched, by its number; rules with several roots are looked for everywhere.
    fn matches(&self, rules: &RuleSet, budget: usize, worth: impl Fn(Id, usize) -> bool) -> (Vec<Match>, bool) {
        let mut by_op: FxHashMap<&str, Vec<Id>> = FxHashMap::default();
        for class in self.egraph.classes() {
            for node in &class.nodes {
                if node.head.is_some()
                    && let Some((op, ..)) = self.arena.op(node.term)
                {
                    let classes = by_op.entry(op.name()).or_default();
                    if classes.last() != Some(&class.id) {
                        classes.push(class.id);
                    }
                }
            }
        }
        let mut budget = budget;
        let mut all = Vec::new();
        let mut found = Vec::new();
        for (index, rule) in rules.rules().iter().enumerate() {
            let Some(op) = rule.root_op() else { continue };
            if !rule.operators.iter().all(|op| by_op.contains_key(op.name())) {
                continue;
            }
            for &root in by_op.get(op).into_iter().flatten() {
                if rule.context.is_empty() && !worth(root, index) {
                    continue;
                }
                let among = |op: &str| by_op.get(op).map_or(&[][..], Vec::as_slice);
                rule.search_among(self, root, &among, &mut budget, &mut found);
                all.extend(found.drain(..).map(|bindings| (index, root, bindings)));
            }
        }
        (all, budget > 0)
    }

    /// Applies one match. Gives what it came to, or the name of the rule if it is ill-typed.
    pub(crate) fn rewrite(
        &mut self,
        rule: &Arc<Rule>,
        root: Id,
        mut bindings: Bindings<Id>,
    ) -> Result<Rewritten, Arc<str>> {
        match rule.check_conditions(self, &mut bindings) {
            Outcome::Holds { .. } => {}
            Outcome::Open => return Ok(Rewritten::Open),
            Outcome::Fails => return Ok(Rewritten::Nothing),
        }
        // A right side that cannot be built (a shape that does not fit) is a match that does not apply.
        let Ok(built) = rule.build_rhs(&bindings, self) else { return Ok(Rewritten::Nothing) };
        if self.egraph.find(built) == self.egraph.find(root) {
            return Ok(Rewritten::Nothing);
        }
        if self.egraph[built].data.ty != self.egraph[root].data.ty {
            return Err(rule.name.clone());
        }
        let terms = bindings.map(|id| self.egraph[id].data.term);
        let (before, after) = (self.egraph[root].data.term, self.egraph[built].data.term);
        self.lemmas.push(Lemma { before, after, reason: Reason::Rule { rule: rule.clone(), bindings: terms.into() } });
        self.egraph.union(root, built);
        Ok(Rewritten::Joined)
    }

    /// The lemmas that the equality of `a` and `b` needs, in order. `None` if replaying the log does not
    /// give that equality, which would be a bug of the search.
    pub(crate) fn proof(&mut self, a: TermId, b: TermId) -> Option<Vec<Lemma>> {
        let mut closure = Closure::default();
        closure.extend(&self.arena);
        let mut lemmas = std::mem::take(&mut self.lemmas);
        for (n, lemma) in lemmas.iter_mut().enumerate() {
            if let Reason::Rule { rule, bindings } = &lemma.reason {
                // The log has class representatives; the proof has the very instance of the rule.
                let mut builder = Instances { arena: &mut self.arena };
                lemma.before = rule.build_lhs(bindings, &mut builder).ok()?;
                lemma.after = rule.build_rhs(bindings, &mut builder).ok()?;
            }
            closure.extend(&self.arena);
            closure.assume(&self.arena, lemma.before, lemma.after, n as u32);
        }
        let used = closure.explain(&self.arena, &[(a, b)])?.steps;
        let proof = used.iter().map(|&n| lemmas[n as usize].clone()).collect();
        self.lemmas = lemmas;
        Some(proof)
    }
}

/// What the rules of a proof's steps assume, because it could not be decided, and whether some of it says between which numbers elements
/// lie.
pub(crate) fn assumed(arena: &mut TermArena, proof: &[Lemma]) -> (Vec<Sentence<TermId>>, bool) {
    let (mut all, mut has_limits) = (Vec::new(), false);
    for lemma in proof {
        let Reason::Rule { rule, bindings } = &lemma.reason else { continue };
        let terms = Instances { arena };
        let mut bindings = bindings.as_ref().clone();
        if let Outcome::Holds { assumed } = rule.check_conditions(&terms, &mut bindings) {
            all.extend(assumed.iter().flat_map(|&at| rule.assumption(at, &terms, &bindings)));
            has_limits |= assumed.iter().any(|&at| !rule.assumed_limits(at, &terms, &bindings).is_empty());
        }
    }
    (all, has_limits)
}
