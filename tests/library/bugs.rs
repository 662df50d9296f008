//! Known bugs between two implementations, as pairs under `corpus/bugs`: each is found different, by a witness that shows, and located.

use std::fs;
use std::path::Path;

use magneton_ir::ir::{Graph, text};
use magneton_ir::progress::Silent;
use magneton_ir::prove::{RegionKind, Verdict, prove};
use magneton_ir::rules::RuleSet;

fn load(path: &Path) -> Graph {
    let source = fs::read_to_string(path).unwrap();
    text::parse(&path.display().to_string(), &source).unwrap_or_else(|e| panic!("{e:?}"))
}

/// The bugs, with the operator of either side to look at first.
const FIRST: [(&str, &str, &str); 8] = [
    ("embedding_scale", "scaled", "norm"),
    ("gelu_kind", "act", "act"),
    ("gqa_heads", "keys", "y"),
    ("logit_softcap", "small", ""),
    ("norm_eps", "y", "y"),
    ("norm_order", "h", "p"),
    ("rotary_pairs", "turned.1", "pairs.2"),
    ("window_mask", "y", "y"),
];

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
    for (name, first) in names.iter().zip(FIRST) {
        let [a, b] = ["a", "b"].map(|side| load(&folder.join(format!("{name}.{side}.mir"))));
        let proof = prove(&a, &b, &rules, &Silent).unwrap();
        let Verdict::Different(w) = &proof.verdict else {
            missed.push(format!("{name}: {:?}", proof.verdict));
            continue;
        };
        let [x, y] = [(&a, w.first_a), (&b, w.first_b)].map(|(g, n)| n.map_or("", |n| &*g.node(n).name));
        let parted = w.region.map(|r| proof.partition.regions[r].kind);
        if (name.as_str(), x, y) != first
            || parted != Some(RegionKind::Divergent)
            || (w.a.to_f64() - w.b.to_f64()).abs() < 1e-6
        {
            missed.push(format!("{name}: {x:?} and {y:?}, {} and {}", w.a, w.b));
        }
    }
    assert!(missed.is_empty(), "no witness, or another place:\n{}", missed.join("\n"));
}
