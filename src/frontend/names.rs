//! Unique node names.

use rustc_hash::{FxHashMap, FxHashSet};

/// Names that are taken, or that the file will need later.
#[derive(Clone, Default)]
pub(super) struct Names {
    taken: FxHashSet<String>,
    /// The last number tried after a name that was taken, so that a thousand clashes take no million tries.
    last: FxHashMap<String, usize>,
}

impl Names {
    /// Takes `name`; false if it was taken.
    pub(super) fn take(&mut self, name: &str) -> bool {
        self.taken.insert(name.to_owned())
    }

    /// Takes `name`, or the first free name that adds a number to it.
    pub(super) fn fresh(&mut self, name: &str) -> String {
        if self.take(name) {
            return name.to_owned();
        }
        let last = self.last.entry(name.to_owned()).or_default();
        loop {
            *last += 1;
            let candidate = format!("{name}.{last}");
            if self.taken.insert(candidate.clone()) {
                return candidate;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fresh_names_differ() {
        let mut names = Names::default();
        assert!(names.take("x"));
        assert_eq!(names.fresh("x"), "x.1");
        assert_eq!(names.fresh("x"), "x.2");
        assert!(!names.take("x.2"));
    }
}
