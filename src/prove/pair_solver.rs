//! Whether two values over free leaves are equal: answered from the cache, by fingerprints, and by a search in a window.

use std::sync::Arc;

use egg::Id;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use super::arena::{Head, TermArena, TermId};
use super::cached::{self, Steps};
use super::cone::ConeKey;
use super::fingerprint::{self, Effort, Sampled};
use super::kernel::{ELEMENTS, Leaves};
use super::lemma::Lemma;
use super::plain_form::smallest;
use super::rolled::{may_end_loop, rolled};
use super::window::{Limits, Stop, Window};
use crate::ops::Op;
use crate::result_cache::ResultCache;
use crate::rules::RuleSet;

/// Nodes of e-graphs in which no proof was found, in one comparison: those of 24 searches that end at their limit, or of many small
/// ones. Where that many parts cannot be proven, more attempts would only make the user wait for the same verdict.
const MAX_FAILED_NODES: usize = 36_000;

/// Elements that may be written down in one comparison, over all pairs that are compared element by element.
const MAX_ELEMENTS: usize = 4_000_000;

/// A proof that two values are equal.
#[derive(Clone, Debug)]
pub struct PairProof {
    /// What is equal by it: the leader's term first.
    pub ends: [TermId; 2],
    /// What neither step nor end is looked at below.
    pub leaves: Vec<TermId>,
    pub lemmas: Vec<Lemma>,
}

/// Whether a pair is equal, as far as is known.
#[derive(Clone)]
pub(super) enum Answer {
    Proven(Arc<Proved>),
    /// The two sides differ numerically over free leaves.
    Differs,
    /// They read different values, and take too much to evaluate. Over more of what computes those they take even more.
    Unevaluated,
    /// They agree, or cannot be evaluated, and no proof was found; with the rule that used up a search's budget.
    Unproven {
        busiest: Option<Arc<str>>,
        /// Whether they take too much to evaluate.
        too_much: bool,
    },
}

/// An [`Answer`] as a cache keeps it.
#[derive(Serialize, Deserialize)]
struct Kept {
    /// Elements that were evaluated, those that were written down as formulas, and nodes of a search that failed. They count when the
    /// answer is recalled too, so that a run comes to the same verdict whatever it remembers.
    evaluated: usize,
    compared: usize,
    failed_nodes: usize,
    answer: KeptAnswer,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum KeptAnswer {
    Proven(Steps),
    Differs,
    Unevaluated,
    Unproven { busiest: Option<Arc<str>>, too_much: bool },
}

/// A proof over an arena of its own, whose input `n` stands for leaf `n` of the cone.
#[derive(Clone)]
pub(super) struct Proved {
    pub arena: TermArena,
    /// What is equal by it.
    pub ends: [TermId; 2],
    pub lemmas: Vec<Lemma>,
}

/// The answers of one comparison, and what is left of its budgets.
pub(super) struct PairSolver<'r> {
    pub rules: &'r RuleSet,
    cache: Option<&'r dyn ResultCache>,
    known: FxHashMap<ConeKey, Answer>,
    /// What is left of the budget for fingerprints.
    evaluations: usize,
    /// What is left of the budget for comparing elements.
    elements: usize,
    /// By how much the sides of a rule may part, at most.
    error: f64,
    /// How far a search goes.
    limits: Limits,
    /// Whether loops are rolled up where rules and elements say nothing.
    rolls_up: bool,
    /// Nodes of the e-graphs of searches that found no proof.
    failed_nodes: usize,
    /// Steps that cannot be right.
    pub caught: Vec<Caught>,
    /// Rules that used up a window's budget.
    pub busiest: Vec<Arc<str>>,
}

impl<'r> PairSolver<'r> {
    pub(super) fn new(rules: &'r RuleSet, cache: Option<&'r dyn ResultCache>) -> Self {
        PairSolver {
            rules,
            cache,
            known: FxHashMap::default(),
            evaluations: fingerprint::TOTAL,
            elements: MAX_ELEMENTS,
            error: rules.rules().iter().filter_map(|rule| rule.tier.error()).fold(0.0, f64::max),
            limits: Limits::default(),
            rolls_up: true,
            failed_nodes: 0,
            caught: Vec::new(),
            busiest: Vec::new(),
        }
    }

    /// The answer for a cone, if this comparison came to one already.
    pub(super) fn known(&self, key: &ConeKey) -> Option<Answer> {
        self.known.get(key).cloned()
    }

    /// Whether so many searches have failed that no further one is made: then only answers that are known prove anything, and to
    /// evaluate a pair would tell nothing.
    pub(super) fn has_given_up(&self) -> bool {
        self.failed_nodes >= MAX_FAILED_NODES
    }

    /// The answer for a cone that is not known yet: remembered by an earlier run, or found by evaluation and search.
    /// `local` is the cone with free leaves, `ends` are its first two roots.
    pub(super) fn find(&mut self, key: &ConeKey, local: TermArena, ends: [TermId; 2], effort: Effort) -> Answer {
        if self.has_given_up() {
            let answer = Answer::Unproven { busiest: None, too_much: false };
            self.known.insert(key.clone(), answer.clone());
            return answer;
        }
        // Partners seldom read different values; most of those come from a later layer, and would cost a lot to evaluate.
        let effort = if read_alike(self.rules, &local, ends) { effort } else { fingerprint::DOUBT };
        let effort = effort.within(self.error);
        // Where budgets run out, the answer says more about this run than about the question.
        let lasting = effort.fits(self.evaluations) && self.elements >= ELEMENTS;
        let answer = match self.cache.filter(|_| lasting) {
            Some(cache) => self.recalled(cache, local, ends, effort),
            None => self.found(local, ends, effort),
        };
        if let Answer::Unproven { busiest, .. } = &answer {
            self.busiest.extend(busiest.clone());
        }
        self.known.insert(key.clone(), answer.clone());
        answer
    }

    /// A proof over nothing but inputs, with a budget of its own: what other searches took, or failed to find, does not count.
    pub(super) fn last_look(&mut self, local: TermArena, ends: [TermId; 2]) -> Option<Arc<Proved>> {
        let effort = fingerprint::PROPOSAL.within(self.error);
        let evaluations = std::mem::replace(&mut self.evaluations, effort.elements());
        let elements = std::mem::replace(&mut self.elements, 3 * ELEMENTS);
        let failed_nodes = self.failed_nodes;
        let answer = match self.cache {
            Some(cache) => self.recalled(cache, local, ends, effort),
            None => self.found(local, ends, effort),
        };
        (self.evaluations, self.elements, self.failed_nodes) = (evaluations, elements, failed_nodes);
        match answer {
            Answer::Proven(proved) => Some(proved),
            Answer::Differs | Answer::Unevaluated | Answer::Unproven { .. } => None,
        }
    }

    /// The answer that an earlier run came to, or else this one.
    fn recalled(&mut self, cache: &dyn ResultCache, local: TermArena, ends: [TermId; 2], effort: Effort) -> Answer {
        let asked = format!("equal {:?} {effort:?}", ends.map(TermId::index));
        let question = cached::question(&asked, &local, self.rules);
        if let Some(kept) = cached::get::<Kept>(cache, &question) {
            let mut arena = local.clone();
            let answer = match kept.answer {
                KeptAnswer::Differs => Some(Answer::Differs),
                KeptAnswer::Unevaluated => Some(Answer::Unevaluated),
                KeptAnswer::Unproven { busiest, too_much } => Some(Answer::Unproven { busiest, too_much }),
                KeptAnswer::Proven(steps) => {
                    let read = steps.read(&mut arena, self.rules).filter(|(_, shown)| *shown == ends);
                    read.map(|(lemmas, _)| Answer::Proven(Arc::new(Proved { arena, ends, lemmas })))
                }
            };
            if let Some(answer) = answer {
                self.evaluations = self.evaluations.saturating_sub(kept.evaluated);
                self.elements = self.elements.saturating_sub(kept.compared);
                self.failed_nodes = self.failed_nodes.saturating_add(kept.failed_nodes);
                return answer;
            }
            cache.invalid(&question);
        }
        let (known, wrong) = (local.len(), self.caught.len());
        let (evaluations, elements, failed_nodes) = (self.evaluations, self.elements, self.failed_nodes);
        let answer = self.found(local, ends, effort);
        let kept = match &answer {
            Answer::Proven(proved) => {
                KeptAnswer::Proven(Steps::write(&proved.arena, known, &proved.lemmas, ends, self.rules))
            }
            Answer::Differs => KeptAnswer::Differs,
            Answer::Unevaluated => KeptAnswer::Unevaluated,
            Answer::Unproven { busiest, too_much } => {
                KeptAnswer::Unproven { busiest: busiest.clone(), too_much: *too_much }
            }
        };
        // A wrong step has to be reported every time.
        if self.caught.len() == wrong {
            let (evaluated, compared) = (evaluations - self.evaluations, elements - self.elements);
            let failed_nodes = self.failed_nodes - failed_nodes;
            cached::put(cache, &question, &Kept { evaluated, compared, failed_nodes, answer: kept });
        }
        answer
    }

    fn found(&mut self, local: TermArena, [a, b]: [TermId; 2], effort: Effort) -> Answer {
        match fingerprint::sampled(&local, a, b, effort, &mut self.evaluations) {
            Sampled::Differ => Answer::Differs,
            Sampled::TooMuch | Sampled::NoValue | Sampled::NotTried if !effort.search_unevaluated => {
                Answer::Unevaluated
            }
            sampled => self.search(local, [a, b], sampled),
        }
    }

    /// Whether two terms that are said to be equal element by element agree where the reference evaluator computes them.
    fn is_confirmed(&mut self, arena: &TermArena, a: TermId, b: TermId) -> bool {
        let agree = fingerprint::agree(arena, a, b, fingerprint::CONFIRM, &mut { fingerprint::CONFIRM.elements() });
        if agree == Some(false) {
            self.caught.push(Caught::Values);
        }
        agree != Some(false)
    }

    fn search(&mut self, local: TermArena, [a, b]: [TermId; 2], sampled: Sampled) -> Answer {
        let too_much = sampled == Sampled::TooMuch;
        // What both sides are computed from needs no look inside, as a rule: formulas of it are short. That goes for tables that
        // both read, too, unless it matters what they hold.
        let shared = common(&local, [a, b]);
        let computed: Leaves = shared.iter().copied().filter(|&t| local.value(t).is_none()).collect();
        let mut leaves = vec![shared, computed, inputs(&local)];
        leaves.dedup();
        let ends_loop = |t| matches!(local.op(t), Some((Op::Table(def), ..)) if may_end_loop(def));
        let with_loops = (self.rolls_up && (ends_loop(a) || ends_loop(b))).then(|| local.clone());
        let (mut window, classes) = Window::new(local, &[a, b]);
        let stop = window.saturate(self.rules, Some((classes[0], classes[1])), self.limits);
        if let Stop::Limit { .. } = stop
            && let Some(lemmas) = self.restarted(&mut window, [a, b], [classes[0], classes[1]])
        {
            return Answer::Proven(Arc::new(Proved { arena: window.arena, ends: [a, b], lemmas }));
        }
        let met = match &stop {
            Stop::Proven => true,
            // Steps by rules say more to a reader, so elements are compared where rules end.
            // What takes too much to compute takes even more to write down.
            Stop::Saturated | Stop::Limit { .. } if too_much => false,
            Stop::Saturated | Stop::Limit { .. } => {
                let (classes, weakest) = ([classes[0], classes[1]], self.rules.weakest());
                leaves.iter().any(|leaves| window.meet_by_elements(classes, leaves, weakest, &mut self.elements))
                    && self.is_confirmed(&window.arena, a, b)
            }
            Stop::IllTyped { .. } => false,
        };
        if met && let Some(lemmas) = window.proof(a, b) {
            return Answer::Proven(Arc::new(Proved { arena: window.arena, ends: [a, b], lemmas }));
        }
        if let Some(proved) = with_loops.and_then(|local| self.over_loops(&local, [a, b])) {
            return Answer::Proven(Arc::new(proved));
        }
        self.failed_nodes += window.egraph.total_number_of_nodes();
        match stop {
            Stop::IllTyped { rule } => self.caught.push(Caught::Types { rule }),
            Stop::Limit { busiest } => return Answer::Unproven { busiest, too_much },
            Stop::Proven | Stop::Saturated => {}
        }
        Answer::Unproven { busiest: None, too_much }
    }
}

impl PairSolver<'_> {
    /// Goes on with a loop of one side as one expression over all of its steps.
    fn over_loops(&mut self, local: &TermArena, ends: [TermId; 2]) -> Option<Proved> {
        let proved = [ends, [ends[1], ends[0]]].into_iter().find_map(|[root, other]| {
            let mut arena = local.clone();
            let rolled = rolled(&mut arena, root)?;
            let prove = |arena, ends, limits| proven_equal(self.rules, arena, ends, limits);
            let (arena, mut steps) = rolled.proof(arena, root, &prove)?;
            let (arena, rest) = proven_equal(self.rules, arena, [rolled.form, other], self.limits)?;
            steps.extend(rest);
            let (mut window, _) = Window::with_steps(arena, steps, &[]);
            let lemmas = window.proof(ends[0], ends[1])?;
            Some(Proved { arena: window.arena, ends, lemmas })
        })?;
        self.is_confirmed(&proved.arena, ends[0], ends[1]).then_some(proved)
    }

    /// Goes on from the smallest forms of two terms that a search found, without all others: what a fused operator replaces has
    /// many forms of its own, which use up the limits.
    fn restarted(&mut self, window: &mut Window, [a, b]: [TermId; 2], classes: [Id; 2]) -> Option<Vec<Lemma>> {
        let [x, y] = smallest(&window.egraph, &mut window.arena, classes)?;
        if [x, y] == [a, b] {
            return None;
        }
        let (mut arena, mut copies) = (TermArena::default(), FxHashMap::default());
        let ends = [x, y].map(|t| arena.import(&window.arena, t, &mut copies));
        let (mut fresh, roots) = Window::new(arena, &ends);
        match fresh.saturate(self.rules, Some((roots[0], roots[1])), self.limits) {
            Stop::Proven => {}
            Stop::IllTyped { rule } => {
                self.caught.push(Caught::Types { rule });
                return None;
            }
            Stop::Saturated | Stop::Limit { .. } => return None,
        }
        let steps = fresh.proof(ends[0], ends[1])?;
        let mut lemmas = window.proof(a, x)?;
        let mut back = FxHashMap::default();
        lemmas.extend(steps.iter().map(|step| step.map(|t| window.arena.import(&fresh.arena, t, &mut back))));
        lemmas.extend(window.proof(y, b)?);
        Some(lemmas)
    }
}

/// A step that cannot be right.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Caught {
    /// A rule that joined values of different types.
    Types { rule: Arc<str> },
    /// The comparison of elements, which joined values that differ where they are evaluated.
    Values,
}

impl std::fmt::Display for Caught {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Caught::Types { rule } => {
                write!(f, "rule `{rule}` joined values of different types and was stopped: it is wrong")
            }
            Caught::Values => f.write_str(
                "the step `same_elements` joined values that differ on a sample and was not accepted: \
                 this is a bug of magneton-ir, please report it",
            ),
        }
    }
}

/// A proof that two terms of an arena are equal, with the arena of its steps, which goes on from the one that is given. `limits` says how
/// far rules are tried before elements are compared.
pub(crate) fn proven_equal(
    rules: &RuleSet,
    arena: TermArena,
    ends: [TermId; 2],
    limits: Limits,
) -> Option<(TermArena, Vec<Lemma>)> {
    let mut solver = PairSolver { elements: ELEMENTS, limits, rolls_up: false, ..PairSolver::new(rules, None) };
    match solver.search(arena, ends, Sampled::Agree) {
        Answer::Proven(proved) => {
            let Proved { arena, lemmas, .. } = Arc::unwrap_or_clone(proved);
            Some((arena, lemmas))
        }
        Answer::Differs | Answer::Unevaluated | Answer::Unproven { .. } => None,
    }
}

/// The leaves of a cone, but for constants.
fn inputs(local: &TermArena) -> Leaves {
    let is_free = |&t: &TermId| matches!(local.head(t), Head::Input(_)) && local.value(t).is_none();
    (0..local.len()).map(|n| local.nth(n)).filter(is_free).collect()
}

/// The terms that both of two are computed from, but for single numbers.
fn common(local: &TermArena, roots: [TermId; 2]) -> Leaves {
    let [below_a, below_b] = roots.map(|root| {
        let (mut seen, mut stack) = (Leaves::default(), vec![root]);
        while let Some(term) = stack.pop() {
            if seen.insert(term) {
                stack.extend(&local.term(term).operands);
            }
        }
        seen
    });
    let number = |t: &TermId| local.value(*t).is_some_and(|value| value.uniform().is_some());
    below_a.into_iter().filter(|t| below_b.contains(t) && !roots.contains(t) && !number(t)).collect()
}

/// Whether two terms depend on the same inputs.
pub(super) fn read_alike(rules: &RuleSet, arena: &TermArena, [a, b]: [TermId; 2]) -> bool {
    inputs_below(rules, arena, a) == inputs_below(rules, arena, b)
}

/// Numbers of the inputs that a term depends on, in ascending order.
fn inputs_below(rules: &RuleSet, arena: &TermArena, root: TermId) -> Vec<u32> {
    let (mut seen, mut stack) = (FxHashSet::default(), vec![root]);
    let mut inputs = Vec::new();
    while let Some(t) = stack.pop() {
        if !seen.insert(t) || arena.value(t).is_some() {
            continue;
        }
        let operands = &arena.term(t).operands;
        match arena.head(t) {
            Head::Input(n) => inputs.push(*n),
            Head::Apply { op: Op::Custom(op), slot, .. } => {
                let definition = rules.definition_of(op);
                let read = |place: usize| definition.is_none_or(|d| d.reads(*slot as usize, place));
                stack.extend(operands.iter().enumerate().filter(|(place, _)| read(*place)).map(|(_, &t)| t));
            }
            _ => stack.extend(operands),
        }
    }
    inputs.sort_unstable();
    inputs
}
