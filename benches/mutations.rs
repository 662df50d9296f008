//! The mutation campaign: how many single edits of exported models are found to be different.
//!
//!     cargo bench --bench mutations -- [--per-kind N] [--list] [A.pt2 B.pt2]...
//!
//! Without files, the pairs under `corpus/exports`. Every edit of one side is compared with the untouched other side.
//! `--list` names the edits that are not found.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};
use std::time::Instant;

use magneton_ir::frontend::load;
use magneton_ir::mutate::sample;
use magneton_ir::progress::Silent;
use magneton_ir::prove::{Verdict, prove};
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
    let mut files: Vec<PathBuf> = Vec::new();
    let mut arguments = env::args().skip(1).filter(|a| a != "--bench");
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--per-kind" => per_kind = arguments.next().and_then(|n| n.parse().ok()).expect("a number of edits"),
            "--list" => list = true,
            file => files.push(file.into()),
        }
    }
    if files.is_empty() {
        files = corpus();
    }
    let rules = RuleSet::library().expect("the library's rules");
    let mut kinds: BTreeMap<&str, Count> = BTreeMap::new();
    let mut all = Count::default();
    for pair in files.chunks_exact(2) {
        let graphs = [&pair[0], &pair[1]].map(|path| load(path).expect("an export"));
        let mut own = Count::default();
        for (edited, name) in [(1, &pair[1]), (0, &pair[0])] {
            for (mutation, mutant) in sample(&graphs[edited], per_kind) {
                let start = Instant::now();
                let (a, b) = (&graphs[1 - edited], &mutant);
                let proof = prove(a, b, &rules, &Silent).expect("two comparable graphs");
                let seconds = start.elapsed().as_secs_f64();
                for count in [&mut own, &mut all, kinds.entry(mutation.kind.name).or_default()] {
                    count.add(&proof.verdict, seconds);
                }
                if list && !matches!(proof.verdict, Verdict::Different(_)) {
                    let node = &graphs[edited].node(mutation.node).name;
                    let verdict = if proof.verdict == Verdict::Unknown { "unknown" } else { "EQUIVALENT" };
                    println!("  {verdict} {seconds:.1} s: {} at {node} of {}", mutation.kind.name, name.display());
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
