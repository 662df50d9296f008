//! Products of matrices.

use super::operator::{Operator, microsoft, standard};
use crate::frontend::builder::{Refusal, ints};
use crate::frontend::onnx::lowering::{Lowered, NodeLowering, one};
use crate::ir::{AttrValue, Value};

pub(super) const OPERATORS: &[Operator] = &[
    standard("MatMul", &[1, 9, 13], matmul),
    standard("Gemm", &[1, 6, 7, 9, 11, 13], gemm),
    microsoft("FusedMatMul", fused_matmul),
    microsoft("TransposeMatMul", fused_matmul),
    microsoft("GemmFastGelu", gemm_fast_gelu),
    standard("Det", &[11, 22], determinant),
];

fn matmul(s: &mut NodeLowering) -> Lowered {
    let (x, y) = (s.x(0)?, s.x(1)?);
    s.done("matmul", &[], &[x, y])
}

/// `alpha A B + beta C`, where A and B may be transposed.
fn gemm(s: &mut NodeLowering) -> Lowered {
    let (mut x, mut y) = (s.x(0)?, s.x(1)?);
    if s.rank(x) != 2 || s.rank(y) != 2 {
        return Err(Refusal::new(format!("multiplies {} and {}, which are not both matrices", s.ty(x), s.ty(y))));
    }
    let dtype = s.dtype(x);
    let (alpha, beta) = (s.float("alpha", 1.0, dtype)?, s.float("beta", 1.0, dtype)?);
    if s.flag("transA")? {
        x = s.transpose(x)?;
    }
    if s.flag("transB")? {
        y = s.transpose(y)?;
    }
    match s.maybe(2)? {
        Some(bias) if beta != 0.0 || dtype.is_float() => {
            let attrs = [("alpha", AttrValue::float(alpha)), ("beta", AttrValue::float(beta))];
            s.done("addmm", if dtype.is_float() { &attrs } else { &[] }, &[bias, x, y])
        }
        _ if alpha == 1.0 => s.done("matmul", &[], &[x, y]),
        _ => {
            let product = s.binary("matmul", x, y)?;
            one(s.with("mul", product, alpha)?)
        }
    }
}

/// A product whose matrices may be transposed, with batches in front or between the dimensions of matrices.
fn fused_matmul(s: &mut NodeLowering) -> Lowered {
    let (mut x, mut y) = (s.x(0)?, s.x(1)?);
    for (operand, turns, batches) in [(&mut x, "transA", "transBatchA"), (&mut y, "transB", "transBatchB")] {
        let rank = s.rank(*operand) as i64;
        // The batch stands behind the rows: (row, batch, column) for (batch, row, column).
        if s.flag(batches)? && rank > 2 {
            let dims: Vec<i64> = (1..rank - 1).chain([0, rank - 1]).collect();
            *operand = s.permute(*operand, &dims)?;
        }
        // Vectors have nothing to transpose.
        if s.flag(turns)? && rank > 1 {
            *operand = s.transpose(*operand)?;
        }
    }
    let alpha = s.float("alpha", 1.0, s.dtype(x))?;
    if alpha == 1.0 {
        return s.done("matmul", &[], &[x, y]);
    }
    let product = s.binary("matmul", x, y)?;
    one(s.with("mul", product, alpha)?)
}

fn gemm_fast_gelu(s: &mut NodeLowering) -> Lowered {
    let (x, y) = (s.x(0)?, s.x(1)?);
    let mut product = s.binary("matmul", x, y)?;
    if let Some(bias) = s.maybe(2)? {
        product = s.binary("add", product, bias)?;
    }
    s.done("gelu", &[("approximate", AttrValue::str("tanh"))], &[product])
}

/// The largest matrices whose determinant is written out.
const LARGEST: i64 = 4;

/// Determinants of small matrices, by their first rows.
fn determinant(s: &mut NodeLowering) -> Lowered {
    let x = s.x(0)?;
    let rank = s.rank(x);
    let size = s.size(x, rank.saturating_sub(1));
    if rank < 2 || s.size(x, rank - 2) != size {
        return Err(Refusal::new(format!("takes square matrices, not {}", s.ty(x))));
    }
    if size > LARGEST || size == 0 {
        return Ok(None);
    }
    let columns: Vec<i64> = (0..size).collect();
    let batch: Vec<i64> = s.shape(x)[..rank - 2].iter().map(|&d| d as i64).collect();
    let result = minor(s, x, 0, &columns)?;
    one(s.op("reshape", &[("shape", ints(&batch))], &[result])?)
}

/// The determinant of the rows from `row` on, in some of the columns.
fn minor(s: &mut NodeLowering, x: Value, row: i64, columns: &[i64]) -> Result<Value, Refusal> {
    let rank = s.rank(x) as i64;
    let mut sum: Option<Value> = None;
    for (at, &column) in columns.iter().enumerate() {
        let line = s.slice(x, rank - 2, row, row + 1)?;
        let mut term = s.slice(line, rank - 1, column, column + 1)?;
        let rest: Vec<i64> = columns.iter().copied().filter(|&c| c != column).collect();
        if !rest.is_empty() {
            let inner = minor(s, x, row + 1, &rest)?;
            term = s.binary("mul", term, inner)?;
        }
        sum = Some(match sum {
            None => term,
            Some(sum) => s.binary(if at % 2 == 0 { "add" } else { "sub" }, sum, term)?,
        });
    }
    sum.ok_or_else(|| Refusal::new("takes an empty matrix"))
}
