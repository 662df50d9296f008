//! Padding, between elements too.

use super::super::lowering::NodeLowering;
use crate::frontend::builder::{Converted, Refusal, int, ints};
use crate::ir::{Number, Shape, Value};

pub(super) fn convert(site: &mut NodeLowering, name: &str) -> Converted {
    if name != "pad" {
        return Ok(None);
    }
    let [x, value] = site.all()?;
    let rank = site.rank(x);
    let low = site.ints(&["low", "edge_padding_low"])?;
    let high = site.ints(&["high", "edge_padding_high"])?;
    let interior = site.maybe_ints(&["interior", "interior_padding"])?.unwrap_or_else(|| vec![0; rank]);
    if [&low, &high, &interior].iter().any(|list| list.len() != rank) || interior.iter().any(|&i| i < 0) {
        return Err(Refusal::new(format!("has paddings that do not fit {rank} dimensions")));
    }
    let Some(number) = site.uniform(value) else { return Ok(None) };
    let spread = spread(site, x, &interior, number)?;
    if low.iter().chain(&high).all(|&p| p == 0) {
        return site.gives(spread);
    }
    let pad: Vec<i64> = low.iter().zip(&high).flat_map(|(&l, &h)| [l, h]).collect();
    site.emit("pad", &[("pad", ints(&pad)), ("value", number.into())], &[spread])
}

/// `x` with `gaps[d]` times `number` between its elements along every dimension `d`.
pub(super) fn spread(site: &mut NodeLowering, x: Value, gaps: &[i64], number: Number) -> Result<Value, Refusal> {
    let mut value = x;
    for (dim, &gap) in gaps.iter().enumerate().filter(|(_, gap)| **gap > 0) {
        let shape = site.shape(value);
        let size = shape[dim];
        if size <= 1 {
            continue;
        }
        // A dimension of its own for the gap behind every element; the last gap is cut off.
        let step = usize::try_from(gap).ok().and_then(|g| g.checked_add(1)).filter(|&s| s < 1 << 32);
        let step = step.ok_or_else(|| Refusal::new("has a padding out of range"))?;
        let mut apart: Shape = shape.clone();
        apart.insert(dim + 1, 1);
        let split = site.reshape(value, &apart)?;
        let mut pad = vec![0; 2 * apart.len()];
        pad[2 * dim + 3] = gap;
        let padded = site.part("pad", &[("pad", ints(&pad)), ("value", number.into())], &[split])?;
        let mut joined = shape.clone();
        joined[dim] = size.saturating_mul(step);
        let flat = site.reshape(padded, &joined)?;
        value = site.part("slice", &[("dim", int(dim as i64)), ("end", int((joined[dim] as i64) - gap))], &[flat])?;
    }
    Ok(value)
}
