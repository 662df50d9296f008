//! Rule files that have to be refused, each with the diagnostic that its author sees.

use std::fmt::Write;
use std::path::Path;

use magneton_ir::rules::check::{Effort, check_from};
use magneton_ir::rules::{RuleError, RuleFile, RuleSet};
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
    insta::glob!("rules/wrong/*.rules", |path| {
        let Err(error) = verdict(path) else { panic!("a wrong rule passed: {}", path.display()) };
        insta::assert_snapshot!(diagnostic(&error));
    });
}

#[test]
fn malformed_rules_are_refused_with_the_place() {
    insta::glob!("rules/malformed/*.rules", |path| {
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
