//! Workload configuration: flags outside the graph that change which kernels run.

use serde::{Deserialize, Serialize};

/// Math flags of a workload. The defaults are PyTorch's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct MathConfig {
    /// `torch.backends.cuda.matmul.allow_tf32`: f32 matrix products may use TF32 tensor cores.
    pub allow_tf32: bool,
    /// `torch.backends.cudnn.allow_tf32` is on by default in PyTorch; this field says it was turned off.
    pub cudnn_tf32_off: bool,
}
