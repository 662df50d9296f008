//! Operators of rule files and their attributes, which have names and no order.

use magneton_ir::ir::{Graph, text};
use magneton_ir::progress::Silent;
use magneton_ir::prove::{Proof, Verdict, prove};
use magneton_ir::rules::{RuleFile, RuleSet};

const LINE: &str = "/// A line through b of the slope a.\nop my.line(x; b, a) =\n    add(mul(x, a), b)\n\ntest my.line { x: f32[2, 3], a=2.0, b=1.0 }\n";

fn graph(body: &str) -> Graph {
    let source = format!("graph g(x: f32[4]) {{\n{body}\nreturn y\n}}\n");
    text::parse("g.mir", &source).unwrap_or_else(|e| panic!("{:?}", miette::Report::new(e)))
}

fn compared(a: &str, b: &str) -> Proof {
    let rules = RuleSet::library().unwrap().with_sources(&[RuleFile::new("line.rules", LINE)]).unwrap();
    prove(&graph(a), &graph(b), &rules, &Silent).unwrap()
}

#[test]
fn attributes_were_bound_by_their_order() {
    let plain = "m = mul(x, 3.0)\ny = add(m, 5.0)";
    let swapped = "m = mul(x, 5.0)\ny = add(m, 3.0)";
    for call in ["b=5.0, a=3.0", "a=3.0, b=5.0"] {
        let call = format!("y = opaque \"my.line\"(x; {call}) -> f32[4]");
        assert!(matches!(compared(&call, plain).verdict, Verdict::Equivalent { .. }), "{call}");
        assert!(matches!(compared(&call, swapped).verdict, Verdict::Different(_)), "{call}");
    }
    let [first, second] = ["a=3.0, b=5.0", "b=5.0, a=3.0"].map(|a| format!("y = opaque \"other\"(x; {a}) -> f32[4]"));
    assert!(matches!(compared(&first, &second).verdict, Verdict::Equivalent { .. }));
}

#[test]
fn a_definition_says_nothing_of_calls_with_other_attributes() {
    let plain = "m = mul(x, 3.0)\ny = add(m, 5.0)";
    for call in ["a=3.0, b=5.0, c=1", "a=3.0", "a=3.0, c=5.0"] {
        let proof = compared(&format!("y = opaque \"my.line\"(x; {call}) -> f32[4]"), plain);
        assert!(matches!(proof.verdict, Verdict::Unknown), "{call}: {:?}", proof.verdict);
        let names: Vec<&str> = call.split(", ").map(|a| a.split('=').next().unwrap()).collect();
        let said = format!("; its definition is for the attributes (a, b), and it has ({})", names.join(", "));
        assert!(proof.binding.assumptions.iter().any(|a| a.ends_with(&said)), "{:?}", proof.binding.assumptions);
    }
}
