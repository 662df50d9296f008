//! Where the result of an operator can be other than 0, from where its operands can.

use smallvec::SmallVec;

use super::product::product;
use super::views::{concatenated, part, repeated, reshaped};
use super::{Dim, Dims, Known, Support, both, common, either, joined, union};
use crate::eval::{Interval, range};
use crate::ir::TensorType;
use crate::ops::{Call, Family};

/// Where the elements of output `slot`, of type `ty`, of a call can be other than 0. `None` where that is not known.
pub fn support(call: &Call, slot: usize, operands: &[Known], ty: &TensorType) -> Option<Support> {
    let x = operands.first()?;
    let size_of = |name: &str| call.size(name);
    // Then all that went in is finite, and 0 times it is 0.
    let is_finite = || range(call, &operands.iter().map(|o| o.interval).collect::<SmallVec<[_; 4]>>()).is_some();
    let dims: Dims = match call.op.name {
        "reshape" => reshaped(&x.ty.shape, &ty.shape, &x.support?.dims),
        "permute" => call.ints("dims").iter().map(|&d| x.dim(d as usize)).collect(),
        "expand" => x.broadcast(&ty.shape),
        "slice" => {
            let (start, step) = (size_of("start"), size_of("step"));
            part(x, size_of("dim"), ty, |place| start + place * step)
        }
        "split" => {
            let start: i64 = call.ints("sizes").iter().take(slot).sum();
            part(x, size_of("dim"), ty, |place| start as usize + place)
        }
        "unsqueeze" => {
            let mut dims = x.dims();
            let at = call.int("dim");
            let at = if at < 0 { at + ty.rank() as i64 } else { at };
            dims.insert(usize::try_from(at).ok().filter(|&at| at <= dims.len())?, None);
            dims
        }
        "squeeze" => {
            let mut dims = x.dims();
            if x.ty.rank() == ty.rank() {
                return x.support.cloned();
            }
            dims.remove(size_of("dim"));
            dims
        }
        "concat" => concatenated(operands, size_of("dim"), ty),
        "repeat_heads" => repeated(x, 1, size_of("times"), ty),
        "repeat_interleave" => repeated(x, size_of("dim"), size_of("repeats"), ty),
        "alias" | "contiguous" | "clone" | "cast" | "neg" | "abs" | "relu" | "silu" | "gelu" | "tanh" | "sin"
        | "erf" | "sqrt" | "tril" | "triu" => return x.support.cloned(),
        "dropout" if !call.bool("train") => return x.support.cloned(),
        "pow" if call.float("exponent") > 0.0 => return x.support.cloned(),
        "div" => {
            let y = operands.get(1)?.interval?;
            if y.low <= 0.0 && y.high >= 0.0 {
                return None;
            }
            x.broadcast(&ty.shape)
        }
        "add" | "sub" | "maximum" | "minimum" => either(x, operands.get(1)?, ty),
        "where" => either(operands.get(1)?, operands.get(2)?, ty),
        "masked_fill" => either(x, operands.get(2)?, ty),
        "mul" => {
            let y = operands.get(1)?;
            both(within(x, y, x.broadcast(&ty.shape)), within(y, x, y.broadcast(&ty.shape)))
        }
        "sum" | "mean" => {
            let reduced = call.ints("dim");
            let keeps = call.bool("keepdim");
            let all = x.dims().into_iter().enumerate();
            let kept = all.map(|(d, places)| (reduced.contains(&(d as i64)), places));
            kept.filter(|&(gone, _)| keeps || !gone).map(|(gone, places)| if gone { None } else { places }).collect()
        }
        "cumsum" => {
            let mut dims = x.dims();
            *dims.get_mut(size_of("dim"))? = None;
            dims
        }
        "flip" | "roll" => {
            let moved = call.ints("dims");
            x.dims().into_iter().enumerate().map(|(d, p)| if moved.contains(&(d as i64)) { None } else { p }).collect()
        }
        "embedding" => {
            let ids = operands.get(1)?;
            // Where the first row is 0, so is every token of number 0.
            let first_row_is_0 = x.dim(0).is_some_and(|rows| !rows.contains(0));
            let mut dims: Dims = if first_row_is_0 { ids.dims() } else { ids.dims().iter().map(|_| None).collect() };
            dims.extend(x.dims().into_iter().skip(1));
            dims
        }
        "index_select" => {
            let mut dims = x.dims();
            *dims.get_mut(size_of("dim"))? = None;
            dims
        }
        "index" if operands.len() == 2 && operands[1].ty.rank() == 1 => {
            let mut dims = x.dims();
            *dims.get_mut(usize::try_from(*call.ints("dims").first()?).ok()?)? = None;
            dims
        }
        "index_add" => {
            let mut dims: Dims = union(x.dims(), operands.get(2)?.dims());
            *dims.get_mut(size_of("dim"))? = None;
            dims
        }
        "layer_norm" => {
            if !is_finite() || call.ints("normalized_shape").len() != 1 {
                return None;
            }
            let mut last = operands.get(1)?.dim(0);
            if let Some(bias) = operands.get(2) {
                last = joined(last, bias.broadcast(&ty.shape).pop()?);
            }
            let mut dims: Dims = (1..ty.rank()).map(|_| None).collect();
            dims.push(last);
            dims
        }
        "rms_norm" => {
            if !is_finite() || call.ints("normalized_shape").len() != 1 {
                return None;
            }
            let mut dims = x.dims();
            if let (Some(weight), Some(last)) = (operands.get(1), dims.last_mut()) {
                *last = common(last.clone(), weight.dim(0));
            }
            dims
        }
        "sdpa" => {
            let v = operands.get(2)?;
            if v.ty.rank() != ty.rank() || !is_finite() {
                return None;
            }
            let mut dims = v.broadcast(&ty.shape);
            let rank = dims.len();
            // Each result row mixes all value rows.
            *dims.get_mut(rank.checked_sub(2)?)? = None;
            dims
        }
        "conv1d" | "conv2d" => {
            let (w, bias) = (operands.get(1)?, operands.get(2));
            if !is_finite() {
                return None;
            }
            let channels =
                bias.map_or_else(|| w.dim(0), |b| joined(w.dim(0), b.broadcast(&w.ty.shape[..1])[0].clone()));
            (0..ty.rank()).map(|d| if d == 1 { channels.clone() } else { None }).collect()
        }
        _ if call.op.family == Family::Linear && is_finite() => product(call, operands, ty)?,
        _ => return None,
    };
    let fits = |(dim, &size): (&Dim, &usize)| dim.as_ref().is_none_or(|d| d.has.len() == size);
    let fit = dims.len() == ty.rank() && dims.iter().zip(&ty.shape).all(fits);
    if fit { Support::new(dims) } else { None }
}

/// Where `x` is other than 0, unless `other` could make a NaN of 0.
fn within(x: &Known, other: &Known, dims: Dims) -> Dims {
    let zero = x.interval.is_some_and(Interval::is_zero);
    if other.is_finite() && !zero { dims } else { dims.into_iter().map(|_| None).collect() }
}
