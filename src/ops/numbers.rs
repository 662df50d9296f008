//! Numbers beside tensors: which one PyTorch computes with, and one name for all that it takes for the same.

use crate::ir::{DType, Number};

/// The value that PyTorch computes with for a number beside a tensor of type `dtype`: f32 for narrower floats too.
pub fn as_number(dtype: DType, value: Number) -> Number {
    match (dtype, value) {
        (DType::F64, _) => value,
        (d, _) if d.is_float() => Number::float(DType::F32.round(value.to_f64())),
        _ => value,
    }
}

/// The value that is left of a number beside a tensor of type `dtype` where PyTorch stores it in that type: where elements are chosen, moved or
/// compared, and where no tensor stands beside it.
pub fn stored_number(dtype: DType, value: Number) -> Number {
    if dtype.is_float() { Number::float(dtype.round(value.to_f64())) } else { value }
}

/// Whether a number beside a tensor of a float type `dtype` is neither infinite nor, unless it is 0, comes to 0.
pub fn is_in_range(dtype: DType, value: f64) -> bool {
    let held = as_number(dtype, Number::float(value)).to_f64();
    held.is_finite() && (held != 0.0 || value == 0.0)
}

/// How much of the smaller of two numbers that are added may get lost in rounding, relatively.
const MAX_LOST: f64 = 1e-5;

/// Whether the sum of two numbers beside a tensor of type `dtype` still has next to all of both. `1 + 1e-9` is 1 in single precision:
/// what kept a logarithm away from 0 would be gone.
pub fn keeps_both(dtype: DType, x: f64, y: f64) -> bool {
    let sum = x + y;
    if !sum.is_finite() || x == 0.0 || y == 0.0 {
        return true;
    }
    // What the sum of doubles leaves out: Knuth, The Art of Computer Programming, volume 2, section 4.2.2, theorem B.
    let of_y = sum - x;
    let left_out = (x - (sum - of_y)) + (y - of_y);
    let lost = (sum - as_number(dtype, Number::float(sum)).to_f64()) + left_out;
    lost.abs() <= MAX_LOST * x.abs().min(y.abs())
}

/// One name for all numbers that [`as_number`] takes for the same. What was written as 0.1 and what is left of it in `f32` are one
/// number, and so are √8 and 2.828427, and 1/√8 and 0.35355338. The name is that of a root that scales attention, or else the number
/// with the fewest digits. Beside doubles and integers every number is its own, and so is an element of a narrow type.
pub fn shortest_number(dtype: DType, value: Number) -> Number {
    match as_number(dtype, value) {
        Number::Float(v) if dtype.bytes() < DType::F32.bytes() && dtype.round(v.0) == v.0 => Number::Float(v),
        Number::Float(v) if dtype != DType::F64 && v.0.is_finite() => {
            let shortest = format!("{:?}", v.0 as f32).parse().ok();
            // The digits are read as a double, which is rounded a second time and may lie beyond the largest number of the type.
            let most = dtype.max_finite().unwrap_or(f64::MAX).max(v.0.abs());
            let same = |&x: &f64| x.abs() <= most && as_number(dtype, Number::float(x)) == Number::Float(v);
            let name = roots(v.0).into_iter().chain(shortest).find(same);
            name.map_or(Number::Float(v), Number::float)
        }
        other => other,
    }
}

/// The largest size of a head whose scale goes by its formula.
const MAX_HEAD: f64 = 1024.0;

/// The square root and the fourth root of whole numbers that are near `value`, and of such whose inverses are: what scales scores, or
/// queries and keys both, and what divides them.
fn roots(value: f64) -> impl IntoIterator<Item = f64> {
    let size =
        move |power: i32| Some(value.powi(power).round()).filter(|n| value > 0.0 && (2.0..=MAX_HEAD).contains(n));
    let inverse = [size(-2).map(|n| 1.0 / n.sqrt()), size(-4).map(|n| 1.0 / n.sqrt().sqrt())];
    let root = [size(2).map(f64::sqrt), size(4).map(|n| n.sqrt().sqrt())];
    inverse.into_iter().chain(root).flatten()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_shortest_number_computes_the_same(bits in any::<u32>()) {
            let value = f64::from(f32::from_bits(bits));
            for dtype in [DType::F32, DType::BF16, DType::F16] {
                let number = Number::float(value);
                let short = shortest_number(dtype, number);
                prop_assert_eq!(as_number(dtype, short), as_number(dtype, number));
                prop_assert_eq!(shortest_number(dtype, short), short);
            }
            prop_assert_eq!(shortest_number(DType::F64, Number::float(value)), Number::float(value));
        }

        #[test]
        fn scales_of_attention_are_roots(size in 2..=1024_u32) {
            let scale = 1.0 / f64::from(size).sqrt();
            for (exact, power) in [(scale, -2), (scale.sqrt(), -4), (1.0 / scale, 2), (1.0 / scale.sqrt(), 4)] {
                let short = shortest_number(DType::F32, Number::float(f64::from(exact as f32))).to_f64();
                prop_assert!((short.powi(power) - f64::from(size)).abs() < 1e-9, "{short}");
            }
        }

        #[test]
        fn integers_are_numbers_of_their_own(value in any::<i64>()) {
            prop_assert_eq!(shortest_number(DType::I64, Number::Int(value)), Number::Int(value));
        }
    }

    #[test]
    fn a_sum_keeps_both_numbers_or_is_none() {
        assert!(keeps_both(DType::F32, 0.1, 0.2) && keeps_both(DType::F32, 1.0, -1.0));
        assert!(!keeps_both(DType::F32, 1.0, 1e-9) && !keeps_both(DType::F32, 1e8, 1.0));
        assert!(!keeps_both(DType::F32, 1e-9, -1.0));
        assert!(!keeps_both(DType::BF16, 1.0, 1e-9) && keeps_both(DType::BF16, 1.0, 0.1));
        assert!(keeps_both(DType::F64, 1e8, 1.0) && keeps_both(DType::F64, 1.0, 1e-9));
        assert!(!keeps_both(DType::F64, 1.0, 1e-17));
    }
}
