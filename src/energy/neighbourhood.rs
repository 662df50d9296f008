//! Interpolation between measured kernels: what those nearby take more or less than the model of their class says.

use nalgebra::{DMatrix, DVector};
use rustc_hash::FxHashMap;

use super::cost::Basis;
use super::estimate::{BOUNDS_SD, Estimate, Estimator};
use super::features::{Features, correlation};
use super::profile::Profile;
use crate::ops::KernelClass;

/// Measured kernels that an estimate is interpolated between.
const NEIGHBOURS: usize = 24;

/// What two measurements of one kernel differ by, as a share of how far kernels of one class scatter.
const NUGGET: f64 = 0.05;

/// A measured kernel, and what it takes more than its model says: logarithms of ratios.
#[derive(Clone, Debug)]
pub(super) struct Neighbour {
    pub features: Features,
    pub time: f64,
    pub energy: f64,
}

/// What is interpolated at a place: corrections of both logarithms, and what is left of the variance far from everything.
pub(super) struct Interpolated {
    pub time: f64,
    pub energy: f64,
    pub variance: f64,
    /// Whether the nearest neighbour is the same kernel at another size.
    pub is_same_kernel: bool,
}

/// Simple kriging (Cressie, Statistics for Spatial Data, 1993, section 3.2) between the nearest of `neighbours`, with an
/// exponential covariance; without those of which `is_left_out` says so by their number and their distance.
pub(super) fn interpolate(
    features: &Features,
    neighbours: &[Neighbour],
    is_left_out: impl Fn(usize, f64) -> bool,
) -> Option<Interpolated> {
    let mut near: Vec<(f64, usize)> = neighbours
        .iter()
        .enumerate()
        .map(|(i, n)| (features.distance(&n.features), i))
        .filter(|&(distance, i)| !is_left_out(i, distance))
        .collect();
    if near.len() > NEIGHBOURS {
        near.select_nth_unstable_by(NEIGHBOURS - 1, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        near.truncate(NEIGHBOURS);
    }
    near.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let nearest = neighbours.get(near.first()?.1)?;
    let all: Vec<&Neighbour> = near.iter().filter_map(|(_, i)| neighbours.get(*i)).collect();
    let n = all.len();
    let covariance =
        DMatrix::from_fn(
            n,
            n,
            |i, j| {
                if i == j { 1.0 + NUGGET } else { correlation(&all[i].features, &all[j].features) }
            },
        );
    let here = DVector::from_iterator(n, near.iter().map(|(d, _)| (-d).exp()));
    let weights = covariance.cholesky()?.solve(&here);
    let sum = |of: fn(&Neighbour) -> f64| all.iter().zip(weights.iter()).map(|(n, w)| w * of(n)).sum::<f64>();
    Some(Interpolated {
        time: sum(|n| n.time),
        energy: sum(|n| n.energy),
        variance: (1.0 + NUGGET - here.dot(&weights)).max(NUGGET),
        is_same_kernel: features.is_same_kernel(&nearest.features),
    })
}

/// The measured kernels of a profile by class.
#[derive(Debug, Default)]
pub(super) struct Neighbourhood {
    classes: FxHashMap<KernelClass, Vec<Neighbour>>,
}

impl Neighbourhood {
    pub(super) fn of(profile: &Profile, estimator: &Estimator) -> Neighbourhood {
        let mut classes: FxHashMap<KernelClass, Vec<Neighbour>> = FxHashMap::default();
        for (key, entry) in &profile.entries {
            // What holds waiting for the host says nothing about kernels.
            let Some(features) = Features::of_key(key).filter(|_| !entry.launch_bound) else { continue };
            let Some(fit) = estimator.classes.get(&features.class) else { continue };
            let (time, watts) = fit.predict(&estimator.device, &features);
            let (time_us, energy_mj) = (entry.time_us.mean.ln(), entry.energy_mj.mean.ln());
            let neighbour = Neighbour { time: time_us - time, energy: energy_mj - energy_of(time, watts), features };
            classes.entry(neighbour.features.class).or_default().push(neighbour);
        }
        Neighbourhood { classes }
    }

    /// The best estimate that there is of a kernel.
    pub(super) fn estimate(&self, estimator: &Estimator, features: &Features) -> Estimate {
        let near = self.classes.get(&features.class);
        let (Some(fit), Some(near)) = (estimator.classes.get(&features.class), near) else {
            return estimator.bounds(features);
        };
        let Some(here) = interpolate(features, near, |_, _| false) else { return estimator.bounds(features) };
        let (time, watts) = fit.predict(&estimator.device, features);
        let time_us = (time + here.time).exp();
        let energy_mj = (energy_of(time, watts) + here.energy).exp();
        // Nothing draws less than the device at rest or more than its limit.
        let least = estimator.device.rest_w * time_us * 1e-3;
        let most = estimator.device.limit_w * time_us * 1e-3;
        Estimate {
            energy_mj: energy_mj.clamp(least, most.max(least)),
            time_us,
            energy_sd: (fit.energy.sd * here.variance.sqrt()).min(BOUNDS_SD),
            time_sd: (fit.time.sd * here.variance.sqrt()).min(BOUNDS_SD),
            basis: if here.is_same_kernel { Basis::Interpolated } else { Basis::Class },
        }
    }

    /// Time in µs and energy in mJ of a kernel as other measured kernels tell them, whether it was measured or not. `None` for a class
    /// that nothing else was measured of.
    pub(super) fn like(&self, estimator: &Estimator, features: &Features) -> Option<(f64, f64)> {
        let fit = estimator.classes.get(&features.class)?;
        let here = interpolate(features, self.classes.get(&features.class)?, |_, distance| distance == 0.0)?;
        let (time, watts) = fit.predict(&estimator.device, features);
        Some(((time + here.time).exp(), (energy_of(time, watts) + here.energy).exp()))
    }
}

/// The logarithm of the energy in mJ from those of the time in µs and of the power in W.
pub(super) fn energy_of(time: f64, watts: f64) -> f64 {
    time + watts - 1e3_f64.ln()
}
