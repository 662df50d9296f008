//! Fused attention and rotary embeddings of the standard.

use super::operator::{Operator, standard};
use crate::frontend::builder::{Refusal, int};
use crate::frontend::onnx::lowering::{Lowered, NodeLowering, one};
use crate::ir::{AttrValue, DType, Value};

pub(super) const OPERATORS: &[Operator] =
    &[standard("Attention", &[23, 24, 25], attention), standard("RotaryEmbedding", &[23], rotary_embedding)];

/// Features of heads that stand side by side, as (batch, head, token, feature).
pub(super) fn heads(s: &mut NodeLowering, x: Value, count: i64) -> Result<Value, Refusal> {
    let [batch, tokens, size] = s.shape(x)[..] else {
        return Err(Refusal::new(format!("takes heads apart in {}", s.ty(x))));
    };
    let size = size as i64;
    if count <= 0 || size % count != 0 {
        return Err(Refusal::new(format!("takes {count} heads out of {size} features")));
    }
    let apart = s.reshape(x, &[batch as i64, tokens as i64, count, size / count])?;
    s.permute(apart, &[0, 2, 1, 3])
}

/// The other way round: heads side by side.
pub(super) fn side_by_side(s: &mut NodeLowering, x: Value) -> Result<Value, Refusal> {
    let (batch, count, tokens, size) = (s.size(x, 0), s.size(x, 1), s.size(x, 2), s.size(x, 3));
    let turned = s.permute(x, &[0, 2, 1, 3])?;
    s.reshape(turned, &[batch, tokens, count * size])
}

/// Which keys queries may look at.
#[derive(Clone, Copy, Default)]
pub(super) struct Window {
    /// No key behind the query.
    pub causal: bool,
    /// How many keys before the query, if there is a limit.
    pub left: Option<i64>,
    /// How many keys behind it.
    pub right: Option<i64>,
    /// How many keys stand before the first query: a number, or one per batch.
    pub offset: Offset,
}

/// How many keys stand before the first query.
#[derive(Clone, Copy)]
pub(super) enum Offset {
    Fixed(i64),
    /// As a tensor that broadcasts with (batch, head, query, key).
    Value(Value),
}

impl Default for Offset {
    fn default() -> Self {
        Offset::Fixed(0)
    }
}

/// What fused attention computes.
pub(super) struct Heads {
    pub q: Value,
    pub k: Value,
    pub v: Value,
    pub mask: Option<Value>,
    pub scale: f64,
}

/// A bool mask of queries and keys; `None` where all keys are seen.
pub(super) fn window_mask(
    s: &mut NodeLowering,
    queries: i64,
    keys: i64,
    window: Window,
) -> Result<Option<Value>, Refusal> {
    let (upper, lower) = (if window.causal { Some(0) } else { window.right }, window.left);
    let upper = match (upper, window.right) {
        (Some(u), Some(r)) => Some(u.min(r)),
        (u, _) => u,
    };
    if upper.is_none() && lower.is_none() {
        return Ok(None);
    }
    let places = s.positions(queries)?;
    let places = s.reshape(places, &[queries, 1])?;
    let others = s.positions(keys)?;
    let at = match window.offset {
        Offset::Fixed(0) => places,
        Offset::Fixed(offset) => s.with("add", places, offset)?,
        Offset::Value(offset) => s.binary("add", places, offset)?,
    };
    let limited = |s: &mut NodeLowering, at: Value, by: i64, sign: i64| match by {
        0 => Ok(at),
        by => s.with("add", at, sign * by),
    };
    let mut mask = None;
    for (limit, op, sign) in [(upper, "le", 1), (lower, "ge", -1)] {
        let Some(limit) = limit else { continue };
        let end = limited(s, at, limit, sign)?;
        let seen = s.binary(op, others, end)?;
        mask = Some(match mask {
            None => seen,
            Some(mask) => s.binary("logical_and", mask, seen)?,
        });
    }
    Ok(mask)
}

/// Both masks: a bool one, and one of either kind.
pub(super) fn both(s: &mut NodeLowering, seen: Value, mask: Option<Value>) -> Result<Value, Refusal> {
    match mask {
        None => Ok(seen),
        Some(mask) if s.dtype(mask) == DType::Bool => s.binary("logical_and", seen, mask),
        Some(mask) => {
            let hidden = s.number(f64::NEG_INFINITY, mask)?;
            s.op("where", &[], &[seen, mask, hidden])
        }
    }
}

impl Heads {
    /// Whether runs of query heads share a key and value head.
    fn grouped(&self, s: &NodeLowering) -> bool {
        s.size(self.q, 1) != s.size(self.k, 1)
    }

    /// As one operator.
    pub(super) fn fused(&self, s: &mut NodeLowering, causal: bool) -> Result<Value, Refusal> {
        let mut operands = vec![self.q, self.k, self.v];
        operands.extend(self.mask);
        let attrs = [
            ("causal", AttrValue::Bool(causal)),
            ("scale", AttrValue::float(self.scale)),
            ("grouped", AttrValue::Bool(self.grouped(s))),
        ];
        s.op("sdpa", &attrs, &operands)
    }

    /// Keys or values, repeated for the query heads that share them.
    fn repeated(&self, s: &mut NodeLowering, x: Value) -> Result<Value, Refusal> {
        let (heads, own) = (s.size(self.q, 1), s.size(x, 1).max(1));
        if heads == own {
            return Ok(x);
        }
        if heads % own != 0 {
            return Err(Refusal::new(format!("lets {heads} query heads share {own} key heads")));
        }
        s.op("repeat_heads", &[("times", int(heads / own))], &[x])
    }

    /// Step by step, with what stands between the steps: scores, scores after the soft cap, with the mask, and
    /// probabilities.
    pub(super) fn inline_definitions(
        &self,
        s: &mut NodeLowering,
        cap: f64,
        precision: Option<DType>,
    ) -> Result<(Value, [Value; 4]), Refusal> {
        let (k, v) = (self.repeated(s, self.k)?, self.repeated(s, self.v)?);
        let k = s.transpose(k)?;
        let product = s.binary("matmul", self.q, k)?;
        let scores = s.with("mul", product, self.scale)?;
        let mut capped = scores;
        if cap > 0.0 {
            let small = s.with("div", scores, cap)?;
            let bent = s.unary("tanh", small)?;
            capped = s.with("mul", bent, cap)?;
        }
        let masked = match self.mask {
            None => capped,
            Some(mask) if s.dtype(mask) == DType::Bool => {
                let hidden = s.number(f64::NEG_INFINITY, capped)?;
                s.op("where", &[], &[mask, capped, hidden])?
            }
            Some(mask) => s.binary("add", capped, mask)?,
        };
        let own = s.dtype(self.q);
        let wide = s.cast(masked, precision.unwrap_or(own))?;
        let dim = s.rank(wide) as i64 - 1;
        let mut rows = s.op("softmax", &[("dim", int(dim))], &[wide])?;
        if let Some(mask) = self.mask {
            // A query that sees no key gives zeros.
            let bias = match s.dtype(mask) {
                DType::Bool => s.unary("logical_not", mask)?,
                _ => s.with("eq", mask, f64::NEG_INFINITY)?,
            };
            let last = s.rank(bias) as i64 - 1;
            let blind = s.reduce("all", bias, &[last], true)?;
            let zero = s.number(0.0, rows)?;
            rows = s.op("where", &[], &[blind, zero, rows])?;
        }
        let rows = s.cast(rows, own)?;
        let result = s.binary("matmul", rows, v)?;
        Ok((result, [scores, capped, masked, rows]))
    }
}

/// The attribute, or `1 / sqrt(size)`.
fn scale_of(s: &NodeLowering, size: i64) -> Result<f64, Refusal> {
    Ok(s.maybe_float("scale")?.unwrap_or_else(|| usual_scale(size)))
}

/// The factor that scores are usually multiplied by.
pub(super) fn usual_scale(size: i64) -> f64 {
    1.0 / (size.max(1) as f64).sqrt()
}

fn attention(s: &mut NodeLowering) -> Lowered {
    let (mut q, mut k, mut v) = (s.x(0)?, s.x(1)?, s.x(2)?);
    let flat = s.rank(q) == 3;
    if flat {
        let (own, shared) = (s.int("q_num_heads", 0)?, s.int("kv_num_heads", 0)?);
        q = heads(s, q, own)?;
        k = heads(s, k, shared)?;
        v = heads(s, v, shared)?;
    }
    if [q, k, v].iter().any(|&x| s.rank(x) != 4) {
        return Err(Refusal::new("takes tensors of rank 3 or 4"));
    }
    let mut before = 0;
    if let (Some(keys), Some(values)) = (s.maybe(4)?, s.maybe(5)?) {
        before = s.size(keys, 2);
        k = s.concat(&[keys, k], 2)?;
        v = s.concat(&[values, v], 2)?;
    }
    let (queries, keys) = (s.size(q, 2), s.size(k, 2));
    let mut mask = s.maybe(3)?;
    if let Some(short) = mask
        && let rank = s.rank(short)
        && rank > 0
        && s.size(short, rank - 1) < keys
        // A size of 1 is stretched, unless that is all that is left of a longer row.
        && (s.size(short, rank - 1) != 1 || s.version >= 24)
    {
        let mut pad = vec![0; 2 * rank];
        pad[2 * rank - 1] = keys - s.size(short, rank - 1);
        let value = if s.dtype(short) == DType::Bool { AttrValue::Int(0) } else { AttrValue::float(f64::NEG_INFINITY) };
        mask = Some(s.op("pad", &[("pad", crate::frontend::builder::ints(&pad)), ("value", value)], &[short])?);
    }
    let positive = |n: i64| (n >= 0).then_some(n);
    let mut window = Window {
        causal: s.flag("is_causal")?,
        left: positive(s.int("left_window_size", -1)?),
        right: positive(s.int("right_window_size", -1)?),
        offset: Offset::Fixed(before),
    };
    let lengths = s.maybe(6)?;
    if let Some(lengths) = lengths {
        let batch = s.size(lengths, 0);
        let lengths = s.reshape(lengths, &[batch, 1, 1, 1])?;
        let lengths = s.cast(lengths, DType::I64)?;
        window.offset = Offset::Value(s.with("sub", lengths, queries)?);
        let places = s.positions(keys)?;
        let valid = s.binary("lt", places, lengths)?;
        mask = Some(both(s, valid, mask)?);
    }
    let cap = s.float("softcap", 0.0, s.dtype(q))?;
    let precision = s.maybe_dtype("softmax_precision")?.filter(|&d| d != s.dtype(q));
    let size = s.size(q, 3);
    let scale = scale_of(s, size)?;
    // A causal mask of its own needs no tensor.
    let plain_causal = window.causal
        && window.left.is_none()
        && window.right.is_none()
        && mask.is_none()
        && matches!(window.offset, Offset::Fixed(0))
        && cap == 0.0
        && precision.is_none()
        && !s.wants(3);
    if !plain_causal && let Some(seen) = window_mask(s, queries, keys, window)? {
        mask = Some(both(s, seen, mask)?);
    }
    let of = Heads { q, k, v, mask, scale };
    let (mut y, steps) = match cap == 0.0 && precision.is_none() && !s.wants(3) {
        true => (of.fused(s, plain_causal)?, None),
        false => {
            let (y, steps) = of.inline_definitions(s, cap, precision)?;
            (y, Some(steps))
        }
    };
    if flat {
        y = side_by_side(s, y)?;
    }
    let shown = usize::try_from(s.int("qk_matmul_output_mode", 0)?).unwrap_or(usize::MAX);
    let step = match steps {
        Some(steps) => *steps.get(shown).ok_or_else(|| Refusal::new("shows an unknown step"))?,
        None => y,
    };
    Ok(Some(vec![y.into(), k.into(), v.into(), step.into()]))
}

/// Pairs of features turned by angles: halves of the first `turned` features, or neighbours.
pub(super) fn rotated(
    s: &mut NodeLowering,
    x: Value,
    [cos, sin]: [Value; 2],
    turned: i64,
    neighbours: bool,
) -> Result<Value, Refusal> {
    let last = s.rank(x) as i64 - 1;
    let size = s.size(x, last as usize);
    if turned % 2 != 0 || turned > size || turned <= 0 {
        return Err(Refusal::new(format!("turns {turned} of {size} features")));
    }
    let (part, rest) = (s.slice(x, last, 0, turned)?, size - turned);
    let half = turned / 2;
    let (a, b) = if neighbours {
        let every = |s: &mut NodeLowering, start: i64| {
            let attrs = [("dim", int(last)), ("start", int(start)), ("end", int(turned)), ("step", int(2))];
            s.op("slice", &attrs, &[part])
        };
        (every(s, 0)?, every(s, 1)?)
    } else {
        (s.slice(part, last, 0, half)?, s.slice(part, last, half, turned)?)
    };
    let (ac, bs, asin, bc) =
        (s.binary("mul", a, cos)?, s.binary("mul", b, sin)?, s.binary("mul", a, sin)?, s.binary("mul", b, cos)?);
    let (first, second) = (s.binary("sub", ac, bs)?, s.binary("add", asin, bc)?);
    let mut result = if neighbours {
        let dim = [("dim", int(last + 1))];
        let (first, second) = (s.op("unsqueeze", &dim, &[first])?, s.op("unsqueeze", &dim, &[second])?);
        let pairs = s.concat(&[first, second], last + 1)?;
        let mut sizes: Vec<i64> = s.shape(pairs).iter().map(|&d| d as i64).collect();
        sizes.truncate(last as usize);
        sizes.push(turned);
        s.reshape(pairs, &sizes)?
    } else {
        s.concat(&[first, second], last)?
    };
    if rest > 0 {
        let tail = s.slice(x, last, turned, size)?;
        result = s.concat(&[result, tail], last)?;
    }
    Ok(result)
}

fn rotary_embedding(s: &mut NodeLowering) -> Lowered {
    let x = s.x(0)?;
    let places = s.maybe(3)?;
    // (batch, token, head, feature)
    let (rows, flat) = match s.rank(x) {
        4 => (s.permute(x, &[0, 2, 1, 3])?, false),
        3 => {
            let (count, size) = (s.int("num_heads", 0)?, s.size(x, 2));
            if count <= 0 || size % count != 0 {
                return Err(Refusal::new(format!("takes {count} heads out of {size} features")));
            }
            let (batch, tokens) = (s.size(x, 0), s.size(x, 1));
            (s.reshape(x, &[batch, tokens, count, size / count])?, true)
        }
        _ => return Err(Refusal::new("takes a tensor of rank 3 or 4")),
    };
    let mut tables = [s.x(1)?, s.x(2)?];
    for table in &mut tables {
        if let Some(places) = places {
            *table = s.op("embedding", &[], &[*table, places])?;
        }
        *table = s.op("unsqueeze", &[("dim", int(2))], &[*table])?;
    }
    let turned = match s.int("rotary_embedding_dim", 0)? {
        0 => s.size(rows, 3),
        n => n,
    };
    let neighbours = s.flag("interleaved")?;
    let result = rotated(s, rows, tables, turned, neighbours)?;
    if flat {
        let all: Vec<i64> = s.shape(x).iter().map(|&d| d as i64).collect();
        return one(s.reshape(result, &all)?);
    }
    one(s.permute(result, &[0, 2, 1, 3])?)
}
