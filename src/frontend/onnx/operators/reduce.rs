//! Reductions, running sums, order.

use super::operator::{Operator, standard};
use crate::frontend::builder::{Refusal, int, ints};
use crate::frontend::onnx::lowering::{Lowered, NodeLowering, one};
use crate::ir::{AttrValue, DType, Value};

pub(super) const OPERATORS: &[Operator] = &[
    standard("ReduceSum", &[1, 11, 13], |s| reduction(s, 13, |s, x, dims, keep| s.reduce("sum", x, dims, keep))),
    standard("ReduceMean", &[1, 11, 13, 18], |s| reduction(s, 18, |s, x, dims, keep| s.reduce("mean", x, dims, keep))),
    standard("ReduceMax", &[1, 11, 12, 13, 18, 20], |s| {
        reduction(s, 18, |s, x, dims, keep| extreme(s, "amax", x, dims, keep))
    }),
    standard("ReduceMin", &[1, 11, 12, 13, 18, 20], |s| {
        reduction(s, 18, |s, x, dims, keep| extreme(s, "amin", x, dims, keep))
    }),
    standard("ReduceProd", &[1, 11, 13, 18], |s| reduction(s, 18, |s, x, dims, keep| s.reduce("prod", x, dims, keep))),
    standard("ReduceL1", &[1, 11, 13, 18], |s| {
        reduction(s, 18, |s, x, dims, keep| {
            let size = s.unary("abs", x)?;
            s.reduce("sum", size, dims, keep)
        })
    }),
    standard("ReduceL2", &[1, 11, 13, 18], |s| {
        reduction(s, 18, |s, x, dims, keep| {
            let square = s.binary("mul", x, x)?;
            let sum = s.reduce("sum", square, dims, keep)?;
            s.unary("sqrt", sum)
        })
    }),
    standard("ReduceLogSum", &[1, 11, 13, 18, 28], |s| {
        reduction(s, 18, |s, x, dims, keep| {
            let sum = s.reduce("sum", x, dims, keep)?;
            s.unary("log", sum)
        })
    }),
    standard("ReduceLogSumExp", &[1, 11, 13, 18, 28], |s| {
        reduction(s, 18, |s, x, dims, keep| s.reduce("logsumexp", x, dims, keep))
    }),
    standard("ReduceSumSquare", &[1, 11, 13, 18], |s| {
        reduction(s, 18, |s, x, dims, keep| {
            let square = s.binary("mul", x, x)?;
            s.reduce("sum", square, dims, keep)
        })
    }),
    standard("ArgMax", &[1, 11, 12, 13], |s| place(s, "argmax")),
    standard("ArgMin", &[1, 11, 12, 13], |s| place(s, "argmin")),
    standard("CumSum", &[11, 14], |s| running(s, "cumsum", 0)),
    standard("CumProd", &[26], |s| running(s, "cumprod", 1)),
    standard("TopK", &[1, 10, 11, 24], top_k),
];

/// A reduction whose axes are an attribute before version `since`. The result has the type of the operand.
fn reduction(
    s: &mut NodeLowering,
    since: i64,
    of: impl Fn(&mut NodeLowering, Value, &[i64], bool) -> Result<Value, Refusal>,
) -> Lowered {
    let x = s.x(0)?;
    let axes = s.list("axes", 1, since)?.filter(|axes| !axes.is_empty());
    let keep = s.int("keepdims", 1)? != 0;
    let dims: Vec<i64> = match axes {
        Some(axes) => s.dims(x, &axes)?,
        // Without dimensions, elements are squared or logarithms taken all the same.
        None if s.flag("noop_with_empty_axes")? => Vec::new(),
        None => (0..s.rank(x) as i64).collect(),
    };
    let dtype = s.dtype(x);
    let y = of(s, x, &dims, keep)?;
    one(s.cast(y, dtype)?)
}

/// Largest or smallest elements. Of none, the least or greatest number of the type.
fn extreme(s: &mut NodeLowering, op: &str, x: Value, dims: &[i64], keep: bool) -> Result<Value, Refusal> {
    let dtype = s.dtype(x);
    if dims.iter().any(|&d| s.size(x, d as usize) == 0) {
        let sizes: Vec<i64> = (0..s.rank(x) as i64)
            .filter(|d| keep || !dims.contains(d))
            .map(|d| if dims.contains(&d) { 1 } else { s.size(x, d as usize) })
            .collect();
        let greatest = op == "amin";
        return match dtype.int_range() {
            Some((low, high)) => s.full(&sizes, if greatest { high } else { low }, dtype),
            None => s.full(&sizes, if greatest { f64::INFINITY } else { f64::NEG_INFINITY }, dtype),
        };
    }
    match dtype {
        DType::Bool => s.reduce(if op == "amax" { "any" } else { "all" }, x, dims, keep),
        _ => s.reduce(op, x, dims, keep),
    }
}

fn place(s: &mut NodeLowering, op: &str) -> Lowered {
    let x = s.x(0)?;
    let axis = s.int("axis", 0)?;
    let dim = s.dim(x, axis)?;
    let attrs = [("dim", int(dim)), ("keepdim", AttrValue::Bool(s.int("keepdims", 1)? != 0))];
    if !s.flag("select_last_index")? {
        return s.done(op, &attrs, &[x]);
    }
    // The last one is the first one from the other end.
    let turned = s.op("flip", &[("dims", ints(&[dim]))], &[x])?;
    let place = s.op(op, &attrs, &[turned])?;
    let last = s.number(s.size(x, dim as usize) - 1, place)?;
    s.done("sub", &[], &[last, place])
}

fn running(s: &mut NodeLowering, op: &str, neutral: i64) -> Lowered {
    let x = s.x(0)?;
    let axis = s.fixed_int(1)?.ok_or_else(|| Refusal::new("needs an axis"))?;
    let dim = s.dim(x, axis)?;
    let (dtype, reverse) = (s.dtype(x), s.flag("reverse")?);
    let turn = [("dims", ints(&[dim]))];
    let mut y = x;
    if reverse {
        y = s.op("flip", &turn, &[y])?;
    }
    if s.flag("exclusive")? {
        let (size, rank) = (s.size(x, dim as usize), s.rank(x));
        let mut pad = vec![0; 2 * rank];
        (pad[2 * dim as usize], pad[2 * dim as usize + 1]) = (1, -1);
        let value = if dtype.is_float() { AttrValue::float(neutral as f64) } else { AttrValue::Int(neutral) };
        if size > 0 {
            y = s.op("pad", &[("pad", ints(&pad)), ("value", value)], &[y])?;
        }
    }
    y = s.op(op, &[("dim", int(dim))], &[y])?;
    y = s.cast(y, dtype)?;
    one(if reverse { s.op("flip", &turn, &[y])? } else { y })
}

fn top_k(s: &mut NodeLowering) -> Lowered {
    let x = s.x(0)?;
    let k = match s.version >= 10 {
        true => s.fixed_int(1)?,
        false => s.maybe_int("k")?,
    };
    let axis = s.int("axis", -1)?;
    let dim = s.dim(x, axis)?;
    let k = k.ok_or_else(|| Refusal::new("needs `k`"))?;
    let largest = s.int("largest", 1)? != 0;
    let size = s.size(x, dim as usize);
    if !(0..=size).contains(&k) {
        return Err(Refusal::new(format!("takes {k} of {size} elements")));
    }
    if s.int("sorted", 1)? == 0 {
        let attrs = [
            ("k", int(k)),
            ("dim", int(dim)),
            ("largest", AttrValue::Bool(largest)),
            ("sorted", AttrValue::Bool(false)),
        ];
        return Ok(Some(s.nodes("topk", &attrs, &[x])?.into_iter().map(Into::into).collect()));
    }
    // Of equal elements, that with the lower index comes first, which a stable order gives.
    let attrs = [("dim", int(dim)), ("descending", AttrValue::Bool(largest)), ("stable", AttrValue::Bool(true))];
    let sorted = s.nodes("sort", &attrs, &[x])?;
    let mut outputs = Vec::new();
    for value in sorted {
        outputs.push(s.slice(value, dim, 0, k)?.into());
    }
    Ok(Some(outputs))
}
