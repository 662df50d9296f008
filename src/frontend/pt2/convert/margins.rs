//! Losses that ask for a distance between what belongs together and what does not, as the formulas that PyTorch computes them by.
//!
//! Only in f32 and f64, as other losses.

use super::super::lowering::{Converted, NodeLowering, ints};
use super::super::target::Target;
use super::formula::{Formula, Term};
use crate::ir::{AttrValue, DType, Value};

/// What PyTorch adds to squared lengths before it divides by them.
const EPSILON: f64 = 1e-12;

pub(super) fn convert(site: &mut NodeLowering, target: Target) -> Converted {
    // The first two are made of other operators, the last one has a kernel.
    let (loss, names, in_steps): (fn(&mut Formula) -> Converted, &[&str], _) = match (target.name, target.overload) {
        ("triplet_margin_loss", "") => (triplet, &["anchor", "positive", "negative"], true),
        ("cosine_embedding_loss", "") => (cosine_embedding, &["input1", "input2"], true),
        ("multi_margin_loss", "") => (multi_margin, &["self", "weight"], false),
        _ => return Ok(None),
    };
    let mut dtype = None;
    for name in names {
        if let Some(value) = site.maybe_tensor(name)? {
            let own = site.dtype(value);
            if *dtype.get_or_insert(own) != own || !matches!(own, DType::F32 | DType::F64) {
                return Ok(None);
            }
        }
    }
    let Some(dtype) = dtype else { return Ok(None) };
    loss(&mut if in_steps { Formula::in_steps(site, dtype) } else { Formula::new(site, dtype) })
}

/// `max(margin + |a - p| - |a - n|, 0)`; with `swap`, `|p - n|` counts where it is smaller than `|a - n|`.
fn triplet(f: &mut Formula) -> Converted {
    let (anchor, positive, negative) = (f.tensor("anchor")?, f.tensor("positive")?, f.tensor("negative")?);
    let (near, mut far) = (distance(f, anchor, positive)?, distance(f, anchor, negative)?);
    if f.site.bool_or("swap", false)? {
        let other = distance(f, positive, negative)?;
        far = f.op("minimum", &[far, other])?;
    }
    let margin = f.number("margin", 1.0)?;
    let shifted = f.with("add", near, margin)?;
    let difference = f.op("sub", &[shifted, far])?;
    let loss = f.at_least(difference, 0.0)?;
    f.reduced(loss)
}

/// The length of `x - y + eps` along the last dimension.
fn distance(f: &mut Formula, x: Value, y: Value) -> Term {
    let (ord, eps) = (f.number("p", 2.0)?, f.number("eps", 1e-6)?);
    let difference = f.op("sub", &[x, y])?;
    let shifted = f.with("add", difference, eps)?;
    let last = f.site.rank(shifted) as i64 - 1;
    let attrs = [("ord", AttrValue::float(ord)), ("dim", ints(&[last]))];
    f.node("vector_norm", &attrs, &[shifted])
}

/// `1 - cos(x, y)` where the target is 1, `max(cos(x, y) - margin, 0)` where it is -1.
fn cosine_embedding(f: &mut Formula) -> Converted {
    let (x, y, target) = (f.tensor("input1")?, f.tensor("input2")?, f.tensor("target")?);
    let rank = f.site.rank(target);
    if f.site.rank(x) != rank + 1 || f.site.rank(y) != rank + 1 {
        return Ok(None);
    }
    let mut sum = |x: Value, y: Value| {
        let product = f.op("mul", &[x, y])?;
        f.sum(product, &[rank as i64])
    };
    let (product, of_x, of_y) = (sum(x, y)?, sum(x, x)?, sum(y, y)?);
    let (of_x, of_y) = (f.with("add", of_x, EPSILON)?, f.with("add", of_y, EPSILON)?);
    let lengths = f.op("mul", &[of_x, of_y])?;
    let lengths = f.op("sqrt", &[lengths])?;
    let cosine = f.op("div", &[product, lengths])?;
    let margin = f.number("margin", 0.0)?;
    let (apart, above) = (f.from(1.0, cosine)?, f.with("sub", cosine, margin)?);
    let above = f.at_least(above, 0.0)?;
    let zero = f.literal(0.0)?;
    let is = |f: &mut Formula, class: f64| {
        // In the target's own type.
        let dtype = f.site.dtype(target);
        let class = f.site.number("class", dtype.number(class.into()).unwrap_or(class.into()), dtype)?;
        f.op("eq", &[target, class])
    };
    let (together, away) = (is(f, 1.0)?, is(f, -1.0)?);
    let together = f.op("where", &[together, apart, zero])?;
    let away = f.op("where", &[away, above, zero])?;
    let loss = f.op("add", &[together, away])?;
    f.reduced(loss)
}

/// The mean over the classes of `max(margin - x[target] + x, 0)` to the power `p`, of which the target's own class counts as 0.
fn multi_margin(f: &mut Formula) -> Converted {
    let (x, target) = (f.tensor("self")?, f.tensor("target")?);
    let power = f.number("p", 1.0)?;
    let (2, 1) = (f.site.rank(x), f.site.rank(target)) else { return Ok(None) };
    let classes = f.site.ty(x).shape[1];
    if f.site.dtype(target) != DType::I64 || classes == 0 || power != 1.0 && power != 2.0 {
        return Ok(None);
    }
    let along = [("dim", AttrValue::Int(1))];
    let place = f.site.implicit("place", "unsqueeze", &along, &[target])?;
    let own = f.site.implicit("own", "gather", &along, &[x, place])?;
    let margin = f.number("margin", 1.0)?;
    let difference = f.from(margin, own)?;
    let difference = f.op("add", &[difference, x])?;
    let mut loss = f.at_least(difference, 0.0)?;
    if power == 2.0 {
        loss = f.op("mul", &[loss, loss])?;
    }
    if let Some(weight) = f.site.maybe_tensor("weight")? {
        let weight = f.node("index", &[("dims", ints(&[0]))], &[weight, place])?;
        loss = f.op("mul", &[loss, weight])?;
    }
    let numbers = [("end", AttrValue::Int(classes as i64)), ("dtype", AttrValue::DType(DType::I64))];
    let numbers = f.site.implicit("classes", "arange", &numbers, &[])?;
    let (other, zero) = (f.op("ne", &[numbers, place])?, f.literal(0.0)?);
    let loss = f.op("where", &[other, loss, zero])?;
    match f.site.int_or("reduction", 1)? {
        0 => f.site.emit_fused("mean", &[("dim", ints(&[1]))], &[loss]),
        1 => f.site.emit_fused("mean", &[("dim", ints(&[0, 1]))], &[loss]),
        2 => {
            let sum = f.sum(loss, &[0, 1])?;
            let count = f.literal(classes as f64)?;
            f.site.emit_fused("div", &[], &[sum, count])
        }
        _ => Ok(None),
    }
}
