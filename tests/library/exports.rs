//! Real exports: they load completely, and eager attention is proven equal to fused attention.

use std::path::{Path, PathBuf};

use magneton_ir::frontend::{self, LoadError};
use magneton_ir::ir::{Graph, Node, NodeKind, Role, text};
use magneton_ir::progress::Silent;
use magneton_ir::prove::{Proof, Verdict, prove};
use magneton_ir::rules::{RuleSet, Tier};
use miette::{GraphicalReportHandler, GraphicalTheme};
use rayon::prelude::*;

fn export(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/exports").join(name)
}

fn load(name: &str) -> Graph {
    frontend::load(export(name)).unwrap_or_else(|e| panic!("{name}: {:?}", miette::Report::new(e)))
}

/// The models under `corpus/exports`, each exported with eager and with fused attention.
fn models() -> Vec<String> {
    let files = std::fs::read_dir(export("")).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    let mut models: Vec<String> = files.filter_map(|f| f.strip_suffix("-eager.pt2").map(str::to_owned)).collect();
    models.sort();
    models
}

fn exports() -> impl Iterator<Item = String> {
    models().into_iter().flat_map(|m| [format!("{m}-eager.pt2"), format!("{m}-sdpa.pt2")])
}

/// Explicit operators: what the file lists.
fn operators(graph: &Graph) -> usize {
    graph.operators().filter(|(_, n)| !n.origin.implicit).count()
}

fn proof(a: &Graph, b: &Graph) -> Proof {
    prove(a, b, &RuleSet::library().unwrap(), &Silent).unwrap()
}

/// One line per model: sizes, what is proven of it, and what that rests on.
#[test]
fn eager_and_fused_attention_are_proven_equal() {
    let mut table = Vec::new();
    for model in models() {
        let (a, b) = (load(&format!("{model}-eager.pt2")), load(&format!("{model}-sdpa.pt2")));
        let proof = proof(&a, &b);
        let Verdict::Equivalent { tier } = proof.verdict else {
            panic!("{model}: {:?}, unproven: {:?}", proof.verdict, proof.unproven)
        };
        assert!(tier <= Tier::Rounding, "{model}: {tier}");
        assert_eq!(proof.covered(&a, &b), (operators(&a), operators(&b)), "{model}");
        table.push(format!(
            "{model}: {} and {} operators, {tier}; {}",
            operators(&a),
            operators(&b),
            proof.assumed.join("; ")
        ));
    }
    insta::assert_snapshot!(table.join("\n"));
}

/// `text` with `edit` made to the last number behind `key` that it applies to.
fn with_last_number(text: &str, key: &str, edit: impl Fn(f64) -> Option<f64>) -> Option<String> {
    text.rmatch_indices(key).find_map(|(at, _)| {
        let start = at + key.len();
        let length = text[start..].find([',', ')'])?;
        let edited = edit(text[start..start + length].trim().parse().ok()?)?;
        Some(format!("{}{edited:?}{}", &text[..start], &text[start + length..]))
    })
}

/// An encoder and a decoder; a proof that fails takes longer than one that is found.
const CHANGED: [&str; 2] = ["vit", "mistral"];

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_changed_scale_or_epsilon_is_not_proven() {
    CHANGED.into_par_iter().for_each(|model| {
        let (a, b) = (load(&format!("{model}-eager.pt2")), load(&format!("{model}-sdpa.pt2")));
        let printed = text::print(&b);
        let larger = |e: f64| (0.0 < e && e < 1e-3).then_some(e * 100.0);
        let scale = with_last_number(&printed, "scale=", |s| Some(s * 1.01));
        let epsilon = with_last_number(&printed, "eps=", larger)
            .or_else(|| with_last_number(&printed, "value=", larger))
            // The usual epsilon is not written.
            .or_else(|| {
                let start = printed.rfind("normalized_shape=[")?;
                let end = start + printed[start..].find(']')? + 1;
                Some(format!("{}, eps=1e-3{}", &printed[..end], &printed[end..]))
            });
        for (what, edited) in [("scale", scale), ("epsilon", epsilon)] {
            let edited = edited.unwrap_or_else(|| panic!("{model} has no {what}"));
            assert!(edited != printed, "{model}: the {what} did not change");
            let edited = text::parse("edited", &edited).unwrap_or_else(|e| panic!("{model}: {e:?}"));
            let verdict = proof(&a, &edited).verdict;
            assert!(!matches!(verdict, Verdict::Equivalent { .. }), "{model} with another {what}");
        }
    });
}

#[test]
fn every_operator_of_the_exports_is_known() {
    for name in exports() {
        let graph = load(&name);
        // Memory that nothing has written yet has no value; rules show that none is read.
        let unwritten = |n: &Node| matches!(&n.kind, NodeKind::Op { op, .. } if op.name().starts_with("aten.empty"));
        let custom = frontend::custom_operators(&graph).filter(|(_, n)| !unwritten(n)).map(|(_, n)| &*n.name);
        assert_eq!(custom.collect::<Vec<&str>>(), [""; 0], "{name}");
    }
}

#[test]
fn exports_print_and_parse_again() {
    for path in exports().map(|name| export(&name)).chain([data("operators.pt2"), data("operators-decomposed.pt2")]) {
        let graph = frontend::load(&path).unwrap();
        let printed = text::print(&graph);
        let again = text::parse("printed", &printed).unwrap_or_else(|e| panic!("{path:?}: {e:?}"));
        assert_eq!(text::print(&again), printed, "{path:?}");
        assert_eq!(again.operators().count(), graph.operators().count(), "{path:?}");
    }
}

#[test]
fn inputs_carry_the_names_of_the_model() {
    let graph = load("gpt2-eager.pt2");
    let find = |name: &str| graph.nodes().map(|(_, n)| n).find(|n| &*n.name == name).map(|n| n.kind.clone());
    assert_eq!(find("transformer.h.0.ln_1.weight"), Some(NodeKind::Input { role: Role::Parameter }));
    assert_eq!(find("input_ids"), Some(NodeKind::Input { role: Role::User }));
    let qwen = load("qwen2-4l-eager.pt2");
    let buffer = qwen.nodes().find(|(_, n)| &*n.name == "model.rotary_emb.inv_freq").map(|(_, n)| n.kind.clone());
    assert_eq!(buffer, Some(NodeKind::Input { role: Role::Buffer }));
}

/// Archives of torch 2.5 have another layout than those of torch 2.11.
#[test]
fn an_old_and_a_new_version_export_the_same_model_with_its_weights() {
    let [old, new] = ["torch-2.5.pt2", "torch-2.11.pt2"].map(|name| frontend::load(data(name)).unwrap());
    let proof = prove(&old, &new, &RuleSet::library().unwrap(), &Silent).unwrap();
    assert_eq!(proof.verdict, Verdict::Equivalent { tier: Tier::Exact });
    assert_eq!(proof.covered(&old, &new), (old.operators().count(), new.operators().count()));
}

/// Where the directory's entries are as long as the records behind it, the archive still starts at the start of its file.
#[test]
fn an_entry_as_long_as_the_zip64_records_hides_no_other() {
    let graph = frontend::load(data("entry-as-long-as-zip64-records.pt2")).unwrap();
    assert!(graph.nodes().any(|(_, n)| &*n.name == "bn.running_mean"));
}

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// The opaque operators of the export, or the diagnostic.
fn outcome(name: &str) -> String {
    match frontend::load(data(name)) {
        Ok(graph) => {
            let mut custom: Vec<&str> = frontend::custom_operators(&graph)
                .filter_map(|(_, n)| match &n.kind {
                    NodeKind::Op { op, .. } => Some(op.name()),
                    _ => None,
                })
                .collect();
            custom.sort_unstable();
            custom.dedup();
            format!("{} operators, opaque: {}", graph.operators().count(), custom.join(" "))
        }
        Err(error) => render(&error),
    }
}

#[test]
fn the_op_table_covers_common_operators() {
    insta::assert_snapshot!(outcome("operators.pt2"));
    insta::assert_snapshot!(outcome("operators-decomposed.pt2"));
}

#[test]
fn special_programs() {
    let names = [
        "in-place-on-view",
        "in-place-seen-through-view",
        "in-place-on-input",
        "in-place-on-buffer",
        "random",
        "no-grad",
        "autocast",
        "complex-numbers",
        "dynamic",
    ];
    let all: Vec<String> = names.iter().map(|n| format!("{n}:\n{}", outcome(&format!("{n}.pt2")))).collect();
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn a_custom_operator_that_writes_its_arguments_is_read_as_what_it_writes() {
    insta::assert_snapshot!(outcome("functionalised.pt2"));
}

fn render(error: &LoadError) -> String {
    let mut text = String::new();
    // Wide, because where a line breaks would depend on the length of the checkout's path.
    let handler = GraphicalReportHandler::new_themed(GraphicalTheme::none()).with_width(1000);
    handler.render_report(&mut text, error).unwrap();
    text.replace(env!("CARGO_MANIFEST_DIR"), "")
}
