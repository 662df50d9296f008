use super::folded::{SAMPLE, sampled};
use super::*;
use crate::ir::text::parse;
use crate::ir::{Content, DType, Number, Shape, TensorType};
use crate::prove::{Context, Verdict, prove_bound};
use crate::rules::RuleSet;

/// A file that holds these elements.
pub(super) struct File(pub Vec<Vec<f64>>);

impl Contents for File {
    fn holds(&mut self, input: usize) -> bool {
        !self.0[input].is_empty()
    }

    fn checksum(&mut self, _: usize) -> Option<u32> {
        None
    }

    fn content(&mut self, _: usize) -> Option<Content> {
        None
    }

    fn elements(&mut self, input: usize) -> Option<Vec<Number>> {
        Some(self.0[input].iter().map(|&x| Number::float(x)).collect())
    }
}

/// A file that holds these integers for input 1.
struct Whole([i64; 2]);

impl Contents for Whole {
    fn holds(&mut self, input: usize) -> bool {
        input == 1
    }

    fn checksum(&mut self, _: usize) -> Option<u32> {
        None
    }

    fn content(&mut self, _: usize) -> Option<Content> {
        None
    }

    fn elements(&mut self, input: usize) -> Option<Vec<Number>> {
        (input == 1).then(|| self.0.map(Number::Int).to_vec())
    }
}

fn sentences(a: &str, of_a: &[&[f64]], b: &str, of_b: &[&[f64]]) -> Vec<String> {
    let file = |all: &[&[f64]]| File(all.iter().map(|elements| elements.to_vec()).collect());
    let (a, b) = (parse("a", a).unwrap(), parse("b", b).unwrap());
    let bound = bind_with_contents(a, b, None, [&mut file(of_a), &mut file(of_b)]);
    bound.binding.assumptions
}

const RAISED: &str = "graph a(x: f32[2, 3], w: param f32[3]) {\n  v = add(w, 1.0)\n  y = mul(x, v)\n  return y\n}";
const HELD: &str = "graph b(x: f32[2, 3], v: param f32[3]) {\n  y = mul(x, v)\n  return y\n}";

#[test]
fn a_weight_is_what_the_other_side_computes_from_its_weights() {
    let all = sentences(RAISED, &[&[], &[0.25, 0.5, 0.75]], HELD, &[&[], &[1.25, 1.5, 1.75]]);
    assert!(all.contains(&"`v` of B is `add(w, 1.0)` of A (same values in both files)".to_owned()), "{all:?}");
    let near = [1.25, 1.5, 1.75 + f64::from(f32::EPSILON)];
    let all = sentences(RAISED, &[&[], &[0.25, 0.5, 0.75]], HELD, &[&[], &near]);
    assert!(all.iter().any(|s| s.contains("same values but for rounding")), "{all:?}");
    let all = sentences(RAISED, &[&[], &[0.25, 0.5, 0.75]], HELD, &[&[], &[1.25, 1.5, 1.76]]);
    assert!(!all.iter().any(|s| s.contains("add(w")), "{all:?}");
}

#[test]
fn a_batch_normalisation_is_found_in_kernels_of_the_same_name() {
    let a = "graph a(x: f32[1, 1, 2, 2], w: param f32[2, 1, 1, 1], m: buffer f32[2], v: buffer f32[2], g: param f32[2], b: param f32[2]) {
      c = conv2d(x, w; stride=[1, 1], padding=[0, 0], dilation=[1, 1])
      y = batch_norm(c, m, v, g, b; eps=0.0)
      return y
    }";
    let b = "graph b(x: f32[1, 1, 2, 2], w: param f32[2, 1, 1, 1], w_bias: param f32[2]) {
      y = conv2d(x, w, w_bias; stride=[1, 1], padding=[0, 0], dilation=[1, 1])
      return y
    }";
    let weights: [&[f64]; 6] = [&[], &[3.0, 5.0], &[1.0, 2.0], &[4.0, 0.25], &[2.0, 3.0], &[0.5, 0.75]];
    let all = sentences(a, &weights, b, &[&[], &[3.0, 30.0], &[-0.5, -11.25]]);
    let kernels = "`w` of B is `mul(w, reshape(mul(g, rsqrt(add(v, 0.0))); shape=[2, 1, 1, 1]))` of A (same values in both files)";
    assert!(all.contains(&kernels.to_owned()), "{all:?}");
    assert!(all.iter().any(|s| s.starts_with("`w_bias` of B is `sub(b, mul(m, mul(g,")), "{all:?}");
    // Values that are nothing of the kind.
    let all = sentences(a, &weights, b, &[&[], &[3.0, 31.0], &[-0.5, -11.25]]);
    assert!(!all.iter().any(|s| s.starts_with("`w` of B is `mul")), "{all:?}");
}

/// Of large tensors, candidates are told by a sample.
#[test]
fn an_element_that_differs_outside_of_the_sample_is_found() {
    let count = 2 * SAMPLE;
    let sized = |text: &str| text.replace("[3]", &format!("[{count}]")).replace("[2, 3]", &format!("[2, {count}]"));
    let (a, b) = (sized(RAISED), sized(HELD));
    let held: Vec<f64> = (0..count).map(|i| i as f64).collect();
    let mut raised: Vec<f64> = held.iter().map(|x| x + 1.0).collect();
    let is_bound =
        |raised: &[f64]| sentences(&a, &[&[], &held], &b, &[&[], raised]).iter().any(|s| s.contains("add(w"));
    assert!(is_bound(&raised));
    let ty = TensorType::new(DType::F32, Shape::from_slice(&[count])).unwrap();
    let outside = (0..count).find(|i| !sampled(&ty).any(|place| place == *i)).unwrap();
    raised[outside] += 0.5;
    assert!(!is_bound(&raised));
}

/// One large element does not make rounding of what is added to small ones.
#[test]
fn an_element_is_compared_by_its_own_size() {
    let held = [1e8, 0.5, 0.75, 0.25];
    let sized = |text: &str| text.replace("[3]", "[4]").replace("[2, 3]", "[2, 4]");
    let near = [1e8 + 1.0, 1.5, 1.76, 1.25];
    let all = sentences(&sized(RAISED), &[&[], &held], &sized(HELD), &[&[], &near]);
    assert!(!all.iter().any(|s| s.contains("add(w")), "{all:?}");
}

/// A witness gave the positions in such a buffer other values: a wrong `different`.
#[test]
fn a_buffer_of_integers_that_both_files_hold_is_a_constant() {
    let graph = |name: &str| {
        format!("graph {name}(x: f32[2], at: buffer i64[2]) {{ y = index_select(x, at; dim=0) return y }}")
    };
    let bound = |of_a: [i64; 2], of_b: [i64; 2]| {
        let [a, b] = ["a", "b"].map(|name| parse(name, &graph(name)).unwrap());
        bind_with_contents(a, b, None, [&mut Whole(of_a), &mut Whole(of_b)])
    };
    let alike = bound([1, 0], [1, 0]);
    assert_eq!([alike.a.inputs().len(), alike.b.inputs().len()], [1, 1]);
    assert_eq!(alike.binding.inputs.len(), 1);
    assert_eq!(alike.binding.keeps_constants, [false, false]);
    let said = "what both files hold for the buffer `at` is part of the program";
    assert!(alike.binding.assumptions.iter().any(|s| s == said), "{:?}", alike.binding.assumptions);
    let unlike = bound([1, 0], [0, 1]);
    assert_eq!(unlike.binding.inputs.len(), 2);
}

#[test]
fn a_buffer_that_the_program_writes_is_no_constant() {
    let graph =
        "graph a(x: f32[2], n: buffer i64[2]) { m = add(n, 1) y = add(x, cast(n; dtype=f32)) return y, m writes n }";
    let [a, b] = ["a", "b"].map(|name| parse(name, graph).unwrap());
    let bound = bind_with_contents(a, b, None, [&mut Whole([3, 4]), &mut Whole([3, 4])]);
    assert_eq!(bound.binding.inputs.len(), 2);
}

#[test]
fn a_guess_that_the_elements_contradict_is_no_binding() {
    const A: &str = "graph a(x: f32[2, 3], w: param f32[4, 3]) {\n  y = linear(x, w)\n  return y\n}";
    const B: &str = "graph b(x: f32[2, 3], v: param f32[1, 4, 3]) {\n  m = reshape(v; shape=[4, 3])\n  t = permute(m; dims=[1, 0])\n  y = matmul(x, t)\n  return y\n}";
    let weight: Vec<f64> = (0..12).map(|i| f64::from(i) * 0.25).collect();
    let other: Vec<f64> = weight.iter().map(|x| x * 1.5 + 0.125).collect();
    let is_guessed = |all: &[String]| all.iter().any(|text| text.contains("guessed from shapes and use"));
    let same = sentences(A, &[&[], &weight], B, &[&[], &weight]);
    assert!(same.iter().any(|text| text.contains("same values in both files")), "{same:?}");
    assert!(!is_guessed(&sentences(A, &[&[], &weight], B, &[&[], &other])));
    // Where one file holds nothing, there is nothing to contradict it.
    assert!(is_guessed(&sentences(A, &[&[], &[]], B, &[&[], &other])));
}

/// No other weights tell whether a constant that may be folded makes a difference.
#[test]
fn weights_that_both_files_hold_decide_beside_a_constant() {
    let graph = |name: &str, constant: &str| {
        let text = format!(
            "graph {name}(x: f32[3], w: param f32[3], {constant}: buffer f32[3]) {{ p = mul(x, w) y = add(p, {constant}) return y }}"
        );
        parse(name, &text).unwrap()
    };
    let bound = |of_b: &[f64]| {
        let a = parse("a", "graph a(x: f32[3], w: param f32[3]) { p = mul(x, w) y = add(p, p) return y }").unwrap();
        let weights = || vec![Vec::new(), vec![0.25, 0.5, 0.75]];
        let mut held = weights();
        held[1] = of_b.to_vec();
        held.push(vec![7.0, 8.0, 9.5]);
        bind_with_contents(a, graph("b", "c"), None, [&mut File(weights()), &mut File(held)])
    };
    let BoundPair { a, b, binding } = bound(&[0.25, 0.5, 0.75]);
    assert_eq!(binding.held.as_ref().map(HeldWeights::len), Some(1));
    assert!(!binding.is_doubtful(&a, &b, 0), "{:?}", binding.assumptions);
    let BoundPair { a, b, binding } = bound(&[0.25, 0.5, 0.875]);
    assert!(binding.held.is_none() && binding.is_doubtful(&a, &b, 0), "{:?}", binding.assumptions);
}

/// Several rules lead there: layers behind each other, a factor, layers of one input.
#[test]
fn a_merged_update_of_low_rank_is_found() {
    let a = "graph a(x: f32[1, 2], w: param f32[2, 2], down: param f32[1, 2], up: param f32[2, 1]) {
      l = linear(x, w)
      d = linear(x, down)
      u = linear(d, up)
      s = mul(u, 2.0)
      y = add(l, s)
      return y
    }";
    let b = "graph b(x: f32[1, 2], w: param f32[2, 2]) { y = linear(x, w) return y }";
    let weights: [&[f64]; 4] = [&[], &[1.0, 2.0, 3.0, 4.0], &[0.5, 0.25], &[1.0, 2.0]];
    let all = sentences(a, &weights, b, &[&[], &[2.0, 2.5, 5.0, 5.0]]);
    let said = "of A (same values in both files)";
    assert!(all.iter().any(|s| s.contains("matmul(up, down)") && s.ends_with(said)), "{all:?}");
    let all = sentences(a, &weights, b, &[&[], &[2.0, 2.5, 5.0, 6.0]]);
    assert!(!all.iter().any(|s| s.contains("matmul(up, down)")), "{all:?}");
}

/// Whoever folds a weight rounds it: by far less than a part in 1000 in f32.
#[test]
fn what_folding_cannot_explain_is_a_difference() {
    let a = parse("a", "graph a(x: f32[4], w: buffer f32[4]) { y = mul(x, w) return y }").unwrap();
    let verdict = |last: f64| {
        let b = parse(
            "b",
            &format!("graph b(x: f32[4]) {{ w = literal f32[4] [1.0, 2.0, 3.0, {last}] y = mul(x, w) return y }}"),
        );
        let held = vec![Vec::new(), vec![1.0, 2.0, 3.0, 4.0]];
        let bound = bind_with_contents(a.clone(), b.unwrap(), None, [&mut File(held), &mut File(vec![Vec::new()])]);
        prove_bound(&bound, &Context::under(&RuleSet::library().unwrap())).unwrap().verdict
    };
    assert!(matches!(verdict(4.02), Verdict::Different(_)));
    assert!(matches!(verdict(4.0001), Verdict::Unknown));
}
