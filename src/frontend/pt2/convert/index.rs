//! Lookups, sorting, masks, padding.

use super::super::lowering::{Converted, NodeLowering, Refusal, Scalar, Values, int, ints};
use super::super::target::Target;
use crate::ir::{AttrValue, DType, Ints, Value};

pub(super) fn convert(site: &mut NodeLowering, target: Target) -> Converted {
    match (target.name, target.overload) {
        ("embedding", "") => {
            let operands = [site.tensor("weight")?, site.tensor("indices")?];
            site.emit("embedding", &[], &operands)
        }
        ("gather" | "index_select", "") => {
            let (x, index) = (site.tensor("self")?, site.tensor("index")?);
            let dim = site.dim_of(x, site.int("dim")?)?;
            // Of a number, or with a single position, the table has no lookups.
            if !matches!(site.dtype(index), DType::I64 | DType::I32) {
                return Ok(None);
            }
            if site.rank(x) == 0 && site.ty(index).numel() == 1 {
                let (_, shape) = site.stated_shape()?;
                return site.emit("reshape", &[("shape", shape)], &[x]);
            }
            if target.name == "index_select" && site.rank(index) == 0 {
                let index = site.implicit("index", "unsqueeze", &[("dim", int(0))], &[index])?;
                return site.emit("index_select", &[("dim", int(dim))], &[x, index]);
            }
            if site.rank(x) == 0 || target.name == "gather" && site.rank(index) != site.rank(x) {
                return Ok(None);
            }
            site.emit(target.name, &[("dim", int(dim))], &[x, index])
        }
        ("index" | "_unsafe_index", "Tensor" | "") => index(site),
        ("topk", "") => {
            let x = site.tensor("self")?;
            let attrs = [
                ("k", int(site.int("k")?)),
                ("dim", int(site.dim_of(x, site.int_or("dim", -1)?)?)),
                ("largest", AttrValue::Bool(site.bool_or("largest", true)?)),
                ("sorted", AttrValue::Bool(site.bool_or("sorted", true)?)),
            ];
            site.emit("topk", &attrs, &[x])
        }
        ("sort", "" | "stable") => sort(site),
        // The places are the second output of a sort.
        ("argsort", "" | "stable") => Ok(sort(site)?.map(|values| Values::from_elem(values[1], 1))),
        ("one_hot", "") if site.int_or("num_classes", -1)? >= 0 => {
            let x = site.tensor("self")?;
            site.emit("one_hot", &[("num_classes", int(site.int("num_classes")?))], &[x])
        }
        ("tril" | "triu", "") => {
            let x = site.tensor("self")?;
            site.emit(target.name, &[("diagonal", int(site.int_or("diagonal", 0)?))], &[x])
        }
        ("flip", "") => {
            let x = site.tensor("self")?;
            let dims = site.dims_of(x, &site.ints("dims")?)?;
            site.emit("flip", &[("dims", dims)], &[x])
        }
        ("roll", "") => {
            let x = site.tensor("self")?;
            let (shifts, dims) = (site.ints("shifts")?, site.maybe_ints("dims")?.unwrap_or_default());
            // Without dims, the flattened tensor is rolled.
            if dims.is_empty() {
                return Ok(None);
            }
            let attrs = [("shifts", ints(&shifts)), ("dims", site.dims_of(x, &dims)?)];
            site.emit("roll", &attrs, &[x])
        }
        ("constant_pad_nd", "") => pad(site),
        ("pad", "") if site.str("mode").unwrap_or("constant") == "constant" => pad(site),
        ("diff", "") => differences(site),
        ("masked_fill", "Scalar" | "Tensor") => {
            let (x, mask, value) = (site.tensor("self")?, site.tensor("mask")?, site.operand("value")?);
            let dtype = site.dtype(x);
            let value = site.as_tensor("value", value, dtype)?;
            site.emit("masked_fill", &[], &[x, mask, value])
        }
        ("scatter" | "scatter_add", "" | "src" | "value") => scatter(site, target.name),
        ("scatter_reduce", "two") => scatter_reduce(site),
        ("index_add", "") => index_add(site),
        ("index_copy", "") => index_copy(site),
        ("index_fill", "int_Scalar" | "int_Tensor") => index_fill(site),
        ("bucketize", "Tensor") => counted_below(site, "boundaries"),
        ("searchsorted", "Tensor") => counted_below(site, "sorted_sequence"),
        ("index_put" | "_unsafe_index_put", "") => index_put(site),
        ("histc", "") => histogram(site),
        _ => Ok(None),
    }
}

fn scatter(site: &mut NodeLowering, op: &str) -> Converted {
    let (x, index) = (site.tensor("self")?, site.tensor("index")?);
    // A scalar is a vector of one element to PyTorch, but not to the op table.
    if site.rank(x) == 0 || site.given("reduce") || op == "scatter_add" && site.dtype(x) == DType::Bool {
        return Ok(None);
    }
    let dim = site.dim_of(x, site.int("dim")?)?;
    let src = match site.maybe_tensor("src")? {
        Some(src) => src,
        None => {
            let value = site.literal("value", site.scalar("value")?, site.dtype(x))?;
            let shape = AttrValue::shape(&site.ty(index).shape);
            site.implicit("src", "expand", &[("shape", shape)], &[value])?
        }
    };
    site.emit(op, &[("dim", int(dim))], &[x, index, src])
}

fn index_add(site: &mut NodeLowering) -> Converted {
    let (x, index, source) = (site.tensor("self")?, site.tensor("index")?, site.tensor("source")?);
    if site.rank(x) == 0 || site.rank(index) != 1 || site.rank(source) == 0 || site.dtype(x) == DType::Bool {
        return Ok(None);
    }
    let dim = site.dim_of(x, site.int("dim")?)?;
    let alpha = site.maybe_scalar("alpha")?.unwrap_or(Scalar::Int(1));
    let mut source = source;
    if alpha.value().to_f64() != 1.0 {
        let alpha = site.literal("alpha", alpha, site.dtype(source))?;
        source = site.implicit("scaled", "mul", &[], &[source, alpha])?;
    }
    site.emit("index_add", &[("dim", int(dim))], &[x, index, source])
}

/// Slices that replace others: those that PyTorch lets a list of places along one dimension name.
fn index_copy(site: &mut NodeLowering) -> Converted {
    let (x, index, source) = (site.tensor("self")?, site.tensor("index")?, site.tensor("source")?);
    if site.rank(x) == 0 || site.rank(index) != 1 || site.rank(source) != site.rank(x) {
        return Ok(None);
    }
    let dim = site.dim_of(x, site.int("dim")?)?;
    site.emit("index_put", &[("dims", ints(&[dim])), ("accumulate", AttrValue::Bool(false))], &[x, source, index])
}

/// Differences of neighbours, several times over. Those of bools tell where they change.
fn differences(site: &mut NodeLowering) -> Converted {
    let x = site.tensor("self")?;
    let (dim, times) = (site.dim_of(x, site.int_or("dim", -1)?)?, site.int_or("n", 1)?);
    let (before, behind) = (site.maybe_tensor("prepend")?, site.maybe_tensor("append")?);
    let dtype = site.dtype(x);
    if behind.is_none() && (dtype.is_float() || times == 1) {
        let operands: Vec<Value> = [x].into_iter().chain(before).collect();
        return site.emit("diff", &[("dim", int(dim)), ("n", int(times))], &operands);
    }
    let parts: Vec<Value> = before.into_iter().chain([x]).chain(behind).collect();
    if site.rank(x) == 0 || times < 1 || parts.iter().any(|&part| site.dtype(part) != dtype) {
        return Ok(None);
    }
    let mut whole = if parts.len() > 1 { site.implicit("whole", "concat", &[("dim", int(dim))], &parts)? } else { x };
    let size = site.ty(whole).shape.get(dim as usize).map_or(0, |&size| size as i64);
    if size <= times {
        return Ok(None);
    }
    let op = if dtype == DType::Bool { "ne" } else { "sub" };
    for left in (1..=times).rev() {
        let size = size - times + left;
        let part = |site: &mut NodeLowering, start: i64, end: i64| {
            let attrs = [("dim", int(dim)), ("start", int(start)), ("end", int(end))];
            site.implicit("part", "slice", &attrs, &[whole])
        };
        let (first, second) = (part(site, 0, size - 1)?, part(site, 1, size)?);
        if left == 1 {
            return site.emit(op, &[], &[second, first]);
        }
        whole = site.step(op, &[], &[second, first])?;
    }
    Ok(None)
}

/// One number at all places that a list of them names.
fn index_fill(site: &mut NodeLowering) -> Converted {
    let (x, index, value) = (site.tensor("self")?, site.tensor("index")?, site.operand("value")?);
    if site.rank(x) == 0 || site.rank(index) != 1 {
        return Ok(None);
    }
    let (dim, dtype) = (site.dim_of(x, site.int("dim")?)?, site.dtype(x));
    let value = site.as_tensor("value", value, dtype)?;
    site.emit("index_put", &[("dims", ints(&[dim])), ("accumulate", AttrValue::Bool(false))], &[x, value, index])
}

/// How many of the numbers in a list in ascending order lie below an element, or with `right` not above it.
fn counted_below(site: &mut NodeLowering, list: &str) -> Converted {
    let (list, x) = (site.tensor(list)?, site.tensor("self")?);
    let right = site.bool_or("right", false)? || site.str("side") == Some("right");
    if site.dtype(list) != site.dtype(x) || site.dtype(x) == DType::Bool || site.given("sorter") || site.rank(list) == 0
    {
        return Ok(None);
    }
    let attrs = [("right", AttrValue::Bool(right))];
    if !site.bool_or("out_int32", false)? {
        return site.emit("searchsorted", &attrs, &[list, x]);
    }
    let count = site.step("searchsorted", &attrs, &[list, x])?;
    site.emit("cast", &[("dtype", AttrValue::DType(DType::I32))], &[count])
}

/// Elements joined to those at the places that an index names. Where these do not count, what changes nothing is put in their
/// place first.
fn scatter_reduce(site: &mut NodeLowering) -> Converted {
    let (x, index, src) = (site.tensor("self")?, site.tensor("index")?, site.tensor("src")?);
    let (dtype, Some(reduce)) = (site.dtype(x), site.str("reduce")) else { return Ok(None) };
    if site.rank(x) == 0 || !matches!(dtype, DType::F32 | DType::F64) {
        return Ok(None);
    }
    let (op, neutral) = match reduce {
        "sum" | "mean" => ("scatter_add", 0.0),
        "prod" => ("scatter_reduce", 1.0),
        "amax" => ("scatter_reduce", f64::NEG_INFINITY),
        "amin" => ("scatter_reduce", f64::INFINITY),
        _ => return Ok(None),
    };
    let dim = ("dim", int(site.dim_of(x, site.int("dim")?)?));
    let with_self = site.bool_or("include_self", true)?;
    let mut start = x;
    if !with_self {
        let own = filled(site, "neutral", neutral, index)?;
        start = site.implicit("start", "scatter", std::slice::from_ref(&dim), &[x, index, own])?;
    }
    if op == "scatter_reduce" {
        return site.emit(op, &[dim, ("reduce", AttrValue::str(reduce))], &[start, index, src]);
    }
    if reduce == "sum" {
        return site.emit(op, &[dim], &[start, index, src]);
    }
    let sums = site.implicit("sums", op, std::slice::from_ref(&dim), &[start, index, src])?;
    let (each, first) = (filled(site, "one", 1.0, index)?, f64::from(u8::from(with_self)));
    let first = filled(site, "counted", first, x)?;
    let counts = site.implicit("counts", op, &[dim], &[first, index, each])?;
    let counts = site.implicit("at_least_one", "clamp", &[("min", AttrValue::float(1.0))], &[counts])?;
    site.emit("div", &[], &[sums, counts])
}

/// One number, as often as `like` has elements.
fn filled(site: &mut NodeLowering, part: &str, value: f64, like: Value) -> Result<Value, Refusal> {
    let dtype = site.dtype(site.tensor("self")?);
    let value = site.literal(part, Scalar::Float(value), dtype)?;
    let shape = AttrValue::shape(&site.ty(like).shape);
    site.implicit(part, "expand", &[("shape", shape)], &[value])
}

fn index_put(site: &mut NodeLowering) -> Converted {
    let (x, values) = (site.tensor("self")?, site.tensor("values")?);
    let (accumulate, bool) = (site.bool_or("accumulate", false)?, site.dtype(x) == DType::Bool);
    if !accumulate && let Some(mask) = mask(site, x, values)? {
        return site.emit("where", &[], &[mask, values, x]);
    }
    let Some((dims, positions)) = positions(site)?.filter(|_| !(accumulate && bool)) else { return Ok(None) };
    let operands: Vec<Value> = [x, values].into_iter().chain(positions).collect();
    site.emit("index_put", &[("dims", dims), ("accumulate", AttrValue::Bool(accumulate))], &operands)
}

/// The mask over the elements of `x` where one number is written, as in `x[mask] = 0`: PyTorch has a kernel of its own for it.
fn mask(site: &mut NodeLowering, x: Value, values: Value) -> Result<Option<Value>, Refusal> {
    let indices = site.optional_tensors("indices")?;
    let [Some(mask)] = indices[..] else { return Ok(None) };
    let rank = site.rank(x);
    let (of_mask, of_values) = (site.ty(mask).shape.clone(), site.ty(values));
    let leads = site.ty(x).shape.get(..of_mask.len()) == Some(&of_mask[..]);
    if site.dtype(mask) != DType::Bool || !leads || of_values.numel() != 1 || of_values.rank() > rank {
        return Ok(None);
    }
    if of_mask.len() == rank {
        return Ok(Some(mask));
    }
    let mut shape = of_mask;
    shape.resize(rank, 1);
    Ok(Some(site.implicit("mask", "reshape", &[("shape", AttrValue::shape(&shape))], &[mask])?))
}

/// A histogram over a range that is given. Without one, it depends on the data.
fn histogram(site: &mut NodeLowering) -> Converted {
    let x = site.tensor("self")?;
    let (min, max) = (site.float_or("min", 0.0)?, site.float_or("max", 0.0)?);
    if min >= max {
        return Ok(None);
    }
    let attrs =
        [("bins", int(site.int_or("bins", 100)?)), ("min", AttrValue::float(min)), ("max", AttrValue::float(max))];
    site.emit("histc", &attrs, &[x])
}

/// Advanced indexing.
fn index(site: &mut NodeLowering) -> Converted {
    let x = site.tensor("self")?;
    let Some((dims, positions)) = positions(site)? else { return Ok(None) };
    let operands: Vec<Value> = std::iter::once(x).chain(positions).collect();
    site.emit("index", &[("dims", dims)], &operands)
}

/// The indexed dimensions and their positions. Bool masks give shapes that depend on data, and stay opaque.
fn positions(site: &NodeLowering) -> Result<Option<(AttrValue, Vec<Value>)>, Refusal> {
    let indices = site.optional_tensors("indices")?;
    let dims: Ints = (0_i64..).zip(&indices).filter(|(_, t)| t.is_some()).map(|(d, _)| d).collect();
    let positions: Vec<Value> = indices.into_iter().flatten().collect();
    let whole = positions.iter().all(|&p| matches!(site.dtype(p), DType::I64 | DType::I32));
    Ok(whole.then_some((AttrValue::Ints(dims), positions)))
}

fn sort(site: &mut NodeLowering) -> Converted {
    let x = site.tensor("self")?;
    let attrs = [
        ("dim", int(site.dim_of(x, site.int_or("dim", -1)?)?)),
        ("descending", AttrValue::Bool(site.bool_or("descending", false)?)),
        ("stable", AttrValue::Bool(site.bool_or("stable", false)?)),
    ];
    site.emit("sort", &attrs, &[x])
}

/// PyTorch lists pairs from the innermost dimension outwards and leaves out the rest.
fn pad(site: &mut NodeLowering) -> Converted {
    let x = site.tensor("self")?;
    let rank = site.rank(x);
    let pairs = site.ints("pad")?;
    if pairs.len() % 2 != 0 || pairs.len() / 2 > rank {
        return Ok(None);
    }
    let mut pad = Ints::from_elem(0, 2 * rank);
    for (i, pair) in pairs.chunks_exact(2).enumerate() {
        let dim = rank - 1 - i;
        pad[2 * dim] = pair[0];
        pad[2 * dim + 1] = pair[1];
    }
    let value = site.maybe_scalar("value")?.unwrap_or(Scalar::Int(0)).beside(site.dtype(x)).into();
    site.emit("pad", &[("pad", AttrValue::Ints(pad)), ("value", value)], &[x])
}
