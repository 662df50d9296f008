//! Fits the estimator on a profile.

use std::collections::{BTreeMap, BTreeSet};

use super::coverage::{COVERAGE, COVERAGE_SD};
use super::estimate::{BOUNDS_SD, ClassFit, DeviceLimits, ErrorSpread, Estimator, ModeFit, Overall};
use super::features::Features;
use super::neighbourhood::{Neighbour, energy_of, interpolate};
use super::profile::Profile;
use crate::ops::KernelClass;

/// FLOPs per µs where no kernel of a class does arithmetic: any rate tells the same of them.
const NO_ARITHMETIC: f64 = 1e6;

/// Relative errors below this count by their squares, those above it by their size.
const SMALL: f64 = 0.05;

/// Rounds of least squares with weights from the round before.
const REWEIGHTED: usize = 6;

/// Streaming kernels that run this long show the bandwidth of the memory.
const LONG_US: f64 = 50.0;

/// Fewest entries that a class is fitted on.
const MIN_ENTRIES: usize = 4;

/// Classes of more entries are not fitted anew for each one that is left out: one of so many does not move the fit.
const MANY_ENTRIES: usize = 40;

/// One measured entry as the fit sees it.
#[derive(Clone, Debug)]
struct Point {
    features: Features,
    mode: String,
    time_us: f64,
    energy_mj: f64,
}

impl Estimator {
    /// Fits every class that the profile has enough entries of. Deterministic.
    pub fn fit(profile: &Profile) -> Estimator {
        let mut classes: BTreeMap<KernelClass, Vec<Point>> = BTreeMap::new();
        for (key, entry) in profile.entries.iter().filter(|(_, e)| !e.launch_bound) {
            let Some(features) = Features::of_key(key) else { continue };
            let mode = features.mode.name();
            let point = Point { features, mode, time_us: entry.time_us.mean, energy_mj: entry.energy_mj.mean };
            classes.entry(point.features.class).or_default().push(point);
        }
        let Some(device) = limits(profile, classes.values().flatten()) else { return Estimator::default() };
        let mut estimator = Estimator { device, ..Estimator::default() };
        let (mut errors, mut covered) = (Vec::new(), 0);
        for (class, points) in classes {
            let Some(mut fit) = class_fit(&points, &estimator.device).filter(|_| points.len() >= MIN_ENTRIES) else {
                continue;
            };
            let left_out = leave_one_out(&points, &fit, &estimator.device);
            (fit.energy, fit.time) = (spread(&left_out, |l| l.energy), spread(&left_out, |l| l.time));
            let sd = fit.energy.sd;
            covered += left_out
                .iter()
                .filter(|l| l.energy.abs() <= COVERAGE_SD * (sd * l.variance.sqrt()).min(BOUNDS_SD))
                .count();
            errors.extend(left_out.iter().map(|l| l.energy.exp_m1().abs()));
            estimator.classes.insert(class, fit);
        }
        errors.sort_by(f64::total_cmp);
        estimator.overall = Overall {
            entries: errors.len(),
            median: errors.get(errors.len() / 2).copied().unwrap_or(0.0),
            covered: covered as f64 / errors.len().max(1) as f64,
        };
        estimator
    }
}

/// What no kernel exceeds; `None` without any.
fn limits<'p>(profile: &Profile, points: impl Iterator<Item = &'p Point> + Clone) -> Option<DeviceLimits> {
    let mut limits = DeviceLimits { launch_us: f64::INFINITY, ..DeviceLimits::default() };
    let mut lowest_w = f64::INFINITY;
    let streaming = points
        .clone()
        .filter(|p| p.features.class == KernelClass::Streaming && p.time_us >= LONG_US)
        .map(|p| p.features.work.bytes / p.time_us * 1e-3);
    for p in points.clone() {
        let watts = p.energy_mj / p.time_us * 1e3;
        lowest_w = lowest_w.min(watts);
        limits.limit_w = limits.limit_w.max(watts);
        limits.launch_us = limits.launch_us.min(p.time_us);
        // What one kernel of several writes for the next may never reach memory.
        if p.features.work.launches == 1 {
            limits.bandwidth_gb_s = limits.bandwidth_gb_s.max(p.features.work.bytes / p.time_us * 1e-3);
        }
        if p.features.work.flops > 0.0 {
            let rate = limits.tflop_s.entry(p.mode.clone()).or_insert(0.0);
            *rate = rate.max(p.features.work.flops / p.time_us * 1e-6);
        }
    }
    let mut memory: Vec<f64> = streaming.collect();
    memory.sort_by(f64::total_cmp);
    limits.memory_gb_s = memory.get(memory.len() * 9 / 10).copied().unwrap_or(limits.bandwidth_gb_s);
    let rest_w = profile.runs.iter().map(|r| r.idle_w).filter(|w| *w > 0.0).fold(lowest_w, f64::min);
    (limits.limit_w > 0.0 && limits.bandwidth_gb_s > 0.0).then_some(DeviceLimits { rest_w, ..limits })
}

/// The logarithms of predicted over measured for an entry that was left out, and the variance that its place has.
struct LeftOut {
    time: f64,
    energy: f64,
    variance: f64,
}

fn neighbour(point: &Point, fit: &ClassFit, device: &DeviceLimits) -> Neighbour {
    let (time, watts) = fit.predict(device, &point.features);
    Neighbour {
        features: point.features.clone(),
        time: point.time_us.ln() - time,
        energy: point.energy_mj.ln() - energy_of(time, watts),
    }
}

fn leave_one_out(points: &[Point], fit: &ClassFit, device: &DeviceLimits) -> Vec<LeftOut> {
    let all: Vec<Neighbour> = points.iter().map(|p| neighbour(p, fit, device)).collect();
    let one = |i: usize| {
        let own;
        let (neighbours, point) = if points.len() > MANY_ENTRIES {
            (&all, all[i].clone())
        } else {
            let rest: Vec<Point> = points.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, p)| p.clone()).collect();
            let fit = class_fit(&rest, device)?;
            own = points.iter().map(|p| neighbour(p, &fit, device)).collect();
            let point = neighbour(&points[i], &fit, device);
            (&own, point)
        };
        let here = interpolate(&point.features, neighbours, |j, _| j == i)?;
        Some(LeftOut { time: here.time - point.time, energy: here.energy - point.energy, variance: here.variance })
    };
    (0..points.len()).filter_map(one).collect()
}

/// The standard deviation that makes intervals hold [`COVERAGE`] of the entries that were left out.
fn spread(left_out: &[LeftOut], error: fn(&LeftOut) -> f64) -> ErrorSpread {
    let mut scaled: Vec<f64> = left_out.iter().map(|l| error(l).abs() / l.variance.sqrt()).collect();
    let mut relative: Vec<f64> = left_out.iter().map(|l| error(l).exp_m1().abs()).collect();
    scaled.sort_by(f64::total_cmp);
    relative.sort_by(f64::total_cmp);
    // A new figure is one more draw.
    let rank = ((scaled.len() + 1) as f64 * COVERAGE).ceil() as usize;
    let at = scaled.get(rank.saturating_sub(1)).or(scaled.last());
    ErrorSpread {
        sd: at.copied().unwrap_or(0.0) / COVERAGE_SD,
        median: relative.get(relative.len() / 2).copied().unwrap_or(0.0),
    }
}

/// The model of a class, its errors not yet judged.
fn class_fit(points: &[Point], device: &DeviceLimits) -> Option<ClassFit> {
    let names: Vec<&str> = points.iter().map(|p| p.mode.as_str()).collect::<BTreeSet<_>>().into_iter().collect();
    let index: Vec<usize> = points.iter().filter_map(|p| names.binary_search(&p.mode.as_str()).ok()).collect();
    if points.is_empty() || index.len() != points.len() {
        return None;
    }
    let walks = points.iter().any(|p| p.features.steps > 0.0);
    let times = fit_times(points, &index, names.len(), device.launch_us);
    let watts = fit_watts(points, &times, &index, names.len());
    let modes = names.iter().enumerate().map(|(m, name)| {
        let fit = ModeFit {
            entries: index.iter().filter(|i| **i == m).count(),
            tflop_s: times.rates[m].exp() * 1e-6,
            memory_w: watts[1 + 2 * m],
            arithmetic_w: watts[2 + 2 * m],
        };
        ((*name).to_owned(), fit)
    });
    Some(ClassFit {
        entries: points.len(),
        launch_us: times.launch.exp(),
        bandwidth_gb_s: times.bandwidth.exp() * 1e-3,
        step_us: if walks { times.step.exp() } else { 0.0 },
        base_w: watts[0].max(device.rest_w),
        modes: modes.collect(),
        energy: ErrorSpread::default(),
        time: ErrorSpread::default(),
    })
}

/// Logarithms of: bytes per µs, µs per launch, µs per step of a thread, FLOPs per µs by mode.
#[derive(Clone)]
struct Times {
    bandwidth: f64,
    launch: f64,
    step: f64,
    rates: Vec<f64>,
    /// What every launch after the first one takes, in µs; not fitted.
    further_us: f64,
}

impl Times {
    fn parameter(&mut self, i: usize) -> &mut f64 {
        match i {
            0 => &mut self.bandwidth,
            1 => &mut self.launch,
            2 => &mut self.step,
            _ => &mut self.rates[i - 3],
        }
    }

    /// The time that each point should take.
    fn predict(&self, points: &[Point], index: &[usize]) -> Vec<f64> {
        let [bandwidth, launch, step] = [self.bandwidth, self.launch, self.step].map(f64::exp);
        let rates: Vec<f64> = self.rates.iter().map(|r| r.exp()).collect();
        let time = |(p, &m): (&Point, &usize)| {
            let further = self.further_us * f64::from(p.features.work.launches.saturating_sub(1));
            let work = &p.features.work;
            (work.flops / rates[m]).max(work.bytes / bandwidth).max(p.features.steps * step) + launch + further
        };
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
fn fit_times(points: &[Point], index: &[usize], modes: usize, further_us: f64) -> Times {
    let (hidden, hidden_loss) = descend(points, index, modes, (8.0, further_us));
    let (shown, shown_loss) = descend(points, index, modes, (1.0, further_us));
    if shown_loss < 0.9 * hidden_loss { shown } else { hidden }
}

/// Descends parameter by parameter with shrinking steps, from the ceilings that the points show; `headroom` is how far
/// above the best rate seen the arithmetic starts.
fn descend(points: &[Point], index: &[usize], modes: usize, (headroom, further_us): (f64, f64)) -> (Times, f64) {
    let best = |f: &dyn Fn(&Point) -> f64| points.iter().map(f).fold(1e-12, f64::max).ln();
    let rate = |m: usize| {
        let fastest = |own: &mut dyn Iterator<Item = &Point>| {
            own.map(|p| p.features.work.flops / p.time_us).filter(|&rate| rate > 0.0).reduce(f64::max)
        };
        let own = fastest(&mut points.iter().zip(index).filter(|(_, i)| **i == m).map(|(p, _)| p));
        // A mode of which all kernels only move elements says nothing of arithmetic.
        let rate = own.or_else(|| fastest(&mut points.iter())).unwrap_or(NO_ARITHMETIC);
        (headroom * rate).ln()
    };
    let mut times = Times {
        bandwidth: best(&|p| p.features.work.bytes / p.time_us),
        launch: points.iter().map(|p| p.time_us).fold(f64::INFINITY, f64::min).max(1e-3).ln(),
        step: -best(&|p| p.features.steps / p.time_us),
        rates: (0..modes).map(rate).collect(),
        further_us,
    };
    let mut loss = times.loss(points, index);
    let mut step = 1.0;
    while step > 1e-3 {
        let before = loss;
        for i in 0..3 + modes {
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

/// Least sum of relative errors of the power with coefficients of 0 or more: watts at rest, then for each mode those of full
/// bandwidth and of full rate. Both are as busy as the predicted times say, since those are what an estimate has.
fn fit_watts(points: &[Point], times: &Times, index: &[usize], modes: usize) -> Vec<f64> {
    let predicted = times.predict(points, index);
    let bandwidth = times.bandwidth.exp();
    // Rows are divided by the measured power, so that every right side is 1.
    let row = |((p, &m), time): ((&Point, &usize), &f64)| {
        let watts = p.energy_mj / p.time_us * 1e3;
        let mut row = vec![0.0; 1 + 2 * modes];
        row[0] = 1.0 / watts;
        row[1 + 2 * m] = p.features.work.bytes / bandwidth / time / watts;
        row[2 + 2 * m] = p.features.work.flops / times.rates[m].exp() / time / watts;
        row
    };
    let rows: Vec<Vec<f64>> = points.iter().zip(index).zip(&predicted).map(row).collect();
    let mut solution = vec![0.0; 1 + 2 * modes];
    let mut weights = vec![1.0; rows.len()];
    for _ in 0..REWEIGHTED {
        let rest = least_squares(&rows, &weights, &mut solution);
        // Least squares of weights 1 / error are least sizes.
        weights = rest.iter().map(|e| 1.0 / e.hypot(SMALL)).collect();
    }
    solution
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

#[cfg(test)]
mod tests {
    use super::super::cost::Basis;
    use super::super::measured::Measured;
    use super::super::neighbourhood::Neighbourhood;
    use super::*;
    use crate::energy::estimate::Estimate;
    use crate::energy::key::KernelKey;
    use crate::energy::profile::Entry;
    use crate::energy::work::WorkWithLayout;

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
                let key: KernelKey = format!("add({dtype}[{0}], {dtype}[{0}])", 1_usize << exponent).parse().unwrap();
                let work = WorkWithLayout::of_key(&key).unwrap();
                let time = work.bytes / 4e6 + 3.0;
                profile.entries.insert(key, entry(time, 0.150 * time + 60e-9 * work.bytes));
            }
        }
        profile
    }

    fn estimate(profile: &Profile, key: &str) -> Estimate {
        let estimator = Estimator::fit(profile);
        let features = Features::of_key(&key.parse().unwrap()).unwrap();
        Neighbourhood::of(profile, &estimator).estimate(&estimator, &features)
    }

    #[test]
    fn coefficients_come_back_from_synthetic_data() {
        let estimator = Estimator::fit(&synthetic());
        let fit = &estimator.classes[&KernelClass::Streaming];
        assert!((fit.bandwidth_gb_s / 4000.0 - 1.0).abs() < 0.02, "{}", fit.bandwidth_gb_s);
        assert!((fit.launch_us / 3.0 - 1.0).abs() < 0.02, "{}", fit.launch_us);
        assert!(fit.energy.median < 0.02, "{:?}", fit.energy);
    }

    #[test]
    fn between_measured_sizes_an_estimate_is_close() {
        let e = estimate(&synthetic(), "add(f32[3000000], f32[3000000])");
        let truth = 36e6 / 4e6 + 3.0;
        assert_eq!(e.basis, Basis::Interpolated);
        assert!((e.time_us / truth - 1.0).abs() < 0.03, "{e:?} {truth}");
        assert!((e.energy_mj / (0.150 * truth + 60e-9 * 36e6) - 1.0).abs() < 0.03, "{e:?}");
    }

    #[test]
    fn everything_has_a_price_and_the_farther_it_lies_the_less_sure_it_is() {
        let profile = synthetic();
        let keys = [
            ("add(f32[3000000], f32[3000000])", Basis::Interpolated),
            ("add(f16[3000000], f16[3000000])", Basis::Class),
            ("add(f16[4000000000], f16[4000000000])", Basis::Class),
            ("matmul(bf16[512, 512], bf16[512, 512])", Basis::Bounds),
        ];
        let estimates = keys.map(|(key, basis)| (estimate(&profile, key), basis));
        assert!(estimates.iter().all(|(e, basis)| e.basis == *basis), "{estimates:?}");
        assert!(estimates.is_sorted_by(|(a, _), (b, _)| a.energy_sd < b.energy_sd), "{estimates:?}");
        for (e, _) in estimates {
            let watts = e.energy_mj / e.time_us * 1e3;
            assert!(watts > 100.0 && watts < 500.0, "{e:?}");
        }
    }

    /// Sums of integers took 10^11 s each, since the only integers that were measured had been moved.
    #[test]
    fn a_type_that_was_only_moved_has_the_rate_of_others() {
        let mut profile = synthetic();
        let key: KernelKey = "clone(i64[1000000])".parse().unwrap();
        profile.entries.insert(key, entry(7.0, 2.0));
        let e = estimate(&profile, "add(i64[1000000], i64[1000000])");
        assert!(e.time_us < 30.0, "{e:?}");
    }

    /// Matrix units read 16 bytes at once: rows of 2002 bytes keep them waiting.
    #[test]
    fn rows_of_odd_lengths_are_kernels_of_their_own() {
        let mode = |key: &str| Features::of_key(&key.parse().unwrap()).unwrap().mode.name();
        assert_eq!(mode("matmul(bf16[64, 1000], bf16[1000, 512])"), "matrix bf16");
        assert_eq!(mode("matmul(bf16[64, 1001], bf16[1001, 512])"), "matrix bf16 ragged");
        assert_eq!(mode("matmul(bf16[1001, 1000], bf16[1000, 512])"), "matrix bf16");
    }

    #[test]
    fn a_class_with_too_few_entries_is_not_fitted() {
        let mut profile = synthetic();
        while profile.entries.len() >= MIN_ENTRIES {
            profile.entries.pop_first();
        }
        assert!(Estimator::fit(&profile).classes.is_empty());
    }
}
