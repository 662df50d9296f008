//! Memory that is read and written by position, as lookups in all of it.

use super::super::lowering::{Converted, NodeLowering, Refusal, Scalar, int, ints};
use super::super::target::Target;
use crate::ir::{AttrValue, DType, Layout, Shape, Value};

/// Elements of memory that positions are computed for.
const MAX_POSITION: u64 = 1 << 40;

pub(super) fn convert(site: &mut NodeLowering, target: Target) -> Converted {
    match (target.name, target.overload) {
        ("as_strided", "") => read(site),
        ("as_strided_scatter", "") => written(site),
        _ => Ok(None),
    }
}

/// All of the memory that `self` lies in, as a vector in the order of its addresses, and how `self` itself lies there. `None`
/// where the memory holds anything besides its elements, or holds them in another order than they are counted in.
fn memory(site: &mut NodeLowering) -> Result<Option<(Value, Layout)>, Refusal> {
    let Some(name) = site.argument("self").and_then(|argument| argument.tensors().first().copied()) else {
        return Ok(None);
    };
    if site.scope.is_complex(name) {
        return Ok(None);
    }
    let (Some((whole, lies)), Some(own)) = (site.scope.storage(site.memory, name)?, site.scope.layout(name)) else {
        return Ok(None);
    };
    let ty = site.ty(whole);
    if lies.offset != 0 || !lies.is_contiguous(&ty.shape) || ty.dtype != site.dtype(site.tensor("self")?) {
        return Ok(None);
    }
    let flat = site.implicit("memory", "reshape", &[("shape", AttrValue::shape(&[ty.numel()]))], &[whole])?;
    Ok(Some((flat, own)))
}

/// The positions that `size`, `stride` and `storage_offset` name, in the shape of the result; `None` if one lies outside of the
/// memory, which has `count` elements.
fn positions(site: &mut NodeLowering, own: &Layout, count: usize) -> Result<Option<Value>, Refusal> {
    let (size, stride) = (site.ints("size")?, site.ints("stride")?);
    let offset = site.maybe_int("storage_offset")?.unwrap_or(own.offset as i64);
    if size.len() != stride.len() || size.iter().chain(&stride).chain([&offset]).any(|&n| n < 0) {
        return Ok(None);
    }
    let mut steps = size.iter().zip(&stride).map(|(&n, &step)| (n.max(1) as u64 - 1).checked_mul(step as u64));
    let last = steps.try_fold(offset as u64, |sum, step| sum.checked_add(step?));
    if last.is_none_or(|last| last > MAX_POSITION || (last >= count as u64 && !size.contains(&0))) {
        return Ok(None);
    }
    let mut sum = site.literal("offset", Scalar::Int(offset), DType::I64)?;
    for (dim, (&n, &step)) in size.iter().zip(&stride).enumerate() {
        let attrs = [("end", int(n)), ("dtype", AttrValue::DType(DType::I64))];
        let places = site.implicit("places", "arange", &attrs, &[])?;
        let step = site.literal("stride", Scalar::Int(step), DType::I64)?;
        let steps = site.implicit("steps", "mul", &[], &[places, step])?;
        let mut shape = vec![1; size.len()];
        shape[dim] = n;
        let steps = site.implicit("along", "reshape", &[("shape", ints(&shape))], &[steps])?;
        sum = site.implicit("positions", "add", &[], &[sum, steps])?;
    }
    Ok(Some(sum))
}

fn read(site: &mut NodeLowering) -> Converted {
    let Some((flat, own)) = memory(site)? else { return Ok(None) };
    let count = site.ty(flat).numel();
    let Some(positions) = positions(site, &own, count)? else { return Ok(None) };
    if site.rank(positions) > 0 {
        return site.emit("index", &[("dims", ints(&[0]))], &[flat, positions]);
    }
    let one = site.implicit("one", "unsqueeze", &[("dim", int(0))], &[positions])?;
    let single = site.implicit("single", "index", &[("dims", ints(&[0]))], &[flat, one])?;
    site.emit("squeeze", &[("dim", int(0))], &[single])
}

/// `self` with other elements at these positions. Where positions are named twice, it is open which element stays.
fn written(site: &mut NodeLowering) -> Converted {
    let (x, source) = (site.tensor("self")?, site.tensor("src")?);
    let Some((flat, own)) = memory(site)? else { return Ok(None) };
    let shape: Shape = site.ty(x).shape;
    let count = site.ty(flat).numel();
    if own.offset != 0 || !own.is_contiguous(&shape) || count != site.ty(x).numel() {
        return Ok(None);
    }
    let Some(positions) = positions(site, &own, count)? else { return Ok(None) };
    if site.rank(positions) == 0 || site.ty(positions).shape != site.ty(source).shape {
        return Ok(None);
    }
    let attrs = [("dims", ints(&[0])), ("accumulate", AttrValue::Bool(false))];
    let source = site.cast("src", source, site.dtype(x))?;
    let filled = site.implicit("filled", "index_put", &attrs, &[flat, source, positions])?;
    site.emit("reshape", &[("shape", AttrValue::shape(&shape))], &[filled])
}
