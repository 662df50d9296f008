//! ONNX models: what is read and proven, and what is refused with its place. `tests/data/make_onnx.py` wrote the files.

use std::fs;
use std::path::{Path, PathBuf};

use magneton_ir::frontend::{self, LoadOptions, Loaded};
use magneton_ir::ir::text;
use magneton_ir::prove::{BoundPair, Context, Verdict, bind_with_contents, prove_bound};
use magneton_ir::rules::{RuleSet, Tier};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/onnx/{name}.onnx"))
}

fn options() -> LoadOptions {
    LoadOptions { sizes: vec![("batch".to_owned(), 8)], ..LoadOptions::default() }
}

fn load(name: &str) -> Loaded {
    frontend::load_with(data(name), &options()).unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn bound(a: &str, b: &str) -> BoundPair {
    let (mut a, mut b) = (load(a), load(b));
    bind_with_contents(a.graph, b.graph, None, [&mut *a.contents, &mut *b.contents])
}

fn verdict(a: &str, b: &str) -> Verdict {
    let rules = RuleSet::library().unwrap();
    prove_bound(&bound(a, b), &Context::under(&rules)).unwrap().verdict
}

fn refusal(name: &str) -> String {
    match frontend::load_with(data(name), &options()) {
        Ok(_) => panic!("{name} is read"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_model_is_what_an_optimiser_made_of_it() {
    assert!(matches!(verdict("mlp", "mlp-optimised"), Verdict::Equivalent { .. }));
    assert!(matches!(verdict("mlp", "mlp-wrong"), Verdict::Different(_)));
}

#[test]
fn a_binding_that_was_inferred_can_be_written() {
    assert_eq!(bound("mlp", "mlp-optimised").binding.lines, ["w1_t = permute(w1; dims=[1, 0])"]);
}

#[test]
fn weights_in_another_order_are_found() {
    assert!(matches!(verdict("gates", "gates-reordered"), Verdict::Equivalent { .. }));
    assert!(matches!(verdict("gates", "gates-exchanged"), Verdict::Different(_)));
}

/// Such a norm counted as one in f32: a wrong `equivalent`, tier exact.
#[test]
fn a_norm_in_a_narrower_type_is_none_of_the_table() {
    assert_eq!(verdict("norm-in-f32", "norm-in-f16"), Verdict::Unknown);
}

#[test]
fn windows_and_places_are_operators_of_the_table() {
    for (name, shown) in [
        (
            "MaxPool-rounded-up",
            "max_pool2d(x; kernel_size=[3, 3], stride=[2, 2], padding=[1, 1], dilation=[1, 1], ceil_mode=true)",
        ),
        ("AveragePool-rounded-up", "avg_pool2d(x; kernel_size=[3, 3], stride=[2, 2], padding=[1, 1], ceil_mode=true"),
        ("pool-of-line", "kernel_size=[1, 3], stride=[1, 1], padding=[0, 0], dilation=[1, 2])"),
        ("grid-sample", "grid_sample(x, g; padding=\"border\")"),
    ] {
        let text = text::print(&load(name).graph);
        assert!(text.contains(shown), "{text}");
    }
}

#[test]
fn constants_of_one_element_are_numbers_where_their_shape_says_nothing() {
    let shown = text::print(&load("numbers").graph);
    assert!(shown.contains("gt(x, 0.0)") && shown.contains("where(above, x, -inf)"), "{shown}");
    assert!(shown.contains("total: f32[1] = add(sum.sum, zero.1)"), "{shown}");
}

#[test]
fn weights_that_an_optimiser_folded_under_their_names_are_found() {
    assert!(matches!(verdict("normalised", "normalised-folded"), Verdict::Equivalent { .. }));
    assert!(matches!(verdict("normalised-folded", "normalised"), Verdict::Equivalent { .. }));
    assert!(!matches!(verdict("normalised", "normalised-wrong"), Verdict::Equivalent { .. }));
}

#[test]
fn images_are_padded_and_roots_in_shapes_computed() {
    let shown = text::print(&load("edges").graph);
    assert!(shown.contains("pad=[1, 3, 2, 0], mode=\"reflect\"") && shown.contains("f32[4, 24] = reshape("), "{shown}");
}

#[test]
fn functions_loops_and_shapes_are_written_out() {
    let shown = |name: &str| text::print(&load(name).graph);
    assert!(shown("function").contains("mul(x, 0.5)"), "{}", shown("function"));
    assert_eq!(shown("loop").matches("= add(").count(), 3);
    assert!(shown("shapes").contains("reshape(x; shape=[8, 2, 4])"), "{}", shown("shapes"));
}

#[test]
fn a_size_that_was_stated_is_an_assumption() {
    let [text] = &load("shapes").assumptions[..] else { panic!("one assumption") };
    assert!(text.starts_with("the size `batch` of ") && text.contains(" is 8 (stated)"), "{text}");
    let error = frontend::load(data("shapes")).unwrap_err().to_string();
    assert!(error.ends_with("node `x`: has the symbolic size `batch`"), "{error}");
}

#[test]
fn constants_in_files_that_are_missing_are_named() {
    let missing = bound("weight-outside", "mask-outside").binding.missing;
    let [mask] = &missing[..] else { panic!("{missing:?}") };
    assert_eq!((mask.tensor.as_str(), mask.file.ends_with("missing.data")), ("mask", true));
    // Weights may be missing.
    assert_eq!(bound("weight-outside", "weight-outside").binding.missing, []);
}

#[test]
fn what_makes_no_sense_is_refused_with_its_place() {
    for (name, place, reason) in [
        ("cycle", "node `Add_a` (Add)", "uses `b`, which nothing computes before it"),
        ("twice", "node `Abs_y` (Abs)", "defines `y` a second time"),
        ("other-type", "node `Neg_y` (Neg)", "states that `y` is f32[3]"),
        ("mixed-types", "node `Add_y` (Add)", "operands of one element type"),
        ("future", "node `opset_import`", "names version 99"),
        ("large", "node `Add_y` (Add)", "holds 8 bytes of elements"),
        ("text-for-number", "node `Softmax_y` (Softmax)", "takes an integer as `axis`"),
        ("calls-itself", "(own.Scaled)", "inside of more than 32 functions"),
        ("unknown", "node `mystery` (own.Mystery)", "does not state the type of its result"),
    ] {
        let error = refusal(name);
        assert!(error.contains(place) && error.contains(reason), "{name}: {error}");
    }
}

/// By the standard (and `onnx.reference`), a scale of 0 weighs all keys alike: it was taken for none.
#[test]
fn a_scale_of_zero_is_a_scale() {
    assert!(matches!(verdict("attention-of-scale-0", "attention-of-usual-scale"), Verdict::Different(_)));
}

/// Operator set 6 limits to the largest numbers of `f32` where no bound is given, which cuts off infinities.
#[test]
fn an_old_clip_has_bounds_that_nobody_wrote() {
    let verdict = verdict("clip-without-bounds-6", "clip-without-bounds-13");
    assert_ne!(verdict, Verdict::Equivalent { tier: Tier::Exact });
}

/// The standard leaves open what it is of NaN.
#[test]
fn a_sign_is_not_bit_for_bit_that_of_pytorch() {
    assert!(text::print(&load("sign").graph).contains("fused("));
}

#[test]
fn no_cut_and_no_changed_byte_does_more_than_fail() {
    for name in ["mlp", "loop", "function", "shapes", "mask-outside"] {
        let whole = fs::read(data(name)).unwrap();
        for length in 0..whole.len() {
            let _ = frontend::onnx::read(&data(name), whole[..length].to_vec(), &options());
        }
        for at in 0..whole.len() {
            for bit in [0, 3, 7] {
                let mut changed = whole.clone();
                changed[at] ^= 1 << bit;
                let _ = frontend::onnx::read(&data(name), changed, &options());
            }
        }
    }
}

#[test]
fn a_file_that_is_cut_off_is_refused_at_a_byte() {
    let folder = tempfile::tempdir().unwrap();
    let whole = fs::read(data("mlp")).unwrap();
    let path = folder.path().join("cut.onnx");
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    let error = frontend::load(&path).unwrap_err().to_string();
    assert!(error.contains("byte ") && error.contains("are left"), "{error}");
}

/// They were sorted whatever the attribute says.
#[test]
fn the_largest_elements_without_an_order_are_not_those_in_order() {
    let exact = Verdict::Equivalent { tier: Tier::Exact };
    assert_eq!(verdict("top-k-sorted", "top-k-sorted"), exact);
    assert_eq!(verdict("top-k-unsorted", "top-k-unsorted"), exact);
    assert_eq!(verdict("top-k-sorted", "top-k-unsorted"), Verdict::Unknown);
}
