//! Attribute values from what stands in the text.

use super::ast::{Constant, Number};
use crate::ir::{AttrValue, Ints, TensorType};
use crate::ops::shapes::{normalize_dim, resolve_reshape};
use crate::ops::{AttrDef, AttrKind, OpDef};

/// The stored form of an attribute of a table operator. Dimensions that count from the end, a size of -1 in `reshape` and
/// `expand` and bounds of `slice` that count from the end become plain non-negative numbers.
pub(super) fn table_value(
    op: &OpDef,
    def: &AttrDef,
    value: &Constant,
    first: Option<&TensorType>,
) -> Result<AttrValue, String> {
    let wrong = || format!("takes {} as `{}`", kind_name(def.kind), def.name);
    if matches!(value, Constant::Word("none")) {
        return Ok(AttrValue::None);
    }
    match (def.kind, value) {
        (AttrKind::Bool, Constant::Number(Number::Bool(v))) => Ok(AttrValue::Bool(*v)),
        (AttrKind::Int, Constant::Number(Number::Int(v))) if (op.name, def.name) == ("unsqueeze", "dim") => {
            let rank = first.map_or(0, TensorType::rank) + 1;
            dim(*v, rank, first).map(AttrValue::Int)
        }
        (AttrKind::Int, Constant::Number(Number::Int(v))) => Ok(AttrValue::Int(*v)),
        (AttrKind::Float, Constant::Number(v @ (Number::Int(_) | Number::Float(_)))) => {
            Ok(AttrValue::float(v.value().to_f64()))
        }
        (AttrKind::Number, Constant::Number(v @ (Number::Int(_) | Number::Float(_)))) => Ok(v.value().into()),
        (AttrKind::Str, Constant::Str(v)) => Ok(AttrValue::str(v)),
        (AttrKind::DType, Constant::Word(v)) => {
            v.parse().map(AttrValue::DType).map_err(|e| format!("got a word that {e}"))
        }
        (AttrKind::Ints, v) => {
            let given = ints(v).ok_or_else(wrong)?;
            sizes(op, given, first).map(AttrValue::Ints)
        }
        (AttrKind::Dim, Constant::Number(Number::Int(v))) => {
            dim(*v, first.map_or(0, TensorType::rank), first).map(AttrValue::Int)
        }
        (AttrKind::Dims, v) => {
            let rank = first.map_or(0, TensorType::rank);
            let dims = ints(v).ok_or_else(wrong)?.iter().map(|&d| dim(d, rank, first)).collect::<Result<_, _>>();
            dims.map(AttrValue::Ints)
        }
        _ => Err(wrong()),
    }
}

/// The stored form of an attribute of an opaque operator: whatever the literal looks like.
pub(super) fn opaque_value(value: &Constant) -> Result<AttrValue, String> {
    match value {
        Constant::Number(Number::Int(v)) => Ok(AttrValue::Int(*v)),
        Constant::Number(Number::Float(v)) => Ok(AttrValue::float(*v)),
        Constant::Number(Number::Bool(v)) => Ok(AttrValue::Bool(*v)),
        Constant::Str(v) => Ok(AttrValue::str(v)),
        Constant::Word("none") => Ok(AttrValue::None),
        Constant::Word(v) => v.parse().map(AttrValue::DType).map_err(|e| format!("has an attribute value that {e}")),
        Constant::Numbers(_) => {
            ints(value).map(AttrValue::Ints).ok_or_else(|| "takes lists of whole numbers only".to_owned())
        }
    }
}

/// Negative bounds of a `slice` count from the end of its dimension.
pub(super) fn slice_bound(value: AttrValue, dim: Option<&AttrValue>, first: Option<&TensorType>) -> AttrValue {
    let size = || first?.shape.get(usize::try_from(dim?.as_int()?).ok()?).copied();
    match (value, size()) {
        (AttrValue::Int(v), Some(size)) if v < 0 => AttrValue::Int(v.saturating_add(size as i64)),
        (value, _) => value,
    }
}

fn kind_name(kind: AttrKind) -> &'static str {
    match kind {
        AttrKind::Bool => "`true` or `false`",
        AttrKind::Int => "a whole number",
        AttrKind::Float | AttrKind::Number => "a number",
        AttrKind::Str => "a string",
        AttrKind::DType => "an element type",
        AttrKind::Ints => "a list of whole numbers",
        AttrKind::Dim => "a dimension",
        AttrKind::Dims => "a list of dimensions",
    }
}

/// A list of whole numbers; a single one stands for a list of one.
fn ints(value: &Constant) -> Option<Ints> {
    let int = |n: &Number| match n {
        Number::Int(v) => Some(*v),
        _ => None,
    };
    match value {
        Constant::Numbers(all) => all.iter().map(int).collect(),
        Constant::Number(one) => Some(Ints::from_elem(int(one)?, 1)),
        _ => None,
    }
}

fn dim(given: i64, rank: usize, first: Option<&TensorType>) -> Result<i64, String> {
    let missing = || match first {
        Some(ty) => format!("has no dimension {given} in {ty}"),
        None => "needs an operand that its dimensions belong to".to_owned(),
    };
    normalize_dim(given, rank).map(|d| d as i64).ok_or_else(missing)
}

fn sizes(op: &OpDef, mut given: Ints, first: Option<&TensorType>) -> Result<Ints, String> {
    let Some(first) = first.filter(|_| given.contains(&-1)) else { return Ok(given) };
    match op.name {
        "reshape" => {
            let shape = resolve_reshape(&given, first.numel());
            let shape = shape.ok_or_else(|| format!("cannot turn {first} into shape {given:?}"))?;
            given = shape.iter().map(|&d| d as i64).collect();
        }
        // A size of -1 keeps the operand's, counted from the right.
        "expand" => {
            let kept = first.shape.iter().rev();
            for (size, &kept) in given.iter_mut().rev().zip(kept) {
                if *size == -1 {
                    *size = kept as i64;
                }
            }
        }
        _ => {}
    }
    Ok(given)
}
