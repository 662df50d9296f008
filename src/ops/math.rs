//! Math modes: flags of a workload that change how an operator computes, not what it is.

use super::{Family, OpDef};
use crate::ir::{DType, MathConfig, TensorType};

/// How f32 products are computed. Only operators that have the choice carry it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MathMode {
    /// All 24 bits of an f32.
    Ieee,
    /// TF32 tensor cores: 11 bits.
    Tf32,
}

impl MathMode {
    pub const fn name(self) -> &'static str {
        match self {
            MathMode::Ieee => "ieee",
            MathMode::Tf32 => "tf32",
        }
    }
}

impl OpDef {
    /// The math mode that a workload's flags give this operator, where they matter to it.
    pub fn math_mode(&self, types: &[&TensorType], config: &MathConfig) -> Option<MathMode> {
        let tf32 = match self.family {
            Family::Linear => config.allow_tf32,
            Family::Attention if self.name == "sdpa" => config.allow_tf32,
            Family::Conv if self.name.starts_with("conv") => !config.cudnn_tf32_off,
            _ => return None,
        };
        let f32 = types.iter().any(|t| t.dtype == DType::F32);
        f32.then_some(if tf32 { MathMode::Tf32 } else { MathMode::Ieee })
    }
}
