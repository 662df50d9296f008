//! Formulas case by case.

use super::*;

const REAL: Option<Tier> = Some(Tier::Real);

#[test]
fn functions_in_pieces_are_equal_case_by_case() {
    let number = |name: &str, value: &str| format!("{name} = number(; value={value}, dtype=f32)\n ");
    let absolute = "p = relu(x)\n n = neg(x)\n q = relu(n)\n y = add(p, q)";
    assert_eq!(equal("y = abs(x)", absolute), REAL);
    assert_eq!(equal("y = abs(x)", &absolute.replace("add", "sub")), None);
    let larger = "t = permute(x; dims=[1, 0, 2])\n y = maximum(x, t)";
    let by_half = format!(
        "{}t = permute(x; dims=[1, 0, 2])\n o = sub(x, t)\n a = abs(o)\n s = add(x, t)\n b = add(s, a)\n y = mul(b, h)",
        number("h", "0.5")
    );
    assert_eq!(equal(larger, &by_half), REAL);
    let smaller = larger.replace("maximum", "minimum");
    assert_eq!(equal(&smaller, &by_half), None);
    let chosen = "t = permute(x; dims=[1, 0, 2])\n c = ge(x, t)\n y = where(c, x, t)";
    assert_eq!(equal(larger, chosen), REAL);
    // Where both are equal, it makes no difference which one is taken.
    assert_eq!(equal(larger, &chosen.replace("ge", "gt")), REAL);
    assert_eq!(equal(larger, &chosen.replace("ge", "lt")), None);
}

#[test]
fn conditions_on_one_quantity_follow_from_each_other() {
    // Huber's loss, by cases and by a bound.
    let losses = |bound: &str| {
        format!(
            "k = number(; value={bound}, dtype=f32)\n h = number(; value=0.5, dtype=f32)\n a = abs(x)\n n = minimum(a, k)\n \
             s = mul(n, h)\n r = sub(a, s)\n y = mul(n, r)"
        )
    };
    let by_cases = "k = number(; value=1.0, dtype=f32)\n h = number(; value=0.5, dtype=f32)\n a = abs(x)\n q = mul(x, x)\n \
                    g = mul(q, h)\n l = sub(a, h)\n c = lt(a, k)\n y = where(c, g, l)";
    assert_eq!(equal(&losses("1.0"), by_cases), REAL);
    assert_eq!(equal(&losses("2.0"), by_cases), None);
    let clamped = "y = clamp(x; min=-1.0, max=2.0)";
    let in_two = "a = number(; value=2.0, dtype=f32)\n b = number(; value=-1.0, dtype=f32)\n l = minimum(x, a)\n y = maximum(l, b)";
    assert_eq!(equal(clamped, in_two), REAL);
    let other_order = "a = number(; value=2.0, dtype=f32)\n b = number(; value=-1.0, dtype=f32)\n l = maximum(x, b)\n y = minimum(l, a)";
    assert_eq!(equal(clamped, other_order), REAL);
    assert_eq!(equal(clamped, &other_order.replace("-1.0", "1.0")), None);
}

#[test]
fn functions_of_cases_are_taken_in_each_case() {
    let stable = "a = abs(x)\n n = neg(a)\n e = exp(n)\n l = log1p(e)\n p = relu(x)\n y = add(p, l)";
    let plain = "e = exp(x)\n y = log1p(e)";
    assert_eq!(equal(stable, plain), REAL);
    assert_eq!(equal(&stable.replace("neg(a)", "neg(x)"), plain), None);
    // The logarithm of what may be negative is no number: a factor of 0 lets it through, a choice does not.
    let chosen = "z = number(; value=0.0, dtype=f32)\n a = log(x)\n c = gt(x, z)\n y = where(c, a, z)";
    let hidden =
        "z = number(; value=0.0, dtype=f32)\n a = log(x)\n c = gt(x, z)\n o = cast(c; dtype=f32)\n y = mul(o, a)";
    assert_eq!(equal(chosen, hidden), None);
}

#[test]
fn a_chosen_element_is_one_of_those_that_may_be_chosen() {
    let scaled = "s = add(x, x)\n y = gather(s, whole; dim=2)";
    let after = "g = gather(x, whole; dim=2)\n y = add(g, g)";
    assert_eq!(equal(scaled, after), REAL);
    // Log probabilities are differences: the same number is taken off whichever is chosen.
    let shifted = "l = log_softmax(x; dim=2)\n y = gather(l, whole; dim=2)";
    let apart = "g = gather(x, whole; dim=2)\n n = logsumexp(x; dim=[2], keepdim=true)\n y = sub(g, n)";
    assert_eq!(equal(shifted, apart), REAL);
    assert_eq!(equal(shifted, &apart.replace("[2]", "[1]")), None);
    assert_eq!(equal("y = gather(x, whole; dim=2)", "y = gather(x, whole; dim=1)"), None);
}

#[test]
fn what_several_integers_decide_is_no_choice_of_one() {
    let written =
        "c = reshape(whole; shape=[8])\n i = slice(c; dim=0, end=2)\n t = neg(x)\n y = index_put(x, t, i; dims=[0])";
    assert_eq!(equal(written, "y = neg(x)"), None);
    assert_eq!(equal(written, "y = alias(x)"), None);
    let single = "c = reshape(whole; shape=[8])\n i = slice(c; dim=0, end=1)\n r = slice(x; dim=0, end=1)\n t = neg(r)\n \
                  y = index_put(x, t, i; dims=[0])";
    assert_eq!(equal(single, "y = alias(x)"), None);
    let back = format!("{}\n y = index_put(p, r, i; dims=[0])", single.replace("y =", "p ="));
    assert_eq!(equal(&back, &single.replace("neg(r)", "alias(r)")), REAL);
}

#[test]
fn a_product_with_one_hot_numbers_is_a_choice() {
    let hot = "c = slice(whole; dim=2, end=1)\n i = reshape(c; shape=[2, 2])\n h = one_hot(i; num_classes=2)\n \
               f = cast(h; dtype=f32)\n p = mul(f, x)\n s = sum(p; dim=[2], keepdim=true)\n y = expand(s; shape=[2, 2, 2])";
    let picked = "c = slice(whole; dim=2, end=1)\n g = gather(x, c; dim=2)\n y = expand(g; shape=[2, 2, 2])";
    assert_eq!(equal(hot, picked), REAL);
    assert_eq!(equal(hot, &picked.replace("dim=2, end=1", "dim=2, start=1, end=2")), None);
    // Indexing counts negative integers from the end, which one-hot numbers refuse.
    let indexed = "i = reshape(whole; shape=[8])\n r = reshape(x; shape=[4, 2])\n a = index(r, i; dims=[0])\n y = reshape(a; shape=[8, 2])";
    let looked_up = "i = reshape(whole; shape=[8])\n r = reshape(x; shape=[4, 2])\n a = index_select(r, i; dim=0)\n y = reshape(a; shape=[8, 2])";
    assert_eq!(equal(indexed, looked_up), None);
}

#[test]
fn what_all_exponents_are_shifted_by_divides_out() {
    let scores = |by: &str| {
        format!(
            "i = arange(; end=2, dtype=f32)\n r = reshape(i; shape=[2, 1])\n k = slice(w; dim=0, end=1)\n o = slice(k; dim=1, end=1)\n \
             g = {by}\n b = mul(o, g)\n s = add(x, b)\n y = softmax(s; dim=2)"
        )
    };
    // A number for each key, and one for each distance between query and key.
    assert_eq!(equal(&scores("alias(i)"), &scores("sub(i, r)")), REAL);
    assert_eq!(equal(&scores("alias(i)"), &scores("sub(r, i)")), None);
}

#[test]
fn lengths_and_spreads_of_rows_are_what_their_formulas_say() {
    let length = "y = vector_norm(x; dim=[2], keepdim=true)";
    let by_hand = "q = mul(x, x)\n s = sum(q; dim=[2], keepdim=true)\n y = sqrt(s)";
    assert_eq!(equal(length, by_hand), REAL);
    assert_eq!(equal(length, &by_hand.replace("[2]", "[1]")), None);
    let sizes = "a = abs(x)\n y = sum(a; dim=[2], keepdim=true)";
    assert_eq!(equal("y = vector_norm(x; dim=[2], ord=1.0, keepdim=true)", sizes), REAL);
    let in_two = "n = vector_norm(x; dim=[2], keepdim=true)\n y = vector_norm(n; dim=[1, 2], keepdim=true)";
    assert_eq!(equal(in_two, "y = vector_norm(x; dim=[1, 2], keepdim=true)"), REAL);
    // Of two elements that are never one: the root of a square is an absolute value, which is another formula.
    let halves = "u = slice(x; dim=0, end=1)\n v = slice(x; dim=0, start=1, end=2)\n a = abs(u)\n b = abs(v)\n";
    let product = format!("{halves} q = mul(a, b)\n y = sqrt(q)");
    let of_roots = format!("{halves} r = sqrt(a)\n s = sqrt(b)\n y = mul(r, s)");
    assert_eq!(equal(&product, &of_roots), REAL);
    // Both may be negative: then their product has a root, and they have none.
    assert_eq!(equal(&product.replace("abs", "alias"), &of_roots.replace("abs", "alias")), None);
    let running = "y = cumprod(x; dim=2)";
    let in_steps =
        "a = slice(x; dim=2, end=1)\n b = slice(x; dim=2, start=1, end=2)\n c = mul(a, b)\n y = concat(a, c; dim=2)";
    assert_eq!(equal(running, in_steps), REAL);
    assert_eq!(equal(running, &in_steps.replace("mul", "add")), None);
}

#[test]
fn a_transposed_convolution_is_a_product_whose_parts_are_added_up() {
    let spread = "f = reshape(w; shape=[2, 1, 2])\n y = conv_transpose1d(x, f; stride=[2], padding=[0], output_padding=[0], dilation=[1])";
    let parts =
        |w: &str| format!("t = permute(x; dims=[0, 2, 1])\n p = matmul(t, {w})\n y = reshape(p; shape=[2, 1, 4])");
    assert_eq!(equal(spread, &parts("w")), REAL);
    let turned = format!("v = permute(w; dims=[1, 0])\n {}", parts("v"));
    assert_eq!(equal(spread, &turned), None);
}

#[test]
fn an_integer_that_is_one_of_a_few_is_what_comparisons_say() {
    let named = |of: &str| {
        format!(
            "k = number(; value=2, dtype=i64)\n z = number(; value=0, dtype=i64)\n o = number(; value=1, dtype=i64)\n i = {of}\n \
             a = slice(x; dim=2, start=0, end=1)\n b = slice(x; dim=2, start=1, end=2)\n "
        )
    };
    let taken = |of: &str| format!("{}y = gather(x, i; dim=2)", named(of));
    let chosen = |of: &str, condition: &str| format!("{}c = {condition}\n y = where(c, a, b)", named(of));
    let rest = "remainder(whole, k)";
    assert_eq!(equal(&taken(rest), &chosen(rest, "eq(i, z)")), REAL);
    assert_eq!(equal(&taken(rest), &chosen(rest, "lt(i, o)")), REAL);
    assert_eq!(equal(&taken(rest), &chosen(rest, "gt(o, i)")), REAL);
    assert_eq!(equal(&taken(rest), &chosen(rest, "eq(i, o)")), None);
    assert_eq!(equal(&taken(rest), &chosen(rest, "gt(i, o)")), None);
    // It may be any integer, and gather counts negative ones from the end.
    assert_eq!(equal(&taken("alias(whole)"), &chosen("alias(whole)", "eq(i, z)")), None);
    // One of three may be neither of two.
    let wide = |body: &str| body.replace("value=2", "value=3");
    assert_eq!(equal(&wide(&taken(rest)), &wide(&chosen(rest, "eq(i, z)"))), None);
}
