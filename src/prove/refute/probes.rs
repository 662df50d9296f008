//! Numbers on which programs that look equal part: those that the graphs name, and their neighbours, ties, zero, numbers
//! of both signs, and for integers the ends of their types.

use crate::ir::{DType, Graph, Node, NodeKind};
use crate::ops::{AttrKind, Op, is_number};

/// Elements of a literal that count as numbers that a graph names: larger ones are tables.
const FEW: usize = 4;

/// Most numbers that are taken from the graphs, evenly from all that they name.
const MOST: usize = 24;

/// The finite numbers that stand in the graphs: literals of few elements, and attributes that are numbers.
pub(super) fn named_numbers(graphs: [&Graph; 2]) -> Vec<f64> {
    let nodes = graphs.iter().flat_map(|graph| graph.nodes());
    let mut named: Vec<f64> = nodes.flat_map(|(_, node)| numbers(node)).filter(|v| v.is_finite()).collect();
    named.sort_by(f64::total_cmp);
    named.dedup();
    let step = named.len().div_ceil(MOST).max(1);
    named.into_iter().step_by(step).collect()
}

/// Negative integers that the graphs name, as -100 for a label that is left out: labels and places may well hold them.
pub(super) fn marks(graphs: [&Graph; 2]) -> Vec<f64> {
    let integers = graphs
        .iter()
        .flat_map(|graph| graph.nodes())
        .filter(|(_, node)| node.types.first().is_some_and(|ty| ty.dtype.is_int()));
    let mut marks: Vec<f64> = integers.flat_map(|(_, node)| numbers(node)).filter(|number| *number < 0.0).collect();
    marks.sort_by(f64::total_cmp);
    marks.dedup();
    marks.truncate(MOST);
    marks
}

/// The numbers that a node states.
fn numbers(node: &Node) -> Vec<f64> {
    match &node.kind {
        NodeKind::Literal(literal) if literal.data.len() <= FEW => {
            literal.data.iter().map(|number| number.to_f64()).collect()
        }
        NodeKind::Op { op: Op::Table(def), attrs } => {
            let stated = def.attrs.iter().zip(attrs).filter(|(of, _)| {
                matches!(of.kind, AttrKind::Number | AttrKind::Float) || is_number(def) && of.name == "value"
            });
            stated.filter_map(|(_, value)| value.as_float()).collect()
        }
        _ => Vec::new(),
    }
}

/// What inputs of this type are tried with.
pub(super) fn probes(dtype: DType, named: &[f64]) -> Vec<f64> {
    if dtype == DType::Bool {
        return vec![0.0, 1.0];
    }
    let (low, high) = range(dtype);
    let mut all: Vec<f64> = if dtype.is_float() {
        vec![-7.0, -2.5, -2.0, -1.0, -0.5, 0.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 20.5]
    } else {
        vec![low, -9.0, -7.0, -3.0, -2.0, -1.0, 0.0, 0.0, 1.0, 2.0, 3.0, 5.0, 8.0, 100.0, high]
    };
    let step = if dtype.is_float() { 0.25 } else { 1.0 };
    all.extend(named.iter().flat_map(|&v| [v, -v, v - step, v + step]));
    all.retain(|v| (low..=high).contains(v));
    all.sort_by(f64::total_cmp);
    all
}

/// Beyond this, results of ordinary operators leave the range of the type; of integers, the ends of the type as far as f64
/// holds them.
fn range(dtype: DType) -> (f64, f64) {
    match dtype {
        d if d.is_float() && d.bytes() == 1 => (-16.0, 16.0),
        DType::F16 => (-64.0, 64.0),
        d if d.is_float() => (-1e4, 1e4),
        // The largest of 64 bits is no f64.
        d => d.int_range().map_or((0.0, 0.0), |(low, high)| (low as f64, high.min(1 << 62) as f64)),
    }
}
