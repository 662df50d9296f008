//! How far figures of different runs are apart: on other cards, on other days, beside other work.

use serde::{Deserialize, Serialize};

use super::cost::{Figure, Source};
use super::coverage::COVERAGE_SD;
use super::measured::Measured;

/// As many keys as what all runs say of a single one counts for: a run that shares few keys with the others says little by itself.
const PRIOR_KEYS: f64 = 10.0;

/// How far a run's figures are from those of other runs, by what limits the operator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spread {
    /// Of operators that the device takes the time for.
    pub device: Repeat,
    /// Of operators that take less time than their launch.
    pub launch_bound: Repeat,
}

/// How well figures repeat in other runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Repeat {
    /// Keys that the comparison rests on.
    pub keys: usize,
    /// Root mean square of the logarithms of the ratios of energies.
    pub energy_sd: f64,
    /// The same of times.
    pub time_sd: f64,
}

impl Spread {
    /// What applies to an operator.
    pub(super) fn of(&self, launch_bound: bool) -> &Repeat {
        if launch_bound { &self.launch_bound } else { &self.device }
    }

    pub(super) fn is_sane(&self) -> bool {
        self.device.is_sane() && self.launch_bound.is_sane()
    }
}

impl Repeat {
    /// From the ratios of energy and time of each key.
    pub(super) fn of_ratios(ratios: &[(f64, f64)]) -> Repeat {
        let mean_square = |of: &dyn Fn(&(f64, f64)) -> f64| {
            ratios.iter().fold(0.0, |sum, r| sum + of(r).ln().powi(2)) / ratios.len().max(1) as f64
        };
        Repeat { keys: ratios.len(), energy_sd: mean_square(&|r| r.0).sqrt(), time_sd: mean_square(&|r| r.1).sqrt() }
    }

    /// What all comparisons say together.
    pub(super) fn pooled<'a>(all: impl Iterator<Item = &'a Repeat> + Clone) -> Repeat {
        let keys = all.clone().map(|r| r.keys).sum();
        let sd = |of: fn(&Repeat) -> f64| -> f64 {
            let squares: f64 = all.clone().map(|r| r.keys as f64 * of(r).powi(2)).sum();
            (squares / (keys as f64).max(1.0)).sqrt()
        };
        Repeat { keys, energy_sd: sd(|r| r.energy_sd), time_sd: sd(|r| r.time_sd) }
    }

    /// What a run says of itself, drawn toward what `all` runs say, the more so the fewer keys it shares with them.
    pub(super) fn drawn_to(&self, all: &Repeat) -> Repeat {
        if all.keys == 0 {
            return *self;
        }
        let own = self.keys as f64;
        let sd = |own_sd: f64, of_all: f64| {
            ((own * own_sd.powi(2) + PRIOR_KEYS * of_all.powi(2)) / (own + PRIOR_KEYS)).sqrt()
        };
        Repeat { keys: self.keys, energy_sd: sd(self.energy_sd, all.energy_sd), time_sd: sd(self.time_sd, all.time_sd) }
    }

    fn is_sane(&self) -> bool {
        [self.energy_sd, self.time_sd].iter().all(|sd| (0.0..=MOST_SD).contains(sd))
    }
}

/// No two runs differ more.
const MOST_SD: f64 = 7.0;

/// A measured figure as a prediction of what another run would measure, which is off by `sd` beside its own error: independent
/// relative errors, which add in squares.
pub(super) fn repeated(m: &Measured, sd: f64) -> Figure {
    let reach = |end: f64| (end / m.mean).ln().hypot(COVERAGE_SD * sd).exp();
    Figure::new(m.mean, m.mean / reach(m.low), m.mean * reach(m.high), Source::Measured)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repeat(keys: usize, sd: f64) -> Repeat {
        Repeat { keys, energy_sd: sd, time_sd: sd / 2.0 }
    }

    #[test]
    fn many_runs_say_no_more_than_the_errors_of_each() {
        let runs = vec![repeat(5, 0.04); 60];
        let all = Repeat::pooled(runs.iter());
        assert!((all.energy_sd - 0.04).abs() < 1e-12 && all.keys == 300, "{all:?}");
        assert!((runs[59].drawn_to(&all).energy_sd - 0.04).abs() < 1e-12);
    }

    #[test]
    fn a_run_with_few_keys_is_as_uncertain_as_the_others() {
        let all = repeat(1000, 0.05);
        assert!(repeat(3, 0.0).drawn_to(&all).energy_sd > 0.04);
        assert!(repeat(1000, 0.1).drawn_to(&all).energy_sd > 0.099);
        assert_eq!(Repeat::default().drawn_to(&Repeat::default()), Repeat::default());
    }

    #[test]
    fn own_errors_and_those_of_other_runs_add_in_squares() {
        let measured = Measured { mean: 10.0, low: 10.0 / 1.05, high: 10.5 };
        let figure = repeated(&measured, 0.0);
        assert!((figure.low - 10.0 / 1.05).abs() < 1e-9 && (figure.high - 10.5).abs() < 1e-9, "{figure:?}");
        let wide = repeated(&measured, 1.05_f64.ln() / COVERAGE_SD);
        let expected = (2.0_f64.sqrt() * 1.05_f64.ln()).exp();
        assert!((wide.high - 10.0 * expected).abs() < 1e-9 && (wide.low - 10.0 / expected).abs() < 1e-9, "{wide:?}");
    }
}
