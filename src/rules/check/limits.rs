//! Values at the limits of element types, and around a number.

use super::random::Random;
use crate::ir::{DType, Number};

/// Whole numbers at which some type ends, or stops to tell whole numbers apart.
const WHOLE: [i64; 11] = [
    0,
    1 << 7,
    1 << 8,
    1 << 11,
    1 << 15,
    1 << 16,
    1 << 24,
    1 << 31,
    // Doubles hold all whole numbers up to here.
    1 << 53,
    // In the middle of two neighbours in single precision, which doubles do not tell from the numbers beside it.
    (1 << 53) + (1 << 29),
    46_341,
];

/// Numbers beyond which products or sums of two leave a float type or fall out of it, as parts of the largest number.
const PARTS: [f64; 4] = [1.0, 0.75, 0.5, 0.25];

/// Numbers at which other types end, or which nobody has.
const FAR: [f64; 9] = [448.0, 464.0, 57_344.0, 65_504.0, 65_520.0, 1e30, 2_147_483_648.0, 3e9, 16_777_217.0];

/// An element of type `dtype` at its limits, or at those of a type that it may be cast to. Integers lie around `whole`, or at
/// the ends of their type.
pub(super) fn at_limits(dtype: DType, whole: i64, random: &mut Random) -> Number {
    if dtype.is_float() {
        let value = match random.below(8) {
            0 | 1 => dtype.max_finite().unwrap_or(1.0) * random.pick(&PARTS).unwrap_or(1.0),
            2 => smallest(dtype) * (1 + random.below(3)) as f64,
            3 => 1.0 + dtype.epsilon().unwrap_or(0.0) * random.below(3) as f64,
            4 => whole as f64 + random.below(5) as f64 - 2.0,
            5 | 6 => random.pick(&FAR).unwrap_or(1.0),
            _ => 0.5 + random.below(3) as f64,
        };
        let value = dtype.round(value);
        return Number::float(if random.chance(50) { -value } else { value });
    }
    let Some((least, most)) = range(dtype) else { return Number::from(random.chance(50)) };
    let near = random.below(5) as i64 - 2;
    let value = match random.below(8) {
        0 | 1 => most - near.abs(),
        2 | 3 => least + near.abs(),
        4 => near,
        5 | 6 => whole.saturating_add(near),
        _ => -whole.saturating_add(near),
    };
    whole_number(dtype, value)
}

/// The element of an integer type that a number wraps around to; of u64, which has no values below 0, as far above it.
fn whole_number(dtype: DType, value: i64) -> Number {
    dtype.store(Number::Int(value)).unwrap_or(Number::Int(value.saturating_abs()))
}

/// One of the numbers around which integers of an instance lie: the same for all, so that neighbours meet.
pub(super) fn whole(random: &mut Random) -> i64 {
    random.pick(&WHOLE).unwrap_or(0)
}

/// An element at or beside `number`.
pub(super) fn around(dtype: DType, number: f64, random: &mut Random) -> Number {
    if dtype == DType::Bool {
        return Number::from(random.chance(50));
    }
    if dtype.is_int() {
        // The cast saturates.
        let value = (number as i64).saturating_add(random.below(3) as i64 - 1);
        return whole_number(dtype, if random.chance(20) { value.saturating_neg() } else { value });
    }
    let step = dtype.epsilon().unwrap_or(0.0);
    let value = match random.below(12) {
        0..=3 => number,
        4 => number * (1.0 + step),
        5 => number * (1.0 - step),
        6 => -number,
        7 => number + 1.0,
        8 => number - 1.0,
        9 => number * 2.0,
        10 => number / 2.0,
        _ => number + 0.5,
    };
    Number::float(dtype.round(value))
}

/// Smallest and largest value of an integer type.
pub(super) fn range(dtype: DType) -> Option<(i64, i64)> {
    dtype.int_range().filter(|_| dtype.is_int())
}

/// Smallest positive value of a float type.
fn smallest(dtype: DType) -> f64 {
    match dtype {
        DType::F64 => f64::from_bits(1),
        DType::F32 => f64::from(f32::from_bits(1)),
        DType::BF16 => f64::from(half::bf16::from_bits(1)),
        DType::F16 => f64::from(half::f16::from_bits(1)),
        DType::F8E4M3 => 2.0_f64.powi(-9),
        DType::F8E5M2 => 2.0_f64.powi(-16),
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_values_of_their_type_and_reach_both_ends() {
        for dtype in DType::ALL {
            let mut random = Random::new(3);
            let all: Vec<Number> = (0..2_000).map(|_| at_limits(dtype, 1 << 24, &mut random)).collect();
            assert!(all.iter().all(|&v| dtype.store(v) == Some(v)), "{dtype}");
            let (least, most) = match range(dtype) {
                Some((least, most)) => (Number::Int(least), Number::Int(most)),
                None if dtype == DType::Bool => (Number::Int(0), Number::Int(1)),
                None => dtype.max_finite().map(|m| (Number::float(-m), Number::float(m))).unwrap(),
            };
            assert!(all.contains(&least) && all.contains(&most), "{dtype}");
            let small = smallest(dtype);
            assert!(
                !dtype.is_float() || all.contains(&Number::float(small)) && dtype.round(small / 2.0) < small,
                "{dtype}"
            );
        }
    }

    #[test]
    fn a_number_is_met_exactly_and_by_its_neighbours() {
        let mut random = Random::new(4);
        let all: Vec<Number> = (0..200).map(|_| around(DType::F16, 17.0, &mut random)).collect();
        for wanted in [17.0, 17.015625, 16.984375, -17.0, 18.0] {
            assert!(all.contains(&Number::float(wanted)), "{wanted}: {all:?}");
        }
        let all: Vec<Number> = (0..200).map(|_| around(DType::I8, 42.0, &mut random)).collect();
        assert!([41, 42, 43].iter().all(|&v| all.contains(&Number::Int(v))), "{all:?}");
    }
}
