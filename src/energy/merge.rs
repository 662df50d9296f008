//! Joining and comparing profiles.

use std::collections::BTreeSet;

use super::key::KernelKey;
use super::profile::{Device, Entry, MIN_COMMON, Profile, ProfileError, Run};
use super::spread::{Repeat, Spread};

/// One key in the comparison of two profiles.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference<'a> {
    pub key: &'a KernelKey,
    pub left: Option<&'a Entry>,
    pub right: Option<&'a Entry>,
}

impl Difference<'_> {
    /// Energy of the right side over that of the left; `None` where one is missing.
    pub fn ratio(&self) -> Option<f64> {
        Some(self.right?.energy_mj.mean / self.left?.energy_mj.mean)
    }

    /// Whether the two differ beyond their intervals.
    pub fn changed(&self) -> bool {
        match (self.left, self.right) {
            (Some(l), Some(r)) => {
                let (l, r) = (l.energy_mj.figure(), r.energy_mj.figure());
                l.is_below(&r) || r.is_below(&l)
            }
            _ => true,
        }
    }
}

impl Profile {
    /// Takes over the runs of `other` and those of its figures that are missing here. Of operators that are short or that
    /// wait for the host it also takes records that are better than what is here. A run that has no other figures still says
    /// how well figures repeat, unless it has too few for that; a run that is here already says nothing. The estimator has to be fitted anew.
    ///
    /// # Errors
    /// Another device or other libraries; too few keys that both measured, so that nothing says how the cards differ.
    pub fn merge(&mut self, other: Profile) -> Result<(), ProfileError> {
        if self.entries.is_empty() {
            *self = Profile { estimator: None, ..other };
            return Ok(());
        }
        same_device(&self.device, &other.device)?;
        let mut runs = Vec::new();
        let first = self.runs.iter().map(|r| r.id).max().unwrap_or(0) + 1;
        let missing = |run: &Run| {
            let new = |(key, e): (&KernelKey, &Entry)| {
                e.run == run.id && self.entries.get(key).is_none_or(|own| own.is_superseded_by(e))
            };
            let new_replay = |(name, e): (&String, &Entry)| e.run == run.id && !self.replays.contains_key(name);
            other.entries.iter().any(new) || other.replays.iter().any(new_replay)
        };
        let mut id = first;
        for run in &other.runs {
            if self.has(run, &other) {
                continue;
            }
            let own = other.entries.iter().filter(|(_, e)| e.run == run.id);
            match self.spread(own) {
                Ok(spread) => runs.push((run.id, Run { id, against_others: Some(spread), ..run.clone() })),
                Err(ProfileError::NothingInCommon(_)) if !missing(run) => continue,
                Err(error) => return Err(error),
            }
            id += 1;
        }
        let numbered = |entry: Entry| {
            let (_, run) = runs.iter().find(|(id, _)| *id == entry.run)?;
            Some(Entry { run: run.id, ..entry })
        };
        for (key, entry) in other.entries {
            let Some(entry) = numbered(entry) else { continue };
            if self.entries.get(&key).is_none_or(|own| own.is_superseded_by(&entry)) {
                self.entries.insert(key, entry);
            }
        }
        for (name, entry) in other.replays {
            if let Some(entry) = numbered(entry) {
                self.replays.entry(name).or_insert(entry);
            }
        }
        self.runs.extend(runs.into_iter().map(|(_, run)| run));
        self.estimator = None;
        self.host = self.host.take().or(other.host);
        Ok(())
    }

    /// Whether a run of `other` is one of those here: the same card, day and power at rest, and the same figures but for those
    /// that gave way to another run's.
    fn has(&self, run: &Run, other: &Profile) -> bool {
        let same = |own: &Run| {
            let alike = |here: Option<&Entry>, e: &Entry| {
                here.is_some_and(|here| here.run != own.id || *here == Entry { run: own.id, ..e.clone() })
            };
            let entries = other.entries.iter().filter(|(_, e)| e.run == run.id);
            let replays = other.replays.iter().filter(|(_, e)| e.run == run.id);
            own.is_that(run)
                && entries.into_iter().all(|(key, e)| alike(self.entries.get(key), e))
                && replays.into_iter().all(|(name, e)| alike(self.replays.get(name), e))
        };
        self.runs.iter().any(same)
    }

    /// How far entries of another run are from those here, by the keys that both hold. Each ratio is of two figures as they were
    /// measured: through the figures of runs in between, errors would add up from run to run.
    pub(super) fn spread<'a>(
        &self,
        others: impl Iterator<Item = (&'a KernelKey, &'a Entry)>,
    ) -> Result<Spread, ProfileError> {
        let (mut device, mut launch_bound) = (Vec::new(), Vec::new());
        for (key, other) in others {
            // Where one holds the pauses between launches and the other does not, they are figures of different things.
            let alike = |own: &&Entry| (own.launch_bound, own.recorded) == (other.launch_bound, other.recorded);
            let Some(own) = self.entries.get(key).filter(alike) else { continue };
            let ratios = if own.launch_bound { &mut launch_bound } else { &mut device };
            ratios.push((other.energy_mj.mean / own.energy_mj.mean, other.time_us.mean / own.time_us.mean));
        }
        if device.len() < MIN_COMMON {
            return Err(ProfileError::NothingInCommon(device.len()));
        }
        Ok(Spread { device: Repeat::of_ratios(&device), launch_bound: Repeat::of_ratios(&launch_bound) })
    }

    /// Every key of either profile, with what each holds for it. The devices may differ: that is what it is for.
    pub fn diff<'a>(&'a self, other: &'a Profile) -> Vec<Difference<'a>> {
        let keys: BTreeSet<&KernelKey> = self.entries.keys().chain(other.entries.keys()).collect();
        let of = |key| Difference { key, left: self.entries.get(key), right: other.entries.get(key) };
        keys.into_iter().map(of).collect()
    }
}

/// `580.159` of `580.159.04`: updates within a branch leave kernels and clocks alone.
fn driver_branch(device: &Device) -> String {
    device.driver.splitn(3, '.').take(2).collect::<Vec<_>>().join(".")
}

/// Refuses two profiles whose figures must not stand beside each other unmarked.
pub(crate) fn same_device(left: &Device, right: &Device) -> Result<(), ProfileError> {
    let fields: [(&'static str, &String, &String); 4] = [
        ("device", &left.name, &right.name),
        ("driver", &driver_branch(left), &driver_branch(right)),
        ("libtorch", &left.libtorch, &right.libtorch),
        ("CUDA version", &left.cuda, &right.cuda),
    ];
    match fields.into_iter().find(|(_, l, r)| l != r) {
        Some((what, l, r)) => Err(ProfileError::Mixed { what, left: l.clone(), right: r.clone() }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::measured::Measured;
    use super::*;

    fn entry(mean: f64) -> Entry {
        let around = |mean: f64| Measured { mean, low: mean * 0.99, high: mean * 1.01 };
        Entry {
            run: 1,
            energy_mj: around(mean),
            time_us: around(mean),
            watts: 500.0,
            executions: 100,
            windows: 5,
            passes: 1,
            temperature_c: 40.0,
            sm_clock_mhz: 1980,
            launch_bound: false,
            throttled: String::new(),
            recorded: false,
            paced: None,
        }
    }

    fn profile(libtorch: &str, driver: &str, entries: &[(&str, f64)]) -> Profile {
        let device = Device {
            name: "NVIDIA H200".into(),
            driver: driver.into(),
            libtorch: libtorch.into(),
            cuda: "13.0".into(),
        };
        let entries = entries.iter().map(|(key, mean)| (key.parse().unwrap(), entry(*mean))).collect();
        let runs = vec![Run { id: 1, card: "a".into(), date: "2026-11-21".into(), idle_w: 120.0, ..Run::default() }];
        Profile { device, runs, entries, ..Profile::default() }
    }

    const FOUR: [(&str, f64); 4] =
        [("neg(f32[4])", 1.0), ("neg(f32[8])", 2.0), ("neg(f32[16])", 3.0), ("neg(f32[32])", 4.0)];

    #[test]
    fn other_libraries_are_never_joined() {
        let mut own = profile("2.11.0", "580.159.03", &FOUR);
        let error = own.merge(profile("2.12.0", "580.159.03", &FOUR)).unwrap_err();
        assert!(matches!(error, ProfileError::Mixed { what: "libtorch", .. }), "{error}");
        assert!(own.merge(profile("2.11.0", "581.10.03", &FOUR)).is_err());
        assert!(own.merge(profile("2.11.0", "580.159.04", &FOUR)).is_ok());
    }

    #[test]
    fn runs_without_common_keys_are_not_joined() {
        let mut own = profile("2.11.0", "580", &FOUR);
        let error = own.merge(profile("2.11.0", "580", &[("neg(f32[4])", 1.0), ("abs(f32[4])", 1.0)])).unwrap_err();
        assert!(matches!(error, ProfileError::NothingInCommon(1)), "{error}");
    }

    #[test]
    fn intervals_of_another_run_hold_the_difference_of_the_cards() {
        let mut own = profile("2.11.0", "580", &FOUR);
        let mut other = profile("2.11.0", "580", &FOUR);
        for (i, e) in other.entries.values_mut().enumerate() {
            e.energy_mj.mean *= 1.02 + 0.02 * i as f64;
        }
        other.entries.insert("abs(f32[4])".parse().unwrap(), entry(10.0));
        own.merge(other).unwrap();
        // The values stay as they were; the intervals of both reach as far as the runs are apart.
        assert_eq!(own.figures(&"neg(f32[4])".parse().unwrap()).unwrap().0.value, 1.0);
        let (energy, _) = own.figures(&"abs(f32[4])".parse().unwrap()).unwrap();
        assert_eq!(energy.value, 10.0);
        assert!(energy.low < 9.4 && energy.low > 9.0 && energy.high > 10.6, "{energy:?}");
        assert_eq!(own.runs.iter().map(|r| r.id).collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn replays_are_joined_too_and_a_run_that_says_nothing_is_left_out() {
        let mut own = profile("2.11.0", "580", &FOUR);
        let mut other = profile("2.11.0", "580", &FOUR);
        own.merge(profile("2.11.0", "580", &FOUR[..1])).unwrap();
        assert_eq!(own.runs.len(), 1);
        other.replays.insert("whole".into(), entry(10.0));
        own.merge(other).unwrap();
        assert_eq!((own.runs.len(), own.replays["whole"].run), (2, 2));
    }

    #[test]
    fn launch_bound_figures_are_as_uncertain_as_they_repeat() {
        let (mut own, mut again) = (profile("2.11.0", "580", &FOUR), profile("2.11.0", "580", &FOUR));
        let key: KernelKey = "abs(f32[4])".parse().unwrap();
        own.entries.insert(key.clone(), Entry { launch_bound: true, ..entry(10.0) });
        again.entries.insert(key.clone(), Entry { launch_bound: true, ..entry(13.0) });
        own.merge(again).unwrap();
        let (energy, _) = own.figures(&key).unwrap();
        assert!(energy.value == 10.0 && energy.high > 12.9 && energy.low < 7.7, "{energy:?}");
        let (energy, _) = own.figures(&"neg(f32[4])".parse().unwrap()).unwrap();
        assert!(energy.high < 1.02, "{energy:?}");
    }

    #[test]
    fn a_record_replaces_pauses_and_waiting_and_tells_nothing_of_how_the_cards_differ() {
        let (mut own, mut other) = (profile("2.11.0", "580", &FOUR), profile("2.11.0", "580", &FOUR));
        let [short, long]: [KernelKey; 2] = ["abs(f32[4])", "abs(f32[8])"].map(|key| key.parse().unwrap());
        own.entries.insert(short.clone(), entry(14.0));
        own.entries.insert(long.clone(), entry(32.0));
        other.entries.insert(short.clone(), Entry { recorded: true, ..entry(1.7) });
        other.entries.insert(long.clone(), Entry { recorded: true, ..entry(30.0) });
        let waiting: KernelKey = "abs(f32[16])".parse().unwrap();
        own.entries.insert(waiting.clone(), Entry { launch_bound: true, ..entry(80.0) });
        other.entries.insert(waiting.clone(), Entry { recorded: true, ..entry(60.0) });
        own.merge(other).unwrap();
        assert_eq!((own.entries[&short].time_us.mean, own.entries[&short].run), (1.7, 2));
        assert_eq!((own.entries[&long].time_us.mean, own.entries[&long].run), (32.0, 1));
        assert_eq!((own.entries[&waiting].time_us.mean, own.entries[&waiting].run), (60.0, 2));
        assert_eq!(own.runs[1].against_others.unwrap().device.keys, 4);

        let more = Entry { recorded: true, passes: 4, ..entry(1.8) };
        let better = |own: &Entry, other: &Entry| own.is_superseded_by(other);
        assert!(better(&own.entries[&short], &more) && !better(&more, &own.entries[&short]));
        // One record by accident is no match for passes that agree.
        assert!(!better(&Entry { passes: 4, ..entry(19.0) }, &Entry { recorded: true, ..entry(17.5) }));
        assert!(!better(&entry(14.0), &Entry { launch_bound: true, ..entry(1.7) }));
    }

    #[test]
    fn a_difference_inside_the_intervals_is_none() {
        let own = profile("2.11.0", "580", &[("neg(f32[4])", 1.0)]);
        let same = profile("2.12.0", "580", &[("neg(f32[4])", 1.015)]);
        let other = profile("2.12.0", "580", &[("neg(f32[4])", 1.1)]);
        assert!(!own.diff(&same)[0].changed());
        assert!(own.diff(&other)[0].changed());
        assert!((own.diff(&other)[0].ratio().unwrap() - 1.1).abs() < 1e-12);
    }
}
