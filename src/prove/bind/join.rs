//! Whether a list is other lists one after another, and in how many ways.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::ir::Digest;

/// Lists by their first element.
pub(super) struct Lists<'l> {
    starts: FxHashMap<Digest, Vec<(usize, &'l [Digest])>>,
}

/// The ways in which a list is made of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ways {
    None,
    /// The numbers of the lists in order.
    One(Vec<usize>),
    Several,
}

/// A part of the list that is joined already.
struct Joined {
    /// Whether there is more than one way.
    several: bool,
    /// The list that ends here, and where it starts.
    last: (usize, usize),
}

impl<'l> Lists<'l> {
    /// Lists with numbers; empty ones are left out.
    pub(super) fn new(lists: impl Iterator<Item = (usize, &'l [Digest])>) -> Lists<'l> {
        let mut starts: FxHashMap<Digest, Vec<(usize, &[Digest])>> = FxHashMap::default();
        for (number, list) in lists {
            if let Some(&first) = list.first() {
                starts.entry(first).or_default().push((number, list));
            }
        }
        Lists { starts }
    }

    /// How `target` is made of these lists, each as often as need be.
    pub(super) fn ways(&self, target: &[Digest]) -> Ways {
        // Honest lists are compared once or a few times; lists made to have the same long starts are given up.
        let mut budget = target.len().saturating_mul(16);
        let mut ends: BTreeMap<usize, Joined> = BTreeMap::new();
        let mut from = Some((0, false));
        let mut done: Vec<(usize, Joined)> = Vec::new();
        while let Some((start, several)) = from {
            let rest = target.get(start..).unwrap_or_default();
            let fitting = rest.first().and_then(|first| self.starts.get(first));
            for &(number, list) in fitting.into_iter().flatten() {
                let Some(left) = budget.checked_sub(list.len().min(rest.len())) else { return Ways::Several };
                budget = left;
                if rest.starts_with(list) {
                    ends.entry(start + list.len())
                        .and_modify(|joined| joined.several = true)
                        .or_insert(Joined { several, last: (number, start) });
                }
            }
            from = ends.pop_first().map(|(end, joined)| {
                let several = joined.several;
                done.push((end, joined));
                (end, several)
            });
        }
        let mut parts = Vec::new();
        let mut end = target.len();
        while end > 0 {
            let Ok(at) = done.binary_search_by_key(&end, |&(end, _)| end) else { return Ways::None };
            let Joined { several, last: (number, start) } = done[at].1;
            if several {
                return Ways::Several;
            }
            parts.push(number);
            end = start;
        }
        parts.reverse();
        if parts.is_empty() { Ways::None } else { Ways::One(parts) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Vec<Digest> {
        text.bytes().map(|b| [b; 16]).collect()
    }

    fn ways(parts: &[&str], target: &str) -> Ways {
        let parts: Vec<Vec<Digest>> = parts.iter().map(|p| list(p)).collect();
        Lists::new(parts.iter().map(Vec::as_slice).enumerate()).ways(&list(target))
    }

    #[test]
    fn a_list_is_found_to_be_others() {
        assert_eq!(ways(&["de", "abc", "f"], "abcdef"), Ways::One(vec![1, 0, 2]));
        assert_eq!(ways(&["abc", "ab"], "abab"), Ways::One(vec![1, 1]));
        // A greedy search takes `abc` first and finds no end.
        assert_eq!(ways(&["abc", "ab", "cd"], "abcd"), Ways::One(vec![1, 2]));
        assert_eq!(ways(&["ab", "cd"], "cdba"), Ways::None);
        assert_eq!(ways(&["ab", "cd"], "abc"), Ways::None);
        assert_eq!(ways(&["ab", ""], ""), Ways::None);
    }

    #[test]
    fn several_ways_are_no_way() {
        assert_eq!(ways(&["ab", "ab"], "ab"), Ways::Several);
        assert_eq!(ways(&["ab", "a", "b", "cd"], "abcd"), Ways::Several);
    }

    #[test]
    fn lists_made_to_be_slow_are_given_up() {
        let target = vec![[0; 16]; 4000];
        let parts: Vec<Vec<Digest>> = (1..2000).map(|n| vec![[0; 16]; n]).collect();
        assert_eq!(Lists::new(parts.iter().map(Vec::as_slice).enumerate()).ways(&target), Ways::Several);
    }
}
