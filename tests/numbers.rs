//! The pairs under `tests/data/numbers`, which PyTorch exported: programs that compute with the same numbers or with other ones.
//! `NAME.b-same.pt2` computes bit for bit what `NAME.a.pt2` does, `NAME.b-other.pt2` does not; libtorch said so when they were
//! made.

use std::fs;
use std::path::{Path, PathBuf};

use magneton_ir::frontend;
use magneton_ir::prove::{Context, Verdict, bind_graphs, prove_bound};
use magneton_ir::rules::{RuleSet, Tier};

/// Equal pairs that no rule proves; what matters is that they are not called different.
const UNPROVEN: [&str; 2] = ["wrapped-product", "wrapped-sum"];

/// Every pair with that ending of the second file, and its verdict.
fn verdicts(ending: &str) -> Vec<(String, Verdict)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/numbers");
    let rules = RuleSet::library().unwrap();
    let files = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path());
    let pair = |b: PathBuf| {
        let name = b.file_name()?.to_string_lossy().strip_suffix(ending)?.to_owned();
        let [a, b] = [b.with_file_name(format!("{name}.a.pt2")), b].map(|path| frontend::load(path).unwrap());
        let proof = prove_bound(&bind_graphs(a, b, None), &Context::under(&rules)).unwrap();
        Some((name, proof.verdict))
    };
    let mut all: Vec<_> = files.filter_map(pair).collect();
    all.sort_by(|(x, _), (y, _)| x.cmp(y));
    all
}

#[test]
fn the_same_numbers_are_proven_bit_for_bit() {
    let verdicts = verdicts(".b-same.pt2");
    assert!(verdicts.len() > 8, "{}", verdicts.len());
    for (name, verdict) in verdicts {
        let wanted =
            if UNPROVEN.contains(&&*name) { Verdict::Unknown } else { Verdict::Equivalent { tier: Tier::Exact } };
        assert_eq!(verdict, wanted, "{name}");
    }
}

#[test]
fn other_numbers_are_never_proven_equal() {
    let verdicts = verdicts(".b-other.pt2");
    assert!(verdicts.len() >= 20, "{}", verdicts.len());
    for (name, verdict) in verdicts {
        // Over the real numbers there is one zero.
        let zeros = name.starts_with("sign-of-zero");
        let equal = matches!(verdict, Verdict::Equivalent { tier } if tier == Tier::Exact || !zeros);
        assert!(!equal, "{name}: {verdict:?}");
    }
}
