//! Real exports: they load completely.

use std::path::{Path, PathBuf};

use magneton_ir::frontend;
use magneton_ir::ir::{Graph, NodeKind, Role};

fn export(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/exports").join(name)
}

fn load(name: &str) -> Graph {
    frontend::load(export(name)).unwrap_or_else(|e| panic!("{name}: {:?}", miette::Report::new(e)))
}

const EXPORTS: [&str; 6] = [
    "qwen2-4l-eager.pt2",
    "qwen2-4l-sdpa.pt2",
    "gpt2-eager.pt2",
    "gpt2-sdpa.pt2",
    "llama3-8b-eager.pt2",
    "llama3-8b-sdpa.pt2",
];

#[test]
fn every_operator_of_the_exports_is_known() {
    for name in EXPORTS {
        let graph = load(name);
        let custom: Vec<&str> = frontend::custom_operators(&graph).map(|(_, n)| &*n.name).collect();
        assert!(custom.is_empty(), "{name}: {custom:?}");
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
