//! Tensors that one file holds and the other side computes from its weights: an optimiser has folded them, such as a batch
//! normalisation into the kernels before it, or a lookup of positions.

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::Expression;
use super::fold_candidates::{Candidate, FoldCandidates};
use super::plan::{Meaning, Plan, Slot, Source};
use crate::eval::{GraphProgram, LazyEvaluator, Options};
use crate::ir::Value;
use crate::ir::{Contents, DType, Graph, Number, Role, TensorType, unflatten};
use crate::prove::Side;

/// Elements that one candidate after another is compared by. What is found by them is compared throughout.
pub(super) const SAMPLE: usize = 1 << 13;

/// Elements that are compared in search of candidates, in all.
const ALL_SAMPLED: usize = 1 << 25;

/// Elements of what was found that are compared, in all. Beyond, nothing is bound: a sample is no proof.
const ALL_COMPARED: usize = 1 << 26;

/// The most elements of a weight that is read.
pub(super) const MAX_ELEMENTS: usize = 1 << 22;

/// Elements that one evaluator computes, and may compute on the way. It keeps them.
const CHUNK: usize = SAMPLE;
const BUDGET: usize = 1 << 20;

/// So many units in the last place are rounding: a few operators in a row, of which one may cancel.
const UNITS: f64 = 32.0;

/// An input that may hold what the other side computes.
struct Target {
    input: usize,
    /// The input of the other side that has its name, though not its values.
    named: Option<usize>,
    elements: Vec<Number>,
}

impl Target {
    fn may_be(&self, candidate: &Candidate) -> bool {
        may_be(self.named, candidate)
    }
}

/// Whether a tensor may be what the other side computes: one that has the name of a weight only something that is made of that weight.
fn may_be(named: Option<usize>, candidate: &Candidate) -> bool {
    named.is_none_or(|i| candidate.weights.contains(&i) && !candidate.is_weight)
}

/// What a target is found to be.
struct Found {
    candidate: Candidate,
    /// Whether values of other weights agree as well.
    several: bool,
}

impl Plan {
    /// Binds inputs to what the other side computes from weights alone, where both files hold the values and these agree.
    pub(super) fn folded(&mut self, [a, b]: [&Graph; 2], [of_a, of_b]: [&mut dyn Contents; 2]) {
        // Folding leaves a side with a tensor that the other one lacks.
        if self.a.iter().chain(&self.b).any(Slot::is_alone) {
            self.folded_of(Side::B, a, of_b, of_a);
            self.folded_of(Side::A, b, of_a, of_b);
        }
    }

    fn folded_of(&mut self, side: Side, graph: &Graph, own: &mut dyn Contents, others: &mut dyn Contents) {
        let Some(wanted) = self.wanted(side, own) else { return };
        let weights: Vec<bool> = self.side(side.other()).iter().map(|slot| slot.input.role != Role::User).collect();
        let candidates = FoldCandidates::new(graph, &weights, &wanted);
        let mut by_type: FxHashMap<TensorType, Vec<Target>> = FxHashMap::default();
        for target in self.targets(side, &candidates, own, others) {
            by_type.entry(self.side(side)[target.input].input.ty.clone()).or_default().push(target);
        }
        let mut found: Vec<(Target, Found)> = Vec::new();
        let mut left = ALL_SAMPLED;
        for (ty, targets) in by_type {
            let mut of_type: Vec<Option<Found>> = targets.iter().map(|_| None).collect();
            for candidate in candidates.of_type(&ty).iter().filter(|c| targets.iter().any(|t| t.may_be(c))) {
                let cost = ty.numel().min(SAMPLE) * (1 + targets.len());
                let Some(rest) = left.checked_sub(cost) else { break };
                left = rest;
                let Some(program) = program(candidates.graph(), candidate, others) else { continue };
                let places: Vec<usize> = sampled(&ty).collect();
                let Some(computed) = computed(&program, candidate.value, &ty, &places) else { continue };
                for (target, known) in targets.iter().zip(&mut of_type).filter(|(target, _)| target.may_be(candidate)) {
                    if agree(ty.dtype, &target.elements, &computed).is_some() {
                        self.note(side, candidate, known);
                    }
                }
            }
            found.extend(targets.into_iter().zip(of_type).filter_map(|(target, found)| Some((target, found?))));
        }
        found.sort_by_key(|(target, _)| target.input);
        let mut left = ALL_COMPARED;
        for (target, Found { candidate, several }) in found {
            let ty = self.side(side)[target.input].input.ty.clone();
            let Some(rest) = left.checked_sub(ty.numel()) else { continue };
            left = rest;
            let held = own.elements(target.input).filter(|all| all.len() == ty.numel());
            let program = program(candidates.graph(), &candidate, others);
            let all: Vec<usize> = (0..ty.numel()).collect();
            let computed = program.and_then(|program| computed(&program, candidate.value, &ty, &all));
            let Some(exact) = held.zip(computed).and_then(|(held, computed)| agree(ty.dtype, &held, &computed)) else {
                continue;
            };
            let source = match (several, exact) {
                (true, _) => Source::Alike,
                (_, true) => Source::Content,
                _ => Source::Folded,
            };
            let Some(expression) = Expression::of_value(candidates.graph(), candidate.value) else { continue };
            if let Some(other) = target.named {
                self.side_mut(side.other())[other].meaning = None;
            }
            self.derive(side, target.input, expression, source);
        }
    }

    /// Keeps a candidate that agrees. Weights that are bound already are likelier: a shared weight has two names in some files.
    fn note(&self, side: Side, candidate: &Candidate, known: &mut Option<Found>) {
        let bound = |c: &Candidate| c.weights.iter().all(|&i| !self.side(side.other())[i].is_free());
        match known {
            Some(found) if bound(&found.candidate) == bound(candidate) => {
                found.several |= found.candidate.weights != candidate.weights;
            }
            Some(found) if bound(&found.candidate) => {}
            _ => *known = Some(Found { candidate: candidate.clone(), several: false }),
        }
    }

    /// The types of inputs that may be folded; `None` where the files leave nothing to be told by values.
    fn wanted(&self, side: Side, own: &mut dyn Contents) -> Option<FxHashSet<TensorType>> {
        let slots = self.side(side).iter().enumerate();
        let open = slots.filter(|(i, slot)| {
            let named = matches!(slot.meaning, Some((Meaning::Same(_), Source::Name)));
            (slot.is_alone() || named && slot.input.role != Role::User && slot.live) && own.holds(*i)
        });
        let types: FxHashSet<TensorType> = open.map(|(_, slot)| slot.input.ty.clone()).collect();
        (!types.is_empty()).then_some(types)
    }

    /// The inputs of `side` that some candidate fits, with their values.
    fn targets(
        &self,
        side: Side,
        candidates: &FoldCandidates,
        own: &mut dyn Contents,
        others: &mut dyn Contents,
    ) -> Vec<Target> {
        let fits = |ty: &TensorType, named: Option<usize>| candidates.of_type(ty).iter().any(|c| may_be(named, c));
        let mut targets = Vec::new();
        for (input, slot) in self.side(side).iter().enumerate() {
            let ty = &slot.input.ty;
            let named = match slot.meaning {
                Some((Meaning::Same(i), Source::Name)) => Some(i),
                _ => None,
            };
            let other = named.map(|i| &self.side(side.other())[i]);
            let same = other.is_some_and(|other| other.checksum.is_some() && other.checksum == slot.checksum);
            if named.is_none() && !slot.is_alone() || same || !own.holds(input) || !fits(ty, named) {
                continue;
            }
            let Some(elements) = sample(ty, own.elements(input)) else { continue };
            let is_told = elements.iter().any(|n| Some(n) != elements.first());
            let unlike = named.is_none_or(|i| sample(ty, others.elements(i)).is_some_and(|all| all != elements));
            if is_told && unlike {
                targets.push(Target { input, named, elements });
            }
        }
        targets
    }
}

/// Where elements of a tensor are compared in search of candidates: everywhere, or at even distances.
pub(super) fn sampled(ty: &TensorType) -> impl Iterator<Item = usize> {
    let count = ty.numel();
    (0..count.min(SAMPLE)).map(move |n| if count <= SAMPLE { n } else { n * (count / SAMPLE) + n % (count / SAMPLE) })
}

fn sample(ty: &TensorType, elements: Option<Vec<Number>>) -> Option<Vec<Number>> {
    let elements = elements.filter(|all| all.len() == ty.numel() && all.len() <= MAX_ELEMENTS)?;
    sampled(ty).map(|place| elements.get(place).copied()).collect()
}

/// The graph with the weights of a candidate as the file holds them.
fn program<'g>(graph: &'g Graph, candidate: &Candidate, contents: &mut dyn Contents) -> Option<GraphProgram<'g>> {
    let mut program = GraphProgram::new(graph, 0);
    for &i in &candidate.weights {
        let ty = graph.ty(Value::from(*graph.inputs().get(i)?));
        let held = (ty.numel() <= MAX_ELEMENTS && contents.holds(i)).then(|| contents.elements(i)).flatten()?;
        program = program.with_input(i, held).ok()?;
    }
    Some(program)
}

/// What a value is at these places of its tensor.
pub(super) fn computed(program: &GraphProgram, value: Value, ty: &TensorType, places: &[usize]) -> Option<Vec<Number>> {
    let chunk = |places: &[usize]| -> Option<Vec<Number>> {
        let mut evaluator = LazyEvaluator::new(program, Options { rounding: true, budget: BUDGET });
        places.iter().map(|&place| evaluator.element(value, &unflatten(&ty.shape, place)).ok()).collect()
    };
    Some(places.par_chunks(CHUNK).map(chunk).collect::<Option<Vec<_>>>()?.concat())
}

/// Whether elements agree up to rounding, and if so, whether they are the same. A difference of large numbers may be small: what is
/// rounding follows from the element, or from the element in the middle where that is larger.
pub(super) fn agree(dtype: DType, x: &[Number], y: &[Number]) -> Option<bool> {
    if x == y {
        return Some(true);
    }
    let mut sizes: Vec<f64> = x.iter().map(|n| n.to_f64().abs()).collect();
    let middle = sizes.len() / 2;
    if x.len() != y.len() || sizes.is_empty() {
        return None;
    }
    let (_, &mut usual, _) = sizes.select_nth_unstable_by(middle, f64::total_cmp);
    let unit = dtype.epsilon().filter(|_| usual.is_finite())? * UNITS;
    let near = |(x, y): (&Number, &Number)| {
        let (x, y) = (x.to_f64(), y.to_f64());
        x == y || (x - y).abs() <= unit * x.abs().max(y.abs()).max(usual)
    };
    x.iter().zip(y).all(near).then_some(false)
}
