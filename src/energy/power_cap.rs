//! What operators take together where the card's power limit holds them back.
//!
//! The limit holds for the mean over some tenths of a second. A product that alone would draw more is slowed down until it
//! draws just that much; in a model, operators that draw less leave it power, and it runs at a higher clock, faster and with
//! more energy. So the figures of products measured alone do not add up to a model. Those that the limit holds back are
//! therefore measured twice, alone and with pauses, and the clock of a model is the one at which all its operators together
//! draw what the limit allows.

use super::cost::{Cost, Figure};
use super::key::KernelKey;
use super::measured::Measured;
use super::model::CostModel;
use super::profile::{Entry, Profile};

/// Halvings of the range of clocks: far below a megahertz.
const STEPS: usize = 40;

/// The sum of `costs`, one for each call with its key, at the clock that the power limit leaves to all of them together.
///
/// An operator runs between its two measured states at the clock of the whole, the figures in between lying on a straight line;
/// one that was measured in one state only has that. Without any that the limit holds back, this is the plain sum.
pub(crate) fn at_power_cap(calls: &[(Option<KernelKey>, Cost)], model: &CostModel) -> Cost {
    let profile = model.profile();
    let plain: Cost = calls.iter().map(|(_, cost)| *cost).sum();
    let held: Vec<(&Entry, &Cost)> =
        calls.iter().filter_map(|(key, cost)| Some((two_states(profile, key)?, cost))).collect();
    let Some(limit_w) = limit_w(profile).filter(|_| !held.is_empty() && plain.energy_mj.is_known()) else {
        return plain;
    };
    let at = |clock: f64| held.iter().fold(plain, |sum, (entry, cost)| replaced(sum, entry, cost, clock));
    let watts = |cost: &Cost| cost.energy_mj.value / cost.time_us.value * 1e3;
    let clocks =
        || held.iter().flat_map(|(e, _)| [Some(e.sm_clock_mhz), e.paced.as_ref().map(|p| p.sm_clock_mhz)]).flatten();
    let (mut low, mut high) = (clocks().min().map_or(0.0, f64::from), clocks().max().map_or(0.0, f64::from));
    if watts(&at(high)) <= limit_w {
        return at(high);
    }
    for _ in 0..STEPS {
        let middle = f64::midpoint(low, high);
        if watts(&at(middle)) <= limit_w { low = middle } else { high = middle }
    }
    at(low)
}

/// The entry of a key that was measured alone and, at a higher clock, with pauses.
fn two_states<'p>(profile: &'p Profile, key: &Option<KernelKey>) -> Option<&'p Entry> {
    let entry = profile.entries.get(key.as_ref()?)?;
    entry.paced.as_ref().filter(|paced| paced.sm_clock_mhz > entry.sm_clock_mhz)?;
    Some(entry)
}

/// The power that the limit allows: what operators draw that it holds back, in the median.
fn limit_w(profile: &Profile) -> Option<f64> {
    let mut watts: Vec<f64> = profile.entries.values().filter(|e| e.paced.is_some()).map(|e| e.watts).collect();
    watts.sort_by(f64::total_cmp);
    watts.get(watts.len() / 2).copied()
}

/// `sum` with one operator at `clock` in place of alone. The figures of `cost` may stand in another run's terms; what the
/// clock changes is taken as a factor.
fn replaced(mut sum: Cost, entry: &Entry, cost: &Cost, clock: f64) -> Cost {
    let Some(paced) = &entry.paced else { return sum };
    let (from, to) = (f64::from(entry.sm_clock_mhz), f64::from(paced.sm_clock_mhz));
    let share = ((clock - from) / (to - from)).clamp(0.0, 1.0);
    let moved = |total: Figure, alone: &Measured, paced: &Measured, own: Figure| {
        let by = |own: f64, alone: f64, paced: f64| own * share * (paced / alone - 1.0);
        let value = total.value + by(own.value, alone.mean, paced.mean);
        let low = total.low + by(own.low, alone.mean, paced.mean);
        Figure::new(value, low, total.high + by(own.high, alone.mean, paced.mean), total.source)
    };
    sum.energy_mj = moved(sum.energy_mj, &entry.energy_mj, &paced.energy_mj, cost.energy_mj);
    sum.time_us = moved(sum.time_us, &entry.time_us, &paced.time_us, cost.time_us);
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::energy::Source;
    use crate::energy::profile::PacedEntry;

    const LIMIT_W: f64 = 700.0;
    const TOP_MHZ: f64 = 1980.0;

    /// An operator by the physics of a chip: `work` cycles, power at rest plus a part that grows with the clock.
    #[derive(Clone, Copy)]
    struct Chip {
        mega_cycles: f64,
        /// Watts at the highest clock, over those at rest.
        active_w: f64,
    }

    impl Chip {
        fn watts(&self, mhz: f64) -> f64 {
            150.0 + self.active_w * (mhz / TOP_MHZ).powf(2.5)
        }

        fn time_us(&self, mhz: f64) -> f64 {
            self.mega_cycles / mhz * 1e6
        }

        fn energy_mj(&self, mhz: f64) -> f64 {
            self.watts(mhz) * self.time_us(mhz) * 1e-3
        }
    }

    /// The highest clock at which these operators together, running a share `busy` of the time, keep to the limit.
    fn clock(chips: &[Chip], busy: f64) -> f64 {
        let keeps = |mhz: f64| {
            let energy: f64 = chips.iter().map(|c| c.energy_mj(mhz)).sum();
            let time: f64 = chips.iter().map(|c| c.time_us(mhz)).sum();
            busy * energy / time * 1e3 + (1.0 - busy) * 130.0 <= LIMIT_W
        };
        (1000..=TOP_MHZ as u32).rev().map(f64::from).find(|&mhz| keeps(mhz)).unwrap()
    }

    fn exactly(mean: f64) -> Measured {
        Measured { mean, low: mean * 0.99, high: mean * 1.01 }
    }

    fn entry(chip: Chip) -> Entry {
        let alone = clock(&[chip], 1.0);
        let paced = clock(&[chip], 0.8);
        Entry {
            run: 1,
            energy_mj: exactly(chip.energy_mj(alone)),
            time_us: exactly(chip.time_us(alone)),
            watts: chip.watts(alone),
            executions: 1000,
            windows: 10,
            passes: 1,
            temperature_c: 60.0,
            sm_clock_mhz: alone as u32,
            launch_bound: false,
            recorded: false,
            throttled: if alone < TOP_MHZ { "SW_POWER_CAP".into() } else { String::new() },
            paced: (alone < TOP_MHZ).then(|| PacedEntry {
                energy_mj: exactly(chip.energy_mj(paced)),
                time_us: exactly(chip.time_us(paced)),
                watts: chip.watts(paced),
                sm_clock_mhz: paced as u32,
            }),
        }
    }

    /// The sum at the cap and the plain one, over those of the whole on the same chip.
    fn ratios(chips: &[Chip]) -> (Cost, [f64; 2], [f64; 2]) {
        let mut profile = Profile::default();
        let keys: Vec<KernelKey> =
            (0..chips.len()).map(|i| format!("neg(f32[{}])", 1 << (20 + i)).parse().unwrap()).collect();
        profile.entries = keys.iter().cloned().zip(chips.iter().map(|&c| entry(c))).collect();
        let model = CostModel::new(profile);
        let calls: Vec<_> = keys.iter().map(|k| (Some(k.clone()), model.cost(k))).collect();
        let whole = clock(chips, 1.0);
        let (energy, time) = (
            chips.iter().map(|c| c.energy_mj(whole)).sum::<f64>(),
            chips.iter().map(|c| c.time_us(whole)).sum::<f64>(),
        );
        let of = |cost: &Cost| [cost.energy_mj.value / energy, cost.time_us.value / time];
        let cost = at_power_cap(&calls, &model);
        (cost, of(&cost), of(&calls.iter().map(|(_, c)| *c).sum()))
    }

    const PRODUCT: Chip = Chip { mega_cycles: 0.7, active_w: 1100.0 };

    #[test]
    fn products_between_lighter_operators_take_more_energy_and_less_time_than_alone() {
        let light = Chip { mega_cycles: 0.2, active_w: 420.0 };
        let (cost, at_cap, plain) = ratios(&[PRODUCT, light, Chip { mega_cycles: 0.4, active_w: 900.0 }]);
        assert!(plain[0] < 0.985 && plain[1] > 1.0, "{plain:?}");
        assert!(at_cap.iter().all(|r| (r - 1.0).abs() < 0.015), "{at_cap:?}");
        assert!(cost.energy_mj.source == Source::Measured && cost.energy_mj.low < cost.energy_mj.value);
    }

    #[test]
    fn alone_products_are_what_they_are() {
        let (_, at_cap, plain) = ratios(&[PRODUCT, PRODUCT]);
        assert!(at_cap.iter().chain(&plain).all(|r| (r - 1.0).abs() < 0.003), "{at_cap:?} {plain:?}");
    }

    #[test]
    fn below_the_limit_nothing_is_held_back() {
        let light = Chip { mega_cycles: 9.0, active_w: 200.0 };
        let (_, at_cap, _) = ratios(&[PRODUCT, light]);
        assert!(at_cap.iter().all(|r| (r - 1.0).abs() < 0.06), "{at_cap:?}");
    }
}
