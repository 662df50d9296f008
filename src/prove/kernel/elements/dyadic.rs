//! Sums and products of fractions whose denominators are powers of two, as those of floats are.
//!
//! `BigRational` finds the greatest common divisor by subtraction, whose steps grow with the square of a number's length even where the
//! denominator is 1. Here two is the only divisor there can be.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Zero};

/// The product of two numbers; most are 1.
pub(super) fn times(x: &BigRational, y: &BigRational) -> BigRational {
    match (x.is_one(), y.is_one()) {
        (true, _) => return y.clone(),
        (_, true) => return x.clone(),
        _ => {}
    }
    match (exponent(x.denom()), exponent(y.denom())) {
        (Some(a), Some(b)) => lowest(x.numer() * y.numer(), a + b),
        _ => x * y,
    }
}

/// The sum of two numbers.
pub(super) fn plus(x: &BigRational, y: &BigRational) -> BigRational {
    match (exponent(x.denom()), exponent(y.denom())) {
        (Some(a), Some(b)) => {
            let common = a.max(b);
            lowest((x.numer() << (common - a)) + (y.numer() << (common - b)), common)
        }
        _ => x + y,
    }
}

/// Whether one number is below another: denominators are positive.
pub(super) fn is_less(x: &BigRational, y: &BigRational) -> bool {
    x.numer() * y.denom() < y.numer() * x.denom()
}

/// The power of two that a denominator is.
fn exponent(denominator: &BigInt) -> Option<u64> {
    let zeros = denominator.trailing_zeros()?;
    (denominator.bits() == zeros + 1).then_some(zeros)
}

/// `numerator / 2^exponent` in lowest terms.
fn lowest(numerator: BigInt, exponent: u64) -> BigRational {
    let Some(zeros) = numerator.trailing_zeros() else { return BigRational::zero() };
    let shared = zeros.min(exponent);
    BigRational::new_raw(numerator >> shared, BigInt::one() << (exponent - shared))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn number() -> impl Strategy<Value = BigRational> {
        let float = any::<f32>().prop_filter_map("finite", BigRational::from_float);
        let fraction = (-50_i64..50, 1_i64..50).prop_map(|(n, d)| BigRational::new(n.into(), d.into()));
        prop_oneof![float, fraction]
    }

    proptest! {
        /// The same numbers in the same lowest terms as `BigRational` computes.
        #[test]
        fn they_are_what_fractions_are(x in number(), y in number()) {
            for (own, other) in [(times(&x, &y), &x * &y), (plus(&x, &y), &x + &y), (plus(&x, &-&x), BigRational::zero())] {
                prop_assert_eq!(own.numer(), other.numer());
                prop_assert_eq!(own.denom(), other.denom());
            }
        }
    }
}
