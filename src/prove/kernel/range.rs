//! Values that only one side computes, in types of small range.
//!
//! Beyond the tier `exact`, a proof speaks of real numbers. A side computes those of a value as long as the value fits its
//! type. Values that are equal to one of the other side leave their range on both sides, so what counts is the others.

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::arena::{Side, TermArena, TermId};
use super::closure::Closure;
use crate::ir::{DType, TensorType};
use crate::ops::{Amplifies, Arithmetic, Call, Family, Interval, Magnitudes, Op, bounds_hold};

/// A value that has to stay within the range of its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Narrow {
    pub side: Side,
    pub term: TermId,
    /// Whether it leaves that range although what it is computed from lies well inside: it is cast to a narrower type, or it
    /// is a square, an exponential or a sum. Then the sides are equal at the tier `rounding` at best.
    pub weakens: bool,
}

/// How far below a value bounds are looked for.
const DEPTH: usize = 6;

/// The values below these pairs of equal ones, of A and of B, that have to stay within their range. `exact` knows the steps
/// that hold bit for bit, `all` knows all.
pub(crate) fn narrow(arena: &TermArena, exact: &Closure, all: &Closure, pairs: &[(TermId, TermId)]) -> Vec<Narrow> {
    let apart = || pairs.iter().filter(|&&(x, y)| !exact.equal(x, y));
    let roots = [apart().map(|p| p.0).collect::<Vec<_>>(), apart().map(|p| p.1).collect()];
    if roots[0].is_empty() {
        return Vec::new();
    }
    let live = [0, 1].map(|side| below(arena, &roots[side], |_| true));
    let classes =
        |closure: &Closure, side: usize| -> FxHashSet<TermId> { live[side].iter().map(|&t| closure.find(t)).collect() };
    let own = [0, 1].map(|side| {
        let other = classes(exact, 1 - side);
        below(arena, &roots[side], |t| !other.contains(&exact.find(t)))
    });
    let own = [0, 1].map(|side| {
        let other = classes(exact, 1 - side);
        own[side].iter().copied().filter(|&t| !other.contains(&exact.find(t))).collect::<Vec<TermId>>()
    });
    // f32 is a type of small range next to f64 only.
    let wide = own.iter().flatten().any(|&t| arena.ty(t).dtype == DType::F64 && arena.value(t).is_none());
    let mut found = Vec::new();
    for (n, side) in [Side::A, Side::B].into_iter().enumerate() {
        let met = classes(all, 1 - n);
        let is_met = |t: TermId| met.contains(&all.find(t));
        let mut moved: FxHashSet<TermId> = FxHashSet::default();
        // Users have larger numbers than what they use.
        for &t in own[n].iter().rev() {
            let met = is_met(t) || moved.contains(&t);
            if met && let Some(operand) = moves_all_of(arena, t) {
                moved.insert(operand);
            }
            if !met && is_narrow(arena, t, wide) && leaves_range(arena, t) {
                found.push(Narrow { side, term: t, weakens: weakens(arena, t) });
            }
        }
    }
    found.sort_by_key(|f| (f.side, f.term));
    found
}

/// Whether any term could be one that [`narrow`] finds.
pub(crate) fn has_narrow(arena: &TermArena) -> bool {
    (0..arena.len()).map(|n| arena.nth(n)).any(|t| arena.ty(t).dtype == DType::F64 || is_narrow(arena, t, false))
}

/// The terms below `roots`, in order. Below those that are not `open`, no further ones are looked for.
fn below(arena: &TermArena, roots: &[TermId], open: impl Fn(TermId) -> bool) -> Vec<TermId> {
    let mut seen: FxHashSet<TermId> = roots.iter().copied().collect();
    let mut stack: Vec<TermId> = seen.iter().copied().collect();
    while let Some(t) = stack.pop() {
        if open(t) {
            stack.extend(arena.term(t).operands.iter().copied().filter(|&o| seen.insert(o)));
        }
    }
    let mut all: Vec<TermId> = seen.into_iter().collect();
    all.sort_unstable();
    all
}

/// The operand of which a term has every element, and no others.
pub(crate) fn moves_all_of(arena: &TermArena, term: TermId) -> Option<TermId> {
    let (Op::Table(def), ..) = arena.op(term)? else { return None };
    let [operand] = arena.term(term).operands[..] else { return None };
    let all = def.family == Family::View && arena.ty(operand).numel() <= arena.ty(term).numel();
    (all && arena.ty(operand).dtype == arena.ty(term).dtype).then_some(operand)
}

fn is_narrow(arena: &TermArena, term: TermId, wide: bool) -> bool {
    let ty = arena.ty(term);
    if arena.value(term).is_some() {
        return false;
    }
    match ty.dtype {
        DType::F16 | DType::F8E4M3 | DType::F8E5M2 => true,
        DType::F32 | DType::BF16 => wide,
        // Whole numbers wrap in the same way whatever they were computed by; what is no whole number yet does not.
        d if d.is_int() => is_cast(arena, term).is_some_and(DType::is_float),
        _ => false,
    }
}

/// The type that a cast is from.
fn is_cast(arena: &TermArena, term: TermId) -> Option<DType> {
    let (op, ..) = arena.op(term)?;
    (op.arithmetic() == Arithmetic::Cast).then(|| arena.ty(arena.term(term).operands[0]).dtype)
}

/// Whether an operator whose operands are finite may give more than its type holds.
fn leaves_range(arena: &TermArena, term: TermId) -> bool {
    let dtype = match arena.ty(term).dtype {
        // It has the exponents of f32.
        DType::BF16 => DType::F32,
        other => other,
    };
    let largest = unrounded(arena, term, DEPTH);
    let fits = if dtype.is_int() { largest <= dtype.magnitude() } else { dtype.contains(largest) };
    arena.op(term).is_some() && !fits
}

/// The largest absolute value that the type lets through.
fn bound(arena: &TermArena, term: TermId, depth: usize) -> f64 {
    unrounded(arena, term, depth).min(arena.ty(term).dtype.magnitude())
}

/// The largest absolute value before rounding to the type.
fn unrounded(arena: &TermArena, term: TermId, depth: usize) -> f64 {
    let ty = arena.ty(term);
    if let Some(constant) = arena.value(term) {
        return Interval::of(constant, ty).map_or(f64::INFINITY, Interval::magnitude);
    }
    let Some((op, attrs, slot)) = arena.op(term) else { return ty.dtype.magnitude() };
    let (Op::Table(def), 1..) = (op, depth) else { return f64::INFINITY };
    if !bounds_hold(def, slot) {
        return f64::INFINITY;
    }
    let operands = &arena.term(term).operands;
    let types: SmallVec<[&TensorType; 4]> = operands.iter().map(|&o| arena.ty(o)).collect();
    let of = |n: usize| operands.get(n).map_or(0.0, |&o| bound(arena, o, depth - 1));
    (def.bounds.magnitude)(&Magnitudes { call: &Call { op: def, attrs, operands: &types }, operand: &of })
}

fn weakens(arena: &TermArena, term: TermId) -> bool {
    let Some((Op::Table(def), ..)) = arena.op(term) else { return false };
    let operands = &arena.term(term).operands;
    match def.amplifies {
        Amplifies::Always => true,
        Amplifies::Squared => operands[0] == operands[1],
        Amplifies::Never | Amplifies::Inside => false,
    }
}
