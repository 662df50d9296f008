//! What the library proves, one pair of expressions a line: two graphs over the same inputs with one result each.

use magneton_ir::ir::{Graph, text};
use magneton_ir::progress::Silent;
use magneton_ir::prove::{Verdict, prove};
use magneton_ir::rules::{RuleFile, RuleSet, Tier};

fn graph(inputs: &str, body: &str) -> Graph {
    // Attributes stand behind semicolons too: a piece without a name of its own belongs to the piece before.
    let mut statements: Vec<String> = Vec::new();
    for line in body.split(';').map(str::trim) {
        let starts = line
            .split_once(" = ")
            .is_some_and(|(name, _)| name.chars().all(|c| c.is_alphanumeric() || "_, ".contains(c)));
        match statements.last_mut() {
            Some(last) if !starts => *last = format!("{last}; {line}"),
            _ => statements.push(line.to_owned()),
        }
    }
    let last = statements.last().and_then(|s| s.split_once(" = ")).map_or("", |(name, _)| name).to_owned();
    let source = format!("graph g({inputs}) {{\n{}\nreturn {last}\n}}\n", statements.join("\n"));
    text::parse("pair.mir", &source).unwrap_or_else(|e| panic!("{source}\n{:?}", miette::Report::new(e)))
}

fn verdict(inputs: &str, a: &str, b: &str) -> Verdict {
    prove(&graph(inputs, a), &graph(inputs, b), &RuleSet::library().unwrap(), &Silent).unwrap().verdict
}

fn is_proven(inputs: &str, a: &str, b: &str) -> bool {
    matches!(verdict(inputs, a, b), Verdict::Equivalent { .. })
}

fn proven(inputs: &str, a: &str, b: &str) -> Tier {
    match verdict(inputs, a, b) {
        Verdict::Equivalent { tier, .. } => tier,
        other => panic!("not proven: {other:?}\n{a}\n{b}"),
    }
}

macro_rules! pairs {
    ($($name:ident: $tier:ident, $inputs:literal, $a:literal, $b:literal;)*) => {$(
        #[test]
        fn $name() {
            assert_eq!(proven($inputs, $a, $b), Tier::$tier);
        }
    )*};
}

pairs! {
    new_gelu: Real, "x: f32[4, 96]",
        "a = mul(x, 0.5); p = pow(x; exponent=3.0); q = mul(p, 0.044715); r = add(x, q); s = mul(r, 0.7978845608028654); t = tanh(s); u = add(t, 1.0); y = mul(a, u)",
        "y = gelu(x; approximate=\"tanh\")";
    erf_gelu: Real, "x: f32[4, 96]",
        "a = mul(x, 0.5); d = div(x, 1.4142135623730951); e = erf(d); f = add(e, 1.0); y = mul(a, f)",
        "y = gelu(x)";
    silu: Real, "x: f32[4, 96]",
        "s = sigmoid(x); y = mul(x, s)",
        "y = silu(x)";
    llama_rms_norm: Rounding, "x: bf16[2, 7, 64], w: param bf16[64]",
        "a = cast(x; dtype=f32); p = pow(a; exponent=2.0); m = mean(p; dim=[-1], keepdim=true); e = add(m, 1e-6); r = rsqrt(e); n = mul(a, r); b = cast(n; dtype=bf16); y = mul(w, b)",
        "y = rms_norm(x, w; normalized_shape=[64], eps=1e-6)";
    layer_norm: Real, "x: f32[2, 7, 64], w: param f32[64], b: param f32[64]",
        "m = mean(x; dim=[-1], keepdim=true); c = sub(x, m); p = pow(c; exponent=2.0); v = mean(p; dim=[-1], keepdim=true); e = add(v, 1e-5); s = sqrt(e); n = div(c, s); k = mul(n, w); y = add(k, b)",
        "y = layer_norm(x, w, b; normalized_shape=[64], eps=1e-5)";
    softmax: Real, "x: f32[4, 96]",
        "m = amax(x; dim=[-1], keepdim=true); d = sub(x, m); e = exp(d); s = sum(e; dim=[-1], keepdim=true); y = div(e, s)",
        "y = softmax(x; dim=-1)";
    grouped_attention: Rounding, "q: bf16[1, 8, 16, 32], k: bf16[1, 2, 16, 32], v: bf16[1, 2, 16, 32], m: bool[1, 1, 16, 16]",
        "a = unsqueeze(k; dim=2); b = expand(a; shape=[1, 2, 4, 16, 32]); kk = reshape(b; shape=[1, 8, 16, 32]); c = unsqueeze(v; dim=2); d = expand(c; shape=[1, 2, 4, 16, 32]); vv = reshape(d; shape=[1, 8, 16, 32]); t = permute(kk; dims=[0, 1, 3, 2]); s = matmul(q, t); sc = mul(s, 0.17677669529663687); zero = full(; shape=[], value=0.0, dtype=bf16); low = full(; shape=[], value=-3.3895313892515355e38, dtype=bf16); w = where(m, zero, low); z = add(sc, w); f = softmax(z; dim=-1, dtype=f32); g = cast(f; dtype=bf16); y = matmul(g, vv)",
        "y = sdpa(q, k, v, m; scale=0.17677669529663687, grouped=true)";
    cross_entropy: Real, "x: f32[2, 16, 50], t: i64[2, 16]",
        "p = permute(x; dims=[0, 2, 1]); y = cross_entropy(p, t)",
        "l = log_softmax(x; dim=-1); i = unsqueeze(t; dim=-1); g = gather(l, i; dim=-1); s = squeeze(g; dim=-1); n = neg(s); y = mean(n; dim=[0, 1])";
    head_over_the_last_token: Exact, "x: f32[2, 16, 32], w: param f32[50, 32]",
        "a = linear(x, w); y = slice(a; dim=1, start=15, end=16)",
        "b = slice(x; dim=1, start=15, end=16); y = linear(b, w)";
    count_of_true: Exact, "b: bool[32, 100]",
        "n = ne(b, false); c = cast(n; dtype=i64); y = sum(c; dim=[1])",
        "c = cast(b; dtype=i64); y = sum(c; dim=[1])";
    repeat_by_one: Exact, "x: f32[16, 2, 8, 32]",
        "a = repeat_interleave(x; repeats=1, dim=2); y = neg(a)",
        "y = neg(x)";
    top_of_softmax: Real, "x: f32[4, 96]",
        "s = softmax(x; dim=-1); o, i = sort(s; dim=-1, descending=true); k = slice(o; dim=-1, start=0, end=8); n = sum(k; dim=[-1], keepdim=true); y = div(k, n)",
        "t, i = topk(x; k=8, dim=-1); y = softmax(t; dim=-1)";
    concat_then_slice: Exact, "t: f32[1, 5, 32], i: f32[1, 9, 32]",
        "c = concat(t, i; dim=1); r = relu(c); y = slice(r; dim=1, start=5, end=14)",
        "y = relu(i)";
    conv1d_of_gpt2: Real, "x: f32[2, 16, 32], w: param f32[32, 96], b: param f32[96]",
        "f = reshape(x; shape=[32, 32]); a = addmm(b, f, w); y = reshape(a; shape=[2, 16, 96])",
        "m = matmul(x, w); y = add(m, b)";
    instance_norm: Real, "x: f32[2, 6, 5, 5]",
        "g = group_norm(x; groups=6, eps=1e-5); y = relu(g)",
        "l = layer_norm(x; normalized_shape=[5, 5], eps=1e-5); y = relu(l)";
    rotary_of_halves: Exact, "x: f32[2, 4, 7, 16], c: f32[1, 1, 7, 8], s: f32[1, 1, 7, 8]",
        "cc = concat(c, c; dim=3); ss = concat(s, s; dim=3); p = slice(x; dim=3, start=0, end=8); q = slice(x; dim=3, start=8, end=16); n = neg(q); r = concat(n, p; dim=3); u = mul(x, cc); v = mul(r, ss); y = add(u, v)",
        "p = slice(x; dim=3, start=0, end=8); q = slice(x; dim=3, start=8, end=16); pc = mul(p, c); qs = mul(q, s); a = sub(pc, qs); qc = mul(q, c); ps = mul(p, s); b = add(qc, ps); y = concat(a, b; dim=3)";
    product_with_one_hot_rows: Real, "i: i64[7], w: param f32[11, 8]",
        "o = one_hot(i; num_classes=11); f = cast(o; dtype=f32); y = matmul(f, w)",
        "y = embedding(w, i)";
    global_average_pool: Real, "x: f32[2, 3, 8, 8]",
        "y = avg_pool2d(x; kernel_size=[8, 8], stride=[8, 8], padding=[0, 0])",
        "y = mean(x; dim=[2, 3], keepdim=true)";
    fused_gate_in_triton: Rounding, "g: f32[3, 16], u: f32[3, 16]",
        "y = opaque \"liger.silu_mul\"(g, u) -> f32[3, 16]",
        "s = sigmoid(g); t = mul(g, s); y = mul(t, u)";
    fused_norm_of_onnx: Rounding, "x: f32[3, 16], r: f32[3, 16], w: param f32[16]",
        "y = opaque \"com.microsoft.SkipSimplifiedLayerNormalization\"(x, r, w; epsilon=1e-6) -> f32[3, 16]",
        "h = add(x, r); p = pow(h; exponent=2.0); m = mean(p; dim=[-1], keepdim=true); e = add(m, 1e-6); q = rsqrt(e); n = mul(h, q); y = mul(n, w)";
}

/// A number was taken for a row along a dimension that it lacks.
#[test]
fn rows_of_single_numbers_are_compared_without_a_panic() {
    assert!(proven("x: f32[]", "y = log_softmax(x; dim=0)", "s = softmax(x; dim=0); y = log(s)") <= Tier::Real);
}

/// What a rule file defines can be evaluated: a fused operator in the wrong place is found out, and not only left unproven.
#[test]
fn a_fused_operator_that_computes_something_else_is_refuted() {
    let rules = RuleSet::library().unwrap();
    let fused = graph("x: f32[3, 16]", "y = opaque \"vllm.silu_and_mul\"(x) -> f32[3, 8]");
    let swapped =
        "g = slice(x; dim=1, start=8, end=16); u = slice(x; dim=1, start=0, end=8); s = silu(g); y = mul(s, u)";
    let proof = prove(&fused, &graph("x: f32[3, 16]", swapped), &rules, &Silent).unwrap();
    let Verdict::Different(witness) = proof.verdict else { panic!("{:?}", proof.verdict) };
    assert_eq!(witness.first_a.map(|id| fused.node(id).name.to_string()).as_deref(), Some("y"));
}

/// A factor of 0, and minus infinity that is added, let NaN through; `where` does not. What is cut off below a proof may be NaN too.
#[test]
fn what_may_be_nan_is_not_hidden_by_arithmetic() {
    let rules = RuleSet::library().unwrap();
    let positive = "z = gt(x, 0.0)";
    let shown = "i = arange(; end=4, dtype=i64); z = lt(i, 2)";
    let pairs = [
        (positive, "l = log(x); y = where(z, l, 0.0)", "l = log(x); c = cast(z; dtype=f32); y = mul(l, c)"),
        (
            shown,
            "r = reciprocal(x); y = where(z, r, -inf)",
            "r = reciprocal(x); m = where(z, 0.0, -inf); y = add(r, m)",
        ),
        (shown, "r = sqrt(x); y = mul(r, 0.0)", "r = cos(x); y = sub(r, r)"),
    ];
    for (mask, a, b) in pairs {
        let verdict = |a: &str, b: &str| {
            let (a, b) = (format!("{mask}; {a}"), format!("{mask}; {b}"));
            prove(&graph("x: f32[3, 4]", &a), &graph("x: f32[3, 4]", &b), &rules, &Silent).unwrap().verdict
        };
        assert!(!matches!(verdict(a, b), Verdict::Equivalent { .. }), "{a} and {b}");
    }
}

#[test]
fn a_definition_may_leave_operands_out() {
    let source = "/// Writes over its first operand.\nop my.square_into(out, x, log) = { mul(x, x), add(log, x) }\n\
                  test my.square_into { out: f32[2, 3], x: f32[2, 3], log: f32[2, 3] }\n";
    let rules = RuleSet::library().unwrap().with_sources(&[RuleFile::new("own.rules", source)]).unwrap();
    let inputs = "o: f32[3, 16], x: f32[3, 16], l: f32[3, 16]";
    let call = "s, t = opaque \"my.square_into\"(o, x, l) -> (f32[3, 16], f32[3, 16])";
    let proven = |a: &str, b: &str| {
        let proof = prove(&graph(inputs, a), &graph(inputs, b), &rules, &Silent).unwrap();
        matches!(proof.verdict, Verdict::Equivalent { .. })
    };
    let written_out = "p = pow(x; exponent=2.0); q = add(x, l); y = concat(p, q)";
    assert!(proven(&format!("{call}; y = concat(s, t)"), written_out));
    assert!(!proven(&format!("{call}; y = concat(t, s)"), written_out));
}

#[test]
fn a_product_of_bytes_is_added_up_in_wide_integers() {
    let inputs = "x: i8[3, 4], w: i8[4, 2]";
    let bytes = "y = opaque \"aten._int_mm\"(x, w) -> i32[3, 2]";
    assert_eq!(
        proven(inputs, bytes, "a = cast(x; dtype=i32); b = cast(w; dtype=i32); y = matmul(a, b)"),
        Tier::Rounding
    );
    let narrow = graph(inputs, "p = matmul(x, w); y = cast(p; dtype=i32)");
    let proof = prove(&graph(inputs, bytes), &narrow, &RuleSet::library().unwrap(), &Silent).unwrap();
    assert!(matches!(proof.verdict, Verdict::Different(_)), "{:?}", proof.verdict);
}

/// Such a cast has no defined result, and the rule once took it for one of a signed type.
#[test]
fn negative_numbers_do_not_come_back_from_unsigned_integers() {
    let through = |ty: &str| format!("y = cast(cast(clamp(round(x); min=-128.0, max=127.0); dtype={ty}); dtype=f32)");
    let limited = "y = clamp(round(x); min=-128.0, max=127.0)";
    let proven = ["i8", "i16", "i64", "u16", "u32"].map(|ty| is_proven("x: f32[5]", &through(ty), limited));
    assert_eq!(proven, [true, true, true, false, false]);
}

/// A rule once dropped the limit: sums of small integers wrap, whatever is added.
#[test]
fn sums_of_integers_at_places_may_be_negative() {
    let sums = |ty: &str, result: &str| {
        format!(
            "z = full(; shape=[50], value=0, dtype={ty}); v = full(; shape=[130], value=1, dtype={ty}); s = scatter_add(z, i, v; dim=0); y = {result}(s)"
        )
    };
    let proven = ["f32", "i8"].map(|ty| is_proven("i: i64[130]", &sums(ty, "relu"), &sums(ty, "clone")));
    assert_eq!(proven, [true, false]);
}
