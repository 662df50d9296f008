//! The cheapest known whole: a graph that exists and is priced as one, so that what is said of it is what it costs.

use rustc_hash::{FxHashMap, FxHashSet};

use super::precomputed::precomputed;
use super::priced::{Priced, b_leads};
use super::region::saving;
use crate::energy::{Bill, Calls, Cost, CostModel, HostCosts, Weights};
use crate::extract::{self, Improved, Merged, Rewrite};
use crate::ir::{NodeId, Value};
use crate::prove::{BoundPair, Proof, Region};
use crate::report as model;

pub(super) const UNKNOWN_BEST: model::Best = model::Best {
    energy_mj: None,
    time_us: None,
    saves_vs_a: None,
    saves_vs_b: None,
    launched: None,
    precompute: Vec::new(),
};

/// A graph that is equal to both sides.
pub(super) struct Whole {
    bill: Bill,
    total: Cost,
    calls: Calls,
    precompute: Vec<model::Precomputed>,
}

impl Whole {
    pub(super) fn new(improved: &Improved) -> Whole {
        let (graph, items) = improved.executed();
        let bill: Bill = items.iter().collect();
        let precompute = improved.once.as_ref().map(precomputed).unwrap_or_default();
        Whole { total: bill.total(), bill, calls: Calls::of_graph(graph, items), precompute }
    }

    /// A side with what it computes of parameters alone computed once; `None` if there is no such thing.
    pub(super) fn frozen(side: &Priced, costs: &CostModel) -> Option<Whole> {
        let improved = Improved::new(side.graph, Vec::new(), costs, Weights::ENERGY).ok()?;
        improved.once.is_some().then(|| Whole::new(&improved))
    }

    fn of_side(side: &Priced) -> Whole {
        Whole { bill: side.bill.clone(), total: side.total, calls: side.all_calls(), precompute: Vec::new() }
    }

    pub(super) fn energy_mj(&self) -> f64 {
        self.total.energy_mj.value
    }

    /// Millijoules and microseconds where kernels are launched one by one, waiting included.
    fn launched(&self, host: &HostCosts) -> (f64, f64) {
        let (energy_mj, time_us) = (self.total.energy_mj.value, self.total.time_us.value);
        let waiting_us = (host.time_us(self.calls).value - time_us).max(0.0);
        (energy_mj + host.waiting_w.mean * waiting_us * 1e-3, time_us + waiting_us)
    }
}

/// The side that costs less, with the regions in place in which the other side costs less, and with `rewrites` of it. `None` if
/// there are no such regions.
pub(super) fn mixed(
    bound: &BoundPair,
    sides: &[Priced; 2],
    proof: &Proof,
    regions: &[model::Region],
    rewrites: &[Rewrite],
    costs: &CostModel,
) -> Option<Whole> {
    let b_leads = b_leads(sides);
    let (lead, other) = if b_leads { (&sides[1], &sides[0]) } else { (&sides[0], &sides[1]) };
    let cut = proof.partition.regions.iter().zip(regions);
    let taken: Vec<&Region> = cut.filter(|(_, region)| other_is_cheaper(region, b_leads)).map(|(cut, _)| cut).collect();
    if taken.is_empty() {
        return None;
    }
    let nodes = |of_b: bool| -> FxHashSet<NodeId> {
        taken.iter().flat_map(|cut| if of_b { &cut.b } else { &cut.a }).copied().collect()
    };
    let equal = inputs(bound).chain(proof.cuts.iter().copied());
    let equal = equal.map(|(a, b)| if b_leads { (b, a) } else { (a, b) }).collect();
    let pair = extract::Pair { graphs: [lead.graph, other.graph], equal };
    let Merged { graph, moved } = extract::merge(&pair, &nodes(b_leads), &nodes(!b_leads))?;
    let rewrites = rewrites.iter().filter_map(|rewrite| rewrite.moved(&moved)).collect();
    let now = Improved::new(&graph, Vec::new(), costs, Weights::ENERGY).ok()?.total();
    Some(Whole::new(&extract::pay_off(&graph, &now, rewrites, costs, Weights::ENERGY).ok()?))
}

/// Whether the side that does not lead costs less in a region.
fn other_is_cheaper(region: &model::Region, b_leads: bool) -> bool {
    let other = if b_leads { model::Form::A } else { model::Form::B };
    region.best.form == other && region.a.energy_mj != region.b.energy_mj
}

/// Drops what the leading side would save in regions where the other side costs less: no whole that takes them costs less.
pub(super) fn take_back(regions: &mut [model::Region], b_leads: bool) {
    for region in regions.iter_mut().filter(|region| other_is_cheaper(region, b_leads)) {
        let best = &mut region.best;
        *if b_leads { &mut best.saves_vs_b } else { &mut best.saves_vs_a } = None;
    }
}

/// Inputs that both sides have.
fn inputs(bound: &BoundPair) -> impl Iterator<Item = (Value, Value)> + '_ {
    let of_b: FxHashMap<u32, NodeId> = bound.binding.b.iter().copied().zip(bound.b.inputs().iter().copied()).collect();
    let of_a = bound.binding.a.iter().zip(bound.a.inputs());
    of_a.filter_map(move |(number, &input)| Some((input.into(), (*of_b.get(number)?).into())))
}

/// The cheapest of the sides and `others`, which are equal to them.
pub(super) fn best(sides: &[Priced; 2], others: impl IntoIterator<Item = Whole>, costs: &CostModel) -> model::Best {
    let [a, b] = sides;
    if !(a.total.energy_mj.is_known() && b.total.energy_mj.is_known()) {
        return UNKNOWN_BEST;
    }
    let wholes: Vec<Whole> = [Whole::of_side(a), Whole::of_side(b)].into_iter().chain(others).collect();
    let Some(best) = wholes.iter().min_by(|x, y| x.energy_mj().total_cmp(&y.energy_mj())) else { return UNKNOWN_BEST };
    let cost = model::Cost::from(&best.total);
    model::Best {
        energy_mj: cost.energy_mj,
        time_us: cost.time_us,
        saves_vs_a: saving(&a.bill, &best.bill),
        saves_vs_b: saving(&b.bill, &best.bill),
        launched: costs.host().and_then(|host| launched(sides, &wholes, host)),
        precompute: best.precompute.clone(),
    }
}

/// The cheapest one where kernels are launched one by one.
fn launched(sides: &[Priced; 2], wholes: &[Whole], host: &HostCosts) -> Option<model::LaunchedBest> {
    let best = wholes.iter().min_by(|x, y| x.launched(host).0.total_cmp(&y.launched(host).0))?;
    let (energy_mj, time_us) = best.launched(host);
    let saves = |side: &Priced| {
        let of_kernels = Some(side.bill.saving(&best.bill)).filter(|saving| saving.is_sure)?.energy_mj;
        let before = (side.all_calls(), side.total.time_us.value);
        let saved = of_kernels + host.surely_saved_mj(before, (best.calls, best.total.time_us.value));
        (saved > 0.0).then(|| saved / side.energy_as_run().value)
    };
    let [a, b] = sides;
    Some(model::LaunchedBest { energy_mj, time_us, saves_vs_a: saves(a), saves_vs_b: saves(b) })
}
