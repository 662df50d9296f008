//! Tests of the text form: what is read, what is refused, and that printing and reading undo each other.

use miette::Diagnostic;
use ordered_float::OrderedFloat;
use proptest::prelude::*;

use super::{MirError, parse, print};
use crate::ir::{AttrValue, Graph, NodeKind, Value};
use crate::ops::{Op, as_number};

mod random;

fn read(source: &str) -> Graph {
    parse("test.mir", source).unwrap_or_else(|e| panic!("{:?}", miette::Report::new(e)))
}

fn errors(source: &str) -> Vec<MirError> {
    parse("test.mir", source).expect_err("the text is wrong").errors
}

fn codes(source: &str) -> Vec<String> {
    errors(source).iter().map(|e| e.code().map(|c| c.to_string()).unwrap_or_default()).collect()
}

fn text(error: &MirError) -> String {
    format!("{error} | {}", error.help().map(|h| h.to_string()).unwrap_or_default())
}

/// What has to survive printing and reading: everything but the names and places of literal scalars, and digits with which these compute nothing else.
fn essence(graph: &Graph) -> Vec<String> {
    let show = |v: Value| {
        let node = graph.node(v.node);
        match scalar(graph, v) {
            Some(value) => {
                let computed = value.as_number().map(|number| as_number(node.types[0].dtype, number));
                format!("{:?}:{}", computed.ok_or(value), node.types[0])
            }
            None => format!("{}#{}", node.name, v.slot),
        }
    };
    let mut lines = vec![format!("{} {:?}", graph.name, graph.config)];
    for (id, node) in graph.nodes().filter(|&(id, _)| scalar(graph, id.into()).is_none()) {
        let kind = match &node.kind {
            NodeKind::Literal(literal) => {
                format!("{:?}", literal.data.iter().map(|&v| OrderedFloat(v)).collect::<Vec<_>>())
            }
            other => format!("{other:?}"),
        };
        let operands: Vec<String> = graph.operands(id).into_iter().map(show).collect();
        lines.push(format!("{} {kind} {:?} {:?} {operands:?}", node.name, node.types, node.origin));
    }
    lines.extend(graph.outputs().iter().map(|o| format!("{} {} {:?}", o.name, show(o.value), o.target)));
    lines.extend(graph.constant_outputs().iter().map(|c| format!("{c:?}")));
    lines.extend(graph.constant_inputs().iter().map(|c| format!("{c:?}")));
    lines
}

fn scalar(graph: &Graph, value: Value) -> Option<AttrValue> {
    let node = graph.node(value.node);
    match &node.kind {
        NodeKind::Op { op: Op::Table(def), attrs } if crate::ops::is_number(def) => {
            Some(attrs[def.attr_index("value").unwrap()].clone())
        }
        _ => None,
    }
}

fn round_trip(graph: &Graph) {
    let text = print(graph);
    let again = read(&text);
    assert_eq!(essence(graph), essence(&again), "{text}");
    assert_eq!(text, print(&again));
}

const EVERYTHING: &str = r#"
// The example of the reference, and what it leaves out.
config allow_tf32 = true
graph addmm_split(x: f32[64, 128], w: param f32[128, 256], b: param f32[256], pos "odd name.weight": buffer i64[4]) {
  y: f32[64, 256] = matmul(x, w)            // type optional, checked when given
  v, i = topk(y; k=3, dim=-1)
  z = add(mul(y, 2.0), b)  @ "model.py":12 in "layers.0.mlp"
  c = literal f32[3] [1.0, 2, -inf,]
  o = opaque "vllm.foo"(x, y; alpha=1.0, mode="a \"b\"", sizes=[1, -2], to=bf16, on=true, no=none) -> f32[2, 3]
  p, q = opaque "two"() -> (f32[], i64[0, 2])
  n = opaque "nothing"(z) -> ()
  d = add(pos, 1) @ "a.py":3 fn "forward" code "x + 1" from "b.py":4
  k = mul(pos, pos) @ in "m" once
  once = mul(z, z) @ in "m"
  once.2 = mul(once, z)
  return z, v as "scores", i, d, c, p
}
"#;

#[test]
fn every_form_is_read_and_printed() {
    let graph = read(EVERYTHING);
    assert!(graph.config.allow_tf32);
    assert_eq!(graph.outputs()[1].name.as_ref(), "scores");
    assert_eq!(graph.operators().count(), 11, "nested calls count, scalars do not");
    let (_, z) = graph.nodes().find(|(_, n)| n.name.as_ref() == "z").unwrap();
    assert_eq!((z.origin.line().unwrap().line, z.origin.module.as_ref()), (12, "layers.0.mlp"));
    let (_, d) = graph.nodes().find(|(_, n)| n.name.as_ref() == "d").unwrap();
    assert_eq!(d.origin.line().unwrap().file.as_ref(), "a.py", "the innermost frame is written first and stored last");
    assert!(graph.nodes().any(|(_, n)| n.name.as_ref() == "odd name.weight"));
    let once: Vec<&str> = graph.nodes().filter(|(_, n)| n.origin.once).map(|(_, n)| &*n.name).collect();
    assert_eq!(once, ["k"]);
    round_trip(&graph);
}

#[test]
fn dimensions_from_the_end_become_plain() {
    let graph = read(
        "graph g(x: f32[4, 6, 8]) {
           a = permute(x; dims=[-1, 0, 1])
           b = reshape(a; shape=[8, -1])
           c = unsqueeze(b; dim=-1)
           d = expand(c; shape=[-1, -1, 5])
           e = slice(d; dim=-3, start=-3, end=-1)
           f = concat(e, e; dim=-1)
           return f
         }",
    );
    let printed = print(&graph);
    for part in ["dims=[2, 0, 1]", "shape=[8, 24]", "dim=2)", "shape=[8, 24, 5]", "dim=0, start=5, end=7"] {
        assert!(printed.contains(part), "{part} in\n{printed}");
    }
    assert_eq!(graph.ty(graph.outputs()[0].value).shape.as_slice(), [2, 24, 10]);
}

#[test]
fn scalars_take_the_type_of_their_neighbours() {
    let graph = read(
        "graph g(x: bf16[3], n: i64[3], m: bool[3]) {
           a = mul(x, 0.1)
           b = add(n, 2)
           c = where(m, x, -inf)
           d = where(m, 1.0, 0.0)
           return a, b, c, d
         }",
    );
    let printed = print(&graph);
    for part in ["mul(x, 0.1)", "add(n, 2)", "where(m, x, -inf)", "d: f32[3] = where(m, 1.0, 0.0)"] {
        assert!(printed.contains(part), "{part} in\n{printed}");
    }
    assert_eq!(graph.operators().count(), 4);
    assert!(text(&errors("graph g(n: i64[3]) { a = mul(n, 0.5) return a }")[0]).contains("cast"));
}

#[test]
fn a_scalar_of_another_type_than_its_neighbours_is_written_out() {
    use crate::ir::{DType, Origin, Role, TensorType};
    let mut graph = Graph::new("g");
    let m = graph.add_input("m", Role::User, TensorType::scalar(DType::Bool), Origin::default());
    let scalar = |graph: &mut Graph, name: &str, dtype| {
        let (number, attrs) = crate::ops::number(crate::ir::Number::float(1.0), dtype);
        graph.add_op(name, number, attrs, &[], Origin::implicit()).unwrap()
    };
    let (x, y) = (scalar(&mut graph, "s", DType::F16), scalar(&mut graph, "t", DType::F16));
    let choose = crate::ops::find("where").unwrap();
    let z = graph.add_op("z", choose, Default::default(), &[m.into(), x.into(), y.into()], Origin::default()).unwrap();
    graph.add_output("z", z.into());
    round_trip(&graph);
}

#[test]
fn unknown_words_name_the_nearest() {
    let found = errors(
        "config allow_tf23 = true
         graph g(weight: f32[4], x: f33[2]) { return weight }",
    );
    assert!(text(&found[0]).contains("did you mean `f32`?"), "{found:?}");
    let found = errors(
        "config allow_tf23 = true
         graph g(weight: f32[4]) {
           a = rleu(weight)
           b = gelu(weigth)
           c = gelu(weight; aproximate=\"tanh\")
           d = neg(weight; dim=1)
           return a, b, c, d, e
         }",
    );
    let texts: Vec<String> = found.iter().map(text).collect();
    for (text, part) in texts.iter().zip([
        "did you mean `allow_tf32`?",
        "did you mean `relu`?",
        "did you mean `weight`?",
        "did you mean `approximate`?",
        "has no attributes",
        "nothing is called `e`",
    ]) {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert_eq!(texts.len(), 6);
}

#[test]
fn errors_carry_their_code_and_place() {
    for (body, code, at) in [
        ("a = matmul(x, x) return a", "mir::type_error", "matmul(x, x)"),
        ("a: f32[3] = neg(x) return a", "mir::stated_type", "f32[3]"),
        ("a = neg(x) a = abs(x) return a", "mir::defined_twice", "a"),
        ("a = neg(b) b = abs(x) return b", "mir::used_before_definition", "b"),
        ("a, b = neg(x) return a", "mir::output_count", "b"),
        ("a = neg(split(x; sizes=[1, 1])) return a", "mir::output_count", "split(x; sizes=[1, 1])"),
        ("a = softmaxx(x) return a", "mir::unknown_op", "softmaxx"),
        ("a = permute(x; dims=[0, 2]) return a", "mir::attribute_value", "[0, 2]"),
        ("a = permute(x) return a", "mir::attribute_value", "permute(x)"),
        ("a = permute(x; dims=\"no\") return a", "mir::attribute_value", "\"no\""),
        ("a = concat(x, x; dim=0, dim=1) return a", "mir::attribute_twice", "dim"),
        ("a = literal f32[2] [1.0] return a", "mir::type_error", "literal f32[2] [1.0]"),
        ("a = literal i64[1] [0.5] return a", "mir::type_error", "literal i64[1] [0.5]"),
        ("a = add(x, 99999999999999999999) return a", "mir::number", "99999999999999999999"),
        ("a = opaque \"\\q\"(x) -> f32[1] return a", "mir::escape", "\"\\q\""),
        ("a = opaque \"\"(x) -> f32[1] return a", "mir::type_error", "opaque \"\"(x) -> f32[1]"),
        ("a = literal f32[-1] [] return a", "mir::tensor_type", "f32[-1]"),
        ("a = literal f32[99999999, 99999999] [] return a", "mir::tensor_type", "f32[99999999, 99999999]"),
        ("a = neg(x) @ once return a", "mir::not_fixed", "a"),
        ("a = neg(x return a", "mir::syntax", ""),
        ("in = neg(x) return x", "mir::syntax", ""),
    ] {
        let source = format!("graph g(x: f32[2, 3]) {{ {body} }}");
        let found = errors(&source);
        assert_eq!(codes(&source), [code], "{body}: {found:?}");
        let span = found[0].labels().and_then(|mut l| l.next()).expect("a label");
        let (start, end) = (span.offset(), span.offset() + span.len());
        assert_eq!(&source[start..end], at, "{body}");
    }
}

#[test]
fn one_error_does_not_hide_or_breed_others() {
    let source = "graph g(x: f32[2, 3]) {
        a = matmul(x, x)
        b = neg(a)
        c = nge(x)
        d = add(b, c)
        return d, missing
    }";
    assert_eq!(codes(source), ["mir::type_error", "mir::unknown_op", "mir::unknown_name"]);
}

#[test]
fn a_cycle_is_listed_once() {
    let found = errors("graph g(x: f32[2]) { a = add(x, c) b = neg(a) c = abs(b) return c }");
    assert_eq!(text(&found[0]).split(" |").next().unwrap(), "the definitions form a cycle: a → c → b → a");
    assert_eq!(found.len(), 1, "{found:?}");
    let own = errors("graph g(x: f32[2]) { a = add(x, a) return a }");
    assert!(text(&own[0]).contains("a → a"), "{own:?}");
}

#[test]
fn hostile_files_are_refused_quickly() {
    let deep = format!("graph g(x: f32[2]) {{ a = {}x{} return a }}", "neg(".repeat(100_000), ")".repeat(100_000));
    assert_eq!(codes(&deep), ["mir::too_deep"]);
    let within = format!("graph g(x: f32[2]) {{ a = {}x{} return a }}", "neg(".repeat(90), ")".repeat(90));
    round_trip(&read(&within));
    // A backslash at the end of a line does not carry a string over it, here or in the grammar.
    let split = format!("graph g(x: f32[2]) {{ a = opaque \"\\\n\"{} }}", "(".repeat(100_000));
    assert_eq!(codes(&split), ["mir::syntax"]);
    let large = " ".repeat(super::LARGEST_FILE + 1);
    assert_eq!(codes(&large), ["mir::too_large"]);
    let wrong = format!("graph g(x: f32[2]) {{ {} return x }}", "a = nge(x) ".repeat(5_000));
    assert_eq!(errors(&wrong).len(), super::MOST_ERRORS);
    for cut in (0..EVERYTHING.len()).filter(|&i| EVERYTHING.is_char_boundary(i)) {
        let _ = parse("cut.mir", &EVERYTHING[..cut]);
    }
}

proptest! {
    #[test]
    fn printing_and_reading_undo_each_other(seed: u64) {
        round_trip(&random::graph(seed, 12).0);
    }

    #[test]
    fn any_text_is_answered(text in r#"(graph|config|[a-z]{1,3}|[(){}\[\];,:=@]|"[a-z\\"]*"?|-?[0-9.]{1,4}|\s){0,40}"#) {
        let _ = parse("any.mir", &text);
    }
}

#[test]
fn random_graphs_reach_most_of_the_table() {
    let mut reached = std::collections::BTreeSet::new();
    for seed in 0..200 {
        reached.extend(random::graph(seed, 40).1);
    }
    let all: Vec<&str> = crate::ops::all().map(|d| d.name).collect();
    let missed: Vec<&&str> = all.iter().filter(|n| !reached.contains(**n)).collect();
    assert!(missed.len() * 5 < all.len(), "too few operators in random graphs: {missed:?}");
}
