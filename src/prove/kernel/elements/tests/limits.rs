//! Numbers: how they round, where they end, and types that hold others.

use super::*;

#[test]
fn casts_within_one_range_only_round() {
    let narrow = "a = exp(m)\n y = add(a, a)";
    let wide = "c = cast(m; dtype=f32)\n a = exp(c)\n b = add(a, a)\n y = cast(b; dtype=bf16)";
    assert_eq!(equal(narrow, wide), Some(Tier::Rounding));
}

#[test]
fn what_is_computed_in_a_narrower_type_is_not_what_a_wider_one_computes() {
    let in_f32 = "c = cast(m; dtype=f32)\n y = matmul(c, w)";
    let in_bf16 = "v = cast(w; dtype=bf16)\n p = matmul(m, v)\n y = cast(p; dtype=f32)";
    assert_eq!(equal(in_f32, in_bf16), None);
    let widened = "s = add(m, m)\n y = cast(s; dtype=f32)";
    assert_eq!(equal(widened, "c = cast(m; dtype=f32)\n y = add(c, c)"), None);
    let narrowed = "n = cast(x; dtype=bf16)\n y = add(n, n)";
    assert_eq!(equal(narrowed, "s = add(x, x)\n y = cast(s; dtype=bf16)"), None);
    assert!(equal(narrowed, narrowed).is_some());
    let moved = "c = cast(m; dtype=f32)\n f = flip(c; dims=[0])\n y = add(f, x)";
    assert_eq!(equal(moved, "f = flip(m; dims=[0])\n c = cast(f; dtype=f32)\n y = add(x, c)"), Some(Tier::Exact));
    assert_eq!(
        equal_at_limits(
            moved,
            "f = flip(m; dims=[0])\n c = cast(f; dtype=f32)\n s = add(x, x)\n u = add(s, c)\n y = sub(u, x)"
        ),
        None
    );
}

#[test]
fn infinite_weights_make_nothing_equal() {
    let body = |n: &str| format!("a = number(; value={n}, dtype=f32)\n b = mul(x, a)\n y = mul(b, a)");
    assert_eq!(equal(&body("1e200"), "a = number(; value=inf, dtype=f32)\n y = mul(x, a)"), None);
}

#[test]
fn small_numbers_count() {
    let offset = |n: &str| format!("a = number(; value={n}, dtype=f32)\n y = add(x, a)");
    assert_eq!(equal(&offset("1e-6"), &offset("5e-7")), None);
    assert_eq!(equal(&offset("1e-6"), "y = alias(x)"), None);
    let factor = |n: &str| {
        format!(
            "r = reshape(x; shape=[2, 2, 2, 1])\n u = upsample_linear(r; size=[3, 3])\n \
             a = number(; value={n}, dtype=f32)\n b = sum(w; dim=[0, 1])\n c = mul(b, a)\n y = add(u, c)"
        )
    };
    assert_eq!(equal(&factor("1e-7"), &factor("2e-7")), None);
    assert!(equal(&factor("1e-7"), &factor("1e-7")).is_some());
}

#[test]
fn numbers_that_somebody_wrote_are_equal_to_themselves_alone() {
    for (input, dtype) in [("d", "f64"), ("x", "f32")] {
        let half = times(input, dtype, &["0.5"]);
        for other in ["0.5000001", "0.4999999"] {
            assert_eq!(equal(&half, &times(input, dtype, &[other])), None, "{other} in {dtype}");
        }
    }
    assert_eq!(equal(&times("d", "f64", &["0.30000000000000004"]), &times("d", "f64", &["0.3"])), None);
    // 0.1 and 0.100000001 are one number in f32.
    assert!(equal(&times("x", "f32", &["0.1"]), &times("x", "f32", &["0.100000001"])).is_some());
    assert_eq!(equal(&times("d", "f64", &["0.1"]), &times("d", "f64", &["0.100000001"])), None);
}

#[test]
fn numbers_that_are_multiplied_out_round_in_their_type() {
    let root = "0.35355339059327373";
    for (input, dtype, off) in [("d", "f64", "0.125000000000001"), ("x", "f32", "0.1250001")] {
        let squared = times(input, dtype, &[root, root]);
        assert_eq!(equal(&squared, &times(input, dtype, &["0.125"])), Some(Tier::Rounding), "{dtype}");
        assert_eq!(equal(&squared, &times(input, dtype, &[off])), None, "{dtype}");
    }
    let thirds = |k: &str| format!("k = number(; value={k}, dtype=f64)\n y = div(d, k)");
    assert_eq!(equal(&thirds("3.0"), &times("d", "f64", &["0.3333333333333333"])), Some(Tier::Rounding));
    assert_eq!(equal(&thirds("3.0"), &times("d", "f64", &["0.333333333333333"])), None);
    assert_eq!(equal(&thirds("4.0"), &times("d", "f64", &["0.25"])), Some(Tier::Real));
    assert_eq!(equal(&times("d", "f64", &["3.0", "4.0"]), &times("d", "f64", &["12.0"])), Some(Tier::Real));
}

#[test]
fn what_overflows_is_equal_to_nothing() {
    assert_eq!(equal(&times("d", "f64", &["1e200", "1e200", "1e-300"]), &times("d", "f64", &["1e100"])), None);
    assert_eq!(equal(&times("x", "f32", &["1e-30", "1e-30"]), &times("x", "f32", &["0.0"])), None);
}

#[test]
fn infinities_and_nan_do_not_cancel() {
    let zero = "z = number(; value=0.0, dtype=f32)\n y = mul(x, z)";
    for number in ["inf", "-inf", "nan"] {
        let k = format!("k = number(; value={number}, dtype=f32)\n ");
        let minus_itself = format!("{k}a = add(x, k)\n y = sub(a, a)");
        let back = format!("{k}a = add(x, k)\n y = sub(a, k)");
        let times_zero = format!("{k}z = number(; value=0.0, dtype=f32)\n a = mul(x, k)\n y = mul(a, z)");
        for one in [&minus_itself, &back, &times_zero] {
            assert_eq!(equal_at_limits(one, zero), None, "{one}");
            assert_eq!(equal_at_limits(one, "y = alias(x)"), None, "{one}");
            assert_eq!(equal_at_limits(one, "y = sub(x, x)"), None, "{one}");
            assert!(equal_at_limits(one, one).is_some(), "{one}");
        }
    }
}

#[test]
fn nothing_is_known_to_be_zero() {
    let zero = "z = number(; value=0.0, dtype=f32)\n y = mul(x, z)";
    assert_eq!(equal_at_limits("y = sub(x, x)", zero), None);
    // The sign of what is 0 shows where something is divided by it.
    let one_over = |body: &str| format!("{body}\n y = reciprocal(a)");
    assert_eq!(equal_at_limits(&one_over("a = sub(x, x)"), &one_over("b = sub(x, x)\n a = neg(b)")), None);
    assert_eq!(equal_at_limits(&one_over("a = mul(x, x)"), &one_over("a = neg(x)")), None);
    let over = |n: &str| format!("z = number(; value={n}, dtype=f32)\n y = div(x, z)");
    assert_eq!(equal_at_limits(&over("0.0"), &over("-0.0")), None);
    assert!(equal_at_limits(&over("0.0"), &over("0.0")).is_some());
    // An infinite element leaves NaN.
    assert_eq!(equal_at_limits("t = permute(x; dims=[1, 0, 2])\n a = add(x, t)\n y = sub(a, t)", "y = alias(x)"), None);
    assert_eq!(equal_at_limits("a = add(x, x)\n y = sub(a, x)", "y = alias(x)"), None);
    assert_eq!(equal_at_limits("y = div(x, x)", "a = sub(x, x)\n y = exp(a)"), None);
}

#[test]
fn integers_wrap_around() {
    let two = "k = number(; value=2, dtype=i64)\n ";
    assert_eq!(equal("y = add(whole, whole)", &format!("{two}y = mul(whole, k)")), Some(Tier::Real));
    assert_eq!(equal(&format!("{two}a = mul(whole, k)\n y = floor_div(a, k)"), "y = alias(whole)"), None);
    let shift = times("whole", "i64", &["4", "4611686018427387904"]);
    assert_eq!(equal(&shift, "y = alias(whole)"), None);
    // Both leave no bit of it.
    assert_eq!(equal(&shift, &times("whole", "i64", &["4611686018427387904", "8"])), Some(Tier::Real));
    let joined = |n: &str| format!("a = diff({n}; dim=0)\n y = concat(a, a; dim=0)");
    let by_hand = "a = slice(whole; dim=0, start=1, end=2)\n b = slice(whole; dim=0, start=0, end=1)\n c = sub(a, b)\n \
                   y = concat(c, c; dim=0)";
    assert_eq!(equal(&joined("whole"), by_hand), None);
    assert_eq!(equal(&joined("x"), &by_hand.replace("(whole;", "(x;")), Some(Tier::Real));
}

#[test]
fn a_detour_by_another_type_is_not_left_out() {
    let by = |dtype: &str| format!("a = cast(x; dtype={dtype})\n y = cast(a; dtype=f32)");
    for dtype in ["bf16", "f16", "f64", "f8e4m3", "i64", "bool"] {
        assert_eq!(equal(&by(dtype), "y = alias(x)"), None, "{dtype}");
    }
    let floored = "a = cast(x; dtype=i64)\n y = cast(a; dtype=f32)";
    assert_eq!(equal(floored, "y = floor(x)"), None);
}

#[test]
fn limits_that_are_nan_win() {
    let clamped = "y = clamp(x; min=nan, max=1.0)";
    assert_eq!(equal(clamped, "y = clamp(x; max=1.0)"), None);
    assert_eq!(equal("y = clamp(x; min=0.0, max=1.0)", "y = clamp(x; min=1.0, max=0.0)"), None);
    let relu = "y = relu(x)";
    assert_eq!(equal(relu, "y = clamp(x; min=0.0)"), Some(Tier::Real));
    assert_eq!(equal(relu, "y = clamp(x; max=0.0)"), None);
}

#[test]
fn long_formulas_come_to_an_end() {
    let squares = |first: &str| {
        let mut body = format!("s0 = add({first}, w)\n ");
        (0..90).for_each(|i| body += &format!("s{} = mul(s{i}, s{i})\n ", i + 1));
        body + "y = alias(s90)"
    };
    let turned = "t = permute(x; dims=[1, 0, 2])\n ";
    assert_eq!(equal(&squares("x"), &format!("{turned}{}", squares("t"))), None);
    let numbers: Vec<&str> = (0..90).map(|_| "1.1").collect();
    assert_eq!(equal(&times("d", "f64", &numbers), &times("d", "f64", &["1.5"])), None);
}
