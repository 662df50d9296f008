//! Operators that take a tensor apart, put tensors together, or chain products, as the operators of the table that do it.

use super::super::lowering::{Converted, NodeLowering, Refusal, Scalar, int, ints};
use super::super::target::Target;
use crate::ir::{AttrValue, DType, Value};

pub(super) fn convert(site: &mut NodeLowering, target: Target) -> Converted {
    match (target.name, target.overload) {
        ("take", "") => take(site),
        ("vstack", "") => stacked(site, 2, 0),
        ("dstack", "") => stacked(site, 3, 2),
        ("hstack", "") => stacked(site, 1, 0),
        ("sum_to_size", "") => summed_to(site),
        ("tensor_split", "sections" | "indices") => split(site),
        ("linalg_multi_dot" | "chain_matmul", "") => chain(site),
        ("block_diag", "") => blocks(site),
        ("masked_scatter", "") => masked_scatter(site),
        _ => Ok(None),
    }
}

/// All elements in one dimension.
pub(super) fn flat(site: &mut NodeLowering, part: &str, x: Value) -> Result<Value, Refusal> {
    let count = site.ty(x).numel();
    site.implicit(part, "reshape", &[("shape", AttrValue::shape(&[count]))], &[x])
}

/// Tensors one after the other along `dim`, each of `rank` dimensions at least.
fn stacked(site: &mut NodeLowering, rank: usize, dim: i64) -> Converted {
    let tensors = site.tensors("tensors")?;
    let dtype = tensors.first().map(|&x| site.dtype(x));
    if tensors.iter().any(|&x| Some(site.dtype(x)) != dtype) {
        return Ok(None);
    }
    let mut parts = Vec::with_capacity(tensors.len());
    for x in tensors {
        // As PyTorch counts the dimensions of what has too few of them: a vector is a row, and a matrix has a depth of 1.
        let shape: Vec<i64> = site.ty(x).shape.iter().map(|&size| size as i64).collect();
        let shape = match (shape.len(), rank) {
            (of, rank) if of >= rank => None,
            (0, _) => Some(vec![1; rank]),
            (1, 2) => Some(vec![1, shape[0]]),
            (1, 3) => Some(vec![1, shape[0], 1]),
            _ => Some([&shape[..], &[1]].concat()),
        };
        parts.push(match shape {
            Some(shape) => site.implicit("part", "reshape", &[("shape", ints(&shape))], &[x])?,
            None => x,
        });
    }
    site.emit("concat", &[("dim", int(dim))], &parts)
}

/// Sums over what broadcasting had repeated.
fn summed_to(site: &mut NodeLowering) -> Converted {
    let (x, (shape, stated)) = (site.tensor("self")?, site.stated_shape()?);
    let of = site.ty(x).shape;
    let Some(more) = of.len().checked_sub(shape.len()) else { return Ok(None) };
    let repeated = |d: usize| d < more || shape[d - more] == 1 && of[d] != 1;
    let dims: Vec<i64> = (0..of.len()).filter(|&d| repeated(d)).map(|d| d as i64).collect();
    if dims.is_empty() {
        return site.emit("alias", &[], &[x]);
    }
    let sum = site.implicit("sum", "sum", &[("dim", ints(&dims))], &[x])?;
    if site.dtype(sum) != site.stated(0)?.dtype {
        return Ok(None);
    }
    site.emit("reshape", &[("shape", stated)], &[sum])
}

/// Elements by their numbers in row-major order.
fn take(site: &mut NodeLowering) -> Converted {
    let (x, index) = (site.tensor("self")?, site.tensor("index")?);
    if site.dtype(index) != DType::I64 {
        return Ok(None);
    }
    let all = flat(site, "flat", x)?;
    site.emit("index", &[("dims", ints(&[0]))], &[all, index])
}

/// Parts of nearly one size, or that end at these places.
fn split(site: &mut NodeLowering) -> Converted {
    let x = site.tensor("self")?;
    let dim = site.dim_of(x, site.int_or("dim", 0)?)?;
    let Some(&size) = site.ty(x).shape.get(dim as usize) else { return Ok(None) };
    let size = size as i64;
    let mut ends: Vec<i64> = match site.maybe_int("sections") {
        Ok(Some(sections)) if (1..=size.max(1)).contains(&sections) => {
            (1..sections).map(|n| n * (size / sections) + n.min(size % sections)).collect()
        }
        Ok(Some(_)) => return Ok(None),
        _ => site.ints("indices")?,
    };
    ends.push(size);
    if !ends.is_sorted() || ends.iter().any(|end| !(0..=size).contains(end)) {
        return Ok(None);
    }
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let sizes: Vec<i64> = starts.zip(&ends).map(|(start, end)| end - start).collect();
    site.emit("split", &[("sizes", ints(&sizes)), ("dim", int(dim))], &[x])
}

/// A product of several matrices, from the left. PyTorch chooses the order that takes the fewest steps.
fn chain(site: &mut NodeLowering) -> Converted {
    let factors = site.tensors(if site.given("tensors") { "tensors" } else { "matrices" })?;
    let ([first, inner @ .., last], true) = (&factors[..], factors.len() >= 2) else { return Ok(None) };
    let mut product = *first;
    for factor in inner {
        product = site.implicit("product", "matmul", &[], &[product, *factor])?;
    }
    site.emit("matmul", &[], &[product, *last])
}

/// Matrices along the diagonal, and zeros beside them.
fn blocks(site: &mut NodeLowering) -> Converted {
    let matrices = site.tensors("tensors")?;
    let is_matrix = |&x: &Value| site.rank(x) == 2 && site.dtype(x) == site.dtype(matrices[0]);
    if matrices.is_empty() || !matrices.iter().all(is_matrix) {
        return Ok(None);
    }
    let columns: i64 = matrices.iter().map(|&x| site.ty(x).shape[1] as i64).sum();
    let (mut before, mut rows) = (0, Vec::with_capacity(matrices.len()));
    for x in matrices {
        let width = site.ty(x).shape[1] as i64;
        let around = [0, 0, before, columns - before - width];
        let zero = Scalar::Int(0).beside(site.dtype(x)).into();
        rows.push(site.implicit("row", "pad", &[("pad", ints(&around)), ("value", zero)], &[x])?);
        before += width;
    }
    site.emit("concat", &[("dim", int(0))], &rows)
}

/// Elements of a list, one after the other, where a mask holds. How many of them are used up before a place is counted; places
/// where the mask does not hold may read any.
fn masked_scatter(site: &mut NodeLowering) -> Converted {
    let (x, mask, source) = (site.tensor("self")?, site.tensor("mask")?, site.tensor("source")?);
    let shape = site.ty(x).shape.clone();
    if site.dtype(mask) != DType::Bool || site.dtype(source) != site.dtype(x) || site.ty(source).numel() == 0 {
        return Ok(None);
    }
    // A mask of more dimensions makes the result larger.
    if site.stated(0)?.shape != shape {
        return Ok(None);
    }
    let everywhere = site.implicit("everywhere", "expand", &[("shape", AttrValue::shape(&shape))], &[mask])?;
    let list = flat(site, "places", everywhere)?;
    let counted = site.implicit("counted", "cast", &[("dtype", AttrValue::DType(DType::I64))], &[list])?;
    let so_far = site.implicit("so_far", "cumsum", &[("dim", int(0))], &[counted])?;
    let one = site.literal("one", Scalar::Int(1), DType::I64)?;
    let before = site.implicit("before", "sub", &[], &[so_far, one])?;
    let source = flat(site, "source", source)?;
    let picked = site.implicit("picked", "index", &[("dims", ints(&[0]))], &[source, before])?;
    let picked = site.implicit("arranged", "reshape", &[("shape", AttrValue::shape(&shape))], &[picked])?;
    site.emit("where", &[], &[everywhere, picked, x])
}
