//! Sorting.

use super::super::attribute::Attribute;
use super::super::lowering::NodeLowering;
use super::region::expressions;
use crate::frontend::builder::{Converted, Refusal, Values, int};
use crate::ir::AttrValue;

pub(super) fn convert(site: &mut NodeLowering, name: &str) -> Converted {
    match name {
        "sort" => sort(site),
        "top_k" => top_k(site),
        _ => Ok(None),
    }
}

/// An order of the first operand's elements.
struct Order {
    descends: bool,
    /// Whether NaN has a place in it, too: the one that it has in the IR.
    is_total: bool,
}

/// The order that a comparator puts elements in; `None` if it does something else.
fn order(results: &[String], float: bool) -> Option<Order> {
    let [result] = results else { return None };
    // NaN counts as the largest number, and zeros of both signs as equal, where the comparator says so.
    let canonical = |i: usize| {
        let zero = format!("select(compare EQ(#{i}, constant 0.0), constant 0.0, #{i})");
        format!("select(compare NE(#{i}, #{i}), constant nan, {zero})")
    };
    for (direction, descends) in [("LT", false), ("GT", true)] {
        let plain = format!("compare {direction}(#0, #1)");
        let total = format!("compare {direction} TOTALORDER({}, {})", canonical(0), canonical(1));
        if *result == plain || float && *result == total {
            return Some(Order { descends, is_total: !float || *result == total });
        }
    }
    None
}

fn sort(site: &mut NodeLowering) -> Converted {
    let Some((&first, rest)) = site.operands.split_first() else { return Err(Refusal::new("has no operand")) };
    let Some(region) = site.form.regions.first() else { return Err(Refusal::new("has no comparator")) };
    let Some(results) = expressions(region, &site.form.arguments) else { return Ok(None) };
    let rank = site.rank(first) as i64;
    let dim = site.int_or(&["dimension"], -1);
    let dim = if dim < 0 { dim + rank } else { dim };
    let Some(Order { descends, is_total }) = order(&results, site.dtype(first).is_float()) else {
        return Ok(None);
    };
    if !(0..rank).contains(&dim) || rest.iter().any(|&v| site.shape(v) != site.shape(first)) {
        return Err(Refusal::new("has operands of different shapes, or no such dimension"));
    }
    let stable = site.form.attribute(&["is_stable"]).and_then(Attribute::bool).unwrap_or(false);
    let attrs = [("dim", int(dim)), ("descending", AttrValue::Bool(descends)), ("stable", AttrValue::Bool(stable))];
    // Where NaN has no place, the order is this one for numbers only: equal, but not exactly.
    let keys = if is_total { first } else { site.part("fused", &[], &[first])? };
    let Some(sorted) = site.emit("sort", &attrs, &[keys])? else { return Ok(None) };
    let &[value, places] = &sorted[..] else { return Ok(None) };
    let mut values = Values::from_elem(value, 1);
    for &other in rest {
        // What counts up along the dimension is the places themselves.
        values.push(match site.tables.iota.get(&other) == Some(&(dim as usize)) {
            true => site.cast(places, site.dtype(other))?,
            false => site.part("gather", &[("dim", int(dim))], &[other, places])?,
        });
    }
    Ok(Some(values))
}

fn top_k(site: &mut NodeLowering) -> Converted {
    let [x] = site.all()?;
    let k =
        site.form.attribute(&["k"]).and_then(Attribute::int).ok_or_else(|| Refusal::new("needs the attribute `k`"))?;
    let last = site.rank(x).checked_sub(1).ok_or_else(|| Refusal::new("takes no scalar"))?;
    let largest = site.form.attribute(&["largest"]).and_then(Attribute::bool).unwrap_or(true);
    let attrs = [("k", int(k)), ("dim", int(last as i64)), ("largest", AttrValue::Bool(largest))];
    let Some(found) = site.emit("topk", &attrs, &[x])? else { return Ok(None) };
    let &[value, places] = &found[..] else { return Ok(None) };
    let dtype = site.results.get(1).map_or(site.dtype(places), |t| t.dtype);
    Ok(Some(Values::from_slice(&[value, site.cast(places, dtype)?])))
}
