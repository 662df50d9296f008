//! Counter-based random tensors: an element is a function of a seed, the tensor's type and its position.

use crate::ir::{DType, TensorType};

/// A well-mixed function of two numbers (two rounds of the splitmix64 finaliser).
pub fn mix(a: u64, b: u64) -> u64 {
    finalise(finalise(a.wrapping_add(0x9e37_79b9_7f4a_7c15)) ^ b.wrapping_mul(0xd134_2543_de82_ef95))
}

fn finalise(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Element number `flat` (row-major) of the random tensor of type `ty` that belongs to `seed`. Floats have mean 0
/// and variance 1 and are values of their type, integers lie in `0..=3`, bools are fair.
pub fn element(seed: u64, ty: &TensorType, flat: usize) -> f64 {
    let bits = mix(seed, flat as u64);
    match ty.dtype {
        DType::Bool => (bits & 1) as f64,
        d if d.is_int() => (bits & 3) as f64,
        DType::F64 | DType::F32 => bell(bits),
        narrow => narrow.round(bell(bits)),
    }
}

/// The sum of three uniform numbers: close enough to a normal distribution, and free of transcendental functions.
fn bell(bits: u64) -> f64 {
    const MASK: u64 = (1 << 21) - 1;
    const UNIT: f64 = (1_u64 << 21) as f64;
    let sum = (bits & MASK) + (bits >> 21 & MASK) + (bits >> 42 & MASK);
    // A uniform number on an interval of length 1 has variance 1/12, three have 1/4.
    2.0 * ((sum as f64 + 1.5) / UNIT - 1.5)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Shape;

    fn ty(dtype: DType) -> TensorType {
        TensorType::new(dtype, Shape::from_slice(&[1 << 16])).unwrap()
    }

    #[test]
    fn floats_have_mean_0_and_variance_1() {
        for dtype in [DType::F64, DType::F32, DType::BF16] {
            let values: Vec<f64> = (0..1 << 16).map(|i| element(7, &ty(dtype), i)).collect();
            let mean = values.iter().sum::<f64>() / 65536.0;
            let variance = values.iter().map(|v| v * v).sum::<f64>() / 65536.0;
            assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.02, "{dtype}: {mean} {variance}");
            assert!(values.iter().all(|&v| dtype.round(v) == v), "{dtype}");
        }
    }

    #[test]
    fn integers_are_small_and_bools_fair() {
        assert!((0..100).all(|i| (0.0..=3.0).contains(&element(1, &ty(DType::I64), i))));
        let ones: f64 = (0..10_000).map(|i| element(1, &ty(DType::Bool), i)).sum();
        assert!((4500.0..5500.0).contains(&ones));
    }

    #[test]
    fn seeds_and_positions_matter() {
        let t = ty(DType::F64);
        assert_ne!(element(1, &t, 0), element(2, &t, 0));
        assert_ne!(element(1, &t, 0), element(1, &t, 1));
        assert_eq!(element(1, &t, 9), element(1, &t, 9));
    }
}
