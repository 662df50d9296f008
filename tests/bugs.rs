//! Known bugs between two implementations, as pairs under `corpus/bugs`: each is found different, by a witness that shows.

use std::fs;
use std::path::Path;

use magneton_ir::ir::{Graph, text};
use magneton_ir::progress::Silent;
use magneton_ir::prove::{Verdict, prove};
use magneton_ir::rules::RuleSet;

fn load(path: &Path) -> Graph {
    let source = fs::read_to_string(path).unwrap();
    text::parse(&path.display().to_string(), &source).unwrap_or_else(|e| panic!("{e:?}"))
}

#[test]
fn known_bugs_are_found() {
    let rules = RuleSet::library().unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/bugs");
    let mut names: Vec<String> = fs::read_dir(&folder)
        .unwrap()
        .filter_map(|e| e.unwrap().file_name().to_string_lossy().strip_suffix(".a.mir").map(str::to_owned))
        .collect();
    names.sort();
    assert_eq!(names.len(), 8);
    let mut missed = Vec::new();
    for name in names {
        let [a, b] = ["a", "b"].map(|side| load(&folder.join(format!("{name}.{side}.mir"))));
        match prove(&a, &b, &rules, &Silent).unwrap().verdict {
            Verdict::Different(w) if (w.a - w.b).abs() > 1e-6 => {}
            other => missed.push(format!("{name}: {other:?}")),
        }
    }
    assert!(missed.is_empty(), "no witness for:\n{}", missed.join("\n"));
}
