//! The cheapest known whole where kernels are launched one by one.

use super::priced::{Priced, b_leads};
use crate::energy::{Calls, CostModel, HostCosts};
use crate::prove::Region;
use crate::report as model;

/// A whole that is equal to both sides.
struct Whole {
    /// Of its kernels.
    energy_mj: f64,
    time_us: f64,
    calls: Calls,
    /// Millijoules that its kernels surely save of A's, and of B's.
    saves_mj: [Option<f64>; 2],
}

/// What `best` is launched one by one: the best form of each region, or one of the sides where waiting makes that the cheaper one.
pub fn best_launched(
    sides: &[Priced; 2],
    cut: &[Region],
    regions: &[model::Region],
    best: &model::Best,
    model: &CostModel,
) -> Option<model::LaunchedBest> {
    let host = model.host()?;
    let [a, b] = sides;
    let of = |fraction: Option<f64>, side: &Priced| fraction.map(|f| f * side.total.energy_mj.value);
    let (energy_mj, time_us) = best.energy_mj.zip(best.time_us)?;
    let of_regions = Whole {
        energy_mj,
        time_us,
        calls: calls(sides, cut, regions),
        saves_mj: [of(best.saves_vs_a, a), of(best.saves_vs_b, b)],
    };
    let sure = |of: &Priced, whole: &Priced| {
        let saving = of.bill.saving(&whole.bill);
        saving.is_sure.then_some(saving.energy_mj)
    };
    let side = |whole: &Priced, saves_mj| Whole {
        energy_mj: whole.total.energy_mj.value,
        time_us: whole.total.time_us.value,
        calls: whole.all_calls(),
        saves_mj,
    };
    let wholes = [of_regions, side(a, [None, sure(b, a)]), side(b, [sure(a, b), None])];
    let cheapest = wholes.into_iter().min_by(|x, y| x.launched(host).0.total_cmp(&y.launched(host).0))?;
    let (energy_mj, time_us) = cheapest.launched(host);
    let [saves_a, saves_b] = cheapest.saves_mj;
    let saves = |side: &Priced, kernels_mj: Option<f64>| {
        let now = (side.all_calls(), side.total.time_us.value);
        let saved = kernels_mj? + host.surely_saved_mj(now, (cheapest.calls, cheapest.time_us));
        (saved > 0.0).then(|| saved / side.energy_as_run().value)
    };
    Some(model::LaunchedBest { energy_mj, time_us, saves_vs_a: saves(a, saves_a), saves_vs_b: saves(b, saves_b) })
}

/// What the host calls for the best form of each region.
fn calls(sides: &[Priced; 2], cut: &[Region], regions: &[model::Region]) -> Calls {
    let [a, b] = sides;
    let of_region = |(region, cut): (&model::Region, &Region)| match region.best.form {
        model::Form::A => a.calls(&cut.a),
        model::Form::B => b.calls(&cut.b),
        // A form that neither side has takes the place of some operators of the side that costs less: no fewer are counted.
        model::Form::Other if b_leads(sides) => b.calls(&cut.b),
        model::Form::Other => a.calls(&cut.a),
    };
    regions.iter().zip(cut).map(of_region).fold(Calls::default(), |all, calls| all + calls)
}

impl Whole {
    /// Millijoules and microseconds, waiting included.
    fn launched(&self, host: &HostCosts) -> (f64, f64) {
        let waiting_us = (host.time_us(self.calls).value - self.time_us).max(0.0);
        (self.energy_mj + host.waiting_w.mean * waiting_us * 1e-3, self.time_us + waiting_us)
    }
}
