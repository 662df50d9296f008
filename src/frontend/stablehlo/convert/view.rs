//! Operations that arrange elements: views of the op table.

use smallvec::SmallVec;

use super::super::lowering::{NodeLowering, distinct, usizes};
use super::product;
use crate::frontend::builder::{Converted, Refusal, Values, int};
use crate::ir::{AttrValue, NodeKind, Value};

pub(super) fn convert(site: &mut NodeLowering, name: &str) -> Converted {
    match name {
        "broadcast_in_dim" => broadcast_in_dim(site),
        // New dimensions in front.
        "broadcast" => {
            let [x] = site.all()?;
            let shape = site.result()?.shape.clone();
            let values = site.emit("expand", &[("shape", AttrValue::shape(&shape))], &[x])?;
            if let Some(&[value]) = values.as_deref() {
                site.tables.repeats.insert(value, x);
            }
            Ok(values)
        }
        "dynamic_broadcast_in_dim" | "dynamic_reshape" | "dynamic_iota" | "dynamic_pad" => Ok(None),
        "reshape" => {
            let [x] = site.all()?;
            let shape = site.result()?.shape.clone();
            if let Some(kept) = kept_dims(site, x, &shape) {
                return site.gives(kept);
            }
            if site.shape(x) == shape {
                return site.gives(x);
            }
            if let Some(expanded) = before_ones(site, x, &shape)? {
                return site.gives(expanded);
            }
            let value = site.reshape(x, &shape)?;
            // A reshape that only adds ones in front repeats nothing.
            let own = site.shape(x);
            let leading = shape.ends_with(&own) && shape[..shape.len() - own.len()].iter().all(|&size| size == 1);
            let before = site.tables.repeats.get(&x).copied().filter(|&s| leading || site.rank(s) == 0);
            if let Some(source) = before.or(leading.then_some(x)).filter(|&source| source != value) {
                site.tables.repeats.insert(value, source);
            }
            if let Some(number) = site.uniform(x) {
                site.tables.uniform.insert(value, number);
            }
            site.gives(value)
        }
        "transpose" => {
            let [x] = site.all()?;
            let dims = site.dims(&["dims", "permutation"], site.rank(x))?;
            if dims.len() != site.rank(x) || !distinct(&dims, dims.len()) {
                return Err(Refusal::new(format!("has no permutation of {} dimensions", site.rank(x))));
            }
            let value = match product::transposed(site, x, &dims)? {
                Some(product) => product,
                None => site.permute(x, &dims)?,
            };
            site.gives(value)
        }
        "slice" => slice(site),
        "concatenate" => {
            let rank = site.operands.first().map_or(0, |&x| site.rank(x));
            let dim = site.dim(&["dim", "dimension"], rank)?;
            site.emit("concat", &[("dim", int(dim as i64))], site.operands)
        }
        "reverse" => {
            let [x] = site.all()?;
            let dims = site.dims(&["dims", "dimensions"], site.rank(x))?;
            site.emit("flip", &[("dims", usizes(&dims))], &[x])
        }
        "get_dimension_size" => {
            let [x] = site.all()?;
            let dim = site.dim(&["dim", "dimension"], site.rank(x))?;
            let (size, dtype) = (site.shape(x)[dim] as i64, site.result()?.dtype);
            let size = site.number(size.into(), dtype)?;
            site.gives(size)
        }
        _ => Ok(None),
    }
}

/// Dimension `i` of the operand becomes dimension `dims[i]` of the result, all others repeat.
fn broadcast_in_dim(site: &mut NodeLowering) -> Converted {
    let [x] = site.all()?;
    let result = site.result()?.clone();
    let dims = site.dims(&["dims", "broadcast_dimensions"], result.rank())?;
    let shape = site.shape(x);
    if dims.len() != shape.len() || !distinct(&dims, result.rank()) {
        return Err(Refusal::new(format!("has {} dimensions for an operand of {}", dims.len(), shape.len())));
    }
    // The operand with its dimensions in the order of the result, and ones where the result has others.
    let mut order: Vec<usize> = (0..dims.len()).collect();
    order.sort_by_key(|&i| dims[i]);
    let mut spread: SmallVec<[usize; 4]> = SmallVec::from_elem(1, result.rank());
    for (&dim, &size) in dims.iter().zip(&shape) {
        spread[dim] = size;
    }
    if order.iter().enumerate().all(|(i, &d)| i == d)
        && let Some(kept) = kept_dims(site, x, &spread)
    {
        if result.shape == spread {
            return site.gives(kept);
        }
        let values = site.emit("expand", &[("shape", AttrValue::shape(&result.shape))], &[kept])?;
        if let Some(&[value]) = values.as_deref() {
            site.tables.repeats.insert(value, kept);
        }
        return Ok(values);
    }
    let ordered = site.permute(x, &order)?;
    let values = if result.shape == spread {
        match result.shape == site.shape(ordered) {
            true => return site.gives(ordered),
            false => Some(Values::from_elem(site.reshape(ordered, &spread)?, 1)),
        }
    } else {
        let reshaped = site.reshape(ordered, &spread)?;
        site.emit("expand", &[("shape", AttrValue::shape(&result.shape))], &[reshaped])?
    };
    if let Some(&[value]) = values.as_deref() {
        if let Some(number) = site.uniform(x) {
            site.tables.uniform.insert(value, number);
        }
        let trailing = |of: usize| dims.iter().rev().zip((0..result.rank()).rev()).take(of).all(|(&d, last)| d == last);
        // What the operand repeats itself, where it broadcasts to the result in the same way.
        let before = site.tables.repeats.get(&x).copied().filter(|&s| site.rank(s) == 0 || trailing(site.rank(s)));
        let source = match before {
            Some(source) => source,
            None if shape.is_empty() => x,
            // Dimensions in front of all of the operand's may be left out.
            None => site.reshape(ordered, &spread[dims.iter().copied().min().unwrap_or(0)..])?,
        };
        site.tables.repeats.insert(value, source);
    }
    Ok(values)
}

/// If `x` repeats another value and `shape` is its shape but for ones: the other value with these ones, repeated.
fn before_ones(site: &mut NodeLowering, x: Value, shape: &[usize]) -> Result<Option<Value>, Refusal> {
    let source = match &site.low.graph.node(x.node).kind {
        NodeKind::Op { op, .. } if op.name() == "expand" => site.low.graph.operands(x.node).first().copied(),
        _ => None,
    };
    let Some(source) = source.filter(|&s| site.rank(s) == site.rank(x)) else { return Ok(None) };
    let (whole, own) = (site.shape(x), site.shape(source));
    let mut large = (0..whole.len()).filter(|&d| whole[d] != 1);
    let mut narrow = Vec::new();
    for &size in shape {
        narrow.push(match size {
            1 => 1,
            _ => match large.next() {
                Some(d) if whole[d] == size => own[d],
                _ => return Ok(None),
            },
        });
    }
    if large.next().is_some() {
        return Ok(None);
    }
    let source = site.reshape(source, &narrow)?;
    let value = site.expand(source, shape)?;
    if value != source {
        site.tables.repeats.insert(value, source);
    }
    Ok(Some(value))
}

/// If `x` lost dimensions in a reduction and `shape` is its shape with these as ones: the value that still has them.
fn kept_dims(site: &NodeLowering, x: Value, shape: &[usize]) -> Option<Value> {
    let kept = site.tables.kept.get(&x).copied()?;
    (*site.shape(kept) == *shape).then_some(kept)
}

/// `[0:2, 0:64:2]`, or three lists.
fn slice(site: &mut NodeLowering) -> Converted {
    use super::super::ast::{Tree, parts};
    let [x] = site.all()?;
    let limits: Option<Vec<(i64, i64, i64)>> = match site.form.bare.first() {
        Some(Tree::List(inner)) => parts(inner)
            .map(|part| {
                let words =
                    part.iter().filter_map(|t| if let Tree::Number(n) = t { n.parse::<i64>().ok() } else { None });
                match words.collect::<Vec<_>>()[..] {
                    [start, end] => Some((start, end, 1)),
                    [start, end, step] => Some((start, end, step)),
                    _ => None,
                }
            })
            .collect(),
        _ => {
            let (start, end) = (site.ints(&["start_indices"])?, site.ints(&["limit_indices"])?);
            let step = site.maybe_ints(&["strides"])?.unwrap_or_else(|| vec![1; start.len()]);
            let same = start.len() == end.len() && start.len() == step.len();
            same.then(|| start.into_iter().zip(end).zip(step).map(|((s, e), t)| (s, e, t)).collect())
        }
    };
    let limits = limits.ok_or_else(|| Refusal::new("has no limits"))?;
    let shape = site.shape(x);
    let fits = |(&(start, end, step), &size): (&(i64, i64, i64), &usize)| {
        0 <= start && start <= end && end <= size as i64 && step > 0
    };
    if limits.len() != shape.len() || !limits.iter().zip(&shape).all(fits) {
        return Err(Refusal::new(format!("has limits outside of {}", site.low.ty(x))));
    }
    let mut value = x;
    for (dim, &(start, end, step)) in limits.iter().enumerate() {
        value = site.slice(value, dim, start, end, step)?;
    }
    site.gives(value)
}
