//! Complex numbers. The IR has none: a complex tensor is two of real numbers, its parts.
//!
//! What only moves numbers, or adds them, acts on each part as on real numbers, and what is linear in each of two operands is
//! made of products of their parts: the converters of real tensors do both. The rest has a formula here.

use super::super::attribute::Attribute;
use super::super::lowering::{NodeLowering, usizes};
use super::region::{Monoid, expressions, monoids};
use crate::frontend::builder::{Lowering, Refusal, int, ints};
use crate::ir::{AttrValue, DType, Number, TensorType, Value};

/// A tensor of real numbers, or the real and the imaginary part of one of complex numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Parts {
    Real(Value),
    Complex([Value; 2]),
}

/// What an operation gives; `None` if it has to stay opaque.
type Given = Result<Option<Vec<Parts>>, Refusal>;

/// What acts on each part of complex numbers as on real numbers.
const ALIKE: [&str; 18] = [
    "add",
    "subtract",
    "negate",
    "broadcast_in_dim",
    "broadcast",
    "reshape",
    "transpose",
    "slice",
    "concatenate",
    "reverse",
    "pad",
    "gather",
    "dynamic_slice",
    "dynamic_update_slice",
    "select",
    "reduce",
    "reduce_window",
    "scatter",
];

/// Lowers an operation that takes or gives complex numbers. The results that `site` states are those of real numbers and of parts;
/// `gives` says which are complex.
pub(in super::super) fn convert(site: &mut NodeLowering, operands: &[Parts], gives: &[bool]) -> Given {
    let chlo = site.form.name.strip_prefix("chlo.");
    let Some(name) = site.form.stable_name().or(chlo) else { return Ok(None) };
    match (name, operands) {
        ("complex", &[Parts::Real(re), Parts::Real(im)]) => one([re, im]),
        ("real", &[Parts::Complex([re, _])]) => Ok(Some(vec![Parts::Real(re)])),
        ("imag", &[Parts::Complex([_, im])]) => Ok(Some(vec![Parts::Real(im)])),
        ("real", &[Parts::Real(x)]) => Ok(Some(vec![Parts::Real(x)])),
        ("imag", &[Parts::Real(x)]) => {
            let ty = site.low.ty(x);
            Ok(Some(vec![Parts::Real(zeros(site, &ty)?)]))
        }
        ("convert", &[x]) => converted(site, x, gives),
        ("fft", &[x]) => transform(site, x),
        ("compare", &[Parts::Complex(_), Parts::Complex(_)]) => compared(site, operands),
        ("multiply" | "dot_general" | "dot" | "convolution", &[Parts::Complex(x), Parts::Complex(y)]) => {
            product(site, x, y)
        }
        ("divide", &[Parts::Complex(x), Parts::Complex(y)]) => {
            let (x, y) = (joined(site, x)?, joined(site, y)?);
            let quotient = site.low.step("complex_div", &[], &[x, y])?;
            one(apart(site, quotient)?)
        }
        ("abs", &[Parts::Complex(x)]) => Ok(Some(vec![Parts::Real(length(site, x)?)])),
        ("exponential", &[Parts::Complex([re, im])]) => {
            let scale = site.part_of("exp", &[], &[re])?;
            one([scaled(site, "cos", im, scale)?, scaled(site, "sin", im, scale)?])
        }
        ("log", &[Parts::Complex([re, im])]) => {
            let length = length(site, [re, im])?;
            one([site.part_of("log", &[], &[length])?, site.part_of("atan2", &[], &[im, re])?])
        }
        ("cosine", &[Parts::Complex([re, im])]) => {
            let (cosh, sinh) = (site.part_of("cosh", &[], &[im])?, site.part_of("sinh", &[], &[im])?);
            let sinh = site.part_of("neg", &[], &[sinh])?;
            one([scaled(site, "cos", re, cosh)?, scaled(site, "sin", re, sinh)?])
        }
        ("sine", &[Parts::Complex([re, im])]) => {
            let (cosh, sinh) = (site.part_of("cosh", &[], &[im])?, site.part_of("sinh", &[], &[im])?);
            one([scaled(site, "sin", re, cosh)?, scaled(site, "cos", re, sinh)?])
        }
        _ if ALIKE.contains(&name) && joins_alike(site, name, gives.len()) => alike(site, operands, gives),
        _ => Ok(None),
    }
}

/// One tensor of complex numbers.
fn one(parts: [Value; 2]) -> Given {
    Ok(Some(vec![Parts::Complex(parts)]))
}

/// Whether the region of an operation, if it has one, does with complex numbers what it does with each of their parts.
fn joins_alike(site: &NodeLowering, name: &str, count: usize) -> bool {
    if !matches!(name, "reduce" | "reduce_window" | "scatter") {
        return true;
    }
    let replaces =
        || site.form.regions.first().and_then(|r| expressions(r, &site.form.arguments)).is_some_and(|r| r == ["#1"]);
    monoids(site, count).is_some_and(|all| all.iter().all(|&m| m == Monoid::Add)) || name == "scatter" && replaces()
}

/// The operation as its converter makes it of real operands; `part` is what its nodes are called.
fn of_reals(site: &mut NodeLowering, part: &str, operands: &[Value]) -> Result<Option<Vec<Value>>, Refusal> {
    let name = site.low.names.fresh(&format!("{}.{part}", site.low.name));
    let origin = site.low.origin.clone();
    let low = Lowering { graph: &mut *site.low.graph, names: &mut *site.low.names, name: &name, origin };
    let mut inner = NodeLowering { low, tables: &mut *site.tables, form: site.form, operands, results: site.results };
    Ok(super::convert(&mut inner)?.map(|values| values.to_vec()))
}

/// Each part by itself. What is real is the same for both.
fn alike(site: &mut NodeLowering, operands: &[Parts], gives: &[bool]) -> Given {
    let mut parts = Vec::new();
    for (part, name) in ["real", "imaginary"].into_iter().enumerate() {
        let own = |operand: &Parts| match *operand {
            Parts::Real(value) => value,
            Parts::Complex(parts) => parts[part],
        };
        let Some(values) = of_reals(site, name, &operands.iter().map(own).collect::<Vec<_>>())? else {
            return Ok(None);
        };
        parts.push(values);
    }
    let joined = |((&re, &im), &complex): ((&Value, &Value), &bool)| match complex {
        true => Parts::Complex([re, im]),
        false => Parts::Real(re),
    };
    Ok(Some(parts[0].iter().zip(&parts[1]).zip(gives).map(joined).collect()))
}

/// `(a + bi)(c + di)`, where the operation is linear in each of its operands.
fn product(site: &mut NodeLowering, [a, b]: [Value; 2], [c, d]: [Value; 2]) -> Given {
    let mut of = |part: &str, x: Value, y: Value| -> Result<Option<Value>, Refusal> {
        Ok(of_reals(site, part, &[x, y])?.and_then(|all| all.first().copied()))
    };
    let (ac, bd) = (of("real", a, c)?, of("real", b, d)?);
    let (ad, bc) = (of("imaginary", a, d)?, of("imaginary", b, c)?);
    let (Some(ac), Some(bd), Some(ad), Some(bc)) = (ac, bd, ad, bc) else { return Ok(None) };
    one([site.low.step("sub", &[], &[ac, bd])?, site.low.step("add", &[], &[ad, bc])?])
}

/// `op(x)` times `scale`.
fn scaled(site: &mut NodeLowering, op: &str, x: Value, scale: Value) -> Result<Value, Refusal> {
    let turned = site.part_of(op, &[], &[x])?;
    let operands = site.unrepeated(&[scale, turned]);
    site.low.step("mul", &[], &operands)
}

fn length(site: &mut NodeLowering, x: [Value; 2]) -> Result<Value, Refusal> {
    let x = joined(site, x)?;
    let last = site.rank(x) as i64 - 1;
    site.low.step("vector_norm", &[("dim", ints(&[last]))], &[x])
}

/// To and from complex numbers, and between those of different precision.
fn converted(site: &mut NodeLowering, x: Parts, gives: &[bool]) -> Given {
    let ty = site.result()?.clone();
    match (x, gives) {
        (Parts::Complex([re, im]), [true]) => one([site.cast(re, ty.dtype)?, site.cast(im, ty.dtype)?]),
        (Parts::Complex([re, _]), _) => Ok(Some(vec![Parts::Real(site.cast(re, ty.dtype)?)])),
        (Parts::Real(re), _) => {
            let re = of_reals(site, "real", &[re])?.and_then(|all| all.first().copied());
            let Some(re) = re else { return Ok(None) };
            one([re, zeros(site, &ty)?])
        }
    }
}

fn zeros(site: &mut NodeLowering, ty: &TensorType) -> Result<Value, Refusal> {
    let zero = site.number(Number::float(0.0), ty.dtype)?;
    let all = site.expand(zero, &ty.shape)?;
    if all != zero {
        site.tables.uniform.insert(all, Number::float(0.0));
        site.tables.repeats.insert(all, zero);
    }
    Ok(all)
}

/// Equal if both parts are.
fn compared(site: &mut NodeLowering, operands: &[Parts]) -> Given {
    let of = |key| site.form.attribute(&[key]).and_then(Attribute::word);
    let direction = of("comparison_direction").or_else(|| site.form.words.first().copied());
    let join = match direction {
        Some("EQ") => "logical_and",
        Some("NE") => "logical_or",
        _ => return Ok(None),
    };
    let Some(parts) = alike(site, operands, &[true])? else { return Ok(None) };
    let [Parts::Complex(both)] = parts[..] else { return Ok(None) };
    Ok(Some(vec![Parts::Real(site.part_of(join, &[], &both)?)]))
}

/// Fourier transforms, of the last dimensions.
fn transform(site: &mut NodeLowering, x: Parts) -> Given {
    let kind = site.form.attribute(&["type", "fft_type"]).and_then(Attribute::word);
    let lengths = site.ints(&["length", "fft_length"])?;
    let ([re, im], complex) = match x {
        Parts::Complex(parts) => (parts, true),
        Parts::Real(x) => ([x, x], false),
    };
    let rank = site.rank(re);
    let (Some(first), Some(&last)) = (rank.checked_sub(lengths.len()), lengths.last()) else {
        return Err(Refusal::new(format!("transforms {} dimensions of {rank}", lengths.len())));
    };
    let shape = site.shape(re);
    let lasting = if kind == Some("IRFFT") { rank - 1 } else { rank };
    if shape[first..lasting].iter().zip(&lengths).any(|(&size, &length)| length != size as i64) {
        return Err(Refusal::new(format!("transforms {lengths:?} places of {}", site.low.ty(re))));
    }
    // The table transforms no tensors without elements, and no narrow floats.
    if site.low.ty(re).numel() == 0 || !matches!(site.dtype(re), DType::F32 | DType::F64) {
        return Ok(None);
    }
    let dims = ("dims", usizes(&(first..rank).collect::<Vec<_>>()));
    let (norm, by_length) = (("norm", AttrValue::str("none")), ("norm", AttrValue::str("n")));
    let real = site.uniform(im) == Some(Number::float(0.0));
    let spectrum = match (kind, complex) {
        (Some("FFT"), true) if real => {
            site.low.step("fft_r2c", &[dims, norm, ("onesided", AttrValue::Bool(false))], &[re])?
        }
        (Some("RFFT"), false) => site.low.step("fft_r2c", &[dims, norm, ("onesided", AttrValue::Bool(true))], &[re])?,
        (Some("FFT"), true) => {
            let x = joined(site, [re, im])?;
            site.low.step("fft_c2c", &[dims, norm, ("forward", AttrValue::Bool(true))], &[x])?
        }
        (Some("IFFT"), true) => {
            let x = joined(site, [re, im])?;
            site.low.step("fft_c2c", &[dims, by_length, ("forward", AttrValue::Bool(false))], &[x])?
        }
        (Some("IRFFT"), true) => {
            let x = joined(site, [re, im])?;
            let values = site.emit("fft_c2r", &[dims, by_length, ("length", int(last))], &[x])?;
            return Ok(values.map(|all| all.into_iter().map(Parts::Real).collect()));
        }
        _ => return Ok(None),
    };
    one(apart(site, spectrum)?)
}

/// Both parts in a last dimension, as the table takes complex numbers.
pub(in super::super) fn joined(site: &mut NodeLowering, parts: [Value; 2]) -> Result<Value, Refusal> {
    if let Some(&pairs) = site.tables.pairs.get(&parts) {
        return Ok(pairs);
    }
    let last = [("dim", int(site.rank(parts[0]) as i64))];
    let [re, im] = parts;
    let columns = [site.part("unsqueeze", &last, &[re])?, site.part("unsqueeze", &last, &[im])?];
    let pairs = site.part("concat", &last, &columns)?;
    site.tables.pairs.insert(parts, pairs);
    Ok(pairs)
}

/// The parts of pairs.
pub(in super::super) fn apart(site: &mut NodeLowering, pairs: Value) -> Result<[Value; 2], Refusal> {
    let last = site.rank(pairs).saturating_sub(1);
    let mut part = |at: i64| {
        let column = site.slice(pairs, last, at, at + 1, 1)?;
        site.part("squeeze", &[("dim", int(last as i64))], &[column])
    };
    let parts = [part(0)?, part(1)?];
    site.tables.pairs.insert(parts, pairs);
    Ok(parts)
}
