//! What a warmer chip draws more: currents leak more in it.
//!
//! A chip's temperature follows what ran in the seconds before, so the passes of one operator see it at several. How much
//! more power a degree costs is told by many passes on several cards, and every figure is stated for one temperature.

use super::measurement::Measurement;
use crate::energy::LeakageCorrection;

/// The temperature that figures are stated for: in the middle of what operators of 20 µs and more bring an H200 to, 50 to
/// 62 °C, so that none of theirs moves by more than a few degrees.
pub const REFERENCE_C: f64 = 55.0;

/// Watts per degree, by the name of the GPU. The passes of one run tell the slope to within 0.2 to 1.3 W only, and a wrong
/// one does more harm than none: so it is that of all runs, and figures of other GPUs stand as they were measured.
const WATTS_PER_C: [(&str, f64); 1] = [("NVIDIA H200", 1.4)];

/// What part of the slope that of one card may be off by: cards give 1.1 to 1.5 W.
const OFF_BY: f64 = 0.15;

/// The mean clock that an H200 shows while nothing holds it back.
const FULL_CLOCK_MHZ: f64 = 1978.0;

/// Power goes with the clock to this power: what 51 operators tell that were measured at two clocks, alone and with pauses.
const WATTS_BY_CLOCK: f64 = 1.65;

/// The correction for GPUs of this name; `None` where nothing is known of them.
pub(super) fn correction(device: &str) -> Option<LeakageCorrection> {
    let (_, watts_per_c) = WATTS_PER_C.iter().find(|(name, _)| *name == device)?;
    Some(LeakageCorrection { watts_per_c: *watts_per_c, reference_c: REFERENCE_C })
}

/// Watts that a measurement that showed `watts` would have shown more in a chip of the reference temperature, and what
/// that is off by.
///
/// What the power limit holds back draws what it allows at any temperature, unless a cooler chip would have let go of it:
/// the lowered clock tells how far the load is from that, so that nothing jumps where the limit sets in.
pub(super) fn missing_w(leakage: &LeakageCorrection, taken: &Measurement, watts: f64) -> (f64, f64) {
    let free = leakage.watts_per_c * (leakage.reference_c - taken.temperature_c);
    let missing = if taken.launch_bound || free > 0.0 && taken.state().is_capped() {
        0.0
    } else if free > 0.0 {
        free
    } else {
        (free + held_back_w(taken, watts)).min(0.0)
    };
    (missing, missing.abs() * OFF_BY)
}

/// Watts that a measurement would have shown more if nothing had lowered its clock.
fn held_back_w(taken: &Measurement, watts: f64) -> f64 {
    let clock = f64::from(taken.sm_clock_mhz.max(1));
    watts * ((FULL_CLOCK_MHZ / clock).powf(WATTS_BY_CLOCK) - 1.0).max(0.0)
}
