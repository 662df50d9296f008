//! Integers: sums and products that wrap around.

use super::equal;
use crate::rules::Tier;

const SMALLEST: &str = "b = full(; shape=[2, 2, 2], value=-9223372036854775808, dtype=i64)";

#[test]
fn sums_and_products_of_integers_are_polynomials() {
    for (a, b) in [
        (
            "p = mul(whole, whole)\n y = add(p, whole)",
            "o = number(; value=1, dtype=i64)\n q = add(whole, o)\n y = mul(q, whole)",
        ),
        ("y = sub(whole, whole)", "y = full(; shape=[2, 2, 2], value=0, dtype=i64)"),
        (
            "y = matmul(whole, whole)",
            "l = unsqueeze(whole; dim=3)\n r = unsqueeze(whole; dim=1)\n p = mul(l, r)\n y = sum(p; dim=[2])",
        ),
        (
            "y = addcmul(whole, whole, whole; value=3)",
            "t = number(; value=3, dtype=i64)\n p = mul(whole, t)\n q = mul(p, whole)\n y = add(whole, q)",
        ),
        ("n = neg(whole)\n y = mul(n, n)", "y = pow(whole; exponent=2)"),
    ] {
        assert!(equal(a, b).is_some_and(|tier| tier <= Tier::Real), "{a}\n{b}");
    }
}

#[test]
fn numbers_wrap_around_as_elements_do() {
    let twice = format!("{SMALLEST}\n p = mul(whole, b)\n y = add(p, p)");
    assert!(equal(&twice, "y = full(; shape=[2, 2, 2], value=0, dtype=i64)").is_some());
    let once = format!("{SMALLEST}\n y = mul(whole, b)");
    assert!(equal(&once, "y = full(; shape=[2, 2, 2], value=0, dtype=i64)").is_none());
}

#[test]
fn numbers_that_rounding_would_join_stay_apart() {
    let times = |n: i64| format!("n = number(; value={n}, dtype=i64)\n y = mul(whole, n)");
    assert!(equal(&times(1 << 40), &times((1 << 40) + 1)).is_none());
}

#[test]
fn casts_of_integers_are_no_numbers() {
    let a = "n = cast(whole; dtype=i32)\n s = add(n, n)\n y = cast(s; dtype=i64)";
    let b = "n = cast(whole; dtype=i32)\n v = cast(n; dtype=i64)\n y = add(v, v)";
    assert!(equal(a, b).is_none());
    // Neither is a quotient.
    let (a, b) = ("t = number(; value=2, dtype=i64)\n p = mul(whole, t)\n y = floor_div(p, t)", "y = alias(whole)");
    assert!(equal(a, b).is_none());
}

#[test]
fn what_is_joined_to_a_known_condition_is_known() {
    let mask = "o = full(; shape=[2, 2], value=1, dtype=bool)\n l = tril(o)\n b = ne(m, 0.0)\n";
    assert_eq!(equal(&format!("{mask} y = logical_and(b, l)"), &format!("{mask} y = tril(b)")), Some(Tier::Exact));
    assert_eq!(equal(&format!("{mask} y = logical_or(b, l)"), &format!("{mask} y = tril(b)")), None);
}
