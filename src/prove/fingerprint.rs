//! Fingerprints: a few elements of two terms over the same random leaves. Equal terms agree; terms that
//! agree are worth a proof.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::arena::{Head, TermArena, TermId};
use super::view_equivalence::View;
use crate::eval::{Draw, EvalError, Interval, LazyEvaluator, Options, Program, Source, random, range_of};
use crate::ir::{Number, Shape, TensorType, flat_index, unflatten};
use crate::ops::{Arithmetic, Ask, Call, Op};

/// How much one pair is worth.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    /// Sampled elements per term.
    samples: usize,
    /// Elements that may be computed for a second look where all samples agree: `x` and `relu(x)` do on every other one.
    again: usize,
    /// Elements that may be computed, operands included.
    elements: usize,
    /// Whether a pair is worth a search that cannot be evaluated within it.
    pub(super) search_unevaluated: bool,
    /// Relative difference up to which samples agree.
    tolerance: f64,
}

impl Effort {
    /// The same for values that may be this far apart, relative to either.
    pub(super) fn within(self, tolerance: f64) -> Effort {
        Effort { tolerance: self.tolerance.max(tolerance), ..self }
    }

    /// Elements that it may compute.
    pub(super) fn elements(self) -> usize {
        self.elements
    }

    /// Whether `budget` is enough for it.
    pub(super) fn fits(self, budget: usize) -> bool {
        self.elements <= budget
    }
}

/// Tells most partners from those that are not worth a search.
pub(super) const PROPOSAL: Effort =
    Effort { samples: 1, again: 20_000, elements: 300_000, search_unevaluated: true, tolerance: TOLERANCE };
/// For partners that read different values, and those that part over free leaves and could only be equal over what
/// those leaves are.
pub(super) const DOUBT: Effort =
    Effort { samples: 1, again: 20_000, elements: 50_000, search_unevaluated: false, tolerance: TOLERANCE };
/// Tells in which order, if any, two tensors of one size have the same elements. Takes several samples: some elements of a
/// small tensor stay where they are in every order.
pub(super) const ONE_VIEW: Effort =
    Effort { samples: MOST, again: 0, elements: 50_000, search_unevaluated: false, tolerance: TOLERANCE };
/// For terms that were found equal element by element: takes more samples, and leaves room for what rounds.
pub(super) const CONFIRM: Effort =
    Effort { samples: MOST, again: 0, elements: 100_000, search_unevaluated: true, tolerance: 1e-3 };
/// For pairs that were too much to evaluate over less of what computes them.
pub(super) const UNEVALUATED: Effort =
    Effort { samples: 1, again: 0, elements: 0, search_unevaluated: true, tolerance: TOLERANCE };
/// What a report calls agreement.
pub(super) const REPORT: Effort =
    Effort { samples: 3, again: 0, elements: 300_000, search_unevaluated: true, tolerance: TOLERANCE };

/// The most samples.
const MOST: usize = 6;

/// Further samples where those that were asked for tell nothing.
const MORE: u64 = 3;

/// Of the random leaves.
const SEED: u64 = 0;

/// Relative difference up to which values in f64 count as the same real number.
pub(super) const TOLERANCE: f64 = 1e-6;

/// A local arena as a program: input `n` is a random tensor.
struct Cone<'a> {
    arena: &'a TermArena,
    seed: u64,
    /// By term: bounds, which tell that what a mask hides need not be computed.
    intervals: Vec<Option<Interval>>,
    /// Leaves that have to be positive, as variances are: of others there would be no numbers to compare.
    positive: FxHashMap<TermId, Draw>,
}

impl<'a> Cone<'a> {
    fn new(arena: &'a TermArena, seed: u64) -> Self {
        Cone::asked_by(arena, arena.len(), seed)
    }

    /// As [`Cone::new`], where only the first `asking` terms have a say in which leaves are positive.
    fn asked_by(arena: &'a TermArena, asking: usize, seed: u64) -> Self {
        let positive = positive_leaves(arena, asking, seed);
        let mut intervals: Vec<Option<Interval>> = Vec::with_capacity(arena.len());
        for id in (0..arena.len()).map(|n| arena.nth(n)) {
            let ty = arena.ty(id);
            intervals.push(match (arena.value(id), arena.head(id)) {
                (Some(constant), _) => Interval::of(constant, ty),
                (_, Head::Input(_)) if positive.contains_key(&id) => {
                    positive.get(&id).and_then(|draw| draw.interval(ty))
                }
                (_, Head::Input(_)) => Draw::Dense { seed, scale: 1.0 }.interval(ty),
                (_, Head::Apply { op: Op::Table(op), attrs, slot }) => {
                    let operands = &arena.term(id).operands;
                    let bounds = |o: &TermId| intervals.get(o.index()).copied().flatten();
                    let known = operands.iter().map(|o| (arena.ty(*o), bounds(o)));
                    range_of(op, attrs, *slot, known, operands.windows(2).all(|pair| pair[0] == pair[1]))
                }
                _ => None,
            });
        }
        Cone { arena, seed, intervals, positive }
    }
}

/// The leaves that an operator asks to be positive, directly or behind what keeps their sign.
fn positive_leaves(arena: &TermArena, asking: usize, seed: u64) -> FxHashMap<TermId, Draw> {
    let mut leaves = FxHashMap::default();
    for id in (0..asking).map(|n| arena.nth(n)) {
        let Some((Op::Table(def), attrs, _)) = arena.op(id) else { continue };
        let operands = &arena.term(id).operands;
        let types: SmallVec<[&TensorType; 4]> = operands.iter().map(|&o| arena.ty(o)).collect();
        let asked = (def.asks)(&Call { op: def, attrs, operands: &types });
        for (operand, _) in asked.into_iter().filter(|(_, ask)| *ask == Ask::Positive) {
            let Some(&(mut at)) = operands.get(operand) else { continue };
            while let Some((Op::Table(below), ..)) = arena.op(at) {
                let keeps = below.is_view_or_cast() || below.arithmetic() == Arithmetic::Add;
                match arena.term(at).operands.iter().find(|&&o| arena.value(o).is_none()) {
                    Some(&next) if keeps => at = next,
                    _ => break,
                }
            }
            if let (Head::Input(n), None) = (arena.head(at), arena.value(at)) {
                leaves.insert(at, Draw::Positive { seed: random::mix(seed, u64::from(*n)) });
            }
        }
    }
    leaves
}

impl Program for Cone<'_> {
    type Id = TermId;

    fn source(&self, id: TermId) -> Source<'_, TermId> {
        if let Some(constant) = self.arena.value(id) {
            return Source::Constant(constant);
        }
        if let Some(draw) = self.positive.get(&id) {
            return Source::Drawn(draw);
        }
        match self.arena.head(id) {
            Head::Input(n) => Source::Random { seed: random::mix(self.seed, u64::from(*n)) },
            Head::Apply { op: Op::Table(def), attrs, slot } => {
                let operands = &self.arena.term(id).operands;
                let types = operands.iter().map(|&o| self.arena.ty(o)).collect();
                Source::Call { op: def, attrs, types, slot: *slot as usize, operands: operands.clone() }
            }
            _ => Source::Opaque,
        }
    }

    fn ty(&self, id: TermId) -> &TensorType {
        self.arena.ty(id)
    }

    fn interval(&self, id: TermId) -> Option<Interval> {
        self.intervals.get(id.index()).copied().flatten()
    }
}

/// Elements that may be computed for all pairs of one comparison. Counted, not timed, so that every run
/// comes to the same verdict.
pub(super) const TOTAL: usize = 5_000_000;

/// What any pair may take, however much the others took: enough for what is computed place by place.
const ALWAYS: usize = 256;

/// As [`TOTAL`], for the search for view equivalences.
pub(super) const ALL_VIEWS: usize = 2_000_000;

/// What sampled elements say of two terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sampled {
    Agree,
    Differ,
    /// To compute an element takes more than the effort allows.
    TooMuch,
    /// Some operator has no semantics here, or some element no value.
    NoValue,
    /// Other pairs took what there was to compute.
    NotTried,
}

/// Whether two terms of one type agree on sampled elements; `None` if they cannot be evaluated. Takes what it computes from
/// `budget`.
pub(super) fn agree(arena: &TermArena, a: TermId, b: TermId, effort: Effort, budget: &mut usize) -> Option<bool> {
    match sampled(arena, a, b, effort, budget) {
        Sampled::Agree => Some(true),
        Sampled::Differ => Some(false),
        Sampled::TooMuch | Sampled::NoValue | Sampled::NotTried => None,
    }
}

/// As [`agree`], with the reason where they cannot be evaluated.
pub(super) fn sampled(arena: &TermArena, a: TermId, b: TermId, effort: Effort, budget: &mut usize) -> Sampled {
    let ty = arena.ty(a);
    if ty != arena.ty(b) {
        return Sampled::Differ;
    }
    let program = Cone::new(arena, SEED);
    let allowance = effort.elements.min((*budget).max(ALWAYS));
    let mut evaluator = LazyEvaluator::new(&program, Options { rounding: false, budget: allowance });
    let sampled = compare(&mut evaluator, a, b, ty, effort);
    *budget = budget.saturating_sub(allowance - evaluator.left().min(allowance));
    match sampled {
        Sampled::TooMuch if allowance < effort.elements => Sampled::NotTried,
        sampled => sampled,
    }
}

/// Samples of a term that many others are compared with: at least so many, and more as long as fewer elements than this were computed.
const FIRST_SAMPLES: usize = 2;
const CHEAP_SAMPLES: usize = 2_000;

/// Elements that may be computed for these samples.
const SAMPLES_BUDGET: usize = 30_000;

/// Elements that may be computed for all the others, and where the samples took less than a sixth of their budget.
const OTHERS_BUDGET: usize = 100_000;
const CHEAP_OTHERS_BUDGET: usize = 300_000;

/// Elements of one term, for a look at which of many others are like it.
pub(crate) struct Samples {
    /// Terms of the arena when they were taken: those have a say in which leaves are positive.
    known: usize,
    values: Vec<(Shape, Number)>,
    /// How many elements were computed for them.
    spent: usize,
}

impl Samples {
    /// Some elements of a term, more of them where they take little; `None` where it takes too much to compute any, or too few of them
    /// tell anything.
    pub(crate) fn of(arena: &TermArena, term: TermId) -> Option<Samples> {
        let ty = arena.ty(term);
        let program = Cone::new(arena, SEED);
        let mut evaluator = LazyEvaluator::new(&program, Options { rounding: false, budget: SAMPLES_BUDGET });
        let mut values = Vec::new();
        let wanted = FIRST_SAMPLES.min(ty.numel());
        for flat in sample(ty, MOST).into_iter().rev() {
            if values.len() >= wanted && SAMPLES_BUDGET - evaluator.left().min(SAMPLES_BUDGET) >= CHEAP_SAMPLES {
                break;
            }
            let index = unflatten(&ty.shape, flat);
            let value = evaluator.element(term, &index).ok()?;
            values.push((index, value));
        }
        let informative = values.iter().filter(|(_, value)| value.to_f64() != 0.0 && value.is_finite()).count();
        let spent = SAMPLES_BUDGET - evaluator.left().min(SAMPLES_BUDGET);
        (wanted > 0 && informative >= wanted).then_some(Samples { known: arena.len(), values, spent })
    }

    /// Those of `candidates` that have the same elements, in the arena that the samples are from, which may have grown.
    pub(crate) fn alike(&self, arena: &TermArena, candidates: &[TermId]) -> Vec<TermId> {
        let program = Cone::asked_by(arena, self.known, SEED);
        // A short form that takes much more to compute is no better one.
        let allowance = 2 * self.spent + ALWAYS;
        let mut left = if self.spent < SAMPLES_BUDGET / 6 { CHEAP_OTHERS_BUDGET } else { OTHERS_BUDGET };
        let mut evaluator = LazyEvaluator::new(&program, Options { rounding: false, budget: 0 });
        let mut agrees = |&candidate: &TermId| {
            let budget = allowance.min(left);
            evaluator.allow(budget);
            let agrees = self.values.iter().all(|(index, value)| {
                evaluator.element(candidate, index).is_ok_and(|found| within(found, *value, TOLERANCE))
            });
            left -= budget - evaluator.left().min(budget);
            agrees
        };
        candidates.iter().copied().filter(|candidate| agrees(candidate)).collect()
    }
}

/// Those of some views of `a` that may be `b`, by one element. What costs most is computed once: the element of the one
/// tensor whose elements cost more is looked for in all places where the views would have it in the other one.
pub(super) fn likely_views(
    arena: &TermArena,
    a: TermId,
    b: TermId,
    mut views: Vec<View>,
    budget: &mut usize,
) -> Vec<View> {
    if views.is_empty() {
        return views;
    }
    let [of_a, of_b] = [arena.ty(a), arena.ty(b)];
    let (Some(&at_a), Some(&at_b)) = (sample(of_a, MOST).first(), sample(of_b, MOST).first()) else { return views };
    let program = Cone::new(arena, SEED);
    let mut element = |term: TermId, flat: usize| {
        let allowance = ONE_VIEW.elements.min(*budget);
        let mut evaluator = LazyEvaluator::new(&program, Options { rounding: false, budget: allowance });
        let value = evaluator.element(term, &unflatten(&arena.ty(term).shape, flat)).ok();
        let spent = allowance - evaluator.left().min(allowance);
        *budget -= spent;
        (value, spent)
    };
    let ((x, cost_of_a), (y, cost_of_b)) = (element(a, at_a), element(b, at_b));
    let (Some(x), Some(y)) = (x, y) else { return Vec::new() };
    views.retain(|view| {
        let (x, y) = match cost_of_a > cost_of_b {
            true => (Some(x), element(b, view.place(at_a)).0),
            false => (element(a, view.origin(at_b)).0, Some(y)),
        };
        x.zip(y).is_some_and(|(x, y)| close(x, y))
    });
    views
}

fn compare(evaluator: &mut LazyEvaluator<Cone>, a: TermId, b: TermId, ty: &TensorType, effort: Effort) -> Sampled {
    let Effort { samples, again, tolerance, .. } = effort;
    let (mut any, mut informative) = (false, 0);
    let wanted = samples.min(ty.numel());
    let before = evaluator.left();
    let more = (samples as u64..samples as u64 + MORE).filter(|_| wanted > 0).map(|i| hashed(ty, i));
    for flat in sample(ty, samples).into_iter().chain(more) {
        if informative >= wanted && before.saturating_sub(evaluator.left()) >= again {
            break;
        }
        let index = unflatten(&ty.shape, flat);
        let (x, y) = match (evaluator.element(a, &index), evaluator.element(b, &index)) {
            (Ok(x), Ok(y)) => (x, y),
            (Err(EvalError::Budget), _) | (_, Err(EvalError::Budget)) if any => break,
            (Err(EvalError::Budget), _) | (_, Err(EvalError::Budget)) => return Sampled::TooMuch,
            _ => return Sampled::NoValue,
        };
        any = true;
        if !within(x, y, tolerance) {
            return Sampled::Differ;
        }
        // Where both are cut off, or no numbers, they may part elsewhere.
        informative += usize::from(x.to_f64() != 0.0 && x.is_finite());
    }
    Sampled::Agree
}

/// Dimensions but the last are sampled up to here: a row near the start of a sequence sees few keys.
const START: usize = 64;

/// Position number `i` of those that are spread by a hash. There has to be an element.
fn hashed(ty: &TensorType, i: u64) -> usize {
    let place = |(d, &size): (usize, &usize)| {
        let below = if d + 1 == ty.rank() { size } else { size.min(START) };
        (random::mix(SEED ^ 0x5eed, random::mix(i, d as u64)) % below as u64) as usize
    };
    let index: Shape = ty.shape.iter().enumerate().map(place).collect();
    flat_index(&ty.shape, &index)
}

/// Positions to look at: spread by a hash, and from the second on also the last element, where masks and bounds show.
fn sample(ty: &TensorType, samples: usize) -> SmallVec<[usize; MOST]> {
    let numel = ty.numel();
    if numel == 0 {
        return SmallVec::new();
    }
    let last = usize::from(samples > 1);
    let mut all: SmallVec<[usize; MOST]> = (0..(samples - last) as u64).map(|i| hashed(ty, i)).collect();
    all.extend((last == 1).then_some(numel - 1));
    all.sort_unstable();
    all.dedup();
    all
}

/// Whether two values are the same integer, or the same real number up to the error of f64 arithmetic. NaN equals only NaN.
pub(super) fn close(x: Number, y: Number) -> bool {
    within(x, y, TOLERANCE)
}

fn within(x: Number, y: Number, tolerance: f64) -> bool {
    let (Number::Float(_), Number::Float(_)) = (x, y) else { return x == y };
    let (x, y) = (x.to_f64(), y.to_f64());
    if x.is_nan() || y.is_nan() {
        return x.is_nan() && y.is_nan();
    }
    x == y || (x - y).abs() <= tolerance * x.abs().max(y.abs()).max(1e-3)
}

#[cfg(test)]
mod tests {
    use super::super::kernel::{GraphLeaves, Side, graph_terms};
    use super::*;
    use crate::ir::{DType, text};

    /// On about every other element they are the same: four samples in a row agree for one value in sixteen.
    #[test]
    fn a_value_is_mostly_told_from_its_positive_part() {
        let mut told = [0, 0];
        for factor in 0..32 {
            let source = format!("graph g(x: f32[4, 8]) {{ a = sin(mul(x, {factor}.5))\n b = relu(a)\n return a, b }}");
            let graph = text::parse("test.mir", &source).unwrap();
            let mut arena = TermArena::default();
            let values = graph_terms(&mut arena, &graph, &GraphLeaves::of(&graph, Side::A, &[0])).unwrap();
            let [a, b] = [0, 1].map(|n| values[graph.outputs()[n].value.node.index()][0]);
            for (told, effort) in told.iter_mut().zip([PROPOSAL, DOUBT]) {
                *told += usize::from(agree(&arena, a, b, effort, &mut { TOTAL }) == Some(false));
                assert_eq!(agree(&arena, a, a, effort, &mut { TOTAL }), Some(true), "{source}");
            }
        }
        assert!(told.iter().all(|&told| told >= 24), "{told:?} of 32");
    }

    #[test]
    fn rows_near_the_start_are_sampled_and_of_several_samples_one_is_the_last_element() {
        let ty = TensorType::new(DType::F32, Shape::from_slice(&[1, 32, 100_000, 128])).unwrap();
        let places =
            |samples| sample(&ty, samples).into_iter().map(|flat| unflatten(&ty.shape, flat)).collect::<Vec<_>>();
        assert!(places(1).iter().all(|at| at[2] < START));
        let several = places(MOST);
        assert_eq!(several.len(), MOST);
        assert_eq!(several.iter().filter(|at| at[2] >= START).count(), 1);
        assert_eq!(several[MOST - 1].as_slice(), [0, 31, 99_999, 127]);
        assert!(sample(&TensorType::new(DType::F32, Shape::from_slice(&[0, 3])).unwrap(), 3).is_empty());
    }
}
