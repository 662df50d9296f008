//! Elements at places that are computed: of order, along dimensions, on diagonals, by counts.

use super::super::lowering::{Converted, NodeLowering, Refusal, Scalar, Values, int, ints};
use super::super::target::Target;
use super::assembled::flat;
use crate::ir::{AttrValue, DType, Value};
use crate::ops::shapes::inverse_permutation;

pub(super) fn convert(site: &mut NodeLowering, target: Target) -> Converted {
    match (target.name, target.overload) {
        ("kthvalue", "") => of_order(site),
        ("take_along_dim", "") => along(site),
        ("repeat_interleave", "self_Tensor" | "Tensor") => repeated(site, target.overload == "Tensor"),
        ("diagonal_scatter", "") => onto_diagonal(site),
        ("linalg_diagonal", "") => {
            let x = site.tensor("A")?;
            let (first, second) = (site.int_or("dim1", -2)?, site.int_or("dim2", -1)?);
            let attrs = [
                ("offset", int(site.int_or("offset", 0)?)),
                ("dim1", int(site.dim_of(x, first)?)),
                ("dim2", int(site.dim_of(x, second)?)),
            ];
            site.emit("diagonal", &attrs, &[x])
        }
        ("cartesian_prod", "") => pairs_of_all(site),
        ("put", "") => put(site),
        _ => Ok(None),
    }
}

fn counted(site: &mut NodeLowering, part: &str, from: i64, to: i64) -> Result<Value, Refusal> {
    let attrs = [("start", int(from)), ("end", int(to)), ("dtype", AttrValue::DType(DType::I64))];
    site.implicit(part, "arange", &attrs, &[])
}

/// Element number `k` in ascending order along a dimension, and its place: of equal ones, any.
fn of_order(site: &mut NodeLowering) -> Converted {
    let (x, k) = (site.tensor("self")?, site.int("k")?);
    if site.rank(x) == 0 {
        return Ok(None);
    }
    let dim = site.dim_of(x, site.int_or("dim", -1)?)?;
    let op = crate::ops::find("kthvalue").ok_or_else(|| Refusal::new("needs the operator `kthvalue`"))?;
    let attrs = op.attrs(&[("k", int(k)), ("dim", int(dim))]).map_err(|e| Refusal::new(e.to_string()))?;
    let found = site.part("found", op, attrs, &[x])?;
    if site.bool_or("keepdim", false)? {
        return Ok(Some(found));
    }
    let single = |value: &Value| site.implicit("single", "squeeze", &[("dim", int(dim))], &[*value]);
    found.iter().map(single).collect::<Result<Values, Refusal>>().map(Some)
}

/// A lookup along a dimension, before which both sides are brought to one shape in the others; without a dimension, of all elements.
fn along(site: &mut NodeLowering) -> Converted {
    let (x, index) = (site.tensor("self")?, site.tensor("indices")?);
    let Some(dim) = site.maybe_int("dim")? else {
        let (x, index) = (flat(site, "flat", x)?, flat(site, "places", index)?);
        return site.emit("gather", &[("dim", int(0))], &[x, index]);
    };
    if site.rank(x) != site.rank(index) || site.rank(x) == 0 {
        return Ok(None);
    }
    let dim = site.dim_of(x, dim)?;
    let (of_x, of_index) = (site.ty(x).shape, site.ty(index).shape);
    let (mut shape_x, mut shape_index) = (of_x.clone(), of_index.clone());
    for d in (0..of_x.len()).filter(|&d| d as i64 != dim) {
        let size = if of_x[d] == 1 { of_index[d] } else { of_x[d] };
        (shape_x[d], shape_index[d]) = (size, size);
    }
    let x = site.implicit("self", "expand", &[("shape", AttrValue::shape(&shape_x))], &[x])?;
    let index = site.implicit("indices", "expand", &[("shape", AttrValue::shape(&shape_index))], &[index])?;
    // Places may be counted from the end.
    let size = site.literal("size", Scalar::Int(shape_x[dim as usize] as i64), site.dtype(index))?;
    let index = site.implicit("places", "remainder", &[], &[index, size])?;
    site.emit("gather", &[("dim", int(dim))], &[x, index])
}

/// Every slice as often as its count says. The file states how many there are: slice `j` of the result comes from as many slices
/// as are used up before it.
fn repeated(site: &mut NodeLowering, places_alone: bool) -> Converted {
    let repeats = site.tensor("repeats")?;
    let stated = site.stated(0)?;
    let (x, dim) = match (places_alone, site.maybe_int("dim")?) {
        (true, _) => (None, 0),
        (false, Some(dim)) => {
            let x = site.tensor("self")?;
            (Some(x), site.dim_of(x, dim)?)
        }
        (false, None) => {
            let x = site.tensor("self")?;
            (Some(flat(site, "flat", x)?), 0)
        }
    };
    let (Some(&size), true) = (stated.shape.get(dim as usize), site.dtype(repeats).is_int()) else { return Ok(None) };
    let repeats = match (site.rank(repeats), x) {
        (1, _) if site.ty(repeats).numel() != 1 || x.is_none() => repeats,
        (0 | 1, Some(x)) => {
            // One count for all.
            let count = site.ty(x).shape.get(dim as usize).copied().unwrap_or(1);
            let one = site.implicit("count", "reshape", &[("shape", ints(&[1]))], &[repeats])?;
            site.implicit("counts", "expand", &[("shape", AttrValue::shape(&[count]))], &[one])?
        }
        _ => return Ok(None),
    };
    let used = site.implicit("used", "cumsum", &[("dim", int(0))], &[repeats])?;
    let used = site.cast("used", used, DType::I64)?;
    let each = counted(site, "each", 0, size as i64)?;
    let each = site.implicit("each", "unsqueeze", &[("dim", int(1))], &[each])?;
    let before = site.implicit("before", "le", &[], &[used, each])?;
    let places = site.implicit("places", "sum", &[("dim", ints(&[1]))], &[before])?;
    let Some(x) = x else {
        return site.emit("cast", &[("dtype", AttrValue::DType(stated.dtype))], &[places]);
    };
    site.emit("index_select", &[("dim", int(dim))], &[x, places])
}

/// Other elements on a diagonal.
fn onto_diagonal(site: &mut NodeLowering) -> Converted {
    let (x, source) = (site.tensor("self")?, site.tensor("src")?);
    let (dim1, dim2) = (site.dim_of(x, site.int_or("dim1", 0)?)?, site.dim_of(x, site.int_or("dim2", 1)?)?);
    let (offset, rank) = (site.int_or("offset", 0)?, site.rank(x) as i64);
    let Some(&length) = site.ty(source).shape.last() else { return Ok(None) };
    // The two dimensions come first, as the diagonal, which is the last one of the source, does there.
    let others = || (0..rank).filter(|&d| d != dim1 && d != dim2);
    let order: Vec<i64> = [dim1, dim2].into_iter().chain(others()).collect();
    let Some(back) = inverse_permutation(&order) else { return Ok(None) };
    let planes = site.implicit("planes", "permute", &[("dims", ints(&order))], &[x])?;
    let turned: Vec<i64> = std::iter::once(rank - 2).chain(0..rank - 2).collect();
    let source = site.implicit("source", "permute", &[("dims", ints(&turned))], &[source])?;
    let source = site.cast("source", source, site.dtype(x))?;
    let (row, column) = ((-offset).max(0), offset.max(0));
    let rows = counted(site, "rows", row, row + length as i64)?;
    let columns = counted(site, "columns", column, column + length as i64)?;
    let attrs = [("dims", ints(&[0, 1])), ("accumulate", AttrValue::Bool(false))];
    let filled = site.implicit("filled", "index_put", &attrs, &[planes, source, rows, columns])?;
    site.emit("permute", &[("dims", ints(&back))], &[filled])
}

/// All combinations of the elements of some vectors, the last one changing fastest.
fn pairs_of_all(site: &mut NodeLowering) -> Converted {
    let vectors = site.tensors("tensors")?;
    let sizes: Vec<i64> = vectors.iter().map(|&v| site.ty(v).numel() as i64).collect();
    if vectors.iter().any(|&v| site.rank(v) != 1 || site.dtype(v) != site.dtype(vectors[0])) {
        return Ok(None);
    }
    if let [single] = vectors[..] {
        return site.emit("alias", &[], &[single]);
    }
    let count: i64 = sizes.iter().product();
    let mut columns = Vec::with_capacity(vectors.len());
    for (d, &vector) in vectors.iter().enumerate() {
        let shape: Vec<i64> = (0..sizes.len()).map(|other| if other == d { sizes[d] } else { 1 }).collect();
        let along = site.implicit("along", "reshape", &[("shape", ints(&shape))], &[vector])?;
        let grid = site.implicit("grid", "expand", &[("shape", ints(&sizes))], &[along])?;
        columns.push(site.implicit("column", "reshape", &[("shape", ints(&[count, 1]))], &[grid])?);
    }
    site.emit("concat", &[("dim", int(1))], &columns)
}

/// Other elements by their numbers in row-major order.
fn put(site: &mut NodeLowering) -> Converted {
    let (x, index, source) = (site.tensor("self")?, site.tensor("index")?, site.tensor("source")?);
    let accumulate = site.bool_or("accumulate", false)?;
    if site.dtype(x) == DType::Bool && accumulate || site.dtype(index) != DType::I64 {
        return Ok(None);
    }
    let (all, index, source) = (flat(site, "flat", x)?, flat(site, "places", index)?, flat(site, "source", source)?);
    let attrs = [("dims", ints(&[0])), ("accumulate", AttrValue::Bool(accumulate))];
    let filled = site.implicit("filled", "index_put", &attrs, &[all, source, index])?;
    site.emit("reshape", &[("shape", AttrValue::shape(&site.ty(x).shape))], &[filled])
}
