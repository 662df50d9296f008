//! Names of files and of members of archives for what a graph names.

use rustc_hash::FxHashSet;

/// The longest name of a member.
const LONGEST_NAME: usize = 100;

/// Names of an archive's members: each is the name of a file in one folder on every system, and no two are the same anywhere.
#[derive(Default)]
pub(super) struct Names {
    /// In lower case: some systems do not tell the cases apart.
    taken: FxHashSet<String>,
}

impl Names {
    /// What is added to a name where several arrays make up one value.
    const PARTS: [&str; 7] = ["", ".shape", ".places", ".values", ".index", ".a", ".b"];

    /// A name for what a graph calls `name`: the same where that is safe and free.
    pub(super) fn take(&mut self, name: &str) -> String {
        let plain = plain(name);
        let numbered = (2..).map(|n| format!("{plain}_{n}"));
        let all = |own: &str| Self::PARTS.map(|part| format!("{own}{part}").to_lowercase());
        let free = |own: &String| !all(own).iter().any(|part| self.taken.contains(part));
        let own = std::iter::once(plain.clone()).chain(numbered).find(free).unwrap_or(plain);
        self.taken.extend(all(&own));
        own
    }
}

/// The name with nothing in it that leads out of a folder or that some system refuses.
fn plain(name: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || "_-.".contains(c) { c } else { '_' };
    let mut plain: String = name.chars().take(LONGEST_NAME).map(safe).collect();
    let first = plain.split('.').next().unwrap_or("").to_ascii_uppercase();
    let numbered = |device: &str| first.strip_prefix(device).is_some_and(|n| n.len() == 1 && n != "0");
    let reserved = ["CON", "PRN", "AUX", "NUL"].contains(&&*first) || numbered("COM") || numbered("LPT");
    if reserved || plain.is_empty() || plain.starts_with(['.', '-']) {
        plain.insert(0, '_');
    }
    if plain.ends_with('.') {
        plain.push('_');
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(all: &[&str]) -> Vec<String> {
        let mut names = Names::default();
        all.iter().map(|name| names.take(name)).collect()
    }

    #[test]
    fn names_that_are_safe_stay() {
        assert_eq!(names(&["x", "p_layer.0.weight", "b-1"]), ["x", "p_layer.0.weight", "b-1"]);
    }

    #[test]
    fn names_lead_nowhere_and_suit_every_system() {
        let long = "n".repeat(5000);
        let hostile =
            ["../up", "/etc/x", "a\\b", "..", "", "nul", "Com1.txt", "a:b", "\u{1b}[31m", "é", "-f", "dot.", &long];
        for name in names(&hostile) {
            assert!(!name.is_empty() && name.len() <= LONGEST_NAME + 2, "{name}");
            assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c)), "{name}");
            assert!(!name.starts_with(['.', '-']) && !name.ends_with('.'), "{name}");
        }
        assert_eq!(names(&["nul", "Com1.txt", ".."]), ["_nul", "_Com1.txt", "_.._"]);
    }

    #[test]
    fn no_two_names_are_the_same_and_no_name_is_a_part_of_another_value() {
        let all = ["x", "X", "a/b", "a_b", "a_b_2", "w", "w.shape", "y.values", "y", "", "_"];
        let taken = names(&all);
        let mut members: Vec<String> =
            taken.iter().flat_map(|n| Names::PARTS.map(|part| format!("{n}{part}").to_lowercase())).collect();
        let count = members.len();
        members.sort();
        members.dedup();
        assert_eq!(members.len(), count, "{taken:?}");
        assert_eq!(taken[0], "x");
    }
}
