//! What the program says of GPUs that cannot be measured, and of those that have no counter.

use super::*;
use crate::measure::Mark;
use crate::measure::meter::{ChangeDetector, fit_power, points};

/// A driver that answers as told.
#[derive(Clone, Default)]
pub(in crate::measure) struct Fake {
    count: u32,
    /// From then on it draws 500 W, which its counter shows a hundred times a second.
    draws_since: Option<Instant>,
    mig: bool,
    energy: Option<NvmlErrorKind>,
    power: Option<NvmlErrorKind>,
    others: Vec<u32>,
    throttle: u64,
}

impl Fake {
    /// One GPU that draws power.
    pub(in crate::measure) fn drawing() -> Fake {
        Fake { count: 1, draws_since: Some(Instant::now()), ..Fake::default() }
    }
}

/// [`NvmlError`] cannot be copied.
#[derive(Clone, Copy, Debug, PartialEq)]
enum NvmlErrorKind {
    NotSupported,
    NoPermission,
    GpuLost,
}

impl NvmlErrorKind {
    fn error(self) -> NvmlError {
        match self {
            NvmlErrorKind::NotSupported => NvmlError::NotSupported,
            NvmlErrorKind::NoPermission => NvmlError::NoPermission,
            NvmlErrorKind::GpuLost => NvmlError::GpuLost,
        }
    }
}

impl Driver for Fake {
    fn version(&self) -> Answer<String> {
        Ok("580.1".into())
    }
    fn count(&self) -> Answer<u32> {
        Ok(self.count)
    }
    fn name(&self, _: u32) -> Answer<String> {
        Ok("Fake 100".into())
    }
    fn uuid(&self, _: u32) -> Answer<String> {
        Ok("GPU-0123456789-abcd".into())
    }
    fn bus_id(&self, gpu: u32) -> Answer<String> {
        Ok(format!("00000000:{:02X}:00.0", 0x1A + gpu))
    }
    fn is_mig(&self, _: u32) -> Answer<bool> {
        Ok(self.mig)
    }
    fn energy_mj(&self, _: u32) -> Answer<u64> {
        let drawn = self.draws_since.map_or(0, |since| since.elapsed().as_millis() as u64 / 10 * 5000);
        self.energy.map_or(Ok(1000 + drawn), |kind| Err(kind.error()))
    }
    fn power_mw(&self, _: u32) -> Answer<u32> {
        self.power.map_or(Ok(250_000), |kind| Err(kind.error()))
    }
    fn processes(&self, _: u32) -> Answer<Vec<u32>> {
        Ok(self.others.clone())
    }
    fn temperature_c(&self, _: u32) -> Answer<u32> {
        Ok(40)
    }
    fn sm_clock_mhz(&self, _: u32) -> Answer<u32> {
        Ok(1980)
    }
    fn throttle_reasons(&self, _: u32) -> Answer<ThrottleReasons> {
        Ok(ThrottleReasons::from_bits_truncate(self.throttle))
    }
    fn free_memory(&self, _: u32) -> Answer<u64> {
        Ok(1 << 36)
    }
}

fn open(fake: Fake) -> Result<Gpu, MeterError> {
    Gpu::with(Arc::new(fake), 0)
}

#[test]
fn what_cannot_be_measured_is_named() {
    use NvmlErrorKind::{GpuLost, NoPermission, NotSupported};
    let one = || Fake { count: 1, ..Fake::default() };
    let name = || "Fake 100".to_owned();
    for (fake, error) in [
        (Fake::default(), MeterError::NoGpu { index: 0, count: 0 }),
        (Fake { mig: true, ..one() }, MeterError::Mig(name())),
        (Fake { energy: Some(NoPermission), ..one() }, MeterError::NoPermission(name())),
        (Fake { energy: Some(NotSupported), power: Some(NotSupported), ..one() }, MeterError::NoCounter(name())),
        (Fake { energy: Some(NotSupported), power: Some(NoPermission), ..one() }, MeterError::NoPermission(name())),
        (Fake { energy: Some(GpuLost), ..one() }, MeterError::Lost(NvmlError::GpuLost.to_string())),
    ] {
        assert_eq!(open(fake).err(), Some(error));
    }
}

#[test]
fn every_error_is_one_sentence_with_a_way_out() {
    use miette::Diagnostic;
    for error in [
        MeterError::NoDriver("x".into()),
        MeterError::NoGpu { index: 1, count: 1 },
        MeterError::NoSuchPlace("x".into()),
        MeterError::NoCounter("x".into()),
        MeterError::NoPermission("x".into()),
        MeterError::Mig("x".into()),
        MeterError::Busy(7),
        MeterError::Stalled,
        MeterError::Reset,
        MeterError::Lost("x".into()),
        MeterError::TooShort(3),
    ] {
        assert!(error.help().is_some() && error.code().is_some(), "{error}");
        assert!(!error.to_string().contains('\n'));
    }
}

#[test]
fn the_gpu_that_is_metered_is_the_one_that_works() {
    let at = |bus_id: &str| Gpu::at(Arc::new(Fake { count: 3, ..Fake::default() }), bus_id).map(|gpu| gpu.index);
    assert_eq!(at("0000:1c:00.0"), Ok(2));
    assert_eq!(at("0000:1d:00.0"), Err(MeterError::NoSuchPlace("0000:1d:00.0".into())));
}

#[test]
fn another_process_is_noticed_and_this_one_is_none() {
    let gpu = |others: Vec<u32>| open(Fake { count: 1, others, ..Fake::default() }).unwrap();
    assert_eq!(gpu(vec![0, std::process::id()]).want_alone(None), Ok(()));
    assert_eq!(gpu(vec![std::process::id(), 4_000_000_001]).want_alone(None), Err(MeterError::Busy(4_000_000_001)));
}

#[test]
fn the_power_cap_is_the_operators_and_heat_is_not() {
    let state = |reasons: ThrottleReasons| {
        open(Fake { count: 1, throttle: reasons.bits(), ..Fake::default() }).unwrap().state().unwrap()
    };
    let capped = state(ThrottleReasons::SW_POWER_CAP | ThrottleReasons::GPU_IDLE);
    assert_eq!((capped.throttled.as_str(), capped.is_throttled_externally()), ("SW_POWER_CAP", false));
    for reason in [
        ThrottleReasons::SW_THERMAL_SLOWDOWN,
        ThrottleReasons::HW_THERMAL_SLOWDOWN,
        ThrottleReasons::HW_SLOWDOWN,
        ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN,
    ] {
        assert!(state(reason).is_throttled_externally(), "{reason:?}");
    }
}

#[test]
fn a_gpu_without_counter_is_measured_by_its_power() {
    let gpu = open(Fake { count: 1, energy: Some(NvmlErrorKind::NotSupported), ..Fake::default() }).unwrap();
    assert_eq!(gpu.meter(), MeterKind::InstantPower);
    assert!(gpu.counter().read().is_ok());
    assert_eq!(gpu.card(), "01234567");
}

#[test]
fn integrated_power_gives_the_energy() {
    // 300 W on average, with a swing that a step of 100 ms holds many times.
    let mut integral = PowerIntegral::default();
    let mut detector = ChangeDetector::default();
    let mut changes = Vec::new();
    for i in 0..800 {
        let time_s = f64::from(i) * 0.0025;
        let watts = 300.0 + 50.0 * (f64::from(i) * 1.3).sin();
        changes.extend(detector.push(integral.push(time_s, watts)).unwrap());
    }
    assert!(changes.len() >= 15, "{}", changes.len());
    let marks: Vec<Mark> =
        (0..100).map(|i| Mark { time_s: f64::from(i) * 0.02, executions: f64::from(i) * 200.0 }).collect();
    let energy = fit_power(&points(&changes, &marks), 0.01, None).unwrap().energy_mj;
    assert!((energy.mean / 30.0 - 1.0).abs() < 0.01, "{energy:?}");
}
