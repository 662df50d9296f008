//! Tensors made from nothing, and tensors overwritten as a whole.

use super::super::lowering::{Converted, NodeLowering, Operand, Scalar};
use super::super::target::Target;
use crate::ir::AttrValue;

pub(super) fn convert(site: &mut NodeLowering, target: Target) -> Converted {
    match target.name {
        "zeros" | "zeros_like" | "new_zeros" | "zero" => full(site, Scalar::Int(0)),
        "ones" | "ones_like" | "new_ones" => full(site, Scalar::Int(1)),
        "full" | "full_like" | "new_full" => full(site, site.scalar("fill_value")?),
        "scalar_tensor" => full(site, site.scalar("s")?),
        "fill" => match site.operand("value")? {
            Operand::Scalar(value) => full(site, value),
            Operand::Tensor(_) => overwrite(site, "value"),
        },
        "copy" => overwrite(site, "src"),
        "arange" => arange(site),
        "tril_indices" => triangle(site, "tril_indices"),
        "triu_indices" => triangle(site, "triu_indices"),
        _ => Ok(None),
    }
}

/// The file states shape and element type of the result, whatever they depend on.
fn full(site: &mut NodeLowering, value: Scalar) -> Converted {
    let (_, shape) = site.stated_shape()?;
    let dtype = site.stated(0)?.dtype;
    let attrs = [("shape", shape), ("value", value.beside(dtype).into()), ("dtype", AttrValue::DType(dtype))];
    site.emit("full", &attrs, &[])
}

/// The elements of argument `source` in the place of those of `self`.
fn overwrite(site: &mut NodeLowering, source: &str) -> Converted {
    let (target, source) = (site.tensor("self")?, site.tensor(source)?);
    let ty = site.ty(target);
    let dtype = AttrValue::DType(ty.dtype);
    if site.ty(source).shape == ty.shape && site.dtype(source) != ty.dtype {
        return site.emit("cast", &[("dtype", dtype)], &[source]);
    }
    let source = site.cast("cast", source, ty.dtype)?;
    let source = site.implicit("everywhere", "expand", &[("shape", AttrValue::shape(&ty.shape))], &[source])?;
    // A copy is a kernel of its own, also into a part of larger memory.
    site.emit("clone", &[], &[source])
}

/// The places on one side of a diagonal.
fn triangle(site: &mut NodeLowering, name: &'static str) -> Converted {
    let whole = |value: Option<Scalar>| AttrValue::from(value.unwrap_or(Scalar::Int(0)).value());
    let attrs = [
        ("row", whole(Some(site.scalar("row")?))),
        ("col", whole(Some(site.scalar("col")?))),
        ("offset", whole(site.maybe_scalar("offset")?)),
        ("dtype", AttrValue::DType(site.stated(0)?.dtype)),
    ];
    site.emit(name, &attrs, &[])
}

fn arange(site: &mut NodeLowering) -> Converted {
    let start = site.maybe_scalar("start")?.unwrap_or(Scalar::Int(0));
    let step = site.maybe_scalar("step")?.unwrap_or(Scalar::Int(1));
    let attrs = [
        ("start", start.value().into()),
        ("end", site.scalar("end")?.value().into()),
        ("step", step.value().into()),
        ("dtype", AttrValue::DType(site.stated(0)?.dtype)),
    ];
    site.emit("arange", &attrs, &[])
}
