//! The interpreter tests of the StableHLO project, evaluated by the reference evaluator. They are no part of this repository:
//! `MAGNETON_CONFORMANCE` names the folder that holds `stablehlo-interpret` and `stablehlo-testdata`. `UPDATE=1` rewrites the
//! table of the documentation.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use magneton_ir::eval::{EvalError, GraphProgram, LazyEvaluator, Options};
use magneton_ir::frontend::stablehlo::{Check, Tests, read_tests};
use magneton_ir::ir::{DType, Graph, NodeKind, Number};
use magneton_ir::ops::Op;

/// What became of one case.
enum Outcome {
    Passed,
    /// An operator or type without counterpart here, by name.
    Unsupported(String),
    Failed(String),
}

#[test]
fn the_reference_evaluator_agrees_with_stablehlo() {
    let Some(folder) = std::env::var_os("MAGNETON_CONFORMANCE").map(PathBuf::from) else {
        eprintln!("skipped: MAGNETON_CONFORMANCE names no folder with conformance cases");
        return;
    };
    let mut report = String::new();
    let mut unsupported: BTreeMap<String, usize> = BTreeMap::new();
    let (mut passed, mut supported) = (0, 0);
    let mut failures = Vec::new();
    for suite in ["stablehlo-interpret", "stablehlo-testdata"] {
        let (mut all, mut good, mut bad) = (0, 0, 0);
        for (name, outcome) in cases(&folder.join(suite)) {
            all += 1;
            match outcome {
                Outcome::Passed => good += 1,
                Outcome::Unsupported(what) => *unsupported.entry(what).or_default() += 1,
                Outcome::Failed(why) => {
                    bad += 1;
                    failures.push((format!("{suite}/{name}"), why));
                }
            }
        }
        assert!(all > 0, "{} holds no cases", folder.join(suite).display());
        passed += good;
        supported += good + bad;
        writeln!(report, "| `{suite}` | {all} | {good} | {bad} | {} |", all - good - bad).unwrap();
    }
    report = format!(
        "| suite | cases | agree | differ | without a counterpart |\n|---|---|---|---|---|\n{report}\n\
         Without a counterpart, by the operation or type that lacks one: {}.\n",
        unsupported.iter().map(|(what, count)| format!("`{what}` {count}")).collect::<Vec<_>>().join(", ")
    );
    if !failures.is_empty() {
        report += "\n| case that differs | why |\n|---|---|\n";
        for (name, why) in &failures {
            writeln!(report, "| `{name}` | {} |", why.replace('|', "\\|")).unwrap();
        }
    }
    println!("{report}");
    assert!(passed * 100 >= supported * 95, "{passed} of {supported} cases agree");
    if std::env::var_os("UPDATE").is_some_and(|v| v == "1") {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/src/stablehlo.md");
        let text = fs::read_to_string(&page).unwrap();
        let (start, end) = ("<!-- conformance -->\n", "<!-- end of conformance -->");
        let (before, rest) = text.split_once(start).expect("the page marks where the table goes");
        let (_, after) = rest.split_once(end).expect("the page marks where the table ends");
        fs::write(&page, format!("{before}{start}{report}{end}{after}")).unwrap();
    }
}

/// Every function that compares values, with what became of it. A file may hold several modules.
fn cases(folder: &Path) -> Vec<(String, Outcome)> {
    let mut files: Vec<PathBuf> = folder.read_dir().into_iter().flatten().map(|e| e.unwrap().path()).collect();
    files.retain(|p| p.extension().is_some_and(|e| e == "mlir"));
    files.sort();
    let mut all = Vec::new();
    for path in files {
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).unwrap();
        for module in text.split("\n// -----") {
            match read_tests(&path, module) {
                Err(error) => all.push((file.clone(), refused(&error.to_string()))),
                Ok(tests) => {
                    for test in tests {
                        let name = test.as_ref().map_or(file.clone(), |t| format!("{file}:{}", t.function));
                        all.push((name, test.map_or_else(|e| refused(&e.to_string()), |t| outcome(&t))));
                    }
                }
            }
        }
    }
    all
}

/// A file that is refused for a type that the IR lacks is without a counterpart; any other refusal is a failure.
fn refused(error: &str) -> Outcome {
    match error.contains("which this tool has no tensors of") {
        true => Outcome::Unsupported("type of an argument".to_owned()),
        false => Outcome::Failed(error.rsplit('/').next().unwrap_or(error).to_owned()),
    }
}

fn outcome(tests: &Tests) -> Outcome {
    if let Some(name) = opaque(&tests.graph) {
        return Outcome::Unsupported(name);
    }
    if tests.uncompared > 0 {
        return Outcome::Unsupported("type of a result".to_owned());
    }
    let program = GraphProgram::new(&tests.graph, 0);
    let options = Options { rounding: true, budget: 1 << 26 };
    let mut evaluator = LazyEvaluator::new(&program, options);
    for (i, check) in tests.checks.iter().enumerate() {
        let [found, wanted] = [2 * i, 2 * i + 1].map(|o| tests.graph.outputs()[o].value);
        let dtype = tests.graph.ty(found).dtype;
        let tensors = evaluator.tensor(found).and_then(|f| Ok((f, evaluator.tensor(wanted)?)));
        let (found, wanted) = match tensors {
            Ok(tensors) => tensors,
            Err(EvalError::NoSemantics(name)) => return Outcome::Unsupported(name),
            Err(error) => return Outcome::Failed(error.to_string()),
        };
        let wrong = found.iter().zip(&wanted).position(|(f, w)| !agree(check, dtype, *f, *w));
        if let Some(at) = wrong {
            return Outcome::Failed(format!("element {at} is {}, not {}", found[at], wanted[at]));
        }
    }
    Outcome::Passed
}

/// The name of an operator of the graph that has no reference semantics.
fn opaque(graph: &Graph) -> Option<String> {
    graph.nodes().find_map(|(_, node)| match &node.kind {
        NodeKind::Op { op: Op::Custom(op), .. } => Some(op.name.clone()),
        _ => None,
    })
}

/// Whether two elements agree as the kind of check wants it.
fn agree(check: &Check, dtype: DType, found: Number, wanted: Number) -> bool {
    let attribute = |key: &str| check.attributes.iter().find(|(name, _)| name == key).map(|(_, value)| *value);
    let (f, w) = (found.to_f64(), wanted.to_f64());
    if found == wanted || f.is_nan() && w.is_nan() || dtype.is_float() && f == w {
        return true;
    }
    match check.kind.trim_end_matches("_const") {
        "expect_almost_eq" => (f - w).abs() <= attribute("tolerance").unwrap_or(0.001),
        "expect_close" => {
            // The reference is evaluated in doubles, and XLA in the type itself: a unit in the last place is that of the type.
            let most = attribute("max_ulp_difference").unwrap_or(3.0);
            let unit = dtype.epsilon().map_or(0.0, |e| e * w.abs().max(f64::MIN_POSITIVE));
            (f - w).abs() <= most * unit
        }
        _ => false,
    }
}
