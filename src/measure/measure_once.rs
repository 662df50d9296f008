//! One measurement: runs a load until the meter has moved often enough.

use super::backend::{Backend, NoRun};
use super::measurement::{Measurement, Paced};
use super::meter::{Mark, MeterError, fit_power, points};
use super::state::State;
use crate::energy::{METHOD_VERSION, MeterKind, Protocol, SHORT_US};

/// How figures are taken.
pub const PROTOCOL: Protocol = Protocol {
    version: METHOD_VERSION,
    meter: MeterKind::EnergyCounter,
    min_changes: 13,
    target_half_width: 0.02,
    max_changes: 21,
    capped_changes: 18,
    warm_up_s: 0.3,
    queue_ms: 20.0,
    rotate_mib: 256,
    places: 16,
    min_half_width: 0.02,
    mean_half_width: 0.005,
    pace: 0.8,
};

/// How figures are taken when a whole profile has to fit into a quarter of an hour: one short measurement for each operator,
/// in fewer places, and none with pauses.
pub const QUICK_PROTOCOL: Protocol = Protocol {
    min_changes: 7,
    max_changes: 11,
    capped_changes: 11,
    warm_up_s: 0.1,
    min_half_width: 0.03,
    mean_half_width: 0.0,
    pace: 0.0,
    ..PROTOCOL
};

/// Seconds of work between two pauses of a paced load.
const PACED_WORK_S: f64 = 0.01;

/// Launches in a test of whether the host keeps up; below the depth of the device's queue, which would block it.
const LAUNCH_TEST: usize = 200;

/// An odd number of tests, whose median counts: in one that is interrupted, the device looks like the slower side.
const LAUNCH_TESTS: usize = 5;

/// Share of the time that queueing takes from which on the host is the slower side.
const HOST_SHARE: f64 = 0.8;

/// Runs `load` until enough changes of the meter fell into it.
///
/// A short load, and one that the host cannot queue as fast as the device works it off, is recorded and launched in large
/// pieces, so that the figure is the device's. With `pace`, a load that the power limit holds back is measured with pauses
/// too, in which it may draw more while it works: so it runs between operators that draw less.
///
/// # Errors
/// A load that does not run or that is too slow for `budget_s`; a meter or a device that fails.
pub(super) fn measure_once<R: Backend>(
    rig: &mut R,
    load: &mut R::Load,
    protocol: &Protocol,
    budget_s: f64,
    pace: bool,
) -> Result<Measurement, NoRun> {
    // The first execution may load and choose kernels.
    let first = rig.run(load, 1)?;
    if first.total_s > budget_s {
        return Err(NoRun::Skip(format!("one execution takes {:.0} s", first.total_s)));
    }
    let mut batch = warm_up(rig, load, protocol, budget_s)?;
    let (host_share, each_s) = launch_tests(rig, load, batch)?;
    let waits_for_host = batch > 1 && host_share > HOST_SHARE;
    let recorded = if waits_for_host || each_s * 1e6 < SHORT_US { rig.record(load)? } else { None };
    if recorded.is_some() {
        batch = warm_up(rig, load, protocol, budget_s)?;
    }
    let launch_bound = waits_for_host && recorded.is_none();

    let from_s = rig.now_s();
    let mut marks = vec![Mark { time_s: from_s, executions: 0.0 }];
    let mut executions = 0.0;
    loop {
        rig.run_on(load, batch)?;
        executions += (batch * recorded.unwrap_or(1)) as f64;
        let now = rig.now_s();
        marks.push(Mark { time_s: now, executions });
        let changes = rig.changes_since(from_s)?;
        let late = now - from_s > budget_s;
        if changes.len() < protocol.min_changes as usize && !late {
            continue;
        }
        let state = state_since(rig, from_s)?;
        // The limit lets the power swing with a period of about a second.
        if state.is_capped() && changes.len() < protocol.capped_changes as usize && !late {
            continue;
        }
        let points = points(&changes, &marks);
        let half_width = fit_power(&points, protocol.min_half_width, None).map(|r| r.energy_mj.half_width());
        let narrow = half_width.is_ok_and(|w| w <= protocol.target_half_width * 1.0001);
        // What the host's scheduling does to the times does not get narrower.
        if !narrow && !launch_bound && changes.len() < protocol.max_changes as usize && !late {
            continue;
        }
        refuse_external_throttling(&state)?;
        let paced = if pace && state.is_capped() {
            Some(paced(rig, load, batch, recorded.unwrap_or(1), protocol, budget_s)?)
        } else {
            None
        };
        return Ok(Measurement {
            points,
            temperature_c: state.temperature_c,
            sm_clock_mhz: state.sm_clock_mhz,
            launch_bound,
            recorded: recorded.is_some(),
            throttled: state.throttled,
            paced,
        });
    }
}

/// What share of the time it takes the host to queue a load, and the seconds that an execution takes.
fn launch_tests<R: Backend>(rig: &mut R, load: &mut R::Load, batch: usize) -> Result<(f64, f64), NoRun> {
    let times = batch.min(LAUNCH_TEST);
    let (mut shares, mut each_s) = ([0.0; LAUNCH_TESTS], [0.0; LAUNCH_TESTS]);
    for (share, each_s) in shares.iter_mut().zip(&mut each_s) {
        let test = rig.run(load, times)?;
        (*share, *each_s) = (test.queued_s / test.total_s, test.total_s / times as f64);
    }
    let median = |mut all: [f64; LAUNCH_TESTS]| {
        all.sort_by(f64::total_cmp);
        all[LAUNCH_TESTS / 2]
    };
    Ok((median(shares), median(each_s)))
}

/// Runs a load for a while, and until all of its memory has been in use: a few loads were seen to take milliseconds for each
/// execution until then. Gives how many executions take as long as the protocol queues.
fn warm_up<R: Backend>(rig: &mut R, load: &mut R::Load, protocol: &Protocol, budget_s: f64) -> Result<usize, NoRun> {
    let started = rig.now_s();
    let (mut batch, mut executions) = (1, 0);
    loop {
        let each_s = rig.run(load, batch)?.total_s.max(1e-7) / batch as f64;
        executions += batch;
        let wanted = ((protocol.queue_ms * 1e-3 / each_s) as usize).max(1);
        // Not so after a run that was interrupted.
        let is_settled = wanted <= 2 * batch && batch <= 2 * wanted;
        batch = wanted.min(batch * 8);
        let seconds = rig.now_s() - started;
        if seconds > protocol.warm_up_s && (is_settled && executions > rig.round(load) || seconds > budget_s) {
            return Ok(batch);
        }
    }
}

/// The state of a spell: what the changes of the meter in it saw, else what is seen now.
fn state_since<R: Backend>(rig: &mut R, from_s: f64) -> Result<State, MeterError> {
    let states = rig.states_since(from_s);
    State::over(&states).map_or_else(|| rig.state(), Ok)
}

fn refuse_external_throttling(state: &State) -> Result<(), NoRun> {
    if !state.is_throttled_externally() {
        return Ok(());
    }
    Err(NoRun::Skip(format!(
        "the driver held the clocks down meanwhile ({}): see to cooling and power, then measure again",
        state.throttled
    )))
}

/// Runs a load with pauses, so that it works for a share `pace` of the time. `batch` runs take as long as the protocol
/// queues; each is `recorded` executions.
fn paced<R: Backend>(
    rig: &mut R,
    load: &mut R::Load,
    batch: usize,
    recorded: usize,
    protocol: &Protocol,
    budget_s: f64,
) -> Result<Paced, NoRun> {
    let batch = ((batch as f64 * PACED_WORK_S / (protocol.queue_ms * 1e-3)) as usize).max(1);
    let mut cycle = |rig: &mut R| -> Result<f64, NoRun> {
        let worked = rig.run(load, batch)?.total_s;
        rig.rest(worked * (1.0 / protocol.pace - 1.0));
        Ok(worked)
    };
    let started = rig.now_s();
    while rig.now_s() - started < SETTLING_S {
        cycle(rig)?;
    }
    let from_s = rig.now_s();
    let mut marks = vec![Mark { time_s: from_s, executions: 0.0 }];
    let (mut executions, mut worked_s) = (0.0, 0.0);
    loop {
        worked_s += cycle(rig)?;
        executions += (batch * recorded) as f64;
        let now = rig.now_s();
        marks.push(Mark { time_s: now, executions });
        let changes = rig.changes_since(from_s)?;
        if changes.len() < protocol.max_changes as usize && now - from_s < budget_s {
            continue;
        }
        let state = state_since(rig, from_s)?;
        refuse_external_throttling(&state)?;
        return Ok(Paced {
            points: points(&changes, &marks),
            busy: (worked_s / (now - from_s) * 1e6).round() / 1e6,
            temperature_c: state.temperature_c,
            sm_clock_mhz: state.sm_clock_mhz,
        });
    }
}

/// How long the clocks take to follow a change of load.
const SETTLING_S: f64 = 0.6;

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
pub(super) fn idle_watts<R: Backend>(rig: &mut R) -> Result<f64, MeterError> {
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
pub(super) fn overhead<R: Backend>(rig: &mut R, load: &mut R::Load, spells: usize) -> Result<(f64, f64), NoRun> {
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
