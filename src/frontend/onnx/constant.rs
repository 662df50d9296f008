//! Operators over constants, such as the arithmetic on shapes that exporters write out, are computed while the file is read.

use std::path::Path;
use std::rc::Rc;

use super::held::{Constant, Held, Sink};
use super::lowering::NodeLowering;
use super::operators::Lower;
use crate::eval::{GraphProgram, LazyEvaluator, Options};
use crate::frontend::builder::Builder;
use crate::ir::{Graph, NodeKind, Number, Origin, Value};
use crate::ops::{Call, Op};

/// The most elements that an operand or a result may have to be computed here.
const MAX_ELEMENTS: usize = 1 << 12;

/// Up to here, floats of 32 bits have all whole numbers.
const MOST_WHOLE: f64 = (1 << 24) as f64;

/// What evaluating one result may cost.
const BUDGET: usize = 1 << 18;

/// The outputs of an operator, if all its inputs are small constants and its results are bit for bit what every runtime
/// gives.
pub(super) fn fold(site: &NodeLowering, lower: Lower) -> Option<Vec<Held>> {
    if site.inputs.is_empty() || !site.inputs.iter().flatten().all(is_small) {
        return None;
    }
    let mut scratch = Sink::new(Builder::new(Path::new("")));
    let mut apart = NodeLowering {
        sink: &mut scratch,
        node: site.node,
        attributes: site.attributes,
        inputs: site.inputs,
        version: site.version,
        name: site.name,
        origin: Origin::default(),
        initialized: site.initialized,
        given: site.given,
        folder: site.folder,
    };
    let outputs = lower(&mut apart).ok()??;
    let graph = scratch.builder.graph;
    if !is_exact(&graph) && !outputs.iter().all(|held| is_whole(&graph, held)) {
        return None;
    }
    let names = site.node.output.iter().map(String::as_str).chain(std::iter::repeat("constant"));
    outputs.into_iter().zip(names).map(|(held, name)| known(&graph, held, name)).collect()
}

fn is_small(held: &Held) -> bool {
    match held {
        Held::Constant(constant) => constant.data.len() <= MAX_ELEMENTS,
        Held::List(all) => all.iter().all(is_small),
        Held::Nothing => true,
        Held::Value(_) => false,
    }
}

/// Whether every operator of a graph gives the same bits everywhere.
fn is_exact(graph: &Graph) -> bool {
    graph.nodes().all(|(id, node)| match &node.kind {
        NodeKind::Op { op: Op::Table(op), attrs } => {
            let operands = graph.operands(id);
            let types: Vec<_> = operands.iter().map(|&v| graph.ty(v)).collect();
            let call = Call { op, attrs, operands: &types };
            node.types.iter().all(|ty| op.kernel.is_exact(&call, ty))
        }
        NodeKind::Op { op: Op::Custom(_), .. } | NodeKind::Input { .. } => false,
        NodeKind::Literal(_) => true,
    })
}

/// Whether a result comes to whole numbers over the real numbers, as the root of 16 does: every library rounds those to themselves.
fn is_whole(graph: &Graph, held: &Held) -> bool {
    let Held::Value(value) = *held else { return false };
    if graph.ty(value).numel() > MAX_ELEMENTS {
        return false;
    }
    let program = GraphProgram::new(graph, 0);
    let all = LazyEvaluator::new(&program, Options { rounding: false, budget: BUDGET }).tensor(value);
    let whole = |n: &Number| n.to_f64().fract() == 0.0 && n.to_f64().abs() <= MOST_WHOLE;
    all.is_ok_and(|all| all.iter().all(whole))
}

fn known(graph: &Graph, held: Held, name: &str) -> Option<Held> {
    match held {
        Held::Value(value) => constant(graph, value, name),
        Held::List(all) => {
            let parts = all.iter().map(|part| known(graph, part.clone(), name)).collect::<Option<Vec<_>>>()?;
            Some(Held::List(Rc::new(parts)))
        }
        other => Some(other),
    }
}

fn constant(graph: &Graph, value: Value, name: &str) -> Option<Held> {
    let ty = graph.ty(value);
    if ty.numel() > MAX_ELEMENTS {
        return None;
    }
    let program = GraphProgram::new(graph, 0);
    let data = LazyEvaluator::new(&program, Options { rounding: true, budget: BUDGET }).tensor(value).ok()?;
    Some(Constant::held(name, ty.clone(), data))
}
