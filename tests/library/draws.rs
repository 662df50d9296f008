//! Calls whose results nothing determines: those of both sides are taken to give the same, one by one.

use magneton_ir::ir::{Graph, text};
use magneton_ir::progress::Silent;
use magneton_ir::prove::{Proof, Verdict, prove};
use magneton_ir::rules::{RuleSet, Tier};

fn graph(body: &str) -> Graph {
    let source = format!("graph g(x: f32[4]) {{\n{body}\nreturn y\n}}\n");
    text::parse("g.mir", &source).unwrap_or_else(|e| panic!("{:?}", miette::Report::new(e)))
}

fn compared(a: &str, b: &str) -> Proof {
    prove(&graph(a), &graph(b), &RuleSet::library().unwrap(), &Silent).unwrap()
}

const DRAWN: &str = "e = empty(; shape=[4], dtype=f32)\nf = empty(; shape=[4], dtype=f32)\n";
const NOISE: &str =
    "e = opaque \"aten.rand\"(; size=[4], draw=0) -> f32[4]\nf = opaque \"aten.rand\"(; size=[4], draw=1) -> f32[4]\n";

#[test]
fn a_program_that_draws_was_not_equal_to_itself() {
    for drawn in [DRAWN, NOISE] {
        let body = format!("{drawn}d = sub(e, f)\ny = opaque \"kernel\"(x, d) -> f32[4]");
        let proof = compared(&body, &body);
        assert!(matches!(proof.verdict, Verdict::Equivalent { tier: Tier::Exact }), "{:?}", proof.verdict);
        let said = if drawn == DRAWN {
            "memory that nothing has written holds the same on both sides"
        } else {
            "random generators are in the same state on both sides"
        };
        assert!(proof.binding.assumptions.iter().any(|a| a == said), "{:?}", proof.binding.assumptions);
    }
}

#[test]
fn draws_of_one_side_differ() {
    for drawn in [DRAWN, NOISE] {
        let (one, zero) = (format!("{drawn}d = sub(e, f)\ny = add(x, d)"), "y = add(x, 0.0)");
        let turned = format!("{drawn}d = sub(f, e)\ny = add(x, d)");
        let twice = format!("{drawn}d = sub(e, e)\ny = add(x, d)");
        for other in [zero, &turned, &twice] {
            let verdict = compared(&one, other).verdict;
            assert!(!matches!(verdict, Verdict::Equivalent { .. }), "{other}: {verdict:?}");
        }
    }
}

#[test]
fn generators_are_in_other_states_after_other_calls() {
    let call = |before: &str| format!("{before}e = opaque \"aten.rand\"(; size=[4], draw=1) -> f32[4]\ny = add(x, e)");
    let other = "d = opaque \"aten.randn\"(; size=[4], draw=0) -> f32[4]\n";
    let dropped = "d = opaque \"aten.bernoulli\"(x; draw=0) -> f32[4]\n";
    for (a, b) in [("", other), (other, dropped)] {
        let verdict = compared(&call(a), &call(b)).verdict;
        assert!(!matches!(verdict, Verdict::Equivalent { .. }), "{verdict:?}");
    }
    for before in [other, dropped] {
        let verdict = compared(&call(before), &call(before)).verdict;
        assert!(matches!(verdict, Verdict::Equivalent { .. }), "{verdict:?}");
    }
}

#[test]
fn draws_of_other_kinds_are_not_shared() {
    let call = |e: &str| format!("e = {e}\ny = add(x, e)");
    let own = call("opaque \"aten.rand\"(; size=[4], draw=0) -> f32[4]");
    for other in ["empty(; shape=[4], dtype=f32)", "opaque \"aten.randn\"(; size=[4], draw=0) -> f32[4]"] {
        assert!(!matches!(compared(&own, &call(other)).verdict, Verdict::Equivalent { .. }), "{other}");
    }
    let noise = |p: &str| format!("p = {p}\ne = opaque \"aten.bernoulli\"(p; draw=0) -> f32[4]\ny = add(x, e)");
    let verdict = compared(&noise("sigmoid(x)"), &noise("tanh(x)")).verdict;
    assert!(!matches!(verdict, Verdict::Equivalent { .. }), "{verdict:?}");
}

#[test]
fn a_network_in_training_was_not_equal_to_its_other_forms() {
    let network = |activation: &str, p: &str| {
        format!(
            "h = {activation}\nd = dropout(h; p={p}, train=true)\ne = dropout(add(d, x); p=0.5, train=true)\ny = mul(e, d)"
        )
    };
    let (one, other) = (network("relu(x)", "0.1"), network("maximum(x, 0.0)", "0.1"));
    for (a, b) in [(&one, &one), (&one, &other)] {
        let verdict = compared(a, b).verdict;
        assert!(matches!(verdict, Verdict::Equivalent { .. }), "{verdict:?}");
    }
    for wrong in [network("relu(x)", "0.2"), network("sigmoid(x)", "0.1")] {
        let verdict = compared(&one, &wrong).verdict;
        assert!(!matches!(verdict, Verdict::Equivalent { .. }), "{wrong}: {verdict:?}");
    }
}

#[test]
fn a_file_cannot_pass_an_operator_off_as_a_draw() {
    let body = "e = opaque \"drawn aten.rand\"(; size=[4]) -> f32[4]\n";
    let two = format!("{body}f = opaque \"drawn aten.rand\"(; size=[4]) -> f32[4]\ny = sub(e, f)");
    assert!(!matches!(compared(&two, &format!("{body}y = sub(e, e)")).verdict, Verdict::Equivalent { .. }));
}
