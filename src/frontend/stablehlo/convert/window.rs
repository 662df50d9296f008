//! Reductions of windows: pooling, running sums, and everything else by taking the windows apart.

use super::super::lowering::{NodeLowering, usizes};
use super::pad::spread;
use super::reduce::{identity, operators};
use super::region::{Monoid, monoids};
use crate::frontend::builder::{Converted, Refusal, int, ints};
use crate::ir::{AttrValue, DType, Number, Value};

/// A window along one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Along {
    size: i64,
    stride: i64,
    spread: i64,
    dilation: i64,
    pad: (i64, i64),
}

impl Along {
    const NONE: Along = Along { size: 1, stride: 1, spread: 1, dilation: 1, pad: (0, 0) };
}

pub(super) fn convert(site: &mut NodeLowering, name: &str) -> Converted {
    if name != "reduce_window" || site.operands.len() != 2 {
        return Ok(None);
    }
    let [x, init] = site.all()?;
    let Some(&[monoid]) = monoids(site, 1).as_deref() else { return Ok(None) };
    let rank = site.rank(x);
    let list = |names: &[&str], default: i64, count: usize| -> Result<Vec<i64>, Refusal> {
        let list = site.maybe_ints(names)?.unwrap_or_else(|| vec![default; count]);
        if list.len() == count {
            Ok(list)
        } else {
            Err(Refusal::new(format!("takes {count} numbers as `{}`", names[0])))
        }
    };
    let (size, stride) = (list(&["window_dimensions"], 1, rank)?, list(&["window_strides"], 1, rank)?);
    let (gaps, dilation) = (list(&["base_dilations"], 1, rank)?, list(&["window_dilations"], 1, rank)?);
    let pad = list(&["padding"], 0, 2 * rank)?;
    let along = |d: usize| Along {
        size: size[d],
        stride: stride[d],
        spread: gaps[d],
        dilation: dilation[d],
        pad: (pad[2 * d], pad[2 * d + 1]),
    };
    let windows: Vec<Along> = (0..rank).map(along).collect();
    if windows.iter().any(|w| w.size < 1 || w.stride < 1 || w.spread < 1 || w.dilation < 1) {
        return Err(Refusal::new("has a window that makes no sense"));
    }
    let dtype = site.dtype(x);
    let (Some(own), Some(from)) = (identity(monoid, dtype), site.uniform(init)) else { return Ok(None) };
    if site.result()?.numel() == 0 || site.shape(x).contains(&0) {
        return Ok(None);
    }
    if from == own {
        if let Some(value) = running(site, x, monoid, &windows)? {
            return site.gives(value);
        }
        if monoid == Monoid::Maximum
            && dtype.is_float()
            && rank == 4
            && let Some(value) = max_pool(site, x, &windows)?
        {
            return site.gives(value);
        }
    }
    general(site, x, monoid, &windows, from, own)
}

/// A window as long as the dimension that ends (or starts) at each element: a running sum or product.
fn running(site: &mut NodeLowering, x: Value, monoid: Monoid, windows: &[Along]) -> Result<Option<Value>, Refusal> {
    let op = match monoid {
        Monoid::Add => "cumsum",
        Monoid::Multiply => "cumprod",
        _ => return Ok(None),
    };
    let shape = site.shape(x);
    let mut wide = (0..shape.len()).filter(|&d| windows[d] != Along::NONE);
    let (Some(dim), None) = (wide.next(), wide.next()) else { return Ok(None) };
    let (window, size) = (windows[dim], shape[dim] as i64);
    let forward = window == Along { size, pad: (size - 1, 0), ..Along::NONE };
    let backward = window == Along { size, pad: (0, size - 1), ..Along::NONE };
    if size < 2 || !(forward || backward) || site.dtype(x) == DType::Bool {
        return Ok(None);
    }
    let turned = [("dims", usizes(&[dim]))];
    let value = if forward { x } else { site.part("flip", &turned, &[x])? };
    let value = site.part(op, &[("dim", int(dim as i64))], &[value])?;
    // Sums of integers are made in 64 bits.
    let value = site.cast(value, site.dtype(x))?;
    if forward { Ok(Some(value)) } else { site.part("flip", &turned, &[value]).map(Some) }
}

/// Largest elements under windows over two of four dimensions.
fn max_pool(site: &mut NodeLowering, x: Value, windows: &[Along]) -> Result<Option<Value>, Refusal> {
    let spatial: Vec<usize> = (0..4).filter(|&d| windows[d] != Along::NONE).collect();
    let (&[h, w], true) = (&spatial[..], windows.iter().all(|w| w.spread == 1 && w.pad.0 >= 0 && w.pad.1 >= 0)) else {
        return Ok(None);
    };
    let others = (0..4).filter(|d| !spatial.contains(d));
    let order: Vec<usize> = others.chain(spatial.iter().copied()).collect();
    let mut value = site.permute(x, &order)?;
    // The operator of the table pads both sides alike, by no more than half of a window.
    let fits = |w: &Along| w.pad.0 == w.pad.1 && 2 * w.pad.0 <= w.size;
    let even = fits(&windows[h]) && fits(&windows[w]);
    let of = |f: fn(&Along) -> i64| ints(&[f(&windows[h]), f(&windows[w])]);
    if !even {
        let pad = [0, 0, 0, 0, windows[h].pad.0, windows[h].pad.1, windows[w].pad.0, windows[w].pad.1];
        let lowest = Number::float(f64::NEG_INFINITY);
        value = site.part("pad", &[("pad", ints(&pad)), ("value", lowest.into())], &[value])?;
    }
    let padding = if even { of(|w| w.pad.0) } else { ints(&[0, 0]) };
    let attrs = [
        ("kernel_size", of(|w| w.size)),
        ("stride", of(|w| w.stride)),
        ("padding", padding),
        ("dilation", of(|w| w.dilation)),
    ];
    let Some(pooled) = site.emit("max_pool2d", &attrs, &[value])?.and_then(|v| v.first().copied()) else {
        return Ok(None);
    };
    let mut back = vec![0; 4];
    for (i, &d) in order.iter().enumerate() {
        back[d] = i;
    }
    site.permute(pooled, &back).map(Some)
}

/// Windows as dimensions of their own, which are then reduced.
fn general(
    site: &mut NodeLowering,
    x: Value,
    monoid: Monoid,
    windows: &[Along],
    from: Number,
    own: Number,
) -> Converted {
    let (rank, dtype) = (windows.len(), site.dtype(x));
    let Some((op, join)) = operators(monoid, dtype) else { return Ok(None) };
    let gaps: Vec<i64> = windows.iter().map(|w| w.spread - 1).collect();
    let mut value = spread(site, x, &gaps, from)?;
    if windows.iter().any(|w| w.pad != (0, 0)) {
        let pad: Vec<i64> = windows.iter().flat_map(|w| [w.pad.0, w.pad.1]).collect();
        value = site.part("pad", &[("pad", ints(&pad)), ("value", from.into())], &[value])?;
    }
    let mut reduced = Vec::new();
    for (dim, window) in windows.iter().enumerate() {
        if window.size == 1 {
            let size = site.shape(value)[dim] as i64;
            value = site.slice(value, dim, 0, size, window.stride)?;
            continue;
        }
        let reach = (window.size - 1).checked_mul(window.dilation).and_then(|r| r.checked_add(1));
        let reach = reach.ok_or_else(|| Refusal::new("has a window out of range"))?;
        let attrs = [("dim", int(dim as i64)), ("size", int(reach)), ("step", int(window.stride))];
        value = site.part("unfold", &attrs, &[value])?;
        let last = site.rank(value) - 1;
        value = site.slice(value, last, 0, reach, window.dilation)?;
        reduced.push(last);
    }
    if !reduced.is_empty() {
        let attrs = [("dim", usizes(&reduced)), ("keepdim", AttrValue::Bool(false))];
        value = site.part(op, &attrs, &[value])?;
        value = site.cast(value, dtype)?;
    }
    debug_assert_eq!(site.rank(value), rank);
    if from != own || reduced.is_empty() && windows.is_empty() {
        let from = site.number(from, dtype)?;
        value = site.part(join, &[], &[value, from])?;
    }
    site.gives(value)
}
