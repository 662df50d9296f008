//! Pooling to a given size.

use std::ops::Range;

use smallvec::SmallVec;

use super::shapes::visit_axes;
use super::{
    AttrKind, Call, Default, Elements, EvalError, Family, FetchReal, Kernel, KernelClass, Moved, OpDef, TypeError,
    Types, Unit, Work, attr, one,
};
use crate::ir::{Shape, TensorType};

fn types(c: &Call) -> Result<Types, TypeError> {
    c.want_float()?;
    let (x, sizes) = (c.operands[0], c.ints("output_size"));
    let spatial = sizes.len();
    if !(1..=3).contains(&spatial) || x.rank() != spatial + 2 || x.numel() == 0 {
        return Err(c.error(format!("cannot pool {x} to {sizes:?}")));
    }
    let mut shape = Shape::from_slice(&x.shape[..2]);
    for &size in sizes {
        let size = usize::try_from(size).ok().filter(|&s| s > 0);
        shape.push(size.ok_or_else(|| c.error(format!("cannot pool {x} to {sizes:?}")))?);
    }
    c.output(x.dtype, shape)
}

/// The elements of dimension `d` that go into element `at` of the result.
fn window(c: &Call, d: usize, at: usize) -> Range<usize> {
    let (input, output) = (c.operands[0].shape[2 + d] as u128, c.ints("output_size")[d] as u128);
    let at = at as u128;
    (at * input / output) as usize..((at + 1) * input).div_ceil(output) as usize
}

/// Calls `visit` with every element that goes into element `index`; how many they are.
fn visit(c: &Call, index: &[usize], fetch: &mut FetchReal, mut visit: impl FnMut(f64)) -> Result<f64, EvalError> {
    let windows: SmallVec<[Range<usize>; 3]> = (0..index.len() - 2).map(|d| window(c, d, index[2 + d])).collect();
    let steps: Shape = windows.iter().map(Range::len).collect();
    let all: SmallVec<[usize; 4]> = (0..steps.len()).collect();
    let mut cell = Shape::from_slice(index);
    visit_axes(&steps, &all, &Shape::from_elem(0, steps.len()), |step| {
        for (d, window) in windows.iter().enumerate() {
            cell[2 + d] = window.start + step[d];
        }
        visit(fetch(0, &cell)?);
        Ok(())
    })?;
    Ok(steps.iter().map(|&n| n as f64).product())
}

/// What both operators have in common.
const ADAPTIVE: OpDef = OpDef {
    family: Family::Conv,
    kernels: KernelClass::Window,
    operands: &[one("x")],
    attrs: &[attr("output_size", AttrKind::Ints, Default::Required)],
    infer: types,
    work: |c, outputs: &[TensorType]| Work::streaming(c, outputs, c.operands[0].numel() as f64, Unit::Vector),
    ..OpDef::PLAIN
};

/// These table entries of the family of convolutions.
pub(super) static OPS: &[OpDef] = &[
    OpDef {
        name: "adaptive_avg_pool",
        elements: Elements::Weighted(Moved::All),
        digits: |r| r.same_if(r.dim() + r.call.ints("output_size").len() < r.result.rank()),
        doc: "Means under windows that divide the spatial dimensions, those behind the first two, into `output_size` parts.",
        kernel: Kernel::Real(|c, _, index, fetch| {
            let mut sum = 0.0;
            let count = visit(c, index, fetch, |x| sum += x)?;
            Ok(sum / count)
        }),
        aten: aten!(|c| super::aten_formulas::mean_call(c)),
        replay: torch!(|r| r.adaptive_mean()?),
        ..ADAPTIVE
    },
    OpDef {
        name: "adaptive_max_pool",
        doc: "Largest elements under windows that divide the spatial dimensions, those behind the first two, into \
              `output_size` parts.",
        kernel: Kernel::Real(|c, _, index, fetch| {
            let mut best = f64::NEG_INFINITY;
            visit(c, index, fetch, |x| {
                if x.is_nan() || x > best {
                    best = x;
                }
            })?;
            Ok(best)
        }),
        aten: aten!(|c| super::aten_formulas::maximum_call(c)),
        replay: torch!(|r| r.adaptive_maximum()?),
        ..ADAPTIVE
    },
];
