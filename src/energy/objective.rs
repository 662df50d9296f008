//! What forms are chosen by: energy, time, or both.

use serde::Serialize;

use super::cost::Cost;
use super::item::Kernel;

/// What is to be as little as possible.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Objective {
    /// Energy. Forms that take more time are a matter of choice and kept apart.
    #[default]
    Energy,
    /// Time.
    Time,
    /// Energy times time, the energy–delay product.
    Edp,
}

impl Objective {
    /// What a saving in a workload that takes `now` counts.
    ///
    /// Of the energy–delay product `E T`, a change takes `dE / E + dT / T`: a microsecond counts as much as the energy that the workload
    /// takes in a microsecond. A form that is better by these weights lowers the product, however large the change is:
    /// where `x + y < 0` for the relative changes `x` and `y`, both at least -1, `(1 + x) (1 + y) < 1`.
    pub fn weights(self, now: &Cost) -> Weights {
        match self {
            Objective::Energy => Weights::ENERGY,
            Objective::Time => Weights { per_mj: 0.0, per_us: 1.0 },
            Objective::Edp => {
                let power = now.energy_mj.value / now.time_us.value;
                Weights { per_mj: 1.0, per_us: if power.is_finite() { power } else { 0.0 } }
            }
        }
    }
}

/// What a millijoule and a microsecond count for the choice of forms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights {
    per_mj: f64,
    per_us: f64,
}

impl Weights {
    /// Energy alone counts.
    pub const ENERGY: Weights = Weights { per_mj: 1.0, per_us: 0.0 };

    /// What so many millijoules and microseconds count together.
    pub fn of(self, mj: f64, us: f64) -> f64 {
        // What is infinite counts only where its unit does.
        let part = |weight: f64, amount: f64| if weight > 0.0 { weight * amount } else { 0.0 };
        part(self.per_mj, mj) + part(self.per_us, us)
    }

    /// What a cost counts.
    pub fn cost(self, cost: &Cost) -> f64 {
        self.of(cost.energy_mj.value, cost.time_us.value)
    }

    /// The upper end of what a cost may count.
    pub fn most(self, cost: &Cost) -> f64 {
        self.of(cost.energy_mj.high, cost.time_us.high)
    }

    /// Whether energy alone counts, so that less of it for more time is a matter of choice.
    pub fn is_energy(self) -> bool {
        self == Weights::ENERGY
    }

    /// What a kernel counts, and by what part of that it may be off, as a standard deviation. Its energy is its time times a power, so that
    /// both are off in the same direction.
    pub(super) fn kernel(self, kernel: &Kernel) -> (f64, f64) {
        let (mj, us) = (kernel.cost.energy_mj.value, kernel.cost.time_us.value);
        let value = self.of(mj, us);
        let error = self.of(mj * kernel.energy_sd, us * kernel.time_sd);
        (value, if value > 0.0 { error / value } else { 0.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::energy::{Figure, Source};

    fn cost(mj: f64, us: f64) -> Cost {
        let exactly = |x| Figure::new(x, x, x, Source::Measured);
        Cost { energy_mj: exactly(mj), time_us: exactly(us), ..Cost::FREE }
    }

    proptest::proptest! {
        #[test]
        fn what_counts_less_lowers_the_product_of_energy_and_time(
            (mj, us) in (1e-3..1e6_f64, 1e-3..1e6_f64), (less_mj, less_us) in (-3.0..1.0_f64, -3.0..1.0_f64),
        ) {
            let weights = Objective::Edp.weights(&cost(mj, us));
            let saved = weights.of(mj * less_mj, us * less_us);
            let product = (1.0 - less_mj) * (1.0 - less_us);
            proptest::prop_assert!(saved <= 1e-9 * mj || product < 1.0, "{saved} {product}");
        }
    }

    #[test]
    fn an_objective_counts_what_its_name_says() {
        let now = cost(200.0, 1000.0);
        let [energy, time, both] =
            [Objective::Energy, Objective::Time, Objective::Edp].map(|objective| objective.weights(&now).of(3.0, 10.0));
        // 200 mJ in 1000 µs: 10 µs count 2 mJ.
        assert_eq!((energy, time, both), (3.0, 10.0, 5.0));
        assert_eq!(Weights::ENERGY.of(3.0, f64::INFINITY), 3.0);
    }
}
