use proptest::prelude::*;

use super::{ELEMENTS, Leaves, same_elements};
use crate::eval::{Demand, GraphProgram, Options};
use crate::ir::{Graph, Number, text};
use crate::prove::kernel::arena::{Arena, Side, TermId};
use crate::prove::kernel::graph_terms;
use crate::rules::Tier;

const INPUTS: &str = "x: f32[2, 2, 2], w: f32[2, 2], m: bf16[2, 2, 2]";

fn graph(body: &str) -> Graph {
    text::parse("test.mir", &format!("graph g({INPUTS}) {{ {body}\n return y }}")).unwrap()
}

/// How equal the results of two graphs are found to be.
fn found(a: &Graph, b: &Graph) -> Option<Tier> {
    let mut arena = Arena::default();
    let mut root = |graph: &Graph, side: Side| -> TermId {
        let numbers: Vec<u32> = (0..graph.inputs().len() as u32).collect();
        let values = graph_terms(&mut arena, graph, side, &numbers).unwrap();
        let value = graph.outputs()[0].value;
        values[value.node.index()][value.slot as usize]
    };
    let (x, y) = (root(a, Side::A), root(b, Side::B));
    same_elements(&arena, x, y, &Leaves::default(), &mut { ELEMENTS })
}

fn equal(a: &str, b: &str) -> Option<Tier> {
    found(&graph(a), &graph(b))
}

fn elements(graph: &Graph, seed: u64) -> Vec<Number> {
    let program = GraphProgram::new(graph, seed);
    let mut demand = Demand::new(&program, Options { rounding: false, budget: 1 << 20 });
    demand.tensor(graph.outputs()[0].value).unwrap()
}

#[test]
fn elements_that_are_moved_alike_are_equal_bit_for_bit() {
    let swapped = "a = slice(x; dim=1, start=1, end=2)\n b = slice(x; dim=1, start=0, end=1)\n y = concat(a, b; dim=1)";
    for other in ["y = flip(x; dims=[1])", "y = roll(x; shifts=[1], dims=[1])"] {
        assert_eq!(equal(swapped, other), Some(Tier::Exact), "{other}");
    }
    assert_eq!(equal(swapped, "y = flip(x; dims=[0])"), None);
    assert_eq!(equal(swapped, "y = roll(x; shifts=[2], dims=[1])"), None);
}

#[test]
fn sums_of_products_are_equal_over_the_real_numbers() {
    let product = "y = matmul(x, w)";
    let reshaped = "r = reshape(x; shape=[4, 2])\n p = matmul(r, w)\n y = reshape(p; shape=[2, 2, 2])";
    assert_eq!(equal(product, reshaped), Some(Tier::Exact));
    let spread = "a = unsqueeze(x; dim=3)\n p = mul(a, w)\n y = sum(p; dim=[2])";
    assert_eq!(equal(product, spread), Some(Tier::Real));
    let turned = "t = permute(w; dims=[1, 0])\n y = matmul(x, t)";
    assert_eq!(equal(product, turned), None);
}

#[test]
fn casts_within_one_range_only_round() {
    let narrow = "a = exp(m)\n y = add(a, a)";
    let wide = "c = cast(m; dtype=f32)\n a = exp(c)\n b = add(a, a)\n y = cast(b; dtype=bf16)";
    assert_eq!(equal(narrow, wide), Some(Tier::Rounding));
}

#[test]
fn a_place_that_differs_beyond_the_first_is_seen() {
    // The mask is the same for every place along dimension 0 of one, and not of the other.
    let mask = |dim: &str| {
        format!(
            "i = arange(; end=2, dtype=i64)\n n = number(; value=1, dtype=i64)\n e = lt(i, n)\n \
             k = reshape(e; shape={dim})\n z = number(; value=0.0, dtype=f32)\n y = where(k, x, z)"
        )
    };
    assert_eq!(equal(&mask("[2, 1, 1]"), &mask("[1, 2, 1]")), None);
    assert_eq!(equal(&mask("[2, 1, 1]"), "y = alias(x)"), None);
    assert_eq!(equal("t = permute(x; dims=[1, 0, 2])\n y = add(x, t)", "y = add(x, x)"), None);
}

#[test]
fn infinite_weights_make_nothing_equal() {
    let body = |n: &str| format!("a = number(; value={n}, dtype=f32)\n b = mul(x, a)\n y = mul(b, a)");
    assert_eq!(equal(&body("1e200"), "a = number(; value=inf, dtype=f32)\n y = mul(x, a)"), None);
}

#[test]
fn small_numbers_count() {
    let offset = |n: &str| format!("a = number(; value={n}, dtype=f32)\n y = add(x, a)");
    assert_eq!(equal(&offset("1e-6"), &offset("5e-7")), None);
    assert_eq!(equal(&offset("1e-6"), "y = alias(x)"), None);
    let factor = |n: &str| {
        format!(
            "r = reshape(x; shape=[2, 2, 2, 1])\n u = upsample_linear(r; size=[3, 3])\n \
             a = number(; value={n}, dtype=f32)\n b = sum(w; dim=[0, 1])\n c = mul(b, a)\n y = add(u, c)"
        )
    };
    assert_eq!(equal(&factor("1e-7"), &factor("2e-7")), None);
    assert!(equal(&factor("1e-7"), &factor("1e-7")).is_some());
}

/// One more operator that keeps the shape `[2, 2, 2]`.
fn step(kind: usize, dim: usize, from: &str, to: &str) -> String {
    let order = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]][(kind + dim) % 6];
    match kind % 9 {
        0 => format!("{to} = permute({from}; dims={order:?})\n"),
        1 => format!("{to} = flip({from}; dims=[{dim}])\n"),
        2 => format!("{to} = roll({from}; shifts=[1], dims=[{dim}])\n"),
        3 => format!(
            "{to}a = slice({from}; dim={dim}, start=1, end=2)\n {to}b = slice({from}; dim={dim}, start=0, end=1)\n \
             {to} = concat({to}a, {to}b; dim={dim})\n"
        ),
        4 => format!("{to}a = permute({from}; dims={order:?})\n {to} = add({from}, {to}a)\n"),
        5 => format!("{to}a = sum({from}; dim=[{dim}], keepdim=true)\n {to} = sub({from}, {to}a)\n"),
        6 => format!("{to} = matmul({from}, w)\n"),
        7 => format!("{to}a = softmax({from}; dim={dim})\n {to} = mul({to}a, {from})\n"),
        _ => format!(
            "{to}a = reshape({from}; shape=[2, 4])\n {to}b = permute({to}a; dims=[1, 0])\n \
             {to} = reshape({to}b; shape=[2, 2, 2])\n"
        ),
    }
}

fn chain(steps: &[(usize, usize)]) -> String {
    let mut body = String::new();
    for (n, &(kind, dim)) in steps.iter().enumerate() {
        let from = if n == 0 { "x".to_owned() } else { format!("v{}", n - 1) };
        body += &step(kind, dim, &from, &format!("v{n}"));
    }
    body + &format!("y = alias({})", if steps.is_empty() { "x".to_owned() } else { format!("v{}", steps.len() - 1) })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn what_is_found_equal_is(
        one in prop::collection::vec((0_usize..9, 0_usize..3), 0..4),
        other in prop::collection::vec((0_usize..9, 0_usize..3), 0..4),
        seed in any::<u64>(),
    ) {
        let (a, b) = (graph(&chain(&one)), graph(&chain(&other)));
        if found(&a, &b).is_some() {
            for (x, y) in elements(&a, seed).into_iter().zip(elements(&b, seed)) {
                let (x, y) = (x.to_f64(), y.to_f64());
                prop_assert!((x - y).abs() <= 1e-9 * x.abs().max(1.0), "{} {}", chain(&one), chain(&other));
            }
        }
    }
}
