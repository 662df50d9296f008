//! Where the order of equal elements is open, or which of several writes to one place counts, only what holds for every
//! order is equal, and only what differs for every order is different.

use magneton_ir::ir::text;
use magneton_ir::progress::Silent;
use magneton_ir::prove::{Verdict, prove};
use magneton_ir::rules::{RuleSet, Tier};

/// The verdict on two bodies of a graph of integers, of which random ones hold many that are equal.
fn verdict(parameters: &str, a: &str, b: &str) -> Verdict {
    let graph = |body: &str| {
        let source = format!("graph g({parameters}) {{\n{body}\n  return y\n}}\n");
        text::parse("g.mir", &source).unwrap_or_else(|e| panic!("{:?}", miette::Report::new(e)))
    };
    prove(&graph(a), &graph(b), &RuleSet::library().unwrap(), &Silent).unwrap().verdict
}

fn is_open(parameters: &str, a: &str, b: &str) {
    for (a, b) in [(a, b), (b, a)] {
        let found = verdict(parameters, a, b);
        assert!(matches!(found, Verdict::Unknown), "{a} and {b}: {found:?}");
    }
}

fn is_exact(parameters: &str, a: &str, b: &str) {
    let found = verdict(parameters, a, b);
    assert!(matches!(found, Verdict::Equivalent { tier: Tier::Exact }), "{a} and {b}: {found:?}");
}

#[test]
fn an_unstable_sort_is_no_stable_one() {
    let (stable, unstable) = ("  y_values, y = sort(x; dim=0, stable=true)", "  y_values, y = sort(x; dim=0)");
    is_open("x: i64[16]", unstable, stable);
    is_open("x: f32[16]", unstable, stable);
    is_exact("x: f32[16]", unstable, unstable);
    is_exact("x: f32[16]", stable, stable);
}

#[test]
fn places_of_the_largest_are_open_among_equal_ones() {
    let sorted = "  y_values, y = sort(x; dim=0, descending=true)";
    is_open("x: i64[9]", "  y_values, y = topk(x; k=9, dim=0)", sorted);
    is_open("x: i64[9]", "  s_values, s = sort(x; dim=0)\n  y = flip(s; dims=[0])", sorted);
    is_open("x: i64[9]", "  y_values, y = topk(x; k=1, dim=0)", "  y = argmax(x; dim=0, keepdim=true)");
    is_open(
        "x: i64[9]",
        "  y_values, y = topk(x; k=2, dim=0)",
        "  t_values, t = topk(x; k=3, dim=0)\n  y = slice(t; dim=0, start=0, end=2)",
    );
}

#[test]
fn which_of_two_writes_counts_is_open() {
    let parameters = "x: f32[4], i: i64[8], v: f32[8]";
    let forth = "  y = scatter(x, i, v; dim=0)";
    let back = "  j = flip(i; dims=[0])\n  w = flip(v; dims=[0])\n  y = scatter(x, j, w; dim=0)";
    is_open(parameters, forth, back);
    is_open(parameters, forth, "  y = index_put(x, v, i; dims=[0])");
    is_exact(parameters, forth, forth);
}

#[test]
fn what_is_folded_has_one_order() {
    let equal = "  c = full(; shape=[6], value=1.0, dtype=f32)";
    let first = format!("{equal}\n  s_values, s = sort(c; dim=0, stable=true)\n  y = add(x, s)");
    let any = format!("{equal}\n  s_values, s = sort(c; dim=0)\n  y = add(x, s)");
    is_open("x: i64[6]", &first, &any);
    let counted = "  c = arange(; end=6.0, dtype=f32)";
    let first = format!("{counted}\n  s_values, s = sort(c; dim=0, stable=true)\n  y = add(x, s)");
    let any = format!("{counted}\n  s_values, s = sort(c; dim=0)\n  y = add(x, s)");
    is_exact("x: i64[6]", &first, &any);
}

/// What differs however equal elements are ordered is found.
#[test]
fn other_sorts_are_different() {
    let found =
        verdict("x: f32[16]", "  y_values, y = sort(x; dim=0)", "  y_values, y = sort(x; dim=0, descending=true)");
    assert!(matches!(found, Verdict::Different(_)), "{found:?}");
}

#[test]
fn the_largest_in_any_order_are_not_those_in_order() {
    let (sorted, any) = ("  y, p = topk(x; k=3, dim=0)", "  y, p = topk(x; k=3, dim=0, sorted=false)");
    is_open("x: f32[9]", any, sorted);
    is_exact("x: f32[9]", any, any);
}

#[test]
fn memory_as_it_is_found_is_equal_to_no_other_of_its_side() {
    let memory = "  e = empty(; shape=[4], dtype=f32)";
    is_exact("x: f32[4]", &format!("{memory}\n  y = add(x, e)"), &format!("{memory}\n  y = add(e, x)"));
    let twice = format!("{memory}\n  f = empty(; shape=[4], dtype=f32)\n  y = eq(e, f)");
    is_open("x: f32[4]", &twice, &format!("{memory}\n  y = eq(e, e)"));
}
