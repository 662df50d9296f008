//! Calls that should fit, operator by operator.

use magneton_ir::ir::{AttrValue, DType, Ints, Number, Shape};
use magneton_ir::ops::OpDef;

use super::draw::{Case, Draw, Fill, int};
use super::fitting_functions;

/// A call of `op` that should fit. `None` if this test does not know the operator.
pub(crate) fn fitting(op: &OpDef, d: &mut Draw) -> Option<Case> {
    let special = if d.chance(3) { Fill::Special } else { Fill::Any };
    let mut attrs: Vec<(&'static str, AttrValue)> = Vec::new();
    let operands = match op.name {
        "neg" | "abs" | "relu" | "floor" | "round" | "logical_not" | "alias" | "fused" | "contiguous" | "clone" => {
            let shape = d.shape(0, 4);
            vec![{
                let dtype = d.dtype();
                d.operand(dtype, &shape, special)
            }]
        }
        "exp" | "expm1" | "log" | "log1p" | "sqrt" | "rsqrt" | "reciprocal" | "sin" | "cos" | "tanh" | "erf"
        | "sigmoid" | "silu" | "gelu" | "dropout" => {
            match op.name {
                "gelu" => attrs.push(("approximate", AttrValue::str(d.pick(&["none", "tanh"])))),
                "dropout" => attrs.push(("p", AttrValue::float(0.5))),
                _ => {}
            }
            let (dtype, shape) = (d.float(), d.shape(0, 4));
            // libtorch's vectorised gelu gives NaN for infinity in f32, its scalar one gives infinity.
            let fill = if op.name == "gelu" { Fill::Any } else { special };
            vec![d.operand(dtype, &shape, fill)]
        }
        "pow" => {
            let (dtype, shape) = (d.dtype(), d.shape(0, 3));
            attrs.push(("exponent", d.number(dtype, &[0.0, 1.0, 2.0, 3.0, 0.5, -1.0, 2.5])));
            vec![d.operand(dtype, &shape, special)]
        }
        "clamp" => {
            let (dtype, shape) = (d.dtype(), d.shape(0, 3));
            for bound in ["min", "max"] {
                let given = !d.chance(3);
                attrs.push((bound, if given { d.number(dtype, &[-2.0, -1.0, 0.0, 1.0]) } else { AttrValue::None }));
            }
            vec![d.operand(dtype, &shape, special)]
        }
        "cast" => {
            attrs.push(("dtype", AttrValue::DType(d.dtype())));
            let (dtype, shape) = (d.dtype(), d.shape(0, 3));
            vec![d.operand(dtype, &shape, Fill::Any)]
        }
        "floor_div" | "trunc_div" | "remainder" => {
            let dtype = d.pick(&[DType::F64, DType::F32, DType::I64, DType::I32, DType::U8, DType::I8]);
            let full = d.shape(0, 3);
            let (x, y) = (d.weakened(&full), d.weakened(&full));
            let divisor = if dtype.is_float() { special } else { Fill::Range(1, 5) };
            vec![d.operand(dtype, &x, special), d.operand(dtype, &y, divisor)]
        }
        "grouped_mm" => {
            let (rows, inner, columns, groups) = (d.size(), d.size(), d.size(), d.size());
            let mut ends = d.operand(DType::I32, &[groups], Fill::Range(0, rows as i64 + 1));
            ends.data.sort();
            if let Some(last) = ends.data.last_mut() {
                *last = Number::Int(rows as i64);
            }
            let (x, w) = ([rows, inner], [groups, inner, columns]);
            vec![d.operand(DType::F32, &x, Fill::Any), d.operand(DType::F32, &w, Fill::Any), ends]
        }
        "add" | "sub" | "mul" | "div" | "maximum" | "minimum" | "eq" | "ne" | "lt" | "le" | "gt" | "ge"
        | "logical_and" | "logical_or" => {
            let (dtype, full) = (d.dtype(), d.shape(0, 4));
            let (x, y) = (d.weakened(&full), d.weakened(&full));
            vec![d.operand(dtype, &x, special), d.operand(dtype, &y, special)]
        }
        "where" => {
            let (dtype, full) = (d.dtype(), d.shape(0, 4));
            let (c, x, y) = (d.weakened(&full), d.weakened(&full), d.weakened(&full));
            vec![d.operand(DType::Bool, &c, Fill::Any), d.operand(dtype, &x, special), d.operand(dtype, &y, special)]
        }
        "masked_fill" => {
            let (dtype, full) = (d.dtype(), d.shape(0, 4));
            let (x, mask) = (d.weakened(&full), d.weakened(&full));
            vec![
                d.operand(dtype, &x, special),
                d.operand(DType::Bool, &mask, Fill::Any),
                d.operand(dtype, &[], special),
            ]
        }
        "matmul" => {
            let dtype = d.pick(&[DType::F64, DType::F64, DType::F32, DType::I64]);
            let (batch, m, k, n) = (d.shape(0, 2), d.size(), d.size(), d.size());
            let (mut x, mut y) = (d.weakened(&batch), d.weakened(&batch));
            x.extend([m, k]);
            y.extend([k, n]);
            let x = if d.chance(5) { Shape::from_slice(&[k]) } else { x };
            let y = if d.chance(5) { Shape::from_slice(&[k]) } else { y };
            vec![d.operand(dtype, &x, Fill::Any), d.operand(dtype, &y, Fill::Any)]
        }
        "linear" => {
            let (dtype, mut x, inner, out) = (d.float(), d.shape(0, 3), d.size(), d.size());
            x.push(inner);
            let mut all = vec![d.operand(dtype, &x, Fill::Any), d.operand(dtype, &[out, inner], Fill::Any)];
            if d.chance(2) {
                all.push(d.operand(dtype, &[out], Fill::Any));
            }
            all
        }
        "addmm" | "baddbmm" => {
            let dtype = d.pick(&[DType::F64, DType::F64, DType::F32, DType::I64]);
            if d.chance(2) {
                attrs.push(("beta", AttrValue::float(d.pick(&[0.0, 1.0, 2.0]))));
                attrs.push(("alpha", AttrValue::float(d.pick(&[0.0, 1.0, -3.0]))));
            }
            let (batch, m, k, n) = (d.size(), d.size(), d.size(), d.size());
            let (full, x, y) = match op.name {
                "addmm" => (vec![m, n], vec![m, k], vec![k, n]),
                _ => (vec![batch, m, n], vec![batch, m, k], vec![batch, k, n]),
            };
            let b = d.weakened(&full);
            vec![d.operand(dtype, &b, Fill::Any), d.operand(dtype, &x, Fill::Any), d.operand(dtype, &y, Fill::Any)]
        }
        "layer_norm" | "rms_norm" => {
            let (dtype, x) = (d.float(), d.shape(1, 4));
            let tail = Shape::from_slice(&x[d.below(x.len())..]);
            attrs.push(("normalized_shape", AttrValue::shape(&tail)));
            attrs.push(("eps", AttrValue::float(d.pick(&[1e-5, 0.1]))));
            let parameters = d.below(op.operands.len());
            let mut all = vec![d.operand(dtype, &x, Fill::Any)];
            all.extend((0..parameters).map(|_| d.operand(dtype, &tail, Fill::Any)));
            all
        }
        "group_norm" => {
            let (dtype, groups, each) = (d.float(), d.size(), d.size());
            let mut x = Shape::from_slice(&[d.size(), groups * each]);
            x.extend(d.shape(0, 2));
            attrs.push(("groups", int(groups)));
            let parameters = d.below(3);
            let mut all = vec![d.operand(dtype, &x, Fill::Any)];
            all.extend((0..parameters).map(|_| d.operand(dtype, &[groups * each], Fill::Any)));
            all
        }
        "batch_norm" => {
            let (dtype, x) = (d.float(), d.shape(2, 4));
            let parameters = d.below(3);
            let mut all = vec![d.operand(dtype, &x, Fill::Any), d.operand(dtype, &x[1..2], Fill::Any)];
            all.push(d.operand(dtype, &x[1..2], Fill::Range(1, 5)));
            all.extend((0..parameters).map(|_| d.operand(dtype, &x[1..2], Fill::Any)));
            all
        }
        "softmax" | "log_softmax" => {
            let (dtype, x) = (d.dtype(), d.shape(0, 4));
            attrs.push(("dim", d.dim(x.len())));
            if !dtype.is_float() || d.chance(4) {
                attrs.push(("dtype", AttrValue::DType(d.pick(&[DType::F64, DType::F32]))));
            }
            vec![d.operand(dtype, &x, special)]
        }
        "sdpa" => {
            let (dtype, batch) = (d.float(), d.shape(0, 2));
            let (l, s, e, value_size) = (d.size(), d.size(), d.size(), d.size());
            let grouped = !batch.is_empty() && !batch.contains(&0) && d.chance(2);
            let (mut q, mut k, mut v) = (batch.clone(), d.weakened(&batch), d.weakened(&batch));
            if grouped {
                (k, v) = (batch.clone(), batch.clone());
                q[batch.len() - 1] *= 1 + d.below(3);
            }
            let mut scores = q.clone();
            q.extend([l, e]);
            k.extend([s, e]);
            v.extend([s, value_size]);
            scores.extend([l, s]);
            attrs.push(("scale", AttrValue::float(d.pick(&[1.0, 0.3, 0.125]))));
            attrs.push(("grouped", AttrValue::Bool(grouped)));
            // Kernels for `causal` may or may not see a NaN in a key that is hidden.
            let form = d.below(4);
            let fill = if form == 0 { Fill::Any } else { special };
            let mut all = vec![d.operand(dtype, &q, Fill::Any), d.operand(dtype, &k, fill), d.operand(dtype, &v, fill)];
            match form {
                0 => attrs.push(("causal", AttrValue::Bool(true))),
                1 => {
                    let mask = d.weakened(&scores);
                    all.push(d.operand(DType::Bool, &mask, Fill::Any));
                }
                2 => {
                    let mask = d.weakened(&scores);
                    let mut mask = d.operand(dtype, &mask, Fill::Any);
                    let hidden = mask.data.iter_mut().filter(|m| Number::float(-0.5).is_above(**m));
                    hidden.for_each(|m| *m = f64::NEG_INFINITY.into());
                    all.push(mask);
                }
                _ => {}
            }
            all
        }
        "reshape" => {
            let (dtype, x) = (d.dtype(), d.shape(0, 4));
            let mut to = x.clone();
            if to.len() > 1 && d.chance(2) {
                let last = to.pop().unwrap_or(1);
                to[0] *= last;
            }
            to.insert(d.below(to.len() + 1), 1);
            attrs.push(("shape", AttrValue::shape(&to)));
            vec![d.operand(dtype, &x, special)]
        }
        "permute" => {
            let (dtype, x) = (d.dtype(), d.shape(0, 4));
            let mut dims: Ints = (0..x.len() as i64).collect();
            (1..dims.len()).for_each(|i| dims.swap(i, d.below(i + 1)));
            attrs.push(("dims", AttrValue::Ints(dims)));
            vec![d.operand(dtype, &x, special)]
        }
        "expand" => {
            let (dtype, full) = (d.dtype(), d.shape(0, 4));
            let x = d.weakened(&full);
            attrs.push(("shape", AttrValue::shape(&full)));
            vec![d.operand(dtype, &x, special)]
        }
        "slice" => {
            let (dtype, x) = (d.dtype(), d.shape(1, 4));
            let dim = d.below(x.len());
            let start = d.below(x[dim] + 1);
            let end = start + d.below(x[dim] - start + 1);
            attrs.extend([("dim", int(dim)), ("start", int(start)), ("end", int(end)), ("step", int(1 + d.below(3)))]);
            vec![d.operand(dtype, &x, special)]
        }
        "split" => {
            let (dtype, x) = (d.dtype(), d.shape(1, 4));
            let dim = d.below(x.len());
            let first = d.below(x[dim] + 1);
            attrs.extend([("dim", int(dim)), ("sizes", AttrValue::shape(&[first, x[dim] - first]))]);
            vec![d.operand(dtype, &x, special)]
        }
        "unsqueeze" => {
            let (dtype, x) = (d.dtype(), d.shape(0, 3));
            attrs.push(("dim", int(d.below(x.len() + 1))));
            vec![d.operand(dtype, &x, special)]
        }
        "squeeze" => {
            let (dtype, mut x) = (d.dtype(), d.shape(0, 3));
            let dim = d.below(x.len() + 1);
            x.insert(dim, 1);
            attrs.push(("dim", int(dim)));
            vec![d.operand(dtype, &x, special)]
        }
        "concat" => {
            let (dtype, x) = (d.dtype(), d.shape(1, 4));
            let dim = d.below(x.len());
            attrs.push(("dim", int(dim)));
            (0..1 + d.below(3))
                .map(|_| {
                    let mut part = x.clone();
                    part[dim] = d.below(4);
                    d.operand(dtype, &part, special)
                })
                .collect()
        }
        "repeat_heads" => {
            let (dtype, x) = (d.dtype(), d.shape(2, 4));
            attrs.push(("times", int(1 + d.below(3))));
            vec![d.operand(dtype, &x, special)]
        }
        "sum" | "mean" | "amax" | "amin" | "prod" | "any" | "all" | "logsumexp" | "var" | "var_mean" => {
            let (dtype, x) = (d.dtype(), d.shape(0, 4));
            attrs.extend([("dim", AttrValue::Ints(d.dims(x.len()))), ("keepdim", d.flag())]);
            if op.name.starts_with("var") {
                attrs.push(("correction", AttrValue::float(d.pick(&[0.0, 1.0, 1.5]))));
            }
            vec![d.operand(dtype, &x, special)]
        }
        "argmax" | "argmin" | "max" | "min" => {
            let (dtype, x) = (d.dtype(), d.shape(0, 4));
            attrs.extend([("dim", d.dim(x.len())), ("keepdim", d.flag())]);
            vec![d.operand(dtype, &x, special)]
        }
        "cumsum" | "cumprod" => {
            let (dtype, x) = (d.dtype(), d.shape(0, 4));
            attrs.push(("dim", d.dim(x.len())));
            vec![d.operand(dtype, &x, Fill::Any)]
        }
        "cross_entropy" => {
            let (dtype, classes) = (d.float(), 1 + d.below(5));
            let mut x = d.shape(0, 3);
            let target = x.clone();
            x.insert(usize::from(!x.is_empty()), classes);
            attrs.push(("reduction", AttrValue::str(d.pick(&["none", "mean", "sum"]))));
            let mut target = d.operand(DType::I64, &target, Fill::Range(0, classes as i64));
            if d.chance(3) {
                target.data.iter_mut().step_by(2).for_each(|t| *t = Number::Int(-100));
            }
            vec![d.operand(dtype, &x, Fill::Any), target]
        }
        "embedding" => {
            let (dtype, rows, columns, at) = (d.float(), d.size(), d.size(), d.shape(0, 3));
            let positions = d.pick(&[DType::I64, DType::I32]);
            vec![d.operand(dtype, &[rows, columns], special), d.operand(positions, &at, Fill::Range(0, rows as i64))]
        }
        "gather" => {
            let (dtype, x) = (d.dtype(), d.shape(0, 3));
            let dim = d.below(x.len().max(1));
            let mut at: Shape = x.iter().map(|&s| if s > 0 { 1 + d.below(s) } else { 0 }).collect();
            if let Some(size) = at.get_mut(dim) {
                *size = if x[dim] > 0 { d.size() } else { 0 };
            }
            attrs.push(("dim", int(dim)));
            let most = x.get(dim).copied().unwrap_or(1) as i64;
            vec![d.operand(dtype, &x, special), d.operand(DType::I64, &at, Fill::Range(0, most))]
        }
        "index_select" => {
            let (dtype, x) = (d.dtype(), d.shape(1, 3));
            let dim = d.below(x.len());
            attrs.push(("dim", int(dim)));
            let count = if x[dim] > 0 { d.size() } else { 0 };
            let positions = d.pick(&[DType::I64, DType::I32]);
            vec![d.operand(dtype, &x, special), d.operand(positions, &[count], Fill::Range(0, x[dim] as i64))]
        }
        "index" => {
            let (dtype, x) = (d.dtype(), d.shape(1, 4));
            let dims = d.dims(x.len());
            let full = if x.contains(&0) { Shape::from_slice(&[0]) } else { d.shape(0, 2) };
            let mut all = vec![d.operand(dtype, &x, special)];
            for &dim in &dims {
                let at = if full.contains(&0) { full.clone() } else { d.weakened(&full) };
                let size = x[dim as usize] as i64;
                all.push(d.operand(DType::I64, &at, Fill::Range(-size, size)));
            }
            attrs.push(("dims", AttrValue::Ints(dims)));
            all
        }
        "scatter" | "scatter_add" | "scatter_reduce" => {
            if op.name == "scatter_reduce" {
                attrs.push(("reduce", AttrValue::str(d.pick(&["prod", "amax", "amin"]))));
            }
            let (dtype, x) = (d.pick(&[DType::F64, DType::F32, DType::I64, DType::U8]), d.shape(1, 3));
            let dim = d.below(x.len());
            let mut at: Shape = x.iter().map(|&s| if s > 0 { 1 + d.below(s) } else { 0 }).collect();
            at[dim] = if x[dim] > 0 { d.size() } else { 0 };
            let src: Shape = at.iter().map(|&s| s + d.below(2)).collect();
            attrs.push(("dim", int(dim)));
            let index = d.operand(DType::I64, &at, Fill::Range(0, x[dim] as i64));
            vec![d.operand(dtype, &x, Fill::Any), index, d.operand(dtype, &src, Fill::Any)]
        }
        "index_add" => {
            let (dtype, x) = (d.pick(&[DType::F64, DType::F32, DType::I64]), d.shape(1, 3));
            let dim = d.below(x.len());
            let mut source = x.clone();
            source[dim] = if x[dim] > 0 { d.size() } else { 0 };
            attrs.push(("dim", int(dim)));
            let positions = d.pick(&[DType::I64, DType::I32]);
            let index = d.operand(positions, &source[dim..=dim], Fill::Range(0, x[dim] as i64));
            vec![d.operand(dtype, &x, Fill::Any), index, d.operand(dtype, &source, Fill::Any)]
        }
        "index_put" => {
            let (dtype, x) = (d.pick(&[DType::F64, DType::F32, DType::I64]), d.shape(1, 4));
            // Which of several values in one place counts is not defined: one dimension, every place once.
            let once = d.chance(2);
            let dims = if once { Ints::from_slice(&[d.below(x.len()) as i64]) } else { d.dims(x.len()) };
            let first = dims[0] as usize;
            let full = match x[first] {
                _ if x.contains(&0) => Shape::from_slice(&[0]),
                size if once => Shape::from_slice(&[1 + d.below(size)]),
                _ => d.shape(0, 2),
            };
            let adjacent = dims.windows(2).all(|w| w[0] + 1 == w[1]);
            let mut written: Shape = (0..x.len()).filter(|&i| !dims.contains(&(i as i64))).map(|i| x[i]).collect();
            written.insert_many(if adjacent { first } else { 0 }, full.iter().copied());
            let values = d.weakened(&written);
            let mut all = vec![d.operand(dtype, &x, Fill::Any), d.operand(dtype, &values, Fill::Any)];
            for &dim in &dims {
                let size = x[dim as usize] as i64;
                let mut at = d.operand(DType::I64, &full, Fill::Range(-size, size));
                if once {
                    let start = d.below(size.max(1) as usize) as i64;
                    at.data
                        .iter_mut()
                        .enumerate()
                        .for_each(|(i, p)| *p = Number::Int((start + i as i64) % size.max(1)));
                }
                all.push(at);
            }
            attrs.extend([("dims", AttrValue::Ints(dims)), ("accumulate", AttrValue::Bool(!once))]);
            all
        }
        "histc" => {
            let (dtype, x, min) =
                (d.pick(&[DType::F64, DType::F32, DType::I64, DType::I32]), d.shape(0, 3), d.range(-2, 1));
            attrs.extend([("bins", int(1 + d.below(5))), ("min", AttrValue::float(min as f64))]);
            attrs.push(("max", AttrValue::float((min + d.range(1, 4)) as f64)));
            vec![d.operand(dtype, &x, special)]
        }
        "eigvals" | "eigvalsh" => {
            let (dtype, rows, mut shape) = (d.pick(&[DType::F64, DType::F32]), d.below(5), d.shape(0, 2));
            shape.extend([rows, rows]);
            vec![d.operand(dtype, &shape, Fill::Any)]
        }
        "topk" => {
            let (dtype, x) = (d.float(), d.shape(0, 3));
            let dim = d.below(x.len().max(1));
            let size = x.get(dim).copied().unwrap_or(1);
            let k = if x.is_empty() { 1 } else { d.below(size + 1) };
            // Unsorted, the order is open.
            attrs.extend([("k", int(k)), ("dim", int(dim)), ("largest", d.flag())]);
            // The order of ties is not defined.
            vec![d.operand(dtype, &x, Fill::Any)]
        }
        "kthvalue" => {
            let (dtype, mut x) = (d.float(), d.shape(1, 3));
            let dim = d.below(x.len());
            x[dim] = x[dim].max(1);
            attrs.extend([("k", int(1 + d.below(x[dim]))), ("dim", int(dim))]);
            // Which of equal elements it is is not defined.
            vec![d.operand(dtype, &x, Fill::Any)]
        }
        "searchsorted" => {
            let (dtype, x) = (d.pick(&[DType::F64, DType::F32, DType::I64, DType::I32]), d.shape(1, 3));
            let mut list = if d.chance(2) { x.clone() } else { [d.below(6)].into_iter().collect() };
            if let Some(size) = list.last_mut() {
                *size = d.below(6);
            }
            attrs.push(("right", d.flag()));
            vec![d.operand(dtype, &list, special), d.operand(dtype, &x, special)]
        }
        "sort" => {
            let (dtype, x) = (d.dtype(), d.shape(0, 3));
            attrs.extend([("dim", d.dim(x.len())), ("descending", d.flag())]);
            vec![d.operand(dtype, &x, special)]
        }
        "one_hot" => {
            let (x, classes) = (d.shape(0, 3), 1 + d.below(5));
            attrs.push(("num_classes", int(classes)));
            vec![d.operand(DType::I64, &x, Fill::Range(0, classes as i64))]
        }
        "tril" | "triu" => {
            let (dtype, x) = (d.dtype(), d.shape(2, 4));
            attrs.push(("diagonal", AttrValue::Int(d.range(-6, 7))));
            vec![d.operand(dtype, &x, special)]
        }
        "flip" => {
            let (dtype, x) = (d.dtype(), d.shape(0, 4));
            attrs.push(("dims", AttrValue::Ints(d.dims(x.len()))));
            vec![d.operand(dtype, &x, special)]
        }
        "roll" => {
            let (dtype, x) = (d.dtype(), d.shape(1, 4));
            let dims = d.dims(x.len());
            attrs.push(("shifts", d.ints(dims.len(), -7, 8)));
            attrs.push(("dims", AttrValue::Ints(dims)));
            vec![d.operand(dtype, &x, special)]
        }
        "repeat_interleave" => {
            let (dtype, x) = (d.dtype(), d.shape(1, 3));
            attrs.extend([("repeats", int(d.below(4))), ("dim", d.dim(x.len()))]);
            vec![d.operand(dtype, &x, special)]
        }
        "pad" => {
            let (dtype, x) = (d.dtype(), d.shape(0, 3));
            attrs.push(("pad", d.ints(2 * x.len(), -2, 4)));
            attrs.push(("value", d.number(dtype, &[0.0, 1.0, 3.0, 0.5, f64::NEG_INFINITY])));
            vec![d.operand(dtype, &x, special)]
        }
        "diff" => {
            let (dtype, x) = (d.dtype(), d.shape(1, 3));
            let dim = d.below(x.len());
            attrs.extend([("dim", int(dim)), ("n", int(1 + d.below(4)))]);
            let mut all = vec![d.operand(dtype, &x, Fill::Any)];
            if d.chance(2) {
                let mut front = x.clone();
                front[dim] = d.below(3);
                all.push(d.operand(dtype, &front, Fill::Any));
            }
            all
        }
        "conv1d" | "conv2d" => {
            let spatial = if op.name == "conv1d" { 1 } else { 2 };
            let (dtype, groups, each, out) = (d.float(), 1 + d.below(3), d.size(), d.size());
            let mut x = Shape::from_slice(&[d.below(3), groups * each]);
            let mut w = Shape::from_slice(&[out * groups, each]);
            for _ in 0..spatial {
                x.push(1 + d.below(6));
                w.push(1 + d.below(3));
            }
            attrs.extend([("stride", d.ints(spatial, 1, 4)), ("padding", d.ints(spatial, 0, 3))]);
            attrs.extend([("dilation", d.ints(spatial, 1, 3)), ("groups", int(groups))]);
            let mut all = vec![d.operand(dtype, &x, Fill::Any), d.operand(dtype, &w, Fill::Any)];
            if d.chance(2) {
                all.push(d.operand(dtype, &[out * groups], Fill::Any));
            }
            all
        }
        "max_pool2d" | "avg_pool2d" => {
            let dtype = d.float();
            let x = [d.below(3), d.size(), 1 + d.below(6), 1 + d.below(6)];
            attrs.extend([("kernel_size", d.ints(2, 1, 4)), ("stride", d.ints(2, 1, 4)), ("padding", d.ints(2, 0, 2))]);
            let mut fill = Fill::Any;
            attrs.push(("ceil_mode", d.flag()));
            if op.name == "max_pool2d" {
                attrs.push(("dilation", d.ints(2, 1, 3)));
                fill = special;
            } else {
                attrs.push(("count_include_pad", d.flag()));
            }
            vec![d.operand(dtype, &x, fill)]
        }
        "full" => {
            let shape = d.shape(0, 3);
            attrs.push(("shape", AttrValue::shape(&shape)));
            let dtype = d.dtype();
            let usual: &[f64] = if dtype.is_float() { &[0.0, 1.0, 2.0, 1.5, f64::INFINITY] } else { &[0.0, 1.0, 2.0] };
            attrs.extend([("value", d.number(dtype, usual)), ("dtype", AttrValue::DType(dtype))]);
            vec![]
        }
        "number" => {
            // libtorch keeps a number beside narrower floats in f32; a tensor of them cannot hold it.
            let dtype = d.pick(&[DType::F64, DType::F32, DType::I64, DType::I8]);
            let usual: Vec<f64> = (-3..100).map(f64::from).collect();
            attrs.extend([("value", d.number(dtype, &usual)), ("dtype", AttrValue::DType(dtype))]);
            vec![]
        }
        "arange" => {
            let step = d.pick(&[1.0, 2.0, -1.0, 0.5, 0.3]);
            let (dtype, count) = (d.dtype(), d.range(0, 9));
            let far = [120, -128, 250, 2045, 32_765, (1 << 24) - 3, i64::from(i32::MIN), 1 << 40, (1 << 53) + 1];
            if d.edges && d.chance(2) {
                let (start, step) = (d.pick(&far), d.pick(&[1, 2, -1]));
                attrs.extend([("start", AttrValue::Int(start)), ("step", AttrValue::Int(step))]);
                attrs.push(("end", AttrValue::Int(start + step * count)));
            } else {
                let start = d.range(-3, 4) as f64;
                attrs.extend([("start", AttrValue::float(start)), ("step", AttrValue::float(step))]);
                attrs.push(("end", AttrValue::float(start + step.signum() * count as f64)));
            }
            attrs.push(("dtype", AttrValue::DType(dtype)));
            vec![]
        }
        "tril_indices" | "triu_indices" => {
            let dtype = d.pick(&[DType::I64, DType::I32]);
            attrs.extend(["row", "col"].map(|name| (name, AttrValue::Int(d.range(0, 7)))));
            attrs.extend([("offset", AttrValue::Int(d.range(-6, 7))), ("dtype", AttrValue::DType(dtype))]);
            vec![]
        }
        _ => return fitting_functions::fitting(op, d),
    };
    Some(Case { attrs, operands })
}
