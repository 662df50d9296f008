//! The work that an operator has to do.

use super::Call;
use crate::ir::TensorType;

/// Which execution units do an operator's arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Unit {
    /// Matrix units (tensor cores), at the rate of the operand type and math mode.
    Matrix,
    /// Ordinary vector units.
    Vector,
}

/// The work an operator has to do, from its types alone. `kernels` is 0 for pure views.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// Floating-point operations; a multiply-add counts as two.
    pub flops: f64,
    /// Elements read per operand are those of the operand, unless the operator reads only this many bytes.
    pub bytes_read: f64,
    pub bytes_written: f64,
    pub kernels: u32,
    pub unit: Unit,
}

/// Transcendental functions take about this many operations per element on a GPU: an estimate that only ranks them
/// behind memory traffic.
pub(super) const TRANSCENDENTAL_FLOPS: u32 = 8;

impl Call<'_> {
    pub fn work(&self, outputs: &[TensorType]) -> Work {
        (self.op.work)(self, outputs)
    }
}

impl Work {
    /// A pure view.
    pub const NONE: Work = Work { flops: 0.0, bytes_read: 0.0, bytes_written: 0.0, kernels: 0, unit: Unit::Vector };

    /// One kernel that reads every operand once, writes every output once and does `flops` operations.
    pub fn streaming(call: &Call, outputs: &[TensorType], flops: f64, unit: Unit) -> Work {
        Work {
            flops,
            bytes_read: call.operands.iter().map(|t| t.bytes() as f64).sum(),
            bytes_written: outputs.iter().map(|t| t.bytes() as f64).sum(),
            kernels: 1,
            unit,
        }
    }

    /// One kernel of `FLOPS` operations for each element that it writes.
    pub fn per_output<const FLOPS: u32>(call: &Call, outputs: &[TensorType]) -> Work {
        let elements: f64 = outputs.iter().map(|t| t.numel() as f64).sum();
        Work::streaming(call, outputs, f64::from(FLOPS) * elements, Unit::Vector)
    }

    /// One kernel of `FLOPS` operations for each element of operand 0.
    pub fn per_input<const FLOPS: u32>(call: &Call, outputs: &[TensorType]) -> Work {
        Work::streaming(call, outputs, f64::from(FLOPS) * call.operands[0].numel() as f64, Unit::Vector)
    }
}
