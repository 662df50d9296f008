//! Elements of tensors from the bytes of files.

use half::{bf16, f16};

use crate::ir::{DType, Number};

/// The elements of type `dtype` that lie in `bytes`, little-endian; a rest that is no whole element is left out.
pub(crate) fn elements(dtype: DType, bytes: &[u8]) -> Option<Vec<Number>> {
    fn each<const N: usize, T: Into<Number>>(bytes: &[u8], read: impl Fn([u8; N]) -> T) -> Option<Vec<Number>> {
        bytes.chunks_exact(N).map(|chunk| chunk.try_into().ok().map(|bytes| read(bytes).into())).collect()
    }
    match dtype {
        DType::F64 => each(bytes, f64::from_le_bytes),
        DType::F32 => each(bytes, |b| f64::from(f32::from_le_bytes(b))),
        DType::F16 => each(bytes, |b| f64::from(f16::from_le_bytes(b))),
        DType::BF16 => each(bytes, |b| f64::from(bf16::from_le_bytes(b))),
        DType::I64 => each(bytes, i64::from_le_bytes),
        DType::I32 => each(bytes, |b| i64::from(i32::from_le_bytes(b))),
        DType::I16 => each(bytes, |b| i64::from(i16::from_le_bytes(b))),
        DType::I8 => each(bytes, |b: [u8; 1]| i64::from(b[0] as i8)),
        DType::U64 => bytes
            .chunks_exact(8)
            .map(|chunk| i64::try_from(u64::from_le_bytes(chunk.try_into().ok()?)).ok().map(Number::Int))
            .collect(),
        DType::U32 => each(bytes, |b| i64::from(u32::from_le_bytes(b))),
        DType::U16 => each(bytes, |b| i64::from(u16::from_le_bytes(b))),
        DType::U8 | DType::Bool => each(bytes, |b: [u8; 1]| i64::from(b[0])),
        DType::F8E4M3 => each(bytes, |b: [u8; 1]| eight_bits(b[0], 4)),
        DType::F8E5M2 => each(bytes, |b: [u8; 1]| eight_bits(b[0], 5)),
    }
}

/// The bytes of elements of type `dtype`, little-endian; what the type lacks is what a cast makes of it.
pub(crate) fn bytes(dtype: DType, elements: &[Number]) -> Vec<u8> {
    let int = |n: &Number| n.to_i64().unwrap_or(0);
    let of_float = |n: &Number| match dtype {
        DType::F64 => n.to_f64().to_le_bytes().to_vec(),
        DType::F32 => (n.to_f64() as f32).to_le_bytes().to_vec(),
        DType::F16 => f16::from_f64(n.to_f64()).to_le_bytes().to_vec(),
        DType::BF16 => bf16::from_f64(n.to_f64()).to_le_bytes().to_vec(),
        _ => vec![nearest_eight_bits(n.to_f64(), if dtype == DType::F8E4M3 { 4 } else { 5 })],
    };
    let size = dtype.bytes();
    match dtype {
        DType::Bool => elements.iter().map(|n| u8::from(n.is_true())).collect(),
        _ if dtype.is_float() => elements.iter().flat_map(of_float).collect(),
        // Two's complement: a narrower type has the low bytes.
        _ => elements.iter().flat_map(|n| int(n).to_le_bytes().into_iter().take(size)).collect(),
    }
}

/// The 8-bit float with this value, which the type has.
fn nearest_eight_bits(value: f64, exponent_bits: u32) -> u8 {
    let same = |bits: &u8| Number::float(eight_bits(*bits, exponent_bits)) == Number::float(value);
    (0..=u8::MAX).find(same).unwrap_or(0)
}

/// The value of an 8-bit float with that many exponent bits; with 4 of them it has no infinities.
fn eight_bits(bits: u8, exponent_bits: u32) -> f64 {
    let mantissa_bits = 7 - exponent_bits;
    let (mantissa, exponent) = (bits & ((1 << mantissa_bits) - 1), bits << 1 >> (mantissa_bits + 1));
    let (top, bias) = ((1 << exponent_bits) - 1, (1 << (exponent_bits - 1)) - 1);
    let fraction = f64::from(mantissa) / f64::from(1 << mantissa_bits);
    let all_ones = exponent == top && (exponent_bits == 5 || mantissa == (1 << mantissa_bits) - 1);
    let magnitude = match exponent {
        _ if all_ones && mantissa != 0 => f64::NAN,
        _ if all_ones => f64::INFINITY,
        0 => fraction * 2.0_f64.powi(1 - bias),
        _ => (1.0 + fraction) * 2.0_f64.powi(i32::from(exponent) - bias),
    };
    if bits & 0x80 == 0 { magnitude } else { -magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_little_endian() {
        assert_eq!(elements(DType::I16, &[1, 0, 0xff, 0xff]), Some(vec![Number::Int(1), Number::Int(-1)]));
        assert_eq!(elements(DType::BF16, &[0x80, 0x3f]), Some(vec![Number::float(1.0)]));
        assert_eq!(elements(DType::I64, &i64::MAX.to_le_bytes()), Some(vec![Number::Int(i64::MAX)]));
    }

    #[test]
    fn bytes_are_read_as_the_elements_that_they_are_written_for() {
        for dtype in DType::ALL {
            let all: Vec<Number> = (0..100).filter_map(|i| dtype.store(Number::Int(i - 50))).collect();
            assert_eq!(elements(dtype, &bytes(dtype, &all)).unwrap(), all, "{dtype}");
        }
        for special in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -0.0] {
            let all = [Number::float(special)];
            for dtype in [DType::F64, DType::F32, DType::F16, DType::BF16, DType::F8E5M2] {
                assert_eq!(elements(dtype, &bytes(dtype, &all)).unwrap(), all, "{dtype}");
            }
        }
    }

    #[test]
    fn every_eight_bit_float_is_a_value_of_its_type() {
        for bits in 0..=u8::MAX {
            for dtype in [DType::F8E4M3, DType::F8E5M2] {
                let value = elements(dtype, &[bits]).unwrap()[0];
                assert_eq!(dtype.store(value), Some(value), "{bits:#x} {dtype}");
            }
        }
        let read = |dtype, bits| elements(dtype, &[bits]).unwrap()[0];
        assert_eq!(read(DType::F8E4M3, 0x7e), Number::float(448.0));
        assert_eq!(read(DType::F8E4M3, 0x01), Number::float(0.001953125));
        assert_eq!(read(DType::F8E5M2, 0xfb), Number::float(-57344.0));
        assert_eq!(read(DType::F8E5M2, 0x7c), Number::float(f64::INFINITY));
        assert!(read(DType::F8E4M3, 0xff).is_nan());
    }
}
