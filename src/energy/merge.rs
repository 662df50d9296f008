//! Joining and comparing profiles.

use std::collections::BTreeSet;

use super::key::Key;
use super::profile::{Device, Entry, Profile, ProfileError};

/// One key in the comparison of two profiles.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference<'a> {
    pub key: &'a Key,
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
    /// Takes over the entries of `other`; where both have a key, the one with more executions stays.
    /// Refuses a profile of another device or other libraries. The estimator has to be fitted anew.
    pub fn merge(&mut self, other: Profile) -> Result<(), ProfileError> {
        if self.entries.is_empty() && self.device == Device::default() {
            *self = other;
            return Ok(());
        }
        same_device(&self.device, &other.device)?;
        for (key, entry) in other.entries {
            match self.entries.get(&key) {
                Some(own) if own.executions >= entry.executions => {}
                _ => {
                    self.entries.insert(key, entry);
                }
            }
        }
        self.date = self.date.clone().min(other.date);
        self.estimator = None;
        Ok(())
    }

    /// Every key of either profile, with what each holds for it. The devices may differ: that is what it is for.
    pub fn diff<'a>(&'a self, other: &'a Profile) -> Vec<Difference<'a>> {
        let keys: BTreeSet<&Key> = self.entries.keys().chain(other.entries.keys()).collect();
        let of = |key| Difference { key, left: self.entries.get(key), right: other.entries.get(key) };
        keys.into_iter().map(of).collect()
    }
}

/// `580.159` of `580.159.04`: updates within a branch leave kernels and clocks alone.
fn driver_branch(device: &Device) -> String {
    device.driver.splitn(3, '.').take(2).collect::<Vec<_>>().join(".")
}

/// Refuses two profiles whose figures must not stand beside each other unmarked.
pub fn same_device(left: &Device, right: &Device) -> Result<(), ProfileError> {
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
    use super::*;
    use crate::energy::profile::Measured;

    fn profile(libtorch: &str, driver: &str, mean: f64, executions: u64) -> Profile {
        let around = |mean: f64| Measured { mean, low: mean * 0.99, high: mean * 1.01 };
        let entry = Entry {
            energy_mj: around(mean),
            time_us: around(mean),
            watts: 500.0,
            executions,
            windows: 5,
            temperature_c: 40,
            sm_clock_mhz: 1980,
            launch_bound: false,
            throttled: String::new(),
        };
        let device = Device {
            name: "NVIDIA H200".into(),
            driver: driver.into(),
            libtorch: libtorch.into(),
            cuda: "13.0".into(),
        };
        let entries = [("neg(f32[4])".parse().unwrap(), entry)].into_iter().collect();
        Profile { device, entries, ..Profile::default() }
    }

    #[test]
    fn other_libraries_are_never_joined() {
        let mut own = profile("2.11.0", "580.159.03", 1.0, 10);
        let error = own.merge(profile("2.12.0", "580.159.03", 2.0, 20)).unwrap_err();
        assert!(matches!(error, ProfileError::Mixed { what: "libtorch", .. }), "{error}");
        assert!(own.merge(profile("2.11.0", "581.10.03", 2.0, 20)).is_err());
    }

    #[test]
    fn the_entry_that_rests_on_more_executions_stays() {
        let mut own = profile("2.11.0", "580.159.03", 1.0, 10);
        own.merge(profile("2.11.0", "580.159.04", 2.0, 5)).unwrap();
        assert_eq!(own.entries.values().next().unwrap().energy_mj.mean, 1.0);
        own.merge(profile("2.11.0", "580.159.04", 3.0, 50)).unwrap();
        assert_eq!(own.entries.values().next().unwrap().energy_mj.mean, 3.0);
    }

    #[test]
    fn a_difference_inside_the_intervals_is_none() {
        let own = profile("2.11.0", "580", 1.0, 10);
        let (same, other) = (profile("2.12.0", "580", 1.015, 10), profile("2.12.0", "580", 1.1, 10));
        assert!(!own.diff(&same)[0].changed());
        assert!(own.diff(&other)[0].changed());
        assert!((own.diff(&other)[0].ratio().unwrap() - 1.1).abs() < 1e-12);
    }
}
