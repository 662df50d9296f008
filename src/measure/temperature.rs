//! Keeps the chip as warm as it is under load, since a warmer one draws more: see [`super::warmth`].

use super::backend::Backend;
use super::meter::MeterError;

/// A spell of full load before the first measurement, and the most of them in all.
const WARM_UP_S: f64 = 2.0;
const MOST_WARM_UP_S: f64 = 60.0;

/// Spells without a rise after which the device is taken to be as warm as it gets. The sensor counts whole degrees, and
/// the sink behind the chip warms by one in some ten seconds.
const STEADY_SPELLS: u32 = 5;

/// A spell of full load before each measurement, and the most of them in all.
const HEATING_S: f64 = 0.2;
const MOST_HEATING_S: f64 = 0.8;

/// How far below the working temperature a measurement may start.
const COOLER_C: f64 = 2.0;

/// Runs full load until the device is as warm as it was when the run began, or, at its beginning, gets no warmer; gives
/// that temperature.
pub(super) fn bring_to_temperature<R: Backend>(rig: &mut R, working_c: Option<f64>) -> Result<f64, MeterError> {
    let started = rig.now_s();
    let (mut warmest, mut steady) = (0.0_f64, 0);
    let reached = |warmest: f64| working_c.is_some_and(|wanted| warmest >= wanted);
    while steady < STEADY_SPELLS && !reached(warmest) && rig.now_s() - started < MOST_WARM_UP_S {
        rig.warm_up(WARM_UP_S);
        let now = rig.state()?.temperature_c;
        steady = if now > warmest { 0 } else { steady + 1 };
        warmest = warmest.max(now);
    }
    Ok(working_c.unwrap_or(warmest))
}

/// Makes up for what the device has cooled down since the measurement before, so that figures do not depend on their order.
pub(super) fn keep_at_temperature<R: Backend>(rig: &mut R, working_c: f64) -> Result<(), MeterError> {
    let started = rig.now_s();
    loop {
        rig.warm_up(HEATING_S);
        let warm = rig.state()?.temperature_c + COOLER_C >= working_c;
        if warm || rig.now_s() - started >= MOST_HEATING_S {
            return Ok(());
        }
    }
}
