//! What a comparison says of operators beside the equal ones.

use super::{Checked, compare};
use crate::energy::{CostModel, Launch};
use crate::ir::text;
use crate::progress::Silent;
use crate::rules::{RuleSet, Tier};

fn compared(a: &str, b: &str) -> Checked {
    launched(a, b, Launch::Graph)
}

fn launched(a: &str, b: &str, launch: Launch) -> Checked {
    let [a, b] = [a, b].map(|source| text::parse("test.mir", source).unwrap_or_else(|e| panic!("{e:?}")));
    let (rules, costs) = (RuleSet::library().unwrap(), CostModel::shipped().unwrap().launched(launch));
    compare(&a, &b, &rules, Tier::Rounding, &costs, &Silent).unwrap()
}

#[test]
fn the_cheapest_form_does_not_depend_on_which_file_comes_first() {
    // Both sides cost the same, and forms are looked for in one of them only.
    let [a, b] =
        [include_str!("../../corpus/pairs/linear_addmm.a.mir"), include_str!("../../corpus/pairs/linear_addmm.b.mir")];
    let best = |a: &str, b: &str| compared(a, b).comparison.best.energy_mj.unwrap();
    assert_eq!(best(a, b), best(b, a));
}

#[test]
fn dead_operators_are_no_cheaper_form_of_the_region_before_them() {
    let source = "graph g(x: f32[64, 64], y: f32[64, 64]) {
        s = sub(x, y)
        c = clone(s)
        unused = mul(c, c)
        z = relu(s)
        return z
    }";
    let comparison = compared(source, source).comparison;
    for region in &comparison.regions {
        let [best, a, b] = [region.best.energy_mj, region.a.energy_mj, region.b.energy_mj].map(Option::unwrap);
        assert!(best <= a.min(b), "region {}: {best} against {a} and {b}", region.id);
    }
    assert_eq!(comparison.rewrites, []);
}

#[test]
fn a_side_that_computes_a_value_twice_is_covered_whole() {
    // `p` and `q` of B are one value, of which A has one.
    let a = "graph g(x: f32[8, 1, 3], e: f32[8, 3, 0], f: f32[8, 0, 3]) {
        m = baddbmm(x, e, f; beta=2.0)
        c = cast(m; dtype=f16)
        y = mul(c, c)
        return y
    }";
    let b = "graph g(x: f32[8, 1, 3], e: f32[8, 3, 0], f: f32[8, 0, 3]) {
        n = number(; value=2.0, dtype=f32)
        p = mul(x, n)
        q = add(p, matmul(e, f))
        c = cast(q; dtype=f16)
        y = mul(c, c)
        return y
    }";
    for [a, b] in [[a, b], [b, a]] {
        let comparison = compared(a, b).comparison;
        assert_eq!(comparison.verdict, crate::report::ReportedVerdict::Equivalent);
        for side in [&comparison.a, &comparison.b] {
            assert_eq!(side.covered_ops, side.ops);
        }
    }
}

/// SiLU written out, and as one operator, of a tensor with this many rows.
fn silu(rows: usize) -> [String; 2] {
    ["mul(x, sigmoid(x))", "silu(x)"].map(|form| format!("graph g(x: f32[{rows}, 4096]) {{ y = {form} return y }}"))
}

#[test]
fn waiting_is_priced_where_work_is_launched_one_by_one() {
    let [a, b] = silu(64);
    let recorded = launched(&a, &b, Launch::Graph).comparison;
    assert!(recorded.a.launched.is_none() && recorded.best.launched.is_none());
    let eager = launched(&a, &b, Launch::Eager).comparison;
    // What is said of kernels stays.
    assert_eq!((eager.a.energy_mj, eager.b.time_us), (recorded.a.energy_mj, recorded.b.time_us));
    assert_eq!((eager.best.energy_mj, eager.best.saves_vs_a), (recorded.best.energy_mj, recorded.best.saves_vs_a));
    let [of_a, of_b] = [&eager.a, &eager.b].map(|side| side.launched.clone().unwrap());
    assert!(of_a.should_be_recorded() && of_b.should_be_recorded());
    assert!(of_a.host_us.value.unwrap() > of_b.host_us.value.unwrap());
    for (side, launched) in [(&eager.a, &of_a), (&eager.b, &of_b)] {
        let sum = side.energy_mj.value.unwrap() + launched.waiting_mj.value.unwrap();
        assert!((launched.energy_mj.value.unwrap() - sum).abs() < 1e-9);
    }
    // The best form is B, and costs what B costs.
    let best = eager.best.launched.unwrap();
    assert!((best.energy_mj - of_b.energy_mj.value.unwrap()).abs() < 1e-6, "{best:?} {of_b:?}");
    assert_eq!(best.saves_vs_b, None);
    // One operator less to launch saves at least what kernels save and what it takes a fast host, and at most the difference.
    let saved = best.saves_vs_a.unwrap() * of_a.energy_mj.value.unwrap();
    let difference = of_a.energy_mj.value.unwrap() - of_b.energy_mj.value.unwrap();
    assert!(0.0 < saved && saved <= difference, "{saved} {difference}");
}

#[test]
fn work_against_itself_saves_nothing_however_it_is_launched() {
    for source in silu(64).iter().chain(&silu(65_536)) {
        let best = launched(source, source, Launch::Eager).comparison.best;
        if let Some(launched) = best.launched {
            assert!(launched.saves_vs_a == launched.saves_vs_b, "{launched:?}");
        }
        assert_eq!(best.saves_vs_a, best.saves_vs_b);
    }
    let [_, b] = silu(64);
    let best = launched(&b, &b, Launch::Eager).comparison.best;
    assert_eq!(best.launched.unwrap().saves_vs_a, None);
}

#[test]
fn large_work_waits_for_nothing() {
    let [a, b] = silu(1 << 20);
    let eager = launched(&a, &b, Launch::Eager).comparison;
    let recorded = launched(&a, &b, Launch::Graph).comparison;
    assert_eq!(eager.a.launched.unwrap().energy_mj, recorded.a.energy_mj);
    let best = eager.best.launched.unwrap();
    assert!((best.saves_vs_a.unwrap() - recorded.best.saves_vs_a.unwrap()).abs() < 1e-9);
}

#[test]
fn regions_of_two_layouts_are_not_added_up() {
    // The convolution over channels last costs less, the copies that it needs cost more than that saves.
    let first = "graph layer(x: bf16[32, 64, 56, 56], w: param bf16[64, 64, 3, 3]) {
        y = conv2d(x, w; stride=[1, 1], padding=[1, 1], dilation=[1, 1])
        return y
    }";
    let last = "graph layer(x: bf16[32, 64, 56, 56], w: param bf16[64, 64, 3, 3]) {
        x_last = contiguous(permute(x; dims=[0, 2, 3, 1]))
        w_last = contiguous(permute(w; dims=[0, 2, 3, 1]))
        x_view = permute(x_last; dims=[0, 3, 1, 2])
        w_view = permute(w_last; dims=[0, 3, 1, 2])
        conv = conv2d(x_view, w_view; stride=[1, 1], padding=[1, 1], dilation=[1, 1])
        y = contiguous(conv)
        return y
    }";
    for [a, b] in [[first, last], [last, first]] {
        let comparison = compared(a, b).comparison;
        let [of_a, of_b] = [&comparison.a, &comparison.b].map(|side| side.energy_mj.value.unwrap());
        assert_eq!(comparison.best.energy_mj, Some(of_a.min(of_b)));
        let saves =
            |of: f64| move |region: &crate::report::Region| region.best.saves_vs_a.map_or(0.0, |share| share * of);
        // Region by region, no more is said to be saved of the cheaper side than of the whole: nothing.
        let claimed: f64 = if of_a < of_b { comparison.regions.iter().map(saves(of_a)).sum() } else { 0.0 };
        assert_eq!(claimed, 0.0);
    }
}

#[test]
fn the_better_halves_of_both_sides_make_one_whole() {
    // Each side writes out what the other one has as one operator.
    let halves = |first: &str, second: &str| {
        format!("graph g(x: f32[4096, 1024]) {{ a = {first} b = softmax(a; dim=1) c = {second} return c }}")
    };
    let a = halves("mul(x, sigmoid(x))", "silu(b)");
    let b = halves("silu(x)", "mul(b, sigmoid(b))");
    let lean = halves("silu(x)", "silu(b)");
    let best = compared(&a, &b).comparison.best;
    let whole = compared(&lean, &lean).comparison.a.energy_mj.value.unwrap();
    assert!((best.energy_mj.unwrap() - whole).abs() < 1e-9 * whole, "{best:?} {whole}");
}
