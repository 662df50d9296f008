//! Terms as text, in the spelling of `.mir` and of rules.

use std::fmt::Write;

use super::arena::{Head, TermArena, TermId};
use crate::ops::{Op, is_number};

/// Operators below which a term is cut off with an ellipsis.
const MAX_DEPTH: usize = 12;

/// The term as a nested call. `leaf` names input `n`.
pub(crate) fn show(arena: &TermArena, term: TermId, leaf: &dyn Fn(u32) -> String) -> String {
    show_above(arena, term, leaf, &|_| None)
}

/// As [`show`], with the terms that `known` names written as that name. `term` itself is always written out.
pub(crate) fn show_above(
    arena: &TermArena,
    term: TermId,
    leaf: &dyn Fn(u32) -> String,
    known: &dyn Fn(TermId) -> Option<String>,
) -> String {
    let mut out = String::new();
    write_term(arena, term, leaf, &|t| if t == term { None } else { known(t) }, MAX_DEPTH, &mut out);
    out
}

fn write_term(
    arena: &TermArena,
    term: TermId,
    leaf: &dyn Fn(u32) -> String,
    known: &dyn Fn(TermId) -> Option<String>,
    depth: usize,
    out: &mut String,
) {
    if let Some(name) = known(term) {
        out.push_str(&name);
        return;
    }
    match arena.head(term) {
        Head::Input(n) => out.push_str(&leaf(*n)),
        Head::Literal(_) => {
            let _ = write!(out, "literal {}", arena.ty(term));
        }
        Head::Random(_) => out.push_str("random"),
        Head::Apply { .. } if depth == 0 => out.push('…'),
        Head::Apply { op, attrs, slot } => {
            if let Some(value) = scalar(arena, term, op) {
                out.push_str(&value);
                return;
            }
            out.push_str(op.name());
            out.push('(');
            for (i, &operand) in arena.term(term).operands.iter().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                write_term(arena, operand, leaf, known, depth - 1, out);
            }
            let mut separator = "; ";
            for (i, value) in attrs.iter().enumerate() {
                let default = op.def().and_then(|d| d.attrs.get(i)?.default.value());
                if !default.is_some_and(|d| d.is_same(value)) {
                    let _ = write!(out, "{separator}{}={value}", op.attr_name(i).unwrap_or("?"));
                    separator = ", ";
                }
            }
            out.push(')');
            if *slot > 0 {
                let _ = write!(out, ".{slot}");
            }
        }
    }
}

/// A number beside a tensor is written as its value.
fn scalar(arena: &TermArena, term: TermId, op: &Op) -> Option<String> {
    let value = arena.constant(term).filter(|_| op.def().is_some_and(is_number))?.uniform()?;
    Some(value.text(arena.ty(term).dtype))
}
