//! Bounds on what a term can be, where its form tells: an assumption that can never hold is none.

use std::cell::RefCell;
use std::ops::ControlFlow;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::terms::Terms;
use crate::eval::{Constant, Interval};
use crate::ir::{Attrs, DType, TensorType};
use crate::ops::{Arithmetic, Call, Elements, Magnitudes, Op, RowFunction, Sign, range_of};

/// How far below a term its form is looked at.
const DEPTH: usize = 8;

/// Terms that are looked at for one that makes what may be no real number.
const MAX_LOOKED_AT: usize = 5_000;

/// All numbers that the elements of a term can be, at most; infinite where there is no bound. NaN is not among them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bounds {
    pub low: f64,
    pub high: f64,
}

const ANYTHING: Bounds = Bounds { low: f64::NEG_INFINITY, high: f64::INFINITY };

/// No number at all.
const NOTHING: Bounds = Bounds { low: f64::INFINITY, high: f64::NEG_INFINITY };

const NOT_NEGATIVE: Bounds = Bounds { low: 0.0, high: f64::INFINITY };

impl Bounds {
    fn of_type(dtype: DType) -> Bounds {
        match dtype {
            d if d == DType::Bool || d.is_unsigned() => Bounds { low: 0.0, high: dtype.magnitude() },
            // The range of float types is not their end: they have infinities, or NaN in their place.
            d if d.is_int() => Bounds { low: -dtype.magnitude(), high: dtype.magnitude() },
            _ => ANYTHING,
        }
    }

    /// What an operator gives for any operands: 1 is a number of every type, so that rounding keeps to it.
    fn of_any_operands(call: &Call) -> Bounds {
        let reach = (call.op.bounds.magnitude)(&Magnitudes { call, operand: &|_| f64::INFINITY });
        if reach == 1.0 { Bounds { low: -1.0, high: 1.0 } } else { ANYTHING }
    }

    fn hull(self, other: Bounds) -> Bounds {
        Bounds { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    fn and(self, other: Bounds) -> Bounds {
        Bounds { low: self.low.max(other.low), high: self.high.min(other.high) }
    }
}

/// What is known of the elements of `id`.
pub(super) fn bounds<T: Terms>(terms: &T, id: T::Id) -> Bounds {
    below(terms, id, DEPTH, &mut FxHashMap::default())
}

/// Whether no element of `id` can be a real number, as its value tells, or its form and those of its operands: it is asked for every
/// match of a rule, so that it does not look further.
pub(super) fn is_never_real<T: Terms>(terms: &T, id: T::Id) -> bool {
    if let Some(number) = terms.constant(id).and_then(Constant::uniform) {
        return !number.is_finite();
    }
    let Bounds { low, high } = below(terms, id, 2, &mut FxHashMap::default());
    low > high || low == f64::INFINITY || high == f64::NEG_INFINITY
}

/// Whether an element may be no real number while others are: whether some operator makes what may be none of real numbers, as a
/// quotient does, and each element is only moved or computed by itself from there on. Below a product or a reduction, one that is none
/// makes all others that are computed from it none.
pub(super) fn is_made_unreal<T: Terms>(terms: &T, id: T::Id) -> bool {
    let is_real = |id: T::Id| terms.sign(id) >= Sign::Real || !terms.ty(id).dtype.is_float();
    let (mut seen, mut stack) = (FxHashSet::from_iter([id]), vec![id]);
    while let Some(term) = stack.pop().filter(|_| seen.len() <= MAX_LOOKED_AT) {
        let made = terms.visit(term, &mut |op, _, _, operands| {
            let one_by_one =
                op.def().is_some_and(|def| matches!(def.elements, Elements::Placewise(_) | Elements::Moved(..)));
            if one_by_one && !operands.is_empty() && operands.iter().all(|&o| is_real(o)) {
                return ControlFlow::Break(());
            }
            stack.extend(operands.iter().filter(|&&o| one_by_one && !is_real(o) && seen.insert(o)));
            ControlFlow::Continue(())
        });
        if made.is_break() {
            return true;
        }
    }
    false
}

/// `seen` holds what is known already at this depth: terms with many forms have common operands.
fn below<T: Terms>(terms: &T, id: T::Id, depth: usize, seen: &mut FxHashMap<(T::Id, usize), Bounds>) -> Bounds {
    if let Some(known) = seen.get(&(id, depth)) {
        return *known;
    }
    let ty = terms.ty(id);
    if let Some(constant) = terms.constant(id) {
        return of_constant(constant, ty);
    }
    let mut known = Bounds::of_type(ty.dtype);
    if depth == 0 {
        return known;
    }
    // Every form of a term has all of its elements.
    let _ = terms.visit(id, &mut |op, attrs, slot, operands| {
        let seen = RefCell::new(&mut *seen);
        let of = |n: usize| operands.get(n).map_or(ANYTHING, |&o| below(terms, o, depth - 1, &mut seen.borrow_mut()));
        known = known.and(of_form(terms, &Form { op, attrs, slot, operands }, ty, of));
        ControlFlow::Continue(())
    });
    seen.insert((id, depth), known);
    known
}

/// One form of a term.
struct Form<'a, Id> {
    op: &'a Op,
    attrs: &'a Attrs,
    slot: usize,
    operands: &'a [Id],
}

fn of_constant(constant: &Constant, ty: &TensorType) -> Bounds {
    Interval::of(constant, ty).map_or(ANYTHING, |i| Bounds { low: i.low, high: i.high })
}

/// What one form allows. `of` gives the bounds of an operand.
fn of_form<T: Terms>(terms: &T, form: &Form<T::Id>, ty: &TensorType, of: impl Fn(usize) -> Bounds) -> Bounds {
    let Form { op: Op::Table(def), attrs, slot, operands } = form else { return ANYTHING };
    let types: SmallVec<[&TensorType; 4]> = operands.iter().map(|&o| terms.ty(o)).collect();
    let call = Call { op: def, attrs, operands: &types };
    let integers = if ty.dtype.is_int() { of_integers(&call, *slot, &of) } else { ANYTHING };
    let same_type = |n: usize| types.get(n).is_some_and(|from| from.dtype == ty.dtype);
    integers.and(match call.elements() {
        Elements::Placewise(function) => of_function(function, &call, ty, of),
        Elements::Lane(RowFunction::Softmax) => NOT_NEGATIVE.and(Bounds::of_any_operands(&call)),
        Elements::Lane(RowFunction::Max | RowFunction::Min) if same_type(0) => of(0),
        Elements::Moved(moved, movement) if !movement.adds_numbers() => {
            let mut all = (0..operands.len()).filter(|&n| moved.contains(n));
            let Some(first) = all.next().filter(|&n| same_type(n)) else { return ANYTHING };
            all.fold(of(first), |hull, n| if same_type(n) { hull.hull(of(n)) } else { ANYTHING })
        }
        _ => ANYTHING,
    })
}

/// Integers beyond this are no doubles, so that bounds may be rounded.
const MAX_EXACT: f64 = 4_503_599_627_370_496.0;

/// What an operator gives whose result are integers, from the integers and truth values that it takes.
fn of_integers(call: &Call, slot: usize, of: impl Fn(usize) -> Bounds) -> Bounds {
    let known = call.operands.iter().enumerate().map(|(n, &ty)| {
        let Bounds { low, high } = if ty.dtype.is_float() { ANYTHING } else { of(n) };
        (ty, Interval::new(low, high))
    });
    let slot = u32::try_from(slot).unwrap_or(u32::MAX);
    match range_of(call.op, call.attrs, slot, known, false) {
        Some(range) if range.magnitude() <= MAX_EXACT => Bounds { low: range.low, high: range.high },
        _ => ANYTHING,
    }
}

/// What a function of the elements at one place allows.
fn of_function(function: Arithmetic, call: &Call, ty: &TensorType, of: impl Fn(usize) -> Bounds) -> Bounds {
    let same_type = |n: usize| call.operands.get(n).is_some_and(|from| from.dtype == ty.dtype);
    // Integers wrap, so that some of these hold for floats only.
    let float = ty.dtype.is_float();
    match function {
        Arithmetic::Sigmoid => NOT_NEGATIVE.and(Bounds::of_any_operands(call)),
        // All of it is NaN.
        Arithmetic::Log | Arithmetic::Sqrt | Arithmetic::InverseSqrt if float && of(0).high < 0.0 => NOTHING,
        Arithmetic::Exp | Arithmetic::Sqrt | Arithmetic::InverseSqrt if float => NOT_NEGATIVE,
        Arithmetic::Abs if float => {
            let Bounds { low, high } = of(0);
            Bounds { low: 0.0, high: low.abs().max(high.abs()) }
        }
        Arithmetic::Relu => Bounds { low: of(0).low.max(0.0), high: of(0).high.max(0.0) },
        Arithmetic::Neg if float => Bounds { low: -of(0).high, high: -of(0).low },
        Arithmetic::Cast if float && call.operands[0].dtype.within_range_of(ty.dtype) => of(0),
        Arithmetic::Max | Arithmetic::Min if same_type(0) && same_type(1) => of(0).hull(of(1)),
        Arithmetic::Select if same_type(1) && same_type(2) => of(1).hull(of(2)),
        _ if call.attrs.is_empty() => Bounds::of_any_operands(call),
        _ => ANYTHING,
    }
}
