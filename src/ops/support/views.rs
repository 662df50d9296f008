//! What moving elements does to where they can be other than 0.

use smallvec::SmallVec;

use super::known::Supports;
use super::places::{Dim, Dims, LONGEST, PlaceSet, union};
use crate::ir::{Shape, flat_index, unflatten};
use crate::ops::Interval;

/// Where the operands, one after the other along `dim`, are other than 0.
pub(crate) fn concatenated(s: &Supports, dim: usize) -> Dims {
    let mut has = Vec::new();
    let mut dims: Option<Dims> = None;
    for part in s.operands {
        let zero = part.interval.is_some_and(Interval::is_zero);
        let own = if zero { part.broadcast(&part.ty.shape) } else { part.dims() };
        let size = part.ty.shape.get(dim).copied().unwrap_or(0);
        // Of a dimension that is too long for places, none are kept.
        if s.ty.shape.get(dim).is_some_and(|&whole| whole <= LONGEST) {
            has.extend((0..size).map(|i| own.get(dim).cloned().flatten().is_none_or(|d| d.contains(i))));
        }
        dims = Some(dims.map_or(own.clone(), |all| union(all, own)));
    }
    let mut dims = dims.unwrap_or_default();
    if let (Some(d), Some(&size)) = (dims.get_mut(dim), s.ty.shape.get(dim)) {
        *d = PlaceSet::new(size, |i| has.get(i).copied().unwrap_or(true));
    }
    dims
}

/// Elements of a group of dimensions that are looked at one by one.
const GROUP: usize = 1 << 20;

/// The dimensions of a reshaped value: runs of dimensions of one size are taken apart and put together again.
pub(crate) fn reshaped(s: &Supports) -> Dims {
    let Some(x) = s.operand(0) else { return Dims::new() };
    regroup(&x.ty.shape, &s.ty.shape, &x.dims())
}

fn regroup(from: &[usize], to: &[usize], dims: &[Dim]) -> Dims {
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
            out[first_to].clone_from(&dims[first]);
        } else if left <= GROUP {
            regrouped(&from[group.clone()], &dims[group], &to[first_to..j], &mut out[first_to..j]);
        }
    }
    out
}

fn regrouped(from: &[usize], dims: &[Dim], to: &[usize], out: &mut [Dim]) {
    let mut has: SmallVec<[Vec<bool>; 4]> = to.iter().map(|&n| vec![false; n]).collect();
    let lists: SmallVec<[Vec<usize>; 4]> = from
        .iter()
        .zip(dims)
        .map(|(&n, d)| d.as_ref().map_or_else(|| (0..n).collect(), |d| d.list().to_vec()))
        .collect();
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
