//! Comparisons, logic, and the choice by a condition.

use std::cmp::Ordering;

use super::pointwise::{BINARY, ELEMENTWISE, read};
use super::{Arithmetic, Bounds, Call, Comparison, Elements, Kernel, OpDef, Synthesis, TypeError, Types, one};
use crate::ir::{DType, Number};

fn comparison(call: &Call) -> Result<Types, TypeError> {
    call.same_dtype(0..2)?;
    call.output(DType::Bool, call.broadcast(0..2)?)
}

/// The kernel of a comparison of two numbers, which holds for some orders. NaN has none.
macro_rules! holds {
    ($holds:pat) => {
        binary!(Element, |x, y| Number::from(matches!(x.compare(y), $holds)))
    };
}

const COMPARISON: OpDef = OpDef { infer: comparison, bounds: Bounds::TRUTH, synthesis: Synthesis::Compare, ..BINARY };

/// These table entries of the elementwise family.
pub(super) static OPS: &[OpDef] = &[
    OpDef {
        name: "eq",
        elements: Elements::Placewise(Arithmetic::Compare(Comparison::Equal)),
        doc: "`x == y`, as bool.",
        commutative: true,
        kernel: holds!(Some(Ordering::Equal)),
        aten: aten!(|c| super::aten_formulas::compared(c, ("eq.Tensor", "eq.Scalar", "eq.Scalar"))),
        replay: torch!(|r| r.x()?.f_eq_tensor(r.y()?)?),
        ..COMPARISON
    },
    OpDef {
        name: "ne",
        elements: Elements::Placewise(Arithmetic::Compare(Comparison::NotEqual)),
        doc: "`x != y`, as bool.",
        commutative: true,
        kernel: holds!(None | Some(Ordering::Less | Ordering::Greater)),
        aten: aten!(|c| super::aten_formulas::compared(c, ("ne.Tensor", "ne.Scalar", "ne.Scalar"))),
        replay: torch!(|r| r.x()?.f_ne_tensor(r.y()?)?),
        ..COMPARISON
    },
    OpDef {
        name: "lt",
        elements: Elements::Placewise(Arithmetic::Compare(Comparison::Less)),
        doc: "`x < y`, as bool.",
        kernel: holds!(Some(Ordering::Less)),
        aten: aten!(|c| super::aten_formulas::compared(c, ("lt.Tensor", "lt.Scalar", "gt.Scalar"))),
        replay: torch!(|r| r.x()?.f_lt_tensor(r.y()?)?),
        ..COMPARISON
    },
    OpDef {
        name: "le",
        elements: Elements::Placewise(Arithmetic::Compare(Comparison::LessOrEqual)),
        doc: "`x <= y`, as bool.",
        kernel: holds!(Some(Ordering::Less | Ordering::Equal)),
        aten: aten!(|c| super::aten_formulas::compared(c, ("le.Tensor", "le.Scalar", "ge.Scalar"))),
        replay: torch!(|r| r.x()?.f_le_tensor(r.y()?)?),
        ..COMPARISON
    },
    OpDef {
        name: "gt",
        elements: Elements::Placewise(Arithmetic::Compare(Comparison::Greater)),
        doc: "`x > y`, as bool.",
        kernel: holds!(Some(Ordering::Greater)),
        aten: aten!(|c| super::aten_formulas::compared(c, ("gt.Tensor", "gt.Scalar", "lt.Scalar"))),
        replay: torch!(|r| r.x()?.f_gt_tensor(r.y()?)?),
        ..COMPARISON
    },
    OpDef {
        name: "ge",
        elements: Elements::Placewise(Arithmetic::Compare(Comparison::GreaterOrEqual)),
        doc: "`x >= y`, as bool.",
        kernel: holds!(Some(Ordering::Greater | Ordering::Equal)),
        aten: aten!(|c| super::aten_formulas::compared(c, ("ge.Tensor", "ge.Scalar", "le.Scalar"))),
        replay: torch!(|r| r.x()?.f_ge_tensor(r.y()?)?),
        ..COMPARISON
    },
    OpDef {
        name: "logical_and",
        elements: Elements::Placewise(Arithmetic::And),
        doc: "Both are not 0, as bool.",
        commutative: true,
        kernel: binary!(Element, |x, y| (x.is_true() && y.is_true()).into()),
        aten: aten!("logical_and", self: X, other: Y),
        replay: torch!(|r| r.x()?.f_logical_and(r.y()?)?),
        ..COMPARISON
    },
    OpDef {
        name: "logical_or",
        elements: Elements::Placewise(Arithmetic::Or),
        doc: "Either is not 0, as bool.",
        commutative: true,
        kernel: binary!(Element, |x, y| (x.is_true() || y.is_true()).into()),
        aten: aten!("logical_or", self: X, other: Y),
        replay: torch!(|r| r.x()?.f_logical_or(r.y()?)?),
        ..COMPARISON
    },
    OpDef {
        name: "where",
        elements: Elements::Placewise(Arithmetic::Select),
        doc: "`x` where the condition holds, `y` elsewhere.",
        operands: &[one("condition"), one("x"), one("y")],
        infer: |c| {
            if c.operands[0].dtype != DType::Bool {
                return Err(c.error(format!("takes a bool condition, not {}", c.operands[0])));
            }
            c.output(c.same_dtype(1..3)?, c.broadcast(0..3)?)
        },
        kernel: Kernel::Element(|c, _, index, fetch| {
            let chosen = if read(c, 0, index, fetch)?.is_true() { 1 } else { 2 };
            read(c, chosen, index, fetch)
        }),
        aten: aten!(|c| super::aten_formulas::chosen(c)),
        replay: torch!(|r| r.y()?.f_where_self(r.x()?, r.operand(2)?)?),
        bounds: Bounds { range: |r| Some(r.of(1)?.hull(r.of(2)?)), magnitude: |m| m.of(1).max(m.of(2)) },
        hands_on: true,
        synthesis: Synthesis::Choose,
        support: |s| s.either(1, 2),
        ..ELEMENTWISE
    },
];
