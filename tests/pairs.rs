//! The pairs under `corpus/pairs` are what they claim to be: all parse, and every wrong variant has the types of the right one.

use std::path::PathBuf;

use magneton_ir::ir::{Graph, text};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("corpus/pairs")
}

fn read(file: &str) -> Graph {
    let source = std::fs::read_to_string(folder().join(file)).unwrap();
    text::parse(file, &source).unwrap_or_else(|e| panic!("{:?}", miette::Report::new(e)))
}

/// Name, and the names of the wrong variants' files.
fn pairs() -> Vec<(String, Vec<String>)> {
    let mut files: Vec<String> =
        folder().read_dir().unwrap().map(|f| f.unwrap().file_name().into_string().unwrap()).collect();
    files.sort();
    let names = files.iter().filter_map(|f| f.strip_suffix(".a.mir"));
    let wrong = |name: &str| files.iter().filter(|f| f.starts_with(&format!("{name}.b-wrong-"))).cloned().collect();
    names.map(|n| (n.to_owned(), wrong(n))).collect()
}

/// What both sides of a pair have to share: the inputs, and the types of the outputs.
fn interface(graph: &Graph) -> (Vec<String>, Vec<String>) {
    let input = |&id| format!("{} {:?} {}", graph.node(id).name, graph.node(id).kind, graph.ty(id.into()));
    let outputs = graph.outputs().iter().map(|o| graph.ty(o.value).to_string());
    (graph.inputs().iter().map(input).collect(), outputs.collect())
}

#[test]
fn sides_share_their_interface() {
    let pairs = pairs();
    assert!(pairs.len() >= 9);
    for (name, wrong) in pairs {
        let a = read(&format!("{name}.a.mir"));
        for other in std::iter::once(format!("{name}.b.mir")).chain(wrong.iter().cloned()) {
            let b = read(&other);
            assert_eq!(interface(&a), interface(&b), "{other}");
        }
        for kind in ["constant", "axis", "sign", "operand"] {
            assert!(wrong.contains(&format!("{name}.b-wrong-{kind}.mir")), "{name} has no variant with a wrong {kind}");
        }
    }
}
