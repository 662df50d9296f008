//! Figures of a report: energy with its interval, prices, and what a price leaves out.

use serde::Serialize;

use crate::energy;
use crate::energy::Source;

/// An operator without a price.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LeftOut {
    /// The name of the operator.
    pub op: String,
    /// How often it runs.
    pub count: i64,
    /// Bytes of its operands and results, over all runs.
    pub bytes: f64,
}

impl LeftOut {
    /// All of a bill.
    pub fn of(bill: &energy::Bill) -> Vec<LeftOut> {
        bill.gaps().map(|(op, count, bytes)| LeftOut { op: op.to_owned(), count, bytes }).collect()
    }
}

/// A value with its interval and where it comes from. Where it is not known, value and high end are null, and the low end is what
/// all that is known adds up to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// The best guess, if there is any.
    pub value: Option<f64>,
    /// The lower end of the interval.
    pub low: Option<f64>,
    /// The upper end of the interval.
    pub high: Option<f64>,
    /// Where it comes from.
    pub source: Source,
}

impl From<energy::Figure> for Figure {
    fn from(f: energy::Figure) -> Self {
        let known = |v: f64| f.is_known().then_some(v);
        let low = (f.is_known() || f.low > 0.0).then_some(f.low);
        Figure { value: known(f.value), low, high: known(f.high), source: f.source }
    }
}

/// What one side of a region costs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// Energy of one execution, in millijoules.
    pub energy_mj: Option<f64>,
    /// The interval of `energy_mj`.
    pub energy_range_mj: Option<[f64; 2]>,
    /// Where the energy comes from.
    pub energy_source: Source,
    /// Time on the GPU, in microseconds.
    pub time_us: Option<f64>,
    /// Kernels started.
    pub launches: u32,
    /// Arithmetic operations.
    pub flops: f64,
    /// Bytes read and written.
    pub bytes: f64,
}

impl From<&energy::Cost> for Cost {
    fn from(c: &energy::Cost) -> Self {
        let e = Figure::from(c.energy_mj);
        Cost {
            energy_mj: e.value,
            energy_range_mj: e.low.zip(e.high).map(|(low, high)| [low, high]),
            energy_source: e.source,
            time_us: Figure::from(c.time_us).value,
            launches: c.launches,
            flops: c.flops,
            bytes: c.bytes,
        }
    }
}
