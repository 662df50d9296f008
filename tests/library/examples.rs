//! The programs under `examples/` run and say what their comments promise. `cargo test` builds them beside the tests.

use std::process::Command;

use magneton_ir::ir::text;

/// What an example prints.
fn printed(name: &str, args: &[&str]) -> String {
    let tests = std::env::current_exe().expect("the test has a path");
    let folder = tests.ancestors().nth(2).expect("tests lie in `deps`, below the profile's folder").join("examples");
    let program = folder.join(name);
    assert!(program.exists(), "{} is missing: `cargo build --examples` makes it", program.display());
    let output =
        Command::new(program).args(args).current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("the example starts");
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("examples print UTF-8")
}

#[test]
fn example_compare_proves_a_pair_and_tells_a_wrong_one_from_it() {
    let right = printed("compare", &["corpus/pairs/addmm.a.mir", "corpus/pairs/addmm.b.mir"]);
    assert!(right.starts_with("equivalent at tier "), "{right}");
    assert!(right.contains("\nA: ") && right.contains("\nB: "), "{right}");
    let wrong = printed("compare", &["corpus/pairs/addmm.a.mir", "corpus/pairs/addmm.b-wrong-sign.mir"]);
    assert!(wrong.starts_with("different"), "{wrong}");
}

#[test]
fn example_own_rule_proves_only_with_its_rules() {
    let said = printed("own_rule", &[]);
    let (library, own) = said.split_once('\n').expect("two lines");
    assert!(library.starts_with("with the library alone: ") && !library.contains("equivalent"), "{said}");
    assert!(own.starts_with("with the engine's rules: equivalent at tier "), "{said}");
}

#[test]
fn example_cheaper_multiplies_from_the_right_for_less_energy() {
    let said = printed("cheaper", &[]);
    let bill = said.lines().find(|line| line.contains(" mJ becomes ")).expect("a line with both energies");
    let figures: Vec<f64> = bill.split(' ').filter_map(|word| word.parse().ok()).collect();
    let [before, after] = figures[..] else { panic!("two figures: {bill}") };
    assert!(after < before, "{bill}");
    let graph = said.split_once("graph ").map(|(_, rest)| format!("graph {rest}")).expect("the graph");
    text::parse("printed.mir", &graph).expect("what is printed is read again");
    assert!(said.contains("matmul(b, v)"), "{said}");
}
