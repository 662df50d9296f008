//! What one node or call is on a bill: a kernel with its price, nothing, or an operator without a price.

use std::sync::Arc;

use super::context::Context;
use super::cost::Cost;
use super::estimate::Spared;
use super::features::Features;
use super::key::KernelKey;

/// A kernel with its price.
#[derive(Debug)]
pub struct Kernel {
    pub key: KernelKey,
    pub cost: Cost,
    /// Standard deviations of the logarithms of energy and time.
    pub(super) energy_sd: f64,
    pub(super) time_sd: f64,
    /// What decides its price, where that is known.
    pub(super) features: Option<Features>,
    /// Whether the price is an estimate, whose error is shared by kernels nearby.
    pub(super) is_estimated: bool,
    pub(super) context: Context,
    /// What the cache spares it.
    pub(super) spared: Spared,
    /// Where it stands in sums, the same in every run.
    pub(super) order: u64,
}

/// What one node or call is on a bill.
#[derive(Clone, Debug)]
pub enum Item {
    /// Nothing runs.
    Free,
    /// It runs once, before the first execution, and no more.
    Once,
    /// A call with a price.
    Kernel(Arc<Kernel>),
    /// An operator that nothing is known about.
    Gap(Gap),
}

/// An operator without a price.
#[derive(Clone, Debug, PartialEq)]
pub struct Gap {
    /// The name of the operator.
    pub op: String,
    /// Bytes of its operands and results.
    pub bytes: f64,
}

impl Item {
    /// The price of it alone.
    pub fn cost(&self) -> Cost {
        match self {
            Item::Free | Item::Once => Cost::FREE,
            Item::Kernel(kernel) => kernel.cost,
            Item::Gap(gap) => Cost { bytes: gap.bytes, ..Cost::UNKNOWN },
        }
    }
}
