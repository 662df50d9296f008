//! The functions of the attribute language that look at a tensor.

use std::cmp::Ordering;

use super::evaluated::{Evaluated, Undecided, position};
use super::function::TensorFunction;
use super::masks;
use crate::eval::Constant;
use crate::ir::{AttrValue, DType, Number, TensorType};
#[cfg(doc)]
use crate::ops::Sign;

fn constant_of(constant: Option<&Constant>) -> Result<&Constant, Undecided> {
    constant.ok_or(Undecided::Unknown)
}

/// Whether every element of a constant is its place along the last dim.
fn is_counted(constant: &Constant, ty: &TensorType) -> Result<bool, Undecided> {
    let Some((&columns, rows)) = ty.shape.split_last() else { return Ok(false) };
    match constant {
        Constant::Uniform(v) => Ok(columns == 1 && v.to_f64() == 0.0),
        Constant::Affine(a) => {
            let slope = |d: usize| a.coefficients.get(d).copied().unwrap_or(0);
            let still = rows.iter().enumerate().all(|(d, &size)| size == 1 || slope(d) == 0);
            Ok(a.offset == 0 && still && (columns == 1 || slope(rows.len()) == 1))
        }
        Constant::Dense(all) => Ok(all.iter().enumerate().all(|(i, v)| v.to_f64() == (i % columns) as f64)),
        Constant::Region(_) => Err(Undecided::Unknown),
    }
}

/// Whether no two elements of a constant along dim `at` are equal. NaN count as equal: they are sorted as if they were.
fn distinct(constant: &Constant, ty: &TensorType, at: usize) -> Result<bool, Undecided> {
    let size = ty.shape[at];
    if size < 2 || ty.numel() == 0 {
        return Ok(true);
    }
    match constant {
        Constant::Uniform(_) => Ok(false),
        Constant::Affine(a) => Ok(a.coefficients.get(at).is_some_and(|&c| c != 0)),
        Constant::Dense(values) => {
            let inner: usize = ty.shape[at + 1..].iter().product();
            let lane = |start: usize| (0..size).map(move |i| values.get(start + i * inner).copied());
            let mut starts = (0..values.len()).filter(|i| (i / inner).is_multiple_of(size));
            Ok(starts.all(|start| {
                let mut lane: Vec<Number> = lane(start).flatten().collect();
                let order = |a: &Number, b: &Number| a.compare(*b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()));
                lane.sort_by(order);
                lane.windows(2).all(|w| order(&w[0], &w[1]).is_ne())
            }))
        }
        Constant::Region(_) => Err(Undecided::Unknown),
    }
}

/// Whether the elements of a constant along the last dim never decrease, and none is NaN.
fn is_ascending(constant: &Constant, ty: &TensorType) -> Result<bool, Undecided> {
    let size = ty.shape.last().copied().unwrap_or(1).max(1);
    match constant {
        Constant::Uniform(value) => Ok(!value.is_nan()),
        Constant::Affine(a) => Ok(a.coefficients.last().is_none_or(|&slope| slope >= 0)),
        Constant::Dense(values) => {
            let ascends = |lane: &[Number]| {
                let in_order = |w: &[Number]| w[0].compare(w[1]).is_some_and(Ordering::is_le);
                lane.windows(2).all(in_order) && !lane.iter().any(|v| v.is_nan())
            };
            Ok(values.chunks(size).all(ascends))
        }
        Constant::Region(_) => Err(Undecided::Unknown),
    }
}

/// Whether a cast to `to` keeps the finite numbers of a tensor finite, as far as its type and its value tell.
fn in_range(ty: &TensorType, constant: Option<&Constant>, to: DType) -> Result<bool, Undecided> {
    if ty.dtype.within_range_of(to) {
        return Ok(true);
    }
    let fits = |v: f64| !v.is_finite() || to.contains(v);
    match constant.ok_or(Undecided::Unknown)? {
        Constant::Uniform(v) => Ok(fits(v.to_f64())),
        Constant::Dense(values) => Ok(values.iter().all(|v| fits(v.to_f64()))),
        _ => Err(Undecided::Unknown),
    }
}

/// Functions of tensors.
pub(super) const TENSOR_FUNCTIONS: &[TensorFunction] = &[
    TensorFunction {
        name: "rank",
        arguments: &[],
        doc: "Number of dims.",
        run: |t, _, _| Ok(AttrValue::Int(t.rank() as i64)),
    },
    TensorFunction {
        name: "dim",
        arguments: &["i"],
        doc: "Size of dim `i`, which may count from the end.",
        run: |t, _, a| {
            let at = a[0].as_int().and_then(|i| position(i, t.rank())).ok_or(Undecided::Invalid)?;
            Ok(AttrValue::Int(t.shape[at] as i64))
        },
    },
    TensorFunction { name: "shape", arguments: &[], doc: "All sizes.", run: |t, _, _| Ok(AttrValue::shape(&t.shape)) },
    TensorFunction {
        name: "dtype",
        arguments: &[],
        doc: "Element type.",
        run: |t, _, _| Ok(AttrValue::DType(t.dtype)),
    },
    TensorFunction {
        name: "numel",
        arguments: &[],
        doc: "Number of elements.",
        run: |t, _, _| Ok(AttrValue::Int(t.numel() as i64)),
    },
    TensorFunction {
        name: "is_const",
        arguments: &[],
        doc: "Whether the value is known and depends on no input.",
        run: |_, c, _| constant_of(c).map(|_| AttrValue::Bool(true)),
    },
    TensorFunction {
        name: "is_uniform",
        arguments: &[],
        doc: "Whether the value is known and all elements are the same.",
        run: |_, c, _| Ok(AttrValue::Bool(constant_of(c)?.uniform().is_some())),
    },
    TensorFunction {
        name: "value",
        arguments: &[],
        doc: "The value that all elements are known to have.",
        run: |_, c, _| constant_of(c)?.uniform().map(AttrValue::from).ok_or(Undecided::Invalid),
    },
    TensorFunction {
        name: "is_above",
        arguments: &["a"],
        doc: "Whether every element of the value is above the number `a`. Of integers without a known value, bounds decide where they can.",
        run: |t, c, a| {
            let bound = a[0].as_float().ok_or(Undecided::Invalid)?;
            every(t, constant_of(c)?, |v| v > bound)
        },
    },
    TensorFunction {
        name: "is_below",
        arguments: &["a"],
        doc: "Whether every element of the value is below the number `a`. Of integers without a known value, bounds decide where they can.",
        run: |t, c, a| {
            let bound = a[0].as_float().ok_or(Undecided::Invalid)?;
            every(t, constant_of(c)?, |v| v < bound)
        },
    },
    TensorFunction {
        name: "distinct",
        arguments: &["i"],
        doc: "Whether no two elements of the value that differ in dim `i` only are equal.",
        run: |t, c, a| {
            let at = a[0].as_int().and_then(|i| position(i, t.rank())).ok_or(Undecided::Invalid)?;
            distinct(constant_of(c)?, t, at).map(AttrValue::Bool)
        },
    },
    TensorFunction {
        name: "is_ascending",
        arguments: &[],
        doc: "Whether no element of the value is NaN or below the one before it in the last dim.",
        run: |t, c, _| is_ascending(constant_of(c)?, t).map(AttrValue::Bool),
    },
    TensorFunction {
        name: "is_counted",
        arguments: &[],
        doc: "Whether every element of the value is its index in the last dim.",
        run: |t, c, _| is_counted(constant_of(c)?, t).map(AttrValue::Bool),
    },
    TensorFunction {
        name: "in_range",
        arguments: &["t"],
        doc: "Whether every element is within the range of the element type `t`, so that a cast to it keeps finite numbers finite.",
        run: |t, c, a| {
            let to = a[0].as_dtype().ok_or(Undecided::Invalid)?;
            in_range(t, c, to).map(AttrValue::Bool)
        },
    },
    TensorFunction {
        name: "hides_as_infinity",
        arguments: &["n"],
        doc: "Whether adding the number `n` to scores hides what the mask leaves out as -inf would: the scores stay far above `n`.",
        run: |_, _, a| match a[0].as_float() {
            Some(f64::NEG_INFINITY) => Ok(AttrValue::Bool(true)),
            Some(_) => Err(Undecided::Unknown),
            None => Err(Undecided::Invalid),
        },
    },
    TensorFunction {
        name: "lowest_is_infinite",
        arguments: &[],
        doc: "Whether the lowest numbers in the additive mask are -inf, or hide as -inf would: the scores stay far above them.",
        run: |_, c, _| {
            let number = |v: f64| v >= 0.0 || v == f64::NEG_INFINITY;
            let infinite = match constant_of(c)? {
                Constant::Uniform(v) => number(v.to_f64()),
                Constant::Dense(values) => values.iter().all(|v| number(v.to_f64())),
                Constant::Region(region) => number(region.inside.to_f64()) && number(region.outside.to_f64()),
                Constant::Affine(_) => false,
            };
            if infinite { Ok(AttrValue::Bool(true)) } else { Err(Undecided::Unknown) }
        },
    },
    TensorFunction {
        name: "lowest",
        arguments: &[],
        doc: "The lowest number in the value.",
        run: |_, c, _| {
            let numbers = match constant_of(c)? {
                Constant::Uniform(v) => vec![v.to_f64()],
                Constant::Dense(values) => values.iter().map(|v| v.to_f64()).collect(),
                Constant::Region(region) => vec![region.inside.to_f64(), region.outside.to_f64()],
                Constant::Affine(_) => return Err(Undecided::Unknown),
            };
            numbers.into_iter().reduce(f64::min).map(AttrValue::float).ok_or(Undecided::Invalid)
        },
    },
    TensorFunction {
        name: "is_diagonal",
        arguments: &[],
        doc: "Whether the bool value is true exactly where the first index is the last.",
        run: |t, c, _| {
            let c = constant_of(c)?;
            Ok(AttrValue::Bool(t.dtype == DType::Bool && masks::is_diagonal(c, t)))
        },
    },
    TensorFunction {
        name: "is_causal_mask",
        arguments: &[],
        doc: "Whether the bool value is true exactly where the last index is at most the one before.",
        run: |t, c, _| {
            let c = constant_of(c)?;
            Ok(AttrValue::Bool(t.dtype == DType::Bool && masks::is_causal(c, t)?))
        },
    },
    TensorFunction {
        name: "is_lower_ones",
        arguments: &[],
        doc: "Whether the value is 1 where the last index is at most the one before, and 0 elsewhere.",
        run: |t, c, _| Ok(AttrValue::Bool(masks::is_triangle_of_ones(constant_of(c)?, t, false))),
    },
    TensorFunction {
        name: "is_upper_ones",
        arguments: &[],
        doc: "Whether the value is 1 where the last index is at least the one before, and 0 elsewhere.",
        run: |t, c, _| Ok(AttrValue::Bool(masks::is_triangle_of_ones(constant_of(c)?, t, true))),
    },
    TensorFunction {
        name: "mask_keeps_a_key",
        arguments: &[],
        doc: "Whether the bool value has a true element in every row of the last dim.",
        run: |t, c, _| masks::keeps_a_key(constant_of(c)?, t).map(AttrValue::Bool),
    },
    TensorFunction {
        name: "is_additive_mask",
        arguments: &[],
        doc: "Whether the float value is 0, or -10000 or less, everywhere, with a 0 in every row of the last dim.",
        run: |t, c, _| {
            let c = constant_of(c)?;
            Ok(AttrValue::Bool(t.dtype.is_float() && masks::is_additive(c, t)?))
        },
    },
];

/// The function that looks at how a mask is made and not only at its type and value; see
/// [`masks::keeps_a_finite_key`].
pub(super) const KEEPS_A_FINITE_KEY: TensorFunction = TensorFunction {
    name: "keeps_a_finite_key",
    arguments: &[],
    doc: "Whether the additive mask is above -inf somewhere in every row of the last dim.",
    run: |_, _, _| Err(Undecided::Unknown),
};

/// The function that looks at how a value is computed; see [`Sign`].
pub(super) const IS_REAL: TensorFunction = TensorFunction {
    name: "is_real",
    arguments: &[],
    doc: "Whether all elements are real numbers, for all real numbers that the tensor is computed from.",
    run: |_, _, _| Err(Undecided::Unknown),
};

/// As [`IS_REAL`], and false where single elements may be none.
pub(super) const STAYS_REAL: TensorFunction = TensorFunction {
    name: "stays_real",
    arguments: &[],
    doc: "Whether all elements are real numbers; not where a quotient, a root or a logarithm of an element may be none.",
    run: |_, _, _| Err(Undecided::Unknown),
};

/// Functions that look at how a tensor is made, and not only at its type and value.
pub(super) const TERM_FUNCTIONS: &[TensorFunction] = &[KEEPS_A_FINITE_KEY, IS_REAL, STAYS_REAL];

/// Whether a condition that holds between any two numbers for which it holds is true of every element.
fn every(ty: &TensorType, constant: &Constant, holds: impl Fn(f64) -> bool) -> Evaluated {
    match constant {
        Constant::Uniform(v) => Ok(AttrValue::Bool(holds(v.to_f64()))),
        Constant::Dense(values) => Ok(AttrValue::Bool(values.iter().all(|v| holds(v.to_f64())))),
        // A formula is largest and smallest at corners.
        Constant::Affine(a) if ty.numel() > 0 => {
            let ends = |least: bool| -> f64 {
                let reach = a.coefficients.iter().zip(&ty.shape).map(|(&c, &size)| c as f64 * (size as f64 - 1.0));
                a.offset as f64 + reach.map(|r| if least { r.min(0.0) } else { r.max(0.0) }).sum::<f64>()
            };
            Ok(AttrValue::Bool(holds(ends(true)) && holds(ends(false))))
        }
        _ => Err(Undecided::Unknown),
    }
}
