//! Weights that one side keeps merged: the binding is guessed or stated, listed, and no guess refutes.

use std::path::Path;

use magneton_ir::frontend;
use magneton_ir::ir::{Graph, text};
use magneton_ir::prove::{BoundPair, Context, Proof, Verdict, bind_graphs, bind_with_contents, prove_bound};
use magneton_ir::rules::RuleSet;

const PLAIN: &str = "graph plain(x: f32[5, 8], q_proj.weight: param f32[8, 8], k_proj.weight: param f32[4, 8],
    v_proj.weight: param f32[4, 8], o_proj.weight: param f32[8, 8], gate.weight: param f32[6, 8], up.weight: param f32[6, 8]) {
  q = linear(x, q_proj.weight)
  k = linear(x, k_proj.weight)
  v = linear(x, v_proj.weight)
  s = matmul(softmax(matmul(q, permute(concat(k, k; dim=1); dims=[1, 0])); dim=1), concat(v, v; dim=1))
  o = linear(s, o_proj.weight)
  g = linear(o, gate.weight)
  u = linear(o, up.weight)
  y = mul(silu(g), u)
  return y
}";

/// `parts` are the starts and ends of the slices for queries, keys, values.
fn merged(parts: [(usize, usize); 3], gate: &str, up: &str) -> String {
    let [q, k, v] = parts.map(|(s, e)| format!("slice(qkv; dim=1, start={s}, end={e})"));
    format!(
        "graph merged(x: f32[5, 8], qkv_proj.weight: param f32[16, 8], o_proj.weight: param f32[8, 8],
    gate_up.weight: param f32[12, 8]) {{
  qkv = linear(x, qkv_proj.weight)
  q = {q}
  k = {k}
  v = {v}
  s = matmul(softmax(matmul(q, permute(concat(k, k; dim=1); dims=[1, 0])); dim=1), concat(v, v; dim=1))
  o = linear(s, o_proj.weight)
  gu = linear(o, gate_up.weight)
  g = slice(gu; dim=1, {gate})
  u = slice(gu; dim=1, {up})
  y = mul(silu(g), u)
  return y
}}"
    )
}

fn graph(source: &str) -> Graph {
    text::parse("test", source).unwrap_or_else(|e| panic!("{e:?}"))
}

fn proven(a: &str, b: &str) -> Proof {
    prove_bound(&bind_graphs(graph(a), graph(b), None), &Context::under(&RuleSet::library().unwrap())).unwrap()
}

/// What a binding file says is no guess, so that a difference under it counts.
#[test]
fn a_stated_binding_refutes() {
    const LINES: &str = "qkv_proj.weight = concat(q_proj.weight, k_proj.weight, v_proj.weight; dim=0)
        gate_up.weight = concat(gate.weight, up.weight; dim=0)";
    let check = |b: &str| {
        let (a, b) = (graph(PLAIN), graph(b));
        let stated = text::parse_equalities("names", LINES, &a, &b).unwrap();
        prove_bound(&bind_graphs(a, b, Some(&stated)), &Context::under(&RuleSet::library().unwrap())).unwrap().verdict
    };
    assert!(matches!(check(&merged(RIGHT, FIRST, SECOND)), Verdict::Equivalent { .. }));
    assert!(matches!(check(&merged(RIGHT, SECOND, FIRST)), Verdict::Different(_)));
}

const RIGHT: [(usize, usize); 3] = [(0, 8), (8, 12), (12, 16)];
const FIRST: &str = "start=0, end=6";
const SECOND: &str = "start=6, end=12";

#[test]
fn merged_projections_are_inferred_and_listed() {
    for proof in [proven(PLAIN, &merged(RIGHT, FIRST, SECOND)), proven(&merged(RIGHT, FIRST, SECOND), PLAIN)] {
        assert!(matches!(proof.verdict, Verdict::Equivalent { .. }), "{:?} {:?}", proof.verdict, proof.unproven);
        let all = proof.binding.assumptions.join("\n");
        assert!(all.contains("`concat(q_proj.weight, k_proj.weight, v_proj.weight)`"), "{all}");
        assert!(all.contains("guessed from shapes and use"), "{all}");
    }
}

#[test]
fn a_guess_that_fails_refutes_nothing() {
    let swapped = [(0, 8), (12, 16), (8, 12)];
    for b in [merged(swapped, FIRST, SECOND), merged(RIGHT, SECOND, FIRST)] {
        let proof = proven(PLAIN, &b);
        assert_eq!(proof.verdict, Verdict::Unknown);
        assert!(proof.binding.assumptions.iter().any(|a| a.contains("guesses may be wrong")));
    }
}

/// The proof of two models of `tests/data` that hold their weights, bound with the values of those; `edit` changes the
/// text of B.
fn with_weights(a: &str, b: &str, edit: impl Fn(&str) -> String) -> Proof {
    let data = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/weights-{name}.pt2"));
    let [(a, mut of_a), (b, mut of_b)] = [a, b].map(|name| frontend::load_with_contents(data(name)).unwrap());
    let b = graph(&edit(&text::print(&b)));
    let bound = bind_with_contents(a, b, None, [&mut *of_a, &mut *of_b]);
    let rules = RuleSet::library().unwrap();
    let proof = prove_bound(&bound, &Context::under(&rules)).unwrap();
    if matches!(proof.verdict, Verdict::Equivalent { .. }) {
        assert!(proof.certificate(&bound.a, &bound.b, &rules).verify(&bound, &rules).unwrap().holds());
    }
    proof
}

fn listed(proof: &Proof) -> String {
    proof.binding.assumptions.join("\n")
}

/// The names are in another order, so that positions would bind queries to values.
#[test]
fn renamed_weights_are_bound_by_their_values() {
    let proof = with_weights("plain", "renamed", str::to_owned);
    assert!(matches!(proof.verdict, Verdict::Equivalent { .. }), "{:?}", proof.unproven);
    insta::assert_snapshot!(listed(&proof));
}

#[test]
fn merged_and_transposed_weights_are_bound_by_their_values() {
    for (a, b) in [
        ("plain", "merged"),
        ("plain", "conv"),
        ("merged", "plain"),
        ("merged", "turned"),
        ("renamed", "turned"),
        ("turned", "renamed"),
    ] {
        let proof = with_weights(a, b, str::to_owned);
        assert!(
            matches!(proof.verdict, Verdict::Equivalent { .. }),
            "{a} {b}: {}\n{:?}",
            listed(&proof),
            proof.unproven
        );
        insta::assert_snapshot!(format!("{a}_{b}"), listed(&proof));
    }
}

/// Values that fit nothing else are no guess, so that a difference under them counts.
#[test]
fn weights_bound_by_their_values_refute() {
    let proof = with_weights("plain", "turned", |b| b.replacen(" = gelu(", " = silu(", 1));
    assert!(matches!(proof.verdict, Verdict::Different(_)), "{:?} {}", proof.verdict, listed(&proof));
}

/// Position would bind the one weight whose values differ, since it is all that is left of its type.
#[test]
fn a_weight_with_other_values_stays_unbound() {
    let proof = with_weights("plain", "other", str::to_owned);
    assert_eq!(proof.verdict, Verdict::Unknown);
    insta::assert_snapshot!(listed(&proof));
}

/// The sides are equal operator by operator, and their weights have one name: but other weights make another program.
#[test]
fn a_weight_of_one_name_with_other_values_is_another_program() {
    for (a, b) in [("plain", "retrained"), ("retrained", "plain")] {
        let proof = with_weights(a, b, str::to_owned);
        assert_eq!(proof.verdict, Verdict::Unknown);
        insta::assert_snapshot!(format!("{a}_{b}"), listed(&proof));
        assert!(with_weights(a, a, str::to_owned).binding.unlike.is_empty());
    }
}

/// Shapes and use would bind a merged weight to three that were trained apart from it.
#[test]
fn a_guess_that_the_files_contradict_is_no_binding() {
    for merged in ["merged-other", "merged-retrained"] {
        for (a, b) in [("plain", merged), (merged, "plain")] {
            let proof = with_weights(a, b, str::to_owned);
            assert_eq!(proof.verdict, Verdict::Unknown, "{a} {b}");
            let guess =
                listed(&proof).lines().find(|line| line.contains("guessed") && line.contains("qkv")).map(str::to_owned);
            assert!(guess.is_none_or(|line| !line.contains("i = 0 to 1")), "{a} {b}: {}", listed(&proof));
        }
    }
}

/// A statement that is true of one weight and leaves out the others is no reason to call the sides different.
#[test]
fn a_partial_binding_refutes_nothing() {
    const LINES: &str = "q_proj.weight = slice(qkv_proj.weight; dim=0, start=0, end=8)";
    let b = merged(RIGHT, FIRST, SECOND);
    for (a, b) in [(PLAIN, b.as_str()), (b.as_str(), PLAIN)] {
        let (a, b) = (graph(a), graph(b));
        let stated = text::parse_equalities("names", LINES, &a, &b).unwrap();
        let proof =
            prove_bound(&bind_graphs(a, b, Some(&stated)), &Context::under(&RuleSet::library().unwrap())).unwrap();
        assert!(!matches!(proof.verdict, Verdict::Different(_)), "{}", listed(&proof));
    }
    let a = graph("graph a(x: f32[5, 8], w: param f32[8], g: param f32[8]) { y = mul(mul(x, w), g) return y }");
    let b = graph("graph b(x: f32[5, 8], wg: param f32[8]) { y = mul(x, wg) return y }");
    let stated = text::parse_equalities("names", "w = wg", &a, &b).unwrap();
    let bound = bind_graphs(a, b, Some(&stated));
    let verdict = prove_bound(&bound, &Context::under(&RuleSet::library().unwrap())).unwrap().verdict;
    assert_eq!(verdict, Verdict::Unknown);
}

fn export(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/exports").join(name)
}

/// The serving pair under what the lines of a binding file say; no file leaves it to guesses.
fn serving(lines: Option<&str>) -> (BoundPair, Proof) {
    let [a, b] = ["serving-plain.pt2", "serving-merged.pt2"].map(|name| frontend::load(export(name)).unwrap());
    let stated = lines.map(|lines| text::parse_equalities("names", lines, &a, &b).unwrap());
    let bound = bind_graphs(a, b, stated.as_ref());
    let rules = RuleSet::library().unwrap();
    let proof = prove_bound(&bound, &Context::under(&rules)).unwrap();
    (bound, proof)
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_serving_implementation_is_proven_with_and_without_a_binding_file() {
    let lines = std::fs::read_to_string(export("serving.bind")).unwrap();
    for (lines, word) in [(Some(lines.as_str()), "(stated)"), (None, "(guessed from shapes and use)")] {
        let (bound, proof) = serving(lines);
        assert!(matches!(proof.verdict, Verdict::Equivalent { .. }), "{:?}", proof.unproven);
        assert!(proof.binding.assumptions.iter().any(|a| a.contains("qkv_proj") && a.ends_with("for i = 0 to 1")));
        assert!(proof.binding.assumptions.iter().any(|a| a.contains(word)), "{:?}", proof.binding.assumptions);
        let rules = RuleSet::library().unwrap();
        assert!(proof.certificate(&bound.a, &bound.b, &rules).verify(&bound, &rules).unwrap().holds());
    }
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_wrong_binding_file_proves_nothing() {
    let lines = std::fs::read_to_string(export("serving.bind")).unwrap();
    let swapped =
        lines.replace("gate_proj", "@").replace("up_proj.weight;", "gate_proj.weight;").replace('@', "up_proj");
    assert_ne!(lines, swapped);
    assert!(!matches!(serving(Some(&swapped)).1.verdict, Verdict::Equivalent { .. }));
}

/// Programs of XLA take integers of 32 bits. What one side gives in 64 has to fit: numbers that do not fit told apart programs that compute
/// the same of all others.
#[test]
fn integers_that_are_stated_to_be_narrower_fit() {
    const WIDE: &str = "graph wide(x: i64[4], y: i64[4]) {\n  r = eq(x, y)\n  return r\n}";
    const NARROW: &str = "graph narrow(p: i32[4], q: i64[4]) {\n  r = eq(cast(p; dtype=i64), q)\n  return r\n}";
    let (a, b) = (graph(WIDE), graph(NARROW));
    let stated = text::parse_equalities("names", "p = cast(x; dtype=i32)\nq = y", &a, &b).unwrap();
    let bound = bind_graphs(a, b, Some(&stated));
    let said = "`x` of A is `cast(p; dtype=i64)` of B (stated)";
    assert!(bound.binding.assumptions.iter().any(|a| a == said), "{:?}", bound.binding.assumptions);
    let proof = prove_bound(&bound, &Context::under(&RuleSet::library().unwrap())).unwrap();
    assert!(matches!(proof.verdict, Verdict::Equivalent { .. }), "{:?}", proof.verdict);
    // One of two inputs that are made of the same wide one may hold numbers that the other one does not.
    let (a, b) =
        (graph(WIDE), graph(&NARROW.replace("q: i64[4]", "q: i32[4]").replace(", q)", ", cast(q; dtype=i64))")));
    let both = "p = cast(x; dtype=i32)\nq = cast(x; dtype=i32)";
    let stated = text::parse_equalities("names", both, &a, &b).unwrap();
    let bound = bind_graphs(a, b, Some(&stated));
    assert!(bound.binding.assumptions.iter().any(|a| a.starts_with("`p` of B is")), "{:?}", bound.binding.assumptions);
}
