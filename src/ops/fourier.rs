//! Fourier transforms of complex numbers, which are pairs in a last dimension: see `complex`.

use rustfft::{Fft, FftPlanner, num_complex::Complex64};
use smallvec::SmallVec;
use std::sync::Arc;

use super::complex::is_pairs;
use super::shapes::visit_axes;
use super::{
    Amplifies, AttrKind, Call, Default, Digits, Elements, EvalError, Family, FetchReal, Kernel, KernelClass, Moved,
    OpDef, Renumbering, TypeError, Types, Unit, Work, attr, one,
};
use crate::ir::{AttrValue, DType, Shape, TensorType};

/// How many numbers a transform may hold that is evaluated.
const MAX_PLACES: usize = 1 << 22;

type Dims = SmallVec<[usize; 4]>;

/// The dimensions that are transformed, in the order of the attribute: what is halved is the last one.
fn dims(c: &Call) -> Result<Dims, TypeError> {
    let dims = c.dims("dims")?;
    let x = c.operands[0];
    let own = x.rank() - usize::from(c.op.name != "fft_r2c" && x.rank() > 0);
    if !matches!(c.str("norm"), "none" | "root_n" | "n") {
        return Err(c.error(format!("takes the norms \"none\", \"root_n\" and \"n\", not \"{}\"", c.str("norm"))));
    }
    if dims.is_empty() || x.numel() == 0 || dims.iter().any(|&d| d >= own) {
        return Err(c.error(format!("transforms no dimensions {:?} of {x}", c.ints("dims"))));
    }
    Ok(dims)
}

fn want_pairs(c: &Call) -> Result<(), TypeError> {
    match c.operands[0] {
        x if is_pairs(x) => Ok(()),
        x => Err(c.error(format!("takes complex numbers, pairs of f32 or f64 in a last dimension, not {x}"))),
    }
}

fn complex_types(c: &Call) -> Result<Types, TypeError> {
    want_pairs(c)?;
    dims(c)?;
    c.output(c.operands[0].dtype, c.operands[0].shape.clone())
}

fn from_real_types(c: &Call) -> Result<Types, TypeError> {
    let x = c.operands[0];
    if !matches!(x.dtype, DType::F32 | DType::F64) {
        return Err(c.error(format!("takes f32 or f64, not {x}")));
    }
    let dims = dims(c)?;
    let mut shape = x.shape.clone();
    if let (Some(&last), true) = (dims.last(), c.bool("onesided")) {
        shape[last] = shape[last] / 2 + 1;
    }
    shape.push(2);
    c.output(x.dtype, shape)
}

fn to_real_types(c: &Call) -> Result<Types, TypeError> {
    want_pairs(c)?;
    let (x, dims) = (c.operands[0], dims(c)?);
    let mut shape = Shape::from_slice(&x.shape[..x.rank() - 1]);
    let last = dims.last().copied().unwrap_or(0);
    let length = usize::try_from(c.int("length")).ok().filter(|&n| n > 0 && n / 2 + 1 == shape[last]);
    shape[last] = length.ok_or_else(|| {
        c.error(format!("makes no {} places of the {} of dimension {last} of {x}", c.int("length"), x.shape[last]))
    })?;
    c.output(x.dtype, shape)
}

/// The dimensions of the result that hold one transform.
fn axes(c: &Call) -> Dims {
    let mut axes = dims(c).unwrap_or_default();
    axes.sort_unstable();
    if c.op.name != "fft_c2r" {
        axes.push(c.operands[0].rank() - usize::from(c.op.name == "fft_c2c"));
    }
    axes
}

/// What one transform holds: numbers in row-major order, sizes by dimension.
struct Places {
    values: Vec<Complex64>,
    /// The dimensions of the tensor in ascending order, with their sizes.
    sizes: SmallVec<[(usize, usize); 4]>,
}

impl Places {
    /// All lines along dimension `dim`, one after the other, are replaced by what `with` makes of them.
    fn along(&mut self, dim: usize, mut with: impl FnMut(Vec<Complex64>) -> Vec<Complex64>) {
        let Some(at) = self.sizes.iter().position(|&(d, _)| d == dim) else { return };
        let size = self.sizes[at].1;
        let inner: usize = self.sizes[at + 1..].iter().map(|&(_, n)| n).product();
        let outer = self.values.len() / (size * inner).max(1);
        let mut made: Vec<Complex64> = Vec::new();
        let mut new = size;
        for block in 0..outer {
            for offset in 0..inner {
                let first = block * size * inner + offset;
                let line = with((0..size).map(|i| self.values[first + i * inner]).collect());
                new = line.len();
                made.resize(outer * new * inner, Complex64::default());
                let first = block * new * inner + offset;
                line.into_iter().enumerate().for_each(|(i, value)| made[first + i * inner] = value);
            }
        }
        (self.values, self.sizes[at].1) = (made, new);
    }
}

/// Reads one transform's operand. What is not finite spreads as the algorithm has it, so that it has no value here.
fn read(c: &Call, dims: &[usize], index: &[usize], fetch: &mut FetchReal) -> Result<Places, EvalError> {
    let x = c.operands[0];
    let mut sorted = Dims::from_slice(dims);
    sorted.sort_unstable();
    let sizes: SmallVec<[(usize, usize); 4]> = sorted.iter().map(|&d| (d, x.shape[d])).collect();
    if sizes.iter().try_fold(1_usize, |all, &(_, n)| all.checked_mul(n)).is_none_or(|all| all > MAX_PLACES) {
        return Err(EvalError::Budget);
    }
    let (is_real, mut start) = (c.op.name == "fft_r2c", Shape::from_slice(index));
    start.resize(x.rank(), 0);
    let mut values = Vec::new();
    let finite = |value: f64| match value.is_finite() {
        true => Ok(value),
        false => Err(EvalError::NoSemantics("a Fourier transform of what is not finite".to_owned())),
    };
    visit_axes(&x.shape, &sorted, &start, |at| {
        let mut at = Shape::from_slice(at);
        let last = at.len() - 1;
        values.push(match is_real {
            true => Complex64::new(finite(fetch(0, &at)?)?, 0.0),
            false => {
                at[last] = 0;
                let real = finite(fetch(0, &at)?)?;
                at[last] = 1;
                Complex64::new(real, finite(fetch(0, &at)?)?)
            }
        });
        Ok(())
    })?;
    Ok(Places { values, sizes })
}

/// The lane of results through `index`.
fn transformed(c: &Call, _: usize, index: &[usize], fetch: &mut FetchReal) -> Result<Vec<f64>, EvalError> {
    let dims = dims(c).map_err(|e| EvalError::NoSemantics(e.to_string()))?;
    let (last, others) = dims.split_last().ok_or(EvalError::IndexOutOfRange)?;
    let mut places = read(c, &dims, index, fetch)?;
    let forward = if c.op.name == "fft_c2c" { c.bool("forward") } else { c.op.name == "fft_r2c" };
    let mut planner = FftPlanner::new();
    let mut plan = |n: usize| -> Arc<dyn Fft<f64>> {
        if forward { planner.plan_fft_forward(n) } else { planner.plan_fft_inverse(n) }
    };
    for &dim in others {
        let fft = plan(c.operands[0].shape[dim]);
        places.along(dim, |mut line| {
            fft.process(&mut line);
            line
        });
    }
    let fft = plan(if c.op.name == "fft_c2r" { c.size("length") } else { c.operands[0].shape[*last] });
    let kept = if c.op.name == "fft_r2c" && c.bool("onesided") { fft.len() / 2 + 1 } else { fft.len() };
    places.along(*last, |mut line| {
        // The frequencies that are left out are the mirrored ones.
        let mirrored: Vec<Complex64> = (line.len()..fft.len()).map(|k| line[fft.len() - k].conj()).collect();
        line.extend(mirrored);
        fft.process(&mut line);
        line.truncate(kept);
        line
    });
    let scale = scale(c);
    let values = places.values.into_iter();
    Ok(match c.op.name {
        "fft_c2r" => values.map(|v| v.re * scale).collect(),
        _ => values.flat_map(|v| [v.re * scale, v.im * scale]).collect(),
    })
}

/// How many numbers one transform mixes: those of the side that is not halved.
fn places(c: &Call) -> f64 {
    let Ok(dims) = dims(c) else { return 0.0 };
    let sizes = dims.iter().enumerate().map(|(i, &d)| match c.op.name {
        "fft_c2r" if i + 1 == dims.len() => c.size("length"),
        _ => c.operands[0].shape[d],
    });
    sizes.map(|n| n as f64).product()
}

/// What the norm multiplies with.
fn scale(c: &Call) -> f64 {
    match c.str("norm") {
        "root_n" => 1.0 / places(c).sqrt(),
        "n" => 1.0 / places(c),
        _ => 1.0,
    }
}

/// `5 n log2 n` operations for a transform of `n` complex numbers and half of that where one side is real, as FFTW's authors
/// count them (Frigo and Johnson, "The Design and Implementation of FFTW3", section VI).
fn work(c: &Call, outputs: &[TensorType]) -> Work {
    let (n, per_place) = (places(c), if c.op.name == "fft_c2c" { 5.0 } else { 2.5 });
    let real: f64 = match c.op.name {
        "fft_c2r" => outputs.iter().map(|t| t.numel() as f64).sum(),
        "fft_r2c" => c.operands[0].numel() as f64,
        _ => c.operands[0].numel() as f64 / 2.0,
    };
    Work::streaming(c, outputs, per_place * real * n.max(1.0).log2(), Unit::Vector)
}

/// The norm that PyTorch has a code for.
pub fn norm_of(code: i64) -> Option<AttrValue> {
    Some(AttrValue::str(match code {
        0 => "none",
        1 => "root_n",
        2 => "n",
        _ => return None,
    }))
}

const DIMS: super::AttrDef = attr("dims", AttrKind::Dims, Default::Required);
const NORM: super::AttrDef = attr("norm", AttrKind::Str, Default::Str("none"));

/// Each transform has places along some dimensions, and takes or makes numbers of two parts.
fn beside_transforms(r: &Renumbering) -> Option<Digits> {
    let own = r.call.operands.first()?.rank() - usize::from(r.call.op.name != "fft_r2c");
    let dims = r.call.dims("dims").ok()?;
    r.same_if(r.dim() < own && !dims.contains(&r.dim()))
}

/// What these operators have in common.
const FOURIER: OpDef = OpDef {
    family: Family::Spectral,
    kernels: KernelClass::Rows,
    operands: &[one("x")],
    elements: Elements::Weighted(Moved::All),
    digits: beside_transforms,
    amplifies: Amplifies::Always,
    kernel: Kernel::RealLane { axes, lane: transformed },
    work,
    ..OpDef::PLAIN
};

/// These table entries of the spectral family.
pub(super) static OPS: &[OpDef] = &[
    OpDef {
        name: "fft_c2c",
        doc: "Fourier transform of complex numbers along `dims`, or, not `forward`, its inverse; `norm` divides by nothing (\"none\"), \
              by the number of places (\"n\") or by its root (\"root_n\").",
        attrs: &[DIMS, NORM, attr("forward", AttrKind::Bool, Default::Bool(true))],
        infer: complex_types,
        aten: aten!(|c| super::aten_formulas::fourier_call(c)),
        replay: torch!(|r| {
            let x = r.x()?.f_view_as_complex()?;
            x.f_internal_fft_c2c(r.c.ints("dims"), super::aten_formulas::norm_code(r.c), r.c.bool("forward"))?
                .f_view_as_real()?
        }),
        ..FOURIER
    },
    OpDef {
        name: "fft_r2c",
        doc: "Fourier transform of real numbers along `dims`; with `onesided`, half of the frequencies of the last of these, since the \
              others are their mirror image.",
        attrs: &[DIMS, NORM, attr("onesided", AttrKind::Bool, Default::Bool(true))],
        infer: from_real_types,
        aten: aten!(|c| super::aten_formulas::fourier_call(c)),
        replay: torch!(|r| {
            r.x()?
                .f_internal_fft_r2c(r.c.ints("dims"), super::aten_formulas::norm_code(r.c), r.c.bool("onesided"))?
                .f_view_as_real()?
        }),
        ..FOURIER
    },
    OpDef {
        name: "fft_c2r",
        doc: "Inverse Fourier transform along `dims` to real numbers, `length` places in the last of these, of which `x` holds half of \
              the frequencies.",
        attrs: &[DIMS, NORM, attr("length", AttrKind::Int, Default::Required)],
        infer: to_real_types,
        aten: aten!(|c| super::aten_formulas::fourier_call(c)),
        replay: torch!(|r| {
            let x = r.x()?.f_view_as_complex()?;
            x.f_internal_fft_c2r(r.c.ints("dims"), super::aten_formulas::norm_code(r.c), r.c.int("length"))?
        }),
        ..FOURIER
    },
];
