//! Residual sublayers that can be switched off by zero weights, so that only the suspect part of a deep model is computed.
//!
//! `x + f(x)` is `x` where the last weight of `f` is 0. A difference in one layer then reaches the output through a
//! few operators instead of all the layers behind it.

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::inputs::traced;
use crate::ir::{Graph, NodeId, NodeKind, Value};
use crate::ops::{Op, Vanishes};

/// Numbers of the parameters that make a value 0 when they are 0.
type Closers = SmallVec<[u32; 4]>;

/// A sum of the residual stream and a branch that can be switched off.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Branch {
    pub sum: NodeId,
    /// The operand that is the branch.
    pub end: Value,
    pub closers: Closers,
}

/// The branches of a graph in topological order. `numbers` are those of its inputs.
pub(super) fn branches(graph: &Graph, numbers: &[u32]) -> Vec<Branch> {
    let traced = traced(graph, numbers);
    let parameter = |v: Option<&Value>| -> Option<u32> { traced.get(v?).copied() };
    let mut closers: Vec<Option<Closers>> = vec![None; graph.len()];
    let mut branches = Vec::new();
    for (id, node) in graph.nodes() {
        let NodeKind::Op { op: Op::Table(op), .. } = &node.kind else { continue };
        let operands = graph.operands(id);
        let of = |i: usize| operands.get(i).and_then(|v: &Value| closers[v.node.index()].clone());
        let with = |closers: Option<Closers>, bias: Option<u32>| {
            closers.map(|mut all| {
                all.extend(bias);
                all
            })
        };
        let only = |n: u32| -> Closers { [n].into_iter().collect() };
        let bias = |at: Option<usize>| at.and_then(|at| parameter(operands.get(at)));
        let found = match op.vanishes {
            Vanishes::Never => None,
            Vanishes::WithWeight { weight, bias: at } => with(parameter(operands.get(weight)).map(only), bias(at)),
            Vanishes::With { operand, bias: at } => with(of(operand), bias(at)),
            Vanishes::WithAny => match (of(0), of(1)) {
                (Some(x), Some(y)) => Some(union(x, y)),
                (x, y) => x.or(y),
            },
            Vanishes::WithAll => (0..operands.len()).map(of).reduce(|x, y| Some(union(x?, y?))).flatten(),
            Vanishes::WithBoth => match (of(0), of(1)) {
                (Some(x), Some(y)) => Some(union(x, y)),
                (None, None) => None,
                (x, y) => {
                    let (branch, other) = if x.is_some() { (0, 1) } else { (1, 0) };
                    let closers = x.or(y);
                    match parameter(operands.get(other)) {
                        Some(bias) => with(closers, Some(bias)),
                        None => {
                            branches.extend(closers.map(|closers| Branch { sum: id, end: operands[branch], closers }));
                            None
                        }
                    }
                }
            },
        };
        closers[id.index()] = found;
    }
    branches
}

fn union(mut x: Closers, y: Closers) -> Closers {
    x.extend(y);
    x.sort_unstable();
    x.dedup();
    x
}

/// The branches that a difference arising in one of `suspects` shows in: the first that each of them feeds, and as many
/// `behind` that one.
pub(super) fn active<'b>(graph: &Graph, branches: &'b [Branch], suspects: &[NodeId], behind: usize) -> Vec<&'b Branch> {
    let sums: FxHashSet<NodeId> = branches.iter().map(|b| b.sum).collect();
    let mut active = Vec::new();
    for &suspect in suspects {
        let mut seen: FxHashSet<NodeId> = FxHashSet::from_iter([suspect]);
        let mut open = vec![suspect];
        while let Some(n) = open.pop() {
            if n != suspect && sums.contains(&n) {
                continue;
            }
            open.extend(graph.users(n).filter(|&u| seen.insert(u)));
        }
        let own = branches.iter().position(|b| b.sum == suspect);
        let fed = branches.iter().position(|b| b.sum != suspect && seen.contains(&b.end.node));
        if let Some(first) = own.or(fed) {
            active.extend(branches.iter().skip(first).take(1 + behind));
        }
    }
    active
}
