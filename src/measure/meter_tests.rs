//! The meter against a simulated counter that behaves like the one of an H200.

use super::*;

/// A counter of a device that draws `watts` on average.
struct Simulated {
    clock_s: f64,
    watts: f64,
    /// Offset of the counter's first value, in mJ.
    start_mj: u64,
    period_s: f64,
    read_s: f64,
    /// Relative noise of the power from one period to the next.
    noise: f64,
    seed: u64,
    stops_at_s: f64,
    wraps: bool,
    /// Energy published so far and the index of the last period published.
    published: f64,
    period: u64,
}

impl Simulated {
    fn new(watts: f64, seed: u64) -> Self {
        Simulated {
            clock_s: 0.013 * (seed % 7) as f64,
            watts,
            start_mj: 5_000_000,
            period_s: 0.1,
            read_s: 0.004,
            noise: 0.01,
            seed,
            stops_at_s: f64::INFINITY,
            wraps: false,
            published: 0.0,
            period: 0,
        }
    }

    /// About normal, from the sum of uniforms; the same for the same period.
    fn gauss(&self, period: u64) -> f64 {
        let mut state = (self.seed << 32) ^ period ^ 0x9e37_79b9_7f4a_7c15;
        let mut uniform = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        (0..24).map(|_| uniform()).skip(12).sum::<f64>() - 6.0
    }
}

impl Counter for Simulated {
    fn read(&mut self) -> Result<Reading, MeterError> {
        let at = self.clock_s + self.read_s / 2.0;
        self.clock_s += self.read_s + 0.0005;
        while (self.period + 1) as f64 * self.period_s <= at && at < self.stops_at_s {
            self.period += 1;
            self.published += self.watts * self.period_s * 1e3 * (1.0 + self.noise * self.gauss(self.period));
        }
        let mut energy_mj = self.start_mj + self.published as u64;
        if self.wraps {
            energy_mj %= 1 << 32;
        }
        Ok(Reading { time_s: at, energy_mj })
    }
}

fn changes(mut counter: Simulated, seconds: f64) -> Result<Vec<Change>, MeterError> {
    let mut detector = ChangeDetector::default();
    let mut all = Vec::new();
    while counter.clock_s < seconds {
        all.extend(detector.push(counter.read()?)?);
    }
    Ok(all)
}

/// Marks every 20 ms of a load with `time_us` per execution.
fn marks(time_us: f64, seconds: f64) -> Vec<Mark> {
    (0..(seconds / 0.02) as usize)
        .map(|i| Mark { time_s: i as f64 * 0.02, executions: i as f64 * 0.02 * 1e6 / time_us })
        .collect()
}

fn measure(watts: f64, time_us: f64, seed: u64) -> PowerFit {
    fit_power(&points(&changes(Simulated::new(watts, seed), 1.6).unwrap(), &marks(time_us, 3.0)), 0.005, None).unwrap()
}

#[test]
fn the_truth_lies_in_the_interval() {
    let (watts, time_us) = (600.0, 37.0);
    let truth = watts * time_us * 1e-3;
    let inside = (0..200)
        .filter(|&seed| {
            let e = measure(watts, time_us, seed).energy_mj;
            assert!(e.low <= e.mean && e.mean <= e.high);
            assert!((e.mean / truth - 1.0).abs() < 0.02, "{e:?}");
            e.low <= truth && truth <= e.high
        })
        .count();
    assert!(inside >= 196, "{inside} of 200");
}

#[test]
fn the_same_load_twice_is_never_a_saving() {
    for seed in 0..200 {
        let (a, b) = (measure(520.0, 80.0, 2 * seed), measure(520.0, 80.0, 2 * seed + 1));
        let (a, b) = (a.energy_mj.figure(), b.energy_mj.figure());
        assert!(!a.is_below(&b) && !b.is_below(&a), "trial {seed}: {a:?} {b:?}");
    }
}

#[test]
fn a_real_saving_is_seen() {
    let (a, b) = (measure(520.0, 80.0, 1), measure(520.0, 90.0, 2));
    assert!(a.energy_mj.figure().is_below(&b.energy_mj.figure()));
    assert!((a.watts / 520.0 - 1.0).abs() < 0.02);
    assert!((a.time_us.mean / 80.0 - 1.0).abs() < 1e-6);
}

#[test]
fn a_counter_that_moves_evenly_is_read_as_if_every_change_had_been_noticed_at_once() {
    let off = |counter_s: Option<f64>| {
        let error = |seed| {
            let slow = Simulated { read_s: 0.0133, noise: 0.0, ..Simulated::new(600.0, seed) };
            let e = fit_power(&points(&changes(slow, 1.6).unwrap(), &marks(37.0, 3.0)), 0.005, counter_s)
                .unwrap()
                .energy_mj;
            (e.mean / (600.0 * 37.0e-3) - 1.0).abs()
        };
        (0..50).map(error).fold(0.0, f64::max)
    };
    assert!(off(Some(0.1)) < 1e-4 && off(None) > 0.001, "{} and {}", off(Some(0.1)), off(None));
    // A period that is not the counter's own is not taken.
    let all = points(&changes(Simulated::new(600.0, 1), 1.6).unwrap(), &marks(37.0, 3.0));
    assert_eq!(fit_power(&all, 0.005, Some(0.3)), fit_power(&all, 0.005, None));
}

#[test]
fn a_wrap_is_undone() {
    let mut counter = Simulated::new(600.0, 3);
    counter.start_mj = (1 << 32) - 600_000;
    counter.wraps = true;
    let e = fit_power(&points(&changes(counter, 2.5).unwrap(), &marks(50.0, 3.0)), 0.005, None).unwrap().energy_mj;
    assert!((e.mean / 30.0 - 1.0).abs() < 0.02, "{e:?}");
}

#[test]
fn a_counter_that_stops_is_noticed() {
    let mut counter = Simulated::new(600.0, 4);
    counter.stops_at_s = 1.0;
    assert_eq!(changes(counter, 5.0), Err(MeterError::Stalled));
}

#[test]
fn a_reset_is_noticed() {
    let mut detector = ChangeDetector::default();
    detector.push(Reading { time_s: 0.0, energy_mj: 900_000 }).unwrap();
    let next = detector.push(Reading { time_s: 0.1, energy_mj: 100 });
    assert_eq!(next, Err(MeterError::Reset));
}

#[test]
fn too_short_a_run_has_no_figure() {
    let few = changes(Simulated::new(600.0, 5), 0.4).unwrap();
    assert!(matches!(fit_power(&points(&few, &marks(50.0, 3.0)), 0.005, None), Err(MeterError::TooShort(_))));
    assert!(matches!(fit_power(&points(&few, &[]), 0.005, None), Err(MeterError::TooShort(0))));
}

#[test]
fn the_poller_collects_and_stops() {
    struct Steps(std::time::Instant);
    impl Counter for Steps {
        fn read(&mut self) -> Result<Reading, MeterError> {
            let time_s = self.0.elapsed().as_secs_f64();
            Ok(Reading { time_s, energy_mj: (time_s * 100.0) as u64 * 1000 })
        }
    }
    let mut poller = Poller::start(Steps(std::time::Instant::now()));
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert!(poller.changes_since(0.0).unwrap().len() >= 5);
}
