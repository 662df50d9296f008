//! Lengths of vectors.

use super::reduce::{gather, reduced};
use super::{
    Amplifies, AttrKind, Bounds, Call, Default, Elements, EvalError, Family, FetchReal, Interval, Kernel, KernelClass,
    OpDef, RowFunction, TypeError, Types, Work, attr, one,
};

/// The most and the least element have no value without elements.
fn types(c: &Call) -> Result<Types, TypeError> {
    c.want_float()?;
    let (x, ord) = (c.operands[0], c.float("ord"));
    let dims = c.dims("dim")?;
    let empty = dims.iter().any(|&d| x.shape.get(d) == Some(&0));
    if ord.is_nan() || (empty && (ord < 0.0 || ord.is_infinite())) {
        return Err(c.error(format!("has no length of order {ord} for {x}")));
    }
    reduced(c, x.dtype)
}

fn length(c: &Call, _: usize, index: &[usize], fetch: &mut FetchReal) -> Result<f64, EvalError> {
    let (ord, dims) = (c.float("ord"), c.dims("dim").unwrap_or_default());
    let mut all = Vec::new();
    gather(c, &dims, index, fetch, |x: f64| all.push(x.abs()))?;
    let values = all.iter().copied();
    // NaN wins against every number.
    let best = |a: f64, b: f64, above: bool| if a.is_nan() || (a > b) == above && !b.is_nan() { a } else { b };
    Ok(match ord {
        f64::INFINITY => values.fold(0.0, |a, b| best(a, b, true)),
        f64::NEG_INFINITY => values.fold(f64::INFINITY, |a, b| best(a, b, false)),
        0.0 => values.filter(|&x| x != 0.0).count() as f64,
        // From 0, as PyTorch adds: an empty sum of Rust is -0.
        1.0 => values.fold(0.0, |sum, x| sum + x),
        2.0 => values.fold(0.0, |sum, x| sum + x * x).sqrt(),
        ord => values.fold(0.0, |sum, x| sum + x.powf(ord)).powf(1.0 / ord),
    })
}

/// This table entry of the reduction family.
pub(super) static OPS: &[OpDef] = &[OpDef {
    name: "vector_norm",
    doc: "`sum(|x|^ord)^(1 / ord)` over `dim`; the largest absolute value for an infinite `ord`, the smallest for minus infinity, \
          and how many elements are not 0 for 0.",
    family: Family::Reduce,
    elements: Elements::Lane(RowFunction::Length),
    kernels: KernelClass::Rows,
    operands: &[one("x")],
    attrs: &[
        attr("ord", AttrKind::Float, Default::Float(2.0)),
        attr("dim", AttrKind::Dims, Default::Required),
        attr("keepdim", AttrKind::Bool, Default::Bool(false)),
    ],
    infer: types,
    kernel: Kernel::Real(length),
    work: Work::per_input::<1>,
    reads: super::reduce::shares,
    bounds: Bounds {
        range: |r| {
            let most = r.x()?.magnitude() * r.call.operands.first()?.numel() as f64;
            if r.call.float("ord") >= 1.0 { Interval::new(0.0, most) } else { None }
        },
        ..Bounds::UNKNOWN
    },
    aten: aten!("linalg_vector_norm", self: X, ord, dim, keepdim),
    replay: torch!(|r| super::scalars::norm(r.x()?, r.c.float("ord"), r.c.ints("dim"), r.c.bool("keepdim"))?),
    amplifies: Amplifies::Always,
    ..OpDef::PLAIN
}];
