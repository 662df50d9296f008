//! Matrix products.

use super::shapes::{broadcast, broadcast_index};
use super::{
    AttrDef, AttrKind, Call, Default, EvalError, Family, Fetch, Kernel, LayoutRule, OpDef, TypeError, Types, Unit,
    Work, attr, one, optional,
};
use crate::ir::{DType, Shape, TensorType};

const BETA_ALPHA: &[AttrDef] =
    &[attr("beta", AttrKind::Float, Default::Float(1.0)), attr("alpha", AttrKind::Float, Default::Float(1.0))];

/// `Σ x[.., k, ..] * y[.., k, ..]`, with `k` at the given place of either index.
fn dot(
    (x, mut x_index, x_place): (usize, Shape, usize),
    (y, mut y_index, y_place): (usize, Shape, usize),
    length: usize,
    fetch: &mut Fetch,
) -> Result<f64, EvalError> {
    let mut sum = 0.0;
    for k in 0..length {
        x_index[x_place] = k;
        y_index[y_place] = k;
        sum += fetch(x, &x_index)? * fetch(y, &y_index)?;
    }
    Ok(sum)
}

/// `beta * bias + alpha * product`; a `beta` of 0 ignores even a NaN in the bias, as BLAS does.
fn scaled(c: &Call, bias: &[usize], product: f64, fetch: &mut Fetch) -> Result<f64, EvalError> {
    let (beta, alpha) = (c.float("beta"), c.float("alpha"));
    let added = if beta == 0.0 { 0.0 } else { beta * fetch(0, &broadcast_index(&c.operands[0].shape, bias))? };
    Ok(added + alpha * product)
}

fn numbers(c: &Call) -> Result<crate::ir::DType, TypeError> {
    c.refuse_bool()?;
    c.same_dtype(0..c.operands.len())
}

/// PyTorch refuses fractional factors on integer tensors.
fn check_factors(c: &Call) -> Result<(), TypeError> {
    let fractional = [c.float("beta"), c.float("alpha")].iter().any(|f| f.fract() != 0.0);
    if fractional && !c.operands[0].dtype.is_float() {
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

fn matmul_element(c: &Call, _: usize, index: &[usize], fetch: &mut Fetch) -> Result<f64, EvalError> {
    let (x, y) = (&c.operands[0].shape, &c.operands[1].shape);
    let (x_rows, y_columns) = (usize::from(x.len() > 1), usize::from(y.len() > 1));
    let batch = &index[..index.len() - x_rows - y_columns];
    let mut x_index = broadcast_index(&x[..x.len() - 1 - x_rows], batch);
    let mut y_index = broadcast_index(&y[..y.len() - 1 - y_columns], batch);
    if x_rows == 1 {
        x_index.push(index[batch.len()]);
    }
    x_index.push(0);
    let y_place = y_index.len();
    y_index.push(0);
    if y_columns == 1 {
        y_index.push(index[index.len() - 1]);
    }
    let x_place = x.len() - 1;
    dot((0, x_index, x_place), (1, y_index, y_place), x[x_place], fetch)
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
fn grouped_element(c: &Call, _: usize, index: &[usize], fetch: &mut Fetch) -> Result<f64, EvalError> {
    let (row, column) = (index[0], index[1]);
    for group in 0..c.operands[1].shape[0] {
        if fetch(2, &[group])? > row as f64 {
            let (x, w) = (Shape::from_slice(&[row, 0]), Shape::from_slice(&[group, 0, column]));
            return dot((0, x, 1), (1, w, 1), c.operands[0].shape[1], fetch);
        }
    }
    Err(EvalError::IndexOutOfRange)
}

/// The table entries of this family.
pub const OPS: &[OpDef] = &[
    OpDef {
        name: "matmul",
        doc: "Matrix product over the last two dimensions; leading dimensions broadcast, vectors as in PyTorch.",
        family: Family::Linear,
        operands: &[one("x"), one("y")],
        attrs: &[],
        commutative: false,
        infer: matmul_types,
        kernel: Kernel::Element(matmul_element),
        layout: LayoutRule::Contiguous,
        work: |c, outputs| product_work(0)(c, outputs),
    },
    OpDef {
        name: "addmm",
        doc: "`beta * b + alpha * (x @ w)` for matrices; `b` broadcasts.",
        family: Family::Linear,
        operands: &[one("b"), one("x"), one("w")],
        attrs: BETA_ALPHA,
        commutative: false,
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
        kernel: Kernel::Element(|c, _, index, fetch| {
            let x = Shape::from_slice(&[index[0], 0]);
            let w = Shape::from_slice(&[0, index[1]]);
            let product = dot((1, x, 1), (2, w, 0), c.operands[1].shape[1], fetch)?;
            scaled(c, index, product, fetch)
        }),
        layout: LayoutRule::Contiguous,
        work: |c, outputs| product_work(1)(c, outputs),
    },
    OpDef {
        name: "linear",
        doc: "`x @ w^T + b`, with `w` of shape (out, in).",
        family: Family::Linear,
        operands: &[one("x"), one("w"), optional("b")],
        attrs: &[],
        commutative: false,
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
        kernel: Kernel::Element(|c, _, index, fetch| {
            let last = index.len() - 1;
            let w = Shape::from_slice(&[index[last], 0]);
            let inner = c.operands[1].shape[1];
            let product = dot((0, Shape::from_slice(index), last), (1, w, 1), inner, fetch)?;
            Ok(if c.operands.len() > 2 { product + fetch(2, &index[last..])? } else { product })
        }),
        layout: LayoutRule::Contiguous,
        work: |c, outputs| product_work(0)(c, outputs),
    },
    OpDef {
        name: "baddbmm",
        doc: "`beta * b + alpha * (x @ y)` for batches of matrices; `b` broadcasts.",
        family: Family::Linear,
        operands: &[one("b"), one("x"), one("y")],
        attrs: BETA_ALPHA,
        commutative: false,
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
        kernel: Kernel::Element(|c, _, index, fetch| {
            let x = Shape::from_slice(&[index[0], index[1], 0]);
            let y = Shape::from_slice(&[index[0], 0, index[2]]);
            let product = dot((1, x, 2), (2, y, 1), c.operands[1].shape[2], fetch)?;
            scaled(c, index, product, fetch)
        }),
        layout: LayoutRule::Contiguous,
        work: |c, outputs| product_work(1)(c, outputs),
    },
    OpDef {
        name: "grouped_mm",
        doc: "Rows of `x` times one matrix of `w` for each group of rows; group `g` ends before row `ends[g]`. The experts of a \
              mixture, with rows sorted by expert.",
        family: Family::Linear,
        operands: &[one("x"), one("w"), one("ends")],
        attrs: &[],
        commutative: false,
        infer: grouped_types,
        kernel: Kernel::Element(grouped_element),
        layout: LayoutRule::Contiguous,
        work: |c, outputs| product_work(0)(c, outputs),
    },
];
