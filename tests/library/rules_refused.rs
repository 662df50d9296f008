//! Rule files that have to be refused, each with the diagnostic that its author sees.

use std::fmt::Write;
use std::path::Path;

use magneton_ir::rules::check::{Effort, check_from, find};
use magneton_ir::rules::{Problem, RuleError, RuleFile, RuleSet};
use miette::{GraphicalReportHandler, GraphicalTheme};

fn diagnostic(error: &RuleError) -> String {
    let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor()).with_width(110);
    let mut text = String::new();
    for problem in &error.problems {
        handler.render_report(&mut text, problem).unwrap();
        writeln!(text).unwrap();
    }
    text
}

fn verdict(path: &Path) -> Result<(), RuleError> {
    let library = RuleSet::library()?;
    let name = path.file_name().unwrap().to_str().unwrap();
    let file = RuleFile::new(name, &std::fs::read_to_string(path).unwrap());
    let set = library.with_sources(&[file])?;
    check_from(&set, library.rules().len(), Effort { attempts: 20_000, ..Effort::default() })
}

#[test]
fn wrong_rules_are_refused_with_a_counterexample() {
    insta::glob!("../rules/wrong", "*.rules", |path| {
        let Err(error) = verdict(path) else { panic!("a wrong rule passed: {}", path.display()) };
        insta::assert_snapshot!(diagnostic(&error));
    });
}

/// Rules that are wrong only far from what programs usually have: at limits of types, for attributes that nobody has, at a
/// number that the rule names, among equal elements. Each has to be refused for what its instances give.
#[test]
fn rules_that_are_wrong_far_out_are_refused() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rules/refused");
    let library = RuleSet::library().unwrap();
    let mut tried = 0;
    for file in folder.read_dir().unwrap() {
        let path = file.unwrap().path();
        let file = RuleFile::new("far_out.rules", &std::fs::read_to_string(&path).unwrap());
        let set = library.with_sources(&[file]).unwrap_or_else(|e| panic!("{}", diagnostic(&e)));
        let found = find(&set, library.rules().len(), Effort::default());
        let refused = |name: &str| {
            let about = |p: &&Problem| p.message.contains(&format!("`{name}`"));
            found.problems.iter().find(about).map(|p| p.code)
        };
        for rule in &set.rules()[library.rules().len()..] {
            let code = refused(&rule.name);
            assert!(code.is_some(), "{} passes, in {}", rule.name, path.display());
            assert_ne!(code, Some("rules::never_exercised"), "{} is not tried, in {}", rule.name, path.display());
            tried += 1;
        }
    }
    assert!(tried > 120, "{tried} rules");
}

#[test]
fn malformed_rules_are_refused_with_the_place() {
    insta::glob!("../rules/malformed", "*.rules", |path| {
        let Err(error) = verdict(path) else { panic!("a malformed rule passed: {}", path.display()) };
        assert!(error.problems.iter().all(|p| p.span.is_some()));
        insta::assert_snapshot!(diagnostic(&error));
    });
}

#[test]
fn products_with_one_operand_are_one_product() {
    let text = "/// Two products with one operand are one product.\nrule shared_operand [real]:\n    \
                { matmul(x, a), matmul(x, b) }\n      \
                => { slice(matmul(x, concat([a, b]; dim=1)); dim=1, start=0, end=n), \
                slice(matmul(x, concat([a, b]; dim=1)); dim=1, start=n, end=n+m) }\n    \
                where rank(x) == 2, rank(a) == 2, rank(b) == 2\n    let n = dim(a, 1), m = dim(b, 1)\n";
    let set = RuleSet::default().with_sources(&[RuleFile::new("roots.rules", text)]).unwrap();
    assert_eq!(set.rules().len(), 2);
    check_from(&set, 0, Effort::default()).unwrap_or_else(|e| panic!("{}", diagnostic(&e)));
}
