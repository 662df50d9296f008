mod cases;
mod limits;
mod places;
mod property;
mod reals;
mod whole;

use super::formulas::Formulas;
use super::mode::{Mode, Way};
use super::scope::{Leaves, Scope};
use super::{ALL_WAYS, ELEMENTS, same_elements};
use crate::eval::{GraphProgram, LazyEvaluator, Options};
use crate::ir::{Graph, Number, text};
use crate::prove::kernel::arena::{Side, TermArena, TermId};
use crate::prove::kernel::{GraphLeaves, graph_terms};
use crate::rules::Tier;

const INPUTS: &str = "x: f32[2, 2, 2], w: f32[2, 2], m: bf16[2, 2, 2], whole: i64[2, 2, 2], d: f64[2, 2, 2]";

fn graph(body: &str) -> Graph {
    text::parse("test.mir", &format!("graph g({INPUTS}) {{ {body}\n return y }}")).unwrap()
}

/// The results of two graphs as terms.
fn roots(arena: &mut TermArena, a: &Graph, b: &Graph) -> [TermId; 2] {
    let mut root = |graph: &Graph, side: Side| -> TermId {
        let numbers: Vec<u32> = (0..graph.inputs().len() as u32).collect();
        let values = graph_terms(arena, graph, &GraphLeaves::of(graph, side, &numbers)).unwrap();
        let value = graph.outputs()[0].value;
        values[value.node.index()][value.slot as usize]
    };
    [root(a, Side::A), root(b, Side::B)]
}

/// How equal the results of two graphs are found to be.
fn found(a: &Graph, b: &Graph) -> Option<Tier> {
    let mut arena = TermArena::default();
    let roots = roots(&mut arena, a, b);
    same_elements(&arena, roots, &Leaves::default(), Tier::Rounding, &mut { ALL_WAYS })
}

/// How equal they are if elements may be infinite or NaN.
fn equal_at_limits(a: &str, b: &str) -> Option<Tier> {
    let mut arena = TermArena::default();
    let roots = roots(&mut arena, &graph(a), &graph(b));
    let places: Vec<Vec<usize>> = arena.ty(roots[0]).shape.iter().map(|&size| (0..size).collect()).collect();
    let leaves = Leaves::default();
    let (scope, dtype) = (Scope::new(&arena, &leaves), arena.ty(roots[0]).dtype);
    let found = |mode| Formulas::new(&scope, Way::of(mode), dtype, ELEMENTS).compare(roots, &places);
    found(Mode::Operators).or_else(|| found(Mode::Products))
}

pub(super) fn equal(a: &str, b: &str) -> Option<Tier> {
    found(&graph(a), &graph(b))
}

fn elements(graph: &Graph, seed: u64) -> Vec<Number> {
    let program = GraphProgram::new(graph, seed);
    let mut evaluator = LazyEvaluator::new(&program, Options { rounding: false, budget: 1 << 20 });
    evaluator.tensor(graph.outputs()[0].value).unwrap()
}

/// `x` times each of these numbers in turn.
fn times(input: &str, dtype: &str, numbers: &[&str]) -> String {
    let mut body = String::new();
    let mut last = input.to_owned();
    for (i, number) in numbers.iter().enumerate() {
        body += &format!("k{i} = number(; value={number}, dtype={dtype})\n p{i} = mul({last}, k{i})\n ");
        last = format!("p{i}");
    }
    body + &format!("y = alias({last})")
}
