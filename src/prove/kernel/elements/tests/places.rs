//! Elements that are moved, and which of them are looked at.

use super::*;

#[test]
fn elements_that_are_moved_alike_are_equal_bit_for_bit() {
    let swapped = "a = slice(x; dim=1, start=1, end=2)\n b = slice(x; dim=1, start=0, end=1)\n y = concat(a, b; dim=1)";
    for other in ["y = flip(x; dims=[1])", "y = roll(x; shifts=[1], dims=[1])"] {
        assert_eq!(equal(swapped, other), Some(Tier::Exact), "{other}");
    }
    assert_eq!(equal(swapped, "y = flip(x; dims=[0])"), None);
    assert_eq!(equal(swapped, "y = roll(x; shifts=[2], dims=[1])"), None);
}

#[test]
fn a_place_that_differs_beyond_the_first_is_seen() {
    // The mask is the same for every place along dimension 0 of one, and not of the other.
    let mask = |dim: &str| {
        format!(
            "i = arange(; end=2, dtype=i64)\n n = number(; value=1, dtype=i64)\n e = lt(i, n)\n \
             k = reshape(e; shape={dim})\n z = number(; value=0.0, dtype=f32)\n y = where(k, x, z)"
        )
    };
    assert_eq!(equal(&mask("[2, 1, 1]"), &mask("[1, 2, 1]")), None);
    assert_eq!(equal(&mask("[2, 1, 1]"), "y = alias(x)"), None);
    assert_eq!(equal("t = permute(x; dims=[1, 0, 2])\n y = add(x, t)", "y = add(x, x)"), None);
}

/// Two graphs over inputs `q` and `k` of a size at which not every element can be written down, whose results are compared.
fn large(a: &str, b: &str) -> Option<Tier> {
    let graph = |body: &str| {
        let source = format!("graph g(q: f32[2, 128, 768], k: f32[2, 128, 768]) {{\n {body}\n return y\n}}");
        text::parse("large.mir", &source).unwrap_or_else(|e| panic!("{source}\n{e:?}"))
    };
    found(&graph(a), &graph(b))
}

#[test]
fn digits_of_places_are_looked_at_one_by_one() {
    let heads = "p = reshape(q; shape=[2, 128, 12, 64])\n s = reshape(k; shape=[2, 128, 12, 64])\n ";
    let batched =
        format!("{heads}a = permute(p; dims=[0, 2, 1, 3])\n b = permute(s; dims=[0, 2, 3, 1])\n y = matmul(a, b)");
    let flat = |p: &str, last: &str| {
        format!(
            "{heads}a = reshape({p}; shape=[2, 128, 12, 64, 1])\n b = permute(a; dims=[0, 2, 1, 3, 4])\n \
             c = reshape(b; shape=[24, 128, 64])\n d = permute(s; dims=[0, 2, 3, 1])\n \
             e = reshape(d; shape=[24, 64, 128])\n f = matmul(c, e)\n y = {last}"
        )
    };
    assert_eq!(large(&batched, &flat("p", "reshape(f; shape=[2, 12, 128, 128])")), Some(Tier::Exact));
    // Heads in another order, of one of the factors and of the product.
    let turned = flat("t", "reshape(f; shape=[2, 12, 128, 128])").replace(
        "a = reshape",
        "u = reshape(q; shape=[2, 128, 64, 12])\n t = permute(u; dims=[0, 1, 3, 2])\n a = reshape",
    );
    assert_eq!(large(&batched, &turned), None);
    let turned =
        flat("p", "permute(g; dims=[1, 0, 2, 3])").replace("y =", "g = reshape(f; shape=[12, 2, 128, 128])\n y =");
    assert_eq!(large(&batched, &turned), None);
    // Parts of a joined projection start where a digit does, or do not.
    let part = |start: usize| format!("a = slice(q; dim=2, start={start}, end={})\n ", start + 256);
    let first = "b = reshape(a; shape=[2, 128, 4, 64])\n c = permute(b; dims=[0, 2, 1, 3])\n y = exp(c)";
    let last = "e = exp(a)\n b = reshape(e; shape=[2, 128, 4, 64])\n y = permute(b; dims=[0, 2, 1, 3])";
    assert_eq!(large(&(part(256) + first), &(part(256) + last)), Some(Tier::Exact));
    assert_eq!(large(&(part(256) + first), &(part(320) + last)), None);
    // Heads that are repeated one by one, or all together.
    let repeated = |how: &str| format!("{heads}a = permute(p; dims=[0, 2, 1, 3])\n {how}\n y = neg(c)");
    let one_by_one = repeated("c = repeat_heads(a; times=4)");
    let expanded = "b = reshape(a; shape=[2, 12, 1, 128, 64])\n d = expand(b; shape=[2, 12, 4, 128, 64])\n \
                    c = reshape(d; shape=[2, 48, 128, 64])";
    assert_eq!(large(&one_by_one, &repeated(expanded)), Some(Tier::Exact));
    let together = "b = reshape(a; shape=[2, 1, 12, 128, 64])\n d = expand(b; shape=[2, 4, 12, 128, 64])\n \
                    c = reshape(d; shape=[2, 48, 128, 64])";
    assert_eq!(large(&one_by_one, &repeated(together)), None);
}

#[test]
fn what_is_drawn_has_no_elements() {
    let turned = "a = dropout(x; p=0.5, train=true)\n y = flip(a; dims=[0])";
    assert_eq!(equal(turned, "a = dropout(x; p=0.5, train=true)\n y = alias(a)"), None);
    let of_one = "a = unsqueeze(x; dim=0)\n e = expand(a; shape=[2, 2, 2, 2])\n r = dropout(e; p=0.5, train=true)\n ";
    let part = |n: usize| format!("{of_one}s = slice(r; dim=0, start={n}, end={})\n y = squeeze(s; dim=0)", n + 1);
    assert_eq!(equal(&part(0), &part(1)), None);
}

#[test]
fn what_a_leaf_holds_is_not_looked_at() {
    let mask = "i = arange(; end=8, dtype=i64)\n r = reshape(i; shape=[2, 2, 2])\n o = number(; value=5, dtype=i64)\n \
                c = lt(r, o)\n ";
    let filled = |n: &str| format!("{mask}z = number(; value={n}, dtype=f32)\n y = where(c, x, z)");
    let (mut arena, a, b) = (TermArena::default(), graph(&filled("0.5")), graph(&filled("1.5")));
    let ends = roots(&mut arena, &a, &b);
    let masks: Leaves = arena.term(ends[0]).operands[..1].iter().copied().collect();
    let found = |leaves: &Leaves| same_elements(&arena, ends, leaves, Tier::Rounding, &mut { ALL_WAYS });
    // With the mask as a leaf, the first element alone shows what happens to all of them.
    assert_eq!(found(&masks), None);
    assert_eq!(found(&Leaves::default()), None);
}
