//! Transposed convolutions: every element of the input adds a filter to the output.

use smallvec::SmallVec;

use super::conv::{filter_kernels, filter_places};
use super::{
    AttrDef, AttrKind, Call, Default, Elements, EvalError, Family, FetchReal, Kernel, KernelClass, OpDef, TypeError,
    Types, Unit, Work, attr, one, optional,
};
use crate::ir::{Shape, TensorType};

const ATTRS: &[AttrDef] = &[
    attr("stride", AttrKind::Ints, Default::Required),
    attr("padding", AttrKind::Ints, Default::Required),
    attr("output_padding", AttrKind::Ints, Default::Required),
    attr("dilation", AttrKind::Ints, Default::Required),
    attr("groups", AttrKind::Int, Default::Int(1)),
];

/// Places along one dimension that are tried for one element: more than this, and the budget would not see them.
const MAX_PLACES: i128 = 1 << 16;

/// How filters lie along one spatial dimension.
struct Axis {
    input: i128,
    kernel: i128,
    stride: i128,
    padding: i128,
    extra: i128,
    dilation: i128,
}

impl Axis {
    /// The size of the output; `None` where there is none, or a number is out of range.
    fn output(&self) -> Option<usize> {
        let sane = self.input > 0 && self.kernel > 0 && self.stride > 0 && self.padding >= 0 && self.dilation > 0;
        // PyTorch refuses more of it: then another input size would fit as well.
        let fits = (0..self.stride.max(self.dilation)).contains(&self.extra);
        if !sane || !fits {
            return None;
        }
        let size =
            (self.input - 1) * self.stride - 2 * self.padding + self.dilation * (self.kernel - 1) + self.extra + 1;
        usize::try_from(size).ok().filter(|&size| size > 0)
    }

    /// The elements of the input, with their taps, that reach element `at` of the output.
    fn sources(&self, at: usize) -> Result<Vec<(usize, usize)>, EvalError> {
        let at = at as i128 + self.padding;
        let farthest = self.dilation * (self.kernel - 1);
        let first = (at - farthest + self.stride - 1).div_euclid(self.stride).max(0);
        let last = at.div_euclid(self.stride).min(self.input - 1);
        if last - first > MAX_PLACES {
            return Err(EvalError::Budget);
        }
        let reaching = (first..=last).filter(|i| (at - i * self.stride) % self.dilation == 0);
        Ok(reaching.map(|i| (i as usize, ((at - i * self.stride) / self.dilation) as usize)).collect())
    }
}

fn axis(c: &Call, d: usize) -> Axis {
    let read = |name| i128::from(c.ints(name).get(d).copied().unwrap_or(0));
    Axis {
        input: c.operands[0].shape[2 + d] as i128,
        kernel: c.operands[1].shape[2 + d] as i128,
        stride: read("stride"),
        padding: read("padding"),
        extra: read("output_padding"),
        dilation: read("dilation"),
    }
}

fn types(c: &Call, spatial: usize) -> Result<Types, TypeError> {
    c.want_float()?;
    let dtype = c.same_dtype(0..c.operands.len())?;
    let (x, w) = (c.operands[0], c.operands[1]);
    let lists = ["stride", "padding", "output_padding", "dilation"];
    if let Some(name) = lists.iter().find(|n| c.ints(n).len() != spatial) {
        return Err(c.error(format!("needs {spatial} numbers as `{name}`")));
    }
    let fits = x.rank() == spatial + 2 && w.rank() == spatial + 2 && x.shape[1] == w.shape[0];
    let groups = usize::try_from(c.int("groups")).ok().filter(|&g| g > 0 && fits && w.shape[0].is_multiple_of(g));
    let out = groups.and_then(|g| w.shape[1].checked_mul(g)).filter(|&out| out > 0 && w.shape[0] > 0);
    let Some(out) = out else {
        return Err(c.error(format!("cannot convolve {x} with {w} in {} groups", c.int("groups"))));
    };
    if let Some(b) = c.operands.get(2)
        && b.shape[..] != [out]
    {
        return Err(c.error(format!("needs a bias of {out} elements, not {b}")));
    }
    let mut shape = Shape::from_slice(&[x.shape[0], out]);
    for d in 0..spatial {
        shape.push(axis(c, d).output().ok_or_else(|| c.error(format!("has no result for {x} and {w}")))?);
    }
    c.output(dtype, shape)
}

fn element(c: &Call, _: usize, index: &[usize], fetch: &mut FetchReal) -> Result<f64, EvalError> {
    let (x, w) = (c.operands[0], c.operands[1]);
    let mut sum = match c.operands.get(2) {
        Some(_) => fetch(2, &index[1..2])?,
        None => 0.0,
    };
    let (group, out) = (index[1] / w.shape[1], index[1] % w.shape[1]);
    let each = x.shape[1] / c.size("groups").max(1);
    let sources: SmallVec<[Vec<(usize, usize)>; 3]> =
        (0..x.rank() - 2).map(|d| axis(c, d).sources(index[2 + d])).collect::<Result<_, _>>()?;
    let steps: Shape = std::iter::once(each).chain(sources.iter().map(Vec::len)).collect();
    let all: SmallVec<[usize; 4]> = (0..steps.len()).collect();
    super::shapes::visit_axes(&steps, &all, &Shape::from_elem(0, steps.len()), |step| {
        let channel = group * each + step[0];
        let (mut cell, mut tap) = (Shape::from_slice(&[index[0], channel]), Shape::from_slice(&[channel, out]));
        for (places, &i) in sources.iter().zip(&step[1..]) {
            cell.push(places[i].0);
            tap.push(places[i].1);
        }
        sum += fetch(0, &cell)? * fetch(1, &tap)?;
        Ok(())
    })?;
    Ok(sum)
}

/// Every element of the input meets every tap of its filters once.
fn work(c: &Call, outputs: &[TensorType]) -> Work {
    let taps: f64 = c.operands[1].shape[1..].iter().map(|&d| d as f64).product();
    Work::streaming(c, outputs, 2.0 * c.operands[0].numel() as f64 * taps, Unit::Matrix)
}

/// What the operators here have in common.
const TRANSPOSED: OpDef = OpDef {
    family: Family::Conv,
    kernels: KernelClass::Convolution,
    special_kernels: filter_kernels,
    window: filter_places,
    operands: &[one("x"), one("w"), optional("b")],
    attrs: ATTRS,
    elements: Elements::Convolution,
    digits: |r| r.same_if(r.dim() == 0),
    infer: |c| types(c, 1),
    kernel: Kernel::Real(element),
    work,
    ..OpDef::PLAIN
};

/// The call of a transposed convolution of PyTorch.
macro_rules! stated {
    ($target:literal) => {
        aten!($target, input: X, weight: Y, bias: Given(2), stride, padding, output_padding, groups, dilation)
    };
}

/// The same of libtorch.
macro_rules! transposed {
    ($method:ident) => {
        torch!(|r| {
            let (stride, padding, dilation) = (r.c.ints("stride"), r.c.ints("padding"), r.c.ints("dilation"));
            let (extra, groups) = (r.c.ints("output_padding"), r.c.int("groups"));
            r.x()?.$method(r.y()?, r.given(2), stride, padding, extra, groups, dilation)?
        })
    };
}

/// These table entries of the family of convolutions.
pub(super) static OPS: &[OpDef] = &[
    OpDef {
        name: "conv_transpose1d",
        doc: "The transpose of a cross-correlation: (batch, channel, length) with (channel, out / groups, length).",
        aten: stated!("conv_transpose1d"),
        replay: transposed!(f_conv_transpose1d),
        ..TRANSPOSED
    },
    OpDef {
        name: "conv_transpose2d",
        doc: "The transpose of a cross-correlation: (batch, channel, height, width) with (channel, out / groups, height, width).",
        infer: |c| types(c, 2),
        aten: stated!("conv_transpose2d.input"),
        replay: transposed!(f_conv_transpose2d),
        ..TRANSPOSED
    },
    OpDef {
        name: "conv_transpose3d",
        doc: "The transpose of a cross-correlation with three spatial dimensions.",
        infer: |c| types(c, 3),
        aten: stated!("conv_transpose3d.input"),
        replay: transposed!(f_conv_transpose3d),
        ..TRANSPOSED
    },
];
