//! Fits the estimator on a profile.

use std::collections::{BTreeMap, BTreeSet};

use super::estimate::{COVERAGE, ErrorBand, Estimator, GroupFit, ModeFit, Overall, group, mode};
use super::profile::Profile;
use super::work::WorkWithLayout;

/// Relative errors below this count by their squares, those above it by their size.
const SMALL: f64 = 0.05;

/// Rounds of least squares with weights from the round before.
const REWEIGHTED: usize = 6;

/// Fewest entries that a group is fitted on.
const LEAST_ENTRIES: usize = 6;

/// One measured entry as the fit sees it.
#[derive(Clone, Debug)]
struct Point {
    mode: String,
    work: WorkWithLayout,
    time_us: f64,
    energy_mj: f64,
}

impl Estimator {
    /// Fits every group that the profile has enough entries of. Deterministic.
    pub fn fit(profile: &Profile) -> Estimator {
        let mut groups: BTreeMap<String, Vec<Point>> = BTreeMap::new();
        for (key, entry) in &profile.entries {
            let Some(work) = WorkWithLayout::of_key(key).filter(|w| w.launches > 0) else { continue };
            let (Some(group), Some(mode)) = (group(key), mode(key, &work)) else { continue };
            let point = Point { mode, work, time_us: entry.time_us.mean, energy_mj: entry.energy_mj.mean };
            groups.entry(group).or_default().push(point);
        }
        let mut estimator = Estimator::default();
        let mut all = Vec::new();
        for (name, points) in groups {
            if let Some((fit, ratios)) = fit_group(&points) {
                estimator.groups.insert(name, fit);
                all.push(ratios);
            }
        }
        estimator.overall = overall(&all);
        estimator
    }
}

/// What the leave-one-out ratios of all groups come to.
fn overall(groups: &[Vec<f64>]) -> Overall {
    let mut errors: Vec<f64> = groups.iter().flatten().map(|r| (1.0 / r - 1.0).abs()).collect();
    errors.sort_by(f64::total_cmp);
    let covered = |ratios: &Vec<f64>| {
        let inside = |i: &usize| {
            let others = ratios.iter().enumerate().filter(|(j, _)| j != i).map(|(_, r)| *r).collect();
            band(others).is_some_and(|b| (b.low_ratio..=b.high_ratio).contains(&ratios[*i]))
        };
        (0..ratios.len()).filter(inside).count()
    };
    let covered: usize = groups.iter().map(covered).sum();
    Overall {
        entries: errors.len(),
        median: errors.get(errors.len() / 2).copied().unwrap_or(0.0),
        covered: covered as f64 / errors.len().max(1) as f64,
    }
}

/// Fits a group, then judges it by leaving out each entry in turn: gives the ratios of measured to predicted energy too.
fn fit_group(points: &[Point]) -> Option<(GroupFit, Vec<f64>)> {
    if points.len() < LEAST_ENTRIES {
        return None;
    }
    let mut fit = coefficients(points)?;
    let (mut energy, mut time) = (Vec::new(), Vec::new());
    for (i, left_out) in points.iter().enumerate() {
        let rest: Vec<Point> = points.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, p)| p.clone()).collect();
        // The only entry of its arithmetic mode has no prediction from the others.
        if let Some((t, e)) = coefficients(&rest).and_then(|c| c.predict(&left_out.mode, &left_out.work)) {
            time.push(left_out.time_us / t);
            energy.push(left_out.energy_mj / e);
        }
    }
    fit.energy_error = band(energy.clone())?;
    fit.time_error = band(time)?;
    Some((fit, energy))
}

fn coefficients(points: &[Point]) -> Option<GroupFit> {
    let names: Vec<&str> = points.iter().map(|p| p.mode.as_str()).collect::<BTreeSet<_>>().into_iter().collect();
    let index: Vec<usize> = points.iter().filter_map(|p| names.binary_search(&p.mode.as_str()).ok()).collect();
    if points.is_empty() || index.len() != points.len() {
        return None;
    }
    let times = fit_times(points, &index, names.len());
    let joules = fit_energies(points, &times.predict(points, &index), &index, names.len());
    let modes = names.iter().enumerate().map(|(m, name)| {
        let own = || points.iter().zip(&index).filter(move |(_, i)| **i == m).map(|(p, _)| p);
        let least = |f: fn(&Point) -> f64| own().map(f).fold(f64::INFINITY, f64::min);
        let most = |f: fn(&Point) -> f64| own().map(f).fold(0.0, f64::max);
        let fit = ModeFit {
            entries: own().count(),
            tflop_s: times.rates[m].exp() * 1e-6,
            pj_per_flop: joules[2 + m] * 1e9,
            least_flops: least(|p| p.work.flops),
            most_flops: most(|p| p.work.flops),
            least_bytes: least(|p| p.work.bytes),
            most_bytes: most(|p| p.work.bytes),
        };
        ((*name).to_owned(), fit)
    });
    let unjudged = ErrorBand { low_ratio: 1.0, high_ratio: 1.0, median: 0.0 };
    Some(GroupFit {
        entries: points.len(),
        bandwidth_gb_s: times.bandwidth.exp() * 1e-3,
        launch_us: times.launch.exp(),
        static_w: joules[0] * 1e3,
        pj_per_byte: joules[1] * 1e9,
        modes: modes.collect(),
        energy_error: unjudged,
        time_error: unjudged,
    })
}

/// Logarithms of: bytes per µs, µs per launch, FLOPs per µs by mode.
#[derive(Clone)]
struct Times {
    bandwidth: f64,
    launch: f64,
    rates: Vec<f64>,
}

impl Times {
    fn parameter(&mut self, i: usize) -> &mut f64 {
        match i {
            0 => &mut self.bandwidth,
            1 => &mut self.launch,
            _ => &mut self.rates[i - 2],
        }
    }

    /// The time that each point should take.
    fn predict(&self, points: &[Point], index: &[usize]) -> Vec<f64> {
        let (bandwidth, launch) = (self.bandwidth.exp(), self.launch.exp());
        let rates: Vec<f64> = self.rates.iter().map(|r| r.exp()).collect();
        let time = |(p, &m): (&Point, &usize)| (p.work.flops / rates[m]).max(p.work.bytes / bandwidth) + launch;
        points.iter().zip(index).map(time).collect()
    }

    /// Sum over the logarithms of predicted over measured time, that is over relative errors: of squares where they are
    /// small, of sizes where they are large, so that a kernel unlike the others does not pull the fit away from them.
    fn loss(&self, points: &[Point], index: &[usize]) -> f64 {
        let times = self.predict(points, index);
        times.iter().zip(points).map(|(time, p)| ((time / p.time_us).ln().powi(2) + SMALL * SMALL).sqrt()).sum()
    }
}

/// Fits the times from two starts: with arithmetic hidden behind memory traffic, and with arithmetic at the best rate
/// seen. The second has to be better beyond doubt: where work and traffic go hand in hand, traffic is the cause.
fn fit_times(points: &[Point], index: &[usize], modes: usize) -> Times {
    let (hidden, hidden_loss) = descend(points, index, modes, 8.0);
    let (shown, shown_loss) = descend(points, index, modes, 1.0);
    if shown_loss < 0.9 * hidden_loss { shown } else { hidden }
}

/// Descends parameter by parameter with shrinking steps, from the ceilings that the points show; `headroom` is how far
/// above the best rate seen the arithmetic starts.
fn descend(points: &[Point], index: &[usize], modes: usize, headroom: f64) -> (Times, f64) {
    let best = |f: &dyn Fn(&Point) -> f64| points.iter().map(f).fold(1e-12, f64::max).ln();
    let rate = |m: usize| {
        let own = points.iter().zip(index).filter(|(_, i)| **i == m);
        (headroom * own.map(|(p, _)| p.work.flops / p.time_us).fold(1e-12, f64::max)).ln()
    };
    let mut times = Times {
        bandwidth: best(&|p| p.work.bytes / p.time_us),
        launch: points.iter().map(|p| p.time_us).fold(f64::INFINITY, f64::min).max(1e-3).ln(),
        rates: (0..modes).map(rate).collect(),
    };
    let mut loss = times.loss(points, index);
    let mut step = 1.0;
    while step > 1e-3 {
        let before = loss;
        for i in 0..2 + modes {
            for delta in [step, -step] {
                *times.parameter(i) += delta;
                let trial = times.loss(points, index);
                if trial < loss {
                    loss = trial;
                    break;
                }
                *times.parameter(i) -= delta;
            }
        }
        let gained = loss < before * (1.0 - 1e-6);
        if !gained {
            step *= 0.5;
        }
    }
    (times, loss)
}

/// Least sum of relative errors with coefficients of 0 or more: mJ per µs, per byte, per FLOP by mode. `times` are the
/// predicted ones, since those are what an estimate has.
fn fit_energies(points: &[Point], times: &[f64], index: &[usize], modes: usize) -> Vec<f64> {
    let n = 2 + modes;
    // Rows are divided by the measured energy, so that every right side is 1; columns by their largest
    // element, so that one tolerance serves all.
    let row = |((p, &m), time): ((&Point, &usize), &f64)| {
        let mut row = vec![0.0; n];
        row[0] = time / p.energy_mj;
        row[1] = p.work.bytes / p.energy_mj;
        row[2 + m] = p.work.flops / p.energy_mj;
        row
    };
    let mut rows: Vec<Vec<f64>> = points.iter().zip(index).zip(times).map(row).collect();
    let scale: Vec<f64> = (0..n).map(|j| rows.iter().map(|r| r[j]).fold(0.0, f64::max)).collect();
    for row in &mut rows {
        row.iter_mut().zip(&scale).filter(|(_, s)| **s > 0.0).for_each(|(x, s)| *x /= s);
    }
    let mut solution = vec![0.0; n];
    let mut weights = vec![1.0; rows.len()];
    for _ in 0..REWEIGHTED {
        let rest = least_squares(&rows, &weights, &mut solution);
        // Least squares of weights 1 / error are least sizes.
        weights = rest.iter().map(|e| 1.0 / e.hypot(SMALL)).collect();
    }
    solution.iter().zip(&scale).map(|(x, s)| if *s > 0.0 { x / s } else { 0.0 }).collect()
}

/// Improves a solution of `rows * solution = 1` with weights on the rows, coordinate by coordinate, none of them below 0;
/// gives what is left of the right side.
fn least_squares(rows: &[Vec<f64>], weights: &[f64], solution: &mut [f64]) -> Vec<f64> {
    let at = |row: &Vec<f64>, solution: &[f64]| 1.0 - row.iter().zip(solution).map(|(x, s)| x * s).sum::<f64>();
    let mut rest: Vec<f64> = rows.iter().map(|row| at(row, solution)).collect();
    for _ in 0..400 {
        let mut moved: f64 = 0.0;
        for j in 0..solution.len() {
            let square: f64 = rows.iter().zip(weights).map(|(r, w)| w * r[j] * r[j]).sum();
            if square == 0.0 {
                continue;
            }
            let slope: f64 = rows.iter().zip(weights).zip(&rest).map(|((r, w), e)| w * r[j] * e).sum();
            let next = (solution[j] + slope / square).max(0.0);
            let change = next - solution[j];
            solution[j] = next;
            rows.iter().zip(&mut rest).for_each(|(r, e)| *e -= r[j] * change);
            moved = moved.max(change.abs());
        }
        if moved < 1e-9 {
            break;
        }
    }
    rest
}

/// The band that holds the share [`COVERAGE`] of the ratios, and the median error.
fn band(mut ratios: Vec<f64>) -> Option<ErrorBand> {
    ratios.retain(|r| r.is_finite() && *r > 0.0);
    if ratios.is_empty() {
        return None;
    }
    ratios.sort_by(f64::total_cmp);
    let n = ratios.len();
    // One rank further out on each side than the share asks for: a new figure is one more draw.
    let cut = (((n + 1) as f64 * (1.0 - COVERAGE) / 2.0).floor() as usize).saturating_sub(1);
    let mut errors: Vec<f64> = ratios.iter().map(|r| (1.0 / r - 1.0).abs()).collect();
    errors.sort_by(f64::total_cmp);
    Some(ErrorBand { low_ratio: ratios[cut].min(1.0), high_ratio: ratios[n - 1 - cut].max(1.0), median: errors[n / 2] })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::energy::key::Key;
    use crate::energy::profile::{Entry, Measured};

    fn entry(time_us: f64, energy_mj: f64) -> Entry {
        let around = |mean: f64| Measured { mean, low: mean * 0.99, high: mean * 1.01 };
        Entry {
            run: 1,
            energy_mj: around(energy_mj),
            time_us: around(time_us),
            watts: energy_mj / time_us * 1e3,
            executions: 1000,
            windows: 5,
            passes: 1,
            temperature_c: 40.0,
            sm_clock_mhz: 1980,
            launch_bound: false,
            throttled: String::new(),
            recorded: false,
            paced: None,
        }
    }

    /// A device that obeys the model exactly: 4 TB/s, 3 µs a launch, 150 W, 60 pJ per byte.
    fn synthetic() -> Profile {
        let mut profile = Profile::default();
        for exponent in 12..28 {
            for dtype in ["f32", "bf16"] {
                let key: Key = format!("add({dtype}[{0}], {dtype}[{0}])", 1_usize << exponent).parse().unwrap();
                let work = WorkWithLayout::of_key(&key).unwrap();
                let time = work.bytes / 4e6 + 3.0;
                profile.entries.insert(key, entry(time, 0.150 * time + 60e-9 * work.bytes));
            }
        }
        profile
    }

    #[test]
    fn coefficients_come_back_from_synthetic_data() {
        let estimator = Estimator::fit(&synthetic());
        let fit = &estimator.groups["elementwise"];
        assert!((fit.bandwidth_gb_s / 4000.0 - 1.0).abs() < 0.02, "{}", fit.bandwidth_gb_s);
        assert!((fit.launch_us / 3.0 - 1.0).abs() < 0.02, "{}", fit.launch_us);
        assert!((fit.static_w / 150.0 - 1.0).abs() < 0.05, "{}", fit.static_w);
        assert!(fit.energy_error.median < 0.02, "{:?}", fit.energy_error);
        let key: Key = "mul(f32[3000000], f32[3000000])".parse().unwrap();
        let work = WorkWithLayout::of_key(&key).unwrap();
        let (energy, time) = estimator.estimate(&key, &work);
        let truth = work.bytes / 4e6 + 3.0;
        assert!((time.value / truth - 1.0).abs() < 0.03);
        assert!(energy.low <= energy.value && energy.value <= energy.high && energy.is_known());
    }

    #[test]
    fn nothing_is_known_outside_of_the_range() {
        let estimator = Estimator::fit(&synthetic());
        for text in ["add(f32[4000000000], f32[4000000000])", "add(f32[16], f32[16])", "add(f16[65536], f16[65536])"] {
            let key: Key = text.parse().unwrap();
            let work = WorkWithLayout::of_key(&key).unwrap();
            assert!(!estimator.estimate(&key, &work).0.is_known(), "{text}");
        }
    }

    #[test]
    fn a_group_with_too_few_entries_is_not_fitted() {
        let mut profile = synthetic();
        while profile.entries.len() >= LEAST_ENTRIES {
            profile.entries.pop_first();
        }
        assert!(Estimator::fit(&profile).groups.is_empty());
    }
}
