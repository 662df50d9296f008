//! Lengths of vectors and distances.

use super::super::lowering::{Converted, NodeLowering, Scalar};
use super::super::target::Target;
use crate::ir::{AttrValue, Value};

pub(super) fn convert(site: &mut NodeLowering, target: Target) -> Converted {
    match (target.name, target.overload) {
        ("linalg_vector_norm", "") => {
            let x = site.tensor("self")?;
            let ord = site.float_or("ord", 2.0)?;
            length(site, x, ord)
        }
        ("norm", "Scalar" | "ScalarOpt_dim" | "ScalarOpt_dtype" | "ScalarOpt_dim_dtype") => {
            let x = site.tensor("self")?;
            let ord = site.float_or("p", 2.0)?;
            length(site, x, ord)
        }
        ("frobenius_norm", "dim") => {
            let x = site.tensor("self")?;
            length(site, x, 2.0)
        }
        ("linalg_norm", "") => {
            let x = site.tensor("self")?;
            let dims = site.maybe_ints("dim")?.map_or(site.rank(x), |dims| dims.len());
            match site.maybe_scalar("ord")? {
                None => length(site, x, 2.0),
                // With an order, two dimensions are those of a matrix.
                Some(ord) if dims == 1 => length(site, x, ord.value().to_f64()),
                Some(_) => Ok(None),
            }
        }
        ("linalg_matrix_norm", "str_ord") if site.str("ord").unwrap_or("fro") == "fro" => {
            let x = site.tensor("self")?;
            let dims = site.maybe_ints("dim")?.unwrap_or_else(|| vec![-2, -1]);
            let dims = site.dims_of(x, &dims)?;
            over(site, x, 2.0, dims)
        }
        ("pairwise_distance", "") => distance(site),
        _ => Ok(None),
    }
}

/// The length over the dimensions that `dim` names; none stands for all of them.
fn length(site: &mut NodeLowering, x: Value, ord: f64) -> Converted {
    let dims = match site.maybe_ints("dim")? {
        Some(dims) if !dims.is_empty() && site.rank(x) > 0 => site.dims_of(x, &dims)?,
        _ => AttrValue::Ints((0..site.rank(x) as i64).collect()),
    };
    over(site, x, ord, dims)
}

fn over(site: &mut NodeLowering, x: Value, ord: f64, dims: AttrValue) -> Converted {
    let x = match site.maybe_dtype("dtype")? {
        Some(dtype) => site.cast("self", x, dtype)?,
        None => x,
    };
    if !site.dtype(x).is_float() {
        return Ok(None);
    }
    let keepdim = AttrValue::Bool(site.bool_or("keepdim", false)?);
    site.emit("vector_norm", &[("ord", AttrValue::float(ord)), ("dim", dims), ("keepdim", keepdim)], &[x])
}

/// The length of `x1 - x2 + eps` along the last dimension.
fn distance(site: &mut NodeLowering) -> Converted {
    let (x, y) = (site.tensor("x1")?, site.tensor("x2")?);
    let dtype = site.dtype(x);
    if dtype != site.dtype(y) || !dtype.is_float() {
        return Ok(None);
    }
    let (ord, eps) = (site.float_or("p", 2.0)?, site.float_or("eps", 1e-6)?);
    let difference = site.implicit("difference", "sub", &[], &[x, y])?;
    let eps = site.literal("eps", Scalar::Float(eps), dtype)?;
    let shifted = site.implicit("shifted", "add", &[], &[difference, eps])?;
    // Broadcasting may have given it more dimensions than its operands.
    let last = AttrValue::Ints([site.rank(shifted) as i64 - 1].into_iter().collect());
    over(site, shifted, ord, last)
}
