//! Bounds on what a term can be, where its form tells: an assumption that can never hold is none.

use std::ops::ControlFlow;

use super::terms::Terms;
use crate::eval::{Constant, Interval};
use crate::ir::{DType, TensorType};
use crate::ops::{Family, Op};

/// How far below a term its form is looked at.
const DEPTH: usize = 8;

/// All numbers that the elements of a term can be, at most; infinite where there is no bound. NaN is not among them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    pub low: f64,
    pub high: f64,
}

const ANYTHING: Bounds = Bounds { low: f64::NEG_INFINITY, high: f64::INFINITY };

impl Bounds {
    fn of_type(dtype: DType) -> Bounds {
        match dtype {
            d if d == DType::Bool || d.is_unsigned() => Bounds { low: 0.0, high: dtype.magnitude() },
            // The range of float types is not their end: they have infinities, or NaN in their place.
            d if d.is_int() => Bounds { low: -dtype.magnitude(), high: dtype.magnitude() },
            _ => ANYTHING,
        }
    }

    fn hull(self, other: Bounds) -> Bounds {
        Bounds { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    fn and(self, other: Bounds) -> Bounds {
        Bounds { low: self.low.max(other.low), high: self.high.min(other.high) }
    }
}

/// What is known of the elements of `id`.
pub fn bounds<T: Terms>(terms: &T, id: T::Id) -> Bounds {
    below(terms, id, DEPTH)
}

fn below<T: Terms>(terms: &T, id: T::Id, depth: usize) -> Bounds {
    let ty = terms.ty(id);
    if let Some(constant) = terms.constant(id) {
        return of_constant(constant, ty);
    }
    let mut known = Bounds::of_type(ty.dtype);
    if depth == 0 {
        return known;
    }
    // Every form of a term has all of its elements.
    let _ = terms.visit(id, &mut |op, _, _, operands| {
        let of = |n: usize| operands.get(n).map_or(ANYTHING, |&o| below(terms, o, depth - 1));
        known = known.and(of_form(terms, op, ty, operands, of));
        ControlFlow::Continue(())
    });
    known
}

fn of_constant(constant: &Constant, ty: &TensorType) -> Bounds {
    Interval::of(constant, ty).map_or(ANYTHING, |i| Bounds { low: i.low, high: i.high })
}

/// What one form allows. `of` gives the bounds of an operand.
fn of_form<T: Terms>(terms: &T, op: &Op, ty: &TensorType, operands: &[T::Id], of: impl Fn(usize) -> Bounds) -> Bounds {
    let Op::Table(def) = op else { return ANYTHING };
    let same_type = |n: usize| operands.get(n).is_some_and(|&o| terms.ty(o).dtype == ty.dtype);
    // Integers wrap, so that these hold for floats only.
    let float = ty.dtype.is_float();
    match def.name {
        "sigmoid" | "softmax" => Bounds { low: 0.0, high: 1.0 },
        "tanh" | "erf" | "sin" | "cos" => Bounds { low: -1.0, high: 1.0 },
        "exp" | "sqrt" | "rsqrt" if float => Bounds { low: 0.0, high: f64::INFINITY },
        "abs" if float => {
            let Bounds { low, high } = of(0);
            Bounds { low: 0.0, high: low.abs().max(high.abs()) }
        }
        "relu" => Bounds { low: of(0).low.max(0.0), high: of(0).high.max(0.0) },
        "neg" if float => Bounds { low: -of(0).high, high: -of(0).low },
        "cast" if float && operands.first().is_some_and(|&o| terms.ty(o).dtype.within_range_of(ty.dtype)) => of(0),
        "maximum" | "minimum" if same_type(0) && same_type(1) => of(0).hull(of(1)),
        "where" if same_type(1) && same_type(2) => of(1).hull(of(2)),
        "concat" if (0..operands.len()).all(same_type) => (1..operands.len()).fold(of(0), |all, n| all.hull(of(n))),
        "concat" | "where" => ANYTHING,
        "amax" | "amin" | "embedding" | "index_select" | "gather" | "index" if same_type(0) => of(0),
        _ if def.family == Family::View && operands.len() == 1 && same_type(0) => of(0),
        _ => ANYTHING,
    }
}
