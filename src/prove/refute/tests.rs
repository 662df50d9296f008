//! The refuter itself: it must find nothing between graphs that are equal, whatever it is told to suspect.

use std::path::Path;

use super::question::Question;
use super::refute;
use crate::frontend::load;
use crate::ir::{Graph, NodeId, NodeKind, text};
use crate::prove::bind;

fn operators(graph: &Graph) -> Vec<NodeId> {
    graph.nodes().filter(|(_, n)| matches!(n.kind, NodeKind::Op { .. })).map(|(id, _)| id).collect()
}

/// What the refuter finds if every operator is a suspect.
fn found(a: &Graph, b: &Graph) -> Option<String> {
    let binding = bind(a, b).binding;
    let (left, right) = (operators(a), operators(b));
    let question =
        Question { graphs: [a, b], binding: &binding, seed: 0, effort: super::TOTAL, unproven: [&left, &right] };
    refute(&question).map(|(w, _)| format!("{}{:?} is {} and {}", w.output, w.index, w.a, w.b))
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn equal_models_are_not_refuted() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/exports");
    for model in ["distilbert", "mistral", "gpt-neox"] {
        let [a, b] = ["eager", "sdpa"].map(|form| load(folder.join(format!("{model}-{form}.pt2"))).unwrap());
        assert_eq!(found(&a, &b), None, "{model}");
    }
}

#[test]
fn equal_pairs_are_not_refuted() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/pairs");
    let mut count = 0;
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        let name = path.to_string_lossy().into_owned();
        if let Some(pair) = name.strip_suffix(".a.mir") {
            let [a, b] = ["a", "b"].map(|side| load(format!("{pair}.{side}.mir")).unwrap());
            assert_eq!(found(&a, &b), None, "{pair}");
            count += 1;
        }
    }
    assert!(count > 5);
}

fn graph(body: &str) -> Graph {
    text::parse("test", &format!("graph g(x: f32[4, 8], w: param f32[8]) {{\n{body}\n}}")).unwrap()
}

/// One layer of attention over 2048 tokens, with `attention` of `q`, `k`, `v` and `causal`, the mask.
fn long(attention: &str) -> Graph {
    let text = format!(
        "graph g(ids: i64[1, 2048], table: param bf16[512, 4096], norm: param bf16[4096], qw: param bf16[4096, 4096],
          kw: param bf16[4096, 4096], vw: param bf16[4096, 4096], ow: param bf16[4096, 4096]) {{
          x = embedding(table, ids)
          n = rms_norm(x, norm; normalized_shape=[4096], eps=1e-5)
          q = permute(reshape(linear(n, qw); shape=[1, 2048, 32, 128]); dims=[0, 2, 1, 3])
          k = permute(reshape(linear(n, kw); shape=[1, 2048, 32, 128]); dims=[0, 2, 1, 3])
          v = permute(reshape(linear(n, vw); shape=[1, 2048, 32, 128]); dims=[0, 2, 1, 3])
          place = arange(; start=0.0, end=2048.0, dtype=i64)
          causal = le(reshape(place; shape=[1, 2048]), reshape(place; shape=[2048, 1]))
          heads = {attention}
          y = add(x, linear(reshape(permute(heads; dims=[0, 2, 1, 3]); shape=[1, 2048, 4096]), ow))
          return y
        }}"
    );
    text::parse("test", &text).unwrap()
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn what_only_a_row_over_all_keys_shows_is_within_the_budget() {
    let fused = "sdpa(q, k, v, causal; scale=0.1)";
    let scores = "mul(matmul(q, permute(k; dims=[0, 1, 3, 2])), 0.1)";
    let softmax = |mask: &str, dim: usize| {
        let masked = format!("add({scores}, mul(cast(logical_not({mask}); dtype=bf16), -3.3e38))");
        format!("matmul(softmax({masked}; dim={dim}), v)")
    };
    let a = long(fused);
    for other in ["sdpa(q, k, v; scale=0.1)", &softmax("logical_not(causal)", 3), &softmax("causal", 2)] {
        assert!(found(&a, &long(other)).is_some(), "{other}");
    }
}

#[test]
fn rounding_alone_is_no_difference() {
    // The second form loses nearly all digits.
    let a = graph("y = sub(add(x, 1e12), 1e12)\nreturn y");
    let b = graph("y = alias(x)\nreturn y");
    assert_eq!(found(&a, &b), None);
}

#[test]
fn nan_against_a_number_is_a_difference() {
    let a = graph("y = sqrt(neg(mul(x, x)))\nreturn y");
    let b = graph("y = sqrt(mul(x, x))\nreturn y");
    assert!(found(&a, &b).is_some_and(|text| text.contains("nan")));
}

#[test]
fn an_infinity_was_taken_for_any_number() {
    let hidden = |by: &str| graph(&format!("y = where(gt(x, {by}), x, -inf)\nreturn y"));
    assert!(found(&hidden("0.0"), &hidden("0.5")).is_some_and(|text| text.contains("inf")));
    assert_eq!(found(&hidden("0.0"), &hidden("0.0")), None);
}

#[test]
fn a_square_that_leaves_the_type_is_no_witness() {
    // In f32 the square of 1e30 is infinite, so that PyTorch gives 0 or NaN where real numbers give about 1.
    let literal = |numbers: &str| {
        text::parse("test", &format!("graph g() {{ y = literal f32[2, 3] [{numbers}]\n return y }}")).unwrap()
    };
    let given = "l = literal f32[2, 3] [1.0, 2.0, 3.0, 1e30, 1.0, 2.0]";
    let of = |norm: &str| text::parse("test", &format!("graph g() {{ {given}\n {norm}\n return y }}")).unwrap();
    let rms = of("y = rms_norm(l; normalized_shape=[3], eps=1e-12)");
    let folded = "0.46291005, 0.9258201, 1.3887302, 0.0, 0.0, 0.0";
    assert_eq!(found(&rms, &literal(folded)), None);
    assert!(found(&rms, &literal(&folded.replace("1.38", "1.48"))).is_some());
    let written = of("s = mul(l, l)\n m = mean(s; dim=[1], keepdim=true)\n y = mul(l, rsqrt(m))");
    assert_eq!(found(&written, &literal(folded)), None);
}

#[test]
fn a_whole_number_that_bf16_does_not_hold_is_no_witness() {
    let cast =
        text::parse("test", "graph g() { l = literal f32[2] [65504.0, 1.0]\n y = cast(l; dtype=bf16)\n return y }");
    let folded = text::parse("test", "graph g() { y = literal bf16[2] [65536.0, 1.0]\n return y }");
    let other = text::parse("test", "graph g() { y = literal bf16[2] [70144.0, 1.0]\n return y }");
    assert_eq!(found(cast.as_ref().unwrap(), &folded.unwrap()), None);
    assert!(found(&cast.unwrap(), &other.unwrap()).is_some());
}
