//! The largest and smallest elements of rows, and their places.

use super::reduce::{REDUCTION, gather, reduced, without};
use super::{
    AttrDef, AttrKind, Bounds, Call, Default, Elements, EvalError, Fetch, Kernel, OpDef, RowFunction, Synthesis,
    TypeError, Types, attr,
};
use crate::ir::{DType, Number, TensorType};

const DIM_KEEP: &[AttrDef] =
    &[attr("dim", AttrKind::Dim, Default::Required), attr("keepdim", AttrKind::Bool, Default::Bool(false))];

/// A reduction that has no value for no elements.
fn reduced_nonempty(c: &Call) -> Result<Types, TypeError> {
    let x = c.operands[0];
    if c.dims("dim")?.iter().any(|&d| x.shape.get(d) == Some(&0)) {
        return Err(c.error(format!("has no value for no elements of {x}")));
    }
    reduced(c, x.dtype)
}

/// The element that is left when `choose` has chosen between all.
fn extreme(
    c: &Call,
    index: &[usize],
    fetch: &mut Fetch,
    choose: fn(Number, Number) -> Number,
) -> Result<Number, EvalError> {
    let mut best = None;
    gather(c, &c.dims("dim").unwrap_or_default(), index, fetch, |x| best = Some(best.map_or(x, |b| choose(b, x))))?;
    best.ok_or(EvalError::IndexOutOfRange)
}

/// The place of the first value that no other one `beats`.
fn arg(c: &Call, index: &[usize], fetch: &mut Fetch, beats: fn(Number, Number) -> bool) -> Result<Number, EvalError> {
    best(c, 1, index, fetch, beats)
}

/// The first value that no other one `beats`, or with a `slot` of 1 its place; the first NaN beats everything.
fn best(
    c: &Call,
    slot: usize,
    index: &[usize],
    fetch: &mut Fetch,
    beats: fn(Number, Number) -> bool,
) -> Result<Number, EvalError> {
    let mut best: Option<(i64, Number)> = None;
    let mut place = 0;
    gather(c, &[c.size("dim")], index, fetch, |x| {
        if best.is_none_or(|(_, b)| !b.is_nan() && (x.is_nan() || beats(x, b))) {
            best = Some((place, x));
        }
        place += 1;
    })?;
    let (place, value) = best.ok_or(EvalError::IndexOutOfRange)?;
    Ok(if slot == 0 { value } else { Number::Int(place) })
}

fn best_types(c: &Call) -> Result<Types, TypeError> {
    let places = place_types(c)?;
    let values = places.iter().map(|ty| TensorType { dtype: c.operands[0].dtype, ..ty.clone() });
    Ok(values.chain(places.iter().cloned()).collect())
}

/// PyTorch finds the largest of truth values, but not its place alone.
fn arg_types(c: &Call) -> Result<Types, TypeError> {
    c.refuse_bool()?;
    place_types(c)
}

fn place_types(c: &Call) -> Result<Types, TypeError> {
    let x = c.operands[0];
    let dim = c.dim("dim", 0)?;
    if x.shape.get(dim) == Some(&0) {
        return Err(c.error(format!("has no value for no elements of {x}")));
    }
    c.output(DType::I64, without(&x.shape, &[dim], c.bool("keepdim")))
}

/// What the reductions to an element and its place have in common.
const BEST: OpDef =
    OpDef { attrs: DIM_KEEP, infer: best_types, places: Some(1), synthesis: Synthesis::ReduceToPlace, ..REDUCTION };

/// The table entries of this family.
pub(super) static OPS: &[OpDef] = &[
    OpDef {
        name: "amax",
        elements: Elements::Lane(RowFunction::Max),
        doc: "Largest element over `dim`; NaN if any is.",
        infer: reduced_nonempty,
        kernel: Kernel::Ordered(|c, _, index, fetch| extreme(c, index, fetch, Number::max)),
        aten: aten!("amax", self: X, dim, keepdim),
        replay: torch!(|r| r.x()?.f_amax(r.c.ints("dim"), r.c.bool("keepdim"))?),
        bounds: Bounds::SAME,
        hands_on: true,
        ..REDUCTION
    },
    OpDef {
        name: "amin",
        elements: Elements::Lane(RowFunction::Min),
        doc: "Smallest element over `dim`; NaN if any is.",
        infer: reduced_nonempty,
        kernel: Kernel::Ordered(|c, _, index, fetch| extreme(c, index, fetch, Number::min)),
        aten: aten!("amin", self: X, dim, keepdim),
        replay: torch!(|r| r.x()?.f_amin(r.c.ints("dim"), r.c.bool("keepdim"))?),
        bounds: Bounds::SAME,
        hands_on: true,
        ..REDUCTION
    },
    OpDef {
        name: "argmax",
        doc: "Place of the first largest element along `dim`.",
        attrs: DIM_KEEP,
        infer: arg_types,
        kernel: Kernel::Element(|c, _, index, fetch| arg(c, index, fetch, Number::is_above)),
        aten: aten!("argmax", self: X, dim, keepdim),
        replay: torch!(|r| r.x()?.f_argmax(r.c.int("dim"), r.c.bool("keepdim"))?),
        elements: Elements::Lane(RowFunction::PlaceOfLargest),
        bounds: Bounds::PLACE,
        synthesis: Synthesis::ReduceToPlace,
        ..REDUCTION
    },
    OpDef {
        name: "argmin",
        doc: "Place of the first smallest element along `dim`.",
        attrs: DIM_KEEP,
        infer: arg_types,
        kernel: Kernel::Element(|c, _, index, fetch| arg(c, index, fetch, |x, best| best.is_above(x))),
        aten: aten!("argmin", self: X, dim, keepdim),
        replay: torch!(|r| r.x()?.f_argmin(r.c.int("dim"), r.c.bool("keepdim"))?),
        elements: Elements::Lane(RowFunction::PlaceOfSmallest),
        bounds: Bounds::PLACE,
        synthesis: Synthesis::ReduceToPlace,
        ..REDUCTION
    },
    OpDef {
        name: "max",
        doc: "Largest element along `dim`, NaN if any is, and the place of the first such element.",
        kernel: Kernel::Element(|c, slot, index, fetch| best(c, slot, index, fetch, Number::is_above)),
        aten: aten!("max.dim", self: X, dim, keepdim),
        replay: torch!(
            several | r | {
                let (value, place) = r.x()?.f_max_dim(r.c.int("dim"), r.c.bool("keepdim"))?;
                vec![value, place]
            }
        ),
        ..BEST
    },
    OpDef {
        name: "min",
        doc: "Smallest element along `dim`, NaN if any is, and the place of the first such element.",
        kernel: Kernel::Element(|c, slot, index, fetch| best(c, slot, index, fetch, |x, best| best.is_above(x))),
        aten: aten!("min.dim", self: X, dim, keepdim),
        replay: torch!(
            several | r | {
                let (value, place) = r.x()?.f_min_dim(r.c.int("dim"), r.c.bool("keepdim"))?;
                vec![value, place]
            }
        ),
        ..BEST
    },
];
