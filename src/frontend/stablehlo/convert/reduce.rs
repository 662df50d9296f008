//! Reductions.

use super::super::lowering::{NodeLowering, distinct, usizes};
use super::region::{Monoid, expressions, monoids};
use crate::frontend::builder::{Converted, Refusal, Values, int};
use crate::ir::{AttrValue, DType, Number, Value};

pub(super) fn convert(site: &mut NodeLowering, name: &str) -> Converted {
    match name {
        "reduce" => reduce(site),
        _ => Ok(None),
    }
}

/// The number that changes nothing when it is joined to others.
pub(super) fn identity(monoid: Monoid, dtype: DType) -> Option<Number> {
    let extreme = |low: bool| match (dtype.int_range(), low) {
        (Some((least, _)), true) => Some(Number::Int(least)),
        // The largest ones of 64 bits without a sign have no number here.
        (Some(_), false) if dtype == DType::U64 => None,
        (Some((_, most)), false) => Some(Number::Int(most)),
        (None, true) => Some(Number::float(f64::NEG_INFINITY)),
        (None, false) => Some(Number::float(f64::INFINITY)),
    };
    let number = |value: i64| if dtype.is_float() { Number::float(value as f64) } else { Number::Int(value) };
    Some(match monoid.on(dtype == DType::Bool) {
        Monoid::Add => number(0),
        Monoid::Multiply => number(1),
        Monoid::Maximum => return extreme(true),
        Monoid::Minimum => return extreme(false),
        Monoid::Or if dtype == DType::Bool => Number::Int(0),
        Monoid::And if dtype == DType::Bool => Number::Int(1),
        Monoid::And | Monoid::Or => return None,
    })
}

/// The operator of the table that reduces by `monoid`, and the one that joins two elements.
pub(super) fn operators(monoid: Monoid, dtype: DType) -> Option<(&'static str, &'static str)> {
    Some(match monoid.on(dtype == DType::Bool) {
        Monoid::Add => ("sum", "add"),
        Monoid::Multiply => ("prod", "mul"),
        Monoid::Maximum => ("amax", "maximum"),
        Monoid::Minimum => ("amin", "minimum"),
        Monoid::Or if dtype == DType::Bool => ("any", "logical_or"),
        Monoid::And if dtype == DType::Bool => ("all", "logical_and"),
        Monoid::And | Monoid::Or => return None,
    })
}

fn reduce(site: &mut NodeLowering) -> Converted {
    let count = site.operands.len() / 2;
    let rank = site.operands.first().map_or(0, |&x| site.rank(x));
    let dims = site.dims(&["dimensions"], rank)?;
    if site.operands.len() != 2 * count || count == 0 || !distinct(&dims, rank) {
        return Err(Refusal::new("has operands or dimensions that make no sense"));
    }
    let (operands, inits) = site.operands.split_at(count);
    let Some(monoids) = monoids(site, count) else { return arg(site, operands, inits, &dims) };
    let mut values = Values::new();
    for (i, monoid) in monoids.into_iter().enumerate() {
        let Some(value) = reduced(site, monoid, operands[i], &dims, inits[i], count == 1)? else { return Ok(None) };
        values.push(value);
    }
    Ok(Some(values))
}

/// `x` reduced along `dims` to fewer dimensions, from `init` on.
fn reduced(
    site: &mut NodeLowering,
    monoid: Monoid,
    x: Value,
    dims: &[usize],
    init: Value,
    alone: bool,
) -> Result<Option<Value>, Refusal> {
    let dtype = site.dtype(x);
    let Some((op, join)) = operators(monoid, dtype) else { return Ok(None) };
    if dims.is_empty() {
        return site.part_of(join, &[], &[x, init]).map(Some);
    }
    let shape = site.shape(x);
    let left: Vec<usize> = (0..shape.len()).filter(|d| !dims.contains(d)).map(|d| shape[d]).collect();
    let Some(own) = identity(monoid, dtype) else { return Ok(None) };
    let from_nothing = dims.iter().any(|&d| shape[d] == 0);
    if from_nothing {
        return site.expand(init, &left).map(Some);
    }
    // A sum from -0.0 is a sum, but one of negative zeros is -0.0, too.
    let from_negative = own == Number::float(0.0) && site.uniform(init) == Some(Number::float(-0.0));
    let plain = site.uniform(init) == Some(own) || from_negative;
    let attrs = [("dim", usizes(dims)), ("keepdim", AttrValue::Bool(true))];
    let made =
        if alone { site.emit(op, &attrs, &[x])? } else { Some(Values::from_elem(site.part(op, &attrs, &[x])?, 1)) };
    let Some(kept) = made.and_then(|all| all.first().copied()) else { return Ok(None) };
    // Sums of integers are made in 64 bits.
    let kept = site.cast(kept, dtype)?;
    let mut value = site.reshape(kept, &left)?;
    if from_negative {
        value = site.part("fused", &[], &[value])?;
    }
    if plain {
        site.tables.kept.insert(value, kept);
        return Ok(Some(value));
    }
    site.part(join, &[], &[value, init]).map(Some)
}

/// The largest or smallest element with its place.
fn arg(site: &mut NodeLowering, operands: &[Value], inits: &[Value], dims: &[usize]) -> Converted {
    let (&[x, places], &[init, first], &[dim]) = (operands, inits, dims) else { return Ok(None) };
    let Some(region) = site.form.regions.first() else { return Ok(None) };
    let Some(results) = expressions(region, &site.form.arguments) else { return Ok(None) };
    let dtype = site.dtype(x);
    // Of two, the one that is larger or not a number; of equal ones, the one that stands first. Without a test for it, what
    // becomes of NaN is open.
    let takes = |direction: &str| {
        let better = format!("compare {direction}(#0, #2)");
        let either = |nan: bool| if nan { format!("or({better}, compare NE(#0, #0))") } else { better.clone() };
        [false, true].map(|nan| {
            let (value, equal) = (either(nan), "and(compare EQ(#0, #2), compare LT(#1, #3))");
            let mut place = [value.clone(), equal.to_owned()];
            place.sort();
            vec![format!("select({value}, #0, #2)"), format!("select(or({}), #1, #3)", place.join(", "))]
        })
    };
    let found = |direction: &str| takes(direction).contains(&results);
    let (op, monoid) = match (found("GT"), found("LT")) {
        (true, _) => ("argmax", Monoid::Maximum),
        (_, true) => ("argmin", Monoid::Minimum),
        _ => return Ok(None),
    };
    let counts = site.tables.iota.get(&places) == Some(&dim);
    let from =
        site.uniform(init) == identity(monoid, dtype) && site.uniform(first).is_some_and(|n| n.to_i64() == Some(0));
    if !counts || !from || site.shape(x)[dim] == 0 {
        return Ok(None);
    }
    let kept = [("dim", int(dim as i64))];
    // The table finds the place of numbers.
    let numbers = if dtype == DType::Bool { site.cast(x, DType::I32)? } else { x };
    let place = site.part(op, &kept, &[numbers])?;
    let place = site.cast(place, site.dtype(places))?;
    let reduction = if op == "argmax" { "amax" } else { "amin" };
    let value = site.part(reduction, &[("dim", usizes(&[dim]))], &[x])?;
    Ok(Some(Values::from_slice(&[value, place])))
}
