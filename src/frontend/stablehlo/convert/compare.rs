//! Comparisons.

use super::super::attribute::Attribute;
use super::super::lowering::NodeLowering;
use crate::frontend::builder::Converted;

/// The operator of the table for a direction.
pub(super) fn operator(direction: &str) -> Option<&'static str> {
    Some(match direction {
        "EQ" => "eq",
        "NE" => "ne",
        "LT" => "lt",
        "LE" => "le",
        "GT" => "gt",
        "GE" => "ge",
        _ => return None,
    })
}

pub(super) fn convert(site: &mut NodeLowering, name: &str) -> Converted {
    if !matches!(name, "compare" | "broadcast_compare") {
        return Ok(None);
    }
    let of = |key| site.form.attribute(&[key]).and_then(Attribute::word);
    let words = &site.form.words;
    let direction = of("comparison_direction").or_else(|| words.iter().copied().find(|w| operator(w).is_some()));
    let kind = of("compare_type").or_else(|| words.iter().copied().find(|w| operator(w).is_none()));
    let [x, y] = site.all()?;
    // The total order tells zeros of both signs apart, and NaN from each other.
    if kind == Some("TOTALORDER") && site.dtype(x).is_float() {
        return Ok(None);
    }
    let Some(op) = direction.and_then(operator) else { return Ok(None) };
    site.elementwise(op, &[], &[x, y])
}
