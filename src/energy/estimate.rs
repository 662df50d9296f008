//! The estimator: energy and time of what was not measured.
//!
//! A model of each class of kernels gives the time of its roofline, that is the larger one of arithmetic and memory traffic
//! plus launches, and the power of how busy both are. What measured kernels nearby take more or less than their model says is
//! interpolated between them ("simple kriging"): close to a measured kernel the estimate is its figure, far from all it is
//! the model's. How far predictions of kernels that were left out are off says how sure an estimate is.
//! Where a class was not measured, physical bounds of the device are left.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::context::Context;
use super::cost::Basis;
use super::features::Features;
use super::work::WorkWithLayout;
use crate::ops::KernelClass;

/// Shares of the power limit from which on it holds a kernel back, and does so fully.
const HELD_FROM: f64 = 0.93;
const HELD_FULLY: f64 = 0.97;

/// Half of what 98 kernels that the limit holds back take more energy and less time with pauses than alone: in the median 10 % and
/// 6 to 9 %.
const HELD_ENERGY: f64 = 0.05;
const HELD_TIME: f64 = 0.04;

/// The part of the time of memory traffic that the cache spares by serving it, and the part of the running time of norms whose
/// groups are read by one block of threads each: see `docs/src/energy-log.md`, "What the cache spares".
const CACHE_SPARES_TRAFFIC_TIME: f64 = 0.25;
const CACHE_SPARES_MOMENTS_TIME: f64 = 0.45;

/// What the cache spares for each byte of traffic, in mJ, beyond the power over the time: half of what a byte takes that is read
/// from memory, since about half of the traffic is read.
const CACHE_SPARES_MJ_PER_BYTE: f64 = 4e-8;

/// The most that the cache spares of a kernel's energy.
const MAX_SPARED: f64 = 0.6;

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

/// What the cache spares a kernel in a graph.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Spared {
    pub time_us: f64,
    /// Beyond the power over that time.
    pub traffic_mj: f64,
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
    /// What each of the elements takes that one thread takes one after the other.
    #[serde(default)]
    pub step_us: f64,
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
        let Some((mode, [memory, arithmetic])) = self.busy_us(features) else {
            return (self.launch_us.ln(), self.base_w.ln());
        };
        let time = self.model_us(limits, features);
        let watts = self.base_w + mode.memory_w * memory / time + mode.arithmetic_w * arithmetic / time;
        (time.ln(), watts.clamp(limits.rest_w, limits.limit_w).ln())
    }

    /// The time in µs that the model alone gives a kernel.
    pub(super) fn model_us(&self, limits: &DeviceLimits, features: &Features) -> f64 {
        let Some((_, [memory, arithmetic])) = self.busy_us(features) else { return self.launch_us };
        let further = limits.launch_us * f64::from(features.work.launches.saturating_sub(1));
        memory.max(arithmetic).max(features.steps * self.step_us) + self.launch_us + further
    }

    /// The arithmetic mode of a kernel, and how long memory traffic and arithmetic keep the device busy, in µs. A mode that was
    /// not measured is taken for the best one that was.
    fn busy_us(&self, features: &Features) -> Option<(&ModeFit, [f64; 2])> {
        let best = || self.modes.values().max_by(|a, b| a.tflop_s.total_cmp(&b.tflop_s));
        let mode = self.modes.get(&features.mode.name()).or_else(best)?;
        let memory = features.work.bytes / (self.bandwidth_gb_s * 1e3);
        Some((mode, [memory, features.work.flops / (mode.tflop_s * 1e6)]))
    }

    /// What memory traffic and arithmetic of a kernel draw beyond the power while it runs, in mJ.
    pub(super) fn dynamic_mj(&self, features: &Features) -> [f64; 2] {
        self.busy_us(features).map_or([0.0; 2], |(mode, [memory, arithmetic])| {
            [mode.memory_w * memory * 1e-3, mode.arithmetic_w * arithmetic * 1e-3]
        })
    }

    fn is_sane(&self) -> bool {
        let positive = [self.launch_us, self.bandwidth_gb_s, self.base_w];
        positive.iter().all(|c| c.is_finite() && *c > 0.0)
            && (self.step_us.is_finite() && self.step_us >= 0.0)
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

    /// Time in µs and energy in mJ of a kernel in its context, from those of one that runs alone, and what the cache spares it.
    pub(super) fn in_context(
        &self,
        class: KernelClass,
        work: &WorkWithLayout,
        context: Context,
        alone: (f64, f64),
    ) -> ((f64, f64), Spared) {
        match context {
            Context::Alone => (alone, Spared::default()),
            Context::InGraph { .. } => {
                let (time_us, energy_mj) = self.between_others(alone);
                let spared = self.spared(class, work, context.cached_share(), time_us);
                let base_w = self.classes.get(&class).map_or(self.device.rest_w, |fit| fit.base_w);
                let mj = (spared.traffic_mj + base_w * spared.time_us * 1e-3).min(MAX_SPARED * energy_mj);
                ((time_us - spared.time_us, energy_mj - mj), spared)
            }
        }
    }

    /// What the cache spares a kernel by serving a `share` of its traffic.
    fn spared(&self, class: KernelClass, work: &WorkWithLayout, share: f64, time_us: f64) -> Spared {
        let running = (time_us - self.device.launch_us).max(0.0);
        let cached = share * work.outer_bytes;
        let time_us = match class {
            KernelClass::Moments => CACHE_SPARES_MOMENTS_TIME * share * running,
            _ => CACHE_SPARES_TRAFFIC_TIME * (cached / (self.device.memory_gb_s * 1e3)).min(share * running),
        };
        Spared { time_us, traffic_mj: CACHE_SPARES_MJ_PER_BYTE * cached }
    }

    /// What the power limit holds back alone runs faster and takes more energy between operators that leave it power.
    fn between_others(&self, (time_us, energy_mj): (f64, f64)) -> (f64, f64) {
        let watts = energy_mj / time_us * 1e3 / self.device.limit_w;
        let held = ((watts - HELD_FROM) / (HELD_FULLY - HELD_FROM)).clamp(0.0, 1.0);
        (time_us * (1.0 - held * HELD_TIME), energy_mj * (1.0 + held * HELD_ENERGY))
    }

    /// What physical bounds say: part of the device's bandwidth and rate, power halfway between rest and limit.
    pub(super) fn bounds(&self, features: &Features) -> Estimate {
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
