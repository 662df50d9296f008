//! The estimator: energy and time of what was not measured.
//!
//! A model of each class of kernels gives the time of its roofline, that is the larger one of arithmetic and memory traffic
//! plus a launch, and the power of how busy both are. What measured kernels nearby take more or less than their model says is
//! interpolated between them ("simple kriging"): close to a measured kernel the estimate is its figure, far from all it is
//! the model's. How far predictions of kernels that were left out are off says how sure an estimate is.
//! Where a class was not measured, physical bounds of the device are left.

use std::collections::BTreeMap;

use nalgebra::{DMatrix, DVector};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::context::Context;
use super::features::Features;
use super::profile::Profile;
use super::work::WorkWithLayout;
use crate::ops::KernelClass;

/// The share of figures that an interval is made to contain.
pub(crate) const COVERAGE: f64 = 0.9;

/// Standard deviations from the middle of a normal distribution to the ends of the interval that holds [`COVERAGE`] of it.
pub(super) const COVERAGE_SD: f64 = 1.645;

/// Measured kernels that an estimate is interpolated between.
const NEIGHBOURS: usize = 12;

/// What two measurements of one kernel differ by, as a share of how far kernels of one class scatter.
const NUGGET: f64 = 0.05;

/// Shares of the power limit from which on it holds a kernel back, and does so fully.
const HELD_FROM: f64 = 0.93;
const HELD_FULLY: f64 = 0.97;

/// Half of what 98 kernels that the limit holds back take more energy and less time with pauses than alone: in the median 10 % and
/// 6 to 9 %.
const HELD_ENERGY: f64 = 0.05;
const HELD_TIME: f64 = 0.04;

/// The share of the device's memory bandwidth from which on memory traffic takes part of a kernel's time, all of it at 1.
const MEMORY_BOUND: f64 = 0.55;

/// What part of the time of memory traffic, and of the energy beyond that at rest, a cache saves that serves all of it.
const CACHE_SAVES_TIME: f64 = 0.6;
const CACHE_SAVES_ENERGY: f64 = 0.6;

/// The standard deviation, in logarithms, of a figure that only physical bounds of the device tell. No estimate has a larger one: of
/// a class with few entries, one that is far off would make it so.
pub(super) const BOUNDS_SD: f64 = 0.7;

/// Shares of the best rates seen that a kernel of an unknown class is taken to reach.
const BOUNDS_RATE: f64 = 0.3;

/// What the estimator knows of a device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Estimator {
    pub device: DeviceLimits,
    pub classes: BTreeMap<KernelClass, ClassFit>,
    pub overall: Overall,
}

/// What no kernel of the profile exceeds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceLimits {
    /// Power with nothing running, and the most that was drawn.
    pub rest_w: f64,
    pub limit_w: f64,
    pub launch_us: f64,
    pub bandwidth_gb_s: f64,
    /// What streaming kernels reach that run long.
    pub memory_gb_s: f64,
    /// By arithmetic mode, such as `matrix bf16` or `vector f32`.
    #[serde(deserialize_with = "super::unique::unique")]
    pub tflop_s: BTreeMap<String, f64>,
}

/// How well the energies of entries that were left out are predicted, over all classes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overall {
    pub entries: usize,
    /// Median of `|predicted - measured| / measured`.
    pub median: f64,
    /// The share of entries that lie in their interval.
    pub covered: f64,
}

/// The model of one class of kernels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassFit {
    pub entries: usize,
    pub launch_us: f64,
    pub bandwidth_gb_s: f64,
    /// Power while a kernel of this class runs and keeps neither memory nor arithmetic busy.
    pub base_w: f64,
    /// By arithmetic mode, such as `matrix bf16` or `vector f32`.
    #[serde(deserialize_with = "super::unique::unique")]
    pub modes: BTreeMap<String, ModeFit>,
    pub energy: ErrorSpread,
    pub time: ErrorSpread,
}

/// The model of one arithmetic mode of a class.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModeFit {
    pub entries: usize,
    pub tflop_s: f64,
    /// Watts that full memory bandwidth and the full rate of arithmetic draw more.
    pub memory_w: f64,
    pub arithmetic_w: f64,
}

/// How predictions of entries that were left out are off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorSpread {
    /// Standard deviation of the logarithm of measured over predicted, far from all other entries.
    pub sd: f64,
    /// Median of `|predicted - measured| / measured`.
    pub median: f64,
}

/// Where a figure that was not measured comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// The same kernel was measured, at this size or another, with this result.
    Measured,
    /// Between entries of the same kernel.
    Interpolated,
    /// From the model of the kernel's class and its nearest members.
    Class,
    /// From what the device can do at most: no kernel of the class was measured.
    Bounds,
}

/// Energy and time of one execution. Errors are standard deviations of natural logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Estimate {
    pub energy_mj: f64,
    pub time_us: f64,
    pub energy_sd: f64,
    pub time_sd: f64,
    pub basis: Basis,
}

impl ClassFit {
    /// The logarithms of the time in µs and of the power in W that the model alone gives.
    pub(super) fn predict(&self, limits: &DeviceLimits, features: &Features) -> (f64, f64) {
        let work = &features.work;
        // A mode that was not measured is taken for the best one that was.
        let own = self.modes.get(&features.mode.name());
        let best = || self.modes.values().max_by(|a, b| a.tflop_s.total_cmp(&b.tflop_s));
        let Some(mode) = own.or_else(best) else { return (self.launch_us.ln(), self.base_w.ln()) };
        let memory = work.bytes / (self.bandwidth_gb_s * 1e3);
        let arithmetic = work.flops / (mode.tflop_s * 1e6);
        let time = memory.max(arithmetic) + self.launch_us;
        let watts = self.base_w + mode.memory_w * memory / time + mode.arithmetic_w * arithmetic / time;
        (time.ln(), watts.clamp(limits.rest_w, limits.limit_w).ln())
    }

    fn is_sane(&self) -> bool {
        let positive = [self.launch_us, self.bandwidth_gb_s, self.base_w];
        positive.iter().all(|c| c.is_finite() && *c > 0.0)
            && [self.energy, self.time].iter().all(|e| e.sd.is_finite() && e.sd >= 0.0)
            && self.modes.values().all(|m| {
                let watts = [m.memory_w, m.arithmetic_w];
                m.tflop_s > 0.0 && m.tflop_s.is_finite() && watts.iter().all(|w| w.is_finite() && *w >= 0.0)
            })
    }
}

impl Estimator {
    /// Whether the coefficients of a file can be used.
    pub fn is_sane(&self) -> bool {
        let d = &self.device;
        let rates = [d.launch_us, d.bandwidth_gb_s, d.memory_gb_s].into_iter().chain(d.tflop_s.values().copied());
        let device = d.rest_w > 0.0 && d.rest_w <= d.limit_w && d.limit_w.is_finite();
        let rates = rates.into_iter().all(|r| r.is_finite() && r > 0.0);
        (self.classes.is_empty() || device && rates) && self.classes.values().all(ClassFit::is_sane)
    }

    /// Time in µs and energy in mJ of a kernel in its context, from those of one that runs alone.
    pub(super) fn in_context(&self, work: &WorkWithLayout, context: Context, alone: (f64, f64)) -> (f64, f64) {
        match context {
            Context::Alone => alone,
            Context::InGraph { .. } => self.with_cache(work, context.cached_share(), self.between_others(alone)),
        }
    }

    /// What the power limit holds back alone runs faster and takes more energy between operators that leave it power.
    fn between_others(&self, (time_us, energy_mj): (f64, f64)) -> (f64, f64) {
        let watts = energy_mj / time_us * 1e3 / self.device.limit_w;
        let held = ((watts - HELD_FROM) / (HELD_FULLY - HELD_FROM)).clamp(0.0, 1.0);
        (time_us * (1.0 - held * HELD_TIME), energy_mj * (1.0 + held * HELD_ENERGY))
    }

    /// What the cache serves is faster as far as memory traffic is what takes the time.
    fn with_cache(&self, work: &WorkWithLayout, share: f64, (time_us, energy_mj): (f64, f64)) -> (f64, f64) {
        let running = time_us - self.device.launch_us;
        let memory = work.bytes / (self.device.memory_gb_s * 1e3);
        if share <= 0.0 || running <= 0.0 {
            return (time_us, energy_mj);
        }
        let bound = ((memory / running - MEMORY_BOUND) / (1.0 - MEMORY_BOUND)).clamp(0.0, 1.0);
        let served = share * bound;
        let faster = time_us - running * served * CACHE_SAVES_TIME;
        let rest_mj = (self.device.rest_w * time_us * 1e-3).min(energy_mj);
        (faster, rest_mj * faster / time_us + (energy_mj - rest_mj) * (1.0 - served * CACHE_SAVES_ENERGY))
    }

    /// What physical bounds say: part of the device's bandwidth and rate, power halfway between rest and limit.
    fn bounds(&self, features: &Features) -> Estimate {
        let d = &self.device;
        let work = &features.work;
        let rate = d.tflop_s.get(&features.mode.name()).copied();
        let rate = rate.or_else(|| d.tflop_s.values().copied().reduce(f64::min)).unwrap_or(f64::INFINITY);
        let slow = BOUNDS_RATE;
        let time_us = d.launch_us * f64::from(work.launches)
            + (work.bytes / (d.bandwidth_gb_s * slow * 1e3)).max(work.flops / (rate * slow * 1e6));
        let energy_mj = (d.rest_w * d.limit_w).sqrt() * time_us * 1e-3;
        Estimate { energy_mj, time_us, energy_sd: BOUNDS_SD, time_sd: BOUNDS_SD, basis: Basis::Bounds }
    }
}

/// A measured kernel, and what it takes more than its model says: logarithms of ratios.
#[derive(Clone, Debug)]
pub(super) struct Neighbour {
    pub features: Features,
    pub time: f64,
    pub energy: f64,
}

/// What is interpolated at a place: corrections of both logarithms, and what is left of the variance far from everything.
pub(super) struct Interpolated {
    pub time: f64,
    pub energy: f64,
    pub variance: f64,
    /// Whether the nearest neighbour is the same kernel at another size.
    pub is_same_kernel: bool,
}

/// How alike the errors of two kernels are: 1 for one place, 0 far apart.
pub(super) fn correlation(a: &Features, b: &Features) -> f64 {
    (-a.distance(b)).exp()
}

/// Simple kriging (Cressie, Statistics for Spatial Data, 1993, section 3.2) between the nearest of `neighbours`, with an
/// exponential covariance; `except` one of them.
pub(super) fn interpolate(
    features: &Features,
    neighbours: &[Neighbour],
    except: Option<usize>,
) -> Option<Interpolated> {
    let mut near: Vec<(f64, usize)> = neighbours
        .iter()
        .enumerate()
        .filter(|(i, _)| Some(*i) != except)
        .map(|(i, n)| (features.distance(&n.features), i))
        .collect();
    if near.len() > NEIGHBOURS {
        near.select_nth_unstable_by(NEIGHBOURS - 1, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        near.truncate(NEIGHBOURS);
    }
    near.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let nearest = neighbours.get(near.first()?.1)?;
    let all: Vec<&Neighbour> = near.iter().filter_map(|(_, i)| neighbours.get(*i)).collect();
    let n = all.len();
    let covariance =
        DMatrix::from_fn(
            n,
            n,
            |i, j| {
                if i == j { 1.0 + NUGGET } else { correlation(&all[i].features, &all[j].features) }
            },
        );
    let here = DVector::from_iterator(n, near.iter().map(|(d, _)| (-d).exp()));
    let weights = covariance.cholesky()?.solve(&here);
    let sum = |of: fn(&Neighbour) -> f64| all.iter().zip(weights.iter()).map(|(n, w)| w * of(n)).sum::<f64>();
    Some(Interpolated {
        time: sum(|n| n.time),
        energy: sum(|n| n.energy),
        variance: (1.0 + NUGGET - here.dot(&weights)).max(NUGGET),
        is_same_kernel: features.is_same_kernel(&nearest.features),
    })
}

/// The measured kernels of a profile by class.
#[derive(Debug, Default)]
pub(super) struct Neighbourhood {
    classes: FxHashMap<KernelClass, Vec<Neighbour>>,
}

impl Neighbourhood {
    pub(super) fn of(profile: &Profile, estimator: &Estimator) -> Neighbourhood {
        let mut classes: FxHashMap<KernelClass, Vec<Neighbour>> = FxHashMap::default();
        for (key, entry) in &profile.entries {
            // What holds waiting for the host says nothing about kernels.
            let Some(features) = Features::of_key(key).filter(|_| !entry.launch_bound) else { continue };
            let Some(fit) = estimator.classes.get(&features.class) else { continue };
            let (time, watts) = fit.predict(&estimator.device, &features);
            let (time_us, energy_mj) = (entry.time_us.mean.ln(), entry.energy_mj.mean.ln());
            let neighbour = Neighbour { time: time_us - time, energy: energy_mj - energy_of(time, watts), features };
            classes.entry(neighbour.features.class).or_default().push(neighbour);
        }
        Neighbourhood { classes }
    }

    /// The best estimate that there is of a kernel.
    pub(super) fn estimate(&self, estimator: &Estimator, features: &Features) -> Estimate {
        let near = self.classes.get(&features.class);
        let (Some(fit), Some(near)) = (estimator.classes.get(&features.class), near) else {
            return estimator.bounds(features);
        };
        let Some(here) = interpolate(features, near, None) else { return estimator.bounds(features) };
        let (time, watts) = fit.predict(&estimator.device, features);
        let time_us = (time + here.time).exp();
        let energy_mj = (energy_of(time, watts) + here.energy).exp();
        // Nothing draws less than the device at rest or more than its limit.
        let least = estimator.device.rest_w * time_us * 1e-3;
        let most = estimator.device.limit_w * time_us * 1e-3;
        Estimate {
            energy_mj: energy_mj.clamp(least, most.max(least)),
            time_us,
            energy_sd: (fit.energy.sd * here.variance.sqrt()).min(BOUNDS_SD),
            time_sd: (fit.time.sd * here.variance.sqrt()).min(BOUNDS_SD),
            basis: if here.is_same_kernel { Basis::Interpolated } else { Basis::Class },
        }
    }
}

/// The logarithm of the energy in mJ from those of the time in µs and of the power in W.
pub(super) fn energy_of(time: f64, watts: f64) -> f64 {
    time + watts - 1e3_f64.ln()
}
