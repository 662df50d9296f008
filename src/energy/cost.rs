//! Prices: energy, time and work of an operator, of a graph's nodes, and of sums of them.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use rustc_hash::{FxHashSet, FxHasher};
use serde::Serialize;
use smallvec::SmallVec;

use super::estimate::Estimator;
use super::key::{Key, key_of};
use super::profile::{Profile, ProfileError};
use super::work::WorkWithLayout;
use crate::ir::{Graph, Layout, MathConfig, NodeId, NodeKind, layouts};
use crate::ops::Call;

/// Where a figure comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// Read off a meter, on the device and software of the profile.
    Measured,
    /// From the estimator fitted on measured figures.
    Estimated,
    /// A sum of measured and estimated figures.
    Mixed,
    /// Not known, wholly or for a part; the value is what is known, a lower bound.
    Unknown,
}

/// A value with the interval it lies in: `low <= value <= high`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Figure {
    pub value: f64,
    pub low: f64,
    /// Infinite where the figure is unknown; JSON shows that as null.
    pub high: f64,
    pub source: Source,
}

impl Figure {
    /// Nothing ran, which is known for certain.
    pub const ZERO: Figure = Figure { value: 0.0, low: 0.0, high: 0.0, source: Source::Measured };
    pub const UNKNOWN: Figure = Figure { value: 0.0, low: 0.0, high: f64::INFINITY, source: Source::Unknown };

    /// A figure whose interval is stretched to contain its value, should it not.
    pub fn new(value: f64, low: f64, high: f64, source: Source) -> Figure {
        Figure { value, low: low.min(value).max(0.0), high: high.max(value), source }
    }

    pub fn is_known(&self) -> bool {
        self.source != Source::Unknown
    }

    /// Whether this is less than `other` beyond doubt: the intervals do not meet.
    pub fn is_below(&self, other: &Figure) -> bool {
        self.high < other.low
    }

    fn is_zero(&self) -> bool {
        self.high == 0.0
    }
}

impl std::ops::Add for Figure {
    type Output = Figure;

    /// Sums values and interval ends: errors are taken as if they all went the same way.
    fn add(self, other: Figure) -> Figure {
        let source = match (self.source, other.source) {
            (Source::Unknown, _) | (_, Source::Unknown) => Source::Unknown,
            // What costs nothing does not change where the rest comes from.
            (_, source) if self.is_zero() => source,
            (source, _) if other.is_zero() => source,
            (a, b) if a == b => a,
            _ => Source::Mixed,
        };
        Figure { value: self.value + other.value, low: self.low + other.low, high: self.high + other.high, source }
    }
}

/// What one execution costs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cost {
    pub energy_mj: Figure,
    pub time_us: Figure,
    pub launches: u32,
    pub flops: f64,
    /// Bytes read and written.
    pub bytes: f64,
}

impl Cost {
    /// A view, an input, a node that stands for no operator: nothing runs.
    pub const FREE: Cost = Cost { energy_mj: Figure::ZERO, time_us: Figure::ZERO, launches: 0, flops: 0.0, bytes: 0.0 };
    /// An operator that nothing is known about.
    pub const UNKNOWN: Cost =
        Cost { energy_mj: Figure::UNKNOWN, time_us: Figure::UNKNOWN, launches: 1, flops: 0.0, bytes: 0.0 };
}

impl std::ops::Add for Cost {
    type Output = Cost;

    fn add(self, other: Cost) -> Cost {
        Cost {
            energy_mj: self.energy_mj + other.energy_mj,
            time_us: self.time_us + other.time_us,
            launches: self.launches.saturating_add(other.launches),
            flops: self.flops + other.flops,
            bytes: self.bytes + other.bytes,
        }
    }
}

impl std::ops::AddAssign for Cost {
    fn add_assign(&mut self, other: Cost) {
        *self = *self + other;
    }
}

impl std::iter::Sum for Cost {
    fn sum<I: Iterator<Item = Cost>>(all: I) -> Cost {
        all.fold(Cost::FREE, std::ops::Add::add)
    }
}

/// Measured figures, and the estimator fitted on them for what was not measured.
#[derive(Clone, Debug)]
pub struct CostModel {
    profile: Arc<Profile>,
    estimator: Estimator,
    /// Set in a model that takes what was not measured at its least; the keys in it count as unknown.
    optimistic: Option<FxHashSet<Key>>,
}

impl CostModel {
    /// The model of a profile. Takes the estimator that the profile holds, or fits one where it holds none.
    pub fn new(profile: Profile) -> CostModel {
        let estimator = profile.estimator.clone().unwrap_or_else(|| Estimator::fit(&profile));
        CostModel { profile: Arc::new(profile), estimator, optimistic: None }
    }

    /// The model of the profile that the program carries.
    pub fn shipped() -> Result<CostModel, ProfileError> {
        Ok(CostModel::new(Profile::shipped()?))
    }

    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// A number that changes whenever a figure of the profile changes.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = FxHasher::default();
        self.profile.to_json().hash(&mut hasher);
        hasher.finish()
    }

    pub fn estimator(&self) -> &Estimator {
        &self.estimator
    }

    /// The same figures, but what was not measured costs no more than it must: the low end of its estimate, or of that
    /// for its memory traffic alone. What is not cheaper here is not cheaper. `hopeless` cannot be measured and is unknown.
    pub fn optimistic(&self, hopeless: FxHashSet<Key>) -> CostModel {
        CostModel { optimistic: Some(hopeless), ..self.clone() }
    }

    /// Whether the cost of `key` would be no measured figure.
    pub fn is_guess(&self, key: &Key) -> bool {
        WorkWithLayout::of_key(key).is_some_and(|w| w.launches > 0) && !self.profile.entries.contains_key(key)
    }

    /// What one execution of `key` costs: measured, else estimated, else unknown.
    pub fn cost(&self, key: &Key) -> Cost {
        let Some(work) = WorkWithLayout::of_key(key) else { return Cost::UNKNOWN };
        if work.launches == 0 {
            return Cost::FREE;
        }
        let (energy_mj, time_us) = self.profile.figures(key).unwrap_or_else(|| self.guess(key, &work));
        Cost { energy_mj, time_us, launches: work.launches, flops: work.flops, bytes: work.bytes }
    }
}

impl CostModel {
    /// Energy and time of what was not measured.
    fn guess(&self, key: &Key, work: &WorkWithLayout) -> (Figure, Figure) {
        let estimate = self.estimator.estimate(key, work);
        let Some(hopeless) = &self.optimistic else { return estimate };
        if hopeless.contains(key) {
            return (Figure::UNKNOWN, Figure::UNKNOWN);
        }
        let (energy, time) =
            if estimate.0.is_known() { (estimate.0.low, estimate.1.low) } else { self.estimator.traffic_alone(work) };
        let exactly = |value| Figure::new(value, value, value, Source::Estimated);
        (exactly(energy), exactly(time))
    }
}

/// What every node costs, by node index. Inputs, literals, implicit nodes and views cost nothing.
pub fn graph_costs(graph: &Graph, model: &CostModel) -> Vec<Cost> {
    let layouts = layouts(graph);
    graph.nodes().map(|(id, _)| node_cost(graph, &layouts, id, model)).collect()
}

fn node_cost(graph: &Graph, layouts: &[SmallVec<[Layout; 1]>], id: NodeId, model: &CostModel) -> Cost {
    let node = graph.node(id);
    if node.origin.implicit || !matches!(node.kind, NodeKind::Op { .. }) {
        return Cost::FREE;
    }
    key_of(graph, layouts, id).map_or(Cost::UNKNOWN, |key| model.cost(&key))
}

/// The same with the key of each node, where it is an operator of the table: what [`at_power_cap`](super::at_power_cap) takes.
pub fn graph_calls(graph: &Graph, model: &CostModel) -> Vec<(Option<Key>, Cost)> {
    let layouts = layouts(graph);
    graph.nodes().map(|(id, _)| (key_of(graph, &layouts, id), node_cost(graph, &layouts, id, model))).collect()
}

/// What one call costs that stands in no graph, with operands that lie in memory as `operand_layouts` says.
pub fn cost_call(call: &Call, operand_layouts: &[Layout], config: &MathConfig, model: &CostModel) -> Cost {
    let lie: SmallVec<[&Layout; 4]> = operand_layouts.iter().collect();
    model.cost(&Key::of_call(call, &lie, config))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(value: f64, source: Source) -> Figure {
        Figure::new(value, value * 0.9, value * 1.1, source)
    }

    #[test]
    fn sums_mix_sources() {
        let (m, e) = (figure(1.0, Source::Measured), figure(2.0, Source::Estimated));
        assert_eq!((m + m).source, Source::Measured);
        assert_eq!((m + e).source, Source::Mixed);
        assert_eq!((e + Figure::ZERO).source, Source::Estimated);
        assert_eq!((Figure::ZERO + m).source, Source::Measured);
        let unknown = m + e + Figure::UNKNOWN;
        assert_eq!((unknown.source, unknown.value, unknown.high), (Source::Unknown, 3.0, f64::INFINITY));
    }

    #[test]
    fn overlapping_intervals_decide_nothing() {
        let (a, b) = (figure(1.0, Source::Measured), figure(1.15, Source::Measured));
        assert!(!a.is_below(&b) && !b.is_below(&a));
        assert!(a.is_below(&figure(1.3, Source::Measured)));
        assert!(!Figure::UNKNOWN.is_below(&a) && !a.is_below(&Figure::UNKNOWN));
    }

    #[test]
    fn an_interval_contains_its_value() {
        let odd = Figure::new(1.0, 2.0, 0.5, Source::Estimated);
        assert!(odd.low <= odd.value && odd.value <= odd.high);
    }
}
