//! Reductions and running reductions.

use smallvec::SmallVec;

#[cfg(feature = "torch")]
use super::replay::{Replayed, Run};
use super::shapes::visit_axes;
use super::work::TRANSCENDENTAL_FLOPS;
use super::{
    Amplifies, Ask, AttrDef, AttrKind, Bounds, Call, Default, Dims, Elements, EvalError, Family, Fetch, FetchAs,
    FetchReal, Interval, Kernel, KernelClass, OpDef, OperandDef, RowFunction, Supports, Synthesis, TypeError, Types,
    Vanishes, Work, attr, one, support,
};
use crate::ir::{DType, Layout, Number, Shape, TensorType};

pub(super) const X: &[OperandDef] = &[one("x")];
const DIMS: &[AttrDef] =
    &[attr("dim", AttrKind::Dims, Default::Required), attr("keepdim", AttrKind::Bool, Default::Bool(false))];
const DIM: &[AttrDef] = &[attr("dim", AttrKind::Dim, Default::Required)];

/// The target that `cross_entropy` leaves out of loss and mean, PyTorch's default.
const IGNORED_CLASS: f64 = -100.0;

/// Sums and products of integers are kept in 64 bits.
fn accumulator(c: &Call) -> DType {
    c.operands[0].dtype.accumulator()
}

/// PyTorch converts truth values and shorter integers to 64 bits in a kernel of its own before it adds or multiplies them up.
fn widened_first(c: &Call, _: &[&Layout]) -> Work {
    let (own, wide) = (c.operands[0].dtype, accumulator(c));
    if own == wide {
        return Work::NONE;
    }
    let bytes = wide.bytes() as f64 * c.operands[0].numel() as f64;
    Work { bytes_read: bytes, bytes_written: bytes, kernels: 1, ..Work::NONE }
}

/// A reduction over the list `dim` that gives `dtype`. An empty list means "all" to some PyTorch operators and
/// "none" to others, so it is refused.
pub(super) fn reduced(c: &Call, dtype: DType) -> Result<Types, TypeError> {
    let x = c.operands[0];
    let dims = c.dims("dim")?;
    if dims.is_empty() && x.rank() > 0 {
        return Err(c.error("needs a dimension"));
    }
    c.output(dtype, without(&x.shape, &dims, c.bool("keepdim")))
}

fn reduced_float(c: &Call) -> Result<Types, TypeError> {
    c.want_float()?;
    reduced(c, c.operands[0].dtype)
}

pub(super) fn without(shape: &[usize], dims: &[usize], keepdim: bool) -> Shape {
    let kept = |(i, &size): (usize, &usize)| match dims.contains(&i) {
        false => Some(size),
        true => keepdim.then_some(1),
    };
    shape.iter().enumerate().filter_map(kept).collect()
}

/// Calls `visit` with every element that goes into element `index` of a reduction over `dims`.
pub(super) fn gather<T>(
    c: &Call,
    dims: &[usize],
    index: &[usize],
    fetch: &mut FetchAs<T>,
    mut visit: impl FnMut(T),
) -> Result<(), EvalError> {
    let shape = &c.operands[0].shape;
    let axes: SmallVec<[usize; 4]> = (0..shape.len()).filter(|d| dims.contains(d)).collect();
    let keepdim = c.bool("keepdim");
    let mut rest = index.iter();
    let mut next = || rest.next().copied().unwrap_or(0);
    let start: Shape = (0..shape.len())
        .map(|d| match axes.contains(&d) {
            false => next(),
            true => {
                if keepdim {
                    next();
                }
                0
            }
        })
        .collect();
    visit_axes(shape, &axes, &start, |at| {
        visit(fetch(0, at)?);
        Ok(())
    })
}

fn fold(
    c: &Call,
    index: &[usize],
    fetch: &mut Fetch,
    start: impl Into<Number>,
    step: fn(Number, Number) -> Number,
) -> Result<Number, EvalError> {
    let mut total = start.into();
    gather(c, &c.dims("dim").unwrap_or_default(), index, fetch, |x| total = step(total, x))?;
    Ok(total)
}

fn values(c: &Call, index: &[usize], fetch: &mut FetchReal) -> Result<Vec<f64>, EvalError> {
    let mut values = Vec::new();
    gather(c, &c.dims("dim").unwrap_or_default(), index, fetch, |x| values.push(x))?;
    Ok(values)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn variance(values: &[f64], correction: f64) -> f64 {
    if values.is_empty() {
        return f64::NAN;
    }
    let mean = mean(values);
    let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    squares / (values.len() as f64 - correction).max(0.0)
}

/// Truth of any or all elements; PyTorch gives `u8` for `u8`.
fn truth_types(c: &Call) -> Result<Types, TypeError> {
    let dtype = if c.operands[0].dtype == DType::U8 { DType::U8 } else { DType::Bool };
    reduced(c, dtype)
}

/// Libtorch has another kernel for running sums of elements that do not lie side by side.
pub(super) fn scan_kernels(c: &Call, _: &[&Layout]) -> Option<KernelClass> {
    let rank = c.operands.first()?.rank();
    c.dim_axis().first().is_some_and(|&d| d + 1 < rank).then_some(KernelClass::ColumnScan)
}

fn running_types(c: &Call) -> Result<Types, TypeError> {
    c.dim("dim", 0)?;
    c.output(accumulator(c), c.operands[0].shape.clone())
}

fn running(
    c: &Call,
    index: &[usize],
    fetch: &mut Fetch,
    start: i64,
    step: fn(Number, Number) -> Number,
) -> Result<Vec<Number>, EvalError> {
    let mut total = Number::Int(start);
    let mut lane = Vec::new();
    visit_axes(&c.operands[0].shape, &c.dim_axis(), index, |at| {
        total = step(total, fetch(0, at)?);
        lane.push(total);
        Ok(())
    })?;
    Ok(lane)
}

/// PyTorch runs it step by step: the maximum, where it is infinite, the difference, its exponential, the sum, its logarithm, and
/// the maximum once more.
fn log_sum_exp_work(c: &Call, outputs: &[TensorType]) -> Work {
    let mut work = Work::per_input::<TRANSCENDENTAL_FLOPS>(c, outputs);
    let result = work.bytes_written;
    work.bytes_written += 2.0 * work.bytes_read + 5.0 * result;
    work.bytes_read = 4.0 * work.bytes_read + 8.0 * result;
    work.kernels = 9;
    work
}

fn log_sum_exp(values: &[f64]) -> f64 {
    let largest = values.iter().copied().map(Number::float).fold(f64::NEG_INFINITY.into(), Number::max).to_f64();
    // Infinite values must not meet themselves in a difference.
    let shift = if largest.is_finite() { largest } else { 0.0 };
    values.iter().map(|v| (v - shift).exp()).sum::<f64>().ln() + shift
}

fn class_dim(c: &Call) -> usize {
    usize::from(c.operands[0].rank() > 1)
}

fn cross_entropy_types(c: &Call) -> Result<Types, TypeError> {
    let (x, target) = (c.operands[0], c.operands[1]);
    if !x.dtype.is_float() || target.dtype != DType::I64 {
        return Err(c.error(format!("takes floating-point scores and i64 classes, not {x} and {target}")));
    }
    if x.rank() == 0 || x.shape[class_dim(c)] == 0 {
        return Err(c.error(format!("needs a class dimension, which {x} lacks")));
    }
    if without(&x.shape, &[class_dim(c)], false) != target.shape {
        return Err(c.error(format!("needs one class per score vector of {x}, not {target}")));
    }
    match c.str("reduction") {
        "none" => c.output(x.dtype, target.shape.clone()),
        "mean" | "sum" => c.output(x.dtype, Shape::new()),
        other => Err(c.error(format!("knows no reduction {other:?}"))),
    }
}

/// The loss at one place of the target; `None` where the target is ignored.
fn loss(c: &Call, place: &[usize], fetch: &mut FetchReal) -> Result<Option<f64>, EvalError> {
    let class = fetch(1, place)?;
    if class == IGNORED_CLASS {
        return Ok(None);
    }
    let dim = class_dim(c);
    let classes = c.operands[0].shape[dim];
    if !(0.0..classes as f64).contains(&class) {
        return Err(EvalError::IndexOutOfRange);
    }
    let mut at = Shape::from_slice(place);
    at.insert(dim, 0);
    let mut scores = Vec::new();
    for i in 0..classes {
        at[dim] = i;
        scores.push(fetch(0, &at)?);
    }
    // As PyTorch has it: of large scores, the logarithm of the sum alone would leave nothing.
    let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let shift = if largest.is_finite() { largest } else { 0.0 };
    let shifted: Vec<f64> = scores.iter().map(|score| score - shift).collect();
    Ok(Some(log_sum_exp(&shifted) - shifted[class as usize]))
}

fn cross_entropy_element(c: &Call, _: usize, index: &[usize], fetch: &mut FetchReal) -> Result<f64, EvalError> {
    if c.str("reduction") == "none" {
        return Ok(loss(c, index, fetch)?.unwrap_or(0.0));
    }
    let (mut total, mut count) = (0.0, 0.0);
    let shape = &c.operands[1].shape;
    let axes: SmallVec<[usize; 4]> = (0..shape.len()).collect();
    visit_axes(shape, &axes, &Shape::from_elem(0, shape.len()), |place| {
        if let Some(loss) = loss(c, place, fetch)? {
            total += loss;
            count += 1.0;
        }
        Ok(())
    })?;
    Ok(if c.str("reduction") == "mean" { total / count } else { total })
}

/// libtorch takes one dimension at a time: from the last on, so that the others keep their place.
#[cfg(feature = "torch")]
fn product_of_dims(r: &Run) -> Replayed<tch::Tensor> {
    let keep = r.c.bool("keepdim");
    let mut dims: SmallVec<[i64; 4]> = r.c.ints("dim").into();
    dims.sort_unstable_by(|a, b| b.cmp(a));
    let first = dims.first().copied().unwrap_or(0);
    let mut out = r.x()?.f_prod_dim_int(first, keep, None::<tch::Kind>)?;
    for &dim in dims.iter().skip(1) {
        out = out.f_prod_dim_int(dim, keep, None::<tch::Kind>)?;
    }
    Ok(out)
}

/// Bounds of sums over any of the elements of operand 0.
const SUM: Bounds = Bounds {
    range: |r| {
        let (x, n) = (r.x()?, r.call.operands[0].numel() as f64);
        Interval::new(x.low.min(0.0) * n, x.high.max(0.0) * n)
    },
    magnitude: |m| m.of(0) * m.call.operands[0].numel() as f64,
};

fn reduced_support(s: &Supports) -> Option<Dims> {
    let (reduced, keeps) = (s.call.ints("dim"), s.call.bool("keepdim"));
    let all = support::same(s)?.into_iter().enumerate();
    let kept = all.map(|(d, places)| (reduced.contains(&(d as i64)), places));
    Some(kept.filter(|&(gone, _)| keeps || !gone).map(|(gone, places)| if gone { None } else { places }).collect())
}

/// All elements of operand 0 are shared out among the results.
pub(super) fn shares(c: &Call, results: usize) -> usize {
    c.operands.first().map_or(0, |x| x.numel()) / results.max(1)
}

/// What the reductions have in common.
pub(super) const REDUCTION: OpDef = OpDef {
    family: Family::Reduce,
    kernels: KernelClass::Rows,
    operands: X,
    attrs: DIMS,
    work: Work::per_input::<1>,
    reads: shares,
    synthesis: Synthesis::Reduce,
    ..OpDef::PLAIN
};

/// The table entries of this family.
pub(super) static OPS: &[OpDef] = &[
    OpDef {
        name: "sum",
        elements: Elements::Lane(RowFunction::Sum),
        doc: "Sum over `dim`.",
        infer: |c| reduced(c, accumulator(c)),
        kernel: Kernel::Ordered(|c, _, index, fetch| fold(c, index, fetch, Number::ZERO, |a, b| a + b)),
        aten: aten!("sum.dim_IntList", self: X, dim, keepdim),
        replay: torch!(|r| r.x()?.f_sum_dim_intlist(r.c.ints("dim"), r.c.bool("keepdim"), None::<tch::Kind>)?),
        bounds: SUM,
        amplifies: Amplifies::Always,
        vanishes: Vanishes::With { operand: 0, bias: None },
        support: reduced_support,
        further_work: widened_first,
        ..REDUCTION
    },
    OpDef {
        name: "mean",
        elements: Elements::Lane(RowFunction::Mean),
        doc: "Mean over `dim`.",
        infer: reduced_float,
        kernel: Kernel::Real(|c, _, index, fetch| {
            let values = values(c, index, fetch)?;
            // From 0, as PyTorch adds: a sum of Rust begins with -0.
            Ok(values.iter().fold(0.0, |sum, x| sum + x) / values.len() as f64)
        }),
        aten: aten!("mean.dim", self: X, dim, keepdim),
        replay: torch!(|r| r.x()?.f_mean_dim(r.c.ints("dim"), r.c.bool("keepdim"), None::<tch::Kind>)?),
        bounds: Bounds::SAME,
        vanishes: Vanishes::With { operand: 0, bias: None },
        support: reduced_support,
        ..REDUCTION
    },
    OpDef {
        name: "prod",
        elements: Elements::Lane(RowFunction::Product),
        doc: "Product over `dim`.",
        infer: |c| reduced(c, accumulator(c)),
        kernel: Kernel::Ordered(|c, _, index, fetch| fold(c, index, fetch, Number::Int(1), |a, b| a * b)),
        aten: aten!(|c| super::aten_formulas::product_of_all(c)),
        replay: torch!(|r| product_of_dims(r)?),
        amplifies: Amplifies::Always,
        further_work: widened_first,
        ..REDUCTION
    },
    OpDef {
        name: "any",
        elements: Elements::Lane(RowFunction::Other),
        doc: "Whether any element over `dim` is not 0.",
        infer: truth_types,
        kernel: Kernel::Element(|c, _, index, fetch| {
            fold(c, index, fetch, false, |a, b| (a.is_true() || b.is_true()).into())
        }),
        aten: aten!("any.dims", self: X, dim, keepdim),
        replay: torch!(|r| r.x()?.f_any_dims(r.c.ints("dim"), r.c.bool("keepdim"))?),
        ..REDUCTION
    },
    OpDef {
        name: "all",
        elements: Elements::Lane(RowFunction::Other),
        doc: "Whether every element over `dim` is not 0.",
        infer: truth_types,
        kernel: Kernel::Element(|c, _, index, fetch| {
            fold(c, index, fetch, true, |a, b| (a.is_true() && b.is_true()).into())
        }),
        aten: aten!("all.dims", self: X, dim, keepdim),
        replay: torch!(|r| r.x()?.f_all_dims(r.c.ints("dim"), r.c.bool("keepdim"))?),
        ..REDUCTION
    },
    OpDef {
        name: "logsumexp",
        elements: Elements::Lane(RowFunction::LogSumExp),
        doc: "`log(sum(exp(x)))` over `dim`.",
        infer: reduced_float,
        kernel: Kernel::Real(|c, _, index, fetch| Ok(log_sum_exp(&values(c, index, fetch)?))),
        work: log_sum_exp_work,
        aten: aten!("logsumexp", self: X, dim, keepdim),
        replay: torch!(|r| r.x()?.f_logsumexp(r.c.ints("dim"), r.c.bool("keepdim"))?),
        bounds: Bounds {
            range: |r| {
                let (x, n) = (r.x()?, r.call.operands[0].numel() as f64);
                if n == 0.0 { None } else { Interval::new(x.low, x.high + n.ln()) }
            },
            ..Bounds::UNKNOWN
        },
        ..REDUCTION
    },
    OpDef {
        name: "var",
        elements: Elements::Lane(RowFunction::Variance),
        doc: "Variance over `dim`, with the divisor lessened by `correction`.",
        attrs: &[
            attr("dim", AttrKind::Dims, Default::Required),
            attr("correction", AttrKind::Float, Default::Float(1.0)),
            attr("keepdim", AttrKind::Bool, Default::Bool(false)),
        ],
        infer: reduced_float,
        kernel: Kernel::Real(|c, _, index, fetch| Ok(variance(&values(c, index, fetch)?, c.float("correction")))),
        work: Work::per_input::<TRANSCENDENTAL_FLOPS>,
        aten: aten!("var.correction", self: X, dim; correction, keepdim),
        replay: torch!(|r| super::scalars::variance(
            r.x()?,
            r.c.ints("dim"),
            r.c.float("correction"),
            r.c.bool("keepdim")
        )?),
        amplifies: Amplifies::Always,
        bounds: Bounds {
            range: |r| {
                let (x, dims) = (r.x()?, r.call.dims("dim").ok()?);
                // A number has a dim 0 of its own in PyTorch.
                let size = |&d: &usize| r.call.operands[0].shape.get(d).map_or(1.0, |&size| size as f64);
                let n: f64 = dims.iter().map(size).product();
                let divisor = n - r.call.float("correction");
                let spread = x.high - x.low;
                if n > 0.0 && divisor > 0.0 { Interval::new(0.0, spread * spread * n / divisor) } else { None }
            },
            ..Bounds::UNKNOWN
        },
        ..REDUCTION
    },
    OpDef {
        name: "var_mean",
        doc: "Variance and mean over `dim` in one pass, with the divisor of the variance lessened by `correction`.",
        attrs: &[
            attr("dim", AttrKind::Dims, Default::Required),
            attr("correction", AttrKind::Float, Default::Float(1.0)),
            attr("keepdim", AttrKind::Bool, Default::Bool(false)),
        ],
        infer: |c| {
            let each = reduced_float(c)?;
            Ok(each.iter().chain(&each).cloned().collect())
        },
        kernel: Kernel::Real(|c, slot, index, fetch| {
            let values = values(c, index, fetch)?;
            Ok(if slot == 0 { variance(&values, c.float("correction")) } else { mean(&values) })
        }),
        work: Work::per_input::<TRANSCENDENTAL_FLOPS>,
        aten: aten!("var_mean.correction", self: X, dim; correction, keepdim),
        replay: torch!(
            several | r | {
                let (dims, correction, keepdim) = (r.c.ints("dim"), r.c.float("correction"), r.c.bool("keepdim"));
                let mean = r.x()?.f_mean_dim(dims, keepdim, None::<tch::Kind>)?;
                vec![super::scalars::variance(r.x()?, dims, correction, keepdim)?, mean]
            }
        ),
        amplifies: Amplifies::Always,
        ..REDUCTION
    },
    OpDef {
        name: "cumsum",
        elements: Elements::Lane(RowFunction::RunningSum),
        kernels: KernelClass::Scan,
        special_kernels: scan_kernels,
        doc: "Running sum along `dim`.",
        attrs: DIM,
        infer: running_types,
        kernel: Kernel::OrderedLane {
            axes: |c| c.dim_axis(),
            lane: |c, _, index, fetch| running(c, index, fetch, 0, |a, b| a + b),
        },
        aten: aten!("cumsum", self: X, dim),
        replay: torch!(|r| r.x()?.f_cumsum(r.c.int("dim"), None::<tch::Kind>)?),
        bounds: SUM,
        amplifies: Amplifies::Always,
        synthesis: Synthesis::Broadcast,
        support: |s| s.all_along(s.call.size("dim")),
        further_work: widened_first,
        ..REDUCTION
    },
    OpDef {
        name: "cumprod",
        elements: Elements::Lane(RowFunction::RunningProduct),
        kernels: KernelClass::Scan,
        special_kernels: scan_kernels,
        doc: "Running product along `dim`.",
        attrs: DIM,
        infer: running_types,
        kernel: Kernel::OrderedLane {
            axes: |c| c.dim_axis(),
            lane: |c, _, index, fetch| running(c, index, fetch, 1, |a, b| a * b),
        },
        aten: aten!("cumprod", self: X, dim),
        replay: torch!(|r| r.x()?.f_cumprod(r.c.int("dim"), None::<tch::Kind>)?),
        amplifies: Amplifies::Always,
        synthesis: Synthesis::Broadcast,
        further_work: widened_first,
        ..REDUCTION
    },
    OpDef {
        name: "cross_entropy",
        doc: "`-log_softmax(x)` at the target classes (class dimension 1, or 0 for a vector); `reduction` is \"mean\", \"sum\" or \"none\". \
              A target of -100 is left out, as in PyTorch.",
        operands: &[one("x"), one("target")],
        attrs: &[attr("reduction", AttrKind::Str, Default::Str("mean"))],
        infer: cross_entropy_types,
        kernel: Kernel::Real(cross_entropy_element),
        work: Work::per_input::<TRANSCENDENTAL_FLOPS>,
        aten: aten!(|c| super::aten_formulas::cross_entropy_call(c)),
        replay: torch!(|r| {
            let reduction = match r.c.str("reduction") {
                "mean" => tch::Reduction::Mean,
                "sum" => tch::Reduction::Sum,
                _ => tch::Reduction::None,
            };
            let ignored = IGNORED_CLASS as i64;
            r.x()?.f_cross_entropy_loss(r.y()?, None::<&tch::Tensor>, reduction, ignored, 0.0)?
        }),
        synthesis: Synthesis::ClassLoss,
        asks: |c| vec![(1, Ask::Below(c.extent(0, class_dim(c))))],
        ..REDUCTION
    },
];
