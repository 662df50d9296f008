//! The estimator: energy and time of what was not measured, from coefficients fitted on what was.
//!
//! Time is the larger one of `flops / rate` and `bytes / bandwidth`, plus a launch. Energy is static power times time,
//! plus joules per FLOP and joules per byte. All are fitted per operator group, rate and joules per FLOP by arithmetic
//! mode. The interval is what leave-one-out cross-validation saw. Outside of the groups, modes and sizes that were
//! measured the answer is "unknown".

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::cost::{Figure, Source};
use super::key::{Key, LayoutClass};
use super::work::WorkWithLayout;
use crate::ops::{Family, Unit};

/// Estimates reach this factor beyond the smallest and the largest work that was measured.
pub const REACH: f64 = 2.0;

/// The share of figures that an estimate's interval is made to contain.
pub const COVERAGE: f64 = 0.9;

/// Coefficients per operator group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Estimator {
    #[serde(deserialize_with = "super::unique::unique")]
    pub groups: BTreeMap<String, GroupFit>,
    pub overall: Overall,
}

/// How well the energies of entries that were left out of the fit are predicted, over all groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overall {
    pub entries: usize,
    /// Median of `|predicted - measured| / measured`.
    pub median: f64,
    /// The share of entries that lie in the interval which the errors of their group's other entries give.
    pub covered: f64,
}

/// The coefficients of one operator group, and how well they predict an entry that they were not fitted on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupFit {
    pub entries: usize,
    pub bandwidth_gb_s: f64,
    pub launch_us: f64,
    pub static_w: f64,
    pub pj_per_byte: f64,
    /// By arithmetic mode, such as `matrix bf16` or `vector f32`.
    #[serde(deserialize_with = "super::unique::unique")]
    pub modes: BTreeMap<String, ModeFit>,
    pub energy_error: ErrorBand,
    pub time_error: ErrorBand,
}

/// The coefficients of one arithmetic mode, and the sizes it was measured at.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModeFit {
    pub entries: usize,
    pub tflop_s: f64,
    pub pj_per_flop: f64,
    pub least_flops: f64,
    pub most_flops: f64,
    pub least_bytes: f64,
    pub most_bytes: f64,
}

/// Leave-one-out errors: ratios of the measured figure to the prediction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorBand {
    pub low_ratio: f64,
    pub high_ratio: f64,
    /// Median of `|predicted - measured| / measured`.
    pub median: f64,
}

impl ErrorBand {
    fn figure(&self, value: f64) -> Figure {
        Figure::new(value, value * self.low_ratio, value * self.high_ratio, Source::Estimated)
    }

    fn is_sane(&self) -> bool {
        let ordered = 0.0 <= self.low_ratio && self.low_ratio <= 1.0 && 1.0 <= self.high_ratio;
        ordered && self.high_ratio.is_finite() && self.median >= 0.0 && self.median.is_finite()
    }
}

impl ModeFit {
    fn covers(&self, work: &WorkWithLayout) -> bool {
        let within = |value: f64, least: f64, most: f64| least / REACH <= value && value <= most * REACH;
        within(work.flops, self.least_flops, self.most_flops) && within(work.bytes, self.least_bytes, self.most_bytes)
    }

    fn is_sane(&self) -> bool {
        let bounds = [self.least_flops, self.most_flops, self.least_bytes, self.most_bytes, self.pj_per_flop];
        self.tflop_s > 0.0 && self.tflop_s.is_finite() && bounds.iter().all(|b| b.is_finite() && *b >= 0.0)
    }
}

impl GroupFit {
    /// Time in µs and energy in mJ; `None` for an arithmetic mode that was not measured.
    pub(super) fn predict(&self, mode: &str, work: &WorkWithLayout) -> Option<(f64, f64)> {
        let fit = self.modes.get(mode)?;
        let compute = work.flops / (fit.tflop_s * 1e6);
        let memory = work.bytes / (self.bandwidth_gb_s * 1e3);
        let time_us = compute.max(memory) + self.launch_us;
        let energy_mj =
            self.static_w * time_us * 1e-3 + (self.pj_per_byte * work.bytes + fit.pj_per_flop * work.flops) * 1e-9;
        Some((time_us, energy_mj))
    }

    fn is_sane(&self) -> bool {
        let coefficients = [self.launch_us, self.static_w, self.pj_per_byte];
        self.bandwidth_gb_s > 0.0
            && self.bandwidth_gb_s.is_finite()
            && coefficients.iter().all(|c| c.is_finite() && *c >= 0.0)
            && self.energy_error.is_sane()
            && self.time_error.is_sane()
            && self.modes.values().all(ModeFit::is_sane)
    }
}

impl Estimator {
    /// Energy in mJ and time in µs with their intervals; unknown outside of what was fitted.
    pub fn estimate(&self, key: &Key, work: &WorkWithLayout) -> (Figure, Figure) {
        let known = group(key).and_then(|group| {
            let fit = self.groups.get(&group)?;
            let mode = mode(key, work)?;
            fit.modes.get(&mode).filter(|m| m.covers(work))?;
            let (time_us, energy_mj) = fit.predict(&mode, work)?;
            Some((fit.energy_error.figure(energy_mj), fit.time_error.figure(time_us)))
        });
        known.unwrap_or((Figure::UNKNOWN, Figure::UNKNOWN))
    }

    /// Energy in mJ and time in µs of moving the bytes of `work`, at the least that any group pays for that.
    pub(super) fn traffic_alone(&self, work: &WorkWithLayout) -> (f64, f64) {
        let least = |of: &dyn Fn(&GroupFit) -> f64| self.groups.values().map(of).reduce(f64::min).unwrap_or(0.0);
        let time = |g: &GroupFit| work.bytes / (g.bandwidth_gb_s * 1e3);
        let energy =
            |g: &GroupFit| (g.static_w * time(g) * 1e-3 + g.pj_per_byte * work.bytes * 1e-9) * g.energy_error.low_ratio;
        (least(&energy), least(&|g| time(g) * g.time_error.low_ratio))
    }

    /// Whether the coefficients of a file can be used.
    pub fn is_sane(&self) -> bool {
        self.groups.values().all(GroupFit::is_sane)
    }
}

/// The group of operators whose coefficients a key shares: its family, or the operator where a family's kernels
/// have little in common. `None` for an operator that is not in the table.
pub fn group(key: &Key) -> Option<String> {
    let def = key.def()?;
    let strided = key.operands.iter().any(|o| match &o.layout {
        LayoutClass::Contiguous => false,
        LayoutClass::Order(_) => true,
        LayoutClass::Strides(_) => !o.layout.is_expanded(&o.ty.shape),
    });
    Some(match def.family {
        Family::Linear => "matrix product".to_owned(),
        Family::Norm => "norm".to_owned(),
        Family::Create => "create".to_owned(),
        Family::View if strided => "copy, strided".to_owned(),
        Family::View => "copy".to_owned(),
        Family::Elementwise if strided => "elementwise, strided".to_owned(),
        Family::Elementwise if is_spread(key) => "elementwise, spread".to_owned(),
        Family::Elementwise => "elementwise".to_owned(),
        Family::Reduce if !matches!(def.name, "argmax" | "argmin" | "cumsum" | "cumprod" | "cross_entropy") => {
            "reduce".to_owned()
        }
        Family::Attention if def.name.ends_with("softmax") => "softmax".to_owned(),
        Family::Attention | Family::Reduce | Family::Index | Family::Conv | Family::Spectral => def.name.to_owned(),
    })
}

/// Whether an operand is smaller than the result and no number: its elements are read over and over.
fn is_spread(key: &Key) -> bool {
    let largest = key.operands.iter().map(|o| o.ty.numel()).max();
    key.operands.iter().any(|o| o.ty.rank() > 0 && Some(o.ty.numel()) != largest)
}

/// The arithmetic mode: unit, element type and math mode. `None` for an operator without operands.
pub fn mode(key: &Key, work: &WorkWithLayout) -> Option<String> {
    let unit = match work.unit {
        Unit::Matrix => "matrix",
        Unit::Vector => "vector",
    };
    let dtype = key.compute_dtype()?;
    Some(match key.math {
        Some(math) => format!("{unit} {dtype} {}", math.name()),
        None => format!("{unit} {dtype}"),
    })
}
