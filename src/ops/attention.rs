//! Softmax and fused attention.

use super::fused_attention::{Steps, attention_kernels, work_in_steps};
use super::shapes::{broadcast, broadcast_index, visit_axes};
use super::{
    AttrDef, AttrKind, Bounds, Call, Default, Digits, Dims, Elements, EvalError, Family, FetchReal, Interval, Kernel,
    KernelClass, OpDef, OperandDef, Ranges, Renumbering, RowFunction, Supports, Synthesis, TypeError, Types, Unit,
    Work, attr, one, optional,
};
use crate::ir::{DType, Layout, Shape, TensorType};

const X: &[OperandDef] = &[one("x")];
const DIM_DTYPE: &[AttrDef] =
    &[attr("dim", AttrKind::Dim, Default::Required), attr("dtype", AttrKind::DType, Default::None)];

fn softmax_types(c: &Call) -> Result<Types, TypeError> {
    c.dim("dim", 0)?;
    let x = c.operands[0];
    let dtype = c.dtype("dtype").unwrap_or(x.dtype);
    if !dtype.is_float() {
        return Err(c.error(format!("gives floating-point results, not {dtype}, for {x}")));
    }
    c.output(dtype, x.shape.clone())
}

/// Libtorch has another kernel for a softmax whose elements do not lie side by side.
fn softmax_kernels(c: &Call, _: &[&Layout]) -> Option<KernelClass> {
    let rank = c.operands.first()?.rank();
    (c.dim_axis().first().is_some_and(|&d| d + 1 < rank)).then_some(KernelClass::Columns)
}

fn read_lane(c: &Call, index: &[usize], fetch: &mut FetchReal) -> Result<Vec<f64>, EvalError> {
    let mut lane = Vec::new();
    visit_axes(&c.operands[0].shape, &c.dim_axis(), index, |at| {
        lane.push(fetch(0, at)?);
        Ok(())
    })?;
    Ok(lane)
}

fn largest(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

/// Softmax in place. A lane of nothing but -inf becomes NaN, as in PyTorch.
fn softmax(values: &mut [f64]) {
    let max = largest(values);
    let mut sum = 0.0;
    for v in values.iter_mut() {
        *v = (*v - max).exp();
        sum += *v;
    }
    values.iter_mut().for_each(|v| *v /= sum);
}

fn softmax_work(c: &Call, outputs: &[TensorType]) -> Work {
    Work::streaming(c, outputs, 8.0 * c.operands[0].numel() as f64, Unit::Vector)
}

/// Sizes of an attention call: leading dimensions of the result, then query length, key length, and the
/// sizes of a query and a value vector.
struct Sizes {
    batch: Shape,
    queries: usize,
    keys: usize,
    query_size: usize,
    value_size: usize,
}

impl Sizes {
    /// Batches times heads.
    fn heads(&self) -> f64 {
        self.batch.iter().map(|&d| d as f64).product()
    }

    /// Pairs of a query and a key, in all batches and heads.
    fn pairs(&self) -> f64 {
        self.heads() * self.queries as f64 * self.keys as f64
    }
}

/// What a call does that no fused kernel takes, beyond what a fused one would.
fn steps_work(c: &Call, layouts: &[&Layout]) -> Work {
    let (Some(KernelClass::AttentionInSteps), Ok(s)) = (attention_kernels(c, layouts), sizes(c)) else {
        return Work::NONE;
    };
    let rows = |rows: usize, size: usize| s.heads() * rows as f64 * size as f64;
    let steps = Steps {
        pairs: s.pairs(),
        pairs_of_head: s.queries as f64 * s.keys as f64,
        queries: rows(s.queries, s.query_size),
        keys: rows(s.keys, s.query_size),
        values: rows(s.keys, s.value_size),
        results: rows(s.queries, s.value_size),
    };
    work_in_steps(c, &steps)
}

/// The leading dimensions of a key or value tensor after its heads are repeated for the query heads.
fn repeated_batch(c: &Call, operand: usize) -> Result<Shape, TypeError> {
    let rank = c.operands[operand].rank();
    let mut batch = Shape::from_slice(&c.operands[operand].shape[..rank - 2]);
    if c.bool("grouped") {
        let query = c.operands[0];
        let groups = query.rank().checked_sub(3).map(|d| query.shape[d]).zip(batch.last_mut());
        match groups {
            Some((wanted, heads)) if *heads > 0 && wanted.is_multiple_of(*heads) => *heads = wanted,
            _ => return Err(c.error(format!("cannot group the heads of {query} over {}", c.operands[operand]))),
        }
    }
    Ok(batch)
}

fn sizes(c: &Call) -> Result<Sizes, TypeError> {
    let (q, k, v) = (c.operands[0], c.operands[1], c.operands[2]);
    if let Some(t) = [q, k, v].into_iter().find(|t| t.rank() < 2) {
        return Err(c.error(format!("needs at least matrices, not {t}")));
    }
    // libtorch divides by the number of heads.
    if let Some(t) = [q, k, v].into_iter().find(|t| t.rank() > 2 && t.shape[t.rank() - 3] == 0) {
        return Err(c.error(format!("needs a head, which {t} lacks")));
    }
    let last_two = |t: &TensorType| (t.shape[t.rank() - 2], t.shape[t.rank() - 1]);
    let ((queries, query_size), (keys, key_size), (values, value_size)) = (last_two(q), last_two(k), last_two(v));
    let clash = || c.error(format!("cannot attend from {q} to {k} and {v}"));
    if query_size != key_size || keys != values {
        return Err(clash());
    }
    let q_batch = Shape::from_slice(&q.shape[..q.rank() - 2]);
    let scores = broadcast(&q_batch, &repeated_batch(c, 1)?).ok_or_else(clash)?;
    let batch = broadcast(&scores, &repeated_batch(c, 2)?).ok_or_else(clash)?;
    if let Some(mask) = c.operands.get(3) {
        let mut shape = scores.clone();
        shape.extend([queries, keys]);
        if mask.rank() < 2 || broadcast(&mask.shape, &shape).as_ref() != Some(&shape) {
            return Err(c.error(format!("cannot repeat the mask {mask} to {shape:?}")));
        }
    }
    Ok(Sizes { batch, queries, keys, query_size, value_size })
}

fn sdpa_types(c: &Call) -> Result<Types, TypeError> {
    let dtype = c.same_dtype(0..3)?;
    if !dtype.is_float() {
        return Err(c.error(format!("takes floating-point operands, not {}", c.operands[0])));
    }
    if !c.float("scale").is_finite() {
        return Err(c.error(format!("takes a finite scale, not {}", c.float("scale"))));
    }
    if let Some(mask) = c.operands.get(3) {
        if c.bool("causal") {
            return Err(c.error("takes a mask or is causal, not both"));
        }
        if mask.dtype != DType::Bool && mask.dtype != dtype {
            return Err(c.error(format!("takes a bool or {dtype} mask, not {mask}")));
        }
    }
    let sizes = sizes(c)?;
    let mut shape = sizes.batch;
    shape.extend([sizes.queries, sizes.value_size]);
    c.output(dtype, shape)
}

/// The index of the first element of row `row` of a key or value tensor, for the query that `index` names.
pub fn attention_key(c: &Call, operand: usize, batch: &[usize]) -> Shape {
    let shape = &c.operands[operand].shape;
    let mut batch = Shape::from_slice(batch);
    if c.bool("grouped")
        && let Some(head) = batch.last_mut()
    {
        let q = &c.operands[0].shape;
        *head /= (q[q.len() - 3] / shape[shape.len() - 3].max(1)).max(1);
    }
    let mut index = broadcast_index(&shape[..shape.len() - 2], &batch);
    index.extend([0, 0]);
    index
}

/// Where the queries, keys and values of fused attention can be other than 0, if all their elements are finite: the others
/// add nothing, and neither do keys that a mask hides.
pub struct Nonzero<'a> {
    /// Places along queries and keys.
    pub inner: Option<&'a [usize]>,
    /// Places along values.
    pub value: Option<&'a [usize]>,
    /// Keys by their position, and values.
    pub keys: &'a dyn Fn(usize) -> bool,
    pub values: &'a dyn Fn(usize) -> bool,
}

/// The longest row that is computed: its scores are kept.
const LONGEST_ROW: usize = 1 << 23;

fn places(nonzero: Option<&[usize]>, size: usize) -> Vec<usize> {
    nonzero.map_or_else(|| (0..size).collect(), <[usize]>::to_vec)
}

/// The row of fused attention through `index`. `nonzero` says which elements may be left out. Without it all are read, as
/// libtorch does: a NaN that a mask hides makes its score NaN, and 0 times a value that is NaN is NaN.
pub fn attend(
    c: &Call,
    index: &[usize],
    nonzero: Option<&Nonzero>,
    fetch: &mut FetchReal,
) -> Result<Vec<f64>, EvalError> {
    let sizes = sizes(c).map_err(|e| EvalError::NoSemantics(e.to_string()))?;
    if [sizes.query_size, sizes.keys, sizes.value_size].into_iter().any(|size| size > LONGEST_ROW) {
        return Err(EvalError::Budget);
    }
    let rank = index.len();
    let (batch, row) = (&index[..rank - 2], index[rank - 2]);
    let mut q = broadcast_index(&c.operands[0].shape[..c.operands[0].rank() - 2], batch);
    q.extend([row, 0]);
    let last = q.len() - 1;
    let mut query = Vec::new();
    for e in places(nonzero.and_then(|n| n.inner), sizes.query_size) {
        q[last] = e;
        query.push((e, fetch(0, &q)?));
    }
    let mut k = attention_key(c, 1, batch);
    let key_last = k.len() - 1;
    let scale = c.float("scale");
    let mut at = Shape::from_slice(index);
    let mut weights = Vec::new();
    for key in 0..sizes.keys {
        at[rank - 1] = key;
        let mask = mask_value(c, row, &at, fetch)?;
        if mask == f64::NEG_INFINITY && nonzero.is_some() {
            weights.push(mask);
            continue;
        }
        k[key_last - 1] = key;
        let mut score = 0.0;
        if nonzero.is_none_or(|n| (n.keys)(key)) {
            for &(e, x) in &query {
                k[key_last] = e;
                score += x * fetch(1, &k)?;
            }
        }
        weights.push(score * scale + mask);
    }
    // A query that sees no key gives no weight to any, unlike a softmax over nothing but -inf.
    if weights.iter().all(|&w| w == f64::NEG_INFINITY) {
        weights.fill(0.0);
    } else {
        softmax(&mut weights);
    }
    let mut v = attention_key(c, 2, batch);
    let value_last = v.len() - 1;
    let places = places(nonzero.and_then(|n| n.value), sizes.value_size);
    let mut out = vec![0.0; sizes.value_size];
    for (key, &weight) in weights.iter().enumerate() {
        if nonzero.is_some_and(|n| weight == 0.0 || !(n.values)(key)) {
            continue;
        }
        v[value_last - 1] = key;
        for &e in &places {
            v[value_last] = e;
            out[e] += weight * fetch(2, &v)?;
        }
    }
    Ok(out)
}

/// What is added to the score of the query in row `row` and a key: `at` is the index of the score.
fn mask_value(c: &Call, row: usize, at: &[usize], fetch: &mut FetchReal) -> Result<f64, EvalError> {
    let kept = match c.operands.get(3) {
        Some(mask) => {
            let m = fetch(3, &broadcast_index(&mask.shape, at))?;
            if mask.dtype != DType::Bool {
                return Ok(m);
            }
            m != 0.0
        }
        None => !c.bool("causal") || at.last().is_some_and(|&key| key <= row),
    };
    Ok(if kept { 0.0 } else { f64::NEG_INFINITY })
}

fn attention_range(r: &Ranges) -> Option<Interval> {
    let (q, k, v) = (r.x()?, r.y()?, r.of(2)?);
    let width = r.call.operands[0].shape.last().copied().unwrap_or(1) as f64;
    let score = q.magnitude() * k.magnitude() * width * r.call.float("scale").abs();
    // A row that a bool mask hides is 0; a NaN or an infinity in a mask of numbers makes its row NaN.
    let tame = r.call.operands.get(3).is_none_or(|mask| mask.dtype == DType::Bool) || r.of(3).is_some();
    (tame && score.is_finite()).then(|| v.hull(Interval::ZERO))
}

fn attention_support(s: &Supports) -> Option<Dims> {
    let v = s.operand(2)?;
    if v.ty.rank() != s.ty.rank() || !s.is_finite() {
        return None;
    }
    let mut dims = v.broadcast(&s.ty.shape);
    // Each result row mixes all value rows.
    let rows = dims.len().checked_sub(2)?;
    *dims.get_mut(rows)? = None;
    Some(dims)
}

fn attention_digits(r: &Renumbering) -> Option<Digits> {
    let numbered = r.call.operands.iter().enumerate();
    Some(match r.result.rank().checked_sub(r.dim())? {
        // Values have a dimension of their own.
        1 => r.dims(numbered.map(|(i, ty)| if i == 2 { ty.rank().checked_sub(1) } else { None })),
        2 if r.call.bool("causal") => return None,
        2 => r.dims(numbered.map(|(i, ty)| if matches!(i, 0 | 3) { r.aligned(ty) } else { None })),
        3 if r.call.bool("grouped") => return None,
        _ => r.broadcast(),
    })
}

/// What the operators of this family have in common.
const ATTENTION: OpDef = OpDef { family: Family::Attention, kernels: KernelClass::Rows, ..OpDef::PLAIN };

/// The table entries of this family.
pub(super) static OPS: &[OpDef] = &[
    OpDef {
        name: "softmax",
        elements: Elements::Lane(RowFunction::Softmax),
        doc: "`exp(x) / sum(exp(x))` over `dim`, after a cast to `dtype` if one is given.",
        operands: X,
        attrs: DIM_DTYPE,
        infer: softmax_types,
        kernel: Kernel::RealLane {
            axes: |c| c.dim_axis(),
            lane: |c, _, index, fetch| {
                let mut lane = read_lane(c, index, fetch)?;
                softmax(&mut lane);
                Ok(lane)
            },
        },
        work: softmax_work,
        special_kernels: softmax_kernels,
        aten: aten!("softmax.int", self: X, dim, dtype),
        replay: torch!(|r| r.x()?.f_softmax(r.c.int("dim"), r.c.dtype("dtype").map(super::tensors::kind))?),
        bounds: Bounds {
            range: |r| {
                let (x, n) = (r.x()?, r.call.operands[0].numel() as f64);
                Interval::new((x.low - x.high).exp() / n.max(1.0), 1.0)
            },
            magnitude: |_| 1.0,
        },
        synthesis: Synthesis::Softmax,
        ..ATTENTION
    },
    OpDef {
        name: "log_softmax",
        elements: Elements::Lane(RowFunction::LogSoftmax),
        doc: "Logarithm of `softmax`.",
        operands: X,
        attrs: DIM_DTYPE,
        infer: softmax_types,
        kernel: Kernel::RealLane {
            axes: |c| c.dim_axis(),
            lane: |c, _, index, fetch| {
                let mut lane = read_lane(c, index, fetch)?;
                let max = largest(&lane);
                let log_sum = lane.iter().map(|v| (v - max).exp()).sum::<f64>().ln();
                lane.iter_mut().for_each(|v| *v = *v - max - log_sum);
                Ok(lane)
            },
        },
        work: softmax_work,
        special_kernels: softmax_kernels,
        aten: aten!("log_softmax.int", self: X, dim, dtype),
        replay: torch!(|r| r.x()?.f_log_softmax(r.c.int("dim"), r.c.dtype("dtype").map(super::tensors::kind))?),
        bounds: Bounds {
            range: |r| {
                let (x, n) = (r.x()?, r.call.operands[0].numel() as f64);
                Interval::new(x.low - x.high - n.max(1.0).ln(), 0.0)
            },
            ..Bounds::UNKNOWN
        },
        synthesis: Synthesis::Softmax,
        ..ATTENTION
    },
    OpDef {
        name: "sdpa",
        elements: Elements::Attention,
        digits: attention_digits,
        doc: "`softmax(scale * q @ k^T + mask) @ v`. A bool mask keeps where it is true; `causal` keeps key j for query i where j <= i; \
              `grouped` lets runs of query heads share a key and value head. A query that sees no key gives zeros. NaN and infinities \
              behind a mask count as in the formula; kernels for `causal` that skip hidden keys may not see them.",
        operands: &[one("q"), one("k"), one("v"), optional("mask")],
        attrs: &[
            attr("causal", AttrKind::Bool, Default::Bool(false)),
            attr("scale", AttrKind::Float, Default::Required),
            attr("grouped", AttrKind::Bool, Default::Bool(false)),
        ],
        kernels: KernelClass::Attention,
        special_kernels: attention_kernels,
        further_work: steps_work,
        infer: sdpa_types,
        kernel: Kernel::RealLane {
            axes: |c| c.types().first().and_then(|t| t.rank().checked_sub(1)).into_iter().collect(),
            lane: |c, _, index, fetch| attend(c, index, None, fetch),
        },
        work: |c, outputs| {
            let flops = sizes(c).map_or(0.0, |s| 2.0 * s.pairs() * (s.query_size + s.value_size) as f64);
            Work::streaming(c, outputs, if c.bool("causal") { flops / 2.0 } else { flops }, Unit::Matrix)
        },
        aten: aten!(
            "scaled_dot_product_attention",
            query: X,
            key: Y,
            value: Z,
            attn_mask: Given(3),
            dropout_p: Float(0.0),
            is_causal: Attr("causal");
            scale,
            enable_gqa: Attr("grouped")
        ),
        replay: torch!(|r| {
            let (q, k, v, mask) = (r.x()?, r.y()?, r.operand(2)?, r.given(3));
            let (causal, scale, grouped) = (r.c.bool("causal"), r.c.float("scale"), r.c.bool("grouped"));
            tch::Tensor::f_scaled_dot_product_attention(q, k, v, mask, 0.0, causal, scale, grouped)?
        }),
        bounds: Bounds { range: |r| attention_range(r), magnitude: |m| m.of(2) },
        synthesis: Synthesis::Attention,
        support: attention_support,
        ..ATTENTION
    },
];
