//! Tensors rearranged by less common operators, and memory that is not filled.

use super::super::lowering::{Converted, NodeLowering, Operand, Refusal, Values, int, ints};
use super::super::target::Target;
use super::promote::{Promotion, result_dtype};
use crate::ir::{AttrValue, DType, Ints, Layout, Shape, Value};
use crate::ops::shapes::{clamp_bound, inverse_permutation};

pub(super) fn convert(site: &mut NodeLowering, target: Target) -> Converted {
    match (target.name, target.overload) {
        ("empty", "memory_format") | ("empty_like" | "new_empty", "") => empty(site),
        ("empty_permuted", "") => empty_permuted(site),
        ("eye", "" | "m") => identity(site),
        ("linspace", "") => linspace(site),
        ("as_strided", "") => as_strided(site),
        ("diagonal", "") => {
            let x = site.tensor("self")?;
            let (first, second) = (site.int_or("dim1", 0)?, site.int_or("dim2", 1)?);
            let attrs = [
                ("offset", int(site.int_or("offset", 0)?)),
                ("dim1", int(site.dim_of(x, first)?)),
                ("dim2", int(site.dim_of(x, second)?)),
            ];
            site.emit("diagonal", &attrs, &[x])
        }
        ("unfold", "") => {
            let x = site.tensor("self")?;
            // A scalar is a vector of one element to PyTorch, but not to the op table.
            if site.rank(x) == 0 {
                return Ok(None);
            }
            let dim = site.dim_of(x, site.int("dimension")?)?;
            let attrs = [("dim", int(dim)), ("size", int(site.int("size")?)), ("step", int(site.int("step")?))];
            site.emit("unfold", &attrs, &[x])
        }
        ("slice_scatter", "") if site.int_or("step", 1)? > 1 => scattered_steps(site),
        ("broadcast_tensors", "") => broadcast(site),
        ("meshgrid", "" | "indexing") => grid(site),
        ("outer" | "ger", "") => outer(site),
        ("repeat_interleave", "self_int") => repeat_interleave(site),
        ("pixel_shuffle", "") => pixel_shuffle(site),
        ("pixel_unshuffle", "") => pixel_unshuffle(site),
        ("channel_shuffle" | "native_channel_shuffle", "") => channel_shuffle(site),
        _ => Ok(None),
    }
}

/// The file states shape and element type.
fn empty(site: &mut NodeLowering) -> Converted {
    let (_, shape) = site.stated_shape()?;
    let dtype = AttrValue::DType(site.stated(0)?.dtype);
    site.emit("empty", &[("shape", shape), ("dtype", dtype)], &[])
}

/// Memory whose dimensions lie in another order.
fn empty_permuted(site: &mut NodeLowering) -> Converted {
    let (order, stated) = (site.ints("physical_layout")?, site.stated(0)?);
    let Some(inverse) = inverse_permutation(&order).filter(|_| order.len() == stated.rank()) else {
        return Err(Refusal::new(format!("takes {order:?} as an order of the dimensions of {stated}")));
    };
    if order.is_sorted() {
        return empty(site);
    }
    let lies: Shape = order.iter().map(|&d| stated.shape[d as usize]).collect();
    let attrs = [("shape", AttrValue::shape(&lies)), ("dtype", AttrValue::DType(stated.dtype))];
    let memory = site.implicit("memory", "empty", &attrs, &[])?;
    site.emit("permute", &[("dims", AttrValue::Ints(inverse))], &[memory])
}

/// Ones where row and column have the same number.
fn identity(site: &mut NodeLowering) -> Converted {
    let stated = site.stated(0)?;
    let [rows, columns] = stated.shape[..] else { return Err(Refusal::new("makes a matrix of another rank")) };
    let count = |site: &mut NodeLowering, part: &str, n: usize| {
        let attrs = [("end", int(n as i64)), ("dtype", AttrValue::DType(DType::I64))];
        site.implicit(part, "arange", &attrs, &[])
    };
    let (row, column) = (count(site, "rows", rows)?, count(site, "columns", columns)?);
    let row = site.implicit("row", "unsqueeze", &[("dim", int(1))], &[row])?;
    let same = site.implicit("same", "eq", &[], &[row, column])?;
    site.emit("cast", &[("dtype", AttrValue::DType(stated.dtype))], &[same])
}

fn linspace(site: &mut NodeLowering) -> Converted {
    let (start, end, dtype) = (site.scalar("start")?, site.scalar("end")?, site.stated(0)?.dtype);
    if !dtype.is_float() {
        return Ok(None);
    }
    let attrs = [
        ("start", AttrValue::float(start.value().to_f64())),
        ("end", AttrValue::float(end.value().to_f64())),
        ("steps", int(site.int("steps")?)),
        ("dtype", AttrValue::DType(dtype)),
    ];
    site.emit("linspace", &attrs, &[])
}

/// Memory read by position, where that is the argument itself or another shape of it. Anything else stays opaque.
fn as_strided(site: &mut NodeLowering) -> Converted {
    let x = site.tensor("self")?;
    let Some(strides) = site.stated_strides("self") else { return Ok(None) };
    let (shape, own) = (site.ty(x).shape, Layout { strides: strides.into(), offset: 0 });
    let read = |name| -> Result<Option<Vec<usize>>, Refusal> {
        Ok(site.ints(name)?.iter().map(|&n| usize::try_from(n).ok()).collect())
    };
    let (Some(size), Some(stride)) = (read("size")?, read("stride")?) else { return Ok(None) };
    // Without an offset, reading starts where the argument does.
    if site.given("storage_offset") || size.len() != stride.len() {
        return Ok(None);
    }
    let same = size[..] == shape[..]
        && size.iter().zip(own.strides.iter().zip(&stride)).all(|(&size, (a, b))| size == 1 || a == b);
    if same {
        return site.emit("alias", &[], &[x]);
    }
    let asked = Layout { strides: stride.into(), offset: 0 };
    let elements: Option<usize> = size.iter().try_fold(1_usize, |n, &s| n.checked_mul(s));
    if own.is_contiguous(&shape) && asked.is_contiguous(&size) && elements == Some(site.ty(x).numel()) {
        return site.emit("reshape", &[("shape", AttrValue::shape(&size))], &[x]);
    }
    Ok(None)
}

/// Every `step`-th row replaced: the positions are known.
fn scattered_steps(site: &mut NodeLowering) -> Converted {
    let (x, source) = (site.tensor("self")?, site.tensor("src")?);
    let dim = site.dim_of(x, site.int_or("dim", 0)?)?;
    let size = site.ty(x).shape.get(dim as usize).copied().unwrap_or(0);
    let start = clamp_bound(site.int_or("start", 0)?, size) as i64;
    let end = clamp_bound(site.int_or("end", i64::MAX)?, size) as i64;
    let positions = [
        ("start", int(start)),
        ("end", int(end.max(start))),
        ("step", int(site.int_or("step", 1)?)),
        ("dtype", AttrValue::DType(DType::I64)),
    ];
    let positions = site.implicit("positions", "arange", &positions, &[])?;
    let mut rows = site.ty(x).shape;
    if let Some(size) = rows.get_mut(dim as usize) {
        *size = site.ty(positions).numel();
    }
    if site.ty(source).shape != rows {
        return Err(Refusal::new(format!("writes {} where {rows:?} is replaced", site.ty(source))));
    }
    let source = site.cast("src", source, site.dtype(x))?;
    let attrs = [("dims", ints(&[dim])), ("accumulate", AttrValue::Bool(false))];
    site.emit("index_put", &attrs, &[x, source, positions])
}

fn broadcast(site: &mut NodeLowering) -> Converted {
    let tensors = site.tensors("tensors")?;
    let (_, shape) = site.stated_shape()?;
    let expanded = tensors.iter().map(|&t| site.implicit("broadcast", "expand", &[("shape", shape.clone())], &[t]));
    expanded.collect::<Result<Values, _>>().map(Some)
}

/// Every vector along a dimension of its own.
fn grid(site: &mut NodeLowering) -> Converted {
    let tensors = site.tensors("tensors")?;
    let (shape, full) = site.stated_shape()?;
    let columns_first = match site.str("indexing") {
        None | Some("ij") => false,
        Some("xy") => true,
        Some(_) => return Ok(None),
    };
    if shape.len() != tensors.len() {
        return Err(Refusal::new(format!("makes {} dimensions of {} vectors", shape.len(), tensors.len())));
    }
    let mut results = Values::new();
    for (i, &tensor) in tensors.iter().enumerate() {
        let dim = match i {
            0 | 1 if columns_first && tensors.len() > 1 => 1 - i,
            _ => i,
        };
        let mut lies = Shape::from_elem(1, shape.len());
        lies[dim] = site.ty(tensor).numel();
        let along = site.implicit("along", "reshape", &[("shape", AttrValue::shape(&lies))], &[tensor])?;
        results.push(site.implicit("grid", "expand", &[("shape", full.clone())], &[along])?);
    }
    Ok(Some(results))
}

fn outer(site: &mut NodeLowering) -> Converted {
    let (x, y) = (site.tensor("self")?, site.tensor("vec2")?);
    let dtype = result_dtype(site, &[Operand::Tensor(x), Operand::Tensor(y)], Promotion::Common)?;
    let (x, y) = (site.cast("self", x, dtype)?, site.cast("vec2", y, dtype)?);
    let column = site.implicit("column", "unsqueeze", &[("dim", int(1))], &[x])?;
    site.emit(if dtype == DType::Bool { "logical_and" } else { "mul" }, &[], &[column, y])
}

/// Without a dimension, the flattened tensor is repeated. The size of the result follows from the rest.
fn repeat_interleave(site: &mut NodeLowering) -> Converted {
    let x = site.tensor("self")?;
    let repeats = site.int("repeats")?;
    let (x, dim) = match site.maybe_int("dim")? {
        Some(_) if site.rank(x) == 0 => return Ok(None),
        Some(dim) => (x, site.dim_of(x, dim)?),
        None => {
            let flat = AttrValue::shape(&[site.ty(x).numel()]);
            (site.implicit("flat", "reshape", &[("shape", flat)], &[x])?, 0)
        }
    };
    let size = site.ty(x).shape.get(dim as usize).copied().unwrap_or(0) as i64;
    if site.maybe_int("output_size")?.is_some_and(|given| size.checked_mul(repeats) != Some(given)) {
        return Err(Refusal::new("states another size than its result has"));
    }
    site.emit("repeat_interleave", &[("repeats", int(repeats)), ("dim", int(dim))], &[x])
}

/// Cuts the dimensions of `x` behind `kept` ones into `cut`, puts them in the order `dims` and joins them to the stated shape.
fn regrouped(site: &mut NodeLowering, x: Value, kept: usize, cut: &[usize], dims: &[usize]) -> Converted {
    let shape = site.ty(x).shape;
    let apart: Shape = shape[..kept].iter().chain(cut).copied().collect();
    let order: Ints = (0..kept).chain(dims.iter().map(|d| kept + d)).map(|d| d as i64).collect();
    let apart = site.implicit("apart", "reshape", &[("shape", AttrValue::shape(&apart))], &[x])?;
    let moved = site.implicit("moved", "permute", &[("dims", AttrValue::Ints(order))], &[apart])?;
    let (_, shape) = site.stated_shape()?;
    site.emit("reshape", &[("shape", shape)], &[moved])
}

/// The factor that argument `name` names, and the sizes of channels, rows and columns.
fn image(site: &NodeLowering, x: Value, name: &str) -> Result<(usize, usize, [usize; 3]), Refusal> {
    let shape = site.ty(x).shape;
    let factor = usize::try_from(site.int(name)?).ok().filter(|&f| f > 0 && f.checked_mul(f).is_some());
    match (factor, &shape[..]) {
        (Some(factor), [kept @ .., c, h, w]) => Ok((factor, kept.len(), [*c, *h, *w])),
        _ => Err(Refusal::new(format!("takes images and a positive factor, not {}", site.ty(x)))),
    }
}

fn pixel_shuffle(site: &mut NodeLowering) -> Converted {
    let x = site.tensor("self")?;
    let (r, kept, [c, h, w]) = image(site, x, "upscale_factor")?;
    regrouped(site, x, kept, &[c / (r * r), r, r, h, w], &[0, 3, 1, 4, 2])
}

fn pixel_unshuffle(site: &mut NodeLowering) -> Converted {
    let x = site.tensor("self")?;
    let (r, kept, [c, h, w]) = image(site, x, "downscale_factor")?;
    regrouped(site, x, kept, &[c, h / r, r, w / r, r], &[0, 2, 4, 1, 3])
}

fn channel_shuffle(site: &mut NodeLowering) -> Converted {
    let x = site.tensor("self")?;
    let shape = site.ty(x).shape;
    let groups = usize::try_from(site.int("groups")?).ok().filter(|&g| g > 0);
    let (Some(groups), [_, channels, rest @ ..]) = (groups, &shape[..]) else {
        return Err(Refusal::new(format!("takes images and groups, not {}", site.ty(x))));
    };
    let mut cut = vec![groups, channels / groups];
    cut.extend(rest);
    let dims: Vec<usize> = [1, 0].into_iter().chain(2..cut.len()).collect();
    regrouped(site, x, 1, &cut, &dims)
}
