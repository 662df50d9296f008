//! Operators that pick, order or move elements by position.

use std::cmp::Ordering;

use smallvec::{SmallVec, smallvec};

use super::shapes::{broadcast, broadcast_index, visit_axes};
use super::{
    Ask, AttrKind, Bounds, Call, Default, Digits, Dims, Elements, EvalError, Family, Fetch, Interval, Kernel,
    KernelClass, Launch, LayoutRule, Moved, Movement, OpDef, OperandDef, Renumbering, Supports, Synthesis, TypeError,
    Types, Unit, Vanishes, Work, attr, many, one,
};
use crate::ir::{DType, Layout, Number, Shape, TensorType};

const X: &[OperandDef] = &[one("x")];
/// Reads its output's worth of elements, and the positions that operand `positions` and later ones hold.
fn picks(c: &Call, outputs: &[TensorType], positions: usize) -> Work {
    let written: f64 = outputs.iter().map(|t| t.bytes() as f64).sum();
    let read: f64 = c.operands[positions..].iter().map(|t| t.bytes() as f64).sum();
    Work { bytes_read: written + read, ..Work::streaming(c, outputs, 0.0, Unit::Vector) }
}

/// A sort makes about log2(n) comparisons per element.
fn sorts(c: &Call, outputs: &[TensorType]) -> Work {
    let x = c.operands[0];
    let lane = x.shape.get(c.size("dim")).map_or(1.0, |&n| n.max(2) as f64);
    Work::streaming(c, outputs, x.numel() as f64 * lane.log2(), Unit::Vector)
}

/// The longest row that libtorch sorts within one block of threads.
const BLOCK_SORT: usize = 4096;

/// The passes of a radix sort, eight bits each: it reads and writes elements and places once a pass.
fn radix_passes(c: &Call, _: &[&Layout]) -> Work {
    let x = c.operands[0];
    if x.shape.get(c.size("dim")).is_none_or(|&n| n <= BLOCK_SORT) {
        return Work::NONE;
    }
    let passes = x.dtype.bytes();
    let bytes = (passes * (x.dtype.bytes() + DType::I64.bytes())) as f64 * x.numel() as f64;
    Work { bytes_read: bytes, bytes_written: bytes, kernels: u32::try_from(passes).unwrap_or(0), ..Work::NONE }
}

pub(super) fn check_positions(c: &Call, t: &TensorType) -> Result<(), TypeError> {
    match t.dtype {
        DType::I64 | DType::I32 => Ok(()),
        _ => Err(c.error(format!("takes i64 or i32 positions, not {t}"))),
    }
}

/// A position as an index below `size`. Negative ones count from the end where `wraps` is set.
pub(super) fn position(value: Number, size: usize, wraps: bool) -> Result<usize, EvalError> {
    let value = value.to_i64().ok_or(EvalError::IndexOutOfRange)?;
    let value = if wraps && value < 0 { value.saturating_add(size as i64) } else { value };
    usize::try_from(value).ok().filter(|&at| at < size).ok_or(EvalError::IndexOutOfRange)
}

/// The shape to which all index tensors of `index` broadcast, and where it goes in the result.
pub(super) struct Placement {
    pub dims: SmallVec<[usize; 4]>,
    pub positions: Shape,
    pub start: usize,
}

impl Placement {
    /// The shape of what is indexed of `x`.
    pub(super) fn shape(&self, x: &TensorType) -> Shape {
        let mut shape: Shape = (0..x.rank()).filter(|d| !self.dims.contains(d)).map(|d| x.shape[d]).collect();
        shape.insert_many(self.start, self.positions.iter().copied());
        shape
    }
}

/// PyTorch's rule: in place of the indexed dimensions if they are next to each other, else in front.
pub(super) fn placement(c: &Call) -> Result<Placement, TypeError> {
    let dims = c.dims("dims")?;
    if dims.len() + 1 != c.operands.len() || dims.is_empty() || c.operands[0].rank() == 0 {
        return Err(c.error(format!("has {} index tensors for dims {dims:?}", c.operands.len() - 1)));
    }
    if !dims.is_sorted() {
        return Err(c.error("needs `dims` in ascending order"));
    }
    let adjacent = dims.windows(2).all(|w| w[0] + 1 == w[1]);
    let positions = c.broadcast(1..c.operands.len())?;
    Ok(Placement { start: if adjacent { dims[0] } else { 0 }, dims, positions })
}

fn index_types(c: &Call) -> Result<Types, TypeError> {
    for t in &c.operands[1..] {
        check_positions(c, t)?;
    }
    let x = c.operands[0];
    c.output(x.dtype, placement(c)?.shape(x))
}

fn index_element(c: &Call, _: usize, index: &[usize], fetch: &mut Fetch) -> Result<Number, EvalError> {
    let Placement { dims, positions, start } = placement(c).map_err(|e| EvalError::NoSemantics(e.to_string()))?;
    let x = c.operands[0];
    let at = &index[start..start + positions.len()];
    let mut kept = index[..start].iter().chain(&index[start + positions.len()..]);
    let mut from = Shape::new();
    for d in 0..x.rank() {
        from.push(match dims.iter().position(|&i| i == d) {
            None => kept.next().copied().unwrap_or(0),
            Some(i) => {
                let value = fetch(1 + i, &broadcast_index(&c.operands[1 + i].shape, at))?;
                position(value, x.shape[d], true)?
            }
        });
    }
    fetch(0, &from)
}

/// What index tensors from operand `first` on have to hold, by the dimensions that they index.
pub(super) fn indexed(c: &Call, first: usize) -> Vec<(usize, Ask)> {
    let limit = |(i, &dim): (usize, &i64)| (first + i, Ask::Below(c.extent(0, dim as usize)));
    c.ints("dims").iter().enumerate().map(limit).collect()
}

fn embedding_support(s: &Supports) -> Option<Dims> {
    let (rows, ids) = (s.operand(0)?, s.operand(1)?);
    // Where the first row is 0, so is every token of number 0.
    let first_row_is_0 = rows.dim(0).is_some_and(|rows| !rows.contains(0));
    let mut dims: Dims = if first_row_is_0 { ids.dims() } else { ids.dims().iter().map(|_| None).collect() };
    dims.extend(rows.dims().into_iter().skip(1));
    Some(dims)
}

/// NaN counts as the largest value, as in PyTorch.
pub(super) fn compare(a: Number, b: Number) -> Ordering {
    a.compare(b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// Values (slot 0) or their old places (slot 1) of a lane in order; ties keep theirs.
fn ordered(
    c: &Call,
    slot: usize,
    index: &[usize],
    fetch: &mut Fetch,
    descending: bool,
) -> Result<Vec<Number>, EvalError> {
    let mut lane: Vec<(usize, Number)> = Vec::new();
    visit_axes(&c.operands[0].shape, &c.dim_axis(), index, |at| {
        lane.push((lane.len(), fetch(0, at)?));
        Ok(())
    })?;
    lane.sort_by(|&(_, a), &(_, b)| if descending { compare(b, a) } else { compare(a, b) });
    Ok(lane.into_iter().map(|(place, value)| if slot == 0 { value } else { Number::Int(place as i64) }).collect())
}

fn values_and_places(c: &Call, shape: Shape) -> Result<Types, TypeError> {
    let mut types = c.output(c.operands[0].dtype, shape.clone())?;
    types.extend(c.output(DType::I64, shape)?);
    Ok(types)
}

fn topk_types(c: &Call) -> Result<Types, TypeError> {
    c.refuse_bool()?;
    let dim = c.dim("dim", 0)?;
    let mut shape = c.operands[0].shape.clone();
    let size = shape.get(dim).copied().unwrap_or(1);
    let k = usize::try_from(c.int("k")).ok().filter(|&k| k <= size);
    let k = k.ok_or_else(|| c.error(format!("cannot choose {} of {size} elements", c.int("k"))))?;
    match shape.get_mut(dim) {
        Some(size) => *size = k,
        None if k == 1 => {}
        None => return Err(c.error("chooses exactly one element of a scalar")),
    }
    values_and_places(c, shape)
}

/// Dimensions that are not indexed, where those that are stand side by side.
fn index_digits(r: &Renumbering) -> Option<Digits> {
    let dims = r.call.dims("dims").ok()?;
    let (from, count) = (*dims.first()?, dims.len());
    if !dims.iter().zip(from..).all(|(&dim, at)| dim == at) {
        return None;
    }
    let places = r.call.operands[1..].iter().map(|ty| ty.rank()).max()?;
    match r.dim() {
        d if d < from => Some(r.same()),
        d if d >= from + places => Some(r.first(d - places + count)),
        _ => None,
    }
}

/// What the operators of this file have in common.
const PICK: OpDef = OpDef { family: Family::Index, kernels: KernelClass::Gather, ..OpDef::PLAIN };

/// The table entries of this family.
pub(super) static OPS: &[OpDef] = &[
    OpDef {
        name: "embedding",
        moves_along: |_| Some(smallvec![0]),
        launch: Launch::Positions,
        elements: Elements::Moved(Moved::First, Movement::Gather),
        digits: |r| (r.dim() + 1 == r.result.rank()).then(|| r.first(1)),
        doc: "The rows of `weight` that `indices` names.",
        operands: &[one("weight"), one("indices")],
        infer: |c| {
            let (weight, indices) = (c.operands[0], c.operands[1]);
            check_positions(c, indices)?;
            if weight.rank() != 2 {
                return Err(c.error(format!("needs a matrix of weights, not {weight}")));
            }
            let mut shape = indices.shape.clone();
            shape.push(weight.shape[1]);
            c.output(weight.dtype, shape)
        },
        kernel: Kernel::Element(|c, _, index, fetch| {
            let last = index.len() - 1;
            let row = position(fetch(1, &index[..last])?, c.operands[0].shape[0], false)?;
            fetch(0, &[row, index[last]])
        }),
        work: |c, outputs| picks(c, outputs, 1),
        aten: aten!("embedding", weight: X, indices: Y),
        replay: torch!(|r| tch::Tensor::f_embedding(r.x()?, r.y()?, -1, false, false)?),
        bounds: Bounds::SAME,
        hands_on: true,
        synthesis: Synthesis::Embed,
        asks: |c| vec![(0, Ask::Table), (1, Ask::Below(c.extent(0, 0)))],
        support: embedding_support,
        ..PICK
    },
    OpDef {
        name: "gather",
        elements: Elements::Moved(Moved::First, Movement::Gather),
        digits: |r| {
            let whole = r.call.operands[0].shape.get(r.dim()) == r.result.shape.get(r.dim());
            (!r.is_along()? && whole).then(|| r.same_of_all())
        },
        doc: "Along `dim`, the elements at the places that `index` holds.",
        operands: &[one("x"), one("index")],
        attrs: &[attr("dim", AttrKind::Dim, Default::Required)],
        infer: |c| {
            let (x, index) = (c.operands[0], c.operands[1]);
            let dim = c.dim("dim", 0)?;
            check_positions(c, index)?;
            let fits = x.rank() == index.rank() && (0..x.rank()).all(|d| d == dim || index.shape[d] <= x.shape[d]);
            if !fits {
                return Err(c.error(format!("cannot pick from {x} by {index}")));
            }
            c.output(x.dtype, index.shape.clone())
        },
        kernel: Kernel::Element(|c, _, index, fetch| {
            let mut from = Shape::from_slice(index);
            let value = fetch(1, index)?;
            match from.get_mut(c.size("dim")) {
                Some(i) => *i = position(value, c.operands[0].shape[c.size("dim")], false)?,
                None => {
                    position(value, 1, false)?;
                }
            }
            fetch(0, &from)
        }),
        work: |c, outputs| picks(c, outputs, 1),
        aten: aten!("gather", self: X, dim, index: Y),
        replay: torch!(|r| r.x()?.f_gather(r.c.int("dim"), r.y()?, false)?),
        bounds: Bounds::SAME,
        hands_on: true,
        synthesis: Synthesis::Gather,
        asks: |c| vec![(1, Ask::Below(c.extent(0, c.size("dim"))))],
        ..PICK
    },
    OpDef {
        name: "index_select",
        moves_along: |c| Some(smallvec![c.dim("dim", 0).ok()?]),
        elements: Elements::Moved(Moved::First, Movement::Gather),
        digits: |r| r.same_if(!r.is_along()?),
        doc: "The slices of dimension `dim` that `index` names.",
        operands: &[one("x"), one("index")],
        attrs: &[attr("dim", AttrKind::Dim, Default::Required)],
        infer: |c| {
            let (x, index) = (c.operands[0], c.operands[1]);
            let (dim, _) = c.sized_dim()?;
            check_positions(c, index)?;
            if index.rank() > 1 {
                return Err(c.error(format!("needs a vector of positions, not {index}")));
            }
            let mut shape = x.shape.clone();
            shape[dim] = index.numel();
            c.output(x.dtype, shape)
        },
        kernel: Kernel::Element(|c, _, index, fetch| {
            let dim = c.size("dim");
            let mut from = Shape::from_slice(index);
            let place = &index[dim..dim + c.operands[1].rank()];
            from[dim] = position(fetch(1, place)?, c.operands[0].shape[dim], false)?;
            fetch(0, &from)
        }),
        work: |c, outputs| picks(c, outputs, 1),
        aten: aten!("index_select", self: X, dim, index: Y),
        replay: torch!(|r| r.x()?.f_index_select(r.c.int("dim"), r.y()?)?),
        bounds: Bounds::SAME,
        hands_on: true,
        synthesis: Synthesis::Select,
        asks: |c| vec![(1, Ask::Below(c.extent(0, c.size("dim"))))],
        vanishes: Vanishes::With { operand: 0, bias: None },
        support: |s| s.all_along(s.call.size("dim")),
        ..PICK
    },
    OpDef {
        name: "index",
        moves_along: |c| match c.dims("dims").ok()?[..] {
            [dim] => Some(smallvec![dim]),
            _ => None,
        },
        elements: Elements::Moved(Moved::First, Movement::Index),
        digits: index_digits,
        doc: "Advanced indexing: one index tensor for each of `dims`, broadcast together. They go where the indexed dimensions \
              stood if those are adjacent, else in front. Negative positions count from the end.",
        operands: &[one("x"), many("indices")],
        attrs: &[attr("dims", AttrKind::Dims, Default::Required)],
        infer: index_types,
        kernel: Kernel::Element(index_element),
        work: |c, outputs| picks(c, outputs, 1),
        aten: aten!("index.Tensor", self: X, indices: Indices(1)),
        replay: torch!(|r| r.x()?.f_index(&r.indices(1)?)?),
        bounds: Bounds::SAME,
        hands_on: true,
        synthesis: Synthesis::Index,
        asks: |c| indexed(c, 1),
        support: |s| {
            let only = s.operands.len() == 2 && s.operands[1].ty.rank() == 1;
            if only { s.all_along(usize::try_from(*s.call.ints("dims").first()?).ok()?) } else { None }
        },
        ..PICK
    },
    OpDef {
        name: "topk",
        places: Some(1),
        kernels: KernelClass::Order,
        digits: |r| r.same_if(!r.is_along()?),
        doc: "The `k` largest (or smallest) elements along `dim` in order, and their places. The order of equal elements is open, \
              zeros of both signs among them; that of all elements is unless `sorted`.",
        operands: X,
        attrs: &[
            attr("k", AttrKind::Int, Default::Required),
            attr("dim", AttrKind::Dim, Default::Required),
            attr("largest", AttrKind::Bool, Default::Bool(true)),
            attr("sorted", AttrKind::Bool, Default::Bool(true)),
        ],
        infer: topk_types,
        kernel: Kernel::Lane {
            axes: |c| c.dim_axis(),
            lane: |c, slot, index, fetch| {
                let mut lane = ordered(c, slot, index, fetch, c.bool("largest"))?;
                lane.truncate(c.size("k"));
                Ok(lane)
            },
        },
        work: sorts,
        aten: aten!("topk", self: X, k, dim, largest, sorted),
        replay: torch!(
            several | r | {
                let (values, places) = r.x()?.f_topk(r.c.int("k"), r.c.int("dim"), r.c.bool("largest"), true)?;
                vec![values, places]
            }
        ),
        bounds: Bounds::SAME,
        synthesis: Synthesis::OrderFirst,
        ..PICK
    },
    OpDef {
        name: "kthvalue",
        places: Some(1),
        kernels: KernelClass::Order,
        doc: "Element number `k` along `dim` in ascending order, counted from 1, and its place; `dim` stays, with a size of 1. Which of \
              equal elements it is is open, zeros of both signs among them.",
        operands: X,
        attrs: &[attr("k", AttrKind::Int, Default::Required), attr("dim", AttrKind::Dim, Default::Required)],
        infer: |c| {
            c.refuse_bool()?;
            let mut shape = c.operands[0].shape.clone();
            let dim = c.dim("dim", 0)?;
            let size = shape.get_mut(dim).ok_or_else(|| c.error("takes no scalar"))?;
            if !(1..=*size as i64).contains(&c.int("k")) {
                return Err(c.error(format!("has no element number {} of {size}", c.int("k"))));
            }
            *size = 1;
            values_and_places(c, shape)
        },
        kernel: Kernel::Lane {
            axes: |c| c.dim_axis(),
            lane: |c, slot, index, fetch| {
                let lane = ordered(c, slot, index, fetch, false)?;
                Ok(lane.get(c.size("k").saturating_sub(1)).copied().into_iter().collect())
            },
        },
        work: sorts,
        aten: aten!("kthvalue", self: X, k, dim, keepdim: Bool(true)),
        replay: torch!(
            several | r | {
                let (values, places) = r.x()?.f_kthvalue(r.c.int("k"), r.c.int("dim"), true)?;
                vec![values, places]
            }
        ),
        bounds: Bounds::SAME,
        synthesis: Synthesis::OrderFirst,
        ..PICK
    },
    OpDef {
        name: "searchsorted",
        doc: "How many elements of the last dimension of `list` a search by halves finds below a number, or with `right` not above it. Of \
              a list that does not ascend, or holds NaN, that is what the search comes to.",
        operands: &[one("list"), one("x")],
        attrs: &[attr("right", AttrKind::Bool, Default::Bool(false))],
        infer: |c| {
            c.refuse_bool()?;
            c.same_dtype(0..2)?;
            let (list, x) = (c.operands[0], c.operands[1]);
            let one_for_all = list.rank() == 1;
            let one_for_each =
                list.rank() == x.rank() && list.rank() > 0 && list.shape[..list.rank() - 1] == x.shape[..x.rank() - 1];
            if !one_for_all && !one_for_each {
                return Err(c.error(format!("cannot look up {x} in {list}")));
            }
            c.output(DType::I64, x.shape.clone())
        },
        kernel: Kernel::Element(|c, _, index, fetch| {
            let (value, right) = (fetch(1, index)?, c.bool("right"));
            let rank = c.operands[0].rank();
            let mut at = if rank == 1 { Shape::from_slice(&[0]) } else { Shape::from_slice(index) };
            let (mut start, mut end) = (0, c.operands[0].shape[rank - 1]);
            while start < end {
                let middle = start + (end - start) / 2;
                at[rank - 1] = middle;
                let order = fetch(0, &at)?.compare(value);
                let is_behind = order.is_some_and(|order| if right { order.is_gt() } else { order.is_ge() });
                if is_behind {
                    end = middle;
                } else {
                    start = middle + 1;
                }
            }
            Ok(Number::Int(start as i64))
        }),
        work: |c, outputs| picks(c, outputs, 1),
        aten: aten!("searchsorted.Tensor", sorted_sequence: X, self: Y; right),
        replay: torch!(|r| r.y()?.f_searchsorted::<&tch::Tensor>(
            r.x()?,
            false,
            r.c.bool("right"),
            if r.c.bool("right") { "right" } else { "left" },
            None
        )?),
        ..PICK
    },
    OpDef {
        name: "sort",
        places: Some(1),
        kernels: KernelClass::Order,
        digits: |r| r.same_if(!r.is_along()?),
        doc: "The elements along `dim` in order, and their old places. Unless it is `stable`, the order of equal elements is open, \
              zeros of both signs among them.",
        operands: X,
        attrs: &[
            attr("dim", AttrKind::Dim, Default::Required),
            attr("descending", AttrKind::Bool, Default::Bool(false)),
            attr("stable", AttrKind::Bool, Default::Bool(false)),
        ],
        infer: |c| {
            c.dim("dim", 0)?;
            values_and_places(c, c.operands[0].shape.clone())
        },
        kernel: Kernel::Lane {
            axes: |c| c.dim_axis(),
            lane: |c, slot, index, fetch| ordered(c, slot, index, fetch, c.bool("descending")),
        },
        layout: LayoutRule::Elementwise,
        work: sorts,
        bounds: Bounds::SAME,
        further_work: radix_passes,
        aten: aten!("sort.stable", self: X; stable, dim, descending),
        replay: torch!(
            several | r | {
                let (values, places) =
                    r.x()?.f_sort_stable(r.c.bool("stable"), r.c.int("dim"), r.c.bool("descending"))?;
                vec![values, places]
            }
        ),
        synthesis: Synthesis::Order,
        ..PICK
    },
    OpDef {
        name: "one_hot",
        elements: Elements::OneHot,
        digits: |r| r.same_if(r.dim() + 1 < r.result.rank()),
        kernels: KernelClass::Streaming,
        doc: "A new last dimension of `num_classes` that is 1 at the class and 0 elsewhere.",
        operands: X,
        attrs: &[attr("num_classes", AttrKind::Int, Default::Required)],
        infer: |c| {
            let x = c.operands[0];
            if x.dtype != DType::I64 {
                return Err(c.error(format!("takes i64 classes, not {x}")));
            }
            let classes = usize::try_from(c.int("num_classes")).ok().filter(|&n| n > 0);
            let mut shape = x.shape.clone();
            shape.push(classes.ok_or_else(|| c.error("needs `num_classes` of 1 or more"))?);
            c.output(DType::I64, shape)
        },
        kernel: Kernel::Element(|c, _, index, fetch| {
            let last = index.len() - 1;
            let class = position(fetch(0, &index[..last])?, c.size("num_classes"), false)?;
            Ok((class == index[last]).into())
        }),
        work: |c, outputs| picks(c, outputs, 0),
        aten: aten!("one_hot", self: X, num_classes),
        replay: torch!(|r| r.x()?.f_one_hot(r.c.int("num_classes"))?),
        bounds: Bounds { range: |_| Interval::new(0.0, 1.0), magnitude: |_| 1.0 },
        synthesis: Synthesis::Classes,
        asks: |c| vec![(0, Ask::Below(c.size("num_classes")))],
        ..PICK
    },
    OpDef {
        name: "masked_fill",
        launch: Launch::Elementwise,
        kernels: KernelClass::Streaming,
        doc: "The scalar `value` where the mask is true, `x` elsewhere.",
        operands: &[one("x"), one("mask"), one("value")],
        infer: |c| {
            let (x, mask, value) = (c.operands[0], c.operands[1], c.operands[2]);
            if mask.dtype != DType::Bool || value.rank() != 0 || value.dtype != x.dtype {
                return Err(c.error(format!("takes a bool mask and a {} scalar, not {mask} and {value}", x.dtype)));
            }
            let shape = broadcast(&x.shape, &mask.shape);
            c.output(x.dtype, shape.ok_or_else(|| c.error(format!("cannot broadcast {x} and {mask}")))?)
        },
        kernel: Kernel::Element(|c, _, index, fetch| {
            if fetch(1, &broadcast_index(&c.operands[1].shape, index))?.is_true() {
                return fetch(2, &[]);
            }
            fetch(0, &broadcast_index(&c.operands[0].shape, index))
        }),
        work: |c, outputs| Work::streaming(c, outputs, 0.0, Unit::Vector),
        aten: aten!(|c| super::aten_formulas::filled(c)),
        replay: torch!(|r| r.x()?.f_masked_fill_tensor(r.y()?, r.operand(2)?)?),
        bounds: Bounds { range: |r| Some(r.x()?.hull(r.of(2)?)), magnitude: |m| m.of(0).max(m.of(2)) },
        hands_on: true,
        synthesis: Synthesis::Fill,
        support: |s| s.either(0, 2),
        ..PICK
    },
];
