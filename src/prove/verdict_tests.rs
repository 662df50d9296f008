//! What comes of a proof that the checker does not accept.

use super::*;
use crate::ir::text;
use crate::prove::bind_graphs;

/// Two regions, one after the other, each of which needs the rule `silu_written_out`.
const FUSED: &str = "graph g(x: f32[4, 8]) {
    r = silu(x)
    y = silu(r)
    z = tanh(y)
    return z
}";
const SPLIT: &str = "graph g(x: f32[4, 8]) {
    s = sigmoid(x)
    r = mul(x, s)
    m = sigmoid(r)
    y = mul(r, m)
    z = tanh(y)
    return z
}";

/// The conclusion from the sweep of these two after `tamper` has changed it.
fn concluded(tamper: impl FnOnce(&mut Sweep)) -> (BoundPair, Proof) {
    let [a, b] = [FUSED, SPLIT].map(|source| text::parse("test.mir", source).unwrap());
    let bound = bind_graphs(a, b, None);
    let rules = RuleSet::library().unwrap();
    let context = Context::under(&rules);
    let mut sweep = Sweep::new(&rules, None);
    let BoundPair { a, b, binding } = &bound;
    let [values_a, values_b] = sweep.both((a, &binding.a), (b, &binding.b), context.progress).unwrap();
    tamper(&mut sweep);
    let outputs = pair_outputs((&bound.a, &bound.binding.a), (&bound.b, &bound.binding.b)).unwrap();
    let proof = conclude(&bound, &context, &outputs, sweep, values_a, values_b).unwrap();
    (bound, proof)
}

#[test]
fn a_sound_proof_is_accepted() {
    let (bound, proof) = concluded(|_| {});
    assert!(matches!(proof.verdict, Verdict::Equivalent { .. }));
    assert_eq!(proof.rejected, None);
    assert_eq!(proof.covered(&bound.a, &bound.b), (3, 5));
}

#[test]
fn a_step_that_does_not_hold_costs_what_rests_on_it_and_nothing_else() {
    let (bound, proof) = concluded(|sweep| {
        let lemma = sweep.lemmas.iter_mut().rfind(|l| l.name() == "silu_written_out").unwrap();
        lemma.after = lemma.before;
    });
    assert_eq!(proof.verdict, Verdict::Unknown);
    let rejected = proof.rejected.as_ref().unwrap();
    assert_eq!(rejected.step.as_deref(), Some("silu_written_out"));
    assert!(rejected.reason.contains("no instance"), "{}", rejected.reason);
    // The first region holds; what stands behind the step is in none.
    assert_eq!(proof.covered(&bound.a, &bound.b), (1, 2));
    assert_eq!(proof.cuts.len(), 1);
}

#[test]
fn a_step_that_is_missing_leaves_the_pair_unknown_and_says_for_which_value() {
    let (bound, proof) = concluded(|sweep| sweep.lemmas.clear());
    assert_eq!(proof.verdict, Verdict::Unknown);
    let rejected = proof.rejected.as_ref().unwrap();
    assert_eq!(rejected.step, None);
    assert!(rejected.reason.contains("`r` of B"), "{}", rejected.reason);
    assert_eq!(proof.covered(&bound.a, &bound.b), (0, 0));
}

#[test]
fn a_step_that_nothing_rests_on_costs_no_verdict() {
    let (_, proof) = concluded(|sweep| {
        let mut idle = sweep.lemmas[0].clone();
        idle.after = idle.before;
        sweep.lemmas.push(idle);
    });
    assert!(matches!(proof.verdict, Verdict::Equivalent { .. }));
    assert!(proof.rejected.is_some());
}

#[test]
fn proving_that_broke_off_claims_nothing() {
    let bound = concluded(|_| {}).0;
    let proof = Proof::broken_off(&bound, "a reason".to_owned());
    assert_eq!(proof.verdict, Verdict::Unknown);
    assert_eq!(proof.covered(&bound.a, &bound.b), (0, 0));
    assert_eq!((proof.partition.unmatched_a.len(), proof.partition.unmatched_b.len()), (3, 5));
}

/// `exp(1)` and `exp(2)` as a program computes them, and as another one holds them: the first is so many units larger.
fn exponentials(units: u32, reader: &str) -> Proof {
    let [first, second] = [1f32.exp(), 2f32.exp()];
    let held = f32::from_bits(first.to_bits() + units);
    let graph = |table: &str| {
        let source = format!("graph g(x: f32[4, 2]) {{ {table} {reader} z = mul(x, t) return y, z }}");
        text::parse("test.mir", &source).unwrap()
    };
    let computed = graph("p = arange(; start=1, end=3, step=1, dtype=f32) t = exp(p)");
    let given = graph(&format!("t = literal f32[2] [{held:?}, {second:?}]"));
    prove(&computed, &given, &RuleSet::library().unwrap(), &crate::progress::Silent).unwrap()
}

#[test]
fn constants_that_are_apart_by_rounding_are_equal_under_a_stated_assumption() {
    let proof = exponentials(1, "y = add(x, t)");
    assert_eq!(proof.verdict, Verdict::Equivalent { tier: Tier::Rounding });
    assert!(proof.assumed.iter().any(|a| a.contains("roundings of the same numbers")), "{:?}", proof.assumed);
}

#[test]
fn constants_that_are_further_apart_are_not_equal() {
    let proof = exponentials(64, "y = add(x, t)");
    assert!(!matches!(proof.verdict, Verdict::Equivalent { .. }));
    assert_eq!(proof.rejected, None);
}

#[test]
fn rounding_that_decides_a_sign_is_no_rounding() {
    let number = 1f32.exp();
    let proof = exponentials(1, &format!("y = mul(x, sign(sub(t, {number:?})))"));
    assert!(!matches!(proof.verdict, Verdict::Equivalent { .. }));
    assert_eq!(proof.rejected, None);
    assert!(proof.assumed.is_empty());
}
