//! Programs of operators and parts, as text.

use super::*;
use crate::ir::{DType, Number, text};
use crate::ops::find;

fn parsed(body: &str) -> Graph {
    text::parse("g", body).unwrap()
}

fn whole(graph: &Graph) -> Emitted {
    part(graph, &graph.nodes().map(|(id, _)| id).collect::<Vec<_>>()).unwrap()
}

#[test]
fn numbers_and_casts_on_the_fly_are_no_calls() {
    let mut graph = parsed("graph g(x: f16[4], y: f32[4]) { return x, y }");
    let [x, y] = [0, 1].map(|i| Value::from(graph.inputs()[i]));
    let cast = find("cast").unwrap();
    let attrs = Attrs::from_iter([AttrValue::DType(DType::F32)]);
    let wide = graph.add_op("wide", cast, attrs, &[x], Origin::implicit()).unwrap();
    let sum = graph.add_op("sum", find("add").unwrap(), Attrs::new(), &[wide.into(), y], Origin::default()).unwrap();
    let (two, attrs) = number(Number::Int(2), DType::F32);
    let two = graph.add_op("two", two, attrs, &[], Origin::implicit()).unwrap();
    let mul = find("mul").unwrap();
    let product = graph.add_op("product", mul, Attrs::new(), &[sum.into(), two.into()], Origin::default()).unwrap();
    graph.set_outputs(Vec::new());
    graph.add_output("product", product.into());
    let emitted = whole(&graph);
    assert_eq!((emitted.operators.len(), emitted.text.matches(" = aten.").count()), (2, 2), "{}", emitted.text);
    assert!(emitted.text.contains("aten.add.Tensor(x, y)"), "{}", emitted.text);
    assert_eq!(emitted.inputs, [x, y]);
    // The cast reads from outside of this part.
    let inside = part(&graph, &[sum, product]).unwrap();
    assert_eq!(inside.inputs, [x, y]);
    // What is read of a part is a result of it.
    let first = part(&graph, &[sum]).unwrap();
    assert_eq!(first.results, [graph.ty(sum.into()).clone()]);
}

#[test]
fn constants_are_made_once() {
    let graph = parsed("graph g(x: f32[3]) { c = literal f32[3] [1.0, 2.0, 3.0] y = add(x, c) return y }");
    let emitted = whole(&graph);
    assert_eq!(emitted.inputs.len(), 1);
    assert!(emitted.text.contains("def forward(x, c)") && emitted.text.contains("def precompute("), "{}", emitted.text);
}
