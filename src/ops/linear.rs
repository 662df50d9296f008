//! Matrix products.

#[cfg(feature = "torch")]
use tch::{Kind, Tensor};

#[cfg(feature = "torch")]
use super::replay::{Replayed, Run};
use super::shapes::{broadcast, broadcast_index};
use super::{
    Ask, AttrDef, AttrKind, Bounds, Call, Default, Digits, Elements, EvalError, Family, Fetch, FetchReal, Interval,
    Kernel, KernelClass, Launch, OpDef, Ranges, Renumbering, Synthesis, TypeError, Types, Unit, Vanishes, Work, attr,
    one, optional, support,
};
use crate::ir::{DType, Number, Shape, TensorType};

const BETA_ALPHA: &[AttrDef] =
    &[attr("beta", AttrKind::Number, Default::Int(1)), attr("alpha", AttrKind::Number, Default::Int(1))];

/// A line through an operand: every index that agrees with `index` outside of dimension `axis`.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    pub operand: usize,
    pub index: Shape,
    pub axis: usize,
}

impl Line {
    fn new(operand: usize, index: &[usize], axis: usize) -> Self {
        Line { operand, index: index.into(), axis }
    }
}

/// An element of a matrix product: `alpha * Σ x[k] * y[k] + beta * bias`, with `k` along a line through either operand.
#[derive(Clone, Debug, PartialEq)]
pub struct Contraction {
    pub x: Line,
    pub y: Line,
    pub length: usize,
    pub alpha: Number,
    /// Operand, index, and factor. A factor of 0 ignores even a NaN, as BLAS does, and is no bias at all.
    pub bias: Option<(usize, Shape, Number)>,
}

impl Contraction {
    fn plain(x: Line, y: Line, length: usize) -> Self {
        Contraction { x, y, length, alpha: Number::Int(1), bias: None }
    }

    /// With the factors of `addmm` and `baddbmm`, whose operand 0 is the bias of element `index`.
    fn scaled(x: Line, y: Line, length: usize, c: &Call, index: &[usize]) -> Self {
        let dtype = c.operands[0].dtype.accumulator();
        let factor = |name| c.number(name, dtype).unwrap_or(Number::float(f64::NAN));
        let (beta, alpha) = (factor("beta"), factor("alpha"));
        let bias = beta.is_true().then(|| (0, broadcast_index(&c.operands[0].shape, index), beta));
        Contraction { x, y, length, alpha, bias }
    }

    /// The element, given the sum over `k`.
    pub fn finish(
        &self,
        sum: Number,
        fetch: impl FnOnce(usize, &[usize]) -> Result<Number, EvalError>,
    ) -> Result<Number, EvalError> {
        Ok(match &self.bias {
            Some((operand, index, factor)) => self.alpha * sum + *factor * fetch(*operand, index)?,
            None => self.alpha * sum,
        })
    }
}

/// What element `index` of a matrix product adds up; `None` for other operators.
pub fn contraction(c: &Call, index: &[usize]) -> Option<Contraction> {
    let last = index.len().checked_sub(1);
    match c.op.name {
        "matmul" => Some(matmul(c, index)),
        "linear" => {
            let last = last?;
            let (x, w) = (Line::new(0, index, last), Line::new(1, &[index[last], 0], 1));
            let bias = (c.operands.len() > 2).then(|| (2, Shape::from_slice(&index[last..]), Number::Int(1)));
            Some(Contraction { bias, ..Contraction::plain(x, w, c.operands[1].shape[1]) })
        }
        "addmm" => {
            let (x, w) = (Line::new(1, &[index[0], 0], 1), Line::new(2, &[0, index[1]], 0));
            Some(Contraction::scaled(x, w, c.operands[1].shape[1], c, index))
        }
        "baddbmm" => {
            let (x, y) = (Line::new(1, &[index[0], index[1], 0], 2), Line::new(2, &[index[0], 0, index[2]], 1));
            Some(Contraction::scaled(x, y, c.operands[1].shape[2], c, index))
        }
        _ => None,
    }
}

fn contracted(c: &Call, _: usize, index: &[usize], fetch: &mut Fetch) -> Result<Number, EvalError> {
    let mut k = contraction(c, index).ok_or_else(|| EvalError::NoSemantics(c.op.name.into()))?;
    let mut sum = Number::ZERO;
    for step in 0..k.length {
        k.x.index[k.x.axis] = step;
        k.y.index[k.y.axis] = step;
        sum = sum + fetch(k.x.operand, &k.x.index)? * fetch(k.y.operand, &k.y.index)?;
    }
    k.finish(sum, fetch)
}

/// `Σ x[.., k, ..] * y[.., k, ..]`, with `k` at the given place of either index.
fn dot(
    (x, mut x_index, x_place): (usize, Shape, usize),
    (y, mut y_index, y_place): (usize, Shape, usize),
    length: usize,
    fetch: &mut FetchReal,
) -> Result<f64, EvalError> {
    let mut sum = 0.0;
    for k in 0..length {
        x_index[x_place] = k;
        y_index[y_place] = k;
        sum += fetch(x, &x_index)? * fetch(y, &y_index)?;
    }
    Ok(sum)
}

fn numbers(c: &Call) -> Result<crate::ir::DType, TypeError> {
    c.refuse_bool()?;
    c.same_dtype(0..c.operands.len())
}

/// PyTorch refuses fractional factors on integer tensors.
fn check_factors(c: &Call) -> Result<(), TypeError> {
    let dtype = c.operands[0].dtype.accumulator();
    if ["beta", "alpha"].iter().any(|name| c.number(name, dtype).is_none()) {
        return Err(c.error(format!("takes whole factors for {}", c.operands[0])));
    }
    Ok(())
}

fn inner_mismatch(c: &Call, x: &TensorType, y: &TensorType) -> TypeError {
    c.error(format!("cannot multiply {x} and {y}"))
}

fn matmul_types(c: &Call) -> Result<Types, TypeError> {
    let (x, y) = (c.operands[0], c.operands[1]);
    let dtype = numbers(c)?;
    if x.rank() == 0 || y.rank() == 0 {
        return Err(c.error("takes no scalars"));
    }
    let (x_batch, x_matrix) = x.shape.split_at(x.rank().saturating_sub(2));
    let (y_batch, y_matrix) = y.shape.split_at(y.rank().saturating_sub(2));
    if x_matrix.last() != y_matrix.first() {
        return Err(inner_mismatch(c, x, y));
    }
    let mut shape = broadcast(x_batch, y_batch).ok_or_else(|| inner_mismatch(c, x, y))?;
    if x.rank() > 1 {
        shape.push(x_matrix[0]);
    }
    if y.rank() > 1 {
        shape.push(y_matrix[1]);
    }
    c.output(dtype, shape)
}

fn matmul(c: &Call, index: &[usize]) -> Contraction {
    let (x, y) = (&c.operands[0].shape, &c.operands[1].shape);
    let (x_rows, y_columns) = (usize::from(x.len() > 1), usize::from(y.len() > 1));
    let batch = &index[..index.len() - x_rows - y_columns];
    let mut x_index = broadcast_index(&x[..x.len() - 1 - x_rows], batch);
    let mut y_index = broadcast_index(&y[..y.len() - 1 - y_columns], batch);
    if x_rows == 1 {
        x_index.push(index[batch.len()]);
    }
    x_index.push(0);
    let y_axis = y_index.len();
    y_index.push(0);
    if y_columns == 1 {
        y_index.push(index[index.len() - 1]);
    }
    let x_axis = x.len() - 1;
    Contraction::plain(Line::new(0, &x_index, x_axis), Line::new(1, &y_index, y_axis), x[x_axis])
}

/// Two operations per output element and step of the inner dimension, which is the last of operand `x`.
fn product_work(x: usize) -> impl Fn(&Call, &[TensorType]) -> Work {
    move |c, outputs| {
        let inner = c.operands[x].shape.last().map_or(1.0, |&k| k as f64);
        let elements: f64 = outputs.iter().map(|t| t.numel() as f64).sum();
        Work::streaming(c, outputs, 2.0 * elements * inner, Unit::Matrix)
    }
}

fn grouped_types(c: &Call) -> Result<Types, TypeError> {
    let (x, w, ends) = (c.operands[0], c.operands[1], c.operands[2]);
    let dtype = c.same_dtype(0..2)?;
    if !matches!(dtype, DType::F32 | DType::F16 | DType::BF16) {
        return Err(c.error(format!("takes f32, f16 or bf16, not {x}")));
    }
    let fits = x.rank() == 2 && w.rank() == 3 && x.shape[1] == w.shape[1] && w.shape[0] > 0;
    if !fits || ends.dtype != DType::I32 || *ends.shape != [w.shape[0]] {
        return Err(c.error(format!("cannot multiply rows of {x} by {w} in groups that end at {ends}")));
    }
    c.output(dtype, Shape::from_slice(&[x.shape[0], w.shape[2]]))
}

/// The matrix of a row is that of the first group that ends behind the row. Rows behind all groups have no value.
fn grouped_element(c: &Call, _: usize, index: &[usize], fetch: &mut FetchReal) -> Result<f64, EvalError> {
    let (row, column) = (index[0], index[1]);
    for group in 0..c.operands[1].shape[0] {
        if fetch(2, &[group])? > row as f64 {
            let (x, w) = (Shape::from_slice(&[row, 0]), Shape::from_slice(&[group, 0, column]));
            return dot((0, x, 1), (1, w, 1), c.operands[0].shape[1], fetch);
        }
    }
    Err(EvalError::IndexOutOfRange)
}

#[cfg(feature = "torch")]
fn addmm(r: &Run) -> Replayed<Tensor> {
    if r.c.float("beta") == 1.0 && r.c.float("alpha") == 1.0 {
        return Ok(r.x()?.f_addmm(r.y()?, r.operand(2)?)?);
    }
    // The bindings give addmm no factors; a batch of one has them.
    let (x, w) = (r.y()?.f_unsqueeze(0)?, r.operand(2)?.f_unsqueeze(0)?);
    Ok(baddbmm(r, &x, &w)?.f_squeeze_dim(0)?)
}

#[cfg(feature = "torch")]
fn baddbmm(r: &Run, x: &Tensor, y: &Tensor) -> Replayed<Tensor> {
    let dtype = r.dtype(0)?;
    Ok(super::scalars::baddbmm(r.x()?, x, y, r.scalar("beta", dtype), r.scalar("alpha", dtype))?)
}

/// Libtorch's kernel takes bf16 on a GPU, in rows of 16 bytes at a time. Elsewhere only values count: one product a group.
#[cfg(feature = "torch")]
fn grouped_rows(r: &Run) -> Replayed<Tensor> {
    let (x, w, ends) = (r.x()?, r.y()?, r.operand(2)?);
    if x.device() != tch::Device::Cpu && x.f_kind()? == Kind::BFloat16 {
        return Ok(x.f_internal_grouped_mm(w, Some(ends), None::<&Tensor>, None::<Kind>)?);
    }
    let rows = x.size().first().copied().unwrap_or(0);
    let mut products = Vec::new();
    let mut start = 0;
    for (group, end) in super::tensors::elements(ends)?.into_iter().enumerate() {
        let end = end.to_i64().unwrap_or(rows).clamp(start, rows);
        products.push(x.f_narrow(0, start, end - start)?.f_matmul(&w.f_select(0, group as i64)?)?);
        start = end;
    }
    // Rows behind all groups would be of a group that does not exist, which libtorch refuses.
    if start < rows {
        products.push(w.f_select(0, w.size().first().copied().unwrap_or(0))?);
    }
    Ok(Tensor::f_cat(&products, 0)?)
}

/// The length of what is multiplied and added up: the last dimension of operand `x`.
fn inner(c: &Call, x: usize) -> f64 {
    c.operands.get(x).and_then(|t| t.shape.last()).map_or(1.0, |&n| n as f64)
}

/// Bounds of `addmm` and `baddbmm`.
fn scaled_range(r: &Ranges) -> Option<Interval> {
    let sum = r.y()?.sum_of_products(r.of(2)?, inner(r.call, 1))?.scaled(r.call.float("alpha"))?;
    sum.plus(r.x()?.scaled(r.call.float("beta"))?)
}

fn linear_digits(r: &Renumbering) -> Option<Digits> {
    let is_column = r.dim() + 1 == r.result.rank();
    let of_column = is_column.then_some(0);
    Some(r.dims([(!is_column).then_some(r.dim()), of_column, of_column].into_iter().take(r.call.operands.len())))
}

fn matmul_digits(r: &Renumbering) -> Option<Digits> {
    let &[x, y] = r.call.operands else { return None };
    if x.rank() < 2 || y.rank() < 2 {
        return None;
    }
    Some(match r.result.rank() - r.dim() {
        1 => r.dims([None, Some(y.rank() - 1)]),
        2 => r.dims([Some(x.rank() - 2), None]),
        _ => r.broadcast(),
    })
}

/// Of `addmm` and `baddbmm`.
fn biased_digits(r: &Renumbering) -> Option<Digits> {
    let bias = r.aligned(r.call.operands.first()?);
    Some(match r.result.rank() - r.dim() {
        1 => r.dims([bias, None, Some(r.dim())]),
        2 => r.dims([bias, Some(r.dim()), None]),
        _ => r.dims([bias, Some(r.dim()), Some(r.dim())]),
    })
}

/// What the products have in common.
const PRODUCT: OpDef = OpDef { family: Family::Linear, kernels: KernelClass::Product, ..OpDef::PLAIN };

/// The table entries of this family.
pub(super) static OPS: &[OpDef] = &[
    OpDef {
        name: "matmul",
        launch: Launch::Product,
        elements: Elements::Product,
        digits: matmul_digits,
        doc: "Matrix product over the last two dimensions; leading dimensions broadcast, vectors as in PyTorch.",
        operands: &[one("x"), one("y")],
        infer: matmul_types,
        kernel: Kernel::Ordered(contracted),
        work: |c, outputs| product_work(0)(c, outputs),
        aten: aten!("matmul", self: X, other: Y),
        replay: torch!(|r| r.x()?.f_matmul(r.y()?)?),
        weight: Some(1),
        bounds: Bounds {
            range: |r| r.x()?.sum_of_products(r.y()?, inner(r.call, 0)),
            magnitude: |m| m.of(0) * m.of(1) * inner(m.call, 0),
        },
        synthesis: Synthesis::Matmul,
        asks: |c| c.operands[1].rank().checked_sub(2).map(|batch| (1, Ask::Weight { batch })).into_iter().collect(),
        vanishes: Vanishes::WithWeight { weight: 1, bias: None },
        support: |s| support::batched_product(s, (0, 1), None),
        ..PRODUCT
    },
    OpDef {
        name: "addmm",
        launch: Launch::Product,
        elements: Elements::Product,
        digits: biased_digits,
        doc: "`beta * b + alpha * (x @ w)` for matrices; `b` broadcasts.",
        operands: &[one("b"), one("x"), one("w")],
        attrs: BETA_ALPHA,
        infer: |c| {
            let (b, x, w) = (c.operands[0], c.operands[1], c.operands[2]);
            let dtype = numbers(c)?;
            check_factors(c)?;
            if x.rank() != 2 || w.rank() != 2 || x.shape[1] != w.shape[0] {
                return Err(inner_mismatch(c, x, w));
            }
            let shape = Shape::from_slice(&[x.shape[0], w.shape[1]]);
            if broadcast(&b.shape, &shape).as_ref() != Some(&shape) {
                return Err(c.error(format!("cannot repeat {b} to {shape:?}")));
            }
            c.output(dtype, shape)
        },
        kernel: Kernel::Ordered(contracted),
        work: |c, outputs| product_work(1)(c, outputs),
        aten: aten!("addmm", self: X, mat1: Y, mat2: Z; beta, alpha),
        replay: torch!(|r| addmm(r)?),
        bounds: Bounds { range: |r| scaled_range(r), ..Bounds::UNKNOWN },
        synthesis: Synthesis::BiasedProduct { rank: 2 },
        asks: |_| vec![(2, Ask::Weight { batch: 0 })],
        vanishes: Vanishes::WithWeight { weight: 2, bias: Some(0) },
        support: |s| support::product(s, (1, 2), 1, Some(0)),
        ..PRODUCT
    },
    OpDef {
        name: "linear",
        launch: Launch::Product,
        elements: Elements::Product,
        digits: linear_digits,
        doc: "`x @ w^T + b`, with `w` of shape (out, in).",
        operands: &[one("x"), one("w"), optional("b")],
        infer: |c| {
            let (x, w) = (c.operands[0], c.operands[1]);
            let dtype = numbers(c)?;
            if x.rank() == 0 || w.rank() != 2 || x.shape.last() != w.shape.last() {
                return Err(inner_mismatch(c, x, w));
            }
            let mut shape = x.shape.clone();
            shape[x.rank() - 1] = w.shape[0];
            if let Some(b) = c.operands.get(2)
                && b.shape[..] != w.shape[..1]
            {
                return Err(c.error(format!("needs a bias of {} elements, not {b}", w.shape[0])));
            }
            c.output(dtype, shape)
        },
        kernel: Kernel::Ordered(contracted),
        work: |c, outputs| product_work(0)(c, outputs),
        aten: aten!("linear", input: X, weight: Y, bias: Given(2)),
        replay: torch!(|r| r.x()?.f_linear(r.y()?, r.given(2))?),
        weight: Some(1),
        bounds: Bounds {
            range: |r| {
                let sum = r.x()?.sum_of_products(r.y()?, inner(r.call, 0))?;
                if r.known.len() > 2 { sum.plus(r.of(2)?) } else { Some(sum) }
            },
            magnitude: |m| m.of(0) * m.of(1) * inner(m.call, 0) + m.of(2),
        },
        synthesis: Synthesis::Linear,
        asks: |_| vec![(1, Ask::Weight { batch: 0 })],
        vanishes: Vanishes::WithWeight { weight: 1, bias: Some(2) },
        support: |s| support::product(s, (0, 1), 0, Some(2)),
        ..PRODUCT
    },
    OpDef {
        name: "baddbmm",
        elements: Elements::Product,
        digits: biased_digits,
        doc: "`beta * b + alpha * (x @ y)` for batches of matrices; `b` broadcasts.",
        operands: &[one("b"), one("x"), one("y")],
        attrs: BETA_ALPHA,
        infer: |c| {
            let (b, x, y) = (c.operands[0], c.operands[1], c.operands[2]);
            let dtype = numbers(c)?;
            check_factors(c)?;
            if x.rank() != 3 || y.rank() != 3 || x.shape[0] != y.shape[0] || x.shape[2] != y.shape[1] {
                return Err(inner_mismatch(c, x, y));
            }
            let shape = Shape::from_slice(&[x.shape[0], x.shape[1], y.shape[2]]);
            if broadcast(&b.shape, &shape).as_ref() != Some(&shape) {
                return Err(c.error(format!("cannot repeat {b} to {shape:?}")));
            }
            c.output(dtype, shape)
        },
        kernel: Kernel::Ordered(contracted),
        work: |c, outputs| product_work(1)(c, outputs),
        aten: aten!("baddbmm", self: X, batch1: Y, batch2: Z; beta, alpha),
        replay: torch!(|r| baddbmm(r, r.y()?, r.operand(2)?)?),
        bounds: Bounds { range: |r| scaled_range(r), ..Bounds::UNKNOWN },
        synthesis: Synthesis::BiasedProduct { rank: 3 },
        asks: |_| vec![(2, Ask::Weight { batch: 1 })],
        support: |s| support::batched_product(s, (1, 2), Some(0)),
        ..PRODUCT
    },
    OpDef {
        name: "grouped_mm",
        doc: "Rows of `x` times one matrix of `w` for each group of rows; group `g` ends before row `ends[g]`. The experts of a \
              mixture, with rows sorted by expert.",
        operands: &[one("x"), one("w"), one("ends")],
        infer: grouped_types,
        kernel: Kernel::Real(grouped_element),
        work: |c, outputs| product_work(0)(c, outputs),
        aten: aten!(|c| super::aten_formulas::grouped(c)),
        replay: torch!(|r| grouped_rows(r)?),
        bounds: Bounds { range: |r| r.x()?.sum_of_products(r.y()?, inner(r.call, 0)), ..Bounds::UNKNOWN },
        asks: |c| vec![(1, Ask::Weight { batch: 1 }), (2, Ask::Ends(c.extent(0, 0)))],
        vanishes: Vanishes::WithWeight { weight: 1, bias: None },
        support: |s| {
            let ranks = (s.operand(0)?.ty.rank(), s.operand(1)?.ty.rank(), s.ty.rank());
            if ranks == (2, 3, 2) { support::product(s, (0, 1), 2, None) } else { None }
        },
        ..PRODUCT
    },
];
