//! Operators that write to positions that another tensor holds.

use smallvec::SmallVec;

use super::index::{check_positions, indexed, placement, position};
#[cfg(feature = "torch")]
use super::replay::{ReplayError, Replayed, Run};
use super::shapes::{broadcast, broadcast_index, visit_axes};
use super::{
    Ask, AttrKind, Call, Default, Digits, Elements, EvalError, Family, Fetch, Kernel, KernelClass, Moved, OpDef,
    Renumbering, Synthesis, TypeError, Types, Unit, Vanishes, Work, attr, many, one, support,
};
use crate::ir::{DType, Number, Shape, TensorType};

/// A copy of `x`, and the places and values that are written over it.
fn writes(c: &Call, outputs: &[TensorType]) -> Work {
    Work::streaming(c, outputs, 0.0, Unit::Vector)
}

/// As [`writes`], with one addition for each value.
fn adds(values: usize) -> impl Fn(&Call, &[TensorType]) -> Work {
    move |c, outputs| Work::streaming(c, outputs, c.operands[values].numel() as f64, Unit::Vector)
}

fn scatter_types(c: &Call) -> Result<Types, TypeError> {
    let (x, index, src) = (c.operands[0], c.operands[1], c.operands[2]);
    let (dim, _) = c.sized_dim()?;
    check_positions(c, index)?;
    let ranks = x.rank() == index.rank() && x.rank() == src.rank();
    let fits =
        ranks && (0..x.rank()).all(|d| index.shape[d] <= src.shape[d] && (d == dim || index.shape[d] <= x.shape[d]));
    if !fits || x.dtype != src.dtype {
        return Err(c.error(format!("cannot write {src} into {x} by {index}")));
    }
    c.output(x.dtype, x.shape.clone())
}

/// Element `index` of the result: `x`, then every value of the lane that is written there, in order.
fn scattered(
    c: &Call,
    index: &[usize],
    fetch: &mut Fetch,
    join: fn(Number, Number) -> Number,
) -> Result<Number, EvalError> {
    let (dim, places) = (c.size("dim"), &c.operands[1].shape);
    let mut value = fetch(0, index)?;
    if index.iter().zip(places).enumerate().any(|(d, (&i, &size))| d != dim && i >= size) {
        return Ok(value);
    }
    let mut at = Shape::from_slice(index);
    for i in 0..places[dim] {
        at[dim] = i;
        if position(fetch(1, &at)?, c.operands[0].shape[dim], false)? == index[dim] {
            value = join(value, fetch(2, &at)?);
        }
    }
    Ok(value)
}

/// How `scatter_reduce` joins an element and a value.
fn joined_by(c: &Call) -> Option<fn(Number, Number) -> Number> {
    Some(match c.str("reduce") {
        "prod" => |x, y| x * y,
        "amax" => Number::max,
        "amin" => Number::min,
        _ => return None,
    })
}

fn index_add_types(c: &Call) -> Result<Types, TypeError> {
    let (x, index, source) = (c.operands[0], c.operands[1], c.operands[2]);
    let (dim, _) = c.sized_dim()?;
    check_positions(c, index)?;
    c.refuse_bool()?;
    let mut expected = x.shape.clone();
    expected[dim] = index.numel();
    if index.rank() > 1 || source.shape != expected || source.dtype != x.dtype {
        return Err(c.error(format!("cannot add {source} to {x} by {index}")));
    }
    c.output(x.dtype, x.shape.clone())
}

fn index_added(c: &Call, _: usize, index: &[usize], fetch: &mut Fetch) -> Result<Number, EvalError> {
    let (dim, places) = (c.size("dim"), c.operands[1]);
    let mut value = fetch(0, index)?;
    let mut at = Shape::from_slice(index);
    for i in 0..places.numel() {
        let place: SmallVec<[usize; 4]> = (0..places.rank()).map(|_| i).collect();
        if position(fetch(1, &place)?, c.operands[0].shape[dim], false)? == index[dim] {
            at[dim] = i;
            value = value + fetch(2, &at)?;
        }
    }
    Ok(value)
}

/// The operands of `index_put` as [`placement`] wants those of `index`: without the values.
fn indexing<'a>(c: &Call<'a>) -> SmallVec<[&'a TensorType; 4]> {
    let (x, indices) = (c.operands[0], &c.operands[2..]);
    std::iter::once(x).chain(indices.iter().copied()).collect()
}

fn index_put_types(c: &Call) -> Result<Types, TypeError> {
    let (x, values) = (c.operands[0], c.operands[1]);
    for t in &c.operands[2..] {
        check_positions(c, t)?;
    }
    let operands = indexing(c);
    let placement = placement(&Call { operands: &operands, ..*c })?;
    let written = placement.shape(x);
    let fits = broadcast(&written, &values.shape).is_some_and(|s| s == written);
    if !fits || values.dtype != x.dtype || (c.bool("accumulate") && x.dtype == DType::Bool) {
        return Err(c.error(format!("cannot write {values} into {x}, where {written:?} is indexed")));
    }
    c.output(x.dtype, x.shape.clone())
}

/// Dimensions that are not indexed stand in the values, too.
fn index_put_digits(r: &Renumbering) -> Option<Digits> {
    let (x, values) = (*r.call.operands.first()?, *r.call.operands.get(1)?);
    let operands = indexing(r.call);
    let placement = placement(&Call { operands: &operands, ..*r.call }).ok()?;
    if placement.dims.contains(&r.dim()) {
        return None;
    }
    let before = (0..r.dim()).filter(|d| !placement.dims.contains(d)).count();
    let at = if before < placement.start { before } else { before + placement.positions.len() };
    let of_values = (at + values.rank()).checked_sub(placement.shape(x).len());
    let others = std::iter::repeat_n(None, r.call.operands.len() - 2);
    Some(r.dims([Some(r.dim()), of_values].into_iter().chain(others)))
}

fn index_put_element(c: &Call, _: usize, index: &[usize], fetch: &mut Fetch) -> Result<Number, EvalError> {
    let operands = indexing(c);
    let placement =
        placement(&Call { operands: &operands, ..*c }).map_err(|e| EvalError::NoSemantics(e.to_string()))?;
    let x = c.operands[0];
    let written = placement.shape(x);
    // The written tensor's index: positions run over all places, the other dimensions are those of the element.
    let mut at = Shape::from_elem(0, written.len());
    let mut kept = (0..x.rank()).filter(|d| !placement.dims.contains(d)).map(|d| index[d]);
    let axes: SmallVec<[usize; 4]> = (placement.start..placement.start + placement.positions.len()).collect();
    for (d, i) in at.iter_mut().enumerate() {
        if !axes.contains(&d) {
            *i = kept.next().unwrap_or(0);
        }
    }
    let (mut value, mut sum) = (None, Number::ZERO);
    visit_axes(&written, &axes, &at, |at| {
        let place = &at[placement.start..placement.start + placement.positions.len()];
        let mut here = true;
        for (i, &d) in placement.dims.iter().enumerate() {
            let found = fetch(2 + i, &broadcast_index(&c.operands[2 + i].shape, place))?;
            here &= position(found, x.shape[d], true)? == index[d];
        }
        if here {
            let found = fetch(1, &broadcast_index(&c.operands[1].shape, at))?;
            value = Some(found);
            sum = sum + found;
        }
        Ok(())
    })?;
    match value {
        // What is overwritten is not read: it may have no value.
        Some(value) if !c.bool("accumulate") => Ok(value),
        _ => Ok(fetch(0, index)? + sum),
    }
}

/// The bindings cannot pass the range to libtorch's own histogram.
#[cfg(feature = "torch")]
fn histogram(r: &Run) -> Replayed<tch::Tensor> {
    use tch::{Kind, Tensor};
    let x = r.x()?;
    if x.device() != tch::Device::Cpu {
        return Err(ReplayError::Unknown(r.c.op.name));
    }
    let (bins, min, max) = (r.c.int("bins"), r.c.float("min"), r.c.float("max"));
    let all = x.f_to_kind(Kind::Double)?.f_flatten(0, -1)?;
    let one = |value: f64| Tensor::f_from_slice(&[value]);
    let (least, most, width) = (one(min)?, one(max)?, one(max - min)?);
    let inside = all.f_ge_tensor(&least)?.f_logical_and(&all.f_le_tensor(&most)?)?;
    let scaled = all.f_masked_select(&inside)?.f_sub(&least)?.f_mul(&one(bins as f64)?)?.f_div(&width)?;
    let places = super::scalars::clamp(&scaled.f_floor()?, None, Some(Number::float((bins - 1) as f64)))?;
    let places = places.f_to_kind(Kind::Int64)?;
    Ok(places.f_bincount(None::<&Tensor>, bins)?.f_to_kind(x.f_kind()?)?)
}

/// What the operators of this file have in common.
const WRITE: OpDef = OpDef {
    family: Family::Index,
    kernels: KernelClass::Scatter,
    // Each result may come from any of the elements that are scattered.
    reads: |c, _| c.operands.get(1).map_or(0, |t| t.numel()),
    ..OpDef::PLAIN
};

/// The table entries of this family that write.
pub(super) static OPS: &[OpDef] = &[
    OpDef {
        name: "scatter",
        doc: "`x` with the elements of `src` written along `dim` at the places that `index` holds; which of \
              several in one place counts is open.",
        operands: &[one("x"), one("index"), one("src")],
        attrs: &[attr("dim", AttrKind::Dim, Default::Required)],
        infer: scatter_types,
        kernel: Kernel::Element(|c, _, index, fetch| scattered(c, index, fetch, |_, new| new)),
        work: writes,
        aten: aten!("scatter.src", self: X, dim, index: Y, src: Z),
        replay: torch!(|r| r.x()?.f_scatter(r.c.int("dim"), r.y()?, r.operand(2)?)?),
        synthesis: Synthesis::Scatter,
        asks: |c| vec![(1, Ask::Below(c.extent(0, c.size("dim"))))],
        ..WRITE
    },
    OpDef {
        name: "scatter_add",
        elements: Elements::Weighted(Moved::ButSecond),
        digits: |r| {
            let size = |ty: &&TensorType| ty.shape.get(r.dim()).copied();
            let alike = r.call.operands.windows(2).all(|pair| size(&pair[0]) == size(&pair[1]));
            (alike && !r.is_along()?).then(|| r.same_of_all())
        },
        doc: "`x` with the elements of `src` added along `dim` at the places that `index` holds.",
        operands: &[one("x"), one("index"), one("src")],
        attrs: &[attr("dim", AttrKind::Dim, Default::Required)],
        infer: |c| {
            c.refuse_bool()?;
            scatter_types(c)
        },
        kernel: Kernel::Ordered(|c, _, index, fetch| scattered(c, index, fetch, |sum, new| sum + new)),
        work: |c, outputs| adds(2)(c, outputs),
        aten: aten!("scatter_add", self: X, dim, index: Y, src: Z),
        replay: torch!(|r| r.x()?.f_scatter_add(r.c.int("dim"), r.y()?, r.operand(2)?)?),
        synthesis: Synthesis::Scatter,
        asks: |c| vec![(1, Ask::Below(c.extent(0, c.size("dim"))))],
        vanishes: Vanishes::With { operand: 2, bias: None },
        ..WRITE
    },
    OpDef {
        name: "scatter_reduce",
        doc: "`x` with the elements of `src` joined along `dim` to those at the places that `index` holds; `reduce` is \
              \"prod\", \"amax\" or \"amin\".",
        operands: &[one("x"), one("index"), one("src")],
        attrs: &[attr("dim", AttrKind::Dim, Default::Required), attr("reduce", AttrKind::Str, Default::Required)],
        infer: |c| match joined_by(c) {
            Some(_) => scatter_types(c),
            None => Err(c.error(format!("cannot join elements by `{}`", c.str("reduce")))),
        },
        kernel: Kernel::Ordered(|c, _, index, fetch| match joined_by(c) {
            Some(join) => scattered(c, index, fetch, join),
            None => Err(EvalError::NoSemantics(c.op.name.into())),
        }),
        work: |c, outputs| adds(2)(c, outputs),
        aten: aten!("scatter_reduce.two", self: X, dim, index: Y, src: Z, reduce; include_self: Bool(true)),
        replay: torch!(|r| r.x()?.f_internal_scatter_reduce(
            r.c.int("dim"),
            r.y()?,
            r.operand(2)?,
            r.c.str("reduce"),
            true
        )?),
        synthesis: Synthesis::Scatter,
        asks: |c| vec![(1, Ask::Below(c.extent(0, c.size("dim"))))],
        ..WRITE
    },
    OpDef {
        name: "index_add",
        elements: Elements::Weighted(Moved::ButSecond),
        digits: |r| (!r.is_along()?).then(|| r.dims([Some(r.dim()), None, Some(r.dim())])),
        doc: "`x` with slice `i` of `source` along `dim` added to the slice that element `i` of `index` names.",
        operands: &[one("x"), one("index"), one("source")],
        attrs: &[attr("dim", AttrKind::Dim, Default::Required)],
        infer: index_add_types,
        kernel: Kernel::Ordered(index_added),
        work: |c, outputs| adds(2)(c, outputs),
        aten: aten!("index_add", self: X, dim, index: Y, source: Z),
        replay: torch!(|r| r.x()?.f_index_add(r.c.int("dim"), r.y()?, r.operand(2)?)?),
        synthesis: Synthesis::AddSlices,
        asks: |c| vec![(1, Ask::Below(c.extent(0, c.size("dim"))))],
        vanishes: Vanishes::With { operand: 2, bias: None },
        support: |s| {
            let mut dims = support::union(support::same(s)?, s.operand(2)?.dims());
            *dims.get_mut(s.call.size("dim"))? = None;
            Some(dims)
        },
        ..WRITE
    },
    OpDef {
        name: "index_put",
        elements: Elements::Weighted(Moved::FirstTwo),
        digits: index_put_digits,
        doc: "`x` with `values` written where `index` would read with the same `indices` and `dims`, or added if \
              `accumulate`; which of several in one place counts is open.",
        operands: &[one("x"), one("values"), many("indices")],
        attrs: &[
            attr("dims", AttrKind::Dims, Default::Required),
            attr("accumulate", AttrKind::Bool, Default::Bool(false)),
        ],
        infer: index_put_types,
        kernel: Kernel::Ordered(index_put_element),
        work: |c, outputs| match c.bool("accumulate") {
            true => adds(1)(c, outputs),
            false => writes(c, outputs),
        },
        aten: aten!("index_put", self: X, indices: Indices(2), values: Y, accumulate),
        replay: torch!(|r| r.x()?.f_index_put(&r.indices(2)?, r.y()?, r.c.bool("accumulate"))?),
        synthesis: Synthesis::Put,
        asks: |c| indexed(c, 2),
        ..WRITE
    },
    OpDef {
        name: "histc",
        doc: "How many elements lie in each of `bins` equal parts of `min..=max`; those outside count nowhere.",
        operands: &[one("x")],
        attrs: &[
            attr("bins", AttrKind::Int, Default::Required),
            attr("min", AttrKind::Float, Default::Required),
            attr("max", AttrKind::Float, Default::Required),
        ],
        infer: |c| {
            let x = c.operands[0];
            let (min, max) = (c.float("min"), c.float("max"));
            let bins = usize::try_from(c.int("bins")).ok().filter(|&n| n > 0);
            let bins = bins.ok_or_else(|| c.error("needs `bins` of 1 or more"))?;
            let whole = x.dtype.is_int() && min.fract() == 0.0 && max.fract() == 0.0;
            if !min.is_finite() || !max.is_finite() || min >= max || !(x.dtype.is_float() || whole) {
                return Err(c.error(format!("cannot count {x} from {min} to {max}")));
            }
            c.output(x.dtype, Shape::from_slice(&[bins]))
        },
        kernel: Kernel::RealLane {
            axes: |_| SmallVec::from_slice(&[0]),
            lane: |c, _, _, fetch| {
                let (bins, min, max) = (c.size("bins"), c.float("min"), c.float("max"));
                let x = c.operands[0];
                let mut counts = vec![0.0; bins];
                let axes: SmallVec<[usize; 4]> = (0..x.rank()).collect();
                let start = Shape::from_elem(0, x.rank());
                visit_axes(&x.shape, &axes, &start, |at| {
                    let value = fetch(0, at)?;
                    if (min..=max).contains(&value) {
                        let bin = ((value - min) * bins as f64 / (max - min)) as usize;
                        counts[bin.min(bins - 1)] += 1.0;
                    }
                    Ok::<(), EvalError>(())
                })?;
                Ok(counts)
            },
        },
        work: |c, outputs| Work::streaming(c, outputs, c.operands[0].numel() as f64, Unit::Vector),
        aten: aten!("histc", self: X, bins, min, max),
        replay: torch!(|r| histogram(r)?),
        ..WRITE
    },
];
