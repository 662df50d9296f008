//! Formulas over the real numbers.

use super::*;

#[test]
fn sums_of_products_are_equal_over_the_real_numbers() {
    let product = "y = matmul(x, w)";
    let reshaped = "r = reshape(x; shape=[4, 2])\n p = matmul(r, w)\n y = reshape(p; shape=[2, 2, 2])";
    assert_eq!(equal(product, reshaped), Some(Tier::Exact));
    let spread = "a = unsqueeze(x; dim=3)\n p = mul(a, w)\n y = sum(p; dim=[2])";
    assert_eq!(equal(product, spread), Some(Tier::Real));
    let turned = "t = permute(w; dims=[1, 0])\n y = matmul(x, t)";
    assert_eq!(equal(product, turned), None);
}

#[test]
fn products_are_multiplied_out_over_the_real_numbers() {
    let real = Some(Tier::Real);
    let v = "v = sum(w; dim=[0])\n ";
    let grouped = format!("{v}p = matmul(x, w)\n y = matmul(p, v)");
    assert_eq!(equal(&grouped, &format!("{v}p = matmul(w, v)\n y = matmul(x, p)")), real);
    assert_eq!(equal(&grouped, &format!("{v}t = permute(w; dims=[1, 0])\n p = matmul(t, v)\n y = matmul(x, p)")), None);
    let square = "t = permute(x; dims=[1, 0, 2])\n a = sub(x, t)\n y = mul(a, a)";
    let spread = "t = permute(x; dims=[1, 0, 2])\n a = mul(x, x)\n b = mul(t, t)\n c = mul(x, t)\n g = add(c, c)\n \
                  e = add(a, b)\n y = sub(e, g)";
    assert_eq!(equal(square, spread), real);
    assert_eq!(equal(square, &spread.replace("sub(e, g)", "sub(e, c)")), None);
    assert_eq!(equal("y = sub(x, x)", "z = number(; value=0.0, dtype=f32)\n y = mul(x, z)"), real);
}

#[test]
fn exponentials_and_quotients_have_a_normal_form() {
    let real = Some(Tier::Real);
    let softmax = "y = softmax(x; dim=2)";
    let shifted =
        "hi = amax(x; dim=[0, 1, 2])\n s = sub(x, hi)\n e = exp(s)\n n = sum(e; dim=[2], keepdim=true)\n y = div(e, n)";
    assert_eq!(equal(softmax, shifted), real);
    assert_eq!(equal("y = softmax(x; dim=1)", shifted), None);
    assert_eq!(equal("l = log_softmax(x; dim=2)\n y = exp(l)", softmax), real);
    let by_sums = "n = logsumexp(x; dim=[2], keepdim=true)\n s = sub(x, n)\n y = exp(s)";
    assert_eq!(equal(by_sums, softmax), real);
    let odds = "e = exp(x)\n o = number(; value=1.0, dtype=f32)\n b = add(e, o)\n y = div(e, b)";
    assert_eq!(equal("y = sigmoid(x)", odds), real);
    assert_eq!(equal("y = sigmoid(x)", &odds.replace("value=1.0", "value=2.0")), None);
    // Of what may be 0 or negative, nothing is divided out, and no logarithm is undone.
    assert_eq!(equal("y = alias(x)", "a = mul(x, x)\n y = div(a, x)"), None);
    assert_eq!(equal("y = alias(x)", "a = log(x)\n y = exp(a)"), None);
    assert_eq!(equal("y = alias(x)", "a = mul(x, x)\n y = sqrt(a)"), None);
    assert_eq!(equal("a = reciprocal(x)\n y = reciprocal(a)", "y = alias(x)"), None);
}

#[test]
fn squares_of_roots_and_of_sizes_are_known() {
    let real = Some(Tier::Real);
    assert_eq!(equal("a = abs(x)\n y = mul(a, a)", "y = mul(x, x)"), real);
    assert_eq!(equal("a = neg(x)\n y = abs(a)", "y = abs(x)"), real);
    assert_eq!(equal("y = abs(x)", "y = alias(x)"), None);
    let root = |of: &str| format!("s = {of}\n r = sqrt(s)\n y = mul(r, r)");
    assert_eq!(equal(&root("mul(x, x)"), "y = mul(x, x)"), real);
    // The root of what may be negative is no number.
    assert_eq!(equal(&root("alias(x)"), "y = alias(x)"), None);
    assert_eq!(equal("s = mul(x, x)\n r = rsqrt(s)\n y = mul(r, r)", "s = mul(x, x)\n y = reciprocal(s)"), real);
}

#[test]
fn squares_that_were_multiplied_out_keep_their_sign() {
    let real = Some(Tier::Real);
    // Whichever side shows it.
    let equal_to = |one: &str, other: &str| {
        let off = |body: &str| format!("t = permute(x; dims=[1, 0, 2])\n a = sub(x, t)\n {body}");
        [equal(&off(one), &off(other)), equal(&off(other), &off(one))]
    };
    let of = |body: &str| equal_to(body, "y = mul(a, a)");
    assert_eq!(of("s = mul(a, a)\n r = sqrt(s)\n y = mul(r, r)"), [real; 2]);
    assert_eq!(of("s = pow(a; exponent=2.0)\n y = clamp(s; min=0.0)"), [real; 2]);
    assert_eq!(of("s = mul(a, a)\n y = relu(s)"), [real; 2]);
    assert_eq!(equal_to("s = mul(a, x)\n r = sqrt(s)\n y = mul(r, r)", "y = mul(a, x)"), [None; 2]);
    assert_eq!(equal_to("s = mul(a, x)\n y = relu(s)", "y = mul(a, x)"), [None; 2]);
    assert_eq!(of("s = mul(a, a)\n y = clamp(s; min=0.5)"), [None; 2]);
    // The number among the products of a square does not keep it from 0.
    let beside_1 = "o = number(; value=1.0, dtype=f32)\n b = sub(x, o)\n s = mul(b, b)\n ";
    let undone = format!("{beside_1}r = reciprocal(s)\n y = mul(s, r)");
    assert_eq!(equal(&undone, "e = sub(x, x)\n y = exp(e)"), None);
}

#[test]
fn roots_of_products_are_products_of_roots() {
    let parts = "t = flip(x; dims=[0])\n a = var(x; dim=[2], correction=0.0, keepdim=true)\n \
                 b = var(t; dim=[2], correction=0.0, keepdim=true)\n ";
    let apart = format!("{parts}r = sqrt(a)\n s = sqrt(b)\n y = mul(r, s)");
    let joined = |of: &str| format!("{parts}p = {of}\n y = sqrt(p)");
    assert_eq!(equal(&apart, &joined("mul(a, b)")), Some(Tier::Real));
    assert_eq!(equal(&apart, &joined("add(a, b)")), None);
    // Two negative numbers have a product with a root, and none of their own.
    let signed = "t = permute(x; dims=[1, 0, 2])\n u = add(x, t)\n v = sub(x, t)\n ";
    let roots = format!("{signed}r = sqrt(u)\n s = sqrt(v)\n y = mul(r, s)");
    assert_eq!(equal(&roots, &format!("{signed}p = mul(u, v)\n y = sqrt(p)")), None);
}

#[test]
fn what_cancels_but_for_rounding_is_nothing() {
    let rest = |one: &str, other: &str, third: &str| {
        format!(
            "k = number(; value={one}, dtype=f32)\n l = number(; value={other}, dtype=f32)\n n = number(; value={third}, dtype=f32)\n \
             p = mul(x, k)\n q = mul(p, l)\n r = mul(x, n)\n e = sub(q, r)\n t = permute(x; dims=[1, 0, 2])\n y = add(t, e)"
        )
    };
    let nothing = "y = permute(x; dims=[1, 0, 2])";
    assert_eq!(equal(&rest("0.1", "0.3", "0.03"), nothing), Some(Tier::Rounding));
    assert_eq!(equal(&rest("0.1", "0.3", "0.0300001"), nothing), None);
    // Numbers that were written are what they are.
    assert_eq!(equal(&rest("0.5", "1.0", "0.50000006"), nothing), None);
}

#[test]
fn numbers_inside_of_functions_round() {
    let scaled =
        |number: &str, by: &str| format!("k = number(; value={number}, dtype=f32)\n s = {by}(x, k)\n y = exp(s)");
    let divided = scaled("2.8284271247461903", "div");
    assert_eq!(equal(&divided, &scaled("0.35355339059327373", "mul")), Some(Tier::Rounding));
    assert_eq!(equal(&divided, &scaled("0.3535535", "mul")), None);
    assert_eq!(equal(&scaled("0.5", "mul"), &scaled("0.50000006", "mul")), None);
    assert_eq!(equal(&scaled("0.5", "mul"), &scaled("2.0", "div")), Some(Tier::Real));
    let scores = "t = permute(x; dims=[0, 2, 1])\n s = matmul(x, t)\n k = number(; value=2.8284271247461903, dtype=f32)\n \
                  g = div(s, k)\n p = softmax(g; dim=2)\n y = matmul(p, x)";
    assert_eq!(equal(scores, "y = sdpa(x, x, x; scale=0.35355339059327373)"), Some(Tier::Rounding));
}

#[test]
fn what_may_be_no_real_number_does_not_vanish() {
    // 0 / x is NaN for x = 0.
    let zero = "z = number(; value=0.0, dtype=f32)\n ";
    let over = |what: &str| format!("{zero}r = {what}\n y = mul(r, z)");
    assert_eq!(equal(&over("reciprocal(x)"), &over("alias(x)")), None);
    assert_eq!(equal(&over("log(x)"), &over("alias(x)")), None);
    assert_eq!(equal(&over("exp(x)"), &over("alias(x)")), Some(Tier::Real));
    assert_eq!(
        equal("r = reciprocal(x)\n e = exp(r)\n n = neg(r)\n i = exp(n)\n y = mul(e, i)", "a = sub(x, x)\n y = exp(a)"),
        None
    );
}

#[test]
fn a_branch_that_is_no_number_is_not_multiplied_away() {
    // `where` leaves the logarithm of a negative number out, a factor of 0 does not.
    let chosen = "z = number(; value=0.0, dtype=f32)\n c = gt(x, z)\n l = log(x)\n y = where(c, l, z)";
    let masked =
        "z = number(; value=0.0, dtype=f32)\n c = gt(x, z)\n k = cast(c; dtype=f32)\n l = log(x)\n y = mul(l, k)";
    assert_eq!(equal(chosen, masked), None);
    assert_eq!(equal(&chosen.replace("log(x)", "exp(x)"), &masked.replace("log(x)", "exp(x)")), Some(Tier::Real));
    // Nor does adding minus infinity hide what is no number.
    let hidden = "i = arange(; end=2, dtype=i64)\n o = number(; value=1, dtype=i64)\n c = lt(i, o)\n \
                  z = number(; value=0.0, dtype=f32)\n n = number(; value=-inf, dtype=f32)\n h = where(c, z, n)\n ";
    let added = |of: &str| format!("{hidden}r = {of}\n s = add(r, h)\n y = softmax(s; dim=2)");
    let replaced = |of: &str| format!("{hidden}r = {of}\n s = where(c, r, n)\n y = softmax(s; dim=2)");
    assert_eq!(equal(&added("reciprocal(x)"), &replaced("reciprocal(x)")), None);
    assert_eq!(equal(&added("alias(x)"), &replaced("alias(x)")), Some(Tier::Real));
    // A mask of which nothing is known may hide all keys, of which attention makes zeros and softmax NaN.
    let scores =
        "t = permute(x; dims=[0, 2, 1])\n p = matmul(x, t)\n s = add(p, w)\n f = softmax(s; dim=2)\n y = matmul(f, x)";
    assert_eq!(equal(scores, "y = sdpa(x, x, x, w; scale=1.0)"), None);
}

#[test]
fn roots_of_roots_take_no_time() {
    let mut body = "r0 = exp(x)\n ".to_owned();
    (0..40).for_each(|i| body += &format!("s{i} = sqrt(r{i})\n r{} = add(r{i}, s{i})\n ", i + 1));
    assert_eq!(equal(&format!("{body}y = reciprocal(r40)"), &format!("{body}y = sqrt(r40)")), None);
}

#[test]
fn choices_are_sums_over_truth_values() {
    let real = Some(Tier::Real);
    let chosen = "c = gt(x, m1)\n y = where(c, x, m2)";
    let inputs = "m1 = amax(x; dim=[0], keepdim=true)\n m2 = sum(x; dim=[0], keepdim=true)\n ";
    let masked = "c = gt(x, m1)\n k = cast(c; dtype=f32)\n a = mul(x, k)\n n = logical_not(c)\n l = cast(n; dtype=f32)\n \
                  b = mul(l, m2)\n y = add(a, b)";
    let of = |body: &str| format!("{inputs}{body}");
    assert_eq!(equal(&of(chosen), &of(masked)), real);
    assert_eq!(equal(&of(chosen), &of(&masked.replace("mul(l, m2)", "mul(k, m2)"))), None);
    // Which keys are hidden shows when it runs. Where none is left, both are NaN, but fused attention gives zeros.
    let hidden = "c = gt(x, m1)\n z = number(; value=-inf, dtype=f32)\n s = where(c, x, z)\n ";
    let rows = "e = exp(s)\n n = sum(e; dim=[2], keepdim=true)\n y = div(e, n)";
    assert_eq!(equal(&of(&format!("{hidden}y = softmax(s; dim=2)")), &of(&format!("{hidden}{rows}"))), real);
    let scores = "t = permute(x; dims=[0, 2, 1])\n a = matmul(x, t)\n z = number(; value=-inf, dtype=f32)\n s = where(c, a, z)\n ";
    let written = format!("c = gt(x, m1)\n {scores}p = softmax(s; dim=2)\n y = matmul(p, x)");
    assert_eq!(equal(&of("c = gt(x, m1)\n y = sdpa(x, x, x, c; scale=1.0)"), &of(&written)), None);
}

#[test]
fn attention_over_tiles_is_attention() {
    let scores = "t = permute(x; dims=[0, 2, 1])\n s = matmul(x, t)\n ";
    let whole = "y = sdpa(x, x, x; scale=1.0)";
    assert_eq!(equal(&format!("{scores}p = softmax(s; dim=2)\n y = matmul(p, x)"), whole), Some(Tier::Real));
    let tile = |n: usize| {
        format!(
            "s{n} = slice(s; dim=2, start={n}, end={})\n v{n} = slice(x; dim=1, start={n}, end={})\n ",
            n + 1,
            n + 1
        )
    };
    let running = format!(
        "{scores}{}{}z = sub(s0, s0)\n e0 = exp(z)\n hi = maximum(s0, s1)\n d0 = sub(s0, hi)\n a0 = exp(d0)\n d1 = sub(s1, hi)\n \
         a1 = exp(d1)\n l0 = mul(e0, a0)\n l = add(l0, a1)\n p0 = matmul(l0, v0)\n p1 = matmul(a1, v1)\n o = add(p0, p1)\n \
         y = div(o, l)",
        tile(0),
        tile(1)
    );
    assert_eq!(equal(&running, whole), Some(Tier::Real));
    assert_eq!(equal(&running.replace("sub(s1, hi)", "sub(s1, s0)"), whole), None);
    let causal = "y = sdpa(x, x, x; scale=1.0, causal=true)";
    assert_eq!(equal(&running, causal), None);
    let mask = "i = arange(; end=2, dtype=i64)\n r = reshape(i; shape=[2, 1])\n k = le(i, r)\n y = sdpa(x, x, x, k; scale=1.0)";
    assert_eq!(equal(mask, causal), Some(Tier::Real));
}

#[test]
fn convolutions_are_sums_of_products() {
    let filters = "r = reshape(w; shape=[2, 2, 1])\n ";
    let product = "t = permute(x; dims=[0, 2, 1])\n v = permute(w; dims=[1, 0])\n p = matmul(t, v)\n y = permute(p; dims=[0, 2, 1])";
    assert_eq!(
        equal(&format!("{filters}y = conv1d(x, r; stride=[1], padding=[0], dilation=[1])"), product),
        Some(Tier::Real)
    );
    assert_eq!(
        equal(
            &format!("{filters}y = conv1d(x, r; stride=[1], padding=[0], dilation=[1])"),
            &product.replace("dims=[1, 0]", "dims=[0, 1]")
        ),
        None
    );
}

#[test]
fn hyperbolic_functions_are_exponentials() {
    let real = Some(Tier::Real);
    let by_two =
        "h = number(; value=0.5, dtype=f32)\n e = exp(x)\n n = neg(x)\n f = exp(n)\n s = add(e, f)\n y = mul(s, h)";
    assert_eq!(equal("y = cosh(x)", by_two), real);
    assert_eq!(equal("y = sinh(x)", &by_two.replace("add", "sub")), real);
    assert_eq!(equal("y = sinh(x)", by_two), None);
    let by_sigmoid = "k = number(; value=2.0, dtype=f32)\n o = number(; value=1.0, dtype=f32)\n u = mul(x, k)\n \
                      g = sigmoid(u)\n t = mul(g, k)\n y = sub(t, o)";
    assert_eq!(equal("y = tanh(x)", by_sigmoid), real);
    assert_eq!(equal("y = tanh(x)", &by_sigmoid.replace("sigmoid(u)", "sigmoid(x)")), None);
}

#[test]
fn a_divisor_with_fractions_in_it_is_one_fraction() {
    let sums = "e = exp(x)\n s = sum(e; dim=[2], keepdim=true)\n u = sum(e; dim=[1], keepdim=true)\n ";
    let nested =
        format!("{sums}q = div(s, u)\n o = number(; value=1.0, dtype=f32)\n a = add(q, o)\n y = reciprocal(a)");
    let plain = format!("{sums}b = add(s, u)\n y = div(u, b)");
    assert_eq!(equal(&nested, &plain), Some(Tier::Real));
    assert_eq!(equal(&nested, &plain.replace("div(u, b)", "div(s, b)")), None);
    // What may be 0 is not multiplied out.
    let nested = nested.replace("e = exp(x)", "e = alias(x)");
    assert_eq!(equal(&nested, &plain.replace("e = exp(x)", "e = alias(x)")), None);
}

#[test]
fn what_a_mask_hides_takes_no_part_in_a_softmax() {
    let mask = "o = number(; value=3, dtype=i64)\n c = lt(whole, o)\n ";
    let hidden = format!("{mask}i = number(; value=-inf, dtype=f32)\n v = where(c, i, x)\n y = softmax(v; dim=2)");
    let shown = format!(
        "{mask}e = exp(x)\n n = number(; value=0.0, dtype=f32)\n k = where(c, n, e)\n s = sum(k; dim=[2], keepdim=true)\n \
         y = div(k, s)"
    );
    assert_eq!(equal(&hidden, &shown), Some(Tier::Real));
    assert_eq!(equal(&hidden, &shown.replace("where(c, n, e)", "where(c, e, n)")), None);
    // Where what is kept may be no real number, a factor of 0 does not hide it.
    let chosen = format!("{mask}i = number(; value=-inf, dtype=f32)\n l = log(x)\n v = where(c, i, l)\n y = exp(v)");
    let factor = format!("{mask}l = log(x)\n e = exp(l)\n b = logical_not(c)\n f = cast(b; dtype=f32)\n y = mul(e, f)");
    assert_eq!(equal(&chosen, &factor), None);
}

#[test]
fn the_place_of_the_largest_hangs_on_the_order_alone() {
    let real = Some(Tier::Real);
    let place = |of: &str| format!("t = {of}\n y = argmax(t; dim=2)");
    for of in ["softmax(x; dim=2)", "log_softmax(x; dim=2)", "exp(x)"] {
        assert_eq!(equal("y = argmax(x; dim=2)", &place(of)), real, "{of}");
        assert_eq!(equal("y = argmin(x; dim=2)", &place(of)), None, "{of}");
    }
    assert_eq!(equal("y = argmin(x; dim=2)", &place("neg(x)")), real);
    let scaled =
        |number: &str| format!("k = number(; value={number}, dtype=f32)\n t = mul(x, k)\n y = argmax(t; dim=2)");
    assert_eq!(equal("y = argmax(x; dim=2)", &scaled("3.0")), real);
    assert_eq!(equal("y = argmax(x; dim=2)", &scaled("-3.0")), None);
    // Sizes have another order, and so has what is softmax along another dimension.
    assert_eq!(equal("y = argmax(x; dim=2)", &place("abs(x)")), None);
    assert_eq!(equal("y = argmax(x; dim=2)", &place("mul(x, x)")), None);
    assert_eq!(equal("y = argmax(x; dim=2)", &place("softmax(x; dim=1)")), None);
    assert_eq!(equal("y = argmax(x; dim=2)", "y = argmax(x; dim=1)"), None);
    let lengths = "q = mul(x, x)\n s = sum(q; dim=[2])\n ";
    assert_eq!(
        equal(&format!("{lengths}r = sqrt(s)\n y = argmin(r; dim=1)"), &format!("{lengths}y = argmin(s; dim=1)")),
        real
    );
    // The root of what may be negative is no number.
    assert_eq!(equal("r = sqrt(x)\n y = argmax(r; dim=2)", "y = argmax(x; dim=2)"), None);
}

#[test]
fn the_root_of_a_multiple_was_not_the_multiple_of_the_root() {
    let of = "t = flip(x; dims=[0])\n ";
    let lengths = format!("{of}a = vector_norm(x; dim=[2])\n b = vector_norm(t; dim=[2])\n y = div(a, b)");
    let quotient = |of_t: &str| {
        format!(
            "{of}p = mul(x, x)\n a = sum(p; dim=[2])\n q = {of_t}\n b = sum(q; dim=[2])\n r = div(a, b)\n y = sqrt(r)"
        )
    };
    assert_eq!(equal(&lengths, &quotient("mul(t, t)")), Some(Tier::Real));
    assert_eq!(equal(&lengths, &quotient("mul(t, x)")), None);
    // What may be negative has a root only together with what it divides.
    let signed = format!("{of}a = sqrt(x)\n b = sqrt(t)\n y = div(a, b)");
    assert_eq!(equal(&signed, &format!("{of}q = div(x, t)\n y = sqrt(q)")), None);
}

#[test]
fn a_whole_was_not_compared_with_a_fraction() {
    let odds = |sign: &str| {
        format!(
            "o = number(; value=1.0, dtype=f32)\n e = exp(x)\n a = {sign}(e, o)\n b = add(e, o)\n q = mul(b, b)\n \
             p = mul(a, a)\n s = add(q, o)\n g = add(p, q)\n n = sub(g, s)\n y = div(n, s)"
        )
    };
    let less_1 = "o = number(; value=1.0, dtype=f32)\n e = exp(x)\n a = sub(e, o)\n b = add(e, o)\n q = mul(b, b)\n \
                  p = mul(a, a)\n s = add(q, o)\n g = add(p, q)\n n = div(g, s)\n y = sub(n, o)";
    assert_eq!(equal(&odds("sub"), less_1), Some(Tier::Real));
    assert_eq!(equal(&odds("add"), less_1), None);
}

#[test]
fn running_extremes_are_those_of_all_that_stand_before() {
    let hidden = |mask: &str, with: &str| {
        format!(
            "o = full(; shape=[2, 2], value=1.0, dtype=bool)\n k = {mask}(o)\n r = reshape(x; shape=[2, 2, 1, 2])\n \
             n = number(; value={with}, dtype=f32)\n masked = where(k, r, n)\n "
        )
    };
    let largest = "y, places = cummax(x; dim=2)";
    assert_eq!(equal(largest, &format!("{}y = amax(masked; dim=[3])", hidden("tril", "-inf"))), Some(Tier::Real));
    assert_eq!(equal(largest, &format!("{}y = amax(masked; dim=[3])", hidden("triu", "-inf"))), None);
    assert_eq!(equal(largest, &format!("{}y = amax(masked; dim=[3])", hidden("tril", "0.0"))), None);
    let smallest = "n = neg(x)\n h, places = cummax(n; dim=2)\n y = neg(h)";
    assert_eq!(equal("y, places = cummin(x; dim=2)", smallest), Some(Tier::Real));
    assert_eq!(equal("y, places = cummin(x; dim=1)", smallest), None);
}

#[test]
fn what_is_added_to_hidden_elements_was_added_beside_them() {
    let hidden = |body: &str| {
        format!(
            "z = number(; value=0, dtype=i64)\n k = gt(whole, z)\n n = number(; value=-inf, dtype=f32)\n \
             t = permute(x; dims=[1, 0, 2])\n h = number(; value=2.0, dtype=f32)\n {body}"
        )
    };
    let real = Some(Tier::Real);
    let pairs = [
        ("masked = where(k, x, n)\n y = add(t, masked)", "s = add(x, t)\n y = where(k, s, n)"),
        ("masked = where(k, n, x)\n y = sub(masked, t)", "s = sub(x, t)\n y = where(k, n, s)"),
        ("masked = where(k, x, n)\n y = div(masked, h)", "s = div(x, h)\n y = where(k, s, n)"),
    ];
    for (beside, inside) in pairs {
        assert_eq!(equal(&hidden(beside), &hidden(inside)), real, "{beside}");
        assert_eq!(equal(&hidden(beside), &hidden(&inside.replace(", s", ", x"))), None, "{beside}");
    }
    // A factor of unknown sign may turn minus infinity round.
    let [beside, inside] =
        [hidden("masked = where(k, x, n)\n y = mul(masked, t)"), hidden("s = mul(x, t)\n y = where(k, s, n)")];
    assert_eq!(equal(&beside, &inside), None);
}
