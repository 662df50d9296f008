//! Several measurements of one operator joined into one figure.
//!
//! Where the driver places operands in memory changes an operator's time and power by up to two percent, and stays as it is
//! for as long as they live: no single measurement can see that, however long it takes. So operators are measured in passes,
//! each with operands at other addresses and with all other operators in between, and a figure is the mean of its passes.
//! Operators whose passes differ too much for a mean that is well known get more of them.

use super::leakage;
use super::measurement::Measurement;
use super::meter::{MeterError, PowerFit, fit_power};
use super::rounded::rounded;
use super::state::State;
use crate::energy::{Entry, Measured, Protocol, Run, SHORT_US};

/// The fewest passes that tell how much they scatter.
pub(super) const MIN_USABLE_PASSES: u32 = 3;

/// How many times the passes asked for an operator may get.
const MOST_TIMES: u32 = 3;

/// Student's t at 95 % for two to eleven degrees of freedom. Beyond, the last does for a bound on the safe side.
const STUDENT_T: [f64; 10] = [4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201];

/// The most passes over an operator where `least` are asked for. Of fewer than three none follows.
pub(super) fn max_passes(least: u32) -> u32 {
    if least < MIN_USABLE_PASSES { least } else { least.saturating_mul(MOST_TIMES) }
}

/// Where the time of an execution in half of a measurement is off from that in all of it by more than this part, something
/// else took the time. What waits for the host scatters as much.
const UNSTEADY: f64 = 0.1;

/// The passes that tell what an operator takes: those that were steady, and of a short one the recorded, if there are any.
fn usable_passes<'t>(passes: &[&'t Measurement]) -> Result<Vec<&'t Measurement>, MeterError> {
    let mut steady = Vec::new();
    let (mut farthest, mut has_short_record) = (0.0f64, false);
    for &taken in passes {
        let time_us = fit_power(&taken.points, 0.0, None)?.time_us;
        if time_us.half_width() > UNSTEADY && !taken.launch_bound {
            farthest = farthest.max(time_us.half_width());
            continue;
        }
        has_short_record |= taken.recorded && time_us.mean < SHORT_US;
        steady.push(taken);
    }
    if steady.is_empty() && farthest > 0.0 {
        return Err(MeterError::Unsteady(farthest * 100.0));
    }
    steady.retain(|taken| taken.recorded || !has_short_record);
    Ok(steady)
}

/// Whether the mean energy of these passes is as well known as the protocol wants it. More passes help no operator that
/// waits for the host.
pub(super) fn is_sure(passes: &[&Measurement], run: &Run, protocol: &Protocol) -> bool {
    let Ok(passes) = usable_passes(passes) else { return false };
    if protocol.mean_half_width <= 0.0 || passes.iter().any(|t| t.launch_bound) {
        return true;
    }
    let energies: Vec<f64> = passes
        .iter()
        .filter_map(|t| Some(at_reference(t, &fit_power(&t.points, 0.0, run.counter_s).ok()?, run).0.mean))
        .collect();
    let Some(freedom) = energies.len().checked_sub(1).filter(|n| *n > 0) else { return false };
    let count = energies.len() as f64;
    let mean = energies.iter().sum::<f64>() / count;
    let variance = energies.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / freedom as f64;
    let Some(t) = freedom.checked_sub(2).map(|i| STUDENT_T[i.min(STUDENT_T.len() - 1)]) else { return false };
    t * (variance / count).sqrt() <= protocol.mean_half_width * mean
}

/// The energy of one pass in a chip of the reference temperature, and what part of it that may be off by.
fn at_reference(taken: &Measurement, reckoned: &PowerFit, run: &Run) -> (Measured, f64) {
    let (more_w, off_w) = run.leakage.map_or((0.0, 0.0), |w| leakage::missing_w(&w, taken, reckoned.watts));
    (reckoned.energy_mj.map(|e| e * (1.0 + more_w / reckoned.watts)), off_w / (reckoned.watts + more_w))
}

/// The figures that the passes of one operator, or of one replay, give together.
///
/// The interval reaches as far as the farthest pass, and never less than what one pass may be off by over the square root of
/// their number. That of a single pass reaches as far as the farthest of its windows.
///
/// # Errors
/// [`MeterError::TooShort`] when there is no pass, or one with too few changes of the meter; [`MeterError::Unsteady`] when
/// none was steady.
pub(super) fn join(passes: &[&Measurement], run: &Run, protocol: &Protocol) -> Result<Entry, MeterError> {
    let passes = usable_passes(passes)?;
    let reckoned: Vec<_> = passes
        .iter()
        .map(|t| fit_power(&t.points, protocol.min_half_width, run.counter_s))
        .collect::<Result<_, _>>()?;
    // What each pass takes, in a chip of the reference temperature.
    let each = passes.iter().zip(&reckoned).map(|(taken, r)| (at_reference(taken, r, run), r.time_us));
    let (energies, times): (Vec<(Measured, f64)>, Vec<Measured>) = each.unzip();
    let (energies, off): (Vec<Measured>, Vec<f64>) = energies.into_iter().unzip();
    // The slope is as far off for every pass.
    let off = off.iter().sum::<f64>() / off.len().max(1) as f64;
    let joined = |all: &[Measured]| match all {
        [one] => *one,
        all => {
            let count = all.len() as f64;
            let mean = all.iter().map(|m| m.mean).sum::<f64>() / count;
            let farthest = all.iter().map(|m| (m.mean - mean).abs()).fold(0.0, f64::max);
            let reach = farthest.max(mean * protocol.min_half_width / count.sqrt());
            Measured { mean, low: (mean - reach).max(0.0), high: mean + reach }
        }
    };
    let (energy_mj, time_us) = (joined(&energies).wider(off), joined(&times));
    let states: Vec<State> = passes.iter().map(|t| t.state()).collect();
    let state = State::over(&states).ok_or(MeterError::TooShort(0))?;
    let paced = passes.iter().find_map(|t| t.paced.as_ref());
    Ok(Entry {
        run: run.id,
        energy_mj: energy_mj.map(rounded),
        time_us: time_us.map(rounded),
        watts: rounded(energy_mj.mean / time_us.mean * 1e3),
        executions: reckoned.iter().map(|r| r.executions as u64).sum(),
        windows: reckoned.iter().map(|r| r.windows as u32).sum(),
        passes: passes.len() as u32,
        temperature_c: state.temperature_c,
        sm_clock_mhz: state.sm_clock_mhz,
        launch_bound: passes.iter().any(|t| t.launch_bound),
        recorded: passes.iter().any(|t| t.recorded),
        throttled: state.throttled,
        paced: paced.map(|paced| paced.entry(run, protocol)).transpose()?,
    })
}

impl Measurement {
    /// The figures that this measurement alone gives.
    pub fn entry(&self, run: &Run, protocol: &Protocol) -> Result<Entry, MeterError> {
        join(&[self], run, protocol)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::leakage::REFERENCE_C;
    use crate::measure::meter::Point;

    const PROTOCOL: Protocol = crate::measure::PROTOCOL;

    /// Twelve changes of a load that draws `watts`, 10 µs an execution.
    fn taken(watts: f64, temperature_c: f64) -> Measurement {
        let point = |i: u32| {
            let s = f64::from(i) * 0.1;
            Point(s, watts * s, s * 1e5)
        };
        Measurement {
            points: (0..12).map(point).collect(),
            temperature_c,
            sm_clock_mhz: 1980,
            launch_bound: false,
            recorded: false,
            throttled: String::new(),
            paced: None,
        }
    }

    #[test]
    fn what_took_the_time_of_something_else_is_left_out() {
        let steady = taken(500.0, 50.0);
        let mut waited = steady.clone();
        // In the first half ten times as long.
        waited.points.iter_mut().for_each(|p| p.2 = if p.0 < 0.55 { p.2 / 10.0 } else { p.2 - 5.5e4 });
        let joined = |passes: &[&Measurement]| join(passes, &Run::default(), &PROTOCOL);
        assert!(matches!(joined(&[&waited]), Err(MeterError::Unsteady(part)) if (450.0..550.0).contains(&part)));
        let both = joined(&[&waited, &steady]).unwrap();
        assert_eq!((both.passes, both.time_us.mean), (1, 10.0));
        let host = Measurement { launch_bound: true, ..waited };
        assert!(joined(&[&host]).unwrap().launch_bound);
    }

    #[test]
    fn of_a_short_operator_the_recorded_passes_count_where_there_are_any() {
        let queued = taken(500.0, 50.0);
        let mut recorded = Measurement { recorded: true, ..taken(500.0, 50.0) };
        recorded.points.iter_mut().for_each(|p| p.2 *= 1.2);
        let time = |passes: &[&Measurement]| join(passes, &Run::default(), &PROTOCOL).unwrap().time_us.mean;
        assert!((time(&[&queued, &recorded, &queued]) - 10.0 / 1.2).abs() < 1e-3);
        // Ten times as long, the pauses between them are small beside what places in memory do.
        let longer = |taken: &Measurement| {
            let mut longer = taken.clone();
            longer.points.iter_mut().for_each(|p| p.2 /= 10.0);
            longer
        };
        assert!((time(&[&longer(&queued), &longer(&recorded)]) - (100.0 + 100.0 / 1.2) / 2.0).abs() < 1e-2);
    }

    #[test]
    fn a_figure_is_the_mean_of_its_passes_and_reaches_as_far_as_the_farthest() {
        let [a, b, c, d] = [500.0, 520.0, 500.0, 500.0].map(|w| taken(w, 50.0));
        let entry = join(&[&a, &b, &c, &d], &Run::default(), &PROTOCOL).unwrap();
        assert_eq!((entry.energy_mj.mean, entry.energy_mj.low, entry.energy_mj.high), (5.05, 4.9, 5.2));
        assert_eq!((entry.passes, entry.windows), (4, 24));
    }

    #[test]
    fn one_pass_claims_less_than_several() {
        let a = taken(500.0, 50.0);
        let half = |passes: &[&Measurement]| {
            join(passes, &Run::default(), &PROTOCOL).unwrap().energy_mj.half_width() / PROTOCOL.min_half_width
        };
        assert!((half(&[&a]) - 1.0).abs() < 1e-4 && (half(&[&a; 4]) - 0.5).abs() < 1e-4);
    }

    #[test]
    fn passes_in_a_cooler_and_a_warmer_chip_give_one_figure() {
        let run = Run { leakage: leakage::correction("NVIDIA H200"), ..Run::default() };
        let watts_per_c = run.leakage.unwrap().watts_per_c;
        let energy = |t: &Measurement| join(&[t], &run, &PROTOCOL).unwrap().energy_mj.mean;
        let at = |degrees: f64| taken(500.0 + watts_per_c * degrees, REFERENCE_C + degrees);
        let (cool, warm) = (energy(&at(-6.0)), energy(&at(5.0)));
        assert!((cool - 5.0).abs() < 1e-3 && (warm - 5.0).abs() < 1e-3, "{cool}, {warm}: {run:?}");
        // What the limit holds back draws what it allows, however warm it is.
        let capped = Measurement { throttled: "SW_POWER_CAP".into(), ..taken(488.0, REFERENCE_C - 6.0) };
        assert!((energy(&capped) - 4.88).abs() < 1e-3);
    }

    #[test]
    fn the_farther_from_the_reference_temperature_the_less_a_figure_claims() {
        let run = Run { leakage: leakage::correction("NVIDIA H200"), ..Run::default() };
        let half = |watts: f64, c: f64| join(&[&taken(watts, c)], &run, &PROTOCOL).unwrap().energy_mj.half_width();
        assert!((half(500.0, REFERENCE_C) - PROTOCOL.min_half_width).abs() < 1e-4);
        assert!(half(125.0, REFERENCE_C - 13.0) > PROTOCOL.min_half_width + 0.015);
    }

    /// With a power that rises to the limit, a figure must not jump where the driver begins to say that it holds back.
    #[test]
    fn a_figure_near_the_power_limit_does_not_hang_on_whether_the_limit_was_noticed() {
        let run = Run { leakage: leakage::correction("NVIDIA H200"), ..Run::default() };
        let at = |sm_clock_mhz: u32, throttled: &str| {
            let taken = Measurement { sm_clock_mhz, throttled: throttled.into(), ..taken(697.0, REFERENCE_C + 12.0) };
            join(&[&taken], &run, &PROTOCOL).unwrap().energy_mj.mean
        };
        let (free, barely, held) = (at(1978, ""), at(1972, "SW_POWER_CAP"), at(1700, "SW_POWER_CAP"));
        assert!((free - barely).abs() / free < 0.006, "{free}, {barely}");
        assert_eq!(held, 6.97);
        assert!(free < barely && barely < held);
    }

    #[test]
    fn passes_that_scatter_call_for_more_of_them_until_the_mean_is_known() {
        let sure = |watts: &[f64]| {
            let all: Vec<Measurement> = watts.iter().map(|w| taken(*w, 50.0)).collect();
            is_sure(&all.iter().collect::<Vec<_>>(), &Run::default(), &PROTOCOL)
        };
        assert!(sure(&[500.0, 500.5, 499.5]));
        // Three passes with a standard deviation of 0.4 % leave the mean open by 1 %; nine, by 0.3 %.
        let three = [498.0, 500.0, 502.0];
        assert!(!sure(&three) && sure(&[three; 3].concat()));
        // Two say nothing.
        assert!(!sure(&[500.0, 500.0]));
        // What waits for the host scatters whatever is done.
        let waiting = [400.0, 500.0, 600.0].map(|w| Measurement { launch_bound: true, ..taken(w, 50.0) });
        assert!(is_sure(&waiting.iter().collect::<Vec<_>>(), &Run::default(), &PROTOCOL));
        assert_eq!([1, 2, 3, 4].map(max_passes), [1, 2, 9, 12]);
    }

    #[test]
    fn figures_of_a_gpu_that_nothing_is_known_of_stand_as_they_were_measured() {
        assert_eq!(leakage::correction("Fake 100"), None);
    }
}
