//! Views as terms.

use rustc_hash::FxHashMap;

use super::super::arena::{TermArena, TermId};
use super::at_steps::Operands;
use crate::ir::{AttrValue, Ints};
use crate::ops::{self, Movement, Op};

pub(super) fn ints<T: Copy + TryInto<i64>>(sizes: &[T]) -> Ints {
    sizes.iter().map(|&size| size.try_into().unwrap_or(i64::MAX)).collect()
}

pub(super) fn sliced(arena: &mut TermArena, x: TermId, dim: usize, start: i64, end: i64) -> Option<TermId> {
    let slice = ops::moving(Movement::Slice)?;
    let [dim, start, end] = [dim as i64, start, end].map(AttrValue::Int);
    let attrs = slice.attrs(&[("dim", dim), ("start", start), ("end", end)]).ok()?;
    arena.call(&Op::Table(slice), &attrs, 0, &[x], None).ok()
}

pub(super) fn reshaped(arena: &mut TermArena, x: TermId, shape: &Ints) -> Option<TermId> {
    if ints(&arena.ty(x).shape) == *shape {
        return Some(x);
    }
    let reshape =
        ops::all().find(|def| def.movement() == Some(Movement::Reshape) && def.attr_index("shape").is_some())?;
    let attrs = reshape.attrs(&[("shape", AttrValue::Ints(shape.clone()))]).ok()?;
    arena.call(&Op::Table(reshape), &attrs, 0, &[x], None).ok()
}

pub(super) fn permuted(arena: &mut TermArena, x: TermId, dims: &[i64]) -> Option<TermId> {
    if dims.iter().zip(0..).all(|(&d, at)| d == at) {
        return Some(x);
    }
    let permute = ops::moving(Movement::Permute)?;
    let attrs = permute.attrs(&[("dims", AttrValue::Ints(ints(dims)))]).ok()?;
    arena.call(&Op::Table(permute), &attrs, 0, &[x], None).ok()
}

/// `x` with dimension `from` at place `to`.
pub(super) fn moved(arena: &mut TermArena, x: TermId, from: usize, to: usize) -> Option<TermId> {
    let mut dims: Vec<i64> = (0..arena.ty(x).rank() as i64).collect();
    let dim = dims.remove(from);
    (to <= dims.len()).then(|| dims.insert(to, dim))?;
    permuted(arena, x, &dims)
}

/// The value of an expression at one step, which has the shape `shape`, as a part of all.
pub(super) fn part(arena: &mut TermArena, all: TermId, along: usize, step: usize, shape: &Ints) -> Option<TermId> {
    let part = sliced(arena, all, along, step as i64, step as i64 + 1)?;
    reshaped(arena, part, shape)
}

/// `root` with one change of shape where several follow each other, and none where the last one has the shape of the first.
pub(super) fn without_detours(arena: &mut TermArena, root: TermId) -> Option<TermId> {
    let mut done: FxHashMap<TermId, TermId> = FxHashMap::default();
    let mut stack = vec![root];
    while let Some(&term) = stack.last() {
        let operands = arena.term(term).operands.clone();
        let before = stack.len();
        stack.extend(operands.iter().filter(|o| !done.contains_key(o)));
        if stack.len() > before {
            continue;
        }
        stack.pop();
        let operands: Operands = operands.iter().map(|o| done[o]).collect();
        let changes_shape = |arena: &TermArena, term| matches!(arena.op(term), Some((op, ..)) if op.movement() == Some(Movement::Reshape));
        let own = if changes_shape(arena, term) {
            let mut of = operands[0];
            while changes_shape(arena, of) {
                of = arena.term(of).operands[0];
            }
            let shape = ints(&arena.ty(term).shape);
            reshaped(arena, of, &shape)?
        } else if let Some((op, attrs, slot)) = arena.op(term) {
            let (op, attrs, ty) = (op.clone(), attrs.clone(), arena.ty(term).clone());
            arena.call(&op, &attrs, slot, &operands, Some(&ty)).ok()?
        } else {
            term
        };
        done.insert(term, own);
    }
    done.get(&root).copied()
}
