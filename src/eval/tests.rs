//! Operators computed through the evaluator, against values worked out by hand.

use proptest::prelude::*;

use super::{EvalError, GraphProgram, LazyEvaluator, Options};
use crate::ir::{AttrValue, DType, Graph, Ints, Number, Origin, Role, Shape, TensorType, Value, unflatten};
use crate::ops::find;

const REAL: Options = Options { rounding: false, budget: 1_000_000 };

fn ty(dtype: DType, shape: &[usize]) -> TensorType {
    TensorType::new(dtype, Shape::from_slice(shape)).unwrap()
}

fn input(g: &mut Graph, dtype: DType, shape: &[usize]) -> Value {
    let name = format!("x{}", g.len());
    g.add_input(&name, Role::User, ty(dtype, shape), Origin::default()).into()
}

fn literal(g: &mut Graph, dtype: DType, shape: &[usize], data: &[f64]) -> Value {
    let name = format!("c{}", g.len());
    let data: Vec<Number> = data.iter().map(|&v| dtype.element(v)).collect();
    g.add_literal(&name, ty(dtype, shape), data, Origin::default()).unwrap().into()
}

fn apply(g: &mut Graph, op: &str, attrs: &[(&str, AttrValue)], operands: &[Value]) -> Value {
    let def = find(op).unwrap();
    let name = format!("n{}", g.len());
    g.add_op(&name, def, def.attrs(attrs).unwrap(), operands, Origin::default()).unwrap().into()
}

fn ints(values: &[i64]) -> AttrValue {
    AttrValue::Ints(Ints::from_slice(values))
}

fn tensor(g: &Graph, value: Value, options: Options) -> Result<Vec<f64>, EvalError> {
    let program = GraphProgram::new(g, 1);
    let elements = LazyEvaluator::new(&program, options).tensor(value)?;
    Ok(elements.into_iter().map(Number::to_f64).collect())
}

/// The result of an operator on literals of type f64 (or i64, for operands whose name is followed by "i").
fn result(op: &str, attrs: &[(&str, AttrValue)], operands: &[(DType, &[usize], &[f64])]) -> Vec<f64> {
    let mut g = Graph::new("test");
    let operands: Vec<Value> = operands.iter().map(|(d, s, v)| literal(&mut g, *d, s, v)).collect();
    let out = apply(&mut g, op, attrs, &operands);
    tensor(&g, out, REAL).unwrap()
}

fn assert_close(found: &[f64], wanted: &[f64]) {
    assert_eq!(found.len(), wanted.len(), "{found:?} {wanted:?}");
    for (f, w) in found.iter().zip(wanted) {
        assert!((f - w).abs() < 1e-9 || f == w || (f.is_nan() && w.is_nan()), "{found:?} {wanted:?}");
    }
}

const F: DType = DType::F64;
const I: DType = DType::I64;

#[test]
fn products() {
    let x: (DType, &[usize], &[f64]) = (F, &[2, 2], &[1.0, 2.0, 3.0, 4.0]);
    let y: (DType, &[usize], &[f64]) = (F, &[2, 2], &[5.0, 6.0, 7.0, 8.0]);
    assert_close(&result("matmul", &[], &[x, y]), &[19.0, 22.0, 43.0, 50.0]);
    assert_close(&result("matmul", &[], &[(F, &[2], &[1.0, 10.0]), y]), &[75.0, 86.0]);
    assert_close(&result("matmul", &[], &[x, (F, &[2], &[1.0, 10.0])]), &[21.0, 43.0]);
    assert_close(&result("linear", &[], &[x, y, (F, &[2], &[1.0, 2.0])]), &[18.0, 25.0, 40.0, 55.0]);
    let b: (DType, &[usize], &[f64]) = (F, &[2], &[f64::NAN, 1.0]);
    let scaled = result("addmm", &[("beta", AttrValue::float(0.0)), ("alpha", AttrValue::float(2.0))], &[b, x, y]);
    assert_close(&scaled, &[38.0, 44.0, 86.0, 100.0]);
    let batch =
        result("baddbmm", &[], &[(F, &[1], &[1.0]), (F, &[1, 1, 2], &[1.0, 2.0]), (F, &[1, 2, 1], &[3.0, 4.0])]);
    assert_close(&batch, &[12.0]);
}

#[test]
fn normalisations() {
    let root = 1.0 / 1.25_f64.sqrt();
    let x: (DType, &[usize], &[f64]) = (F, &[1, 4], &[1.0, 2.0, 3.0, 4.0]);
    let no_eps = ("eps", AttrValue::float(0.0));
    let normal = result("layer_norm", &[("normalized_shape", ints(&[4])), no_eps.clone()], &[x]);
    assert_close(&normal, &[-1.5 * root, -0.5 * root, 0.5 * root, 1.5 * root]);
    let rms = result("rms_norm", &[("normalized_shape", ints(&[2])), no_eps.clone()], &[(F, &[2], &[1.0, 7.0])]);
    assert_close(&rms, &[0.2, 1.4]);
    let group = result("group_norm", &[("groups", AttrValue::Int(2)), no_eps.clone()], &[x]);
    assert_close(&group, &[-1.0, 1.0, -1.0, 1.0]);
    let batch = result("batch_norm", &[no_eps], &[(F, &[1, 1], &[5.0]), (F, &[1], &[1.0]), (F, &[1], &[4.0])]);
    assert_close(&batch, &[2.0]);
}

#[test]
fn softmax_of_nothing_but_minus_infinity_is_nan() {
    let inf = f64::INFINITY;
    let dim = [("dim", AttrValue::Int(0))];
    assert_close(&result("softmax", &dim, &[(F, &[2], &[0.0, 0.0])]), &[0.5, 0.5]);
    assert_close(&result("softmax", &dim, &[(F, &[2], &[-inf, -inf])]), &[f64::NAN, f64::NAN]);
    assert_close(&result("log_softmax", &dim, &[(F, &[], &[3.0])]), &[0.0]);
}

#[test]
fn reductions() {
    let x: (DType, &[usize], &[f64]) = (F, &[2, 2], &[1.0, 2.0, 3.0, 4.0]);
    let all = ("dim", ints(&[0, 1]));
    let first = ("dim", ints(&[0]));
    assert_close(&result("sum", std::slice::from_ref(&first), &[x]), &[4.0, 6.0]);
    assert_close(&result("mean", std::slice::from_ref(&all), &[x]), &[2.5]);
    assert_close(&result("prod", std::slice::from_ref(&all), &[x]), &[24.0]);
    assert_close(&result("amax", &[first.clone(), ("keepdim", AttrValue::Bool(true))], &[x]), &[3.0, 4.0]);
    assert_close(&result("amin", std::slice::from_ref(&all), &[x]), &[1.0]);
    assert_close(&result("var", std::slice::from_ref(&all), &[x]), &[5.0 / 3.0]);
    assert_close(&result("var", &[all], &[(F, &[1, 1], &[1.0])]), &[f64::NAN]);
    assert_close(&result("cumsum", &[("dim", AttrValue::Int(1))], &[x]), &[1.0, 3.0, 3.0, 7.0]);
    assert_close(&result("cumprod", &[("dim", AttrValue::Int(0))], &[x]), &[1.0, 2.0, 3.0, 8.0]);
    let nan: (DType, &[usize], &[f64]) = (F, &[3], &[5.0, f64::NAN, 6.0]);
    assert_close(&result("argmax", &[("dim", AttrValue::Int(0))], &[nan]), &[1.0]);
    assert_close(&result("logsumexp", &[first], &[(F, &[2], &[f64::NEG_INFINITY; 2])]), &[f64::NEG_INFINITY]);
    let loss = result("cross_entropy", &[], &[(F, &[2, 2], &[0.0, 0.0, 0.0, 0.0]), (I, &[2], &[1.0, -100.0])]);
    assert_close(&loss, &[2.0_f64.ln()]);
}

#[test]
fn positions() {
    let x: (DType, &[usize], &[f64]) = (F, &[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let dim = ("dim", AttrValue::Int(1));
    assert_close(&result("embedding", &[], &[x, (I, &[1], &[1.0])]), &[4.0, 5.0, 6.0]);
    assert_close(&result("gather", std::slice::from_ref(&dim), &[x, (I, &[2, 1], &[2.0, 0.0])]), &[3.0, 4.0]);
    assert_close(
        &result("index_select", std::slice::from_ref(&dim), &[x, (I, &[2], &[2.0, 0.0])]),
        &[3.0, 1.0, 6.0, 4.0],
    );
    let both: [(DType, &[usize], &[f64]); 3] = [x, (I, &[2], &[0.0, -1.0]), (I, &[1], &[1.0])];
    assert_close(&result("index", &[("dims", ints(&[0, 1]))], &both), &[2.0, 5.0]);
    let top = result("topk", &[("k", AttrValue::Int(2)), dim.clone()], &[x]);
    assert_close(&top, &[3.0, 2.0, 6.0, 5.0]);
    assert_close(
        &result("sort", &[dim.clone(), ("descending", AttrValue::Bool(true))], &[x]),
        &[3.0, 2.0, 1.0, 6.0, 5.0, 4.0],
    );
    assert_close(&result("one_hot", &[("num_classes", AttrValue::Int(3))], &[(I, &[1], &[1.0])]), &[0.0, 1.0, 0.0]);
    assert_close(&result("tril", &[], &[x]), &[1.0, 0.0, 0.0, 4.0, 5.0, 0.0]);
    assert_close(&result("triu", &[("diagonal", AttrValue::Int(1))], &[x]), &[0.0, 2.0, 3.0, 0.0, 0.0, 6.0]);
    assert_close(&result("flip", &[("dims", ints(&[1]))], &[x]), &[3.0, 2.0, 1.0, 6.0, 5.0, 4.0]);
    assert_close(
        &result("roll", &[("shifts", ints(&[-2])), ("dims", ints(&[1]))], &[x]),
        &[3.0, 1.0, 2.0, 6.0, 4.0, 5.0],
    );
    let padded = result("pad", &[("pad", ints(&[0, -1, 1, 0])), ("value", AttrValue::float(9.0))], &[x]);
    assert_close(&padded, &[9.0, 1.0, 2.0, 3.0]);
    assert_close(&result("diff", &[dim, ("n", AttrValue::Int(2))], &[x]), &[0.0, 0.0]);
}

#[test]
fn windows() {
    let x: (DType, &[usize], &[f64]) = (F, &[1, 1, 2, 2], &[1.0, 2.0, 3.0, 4.0]);
    let w: (DType, &[usize], &[f64]) = (F, &[1, 1, 2, 2], &[1.0, 10.0, 100.0, 1000.0]);
    let attrs = [("stride", ints(&[1, 1])), ("padding", ints(&[1, 0])), ("dilation", ints(&[1, 1]))];
    assert_close(&result("conv2d", &attrs, &[x, w]), &[2100.0, 4321.0, 43.0]);
    let pool = [("kernel_size", ints(&[2, 2])), ("stride", ints(&[1, 1])), ("padding", ints(&[1, 0]))];
    assert_close(&result("avg_pool2d", &pool, &[x]), &[0.75, 2.5, 1.75]);
    let dilated = [&pool[..], &[("dilation", ints(&[1, 1]))]].concat();
    assert_close(&result("max_pool2d", &dilated, &[x]), &[2.0, 4.0, 4.0]);
}

/// Sizes of a query, a key and a value vector.
const WIDTHS: [usize; 3] = [5, 5, 6];

/// `softmax(q @ k^T * scale + mask) @ v`, and the fused operator on the same operands.
fn attention(g: &mut Graph, [q, k, v]: [Value; 3], mask: Option<&[f64]>, causal: bool) -> (Value, Value) {
    let transposed = apply(g, "permute", &[("dims", ints(&[0, 1, 3, 2]))], &[k]);
    let scores = apply(g, "matmul", &[], &[q, transposed]);
    let scale = apply(
        g,
        "full",
        &[("shape", ints(&[])), ("value", AttrValue::float(0.3)), ("dtype", AttrValue::DType(F))],
        &[],
    );
    let mut scores = apply(g, "mul", &[], &[scores, scale]);
    let mut operands = vec![q, k, v];
    if let Some(mask) = mask {
        let added: Vec<f64> = mask.iter().map(|&m| if m != 0.0 { 0.0 } else { f64::NEG_INFINITY }).collect();
        let added = literal(g, F, &[4, 4], &added);
        scores = apply(g, "add", &[], &[scores, added]);
        if !causal {
            operands.push(literal(g, DType::Bool, &[4, 4], mask));
        }
    }
    let weights = apply(g, "softmax", &[("dim", AttrValue::Int(3))], &[scores]);
    let written = apply(g, "matmul", &[], &[weights, v]);
    let attrs = [("scale", AttrValue::float(0.3)), ("causal", AttrValue::Bool(causal))];
    (written, apply(g, "sdpa", &attrs, &operands))
}

#[test]
fn sdpa_is_its_written_out_form() {
    let causal = [1., 0., 0., 0., 1., 1., 0., 0., 1., 1., 1., 0., 1., 1., 1., 1.];
    let other = [0., 0., 1., 0., 1., 0., 0., 1., 1., 1., 1., 1., 1., 1., 0., 1.];
    for (mask, is_causal) in [(None, false), (Some(&other[..]), false), (Some(&causal[..]), true)] {
        let mut g = Graph::new("test");
        let operands = WIDTHS.map(|width| input(&mut g, F, &[2, 3, 4, width]));
        let (written, fused) = attention(&mut g, operands, mask, is_causal);
        assert_close(&tensor(&g, written, REAL).unwrap(), &tensor(&g, fused, REAL).unwrap());
    }
}

#[test]
fn grouped_heads_are_shared_by_runs_of_query_heads() {
    let mut g = Graph::new("test");
    let q = input(&mut g, F, &[1, 4, 2, 3]);
    let k = input(&mut g, F, &[1, 2, 5, 3]);
    let v = input(&mut g, F, &[1, 2, 5, 3]);
    let scale = ("scale", AttrValue::float(1.0));
    let grouped = apply(&mut g, "sdpa", &[scale.clone(), ("grouped", AttrValue::Bool(true))], &[q, k, v]);
    let times = [("times", AttrValue::Int(2))];
    let k = apply(&mut g, "repeat_heads", &times, &[k]);
    let v = apply(&mut g, "repeat_heads", &times, &[v]);
    let repeated = apply(&mut g, "sdpa", &[scale], &[q, k, v]);
    assert_close(&tensor(&g, grouped, REAL).unwrap(), &tensor(&g, repeated, REAL).unwrap());
}

#[test]
fn a_query_without_keys_gives_zeros() {
    let mut g = Graph::new("test");
    let q = input(&mut g, F, &[2, 3]);
    let mask = literal(&mut g, DType::Bool, &[2, 2], &[0.0, 0.0, 1.0, 1.0]);
    let out = apply(&mut g, "sdpa", &[("scale", AttrValue::float(1.0))], &[q, q, q, mask]);
    let values = tensor(&g, out, REAL).unwrap();
    assert_eq!(values[..3], [0.0; 3]);
    assert!(values[3..].iter().all(|&v| v != 0.0));
}

#[test]
fn fused_attention_sees_a_nan_that_a_mask_hides_as_its_written_out_form_does() {
    let mask = [0., 0., 1., 0., 1., 1., 0., 0., 1., 1., 1., 0., 1., 1., 1., 1.];
    for spoiled in [1, 2] {
        let mut g = Graph::new("test");
        let mut operands = WIDTHS.map(|width| input(&mut g, F, &[2, 3, 4, width]));
        // The last key of the first head, which only the last query sees.
        let mut data = tensor(&g, operands[spoiled], REAL).unwrap();
        data[3 * WIDTHS[spoiled]] = f64::NAN;
        operands[spoiled] = literal(&mut g, F, &[2, 3, 4, WIDTHS[spoiled]], &data);
        let (written, fused) = attention(&mut g, operands, Some(&mask), false);
        let fused = tensor(&g, fused, REAL).unwrap();
        assert!(fused.iter().any(|v| v.is_nan()) && !fused.iter().all(|v| v.is_nan()));
        assert_close(&tensor(&g, written, REAL).unwrap(), &fused);
    }
}

#[test]
fn rounding_follows_the_element_type() {
    let mut g = Graph::new("test");
    let x = literal(&mut g, DType::BF16, &[1], &[1.0]);
    let attrs = [("value", AttrValue::float(1.001)), ("dtype", AttrValue::DType(DType::BF16))];
    let scalar = apply(&mut g, "number", &attrs, &[]);
    let product = apply(&mut g, "mul", &[], &[x, scalar]);
    let wide = apply(&mut g, "cast", &[("dtype", AttrValue::DType(DType::F32))], &[product]);
    let rounded = Options { rounding: true, ..REAL };
    // A number beside a narrow float keeps f32's precision until an operator's result is stored.
    assert_eq!(tensor(&g, wide, REAL).unwrap(), [1.001]);
    assert_eq!(tensor(&g, wide, rounded).unwrap(), [1.0]);
    assert_eq!(tensor(&g, scalar, rounded).unwrap(), [f64::from(1.001_f32)]);
}

#[test]
fn integers_wrap_even_without_rounding() {
    assert_close(&result("add", &[], &[(DType::I8, &[1], &[127.0]), (DType::I8, &[1], &[1.0])]), &[-128.0]);
    assert_close(&result("add", &[], &[(DType::Bool, &[1], &[1.0]), (DType::Bool, &[1], &[1.0])]), &[1.0]);
}

#[test]
fn the_budget_ends_long_computations() {
    let mut g = Graph::new("test");
    let x = input(&mut g, F, &[1 << 20, 1 << 20]);
    let out = apply(&mut g, "matmul", &[], &[x, x]);
    let softmax = apply(&mut g, "softmax", &[("dim", AttrValue::Int(1))], &[x]);
    let program = GraphProgram::new(&g, 1);
    let mut evaluator = LazyEvaluator::new(&program, Options { rounding: false, budget: 1000 });
    assert_eq!(evaluator.element(out, &[0, 0]), Err(EvalError::Budget));
    assert_eq!(evaluator.element(softmax, &[0, 0]), Err(EvalError::Budget));
    assert_eq!(evaluator.tensor(x), Err(EvalError::Budget));
}

#[test]
fn padding_is_not_stepped_over() {
    let mut g = Graph::new("test");
    let x = literal(&mut g, F, &[1, 1, 1, 2], &[1.0, 2.0]);
    let half = 1 << 40;
    let pool = [("kernel_size", ints(&[1, 2 * half])), ("stride", ints(&[1, 1])), ("padding", ints(&[0, half]))];
    let out = apply(&mut g, "avg_pool2d", &pool, &[x]);
    assert_close(&tensor(&g, out, REAL).unwrap(), &[3.0 / (2 * half) as f64; 3]);
}

#[test]
fn deep_graphs_do_not_overflow_the_stack() {
    let mut g = Graph::new("test");
    let x = literal(&mut g, F, &[3], &[1.0, 2.0, 3.0]);
    let mut out = x;
    for _ in 0..5000 {
        let shifted = apply(&mut g, "add", &[], &[out, x]);
        out = apply(&mut g, "flip", &[("dims", ints(&[0]))], &[shifted]);
    }
    assert_close(&tensor(&g, out, REAL).unwrap(), &[10_001.0, 10_002.0, 10_003.0]);
    // Moves are not remembered; a restart has to make progress all the same.
    for _ in 0..1000 {
        out = apply(&mut g, "alias", &[], &[out]);
    }
    assert_close(&tensor(&g, out, REAL).unwrap(), &[10_001.0, 10_002.0, 10_003.0]);
}

#[test]
fn indices_outside_are_errors() {
    let mut g = Graph::new("test");
    let x = input(&mut g, F, &[2]);
    let program = GraphProgram::new(&g, 1);
    let mut evaluator = LazyEvaluator::new(&program, REAL);
    assert_eq!(evaluator.element(x, &[2]), Err(EvalError::IndexOutOfRange));
    assert_eq!(evaluator.element(x, &[]), Err(EvalError::IndexOutOfRange));
    assert!(GraphProgram::new(&g, 1).with_input(0, vec![Number::float(1.0)]).is_err());
}

proptest! {
    #[test]
    fn demanded_elements_are_those_of_the_whole_tensor(seed: u64, flat in 0_usize..96, causal: bool) {
        let mut g = Graph::new("test");
        let operands = WIDTHS.map(|width| input(&mut g, F, &[2, 3, 4, width]));
        let (_, fused) = attention(&mut g, operands, None, causal);
        let norm = apply(&mut g, "layer_norm", &[("normalized_shape", ints(&[4, 6]))], &[fused]);
        let top = apply(&mut g, "sort", &[("dim", AttrValue::Int(1))], &[norm]);
        let out = apply(&mut g, "sum", &[("dim", ints(&[1]))], &[top]);
        let program = GraphProgram::new(&g, seed);
        let shape = g.ty(out).shape.clone();
        let flat = flat % g.ty(out).numel();
        let whole = LazyEvaluator::new(&program, REAL).tensor(out).unwrap();
        let one = LazyEvaluator::new(&program, REAL).element(out, &unflatten(&shape, flat)).unwrap();
        prop_assert_eq!(whole[flat], one);
    }
}

#[test]
fn an_element_of_attention_at_full_size_needs_one_row_of_scores() {
    let mut g = Graph::new("test");
    let q = input(&mut g, DType::F32, &[12, 1024, 64]);
    let k = input(&mut g, DType::F32, &[12, 1024, 64]);
    let v = input(&mut g, DType::F32, &[12, 1024, 64]);
    let mask = input(&mut g, DType::F32, &[1024, 1024]);
    let transposed = apply(&mut g, "permute", &[("dims", ints(&[0, 2, 1]))], &[k]);
    let scores = apply(&mut g, "matmul", &[], &[q, transposed]);
    let scores = apply(&mut g, "add", &[], &[scores, mask]);
    let weights = apply(&mut g, "softmax", &[("dim", AttrValue::Int(2))], &[scores]);
    let out = apply(&mut g, "matmul", &[], &[weights, v]);
    let program = GraphProgram::new(&g, 1);
    let mut evaluator = LazyEvaluator::new(&program, Options { rounding: false, budget: 20_000 });
    assert!(evaluator.element(out, &[11, 1023, 63]).is_ok_and(Number::is_finite));
}
