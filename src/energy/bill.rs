//! Sums of prices, and what one sum is less than another.
//!
//! Errors of different kernels are independent and add up in squares. Those of estimates of like kernels are alike, those of
//! one kernel that runs often are one error, and some are common to all figures. So a sum is a list of kernels with how
//! often each runs, and two sums are compared by what is left of either once the kernels that both hold are struck out.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::cost::{BasisShares, Cost, Figure};
use super::coverage::COVERAGE_SD;
use super::features::{Features, correlation};
use super::item::{Item, Kernel};
use super::key::KernelKey;
use super::objective::Weights;
use crate::ops::{self, Elements, KernelClass};

/// What an execution in a model takes more or less than one by itself, as a standard deviation of the logarithm: its operands may
/// still be in the cache, and its neighbours decide on the clock. Independent from kernel to kernel.
const CONTEXT_SD: f64 = 0.04;

/// What all figures of a profile are off by together on another card of the kind, and in a graph that runs in one piece: with it, nine
/// of ten of the graphs that are kept apart lie in the interval of their sum.
const COMMON_SD: f64 = 0.075;

/// Standard deviations that a difference has to exceed to count: one draw in forty of a normal distribution does by chance.
const SURE_SD: f64 = 1.96;

/// Where each element of the result is computed for itself, a kernel that moves this share of the bytes takes less energy: 13 in 1000
/// pairs of streaming kernels in the profile of the H200 contradict, and fewer of pools.
const A_TENTH_LESS: f64 = 0.9;

/// Of matrix products and convolutions, libraries may choose a slower kernel for the smaller one, but seldom one that is slower than
/// one that does twice as much: 4 in 1000 pairs of the profile contradict.
const HALF: f64 = 0.5;

/// A kernel in the order of sums.
#[derive(Clone, Debug)]
struct Line(Arc<Kernel>);

impl Ord for Line {
    fn cmp(&self, other: &Self) -> Ordering {
        if Arc::ptr_eq(&self.0, &other.0) {
            return Ordering::Equal;
        }
        let place = |line: &Line| (line.0.order, line.0.context);
        place(self).cmp(&place(other)).then_with(|| self.0.key.cmp(&other.0.key))
    }
}

impl PartialOrd for Line {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Line {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Line {}

/// What is executed, and how often.
#[derive(Clone, Debug, Default)]
pub struct Bill {
    lines: BTreeMap<Line, i64>,
    /// How often operators without a price run, and the bytes that pass through them.
    gaps: BTreeMap<String, (i64, f64)>,
}

/// What a form takes less than another one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Saving {
    /// Millijoules; below 0 where it takes more.
    pub energy_mj: f64,
    /// Whether there is a saving of what counts beyond doubt.
    pub is_sure: bool,
}

impl<'i> FromIterator<&'i Item> for Bill {
    fn from_iter<I: IntoIterator<Item = &'i Item>>(items: I) -> Bill {
        let mut bill = Bill::default();
        items.into_iter().for_each(|item| bill.add(item));
        bill
    }
}

impl Bill {
    /// Adds what one call costs.
    pub fn add(&mut self, item: &Item) {
        match item {
            Item::Free | Item::Once => {}
            Item::Kernel(kernel) => *self.lines.entry(Line(kernel.clone())).or_default() += 1,
            Item::Gap(gap) => {
                let (count, bytes) = self.gaps.entry(gap.op.clone()).or_default();
                *count += 1;
                *bytes += gap.bytes;
            }
        }
    }

    /// Both bills together.
    pub fn and(mut self, other: &Bill) -> Bill {
        for (line, count) in &other.lines {
            *self.lines.entry(line.clone()).or_default() += count;
        }
        for (op, (count, bytes)) in &other.gaps {
            let own = self.gaps.entry(op.clone()).or_default();
            *own = (own.0 + count, own.1 + bytes);
        }
        self
    }

    /// Operators without a price: name, how often they run, and the bytes that pass through them.
    pub fn gaps(&self) -> impl Iterator<Item = (&str, i64, f64)> {
        self.gaps.iter().map(|(op, (count, bytes))| (op.as_str(), *count, *bytes))
    }

    /// Whether a kernel of this operator runs.
    pub(crate) fn runs(&self, op: &str) -> bool {
        self.kernels().any(|(kernel, _)| kernel.key.op == op)
    }

    /// The kernels that it lists, with how often each runs.
    pub(super) fn kernels(&self) -> impl Iterator<Item = (&Kernel, i64)> {
        self.lines.iter().map(|(line, count)| (&*line.0, *count))
    }

    /// The sum, with the interval that its errors give together.
    pub fn total(&self) -> Cost {
        // A sum of nothing is -0.0.
        let sum = |of: &dyn Fn(&Kernel) -> f64| self.lines.iter().map(|(l, n)| of(&l.0) * *n as f64).sum::<f64>() + 0.0;
        let shares = self.lines.iter().map(|(l, n)| l.0.cost.basis_mj.times(*n as f64));
        let basis_mj = shares.fold(BasisShares::default(), |a, b| a + b);
        let mut total = Cost {
            energy_mj: self.figure(|k| (k.cost.energy_mj.value, k.energy_sd), &basis_mj),
            time_us: self.figure(|k| (k.cost.time_us.value, k.time_sd), &basis_mj),
            launches: self.lines.iter().fold(0, |all, (l, n)| {
                all.saturating_add(l.0.cost.launches.saturating_mul(u32::try_from(*n).unwrap_or(u32::MAX)))
            }),
            flops: sum(&|k| k.cost.flops),
            bytes: sum(&|k| k.cost.bytes),
            basis_mj,
        };
        for (_, count, bytes) in self.gaps() {
            let gap = Cost::UNKNOWN;
            total.energy_mj = total.energy_mj + gap.energy_mj;
            total.time_us = total.time_us + gap.time_us;
            total.launches = total.launches.saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
            total.bytes += bytes;
        }
        total
    }

    /// The sum of one quantity, given its value and standard deviation for each kernel. A single kernel keeps its interval.
    fn figure(&self, of: impl Fn(&Kernel) -> (f64, f64), basis: &BasisShares) -> Figure {
        let value: f64 = self.lines.iter().map(|(l, n)| of(&l.0).0 * *n as f64).sum();
        if value <= 0.0 {
            return Figure::ZERO;
        }
        let common = COMMON_SD * value;
        let sd = (variance(&self.lines, &of) + common * common).sqrt() / value;
        let reach = (COVERAGE_SD * sd).exp();
        Figure::new(value, value / reach, value * reach, basis.source())
    }

    /// What `best` takes less energy than this.
    pub fn saving(&self, best: &Bill) -> Saving {
        self.saving_of(best, Weights::ENERGY)
    }

    /// What `best` takes less than this, where `weights` say what counts.
    pub fn saving_of(&self, best: &Bill, weights: Weights) -> Saving {
        let mut rest = self.lines.clone();
        for (line, count) in &best.lines {
            *rest.entry(line.clone()).or_default() -= count;
        }
        rest.retain(|_, count| *count != 0);
        let energy_mj: f64 = rest.iter().map(|(l, n)| l.0.cost.energy_mj.value * *n as f64).sum();
        let gap_left = |a: &Bill, b: &Bill| {
            a.gaps.iter().any(|(op, (count, _))| *count > b.gaps.get(op).map_or(0, |(other, _)| *other))
        };
        // What is missing here only adds to what is saved; what is missing there may cost anything.
        let is_open = gap_left(best, self);
        let of = |k: &Kernel| weights.kernel(k);
        let saved: f64 = rest.iter().map(|(l, n)| of(&l.0).0 * *n as f64).sum();
        let is_clear = || saved > SURE_SD * variance(&rest, of).sqrt() || is_clear_ratio(&rest, of);
        let is_sure = !is_open && saved > 0.0 && (is_contained(&rest) || is_clear());
        Saving { energy_mj, is_sure }
    }
}

/// The variance of a sum, or of a difference where counts are below 0, but for what is common to all figures: that turns no
/// difference into its opposite.
fn variance(lines: &BTreeMap<Line, i64>, of: impl Fn(&Kernel) -> (f64, f64)) -> f64 {
    // What each line is off by, and the kernels whose errors are alike.
    let mut alike: BTreeMap<KernelClass, Vec<(&Kernel, f64)>> = BTreeMap::new();
    let mut variance = 0.0;
    for (line, count) in lines {
        let (value, sd) = of(&line.0);
        let value = value * *count as f64;
        variance += (value * CONTEXT_SD).powi(2);
        match &line.0.features {
            Some(features) if line.0.is_estimated => {
                alike.entry(features.class).or_default().push((&line.0, value * sd));
            }
            _ => variance += (value * sd).powi(2),
        }
    }
    for kernels in alike.values() {
        for (i, (a, error_a)) in kernels.iter().enumerate() {
            variance += error_a * error_a;
            for (b, error_b) in kernels.get(i + 1..).unwrap_or_default() {
                if let (Some(a), Some(b)) = (&a.features, &b.features) {
                    variance += 2.0 * error_a * error_b * correlation(a, b);
                }
            }
        }
    }
    variance.max(0.0)
}

/// Whether what is saved is clearly more than what takes its place, by the ratio of the two: errors are relative, so that a wide
/// one of a large figure reaches far up and not as far down. What both have in common only makes the ratio surer.
fn is_clear_ratio(rest: &BTreeMap<Line, i64>, of: impl Fn(&Kernel) -> (f64, f64)) -> bool {
    let part = |sign: i64| -> (f64, f64) {
        let lines: BTreeMap<Line, i64> =
            rest.iter().filter(|(_, n)| **n * sign > 0).map(|(line, n)| (line.clone(), *n * sign)).collect();
        let value: f64 = lines.iter().map(|(l, n)| of(&l.0).0 * *n as f64).sum();
        (value, variance(&lines, &of) / (value * value))
    };
    let ((saved, of_saved), (added, of_added)) = (part(1), part(-1));
    saved > 0.0 && added > 0.0 && (saved / added).ln() > SURE_SD * (of_saved + of_added).sqrt()
}

/// Whether all that is left is saved, or each kernel that takes its place does clearly less of the same, or the work of several smaller
/// ones: a larger kernel uses a GPU no worse than they do.
fn is_contained(rest: &BTreeMap<Line, i64>) -> bool {
    let mut saved: Vec<(&Kernel, i64)> = rest.iter().filter(|(_, n)| **n > 0).map(|(l, n)| (&*l.0, *n)).collect();
    rest.iter().filter(|(_, n)| **n < 0).all(|(line, count)| {
        let mut open = -count;
        while open > 0 && takes_together(&line.0, &mut saved) {
            open -= 1;
        }
        for (kernel, left) in &mut saved {
            if is_less_of_the_same(&line.0, kernel) {
                let taken = open.min(*left);
                *left -= taken;
                open -= taken;
            }
        }
        open == 0
    })
}

/// Whether several smaller kernels in `saved` do at least the work of `kernel` together. If so, takes them out.
fn takes_together(kernel: &Kernel, saved: &mut [(&Kernel, i64)]) -> bool {
    let cost = &kernel.cost;
    let is_part = |other: &Kernel| {
        let does_no_more = other.cost.flops <= cost.flops && other.cost.bytes <= cost.bytes;
        does_no_more && work_alike(kernel, other)
    };
    let (mut parts, mut flops, mut bytes) = (Vec::new(), 0.0, 0.0);
    for (at, (other, left)) in saved.iter().enumerate().filter(|(_, (other, left))| *left > 0 && is_part(other)) {
        let mut taken = 0;
        while taken < *left && (flops < cost.flops || bytes < cost.bytes) {
            taken += 1;
            flops += other.cost.flops;
            bytes += other.cost.bytes;
        }
        parts.push((at, taken));
    }
    let enough = flops >= cost.flops && bytes >= cost.bytes && parts.iter().map(|(_, taken)| taken).sum::<i64>() > 1;
    if enough {
        parts.into_iter().for_each(|(at, taken)| saved[at].1 -= taken);
    }
    enough
}

/// Whether two kernels work in the same way: those of one operator over elements of the same types, or those of one class over operands
/// of the same types and layouts, such as two reductions of the same rows.
fn work_alike(x: &Kernel, y: &Kernel) -> bool {
    let (a, b) = (&x.key, &y.key);
    let dtypes = |key: &KernelKey| key.operands.iter().map(|o| o.ty.dtype).collect::<Vec<_>>();
    let class = |key: &KernelKey| ops::find(&key.op).map(|def| def.kernels);
    let is_one_kernel = || matches!((&x.features, &y.features), (Some(x), Some(y)) if x.is_same_kernel(y));
    let is_one_operator = || a.op == b.op && dtypes(a) == dtypes(b) && (a.attrs == b.attrs || is_one_kernel());
    a.math == b.math && (is_one_operator() || a.operands == b.operands && class(a) == class(b))
}

/// Whether a kernel does clearly less than another one that does the same.
fn is_less_of_the_same(kernel: &Kernel, other: &Kernel) -> bool {
    let is_less = match (&kernel.features, &other.features) {
        (Some(a), Some(b)) if a.is_same_kernel(b) => clearly_less(a, b).iter().any(|[bytes, flops]| {
            kernel.cost.bytes <= bytes * other.cost.bytes && kernel.cost.flops <= flops * other.cost.flops
        }),
        _ => false,
    };
    is_less || leaves_mask_out(kernel, other)
}

/// The shares of the bytes and of the operations of a kernel with which the same one at another size clearly takes less energy. None
/// where no share says so: a smaller reduction may have fewer threads, and of lookups and of enlarged images, 4 to 8 of 100 pairs of
/// the profile of the H200 with a tenth less traffic contradict.
fn clearly_less(kernel: &Features, other: &Features) -> &'static [[f64; 2]] {
    match kernel.class {
        KernelClass::Streaming => &[[A_TENTH_LESS, 1.0]],
        KernelClass::Window if kernel.moves_window() && other.moves_window() => &[[A_TENTH_LESS, 1.0], [1.0, HALF]],
        KernelClass::Product | KernelClass::Pointwise | KernelClass::Convolution if kernel.has_window_of(other) => {
            &[[HALF, HALF]]
        }
        _ => &[],
    }
}

/// Whether a kernel attends to the same as another one, which reads a mask beside: without one it may use the faster kernels that take
/// none.
fn leaves_mask_out(kernel: &Kernel, other: &Kernel) -> bool {
    let (key, masked) = (&kernel.key, &other.key);
    let attends = ops::find(&key.op).is_some_and(|def| matches!(def.elements, Elements::Attention));
    let same = attends && key.op == masked.op && key.math == masked.math;
    same && masked.operands.len() > key.operands.len()
        && masked.operands.starts_with(&key.operands)
        && kernel.cost.flops <= other.cost.flops
        && kernel.cost.bytes <= other.cost.bytes
}

#[cfg(test)]
#[path = "bill_tests.rs"]
mod tests;
