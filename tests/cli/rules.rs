//! The commands about rules, and rules of users.

use super::*;

#[test]
fn rules_are_listed() {
    let output = run(&["rules", "list"]);
    let list = text(&output.stdout);
    assert_eq!(status(&output), 0);
    assert!(list.lines().count() > 50 && list.contains("addmm"), "{list}");
}

#[test]
fn the_rules_of_a_proof_are_counted() {
    let (a, b) = pair("addmm");
    let output = run(&["rules", "list", "--used", &a, &b]);
    assert_eq!(status(&output), 0);
    let list = text(&output.stdout);
    assert!(list.contains("   1  addmm_split") && list.lines().count() < 10, "{list}");
}

#[test]
fn rule_files_are_laid_out_and_their_tests_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.rules");
    let file = path.display().to_string();
    let rule = "/// Twice.\nrule twice [exact]:\n    neg(neg(x)) => x\n";
    let untidy = format!("{}\ntest  twice{{x:f32[2]}}\ntest twice {{ x: bool[2] }}\n", rule.replace(" => ", "=>"));
    std::fs::write(&path, &untidy).unwrap();
    let read = || std::fs::read_to_string(&path).unwrap();
    assert_eq!((status(&run(&["rules", "fmt", "--check", &file])), read()), (1, untidy));
    assert_eq!(status(&run(&["rules", "fmt", &file])), 0);
    assert_eq!(read(), format!("{rule}\ntest twice {{ x: f32[2] }}\ntest twice {{ x: bool[2] }}\n"));
    assert_eq!(status(&run(&["rules", "fmt", "--check", &file])), 0);

    let output = run(&["rules", "test", &file]);
    assert_eq!(status(&output), 1);
    assert!(text(&output.stdout).ends_with("2 tests, 1 failed\n"), "{}", text(&output.stdout));
    let problem = text(&output.stderr);
    assert!(problem.contains("rules::no_instance") && problem.contains("bool"), "{problem}");

    let output = run(&["rules", "check", "--table", &file]);
    assert_eq!(status(&output), 0);
    assert!(text(&output.stdout).contains("twice  exact"), "{}", text(&output.stdout));
}

#[test]
fn a_new_rule_is_written_from_two_snippets() {
    let (a, b) = pair("addmm");
    let output = run(&["rules", "new", &a, &b, "--name", "mine"]);
    assert_eq!(status(&output), 0);
    let rule = text(&output.stdout);
    assert!(rule.contains("rule mine [real]:\n    add(matmul(x, y), z)") || rule.contains("addmm(x, y, z)"), "{rule}");
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name).display().to_string();
        std::fs::write(&path, text).unwrap();
        path
    };
    let x = write("x.mir", "graph g(x: f32[3], y: f32[3]) { z = neg(x) return z }");
    let y = write("y.mir", "graph g(x: f32[3], y: f32[3]) { z = neg(y) return z }");
    refused(&["rules", "new", &x, &y], &["rules::no_stub", "has to use all"]);
    refused(&["rules", "new", &a, &b, "--name", "no name"], &["rules::"]);
}

#[test]
fn rules_that_explode_are_stopped_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name).display().to_string();
        std::fs::write(&path, text).unwrap();
        path
    };
    let rules = "/// Both factors grow.\nrule swells [real]:\n    \
                 mul(x, y) => mul(add(x, mul(y, sub(x, x))), add(y, mul(x, sub(y, y))))\n    \
                 where is_float(dtype(x)), shape(x) == shape(y)\n";
    let a = write("a.mir", "graph a(x: f32[8], y: f32[8]) { z = mul(asin(sigmoid(x)), add(x, y)) return z }");
    let b = write(
        "b.mir",
        "graph b(x: f32[8], y: f32[8]) { z = mul(neg(sub(acos(sigmoid(x)), 1.5707963267948966)), add(x, y)) return z }",
    );
    let output = run(&["check", &a, &b, "--rules", &write("swells.rules", rules)]);
    assert_eq!(status(&output), 1);
    assert!(text(&output.stdout).contains("a search ended at its limit; rule `"), "{}", text(&output.stdout));
}

/// Rules of a file with that name are applied until none fits.
#[test]
fn normal_forms_without_end_are_stopped_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name).display().to_string();
        std::fs::write(&path, text).unwrap();
        path
    };
    let rules = "/// There.\nrule turns [real]:\n    add(x, y) => sub(x, neg(y))\n    where is_float(dtype(x))\n\n\
                 /// And back.\nrule turns_back [real]:\n    sub(x, neg(y)) => add(add(x, y), sub(y, y))\n    \
                 where shape(x) == shape(y)\n";
    let a = write("a.mir", "graph a(x: f32[8], y: f32[8]) { z = mul(asin(sigmoid(x)), add(x, y)) return z }");
    let b = write(
        "b.mir",
        "graph b(x: f32[8], y: f32[8]) { z = mul(neg(sub(acos(sigmoid(x)), 1.5707963267948966)), add(x, y)) return z }",
    );
    let output = run(&["check", &a, &b, "--rules", &write("normalise.rules", rules)]);
    assert_eq!(status(&output), 1);
    assert!(text(&output.stdout).contains("a search ended at its limit; rule `turns"), "{}", text(&output.stdout));
}

#[test]
fn own_rules_are_tried_out_before_they_are_used() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name).display().to_string();
        std::fs::write(&path, text).unwrap();
        path
    };
    let (right, wrong) = (write("right.rules", RIGHT), write("wrong.rules", WRONG));
    let output = run(&["rules", "check", &right]);
    let warnings = text(&output.stderr);
    assert_eq!(status(&output), 0, "{warnings}");
    assert!(warnings.contains("other rules prove what `my_double_negation` says"), "{warnings}");
    assert!(text(&output.stdout).contains("pass"));
    let output = run(&["rules", "check", &wrong]);
    assert_eq!((status(&output), text(&output.stdout)), (1, String::new()));
    assert!(text(&output.stderr).contains("my_mistake"), "{}", text(&output.stderr));
    let (good, _) = pair("addmm");
    refused(&["check", &good, &good, "--rules", &wrong], &["my_mistake"]);

    let a = write(
        "a.mir",
        "graph g(x: f32[3, 5], y: f32[3, 5]) { z = opaque \"mine.axpy\"(x, y; alpha=2.0) -> f32[3, 5] return z }",
    );
    let b = write("b.mir", "graph g(x: f32[3, 5], y: f32[3, 5]) { z = add(y, mul(x, 2.0)) return z }");
    assert_eq!(status(&run(&["check", &a, &b])), 1, "opaque without its rule");
    let output = run(&["check", &a, &b, "--rules", &right]);
    assert_eq!(status(&output), 0, "{}{}", text(&output.stdout), text(&output.stderr));
}
