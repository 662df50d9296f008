//! Where a kernel runs: alone, as it is measured, or among the others of a graph.
//!
//! Operators are measured with operands that lie in memory. In a graph, what one operator has just written is still in the
//! cache when the next one reads it, unless it is too large, and what it writes takes the place of what is no longer needed.
//! Parameters and inputs come from memory.

use crate::ir::TensorType;

/// Tensors of more bytes leave the cache before they are read.
const MAX_CACHED_BYTES: usize = 24 << 20;

/// Steps in which the cached part of the traffic is counted.
const STEPS: f64 = 8.0;

/// Where a kernel runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Context {
    /// Over and over by itself, with nothing in the cache.
    Alone,
    /// Among the other kernels of a graph.
    InGraph {
        /// The part of its traffic that the cache serves, in eighths.
        cached: u8,
    },
}

/// An operand of a kernel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operand {
    pub bytes: usize,
    /// Whether another kernel of the same graph has written it.
    pub is_computed: bool,
}

impl Context {
    /// In a graph, with these operands and results.
    pub(super) fn in_graph(operands: &[Operand], results: &[TensorType]) -> Context {
        let results = results.iter().map(|t| Operand { bytes: t.bytes(), is_computed: true });
        let (mut cached, mut all) = (0.0, 0.0);
        for operand in operands.iter().copied().chain(results) {
            all += operand.bytes as f64;
            if operand.is_computed && operand.bytes <= MAX_CACHED_BYTES {
                cached += operand.bytes as f64;
            }
        }
        let share = if all > 0.0 { cached / all } else { 0.0 };
        Context::InGraph { cached: (share * STEPS).round() as u8 }
    }

    /// The part of its traffic that the cache serves.
    pub(super) fn cached_share(self) -> f64 {
        match self {
            Context::Alone => 0.0,
            Context::InGraph { cached } => f64::from(cached) / STEPS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{DType, Shape};

    #[test]
    fn parameters_come_from_memory_and_small_results_from_the_cache() {
        let result = TensorType::new(DType::F32, Shape::from_slice(&[1 << 20])).unwrap();
        let operand = |bytes, is_computed| Operand { bytes, is_computed };
        let share = |operands: &[Operand]| Context::in_graph(operands, std::slice::from_ref(&result)).cached_share();
        assert_eq!(share(&[operand(4 << 20, true)]), 1.0);
        assert_eq!(share(&[operand(4 << 20, false)]), 0.5);
        assert_eq!(share(&[operand(60 << 20, true)]), 0.125 * (4.0_f64 / 64.0 * 8.0).round());
    }
}
