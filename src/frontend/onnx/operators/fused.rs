//! Fused operators of ONNX Runtime, by what they compute.

use super::attention::{Heads, Window, both, heads, rotated, side_by_side, usual_scale, window_mask};
use super::norm::statistics;
use super::operator::{Operator, microsoft};
use crate::frontend::builder::{Refusal, int, ints};
use crate::frontend::onnx::held::Held;
use crate::frontend::onnx::lowering::{Lowered, NodeLowering, one};
use crate::ir::{AttrValue, DType, Value};

pub(super) const OPERATORS: &[Operator] = &[
    microsoft("Attention", attention),
    microsoft("MultiHeadAttention", multi_head_attention),
    microsoft("GroupQueryAttention", group_query_attention),
    microsoft("RotaryEmbedding", rotary_embedding),
    microsoft("SkipLayerNormalization", |s| skip_norm(s, Norm::Layer)),
    microsoft("SkipSimplifiedLayerNormalization", |s| skip_norm(s, Norm::RootMeanSquare)),
    microsoft("SimplifiedLayerNormalization", simplified_norm),
    microsoft("EmbedLayerNormalization", embed_norm),
    microsoft("GroupNorm", group_norm),
    microsoft("BiasSplitGelu", bias_split_gelu),
    microsoft("BiasAdd", bias_add),
];

/// The number that hides a score, where no other one is stated.
const HIDDEN: f32 = -10000.0;

/// A product with all three weights side by side, then attention.
fn attention(s: &mut NodeLowering) -> Lowered {
    let (x, w) = (s.x(0)?, s.x(1)?);
    let count = s.int("num_heads", 0)?;
    if s.rank(x) != 3 || s.rank(w) != 2 || s.has_input(6) || s.flag("do_rotary")? {
        return Ok(None);
    }
    let mut all = s.binary("matmul", x, w)?;
    if let Some(bias) = s.maybe(2)? {
        all = s.binary("add", all, bias)?;
    }
    let whole = s.size(w, 1);
    let sizes = match s.int_list("qkv_hidden_sizes")? {
        Some(sizes) if sizes.len() == 3 && sizes.iter().sum::<i64>() == whole => sizes,
        Some(sizes) => return Err(Refusal::new(format!("cuts {whole} features into {sizes:?}"))),
        None => vec![whole / 3; 3],
    };
    let mut parts = Vec::new();
    let mut start = 0;
    for size in sizes {
        let part = s.slice(all, 2, start, start + size)?;
        parts.push(heads(s, part, count)?);
        start += size;
    }
    let [q, mut k, mut v] = parts[..] else { return Err(Refusal::new("needs three parts")) };
    let mut past = 0;
    let mut present = None;
    if let Some(before) = s.maybe(4)? {
        past = s.size(before, 3);
        let old = |s: &mut NodeLowering, at: i64| {
            let part = s.slice(before, 0, at, at + 1)?;
            s.op("squeeze", &[("dim", int(0))], &[part])
        };
        let (old_k, old_v) = (old(s, 0)?, old(s, 1)?);
        k = s.concat(&[old_k, k], 2)?;
        v = s.concat(&[old_v, v], 2)?;
    }
    if s.wants(1) {
        let (k, v) = (s.op("unsqueeze", &[("dim", int(0))], &[k])?, s.op("unsqueeze", &[("dim", int(0))], &[v])?);
        present = Some(s.concat(&[k, v], 0)?);
    }
    let (queries, keys) = (s.size(q, 2), s.size(k, 2));
    let mask = match s.maybe(3)? {
        None => None,
        Some(mask) => match key_mask(s, mask, keys, s.dtype(q))? {
            Some(mask) => Some(mask),
            None => return Ok(None),
        },
    };
    let mask = with_bias(s, mask, 5)?;
    let causal = s.flag("unidirectional")?;
    let y = attend(s, [q, k, v], mask, causal, past, [queries, keys])?;
    Ok(Some([Some(y), present].into_iter().flatten().map(Held::from).collect()))
}

/// A mask of keys (batch, key), or of queries and keys (batch, query, key), as what is added to scores. `None` for lengths in
/// place of a mask.
fn key_mask(s: &mut NodeLowering, mask: Value, keys: i64, dtype: DType) -> Result<Option<Value>, Refusal> {
    let hidden = s.float("mask_filter_value", HIDDEN, dtype)?;
    let batch = s.size(mask, 0);
    let laid = match s.rank(mask) {
        2 if s.size(mask, 1) == keys => s.reshape(mask, &[batch, 1, 1, keys])?,
        3 if s.size(mask, 2) == keys => s.op("unsqueeze", &[("dim", int(1))], &[mask])?,
        _ => return Ok(None),
    };
    let sees = s.with("ne", laid, 0)?;
    let float = s.cast(sees, dtype)?;
    let one = s.number(1.0, float)?;
    let hides = s.binary("sub", one, float)?;
    s.with("mul", hides, hidden).map(Some)
}

/// A mask, and what input `i` adds to scores.
fn with_bias(s: &mut NodeLowering, mask: Option<Value>, i: usize) -> Result<Option<Value>, Refusal> {
    let Some(bias) = s.maybe(i)? else { return Ok(mask) };
    match mask {
        None => Ok(Some(bias)),
        Some(mask) => s.binary("add", mask, bias).map(Some),
    }
}

/// The attribute, where 0 stands for `1 / sqrt(size)`.
fn given_scale(s: &NodeLowering, size: i64) -> Result<f64, Refusal> {
    Ok(s.maybe_float("scale")?.filter(|&scale| scale != 0.0).unwrap_or_else(|| usual_scale(size)))
}

/// Attention with its result side by side.
fn attend(
    s: &mut NodeLowering,
    [q, k, v]: [Value; 3],
    mut mask: Option<Value>,
    causal: bool,
    past: i64,
    [queries, keys]: [i64; 2],
) -> Result<Value, Refusal> {
    let size = s.size(q, 3);
    let scale = given_scale(s, size)?;
    let alone = causal && mask.is_none() && past == 0 && queries == keys;
    if causal && !alone {
        let window = Window { causal: true, offset: super::attention::Offset::Fixed(past), ..Window::default() };
        if let Some(seen) = window_mask(s, queries, keys, window)? {
            mask = Some(both(s, seen, mask)?);
        }
    }
    let y = Heads { q, k, v, mask, scale }.fused(s, alone)?;
    side_by_side(s, y)
}

fn multi_head_attention(s: &mut NodeLowering) -> Lowered {
    let count = s.int("num_heads", 0)?;
    let q = s.x(0)?;
    // Packed queries, keys and values, and caches of a fixed size, are other layouts.
    if s.rank(q) != 3 || s.has_input(8) || s.has_input(9) || !s.has_input(1) || !s.has_input(2) {
        return Ok(None);
    }
    let (mut k, mut v) = (s.x(1)?, s.x(2)?);
    let mut q = q;
    if let Some(bias) = s.maybe(3)? {
        let mut start = 0;
        for value in [&mut q, &mut k, &mut v] {
            let size = s.size(*value, s.rank(*value) - 1);
            if s.rank(*value) != 3 {
                return Ok(None);
            }
            let part = s.slice(bias, 0, start, start + size)?;
            *value = s.binary("add", *value, part)?;
            start += size;
        }
    }
    let q = heads(s, q, count)?;
    // Keys and values of cross-attention may have their heads apart already.
    let apart = |s: &mut NodeLowering, x: Value| if s.rank(x) == 4 { Ok(x) } else { heads(s, x, count) };
    let (mut k, mut v) = (apart(s, k)?, apart(s, v)?);
    let mut past = 0;
    if let (Some(old_k), Some(old_v)) = (s.maybe(6)?, s.maybe(7)?) {
        past = s.size(old_k, 2);
        k = s.concat(&[old_k, k], 2)?;
        v = s.concat(&[old_v, v], 2)?;
    }
    let (queries, keys) = (s.size(q, 2), s.size(k, 2));
    let mask = match s.maybe(4)? {
        None => None,
        Some(mask) => match key_mask(s, mask, keys, s.dtype(q))? {
            Some(mask) => Some(mask),
            None => return Ok(None),
        },
    };
    let mask = with_bias(s, mask, 5)?;
    let causal = s.flag("unidirectional")?;
    let y = attend(s, [q, k, v], mask, causal, past, [queries, keys])?;
    if s.wants(3) {
        return Ok(None);
    }
    Ok(Some(vec![y.into(), k.into(), v.into()]))
}

/// Causal attention whose runs of query heads share a key and value head, over prompts without a cache before them.
fn group_query_attention(s: &mut NodeLowering) -> Lowered {
    let (own, shared) = (s.int("num_heads", 0)?, s.int("kv_num_heads", 0)?);
    let mut q = s.x(0)?;
    let (mut k, mut v) = match (s.maybe(1)?, s.maybe(2)?) {
        (Some(k), Some(v)) => (k, v),
        // All three side by side.
        _ => {
            let whole = s.size(q, 2);
            let size = whole / (own + 2 * shared).max(1);
            let at = |s: &mut NodeLowering, from: i64, to: i64| s.slice(q, 2, from * size, to * size);
            let parts = (at(s, 0, own)?, at(s, own, own + shared)?, at(s, own + shared, own + 2 * shared)?);
            q = parts.0;
            (parts.1, parts.2)
        }
    };
    q = heads(s, q, own)?;
    k = heads(s, k, shared)?;
    v = heads(s, v, shared)?;
    let (queries, keys) = (s.size(q, 2), s.size(k, 2));
    // The op gets the place of the last token of each sequence; only whole prompts are covered, of which all are valid.
    let lengths = s.constant(5)?.and_then(|c| c.ints());
    let whole = lengths.is_some_and(|all| all.iter().all(|&n| n == queries - 1));
    let has_past = (3..5).any(|i| s.held(i).and_then(|h| s.sink.ty(h)).is_some_and(|ty| ty.numel() > 0));
    let cap = s.float("softcap", 0.0, s.dtype(q))?;
    if !whole || has_past || queries != keys || s.flag("smooth_softmax")? || (9..13).any(|i| s.has_input(i)) {
        return Ok(None);
    }
    if s.flag("do_rotary")? {
        let neighbours = s.flag("rotary_interleaved")?;
        let tables = [s.x(7)?, s.x(8)?];
        let turned = 2 * s.size(tables[0], 1);
        for value in [&mut q, &mut k] {
            let rows = [s.slice(tables[0], 0, 0, queries)?, s.slice(tables[1], 0, 0, queries)?];
            *value = rotated(s, *value, rows, turned, neighbours)?;
        }
    }
    let size = s.size(q, 3);
    let scale = given_scale(s, size)?;
    let left = Some(s.int("local_window_size", -1)?).filter(|&n| n > 0).map(|n| n - 1);
    let y = match (left, cap > 0.0) {
        (None, false) => Heads { q, k, v, mask: None, scale }.fused(s, true)?,
        _ => {
            let mask = window_mask(s, queries, keys, Window { causal: true, left, ..Window::default() })?;
            let of = Heads { q, k, v, mask, scale };
            if cap > 0.0 { of.inline_definitions(s, cap, None)?.0 } else { of.fused(s, false)? }
        }
    };
    let y = side_by_side(s, y)?;
    Ok(Some(vec![y.into(), k.into(), v.into()]))
}

/// As in the standard, with tables of one row per place, and places from a first one on.
fn rotary_embedding(s: &mut NodeLowering) -> Lowered {
    let (x, places) = (s.x(0)?, s.x(1)?);
    let mut tables = [s.x(2)?, s.x(3)?];
    let flat = s.rank(x) == 3;
    let scale = s.float("scale", 1.0, s.dtype(x))?;
    if scale != 1.0 {
        return Ok(None);
    }
    let turned = match s.int("rotary_embedding_dim", 0)? {
        0 => 2 * s.size(tables[0], 1),
        n => n,
    };
    // (batch, head, token, feature)
    let rows = match (flat, s.int("num_heads", 0)?) {
        (false, _) => x,
        (true, 0) => {
            let size = turned.max(1);
            let count = s.size(x, 2) / size;
            heads(s, x, count)?
        }
        (true, count) => heads(s, x, count)?,
    };
    let (batch, tokens) = (s.size(rows, 0), s.size(rows, 2));
    let mut places = s.cast(places, DType::I64)?;
    if s.ty(places).numel() == 1 && !(batch == 1 && tokens == 1) {
        let steps = s.positions(tokens)?;
        let first = s.reshape(places, &[1, 1])?;
        let all = s.binary("add", first, steps)?;
        places = s.expand(all, &[batch, tokens])?;
    } else if s.rank(places) != 2 {
        places = s.reshape(places, &[batch, tokens])?;
    }
    for table in &mut tables {
        let picked = s.op("embedding", &[], &[*table, places])?;
        *table = s.op("unsqueeze", &[("dim", int(1))], &[picked])?;
    }
    let neighbours = s.flag("interleaved")?;
    let y = rotated(s, rows, tables, turned, neighbours)?;
    one(if flat { side_by_side(s, y)? } else { y })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Norm {
    Layer,
    RootMeanSquare,
}

/// The normalised sum of an input, a residual and a bias, with the statistics and the sum itself.
fn skip_norm(s: &mut NodeLowering, norm: Norm) -> Lowered {
    let (x, skip, gamma) = (s.x(0)?, s.x(1)?, s.x(2)?);
    let dtype = s.dtype(x);
    let (beta, bias) = match norm {
        Norm::Layer => (s.maybe(3)?, s.maybe(4)?),
        Norm::RootMeanSquare => (None, s.maybe(3)?),
    };
    let eps = s.float("epsilon", 1e-12, dtype)?;
    let mut sum = s.binary("add", x, skip)?;
    if let Some(bias) = bias {
        sum = s.binary("add", sum, bias)?;
    }
    if s.shape(sum) != s.shape(x) {
        return Err(Refusal::new(format!("adds {} to {}", s.ty(skip), s.ty(x))));
    }
    let last = s.rank(sum) as i64 - 1;
    let size = s.size(sum, last as usize);
    let attrs = [("normalized_shape", ints(&[size])), ("eps", AttrValue::float(eps))];
    let y = match norm {
        Norm::Layer => {
            let operands: Vec<Value> = [Some(sum), Some(gamma), beta].into_iter().flatten().collect();
            s.op("layer_norm", &attrs, &operands)?
        }
        Norm::RootMeanSquare => s.op("rms_norm", &attrs, &[sum, gamma])?,
    };
    let mut outputs: Vec<Held> = vec![y.into()];
    if s.wants(1) || s.wants(2) {
        let [mean, factor] = statistics(s, sum, last, eps)?;
        outputs.extend([mean.into(), factor.into()]);
    } else {
        outputs.extend([Held::Nothing, Held::Nothing]);
    }
    outputs.push(sum.into());
    Ok(Some(outputs))
}

fn simplified_norm(s: &mut NodeLowering) -> Lowered {
    let (x, scale) = (s.x(0)?, s.x(1)?);
    let eps = s.float("epsilon", 1e-5, s.dtype(x))?;
    let size = s.size(x, s.rank(x).saturating_sub(1));
    s.done("rms_norm", &[("normalized_shape", ints(&[size])), ("eps", AttrValue::float(eps))], &[x, scale])
}

/// The normalised sum of the embeddings of words, places and segments, and how many words count.
fn embed_norm(s: &mut NodeLowering) -> Lowered {
    let (ids, words, places) = (s.x(0)?, s.x(2)?, s.x(3)?);
    let (segments, parts) = (s.maybe(1)?, s.maybe(4)?);
    let (gamma, beta) = (s.x(5)?, s.x(6)?);
    let eps = s.float("epsilon", 1e-12, s.dtype(words))?;
    let wide = |s: &mut NodeLowering, v: Value| s.cast(v, DType::I64);
    let indices = wide(s, ids)?;
    let of_words = s.op("embedding", &[], &[words, indices])?;
    let tokens = s.size(ids, 1);
    let of_places = match s.maybe(8)? {
        Some(at) => {
            let at = wide(s, at)?;
            s.op("embedding", &[], &[places, at])?
        }
        None => s.slice(places, 0, 0, tokens)?,
    };
    let mut sum = s.binary("add", of_words, of_places)?;
    if let (Some(segments), Some(parts)) = (segments, parts) {
        let segments = wide(s, segments)?;
        let of_segments = s.op("embedding", &[], &[parts, segments])?;
        sum = s.binary("add", sum, of_segments)?;
    }
    let size = s.size(words, 1);
    let attrs = [("normalized_shape", ints(&[size])), ("eps", AttrValue::float(eps))];
    let y = s.op("layer_norm", &attrs, &[sum, gamma, beta])?;
    let mut outputs: Vec<Held> = vec![y.into()];
    let batch = s.size(ids, 0);
    outputs.push(match (s.wants(1), s.maybe(7)?) {
        (false, _) => Held::Nothing,
        (true, None) => s.full(&[batch], 0, DType::I32)?.into(),
        (true, Some(mask)) => {
            let count = s.reduce("sum", mask, &[1], false)?;
            s.cast(count, DType::I32)?.into()
        }
    });
    outputs.push(sum.into());
    Ok(Some(outputs))
}

/// Group normalisation of images whose channels stand last, and SiLU behind it.
fn group_norm(s: &mut NodeLowering) -> Lowered {
    let (x, gamma, beta) = (s.x(0)?, s.x(1)?, s.x(2)?);
    let (groups, eps) = (s.int("groups", 0)?, s.float("epsilon", 1e-5, s.dtype(x))?);
    let last = s.int("channels_last", 1)? != 0;
    let dtype = s.dtype(x);
    let (gamma, beta) = (s.cast(gamma, dtype)?, s.cast(beta, dtype)?);
    let rows = if last { s.permute(x, &[0, 3, 1, 2])? } else { x };
    let attrs = [("groups", int(groups)), ("eps", AttrValue::float(eps))];
    let mut y = s.op("group_norm", &attrs, &[rows, gamma, beta])?;
    if s.flag("activation")? {
        y = s.unary("silu", y)?;
    }
    one(if last { s.permute(y, &[0, 2, 3, 1])? } else { y })
}

/// Half of a sum with a bias, gated by GELU of the other half.
fn bias_split_gelu(s: &mut NodeLowering) -> Lowered {
    let (x, bias) = (s.x(0)?, s.x(1)?);
    let sum = s.binary("add", x, bias)?;
    let last = s.rank(sum) as i64 - 1;
    let size = s.size(sum, last as usize);
    let (value, gate) = (s.slice(sum, last, 0, size / 2)?, s.slice(sum, last, size / 2, size)?);
    let gate = s.unary("gelu", gate)?;
    s.done("mul", &[], &[value, gate])
}

fn bias_add(s: &mut NodeLowering) -> Lowered {
    let (x, bias, skip) = (s.x(0)?, s.x(1)?, s.x(2)?);
    let sum = s.binary("add", x, bias)?;
    s.done("add", &[], &[sum, skip])
}
