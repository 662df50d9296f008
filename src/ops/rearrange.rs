//! Operators that mask, move, repeat or pad elements by a fixed pattern: the rest of the index family.

use std::cmp::Ordering;

use smallvec::{SmallVec, smallvec};

use super::{
    AttrDef, AttrKind, Bounds, Call, Default, Dims, Elements, EvalError, Family, Fetch, Fold, Interval, Kernel, Launch,
    LayoutRule, Moved, Movement, OpDef, OperandDef, Supports, Synthesis, Triangle, TypeError, Types, Unit, Vanishes,
    Work, attr, one, optional, support,
};
use crate::ir::{DType, Number, Shape, TensorType};

const X: &[OperandDef] = &[one("x")];
const DIAGONAL: &[AttrDef] = &[attr("diagonal", AttrKind::Int, Default::Int(0))];

/// The highest order of `diff` that is evaluated.
const MAX_DIFFERENCES: usize = 256;

/// Reads its output's worth of elements.
fn moves(c: &Call, outputs: &[TensorType]) -> Work {
    let written: f64 = outputs.iter().map(|t| t.bytes() as f64).sum();
    Work { bytes_read: written, ..Work::streaming(c, outputs, 0.0, Unit::Vector) }
}

fn same(c: &Call) -> Result<Types, TypeError> {
    c.output(c.operands[0].dtype, c.operands[0].shape.clone())
}

fn matrix_types(c: &Call) -> Result<Types, TypeError> {
    if c.operands[0].rank() < 2 {
        return Err(c.error(format!("takes matrices, not {}", c.operands[0])));
    }
    same(c)
}

/// How far right of the main diagonal an element lies, in terms of `diagonal`.
fn beyond_diagonal(c: &Call, index: &[usize]) -> Ordering {
    let (row, column) = (index[index.len() - 2] as i128, index[index.len() - 1] as i128);
    (column - row).cmp(&i128::from(c.int("diagonal")))
}

fn roll_types(c: &Call) -> Result<Types, TypeError> {
    let dims = c.dims("dims")?;
    if dims.len() != c.ints("shifts").len() || dims.is_empty() || c.operands[0].rank() == 0 {
        return Err(c.error("needs one shift for each of its dims, and one at least"));
    }
    same(c)
}

/// The low and high padding of each dimension; negative padding crops.
fn pads(c: &Call) -> SmallVec<[(i64, i64); 4]> {
    c.ints("pad").chunks_exact(2).map(|p| (p[0], p[1])).collect()
}

fn pad_types(c: &Call) -> Result<Types, TypeError> {
    let x = c.operands[0];
    if c.ints("pad").len() != 2 * x.rank() {
        return Err(c.error(format!("needs two sizes for each dimension of {x}")));
    }
    if c.number("value", x.dtype).is_none() {
        return Err(c.error(format!("cannot fill {x} with {}", c.float("value"))));
    }
    let padded = |(&size, (low, high)): (&usize, (i64, i64))| {
        let (size, low, high) = (size as i128, i128::from(low), i128::from(high));
        let kept = size + low.min(0) + high.min(0);
        usize::try_from(size + low + high).ok().filter(|_| kept >= 0)
    };
    let shape: Option<Shape> = x.shape.iter().zip(pads(c)).map(padded).collect();
    c.output(x.dtype, shape.ok_or_else(|| c.error(format!("crops more than {x} has")))?)
}

fn pad_element(c: &Call, _: usize, index: &[usize], fetch: &mut Fetch) -> Result<Number, EvalError> {
    let x = c.operands[0];
    let from: Option<Shape> = index
        .iter()
        .zip(pads(c))
        .zip(&x.shape)
        .map(|((&i, (low, _)), &size)| usize::try_from(i as i128 - i128::from(low)).ok().filter(|&i| i < size))
        .collect();
    match from {
        Some(from) => fetch(0, &from),
        None => c.number("value", x.dtype).ok_or(EvalError::Unrepresentable),
    }
}

fn diff_types(c: &Call) -> Result<Types, TypeError> {
    let x = c.operands[0];
    let (dim, size) = c.sized_dim()?;
    let dtype = c.same_dtype(0..c.operands.len())?;
    let mut size = size;
    if let Some(p) = c.operands.get(1) {
        let fits = p.rank() == x.rank() && (0..x.rank()).all(|d| d == dim || p.shape[d] == x.shape[d]);
        if !fits {
            return Err(c.error(format!("cannot join {p} and {x} along dimension {dim}")));
        }
        size += p.shape[dim];
    }
    let order = usize::try_from(c.int("n")).ok().filter(|&n| n > 0);
    let order = order.ok_or_else(|| c.error(format!("has no order {}", c.int("n"))))?;
    let mut shape = x.shape.clone();
    shape[dim] = size.saturating_sub(order);
    c.output(dtype, shape)
}

fn diff_element(c: &Call, _: usize, index: &[usize], fetch: &mut Fetch) -> Result<Number, EvalError> {
    let dim = c.size("dim");
    let before = c.operands.get(1).map_or(0, |p| p.shape[dim]);
    // Differences of differences take n² steps, which no budget would count.
    if c.size("n") > MAX_DIFFERENCES {
        return Err(EvalError::Budget);
    }
    let mut at = Shape::from_slice(index);
    let mut values = Vec::new();
    for i in index[dim]..=index[dim] + c.size("n") {
        let operand = usize::from(i < before);
        at[dim] = if operand == 1 { i } else { i - before };
        values.push(fetch(operand, &at)?);
    }
    let bools = c.operands[0].dtype == DType::Bool;
    while values.len() > 1 {
        let step = |w: &[Number]| if bools { Number::from(w[0] != w[1]) } else { w[1] - w[0] };
        values = values.windows(2).map(step).collect();
    }
    Ok(values[0])
}

/// What the operators of this file have in common.
const MOVE: OpDef = OpDef { family: Family::Index, operands: X, work: moves, ..OpDef::PLAIN };

/// The support along the dimensions that `dims` does not name: along those, elements change places.
fn support_of_others(s: &Supports) -> Option<Dims> {
    let moved = s.call.ints("dims");
    let places = support::same(s)?.into_iter().enumerate();
    Some(places.map(|(d, place)| if moved.contains(&(d as i64)) { None } else { place }).collect())
}

/// These table entries of the index family.
pub(super) static OPS: &[OpDef] = &[
    OpDef {
        name: "tril",
        elements: Elements::Moved(Moved::All, Movement::Triangle(Triangle::Lower)),
        digits: |r| r.same_if(r.dim() + 2 < r.result.rank()),
        doc: "Elements right of diagonal number `diagonal` become 0.",
        attrs: DIAGONAL,
        infer: matrix_types,
        kernel: Kernel::Element(|c, _, index, fetch| match beyond_diagonal(c, index) {
            Ordering::Greater => Ok(Number::ZERO),
            _ => fetch(0, index),
        }),
        aten: aten!("tril", self: X, diagonal),
        replay: torch!(|r| r.x()?.f_tril(r.c.int("diagonal"))?),
        bounds: Bounds { range: |r| Some(r.x()?.hull(Interval::ZERO)), magnitude: |m| m.of(0) },
        hands_on: true,
        support: support::same,
        ..MOVE
    },
    OpDef {
        name: "triu",
        elements: Elements::Moved(Moved::All, Movement::Triangle(Triangle::Upper)),
        digits: |r| r.same_if(r.dim() + 2 < r.result.rank()),
        doc: "Elements left of diagonal number `diagonal` become 0.",
        attrs: DIAGONAL,
        infer: matrix_types,
        kernel: Kernel::Element(|c, _, index, fetch| match beyond_diagonal(c, index) {
            Ordering::Less => Ok(Number::ZERO),
            _ => fetch(0, index),
        }),
        aten: aten!("triu", self: X, diagonal),
        replay: torch!(|r| r.x()?.f_triu(r.c.int("diagonal"))?),
        bounds: Bounds { range: |r| Some(r.x()?.hull(Interval::ZERO)), magnitude: |m| m.of(0) },
        hands_on: true,
        support: support::same,
        ..MOVE
    },
    OpDef {
        name: "flip",
        moves_along: |c| Some(c.dims("dims").ok()?.into_iter().collect()),
        elements: Elements::Moved(Moved::All, Movement::Flip),
        digits: |r| r.same_if(!r.call.dims("dims").ok()?.contains(&r.dim())),
        doc: "The elements in reverse along each of `dims`.",
        attrs: &[attr("dims", AttrKind::Dims, Default::Required)],
        infer: |c| {
            c.dims("dims")?;
            same(c)
        },
        kernel: Kernel::Element(|c, _, index, fetch| {
            let mut from = Shape::from_slice(index);
            for d in c.dims("dims").unwrap_or_default() {
                if let Some(i) = from.get_mut(d) {
                    *i = c.operands[0].shape[d] - 1 - *i;
                }
            }
            fetch(0, &from)
        }),
        layout: LayoutRule::Elementwise,
        aten: aten!("flip", self: X, dims),
        replay: torch!(|r| r.x()?.f_flip(r.c.ints("dims"))?),
        bounds: Bounds::SAME,
        hands_on: true,
        synthesis: Synthesis::Flip,
        vanishes: Vanishes::With { operand: 0, bias: None },
        support: support_of_others,
        ..MOVE
    },
    OpDef {
        name: "roll",
        moves_along: |c| Some(c.dims("dims").ok()?.into_iter().collect()),
        elements: Elements::Moved(Moved::All, Movement::Pattern),
        digits: |r| r.same_if(!r.call.dims("dims").ok()?.contains(&r.dim())),
        doc: "The elements moved by `shifts` along `dims`, around the end.",
        attrs: &[attr("shifts", AttrKind::Ints, Default::Required), attr("dims", AttrKind::Dims, Default::Required)],
        infer: roll_types,
        kernel: Kernel::Element(|c, _, index, fetch| {
            let mut from = Shape::from_slice(index);
            for (d, &shift) in c.dims("dims").unwrap_or_default().into_iter().zip(c.ints("shifts")) {
                let size = c.operands[0].shape[d].max(1) as i64;
                from[d] = (from[d] as i64 - shift % size).rem_euclid(size) as usize;
            }
            fetch(0, &from)
        }),
        aten: aten!("roll", self: X, shifts, dims),
        replay: torch!(|r| r.x()?.f_roll(r.c.ints("shifts"), r.c.ints("dims"))?),
        bounds: Bounds::SAME,
        hands_on: true,
        synthesis: Synthesis::Roll,
        vanishes: Vanishes::With { operand: 0, bias: None },
        support: support_of_others,
        ..MOVE
    },
    OpDef {
        name: "repeat_interleave",
        moves_along: |c| Some(smallvec![c.dim("dim", 0).ok()?]),
        launch: Launch::RepeatedCopy("repeats"),
        elements: Elements::Moved(Moved::All, Movement::Repeat),
        digits: |r| r.same_if(!r.is_along()?),
        doc: "Every entry of `dim` `repeats` times in a row.",
        attrs: &[attr("repeats", AttrKind::Int, Default::Required), attr("dim", AttrKind::Dim, Default::Required)],
        infer: |c| {
            let (dim, size) = c.sized_dim()?;
            let repeats = usize::try_from(c.int("repeats")).ok();
            let repeats = repeats.ok_or_else(|| c.error("needs `repeats` of 0 or more"))?;
            let mut shape = c.operands[0].shape.clone();
            shape[dim] = size.checked_mul(repeats).ok_or_else(|| c.error("is too large"))?;
            c.output(c.operands[0].dtype, shape)
        },
        kernel: Kernel::Element(|c, _, index, fetch| {
            let mut from = Shape::from_slice(index);
            from[c.size("dim")] /= c.size("repeats").max(1);
            fetch(0, &from)
        }),
        aten: aten!("repeat_interleave.self_int", self: X, repeats, dim),
        replay: torch!(|r| r.x()?.f_repeat_interleave_self_int(r.c.int("repeats"), r.c.int("dim"), None::<i64>)?),
        bounds: Bounds::SAME,
        hands_on: true,
        synthesis: Synthesis::RepeatEntries,
        support: |s| {
            let times = s.call.size("repeats").max(1);
            s.part(s.call.size("dim"), |place| place / times)
        },
        ..MOVE
    },
    OpDef {
        name: "pad",
        elements: Elements::Moved(Moved::All, Movement::Padded),
        digits: |r| r.same_if(r.call.ints("pad").get(2 * r.dim()..2 * r.dim() + 2)? == [0, 0]),
        doc: "`value` around the elements: `pad` holds low and high sizes for every dimension, outermost first. Negative sizes crop.",
        attrs: &[attr("pad", AttrKind::Ints, Default::Required), attr("value", AttrKind::Number, Default::Int(0))],
        infer: pad_types,
        kernel: Kernel::Element(pad_element),
        aten: aten!(|c| super::aten_formulas::padded_call(c, "constant_pad_nd", "value")),
        replay: torch!(|r| {
            // libtorch starts at the last dimension.
            let pad: Vec<i64> = r.c.ints("pad").chunks_exact(2).rev().flatten().copied().collect();
            r.x()?.f_pad(&pad[..], "constant", r.double("value", r.dtype(0)?)?)?
        }),
        synthesis: Synthesis::Pad,
        ..MOVE
    },
    OpDef {
        name: "diff",
        fold: Fold::Differences,
        elements: Elements::Weighted(Moved::All),
        digits: |r| (!r.is_along()?).then(|| r.same_of_all()),
        doc: "Differences of neighbours along `dim`, `n` times over, with `prepend` put in front of `x` first.",
        operands: &[one("x"), optional("prepend")],
        attrs: &[attr("dim", AttrKind::Dim, Default::Required), attr("n", AttrKind::Int, Default::Int(1))],
        infer: diff_types,
        kernel: Kernel::Ordered(diff_element),
        work: |c, outputs| Work::streaming(c, outputs, outputs.iter().map(|t| t.numel() as f64).sum(), Unit::Vector),
        aten: aten!("diff", self: X, n, dim, prepend: Given(1)),
        replay: torch!(|r| r.x()?.f_diff(r.c.int("n"), r.c.int("dim"), r.given(1), None)?),
        synthesis: Synthesis::Differences,
        ..MOVE
    },
];
