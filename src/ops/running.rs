//! Medians, running extremes, running sums of exponentials, distances between all pairs, bags of embeddings.

use smallvec::smallvec;

use super::index::{check_positions, compare, position};
use super::shapes::{broadcast, broadcast_index, visit_axes};
use super::{
    Ask, AttrKind, Call, Default, Elements, EvalError, Family, Fetch, FetchReal, Kernel, KernelClass, OpDef,
    RowFunction, TypeError, Types, Unit, Work, attr, one,
};
use crate::ir::{DType, Number, Shape, TensorType};

fn median_types(c: &Call) -> Result<Types, TypeError> {
    c.refuse_bool()?;
    let (dim, size) = c.sized_dim()?;
    if size == 0 {
        return Err(c.error(format!("has no value for no elements of {}", c.operands[0])));
    }
    let mut shape = c.operands[0].shape.clone();
    if c.bool("keepdim") {
        shape[dim] = 1;
    } else {
        shape.remove(dim);
    }
    c.output(c.operands[0].dtype, shape)
}

/// The lower one of two in the middle; NaN if any is.
fn median(c: &Call, _: usize, index: &[usize], fetch: &mut Fetch) -> Result<Number, EvalError> {
    let dim = c.size("dim");
    let mut at = Shape::from_slice(index);
    if !c.bool("keepdim") {
        at.insert(dim, 0);
    }
    let mut all = Vec::new();
    visit_axes(&c.operands[0].shape, &[dim], &at, |at| {
        all.push(fetch(0, at)?);
        Ok(())
    })?;
    if let Some(nan) = all.iter().find(|v| v.is_nan()) {
        return Ok(*nan);
    }
    all.sort_by(|&a, &b| compare(a, b));
    all.get((all.len().max(1) - 1) / 2).copied().ok_or(EvalError::IndexOutOfRange)
}

fn extreme_types(c: &Call) -> Result<Types, TypeError> {
    c.sized_dim()?;
    let x = c.operands[0].clone();
    let places = TensorType::new(DType::I64, x.shape.clone()).map_err(|e| c.error(e.to_string()))?;
    Ok(smallvec![x, places])
}

/// The running extreme and its place: the last of equal ones, and of NaN.
fn running_extreme(c: &Call, slot: usize, index: &[usize], fetch: &mut Fetch) -> Result<Vec<Number>, EvalError> {
    let mut lane = Vec::new();
    let mut best: Option<(Number, i64)> = None;
    visit_axes(&c.operands[0].shape, &c.dim_axis(), index, |at| {
        let x = fetch(0, at)?;
        let replaces = |old: Number| match c.op.name {
            "cummax" => !old.is_above(x),
            _ => !x.is_above(old),
        };
        if best.is_none_or(|(old, _)| x.is_nan() || (!old.is_nan() && replaces(old))) {
            best = Some((x, lane.len() as i64));
        }
        let (value, place) = best.unwrap_or((x, 0));
        lane.push(if slot == 0 { value } else { Number::Int(place) });
        Ok(())
    })?;
    Ok(lane)
}

/// The logarithm of a running sum of exponentials.
fn running_logarithm(c: &Call, _: usize, index: &[usize], fetch: &mut FetchReal) -> Result<Vec<f64>, EvalError> {
    let mut lane: Vec<f64> = Vec::new();
    visit_axes(&c.operands[0].shape, &c.dim_axis(), index, |at| {
        let x = fetch(0, at)?;
        let sum = match lane.last() {
            None => x,
            Some(&sum) if sum == x && x.is_infinite() => x,
            Some(&sum) if sum.is_nan() || x.is_nan() => f64::NAN,
            Some(&sum) => sum.max(x) + (sum.min(x) - sum.max(x)).exp().ln_1p(),
        };
        lane.push(sum);
        Ok(())
    })?;
    Ok(lane)
}

fn distance_types(c: &Call) -> Result<Types, TypeError> {
    c.want_float()?;
    let (x, y, p) = (c.operands[0], c.operands[1], c.float("p"));
    let dtype = c.same_dtype(0..2)?;
    let wrong = || c.error(format!("measures no distances between {x} and {y}"));
    let ([bx @ .., rows, m], [by @ .., columns, n]) = (&x.shape[..], &y.shape[..]) else { return Err(wrong()) };
    if m != n || *m == 0 || !(p == 0.0 || p >= 1.0) || !matches!(dtype, DType::F32 | DType::F64) {
        return Err(wrong());
    }
    let mut shape = broadcast(bx, by).ok_or_else(wrong)?;
    shape.extend([*rows, *columns]);
    c.output(dtype, shape)
}

fn distance(c: &Call, _: usize, index: &[usize], fetch: &mut FetchReal) -> Result<f64, EvalError> {
    let (batch, ends) = index.split_at(index.len() - 2);
    let row = |i: usize| {
        let shape = &c.operands[i].shape;
        let mut at = broadcast_index(&shape[..shape.len() - 2], batch);
        at.extend([ends[i], 0]);
        at
    };
    let (mut a, mut b) = (row(0), row(1));
    let (p, last) = (c.float("p"), a.len() - 1);
    let other = b.len() - 1;
    let mut sum: f64 = 0.0;
    for i in 0..c.operands[0].shape[last] {
        (a[last], b[other]) = (i, i);
        let far = (fetch(0, &a)? - fetch(1, &b)?).abs();
        sum = match p {
            0.0 => sum + f64::from(u8::from(far != 0.0)),
            f64::INFINITY => {
                if far.is_nan() || far > sum {
                    far
                } else {
                    sum
                }
            }
            1.0 => sum + far,
            2.0 => sum + far * far,
            _ => sum + far.powf(p),
        };
    }
    Ok(match p {
        0.0 | 1.0 | f64::INFINITY => sum,
        2.0 => sum.sqrt(),
        _ => sum.powf(1.0 / p),
    })
}

fn bag_types(c: &Call) -> Result<Types, TypeError> {
    let (weight, indices, offsets) = (c.operands[0], c.operands[1], c.operands[2]);
    check_positions(c, indices)?;
    check_positions(c, offsets)?;
    c.same_dtype(1..3)?;
    let known = matches!(c.str("mode"), "sum" | "mean");
    let ranks = weight.rank() == 2 && indices.rank() == 1 && offsets.rank() == 1;
    if !known || !ranks || offsets.numel() == 0 || !matches!(weight.dtype, DType::F32 | DType::F64) {
        return Err(c.error(format!("takes rows, places and starts, not {weight}, {indices} and {offsets}")));
    }
    c.output(weight.dtype, Shape::from_slice(&[offsets.shape[0], weight.shape[1]]))
}

/// The rows from the bag's start up to that of the next one. PyTorch takes starts from 0 on that never go back.
fn bag(c: &Call, _: usize, index: &[usize], fetch: &mut FetchReal) -> Result<f64, EvalError> {
    let (count, bags) = (c.operands[1].shape[0], c.operands[2].shape[0]);
    let mut start = |bag: usize| match bag {
        _ if bag == bags => Ok(count),
        _ => position(Number::float(fetch(2, &[bag])?), count + 1, false),
    };
    let (first, from, to) = (start(0)?, start(index[0])?, start(index[0] + 1)?);
    if first != 0 || from > to {
        return Err(EvalError::IndexOutOfRange);
    }
    let mut sum = 0.0;
    for i in from..to {
        let row = position(Number::float(fetch(1, &[i])?), c.operands[0].shape[0], false)?;
        sum += fetch(0, &[row, index[1]])?;
    }
    Ok(if c.str("mode") == "mean" { sum / (to - from).max(1) as f64 } else { sum })
}

/// What the operators here have in common.
const RUNNING: OpDef = OpDef {
    family: Family::Reduce,
    kernels: KernelClass::Scan,
    operands: &[one("x")],
    attrs: &[attr("dim", AttrKind::Dim, Default::Required)],
    infer: extreme_types,
    work: Work::per_input::<1>,
    reads: super::reduce::shares,
    ..OpDef::PLAIN
};

/// These table entries of the reduction family.
pub(super) static OPS: &[OpDef] = &[
    OpDef {
        name: "median",
        kernels: KernelClass::Order,
        doc: "The element in the middle along `dim`, the lower one of two; NaN if any is.",
        attrs: &[attr("dim", AttrKind::Dim, Default::Required), attr("keepdim", AttrKind::Bool, Default::Bool(false))],
        infer: median_types,
        kernel: Kernel::Element(median),
        aten: aten!(|c| super::aten_formulas::median_call(c)),
        replay: torch!(|r| r.x()?.f_median_dim(r.c.int("dim"), r.c.bool("keepdim"))?.0),
        ..RUNNING
    },
    OpDef {
        name: "cummax",
        places: Some(1),
        elements: Elements::Lane(RowFunction::RunningMax),
        special_kernels: super::reduce::scan_kernels,
        doc: "The largest element so far along `dim`, and its place: the last one of equal ones.",
        kernel: Kernel::Lane { axes: |c| c.dim_axis(), lane: running_extreme },
        aten: aten!("cummax", self: X, dim),
        replay: torch!(
            several | r | {
                let (values, places) = r.x()?.f_cummax(r.c.int("dim"))?;
                vec![values, places]
            }
        ),
        ..RUNNING
    },
    OpDef {
        name: "cummin",
        places: Some(1),
        elements: Elements::Lane(RowFunction::RunningMin),
        special_kernels: super::reduce::scan_kernels,
        doc: "The smallest element so far along `dim`, and its place: the last one of equal ones.",
        kernel: Kernel::Lane { axes: |c| c.dim_axis(), lane: running_extreme },
        aten: aten!("cummin", self: X, dim),
        replay: torch!(
            several | r | {
                let (values, places) = r.x()?.f_cummin(r.c.int("dim"))?;
                vec![values, places]
            }
        ),
        ..RUNNING
    },
    OpDef {
        name: "logcumsumexp",
        special_kernels: super::reduce::scan_kernels,
        doc: "The logarithm of the sum of exponentials so far along `dim`.",
        infer: |c| {
            c.want_float()?;
            c.sized_dim()?;
            c.output(c.operands[0].dtype, c.operands[0].shape.clone())
        },
        kernel: Kernel::RealLane { axes: |c| c.dim_axis(), lane: running_logarithm },
        aten: aten!("logcumsumexp", self: X, dim),
        replay: torch!(|r| r.x()?.f_logcumsumexp(r.c.int("dim"))?),
        ..RUNNING
    },
    OpDef {
        name: "cdist",
        kernels: KernelClass::Rows,
        doc: "The lengths of order `p` of the differences of all pairs of rows.",
        operands: &[one("x"), one("y")],
        attrs: &[attr("p", AttrKind::Float, Default::Float(2.0))],
        infer: distance_types,
        kernel: Kernel::Real(distance),
        work: |c, outputs| {
            let steps = c.operands[0].shape.last().map_or(0.0, |&n| 3.0 * n as f64);
            Work::streaming(c, outputs, steps * outputs.iter().map(|t| t.numel() as f64).sum::<f64>(), Unit::Vector)
        },
        aten: aten!("cdist", x1: X, x2: Y, p),
        replay: torch!(|r| tch::Tensor::f_cdist(r.x()?, r.y()?, r.c.float("p"), None::<i64>)?),
        ..RUNNING
    },
    OpDef {
        name: "embedding_bag",
        doc: "The rows of `weight` that `indices` names, reduced in bags that start at `offsets`; `mode` is \"sum\" or \"mean\", \
              and an empty bag gives 0.",
        operands: &[one("weight"), one("indices"), one("offsets")],
        attrs: &[attr("mode", AttrKind::Str, Default::Str("sum"))],
        family: Family::Index,
        kernels: KernelClass::Gather,
        reads: |_, _| 0,
        infer: bag_types,
        asks: |c| vec![(0, Ask::Table), (1, Ask::Below(c.extent(0, 0))), (2, Ask::Starts(c.operands[1].numel()))],
        kernel: Kernel::Real(bag),
        work: |c, outputs| {
            let read = c.operands[1].numel() as f64 * c.operands[0].shape.last().map_or(0.0, |&n| n as f64);
            let bytes = read * c.operands[0].dtype.bytes() as f64;
            Work { bytes_read: bytes, ..Work::streaming(c, outputs, read, Unit::Vector) }
        },
        aten: aten!(|c| super::aten_formulas::bag_call(c)),
        replay: torch!(|r| {
            let mode = i64::from(r.c.str("mode") == "mean");
            let (bags, weights) = (r.operand(2)?, None::<&tch::Tensor>);
            tch::Tensor::f_embedding_bag(r.x()?, r.y()?, bags, false, mode, false, weights, false)?.0
        }),
        ..RUNNING
    },
];
