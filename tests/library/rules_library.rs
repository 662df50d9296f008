//! The library's own rules pass the gate that users' rules have to pass, and so do other people's axioms.

use std::path::Path;

use magneton_ir::prove::derivation;
use magneton_ir::rules::check::{Effort, Findings, check_from, find, idle_conditions, redundant, run_tests};
use magneton_ir::rules::{RuleError, RuleFile, RuleSet, format};

fn shown(error: RuleError) -> String {
    format!("{:?}", miette::Report::new(error))
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn every_rule_of_the_library_holds_with_and_without_elements() {
    let set = RuleSet::library().map_err(shown).unwrap_or_else(|e| panic!("{e}"));
    let Findings { problems, coverage, .. } = find(&set, 0, Effort::default());
    assert!(problems.is_empty(), "{}", shown(RuleError { problems }));
    let (mut never_empty, mut seldom) = (Vec::new(), Vec::new());
    for rule in coverage {
        if rule.seen.instances < 8 {
            seldom.push(format!("{}: {} instances", rule.name, rule.seen.instances));
        }
        if rule.seen.empty == 0 {
            never_empty.push(rule.name);
        }
    }
    assert!(seldom.is_empty(), "{seldom:?}");
    // Convolutions refuse empty channels, some operators are tried by their tests alone.
    assert!(
        never_empty.len() * 8 < set.describe().len(),
        "{} of {}: {never_empty:?}",
        never_empty.len(),
        set.describe().len()
    );
}

/// No condition of the library is idle and none of its rules follows from others, except where it says so.
#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn the_library_has_no_warnings() {
    let set = RuleSet::library().unwrap();
    let first_of_each_name: Vec<usize> =
        (0..set.rules().len()).filter(|&i| i == 0 || set.rules()[i].name != set.rules()[i - 1].name).collect();
    let mut problems = idle_conditions(&set, &first_of_each_name);
    problems.extend(redundant(&set, &first_of_each_name, derivation));
    assert!(problems.is_empty(), "{}", shown(RuleError { problems }));
}

/// What an author says of a condition or of a rule needs no warning.
#[test]
fn guards_and_shortcuts_are_not_warned_of() {
    let library = RuleSet::library().unwrap();
    let warnings = |tier: &str, clause: &str| {
        let text = format!(
            "/// Four are none.\nrule four [{tier}]:\n    neg(neg(neg(neg(x)))) => x\n    {clause} rank(x) < 3\n"
        );
        let set = library.with_sources(&[RuleFile::new("four.rules", &text)]).map_err(shown).unwrap();
        let added = [library.rules().len()];
        let mut problems = idle_conditions(&set, &added);
        problems.extend(redundant(&set, &added, derivation));
        problems.iter().map(|p| p.code).collect::<Vec<_>>()
    };
    assert_eq!(warnings("exact", "where"), ["rules::idle_condition", "rules::redundant"]);
    assert_eq!(warnings("exact", "guard"), ["rules::redundant"]);
    assert!(warnings("exact, shortcut", "guard").is_empty());
}

#[test]
fn the_tests_of_the_library_pass() {
    let results = run_tests(&RuleSet::library().unwrap(), 0);
    let problems: Vec<_> = results.iter().filter_map(|r| r.problem.clone()).collect();
    assert!(results.len() > 30 && problems.is_empty(), "{}", shown(RuleError { problems }));
}

#[test]
fn the_library_has_the_usual_layout() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("rules");
    for file in folder.read_dir().unwrap() {
        let path = file.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let laid_out = format::format(&RuleFile::new("library", &text)).unwrap();
        assert!(laid_out == text, "run `magneton-ir rules fmt {}`", path.display());
    }
}

/// The axioms of TASO hold; the two that its authors took back are among the wrong rules of `rules_refused`.
#[test]
fn axioms_of_another_optimiser_hold() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rules/axioms/taso.rules");
    let file = RuleFile::new("taso.rules", &std::fs::read_to_string(path).unwrap());
    let set = RuleSet::default().with_sources(&[file]).map_err(shown).unwrap_or_else(|e| panic!("{e}"));
    assert!(set.describe().len() > 45);
    if let Err(error) = check_from(&set, 0, Effort::default()) {
        panic!("{}", shown(error));
    }
}

#[test]
fn a_test_names_what_stands_in_lists() {
    let text = "/// One stride.\nrule conv_of_one_row [exact]:\n    \
                conv1d(x, w; stride=[s], padding=[p], dilation=[1])\n      \
                <=> squeeze(conv2d(unsqueeze(x; dim=2), unsqueeze(w; dim=2); stride=[1, s], padding=[0, p], dilation=[1, 1]); dim=2)\n\n\
                test conv_of_one_row { x: f32[1, 2, 5], w: f32[3, 2, 2], s=2, p=1 }\n\
                test conv_of_one_row { x: f32[1, 2, 5], w: f32[3, 4, 2], s=2, p=1 }\n";
    let set = RuleSet::default().with_sources(&[RuleFile::new("lists.rules", text)]).map_err(shown).unwrap();
    let results = run_tests(&set, 0);
    assert!(results[0].problem.is_none());
    assert_eq!(results[1].problem.as_ref().map(|p| p.code), Some("rules::no_instance"));
}
