//! What is found equal has equal elements where the reference evaluator computes them.

use num_traits::ToPrimitive;
use proptest::prelude::*;

use super::super::form::{Atom, AtomId, FormId, Function, Operation, Product};
use super::super::store::Store;
use super::*;
use crate::ir::{DType, Value};
use crate::ops::{Arithmetic, Comparison};

const LESS: Operation = Operation::Arithmetic(Arithmetic::Compare(Comparison::Less));
const SELECT: Operation = Operation::Arithmetic(Arithmetic::Select);

/// An expression in postfix notation: what is not understood is left out.
fn postfix(steps: &[usize]) -> String {
    let (mut body, mut stack) = (String::new(), Vec::<String>::new());
    for (i, step) in steps.iter().enumerate() {
        let name = format!("v{i}");
        let value = match step {
            0 => "alias(x)".to_owned(),
            1 => "permute(x; dims=[1, 0, 2])".to_owned(),
            2..=8 => {
                let value = ["0.0", "-0.0", "1.0", "-1.0", "2.0", "inf", "nan"][step - 2];
                format!("full(; shape=[2, 2, 2], value={value}, dtype=f32)")
            }
            9..=12 => {
                let Some(top) = stack.pop() else { continue };
                format!("{}({top})", ["neg", "reciprocal", "relu", "abs"][step - 9])
            }
            _ => {
                let (Some(b), Some(a)) = (stack.pop(), stack.pop()) else { continue };
                format!("{}({a}, {b})", ["add", "sub", "mul", "div", "maximum"][step - 13])
            }
        };
        body += &format!("{name} = {value}\n ");
        stack.push(name);
    }
    body + &format!("y = alias({})", stack.pop().unwrap_or_else(|| "x".to_owned()))
}

/// How much larger than a sum its products may be. A case that does not hold may be far larger than the one that does.
const LARGEST_CANCELLATION: f64 = 1e9;

/// The value of a formula over elements of one tensor, `x`; no number where nothing but rounding is left of its products.
fn value(store: &Store, id: FormId, x: &[Number]) -> f64 {
    let of = |id: FormId| value(store, id, x);
    let atom = |atom: &AtomId| match store.atom_of(*atom) {
        Atom::Leaf(_, at) => x[*at].to_f64(),
        Atom::Constant(number) => number.to_f64(),
        Atom::Function(Function::Exp, id) => of(*id).exp(),
        Atom::Function(Function::Log, id) => of(*id).ln(),
        Atom::Function(Function::Reciprocal, id) => 1.0 / of(*id),
        Atom::Function(Function::Sqrt, id) => of(*id).sqrt(),
        Atom::Function(Function::Abs, id) => of(*id).abs(),
        Atom::Function(Function::Sine, id) => of(*id).sin(),
        Atom::Function(Function::Cosine, id) => of(*id).cos(),
        Atom::Indicator(id) => of(*id),
        Atom::Above(id) | Atom::Zero(id) if of(*id).is_nan() => f64::NAN,
        Atom::Above(id) => f64::from(u8::from(of(*id) > 0.0)),
        Atom::Zero(id) => f64::from(u8::from(of(*id) == 0.0)),
        Atom::Largest(all) => {
            all.iter().map(|&id| of(id)).fold(f64::NEG_INFINITY, |x, y| if x >= y || x.is_nan() { x } else { y })
        }
        // What overflows in the formula alone is not compared, nor what is chosen by it.
        Atom::Applied { what: LESS, operands, .. } => match of(operands[0].1).partial_cmp(&of(operands[1].1)) {
            Some(order) => f64::from(u8::from(order.is_lt())),
            None => f64::NAN,
        },
        Atom::Applied { what: SELECT, operands, .. } => match of(operands[0].1) {
            chosen if chosen.is_nan() => chosen,
            chosen => of(operands[if chosen == 0.0 { 2 } else { 1 }].1),
        },
        other => panic!("{other:?}"),
    };
    let product = |p: &Product| p.number.to_f64().unwrap() * p.factors.iter().map(atom).product::<f64>();
    let products: Vec<f64> = store.form(id).products().iter().map(product).collect();
    let (sum, size): (f64, f64) = (products.iter().sum(), products.iter().map(|p| p.abs()).sum());
    if size > LARGEST_CANCELLATION * sum.abs().max(1.0) { f64::NAN } else { sum }
}

/// As [`postfix`], with functions of real numbers, in f64.
fn functions(steps: &[usize]) -> String {
    let (mut body, mut stack) = (String::new(), vec!["d".to_owned()]);
    for (i, step) in steps.iter().enumerate() {
        let name = format!("v{i}");
        let value = match step {
            0 => "alias(d)".to_owned(),
            1 => "permute(d; dims=[1, 0, 2])".to_owned(),
            2 | 3 => format!("full(; shape=[2, 2, 2], value={}, dtype=f64)", ["1.0", "-2.0"][step - 2]),
            4..=19 => {
                let Some(top) = stack.pop() else { continue };
                let op = [
                    "neg",
                    "reciprocal",
                    "abs",
                    "exp",
                    "exp",
                    "log",
                    "sqrt",
                    "rsqrt",
                    "sigmoid",
                    "silu",
                    "softmax",
                    "log_softmax",
                    "relu",
                    "softmax",
                    "sin",
                    "cos",
                ][step - 4];
                let dim = if op.ends_with("softmax") { "; dim=1" } else { "" };
                format!("{op}({top}{dim})")
            }
            20 => {
                let (Some(b), Some(a)) = (stack.pop(), stack.last()) else { continue };
                body += &format!("{name}c = gt({a}, {b})\n ");
                format!("where({name}c, {a}, {b})")
            }
            _ => {
                let (Some(b), Some(a)) = (stack.pop(), stack.last()) else { continue };
                format!("{}({a}, {b})", ["add", "sub", "mul", "div", "maximum", "minimum"][step - 21])
            }
        };
        body += &format!("{name} = {value}\n ");
        stack.push(name);
    }
    body + &format!("y = alias({})", stack.pop().unwrap_or_else(|| "d".to_owned()))
}

/// One more operator that keeps the shape `[2, 2, 2]`.
fn step(kind: usize, dim: usize, from: &str, to: &str) -> String {
    let order = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]][(kind + dim) % 6];
    match kind % 9 {
        0 => format!("{to} = permute({from}; dims={order:?})\n"),
        1 => format!("{to} = flip({from}; dims=[{dim}])\n"),
        2 => format!("{to} = roll({from}; shifts=[1], dims=[{dim}])\n"),
        3 => format!(
            "{to}a = slice({from}; dim={dim}, start=1, end=2)\n {to}b = slice({from}; dim={dim}, start=0, end=1)\n \
             {to} = concat({to}a, {to}b; dim={dim})\n"
        ),
        4 => format!("{to}a = permute({from}; dims={order:?})\n {to} = add({from}, {to}a)\n"),
        5 => format!("{to}a = sum({from}; dim=[{dim}], keepdim=true)\n {to} = sub({from}, {to}a)\n"),
        6 => format!("{to} = matmul({from}, w)\n"),
        7 => format!("{to}a = softmax({from}; dim={dim})\n {to} = mul({to}a, {from})\n"),
        _ => format!(
            "{to}a = reshape({from}; shape=[2, 4])\n {to}b = permute({to}a; dims=[1, 0])\n \
             {to} = reshape({to}b; shape=[2, 2, 2])\n"
        ),
    }
}

/// One more operator that keeps the shape `[2, 2, 2]` and reads a constant, of which there are four.
fn step_with_constant(kind: usize, number: usize, from: &str, to: &str) -> String {
    let at = number % 4;
    match kind % 6 {
        0 => format!("{to}l = full(; shape=[], value={at}.5, dtype=f32)\n {to} = where(m{at}, {to}l, {from})\n"),
        1 => format!("{to}l = full(; shape=[], value={at}.5, dtype=f32)\n {to} = where(m3, {from}, {to}l)\n"),
        2 => format!("{to} = add({from}, f{at})\n"),
        3 => format!("{to} = gather({from}, b{at}; dim={})\n", number % 3),
        4 => format!("{to} = index_select({from}, j{at}; dim={})\n", number % 3),
        _ => step(number, number % 3, from, to),
    }
}

/// A chain of such operators, after the constants: masks `m`, floats `f`, places `b` and `j`.
fn chain_with_constants(steps: &[(usize, usize)]) -> String {
    let mut body =
        "i = arange(; end=8, dtype=i64)\n t = reshape(i; shape=[2, 2, 2])\n j3 = arange(; end=2, dtype=i64)\n \
                    o = number(; value=1, dtype=i64)\n j1 = mul(j3, j3)\n j2 = sub(o, j3)\n j0 = flip(j2; dims=[0])\n "
            .to_owned();
    for at in 0..4 {
        body += &format!(
            "n{at} = number(; value={}, dtype=i64)\n m{at} = lt(t, n{at})\n f{at} = cast(m{at}; dtype=f32)\n \
             b{at} = cast(m{at}; dtype=i64)\n ",
            [1, 4, 6, 7][at]
        );
    }
    for (n, &(kind, number)) in steps.iter().enumerate() {
        let from = if n == 0 { "x".to_owned() } else { format!("v{}", n - 1) };
        body += &step_with_constant(kind, number, &from, &format!("v{n}"));
    }
    body + &format!("y = alias({})", if steps.is_empty() { "x".to_owned() } else { format!("v{}", steps.len() - 1) })
}

fn chain(steps: &[(usize, usize)]) -> String {
    let mut body = String::new();
    for (n, &(kind, dim)) in steps.iter().enumerate() {
        let from = if n == 0 { "x".to_owned() } else { format!("v{}", n - 1) };
        body += &step(kind, dim, &from, &format!("v{n}"));
    }
    body + &format!("y = alias({})", if steps.is_empty() { "x".to_owned() } else { format!("v{}", steps.len() - 1) })
}

/// A product of two exponentials of such numbers is a double.
const LARGEST_EXPONENT: f64 = 300.0;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn what_is_found_equal_is(
        one in prop::collection::vec((0_usize..9, 0_usize..3), 0..4),
        other in prop::collection::vec((0_usize..9, 0_usize..3), 0..4),
        seed in any::<u64>(),
    ) {
        let (a, b) = (graph(&chain(&one)), graph(&chain(&other)));
        if found(&a, &b).is_some() {
            for (x, y) in elements(&a, seed).into_iter().zip(elements(&b, seed)) {
                let (x, y) = (x.to_f64(), y.to_f64());
                prop_assert!((x - y).abs() <= 1e-9 * x.abs().max(1.0), "{} {}", chain(&one), chain(&other));
            }
        }
    }

    /// Whatever is a leaf, constants too.
    #[test]
    fn what_is_found_equal_over_leaves_is(
        one in prop::collection::vec((0_usize..6, 0_usize..12), 1..4),
        edit in (0_usize..3, 0_usize..6, 0_usize..12),
        other in prop::option::of(prop::collection::vec((0_usize..6, 0_usize..12), 1..4)),
        chosen in any::<u64>(),
        seed in any::<u64>(),
    ) {
        // Most often the same with another step.
        let other = other.unwrap_or_else(|| {
            let mut other = one.clone();
            let at = edit.0 % other.len();
            other[at] = (edit.1, edit.2);
            other
        });
        let (a, b) = (graph(&chain_with_constants(&one)), graph(&chain_with_constants(&other)));
        let mut arena = TermArena::default();
        let roots = roots(&mut arena, &a, &b);
        let terms = (0..arena.len()).map(|n| arena.nth(n));
        let leaves: Leaves = terms.filter(|t| chosen >> (t.index() % 64) & 1 == 1 && !roots.contains(t)).collect();
        if same_elements(&arena, roots, &leaves, Tier::Rounding, &mut { ALL_WAYS }).is_some() {
            for (x, y) in elements(&a, seed).into_iter().zip(elements(&b, seed)) {
                let (x, y) = (x.to_f64(), y.to_f64());
                let (one, other) = (chain_with_constants(&one), chain_with_constants(&other));
                prop_assert!((x - y).abs() <= 1e-9 * x.abs().max(1.0), "{x} {y}: {one} {other}");
            }
        }
    }

    /// With infinities, NaN, and zeros of both signs among the numbers.
    #[test]
    fn arithmetic_that_is_found_equal_is(
        one in prop::collection::vec(0_usize..18, 1..9),
        other in prop::collection::vec(0_usize..18, 1..9),
        seed in any::<u64>(),
    ) {
        let (a, b) = (graph(&postfix(&one)), graph(&postfix(&other)));
        if found(&a, &b).is_some() {
            for (x, y) in elements(&a, seed).into_iter().zip(elements(&b, seed)) {
                let (x, y) = (x.to_f64(), y.to_f64());
                let same = x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= 1e-9 * x.abs().max(1.0);
                prop_assert!(same, "{x} {y}: {} {}", postfix(&one), postfix(&other));
            }
        }
    }

    /// A formula over the real numbers has the value of what it was written down for.
    #[test]
    fn formulas_have_the_values_of_elements(
        steps in prop::collection::vec(0_usize..27, 1..12), cases in any::<bool>(), seed in any::<u64>(),
    ) {
        let graph = graph(&functions(&steps));
        let mut arena = TermArena::default();
        let [root, _] = roots(&mut arena, &graph, &graph);
        let leaves = Leaves::default();
        let scope = Scope::new(&arena, &leaves);
        let mut elements = Formulas::new(&scope, Way { cases, ..Way::of(Mode::Reals) }, DType::F64, ELEMENTS);
        let program = GraphProgram::new(&graph, seed);
        let mut evaluator = LazyEvaluator::new(&program, Options { rounding: false, budget: 1 << 20 });
        let all: Vec<Vec<Number>> = graph.operators().map(|(id, _)| evaluator.tensor(id.into()).unwrap()).collect();
        // What is no real number has no formula, and what is computed from it need not be what its formula says. Exponentials of large
        // numbers overflow inside of formulas where the operators that they were written down for subtract a maximum first.
        if !all.iter().flatten().all(|v| v.to_f64().abs() <= LARGEST_EXPONENT) {
            return Ok(());
        }
        let x = evaluator.tensor(Value::from(graph.inputs()[4])).unwrap();
        let y = evaluator.tensor(graph.outputs()[0].value).unwrap();
        for (place, y) in y.iter().enumerate() {
            let index = [place / 4, place / 2 % 2, place % 2];
            let Some(id) = elements.element(root, &index, 0) else { continue };
            let (found, y) = (value(&elements.store, id, &x), y.to_f64());
            // Formulas may overflow where what they were written down for does not, and round otherwise.
            if found.is_finite() {
                prop_assert!((found - y).abs() <= 1e-3 * y.abs().max(1.0), "{found} {y}: {}", functions(&steps));
            }
        }
    }
}
