//! Eigenvalues of square matrices.

use nalgebra::{DMatrix, Schur, SymmetricEigen};
use smallvec::SmallVec;

#[cfg(feature = "torch")]
use super::replay::{ReplayError, Replayed, Run};
use super::{
    Call, EvalError, Family, FetchReal, Kernel, KernelClass, OpDef, Synthesis, TypeError, Types, Unit, Work, one,
};
use crate::ir::{DType, Shape, TensorType};

/// Rows of the largest matrix that is evaluated: the work grows with their cube, and the budget counts elements only.
const MAX_ROWS: usize = 96;
/// Iterations after which a decomposition counts as not converging.
const MAX_ITERATIONS: usize = 10_000;

/// The rows of the square matrices in operand 0.
fn rows(c: &Call) -> Result<usize, TypeError> {
    let x = c.operands[0];
    match x.shape[..] {
        [.., n, m] if n == m && matches!(x.dtype, DType::F32 | DType::F64) => Ok(n),
        _ => Err(c.error(format!("takes square matrices of f32 or f64, not {x}"))),
    }
}

fn value_types(c: &Call, outputs: usize) -> Result<Types, TypeError> {
    rows(c)?;
    let x = c.operands[0];
    let types = c.output(x.dtype, Shape::from_slice(&x.shape[..x.rank() - 1]))?;
    Ok(SmallVec::from_elem(types[0].clone(), outputs))
}

/// The matrix whose eigenvalue `index` names.
fn matrix(c: &Call, index: &[usize], fetch: &mut FetchReal) -> Result<DMatrix<f64>, EvalError> {
    let n = rows(c).map_err(|e| EvalError::NoSemantics(e.to_string()))?;
    if n > MAX_ROWS {
        return Err(EvalError::Budget);
    }
    let mut at = Shape::from_slice(index);
    at.push(0);
    let batch = index.len() - 1;
    let mut elements = Vec::with_capacity(n * n);
    for i in 0..n {
        for j in 0..n {
            (at[batch], at[batch + 1]) = (i, j);
            elements.push(fetch(0, &at)?);
        }
    }
    Ok(DMatrix::from_row_slice(n, n, &elements))
}

/// Real and imaginary parts, the largest first and then in ascending order: libraries leave the order open, so it is one that
/// no rule can mean.
fn general(c: &Call, slot: usize, index: &[usize], fetch: &mut FetchReal) -> Result<Vec<f64>, EvalError> {
    let matrix = matrix(c, index, fetch)?;
    let n = matrix.nrows();
    if matrix.iter().any(|v| !v.is_finite()) {
        return Ok(vec![f64::NAN; n]);
    }
    let schur = (n > 0).then(|| Schur::try_new(matrix, f64::EPSILON, MAX_ITERATIONS));
    let Some(schur) = schur else { return Ok(Vec::new()) };
    let schur = schur.ok_or_else(|| EvalError::NoSemantics("eigenvalues that are not found".into()))?;
    let mut values: Vec<(f64, f64)> = schur.complex_eigenvalues().iter().map(|v| (v.re, v.im)).collect();
    values.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    values.rotate_right(1);
    Ok(values.into_iter().map(|(real, imaginary)| if slot == 0 { real } else { imaginary }).collect())
}

fn symmetric(c: &Call, _: usize, index: &[usize], fetch: &mut FetchReal) -> Result<Vec<f64>, EvalError> {
    let mut matrix = matrix(c, index, fetch)?;
    let n = matrix.nrows();
    // What stands above the diagonal is not read.
    matrix.fill_upper_triangle_with_lower_triangle();
    if matrix.iter().any(|v| !v.is_finite()) {
        return Ok(vec![f64::NAN; n]);
    }
    let found = (n > 0).then(|| SymmetricEigen::try_new(matrix, f64::EPSILON, MAX_ITERATIONS));
    let Some(found) = found else { return Ok(Vec::new()) };
    let found = found.ok_or_else(|| EvalError::NoSemantics("eigenvalues that are not found".into()))?;
    let mut values: Vec<f64> = found.eigenvalues.iter().copied().collect();
    values.sort_by(f64::total_cmp);
    Ok(values)
}

/// `per_cube` operations for each cube of a matrix's rows, as LAPACK's users' guide counts them.
fn work(c: &Call, outputs: &[TensorType], per_cube: f64) -> Work {
    let x = c.operands[0];
    let n = x.shape.last().copied().unwrap_or(0) as f64;
    Work::streaming(c, outputs, per_cube * n * x.numel() as f64, Unit::Vector)
}

#[cfg(feature = "torch")]
fn general_on_torch(r: &Run) -> Replayed<Vec<tch::Tensor>> {
    let x = r.x()?;
    let finite =
        || -> Replayed<bool> { Ok(super::tensors::elements(&x.f_isfinite()?.f_all()?)?.iter().all(|v| v.is_true())) };
    if x.device() == tch::Device::Cpu && !finite()? {
        return Err(ReplayError::Infinite(r.c.op.name));
    }
    let values = x.f_linalg_eigvals()?;
    Ok(vec![values.f_real()?, values.f_imag()?])
}

/// What the operators of this family have in common.
const SPECTRAL: OpDef =
    OpDef { family: Family::Spectral, kernels: KernelClass::Factorisation, operands: &[one("x")], ..OpDef::PLAIN };

/// The table entries of this family.
pub(super) static OPS: &[OpDef] = &[
    OpDef {
        name: "eigvals",
        doc: "Real parts (0) and imaginary parts (1) of the eigenvalues of square matrices, in an order that is open.",
        infer: |c| value_types(c, 2),
        kernel: Kernel::RealLane { axes: |c| SmallVec::from_elem(c.operands[0].rank() - 2, 1), lane: general },
        work: |c, outputs| work(c, outputs, 10.0),
        aten: aten!(|c| super::aten_formulas::eigenvalues_call(c)),
        replay: torch!(several | r | general_on_torch(r)?),
        synthesis: Synthesis::Eigenvalues,
        ..SPECTRAL
    },
    OpDef {
        name: "eigvalsh",
        doc: "Eigenvalues of symmetric matrices in ascending order; what stands above the diagonal is not read.",
        infer: |c| value_types(c, 1),
        kernel: Kernel::RealLane { axes: |c| SmallVec::from_elem(c.operands[0].rank() - 2, 1), lane: symmetric },
        work: |c, outputs| work(c, outputs, 4.0 / 3.0),
        aten: aten!("linalg_eigvalsh", self: X),
        replay: torch!(|r| r.x()?.f_linalg_eigvalsh("L")?),
        synthesis: Synthesis::Eigenvalues,
        ..SPECTRAL
    },
];
