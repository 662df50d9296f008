//! Refutation: an input on which the two graphs give different outputs.
//!
//! Output elements of both graphs are evaluated on the same inputs, chosen by a seed, over the real numbers (f64 without
//! rounding between operators). A whole model is within reach because its weights are ours to choose: see
//! [`inputs`] and [`silence`].

mod evaluable;
mod inputs;
mod locate;
mod rerun;
mod silence;
#[cfg(test)]
mod tests;

use std::thread;

pub use evaluable::refute_defined;
use inputs::{Choice, Uses};
pub use locate::Location;
use locate::locate;
pub use rerun::{Elements, needed_inputs};
use rustc_hash::FxHashSet;
use silence::{active, branches};

use super::bind::Binding;
use super::verdict::Witness;
use crate::eval::{Demand, Draw, EvalError, GraphProgram, Options, random};
use crate::ir::{Graph, NodeId, Shape, unflatten};

/// Elements computed per side and attempt, all over small graphs.
const BUDGET: usize = 200_000;

/// The same for attempts that single out a part of a whole model.
const DEEP_BUDGET: usize = 3_000_000;

/// Output elements looked at where they are cheap.
const SAMPLES: usize = 24;

/// Relative difference up to which values in f64 count as the same real number.
const TOLERANCE: f64 = 1e-6;

/// Absolute difference up to which they do.
const FLOOR: f64 = 1e-10;

/// How many times farther apart two values must lie than each moves when every step is disturbed.
const MARGIN: f64 = 1000.0;

/// Stack for operators that nest: a residual stream through hundreds of layers is as deep as they are many.
const STACK: usize = 512 << 20;

/// Operators that may nest on that stack.
const DEPTH: usize = 40_000;

/// Operators that may nest where there is no room for such a stack.
const SHALLOW: usize = 128;

/// Suspects of either side that decide which layers are computed, where the first alone does not show a difference.
const SUSPECTS: usize = 3;

/// What is compared, and what is known of it.
pub struct Question<'a> {
    pub graphs: [&'a Graph; 2],
    pub binding: &'a Binding,
    /// Chooses the inputs.
    pub seed: u64,
    /// Operators of either side that are in no proven region, in topological order.
    pub unproven: [&'a [NodeId]; 2],
}

/// Looks for an input on which the graphs part, and for where they do. `None` where no difference was found within
/// the budget.
pub fn refute(question: &Question) -> Option<(Witness, Location)> {
    on_deep_stack(|depth| search(question, depth))
}

/// Runs `work` where as many operators may nest as it is told.
fn on_deep_stack<T: Send>(work: impl Fn(usize) -> T + Sync) -> T {
    thread::scope(|scope| {
        let worker = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, || work(DEPTH));
        match worker.map(thread::ScopedJoinHandle::join) {
            Ok(Ok(result)) => result,
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            // No room for another stack: shallow graphs need none.
            Err(_) => work(SHALLOW),
        }
    })
}

type Evaluator<'d, 'q> = Demand<'d, GraphProgram<'q>>;

/// One way of looking for a difference.
struct Attempt {
    choice: Choice,
    places: &'static [Place],
    budget: usize,
    /// Whether to try it even after an attempt on a part of the model ran out of its budget.
    always: bool,
}

/// What an attempt comes to.
enum Outcome {
    Found(Box<(Witness, Location)>),
    /// All elements that were looked at agree.
    Agree,
    /// Some elements could not be computed within the budget.
    TooLarge,
}

/// Which output elements to look at.
#[derive(Clone, Copy)]
enum Place {
    /// All over the tensor.
    Spread,
    /// Near the start of every dimension but the last: what a causal model computes from few positions.
    Start,
    /// At the end of every dimension but the last, where windows and bounds show.
    End,
}

fn search(question: &Question, depth: usize) -> Option<(Witness, Location)> {
    let [a, b] = question.graphs;
    let uses = Uses::new(a, b, question.binding);
    let mut too_large = false;
    for attempt in attempts(question).into_iter() {
        if too_large && !attempt.always {
            continue;
        }
        let draws = uses.draws(&attempt.choice);
        match Trial::new(question, &draws, depth).run(&attempt) {
            Outcome::Found(found) => return Some(*found),
            Outcome::Agree => {}
            Outcome::TooLarge => too_large |= attempt.budget == DEEP_BUDGET,
        }
    }
    None
}

/// Cheap attempts first, then those that single out a layer, then all layers.
fn attempts(question: &Question) -> Vec<Attempt> {
    let [silent, fewer_silent] = [1, SUSPECTS].map(|suspects| silenced(question, suspects));
    let seed = |n: u64| if n == 0 { question.seed } else { random::mix(question.seed, n) };
    let choice = |n: u64| Choice { seed: seed(n), scale: 1.0, ..Choice::default() };
    let cheap = |choice: Choice| Attempt { choice, places: &[Place::Spread], budget: BUDGET, always: true };
    let deep = |choice: Choice| Attempt { choice, places: &[Place::Start], budget: DEEP_BUDGET, always: true };
    let quiet = |n: u64| Choice { silent: silent.clone(), ..choice(n) };
    let small = 1.0 / 1024.0;
    vec![
        cheap(choice(0)),
        cheap(choice(1)),
        deep(quiet(2)),
        Attempt { always: false, ..deep(Choice { scale: small, ..quiet(3) }) },
        deep(Choice { positive: true, ..quiet(4) }),
        cheap(Choice { scale: small, ..choice(5) }),
        Attempt { always: false, places: &[Place::End], ..deep(Choice { all_visible: true, ..quiet(6) }) },
        deep(Choice { silent: fewer_silent, ..choice(7) }),
    ]
}

/// Parameters that switch off all layers but those where a difference may arise.
fn silenced(question: &Question, count: usize) -> FxHashSet<u32> {
    let mut silent: FxHashSet<u32> = FxHashSet::default();
    let mut needed: FxHashSet<u32> = FxHashSet::default();
    let numbers = [&question.binding.a, &question.binding.b];
    for ((graph, unproven), numbers) in question.graphs.into_iter().zip(question.unproven).zip(numbers) {
        let branches = branches(graph, numbers);
        let suspects = suspects(graph, unproven, count);
        silent.extend(branches.iter().flat_map(|b| b.closers.iter().copied()));
        needed.extend(active(graph, &branches, &suspects).iter().flat_map(|b| b.closers.iter().copied()));
    }
    silent.retain(|n| !needed.contains(n));
    silent
}

/// The first unproven operators over nothing but proven values.
fn suspects(graph: &Graph, unproven: &[NodeId], count: usize) -> Vec<NodeId> {
    let all: FxHashSet<NodeId> = unproven.iter().copied().collect();
    let first = |n: &NodeId| graph.operands(*n).iter().all(|v| !all.contains(&v.node));
    unproven.iter().copied().filter(first).take(count).collect()
}

/// Both graphs on one choice of inputs.
struct Trial<'q> {
    question: &'q Question<'q>,
    draws: &'q [Draw],
    programs: [GraphProgram<'q>; 2],
    depth: usize,
}

impl<'q> Trial<'q> {
    fn new(question: &'q Question, draws: &'q [Draw], depth: usize) -> Self {
        let numbers = [&question.binding.a, &question.binding.b];
        let program = |side: usize| {
            let own = numbers[side].iter().map(|&n| draws[n as usize].clone()).collect();
            GraphProgram::drawn(question.graphs[side], own)
        };
        Trial { question, draws, programs: [program(0), program(1)], depth }
    }

    fn evaluators(&self, budget: usize) -> [Evaluator<'_, 'q>; 2] {
        let options = Options { rounding: false, budget };
        [0, 1].map(|side| Demand::new(&self.programs[side], options).with_depth(self.depth))
    }

    /// The output element that differs most among those looked at, and where the sides part.
    fn run(&self, attempt: &Attempt) -> Outcome {
        let mut evaluators = self.evaluators(attempt.budget);
        let mut too_large = false;
        for &place in attempt.places {
            let worst = self.worst(place, &mut evaluators, &mut too_large);
            if let Some(w) = worst
                && self.holds(w.output_number, &w.index, [w.a, w.b], attempt.budget)
            {
                let [left, right] = &evaluators;
                return Outcome::Found(Box::new((w, locate(self.question, left, right))));
            }
        }
        if too_large { Outcome::TooLarge } else { Outcome::Agree }
    }

    /// The element at `place` that differs most. Sets `too_large` where elements could not be computed.
    fn worst(&self, place: Place, evaluators: &mut [Evaluator; 2], too_large: &mut bool) -> Option<Witness> {
        let [left, right] = evaluators;
        let [a, b] = self.question.graphs;
        let mut worst: Option<Witness> = None;
        for (number, (x, y)) in a.outputs().iter().zip(b.outputs()).enumerate() {
            for index in indices(&a.ty(x.value).shape, place) {
                let pair = left.element(x.value, &index).and_then(|p| Ok((p, right.element(y.value, &index)?)));
                let (p, q) = match pair {
                    Ok(pair) => pair,
                    // No value here, or none within the budget; elements of another output may have one.
                    Err(error) => {
                        *too_large |= error == EvalError::Budget;
                        break;
                    }
                };
                let distance = if p.is_nan() != q.is_nan() { f64::INFINITY } else { (p - q).abs() };
                if close(p, q) || worst.as_ref().is_some_and(|w| w.max_abs_error >= distance) {
                    continue;
                }
                worst = Some(Witness {
                    seed: self.question.seed,
                    output: x.name.to_string(),
                    output_number: number,
                    index: index.to_vec(),
                    a: p,
                    b: q,
                    max_abs_error: distance,
                    region: None,
                    first_a: None,
                    first_b: None,
                    inputs: self.draws.to_vec(),
                });
            }
        }
        worst
    }

    /// Whether the values of an output element lie farther apart than rounding could bring them: every step of both
    /// sides is disturbed by far more than it rounds, and neither value may come near the other.
    fn holds(&self, output: usize, index: &[usize], values: [f64; 2], budget: usize) -> bool {
        let mut moved: f64 = 0.0;
        for (side, demand) in self.evaluators(budget).into_iter().enumerate() {
            let value = self.question.graphs[side].outputs()[output].value;
            let Ok(disturbed) = demand.disturbed(side as u64).element(value, index) else { return false };
            let same = disturbed == values[side] || disturbed.is_nan() && values[side].is_nan();
            if !same {
                moved = moved.max((disturbed - values[side]).abs());
            }
        }
        let distance = (values[0] - values[1]).abs();
        // Not so for a value that came and went as a NaN or an infinity.
        moved.is_finite() && (distance.is_nan() || distance > MARGIN * moved)
    }
}

/// Whether two values are the same real number up to the error of f64 arithmetic. NaN equals only NaN.
fn close(x: f64, y: f64) -> bool {
    if x.is_nan() || y.is_nan() {
        return x.is_nan() && y.is_nan();
    }
    x == y || (x - y).abs() <= (TOLERANCE * x.abs().max(y.abs())).max(FLOOR)
}

/// Elements of a tensor that are looked at.
fn indices(shape: &[usize], place: Place) -> Vec<Shape> {
    let numel: usize = shape.iter().product();
    let Some((&width, outer)) = shape.split_last() else { return vec![Shape::new()] };
    if numel == 0 {
        return Vec::new();
    }
    let row = |index: &dyn Fn(usize) -> usize| -> Vec<Shape> {
        let mut columns = vec![(width - 1).min(5), width / 2, width - 1, width / 3];
        columns.sort_unstable();
        columns.dedup();
        let start: Shape = outer.iter().map(|&size| index(size)).collect();
        let with = |&column: &usize| start.iter().copied().chain([column]).collect();
        columns.iter().map(with).collect()
    };
    match place {
        Place::Spread => {
            let stride = (numel / SAMPLES).max(1);
            (0..numel).step_by(stride).chain([numel - 1]).map(|flat| unflatten(shape, flat)).collect()
        }
        Place::Start => row(&|size| (size - 1).min(3)),
        Place::End => row(&|size| size - 1),
    }
}
