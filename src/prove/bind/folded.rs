//! Tensors that one file holds and the other side computes from its weights: an optimiser has folded them, such as a batch
//! normalisation into the kernels before it, or a lookup of positions.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Expression;
use super::fold_candidates::FoldCandidates;
use super::plan::{Meaning, Plan, Source};
use crate::eval::{GraphProgram, LazyEvaluator, Options};
use crate::ir::{Contents, DType, Graph, Number, Role, TensorType, Value, unflatten};
use crate::prove::Side;

/// The most elements of a tensor that are compared. Of larger ones, as many lie at even distances.
const COMPARED: usize = 1 << 13;

/// The most elements of a weight that is read.
const MAX_ELEMENTS: usize = 1 << 24;

/// Elements that may be computed for one candidate.
const BUDGET: usize = 1 << 20;

/// So many units in the last place of the largest element are rounding: a few operators in a row, of which one may cancel.
const UNITS: f64 = 32.0;

/// An input that may hold what the other side computes.
struct Target {
    input: usize,
    /// The input of the other side that has its name, though not its values.
    named: Option<usize>,
    elements: Vec<Number>,
}

/// What a target is found to be.
struct Found {
    value: Value,
    exact: bool,
    weights: Vec<usize>,
    several: bool,
}

impl Plan {
    /// Binds inputs to what the other side computes from weights alone, where both files hold the values and these agree.
    pub(super) fn folded(&mut self, [a, b]: [&Graph; 2], [of_a, of_b]: [&mut dyn Contents; 2]) {
        self.folded_of(Side::B, a, of_b, of_a);
        self.folded_of(Side::A, b, of_a, of_b);
    }

    fn folded_of(&mut self, side: Side, graph: &Graph, own: &mut dyn Contents, others: &mut dyn Contents) {
        let Some(wanted) = self.wanted(side, own) else { return };
        let weights: Vec<bool> = self.side(side.other()).iter().map(|slot| slot.input.role != Role::User).collect();
        let candidates = FoldCandidates::new(graph, &weights, &wanted);
        let targets = self.targets(side, &candidates, own, others);
        if targets.is_empty() {
            return;
        }
        let mut found: FxHashMap<usize, Found> = FxHashMap::default();
        for (value, weights) in candidates.values() {
            let ty = candidates.graph().ty(value);
            let open = |target: &&Target| {
                self.side(side)[target.input].input.ty == *ty && target.named.is_none_or(|i| weights.contains(&i))
            };
            let mut open = targets.iter().filter(open).peekable();
            if open.peek().is_none() {
                continue;
            }
            let Some(computed) = computed(candidates.graph(), value, weights, others) else { continue };
            for target in open {
                let Some(exact) = agree(ty.dtype, &target.elements, &computed) else { continue };
                // Weights that are bound already are likelier: a shared weight has two names in some files.
                let bound = |all: &[usize]| all.iter().all(|&i| !self.side(side.other())[i].is_free());
                let new = Found { value, exact, weights: weights.to_vec(), several: false };
                match found.get_mut(&target.input) {
                    Some(known) if bound(weights) && !bound(&known.weights) => *known = new,
                    Some(known) => known.several |= known.weights != weights && bound(weights) == bound(&known.weights),
                    None => _ = found.insert(target.input, new),
                }
            }
        }
        for target in &targets {
            let Some(Found { value, exact, several, .. }) = found.remove(&target.input) else { continue };
            let whole = self.side(side)[target.input].input.ty.numel() <= COMPARED;
            let source = match (several, exact && whole) {
                (true, _) => Source::Alike,
                (_, true) => Source::Content,
                _ => Source::Folded,
            };
            let Some(expression) = Expression::of_value(candidates.graph(), value) else { continue };
            if let Some(other) = target.named {
                self.side_mut(side.other())[other].meaning = None;
            }
            self.derive(side, target.input, expression, source);
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
        let fits = |ty: &TensorType, named: Option<usize>| {
            candidates.values().any(|(value, weights)| {
                *candidates.graph().ty(value) == *ty && named.is_none_or(|i| weights.contains(&i))
            })
        };
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

/// Where elements of a tensor are compared.
fn places(ty: &TensorType) -> impl Iterator<Item = usize> {
    let count = ty.numel();
    (0..count.min(COMPARED))
        .map(move |n| if count <= COMPARED { n } else { n * (count / COMPARED) + n % (count / COMPARED) })
}

fn sample(ty: &TensorType, elements: Option<Vec<Number>>) -> Option<Vec<Number>> {
    let elements = elements.filter(|all| all.len() == ty.numel() && all.len() <= MAX_ELEMENTS)?;
    places(ty).map(|place| elements.get(place).copied()).collect()
}

/// What a value is at those places, for the weights that the file holds.
fn computed(graph: &Graph, value: Value, weights: &[usize], contents: &mut dyn Contents) -> Option<Vec<Number>> {
    let mut program = GraphProgram::new(graph, 0);
    for &i in weights {
        let ty = graph.ty(Value::from(*graph.inputs().get(i)?));
        let held = (ty.numel() <= MAX_ELEMENTS && contents.holds(i)).then(|| contents.elements(i)).flatten()?;
        program = program.with_input(i, held).ok()?;
    }
    let ty = graph.ty(value);
    let mut evaluator = LazyEvaluator::new(&program, Options { rounding: true, budget: BUDGET });
    places(ty).map(|place| evaluator.element(value, &unflatten(&ty.shape, place)).ok()).collect()
}

/// Whether elements agree up to rounding, and if so, whether they are the same.
fn agree(dtype: DType, x: &[Number], y: &[Number]) -> Option<bool> {
    if x == y {
        return Some(true);
    }
    let largest = x.iter().map(|n| n.to_f64().abs()).fold(0.0, f64::max);
    let width = dtype.epsilon().filter(|_| largest.is_finite())? * largest * UNITS;
    let near = |(x, y): (&Number, &Number)| (x.to_f64() - y.to_f64()).abs() <= width;
    (x.len() == y.len() && x.iter().zip(y).all(near)).then_some(false)
}
