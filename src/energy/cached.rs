//! What the cache of the GPU serves: results that the next kernels read before they are evicted.
//!
//! Operators are measured with operands that lie in memory. In a model, what one operator has just written is still in the
//! cache when the next one reads it, unless it is too large, and what it writes takes the place of what is no longer needed.
//! Parameters and inputs come from memory.

use crate::ir::TensorType;

/// Tensors of more bytes leave the cache before they are read.
const MOST_CACHED: usize = 24 << 20;

/// Steps in which the cached part of the traffic is counted.
const STEPS: f64 = 8.0;

/// The part of a kernel's traffic that the cache serves, in eighths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cached(u8);

/// An operand of a kernel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operand {
    pub bytes: usize,
    /// Whether another kernel of the same graph has written it.
    pub is_computed: bool,
}

impl Cached {
    pub const NOTHING: Cached = Cached(0);

    /// For these operands and results.
    pub(super) fn of(operands: &[Operand], results: &[TensorType]) -> Cached {
        let most = std::env::var("CAP").ok().and_then(|v| v.parse::<usize>().ok()).map_or(MOST_CACHED, |m| m << 20);
        let results = results.iter().map(|t| Operand { bytes: t.bytes(), is_computed: true });
        let (mut cached, mut all) = (0.0, 0.0);
        for operand in operands.iter().copied().chain(results) {
            all += operand.bytes as f64;
            if operand.is_computed && operand.bytes <= most {
                cached += operand.bytes as f64;
            }
        }
        if all > 0.0 { Cached((cached / all * STEPS).round() as u8) } else { Cached::NOTHING }
    }

    /// As a fraction.
    pub(super) fn share(self) -> f64 {
        f64::from(self.0) / STEPS
    }
}
