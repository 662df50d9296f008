//! One semantic change to one operator of a real export: the pair may no longer come out equivalent.

use std::path::Path;

use magneton_ir::frontend;
use magneton_ir::ir::{AttrValue, Graph, NodeId, NodeKind, Value};
use magneton_ir::ops::Op;
use magneton_ir::progress::Silent;
use magneton_ir::prove::{Verdict, prove};
use magneton_ir::rules::RuleSet;

/// A change to a node: other attributes, or other operands. `None` where it does not apply.
struct Mutation {
    name: &'static str,
    op: &'static str,
    /// Which of the operators of that name, counted from the first.
    which: usize,
    change: fn(&mut Vec<AttrValue>, &mut Vec<Value>),
}

fn int(attrs: &mut [AttrValue], at: usize, by: i64) {
    if let AttrValue::Int(v) = &mut attrs[at] {
        *v += by;
    }
}

fn scale(attrs: &mut [AttrValue], at: usize, by: f64) {
    if let AttrValue::Float(v) = &mut attrs[at] {
        v.0 *= by;
    }
}

const MUTATIONS: &[Mutation] = &[
    Mutation { name: "attention scale", op: "sdpa", which: 1, change: |a, _| scale(a, 1, 1.01) },
    Mutation { name: "attention without mask", op: "sdpa", which: 2, change: |_, o| o.truncate(3) },
    Mutation { name: "values for keys", op: "sdpa", which: 0, change: |_, o| o.swap(1, 2) },
    Mutation { name: "keys for queries", op: "sdpa", which: 3, change: |_, o| o.swap(0, 1) },
    Mutation { name: "rotary halves swapped", op: "concat", which: 2, change: |_, o| o.swap(0, 1) },
    Mutation {
        name: "rotary slice off by one",
        op: "slice",
        which: 3,
        change: |a, _| {
            int(a, 1, 1);
            int(a, 2, 1);
        },
    },
    Mutation { name: "cube for square", op: "pow", which: 1, change: |a, _| scale(a, 0, 1.5) },
    Mutation { name: "other epsilon", op: "full", which: 9, change: |a, _| scale(a, 1, 2.0) },
    Mutation { name: "comparison turned round", op: "le", which: 0, change: |_, o| o.swap(0, 1) },
    Mutation {
        name: "position shifted",
        op: "arange",
        which: 0,
        change: |a, _| {
            if let (AttrValue::Float(s), AttrValue::Float(e)) = (a[0].clone(), a[1].clone()) {
                a[0] = AttrValue::float(s.0 + 1.0);
                a[1] = AttrValue::float(e.0 + 1.0);
            }
        },
    },
    Mutation {
        name: "weights of another layer",
        op: "linear",
        which: 7,
        change: |_, o| o[1].node = NodeId::new(o[1].node.index() + 12),
    },
    Mutation { name: "no sign in the rotary embedding", op: "neg", which: 1, change: |_, _| {} },
];

/// The graph with one node changed; `None` if the change is ill-typed or changes nothing.
fn mutated(graph: &Graph, mutation: &Mutation) -> Option<Graph> {
    let target = graph
        .nodes()
        .filter(|(_, n)| matches!(&n.kind, NodeKind::Op { op, .. } if op.name() == mutation.op))
        .nth(mutation.which)
        .map(|(id, _)| id)?;
    let mut out = Graph::new(graph.name.clone());
    for (id, node) in graph.nodes() {
        match &node.kind {
            NodeKind::Input { role } => {
                out.add_input(&node.name, *role, node.types[0].clone(), node.origin.clone());
            }
            NodeKind::Literal(literal) => {
                out.add_literal(&node.name, node.types[0].clone(), literal.data.clone(), node.origin.clone()).ok()?;
            }
            NodeKind::Op { op: Op::Table(def), attrs } => {
                let mut attrs = attrs.to_vec();
                let mut operands = graph.operands(id).to_vec();
                let mut def = *def;
                if id == target {
                    let before = (attrs.clone(), operands.clone());
                    (mutation.change)(&mut attrs, &mut operands);
                    if mutation.op == "neg" {
                        def = magneton_ir::ops::find("alias")?;
                    } else if before == (attrs.clone(), operands.clone()) {
                        return None;
                    }
                }
                let new = out.add_op(&node.name, def, attrs.into(), &operands, node.origin.clone()).ok()?;
                if out.node(new).types != node.types {
                    return None;
                }
            }
            NodeKind::Op { .. } => return None,
        }
    }
    for output in graph.outputs() {
        out.add_output(&output.name, output.value);
    }
    Some(out)
}

#[test]
fn no_mutation_comes_out_equivalent() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/exports");
    let a = frontend::load(folder.join("qwen2-4l-eager.pt2")).unwrap();
    let b = frontend::load(folder.join("qwen2-4l-sdpa.pt2")).unwrap();
    let rules = RuleSet::library().unwrap();
    let mut wrong = Vec::new();
    for mutation in MUTATIONS {
        let Some(changed) = mutated(&b, mutation) else {
            wrong.push(format!("{}: does not apply", mutation.name));
            continue;
        };
        let proof = prove(&a, &changed, &rules, &Silent).unwrap();
        if let Verdict::Equivalent { .. } = proof.verdict {
            wrong.push(format!("{}: proven equivalent", mutation.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
