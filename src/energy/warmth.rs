//! What a warmer chip draws more: currents leak more in it.
//!
//! A chip's temperature follows what ran in the seconds before, so the passes of one operator see it at several. How much
//! more power a degree costs is told by them, and every figure is stated for one temperature.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::meter::per_execution;
use super::windows::Taken;

/// The temperature that figures are stated for: in the middle of what operators of 20 µs and more bring an H200 to, 50 to
/// 62 °C, so that no figure moves by more than a few degrees.
pub const REFERENCE_C: f64 = 55.0;

/// Fewest differences between passes that the fit rests on.
const LEAST_PAIRS: usize = 8;

/// Least spread of the temperatures, in degrees: standard deviation of a pass about its operator's mean.
const LEAST_SPREAD_C: f64 = 0.5;

/// Watts per degree, fitted on the passes of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Warmth {
    pub watts_per_c: f64,
    /// The temperature that figures are stated for.
    pub reference_c: f64,
}

impl Warmth {
    /// Fits on measurements by key. Those that the power limit holds back draw what it allows at any temperature: they are
    /// left out. `None` where too few passes at too similar temperatures say nothing.
    pub(super) fn of(passes: &[(&str, &Taken)]) -> Option<Warmth> {
        let mut by_key: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
        for (key, taken) in passes.iter().filter(|(_, t)| leaks(t)) {
            let (energy_mj, time_us) = per_execution(&taken.points)?;
            by_key.entry(key).or_default().push((taken.temperature_c, energy_mj / time_us * 1e3));
        }
        let (mut free, mut xx, mut xy) = (0, 0.0, 0.0);
        for all in by_key.values().filter(|all| all.len() > 1) {
            let count = all.len() as f64;
            let mean_c = all.iter().map(|p| p.0).sum::<f64>() / count;
            let mean_w = all.iter().map(|p| p.1).sum::<f64>() / count;
            free += all.len() - 1;
            xx += all.iter().map(|p| (p.0 - mean_c).powi(2)).sum::<f64>();
            xy += all.iter().map(|p| (p.0 - mean_c) * (p.1 - mean_w)).sum::<f64>();
        }
        let enough = free >= LEAST_PAIRS && xx >= free as f64 * LEAST_SPREAD_C.powi(2);
        let watts_per_c = ((xy / xx).max(0.0) * 1e4).round() / 1e4;
        enough.then_some(Warmth { watts_per_c, reference_c: REFERENCE_C })
    }

    pub(super) fn is_sane(&self) -> bool {
        self.watts_per_c >= 0.0 && self.watts_per_c.is_finite() && self.reference_c.is_finite()
    }

    /// Watts that a measurement would have shown more in a chip of the reference temperature.
    pub(super) fn missing_w(&self, taken: &Taken) -> f64 {
        if leaks(taken) { self.watts_per_c * (self.reference_c - taken.temperature_c) } else { 0.0 }
    }
}

/// Whether the power of a measurement is free to follow the temperature.
fn leaks(taken: &Taken) -> bool {
    !taken.state().is_capped() && !taken.launch_bound
}
