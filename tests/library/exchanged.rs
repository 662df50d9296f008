//! The same question has the same answer: exchanging A and B changes no verdict and no tier.

use std::fs;
use std::path::{Path, PathBuf};

use magneton_ir::frontend;
use magneton_ir::ir::Graph;
use magneton_ir::prove::{Context, Verdict, bind_graphs, prove_bound};
use magneton_ir::rules::RuleSet;
use rayon::prelude::*;

fn corpus(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(folder)
}

/// Every `NAME.a.mir` with every `NAME.b….mir`.
fn pairs_in(folder: &str) -> Vec<[PathBuf; 2]> {
    let mut names: Vec<String> =
        fs::read_dir(corpus(folder)).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    let pair = |name: &String| {
        let stem = name.split(".b").next().filter(|stem| *stem != name)?;
        Some([corpus(folder).join(format!("{stem}.a.mir")), corpus(folder).join(name)])
    };
    names.iter().filter_map(pair).collect()
}

fn answer(a: &Graph, b: &Graph, lines: Option<&str>) -> String {
    let stated = lines.map(|lines| magneton_ir::ir::text::parse_equalities("names", lines, a, b).unwrap());
    let bound = bind_graphs(a.clone(), b.clone(), stated.as_ref());
    match prove_bound(&bound, &Context::under(&RuleSet::library().unwrap())).unwrap().verdict {
        Verdict::Equivalent { tier } => format!("equivalent {tier}"),
        Verdict::Different(_) => "different".to_owned(),
        Verdict::Unknown => "unknown".to_owned(),
    }
}

/// What the pair comes to in this order and in the other one, if that is not the same.
fn changed(files: &[PathBuf; 2], lines: Option<&str>) -> Option<String> {
    let [a, b] = files.each_ref().map(|file| frontend::load(file).unwrap());
    let (there, back) = (answer(&a, &b, lines), answer(&b, &a, lines));
    (there != back).then(|| format!("{}: {there}, exchanged {back}", files[1].display()))
}

fn assert_unchanged(pairs: &[[PathBuf; 2]]) {
    let all: Vec<String> = pairs.par_iter().filter_map(|files| changed(files, None)).collect();
    assert!(all.is_empty(), "{}", all.join("\n"));
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn exchanging_the_sides_changes_no_answer() {
    let every_third: Vec<[PathBuf; 2]> = pairs_in("pairs").into_iter().step_by(3).collect();
    assert!(every_third.len() > 20);
    assert_unchanged(&every_third);
    assert_unchanged(&pairs_in("bugs"));
}

/// Once `unknown` in this order: the side with merged weights led.
#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn exchanging_the_sides_of_an_export_changes_no_answer() {
    let exports = corpus("exports");
    let lines = fs::read_to_string(exports.join("serving.bind")).unwrap();
    let serving = ["serving-merged.pt2", "serving-plain.pt2"].map(|name| exports.join(name));
    let mut all: Vec<String> = [None, Some(lines.as_str())].into_iter().filter_map(|l| changed(&serving, l)).collect();
    for model in ["bert", "distilbert", "gpt2", "llama3-8b-4l", "qwen3", "vit", "whisper"] {
        let files = ["eager", "sdpa"].map(|kind| exports.join(format!("{model}-{kind}.pt2")));
        all.extend(changed(&files, None));
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}
