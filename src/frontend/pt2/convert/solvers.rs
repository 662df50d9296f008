//! Linear algebra that the op table has no entry for. PyTorch decomposes it to operators that give more than was asked for: it is
//! read as those, so that both forms of a program call the same.

use super::super::argument::Argument;
use super::super::lowering::{Converted, NodeLowering, Refusal, Scalar, Values};
use super::super::target::Target;
use crate::ir::{AttrValue, DType, Shape, TensorType};

pub(super) fn convert(site: &mut NodeLowering, target: Target) -> Converted {
    match (target.name, target.overload) {
        ("linalg_inv" | "inverse", "") => decomposed(site, "aten.linalg_inv_ex", &[], 0),
        ("linalg_cholesky", "") => decomposed(site, "aten.linalg_cholesky_ex", &["upper"], 0),
        ("linalg_det" | "det", "") => decomposed(site, "aten._linalg_det", &[], 0),
        ("linalg_svdvals", "") => decomposed(site, "aten._linalg_svd", &[], 1),
        ("linalg_eigvalsh", "") if !site.is_used(1) => decomposed(site, "aten._linalg_eigh", &["UPLO"], 0),
        ("linalg_solve", "") => decomposed(site, "aten._linalg_solve_ex", &["left"], 0),
        ("linalg_slogdet" | "slogdet", "") => {
            let all = call(site, "aten._linalg_slogdet", &[])?;
            Ok(all.map(|all| all.into_iter().take(2).collect()))
        }
        ("logdet", "") => logarithm(site),
        _ => Ok(None),
    }
}

/// Result number `result` of an operator that gives more.
fn decomposed(site: &mut NodeLowering, op: &str, given: &[&str], result: usize) -> Converted {
    let all = call(site, op, given)?;
    Ok(all.and_then(|all| all.get(result).map(|&value| Values::from_elem(value, 1))))
}

/// The operator on the matrices that this one is about, with those of its own arguments that are `given`.
fn call(site: &mut NodeLowering, op: &str, given: &[&str]) -> Result<Option<Values>, Refusal> {
    let matrices = site.tensor(if site.given("A") { "A" } else { "self" })?;
    let ty = site.ty(matrices);
    let [batch @ .., rows, columns] = &ty.shape[..] else { return Ok(None) };
    if !matches!(ty.dtype, DType::F32 | DType::F64) || (*rows != *columns && op != "aten._linalg_svd") {
        return Ok(None);
    }
    let of = |dtype: DType, sizes: &[usize]| {
        let shape: Shape = batch.iter().chain(sizes).copied().collect();
        TensorType { dtype, shape }
    };
    let (n, floats) = (*rows, ty.dtype);
    let (number, vector, matrix) = (of(floats, &[]), of(floats, &[n]), of(floats, &[n, n]));
    let (info, pivots) = (of(DType::I32, &[]), of(DType::I32, &[n]));
    let mut operands = vec![matrices];
    let types = match op {
        "aten.linalg_inv_ex" | "aten.linalg_cholesky_ex" => vec![matrix, info],
        "aten._linalg_det" => vec![number, matrix, pivots],
        "aten._linalg_slogdet" => vec![number.clone(), number, matrix, pivots],
        "aten._linalg_eigh" => vec![vector, matrix],
        "aten._linalg_svd" => {
            let least = *rows.min(columns);
            vec![of(floats, &[*rows, least]), of(floats, &[least]), of(floats, &[least, *columns])]
        }
        _ => {
            operands.push(site.tensor("B")?);
            vec![site.stated(0)?, matrix, pivots, info]
        }
    };
    let mut attrs = Vec::new();
    for &name in given {
        match site.argument(name) {
            None => {}
            Some(Argument::Str(text)) => attrs.push((name.to_owned(), AttrValue::str(text))),
            Some(_) => attrs.push((name.to_owned(), AttrValue::Bool(site.bool_or(name, false)?))),
        }
    }
    site.opaque(op, attrs, &operands, types).map(Some)
}

/// The logarithm of a determinant: NaN for a negative one.
fn logarithm(site: &mut NodeLowering) -> Converted {
    let Some(all) = call(site, "aten._linalg_slogdet", &[])? else { return Ok(None) };
    let dtype = site.dtype(all[0]);
    let below = site.literal("below", Scalar::Float(-1.0), dtype)?;
    let negative = site.implicit("negative", "eq", &[], &[all[0], below])?;
    let undefined = site.literal("undefined", Scalar::Float(f64::NAN), dtype)?;
    site.emit("where", &[], &[negative, undefined, all[1]])
}
