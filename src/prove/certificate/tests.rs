//! Proof files: written, replayed, and tampered with.

use proptest::prelude::*;

use super::super::log::{
    LogError,
    format::{Head, Step},
};
use super::format::CertifiedVerdict;
use super::{Certificate, CertificateError, Claim};
use crate::ir::{Graph, text};
use crate::prove::{BoundPair, Context, bind_graphs, prove_bound};
use crate::rules::{RuleSet, Tier};

fn graph(source: &str) -> Graph {
    text::parse("test.mir", source).unwrap_or_else(|e| panic!("{e:?}"))
}

fn pair(name: &str) -> (Graph, Graph) {
    let side = |s: &str| {
        let path = format!("{}/corpus/pairs/{name}.{s}.mir", env!("CARGO_MANIFEST_DIR"));
        graph(&std::fs::read_to_string(path).unwrap())
    };
    (side("a"), side("b"))
}

fn certificate(a: &Graph, b: &Graph, rules: &RuleSet) -> Certificate {
    let bound = bound(a, b);
    prove_bound(&bound, &Context::under(rules)).unwrap().certificate(&bound.a, &bound.b, rules)
}

fn bound(a: &Graph, b: &Graph) -> BoundPair {
    bind_graphs(a.clone(), b.clone(), None)
}

const SUB: &str = "graph g(x: f32[3], y: f32[3]) { z = sub(x, y)\n return z }";
const BUS: &str = "graph g(x: f32[3], y: f32[3]) { z = sub(y, x)\n return z }";

#[test]
fn a_file_reads_back_as_it_was_written() {
    let rules = RuleSet::library().unwrap();
    let (a, b) = pair("attention");
    let file = certificate(&a, &b, &rules);
    assert_eq!(Certificate::from_json(&file.to_json()).unwrap(), file);
    let shown = file.verify(&bound(&a, &b), &rules).unwrap();
    assert!(shown.holds(), "{shown:?}");
    assert_eq!(shown.tier, Some(Tier::Rounding));
}

#[test]
fn a_stronger_claim_than_the_steps_show_is_a_gap() {
    let rules = RuleSet::library().unwrap();
    let (a, b) = pair("addmm");
    let mut file = certificate(&a, &b, &rules);
    file.claim = Claim::equivalent(Tier::Exact);
    assert!(!file.verify(&bound(&a, &b), &rules).unwrap().holds());
    file.claim = Claim::equivalent(Tier::Rounding);
    assert!(file.verify(&bound(&a, &b), &rules).unwrap().holds());
    file.claim.tier = Some("perfect".to_owned());
    assert!(!file.verify(&bound(&a, &b), &rules).unwrap().holds());
}

#[test]
fn inputs_of_one_name_cannot_be_exchanged() {
    let rules = RuleSet::library().unwrap();
    let (a, b) = (graph(SUB), graph(BUS));
    let mut file = certificate(&a, &b, &rules);
    file.claim = Claim::equivalent(Tier::Exact);
    assert!(!file.verify(&bound(&a, &b), &rules).unwrap().holds());
    let (x, y) = (file.binding.b[0].1, file.binding.b[1].1);
    (file.binding.b[0].1, file.binding.b[1].1) = (y, x);
    assert!(matches!(file.verify(&bound(&a, &b), &rules), Err(CertificateError::Binding { .. })));
    (file.binding.b[0].1, file.binding.b[1].1) = (x, x);
    assert!(matches!(file.verify(&bound(&a, &b), &rules), Err(CertificateError::Binding { .. })));
}

#[test]
fn a_guessed_binding_is_listed() {
    let rules = RuleSet::library().unwrap();
    let (a, b) = (graph(SUB), graph(&SUB.replace("x", "p").replace("y", "q")));
    let shown = certificate(&a, &b, &rules).verify(&bound(&a, &b), &rules).unwrap();
    assert!(shown.holds());
    assert_eq!(
        shown.assumptions,
        ["`x` of A is `p` of B (same type and position)", "`y` of A is `q` of B (same type and position)"]
    );
}

#[test]
fn a_proof_of_other_graphs_shows_nothing() {
    let rules = RuleSet::library().unwrap();
    let (a, b) = pair("addmm");
    let file = certificate(&a, &b, &rules);
    for other in ["attention", "gelu", "rms_norm"] {
        let (x, y) = pair(other);
        assert!(!file.verify(&bound(&x, &y), &rules).is_ok_and(|s| s.holds()), "{other}");
        assert!(!file.verify(&bound(&a, &y), &rules).is_ok_and(|s| s.holds()), "{other}");
    }
}

#[test]
fn other_rules_are_refused() {
    let rules = RuleSet::library().unwrap();
    let (a, b) = pair("gelu");
    let file = certificate(&a, &b, &rules);
    let none = RuleSet::default();
    assert!(matches!(file.verify(&bound(&a, &b), &none), Err(CertificateError::OtherRules { .. })));
    let mut unknown = file;
    unknown.log.rules[0].name = "no_such_rule".to_owned();
    assert!(matches!(unknown.verify(&bound(&a, &b), &rules), Err(CertificateError::Log(LogError::UnknownRule(_)))));
}

#[test]
fn terms_refer_only_to_earlier_terms() {
    let rules = RuleSet::library().unwrap();
    let (a, b) = pair("addmm");
    let file = certificate(&a, &b, &rules);
    for (number, row) in file.log.terms.iter().enumerate().filter(|(_, row)| row.len() > 1) {
        for operand in 1..row.len() {
            for wrong in [number as u32, u32::MAX] {
                let mut file = file.clone();
                file.log.terms[number][operand] = wrong;
                assert!(matches!(
                    file.verify(&bound(&a, &b), &rules),
                    Err(CertificateError::Log(LogError::Reference { .. }))
                ));
            }
        }
    }
}

#[test]
fn what_is_no_proof_is_refused() {
    for text in
        ["", "{}", "[1]", "null", "{\"format\": \"magneton-ir/proof/3\"}", "{\"format\": \"magneton-ir/proof/2\"}"]
    {
        assert!(Certificate::from_json(text).is_err(), "{text}");
    }
    let deep = "[".repeat(100_000);
    assert!(Certificate::from_json(&deep).is_err());
    let rules = RuleSet::library().unwrap();
    let (a, b) = pair("addmm");
    let text = certificate(&a, &b, &rules).to_json();
    for end in (0..text.len()).step_by(7) {
        assert!(Certificate::from_json(&text[..end]).is_err());
    }
}

#[test]
fn different_graphs_have_no_proof() {
    let rules = RuleSet::library().unwrap();
    let (a, b) = (graph(SUB), graph(BUS));
    let file = certificate(&a, &b, &rules);
    assert_eq!(file.claim.verdict, CertifiedVerdict::Different);
    assert!(!file.verify(&bound(&a, &b), &rules).unwrap().holds());
}

/// One change to a file.
#[derive(Clone, Debug)]
enum Tamper {
    Drop(usize),
    Swap(usize),
    Before(usize, u32),
    After(usize, u32),
    Tensor(usize, usize, Option<u32>),
    Attr(usize, usize, Option<u32>),
    Rule(usize, u32),
    Operand(usize, usize, u32),
    Slot(usize, u32),
    HeadAttr(usize, usize, u32),
    Bind(usize, u32),
    Cut(usize, usize, u32),
}

fn tampers() -> impl Strategy<Value = Tamper> {
    let at = any::<usize>();
    let to = prop_oneof![0_u32..40, Just(u32::MAX)];
    prop_oneof![
        at.prop_map(Tamper::Drop),
        at.prop_map(Tamper::Swap),
        (any::<usize>(), to.clone()).prop_map(|(a, t)| Tamper::Before(a, t)),
        (any::<usize>(), to.clone()).prop_map(|(a, t)| Tamper::After(a, t)),
        (any::<usize>(), any::<usize>(), proptest::option::of(to.clone()))
            .prop_map(|(a, i, t)| Tamper::Tensor(a, i, t)),
        (any::<usize>(), any::<usize>(), proptest::option::of(to.clone())).prop_map(|(a, i, t)| Tamper::Attr(a, i, t)),
        (any::<usize>(), to.clone()).prop_map(|(a, t)| Tamper::Rule(a, t)),
        (any::<usize>(), any::<usize>(), to.clone()).prop_map(|(a, i, t)| Tamper::Operand(a, i, t)),
        (any::<usize>(), to.clone()).prop_map(|(a, t)| Tamper::Slot(a, t)),
        (any::<usize>(), any::<usize>(), to.clone()).prop_map(|(a, i, t)| Tamper::HeadAttr(a, i, t)),
        (any::<usize>(), to.clone()).prop_map(|(a, t)| Tamper::Bind(a, t)),
        (any::<usize>(), any::<usize>(), to).prop_map(|(a, i, t)| Tamper::Cut(a, i, t)),
    ]
}

fn pick<T>(list: &mut [T], at: usize) -> Option<&mut T> {
    let len = list.len().max(1);
    list.get_mut(at % len)
}

fn apply(file: &mut Certificate, tamper: &Tamper) {
    let count = file.log.steps.len().max(1);
    match *tamper {
        Tamper::Drop(at) => {
            if !file.log.steps.is_empty() {
                file.log.steps.remove(at % count);
            }
        }
        Tamper::Swap(at) => {
            if count > 1 {
                file.log.steps.swap(at % count, (at + 1) % count);
            }
        }
        Tamper::Before(at, to) => match pick(&mut file.log.steps, at) {
            Some(
                Step::Rule { before, .. }
                | Step::SplitSlice { before, .. }
                | Step::PushedDown { before, .. }
                | Step::Near { before, .. }
                | Step::Elements { before, .. },
            ) => {
                *before = to;
            }
            None => {}
        },
        Tamper::After(at, to) => match pick(&mut file.log.steps, at) {
            Some(
                Step::Rule { after, .. }
                | Step::SplitSlice { after, .. }
                | Step::PushedDown { after, .. }
                | Step::Near { after, .. }
                | Step::Elements { after, .. },
            ) => {
                *after = to;
            }
            None => {}
        },
        Tamper::Tensor(at, i, to) => {
            if let Some(Step::Rule { tensors, .. }) = pick(&mut file.log.steps, at)
                && let Some(slot) = pick(tensors, i)
            {
                *slot = to;
            }
        }
        Tamper::Attr(at, i, to) => {
            if let Some(Step::Rule { attrs, .. }) = pick(&mut file.log.steps, at)
                && let Some(slot) = pick(attrs, i)
            {
                *slot = to;
            }
        }
        Tamper::Rule(at, to) => {
            if let Some(Step::Rule { rule, .. }) = pick(&mut file.log.steps, at) {
                *rule = to;
            }
        }
        Tamper::Operand(at, i, to) => {
            if let Some(row) = pick(&mut file.log.terms, at)
                && let Some(slot) = pick(row, i)
            {
                *slot = to;
            }
        }
        Tamper::Slot(at, to) => match pick(&mut file.log.heads, at) {
            Some(Head::Input(n)) => *n = to,
            Some(Head::Leaf(_, n, _)) => *n = to,
            Some(Head::Op { slot, .. } | Head::Custom { slot, .. }) => *slot = to,
            None => {}
        },
        Tamper::HeadAttr(at, i, to) => {
            if let Some(Head::Op { attrs, .. }) = pick(&mut file.log.heads, at)
                && let Some(slot) = pick(attrs, i)
            {
                *slot = to;
            }
        }
        Tamper::Bind(at, to) => {
            if let Some(slot) = pick(&mut file.binding.b, at) {
                slot.1 = to;
            }
        }
        Tamper::Cut(at, i, to) => {
            if let Some(cut) = pick(&mut file.cuts, at) {
                cut[i % 4] = to;
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// A file with the proof of an equal pair, changed, then shown to a pair of which one side is wrong: whatever the
    /// changes are, it must not hold. Shown to the right pair it may (a step that was not needed), or be refused.
    #[test]
    fn a_changed_file_never_proves_a_wrong_pair(
        name in prop_oneof![Just("addmm"), Just("attention"), Just("gelu"), Just("rms_norm"), Just("qkv_slices")],
        changes in proptest::collection::vec(tampers(), 0..4),
    ) {
        let rules = RuleSet::library().unwrap();
        let (a, b) = pair(name);
        let mut file = PROOFS.with(|all| all.borrow_mut().entry(name).or_insert_with(|| certificate(&a, &b, &rules)).clone());
        let whole = file.clone();
        for change in &changes {
            apply(&mut file, change);
        }
        if file == whole {
            prop_assert!(file.verify(&bound(&a, &b), &rules).unwrap().holds());
        }
        // The answer for the right pair is free, but there has to be one.
        let _ = file.verify(&bound(&a, &b), &rules);
        for wrong in ["wrong-constant", "wrong-operand", "wrong-sign"] {
            let path = format!("{}/corpus/pairs/{name}.b-{wrong}.mir", env!("CARGO_MANIFEST_DIR"));
            let wrong = graph(&std::fs::read_to_string(path).unwrap());
            prop_assert!(!file.verify(&bound(&a, &wrong), &rules).is_ok_and(|s| s.holds()), "{changes:?}");
        }
    }
}

thread_local! {
    static PROOFS: std::cell::RefCell<std::collections::HashMap<&'static str, Certificate>> = Default::default();
}

#[test]
fn every_step_of_a_small_proof_is_needed() {
    let rules = RuleSet::library().unwrap();
    for name in ["addmm", "rms_norm", "attention"] {
        let (a, b) = pair(name);
        let file = certificate(&a, &b, &rules);
        for n in 0..file.log.steps.len() {
            let mut less = file.clone();
            less.log.steps.remove(n);
            assert!(!less.verify(&bound(&a, &b), &rules).unwrap().holds(), "{name} holds without step {n}");
        }
    }
}

#[test]
fn the_trusted_part_does_not_use_the_search() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/prove");
    for part in ["kernel", "kernel/elements", "log", "certificate"] {
        for file in std::fs::read_dir(folder.join(part)).unwrap() {
            let path = file.unwrap().path();
            if path.ends_with("tests.rs") || path.is_dir() {
                continue;
            }
            let source = std::fs::read_to_string(&path).unwrap();
            let uses =
                source.lines().filter(|l| l.trim_start().starts_with("use ") || l.trim_start().starts_with("pub use "));
            for line in uses {
                for searcher in ["egg", "sweep", "window", "normalise", "fingerprint", "cone", "language", "verdict"] {
                    assert!(!line.contains(searcher), "{}: {line}", path.display());
                }
            }
        }
    }
}
