//! Functions that no library of elementary ones has.

use std::f64::consts::PI;

/// The inverse of the error function: what `erf` makes `x` of.
pub(super) fn erf_inverse(x: f64) -> f64 {
    let magnitude = x.abs();
    if magnitude.is_nan() || magnitude >= 1.0 || x == 0.0 {
        return match magnitude {
            1.0 => x * f64::INFINITY,
            0.0 => x,
            _ => f64::NAN,
        };
    }
    let mut y = start(magnitude);
    // Close to 1, the distance from 1 has more digits.
    let excess = |y: f64| if magnitude < 0.5 { libm::erf(y) - magnitude } else { (1.0 - magnitude) - libm::erfc(y) };
    for _ in 0..3 {
        let step = excess(y) / (2.0 / PI.sqrt() * (-y * y).exp());
        // Halley's method: the curvature of the error function is `-2 y` times its slope.
        y -= step / (1.0 + y * step);
    }
    y.copysign(x)
}

/// A first guess, by M. Giles, "Approximating the erfinv function".
fn start(x: f64) -> f64 {
    const SMALL: [f64; 9] = [
        2.81022636e-08,
        3.43273939e-07,
        -3.5233877e-06,
        -4.39150654e-06,
        0.00021858087,
        -0.00125372503,
        -0.00417768164,
        0.246640727,
        1.50140941,
    ];
    const LARGE: [f64; 9] = [
        -0.000200214257,
        0.000100950558,
        0.00134934322,
        -0.00367342844,
        0.00573950773,
        -0.0076224613,
        0.00943887047,
        1.00167406,
        2.83297682,
    ];
    let w = -((1.0 - x) * (1.0 + x)).ln();
    let (w, of) = if w < 5.0 { (w - 2.5, SMALL) } else { (w.sqrt() - 3.0, LARGE) };
    of.into_iter().fold(0.0, |sum, factor| sum * w + factor) * x
}

#[cfg(test)]
mod tests {
    use super::erf_inverse;

    #[test]
    fn the_inverse_error_function_undoes_the_error_function() {
        for y in [1e-300, 1e-9, 0.01, 0.3, 0.4769, 0.9, 1.5, 2.0, 3.0, 4.0, 5.0] {
            let found = erf_inverse(libm::erf(y));
            // Close to 1, a number has few neighbours.
            let apart = f64::EPSILON * (4.0 * y + 1.0 / (2.0 / std::f64::consts::PI.sqrt() * (-y * y).exp()));
            assert!((found - y).abs() <= apart, "{y}: {found}");
            assert_eq!(erf_inverse(-libm::erf(y)), -found);
        }
    }

    #[test]
    fn the_inverse_error_function_has_ends() {
        assert_eq!(erf_inverse(1.0), f64::INFINITY);
        assert_eq!(erf_inverse(-1.0), f64::NEG_INFINITY);
        assert!(erf_inverse(0.0).is_sign_positive() && erf_inverse(-0.0).is_sign_negative());
        for out in [1.5, f64::NEG_INFINITY, f64::NAN] {
            assert!(erf_inverse(out).is_nan(), "{out}");
        }
    }
}
