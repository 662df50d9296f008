//! What the host adds where it launches work one by one: until the next kernel is there, the GPU waits, and draws power.
//!
//! The host takes a time for each execution, for each operator that launches something, and for each one that launches
//! nothing and that Python still calls, such as a view. Where that is more than what the kernels take, the GPU waits for the
//! rest. How fast a host is differs, so that its time is an interval, and so is what follows from it.

use std::ops::Add;

use serde::{Deserialize, Serialize};

use super::cost::{Cost, Figure, Source};
use super::coverage::COVERAGE_SD;
use super::item::Item;
use super::measured::Measured;
use super::objective::Weights;
use crate::ir::{Graph, NodeId, NodeKind};

/// No host takes this many microseconds for one call.
const MAX_CALL_US: f64 = 1e6;

/// Hosts differ by no more than the power of e to this, one standard deviation away.
const MAX_SD: f64 = 2.0;

/// How work gets onto the GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Launch {
    /// All at once, recorded as a CUDA graph: nothing waits.
    Graph,
    /// One by one by the host.
    Eager,
}

/// What the host of a profile takes to launch work one by one, and what the GPU draws while it waits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostCosts {
    /// Microseconds for an execution, whatever it holds.
    pub execution_us: f64,
    /// Microseconds for each operator that launches something.
    pub launching_us: f64,
    /// Microseconds for each operator that launches nothing.
    pub silent_us: f64,
    /// Of the logarithm of the time that a host takes, about the sum of the above: standard deviation.
    pub sd: f64,
    /// What the GPU draws while it waits.
    pub waiting_w: Measured,
    /// What these figures were found on.
    pub source: String,
}

/// Operators that the host calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// Those that launch something.
    pub launching: usize,
    /// Those that do not.
    pub silent: usize,
}

/// What an execution waits for the host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Waiting {
    /// How long the host takes for all of its calls.
    pub host_us: Figure,
    /// How long the GPU waits.
    pub time_us: Figure,
    /// What the GPU draws while it waits, in millijoules.
    pub energy_mj: Figure,
}

impl Calls {
    /// Those that `nodes` of a graph stand for, whose prices by node index are `items`.
    pub fn of(graph: &Graph, items: &[Item], nodes: impl IntoIterator<Item = NodeId>) -> Calls {
        let mut calls = Calls::default();
        for id in nodes {
            let node = graph.node(id);
            if node.origin.implicit || !matches!(node.kind, NodeKind::Op { .. }) {
                continue;
            }
            match items.get(id.index()) {
                Some(Item::Once) => {}
                None | Some(Item::Free) => calls.silent += 1,
                Some(Item::Kernel(_) | Item::Gap(_)) => calls.launching += 1,
            }
        }
        calls
    }

    /// These with some of them in place of others.
    pub fn with(self, new: Calls, in_place_of: Calls) -> Calls {
        Calls {
            launching: (self.launching + new.launching).saturating_sub(in_place_of.launching),
            silent: (self.silent + new.silent).saturating_sub(in_place_of.silent),
        }
    }

    /// All of a graph.
    pub fn of_graph(graph: &Graph, items: &[Item]) -> Calls {
        Calls::of(graph, items, graph.nodes().map(|(id, _)| id))
    }
}

/// What one call more counts for the choice of forms, by what weighs energy and time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct CallPrice {
    launching: f64,
    silent: f64,
}

impl CallPrice {
    /// What the call of an operator counts that is priced as `item`.
    pub(crate) fn of(self, item: &Item) -> f64 {
        match item {
            Item::Once => 0.0,
            Item::Free => self.silent,
            Item::Kernel(_) | Item::Gap(_) => self.launching,
        }
    }
}

impl Add for Calls {
    type Output = Calls;

    fn add(self, other: Calls) -> Calls {
        Calls { launching: self.launching + other.launching, silent: self.silent + other.silent }
    }
}

impl HostCosts {
    /// How long the host takes.
    pub fn time_us(&self, calls: Calls) -> Figure {
        let Calls { launching, silent } = calls;
        let us = self.execution_us + self.launching_us * launching as f64 + self.silent_us * silent as f64;
        let [low, high] = self.range();
        Figure::new(us, us * low, us * high, Source::Estimated)
    }

    /// What the time of a host may be a multiple of.
    fn range(&self) -> [f64; 2] {
        let reach = (COVERAGE_SD * self.sd).exp();
        [1.0 / reach, reach]
    }

    /// What the GPU waits whose kernels take `kernels_us`; none where it is not known what they take.
    pub fn waiting(&self, calls: Calls, kernels_us: &Figure) -> Option<Waiting> {
        if !kernels_us.is_known() {
            return None;
        }
        let host_us = self.time_us(calls);
        let wait = |host: f64, kernels: f64| (host - kernels).max(0.0);
        let (low, high) = (wait(host_us.low, kernels_us.high), wait(host_us.high, kernels_us.low));
        let time_us = Figure::new(wait(host_us.value, kernels_us.value), low, high, Source::Estimated);
        let mj = |us: f64, watts: f64| us * watts * 1e-3;
        let Measured { mean, low, high } = self.waiting_w;
        let energy_mj =
            Figure::new(mj(time_us.value, mean), mj(time_us.low, low), mj(time_us.high, high), Source::Estimated);
        Some(Waiting { host_us, time_us, energy_mj })
    }

    /// What one call less surely saves of a workload of these calls whose kernels take `kernels_us`: nothing unless the GPU waits for
    /// any host.
    pub(crate) fn call_price(&self, calls: Calls, kernels_us: f64, weights: Weights) -> CallPrice {
        let without = |one: Calls| {
            let (before, after) = ((calls, kernels_us), (calls.with(Calls::default(), one), kernels_us));
            weights.of(self.surely_saved_mj(before, after), self.surely_saved_us(before, after)).max(0.0)
        };
        CallPrice {
            launching: without(Calls { launching: 1, silent: 0 }),
            silent: without(Calls { launching: 0, silent: 1 }),
        }
    }

    /// What waiting takes less after a change than before, in millijoules: see [`HostCosts::surely_saved_us`].
    pub fn surely_saved_mj(&self, before: (Calls, f64), after: (Calls, f64)) -> f64 {
        let us = self.surely_saved_us(before, after);
        us * 1e-3 * if us < 0.0 { self.waiting_w.high } else { self.waiting_w.low }
    }

    /// What waiting takes less after a change than before, in microseconds, whatever the host takes within its interval: below 0
    /// where it may take more, as it does where kernels become faster that the host launches as slowly as before. Both sides
    /// are calls and what their kernels take, in microseconds.
    pub fn surely_saved_us(&self, before: (Calls, f64), after: (Calls, f64)) -> f64 {
        let [low, high] = self.range();
        let [(host_before, before), (host_after, after)] =
            [before, after].map(|(calls, kernels)| (self.time_us(calls).value, kernels));
        let saved = |factor: f64| (factor * host_before - before).max(0.0) - (factor * host_after - after).max(0.0);
        // A function of straight pieces is least at the end of one: at the ends of the interval, or where one side begins to wait.
        let bends = [before / host_before, after / host_after].into_iter().filter(|f| (low..=high).contains(f));
        [low, high].into_iter().chain(bends).map(saved).fold(f64::INFINITY, f64::min)
    }

    pub(super) fn is_sane(&self) -> bool {
        let times = [self.execution_us, self.launching_us, self.silent_us];
        times.iter().all(|t| (0.0..=MAX_CALL_US).contains(t))
            && (0.0..=MAX_SD).contains(&self.sd)
            && self.waiting_w.is_sane()
            && self.waiting_w.is_power()
    }
}

impl Waiting {
    /// The energy of an execution whose kernels cost `kernels`, waiting included.
    pub fn energy_with(&self, kernels: &Cost) -> Figure {
        sum(&kernels.energy_mj, &self.energy_mj)
    }

    /// The same of its time.
    pub fn time_with(&self, kernels: &Cost) -> Figure {
        sum(&kernels.time_us, &self.time_us)
    }
}

/// The sum of two figures whose errors are independent.
fn sum(a: &Figure, b: &Figure) -> Figure {
    let (value, source) = (a.value + b.value, (*a + *b).source);
    let down = (a.value - a.low).hypot(b.value - b.low);
    let up = (a.high - a.value).hypot(b.high - b.value);
    Figure::new(value, value - down, value + up, source)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host() -> HostCosts {
        let waiting_w = Measured { mean: 100.0, low: 90.0, high: 110.0 };
        HostCosts {
            execution_us: 50.0,
            launching_us: 20.0,
            silent_us: 10.0,
            sd: 0.25,
            waiting_w,
            source: String::new(),
        }
    }

    fn kernels(us: f64) -> Figure {
        Figure::new(us, us * 0.9, us * 1.1, Source::Measured)
    }

    const CALLS: Calls = Calls { launching: 10, silent: 5 };

    #[test]
    fn the_gpu_waits_for_what_the_host_takes_longer() {
        let waiting = host().waiting(CALLS, &kernels(100.0)).unwrap();
        assert_eq!(waiting.host_us.value, 300.0);
        assert_eq!((waiting.time_us.value, waiting.energy_mj.value), (200.0, 20.0));
        // The least is a fast host with slow kernels and little power; the most, the other way round.
        let reach = (COVERAGE_SD * 0.25).exp();
        let (low, high) = (300.0 / reach - 110.0, 300.0 * reach - 90.0);
        assert!(
            (waiting.energy_mj.low - low * 0.09).abs() < 1e-9 && (waiting.energy_mj.high - high * 0.11).abs() < 1e-9
        );
    }

    #[test]
    fn a_gpu_that_has_enough_to_do_waits_for_nothing() {
        let waiting = host().waiting(CALLS, &kernels(1e6)).unwrap();
        assert_eq!(
            (waiting.time_us, waiting.energy_mj),
            (waiting.energy_mj, Figure { source: Source::Estimated, ..Figure::ZERO })
        );
        let cost = Cost { energy_mj: kernels(5.0), time_us: kernels(1e6), ..Cost::FREE };
        assert_eq!((waiting.energy_with(&cost), waiting.time_with(&cost)), (cost.energy_mj, cost.time_us));
        // Where the host takes about as long, nothing is certain but that it takes no less than nothing.
        let close = host().waiting(CALLS, &kernels(310.0)).unwrap();
        assert_eq!((close.energy_mj.value, close.energy_mj.low), (0.0, 0.0));
        assert!(close.energy_mj.high > 0.0);
    }

    #[test]
    fn what_kernels_take_has_to_be_known() {
        assert_eq!(host().waiting(CALLS, &Figure::UNKNOWN), None);
    }

    #[test]
    fn independent_errors_add_up_in_squares() {
        let figure = |value, by| Figure::new(value, value - by, value + by, Source::Estimated);
        let both = sum(&figure(10.0, 3.0), &figure(20.0, 4.0));
        assert_eq!((both.value, both.low, both.high), (30.0, 25.0, 35.0));
    }

    #[test]
    fn only_what_every_host_saves_is_saved() {
        let fewer = Calls { launching: 5, silent: 0 };
        let host = host();
        // Nothing changes.
        assert_eq!(host.surely_saved_mj((CALLS, 100.0), (CALLS, 100.0)), 0.0);
        // Faster kernels of a workload that waits: what they take less, it waits more.
        assert!((host.surely_saved_mj((CALLS, 100.0), (CALLS, 80.0)) + 20.0 * 0.11).abs() < 1e-9);
        // No host makes these wait.
        assert_eq!(host.surely_saved_mj((CALLS, 1e5), (CALLS, 9e4)), 0.0);
        // The host takes half: that of a fast one counts.
        let saved = host.surely_saved_mj((CALLS, 10.0), (fewer, 10.0));
        assert!((saved - 150.0 / (COVERAGE_SD * 0.25).exp() * 0.09).abs() < 1e-9, "{saved}");
        // A fast host does not let either wait, so that nothing is sure.
        assert_eq!(host.surely_saved_mj((CALLS, 250.0), (fewer, 250.0)), 0.0);
        // In between, waiting begins: the least saving lies there.
        let least = host.surely_saved_mj((CALLS, 300.0), (CALLS, 250.0));
        assert!((least + 50.0 * 0.11).abs() < 1e-9, "{least}");
    }

    #[test]
    fn senseless_figures_are_known_as_such() {
        let with = |change: fn(&mut HostCosts)| {
            let mut host = host();
            change(&mut host);
            host.is_sane()
        };
        assert!(with(|_| {}));
        assert!(
            !with(|h| h.execution_us = -1.0) && !with(|h| h.silent_us = f64::NAN) && !with(|h| h.launching_us = 1e9)
        );
        assert!(!with(|h| h.sd = 100.0) && !with(|h| h.waiting_w.high = 1e9) && !with(|h| h.waiting_w.low = 200.0));
    }
}
