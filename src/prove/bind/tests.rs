use super::*;
use crate::ir::{DType, Origin, Role, Shape, TensorType, Value};
use crate::ops;
use crate::prove::Side;

fn graph(inputs: &[(&str, &[usize])]) -> Graph {
    let mut g = Graph::new("g");
    for &(name, sizes) in inputs {
        let ty = TensorType::new(DType::F32, Shape::from_slice(sizes)).unwrap();
        g.add_input(name, Role::Parameter, ty, Origin::default());
    }
    g
}

#[test]
fn names_win_over_positions() {
    let BoundPair { binding, .. } = bind(&graph(&[("x", &[3]), ("y", &[3])]), &graph(&[("y", &[3]), ("x", &[3])]));
    assert_eq!((binding.a, binding.b), (vec![0, 1], vec![1, 0]));
}

#[test]
fn a_guess_by_position_is_listed() {
    let BoundPair { binding, .. } = bind(&graph(&[("x", &[3]), ("y", &[4])]), &graph(&[("p", &[4]), ("q", &[3])]));
    assert_eq!(binding.b, vec![1, 0]);
    assert_eq!(binding.assumptions.len(), 2);
    assert_eq!(binding.guessed, vec![0, 1]);
}

#[test]
fn inputs_of_different_types_stay_apart() {
    let BoundPair { binding, .. } = bind(&graph(&[("x", &[3])]), &graph(&[("x", &[4])]));
    assert_eq!(binding.b, vec![1]);
    assert_eq!(binding.inputs.len(), 2);
}

/// `out = alias(input)` for the first input.
fn with_output(mut g: Graph) -> Graph {
    let alias = ops::find("alias").unwrap();
    let x = g.inputs()[0];
    let y = g.add_op("out", alias, alias.default_attrs().unwrap(), &[x.into()], Origin::default()).unwrap();
    g.add_output("out", y.into());
    g
}

#[test]
fn a_derived_input_becomes_operators_over_the_other_side() {
    let a = graph(&[("q", &[2, 3]), ("k", &[1, 3]), ("v", &[1, 3])]);
    let b = with_output(graph(&[("qkv", &[4, 3]), ("q", &[5])]));
    let mut plan = Plan::new(&a, &b);
    let types: Vec<TensorType> = plan.a.iter().map(|s| s.input.ty.clone()).collect();
    let inputs: Vec<(usize, &TensorType)> = types.iter().enumerate().collect();
    let joined = Expression::joined(&inputs, 0, false).unwrap();
    assert_eq!(joined.show(&|i| plan.a[i].input.name.clone()).to_string(), "concat(q, k, v)");
    plan.derive(Side::B, 0, joined, plan::Source::Use);
    let bound = share::share(a, b, &plan);
    assert_eq!(bound.binding.a, vec![0, 1, 2]);
    // B's own input `q` is another tensor than A's; A's three follow it.
    assert_eq!(bound.binding.b, vec![3, 0, 1, 2]);
    let names: Vec<String> = bound.b.nodes().map(|(_, n)| n.name.to_string()).collect();
    assert_eq!(names, ["q", "q.1", "k", "v", "qkv.concat", "qkv", "out"]);
    assert_eq!(bound.b.operators().count(), 1, "what was added is implicit");
    assert_eq!(bound.b.ty(Value::from(bound.b.outputs()[0].value.node)).shape.as_slice(), [4, 3]);
}

#[test]
fn transposed_parts_are_joined_along_the_other_dim() {
    let (q, k) = (
        TensorType::new(DType::F32, Shape::from_slice(&[2, 3])).unwrap(),
        TensorType::new(DType::F32, Shape::from_slice(&[4, 3])).unwrap(),
    );
    let joined = Expression::joined(&[(0, &q), (1, &k)], 1, true).unwrap();
    assert_eq!(joined.ty().shape.as_slice(), [3, 6]);
    let text = joined.show(&|i| ["q", "k"][i].to_owned()).to_string();
    assert_eq!(text, "concat(permute(q; dims=[1, 0]), permute(k; dims=[1, 0]); dim=1)");
    assert!(Expression::joined(&[(0, &q), (1, &k)], 0, true).is_err());
}

#[test]
fn a_difference_under_a_guess_is_in_doubt() {
    let side = |names: [&str; 2]| with_output(graph(&[(names[0], &[3]), (names[1], &[3])]));
    let (a, b) = (side(["x", "y"]), side(["p", "q"]));
    assert!(bind(&a, &b).binding.is_doubtful(&a, &b, 0));
    let (a, b) = (side(["x", "y"]), side(["x", "q"]));
    assert!(!bind(&a, &b).binding.is_doubtful(&a, &b, 0), "the output depends on `x` only");
    let b = with_output(graph(&[("w", &[4]), ("x", &[3])]));
    let a = with_output(graph(&[("x", &[3]), ("y", &[3])]));
    let binding = bind(&a, &b).binding;
    assert!(!binding.is_doubtful(&a, &b, 0), "only one side has weights of its own");
    let told = Binding { stated: vec![binding.a[0]], ..binding };
    assert!(told.is_doubtful(&a, &b, 0), "a binding file need not say all of a weight");
}
