//! Views, copies, joins.

use super::super::lowering::{Converted, NodeLowering, Refusal, Values, int, ints};
use super::super::target::Target;
use crate::ir::{AttrValue, Ints, Layout, Value};
use crate::ops::shapes::{clamp_bound, resolve_reshape};

/// The code of PyTorch's `contiguous_format`.
const CONTIGUOUS_FORMAT: i64 = 1;

pub(super) fn convert(site: &mut NodeLowering, target: Target) -> Converted {
    match (target.name, target.overload) {
        ("view" | "_unsafe_view" | "view_copy", "") => reshape(site, "size"),
        ("reshape" | "_reshape_copy", "") => reshape(site, if site.given("shape") { "shape" } else { "size" }),
        ("flatten" | "unflatten" | "view_as" | "reshape_as" | "ravel", _) => {
            let x = site.tensor("self")?;
            let (_, shape) = site.stated_shape()?;
            site.emit("reshape", &[("shape", shape)], &[x])
        }
        ("permute" | "permute_copy", "") => {
            permute(site, |site, x| site.ints("dims")?.iter().map(|&d| site.dim_of(x, d)).collect())
        }
        ("transpose" | "swapaxes" | "swapdims" | "transpose_copy", "int" | "") => {
            let (a, b) = if site.given("dim0") { ("dim0", "dim1") } else { ("axis0", "axis1") };
            permute(site, |site, x| swapped(site, x, site.int(a)?, site.int(b)?))
        }
        ("t" | "numpy_T" | "t_copy", "") => permute(site, |site, x| Ok((0..site.rank(x) as i64).rev().collect())),
        ("movedim" | "moveaxis", _) => permute(site, moved),
        ("mT" | "mH" | "adjoint" | "matrix_H", "") => permute(site, |site, x| swapped(site, x, -2, -1)),
        ("expand" | "expand_copy", "") => expand(site),
        ("expand_as", "") => {
            let (x, other) = (site.tensor("self")?, site.tensor("other")?);
            let shape = AttrValue::shape(&site.ty(other).shape);
            site.emit("expand", &[("shape", shape)], &[x])
        }
        ("broadcast_to", "") => expand(site),
        ("slice" | "slice_copy", "Tensor" | "") => slice(site),
        ("narrow" | "narrow_copy", "") => narrow(site),
        ("select" | "select_copy", "int") => select(site),
        ("slice_scatter" | "select_scatter", "") => scattered(site, target.name),
        ("unsqueeze" | "unsqueeze_copy", "") => {
            let x = site.tensor("self")?;
            let dim = site.int("dim")?;
            let dim = if dim < 0 { dim.saturating_add(site.rank(x) as i64 + 1) } else { dim };
            site.emit("unsqueeze", &[("dim", int(dim))], &[x])
        }
        ("squeeze" | "squeeze_copy", _) => squeeze(site),
        ("split" | "split_copy", "Tensor") => split_evenly(site, site.int("split_size")?),
        ("split", "sizes") | ("split_with_sizes" | "split_with_sizes_copy", "") => {
            let sizes = site.ints(if site.given("split_sizes") { "split_sizes" } else { "split_size" })?;
            split(site, &sizes)
        }
        ("chunk", "") => {
            let (x, dim) = split_dim(site)?;
            let size = site.ty(x).shape[dim] as i64;
            let chunks = site.int("chunks")?.max(1);
            split_evenly(site, size / chunks + i64::from(size % chunks != 0))
        }
        ("unbind" | "unbind_copy", "int") => unbind(site),
        ("cat" | "concat" | "concatenate", "") => {
            let dim = site.int_or("dim", 0)?;
            concat(site, dim)
        }
        ("hstack", "") => {
            let tensors = site.tensors("tensors")?;
            // Scalars would get a dimension first.
            match tensors.iter().map(|&t| site.rank(t)).min() {
                Some(0) | None => Ok(None),
                Some(rank) => concat(site, i64::from(rank > 1)),
            }
        }
        ("stack", "") => stack(site),
        ("repeat", "") => repeat(site, site.ints("repeats")?),
        ("tile", "") => {
            // Dimensions that are not named are repeated once.
            let (x, mut repeats) = (site.tensor("self")?, site.ints("dims")?);
            let unnamed = site.rank(x).saturating_sub(repeats.len());
            repeats.splice(..0, std::iter::repeat_n(1, unnamed));
            repeat(site, repeats)
        }
        (
            "alias" | "detach" | "detach_" | "lift_fresh" | "lift_fresh_copy" | "positive" | "alias_copy"
            | "detach_copy",
            "",
        ) => {
            let x = site.tensor("self")?;
            site.emit("alias", &[], &[x])
        }
        ("contiguous", "") => {
            let x = site.tensor("self")?;
            let plain = site.memory_format().is_none_or(|f| f == CONTIGUOUS_FORMAT);
            // Other formats are copies into an order of dimensions that the IR does not know.
            site.emit(if plain { "contiguous" } else { "clone" }, &[], &[x])
        }
        ("clone", "") => clone(site),
        _ => Ok(None),
    }
}

fn reshape(site: &mut NodeLowering, sizes: &str) -> Converted {
    let x = site.tensor("self")?;
    let sizes = site.ints(sizes)?;
    let ty = site.ty(x);
    let shape = resolve_reshape(&sizes, ty.numel())
        .ok_or_else(|| Refusal::new(format!("cannot turn {ty} into the shape {sizes:?}")))?;
    site.emit("reshape", &[("shape", AttrValue::shape(&shape))], &[x])
}

fn permute(site: &mut NodeLowering, dims: impl Fn(&NodeLowering, Value) -> Result<Vec<i64>, Refusal>) -> Converted {
    let x = site.tensor("self")?;
    let dims = dims(site, x)?;
    site.emit("permute", &[("dims", ints(&dims))], &[x])
}

fn swapped(site: &NodeLowering, x: Value, a: i64, b: i64) -> Result<Vec<i64>, Refusal> {
    let mut dims: Vec<i64> = (0..site.rank(x) as i64).collect();
    let (a, b) = (site.dim_of(x, a)? as usize, site.dim_of(x, b)? as usize);
    // A scalar passes as rank 1, and has nothing to swap.
    if !dims.is_empty() {
        dims.swap(a, b);
    }
    Ok(dims)
}

/// The dims `source` go to the places `destination`, the others keep their order.
fn moved(site: &NodeLowering, x: Value) -> Result<Vec<i64>, Refusal> {
    let read = |name| site.ints(name)?.iter().map(|&d| site.dim_of(x, d)).collect::<Result<Vec<i64>, Refusal>>();
    let (source, destination) = (read("source")?, read("destination")?);
    if source.len() != destination.len() {
        return Err(Refusal::new("moves another number of dimensions than it names places"));
    }
    let mut rest = (0..site.rank(x) as i64).filter(|d| !source.contains(d));
    let from = |place: i64| destination.iter().position(|&p| p == place).map(|i| source[i]).or_else(|| rest.next());
    let dims: Option<Vec<i64>> = (0..site.rank(x) as i64).map(from).collect();
    dims.ok_or_else(|| Refusal::new("moves a dimension twice"))
}

fn expand(site: &mut NodeLowering) -> Converted {
    let x = site.tensor("self")?;
    let sizes = site.ints("size")?;
    let from = site.ty(x).shape;
    if sizes.iter().any(|&size| size < -1) {
        return Err(Refusal::new(format!("cannot repeat {} to {sizes:?}", site.ty(x))));
    }
    let shape = sizes.iter().enumerate().map(|(i, &size)| match size {
        // -1 keeps the size.
        -1 => (i + from.len()).checked_sub(sizes.len()).map_or(-1, |j| from[j] as i64),
        size => size,
    });
    let shape = AttrValue::Ints(shape.collect());
    site.emit("expand", &[("shape", shape)], &[x])
}

fn slice(site: &mut NodeLowering) -> Converted {
    let x = site.tensor("self")?;
    let dim = site.dim_of(x, site.int_or("dim", 0)?)?;
    let size = site.ty(x).shape.get(dim as usize).copied().unwrap_or(0);
    let start = clamp_bound(site.int_or("start", 0)?, size) as i64;
    let end = clamp_bound(site.int_or("end", i64::MAX)?, size) as i64;
    let attrs = [
        ("dim", int(dim)),
        ("start", int(start)),
        ("end", int(end.max(start))),
        ("step", int(site.int_or("step", 1)?)),
    ];
    site.emit("slice", &attrs, &[x])
}

fn narrow(site: &mut NodeLowering) -> Converted {
    let x = site.tensor("self")?;
    let dim = site.dim_of(x, site.int("dim")?)?;
    let start = site.int("start")?;
    let size = site.ty(x).shape.get(dim as usize).copied().unwrap_or(0) as i64;
    let start = if start < 0 { start.saturating_add(size) } else { start };
    let end = start.saturating_add(site.int("length")?);
    site.emit("slice", &[("dim", int(dim)), ("start", int(start)), ("end", int(end))], &[x])
}

/// One entry of a dimension: a slice of size 1 whose dimension is dropped.
fn select(site: &mut NodeLowering) -> Converted {
    let x = site.tensor("self")?;
    let dim = site.dim_of(x, site.int("dim")?)?;
    let index = site.int("index")?;
    let size = site.ty(x).shape.get(dim as usize).copied().unwrap_or(0) as i64;
    let index = if index < 0 { index.saturating_add(size) } else { index };
    let attrs = [("dim", int(dim)), ("start", int(index)), ("end", int(index.saturating_add(1)))];
    let entry = site.implicit("slice", "slice", &attrs, &[x])?;
    site.emit("squeeze", &[("dim", int(dim))], &[entry])
}

/// The operand with a slice of it replaced: the rows in front, those of the source, the rows behind.
fn scattered(site: &mut NodeLowering, name: &str) -> Converted {
    let (x, mut part) = (site.tensor("self")?, site.tensor("src")?);
    let dim = site.dim_of(x, if name == "slice_scatter" { site.int_or("dim", 0)? } else { site.int("dim")? })?;
    let size = site.ty(x).shape.get(dim as usize).copied().unwrap_or(0);
    let (start, end) = match name {
        "slice_scatter" if site.int_or("step", 1)? != 1 => return Ok(None),
        "slice_scatter" => (
            clamp_bound(site.int_or("start", 0)?, size) as i64,
            clamp_bound(site.int_or("end", i64::MAX)?, size) as i64,
        ),
        _ => {
            let index = site.int("index")?;
            let index = if index < 0 { index.saturating_add(size as i64) } else { index };
            part = site.implicit("src", "unsqueeze", &[("dim", int(dim))], &[part])?;
            (index, index.saturating_add(1))
        }
    };
    if start < 0 || end > size as i64 {
        return Err(Refusal::new(format!("writes outside of {}", site.ty(x))));
    }
    let end = end.max(start);
    let part = site.cast("src", part, site.dtype(x))?;
    let mut parts = vec![part];
    let rows = |site: &mut NodeLowering, name: &str, from: i64, to: i64| {
        site.implicit(name, "slice", &[("dim", int(dim)), ("start", int(from)), ("end", int(to))], &[x])
    };
    if start > 0 {
        parts.insert(0, rows(site, "before", 0, start)?);
    }
    if end < size as i64 {
        parts.push(rows(site, "after", end, size as i64)?);
    }
    site.emit("concat", &[("dim", int(dim))], &parts)
}

fn squeeze(site: &mut NodeLowering) -> Converted {
    let x = site.tensor("self")?;
    let ty = site.ty(x);
    let mut dims: Vec<i64> = match site.maybe_ints("dim")? {
        Some(dims) => dims.iter().map(|&d| site.dim_of(x, d)).collect::<Result<_, _>>()?,
        None => (0..ty.rank() as i64).collect(),
    };
    dims.retain(|&d| ty.shape.get(d as usize) == Some(&1));
    match dims[..] {
        [] => site.emit("alias", &[], &[x]),
        [dim] => site.emit("squeeze", &[("dim", int(dim))], &[x]),
        _ => {
            let (_, shape) = site.stated_shape()?;
            site.emit("reshape", &[("shape", shape)], &[x])
        }
    }
}

/// The operand of a split, and the dimension it is split along.
fn split_dim(site: &NodeLowering) -> Result<(Value, usize), Refusal> {
    let x = site.tensor("self")?;
    let dim = site.dim_of(x, site.int_or("dim", 0)?)? as usize;
    if site.rank(x) == 0 {
        return Err(Refusal::new("splits a tensor without dimensions"));
    }
    Ok((x, dim))
}

fn split_evenly(site: &mut NodeLowering, part: i64) -> Converted {
    let (x, dim) = split_dim(site)?;
    let size = site.ty(x).shape[dim] as i64;
    if part < 1 {
        if part == 0 && size == 0 {
            return split(site, &[0]);
        }
        return Err(Refusal::new(format!("splits into parts of {part}")));
    }
    // The file names one output per part; more parts than that are a damaged file, not a long list.
    let count = size / part + i64::from(size % part != 0);
    let named = site.output_names().count();
    if count.max(1) != named as i64 {
        return Err(Refusal::new(format!("has {count} parts and {named} outputs")));
    }
    let sizes: Vec<i64> = (0..count.max(1)).map(|i| part.min(size - i * part)).collect();
    split(site, &sizes)
}

fn split(site: &mut NodeLowering, sizes: &[i64]) -> Converted {
    let (x, dim) = split_dim(site)?;
    site.emit("split", &[("sizes", ints(sizes)), ("dim", int(dim as i64))], &[x])
}

fn unbind(site: &mut NodeLowering) -> Converted {
    let (x, dim) = split_dim(site)?;
    let size = site.ty(x).shape[dim];
    let named = site.output_names().count();
    if size != named || size == 0 {
        return Err(Refusal::new(format!("has {size} entries and {named} outputs")));
    }
    let sizes = vec![1; size];
    let Some(parts) = split(site, &sizes)? else { return Ok(None) };
    let squeezed =
        parts.into_iter().map(|part| site.implicit("entry", "squeeze", &[("dim", int(dim as i64))], &[part]));
    squeezed.collect::<Result<Values, _>>().map(Some)
}

fn concat(site: &mut NodeLowering, dim: i64) -> Converted {
    let mut tensors = site.tensors("tensors")?;
    // A one-dimensional tensor without elements joins with anything.
    if tensors.iter().any(|&t| site.rank(t) != 1) {
        tensors.retain(|&t| site.ty(t).shape[..] != [0]);
    }
    let first = *tensors.first().ok_or_else(|| Refusal::new("joins no tensors"))?;
    let dim = site.dim_of(first, dim)?;
    let dtype = site.stated(0)?.dtype;
    let tensors = tensors.into_iter().map(|t| site.cast("tensors", t, dtype)).collect::<Result<Vec<_>, _>>()?;
    site.emit("concat", &[("dim", int(dim))], &tensors)
}

fn stack(site: &mut NodeLowering) -> Converted {
    let tensors = site.tensors("tensors")?;
    let first = *tensors.first().ok_or_else(|| Refusal::new("joins no tensors"))?;
    let dim = site.int_or("dim", 0)?;
    let dim = if dim < 0 { dim.saturating_add(site.rank(first) as i64 + 1) } else { dim };
    let dtype = site.stated(0)?.dtype;
    let mut rows = Vec::with_capacity(tensors.len());
    for tensor in tensors {
        let tensor = site.cast("tensors", tensor, dtype)?;
        rows.push(site.implicit("row", "unsqueeze", &[("dim", int(dim))], &[tensor])?);
    }
    site.emit("concat", &[("dim", int(dim))], &rows)
}

/// Repeats the whole tensor along each dimension: every dimension gets one for the repeats in front of it.
fn repeat(site: &mut NodeLowering, repeats: Vec<i64>) -> Converted {
    let x = site.tensor("self")?;
    let shape = site.ty(x).shape;
    let Some(added) = repeats.len().checked_sub(shape.len()) else {
        return Err(Refusal::new(format!("repeats {} of {} dimensions", repeats.len(), shape.len())));
    };
    let size = |i: usize| i.checked_sub(added).map_or(1, |j| shape[j] as i64);
    let apart: Ints = (0..repeats.len()).flat_map(|i| [1, size(i)]).collect();
    let repeated: Ints = (0..repeats.len()).flat_map(|i| [repeats[i], size(i)]).collect();
    let apart = site.implicit("apart", "reshape", &[("shape", AttrValue::Ints(apart))], &[x])?;
    let repeated = site.implicit("repeated", "expand", &[("shape", AttrValue::Ints(repeated))], &[apart])?;
    let (_, shape) = site.stated_shape()?;
    let joined = site.implicit("joined", "reshape", &[("shape", shape)], &[repeated])?;
    // The operator is one copy, also where the reshape alone would be none.
    site.emit("clone", &[], &[joined])
}

/// A copy. Where it asks for the dense order and the file says that its operand has another one, it is what
/// `contiguous` does.
fn clone(site: &mut NodeLowering) -> Converted {
    let x = site.tensor("self")?;
    let dense = match (site.memory_format(), site.stated_strides("self")) {
        (Some(CONTIGUOUS_FORMAT), Some(strides)) => {
            Layout { strides: strides.into(), offset: 0 }.is_contiguous(&site.ty(x).shape)
        }
        _ => true,
    };
    site.emit(if dense { "clone" } else { "contiguous" }, &[], &[x])
}
