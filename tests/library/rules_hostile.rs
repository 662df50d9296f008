//! Rule files that try to break the reader: each has to end in a diagnostic.

use magneton_ir::rules::{RuleError, RuleFile, RuleSet};

fn load(text: &str) -> Result<RuleSet, RuleError> {
    RuleSet::default().with_sources(&[RuleFile::new("hostile.rules", text)])
}

fn code(text: &str) -> &'static str {
    load(text).expect_err("a hostile file was accepted").problems[0].code
}

fn rule(left: &str, right: &str) -> String {
    format!("/// Hostile.\nrule r [exact]: {left} => {right}\n")
}

#[test]
fn deep_nesting_is_refused_before_it_is_parsed() {
    for open in ["(", "[", "{", "neg(", "f(g[{"] {
        let text = rule(&open.repeat(100_000), "x");
        assert_eq!(code(&text), "rules::too_deep", "{open}");
    }
    let nested = format!("{}x{}", "neg(".repeat(10_000), ")".repeat(10_000));
    assert_eq!(code(&rule(&nested, "x")), "rules::too_deep");
}

#[test]
fn long_chains_are_refused() {
    for chain in ["1+".repeat(50_000), "-".repeat(50_000), "not ".repeat(50_000), "1*2+".repeat(20_000)] {
        let text = format!("/// Hostile.\nrule r [exact]: neg(x) => x where {chain}1 == 2\n");
        assert_eq!(code(&text), "rules::too_deep");
    }
    let indexed =
        format!("/// Hostile.\nrule r [exact]: permute(x; dims=p) => x where p{} == 1\n", "[0]".repeat(50_000));
    assert_eq!(code(&indexed), "rules::too_deep");
}

#[test]
fn brackets_in_comments_and_strings_are_no_nesting() {
    let text = format!("// {}\n/// {}\nrule r [exact]: neg(neg(x)) => x\n", "(".repeat(1000), "[".repeat(1000));
    assert_eq!(load(&text).unwrap().rules().len(), 1);
}

#[test]
fn large_files_and_large_numbers_are_refused() {
    assert_eq!(code(&"// x\n".repeat(300_000)), "rules::too_large");
    assert_eq!(code(&rule("slice(x; dim=0, end=1e999)", "x")), "rules::bad_number");
    assert_eq!(code(&rule("slice(x; dim=0, end=99999999999999999999)", "x")), "rules::wrong_kind");
    let tests = format!("{}test r {{ x: f32[999999999999] }}", rule("neg(neg(x))", "x"));
    assert_eq!(code(&tests), "rules::bad_type");
}

#[test]
fn templates_that_make_too_many_rules_are_refused() {
    let rule = |n| format!("/// Hostile.\nrule r{n} [exact] for f in neg, abs, relu: f(f(f(x))) => f(x)\n");
    let rules = |count| (0..count).map(rule).collect::<String>();
    assert_eq!(load(&rules(100)).unwrap().rules().len(), 300);
    assert_eq!(code(&rules(4000)), "rules::too_large");
}

#[test]
fn text_that_is_no_rule_file_is_refused() {
    for text in
        ["rule", "\u{0}", "é", "rule r [exact]", "op", "test", "rule r [exact]: => x", "}{", "\"", "///", "/// x"]
    {
        assert!(load(text).is_err(), "{text:?}");
    }
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("latin.rules");
    std::fs::write(&path, b"// caf\xe9\n").unwrap();
    let error = RuleSet::default().with_files(&[path]).expect_err("accepted");
    assert_eq!(error.problems[0].code, "rules::not_text");
    let error = RuleSet::default().with_files(&[dir.path().join("missing.rules")]).expect_err("accepted");
    assert_eq!(error.problems[0].code, "rules::unreadable");
}

#[test]
fn a_definition_that_uses_itself_is_never_typed() {
    let text = "/// Hostile.\nop my.loop(x) = neg(my.loop(x))\n";
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("loop.rules");
    std::fs::write(&path, text).unwrap();
    assert!(RuleSet::default().with_files(&[path]).is_err());
}

#[test]
fn arithmetic_that_overflows_only_fails_the_condition() {
    let text = "/// Hostile.\nrule r [exact]: neg(neg(x)) => x where 9223372036854775807 + rank(x) > 0, 1 / 0 == 1\n";
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("overflow.rules");
    std::fs::write(&path, text).unwrap();
    let error = RuleSet::default().with_files(&[path]).expect_err("accepted");
    assert_eq!(error.problems[0].code, "rules::never_exercised");
}
