//! Convolutions and pooling.

use std::ops::Range;

use smallvec::SmallVec;

use super::shapes::visit_axes;
use super::{
    Ask, AttrDef, AttrKind, Bounds, Call, Default, Digits, Dims, Elements, EvalError, Family, FetchReal, Interval,
    Kernel, KernelClass, Moved, OpDef, OperandDef, Ranges, Renumbering, Supports, Synthesis, TypeError, Types, Unit,
    Work, attr, one, optional, support,
};
use crate::ir::{Layout, Shape, TensorType};

const CONV: &[OperandDef] = &[one("x"), one("w"), optional("b")];
const CONV_ATTRS: &[AttrDef] = &[
    attr("stride", AttrKind::Ints, Default::Required),
    attr("padding", AttrKind::Ints, Default::Required),
    attr("dilation", AttrKind::Ints, Default::Required),
    attr("groups", AttrKind::Int, Default::Int(1)),
];

/// How a window moves along one spatial dimension.
#[derive(Clone, Copy)]
pub(super) struct Axis {
    pub input: usize,
    pub kernel: i64,
    pub stride: i64,
    pub padding: i64,
    pub dilation: i64,
}

impl Axis {
    /// Cells that a window spans, or `None` where a size is out of range.
    fn span(self) -> Option<i128> {
        let sane = self.kernel > 0 && self.stride > 0 && self.padding >= 0 && self.dilation > 0;
        sane.then(|| i128::from(self.dilation) * (i128::from(self.kernel) - 1) + 1)
    }

    /// Windows along the dimension; `None` if there is none.
    pub(super) fn windows(self, ceil: bool) -> Option<usize> {
        let (input, padding, stride) = (self.input as i128, i128::from(self.padding), i128::from(self.stride));
        let room = input + 2 * padding - self.span()?;
        let mut count = (if ceil { room + stride - 1 } else { room }).div_euclid(stride) + 1;
        // A last partial window must start inside of the input or its left padding.
        if ceil && (count - 1) * stride >= input + padding {
            count -= 1;
        }
        usize::try_from(count).ok().filter(|&count| count > 0)
    }

    /// The taps of window `window` that lie on the input. The others lie in the padding, and there may be too many
    /// of them to step over.
    pub(super) fn taps(self, window: usize) -> Range<usize> {
        let (first, dilation) = (self.first(window), i128::from(self.dilation));
        let steps_to = |cell: i128| (cell - first + dilation - 1) / dilation;
        let low = if first < 0 { steps_to(0) } else { 0 };
        let high = if first < self.input as i128 { steps_to(self.input as i128) } else { 0 };
        let clamp = |tap: i128| usize::try_from(tap.min(i128::from(self.kernel))).unwrap_or(0);
        clamp(low).min(clamp(high))..clamp(high)
    }

    /// The cell under tap 0 of window `window`: negative in the padding.
    pub(super) fn first(self, window: usize) -> i128 {
        window as i128 * i128::from(self.stride) - i128::from(self.padding)
    }

    /// Cells of window `window` that lie on the input or its padding: a last partial window goes beyond.
    fn covered(self, window: usize) -> i128 {
        let first = self.first(window);
        (first + i128::from(self.kernel)).min(self.input as i128 + i128::from(self.padding)) - first
    }

    /// The input cell under one of the [`Axis::taps`].
    pub(super) fn cell(self, window: usize, tap: usize) -> usize {
        usize::try_from(self.first(window) + tap as i128 * i128::from(self.dilation)).unwrap_or(0)
    }
}

/// The window of spatial dimension `d`, whose kernel size is given. Attributes that an operator lacks read as `missing`.
pub(super) fn axis(c: &Call, d: usize, kernel: i64) -> Axis {
    let read = |name: &str, missing: i64| match c.op.attr_index(name) {
        Some(_) => c.ints(name).get(d).copied().unwrap_or(0),
        None => missing,
    };
    Axis {
        input: c.operands[0].shape.get(2 + d).copied().unwrap_or(0),
        kernel,
        stride: read("stride", 1),
        padding: read("padding", 0),
        dilation: read("dilation", 1),
    }
}

pub(super) fn check_lengths(c: &Call, names: &[&str], rank: usize) -> Result<(), TypeError> {
    match names.iter().find(|n| c.ints(n).len() != rank) {
        Some(name) => Err(c.error(format!("needs {rank} numbers as `{name}`"))),
        None => Ok(()),
    }
}

fn conv_types(c: &Call, spatial: usize) -> Result<Types, TypeError> {
    c.want_float()?;
    let dtype = c.same_dtype(0..c.operands.len())?;
    let (x, w) = (c.operands[0], c.operands[1]);
    check_lengths(c, &["stride", "padding", "dilation"], spatial)?;
    let empty = w.shape.contains(&0) || x.shape.iter().skip(2).any(|&d| d == 0);
    if x.rank() != spatial + 2 || w.rank() != spatial + 2 || empty {
        return Err(c.error(format!("cannot convolve {x} with {w}")));
    }
    let groups = usize::try_from(c.int("groups")).ok().filter(|&g| g > 0 && w.shape[0].is_multiple_of(g));
    if groups.and_then(|g| w.shape[1].checked_mul(g)) != Some(x.shape[1]) {
        return Err(c.error(format!("cannot convolve {x} with {w} in {} groups", c.int("groups"))));
    }
    if let Some(b) = c.operands.get(2)
        && b.shape[..] != w.shape[..1]
    {
        return Err(c.error(format!("needs a bias of {} elements, not {b}", w.shape[0])));
    }
    let mut shape = Shape::from_slice(&[x.shape[0], w.shape[0]]);
    for d in 0..spatial {
        let windows = axis(c, d, w.shape[2 + d] as i64).windows(false);
        shape.push(windows.ok_or_else(|| c.error(format!("fits no window of {w} into {x}")))?);
    }
    c.output(dtype, shape)
}

/// Where the filter of one element of a convolution's result lies on the input.
pub struct Footprint {
    axes: SmallVec<[Axis; 2]>,
    first: usize,
    index: Shape,
}

impl Footprint {
    /// For element `index` of a call of a convolution.
    pub fn new(c: &Call, index: &[usize]) -> Self {
        let w = c.operands[1];
        let out_per_group = w.shape[0] / c.size("groups").max(1);
        Footprint {
            axes: (0..w.rank() - 2).map(|d| axis(c, d, w.shape[2 + d] as i64)).collect(),
            first: index[1] / out_per_group.max(1) * w.shape[1],
            index: index.into(),
        }
    }

    /// The channel of the input that channel 0 of the filter reads.
    pub fn first_channel(&self) -> usize {
        self.first
    }

    /// The element of the input under one of the filter's, given as an index into all filters. `None` in the padding.
    pub fn cell(&self, tap: &[usize]) -> Option<Shape> {
        let mut cell = Shape::from_slice(&[self.index[0], self.first + tap[1]]);
        for (d, axis) in self.axes.iter().enumerate() {
            let window = self.index[2 + d];
            if !axis.taps(window).contains(&tap[2 + d]) {
                return None;
            }
            cell.push(axis.cell(window, tap[2 + d]));
        }
        Some(cell)
    }
}

fn conv_element(c: &Call, _: usize, index: &[usize], fetch: &mut FetchReal) -> Result<f64, EvalError> {
    let w = c.operands[1];
    let mut sum = match c.operands.get(2) {
        Some(_) => fetch(2, &index[1..2])?,
        None => 0.0,
    };
    let footprint = Footprint::new(c, index);
    let taps: SmallVec<[Range<usize>; 2]> =
        footprint.axes.iter().zip(&index[2..]).map(|(a, &window)| a.taps(window)).collect();
    // Channels of the group, then taps of each spatial dimension.
    let steps: Shape = std::iter::once(w.shape[1]).chain(taps.iter().map(Range::len)).collect();
    let all: SmallVec<[usize; 4]> = (0..steps.len()).collect();
    let mut tap = Shape::from_elem(index[1], w.rank());
    visit_axes(&steps, &all, &Shape::from_elem(0, steps.len()), |step| {
        tap[1] = step[0];
        for (d, range) in taps.iter().enumerate() {
            tap[2 + d] = range.start + step[1 + d];
        }
        if let Some(cell) = footprint.cell(&tap) {
            sum += fetch(0, &cell)? * fetch(1, &tap)?;
        }
        Ok(())
    })?;
    Ok(sum)
}

fn conv_work(c: &Call, outputs: &[TensorType]) -> Work {
    let taps: f64 = c.operands[1].shape[1..].iter().map(|&d| d as f64).product();
    let elements: f64 = outputs.iter().map(|t| t.numel() as f64).sum();
    let mut work = Work::streaming(c, outputs, 2.0 * elements * taps, Unit::Matrix);
    // Steps wider than the filter leave places out.
    let seen = |(&size, &stride): (&usize, &i64)| (size as f64 / stride.max(1) as f64).min(1.0);
    let seen: f64 = c.operands[1].shape.iter().skip(2).zip(c.ints("stride")).map(seen).product();
    work.bytes_read -= (1.0 - seen) * c.operands[0].bytes() as f64;
    // PyTorch adds the bias by a kernel of its own behind that of cuDNN.
    if c.operands.len() > 2 && filter_kernels(c, &[]) != Some(KernelClass::Depthwise) {
        work.kernels += 1;
        work.bytes_read += work.bytes_written;
        work.bytes_written *= 2.0;
    }
    work
}

fn pool_types(c: &Call, spatial: usize) -> Result<Types, TypeError> {
    c.want_float()?;
    let x = c.operands[0];
    check_lengths(c, &["kernel_size", "stride", "padding"], spatial)?;
    if c.op.attr_index("dilation").is_some() {
        check_lengths(c, &["dilation"], spatial)?;
    }
    if x.rank() != spatial + 2 || x.shape[1..].contains(&0) {
        return Err(c.error(format!("takes non-empty images, not {x}")));
    }
    let mut shape = Shape::from_slice(&x.shape[..2]);
    for (d, &kernel) in c.ints("kernel_size").iter().enumerate() {
        let axis = axis(c, d, kernel);
        let padded = axis.padding <= kernel / 2;
        // PyTorch has no averages of solids that are smaller than a window.
        let fits = padded && (c.op.name != "avg_pool3d" || axis.input as i128 >= i128::from(kernel));
        let windows = axis.windows(c.bool("ceil_mode")).filter(|_| fits);
        shape.push(windows.ok_or_else(|| c.error(format!("fits no window into dimension {} of {x}", d + 2)))?);
    }
    c.output(x.dtype, shape)
}

/// The window of each spatial dimension of a pooling operator.
fn pool_axes(c: &Call) -> SmallVec<[Axis; 3]> {
    c.ints("kernel_size").iter().enumerate().map(|(d, &kernel)| axis(c, d, kernel)).collect()
}

/// Calls `visit` with every element under window `index`.
fn visit_window(c: &Call, index: &[usize], fetch: &mut FetchReal, mut visit: impl FnMut(f64)) -> Result<(), EvalError> {
    let axes = pool_axes(c);
    let taps: SmallVec<[Range<usize>; 3]> = axes.iter().zip(&index[2..]).map(|(a, &window)| a.taps(window)).collect();
    let steps: Shape = taps.iter().map(Range::len).collect();
    let all: SmallVec<[usize; 4]> = (0..steps.len()).collect();
    let mut cell = Shape::from_slice(index);
    visit_axes(&steps, &all, &Shape::from_elem(0, steps.len()), |step| {
        for (d, axis) in axes.iter().enumerate() {
            cell[2 + d] = axis.cell(index[2 + d], taps[d].start + step[d]);
        }
        visit(fetch(0, &cell)?);
        Ok(())
    })
}

fn largest(c: &Call, _: usize, index: &[usize], fetch: &mut FetchReal) -> Result<f64, EvalError> {
    let mut best = f64::NEG_INFINITY;
    visit_window(c, index, fetch, |x| {
        if x.is_nan() || x > best {
            best = x;
        }
    })?;
    Ok(best)
}

fn average(c: &Call, _: usize, index: &[usize], fetch: &mut FetchReal) -> Result<f64, EvalError> {
    let (mut sum, mut seen) = (0.0, 0.0);
    visit_window(c, index, fetch, |x| {
        sum += x;
        seen += 1.0;
    })?;
    let covered = || pool_axes(c).iter().zip(&index[2..]).map(|(a, &window)| a.covered(window) as f64).product();
    Ok(sum / if c.bool("count_include_pad") { covered() } else { seen })
}

/// A window may be larger than the image, of which it then reads all.
fn window_elements(c: &Call) -> usize {
    let taps = c.ints("kernel_size").iter().zip(&c.operands[0].shape[2..]);
    taps.map(|(&kernel, &size)| size.min(kernel as usize)).product()
}

fn pool_work(c: &Call, outputs: &[TensorType]) -> Work {
    let elements: f64 = outputs.iter().map(|t| t.numel() as f64).sum();
    Work::streaming(c, outputs, elements * window_elements(c) as f64, Unit::Vector)
}

const MAX_POOL: &[AttrDef] = &[
    attr("kernel_size", AttrKind::Ints, Default::Required),
    attr("stride", AttrKind::Ints, Default::Required),
    attr("padding", AttrKind::Ints, Default::Required),
    attr("dilation", AttrKind::Ints, Default::Required),
    attr("ceil_mode", AttrKind::Bool, Default::Bool(false)),
];
const AVG_POOL: &[AttrDef] = &[
    attr("kernel_size", AttrKind::Ints, Default::Required),
    attr("stride", AttrKind::Ints, Default::Required),
    attr("padding", AttrKind::Ints, Default::Required),
    attr("ceil_mode", AttrKind::Bool, Default::Bool(false)),
    attr("count_include_pad", AttrKind::Bool, Default::Bool(true)),
];

fn convolution_range(r: &Ranges) -> Option<Interval> {
    let taps: f64 = r.call.operands[1].shape.iter().skip(1).map(|&d| d as f64).product();
    let sum = r.x()?.sum_of_products(r.y()?, taps)?;
    if r.known.len() > 2 { sum.plus(r.of(2)?) } else { Some(sum) }
}

/// Only whole filters are left out.
fn convolution_support(s: &Supports) -> Option<Dims> {
    let w = s.operand(1)?;
    if !s.is_finite() {
        return None;
    }
    let channels = match s.operands.get(2) {
        Some(bias) => support::joined(w.dim(0), bias.broadcast(&w.ty.shape[..1])[0].clone()),
        None => w.dim(0),
    };
    Some((0..s.ty.rank()).map(|d| if d == 1 { channels.clone() } else { None }).collect())
}

/// Images by themselves, and filters by themselves where all of them read the same channels.
fn filter_digits(r: &Renumbering) -> Option<Digits> {
    let operands = 0..r.call.operands.len();
    match r.dim() {
        0 => Some(r.first(0)),
        1 if r.call.int("groups") == 1 => Some(r.dims(operands.map(|i| (i > 0).then_some(0)))),
        _ => None,
    }
}

/// The places that a filter reaches over.
pub(super) fn filter_places(c: &Call) -> usize {
    c.operands[1].shape.iter().skip(2).product()
}

/// Filters of a part of the channels, or of one place, have kernels of their own.
pub(super) fn filter_kernels(c: &Call, _: &[&Layout]) -> Option<KernelClass> {
    let channels = c.operands[0].shape.get(1).copied()?;
    let is_everywhere = c.ints("stride").iter().all(|s| *s == 1) && c.ints("padding").iter().all(|p| *p == 0);
    match c.int("groups") {
        _ if channels <= 1 => None,
        groups if groups == channels as i64 => Some(KernelClass::Depthwise),
        groups if groups > 1 => Some(KernelClass::Grouped),
        _ => (filter_places(c) == 1 && is_everywhere).then_some(KernelClass::Pointwise),
    }
}

/// What the convolutions have in common.
const CONVOLUTION: OpDef = OpDef {
    family: Family::Conv,
    kernels: KernelClass::Convolution,
    special_kernels: filter_kernels,
    window: filter_places,
    operands: CONV,
    attrs: CONV_ATTRS,
    kernel: Kernel::Real(conv_element),
    work: conv_work,
    bounds: Bounds { range: convolution_range, ..Bounds::UNKNOWN },
    support: convolution_support,
    asks: |_| vec![(1, Ask::Weight { batch: 0 })],
    ..OpDef::PLAIN
};

/// What the pooling operators have in common.
const POOL: OpDef = OpDef {
    family: Family::Conv,
    kernels: KernelClass::Window,
    window: window_elements,
    operands: &[one("x")],
    work: pool_work,
    reads: |c, _| window_elements(c),
    bounds: Bounds::NO_LARGER,
    ..OpDef::PLAIN
};

/// The call of a convolution of libtorch.
macro_rules! convolved {
    ($method:ident) => {
        torch!(|r| {
            let (stride, padding, dilation) = (r.c.ints("stride"), r.c.ints("padding"), r.c.ints("dilation"));
            r.x()?.$method(r.y()?, r.given(2), stride, padding, dilation, r.c.int("groups"))?
        })
    };
}

/// The call of a maximum pool of libtorch.
macro_rules! largest {
    ($method:ident) => {
        torch!(|r| {
            let (stride, padding, dilation) = (r.c.ints("stride"), r.c.ints("padding"), r.c.ints("dilation"));
            r.x()?.$method(r.c.ints("kernel_size"), stride, padding, dilation, r.c.bool("ceil_mode"))?
        })
    };
}

/// The call of a mean pool of libtorch.
macro_rules! averaged {
    ($method:ident) => {
        torch!(|r| {
            let (size, stride, padding) = (r.c.ints("kernel_size"), r.c.ints("stride"), r.c.ints("padding"));
            let (ceil, counts) = (r.c.bool("ceil_mode"), r.c.bool("count_include_pad"));
            r.x()?.$method(size, stride, padding, ceil, counts, None::<i64>)?
        })
    };
}

/// The table entries of this family.
pub(super) static OPS: &[OpDef] = &[
    OpDef {
        name: "conv1d",
        elements: Elements::Convolution,
        digits: filter_digits,
        doc: "Cross-correlation of (batch, channel, length) with (out, channel / groups, length).",
        infer: |c| conv_types(c, 1),
        aten: aten!("conv1d", input: X, weight: Y, bias: Given(2), stride, padding, dilation, groups),
        replay: convolved!(f_conv1d),
        synthesis: Synthesis::Convolve { spatial: 1 },
        ..CONVOLUTION
    },
    OpDef {
        name: "conv2d",
        elements: Elements::Convolution,
        digits: filter_digits,
        doc: "Cross-correlation of (batch, channel, height, width) with (out, channel / groups, height, width).",
        infer: |c| conv_types(c, 2),
        aten: aten!("conv2d", input: X, weight: Y, bias: Given(2), stride, padding, dilation, groups),
        replay: convolved!(f_conv2d),
        synthesis: Synthesis::Convolve { spatial: 2 },
        ..CONVOLUTION
    },
    OpDef {
        name: "conv3d",
        elements: Elements::Convolution,
        digits: filter_digits,
        doc: "Cross-correlation with three spatial dimensions.",
        infer: |c| conv_types(c, 3),
        aten: aten!("conv3d", input: X, weight: Y, bias: Given(2), stride, padding, dilation, groups),
        replay: convolved!(f_conv3d),
        synthesis: Synthesis::Convolve { spatial: 3 },
        ..CONVOLUTION
    },
    OpDef {
        name: "max_pool2d",
        doc: "Largest element under each window of (batch, channel, height, width); padding never wins.",
        attrs: MAX_POOL,
        infer: |c| pool_types(c, 2),
        kernel: Kernel::Real(largest),
        aten: aten!("max_pool2d", self: X, kernel_size, stride, padding, dilation, ceil_mode),
        replay: largest!(f_max_pool2d),
        synthesis: Synthesis::Pool,
        ..POOL
    },
    OpDef {
        name: "max_pool3d",
        doc: "Largest element under each window with three spatial dimensions; padding never wins.",
        attrs: MAX_POOL,
        infer: |c| pool_types(c, 3),
        kernel: Kernel::Real(largest),
        aten: aten!("max_pool3d", self: X, kernel_size, stride, padding, dilation, ceil_mode),
        replay: largest!(f_max_pool3d),
        ..POOL
    },
    OpDef {
        name: "avg_pool2d",
        elements: Elements::Weighted(Moved::All),
        digits: |r| r.same_if(r.dim() + 2 < r.result.rank()),
        doc: "Mean under each window of (batch, channel, height, width); padding counts as 0, or not at all.",
        attrs: AVG_POOL,
        infer: |c| pool_types(c, 2),
        kernel: Kernel::Real(average),
        aten: aten!("avg_pool2d", self: X, kernel_size, stride, padding, ceil_mode, count_include_pad),
        replay: averaged!(f_avg_pool2d),
        synthesis: Synthesis::Pool,
        ..POOL
    },
    OpDef {
        name: "avg_pool3d",
        elements: Elements::Weighted(Moved::All),
        digits: |r| r.same_if(r.dim() + 3 < r.result.rank()),
        doc: "Mean under each window with three spatial dimensions; padding counts as 0, or not at all.",
        attrs: AVG_POOL,
        infer: |c| pool_types(c, 3),
        kernel: Kernel::Real(average),
        aten: aten!("avg_pool3d", self: X, kernel_size, stride, padding, ceil_mode, count_include_pad),
        replay: averaged!(f_avg_pool3d),
        ..POOL
    },
];
