//! What a program returns and writes is part of its meaning: outputs are compared by path, target and value, whatever
//! their order is. The programs of `tests/data/outputs-*.pt2` are made by `make_outputs.py`.

use std::path::Path;

use magneton_ir::frontend;
use magneton_ir::ir::{Graph, text};
use magneton_ir::prove::{Context, Proof, ProveError, Verdict, bind_graphs, prove_bound};
use magneton_ir::rules::RuleSet;

fn exported(name: &str) -> Graph {
    frontend::load(Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/outputs-{name}.pt2"))).unwrap()
}

fn parsed(source: &str) -> Graph {
    text::parse("test", source).unwrap_or_else(|e| panic!("{e:?}"))
}

/// The proof, after its file has been replayed: the two have to agree on what is equivalent.
fn compared(a: Graph, b: Graph) -> Result<Proof, ProveError> {
    let rules = RuleSet::library().unwrap();
    let bound = bind_graphs(a, b, None);
    let proof = prove_bound(&bound, &Context::under(&rules))?;
    let shown = proof.certificate(&bound.a, &bound.b, &rules).verify(&bound, &rules).unwrap();
    assert_eq!(shown.holds(), matches!(proof.verdict, Verdict::Equivalent { .. }), "{shown:?}");
    Ok(proof)
}

/// The verdict in a word and what goes with it: the tier, the output that differs, or why the two cannot be compared.
fn said(result: Result<Proof, ProveError>) -> String {
    match result.map(|proof| proof.verdict) {
        Ok(Verdict::Equivalent { tier }) => format!("equivalent {tier}"),
        Ok(Verdict::Different(w)) => format!("different {}", w.output),
        Ok(Verdict::Unknown) => "unknown".to_owned(),
        Err(error) => error.to_string().replace("A and B do not give the same outputs: ", "error "),
    }
}

#[track_caller]
fn both_ways(a: &str, b: &str, wanted: &str) {
    assert_eq!(said(compared(exported(a), exported(b))), wanted, "{a} {b}");
    // Which of several outputs a witness names depends on their order.
    let exchanged = said(compared(exported(b), exported(a)));
    assert_eq!(exchanged.split(' ').next(), wanted.split(' ').next(), "{b} {a}: {exchanged}");
}

#[test]
fn a_dict_in_another_order_is_the_same() {
    for other in ["dict", "dict-other-order", "ordered", "fields"] {
        both_ways("dict", other, "equivalent exact");
    }
    for other in ["list", "named-tuple"] {
        both_ways("tuple", other, "equivalent exact");
    }
}

#[test]
fn values_under_other_keys_are_not_the_same() {
    both_ways("dict", "dict-swapped", "different .a");
    both_ways("dict-other-order", "dict-swapped", "different .b");
    both_ways("nested", "nested-swapped", "different .p[1][0]");
    both_ways("dict", "dict-other-key", "error only A returns `.b`; only B returns `.c`");
    both_ways(
        "dict",
        "tuple",
        "error only A returns `.a`; only A returns `.b`; only B returns `[0]`; only B returns `[1]`",
    );
    both_ways("dict", "alone", "error only A returns `.a`; only A returns `.b`; only B returns `.`");
}

/// A model returns an object with one field where serving code returns that tensor: the report says so.
#[test]
fn a_value_by_itself_is_the_only_leaf_of_a_structure() {
    let proof = compared(exported("alone"), exported("only")).unwrap();
    assert!(matches!(proof.verdict, Verdict::Equivalent { .. }));
    let all = proof.binding.assumptions.join("\n");
    assert!(all.contains("A returns its one result as `.` and B as `[0]`"), "{all}");
    let a = parsed("graph a(x: f32[3]) { return x at .a }");
    let b = parsed("graph b(x: f32[3]) { return x at .b }");
    assert_eq!(said(compared(a, b)), "error only A returns `.a`; only B returns `.b`");
}

#[test]
fn constants_among_the_outputs_are_compared_by_value() {
    both_ways("half", "half", "equivalent exact");
    both_ways("half", "quarter", "different [1]");
    both_ways("text", "other-text", "different [1]");
    both_ways("none", "none", "equivalent exact");
    both_ways("true", "one", "different [1]");
    both_ways("none", "half", "different [1]");
    both_ways("half", "tuple", "error `[1]` is the constant 0.5 in A and a tensor in B");
    both_ways("half", "only", "error only A returns `[1]`");
    let constant = |text: &str| parsed(&format!("graph g(x: f32[3]) {{ return x, {text} }}"));
    for (a, b) in [("0.0", "-0.0"), ("1", "1.0"), ("nan", "0.0"), ("none", "text \"none\""), ("true", "text \"true\"")]
    {
        assert_eq!(said(compared(constant(a), constant(b))), "different number 1", "{a} {b}");
        assert_eq!(said(compared(constant(a), constant(a))), "equivalent exact", "{a}");
    }
}

#[test]
fn a_write_of_one_buffer_is_no_write_of_another() {
    both_ways("write-one", "write-two", "different the new value of `one`");
    both_ways("write-one", "write-nothing", "different the new value of `one`");
    both_ways("write-one", "write-one", "equivalent exact");
}

/// What a program does not write to stays as it is.
#[test]
fn a_write_that_changes_nothing_is_no_write() {
    both_ways("write-back", "write-nothing", "equivalent exact");
}

/// Buffers of other names are the same where the binding says so, and then so are writes to them.
#[test]
fn a_write_goes_where_its_buffer_is_bound() {
    let graph = |m: &str, n: &str, to: &str| {
        parsed(&format!(
            "graph g(x: f32[3], {m}: buffer f32[3], {n}: buffer f32[4]) {{
               s = add(x, {m})
               return s writes {to}, x
             }}"
        ))
    };
    assert_eq!(said(compared(graph("m", "n", "m"), graph("p", "q", "p"))), "equivalent exact");
    let a = parsed("graph a(x: f32[3], m: buffer f32[3], n: buffer f32[3]) { return x writes m, x }");
    let b = parsed("graph b(x: f32[3], m: buffer f32[3], n: buffer f32[3]) { return x writes n, x }");
    assert_eq!(said(compared(a, b)), "different the new value of `n`");
    let a = parsed("graph a(x: f32[3], m: buffer f32[3]) { return x writes m, x }");
    let b = parsed("graph b(x: f32[3]) { return x }");
    assert_eq!(said(compared(a, b)), "error only A gives the new value of `m`");
}

#[test]
fn gradients_and_losses_keep_their_kind() {
    let graph = |outputs: &str| {
        parsed(&format!(
            "graph g(x: f32[3], w: param f32[3], v: param f32[3]) {{ y = mul(x, w)\n z = mul(x, v)\n return {outputs} }}"
        ))
    };
    let compared = |a: &str, b: &str| said(compared(graph(a), graph(b)));
    assert_eq!(compared("y gradient w, z gradient v", "z gradient v, y gradient w"), "equivalent exact");
    assert_eq!(compared("y gradient w, z gradient v", "z gradient w, y gradient v"), "different the gradient of `w`");
    assert_eq!(
        compared("y gradient w", "y gradient v"),
        "error only A gives the gradient of `w`; only B gives the gradient of `v`"
    );
    assert_eq!(compared("y gradient w", "y writes w"), "error only A gives the gradient of `w`");
    assert_eq!(compared("y loss at [0]", "y loss at [0]"), "equivalent exact");
    assert_eq!(compared("y loss at [0]", "y at [0]"), "error `[0]` is a loss in A and a tensor in B");
}

/// A graph that was made for one value of an argument says so.
#[test]
fn constant_inputs_are_listed_where_they_differ() {
    let graph = |given: &str| parsed(&format!("graph g(x: f32[3], {given}) {{ return x }}"));
    let listed = |a: &str, b: &str| compared(graph(a), graph(b)).unwrap().binding.assumptions.join("\n");
    assert!(!listed("n = 2, m = text \"sum\"", "m = text \"sum\", n = 2").contains("only"));
    assert!(listed("n = 2", "n = 3").contains("A holds for `n` = 2 only, B for 3 only"));
    assert!(listed("n = 2", "k = none").contains("B holds for `k` = none only"));
    assert_eq!(said(compared(exported("given-two"), exported("given-three"))), "different mul");
}

/// A file that does not say which structure it returns is compared by position.
#[test]
fn without_a_structure_positions_count() {
    let plain = parsed("graph p(x: f32[4]) { m = mul(x, 2.0)\n a = add(x, 1.0)\n return m, a }");
    for other in ["dict", "tuple", "fields"] {
        let wanted = if other == "fields" { "different m" } else { "equivalent exact" };
        assert_eq!(said(compared(plain.clone(), exported(other))), wanted, "{other}");
    }
    assert_eq!(said(compared(plain, exported("nested"))), "error A returns 2 values and B 4");
}

#[test]
fn damaged_signatures_are_refused() {
    let own = |outputs: &str| {
        said(compared(
            parsed(&format!("graph g(x: f32[3], m: buffer f32[3]) {{ return {outputs} }}")),
            parsed("graph h(x: f32[3], m: buffer f32[3]) { return x at .a, x at .b }"),
        ))
    };
    assert_eq!(own("x at .a, x at .a"), "error A returns `.a` twice; only B returns `.b`");
    assert_eq!(own("x at .a, x at .b, x writes m, m writes m"), "error A gives the new value of `m` twice");
}
