//! A small deterministic source of random choices.

use crate::eval::random::mix;

/// Random choices that depend on nothing but a seed.
#[derive(Clone, Debug)]
pub(super) struct Random {
    seed: u64,
    count: u64,
}

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Random { seed, count: 0 }
    }

    pub(super) fn next(&mut self) -> u64 {
        self.count += 1;
        mix(self.seed, self.count)
    }

    /// A number below `n`, or 0 if there is none.
    pub(super) fn below(&mut self, n: usize) -> usize {
        if n == 0 { 0 } else { (self.next() % n as u64) as usize }
    }

    /// True in `percent` of 100 cases.
    pub(super) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of the values.
    pub(super) fn pick<T: Clone>(&mut self, values: &[T]) -> Option<T> {
        values.get(self.below(values.len())).cloned()
    }

    /// The numbers below `n` in random order.
    pub(super) fn shuffled(&mut self, n: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            all.swap(i, self.below(i + 1));
        }
        all
    }
}
