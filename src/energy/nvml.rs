//! The energy counter and the state of an NVIDIA GPU, read through NVML, which is loaded at run time.

use std::sync::Arc;
use std::time::Instant;

use nvml_wrapper::Nvml;
use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};
use nvml_wrapper::error::NvmlError;

use super::meter::{Counter, MeterError, Reading};

/// One GPU.
#[derive(Clone)]
pub struct Gpu {
    nvml: Arc<Nvml>,
    index: u32,
    name: String,
    /// When the clock of all readings started.
    start: Instant,
}

/// What the GPU was doing at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    pub temperature_c: u32,
    pub sm_clock_mhz: u32,
    /// Why the driver holds the clocks down, such as `SW_THERMAL_SLOWDOWN`; empty when it does not.
    pub throttled: String,
}

impl Gpu {
    /// Opens GPU number `index` and sees that its energy can be measured.
    pub fn open(index: u32) -> Result<Gpu, MeterError> {
        let nvml = Nvml::init().map_err(|e| MeterError::NoDriver(e.to_string()))?;
        let count = nvml.device_count().map_err(|e| MeterError::NoDriver(e.to_string()))?;
        if index >= count {
            return Err(MeterError::NoGpu { index, count });
        }
        let mut gpu = Gpu { nvml: Arc::new(nvml), index, name: String::new(), start: Instant::now() };
        gpu.name = gpu.device(|d| d.name())?;
        // A driver that knows no MIG cannot have it on.
        if gpu.device(|d| d.mig_mode()).is_ok_and(|mode| mode.current != 0) {
            return Err(MeterError::Mig(gpu.name));
        }
        gpu.counter().read()?;
        Ok(gpu)
    }

    fn device<T>(&self, read: impl Fn(&nvml_wrapper::Device) -> Result<T, NvmlError>) -> Result<T, MeterError> {
        self.nvml.device_by_index(self.index).and_then(|d| read(&d)).map_err(|e| self.explain(e))
    }

    fn explain(&self, error: NvmlError) -> MeterError {
        match error {
            NvmlError::NotSupported | NvmlError::FunctionNotFound => MeterError::NoCounter(self.name.clone()),
            NvmlError::NoPermission => MeterError::NoPermission(self.name.clone()),
            NvmlError::Uninitialized | NvmlError::DriverNotLoaded => MeterError::NoDriver(error.to_string()),
            _ => MeterError::Lost(error.to_string()),
        }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The driver's version, such as `580.159.04`.
    pub fn driver(&self) -> Result<String, MeterError> {
        self.nvml.sys_driver_version().map_err(|e| self.explain(e))
    }

    /// Bytes of device memory that nobody uses.
    pub fn free_memory(&self) -> Result<u64, MeterError> {
        self.device(|d| d.memory_info()).map(|m| m.free)
    }

    /// Fails if another process computes on the GPU: the counter would count its energy too.
    pub fn want_alone(&self) -> Result<(), MeterError> {
        // Inside a container other processes may be invisible; what can be seen is refused.
        let others = self.device(|d| d.running_compute_processes()).unwrap_or_default();
        match others.iter().find(|p| p.pid != 0 && p.pid != std::process::id()) {
            Some(other) => Err(MeterError::Busy(other.pid)),
            None => Ok(()),
        }
    }

    pub fn state(&self) -> Result<State, MeterError> {
        // Older drivers do not say why; that must not stop a measurement.
        let reasons = self.device(|d| d.current_throttle_reasons()).unwrap_or(ThrottleReasons::empty());
        let harmless = ThrottleReasons::GPU_IDLE | ThrottleReasons::NONE;
        let held: Vec<&str> = (reasons - harmless).iter_names().map(|(name, _)| name).collect();
        Ok(State {
            temperature_c: self.device(|d| d.temperature(TemperatureSensor::Gpu))?,
            sm_clock_mhz: self.device(|d| d.clock_info(Clock::SM))?,
            throttled: held.join(" "),
        })
    }

    /// A counter for a thread of its own.
    pub fn counter(&self) -> NvmlCounter {
        NvmlCounter(self.clone())
    }

    /// Seconds on the clock of all readings.
    pub fn now_s(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }
}

/// The total-energy counter of a GPU.
pub struct NvmlCounter(Gpu);

impl Counter for NvmlCounter {
    fn read(&mut self) -> Result<Reading, MeterError> {
        let before = self.0.now_s();
        let energy_mj = self.0.device(|d| d.total_energy_consumption())?;
        Ok(Reading { time_s: (before + self.0.now_s()) / 2.0, energy_mj })
    }
}
