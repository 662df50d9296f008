//! The proof checker: replays a lemma log by congruence closure, without egg and without the search.
//!
//! Both graphs are read again as raw terms, with no normal forms. Every lemma is then verified on its own (it is an
//! instance of its rule and the conditions hold, or both constants have one value, ...) and assumed. What is equal
//! in the end follows from verified steps and congruence alone.

use std::cell::OnceCell;

use miette::Diagnostic;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use thiserror::Error;

use super::arena::{Side, TermArena, TermId};
use super::assumption::{Places, grouped, made, ranges};
use super::closure::{Closure, Explanation};
use super::elements::{ALL_WAYS, same_elements};
use super::graph::{GraphLeaves, Values, graph_terms};
use super::instances::Instances;
use super::known::fold_known;
use super::lemma::{Lemma, NEAR, Reason};
use super::limits::{Limit, impossible, leaves_one_sign};
use super::near::{contradicts, near, sentence};
use super::pushdown::is_pushed_down;
use super::range::{Narrow, has_narrow, moves_all_of, narrow};
use crate::eval::stored;
use crate::ir::{AttrValue, Graph, NodeId, Number, TensorType, Value, unflatten};
use crate::ops::{Call, EvalError, Movement, Op, TypeError, is_number, shortest_number};
use crate::rules::{Build, Outcome, Piece, Rule, Sentence, Tier};

/// Elements of a folded constant that are computed again.
const CONSTANT_SAMPLES: usize = 64;

/// Why a proof is not accepted. Each of these is a bug in the search, never in the user's input.
#[derive(Debug, Clone, PartialEq, Error, Diagnostic)]
pub enum CheckError {
    #[error("step {step} (`{name}`) is no instance of its rule")]
    #[diagnostic(code(proof::not_an_instance))]
    NotAnInstance { step: usize, name: String },
    #[error("step {step} (`{name}`): a condition of the rule does not hold")]
    #[diagnostic(code(proof::condition))]
    Condition { step: usize, name: String },
    #[error("step {step} (`{name}`) joins terms of different types")]
    #[diagnostic(code(proof::types))]
    Types { step: usize, name: String },
    #[error("a folded constant is not what its operator (`{operator}`) computes")]
    #[diagnostic(code(proof::constants))]
    Constants { operator: String },
    #[error("constants that are apart by rounding make others equal that are not")]
    #[diagnostic(code(proof::near_constants))]
    Contradiction,
    #[error("its assumption and that of another step cannot hold at once")]
    #[diagnostic(code(proof::impossible))]
    Impossible,
    #[error("the steps do not make {what} equal")]
    #[diagnostic(code(proof::incomplete))]
    Incomplete { what: String },
    #[error(transparent)]
    #[diagnostic(code(proof::graph))]
    Graph(#[from] TypeError),
}

/// A step of a log that does not hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Refused {
    /// The rule that it is said to be an instance of; the operator of a constant.
    pub step: String,
    pub error: CheckError,
}

/// A replayed log over both graphs.
pub(crate) struct Replay {
    arena: TermArena,
    closure: Closure,
    a: Values,
    b: Values,
    /// Terms of the log's arena in this one.
    imported: FxHashMap<TermId, TermId>,
    /// The steps, over the terms of `arena`; none for those that are not valid.
    steps: Vec<Option<Step>>,
}

struct Step {
    before: TermId,
    after: TermId,
    tier: Tier,
    assumed: StepAssumption,
}

/// What the rule of a step assumes: in words, and as limits where it is one.
#[derive(Default)]
struct StepAssumption {
    sentences: Vec<Sentence<TermId>>,
    limits: Vec<Limit>,
}

/// What a proof takes for granted.
pub(crate) struct Assumed {
    pub texts: Vec<String>,
    /// The values that have to stay within the range of their types.
    pub narrow: Vec<Narrow>,
    /// Whether the outputs are no more than `rounding` because of those.
    pub weakens: bool,
    /// Whether an input of real numbers has one sign only.
    pub one_sign: bool,
    /// What the rules assume as limits of elements, each once.
    pub limits: Vec<Limit>,
}

impl Replay {
    /// Verifies every lemma of `log`, whose terms live in `source`, and assumes it.
    ///
    /// # Errors
    /// A lemma or a constant that does not hold.
    pub(crate) fn new(
        a: (&Graph, &[u32]),
        b: (&Graph, &[u32]),
        source: &TermArena,
        log: &[Lemma],
    ) -> Result<Replay, CheckError> {
        let (replay, refused) = Replay::of_valid(a, b, source, log)?;
        refused.map_or(Ok(replay), |refused| Err(refused.error))
    }

    /// As [`Replay::new`], but goes on without the lemmas and constants that do not hold: what follows, follows from the others
    /// alone. Gives the first of those left out, too.
    ///
    /// # Errors
    /// A graph whose types do not fit.
    pub(crate) fn of_valid(
        a: (&Graph, &[u32]),
        b: (&Graph, &[u32]),
        source: &TermArena,
        log: &[Lemma],
    ) -> Result<(Replay, Option<Refused>), TypeError> {
        let all = Replay::of_some(a, b, source, log, |_| true)?;
        let near = |n: usize| matches!(log.get(n).map(|lemma| &lemma.reason), Some(Reason::Near));
        let is_near = (0..log.len()).any(near) && contradicts(&all.0.arena, &all.0.closure);
        let impossible = all.0.impossible();
        let error = match impossible.iter().min() {
            None if !is_near => return Ok(all),
            None => Refused { step: NEAR.to_owned(), error: CheckError::Contradiction },
            Some(&n) => Refused { step: log[n].name().to_owned(), error: CheckError::Impossible },
        };
        let wanted = |n: usize| !(impossible.contains(&n) || is_near && near(n));
        let (others, refused) = Replay::of_some(a, b, source, log, wanted)?;
        Ok((others, refused.or(Some(error))))
    }

    /// The steps whose assumptions cannot hold at once.
    fn impossible(&self) -> FxHashSet<usize> {
        let of_step = |(n, step): (usize, &Option<Step>)| {
            let limits = step.iter().flat_map(|step| step.assumed.limits.clone());
            limits.map(move |limit| (n, limit)).collect::<Vec<_>>()
        };
        impossible(&self.arena, &self.closure, self.steps.iter().enumerate().flat_map(of_step))
    }

    /// As [`Replay::of_valid`], of those steps alone that are `wanted`.
    fn of_some(
        a: (&Graph, &[u32]),
        b: (&Graph, &[u32]),
        source: &TermArena,
        log: &[Lemma],
        wanted: impl Fn(usize) -> bool,
    ) -> Result<(Replay, Option<Refused>), TypeError> {
        // Constants are joined by value. Every value is computed again from those of its operands.
        let mut arena = TermArena::judging_values(recomputed);
        let left = graph_terms(&mut arena, a.0, &GraphLeaves::compared(a.0, Side::A, a.1))?;
        let right = graph_terms(&mut arena, b.0, &GraphLeaves::compared(b.0, Side::B, b.1))?;
        let mut closure = Closure::default();
        closure.extend(&arena);
        let mut imported = FxHashMap::default();
        let mut steps = Vec::with_capacity(log.len());
        let mut refused = None;
        for (step, lemma) in log.iter().enumerate() {
            if !wanted(step) {
                steps.push(None);
                continue;
            }
            let local = lemma.map(|t| arena.import(source, t, &mut imported));
            let verified = verify(&mut arena, &local, step);
            if verified.is_ok() {
                closure.assume(&arena, local.before, local.after, step as u32);
            }
            steps.push(match verified {
                Ok(assumed) => Some(Step { before: local.before, after: local.after, tier: lemma.tier(), assumed }),
                Err(error) => {
                    refused.get_or_insert(Refused { step: lemma.name().to_owned(), error });
                    None
                }
            });
        }
        fold_known(&mut arena, &mut closure);
        let constant = arena.first_refused().map(|t| {
            let operator = arena.op(t).map_or("literal", |(op, ..)| op.name()).to_owned();
            Refused { step: operator.clone(), error: CheckError::Constants { operator } }
        });
        let replay = Replay { arena, closure, a: left, b: right, imported, steps };
        Ok((replay, constant.or(refused)))
    }

    /// Whether it follows that value `x` of A equals value `y` of B.
    pub(crate) fn equal(&self, x: Value, y: Value) -> bool {
        self.same((Side::A, x), (Side::B, y))
    }

    /// Whether it follows that two values of either side are equal.
    pub(crate) fn same(&self, x: (Side, Value), y: (Side, Value)) -> bool {
        self.closure.equal(self.term(x), self.term(y))
    }

    /// What stands for the class of a value: the same for all that follow to be equal.
    pub(crate) fn class(&self, value: (Side, Value)) -> TermId {
        self.closure.find(self.term(value))
    }

    /// Whether it follows that a value equals `term`, which lives in the arena of the log.
    pub(crate) fn equals_term(&mut self, value: (Side, Value), source: &TermArena, term: TermId) -> bool {
        let t = self.arena.import(source, term, &mut self.imported);
        self.closure.extend(&self.arena);
        self.closure.equal(t, self.term(value))
    }

    /// Why all of these pairs of values, of A and of B, are equal; `None` if one is not.
    pub(crate) fn explain(&self, pairs: &[(Value, Value)]) -> Option<Explanation> {
        let terms: Vec<(TermId, TermId)> =
            pairs.iter().map(|&(x, y)| (self.term((Side::A, x)), self.term((Side::B, y)))).collect();
        self.closure.explain(&self.arena, &terms)
    }

    /// What is taken for granted by these steps, from which it follows that the `outputs` and the `inner` pairs of values of
    /// both graphs are equal: what the steps' rules assume, and that values stay in the range of narrow types.
    pub(crate) fn assumed(
        &self,
        graphs: [&Graph; 2],
        steps: &[u32],
        outputs: &[(Value, Value)],
        inner: &[(Value, Value)],
    ) -> Assumed {
        let pairs = |values: &[(Value, Value)]| values.iter().map(|&(x, y)| self.terms(x, y)).collect::<Vec<_>>();
        let (outputs, inner) = (pairs(outputs), pairs(inner));
        let all = OnceCell::new();
        let all = || all.get_or_init(|| self.closure(steps, Tier::ANY_ERROR));
        let (mut of_outputs, mut found) = (Vec::new(), Vec::new());
        if has_narrow(&self.arena) {
            let exact = self.closure(steps, Tier::Exact);
            of_outputs = narrow(&self.arena, &exact, all(), &outputs);
            found = narrow(&self.arena, &exact, all(), &[outputs, inner].concat());
        }
        let of_rules = self.some(steps).flat_map(|(_, step)| step.assumed.sentences.iter().cloned());
        let sentences: Vec<Sentence<TermId>> = of_rules.chain(ranges(&self.arena, &found)).collect();
        let mut texts = Vec::new();
        if !sentences.is_empty() {
            let places = self.places(graphs, all());
            texts = grouped(sentences.iter().map(|s| places.said(s)));
        }
        let mut limits: Vec<Limit> = self.some(steps).flat_map(|(_, step)| step.assumed.limits.clone()).collect();
        limits.sort_by(|x, y| x.of.cmp(&y.of).then(x.low.total_cmp(&y.low)).then(x.high.total_cmp(&y.high)));
        limits.dedup();
        let one_sign = limits.iter().any(|&limit| leaves_one_sign(&self.arena, limit));
        Assumed { texts, weakens: of_outputs.iter().any(|n| n.weakens), narrow: found, one_sign, limits }
    }

    /// The terms of both graphs and of the steps.
    pub(crate) fn arena(&self) -> &TermArena {
        &self.arena
    }

    /// That what these steps assume of `term` holds for no input that was tried, in words.
    pub(crate) fn says_never(&self, graphs: [&Graph; 2], steps: &[u32], term: TermId) -> String {
        let text = |words: &str| Piece::Text(words.to_owned());
        let sentence =
            vec![text("what is assumed of "), Piece::Tensor(term), text(" holds for no input that was tried")];
        let all = self.closure(steps, Tier::ANY_ERROR);
        self.places(graphs, &all).said(&sentence).text
    }

    /// What the terms of both graphs are called, of which `closure` knows the equal ones.
    fn places<'r>(&'r self, [a, b]: [&'r Graph; 2], closure: &'r Closure) -> Places<'r> {
        Places::new(&self.arena, closure, made(Side::A, a, &self.a).chain(made(Side::B, b, &self.b)))
    }

    fn some<'s>(&'s self, steps: &'s [u32]) -> impl Iterator<Item = (u32, &'s Step)> {
        steps.iter().filter_map(|&n| Some((n, self.steps.get(n as usize)?.as_ref()?)))
    }

    /// What follows from those of the steps that are at least as strong as `tier`.
    fn closure(&self, steps: &[u32], tier: Tier) -> Closure {
        let mut closure = if tier == Tier::Exact { Closure::exact() } else { Closure::default() };
        closure.extend(&self.arena);
        for (n, step) in self.some(steps).filter(|(_, step)| step.tier <= tier) {
            closure.assume(&self.arena, step.before, step.after, n);
        }
        closure
    }

    /// The error of each pair of values: 0 where no step of tier `approx` is needed, the error of the step where both values
    /// are its two sides up to operators that move all elements of one tensor; `None` where there is no bound.
    pub(crate) fn errors(&self, steps: &[u32], pairs: &[(Value, Value)]) -> Vec<Option<f64>> {
        let sound = self.closure(steps, Tier::Rounding);
        let rough = self.some(steps).filter_map(|(_, step)| match step.tier {
            Tier::Approx(error) => Some((step, error.0)),
            _ => None,
        });
        let rough: Vec<(&Step, f64)> = rough.collect();
        let of_pair = |&(x, y): &(Value, Value)| {
            let (mut s, mut t) = self.terms(x, y);
            loop {
                if sound.equal(s, t) {
                    return Some(0.0);
                }
                let is = |step: &Step, a, b| sound.equal(step.before, a) && sound.equal(step.after, b);
                if let Some((_, error)) = rough.iter().find(|(step, _)| is(step, s, t) || is(step, t, s)) {
                    return Some(*error);
                }
                let heads = [s, t].map(|t| self.arena.term(t).head);
                match (moves_all_of(&self.arena, s), moves_all_of(&self.arena, t)) {
                    (Some(below_s), Some(below_t)) if heads[0] == heads[1] => (s, t) = (below_s, below_t),
                    _ => return None,
                }
            }
        };
        pairs.iter().map(of_pair).collect()
    }

    /// The nodes of both graphs whose values make a proof weaker; see [`Narrow::weakens`].
    pub(crate) fn weakening(&self, narrow: &[Narrow]) -> Vec<(Side, NodeId)> {
        let of = |side: Side, values: &Values| -> Vec<(Side, NodeId)> {
            let terms: FxHashSet<TermId> =
                narrow.iter().filter(|n| n.weakens && n.side == side).map(|n| n.term).collect();
            let made = values.iter().enumerate().filter(|(_, slots)| slots.iter().any(|t| terms.contains(t)));
            made.map(|(n, _)| (side, NodeId::new(n))).collect()
        };
        [of(Side::A, &self.a), of(Side::B, &self.b)].concat()
    }

    fn terms(&self, x: Value, y: Value) -> (TermId, TermId) {
        (self.term((Side::A, x)), self.term((Side::B, y)))
    }

    fn term(&self, (side, value): (Side, Value)) -> TermId {
        let values = if side == Side::A { &self.a } else { &self.b };
        values[value.node.index()][value.slot as usize]
    }
}

/// Whether every one of these steps is valid, and `a` and `b` are equal by them.
pub(crate) fn shows(arena: &mut TermArena, lemmas: &[Lemma], a: TermId, b: TermId) -> bool {
    let mut closure = Closure::default();
    for (step, lemma) in lemmas.iter().enumerate() {
        if verify(arena, lemma, step).is_err() {
            return false;
        }
        closure.assume(arena, lemma.before, lemma.after, step as u32);
    }
    closure.extend(arena);
    if closure.equal(a, b) {
        return true;
    }
    fold_known(arena, &mut closure);
    closure.equal(a, b)
}

/// Checks one step by itself. Gives what its rule assumes.
fn verify(arena: &mut TermArena, lemma: &Lemma, step: usize) -> Result<StepAssumption, CheckError> {
    let name = || lemma.name().to_owned();
    if arena.ty(lemma.before) != arena.ty(lemma.after) {
        return Err(CheckError::Types { step, name: name() });
    }
    match &lemma.reason {
        Reason::Rule { rule, bindings } => {
            let mut bindings = bindings.clone();
            let mut terms = Instances { arena };
            let Outcome::Holds { assumed } = rule.check_conditions(&terms, &mut bindings) else {
                return Err(CheckError::Condition { step, name: name() });
            };
            if instance(rule, &bindings, &mut terms) != Some((lemma.before, lemma.after)) {
                return Err(CheckError::NotAnInstance { step, name: name() });
            }
            let limits = |&at: &usize| rule.assumed_limits(at, &terms, &bindings);
            Ok(StepAssumption {
                limits: assumed.iter().flat_map(limits).map(|(of, low, high)| Limit { of, low, high }).collect(),
                sentences: assumed.iter().flat_map(|&at| rule.assumption(at, &terms, &bindings)).collect(),
            })
        }
        Reason::Near => match near(arena, lemma.before, lemma.after) {
            Some(units) => {
                let sentences = vec![sentence(lemma.before, lemma.after, units)];
                Ok(StepAssumption { sentences, ..StepAssumption::default() })
            }
            None => Err(CheckError::NotAnInstance { step, name: name() }),
        },
        Reason::SplitSlice if is_slice_of_split(arena, lemma.before, lemma.after) => Ok(StepAssumption::default()),
        Reason::Elements { leaves, tier } => {
            let leaves = leaves.iter().copied().collect();
            // Enough for all comparisons, as the search had.
            let mut budget = ALL_WAYS;
            match same_elements(arena, [lemma.before, lemma.after], &leaves, *tier, &mut budget) {
                Some(_) => Ok(StepAssumption::default()),
                None => Err(CheckError::NotAnInstance { step, name: name() }),
            }
        }
        Reason::PushedDown if is_pushed_down(arena, lemma.before, lemma.after) => Ok(StepAssumption::default()),
        Reason::SplitSlice | Reason::PushedDown => Err(CheckError::NotAnInstance { step, name: name() }),
    }
}

fn instance<T: Build<Id = TermId>>(
    rule: &Rule,
    bindings: &crate::rules::Bindings<TermId>,
    terms: &mut T,
) -> Option<(TermId, TermId)> {
    let before = rule.build_lhs(bindings, terms).ok()?;
    let after = rule.build_rhs(bindings, terms).ok()?;
    Some((before, after))
}

/// Whether `slice` takes of a tensor what `part`, one output of a `split`, is.
fn is_slice_of_split(arena: &TermArena, part: TermId, slice: TermId) -> bool {
    let (Some((Op::Table(split), given, slot)), Some((Op::Table(taken), attrs, 0))) = (arena.op(part), arena.op(slice))
    else {
        return false;
    };
    let moves = (split.movement(), taken.movement());
    if moves != (Some(Movement::Split), Some(Movement::Slice))
        || arena.term(part).operands != arena.term(slice).operands
    {
        return false;
    }
    let of = |name| split.attr_index(name).and_then(|i| given.get(i));
    let is = |name, value: AttrValue| taken.attr_index(name).and_then(|i| attrs.get(i)) == Some(&value);
    let (Some(dim), Some(sizes)) = (of("dim"), of("sizes").and_then(AttrValue::as_ints)) else { return false };
    let (Some(before), Some(&size)) = (sizes.get(..slot as usize), sizes.get(slot as usize)) else { return false };
    let start: i64 = before.iter().sum();
    is("dim", dim.clone())
        && is("start", AttrValue::Int(start))
        && is("end", AttrValue::Int(start + size))
        && is("step", AttrValue::Int(1))
}

/// Whether the operator's own semantics give the folded value, at sampled elements, as exactly as it claims.
fn recomputed(arena: &TermArena, term: TermId) -> bool {
    let (Some(folded), Some((Op::Table(def), attrs, slot))) = (arena.value(term), arena.op(term)) else {
        // A literal of the file: its elements are the constant.
        return arena.value(term).is_some();
    };
    let ty = arena.ty(term);
    if ty.shape.contains(&0) {
        return true;
    }
    let operands = &arena.term(term).operands;
    let types: SmallVec<[&TensorType; 4]> = operands.iter().map(|&o| arena.ty(o)).collect();
    let call = Call { op: def, attrs, operands: &types };
    let mut fetch = |i: usize, index: &[usize]| -> Result<Number, EvalError> {
        let constant = arena.read_value(operands[i]).ok_or_else(|| EvalError::NoSemantics(def.name.into()))?;
        Ok(constant.at(types[i], index))
    };
    let axes = def.kernel.axes(&call).unwrap_or_default();
    let claims_exact = arena.constant(term).is_some();
    if claims_exact && !operands.iter().all(|&o| arena.constant(o).is_some()) {
        return false;
    }
    let computes_exactly = def.kernel.is_exact(&call, ty);
    let numel = ty.numel();
    let stride = (numel / CONSTANT_SAMPLES).max(1);
    (0..numel).step_by(stride).chain(numel.checked_sub(1)).all(|flat| {
        let index = unflatten(&ty.shape, flat);
        let (mut base, mut at) = (index.clone(), 0);
        for &d in &axes {
            at = at * ty.shape[d] + index[d];
            base[d] = 0;
        }
        let values = def.kernel.compute(&call, slot as usize, &base, &mut fetch).ok();
        let value = values.and_then(|v| stored(&call, *v.get(at)?, ty));
        // A number goes by the shortest one of those that compute the same.
        let value = if is_number(def) { value.map(|v| shortest_number(ty.dtype, v)) } else { value };
        // Sums and steps of whole numbers that their type holds are exact in any order.
        let exact = computes_exactly || value.is_some_and(|v| v.to_i64().is_some());
        value == Some(folded.at(ty, &index)) && (exact || !claims_exact)
    })
}
