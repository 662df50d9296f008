//! One measurement: runs a load until the meter has moved often enough.

use super::meter::{Mark, MeterError, points, reckon};
use super::profile::{MeterKind, Protocol};
use super::rig::{NoRun, Rig};
use super::windows::Taken;

/// How figures are taken.
pub const PROTOCOL: Protocol = Protocol {
    version: 3,
    meter: MeterKind::EnergyCounter,
    least_changes: 11,
    target_half_width: 0.01,
    most_changes: 20,
    warm_up_s: 0.2,
    queue_ms: 20.0,
    rotate_mib: 256,
    least_half_width: 0.01,
};

/// Launches in the test of whether the host keeps up; below the depth of the device's queue, which would block it.
const LAUNCH_TEST: usize = 200;

/// Share of the time that queueing takes from which on the host is the slower side.
const HOST_SHARE: f64 = 0.8;

/// Runs `load` until enough changes of the meter fell into it.
///
/// # Errors
/// A load that does not run or that is too slow for `budget_s`; a meter or a device that fails.
pub fn take<R: Rig>(rig: &mut R, load: &mut R::Load, protocol: &Protocol, budget_s: f64) -> Result<Taken, NoRun> {
    // The first execution may load and choose kernels.
    let first = rig.run(load, 1)?;
    if first.total_s > budget_s {
        return Err(NoRun::Skip(format!("one execution takes {:.0} s", first.total_s)));
    }
    let started = rig.now_s();
    let mut batch = 1;
    loop {
        let each = rig.run(load, batch)?.total_s.max(1e-7) / batch as f64;
        batch = ((protocol.queue_ms * 1e-3 / each) as usize).clamp(1, batch * 8);
        if rig.now_s() - started > protocol.warm_up_s {
            break;
        }
    }
    let probe = rig.run(load, batch.min(LAUNCH_TEST))?;
    let launch_bound = probe.queued_s > HOST_SHARE * probe.total_s && batch > 1;

    let from_s = rig.now_s();
    let mut marks = vec![Mark { time_s: from_s, executions: 0.0 }];
    let mut executions = 0.0;
    loop {
        rig.run(load, batch)?;
        executions += batch as f64;
        let now = rig.now_s();
        marks.push(Mark { time_s: now, executions });
        let changes = rig.changes_since(from_s)?;
        let late = now - from_s > budget_s;
        if changes.len() < protocol.least_changes as usize && !late {
            continue;
        }
        let points = points(&changes, &marks);
        let half_width = reckon(&points, protocol.least_half_width).map(|r| r.energy_mj.half_width());
        let narrow = half_width.is_ok_and(|w| w <= protocol.target_half_width * 1.0001);
        // What the host's scheduling does to the times does not get narrower.
        if !narrow && !launch_bound && changes.len() < protocol.most_changes as usize && !late {
            continue;
        }
        let state = rig.state()?;
        if state.is_hampered() {
            return Err(NoRun::Skip(format!(
                "the driver held the clocks down meanwhile ({}): see to cooling and power, then measure again",
                state.throttled
            )));
        }
        return Ok(Taken {
            points,
            temperature_c: state.temperature_c,
            sm_clock_mhz: state.sm_clock_mhz,
            launch_bound,
            throttled: state.throttled,
        });
    }
}

/// Changes of the meter at rest that still hold what ran before: the power of the last tenths of a second.
const SETTLING_CHANGES: usize = 4;

/// Changes of the meter that power at rest is read off.
const IDLE_CHANGES: usize = 11;

/// How often the meter is asked whether it has moved; it moves about ten times a second.
const ASK_S: f64 = 0.02;

/// Power with nothing running, between two changes of the meter.
///
/// # Errors
/// A meter that fails; one that stands still is such a one.
pub fn idle_watts<R: Rig>(rig: &mut R) -> Result<f64, MeterError> {
    let from = rig.now_s();
    let changes = loop {
        rig.rest(ASK_S);
        let changes = rig.changes_since(from)?;
        if changes.len() >= SETTLING_CHANGES + IDLE_CHANGES {
            break changes;
        }
    };
    let changes = &changes[SETTLING_CHANGES..];
    match (changes.first(), changes.last()) {
        (Some(a), Some(b)) if b.time_s > a.time_s => Ok((b.joules - a.joules) / (b.time_s - a.time_s)),
        _ => Err(MeterError::TooShort(changes.len())),
    }
}

/// Microseconds per execution with the meter polled and without: medians of alternating spells of half a second.
pub fn overhead<R: Rig>(rig: &mut R, load: &mut R::Load, spells: usize) -> Result<(f64, f64), NoRun> {
    rig.run(load, 1)?;
    let each = rig.run(load, 20)?.total_s.max(1e-6) / 20.0;
    let batch = ((0.5 / each) as usize).max(1);
    rig.run(load, batch)?;
    let mut times = [Vec::new(), Vec::new()];
    for spell in 0..2 * spells {
        // In the order on, off, off, on: a drift hits both alike.
        let on = matches!(spell % 4, 0 | 3);
        rig.poll(on);
        let result = rig.run(load, batch);
        rig.poll(true);
        times[usize::from(on)].push(result?.total_s * 1e6 / batch as f64);
    }
    let [alone, polled] = times.map(median);
    Ok((polled, alone))
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or(0.0)
}
