//! The node tests of the ONNX standard, evaluated by the reference evaluator. The folder that `MAGNETON_CONFORMANCE` names holds
//! cases: `NAME.onnx` beside `NAME.npz` with `in_SET_I`, `out_SET_I`, `rtol` and `atol`. Without it the test says that it was
//! skipped. `MAGNETON_CONFORMANCE_TABLE=FILE` writes what did not pass, with reasons, as a table.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use magneton_ir::arrays::{self, Array};
use magneton_ir::frontend::{self, LoadOptions, custom_operators};
use magneton_ir::ir::DType;
use magneton_ir::run;
use rustc_hash::FxHashMap;

/// The least share of cases that pass, of those whose operators have a counterpart.
const LEAST: f64 = 0.95;

enum Outcome {
    Passed,
    /// The graph has an operator or a type that this tool does not know.
    Without(String),
    Failed(String),
}

struct Npz {
    zip: zip::ZipArchive<File>,
}

impl Npz {
    fn read(&mut self, name: &str, wanted: Option<DType>) -> Option<Array> {
        let member = self.zip.by_name(&format!("{name}.npy")).ok()?;
        Some(arrays::read(member, wanted).unwrap_or_else(|e| panic!("{name}: {e}")))
    }

    fn number(&mut self, name: &str) -> f64 {
        self.read(name, None).map_or(1e-3, |array| array.data[0].to_f64())
    }
}

fn case(path: &Path) -> Outcome {
    let mut npz = Npz { zip: zip::ZipArchive::new(File::open(path.with_extension("npz")).unwrap()).unwrap() };
    let names = match frontend::onnx::inputs(path) {
        Ok(names) => names,
        Err(error) => return Outcome::Failed(error.to_string()),
    };
    for set in 0.. {
        let mut inputs = FxHashMap::default();
        for (position, (name, dtype)) in names.iter().enumerate() {
            if let Some(array) = npz.read(&format!("in_{set}_{position}"), *dtype) {
                inputs.insert(name.clone(), array);
            }
        }
        if npz.zip.by_name(&format!("out_{set}_0.npy")).is_err() {
            return if set == 0 { Outcome::Without("the case holds no tensors".to_owned()) } else { Outcome::Passed };
        }
        match run_set(path, inputs, &mut npz, set) {
            Outcome::Passed => {}
            other => return other,
        }
    }
    Outcome::Passed
}

fn node_op(node: &magneton_ir::ir::Node) -> String {
    match &node.kind {
        magneton_ir::ir::NodeKind::Op { op, .. } => op.name().to_owned(),
        _ => String::new(),
    }
}

/// Reads the model for one set of data, since what shapes depend on is an input in some cases, and runs it.
fn run_set(path: &Path, inputs: FxHashMap<String, Array>, npz: &mut Npz, set: usize) -> Outcome {
    let options = LoadOptions { values: inputs.clone(), ..LoadOptions::default() };
    let mut loaded = match frontend::load_with(path, &options) {
        Ok(loaded) => loaded,
        Err(error) => return Outcome::Without(error.to_string().rsplit("onnx: ").next().unwrap_or("").to_owned()),
    };
    let unknown: Vec<String> = custom_operators(&loaded.graph).map(|(_, node)| node_op(node)).collect();
    if !unknown.is_empty() {
        return Outcome::Without(format!("no counterpart of {}", unknown.join(", ")));
    }
    let outputs = match run::run(&loaded.graph, &mut *loaded.contents, inputs) {
        Ok(outputs) => outputs,
        Err(error) => return Outcome::Failed(format!("{error:?}")),
    };
    let (rtol, atol) = (npz.number("rtol"), npz.number("atol"));
    for (i, (name, found)) in outputs.iter().enumerate() {
        let Some(wanted) = npz.read(&format!("out_{set}_{i}"), Some(found.ty.dtype)) else { continue };
        if wanted.ty != found.ty {
            return Outcome::Failed(format!("`{name}` is {}, not {}", found.ty, wanted.ty));
        }
        let close = |x: f64, y: f64| x == y || x.is_nan() && y.is_nan() || (x - y).abs() <= atol + rtol * y.abs();
        let parted = found.data.iter().zip(&wanted.data).filter(|(x, y)| !close(x.to_f64(), y.to_f64()));
        if let Some((x, y)) = parted.clone().next() {
            let count = parted.count();
            return Outcome::Failed(format!(
                "{count} of {} elements of `{name}` differ, first {x} for {y}",
                wanted.data.len()
            ));
        }
    }
    Outcome::Passed
}

fn cases(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(cases(&path));
        } else if path.extension().is_some_and(|e| e == "onnx") {
            all.push(path);
        }
    }
    all.sort();
    all
}

/// The cases to run, by name; `None` where `MAGNETON_CONFORMANCE` names no folder. `MAGNETON_CONFORMANCE_CASE` is a part of their names.
fn chosen() -> Option<Vec<(String, PathBuf)>> {
    let Some(folder) = std::env::var_os("MAGNETON_CONFORMANCE") else {
        eprintln!("SKIPPED: MAGNETON_CONFORMANCE names no folder with the standard's node tests");
        return None;
    };
    let filter = std::env::var("MAGNETON_CONFORMANCE_CASE").unwrap_or_default();
    let named = |path: PathBuf| (path.file_stem().unwrap().to_string_lossy().into_owned(), path);
    Some(cases(Path::new(&folder)).into_iter().map(named).filter(|(name, _)| name.contains(&filter)).collect())
}

#[test]
fn the_standards_node_tests_pass() {
    let Some(chosen) = chosen() else { return };
    let (mut passed, mut without, mut failed) = (0, BTreeMap::new(), BTreeMap::new());
    for (name, path) in chosen {
        match case(&path) {
            Outcome::Passed => passed += 1,
            Outcome::Without(reason) => drop(without.insert(name, reason)),
            Outcome::Failed(reason) => drop(failed.insert(name, reason)),
        }
    }
    let covered = passed + failed.len();
    let mut table = String::from("| case | reason |\n|---|---|\n");
    for (name, reason) in failed.iter().chain(&without) {
        let _ = writeln!(table, "| `{name}` | {} |", reason.replace('|', "\\|").replace('\n', " "));
    }
    if let Some(file) = std::env::var_os("MAGNETON_CONFORMANCE_TABLE") {
        fs::write(file, &table).unwrap();
    }
    eprintln!("{passed} of {covered} cases pass whose operators have a counterpart; {} have none", without.len());
    assert!(covered > 0, "the folder holds no cases");
    assert!(passed as f64 >= LEAST * covered as f64, "{table}");
}

/// How often each case is changed.
const CHANGES: u64 = 40;

/// Numbers that sizes, axes and attributes are replaced by: limits, and values beside the usual ones.
const NUMBERS: [u8; 8] = [0, 1, 2, 3, 7, 64, 127, 255];

/// Every case again with bytes changed, most of which are sizes, axes, attributes and numbers of operators.
#[test]
fn no_changed_case_does_more_than_fail() {
    let Some(chosen) = chosen() else { return };
    let mut panicked = Vec::new();
    for (name, path) in chosen {
        let whole = fs::read(&path).unwrap();
        if whole.is_empty() {
            continue;
        }
        // A linear congruence is random enough, and the same in every run.
        let mut state = name.bytes().fold(1_u64, |sum, b| sum.wrapping_mul(31).wrapping_add(u64::from(b)));
        let mut draw = |below: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize % below
        };
        for _ in 0..CHANGES {
            let mut changed = whole.clone();
            for _ in 0..=draw(3) {
                let at = draw(changed.len());
                changed[at] = NUMBERS[draw(NUMBERS.len())];
            }
            let read = || drop(frontend::onnx::read(&path, changed.clone(), &LoadOptions::default()));
            if std::panic::catch_unwind(std::panic::AssertUnwindSafe(read)).is_err() {
                if let Some(folder) = std::env::var_os("MAGNETON_CONFORMANCE_KEEP") {
                    fs::write(Path::new(&folder).join(format!("{name}.onnx")), &changed).unwrap();
                }
                panicked.push(name.clone());
                break;
            }
        }
    }
    assert!(panicked.is_empty(), "{} cases: {panicked:?}", panicked.len());
}
