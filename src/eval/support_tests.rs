//! Knowing where elements are 0, and bounds, must not change what is computed.

use super::{Draw, GraphProgram, LazyEvaluator, Options, PlaceSet, Program, Sparse, Support};
use crate::ir::{DType, Graph, NodeKind, Number, Role, Value, text, unflatten};
use crate::ops::Dim;

/// A block of a model, and other uses of what is mostly 0.
const GRAPH: &str = "graph g(ids: i64[1, 5], table: param f32[9, 128], positions: param f32[5, 128],
  scale: param f32[128], shift: param f32[128], qkv: param f32[384, 128], bias: param f32[384],
  out: param f32[128, 128], up: param f32[128, 192], down: param f32[192, 128], low: param f32[192],
  norm: param f32[128], image: f32[1, 2, 4, 4], filter: param f32[128, 2, 4, 4], which: i64[3]) {
  tokens = embedding(table, ids)
  x = add(tokens, positions)
  n = layer_norm(x, scale, shift; normalized_shape=[128], eps=1e-5)
  joint = linear(n, qkv, bias)
  heads = permute(reshape(joint; shape=[1, 5, 3, 4, 32]); dims=[2, 0, 3, 1, 4])
  q = squeeze(slice(heads; dim=0, start=0, end=1); dim=0)
  k = squeeze(slice(heads; dim=0, start=1, end=2); dim=0)
  v = squeeze(slice(heads; dim=0, start=2, end=3); dim=0)
  left = slice(q; dim=3, start=0, end=16)
  right = slice(q; dim=3, start=16, end=32)
  turned = add(concat(neg(right), left; dim=3), mul(q, 0.5))
  fused = sdpa(turned, k, v; causal=true, scale=0.2)
  scores = mul(matmul(turned, permute(k; dims=[0, 1, 3, 2])), 0.2)
  plain = matmul(softmax(scores; dim=3), v)
  odd = matmul(softmax(scores; dim=2), v)
  place = arange(; start=0.0, end=5.0, dtype=i64)
  later = gt(reshape(place; shape=[1, 5]), reshape(place; shape=[5, 1]))
  masked = add(scores, mul(cast(later; dtype=f32), -3.4e38))
  causal = matmul(dropout(softmax(masked; dim=3); p=0.1), v)
  columns = matmul(softmax(masked; dim=2), v)
  mixed = add(add(fused, plain), add(add(odd, columns), causal))
  merged = reshape(permute(mixed; dims=[0, 2, 1, 3]); shape=[1, 5, 128])
  y = add(x, linear(merged, out))
  root = rms_norm(y, norm; normalized_shape=[128], eps=1e-6)
  by_hand = mul(y, rsqrt(add(mean(pow(y; exponent=2.0); dim=[2], keepdim=true), 1e-6)))
  rows = reshape(root; shape=[5, 128])
  hidden = gelu(addmm(low, rows, up))
  z = matmul(silu(hidden), down)
  patch = conv2d(image, filter; stride=[4, 4], padding=[0, 0], dilation=[1, 1])
  picked = index_select(z, which; dim=0)
  total = sum(z; dim=[1])
  grown = repeat_interleave(slice(z; dim=1, start=3, end=9); repeats=2, dim=1)
  shifted = roll(z; shifts=[1], dims=[1])
  divided = div(z, 3.0)
  squares = mul(z, reshape(by_hand; shape=[5, 128]))
  return y, root, by_hand, z, patch, picked, total, grown, shifted, divided, squares, joint, mixed
}";

fn draws(graph: &Graph, first: usize) -> Vec<Draw> {
    let inputs = graph.inputs().iter().enumerate();
    let draw = |(n, &node): (usize, &crate::ir::NodeId)| {
        let (seed, ty) = (n as u64, graph.ty(node.into()));
        match (&graph.node(node).kind, ty.rank()) {
            (NodeKind::Input { role: Role::User }, _) if ty.dtype.is_int() => Draw::Below { seed, limit: 5 },
            (NodeKind::Input { role: Role::User }, _) => Draw::Dense { seed, scale: 1.0 },
            (_, 4) => Draw::Sparse(Sparse { seed, scale: 0.3, batch: 0, strides: [16, 1], first }),
            (_, 2) if ty.shape[0] > 9 => Draw::Sparse(Sparse { seed, scale: 0.3, batch: 0, strides: [8, 16], first }),
            _ => Draw::Strided { seed, scale: 0.5, stride: 16, first },
        }
    };
    inputs.map(draw).collect()
}

#[test]
fn zeros_that_are_known_change_nothing() {
    let graph = text::parse("test", GRAPH).unwrap();
    let options = Options { rounding: false, budget: 10_000_000 };
    for first in [0, 5] {
        let draws = draws(&graph, first);
        let mut plain = GraphProgram::new(&graph, 0);
        for (n, (&node, draw)) in graph.inputs().iter().zip(&draws).enumerate() {
            let ty = graph.ty(node.into());
            let elements = (0..ty.numel()).map(|flat| ty.dtype.element(draw.element(ty, flat))).collect();
            plain = plain.with_input(n, elements).unwrap();
        }
        let informed = GraphProgram::drawn(&graph, draws);
        let mut limited = 0;
        for (id, node) in graph.nodes() {
            let value = Value::from(id);
            let wanted = LazyEvaluator::new(&plain, options).tensor(value).unwrap();
            let found = LazyEvaluator::new(&informed, options).tensor(value).unwrap();
            let support = informed.support(value);
            limited += usize::from(support.is_some());
            for (flat, (w, f)) in wanted.iter().zip(&found).enumerate() {
                let (w, f) = (w.to_f64(), f.to_f64());
                assert!((w - f).abs() <= 1e-9 * w.abs().max(1.0), "{} [{flat}]: {w} {f}", node.name);
                let inside = support.is_none_or(|s| s.contains(&unflatten(&node.types[0].shape, flat)));
                assert!(inside || w == 0.0, "{} [{flat}] is {w}", node.name);
            }
        }
        // Else nothing was tried.
        assert!(limited * 3 > graph.len() * 2, "only {limited} of {} values", graph.len());
        let of = |name: &str| informed.support(graph.outputs().iter().find(|o| &*o.name == name).unwrap().value);
        assert!(["y", "root", "z", "mixed"].into_iter().all(|name| of(name).is_some()));
    }
}

#[test]
fn padding_that_is_known_changes_nothing() {
    let graph = text::parse(
        "test",
        "graph g(ids: i64[1, 48], table: param f32[9, 128], norm: param f32[128], qw: param f32[128, 128],
          kw: param f32[128, 128], vw: param f32[128, 128], mask: bool[1, 1, 48, 48]) {
          x = embedding(table, ids)
          n = rms_norm(x, norm; normalized_shape=[128], eps=1e-6)
          q = permute(reshape(linear(n, qw); shape=[1, 48, 4, 32]); dims=[0, 2, 1, 3])
          k = permute(reshape(linear(n, kw); shape=[1, 48, 4, 32]); dims=[0, 2, 1, 3])
          v = permute(reshape(linear(n, vw); shape=[1, 48, 4, 32]); dims=[0, 2, 1, 3])
          causal = sdpa(q, k, v; causal=true, scale=0.2)
          free = sdpa(q, k, v; scale=0.2)
          masked = sdpa(q, k, v, mask; scale=0.2)
          scores = matmul(q, permute(k; dims=[0, 1, 3, 2]))
          rows = matmul(softmax(scores; dim=3), v)
          columns = matmul(softmax(scores; dim=2), v)
          return causal, free, masked, rows, columns, x, k
        }",
    )
    .unwrap();
    let weight = |seed| Draw::Sparse(Sparse { seed, scale: 0.3, batch: 0, strides: [16, 16], first: 5 });
    let draws = vec![
        Draw::Padded { seed: 1, limit: 9 },
        Draw::Table { seed: 2, scale: 1.0, stride: 16, first: 5 },
        Draw::Dense { seed: 3, scale: 1.0 },
        weight(4),
        weight(5),
        weight(6),
        Draw::Mask { seed: 7 },
    ];
    let mut plain = GraphProgram::new(&graph, 0);
    for (n, (&node, draw)) in graph.inputs().iter().zip(&draws).enumerate() {
        let ty = graph.ty(node.into());
        let elements = (0..ty.numel()).map(|flat| ty.dtype.element(draw.element(ty, flat))).collect();
        plain = plain.with_input(n, elements).unwrap();
    }
    let informed = GraphProgram::drawn(&graph, draws);
    let options = Options { rounding: false, budget: 10_000_000 };
    let mut cheaper = 0;
    for output in graph.outputs() {
        let mut whole = LazyEvaluator::new(&plain, options);
        let mut narrow = LazyEvaluator::new(&informed, options);
        let (wanted, found) = (whole.tensor(output.value).unwrap(), narrow.tensor(output.value).unwrap());
        for (flat, (w, f)) in wanted.iter().zip(&found).enumerate() {
            let (w, f) = (w.to_f64(), f.to_f64());
            assert!((w - f).abs() <= 1e-9 * w.abs().max(1.0), "{} [{flat}]: {w} {f}", output.name);
        }
        cheaper += usize::from((options.budget - narrow.left()) * 4 < options.budget - whole.left());
    }
    assert!(cheaper >= 5, "padding saved work in {cheaper} outputs");
    // Tokens are padding along the sequence, and so are the keys made of them.
    for (name, dim) in [("x", 1), ("k", 2)] {
        let value = graph.outputs().iter().find(|o| &*o.name == name).unwrap().value;
        assert_eq!(informed.support(value).unwrap().dim(dim).unwrap().list(), [0, 1, 2, 3, 32, 44, 45, 46, 47]);
    }
}

#[test]
fn strides_hold_every_so_many_places() {
    let dim: Dim = PlaceSet::strided(10, 4, 5);
    assert_eq!(dim.as_ref().unwrap().list(), [1, 5, 9]);
    assert!(PlaceSet::strided(10, 1, 5).is_none());
    let support = Support::new([None, dim]).unwrap();
    assert!(support.contains(&[7, 5]) && !support.contains(&[7, 6]));
}

#[test]
fn an_infinite_mask_or_weight_is_nan_beside_any_zeros() {
    let graph = "graph g(q: f32[1, 1, 4, 8], k: f32[1, 1, 4, 8], v: f32[1, 1, 4, 8], x: f32[4, 32], w: param f32[8, 32]) {
      m = full(; shape=[4, 4], value=inf, dtype=f32)
      a = matmul(sdpa(q, k, v, m; scale=0.3), w)
      infinite = full(; shape=[32], value=inf, dtype=f32)
      b = rms_norm(mul(x, reshape(slice(w; dim=0, start=0, end=1); shape=[32])), infinite; normalized_shape=[32], eps=1e-6)
      return a, b
    }";
    let graph = text::parse("test", graph).unwrap();
    let dense = |seed: u64| Draw::Dense { seed, scale: 1.0 };
    let sparse = Draw::Sparse(Sparse { seed: 9, scale: 1.0, batch: 0, strides: [4, 16], first: 0 });
    let program = GraphProgram::drawn(&graph, vec![dense(1), dense(2), dense(3), dense(4), sparse]);
    for output in graph.outputs() {
        let found =
            LazyEvaluator::new(&program, Options { rounding: false, budget: 1_000_000 }).tensor(output.value).unwrap();
        // Where the second factor is not 0, the weight makes an infinity of it.
        assert!(found.iter().all(|v| !v.is_finite()), "{}: {found:?}", output.name);
    }
}

#[test]
fn masked_rows_are_rounded_like_others() {
    let graph = text::parse(
        "test",
        "graph g(x: bf16[1, 4]) {
          place = arange(; start=0.0, end=4.0, dtype=i64)
          hidden = cast(gt(reshape(place; shape=[1, 4]), 2); dtype=bf16)
          y = softmax(add(x, mul(hidden, -1e30)); dim=1)
          return y
        }",
    )
    .unwrap();
    let program = GraphProgram::drawn(&graph, vec![Draw::Dense { seed: 3, scale: 1.0 }]);
    let y = graph.outputs()[0].value;
    let elements = LazyEvaluator::new(&program, Options { rounding: true, budget: 1000 }).tensor(y).unwrap();
    let values: Vec<f64> = elements.into_iter().map(Number::to_f64).collect();
    assert!(values[..3].iter().all(|v| *v > 0.0 && DType::BF16.round(*v) == *v), "{values:?}");
    assert_eq!(values[3], 0.0);
}

#[test]
fn a_product_with_an_infinite_factor_has_no_known_zeros() {
    let graph = text::parse(
        "test",
        "graph g(b: f32[2, 32], x: f32[2, 32], w: param f32[32, 32]) {
          alpha = addmm(b, x, w; alpha=inf)
          beta = addmm(b, x, w; beta=inf)
          return alpha, beta
        }",
    )
    .unwrap();
    let strided = || Draw::Strided { seed: 1, scale: 1.0, stride: 16, first: 0 };
    let w = Draw::Sparse(Sparse { seed: 2, scale: 1.0, batch: 0, strides: [16, 16], first: 0 });
    let program = GraphProgram::drawn(&graph, vec![strided(), strided(), w]);
    for output in graph.outputs() {
        let mut evaluator = LazyEvaluator::new(&program, Options { rounding: false, budget: 10_000 });
        let value = evaluator.element(output.value, &[0, 1]).unwrap();
        assert!(value.is_nan(), "{} is {value}", output.name);
    }
}
