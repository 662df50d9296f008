//! The published cases under `corpus/cases`: every pair of every `case.toml` gets the verdict, tier and cause that stand there.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use magneton_ir::check::compare;
use magneton_ir::energy::CostModel;
use magneton_ir::frontend;
use magneton_ir::ir::Graph;
use magneton_ir::progress::Silent;
use magneton_ir::report::{Comparison, ReportedVerdict};
use magneton_ir::rules::{RuleSet, Tier};
use serde::Deserialize;

/// A published case, and what comparing its sides has to give.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// The number of the published table; the folder has its name.
    id: String,
    /// The project and the number of the issue.
    name: String,
    system: String,
    kind: String,
    status: Status,
    facts: String,
    /// Why the case is open.
    reason: Option<String>,
    paper: Option<Paper>,
    #[serde(default)]
    pair: Vec<Pair>,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Status {
    Closed,
    Open,
}

/// The published figure.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Paper {
    /// A fraction of what `of` says.
    saving: f64,
    of: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Pair {
    a: String,
    b: String,
    verdict: String,
    tier: Option<String>,
    /// The error of the outputs that is accepted, `inf` for one of each step; without one, none beyond rounding.
    error: Option<f64>,
    /// The side that costs less by its work counts, where they decide.
    cheaper: Option<String>,
    /// Kinds of cause over all regions whose sides compute something and are not the same; not compared where it is left out.
    causes: Option<Vec<String>>,
    /// The flag that some region's cause names.
    flag: Option<String>,
    /// A text that some assumption of the report contains.
    assumes: Option<String>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/cases")
}

fn cases() -> Vec<(PathBuf, Case)> {
    let mut folders: Vec<PathBuf> = fs::read_dir(folder()).unwrap().map(|e| e.unwrap().path()).collect();
    folders.sort();
    let read = |dir: PathBuf| {
        let file = dir.join("case.toml");
        let source = fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let case = toml::from_str(&source).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        (dir, case)
    };
    folders.into_iter().map(read).collect()
}

fn load(path: &Path) -> Graph {
    frontend::load(path).unwrap_or_else(|e| panic!("{:?}", miette::Report::new(e)))
}

/// What the comparison found against what the case wants, one line for each that differs.
fn misses(pair: &Pair, found: &Comparison) -> Vec<String> {
    let mut misses = Vec::new();
    let mut miss = |what: &str, wanted: &str, got: &str| {
        if wanted != got {
            misses.push(format!("{what}: {wanted} wanted, {got} found"));
        }
    };
    let verdict = match found.verdict {
        ReportedVerdict::Equivalent => "equivalent",
        ReportedVerdict::Different => "different",
        ReportedVerdict::Unknown => "unknown",
    };
    miss("verdict", &pair.verdict, verdict);
    miss("tier", pair.tier.as_deref().unwrap_or("none"), found.tier.as_deref().unwrap_or("none"));
    let apart: Vec<_> = found.regions.iter().filter(|r| r.cause.kind != "same" && r.cause.kind != "constant").collect();
    if let Some(causes) = &pair.causes {
        let wanted: BTreeSet<&str> = causes.iter().map(String::as_str).collect();
        let got: BTreeSet<&str> = apart.iter().map(|r| r.cause.kind.as_str()).collect();
        miss("causes", &format!("{wanted:?}"), &format!("{got:?}"));
    }
    if let Some(flag) = &pair.flag {
        let got = found.regions.iter().find_map(|r| r.cause.flag.as_deref());
        miss("flag", flag, got.unwrap_or("none"));
    }
    if let Some(text) = &pair.assumes {
        let got = found.assumptions.iter().any(|a| a.contains(text.as_str()));
        miss("assumption", text, if got { text } else { "none" });
    }
    if let Some(side) = &pair.cheaper {
        let sum = |of: fn(&magneton_ir::report::Region) -> (f64, f64)| {
            found.regions.iter().map(of).fold((0.0, 0.0), |(b, f), (x, y)| (b + x, f + y))
        };
        let (a, b) = (sum(|r| (r.a.bytes, r.a.flops)), sum(|r| (r.b.bytes, r.b.flops)));
        let got = match (b.0 < a.0 && b.1 <= a.1, a.0 < b.0 && a.1 <= b.1) {
            (true, _) => "b",
            (_, true) => "a",
            _ => "neither by work counts",
        };
        miss("cheaper", side, got);
    }
    misses
}

#[test]
fn every_published_case_is_judged_as_its_file_says() {
    let rules = RuleSet::library().unwrap();
    let costs = CostModel::shipped().unwrap();
    let mut wrong = Vec::new();
    for (dir, case) in cases() {
        for pair in &case.pair {
            let (a, b) = (load(&dir.join(&pair.a)), load(&dir.join(&pair.b)));
            let accepted = pair.error.map_or(Tier::Rounding, |e| Tier::Approx(e.into()));
            let found = compare(&a, &b, &rules, accepted, &costs, &Silent).unwrap().comparison;
            for miss in misses(pair, &found) {
                wrong.push(format!("{} {} {}: {miss}", case.id, pair.a, pair.b));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_cases_are_complete() {
    let all = cases();
    for (dir, case) in &all {
        assert_eq!(dir.file_name().unwrap().to_str().unwrap(), case.id);
        assert!(!case.name.is_empty() && !case.system.is_empty() && !case.kind.is_empty() && !case.facts.is_empty());
        let open = case.status == Status::Open;
        assert_eq!(open, case.reason.is_some(), "{}: an open case says why, a closed one has nothing to say", case.id);
        assert_eq!(open, !case.pair.iter().any(|p| p.verdict == "equivalent"), "{}", case.id);
        if let Some(paper) = &case.paper {
            assert!(paper.saving > 0.0 && paper.saving < 1.0 && !paper.of.is_empty());
        }
    }
}
