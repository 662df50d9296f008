//! What is tried, in which order: choices of inputs, output elements to look at, and how much may be computed.

use rustc_hash::FxHashSet;

use super::gating::{active, branches};
use super::inputs::Choice;
use super::question::Question;
use crate::eval::{Arranged, PlaceSet, Support, random};
use crate::ir::{Graph, NodeId, Shape, unflatten};

/// Elements computed per side and strategy, all over small graphs.
const BUDGET: usize = 200_000;

/// The same for strategies that single out a part of a whole model.
const DEEP_BUDGET: usize = 2_000_000;

/// The same for the first of those.
const FIRST_DEEP_BUDGET: usize = 3_000_000;

/// The same for strategies over all layers of a model whose weights are mostly 0.
pub(super) const NARROW_BUDGET: usize = 1_000_000;

/// Output elements looked at where they are cheap.
const SAMPLES: usize = 64;

/// Suspects of either side that decide which layers are computed, where the first alone does not show a difference.
const SUSPECTS: usize = 3;

/// Residual branches that are computed behind that of a suspect, in the same strategy: up to the next attention. A model
/// that returns one row shows only there what is wrong in the others.
const BEHIND: usize = 2;

/// One way of looking for a difference.
pub(super) struct Strategy {
    pub choice: Choice,
    pub places: &'static [Positions],
    pub budget: usize,
    /// Whether to try it even after an strategy of its kind, on weights as narrow, ran out of its budget.
    pub always: bool,
}

/// Which output elements to look at.
#[derive(Clone, Copy, Debug)]
pub(super) enum Positions {
    /// All over the tensor.
    Spread,
    /// This far from the start of the dimension before the last, and near it in others: what a causal model computes
    /// from few positions.
    Start(usize),
    /// At the end of every dimension but the last, where windows and bounds show.
    End,
}

/// Cheap strategies first, then those that single out a layer, then all layers.
pub(super) fn strategies(question: &Question) -> Vec<Strategy> {
    let [silent, fewer_silent] = [(1, 0), (SUSPECTS, BEHIND)].map(|(count, behind)| silenced(question, count, behind));
    let seed = |n: u64| if n == 0 { question.seed } else { random::mix(question.seed, n) };
    let choice = |n: u64| Choice { seed: seed(n), scale: 1.0, ..Choice::default() };
    let cheap = |choice: Choice| Strategy { choice, places: &[Positions::Spread], budget: BUDGET, always: false };
    let deep = |choice: Choice| Strategy { choice, places: &STARTS, budget: DEEP_BUDGET, always: true };
    let narrow = |n: u64| Choice { narrow: true, ..choice(n) };
    let quiet = |n: u64| Choice { silent: silent.clone(), ..narrow(n) };
    let long = |choice: Choice| Strategy { places: &EVERYWHERE, ..deep(choice) };
    let small = 1.0 / 1024.0;
    let probing = |n: u64, arranged: Arranged| cheap(Choice { probing: Some(arranged), ..choice(n) });
    vec![
        cheap(choice(0)),
        cheap(choice(1)),
        probing(10, Arranged::Mixed),
        probing(11, Arranged::Mixed),
        probing(12, Arranged::Listed),
        probing(13, Arranged::Rows),
        Strategy { budget: NARROW_BUDGET, ..deep(narrow(2)) },
        Strategy { budget: FIRST_DEEP_BUDGET, ..long(Choice { padded: true, ..quiet(3) }) },
        long(quiet(9)),
        Strategy { always: false, ..deep(Choice { scale: small, ..quiet(4) }) },
        deep(Choice { positive: true, ..quiet(5) }),
        cheap(Choice { scale: small, ..choice(6) }),
        Strategy { always: false, places: &[Positions::End], ..deep(Choice { all_visible: true, ..quiet(7) }) },
        // With all that is left.
        Strategy { budget: TOTAL, ..long(Choice { silent: fewer_silent, ..narrow(8) }) },
    ]
}

/// Rows near the start, those that see the fewest others first.
const STARTS: [Positions; 3] = [Positions::Start(0), Positions::Start(1), Positions::Start(3)];

/// The same, and the last row.
const EVERYWHERE: [Positions; 4] = [Positions::Start(0), Positions::Start(1), Positions::Start(3), Positions::End];

/// Parameters that switch off all layers but those where a difference may arise, and so many branches `behind` them.
fn silenced(question: &Question, count: usize, behind: usize) -> FxHashSet<u32> {
    let mut silent: FxHashSet<u32> = FxHashSet::default();
    let mut needed: FxHashSet<u32> = FxHashSet::default();
    let numbers = [&question.binding.a, &question.binding.b];
    for ((graph, unproven), numbers) in question.graphs.into_iter().zip(question.unproven).zip(numbers) {
        let branches = branches(graph, numbers);
        let suspects = suspects(graph, unproven, count);
        silent.extend(branches.iter().flat_map(|b| b.closers.iter().copied()));
        needed.extend(active(graph, &branches, &suspects, behind).iter().flat_map(|b| b.closers.iter().copied()));
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

/// Elements of a tensor that are looked at, all of them where they may be other than 0.
pub(super) fn indices(shape: &[usize], place: Positions, support: Option<&Support>) -> Vec<Shape> {
    let numel: usize = shape.iter().product();
    let Some((&width, outer)) = shape.split_last() else { return vec![Shape::new()] };
    if numel == 0 {
        return Vec::new();
    }
    let last = support.and_then(|s| s.dim(outer.len())).map(PlaceSet::list).filter(|list| !list.is_empty());
    let count = last.map_or(width, <[usize]>::len);
    let column = |i: usize| last.map_or(i, |list| list[i]);
    let mut columns = [(count - 1).min(5), count / 2, count - 1, count / 3].map(column).to_vec();
    columns.sort_unstable();
    columns.dedup();
    let row =
        |start: Shape| columns.iter().map(move |&column| start.iter().copied().chain([column]).collect::<Shape>());
    match place {
        Positions::Spread => {
            let stride = (numel / SAMPLES).max(1);
            (0..numel).step_by(stride).chain([numel - 1]).map(|flat| unflatten(shape, flat)).collect()
        }
        Positions::Start(at) => {
            let mut start: Shape = outer.iter().map(|&size| (size - 1).min(3)).collect();
            if let (Some(position), Some(&size)) = (start.last_mut(), outer.last()) {
                *position = (size - 1).min(at);
            }
            row(start).collect()
        }
        Positions::End => row(outer.iter().map(|&size| size - 1).collect()).collect(),
    }
}

/// Elements computed per side by all strategies together: no more than seconds are spent on graphs that may well be equal.
/// Counted, not timed, so that every run comes to the same verdict.
pub(in crate::prove) const TOTAL: usize = 8_000_000;

/// The same where no difference would count, since inputs are bound by guesses.
pub(in crate::prove) const IN_DOUBT: usize = 1_000_000;
