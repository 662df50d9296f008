//! What a witness holds is enough to see the difference elsewhere. Both cases come from the differential campaign.

use magneton_ir::ir::text;
use magneton_ir::progress::Silent;
use magneton_ir::prove::{Context, Elements, Verdict, bind_graphs, needed_inputs, prove, prove_bound};
use magneton_ir::rules::RuleSet;

/// The inputs of the witness that tells `a` from `b`, by name.
fn inputs(a: &str, b: &str) -> Vec<(String, Elements)> {
    let rules = RuleSet::library().unwrap();
    let [a, b] = [a, b].map(|source| text::parse("test", source).unwrap_or_else(|e| panic!("{e:?}")));
    let bound = bind_graphs(a, b, None);
    let proof = prove_bound(&bound, &Context::under(&rules)).unwrap();
    let Verdict::Different(witness) = &proof.verdict else { panic!("{:?}", proof.verdict) };
    let needed = needed_inputs(&bound.a, &bound.b, &proof.binding, witness).unwrap();
    proof.binding.inputs.iter().map(|input| input.name.clone()).zip(needed).collect()
}

/// A comparison with infinity counted as one that only rounding decides, since infinity was as near to any number as a part in 10^10 of
/// infinity: whatever guards against overflow was never told from what does not.
#[test]
fn a_comparison_with_infinity_is_decided() {
    let other = "graph b(x: f32[3]) { y = mul(x, 2.0) return y }";
    for guarded in ["where(ne(abs(x), inf), x, 0.0)", "where(lt(x, inf), x, 0.0)", "where(eq(x, inf), 1.0, x)"] {
        assert!(!inputs(&format!("graph a(x: f32[3]) {{ y = {guarded} return y }}"), other).is_empty());
    }
}

/// Writing such a witness ended in a panic: it looked for a draw of each input, and there was none.
#[test]
fn constants_that_differ_need_no_inputs() {
    let needed = inputs("graph a(x: f32[3]) { return x, 1 }", "graph b(x: f32[3]) { return x, 2 }");
    assert_eq!(needed, [("x".to_owned(), Elements::default())]);
}

/// The witness wrote to row 1 of a tensor of one row, on which libtorch stops.
#[test]
fn a_witness_writes_to_rows_that_there_are() {
    let graph = |op: &str| {
        format!(
            "graph g(x: f32[1, 3], i: i64[4], v: f32[4, 3]) {{
               y = {op}(index_put(x, v, i; dims=[0], accumulate=true), 1.0)
               return y
             }}"
        )
    };
    let needed = inputs(&graph("add"), &graph("sub"));
    let (_, rows) = needed.iter().find(|(name, _)| name == "i").unwrap();
    assert_eq!(rows.values, [0.0; 4]);
}

/// The number of the text was compared with the table that holds what f16 makes of it: two models that are equal were `different`.
#[test]
fn a_number_that_fills_a_tensor_is_a_value_of_its_type_over_the_real_numbers_too() {
    let graph = |body: &str| text::parse("test", &format!("graph g(x: f16[2]) {{\n {body}\n }}")).unwrap();
    let filled = graph(
        "c = full(; shape=[2], value=0.3333333333333333, dtype=f16)\n y = softmax(mul(x, c); dim=0)\n return y, c",
    );
    let table =
        graph("c = literal f16[2] [0.333251953125, 0.333251953125]\n y = softmax(mul(c, x); dim=0)\n return y, c");
    let rules = RuleSet::library().unwrap();
    let proof = prove_bound(&bind_graphs(filled, table, None), &Context::under(&rules)).unwrap();
    assert!(matches!(proof.verdict, Verdict::Equivalent { .. }), "{:?}", proof.verdict);
}

/// A division by -0.0 had the sign of one by 0.0.
#[test]
fn a_literal_zero_keeps_its_sign_over_the_real_numbers() {
    let graph = |op: &str| text::parse("test", &format!("graph g(x: f32[]) {{\n y = {op}\n return y\n }}")).unwrap();
    let rules = RuleSet::library().unwrap();
    let bound = bind_graphs(graph("div(x, -0.0)"), graph("relu(div(x, -0.0))"), None);
    let proof = prove_bound(&bound, &Context::under(&rules)).unwrap();
    let Verdict::Different(witness) = &proof.verdict else { panic!("{:?}", proof.verdict) };
    let x = needed_inputs(&bound.a, &bound.b, &proof.binding, witness).unwrap()[0].values[0];
    assert_eq!(witness.a.to_f64(), x / -0.0);
}

/// `x` against what is `x` but for rounding came out as unequal.
#[test]
fn values_that_rounding_tells_apart_decide_no_comparison() {
    let graph =
        |body: &str| text::parse("test", &format!("graph g(x: f32[8]) {{\n y = {body}\n return y\n }}")).unwrap();
    let rules = RuleSet::library().unwrap();
    for (a, b) in [("le(x, x)", "le(log(exp(x)), x)"), ("eq(x, x)", "eq(sub(add(x, 0.3), 0.3), x)")] {
        for pair in [[a, b], [b, a]] {
            let [a, b] = pair.map(graph);
            let proof = prove_bound(&bind_graphs(a, b, None), &Context::under(&rules)).unwrap();
            assert!(!matches!(proof.verdict, Verdict::Different(_)), "{pair:?}: {:?}", proof.verdict);
        }
    }
}

/// The number that fills the masked places was compared with the element of f16 that it becomes.
#[test]
fn a_number_that_is_handed_on_is_an_element() {
    let graph = |body: &str| {
        text::parse("test", &format!("graph g(x: f16[8], m: bool[8]) {{\n{body}\n return y\n }}")).unwrap()
    };
    let rules = RuleSet::library().unwrap();
    let a = graph("y = masked_fill(x, m, 0.1)");
    let b = graph("f = full(; shape=[8], value=0.1, dtype=f16)\n y = where(m, f, x)");
    let proof = prove_bound(&bind_graphs(a, b, None), &Context::under(&rules)).unwrap();
    assert!(!matches!(proof.verdict, Verdict::Different(_)), "{:?}", proof.verdict);
}

/// A saturated function gave exactly 1, which counted as a whole number that nothing had rounded, and what is infinite at 1 was a witness.
#[test]
fn a_saturated_function_is_rounded() {
    let rules = RuleSet::library().unwrap();
    for (a, b) in [("x", "atanh(tanh(x))"), ("log(sigmoid(neg(x)))", "log(sub(1.0, sigmoid(x)))")] {
        let [a, b] = [a, b].map(|body| {
            let source = format!("graph g(x: f32[4]) {{ y = mul({body}, 1.0) return y }}");
            text::parse("test", &source).unwrap_or_else(|e| panic!("{e:?}"))
        });
        let proof = prove_bound(&bind_graphs(a, b, None), &Context::under(&rules)).unwrap();
        assert!(!matches!(proof.verdict, Verdict::Different(_)), "{:?}", proof.verdict);
    }
}

/// Elements that are compared with the largest one were disturbed apart from it, so that no difference counted.
#[test]
fn where_the_largest_elements_are_is_compared() {
    let graph = |dims: &str| {
        let result =
            format!("h = sigmoid(x) y = mul(h, cast(eq(h, amax(h; dim={dims}, keepdim=true)); dtype=f32)) return y");
        text::parse("largest.mir", &format!("graph g(x: f32[4, 5]) {{ {result} }}")).unwrap()
    };
    let rules = RuleSet::library().unwrap();
    let verdict = prove(&graph("[1]"), &graph("[0, 1]"), &rules, &Silent).unwrap().verdict;
    assert!(matches!(verdict, Verdict::Different(_)), "{verdict:?}");
}
