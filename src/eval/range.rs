//! Bounds on the elements of a value, from bounds on the operands. Where all elements are known to be finite, a
//! product with 0 need not look at them.

use smallvec::SmallVec;

use super::Constant;
use crate::ir::{AttrValue, DType, TensorType};
use crate::ops::{Call, Family, OpDef};

/// All elements of a value lie between two finite numbers; none is NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

impl Interval {
    /// `None` unless both bounds are finite.
    pub fn new(low: f64, high: f64) -> Option<Interval> {
        (low.is_finite() && high.is_finite() && low <= high).then_some(Interval { low, high })
    }

    fn around_0(radius: f64) -> Option<Interval> {
        Interval::new(-radius, radius)
    }

    /// The largest absolute value.
    pub fn magnitude(self) -> f64 {
        self.low.abs().max(self.high.abs())
    }

    /// Whether every element is 0.
    pub fn is_zero(self) -> bool {
        self.low == 0.0 && self.high == 0.0
    }

    fn hull(self, other: Interval) -> Interval {
        Interval { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    fn scaled(self, factor: f64) -> Option<Interval> {
        let (p, q) = (self.low * factor, self.high * factor);
        Interval::new(p.min(q), p.max(q))
    }

    /// The elements of a constant of type `ty`.
    pub fn of(constant: &Constant, ty: &TensorType) -> Option<Interval> {
        match constant {
            Constant::Uniform(v) => Interval::new(v.to_f64(), v.to_f64()),
            Constant::Polyhedron(_) => Interval::new(0.0, 1.0),
            Constant::Dense(data) => Interval::over(data.iter().map(|v| v.to_f64())),
            Constant::Affine(a) => {
                let ends = a.coefficients.iter().zip(&ty.shape).map(|(&c, &n)| c as f64 * n.saturating_sub(1) as f64);
                let (mut low, mut high) = (a.offset as f64, a.offset as f64);
                for end in ends {
                    low += end.min(0.0);
                    high += end.max(0.0);
                }
                Interval::new(low, high)
            }
        }
    }

    /// The elements of a list.
    pub fn over(values: impl Iterator<Item = f64>) -> Option<Interval> {
        let mut all: Option<Interval> = None;
        for v in values {
            let one = Interval::new(v, v)?;
            all = Some(all.map_or(one, |i| i.hull(one)));
        }
        all
    }
}

fn product(x: Interval, y: Interval) -> Option<Interval> {
    let all = [x.low * y.low, x.low * y.high, x.high * y.low, x.high * y.high];
    Interval::over(all.into_iter())
}

/// What the elements of output 0 of an operator lie in, from the types and bounds of its operands.
pub fn range_of<'t>(
    op: &'static OpDef,
    attrs: &[AttrValue],
    operands: impl Iterator<Item = (&'t TensorType, Option<Interval>)>,
) -> Option<Interval> {
    let (types, known): (SmallVec<[&TensorType; 4]>, SmallVec<[Option<Interval>; 4]>) = operands.unzip();
    range(&Call { op, attrs, operands: &types }, &known)
}

/// What the elements of output 0 of a call lie in. `None` where nothing is known, for one because they may be NaN.
///
/// The bounds hold for the arithmetic of the evaluator up to its rounding, which is far below the distances
/// that users of the bounds keep.
pub fn range(call: &Call, operands: &[Option<Interval>]) -> Option<Interval> {
    let bounds = real_range(call, operands)?;
    // What leaves the range of an integer type comes back in at its other end. Each type holds less here than it
    // does, for the rounding of the bounds.
    let float = call.operands.first().is_none_or(|t| t.dtype.is_float());
    let range = if float { None } else { call.types().first().and_then(|t| t.dtype.int_range()) };
    let wraps = range.is_some_and(|(low, high)| bounds.low < low as f64 || bounds.high > high as f64 * 0.7);
    let moves = call.op.family == Family::View || passes_on(call.op.name);
    (!wraps || moves).then_some(bounds)
}

/// Whether the operator gives elements of its operands, bools or floats: what cannot wrap around.
fn passes_on(name: &str) -> bool {
    matches!(
        name,
        "where"
            | "masked_fill"
            | "embedding"
            | "gather"
            | "index_select"
            | "index"
            | "amax"
            | "amin"
            | "maximum"
            | "minimum"
            | "relu"
            | "clamp"
            | "tril"
            | "triu"
            | "flip"
            | "roll"
            | "repeat_interleave"
            | "cast"
            | "full"
            | "number"
    )
}

/// As [`range`], over the real numbers.
fn real_range(call: &Call, operands: &[Option<Interval>]) -> Option<Interval> {
    let known = |i: usize| operands.get(i).copied().flatten();
    let x = known(0);
    let size = |i: usize| call.operands.get(i).map_or(1.0, |t| t.numel() as f64);
    match call.op.name {
        "concat" => operands.iter().copied().reduce(|a, b| Some(a?.hull(b?)))?,
        _ if call.op.family == Family::View => x,
        "dropout" if !call.bool("train") => x,
        "full" | "number" => Interval::new(call.float("value"), call.float("value")),
        "add" => {
            let (x, y) = (x?, known(1)?);
            Interval::new(x.low + y.low, x.high + y.high)
        }
        "sub" => {
            let (x, y) = (x?, known(1)?);
            Interval::new(x.low - y.high, x.high - y.low)
        }
        "mul" => product(x?, known(1)?),
        "div" => {
            let (x, y) = (x?, known(1)?);
            if y.low <= 0.0 && y.high >= 0.0 {
                return None;
            }
            product(x, Interval::new(1.0 / y.high, 1.0 / y.low)?)
        }
        "neg" => x?.scaled(-1.0),
        "abs" => Interval::new(0.0, x?.magnitude()),
        "cast" => cast(x?, call.dtype("dtype")?, call.operands[0].dtype),
        "sin" | "cos" | "tanh" | "erf" => {
            x?;
            // These vanish with their operand, but for the cosine.
            if x?.is_zero() && call.op.name != "cos" { x } else { Interval::around_0(1.0) }
        }
        "sigmoid" => x.and(Interval::new(0.0, 1.0)),
        "relu" => Interval::new(x?.low.max(0.0), x?.high.max(0.0)),
        "silu" | "gelu" => Interval::around_0(x?.magnitude()),
        "exp" => Interval::new(x?.low.exp(), x?.high.exp()),
        "rsqrt" if x?.low > 0.0 => Interval::new(0.0, 1.0 / x?.low.sqrt()),
        "sqrt" if x?.low >= 0.0 => Interval::new(0.0, x?.high.sqrt()),
        "pow" => power(x?, call.float("exponent")),
        "maximum" | "minimum" => Some(x?.hull(known(1)?)),
        "clamp" => {
            let low = if call.given("min") { call.float("min") } else { x?.low };
            let high = if call.given("max") { call.float("max") } else { x?.high };
            Interval::new(low.min(high), high.max(low))
        }
        "where" => Some(known(1)?.hull(known(2)?)),
        "masked_fill" => Some(x?.hull(known(2)?)),
        "eq" | "ne" | "lt" | "le" | "gt" | "ge" | "logical_and" | "logical_or" | "logical_not" => {
            Interval::new(0.0, 1.0)
        }
        "tril" | "triu" => Some(x?.hull(Interval::new(0.0, 0.0)?)),
        "flip" | "roll" | "repeat_interleave" => x,
        "embedding" | "gather" | "index_select" | "index" => x,
        "mean" | "amax" | "amin" => x,
        "sum" | "cumsum" => {
            let n = size(0);
            let (low, high) = (x?.low.min(0.0), x?.high.max(0.0));
            Interval::new(low * n, high * n)
        }
        "softmax" => x.and(Interval::new(0.0, 1.0)),
        "sdpa" => {
            let (q, k, v) = (x?, known(1)?, known(2)?);
            let width = call.operands[0].shape.last().copied().unwrap_or(1) as f64;
            let score = q.magnitude() * k.magnitude() * width * call.float("scale").abs();
            // A row that a bool mask hides is 0; a NaN or an infinity in a mask of numbers makes its row NaN.
            let tame = call.operands.get(3).is_none_or(|mask| mask.dtype == DType::Bool) || known(3).is_some();
            (tame && score.is_finite()).then(|| v.hull(Interval { low: 0.0, high: 0.0 }))
        }
        "linear" | "matmul" => {
            let inner = call.operands[0].shape.last().copied().unwrap_or(1) as f64;
            let sum = products(x?, known(1)?, inner)?;
            match (call.op.name, operands.len()) {
                ("linear", 3) => plus(sum, known(2)?),
                _ => Some(sum),
            }
        }
        "addmm" | "baddbmm" => {
            let inner = call.operands[1].shape.last().copied().unwrap_or(1) as f64;
            let sum = products(known(1)?, known(2)?, inner)?.scaled(call.float("alpha"))?;
            plus(sum, x?.scaled(call.float("beta"))?)
        }
        "conv1d" | "conv2d" => {
            let taps: f64 = call.operands[1].shape.iter().skip(1).map(|&d| d as f64).product();
            let sum = products(x?, known(1)?, taps)?;
            if operands.len() > 2 { plus(sum, known(2)?) } else { Some(sum) }
        }
        "grouped_mm" => products(x?, known(1)?, call.operands[0].shape.last().copied().unwrap_or(1) as f64),
        "layer_norm" | "rms_norm" => {
            // A normalised element is at most the square root of the number of elements, as one of them makes out all
            // of the variance at most.
            x?;
            if call.float("eps") <= 0.0 {
                return None;
            }
            let lane: f64 = call.ints("normalized_shape").iter().map(|&d| d as f64).product();
            let mut out = if x?.is_zero() { x? } else { Interval::around_0(lane.sqrt() * 1.001)? };
            if operands.len() > 1 {
                out = product(out, known(1)?)?;
            }
            if operands.len() > 2 { plus(out, known(2)?) } else { Some(out) }
        }
        _ => None,
    }
}

fn plus(x: Interval, y: Interval) -> Option<Interval> {
    Interval::new(x.low + y.low, x.high + y.high)
}

/// A sum of `n` products.
fn products(x: Interval, y: Interval, n: f64) -> Option<Interval> {
    Interval::around_0(x.magnitude() * y.magnitude() * n)
}

fn power(x: Interval, exponent: f64) -> Option<Interval> {
    if exponent < 1.0 || exponent.fract() != 0.0 {
        return None;
    }
    if x.low >= 0.0 {
        return Interval::new(x.low.powf(exponent), x.high.powf(exponent));
    }
    let top = x.magnitude().powf(exponent);
    if exponent % 2.0 == 0.0 { Interval::new(0.0, top) } else { Interval::around_0(top) }
}

/// A cast to a narrower integer type wraps; there nothing is known.
fn cast(x: Interval, to: DType, from: DType) -> Option<Interval> {
    match to {
        DType::Bool => Interval::new(0.0, 1.0),
        _ if to.is_float() || from == DType::Bool => Some(x),
        DType::I64 if x.magnitude() < 9e15 => Some(x.hull(Interval { low: 0.0, high: 0.0 })),
        DType::I32 if x.magnitude() < 2e9 => Some(x.hull(Interval { low: 0.0, high: 0.0 })),
        _ => None,
    }
}
