//! Where the elements of a value can be other than 0: places along each dimension, from those of the operands. In a
//! model whose weights are 0 but for a few rows and columns, most of every value need not be looked at.

use std::sync::Arc;

use smallvec::SmallVec;

use super::Interval;
use super::range::range;
use crate::ir::{Shape, TensorType, flat_index, unflatten};
use crate::ops::{Call, Family};

/// Places along a dimension.
#[derive(Clone, Debug, PartialEq)]
pub struct PlaceSet {
    /// In ascending order.
    list: Vec<usize>,
    has: Vec<bool>,
}

impl PlaceSet {
    /// The places below `size` that `keep` holds for.
    fn new(size: usize, keep: impl Fn(usize) -> bool) -> Dim {
        let has: Vec<bool> = (0..size).map(keep).collect();
        if has.iter().all(|&h| h) && size > 0 {
            return None;
        }
        let list = has.iter().enumerate().filter(|&(_, &h)| h).map(|(i, _)| i).collect();
        Some(Arc::new(PlaceSet { list, has }))
    }

    /// Every `stride`-th place of `size`, from `first` on.
    pub fn strided(size: usize, stride: usize, first: usize) -> Dim {
        PlaceSet::new(size, |i| i % stride.max(1) == first % stride.max(1))
    }

    /// All places, in ascending order.
    pub fn list(&self) -> &[usize] {
        &self.list
    }

    /// Whether `place` is one of them.
    pub fn contains(&self, place: usize) -> bool {
        self.has.get(place).copied().unwrap_or(true)
    }
}

/// Places along one dimension; `None` for all of them.
pub type Dim = Option<Arc<PlaceSet>>;

type Dims = SmallVec<[Dim; 4]>;

/// Elements are 0 unless their index lies in all of these sets, one per dimension.
#[derive(Clone, Debug, PartialEq)]
pub struct Support {
    dims: Dims,
}

impl Support {
    /// `None` where every dimension is whole.
    pub fn new(dims: impl IntoIterator<Item = Dim>) -> Option<Support> {
        let dims: Dims = dims.into_iter().collect();
        dims.iter().any(Option::is_some).then_some(Support { dims })
    }

    /// Whether the element at `index` can be other than 0.
    pub fn contains(&self, index: &[usize]) -> bool {
        self.dims.iter().zip(index).all(|(dim, &i)| dim.as_ref().is_none_or(|d| d.contains(i)))
    }

    /// The places along dimension `axis`.
    pub fn dim(&self, axis: usize) -> Option<&PlaceSet> {
        self.dims.get(axis)?.as_deref()
    }
}

/// What is known of an operand.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    pub ty: &'a TensorType,
    pub interval: Option<Interval>,
    pub support: Option<&'a Support>,
}

impl Known<'_> {
    fn is_finite(&self) -> bool {
        self.interval.is_some()
    }

    fn dim(&self, axis: usize) -> Dim {
        self.support.and_then(|s| s.dims.get(axis)?.clone())
    }

    fn dims(&self) -> Dims {
        (0..self.ty.rank()).map(|d| self.dim(d)).collect()
    }

    /// The dimensions after broadcasting to `shape`.
    fn broadcast(&self, shape: &[usize]) -> Dims {
        if self.interval.is_some_and(Interval::is_zero) {
            return shape.iter().map(|&n| PlaceSet::new(n, |_| false)).collect();
        }
        let skip = shape.len().saturating_sub(self.ty.rank());
        let of = |(i, &size): (usize, &usize)| {
            let own = i.checked_sub(skip)?;
            if self.ty.shape[own] == size { self.dim(own) } else { None }
        };
        shape.iter().enumerate().map(of).collect()
    }
}

/// Where the elements of output `slot`, of type `ty`, of a call can be other than 0. `None` where that is not known.
pub fn support(call: &Call, slot: usize, operands: &[Known], ty: &TensorType) -> Option<Support> {
    let x = operands.first()?;
    let size_of = |name: &str| call.size(name);
    // Then all that went in is finite, and 0 times it is 0.
    let is_finite = || range(call, &operands.iter().map(|o| o.interval).collect::<SmallVec<[_; 4]>>()).is_some();
    let dims: Dims = match call.op.name {
        "reshape" => reshaped(&x.ty.shape, &ty.shape, &x.support?.dims),
        "permute" => call.ints("dims").iter().map(|&d| x.dim(d as usize)).collect(),
        "expand" => x.broadcast(&ty.shape),
        "slice" => {
            let (start, step) = (size_of("start"), size_of("step"));
            part(x, size_of("dim"), ty, |place| start + place * step)
        }
        "split" => {
            let start: i64 = call.ints("sizes").iter().take(slot).sum();
            part(x, size_of("dim"), ty, |place| start as usize + place)
        }
        "unsqueeze" => {
            let mut dims = x.dims();
            let at = call.int("dim");
            let at = if at < 0 { at + ty.rank() as i64 } else { at };
            dims.insert(usize::try_from(at).ok().filter(|&at| at <= dims.len())?, None);
            dims
        }
        "squeeze" => {
            let mut dims = x.dims();
            if x.ty.rank() == ty.rank() {
                return x.support.cloned();
            }
            dims.remove(size_of("dim"));
            dims
        }
        "concat" => concatenated(operands, size_of("dim"), ty),
        "repeat_heads" => repeated(x, 1, size_of("times"), ty),
        "repeat_interleave" => repeated(x, size_of("dim"), size_of("repeats"), ty),
        "alias" | "contiguous" | "clone" | "cast" | "neg" | "abs" | "relu" | "silu" | "gelu" | "tanh" | "sin"
        | "erf" | "sqrt" | "tril" | "triu" => return x.support.cloned(),
        "dropout" if !call.bool("train") => return x.support.cloned(),
        "pow" if call.float("exponent") > 0.0 => return x.support.cloned(),
        "div" => {
            let y = operands.get(1)?.interval?;
            if y.low <= 0.0 && y.high >= 0.0 {
                return None;
            }
            x.broadcast(&ty.shape)
        }
        "add" | "sub" | "maximum" | "minimum" => either(x, operands.get(1)?, ty),
        "where" => either(operands.get(1)?, operands.get(2)?, ty),
        "masked_fill" => either(x, operands.get(2)?, ty),
        "mul" => {
            let y = operands.get(1)?;
            both(within(x, y, x.broadcast(&ty.shape)), within(y, x, y.broadcast(&ty.shape)))
        }
        "sum" | "mean" => {
            let reduced = call.ints("dim");
            let keeps = call.bool("keepdim");
            let all = x.dims().into_iter().enumerate();
            let kept = all.map(|(d, places)| (reduced.contains(&(d as i64)), places));
            kept.filter(|&(gone, _)| keeps || !gone).map(|(gone, places)| if gone { None } else { places }).collect()
        }
        "cumsum" => {
            let mut dims = x.dims();
            *dims.get_mut(size_of("dim"))? = None;
            dims
        }
        "flip" | "roll" => {
            let moved = call.ints("dims");
            x.dims().into_iter().enumerate().map(|(d, p)| if moved.contains(&(d as i64)) { None } else { p }).collect()
        }
        "embedding" => {
            let mut dims: Dims = (0..operands.get(1)?.ty.rank()).map(|_| None).collect();
            dims.extend(x.dims().into_iter().skip(1));
            dims
        }
        "index_select" => {
            let mut dims = x.dims();
            *dims.get_mut(size_of("dim"))? = None;
            dims
        }
        "index" if operands.len() == 2 && operands[1].ty.rank() == 1 => {
            let mut dims = x.dims();
            *dims.get_mut(usize::try_from(*call.ints("dims").first()?).ok()?)? = None;
            dims
        }
        "index_add" => {
            let mut dims: Dims = union(x.dims(), operands.get(2)?.dims());
            *dims.get_mut(size_of("dim"))? = None;
            dims
        }
        "layer_norm" => {
            if !is_finite() || call.ints("normalized_shape").len() != 1 {
                return None;
            }
            let mut last = operands.get(1)?.dim(0);
            if let Some(bias) = operands.get(2) {
                last = joined(last, bias.broadcast(&ty.shape).pop()?);
            }
            let mut dims: Dims = (1..ty.rank()).map(|_| None).collect();
            dims.push(last);
            dims
        }
        "rms_norm" => {
            if !is_finite() || call.ints("normalized_shape").len() != 1 {
                return None;
            }
            let mut dims = x.dims();
            if let (Some(weight), Some(last)) = (operands.get(1), dims.last_mut()) {
                *last = common(last.clone(), weight.dim(0));
            }
            dims
        }
        "sdpa" => {
            let v = operands.get(2)?;
            if v.ty.rank() != ty.rank() || !is_finite() {
                return None;
            }
            let mut dims = v.broadcast(&ty.shape);
            let rank = dims.len();
            // Each result row mixes all value rows.
            *dims.get_mut(rank.checked_sub(2)?)? = None;
            dims
        }
        "conv1d" | "conv2d" => {
            let (w, bias) = (operands.get(1)?, operands.get(2));
            if !x.is_finite() || !w.is_finite() {
                return None;
            }
            let channels =
                bias.map_or_else(|| w.dim(0), |b| joined(w.dim(0), b.broadcast(&w.ty.shape[..1])[0].clone()));
            (0..ty.rank()).map(|d| if d == 1 { channels.clone() } else { None }).collect()
        }
        _ if call.op.family == Family::Linear => product(call, operands, ty)?,
        _ => return None,
    };
    let fits = |(dim, &size): (&Dim, &usize)| dim.as_ref().is_none_or(|d| d.has.len() == size);
    let fit = dims.len() == ty.rank() && dims.iter().zip(&ty.shape).all(fits);
    if fit { Support::new(dims) } else { None }
}

/// Where `x` is other than 0, unless `other` could make a NaN of 0.
fn within(x: &Known, other: &Known, dims: Dims) -> Dims {
    let zero = x.interval.is_some_and(Interval::is_zero);
    if other.is_finite() && !zero { dims } else { dims.into_iter().map(|_| None).collect() }
}

fn part(x: &Known, dim: usize, ty: &TensorType, place: impl Fn(usize) -> usize) -> Dims {
    let mut dims = x.dims();
    if let (Some(d), Some(&size)) = (dims.get_mut(dim), ty.shape.get(dim)) {
        *d = d.take().and_then(|d| PlaceSet::new(size, |i| d.contains(place(i))));
    }
    dims
}

fn repeated(x: &Known, dim: usize, times: usize, ty: &TensorType) -> Dims {
    part(x, dim, ty, |place| place / times.max(1))
}

fn concatenated(operands: &[Known], dim: usize, ty: &TensorType) -> Dims {
    let mut has = Vec::new();
    let mut dims: Option<Dims> = None;
    for part in operands {
        let zero = part.interval.is_some_and(Interval::is_zero);
        let own = if zero { part.broadcast(&part.ty.shape) } else { part.dims() };
        let size = part.ty.shape.get(dim).copied().unwrap_or(0);
        has.extend((0..size).map(|i| own.get(dim).cloned().flatten().is_none_or(|d| d.contains(i))));
        dims = Some(dims.map_or(own.clone(), |all| union(all, own)));
    }
    let mut dims = dims.unwrap_or_default();
    if let (Some(d), Some(&size)) = (dims.get_mut(dim), ty.shape.get(dim)) {
        *d = PlaceSet::new(size, |i| has.get(i).copied().unwrap_or(true));
    }
    dims
}

fn joined(x: Dim, y: Dim) -> Dim {
    match (x, y) {
        (Some(x), Some(y)) if Arc::ptr_eq(&x, &y) || x == y => Some(x),
        (Some(x), Some(y)) => PlaceSet::new(x.has.len(), |i| x.contains(i) || y.contains(i)),
        _ => None,
    }
}

fn common(x: Dim, y: Dim) -> Dim {
    match (x, y) {
        (Some(x), Some(y)) if Arc::ptr_eq(&x, &y) || x == y => Some(x),
        (Some(x), Some(y)) => PlaceSet::new(x.has.len(), |i| x.contains(i) && y.contains(i)),
        (x, y) => x.or(y),
    }
}

fn union(x: Dims, y: Dims) -> Dims {
    x.into_iter().zip(y).map(|(x, y)| joined(x, y)).collect()
}

fn both(x: Dims, y: Dims) -> Dims {
    x.into_iter().zip(y).map(|(x, y)| common(x, y)).collect()
}

fn either(x: &Known, y: &Known, ty: &TensorType) -> Dims {
    union(x.broadcast(&ty.shape), y.broadcast(&ty.shape))
}

/// A product's rows are 0 where the left side's are, and its columns where the right side's are, if all is finite.
fn product(call: &Call, operands: &[Known], ty: &TensorType) -> Option<Dims> {
    let rank = ty.rank();
    let last = rank.checked_sub(1)?;
    let (x, y, bias) = match call.op.name {
        "linear" | "matmul" | "grouped_mm" => (operands.first()?, operands.get(1)?, None),
        "addmm" | "baddbmm" => (operands.get(1)?, operands.get(2)?, operands.first()),
        _ => return None,
    };
    let bias = if call.op.name == "linear" { operands.get(2) } else { bias };
    let plain = call.op.name != "grouped_mm" || (x.ty.rank(), y.ty.rank(), rank) == (2, 3, 2);
    if !x.is_finite() || !y.is_finite() || !plain {
        return None;
    }
    let mut dims: Dims = (0..rank).map(|_| None).collect();
    match call.op.name {
        "linear" | "addmm" | "grouped_mm" => {
            for (d, places) in dims.iter_mut().enumerate().take(last) {
                *places = x.dim(d);
            }
            dims[last] = match call.op.name {
                "linear" => y.dim(0),
                "addmm" => y.dim(1),
                _ => y.dim(y.ty.rank().checked_sub(1)?),
            };
        }
        _ if x.ty.rank() >= 2 && y.ty.rank() >= 2 && rank >= 2 => {
            dims[last] = y.dim(y.ty.rank() - 1);
            dims[last - 1] = x.dim(x.ty.rank() - 2);
            let batch = |o: &Known| -> Dims {
                let own = o.ty.rank() - 2;
                let skip = (rank - 2).saturating_sub(own);
                let of = |d: usize| {
                    let own = d.checked_sub(skip)?;
                    if o.ty.shape[own] == ty.shape[d] { o.dim(own) } else { None }
                };
                (0..rank - 2).map(of).collect()
            };
            for (d, places) in both(batch(x), batch(y)).into_iter().enumerate() {
                dims[d] = places;
            }
        }
        _ => return None,
    }
    Some(match bias {
        Some(bias) => union(dims, bias.broadcast(&ty.shape)),
        None => dims,
    })
}

/// Elements of a group of dimensions that are looked at one by one.
const GROUP: usize = 1 << 20;

/// The dimensions of a reshaped value: runs of dimensions of one size are taken apart and put together again.
fn reshaped(from: &[usize], to: &[usize], dims: &[Dim]) -> Dims {
    let mut out: Dims = (0..to.len()).map(|_| None).collect();
    let (mut i, mut j) = (0, 0);
    while i < from.len() && j < to.len() {
        let (first, first_to) = (i, j);
        let (mut left, mut right) = (from[i], to[j]);
        i += 1;
        j += 1;
        while left != right {
            if left < right && i < from.len() {
                left *= from[i];
                i += 1;
            } else if right < left && j < to.len() {
                right *= to[j];
                j += 1;
            } else {
                // Empty tensors: nothing to say.
                return (0..to.len()).map(|_| None).collect();
            }
        }
        let group = first..i;
        if dims[group.clone()].iter().all(Option::is_none) {
            continue;
        }
        if group.len() == 1 && j - first_to == 1 {
            out[first_to] = dims[first].clone();
        } else if left <= GROUP {
            regrouped(&from[group.clone()], &dims[group], &to[first_to..j], &mut out[first_to..j]);
        }
    }
    out
}

fn regrouped(from: &[usize], dims: &[Dim], to: &[usize], out: &mut [Dim]) {
    let mut has: SmallVec<[Vec<bool>; 4]> = to.iter().map(|&n| vec![false; n]).collect();
    let lists: SmallVec<[Vec<usize>; 4]> =
        from.iter().zip(dims).map(|(&n, d)| d.as_ref().map_or_else(|| (0..n).collect(), |d| d.list.clone())).collect();
    let counts: Shape = lists.iter().map(Vec::len).collect();
    for nth in 0..counts.iter().product() {
        let index: Shape = unflatten(&counts, nth).iter().zip(&lists).map(|(&i, list)| list[i]).collect();
        for (has, place) in has.iter_mut().zip(unflatten(to, flat_index(from, &index))) {
            has[place] = true;
        }
    }
    for ((has, out), &n) in has.iter().zip(out).zip(to) {
        *out = PlaceSet::new(n, |i| has[i]);
    }
}
