//! Where the joules of a bill go: the price of each kernel taken apart by the model of its class.
//!
//! The model gives a kernel power while it runs, and more for memory traffic and for arithmetic. Its time is the priced one,
//! measured where the kernel was, so that only what traffic and arithmetic draw rests on fitted coefficients. Kernels of one class
//! are not alike, though: some work more for each byte than others. What other measured kernels tell of a kernel, itself left out,
//! beyond the average of its class is its overhead, which goes by the name of the operator. What the price is more or less than all of
//! these is stated as not explained: the parts always add up to the price.

use std::collections::{BTreeMap, BTreeSet};

use super::bill::Bill;
use super::features::Mode;
use super::item::Kernel;
use super::model::CostModel;

/// Millijoules spent on an amount of something.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Spent {
    /// Millijoules.
    pub mj: f64,
    /// Bytes, operations, kernels or microseconds.
    pub amount: f64,
}

impl Spent {
    fn add(&mut self, mj: f64, amount: f64) {
        self.mj += mj;
        self.amount += amount;
    }

    /// A share of it.
    fn times(self, share: f64) -> Spent {
        Spent { mj: self.mj * share, amount: self.amount * share }
    }
}

/// Where the energy of a bill goes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Breakdown {
    /// Reading and writing memory; of bytes.
    memory: Spent,
    /// Arithmetic by kind of unit; of operations.
    arithmetic: BTreeMap<Mode, Spent>,
    /// Starting and ending kernels; of kernels.
    launches: Spent,
    /// What the device draws while kernels run, whatever they do; of microseconds.
    over_time: Spent,
    /// What kernels draw beyond the average of their class, by operator; of microseconds that they run longer than it.
    overhead: BTreeMap<String, Spent>,
    /// What prices are more than the model.
    not_explained_mj: f64,
}

/// What energy is spent on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Reading and writing memory.
    MemoryTraffic,
    /// Arithmetic of a kind of unit, such as `matrix bf16`.
    Arithmetic(String),
    /// The same arithmetic in another math mode: a kind of unit, and the modes of A and of B.
    MathMode(String, [String; 2]),
    /// Starting and ending kernels.
    Launches,
    /// Power drawn while kernels run, whatever they do.
    OverTime,
    /// What the operator of this name takes beyond the average kernel of its class, as other kernels tell.
    Overhead(String),
    /// What the model does not say.
    NotExplained,
}

/// What two bills spend on one purpose.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Contrast {
    /// What it is spent on.
    pub purpose: Purpose,
    /// What the first bill spends.
    pub a: Spent,
    /// What the second one spends.
    pub b: Spent,
}

impl Breakdown {
    /// Where the energy of a bill goes; none where an operator without a price is in it.
    pub(crate) fn of(bill: &Bill, model: &CostModel) -> Option<Breakdown> {
        let mut all = Breakdown::default();
        bill.kernels().for_each(|(kernel, count)| all.add(kernel, count as f64, model));
        bill.gaps().next().is_none().then_some(all)
    }

    /// Adds a kernel that runs `count` times.
    fn add(&mut self, kernel: &Kernel, count: f64, model: &CostModel) {
        let estimator = model.estimator();
        let (mj, time_us) = (kernel.cost.energy_mj.value * count, kernel.cost.time_us.value * count);
        self.memory.amount += kernel.cost.bytes * count;
        self.launches.amount += f64::from(kernel.cost.launches) * count;
        let Some((features, fit)) =
            kernel.features.as_ref().and_then(|f| estimator.classes.get(&f.class).map(|fit| (f, fit)))
        else {
            // The device draws no less than at rest, whatever the kernel does.
            let at_rest = (estimator.device.rest_w * time_us * 1e-3).min(mj);
            self.over_time.add(at_rest, time_us);
            self.not_explained_mj += mj - at_rest;
            // There are no like kernels that would take any of the time.
            self.overhead.entry(kernel.key.op.clone()).or_default().add(0.0, time_us);
            return;
        };
        let launch_us = (fit.launch_us * count).min(time_us);
        let running_us = time_us - launch_us;
        let [launches, over_time] = [launch_us, running_us].map(|us| fit.base_w * us * 1e-3);
        let [memory, arithmetic] = fit.dynamic_mj(features).map(|mj| mj * count);
        let memory = (memory - kernel.spared.traffic_mj * count).max(0.0);
        // No kernel draws more than the limit: the model's coefficients may say so far from what they were fitted on.
        let room = (estimator.device.limit_w * time_us * 1e-3 - launches - over_time).max(0.0);
        let capped = if memory + arithmetic > room { room / (memory + arithmetic) } else { 1.0 };
        self.launches.mj += launches;
        self.over_time.add(over_time, running_us);
        self.memory.mj += memory * capped;
        self.arithmetic.entry(features.mode).or_default().add(arithmetic * capped, kernel.cost.flops * count);
        let model_us = fit.model_us(&estimator.device, features) - kernel.spared.time_us;
        let beyond_us = time_us - model_us * count;
        let work = (memory + arithmetic) * capped;
        let dynamic = model.like(kernel, features).map(|(us, mj)| (mj - fit.base_w * us * 1e-3) * count);
        let overhead = dynamic.map_or(0.0, |dynamic| dynamic - work);
        self.overhead.entry(kernel.key.op.clone()).or_default().add(overhead, beyond_us);
        self.not_explained_mj += mj - launches - over_time - work - overhead;
    }

    /// What this and another bill spend on each purpose. The parts add up to both bills.
    pub(crate) fn against(&self, other: &Breakdown) -> Vec<Contrast> {
        let contrast = |purpose, a: Spent, b: Spent| Contrast { purpose, a, b };
        let rest = |b: &Breakdown| Spent { mj: b.not_explained_mj, amount: 0.0 };
        let mut all = vec![contrast(Purpose::MemoryTraffic, self.memory, other.memory)];
        let mut units: Vec<String> = self.arithmetic.keys().chain(other.arithmetic.keys()).map(Mode::unit).collect();
        units.sort();
        units.dedup();
        for unit in units {
            let [(mut a, in_a), (mut b, in_b)] = [self, other].map(|bill| bill.unit(&unit));
            // The same operations in another mode take what they take because of the mode; the rest is more or less work.
            let common = a.amount.min(b.amount);
            if in_a != in_b && common > 0.0 {
                let [of_a, of_b] = [a, b].map(|spent| spent.times(common / spent.amount));
                all.push(contrast(Purpose::MathMode(unit.clone(), [in_a, in_b]), of_a, of_b));
                [a, b] = [(a, of_a), (b, of_b)]
                    .map(|(spent, same)| Spent { mj: spent.mj - same.mj, amount: spent.amount - same.amount });
            }
            all.push(contrast(Purpose::Arithmetic(unit), a, b));
        }
        all.push(contrast(Purpose::Launches, self.launches, other.launches));
        all.push(contrast(Purpose::OverTime, self.over_time, other.over_time));
        let names: BTreeSet<&String> = self.overhead.keys().chain(other.overhead.keys()).collect();
        for name in names {
            let of = |bill: &Breakdown| bill.overhead.get(name).copied().unwrap_or_default();
            all.push(contrast(Purpose::Overhead(name.clone()), of(self), of(other)));
        }
        all.push(contrast(Purpose::NotExplained, rest(self), rest(other)));
        all
    }

    /// What a kind of unit takes in all math modes, and the names of these.
    fn unit(&self, unit: &str) -> (Spent, String) {
        let mut all = Spent::default();
        let mut modes = Vec::new();
        for (mode, spent) in self.arithmetic.iter().filter(|(mode, _)| mode.unit() == unit) {
            all.add(spent.mj, spent.amount);
            modes.extend(mode.math.map(crate::ops::MathMode::name));
        }
        (all, modes.join(" and "))
    }
}

#[cfg(test)]
#[path = "breakdown_tests.rs"]
mod tests;
