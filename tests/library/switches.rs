//! What decides between two forms, read off Python sources: files with the lines of both sides marked, half of them with a
//! tempting difference that decides nothing.

use std::fs;
use std::path::{Path, PathBuf};

use magneton_ir::check::compare;
use magneton_ir::energy::CostModel;
use magneton_ir::ir::text::parse;
use magneton_ir::progress::Silent;
use magneton_ir::report::{CallPaths, Region, Switch};
use magneton_ir::rules::{RuleSet, Tier};
use magneton_ir::source::Sources;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/switches")
}

/// Frames of the lines that carry a mark, as the text form has them: innermost first.
fn frames(file: &str, source: &str, marks: &[&str]) -> String {
    let mut found = Vec::new();
    let mut function = "";
    for (number, line) in (1..).zip(source.lines()) {
        if let Some(rest) = line.trim().strip_prefix("def ") {
            function = rest.split('(').next().unwrap_or_default();
        }
        let mark = line.rsplit_once("  # ").map_or("", |(_, mark)| mark);
        if marks.contains(&mark) {
            found.push(format!("{:?}:{number} fn {function:?} code {:?}", format!("switches/{file}"), line.trim()));
        }
    }
    found.reverse();
    found.join(" from ")
}

/// The region in which written-out and fused attention are, called from the marked lines.
fn region(file: &str, source: &str) -> Region {
    let head = "graph g(q: f32[2, 4, 64, 16], k: f32[2, 4, 64, 16], v: f32[2, 4, 64, 16])";
    let [a, b] = [["both", "A"], ["both", "B"]].map(|marks| frames(file, source, &marks));
    let plain = format!(
        "{head} {{ t = permute(k; dims=[0, 1, 3, 2]) s = matmul(q, t) @ {a} m = mul(s, 0.25) @ {a} \
         p = softmax(m; dim=3) @ {a} o = matmul(p, v) @ {a} return o }}"
    );
    let fused = format!("{head} {{ o = sdpa(q, k, v; scale=0.25) @ {b} return o }}");
    let [a, b] = [plain, fused].map(|text| parse(file, &text).unwrap_or_else(|e| panic!("{e:?}\n{text}")));
    let (rules, costs) = (RuleSet::library().unwrap(), CostModel::shipped().unwrap());
    let found = compare(&a, &b, &rules, Tier::Rounding, &costs, &Silent).unwrap().comparison;
    found.regions.into_iter().find(|r| r.a_kinds != r.b_kinds).unwrap()
}

fn switch(paths: &CallPaths, folder: PathBuf) -> Option<Switch> {
    Sources::new(vec![folder]).switch(paths)
}

/// What the head of a file says after `# WORD:`.
fn wanted<'s>(source: &'s str, word: &str) -> Option<&'s str> {
    source.lines().find_map(|line| line.strip_prefix(&format!("# {word}: ")))
}

#[test]
fn marked_files_name_their_switch_and_tempting_ones_none() {
    let (mut named, mut tempting, mut wrong) = (0, 0, Vec::new());
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let source = fs::read_to_string(&path).unwrap();
        let found = switch(&region(&name, &source).cause.paths, folder().parent().unwrap().to_owned());
        let expected = wanted(&source, "switch").unwrap();
        if expected == "none" {
            tempting += 1;
        } else {
            named += 1;
        }
        let text = found.as_ref().map_or("none", |switch| &switch.expression.text);
        let reads = wanted(&source, "reads");
        let variable = found.iter().flat_map(|switch| &switch.variables).find(|v| Some(v.name.as_str()) == reads);
        let set = wanted(&source, "set");
        let is_set = variable.is_some_and(|v| v.set.iter().any(|at| Some(at.text.as_str()) == set));
        if text != expected || expected != "none" && !is_set {
            wrong.push(format!("{name}: {expected} reading {reads:?} set by {set:?} wanted, found {found:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(named >= 10 && tempting >= 12, "{named} {tempting}");
}

#[test]
fn another_version_of_a_file_is_told() {
    let name = "branch-with-two-arms.py";
    let source = fs::read_to_string(folder().join(name)).unwrap();
    let paths = region(name, &source).cause.paths;
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("switches")).unwrap();
    let with = |text: &str| {
        fs::write(root.path().join("switches").join(name), text).unwrap();
        switch(&paths, root.path().to_owned())
    };
    let later = with(&source.replace("class Attention", "SIZE = 3\n\nclass Attention")).unwrap();
    assert!(later.note.is_some_and(|note| note.contains("another version")) && later.expression.line == 13);
    assert_eq!(with(&source.replace("plain(q, k, v)", "plain(q, v, k)")), None, "the recorded line is not there");
    assert_eq!(with("def forward(:\n  ((((("), None);
    assert_eq!(with(""), None);
}

#[test]
fn only_python_files_below_the_folders_are_read() {
    for file in ["../secret.py", "/etc/passwd", "/dev/stdin", "x", "", "/proc/self/mem.py"] {
        let call = magneton_ir::report::Call { file: file.into(), line: 1, function: "f".into(), code: String::new() };
        let paths = CallPaths { common: vec![call], is_clear: true, ..CallPaths::default() };
        assert_eq!(switch(&paths, folder()), None, "{file}");
    }
}
