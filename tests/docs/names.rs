//! Operators are named in their entries of the op table. Elsewhere the code asks the facets of an entry, so that a new operator has
//! one place; what names operators nevertheless is listed here, with the reason.

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;

use super::modules::sources_of;
use super::root;
use magneton_ir::ops;

/// Files that name operators, which ones, and why.
const NAMED: &[(&str, &[&str], &str)] = &[
    ("emit/program.rs", &["number"], "what an error message calls a number that has no user"),
    (
        "energy/canonical.rs",
        &["addmm", "clone", "contiguous", "linear", "matmul"],
        "the forms that keys are brought to",
    ),
    (
        "ir/text/attrs.rs",
        &["expand", "reshape", "unsqueeze"],
        "sizes and places that the text form may count from the end",
    ),
    ("ir/text/build/calls.rs", &["slice"], "bounds that the text form may count from the end"),
    ("ir/text/read/mod.rs", &["alias"], "`y = x` is short for it"),
    ("measure/simulated.rs", &["exp"], "a kernel that the simulated GPU has no memory for"),
    (
        "prove/bind/expression.rs",
        &["alias", "cast", "concat", "permute", "reshape", "slice"],
        "expressions are made of them",
    ),
    ("prove/bind/fold_candidates.rs", &["permute", "reshape"], "the ways in which files keep one weight are these"),
    (
        "prove/bind/mask.rs",
        &["arange", "expand", "le", "number", "reshape", "where"],
        "causal masks are written as them",
    ),
    ("prove/bind/merged.rs", &["linear"], "the rows of its weight are joined, which no other product has as rows"),
    ("prove/bind/share.rs", &["contiguous"], "a parameter made of parts is dense"),
    ("prove/normalise.rs", &["slice"], "outputs of a split are written as it"),
    ("prove/rolled/roller.rs", &["linear", "matmul"], "a layer with a weight for each step is written as them"),
    ("prove/snippet.rs", &["full", "number"], "constants are written as them"),
    ("prove/view_equivalence.rs", &["permute", "reshape"], "the steps of a view are these"),
    ("report/samples.rs", SAMPLES, "made-up results"),
    ("rules/instantiate.rs", &["number"], "what an error message calls a number without a value"),
];

const SAMPLES: &[&str] =
    &["add", "addmm", "dropout", "embedding", "gelu", "matmul", "mul", "permute", "sdpa", "softmax", "tanh", "where"];

/// Words that are no operators where they stand, though one has that name.
const OTHER_WORDS: &[(&str, &[&str], &str)] = &[
    ("cli/rules.rs", &["empty"], "the head of a column"),
    ("emit/pt2/argument.rs", &["index"], "a field of the format"),
    ("emit/pt2/model.rs", &["index"], "a field of the format"),
    ("eval/fold/arithmetic.rs", &["max", "min"], "attributes"),
    ("eval/fold/moved.rs", &["diagonal"], "an attribute"),
    ("prove/kernel/elements/arithmetic.rs", &["max", "min"], "attributes"),
    ("report/html/comparison.rs", &["number"], "a style"),
    ("report/html/parts.rs", &["number"], "a style"),
    ("rules/check/backwards.rs", &["mean", "tanh"], "values of attributes"),
    ("rules/check/moves.rs", &["pad"], "an attribute"),
    ("rules/format/layout.rs", &["where"], "a keyword"),
    ("rules/format/token.rs", &["where"], "a keyword"),
    ("rules/functions.rs", &["floor_div", "max", "min", "sqrt"], "functions of rules"),
    ("source/python.rs", &["alias"], "a field of Python's syntax tree"),
    ("source/switch.rs", &["slice"], "a node of Python's syntax tree"),
];

/// Entries stand in `ops`, front ends map the operators of their formats to them.
const ABOUT_OPERATORS: [&str; 2] = ["ops/", "frontend/"];

#[test]
fn operators_are_named_in_their_entries() {
    let operators: BTreeSet<&str> = ops::all().map(|op| op.name).collect();
    let literal = Regex::new(r#""([a-z0-9_]+)""#).unwrap();
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut count = 0;
    for (file, code) in sources_of(&root().join("src")) {
        if ABOUT_OPERATORS.iter().any(|start| file.starts_with(start)) {
            continue;
        }
        let names = literal.captures_iter(&code).map(|c| c[1].to_owned()).filter(|name| operators.contains(&**name));
        let names: Vec<String> = names.collect();
        let is_other = OTHER_WORDS.iter().any(|(other, ..)| *other == file) || file == "report/samples.rs";
        count += if is_other { 0 } else { names.len() };
        if !names.is_empty() {
            found.insert(file, names.into_iter().collect());
        }
    }
    let stated = NAMED.iter().chain(OTHER_WORDS).map(|(file, names, reason)| {
        assert!(!reason.is_empty());
        ((*file).to_owned(), names.iter().map(|&name| name.to_owned()).collect())
    });
    assert_eq!(found, stated.collect(), "name the facet that the code asks for, or list the name with a reason");
    assert!(count < 40, "{count} literals name operators");
}
