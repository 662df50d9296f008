//! The pairs under `tests/data/numbers`, which PyTorch exported: programs that compute with the same numbers or with other ones.
//! `NAME.b-same.pt2` computes bit for bit what `NAME.a.pt2` does, `NAME.b-other.pt2` does not; libtorch said so when they were
//! made.

use std::fs;
use std::path::{Path, PathBuf};

use magneton_ir::frontend;
use magneton_ir::ir::text;
use magneton_ir::prove::{Context, Verdict, bind_graphs, prove_bound};
use magneton_ir::rules::{RuleSet, Tier};

/// Equal pairs that are proven by the laws of sums and products, which say nothing of bits: those of integers that wrap around.
const BY_LAWS: [&str; 2] = ["wrapped-product", "wrapped-sum"];

/// Every pair with that ending of the second file, and its verdict.
fn verdicts(ending: &str) -> Vec<(String, Verdict)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/numbers");
    let rules = RuleSet::library().unwrap();
    let files = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path());
    let pair = |b: PathBuf| {
        let name = b.file_name()?.to_string_lossy().strip_suffix(ending)?.to_owned();
        let [a, b] = [b.with_file_name(format!("{name}.a.pt2")), b].map(|path| frontend::load(path).unwrap());
        let proof = prove_bound(&bind_graphs(a, b, None), &Context::under(&rules)).unwrap();
        Some((name, proof.verdict))
    };
    let mut all: Vec<_> = files.filter_map(pair).collect();
    all.sort_by(|(x, _), (y, _)| x.cmp(y));
    all
}

#[test]
fn the_same_numbers_are_proven_bit_for_bit() {
    let verdicts = verdicts(".b-same.pt2");
    assert!(verdicts.len() > 8, "{}", verdicts.len());
    for (name, verdict) in verdicts {
        let tier = if BY_LAWS.contains(&&*name) { Tier::Real } else { Tier::Exact };
        assert_eq!(verdict, Verdict::Equivalent { tier }, "{name}");
    }
}

#[test]
fn other_numbers_are_never_proven_equal() {
    let verdicts = verdicts(".b-other.pt2");
    assert!(verdicts.len() >= 20, "{}", verdicts.len());
    for (name, verdict) in verdicts {
        // Over the real numbers there is one zero, and nothing is rounded.
        let bits_alone = name.starts_with("sign-of-zero") || ["deviation-in-f32", "sum-with-factor"].contains(&&*name);
        let equal = matches!(verdict, Verdict::Equivalent { tier } if tier == Tier::Exact || !bits_alone);
        assert!(!equal, "{name}: {verdict:?}");
    }
}

fn verdict(element: &str, a: &str, b: &str) -> Verdict {
    let graph = |body: &str| {
        let source = format!("graph g(x: {element}[4]) {{ y = {body} return y }}");
        text::parse("test", &source).unwrap_or_else(|e| panic!("{source}: {e:?}"))
    };
    prove_bound(&bind_graphs(graph(a), graph(b), None), &Context::under(&RuleSet::library().unwrap())).unwrap().verdict
}

/// A number beside 32 bits and fewer is rounded to `f32`, so that what was typed and what a file keeps of it are one number.
#[test]
fn numbers_that_f32_does_not_tell_apart_are_one_beside_narrow_floats() {
    for element in ["f32", "bf16", "f16"] {
        for (x, y) in [("0.1", "0.10000000149011612"), ("16777216.0", "16777217.0"), ("1e-05", "9.999999747378752e-06")]
        {
            let verdict = verdict(element, &format!("mul(x, {x})"), &format!("mul(x, {y})"));
            assert_eq!(verdict, Verdict::Equivalent { tier: Tier::Exact }, "{element} {x}");
        }
    }
}

/// Nothing of that holds where a number is used beside doubles or integers, or is a tensor of its own.
#[test]
fn numbers_that_only_f32_takes_for_the_same_stay_apart_elsewhere() {
    let kept = "0.10000000149011612";
    let wide = "cast(full(; shape=[], value=0.1, dtype=f32); dtype=f64)";
    for (element, a, b) in [
        ("f64", "mul(x, 0.1)".to_owned(), format!("mul(x, {kept})")),
        ("f64", "sub(x, 16777216.0)".to_owned(), "sub(x, 16777217.0)".to_owned()),
        ("f64", "pow(x; exponent=0.1)".to_owned(), format!("pow(x; exponent={kept})")),
        ("f64", "gt(x, 0.1)".to_owned(), format!("gt(x, {kept})")),
        ("f64", "mul(x, 0.1)".to_owned(), format!("mul(x, {wide})")),
        ("f32", "mul(cast(x; dtype=f64), 0.1)".to_owned(), format!("mul(cast(x; dtype=f64), {wide})")),
        ("i64", "add(x, 16777216)".to_owned(), "add(x, 16777217)".to_owned()),
        ("i64", "eq(x, 9007199254740992)".to_owned(), "eq(x, 9007199254740993)".to_owned()),
        ("i32", "mul(x, 16777216)".to_owned(), "mul(x, 16777217)".to_owned()),
        // A tensor of rank 0 is rounded to its own type, which is narrower than that of arithmetic.
        ("bf16", "mul(x, 0.1)".to_owned(), "mul(x, full(; shape=[], value=0.1, dtype=bf16))".to_owned()),
        ("f32", "mul(x, 0.1)".to_owned(), "mul(x, 0.10000001)".to_owned()),
    ] {
        let verdict = verdict(element, &a, &b);
        assert!(!matches!(verdict, Verdict::Equivalent { tier: Tier::Exact }), "{element}: {a} and {b}: {verdict:?}");
    }
}

/// A number is kept as it is where it is computed with beside a tensor. Where elements are chosen or moved, and where only numbers are, the element type
/// stores it: half floats have no 2049, and 100000 is infinite.
#[test]
fn numbers_are_stored_where_elements_are_chosen_or_moved() {
    let tenth = "number(; value=0.1, dtype=f16)";
    let chosen = format!("where(lt(x, 0.0), {tenth}, {tenth})");
    for (a, b) in [
        ("cast(where(lt(x, 0.0), x, 100000.0); dtype=f32)", "where(lt(x, 0.0), cast(x; dtype=f32), 100000.0)"),
        ("cast(where(lt(x, 0.0), x, 2049.0); dtype=i64)", "where(lt(x, 0.0), cast(x; dtype=i64), 2049)"),
        ("cast(masked_fill(x, lt(x, 0.0), 2049.0); dtype=f32)", "masked_fill(cast(x; dtype=f32), lt(x, 0.0), 2049.0)"),
        (
            "add(cast(x; dtype=f32), cast(expand(number(; value=100000.0, dtype=f16); shape=[4]); dtype=f32))",
            "add(cast(x; dtype=f32), 100000.0)",
        ),
        (&format!("mul(x, {chosen})"), "mul(x, 0.1)"),
        (&format!("mul(x, mul({tenth}, 1.0))"), "mul(x, 0.1)"),
    ] {
        let verdict = verdict("f16", a, b);
        assert!(!matches!(verdict, Verdict::Equivalent { tier: Tier::Exact | Tier::Real }), "{a} and {b}: {verdict:?}");
    }
    let stored = "where(lt(x, 0.0), x, 2048.0)";
    assert_eq!(verdict("f16", "where(lt(x, 0.0), x, 2049.0)", stored), Verdict::Equivalent { tier: Tier::Exact });
}
