//! Operators do with digits of places what their entries say.

use std::collections::BTreeSet;

use super::{GraphProgram, LazyEvaluator, Options};
use crate::ir::{Graph, NodeKind, Number, Shape, TensorType, Value, flat_index, text, unflatten};
use crate::ops::{Call, Digit, Elements, Op, OpDef, Renumbering, all};

/// Calls, no two of which read the same input: every operator that states its digits, and some that do not.
const CALLS: &[(&str, &str)] = &[
    ("x: f64[2, 3, 4], y: f64[3, 1]", "add(x, y)"),
    ("x: f64[2, 3, 4]", "softmax(x; dim=1)"),
    ("x: f64[2, 3, 4]", "sum(x; dim=[1])"),
    ("x: f64[2, 3, 4]", "mean(x; dim=[0, 2], keepdim=true)"),
    ("x: f64[2, 3, 4]", "cumsum(x; dim=1)"),
    ("x: f64[2, 3, 4], w: f64[4]", "rms_norm(x, w; normalized_shape=[4], eps=1e-5)"),
    ("x: f64[2, 3, 4]", "alias(x)"),
    ("x: f64[2, 3, 4]", "fused(x)"),
    ("x: f64[2, 3, 4]", "contiguous(x)"),
    ("x: f64[2, 3, 4]", "clone(x)"),
    ("x: f64[2, 3, 4]", "dropout(x; p=0.5)"),
    ("x: f64[3, 1]", "expand(x; shape=[2, 3, 4])"),
    ("x: f64[2, 3, 4]", "permute(x; dims=[2, 0, 1])"),
    ("x: f64[6, 4, 2]", "reshape(x; shape=[2, 3, 8])"),
    ("x: f64[12, 4]", "reshape(x; shape=[3, 4, 2, 2])"),
    ("x: f64[3, 8]", "reshape(x; shape=[6, 4])"),
    ("x: f64[3, 4]", "unsqueeze(x; dim=1)"),
    ("x: f64[3, 1, 4]", "squeeze(x; dim=1)"),
    ("x: f64[2, 12]", "slice(x; dim=1, start=4, end=12)"),
    ("x: f64[2, 12]", "slice(x; dim=1, start=3, end=11)"),
    ("x: f64[2, 12]", "slice(x; dim=1, start=0, end=12, step=2)"),
    ("x: f64[2, 12]", "r, s = split(x; sizes=[4, 8], dim=1)"),
    ("x: f64[2, 12]", "r, s, t = split(x; sizes=[3, 4, 5], dim=1)"),
    ("x: f64[2, 4], y: f64[2, 8]", "concat(x, y; dim=1)"),
    ("x: f64[2, 3], y: f64[2, 5]", "concat(x, y; dim=1)"),
    ("x: f64[2, 3, 4]", "repeat_heads(x; times=4)"),
    ("x: f64[2, 3, 4]", "repeat_interleave(x; repeats=4, dim=1)"),
    ("x: f64[2, 3, 4]", "flip(x; dims=[1])"),
    ("x: f64[2, 3, 4]", "roll(x; dims=[1], shifts=[2])"),
    ("x: f64[2, 3, 4]", "tril(x; diagonal=1)"),
    ("x: f64[2, 3, 4]", "triu(x)"),
    ("x: f64[2, 3, 4]", "pad(x; pad=[0, 0, 1, 2, 0, 0], value=2)"),
    ("x: f64[2, 3, 4]", "pad_edges(x; pad=[1, 1], mode=\"reflect\")"),
    ("x: f64[2, 3, 4]", "pad_edges(x; pad=[1, 0, 1, 1], mode=\"replicate\")"),
    ("x: f64[2, 3, 4]", "diff(x; dim=1)"),
    ("x: f64[2, 3, 4], before: f64[2, 2, 4]", "diff(x, before; dim=1)"),
    ("x: f64[3, 4], places: i64[2, 2]", "embedding(x, places)"),
    ("x: f64[3, 3, 4], places: i64[3, 2, 4]", "gather(x, places; dim=1)"),
    ("x: f64[3, 3, 4], places: i64[2, 2, 4]", "gather(x, places; dim=1)"),
    ("x: f64[2, 3, 4], places: i64[2]", "index_select(x, places; dim=1)"),
    ("x: f64[2, 3, 4, 2], i: i64[2], j: i64[5, 1]", "index(x, i, j; dims=[1, 2])"),
    ("x: f64[3, 2, 4], i: i64[2], j: i64[2]", "index(x, i, j; dims=[0, 2])"),
    ("x: f64[2, 3, 4], places: i64[2, 5, 4], y: f64[2, 5, 4]", "scatter_add(x, places, y; dim=1)"),
    ("x: f64[2, 3, 4], i: i64[2], y: f64[2, 2, 4]", "index_add(x, i, y; dim=1)"),
    ("x: f64[2, 3, 4], y: f64[2, 2, 4], i: i64[2]", "index_put(x, y, i; dims=[1], accumulate=true)"),
    ("x: f64[3, 2, 4], y: f64[5, 1], i: i64[5], j: i64[5]", "index_put(x, y, i, j; dims=[0, 2], accumulate=true)"),
    ("x: f64[2, 2, 3, 3]", "upsample_nearest(x; size=[4, 5])"),
    ("x: f64[2, 2, 3, 3]", "upsample_linear(x; size=[4, 5])"),
    ("x: f64[2, 2, 3, 3]", "upsample_bicubic(x; size=[4, 5])"),
    ("x: f64[2, 2, 4, 5]", "upsample_antialiased(x; size=[3, 2], mode=\"linear\")"),
    ("x: f64[2, 2, 3, 3], grid: f64[2, 4, 5, 2]", "grid_sample(x, grid)"),
    ("x: f64[2, 4, 4, 4]", "im2col(x; kernel_size=[2, 3], dilation=[1, 1], padding=[0, 1], stride=[1, 1])"),
    (
        "x: f64[2, 8, 9]",
        "col2im(x; output_size=[4, 4], kernel_size=[2, 2], dilation=[1, 1], padding=[0, 0], stride=[1, 1])",
    ),
    ("x: f64[2, 2, 4, 4]", "adaptive_avg_pool(x; output_size=[2, 3])"),
    ("x: f64[2, 2, 4, 4]", "avg_pool2d(x; kernel_size=[2, 2], stride=[1, 1], padding=[0, 0])"),
    ("x: f64[2, 2, 4, 4, 4]", "avg_pool3d(x; kernel_size=[2, 2, 2], stride=[1, 1, 1], padding=[0, 0, 0])"),
    ("x: f64[4, 3, 2]", "fft_c2c(x; dims=[1])"),
    ("x: f64[4, 3]", "fft_r2c(x; dims=[1])"),
    ("x: f64[4, 3, 2]", "fft_c2r(x; dims=[1], length=4)"),
    ("x: f64[2, 3, 4], y: f64[4, 5]", "matmul(x, y)"),
    ("x: f64[3, 4], y: f64[2, 4, 5]", "matmul(x, y)"),
    ("x: f64[4], y: f64[2, 4, 5]", "matmul(x, y)"),
    ("x: f64[2, 3, 4], w: f64[5, 4]", "linear(x, w)"),
    ("x: f64[2, 3, 4], w: f64[5, 4], b: f64[5]", "linear(x, w, b)"),
    ("b: f64[5], x: f64[3, 4], w: f64[4, 5]", "addmm(b, x, w)"),
    ("b: f64[3, 1], x: f64[2, 3, 4], y: f64[2, 4, 5]", "baddbmm(b, x, y)"),
    ("x: f64[2, 3, 6], w: f64[4, 3, 2], b: f64[4]", "conv1d(x, w, b; stride=[1], padding=[0], dilation=[1])"),
    (
        "x: f64[2, 4, 4, 4], w: f64[4, 2, 2, 2]",
        "conv2d(x, w; stride=[1, 1], padding=[0, 0], dilation=[1, 1], groups=2)",
    ),
    (
        "x: f64[2, 2, 3, 3, 3], w: f64[4, 2, 2, 2, 2]",
        "conv3d(x, w; stride=[1, 1, 1], padding=[0, 0, 0], dilation=[1, 1, 1])",
    ),
    (
        "x: f64[2, 3, 4], w: f64[3, 2, 2]",
        "conv_transpose1d(x, w; stride=[2], padding=[0], output_padding=[0], dilation=[1])",
    ),
    (
        "x: f64[4, 2, 3, 3], w: f64[2, 1, 2, 2], b: f64[2]",
        "conv_transpose2d(x, w, b; stride=[1, 2], padding=[0, 1], output_padding=[0, 0], dilation=[1, 1], groups=2)",
    ),
    (
        "x: f64[2, 2, 2, 2, 2], w: f64[2, 2, 2, 2, 2]",
        "conv_transpose3d(x, w; stride=[1, 1, 1], padding=[0, 0, 0], output_padding=[0, 0, 0], dilation=[1, 1, 1])",
    ),
    ("x: i64[2, 3]", "one_hot(x; num_classes=4)"),
    ("q: f64[2, 2, 3, 4], k: f64[2, 2, 5, 4], v: f64[2, 2, 5, 6]", "sdpa(q, k, v; scale=0.3)"),
    ("q: f64[2, 2, 3, 4], k: f64[2, 2, 3, 4], v: f64[2, 2, 3, 6]", "sdpa(q, k, v; scale=0.3, causal=true)"),
    ("q: f64[2, 4, 3, 4], k: f64[2, 2, 5, 4], v: f64[2, 2, 5, 6]", "sdpa(q, k, v; scale=0.3, grouped=true)"),
    (
        "q: f64[2, 2, 3, 4], k: f64[2, 2, 5, 4], v: f64[2, 2, 5, 6], mask: f64[2, 1, 3, 5]",
        "sdpa(q, k, v, mask; scale=0.3)",
    ),
];

/// The elements of a tensor after the values 0 and `other` of a digit have changed places.
fn renumbered(data: &[Number], ty: &TensorType, digit: Option<Digit>, other: usize) -> Vec<Number> {
    let Some(Digit { dim, step, size }) = digit else { return data.to_vec() };
    let moved = |flat: usize| {
        let mut index: Shape = unflatten(&ty.shape, flat);
        let value = index[dim] / step % size;
        let new = match value {
            0 => other,
            v if v == other => 0,
            v => v,
        };
        index[dim] = index[dim] - value * step + new * step;
        data[flat_index(&ty.shape, &index)]
    };
    (0..data.len()).map(moved).collect()
}

/// Elements that are all unlike, or places below 3.
fn elements(ty: &TensorType, seed: usize) -> Vec<Number> {
    let value = |flat: usize| {
        let number = (flat + 1) * (seed + 2) * 7919 % 1009;
        if ty.dtype.is_float() { Number::float(number as f64 / 256.0) } else { Number::Int(number as i64 % 3) }
    };
    (0..ty.numel()).map(value).collect()
}

/// The graph of a call, whose result is `r`; why there is none where the types of its inputs do not fit.
fn graph_of(inputs: &str, call: &str) -> Result<Graph, String> {
    let equation = if call.contains(" = ") { call.to_string() } else { format!("r = {call}") };
    text::parse("test", &format!("graph g({inputs}) {{\n {equation}\n return r\n}}")).map_err(|e| format!("{e:?}"))
}

fn evaluated(graph: &Graph, inputs: &[Vec<Number>], output: Value) -> Vec<Number> {
    let mut program = GraphProgram::new(graph, 0);
    for (n, data) in inputs.iter().enumerate() {
        program = program.with_input(n, data.clone()).unwrap();
    }
    LazyEvaluator::new(&program, Options { rounding: false, budget: 1_000_000 }).tensor(output).unwrap()
}

/// Every digit of a dimension of so many places.
fn digits(dim: usize, places: usize) -> impl Iterator<Item = Digit> {
    let of_step = move |step: usize| {
        let sizes = (2..=places / step).filter(move |size| places.is_multiple_of(step * size));
        sizes.map(move |size| Digit { dim, step, size })
    };
    (1..=places).flat_map(of_step)
}

#[test]
fn operators_carry_the_digits_that_their_entries_say() {
    let mut carried: BTreeSet<&'static str> = BTreeSet::new();
    let mut refused = 0;
    for (inputs, call) in CALLS {
        let graph = graph_of(inputs, call).unwrap_or_else(|e| panic!("{call}: {e}"));
        let node = graph.outputs()[0].value.node;
        let NodeKind::Op { op: Op::Table(op), attrs } = &graph.node(node).kind else { panic!("{call}") };
        let op: &'static OpDef = op;
        let types: Vec<&TensorType> = graph.inputs().iter().map(|&input| graph.ty(input.into())).collect();
        let plain: Vec<Vec<Number>> = types.iter().enumerate().map(|(n, ty)| elements(ty, n)).collect();
        let of_call = Call { op, attrs, operands: &types };
        for (slot, result) in graph.node(node).types.iter().enumerate() {
            let output = Value::new(node, slot as u32);
            let wanted = evaluated(&graph, &plain, output);
            let all = (0..result.rank()).flat_map(|dim| digits(dim, result.shape[dim]));
            for digit in all {
                let Some(below) = (op.digits)(&Renumbering { call: &of_call, slot, result, digit }) else {
                    refused += 1;
                    continue;
                };
                carried.insert(op.name);
                for other in [1, digit.size - 1] {
                    let mut moved = plain.clone();
                    for ((data, ty), &digit) in moved.iter_mut().zip(&types).zip(&below) {
                        *data = renumbered(data, ty, digit.filter(|digit| ty.shape[digit.dim] != 1), other);
                    }
                    let found = evaluated(&graph, &moved, output);
                    assert_eq!(found, renumbered(&wanted, result, Some(digit), other), "{call}.{slot}: {digit:?}");
                }
            }
        }
    }
    assert!(refused > 50, "{refused}");
    let others = all().filter(|op| {
        !matches!(op.elements, Elements::Unknown | Elements::Placewise(_) | Elements::Lane(_))
            && !carried.contains(op.name)
    });
    assert_eq!(others.map(|op| op.name).collect::<Vec<_>>(), ["diagonal", "unfold"], "these alone carry none");
}

/// A tensor of these places along a dimension, and its type.
fn selection(data: &[Number], ty: &TensorType, dim: usize, places: &[usize]) -> (Vec<Number>, TensorType) {
    let mut taken = ty.clone();
    taken.shape[dim] = places.len();
    let from = |flat: usize| {
        let mut index: Shape = unflatten(&taken.shape, flat);
        index[dim] = places[index[dim]];
        data[flat_index(&ty.shape, &index)]
    };
    ((0..taken.numel()).map(from).collect(), taken)
}

/// The inputs of a graph, with other types.
fn with_types(graph: &Graph, types: &[TensorType]) -> String {
    let names = graph.inputs().iter().map(|&input| &graph.node(input).name);
    names.zip(types).map(|(name, ty)| format!("{name}: {ty}")).collect::<Vec<_>>().join(", ")
}

#[test]
fn places_that_are_local_are_computed_from_the_same_places() {
    let mut local_of: BTreeSet<&'static str> = BTreeSet::new();
    let mut dependent = 0;
    for (inputs, call) in CALLS.iter().chain(DEPENDENT) {
        let graph = graph_of(inputs, call).unwrap_or_else(|e| panic!("{call}: {e}"));
        let node = graph.outputs()[0].value.node;
        let NodeKind::Op { op: Op::Table(op), attrs } = &graph.node(node).kind else { panic!("{call}") };
        let types: Vec<&TensorType> = graph.inputs().iter().map(|&input| graph.ty(input.into())).collect();
        let plain: Vec<Vec<Number>> = types.iter().enumerate().map(|(n, ty)| elements(ty, n)).collect();
        let of_call = Call { op, attrs, operands: &types };
        for (slot, result) in graph.node(node).types.iter().enumerate() {
            let output = Value::new(node, slot as u32);
            let wanted = evaluated(&graph, &plain, output);
            for dim in 0..result.rank() {
                let Some(local) = of_call.local_dims(slot, result, dim) else {
                    dependent += 1;
                    continue;
                };
                for places in [vec![result.shape[dim] - 1], vec![0], vec![result.shape[dim] - 1, 0, 0]] {
                    let taken = plain.iter().zip(&types).zip(&local).map(|((data, ty), &at)| match at {
                        Some(at) if ty.shape[at] == result.shape[dim] => selection(data, ty, at, &places),
                        _ => (data.clone(), (*ty).clone()),
                    });
                    let (data, taken): (Vec<_>, Vec<_>) = taken.unzip();
                    let (wanted, wanted_type) = selection(&wanted, result, dim, &places);
                    // Attributes that name a size do not fit any more; then nothing is said.
                    let Ok(graph) = graph_of(&with_types(&graph, &taken), call) else { continue };
                    let output = Value::new(graph.outputs()[0].value.node, slot as u32);
                    if *graph.ty(output) == wanted_type {
                        local_of.insert(op.name);
                        assert_eq!(evaluated(&graph, &data, output), wanted, "{call}.{slot}: {dim} {places:?}");
                    }
                }
            }
        }
    }
    assert!(local_of.len() > 40 && dependent > 50, "{} {dependent}", local_of.len());
}

/// What is done to every element before it is moved is done to it after that.
#[test]
fn operators_that_only_move_elements_do_so_whatever_those_are() {
    let mut moving: BTreeSet<&'static str> = BTreeSet::new();
    for (inputs, call) in CALLS {
        let graph = graph_of(inputs, call).unwrap_or_else(|e| panic!("{call}: {e}"));
        let node = graph.outputs()[0].value.node;
        let NodeKind::Op { op: Op::Table(op), .. } = &graph.node(node).kind else { panic!("{call}") };
        if !op.only_moves() {
            continue;
        }
        moving.insert(op.name);
        let types = graph.inputs().iter().map(|&input| graph.ty(input.into()));
        let plain: Vec<Vec<Number>> = types.enumerate().map(|(n, ty)| elements(ty, n)).collect();
        let changed = |data: &[Number]| -> Vec<Number> { data.iter().map(|&x| Number::float(1.0) - x * x).collect() };
        let mut other = plain.clone();
        other[0] = changed(&plain[0]);
        for slot in 0..graph.node(node).types.len() {
            let output = Value::new(node, slot as u32);
            assert_eq!(evaluated(&graph, &other, output), changed(&evaluated(&graph, &plain, output)), "{call}.{slot}");
        }
    }
    let all_moving: BTreeSet<&str> = all().filter(|op| op.only_moves()).map(|op| op.name).collect();
    let untried: Vec<&&str> = all_moving.iter().filter(|&&name| !moving.contains(name)).collect();
    assert_eq!(untried, [&"diagonal", &"unfold"], "{all_moving:?}");
}

/// Calls in which places along a dimension are alike and yet depend on each other.
const DEPENDENT: &[(&str, &str)] = &[
    ("x: f64[4, 3, 2]", "r, mean, scale = batch_norm_training(x)"),
    ("x: f64[4, 3, 2]", "group_norm(x; groups=3, eps=1e-5)"),
    ("x: f64[4, 3, 2]", "log_softmax(x; dim=0)"),
    ("x: f64[4, 3, 2]", "cumsum(x; dim=0)"),
    ("x: f64[4, 3]", "layer_norm(x; normalized_shape=[3], eps=1e-5)"),
    ("x: f64[4, 3], y: f64[5, 3]", "cdist(x, y)"),
    ("x: f64[4, 3]", "r, places = sort(x; dim=0, stable=true)"),
    ("x: f64[4, 3]", "argmax(x; dim=0)"),
    ("x: f64[4, 3]", "logcumsumexp(x; dim=0)"),
    ("x: f64[4, 3, 2], m: bool[4, 1, 2], y: f64[2]", "where(m, x, y)"),
];
