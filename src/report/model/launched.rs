//! A workload as it is run: launched one by one by the host, for which the GPU may wait.

use serde::Serialize;

use super::Figure;
use crate::energy;

/// A share of waiting below this is not worth a line.
const NOTABLE: f64 = 0.01;

/// From this share on, recording is offered as a cheaper form.
const WASTEFUL: f64 = 0.05;

/// What an execution takes whose kernels the host launches one by one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Launched {
    /// Kernels and waiting.
    pub energy_mj: Figure,
    /// Time of one execution, waiting included, in microseconds.
    pub time_us: Option<f64>,
    /// How long the host takes for all of its calls.
    pub host_us: Figure,
    /// How long the GPU waits for it ...
    pub waiting_us: Figure,
    /// ... and what it draws meanwhile.
    pub waiting_mj: Figure,
}

impl Launched {
    /// The same as `kernels` launched one by one.
    pub fn new(kernels: &energy::Cost, waiting: &energy::Waiting) -> Launched {
        Launched {
            energy_mj: waiting.energy_with(kernels).into(),
            time_us: Figure::from(waiting.time_with(kernels)).value,
            host_us: waiting.host_us.into(),
            waiting_us: waiting.time_us.into(),
            waiting_mj: waiting.energy_mj.into(),
        }
    }

    /// The part of the energy that goes into waiting, if it is worth a word.
    pub fn share(&self) -> Option<f64> {
        let (waiting, whole) = self.waiting_mj.value.zip(self.energy_mj.value)?;
        (whole > 0.0).then(|| waiting / whole).filter(|&share| share >= NOTABLE)
    }

    /// Whether recording the workload as a CUDA graph saves energy that is worth it, beyond doubt.
    pub fn should_be_recorded(&self) -> bool {
        self.share().is_some_and(|share| share >= WASTEFUL) && self.waiting_mj.low.is_some_and(|low| low > 0.0)
    }
}

/// The cheapest known equivalent, launched one by one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LaunchedBest {
    /// Kernels and waiting.
    pub energy_mj: f64,
    /// Time of one execution, in microseconds.
    pub time_us: f64,
    /// What kernels save of the energy of A as it is run, and waiting with any host that there may be. None where nothing is saved
    /// beyond doubt.
    pub saves_vs_a: Option<f64>,
    /// The same, of B's.
    pub saves_vs_b: Option<f64>,
}
