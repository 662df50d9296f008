use super::*;
use crate::ir::NodeKind;
use crate::ir::text::parse;

fn bound(a: &str, b: &str) -> BoundPair {
    bind_graphs(parse("a", a).unwrap(), parse("b", b).unwrap(), None)
}

/// Positions times frequencies, as models that turn queries and keys have them.
const TURNED: &str = "
graph a(x: f32[4, 3], frequencies: buffer f32[3]) {
  places = reshape(arange(; end=4, dtype=f32); shape=[4, 1])
  y = mul(x, cos(mul(places, frequencies)))
  return y
}";

/// The same with the table that an exporter has folded.
fn folded(table: &str) -> String {
    format!(
        "graph b(x: f32[4, 3]) {{
           table = literal f32[1, 4, 3] [{table}]
           y = mul(x, cos(reshape(table; shape=[4, 3])))
           return y
         }}"
    )
}

#[test]
fn a_buffer_without_values_holds_what_a_table_of_the_other_side_was_folded_from() {
    let BoundPair { a, b, binding } =
        bound(TURNED, &folded("0.0, 0.0, 0.0, 0.5, 0.25, 2.0, 1.0, 0.5, 4.0, 1.5, 0.75, 6.0"));
    assert_eq!(
        binding.assumptions.last().unwrap(),
        "`frequencies` of A, of which the file has no values, holds what `table` of B was computed from"
    );
    assert_eq!((binding.a.clone(), binding.b.clone()), (vec![0], vec![0]));
    assert!(binding.is_doubtful(&a, &b, 0), "a difference under a supposition is none");
}

#[test]
fn a_table_of_cosines_tells_what_it_was_computed_from_but_for_rounding() {
    let frequencies = [1.0_f32, 0.3, 0.01];
    let element = |place: usize, frequency: f32| f64::from(place as f32 * frequency).sin();
    let table = |changed: f64| {
        let all = (0..4).flat_map(|place| frequencies.map(|frequency| element(place, frequency)));
        let all = all.enumerate().map(|(i, x)| if i == 7 { x + changed } else { x });
        all.map(|x| format!("{:?}", x as f32)).collect::<Vec<_>>().join(", ")
    };
    let said = |table: &str| {
        let a = TURNED.replace("cos(", "sin(");
        let b = format!(
            "graph b(x: f32[4, 3]) {{
               table = literal f32[4, 3] [{table}]
               y = mul(x, table)
               return y
             }}"
        );
        bound(&a, &b).binding.assumptions.pop().unwrap()
    };
    let supposed = "`frequencies` of A, of which the file has no values, holds what `table` of B was computed from";
    assert_eq!(said(&table(0.0)), supposed);
    // Another library rounds in its own way.
    assert_eq!(said(&table(f64::from(f32::EPSILON) / 2.0)), supposed);
    assert_eq!(said(&table(1e-3)), "`frequencies` of A has no counterpart on the other side");
}

#[test]
fn nothing_is_supposed_that_does_not_give_the_whole_table() {
    let BoundPair { binding, .. } =
        bound(TURNED, &folded("0.0, 0.0, 0.0, 0.5, 0.25, 2.0, 1.0, 0.5, 4.0, 1.5, 0.75, 7.0"));
    assert_eq!(binding.assumptions.last().unwrap(), "`frequencies` of A has no counterpart on the other side");
    assert!(!binding.supposes_values);
}

#[test]
fn a_buffer_may_be_the_index_into_another() {
    let a = "graph a(places: param f32[8, 2], kinds: param f32[3, 2], kind_ids: buffer i64[1, 8], place_ids: buffer i64[1, 8]) {
      seen = slice(place_ids; dim=1, end=4)
      y = add(embedding(places, seen), embedding(kinds, gather(kind_ids, seen; dim=1)))
      return y
    }";
    let b = "graph b(places: param f32[8, 2], kinds: param f32[3, 2]) {
      counted = literal i64[1, 4] [0, 1, 2, 3]
      kind = literal i64[1, 4] [2, 2, 2, 2]
      y = add(embedding(places, counted), embedding(kinds, kind))
      return y
    }";
    let BoundPair { a, binding, .. } = bound(a, b);
    assert_eq!((binding.a, binding.b), (vec![0, 1], vec![0, 1]));
    let literal = |name: &str| match &a.nodes().find(|(_, node)| &*node.name == name).unwrap().1.kind {
        NodeKind::Literal(l) => l.data.iter().map(|n| n.to_i64().unwrap()).collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    assert_eq!(literal("place_ids"), [0, 1, 2, 3, 0, 0, 0, 0]);
    assert_eq!(literal("kind_ids")[..4], [2, 2, 2, 2]);
}

#[test]
fn weights_may_be_arguments_on_the_other_side() {
    let BoundPair { binding, .. } = bound(
        "graph a(x: f32[4], weight: param f32[4], bias: param f32[4]) {\n  y = add(mul(x, weight), bias)\n  return y\n}",
        "graph b(arg0: f32[4], arg1: f32[4], arg2: f32[4]) {\n  y = add(mul(arg0, arg1), arg2)\n  return y\n}",
    );
    assert_eq!(binding.b, vec![0, 1, 2]);
    assert_eq!(binding.guessed, vec![0, 1, 2]);
}
