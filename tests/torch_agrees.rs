//! The reference evaluator against libtorch on the CPU, for every operator of the table.
#![cfg(feature = "torch")]

use magneton_ir::eval::{Demand, EvalError, GraphProgram, Options, random};
use magneton_ir::ir::{AttrValue, Attrs, DType, Graph, Ints, Origin, Role, Shape, TensorType, Value};
use magneton_ir::ops::replay::{ReplayError, elements, replay, type_of, upload};
use magneton_ir::ops::{self, AttrKind, Call, Default, Family, OpDef};
use tch::{Device, Tensor};

/// Fitting calls drawn per operator.
const FITTING: u64 = 150;
/// Calls of random operands and attributes drawn per operator, most of which do not fit together.
const WILD: u64 = 2500;

/// A stream of small random choices.
struct Draw {
    seed: u64,
    count: u64,
}

/// What the elements of an operand look like.
#[derive(Clone, Copy, PartialEq)]
enum Fill {
    /// Normally distributed, or small integers.
    Any,
    /// Multiples of 1/2 close to 0, so that ties happen; now and then NaN or infinite.
    Special,
    /// Whole numbers of `low..high`.
    Range(i64, i64),
}

struct Operand {
    ty: TensorType,
    data: Vec<f64>,
}

struct Case {
    attrs: Vec<(&'static str, AttrValue)>,
    operands: Vec<Operand>,
}

impl Draw {
    fn below(&mut self, n: usize) -> usize {
        self.count += 1;
        (random::mix(self.seed, self.count) % n as u64) as usize
    }

    fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }

    fn range(&mut self, low: i64, high: i64) -> i64 {
        low + self.below((high - low) as usize) as i64
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    fn size(&mut self) -> usize {
        self.pick(&[1, 1, 2, 3, 4, 5])
    }

    fn shape(&mut self, least: usize, most: usize) -> Shape {
        let rank = least + self.below(most - least + 1);
        let mut shape: Shape = (0..rank).map(|_| self.size()).collect();
        if rank > 0 && self.chance(25) {
            let at = self.below(rank);
            shape[at] = 0;
        }
        shape
    }

    /// A shape that broadcasts to `full`.
    fn weakened(&mut self, full: &[usize]) -> Shape {
        let skip = if self.chance(3) { self.below(full.len() + 1) } else { 0 };
        full[skip..].iter().map(|&d| if self.chance(4) { 1 } else { d }).collect()
    }

    fn float(&mut self) -> DType {
        self.pick(&[DType::F64, DType::F64, DType::F32])
    }

    fn dtype(&mut self) -> DType {
        self.pick(&[DType::F64, DType::F64, DType::F32, DType::I64, DType::I32, DType::U8, DType::I8, DType::Bool])
    }

    fn operand(&mut self, dtype: DType, shape: &[usize], fill: Fill) -> Operand {
        let ty = TensorType::new(dtype, Shape::from_slice(shape)).expect("a small shape");
        let seed = random::mix(self.seed, self.below(1 << 30) as u64);
        let element = |flat: usize| match fill {
            Fill::Range(low, high) => {
                (low + (random::mix(seed, flat as u64) % (high - low).max(1) as u64) as i64) as f64
            }
            _ if dtype == DType::Bool || !dtype.is_float() => random::element(seed, &ty, flat),
            Fill::Any => random::element(seed, &ty, flat),
            Fill::Special => match random::mix(seed, flat as u64) % 24 {
                0 => f64::NAN,
                1 => f64::INFINITY,
                2 => f64::NEG_INFINITY,
                _ => (random::element(seed, &ty, flat) * 2.0).round() / 2.0,
            },
        };
        let data = (0..ty.numel()).map(|flat| dtype.round(element(flat))).collect();
        Operand { ty, data }
    }

    fn ints(&mut self, count: usize, low: i64, high: i64) -> AttrValue {
        AttrValue::Ints((0..count).map(|_| self.range(low, high)).collect())
    }

    fn dim(&mut self, rank: usize) -> AttrValue {
        AttrValue::Int(self.below(rank.max(1)) as i64)
    }

    /// Some dimensions of a tensor, at least one unless it is a scalar, in ascending order.
    fn dims(&mut self, rank: usize) -> Ints {
        let mut dims: Ints = (0..rank as i64).filter(|_| self.chance(2)).collect();
        if dims.is_empty() && rank > 0 {
            dims.push(self.below(rank) as i64);
        }
        dims
    }

    fn flag(&mut self) -> AttrValue {
        AttrValue::Bool(self.chance(2))
    }
}

fn int(value: usize) -> AttrValue {
    AttrValue::Int(value as i64)
}

/// A call of `op` that should fit. `None` if this test does not know the operator.
fn fitting(op: &OpDef, d: &mut Draw) -> Option<Case> {
    let special = if d.chance(3) { Fill::Special } else { Fill::Any };
    let mut attrs: Vec<(&'static str, AttrValue)> = Vec::new();
    let operands = match op.name {
        "neg" | "abs" | "relu" | "floor" | "logical_not" | "alias" | "contiguous" | "clone" => {
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
            attrs.push(("exponent", AttrValue::float(d.pick(&[0.0, 1.0, 2.0, 3.0, 0.5, -1.0, 2.5]))));
            let (dtype, shape) = (d.dtype(), d.shape(0, 3));
            vec![d.operand(dtype, &shape, special)]
        }
        "clamp" => {
            attrs.push(("min", if d.chance(3) { AttrValue::None } else { AttrValue::float(d.range(-2, 2) as f64) }));
            attrs.push(("max", if d.chance(3) { AttrValue::None } else { AttrValue::float(d.range(-2, 2) as f64) }));
            let (dtype, shape) = (d.dtype(), d.shape(0, 3));
            vec![d.operand(dtype, &shape, special)]
        }
        "cast" => {
            attrs.push(("dtype", AttrValue::DType(d.dtype())));
            let (dtype, shape) = (d.dtype(), d.shape(0, 3));
            vec![d.operand(dtype, &shape, Fill::Any)]
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
            let mut all = vec![d.operand(dtype, &q, Fill::Any), d.operand(dtype, &k, Fill::Any)];
            all.push(d.operand(dtype, &v, Fill::Any));
            match d.below(4) {
                0 => attrs.push(("causal", AttrValue::Bool(true))),
                1 => {
                    let mask = d.weakened(&scores);
                    all.push(d.operand(DType::Bool, &mask, Fill::Any));
                }
                2 => {
                    let mask = d.weakened(&scores);
                    let mut mask = d.operand(dtype, &mask, Fill::Any);
                    mask.data.iter_mut().filter(|m| **m < -0.5).for_each(|m| *m = f64::NEG_INFINITY);
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
        "sum" | "mean" | "amax" | "amin" | "prod" | "any" | "all" | "logsumexp" | "var" => {
            let (dtype, x) = (d.dtype(), d.shape(0, 4));
            attrs.extend([("dim", AttrValue::Ints(d.dims(x.len()))), ("keepdim", d.flag())]);
            if op.name == "var" {
                attrs.push(("correction", AttrValue::float(d.pick(&[0.0, 1.0, 1.5]))));
            }
            vec![d.operand(dtype, &x, special)]
        }
        "argmax" | "argmin" => {
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
                target.data.iter_mut().step_by(2).for_each(|t| *t = -100.0);
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
        "topk" => {
            let (dtype, x) = (d.float(), d.shape(0, 3));
            let dim = d.below(x.len().max(1));
            let size = x.get(dim).copied().unwrap_or(1);
            let k = if x.is_empty() { 1 } else { d.below(size + 1) };
            attrs.extend([("k", int(k)), ("dim", int(dim)), ("largest", d.flag())]);
            // The order of ties is not defined.
            vec![d.operand(dtype, &x, Fill::Any)]
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
            attrs.push(("value", AttrValue::float(d.pick(&[0.0, 1.0, 3.0, 0.5, f64::NEG_INFINITY]))));
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
            if op.name == "max_pool2d" {
                attrs.extend([("dilation", d.ints(2, 1, 3)), ("ceil_mode", d.flag())]);
                fill = special;
            }
            vec![d.operand(dtype, &x, fill)]
        }
        "full" => {
            let shape = d.shape(0, 3);
            attrs.push(("shape", AttrValue::shape(&shape)));
            attrs.push(("value", AttrValue::float(d.pick(&[0.0, 1.0, 2.0, 1.5, f64::INFINITY]))));
            let value = attrs[1].1.as_float().unwrap_or(0.0);
            let dtype = if value.is_finite() { d.dtype() } else { d.float() };
            attrs.push(("dtype", AttrValue::DType(dtype)));
            vec![]
        }
        "arange" => {
            let step = d.pick(&[1.0, 2.0, -1.0, 0.5, 0.3]);
            let start = d.range(-3, 4) as f64;
            attrs.extend([("start", AttrValue::float(start)), ("step", AttrValue::float(step))]);
            attrs.push(("end", AttrValue::float(start + step.signum() * d.range(0, 9) as f64)));
            attrs.push(("dtype", AttrValue::DType(d.dtype())));
            vec![]
        }
        _ => return None,
    };
    Some(Case { attrs, operands })
}

/// A call with operands and attributes that know nothing of each other.
fn wild(op: &OpDef, d: &mut Draw) -> Case {
    let usual = d.dtype();
    let common = d.shape(0, 4);
    let (least, most) = op.operand_count();
    let count = least + d.below(most.min(least + 3) - least + 1);
    let operands = (0..count)
        .map(|_| {
            let dtype = match d.below(6) {
                0 => d.pick(&[DType::F16, DType::BF16, DType::I16]),
                1 => d.dtype(),
                _ => usual,
            };
            let shape = match d.below(4) {
                0 => d.shape(0, 4),
                1 => d.weakened(&common),
                2 => common.iter().rev().copied().collect(),
                _ => common.clone(),
            };
            d.operand(dtype, &shape, Fill::Any)
        })
        .collect();
    let attrs = op.attrs.iter().map(|a| (a.name, wild_value(a, &common, d))).collect();
    Case { attrs, operands }
}

fn wild_value(a: &ops::AttrDef, common: &[usize], d: &mut Draw) -> AttrValue {
    if a.default == Default::None && d.chance(2) {
        return AttrValue::None;
    }
    match a.kind {
        AttrKind::Bool => d.flag(),
        AttrKind::Int => AttrValue::Int(d.range(-2, 6)),
        AttrKind::Float => AttrValue::float(d.pick(&[0.0, 1.0, 2.0, -1.0, 0.5, 1e-5, 7.0, f64::INFINITY, f64::NAN])),
        AttrKind::Str => AttrValue::str(d.pick(&["none", "tanh", "mean", "sum", "other"])),
        AttrKind::DType => AttrValue::DType(d.dtype()),
        AttrKind::Dim => AttrValue::Int(d.range(0, 5)),
        AttrKind::Dims => {
            let count = d.below(4);
            d.ints(count, 0, 4)
        }
        AttrKind::Ints if d.chance(2) => AttrValue::shape(common),
        AttrKind::Ints => {
            let count = d.below(6);
            d.ints(count, -1, 5)
        }
    }
}

/// A fitting call in which one thing is changed.
fn spoiled(op: &OpDef, d: &mut Draw) -> Case {
    let Some(mut case) = fitting(op, d) else { return wild(op, d) };
    let common = case.operands.first().map_or_else(Shape::new, |o| o.ty.shape.clone());
    if !op.attrs.is_empty() && d.chance(2) {
        let def = &op.attrs[d.below(op.attrs.len())];
        let value = wild_value(def, &common, d);
        case.attrs.retain(|(name, _)| *name != def.name);
        case.attrs.push((def.name, value));
    } else if !case.operands.is_empty() {
        let at = d.below(case.operands.len());
        let TensorType { mut dtype, mut shape } = case.operands[at].ty.clone();
        match (d.below(4), shape.len()) {
            (0, _) => dtype = d.dtype(),
            (1, rank) if rank > 0 => shape.truncate(rank - 1),
            (2, rank) if rank > 0 => {
                let dim = d.below(rank);
                shape[dim] = d.below(5);
            }
            _ => shape.insert(0, 2),
        }
        case.operands[at] = d.operand(dtype, &shape, Fill::Any);
    }
    case
}

/// What became of a case.
#[derive(PartialEq)]
enum Verdict {
    IllTyped,
    Agrees,
    /// Both sides refuse the values of the operands: a position is out of range.
    BothRefuse,
}

fn describe(op: &OpDef, attrs: &Attrs, case: &Case) -> String {
    let attrs: Vec<String> = op.attrs.iter().zip(attrs).map(|(a, v)| format!("{}={v}", a.name)).collect();
    let operands: Vec<String> = case.operands.iter().map(|o| o.ty.to_string()).collect();
    format!("{}({}; {})", op.name, operands.join(", "), attrs.join(", "))
}

/// Values are compared where both sides compute in about the precision of the result.
fn tolerance(types: &[&TensorType]) -> f64 {
    let narrowest = types.iter().filter(|t| t.dtype.is_float()).map(|t| t.dtype.epsilon().unwrap_or(0.0));
    match narrowest.fold(0.0, f64::max) {
        0.0 => 0.0,
        eps => (eps * 512.0).max(1e-10),
    }
}

fn check(op: &'static OpDef, case: &Case) -> Result<Verdict, String> {
    let attrs = op.attrs(&case.attrs).map_err(|e| e.to_string())?;
    let types: Vec<&TensorType> = case.operands.iter().map(|o| &o.ty).collect();
    let call = Call { op, attrs: &attrs, operands: &types };
    let Ok(wanted) = call.infer() else { return Ok(Verdict::IllTyped) };
    let what = describe(op, &attrs, case);

    let mut graph = Graph::new("case");
    let operands: Vec<Value> = (0..case.operands.len())
        .map(|i| graph.add_input(&format!("x{i}"), Role::User, case.operands[i].ty.clone(), Origin::default()).into())
        .collect();
    let node = graph.add_op("y", op, attrs.clone(), &operands, Origin::default()).map_err(|e| e.to_string())?;
    let mut program = GraphProgram::new(&graph, 0);
    for (i, operand) in case.operands.iter().enumerate() {
        program = program.with_input(i, operand.data.clone()).map_err(|e| e.to_string())?;
    }
    let mut demand = Demand::new(&program, Options { rounding: false, budget: 1_000_000 });
    let ours: Result<Vec<Vec<f64>>, EvalError> =
        (0..wanted.len()).map(|slot| demand.tensor(Value::new(node, slot as u32))).collect();

    let tensors: Result<Vec<Tensor>, ReplayError> =
        case.operands.iter().map(|o| upload(&o.ty, &o.data, Device::Cpu)).collect();
    let theirs = tensors.and_then(|t| replay(&call, &t, Device::Cpu));
    let (ours, theirs) = match (ours, theirs) {
        (Err(EvalError::IndexOutOfRange), Err(ReplayError::Torch(_))) => return Ok(Verdict::BothRefuse),
        // A position out of range, with no element for which the evaluator would have to read it.
        (Ok(ours), Err(ReplayError::Torch(_))) if op.family == Family::Index && ours.iter().all(Vec::is_empty) => {
            return Ok(Verdict::BothRefuse);
        }
        (Ok(ours), Ok(theirs)) => (ours, theirs),
        (ours, theirs) => {
            return Err(format!("{what}: evaluator {ours:?}, libtorch {:?}", theirs.map_err(|e| e.to_string())));
        }
    };
    let found: Vec<Option<TensorType>> = theirs.iter().map(type_of).collect();
    if found != wanted.iter().cloned().map(Some).collect::<Vec<_>>() {
        return Err(format!("{what}: inferred {wanted:?}, libtorch gives {found:?}"));
    }
    let tolerance = tolerance(&types.iter().copied().chain(&wanted).collect::<Vec<_>>());
    for (slot, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        let theirs = elements(theirs).map_err(|e| e.to_string())?;
        let scale = ours.iter().filter(|v| v.is_finite()).fold(1.0_f64, |m, v| m.max(v.abs()));
        let differs =
            |(a, b): (&f64, &f64)| a != b && !(a.is_nan() && b.is_nan()) && !((a - b).abs() <= tolerance * scale);
        if ours.len() != theirs.len() || ours.iter().zip(&theirs).any(differs) {
            let data: Vec<&Vec<f64>> = case.operands.iter().map(|o| &o.data).collect();
            return Err(format!("{what} slot {slot} on {data:?}:\n evaluator {ours:?}\n libtorch  {theirs:?}"));
        }
    }
    Ok(Verdict::Agrees)
}

/// Fails with one line per operator that disagrees.
fn report(failures: Vec<String>) {
    assert!(failures.is_empty(), "{} operators disagree:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn every_operator_agrees_with_libtorch() {
    let mut failures = Vec::new();
    for op in ops::all() {
        let mut agreed = 0;
        for seed in 0..FITTING {
            let mut draw = Draw { seed: random::mix(seed, 1), count: 0 };
            let Some(case) = fitting(op, &mut draw) else { break };
            match check(op, &case) {
                Ok(verdict) => agreed += u64::from(verdict == Verdict::Agrees),
                Err(failure) => {
                    failures.push(failure);
                    break;
                }
            }
        }
        if agreed < FITTING / 3 && !failures.last().is_some_and(|f| f.starts_with(op.name)) {
            failures.push(format!("{}: only {agreed} of {FITTING} cases were run", op.name));
        }
    }
    report(failures);
}

#[test]
fn whatever_the_type_rules_accept_runs_on_libtorch() {
    let mut failures = Vec::new();
    for op in ops::all().filter(|op| op.family != Family::Create) {
        // What training does is random; the order of ties is not defined.
        let random = |case: &Case| {
            op.name == "topk" || case.attrs.iter().any(|(n, v)| *n == "train" && v.as_bool() == Some(true))
        };
        for seed in 0..WILD {
            let mut draw = Draw { seed: random::mix(seed, 2), count: 0 };
            let case = if draw.chance(2) { wild(op, &mut draw) } else { spoiled(op, &mut draw) };
            if random(&case) {
                continue;
            }
            if let Err(failure) = check(op, &case) {
                failures.push(failure);
                break;
            }
        }
    }
    report(failures);
}
