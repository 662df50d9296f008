//! The prover on small graphs, and the checker on proofs that were tampered with.

use std::collections::HashMap;
use std::sync::Mutex;

use super::kernel::{CheckError, Replay};
use super::{BoundPair, Context, Proof, Reason, Verdict, bind_graphs, prove, prove_bound};
use crate::ir::{Graph, text};
use crate::progress::Silent;
use crate::result_cache::ResultCache;
use crate::rules::{RuleSet, Tier};

fn graph(source: &str) -> Graph {
    text::parse("test.mir", source).unwrap_or_else(|e| panic!("{e:?}"))
}

fn compare(a: &Graph, b: &Graph) -> Proof {
    prove(a, b, &RuleSet::library().unwrap(), &Silent).unwrap()
}

fn proven(a: &str, b: &str) -> Option<Tier> {
    match compare(&graph(a), &graph(b)).verdict {
        Verdict::Equivalent { tier } => Some(tier),
        _ => None,
    }
}

// Of integers, which wrap around, elements are no sums of products: these two need the rule `addmm_split`.
const ADDMM: &str = "graph g(b: i64[5], x: i64[3, 4], w: i64[4, 5]) { y = addmm(b, x, w)\n return y }";
const SPLIT: &str = "graph g(b: i64[5], x: i64[3, 4], w: i64[4, 5]) { p = matmul(x, w)\n y = add(b, p)\n return y }";

#[test]
fn a_graph_equals_itself_bit_for_bit() {
    assert_eq!(proven(ADDMM, ADDMM), Some(Tier::Exact));
}

#[test]
fn addmm_is_a_product_and_an_add() {
    assert_eq!(proven(ADDMM, SPLIT), Some(Tier::Real));
    assert_eq!(proven(SPLIT, ADDMM), Some(Tier::Real));
    let of_floats = |text: &str| text.replace("i64", "f32");
    assert_eq!(proven(&of_floats(ADDMM), &of_floats(SPLIT)), Some(Tier::Real));
}

#[test]
fn views_that_cancel_are_exact() {
    let a = "graph g(x: f32[2, 3, 4]) { y = permute(permute(x; dims=[2, 0, 1]); dims=[1, 2, 0])\n return y }";
    let b =
        "graph g(x: f32[2, 3, 4]) { y = reshape(contiguous(reshape(x; shape=[6, 4])); shape=[2, 3, 4])\n return y }";
    assert_eq!(proven(a, b), Some(Tier::Exact));
}

#[test]
fn operands_of_a_commutative_operator_may_be_swapped() {
    let a = "graph g(x: f32[3], y: f32[3]) { z = mul(x, y)\n return z }";
    let b = "graph g(x: f32[3], y: f32[3]) { z = mul(y, x)\n return z }";
    assert_eq!(proven(a, b), Some(Tier::Exact));
    let a = "graph g(x: f32[3], y: f32[3]) { z = sub(x, y)\n return z }";
    let b = "graph g(x: f32[3], y: f32[3]) { z = sub(y, x)\n return z }";
    assert_eq!(proven(a, b), None);
}

#[test]
fn sums_may_be_grouped_and_ordered_in_any_way() {
    let a = "graph g(x: f32[4, 8], y: f32[4, 8], z: f32[8], w: f32[4, 1]) {
        r = add(add(add(x, y), z), w)
        return r }";
    for (other, tier) in [
        ("add(add(w, z), add(x, y))", Some(Tier::Real)),
        ("add(x, add(y, add(z, w)))", Some(Tier::Real)),
        ("add(add(add(w, z), y), x)", Some(Tier::Real)),
        ("add(add(add(w, z), x), x)", None),
        ("add(add(w, z), mul(x, y))", None),
    ] {
        let b = a.replace("add(add(add(x, y), z), w)", other);
        assert_eq!(proven(a, &b), tier, "{other}");
    }
}

#[test]
fn a_summand_inside_a_layer_may_be_outside() {
    let a = "graph g(x: f32[3, 4], w: param f32[5, 4], b: param f32[5], r: f32[3, 5], s: f32[3, 5]) {
        y = add(add(s, linear(x, w, b)), r)
        return y }";
    let b = a.replace("add(add(s, linear(x, w, b)), r)", "add(linear(x, w), add(b, add(r, s)))");
    assert_eq!(proven(a, &b), Some(Tier::Real));
}

#[test]
fn truth_values_may_be_joined_in_any_order() {
    let a = "graph g(x: bool[4], y: bool[4], z: bool[4]) { r = logical_and(logical_and(x, y), z)\n return r }";
    let b = "graph g(x: bool[4], y: bool[4], z: bool[4]) { r = logical_and(x, logical_and(z, y))\n return r }";
    assert_eq!(proven(a, b), Some(Tier::Exact));
}

#[test]
fn masks_are_recognised_whatever_arithmetic_built_them() {
    let a = "graph g(q: f32[1, 2, 6, 4], k: f32[1, 2, 6, 4], v: f32[1, 2, 6, 4]) {
        i = unsqueeze(arange(; end=6, dtype=i64); dim=1)
        j = arange(; end=6, dtype=i64)
        y = sdpa(q, k, v, le(j, i); scale=0.5)
        return y }";
    let b = "graph g(q: f32[1, 2, 6, 4], k: f32[1, 2, 6, 4], v: f32[1, 2, 6, 4]) {
        y = sdpa(q, k, v; causal=true, scale=0.5)
        return y }";
    assert!(proven(a, b).is_some());
    let shifted = a.replace("le(j, i)", "lt(j, i)");
    assert_eq!(proven(&shifted, b), None);
}

#[test]
fn random_draws_follow_the_draws_before() {
    let a = "graph g(x: f32[3]) { y = dropout(x; p=0.5, train=true)\n return y }";
    assert_eq!(proven(a, a), Some(Tier::Exact));
    let b = "graph g(x: f32[3]) { d = dropout(x; p=0.5, train=true)\n y = dropout(x; p=0.5, train=true)\n return y }";
    assert_eq!(proven(a, b), None);
}

#[test]
fn opaque_operators_equal_themselves_on_equal_operands() {
    let a = "graph g(x: f32[3], y: f32[3]) { z = opaque \"lib.f\"(add(x, y); alpha=1.0) -> f32[3]\n return z }";
    let b = "graph g(x: f32[3], y: f32[3]) { z = opaque \"lib.f\"(add(y, x); alpha=1.0) -> f32[3]\n return z }";
    let c = "graph g(x: f32[3], y: f32[3]) { z = opaque \"lib.f\"(add(x, y); alpha=2.0) -> f32[3]\n return z }";
    assert_eq!(proven(a, b), Some(Tier::Exact));
    assert_eq!(proven(a, c), None);
}

#[test]
fn outputs_must_have_the_same_types() {
    let a = graph("graph g(x: f32[3]) { y = neg(x)\n return y }");
    let b = graph("graph g(x: f32[3]) { y = cast(x; dtype=f64)\n return y }");
    assert!(prove(&a, &b, &RuleSet::library().unwrap(), &Silent).is_err());
}

#[test]
fn a_difference_comes_with_both_values() {
    let a = graph("graph g(x: f32[3]) { y = mul(x, 2.0)\n return y }");
    let b = graph("graph g(x: f32[3]) { y = mul(x, 2.5)\n return y }");
    let Verdict::Different(w) = compare(&a, &b).verdict else { panic!("no witness") };
    assert!((w.a.to_f64() * 1.25 - w.b.to_f64()).abs() < 1e-12, "{w:?}");
}

#[test]
fn a_pruned_branch_is_dead_and_covered() {
    let a = graph("graph g(x: f32[3]) { unused = exp(x)\n y = neg(x)\n return y }");
    let b = graph("graph g(x: f32[3]) { y = neg(x)\n return y }");
    let proof = compare(&a, &b);
    assert!(matches!(proof.verdict, Verdict::Equivalent { .. }));
    assert_eq!(proof.covered(&a, &b), (2, 1));
}

/// The checker did not accept a rule whose operands stand the other way round in the graph: `zeros + x`.
#[test]
fn a_rule_of_the_normaliser_holds_in_either_order_of_operands() {
    let zeros = "z = full(; shape=[4, 8], value=0.0, dtype=f32)";
    let sums = [
        ("add(z, x)", "x"),
        ("add(0.0, x)", "x"),
        ("mul(1.0, x)", "x"),
        ("add(z, add(z, x))", "add(x, 0.0)"),
        ("add(z, relu(x))", "relu(x)"),
    ];
    for (sum, plain) in sums {
        let of = |value: &str| {
            graph(&format!("graph g(x: f32[4, 8]) {{ {zeros}\n y = {value}\n v = alias(y)\n return v }}"))
        };
        let plain = of(&format!("alias({plain})"));
        let proof = compare(&of(sum), &plain);
        assert!(matches!(proof.verdict, Verdict::Equivalent { .. }), "{sum}: {:?}", proof.rejected);
        assert_eq!(proof.rejected, None, "{sum}");
    }
}

/// Replays the proof of [`ADDMM`] and [`SPLIT`] after `tamper` has changed it.
fn replay(tamper: impl FnOnce(&mut Proof)) -> Result<Replay, CheckError> {
    let (a, b) = (graph(ADDMM), graph(SPLIT));
    let mut proof = compare(&a, &b);
    tamper(&mut proof);
    Replay::new((&a, &proof.binding.a), (&b, &proof.binding.b), &proof.arena, &proof.lemmas)
}

#[test]
fn the_checker_accepts_the_proof_as_found() {
    let a = graph(ADDMM);
    let b = graph(SPLIT);
    let replay = replay(|_| {}).unwrap();
    assert!(replay.equal(a.outputs()[0].value, b.outputs()[0].value));
}

#[test]
fn the_checker_refuses_a_step_that_is_no_instance() {
    let result = replay(|proof| {
        let lemma = proof.lemmas.iter_mut().find(|l| l.name() == "addmm_split").unwrap();
        lemma.after = lemma.before;
    });
    assert!(matches!(result, Err(CheckError::NotAnInstance { .. })));
}

#[test]
fn the_checker_refuses_other_bindings() {
    let result = replay(|proof| {
        let lemma = proof.lemmas.iter_mut().find(|l| l.name() == "addmm_split").unwrap();
        if let Reason::Rule { bindings, .. } = &mut lemma.reason {
            bindings.tensors.reverse();
        }
    });
    assert!(result.is_err());
}

#[test]
fn without_the_step_the_outputs_are_not_equal() {
    let (a, b) = (graph(ADDMM), graph(SPLIT));
    let replay = replay(|proof| proof.lemmas.retain(|l| l.name() != "addmm_split")).unwrap();
    assert!(!replay.equal(a.outputs()[0].value, b.outputs()[0].value));
}

#[test]
fn a_copy_is_priced_with_those_who_need_it() {
    // A copies when it reshapes, B copies before: one region, so that nobody mixes B's free reshape with A's missing copy.
    let a = graph("graph g(x: f32[4, 6]) { p = permute(x; dims=[1, 0])\n y = reshape(p; shape=[24])\n return y }");
    let b = graph(
        "graph g(x: f32[4, 6]) { p = permute(x; dims=[1, 0])\n c = contiguous(p)\n y = reshape(c; shape=[24])\n return y }",
    );
    let proof = compare(&a, &b);
    assert_eq!(proof.partition.regions.len(), 1);
    assert_eq!((proof.partition.regions[0].a.len(), proof.partition.regions[0].b.len()), (2, 3));
}

/// A residual network of many layers over a tensor of this type; too large for any one window.
fn residual(shape: &str, before: &str, after: &str) -> Graph {
    let mut lines = format!("h0 = {before}\n");
    for i in 0..40 {
        let next = i + 1;
        lines += &format!("h{next} = add(h{i}, gelu(linear(h{i}, w, b)))\n");
    }
    graph(&format!("graph g(x: {shape}, w: f32[8, 8], b: f32[8]) {{ {lines} y = {after}\n return y }}"))
}

#[test]
fn a_network_over_flattened_tokens_equals_that_over_batch_and_length() {
    let a = residual("f32[2, 3, 8]", "neg(x)", "neg(h40)");
    let b = residual("f32[2, 3, 8]", "reshape(neg(x); shape=[6, 8])", "neg(reshape(h40; shape=[2, 3, 8]))");
    for (a, b) in [(&a, &b), (&b, &a)] {
        let proof = compare(a, b);
        assert!(matches!(proof.verdict, Verdict::Equivalent { .. }), "{:?}", proof.unproven);
        // Each layer ends in regions of its own, although no value between has the same shape on both sides.
        assert!(proof.partition.regions.len() > 40, "{}", proof.partition.regions.len());
        let both = proof.partition.regions.iter().filter(|r| !r.a.is_empty() && !r.b.is_empty());
        assert!(both.count() > 40);
    }
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_network_over_length_and_batch_equals_that_over_batch_and_length() {
    let a = residual("f32[2, 3, 8]", "neg(x)", "neg(h40)");
    let b = residual("f32[2, 3, 8]", "permute(neg(x); dims=[1, 0, 2])", "neg(permute(h40; dims=[1, 0, 2]))");
    for (a, b) in [(&a, &b), (&b, &a)] {
        assert!(matches!(compare(a, b).verdict, Verdict::Equivalent { .. }));
    }
    let wrong = residual("f32[2, 3, 8]", "permute(neg(x); dims=[1, 0, 2])", "neg(reshape(h40; shape=[2, 3, 8]))");
    assert!(matches!(compare(&a, &wrong).verdict, Verdict::Different(_)));
}

/// Keeps everything, and counts what it was asked.
#[derive(Default)]
struct Notebook {
    answers: Mutex<HashMap<String, String>>,
    recalled: Mutex<usize>,
    invalid: Mutex<usize>,
}

impl ResultCache for Notebook {
    fn get(&self, question: &str) -> Option<String> {
        let answer = self.answers.lock().unwrap().get(question).cloned();
        *self.recalled.lock().unwrap() += usize::from(answer.is_some());
        answer
    }

    fn put(&self, question: &str, answer: &str) {
        self.answers.lock().unwrap().insert(question.to_owned(), answer.to_owned());
    }

    fn invalid(&self, _: &str) {
        *self.invalid.lock().unwrap() += 1;
    }
}

fn attention() -> BoundPair {
    let side = |s: &str| {
        let path = format!("{}/corpus/pairs/attention.{s}.mir", env!("CARGO_MANIFEST_DIR"));
        graph(&std::fs::read_to_string(path).unwrap())
    };
    bind_graphs(side("a"), side("b"), None)
}

#[test]
fn what_is_remembered_leads_to_the_same_proof() {
    let (rules, cache, bound) = (RuleSet::library().unwrap(), Notebook::default(), attention());
    let context = Context { cache: Some(&cache), ..Context::under(&rules) };
    let names = |proof: &Proof| proof.lemmas.iter().map(|l| l.name().to_owned()).collect::<Vec<_>>();
    let first = prove_bound(&bound, &context).unwrap();
    assert_eq!(*cache.recalled.lock().unwrap(), 0);
    let second = prove_bound(&bound, &context).unwrap();
    assert!(*cache.recalled.lock().unwrap() > 0);
    assert_eq!(*cache.invalid.lock().unwrap(), 0);
    assert_eq!(first.verdict, second.verdict);
    assert_eq!(names(&first), names(&second));
}

/// What counts of all elements are as constants was not worked out where a kept proof was read, so that it counted as damaged.
#[test]
fn a_kept_proof_that_needs_the_value_of_a_count_is_no_damage() {
    let source = |out: &str| format!("graph g(x: f32[6, 5], t: i64[6]) {{ y = {out}\n return y }}");
    let sides = ["cross_entropy(x, t)", "div(cross_entropy(x, t; reduction=\"sum\"), 6.0)"].map(source);
    let (rules, cache) = (RuleSet::library().unwrap(), Notebook::default());
    let bound = bind_graphs(graph(&sides[0]), graph(&sides[1]), None);
    for _ in 0..2 {
        let proof = prove_bound(&bound, &Context { cache: Some(&cache), ..Context::under(&rules) }).unwrap();
        assert!(matches!(proof.verdict, Verdict::Equivalent { .. }));
    }
    assert_eq!((*cache.recalled.lock().unwrap() > 0, *cache.invalid.lock().unwrap()), (true, 0));
}

#[test]
fn a_cache_that_lies_proves_nothing() {
    let (rules, cache, bound) = (RuleSet::library().unwrap(), Notebook::default(), attention());
    let context = Context { cache: Some(&cache), ..Context::under(&rules) };
    let honest = prove_bound(&bound, &context).unwrap();
    let questions: Vec<String> = cache.answers.lock().unwrap().keys().cloned().collect();
    let proven: Vec<String> =
        cache.answers.lock().unwrap().values().filter(|a| a.contains("proven")).cloned().collect();
    assert!(!proven.is_empty());
    // The wrong graphs are asked about, and every question has the answer to another one.
    let wrong = graph(
        &std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/corpus/pairs/attention.b-wrong-constant.mir"))
            .unwrap(),
    );
    let wrong = bind_graphs(bound.a.clone(), wrong, None);
    prove_bound(&wrong, &context).unwrap();
    for answer in &proven {
        cache.answers.lock().unwrap().values_mut().for_each(|a| a.clone_from(answer));
        assert!(!matches!(prove_bound(&wrong, &context).unwrap().verdict, Verdict::Equivalent { .. }));
    }
    assert!(*cache.invalid.lock().unwrap() > 0);
    // What cannot be read is as good as forgotten.
    for question in questions {
        for damage in ["", "null", "{}", "{\"evaluated\":0,\"answer\":{\"proven\":{}}}"] {
            cache.answers.lock().unwrap().insert(question.clone(), damage.to_owned());
            assert_eq!(prove_bound(&bound, &context).unwrap().verdict, honest.verdict);
        }
    }
}

#[test]
fn what_was_found_under_fewer_rules_is_not_taken_from_the_cache_under_all() {
    let (rules, cache) = (RuleSet::library().unwrap(), Notebook::default());
    let bound = bind_graphs(graph(ADDMM), graph(SPLIT), None);
    let verdict = |rules: &RuleSet| {
        prove_bound(&bound, &Context { cache: Some(&cache), ..Context::under(rules) }).unwrap().verdict
    };
    assert!(!matches!(verdict(&rules.up_to(Tier::Exact)), Verdict::Equivalent { .. }));
    assert!(matches!(verdict(&rules), Verdict::Equivalent { .. }));
}

#[test]
fn tensors_without_elements_are_one_value() {
    let a = "graph g(x: f32[2, 0], y: f32[0, 3]) { p = exp(matmul(x, y))\n return p }";
    let b = "graph g(x: f32[2, 0], y: f32[0, 3]) { p = exp(full(; shape=[2, 3], value=0.0, dtype=f32))\n return p }";
    assert!(proven(a, b).is_some());
    let a = "graph g(x: f32[2, 0], y: f32[0, 2]) { return x }";
    let b = "graph g(x: f32[2, 0], y: f32[0, 2]) { z = permute(y; dims=[1, 0])\n return z }";
    assert_eq!(proven(a, b), Some(Tier::Exact));
}

#[test]
fn that_an_opaque_operator_tells_no_nan_from_another_is_assumed() {
    // A NaN of f16 may come back from f32 with other bits, which a view in another type shows.
    let a = "graph g(x: f16[4]) { y = opaque \"aten.view.dtype\"(x; dtype=i16) -> i16[4]\n return y }";
    let b = "graph g(x: f16[4]) {
        w = cast(cast(x; dtype=f32); dtype=f16)
        y = opaque \"aten.view.dtype\"(w; dtype=i16) -> i16[4]
        return y }";
    let proof = compare(&graph(a), &graph(b));
    assert_eq!(proof.verdict, Verdict::Equivalent { tier: Tier::Exact });
    let stated = |text: &String| text.contains("all NaN are one value");
    assert!(proof.binding.assumptions.iter().any(stated), "{:?}", proof.binding.assumptions);
    // Of integers there is nothing to assume.
    let of_integers = a.replace("f16", "i32");
    let proof = compare(&graph(&of_integers), &graph(&of_integers));
    assert!(!proof.binding.assumptions.iter().any(stated));
}

#[test]
fn the_checker_folds_what_follows_to_be_known() {
    // That `t` is 0 everywhere takes a step; that its minimum is 0 then follows, as `p` is.
    let a = "graph g(x: i64[1]) {
        t = triu(one_hot(x; num_classes=4); diagonal=7)
        m = amin(t; dim=[1])
        return m, t }";
    let b = "graph g(x: i64[1]) {
        c = cast(eq(unsqueeze(x; dim=1), arange(; end=4, dtype=i64)); dtype=i64)
        p = arange(; end=1, dtype=i64)
        s = sub(unsqueeze(arange(; end=4, dtype=i64); dim=0), unsqueeze(p; dim=1))
        t = where(ge(s, 7), c, 0)
        m = amin(t; dim=[1])
        return m, t }";
    let proof = compare(&graph(a), &graph(b));
    assert_eq!(proof.verdict, Verdict::Equivalent { tier: Tier::Exact });
    assert_eq!(proof.rejected, None);
    assert_eq!(proof.covered(&graph(a), &graph(b)), (3, 12));
}

/// From logarithms of a number and of its opposite, everything followed.
#[test]
fn assumptions_that_exclude_each_other_show_nothing() {
    let of = |body: &str| format!("graph g(y: f32[4, 6], z: f32[4, 6]) {{\n{body}\nreturn s }}");
    let (a, b) = (of("s = add(log(y), log(neg(z)))"), of("s = add(log(z), log(neg(y)))"));
    assert_eq!(proven(&a, &b), None);
    assert_eq!(proven(&b, &a), None);
    // Both may be positive.
    let (a, b) = (of("s = add(log(y), log(z))"), of("s = log(mul(y, z))"));
    assert_eq!(proven(&a, &b), Some(Tier::Real));
}

/// That the logarithm of -1 is a real number was assumed, so that it could be added and taken away.
#[test]
fn what_is_no_number_is_not_assumed_to_be_one() {
    let of = |body: &str| format!("graph g(x: f32[2, 6], u: f32[2, 6]) {{\nn = log(neg(log(u)))\n{body}\nreturn s }}");
    let (a, b) = (of("s = sub(log(softmax(x; dim=1)), n)"), of("s = add(log_softmax(x; dim=1), n)"));
    assert_eq!(proven(&a, &b), None);
}

/// Attention over packed heads, and over one head after the other under a mask that is written out.
fn causal_layer(x: &str, w: &str, y: &str) -> [String; 2] {
    let packed = format!(
        "{y}qkv = linear({x}, {w})
        {y}q, {y}k, {y}v = split({y}qkv; sizes=[8, 8, 8], dim=2)
        {y}qh = reshape({y}q; shape=[2, 4, 2, 4]) {y}kh = reshape({y}k; shape=[2, 4, 2, 4])
        {y}vh = reshape({y}v; shape=[2, 4, 2, 4])
        {y}qt = permute({y}qh; dims=[0, 2, 1, 3]) {y}kt = permute({y}kh; dims=[0, 2, 1, 3])
        {y}vt = permute({y}vh; dims=[0, 2, 1, 3])
        {y}o = sdpa({y}qt, {y}kt, {y}vt; causal=true, scale=0.5)
        {y}ot = permute({y}o; dims=[0, 2, 1, 3])
        {y} = reshape({y}ot; shape=[2, 4, 8])\n"
    );
    let rows = |part: &str, from: usize| {
        format!("{y}w{part} = slice({w}; dim=0, start={from}, end={})\n{y}{part} = linear({x}, {y}w{part})\n", from + 8)
    };
    let head = |n: usize| {
        let cut = |part: &str| format!("{y}{part}{n} = slice({y}{part}; dim=2, start={}, end={})\n", 4 * n, 4 * n + 4);
        let cuts: String = ["q", "k", "v"].map(cut).concat();
        format!(
            "{cuts}{y}kt{n} = permute({y}k{n}; dims=[0, 2, 1]) {y}s{n} = matmul({y}q{n}, {y}kt{n})
            {y}c{n} = mul({y}s{n}, 0.5) {y}ones{n} = full(; shape=[4, 4], value=1.0, dtype=f32)
            {y}t{n} = tril({y}ones{n}) {y}e{n} = eq({y}t{n}, 0.0) {y}m{n} = masked_fill({y}c{n}, {y}e{n}, -inf)
            {y}p{n} = softmax({y}m{n}; dim=2) {y}o{n} = matmul({y}p{n}, {y}v{n})\n"
        )
    };
    let parts = [rows("q", 0), rows("k", 8), rows("v", 16), head(0), head(1)].concat();
    [packed, format!("{parts}{y} = concat({y}o0, {y}o1; dim=2)\n")]
}

/// What a masked softmax gives was not known to be real numbers, so that a layer behind another one was not proven as the first one was.
#[test]
fn a_masked_layer_behind_a_masked_layer_is_proven() {
    let [first, second] = [causal_layer("x", "w", "a"), causal_layer("a", "v", "b")];
    let [packed, by_heads] = [0, 1].map(|i| {
        format!("graph g(x: f32[2, 4, 8], w: f32[24, 8], v: f32[24, 8]) {{ {}{} return b }}", first[i], second[i])
    });
    assert_eq!(proven(&packed, &by_heads), Some(Tier::Real));
    assert_eq!(proven(&by_heads, &packed), Some(Tier::Real));
}
