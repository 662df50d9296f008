//! Real exports: they load completely.

use std::path::{Path, PathBuf};

use magneton_ir::frontend::{self, LoadError};
use magneton_ir::ir::{Graph, NodeKind, Role, text};
use miette::{GraphicalReportHandler, GraphicalTheme};

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
fn exports_print_and_parse_again() {
    for path in EXPORTS.map(export).into_iter().chain([data("operators.pt2"), data("operators-decomposed.pt2")]) {
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

fn render(error: &LoadError) -> String {
    let mut text = String::new();
    // Wide, because where a line breaks would depend on the length of the checkout's path.
    let handler = GraphicalReportHandler::new_themed(GraphicalTheme::none()).with_width(1000);
    handler.render_report(&mut text, error).unwrap();
    text.replace(env!("CARGO_MANIFEST_DIR"), "")
}
