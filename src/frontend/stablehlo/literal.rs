//! The contents of constants: a number for all elements, nested lists, bytes in hexadecimal digits, and resources.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use super::ast::{Tree, parts};
use super::types;
use crate::elements::elements;
use crate::ir::{DType, Number, TensorType};

/// The elements of a constant.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Elements {
    /// All are the same.
    Splat(Number),
    /// In row-major order.
    Dense(Vec<Number>),
}

/// Bytes that stand behind the module, by name.
pub(super) type Resources<'s> = FxHashMap<&'s str, Cow<'s, str>>;

/// Reads `dense<…>` or `dense_resource<…>` of type `ty`.
///
/// # Errors
/// What is wrong with it.
pub(super) fn read(text: &str, ty: &TensorType, resources: &Resources) -> Result<Elements, String> {
    let inner = |start: &str| text.strip_prefix(start).and_then(|t| t.strip_suffix('>')).map(str::trim);
    if let Some(name) = inner("dense_resource<") {
        let hex = resources.get(name.trim_matches('"')).ok_or_else(|| format!("there is no resource `{name}`"))?;
        let bytes = bytes(hex).ok_or("a resource is no string of hexadecimal digits")?;
        // The first four bytes say how the rest is aligned.
        return from_bytes(bytes.get(4..).unwrap_or_default(), ty);
    }
    let inner = inner("dense<").ok_or("a constant is no literal of numbers")?;
    if let Some(hex) = inner.strip_prefix('"').and_then(|t| t.strip_suffix('"')) {
        return from_bytes(&bytes(hex).ok_or("a string of bytes has other than hexadecimal digits")?, ty);
    }
    let is_list = inner.starts_with('[');
    let mut numbers = Vec::new();
    for word in words(inner) {
        if numbers.len() >= ty.numel().max(1) {
            return Err(format!("a constant of type {ty} has more than {} elements", ty.numel()));
        }
        numbers.push(number(word, ty.dtype).ok_or_else(|| format!("`{word}` is no element of type {}", ty.dtype))?);
    }
    match numbers[..] {
        [one] if !is_list => Ok(Elements::Splat(one)),
        _ if numbers.len() == ty.numel() => Ok(Elements::Dense(numbers)),
        _ => Err(format!("a constant of type {ty} has {} elements", numbers.len())),
    }
}

/// Reads a literal of complex numbers whose parts are of type `ty`: pairs between round brackets, or bytes. Gives both parts.
///
/// # Errors
/// What is wrong with it.
pub(super) fn read_complex(text: &str, ty: &TensorType, resources: &Resources) -> Result<[Elements; 2], String> {
    let pairs = |sizes: &[usize]| {
        TensorType::new(ty.dtype, [sizes, &[2]].concat().as_slice()).map_err(|error| error.to_string())
    };
    let listed = text.replace('(', "[").replace(')', "]");
    // One pair for all elements, or one for each.
    let one = Some(read(&listed, &pairs(&[])?, resources)).filter(|_| !text.starts_with("dense<["));
    match one {
        Some(Ok(Elements::Dense(both))) if both.len() == 2 => Ok([Elements::Splat(both[0]), Elements::Splat(both[1])]),
        _ => match read(&listed, &pairs(&ty.shape)?, resources)? {
            Elements::Splat(_) => Err("a complex number has two parts".to_owned()),
            Elements::Dense(all) => {
                let part = |at: usize| Elements::Dense(all.iter().skip(at).step_by(2).copied().collect());
                Ok([part(0), part(1)])
            }
        },
    }
}

/// A number of type f32 as somebody typed it: with the fewest digits that are rounded to it. Beside a tensor it is rounded to
/// f32 again, and PyTorch's programs hold what was typed.
pub(super) fn as_typed(number: Number, dtype: DType) -> Number {
    let typed = |v: f64| format!("{:?}", v as f32).parse().ok().filter(|&t: &f64| f64::from(t as f32) == v);
    match number {
        Number::Float(v) if dtype == DType::F32 && v.0.is_finite() => typed(v.0).map_or(number, Number::float),
        _ => number,
    }
}

/// The integers or bools of a literal, one repeated as often as its type says.
pub(super) fn ints(text: &str, ty: &str) -> Option<Vec<i64>> {
    /// Attributes hold a few numbers for each dimension.
    const MOST: usize = 1 << 10;
    let ty = types::read(ty).tensor()?.clone();
    if ty.numel() > MOST {
        return None;
    }
    match read(text, &ty, &Resources::default()).ok()? {
        Elements::Splat(one) => Some(vec![one.to_i64()?; ty.numel()]),
        Elements::Dense(all) => all.into_iter().map(Number::to_i64).collect(),
    }
}

/// The resources of `{-# dialect_resources: { builtin: { name: "0x…" } } #-}`.
pub(super) fn resources<'s>(trees: &[Tree<'s>]) -> Resources<'s> {
    let mut found = Resources::default();
    let mut pending = vec![trees];
    while let Some(trees) = pending.pop() {
        for part in parts(trees) {
            match part {
                [Tree::Word(name), Tree::Sign(":"), Tree::Text(hex)] => {
                    found.insert(name, hex.clone());
                }
                [.., Tree::Group(inner)] => pending.push(inner),
                _ => {}
            }
        }
    }
    found
}

/// What stands between brackets and commas. A comment ends with its line.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .flat_map(|line| line.split("//").next().unwrap_or("").split(['[', ']', ',', ' ', '\t', '\r']))
        .filter(|word| !word.is_empty())
}

fn number(word: &str, dtype: DType) -> Option<Number> {
    match word {
        "true" if dtype == DType::Bool => return Some(true.into()),
        "false" if dtype == DType::Bool => return Some(false.into()),
        _ => {}
    }
    if let Some(digits) = word.strip_prefix("0x") {
        let bits = u64::from_str_radix(digits, 16).ok()?;
        if !dtype.is_float() {
            return Some(Number::Int(dtype.wrap(bits as i64)));
        }
        // The bits of the number, the highest first.
        let bytes = bits.to_le_bytes();
        return elements(dtype, bytes.get(..dtype.bytes())?)?.first().copied();
    }
    if dtype.is_float() {
        return dtype.store(Number::float(word.parse().ok()?));
    }
    match dtype {
        DType::Bool => word.parse::<i64>().ok().map(|v| Number::from(v != 0)),
        _ => word.parse().ok().filter(|&v| dtype.wrap(v) == v).map(Number::Int),
    }
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digits = hex.strip_prefix("0x")?.as_bytes();
    let digit = |b: u8| (b as char).to_digit(16);
    let byte = |pair: &[u8]| match *pair {
        [high, low] => Some((digit(high)? << 4 | digit(low)?) as u8),
        _ => None,
    };
    digits.chunks(2).map(byte).collect()
}

fn from_bytes(bytes: &[u8], ty: &TensorType) -> Result<Elements, String> {
    let wrong = || format!("a constant of type {ty} has {} bytes", bytes.len());
    let numel = ty.numel();
    // Older versions pack eight bools into a byte.
    if ty.dtype == DType::Bool && bytes.len() != numel && bytes.len() == numel.div_ceil(8) {
        let bit = |i: usize| Number::from(bytes[i / 8] >> (i % 8) & 1 == 1);
        return Ok(Elements::Dense((0..numel).map(bit).collect()));
    }
    let mut all = elements(ty.dtype, bytes).ok_or_else(wrong)?;
    if ty.dtype == DType::Bool {
        all.iter_mut().for_each(|v| *v = v.is_true().into());
    }
    match all[..] {
        _ if bytes.len() != all.len() * ty.dtype.bytes() => Err(wrong()),
        [one] if numel != 1 => Ok(Elements::Splat(one)),
        _ if all.len() == numel => Ok(Elements::Dense(all)),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_as(text: &str, dtype: DType, shape: &[usize]) -> Result<Elements, String> {
        read(text, &TensorType::new(dtype, shape).unwrap(), &Resources::default())
    }

    #[test]
    fn constants_are_written_in_many_ways() {
        let ints = |all: &[i64]| Ok(Elements::Dense(all.iter().map(|&v| Number::Int(v)).collect()));
        assert_eq!(read_as("dense<[[1, -2], [3, 4]]>", DType::I32, &[2, 2]), ints(&[1, -2, 3, 4]));
        assert_eq!(read_as("dense<7>", DType::I32, &[2, 2]), Ok(Elements::Splat(Number::Int(7))));
        assert_eq!(read_as("dense<[]>", DType::I32, &[0]), ints(&[]));
        assert_eq!(read_as("dense<\"0x0100FFFF\">", DType::I16, &[2]), ints(&[1, -1]));
        assert_eq!(read_as("dense<\"0x05\">", DType::Bool, &[3]), ints(&[1, 0, 1]));
        assert_eq!(read_as("dense<true>", DType::Bool, &[3]), Ok(Elements::Splat(Number::Int(1))));
        let inf = Elements::Splat(Number::float(f64::NEG_INFINITY));
        assert_eq!(read_as("dense<0xFF800000>", DType::F32, &[]), Ok(inf.clone()));
        assert_eq!(read_as("dense<0xFF80>", DType::BF16, &[4]), Ok(inf));
        let rounded = Elements::Splat(Number::float(f64::from(1e-5_f32)));
        assert_eq!(read_as("dense<9.99999974E-6>", DType::F32, &[]), Ok(rounded));
    }

    #[test]
    fn complex_constants_are_pairs_or_bytes() {
        let read_as = |text: &str, shape: &[usize]| {
            read_complex(text, &TensorType::new(DType::F32, shape).unwrap(), &Resources::default())
        };
        let dense = |all: [f64; 2]| Elements::Dense(all.map(Number::float).to_vec());
        let splat = |v: f64| Elements::Splat(Number::float(v));
        assert_eq!(read_as("dense<[(1.0, 2.0), (3.0, 4.0)]>", &[2]), Ok([dense([1.0, 3.0]), dense([2.0, 4.0])]));
        assert_eq!(read_as("dense<(1.0,-2.0)>", &[2, 3]), Ok([splat(1.0), splat(-2.0)]));
        assert_eq!(read_as("dense<\"0x0000803F00000040\">", &[4]), Ok([splat(1.0), splat(2.0)]));
        for (text, shape) in [("dense<1.0>", &[2][..]), ("dense<[(1.0, 2.0)]>", &[2]), ("dense<(1.0, 2.0, 3.0)>", &[1])]
        {
            assert!(read_as(text, shape).is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_are_what_was_typed() {
        for typed in [1e-5, 0.1, -0.0, 0.044715, 3.0e38] {
            let number = Number::float(DType::F32.round(typed));
            assert_eq!(as_typed(number, DType::F32), Number::float(typed));
        }
        let half = Number::float(DType::BF16.round(0.1));
        assert_eq!(as_typed(half, DType::BF16), half);
    }

    #[test]
    fn constants_must_fit_their_type() {
        for (text, dtype) in [
            ("dense<[1, 2, 3]>", DType::I32),
            ("dense<[1]>", DType::I32),
            ("dense<300>", DType::U8),
            ("dense<1.5>", DType::I32),
            ("dense<\"0x010\">", DType::I8),
            ("dense<\"0x010203\">", DType::I16),
            ("dense<maybe>", DType::Bool),
            ("dense_resource<nothing>", DType::F32),
        ] {
            assert!(read_as(text, dtype, &[2]).is_err(), "{text}");
        }
    }
}
