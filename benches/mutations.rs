//! The mutation campaign: how many single edits of exported models are found to be different.
//!
//!     cargo bench --bench mutations -- [--per-kind N] [--only WORD] [--part I/N] [--list] [--torch] [A.pt2 B.pt2]...
//!
//! Without files, the pairs under `corpus/exports`. Every edit of one side is compared with the untouched other side.
//! `--only` takes the kinds with a word in their name, `--part 2/5` every fifth edit from the second on, so that several
//! processes share the work; `--list` prints what became of every edit. `--torch` (with the feature of that name) runs
//! every witness again under libtorch, both graphs whole and in f64, on a GPU if there is one: see
//! [`magneton_ir::prove::rerun_with_torch`].
#![allow(clippy::unwrap_used, reason = "whoever runs it sees the panic")]

#[path = "../tests/edits/mod.rs"]
mod edits;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;
use std::{env, fs};

use crate::edits::sample;
use magneton_ir::frontend::load;
use magneton_ir::ir::{Graph, text};
use magneton_ir::prove::{BoundPair, Context, Verdict, Witness, bind_graphs, prove_bound};
use magneton_ir::rules::RuleSet;

#[derive(Default)]
struct Count {
    different: usize,
    unknown: usize,
    equivalent: usize,
    seconds: f64,
    slowest: f64,
}

fn main() {
    let mut per_kind = 3;
    let mut list = false;
    let mut torch = false;
    let mut only = String::new();
    let mut part = (1, 1);
    let mut files: Vec<PathBuf> = Vec::new();
    let mut arguments = env::args().skip(1).filter(|a| a != "--bench");
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--per-kind" => per_kind = arguments.next().and_then(|n| n.parse().ok()).expect("a number of edits"),
            "--list" => list = true,
            "--torch" => torch = true,
            "--part" => {
                let stated = arguments.next().and_then(|p| p.split_once('/').map(|(i, n)| (i.parse(), n.parse())));
                part = match stated {
                    Some((Ok(i), Ok(n))) if (1..=n).contains(&i) => (i, n),
                    _ => panic!("a part, such as 2/5"),
                };
            }
            "--only" => only = arguments.next().expect("a word"),
            file => files.push(file.into()),
        }
    }
    if files.is_empty() {
        files = corpus();
    }
    let rules = RuleSet::library().expect("the library's rules");
    let mut kinds: BTreeMap<&str, Count> = BTreeMap::new();
    let mut all = Count::default();
    let mut reruns = Reruns::default();
    for pair in files.chunks_exact(2) {
        let graphs = [&pair[0], &pair[1]].map(|path| load(path).expect("an export"));
        let mut own = Count::default();
        let mut number = 0;
        for (edited, name) in [(1, &pair[1]), (0, &pair[0])] {
            for (mutation, mutant) in sample(&graphs[edited], per_kind) {
                number += 1;
                if !mutation.kind.name.contains(&only) || number % part.1 != part.0 % part.1 {
                    continue;
                }
                let start = Instant::now();
                let bound = bound(&pair[0], &graphs[1 - edited], mutant);
                let proof = prove_bound(&bound, &Context::under(&rules)).expect("two comparable graphs");
                let seconds = start.elapsed().as_secs_f64();
                for count in [&mut own, &mut all, kinds.entry(mutation.kind.name).or_default()] {
                    count.add(&proof.verdict, seconds);
                }
                let verdict = match &proof.verdict {
                    Verdict::Different(witness) if torch => {
                        let start = Instant::now();
                        let found = reruns.add(witness, rerun(&bound, witness));
                        format!("different, {found} under libtorch after {:.1} s", start.elapsed().as_secs_f64())
                    }
                    Verdict::Different(_) => "different".to_owned(),
                    Verdict::Unknown => "unknown".to_owned(),
                    Verdict::Equivalent { .. } => "EQUIVALENT".to_owned(),
                };
                if list {
                    let node = &graphs[edited].node(mutation.node).name;
                    let (kind, file) = (mutation.kind.name, name.display());
                    println!("  {kind} at {node} of {file}: {seconds:.1} s, {verdict}");
                }
            }
        }
        own.print(&pair[0].display().to_string());
    }
    println!();
    for (name, count) in &kinds {
        count.print(name);
    }
    println!();
    all.print("all");
    if torch {
        let Reruns { same, other, failed } = reruns;
        println!("under libtorch: {same} witnesses with the same values, {other} with others, {failed} failed");
    }
}

/// What became of witnesses under libtorch.
#[derive(Default)]
struct Reruns {
    same: usize,
    other: usize,
    failed: usize,
}

impl Reruns {
    /// Counts a witness and says what became of it.
    fn add(&mut self, witness: &Witness, found: Rerun) -> String {
        // Up to rounding, and far nearer than the two sides are to each other.
        let close = |x: f64, y: f64| {
            let tolerance = (1e-6 * x.abs().max(y.abs())).min(1e-3 * witness.max_abs_error);
            x == y || x.is_nan() && y.is_nan() || (x - y).abs() <= tolerance
        };
        match found {
            Ok([a, b]) if close(a, witness.a.to_f64()) && close(b, witness.b.to_f64()) => {
                self.same += 1;
                "the same".to_owned()
            }
            Ok([a, b]) => {
                self.other += 1;
                format!("{a} and {b}, not {} and {},", witness.a, witness.b)
            }
            Err(reason) => {
                self.failed += 1;
                format!("not run ({reason})")
            }
        }
    }
}

/// The values of the witness' element under libtorch.
type Rerun = Result<[f64; 2], String>;

#[cfg(feature = "torch")]
fn rerun(bound: &BoundPair, witness: &Witness) -> Rerun {
    magneton_ir::prove::rerun_with_torch(bound, witness).map_err(|error| error.to_string())
}

#[cfg(not(feature = "torch"))]
fn rerun(_: &BoundPair, _: &Witness) -> Rerun {
    Err("built without the feature `torch`".into())
}

/// Both graphs with their inputs bound: under `NAME.bind`, if that stands beside the exports `NAME-*.pt2`.
fn bound(file: &Path, a: &Graph, b: Graph) -> BoundPair {
    let name = file.file_name().and_then(|n| n.to_str()?.split_once('-')).map_or("", |(name, _)| name);
    let lines = fs::read_to_string(file.with_file_name(format!("{name}.bind"))).ok();
    let stated = lines.map(|lines| text::parse_equalities(name, &lines, a, &b).expect("a binding file"));
    bind_graphs(a.clone(), b, stated.as_ref())
}

impl Count {
    fn add(&mut self, verdict: &Verdict, seconds: f64) {
        match verdict {
            Verdict::Different(_) => self.different += 1,
            Verdict::Unknown => self.unknown += 1,
            Verdict::Equivalent { .. } => self.equivalent += 1,
        }
        self.seconds += seconds;
        self.slowest = self.slowest.max(seconds);
    }

    fn print(&self, name: &str) {
        let total = (self.different + self.unknown + self.equivalent).max(1);
        println!(
            "{name:48} {:4} different {:4} unknown {:3} equivalent  {:5.1} %  mean {:.2} s, at most {:.2} s",
            self.different,
            self.unknown,
            self.equivalent,
            100.0 * self.different as f64 / total as f64,
            self.seconds / total as f64,
            self.slowest,
        );
    }
}

/// The pairs of exports, eager before sdpa.
fn corpus() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/exports");
    let mut files: Vec<PathBuf> = folder
        .read_dir()
        .expect("the corpus")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "pt2"))
        .collect();
    files.sort();
    files
}
