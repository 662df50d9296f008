//! Operators that PyTorch puts together from others.

use super::super::lowering::{Converted, NodeLowering, Refusal, Values, int, ints};
use super::super::target::Target;
use super::assembled::flat;
use super::formula::Formula;
use crate::ir::{AttrValue, DType, Ints, Value};
use crate::ops::shapes::{broadcast, inverse_permutation, normalize_dim};

pub(super) fn convert(site: &mut NodeLowering, target: Target) -> Converted {
    match (target.name, target.overload) {
        ("atleast_1d" | "atleast_2d" | "atleast_3d", "") => {
            let (x, (_, shape)) = (site.tensor("self")?, site.stated_shape()?);
            site.emit("reshape", &[("shape", shape)], &[x])
        }
        ("fliplr", "") => flipped(site, 1),
        ("flipud", "") => flipped(site, 0),
        ("rot90", "") => turned(site),
        ("diag", "") if rank(site, "self")? == 2 => diagonal(site),
        ("diag", "") if rank(site, "self")? == 1 => on_diagonal(site),
        ("diag_embed" | "diagflat", "") => on_diagonal(site),
        ("trace", "") => {
            let x = site.tensor("self")?;
            let diagonal = site.implicit("diagonal", "diagonal", &[], &[x])?;
            site.emit("sum", &[("dim", ints(&[0]))], &[diagonal])
        }
        ("column_stack", "") => columns(site),
        ("hsplit" | "vsplit" | "dsplit", "int" | "array") => split(site, target.name),
        ("count_nonzero", _) => {
            let x = site.tensor("self")?;
            let zero = site.literal("zero", super::super::lowering::Scalar::Int(0), site.dtype(x))?;
            let counts = site.implicit("counts", "ne", &[], &[x, zero])?;
            let dims = dims_or_all(site, x)?;
            site.emit("sum", &[("dim", dims)], &[counts])
        }
        ("nansum" | "nanmean", "") => of_numbers(site, target.name),
        ("aminmax", "") => {
            let x = site.tensor("self")?;
            let keepdim = AttrValue::Bool(site.bool_or("keepdim", false)?);
            let attrs = [("dim", dims_or_all(site, x)?), ("keepdim", keepdim)];
            let Some(mut values) = site.emit("amin", &attrs, &[x])? else { return Ok(None) };
            values.push(site.implicit("largest", "amax", &attrs, &[x])?);
            Ok(Some(values))
        }
        ("msort", "") => {
            let x = site.tensor("self")?;
            let sorted = site.emit("sort", &[("dim", int(0))], &[x])?;
            Ok(sorted.map(|values| values.into_iter().take(1).collect()))
        }
        ("linalg_vecdot", "") => {
            let (x, y) = (site.tensor("x")?, site.tensor("y")?);
            if site.dtype(x) != site.dtype(y) {
                return Ok(None);
            }
            let product = site.implicit("product", "mul", &[], &[x, y])?;
            let dim = site.dim_of(product, site.int_or("dim", -1)?)?;
            site.emit("sum", &[("dim", ints(&[dim]))], &[product])
        }
        ("linalg_cross" | "cross", "") => cross(site, target.name),
        ("float_power", _) => {
            let mut power = Vec::with_capacity(2);
            for name in ["self", "exponent"] {
                let operand = site.operand(name)?;
                power.push(site.as_tensor(name, operand, DType::F64)?);
            }
            site.emit("power", &[], &power)
        }
        ("kron", "") => kronecker(site),
        ("isin", "Tensor_Tensor") => is_among(site),
        ("std_mean", _) => deviation_and_mean(site),
        ("renorm", "") => limited_rows(site),
        ("roll", "") if site.maybe_ints("dims")?.is_none_or(|dims| dims.is_empty()) => {
            let x = site.tensor("self")?;
            let shifts = site.ints("shifts")?;
            let ty = site.ty(x);
            let flat = site.implicit("flat", "reshape", &[("shape", AttrValue::shape(&[ty.numel()]))], &[x])?;
            let rolled = [("shifts", ints(&shifts)), ("dims", ints(&[0]))];
            let rolled = site.implicit("rolled", "roll", &rolled, &[flat])?;
            site.emit("reshape", &[("shape", AttrValue::shape(&ty.shape))], &[rolled])
        }
        ("inner", "") => {
            let (x, y) = (site.tensor("self")?, site.tensor("other")?);
            match (site.rank(x), site.rank(y)) {
                (0, _) | (_, 0) if site.dtype(x) == site.dtype(y) && site.dtype(x) != DType::Bool => {
                    site.emit("mul", &[], &[x, y])
                }
                (1.., 1) => site.emit("matmul", &[], &[x, y]),
                (1.., 2) => {
                    let turned = site.implicit("turned", "permute", &[("dims", ints(&[1, 0]))], &[y])?;
                    site.emit("matmul", &[], &[x, turned])
                }
                _ => Ok(None),
            }
        }
        ("tensordot", "") => tensor_product(site),
        ("_trilinear", "") => {
            let operands = [site.tensor("i1")?, site.tensor("i2")?, site.tensor("i3")?];
            let expanded = [site.ints("expand1")?, site.ints("expand2")?, site.ints("expand3")?];
            trilinear(site, operands, expanded, &site.ints("sumdim")?, None)
        }
        ("bilinear", "") => bilinear(site),
        ("cosine_similarity", "") => cosine(site),
        ("trapezoid" | "trapz", "dx") => trapezoid(site),
        ("trapezoid" | "trapz", "x") => between_points(site, false),
        ("cumulative_trapezoid", "dx" | "x") => between_points(site, true),
        _ => Ok(None),
    }
}

fn rank(site: &NodeLowering, name: &str) -> Result<usize, Refusal> {
    Ok(site.rank(site.tensor(name)?))
}

fn dims_or_all(site: &NodeLowering, x: Value) -> Result<AttrValue, Refusal> {
    match site.maybe_ints("dim")? {
        Some(dims) if !dims.is_empty() && site.rank(x) > 0 => site.dims_of(x, &dims),
        _ => Ok(AttrValue::Ints((0..site.rank(x) as i64).collect())),
    }
}

fn flipped(site: &mut NodeLowering, dim: i64) -> Converted {
    let x = site.tensor("self")?;
    site.emit("flip", &[("dims", ints(&[dim]))], &[x])
}

/// A plane turned by right angles.
fn turned(site: &mut NodeLowering) -> Converted {
    let x = site.tensor("self")?;
    let dims = site.maybe_ints("dims")?.unwrap_or_else(|| vec![0, 1]);
    let [a, b] = dims[..] else { return Ok(None) };
    let (a, b) = (site.dim_of(x, a)?, site.dim_of(x, b)?);
    let mut order: Vec<i64> = (0..site.rank(x) as i64).collect();
    order.swap(a as usize, b as usize);
    let turn = [("dims", ints(&order))];
    match site.int_or("k", 1)?.rem_euclid(4) {
        0 => site.emit("clone", &[], &[x]),
        1 => {
            let flipped = site.implicit("flipped", "flip", &[("dims", ints(&[b]))], &[x])?;
            site.emit("permute", &turn, &[flipped])
        }
        2 => site.emit("flip", &[("dims", ints(&[a, b]))], &[x]),
        _ => {
            let flipped = site.implicit("flipped", "flip", &[("dims", ints(&[a]))], &[x])?;
            site.emit("permute", &turn, &[flipped])
        }
    }
}

fn diagonal(site: &mut NodeLowering) -> Converted {
    let x = site.tensor("self")?;
    site.emit("diagonal", &[("offset", int(site.int_or("diagonal", 0)?))], &[x])
}

/// A matrix with the last dimension on a diagonal and zeros elsewhere.
fn on_diagonal(site: &mut NodeLowering) -> Converted {
    let mut x = site.tensor("self")?;
    let offset = site.int_or(if site.given("diagonal") { "diagonal" } else { "offset" }, 0)?;
    let mut stated = site.stated(0)?;
    let rank = stated.rank() as i64;
    let place = |dim: i64| normalize_dim(dim, rank as usize).map(|dim| dim as i64);
    let (Some(row), Some(column)) = (place(site.int_or("dim1", -2)?), place(site.int_or("dim2", -1)?)) else {
        return Ok(None);
    };
    // The plane of the diagonal is made in the last two dimensions.
    let others = (0..rank).filter(|&d| d != row && d != column);
    let order: Vec<i64> = others.chain([row, column]).collect();
    stated.shape = order.iter().map(|&d| stated.shape[d as usize]).collect();
    let Some(back) = inverse_permutation(&order) else { return Ok(None) };
    let Some(&size) = stated.shape.last() else { return Ok(None) };
    if site.rank(x) + 1 != stated.rank() {
        // Of a matrix whose diagonal all elements are put on.
        x = flat(site, "flat", x)?;
    }
    // Element `(i, i + offset)` is element `min(i, i + offset)`: rows and columns before it are padding.
    let shift = offset.unsigned_abs() as usize;
    let rank = stated.rank();
    let mut pad = Ints::from_elem(0, 2 * rank.saturating_sub(1));
    if let Some(last) = pad.len().checked_sub(2) {
        pad[last] = if offset > 0 { shift as i64 } else { 0 };
        pad[last + 1] = if offset < 0 { shift as i64 } else { 0 };
    }
    let zero = AttrValue::from(crate::ir::Number::Int(0));
    let row = site.implicit("row", "pad", &[("pad", AttrValue::Ints(pad)), ("value", zero)], &[x])?;
    let row = site.implicit("rows", "unsqueeze", &[("dim", int(rank as i64 - 2))], &[row])?;
    let rows = site.implicit("rows", "expand", &[("shape", AttrValue::shape(&stated.shape))], &[row])?;
    let places = [("end", AttrValue::Int(size as i64)), ("dtype", AttrValue::DType(DType::I64))];
    let column = site.implicit("places", "arange", &places, &[])?;
    let diagonal = site.implicit("line", "unsqueeze", &[("dim", int(1))], &[column])?;
    let offset = site.literal("offset", super::super::lowering::Scalar::Int(offset), DType::I64)?;
    let shifted = site.implicit("shifted", "add", &[], &[diagonal, offset])?;
    let keeps = site.implicit("keeps", "eq", &[], &[column, shifted])?;
    let nothing = site.literal("nothing", super::super::lowering::Scalar::Int(0), stated.dtype)?;
    if back.is_sorted() {
        return site.emit("where", &[], &[keeps, rows, nothing]);
    }
    let planes = site.implicit("planes", "where", &[], &[keeps, rows, nothing])?;
    site.emit("permute", &[("dims", ints(&back))], &[planes])
}

/// Vectors as columns next to each other.
fn columns(site: &mut NodeLowering) -> Converted {
    let tensors = site.tensors("tensors")?;
    let mut parts = Vec::with_capacity(tensors.len());
    for x in tensors {
        parts.push(match site.rank(x) {
            0 => site.implicit("column", "reshape", &[("shape", ints(&[1, 1]))], &[x])?,
            1 => site.implicit("column", "unsqueeze", &[("dim", int(1))], &[x])?,
            _ => x,
        });
    }
    site.emit("concat", &[("dim", int(1))], &parts)
}

/// Equal parts, or parts between places.
fn split(site: &mut NodeLowering, name: &str) -> Converted {
    let x = site.tensor("self")?;
    let dim = match (name, site.rank(x)) {
        ("hsplit", 1) => 0,
        ("hsplit", _) => 1,
        ("vsplit", _) => 0,
        _ => 2,
    };
    let Some(&size) = site.ty(x).shape.get(dim) else { return Ok(None) };
    let size = size as i64;
    let mut places: Vec<i64> = match site.maybe_int("sections") {
        Ok(Some(sections)) if sections > 0 && size % sections == 0 => {
            (1..sections).map(|i| i * (size / sections)).collect()
        }
        Ok(Some(_)) => return Ok(None),
        _ => site.ints("indices")?,
    };
    places.push(size);
    if !places.is_sorted() || places.first().is_some_and(|&p| p < 0) || places.iter().any(|&p| p > size) {
        return Ok(None);
    }
    let sizes: Vec<i64> = std::iter::once(0).chain(places.iter().copied()).zip(&places).map(|(a, b)| b - a).collect();
    site.emit("split", &[("sizes", ints(&sizes)), ("dim", int(dim as i64))], &[x])
}

/// A sum or a mean of what is a number.
fn of_numbers(site: &mut NodeLowering, name: &str) -> Converted {
    let x = site.tensor("self")?;
    let dtype = site.dtype(x);
    if name == "nansum" && !dtype.is_float() && !site.given("dtype") {
        let attrs = [("dim", dims_or_all(site, x)?), ("keepdim", AttrValue::Bool(site.bool_or("keepdim", false)?))];
        return site.emit("sum", &attrs, &[x]);
    }
    if !dtype.is_float() || site.given("dtype") {
        return Ok(None);
    }
    let attrs = [("dim", dims_or_all(site, x)?), ("keepdim", AttrValue::Bool(site.bool_or("keepdim", false)?))];
    let undefined = site.implicit("undefined", "ne", &[], &[x, x])?;
    let zero = site.literal("zero", super::super::lowering::Scalar::Float(0.0), dtype)?;
    let numbers = site.implicit("numbers", "where", &[], &[undefined, zero, x])?;
    if name == "nansum" {
        return site.emit("sum", &attrs, &[numbers]);
    }
    let sum = site.implicit("sum", "sum", &attrs, &[numbers])?;
    let defined = site.implicit("defined", "logical_not", &[], &[undefined])?;
    let count = site.implicit("count", "sum", &attrs, &[defined])?;
    let count = site.cast("count", count, dtype)?;
    site.emit("div", &[], &[sum, count])
}

/// The cross product of vectors of three elements.
fn cross(site: &mut NodeLowering, name: &str) -> Converted {
    let (x, y) = (site.tensor("self")?, site.tensor("other")?);
    if site.dtype(x) != site.dtype(y) || site.dtype(x) == DType::Bool {
        return Ok(None);
    }
    let Some(common) = broadcast(&site.ty(x).shape, &site.ty(y).shape) else { return Ok(None) };
    let repeated = [("shape", AttrValue::shape(&common))];
    let (x, y) =
        (site.implicit("self", "expand", &repeated, &[x])?, site.implicit("other", "expand", &repeated, &[y])?);
    let dim = match site.maybe_int("dim")? {
        Some(dim) => site.dim_of(x, dim)?,
        None if name == "linalg_cross" => site.dim_of(x, -1)?,
        // The older one looks for a dimension.
        None => match site.ty(x).shape.iter().position(|&size| size == 3) {
            Some(dim) => dim as i64,
            None => return Ok(None),
        },
    };
    let mut turned = |value: Value, by: i64| {
        site.implicit("turned", "roll", &[("shifts", ints(&[by])), ("dims", ints(&[dim]))], &[value])
    };
    let (a, b, c, d) = (turned(x, -1)?, turned(y, -2)?, turned(x, -2)?, turned(y, -1)?);
    let (ahead, behind) = (site.implicit("ahead", "mul", &[], &[a, b])?, site.implicit("behind", "mul", &[], &[c, d])?);
    site.emit("sub", &[], &[ahead, behind])
}

/// A product of matrices over some dimensions of either tensor.
fn tensor_product(site: &mut NodeLowering) -> Converted {
    let (x, y) = (site.tensor("self")?, site.tensor("other")?);
    let dims = |site: &NodeLowering, name: &str, value: Value| -> Result<Vec<i64>, Refusal> {
        site.ints(name)?.iter().map(|&d| site.dim_of(value, d)).collect()
    };
    let (inner_x, inner_y) = (dims(site, "dims_self", x)?, dims(site, "dims_other", y)?);
    let outer = |site: &NodeLowering, value: Value, inner: &[i64]| -> Vec<i64> {
        (0..site.rank(value) as i64).filter(|d| !inner.contains(d)).collect()
    };
    let (outer_x, outer_y) = (outer(site, x, &inner_x), outer(site, y, &inner_y));
    let sizes = |site: &NodeLowering, value: Value, dims: &[i64]| -> Vec<i64> {
        dims.iter().filter_map(|&d| site.ty(value).shape.get(d as usize).map(|&n| n as i64)).collect()
    };
    let count = |sizes: &[i64]| sizes.iter().product::<i64>();
    let (rows, columns) = (sizes(site, x, &outer_x), sizes(site, y, &outer_y));
    let steps = sizes(site, x, &inner_x);
    if steps != sizes(site, y, &inner_y) || site.dtype(x) != site.dtype(y) {
        return Ok(None);
    }
    let mut matrix = |value: Value, order: Vec<i64>, shape: [i64; 2]| {
        let turned = site.implicit("turned", "permute", &[("dims", ints(&order))], &[value])?;
        site.implicit("matrix", "reshape", &[("shape", ints(&shape))], &[turned])
    };
    let left = matrix(x, [outer_x, inner_x].concat(), [count(&rows), count(&steps)])?;
    let right = matrix(y, [inner_y, outer_y].concat(), [count(&steps), count(&columns)])?;
    let product = site.implicit("product", "matmul", &[], &[left, right])?;
    site.emit("reshape", &[("shape", ints(&[rows, columns].concat()))], &[product])
}

/// Three tensors with new dimensions, multiplied and summed; then a bias.
fn trilinear(
    site: &mut NodeLowering,
    operands: [Value; 3],
    expanded: [Vec<i64>; 3],
    summed: &[i64],
    bias: Option<Value>,
) -> Converted {
    let mut parts = Vec::with_capacity(3);
    for (mut value, mut dims) in operands.into_iter().zip(expanded) {
        dims.sort_unstable();
        for dim in dims {
            value = site.implicit("expanded", "unsqueeze", &[("dim", int(dim))], &[value])?;
        }
        parts.push(value);
    }
    let product = site.implicit("product", "mul", &[], &parts[..2])?;
    let product = site.implicit("product", "mul", &[], &[product, parts[2]])?;
    let sum = [("dim", ints(summed))];
    match bias {
        None => site.emit_fused("sum", &sum, &[product]),
        Some(bias) => {
            let sum = site.implicit("sum", "sum", &sum, &[product])?;
            site.emit_fused("add", &[], &[sum, bias])
        }
    }
}

/// `x^T W y` for each matrix of `W`.
fn bilinear(site: &mut NodeLowering) -> Converted {
    let (x, y, weight) = (site.tensor("input1")?, site.tensor("input2")?, site.tensor("weight")?);
    let bias = site.maybe_tensor("bias")?;
    if site.dtype(x) != site.dtype(y) || site.dtype(x) != site.dtype(weight) {
        return Ok(None);
    }
    if site.rank(x) == 2 {
        return trilinear(site, [x, weight, y], [vec![1, 3], vec![0], vec![1, 2]], &[2, 3], bias);
    }
    let mut rows = |value: Value| {
        let width = site.ty(value).shape.last().copied().unwrap_or(1).max(1);
        let shape = AttrValue::shape(&[site.ty(value).numel() / width, width]);
        site.implicit("rows", "reshape", &[("shape", shape)], &[value])
    };
    let (x, y) = (rows(x)?, rows(y)?);
    let Some(values) = trilinear(site, [x, weight, y], [vec![1, 3], vec![0], vec![1, 2]], &[2, 3], bias)? else {
        return Ok(None);
    };
    let (_, shape) = site.stated_shape()?;
    let apart = site.implicit("apart", "reshape", &[("shape", shape)], &values)?;
    Ok(Some(Values::from_elem(apart, 1)))
}

/// The product of two vectors of length 1; shorter ones than `eps` are divided by that.
fn cosine(site: &mut NodeLowering) -> Converted {
    let (x, y) = (site.tensor("x1")?, site.tensor("x2")?);
    let dtype = site.dtype(x);
    if site.dtype(y) != dtype || !matches!(dtype, DType::F32 | DType::F64) {
        return Ok(None);
    }
    // What is repeated counts as often as it is repeated.
    let Some(common) = broadcast(&site.ty(x).shape, &site.ty(y).shape) else { return Ok(None) };
    let repeated = [("shape", AttrValue::shape(&common))];
    let x = site.implicit("x1", "expand", &repeated, &[x])?;
    let y = site.implicit("x2", "expand", &repeated, &[y])?;
    let dim = site.dim_of(x, site.int_or("dim", 1)?)?;
    // A number has no dimension to add along.
    let dims = if common.is_empty() { vec![] } else { vec![dim] };
    let eps = site.float_or("eps", 1e-8)?;
    let mut f = Formula::new(site, dtype);
    let mut unit = |value: Value| {
        let attrs = [("ord", AttrValue::float(2.0)), ("dim", ints(&dims)), ("keepdim", AttrValue::Bool(true))];
        let length = f.site.implicit("length", "vector_norm", &attrs, &[value])?;
        let length = f.at_least(length, eps)?;
        f.op("div", &[value, length])
    };
    let (x, y) = (unit(x)?, unit(y)?);
    let product = f.op("mul", &[x, y])?;
    site.emit("sum", &[("dim", ints(&dims))], &[product])
}

/// The area under a line through equally spaced points.
fn trapezoid(site: &mut NodeLowering) -> Converted {
    let y = site.tensor("y")?;
    let dim = site.dim_of(y, site.int_or("dim", -1)?)?;
    let size = site.ty(y).shape.get(dim as usize).map_or(0, |&n| n as i64);
    let dtype = site.dtype(y);
    if !dtype.is_float() || size < 1 {
        return Ok(None);
    }
    let spacing = site.float_or("dx", 1.0)?;
    let mut f = Formula::in_steps(site, dtype);
    let mut end = |at: i64| {
        let attrs = [("dim", int(dim)), ("start", int(at)), ("end", int(at + 1))];
        let slice = f.site.implicit("end", "slice", &attrs, &[y])?;
        f.site.implicit("end", "squeeze", &[("dim", int(dim))], &[slice])
    };
    let (first, last) = (end(0)?, end(size - 1)?);
    let ends = f.op("add", &[first, last])?;
    let half = f.with("mul", ends, 0.5)?;
    let sum = f.sum(y, &[dim])?;
    let inner = f.op("sub", &[sum, half])?;
    let (op, operands) = f.last_with("mul", inner, spacing)?;
    site.emit(op, &[], &operands)
}

/// The area under a line through points at places that are given or equally far apart: all of it, or up to each point.
fn between_points(site: &mut NodeLowering, running: bool) -> Converted {
    let y = site.tensor("y")?;
    let dtype = site.dtype(y);
    if !matches!(dtype, DType::F32 | DType::F64) || site.rank(y) == 0 {
        return Ok(None);
    }
    let dim = site.dim_of(y, site.int_or("dim", -1)?)?;
    let neighbours = |site: &mut NodeLowering, value: Value, dim: i64| -> Result<[Value; 2], Refusal> {
        let size = site.ty(value).shape.get(dim as usize).map_or(0, |&n| n as i64);
        let mut part = |start: i64, end: i64| {
            let attrs = [("dim", int(dim)), ("start", int(start)), ("end", int(end))];
            site.implicit("part", "slice", &attrs, &[value])
        };
        Ok([part(0, size - 1)?, part(1, size)?])
    };
    if site.ty(y).shape[dim as usize] == 0 {
        return Ok(None);
    }
    let [low, high] = neighbours(site, y, dim)?;
    let heights = site.implicit("heights", "add", &[], &[low, high])?;
    let doubled = match site.maybe_tensor("x")? {
        Some(x) if site.dtype(x) != dtype || site.rank(x) == 0 => return Ok(None),
        Some(mut x) => {
            let mut along = dim;
            if site.rank(x) == 1 && site.rank(y) > 1 {
                let mut shape = vec![1; site.rank(y)];
                shape[dim as usize] = site.ty(x).numel() as i64;
                x = site.implicit("places", "reshape", &[("shape", ints(&shape))], &[x])?;
            } else {
                along += site.rank(x) as i64 - site.rank(y) as i64;
            }
            if along < 0 || site.ty(x).shape[along as usize] == 0 {
                return Ok(None);
            }
            let [left, right] = neighbours(site, x, along)?;
            let widths = site.implicit("widths", "sub", &[], &[right, left])?;
            site.implicit("doubled", "mul", &[], &[widths, heights])?
        }
        None => {
            let width =
                site.literal("width", super::super::lowering::Scalar::Float(site.float_or("dx", 1.0)?), dtype)?;
            site.implicit("doubled", "mul", &[], &[heights, width])?
        }
    };
    // Counted from the end: the places may have more dimensions than the heights.
    let dim = dim + site.rank(doubled) as i64 - site.rank(y) as i64;
    let two = site.literal("two", super::super::lowering::Scalar::Float(2.0), dtype)?;
    if running {
        let areas = site.implicit("areas", "div", &[], &[doubled, two])?;
        return site.emit("cumsum", &[("dim", int(dim))], &[areas]);
    }
    let sum = site.implicit("sum", "sum", &[("dim", ints(&[dim]))], &[doubled])?;
    site.emit("div", &[], &[sum, two])
}

/// Every element of one tensor times the other one.
fn kronecker(site: &mut NodeLowering) -> Converted {
    let (x, y) = (site.tensor("self")?, site.tensor("other")?);
    if site.dtype(x) != site.dtype(y) {
        return Ok(None);
    }
    let rank = site.rank(x).max(site.rank(y));
    // Dimension `d` of the first tensor stands in front of that of the second one.
    let mut spread = |value: Value, place: usize| {
        let sizes = site.ty(value).shape;
        let mut shape = vec![1; 2 * rank];
        for (d, &size) in (rank - sizes.len()..rank).zip(&sizes) {
            shape[2 * d + place] = size;
        }
        site.implicit("spread", "reshape", &[("shape", AttrValue::shape(&shape))], &[value])
    };
    let (x, y) = (spread(x, 0)?, spread(y, 1)?);
    let times = if site.dtype(x) == DType::Bool { "logical_and" } else { "mul" };
    let product = site.implicit("product", times, &[], &[x, y])?;
    let (_, shape) = site.stated_shape()?;
    site.emit("reshape", &[("shape", shape)], &[product])
}

/// Whether elements are among others.
fn is_among(site: &mut NodeLowering) -> Converted {
    let (x, all) = (site.tensor("elements")?, site.tensor("test_elements")?);
    if site.bool_or("invert", false)? || site.dtype(x) != site.dtype(all) {
        return Ok(None);
    }
    let count = AttrValue::shape(&[site.ty(all).numel()]);
    let all = site.implicit("all", "reshape", &[("shape", count)], &[all])?;
    let rank = site.rank(x) as i64;
    let x = site.implicit("each", "unsqueeze", &[("dim", int(rank))], &[x])?;
    let equal = site.implicit("equal", "eq", &[], &[x, all])?;
    site.emit("any", &[("dim", ints(&[rank]))], &[equal])
}

fn deviation_and_mean(site: &mut NodeLowering) -> Converted {
    let x = site.tensor("self")?;
    if !matches!(site.dtype(x), DType::F32 | DType::F64) {
        return Ok(None);
    }
    let correction = match site.maybe_scalar("correction")? {
        Some(correction) => correction.value().to_f64(),
        None => f64::from(u8::from(site.bool_or("unbiased", true)?)),
    };
    let dims = [("dim", dims_or_all(site, x)?), ("keepdim", AttrValue::Bool(site.bool_or("keepdim", false)?))];
    let [dim, keepdim] = dims.clone();
    let variance = [dim, keepdim, ("correction", AttrValue::float(correction))];
    let variance = site.implicit("variance", "var", &variance, &[x])?;
    let Some(mut values) = site.emit_fused("sqrt", &[], &[variance])? else { return Ok(None) };
    let mean = site.implicit("mean", "mean", &dims, &[x])?;
    values.push(site.implicit("mean", "fused", &[], &[mean])?);
    Ok(Some(values))
}

/// Rows that are longer than `maxnorm` are made that long.
fn limited_rows(site: &mut NodeLowering) -> Converted {
    let x = site.tensor("self")?;
    let dim = site.dim_of(x, site.int("dim")?)?;
    let (dtype, rank) = (site.dtype(x), site.rank(x) as i64);
    let (order, most) = (site.float_or("p", 2.0)?, site.float_or("maxnorm", 1.0)?);
    if !matches!(dtype, DType::F32 | DType::F64) {
        return Ok(None);
    }
    let others: Vec<i64> = (0..rank).filter(|&d| d != dim).collect();
    let attrs = [("ord", AttrValue::float(order)), ("dim", ints(&others)), ("keepdim", AttrValue::Bool(true))];
    let length = site.implicit("length", "vector_norm", &attrs, &[x])?;
    let mut f = Formula::new(site, dtype);
    let long = f.with("gt", length, most)?;
    let safe = f.with("add", length, 1e-7)?;
    let reciprocal = f.op("reciprocal", &[safe])?;
    let (scale, one) = (f.with("mul", reciprocal, most)?, f.literal(1.0)?);
    let scale = f.op("where", &[long, scale, one])?;
    site.emit("mul", &[], &[x, scale])
}
