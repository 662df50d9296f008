//! The energy meter and the state of an NVIDIA GPU, read through NVML, which is loaded at run time.

use std::sync::Arc;
use std::time::Instant;

use nvml_wrapper::Nvml;
use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};
use nvml_wrapper::error::NvmlError;

use super::meter::{Counter, MeterError, Reading};
use super::state::State;
use crate::energy::MeterKind;

type Answer<T> = Result<T, NvmlError>;

/// What this program asks the driver, by the number of the GPU. Behind a trait, so that tests can answer in its place.
pub trait Driver: Send + Sync {
    fn version(&self) -> Answer<String>;
    fn count(&self) -> Answer<u32>;
    fn name(&self, gpu: u32) -> Answer<String>;
    fn uuid(&self, gpu: u32) -> Answer<String>;
    /// Where the GPU sits, such as `00000000:1B:00.0`.
    fn bus_id(&self, gpu: u32) -> Answer<String>;
    /// Whether the GPU is split.
    fn is_mig(&self, gpu: u32) -> Answer<bool>;
    fn energy_mj(&self, gpu: u32) -> Answer<u64>;
    fn power_mw(&self, gpu: u32) -> Answer<u32>;
    /// Ids of the processes that compute on the GPU, as far as they can be seen.
    fn processes(&self, gpu: u32) -> Answer<Vec<u32>>;
    fn temperature_c(&self, gpu: u32) -> Answer<u32>;
    fn sm_clock_mhz(&self, gpu: u32) -> Answer<u32>;
    fn throttle_reasons(&self, gpu: u32) -> Answer<ThrottleReasons>;
    /// Bytes of device memory that nobody uses.
    fn free_memory(&self, gpu: u32) -> Answer<u64>;
}

impl Driver for Nvml {
    fn version(&self) -> Answer<String> {
        self.sys_driver_version()
    }

    fn count(&self) -> Answer<u32> {
        self.device_count()
    }

    fn name(&self, gpu: u32) -> Answer<String> {
        self.device_by_index(gpu)?.name()
    }

    fn uuid(&self, gpu: u32) -> Answer<String> {
        self.device_by_index(gpu)?.uuid()
    }

    fn bus_id(&self, gpu: u32) -> Answer<String> {
        Ok(self.device_by_index(gpu)?.pci_info()?.bus_id)
    }

    fn is_mig(&self, gpu: u32) -> Answer<bool> {
        Ok(self.device_by_index(gpu)?.mig_mode()?.current != 0)
    }

    fn energy_mj(&self, gpu: u32) -> Answer<u64> {
        self.device_by_index(gpu)?.total_energy_consumption()
    }

    fn power_mw(&self, gpu: u32) -> Answer<u32> {
        self.device_by_index(gpu)?.power_usage()
    }

    fn processes(&self, gpu: u32) -> Answer<Vec<u32>> {
        Ok(self.device_by_index(gpu)?.running_compute_processes()?.into_iter().map(|p| p.pid).collect())
    }

    fn temperature_c(&self, gpu: u32) -> Answer<u32> {
        self.device_by_index(gpu)?.temperature(TemperatureSensor::Gpu)
    }

    fn sm_clock_mhz(&self, gpu: u32) -> Answer<u32> {
        self.device_by_index(gpu)?.clock_info(Clock::SM)
    }

    fn throttle_reasons(&self, gpu: u32) -> Answer<ThrottleReasons> {
        self.device_by_index(gpu)?.current_throttle_reasons()
    }

    fn free_memory(&self, gpu: u32) -> Answer<u64> {
        Ok(self.device_by_index(gpu)?.memory_info()?.free)
    }
}

/// Loads the driver.
///
/// # Errors
/// [`MeterError::NoDriver`] if none can be loaded.
pub fn load_driver() -> Result<Arc<dyn Driver>, MeterError> {
    match Nvml::init() {
        Ok(nvml) => Ok(Arc::new(nvml)),
        Err(error) => Err(MeterError::NoDriver(error.to_string())),
    }
}

/// One GPU.
#[derive(Clone)]
pub struct Gpu {
    driver: Arc<dyn Driver>,
    index: u32,
    name: String,
    meter: MeterKind,
    /// When the clock of all readings started.
    start: Instant,
}

impl Gpu {
    /// Opens the GPU at `bus_id` and sees that its energy can be measured. The driver numbers GPUs otherwise than CUDA
    /// does where `CUDA_VISIBLE_DEVICES` hides some, so the place is what tells which one works.
    pub fn at(driver: Arc<dyn Driver>, bus_id: &str) -> Result<Gpu, MeterError> {
        let wanted = bus_id.to_lowercase();
        let count = driver.count().map_err(|e| MeterError::NoDriver(e.to_string()))?;
        // The driver writes the domain with more digits.
        let is_there = |gpu: &u32| driver.bus_id(*gpu).is_ok_and(|id| id.to_lowercase().ends_with(&wanted));
        let index = (0..count).find(is_there).ok_or_else(|| MeterError::NoSuchPlace(bus_id.to_owned()))?;
        Gpu::with(driver, index)
    }

    /// Opens GPU number `index` of the driver.
    pub fn with(driver: Arc<dyn Driver>, index: u32) -> Result<Gpu, MeterError> {
        let count = driver.count().map_err(|e| MeterError::NoDriver(e.to_string()))?;
        if index >= count {
            return Err(MeterError::NoGpu { index, count });
        }
        let meter = MeterKind::EnergyCounter;
        let mut gpu = Gpu { driver, index, name: String::new(), meter, start: Instant::now() };
        gpu.name = gpu.ask(|d, i| d.name(i))?;
        // A driver that knows no MIG cannot have it on.
        if gpu.driver.is_mig(index).is_ok_and(|split| split) {
            return Err(MeterError::Mig(gpu.name));
        }
        match gpu.ask(|d, i| d.energy_mj(i)) {
            Ok(_) => Ok(gpu),
            // GPUs without a counter are of generations whose power reading is an instant one, no average.
            Err(MeterError::NoCounter(name)) => match gpu.ask(|d, i| d.power_mw(i)) {
                Ok(_) => Ok(Gpu { meter: MeterKind::InstantPower, ..gpu }),
                Err(MeterError::NoCounter(_)) => Err(MeterError::NoCounter(name)),
                Err(other) => Err(other),
            },
            Err(other) => Err(other),
        }
    }

    fn ask<T>(&self, question: impl Fn(&dyn Driver, u32) -> Answer<T>) -> Result<T, MeterError> {
        question(&*self.driver, self.index).map_err(|error| match error {
            NvmlError::NotSupported | NvmlError::FunctionNotFound => MeterError::NoCounter(self.name.clone()),
            NvmlError::NoPermission => MeterError::NoPermission(self.name.clone()),
            NvmlError::Uninitialized | NvmlError::DriverNotLoaded => MeterError::NoDriver(error.to_string()),
            _ => MeterError::Lost(error.to_string()),
        })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn meter(&self) -> MeterKind {
        self.meter
    }

    /// The first eight hexadecimal digits of the card's UUID; empty where the driver gives none.
    pub fn card(&self) -> String {
        let uuid = self.driver.uuid(self.index).unwrap_or_default();
        uuid.trim_start_matches("GPU-").chars().take(8).collect()
    }

    /// The driver's version, such as `580.159.04`.
    pub fn driver(&self) -> Result<String, MeterError> {
        self.ask(|d, _| d.version())
    }

    pub fn free_memory(&self) -> Result<u64, MeterError> {
        self.ask(|d, i| d.free_memory(i))
    }

    /// Fails if a process other than this one and `own` computes on the GPU: the meter would count its energy too.
    pub fn want_alone(&self, own: Option<u32>) -> Result<(), MeterError> {
        // Inside a container other processes may be invisible; what can be seen is refused.
        let others = self.driver.processes(self.index).unwrap_or_default();
        match others.iter().find(|&&pid| pid != 0 && pid != std::process::id() && Some(pid) != own) {
            Some(&other) => Err(MeterError::Busy(other)),
            None => Ok(()),
        }
    }

    pub fn state(&self) -> Result<State, MeterError> {
        // Older drivers do not say why; that must not stop a measurement.
        let reasons = self.driver.throttle_reasons(self.index).unwrap_or(ThrottleReasons::empty());
        let harmless = ThrottleReasons::GPU_IDLE | ThrottleReasons::NONE;
        let held: Vec<&str> = (reasons - harmless).iter_names().map(|(name, _)| name).collect();
        Ok(State {
            temperature_c: f64::from(self.ask(|d, i| d.temperature_c(i))?),
            sm_clock_mhz: self.ask(|d, i| d.sm_clock_mhz(i))?,
            throttled: held.join(" "),
        })
    }

    /// The meter, for a thread of its own.
    pub fn counter(&self) -> GpuMeter {
        GpuMeter { gpu: self.clone(), integral: PowerIntegral::default() }
    }

    /// Seconds on the clock of all readings.
    pub fn now_s(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }
}

/// The energy meter of a GPU: its counter, or the integral of its power.
pub struct GpuMeter {
    gpu: Gpu,
    integral: PowerIntegral,
}

impl Counter for GpuMeter {
    fn state(&mut self) -> Result<Option<State>, MeterError> {
        self.gpu.state().map(Some)
    }

    fn read(&mut self) -> Result<Reading, MeterError> {
        let before = self.gpu.now_s();
        let middle = |gpu: &Gpu| (before + gpu.now_s()) / 2.0;
        match self.gpu.meter {
            MeterKind::EnergyCounter => {
                let energy_mj = self.gpu.ask(|d, i| d.energy_mj(i))?;
                Ok(Reading { time_s: middle(&self.gpu), energy_mj })
            }
            MeterKind::InstantPower => {
                let watts = f64::from(self.gpu.ask(|d, i| d.power_mw(i))?) * 1e-3;
                Ok(self.integral.push(middle(&self.gpu), watts))
            }
        }
    }
}

/// Seconds between the steps that an integral of power shows: those of a counter.
const STEP_S: f64 = 0.1;

/// Integrates power by trapezoids. What it shows moves in steps like a counter, so that the meter treats both alike.
#[derive(Clone, Debug, Default)]
pub struct PowerIntegral {
    last: Option<(f64, f64)>,
    joules: f64,
    shown: Option<Reading>,
}

impl PowerIntegral {
    pub fn push(&mut self, time_s: f64, watts: f64) -> Reading {
        if let Some((then, before)) = self.last.replace((time_s, watts)) {
            self.joules += (time_s - then) * (watts + before) / 2.0;
        }
        let now = Reading { time_s, energy_mj: (self.joules * 1e3) as u64 };
        match self.shown {
            Some(shown) if time_s - shown.time_s < STEP_S => Reading { time_s, ..shown },
            _ => {
                self.shown = Some(now);
                now
            }
        }
    }
}

#[cfg(test)]
#[path = "nvml_tests.rs"]
pub(super) mod tests;
