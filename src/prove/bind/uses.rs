//! What a graph does with its weights, described so that graphs of two formats can be compared.
//!
//! One format multiplies by `w` as its rows are, another one by the transpose: a description is the same for both. Uses come in an order
//! that follows from what is computed from what, and not from how a file lists its operators.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::ir::{AttrValue, Attrs, Graph, NodeId, NodeKind, TensorType, Value};
use crate::ops::{Call, Digit, Family, Movement, Op, OpDef, Renumbering, Vanishes};

/// What a weight is to the operator that reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum UseKind {
    /// The matrix of a product.
    Matrix,
    /// It is added, as a bias is.
    Addend,
    /// It is multiplied by, place by place, as the scale of a norm is.
    Factor,
    /// This operand of an operator of this name.
    Operand(&'static str, usize),
}

/// A use, without what differs between formats.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Description {
    pub kind: UseKind,
    /// The type of the weight; of a matrix with a row for each column of the product.
    pub ty: TensorType,
}

/// A place where a weight is read.
#[derive(Clone, Debug)]
pub(super) struct WeightUse {
    /// The weight, by its number among the inputs.
    pub weight: usize,
    pub what: Description,
    /// Whether the weight itself has a column for each column of the product.
    pub turned: bool,
    /// The input that is added to the product.
    pub bias: Option<usize>,
    /// The weights that the operator's other operands were last computed from, one for each operator that reads some. Empty where there are too many.
    pub after: Vec<usize>,
}

/// So many weights say what stands before a use.
const MAX_AFTER: usize = 8;

/// A product may be viewed in so many ways before a bias is added.
const MAX_VIEWS: usize = 4;

/// All uses of the inputs for which `is_weight` holds by what the results are computed from.
pub(super) fn weight_uses(graph: &Graph, is_weight: &dyn Fn(usize) -> bool) -> Vec<WeightUse> {
    let positions = graph.inputs().iter().zip(0..).filter(|&(_, i)| is_weight(i)).map(|(&id, i)| (id, i)).collect();
    let reader = Reader { graph, positions };
    let mut found: Vec<(NodeId, WeightUse)> = Vec::new();
    for node in dataflow_order(graph) {
        found.extend(reader.uses_at(node).into_iter().map(|found| (node, found)));
    }
    let after = weights_before(graph, &found);
    let with_after = |(node, found): (NodeId, WeightUse)| WeightUse { after: after[node.index()].clone(), ..found };
    found.into_iter().map(with_after).collect()
}

struct Reader<'g> {
    graph: &'g Graph,
    positions: FxHashMap<NodeId, usize>,
}

/// A weight, and how it is viewed.
struct Viewed {
    weight: usize,
    /// Whether it is a matrix that is transposed.
    turned: bool,
    reshaped: bool,
}

impl Reader<'_> {
    fn uses_at(&self, node: NodeId) -> Vec<WeightUse> {
        let NodeKind::Op { op: Op::Table(op), attrs } = &self.graph.node(node).kind else { return Vec::new() };
        if is_view(op) {
            return Vec::new();
        }
        let found = |(at, &operand): (usize, &Value)| {
            let viewed = self.viewed(operand)?;
            let ty = self.graph.ty(Value::from(*self.graph.inputs().get(viewed.weight)?));
            let turned = self.is_turned(node, op, attrs, at, &viewed);
            let mut what = Description { kind: self.kind(op, at, turned), ty: ty.clone() };
            if turned == Some(true) {
                what.ty.shape.reverse();
            }
            let bias = turned.and_then(|_| self.bias(node, op));
            Some(WeightUse { weight: viewed.weight, what, turned: turned == Some(true), bias, after: Vec::new() })
        };
        self.graph.operands(node).iter().enumerate().filter_map(found).collect()
    }

    /// The weight that a value is, as it is or viewed in another way.
    fn viewed(&self, mut value: Value) -> Option<Viewed> {
        let (mut turned, mut reshaped) = (false, false);
        loop {
            if let Some(&weight) = self.positions.get(&value.node) {
                return Some(Viewed { weight, turned, reshaped });
            }
            let NodeKind::Op { op: Op::Table(op), attrs } = &self.graph.node(value.node).kind else { return None };
            let [operand] = self.graph.operands(value.node)[..] else { return None };
            let swaps = || attrs.first().is_some_and(|dims| dims.is_same(&AttrValue::shape(&[1, 0])));
            match op.movement() {
                Some(Movement::Permute) if swaps() => turned = !turned,
                Some(Movement::Stay) => {}
                _ if is_view(op) => reshaped = true,
                _ => return None,
            }
            value = operand;
        }
    }

    /// Of the matrix of a product: whether its own columns give the product's columns. `None` of all other operands.
    fn is_turned(&self, node: NodeId, op: &'static OpDef, attrs: &Attrs, at: usize, viewed: &Viewed) -> Option<bool> {
        let Vanishes::WithWeight { weight, .. } = op.vanishes else { return None };
        let operands = self.graph.operands(node);
        let types: Vec<&TensorType> = operands.iter().map(|&v| self.graph.ty(v)).collect();
        if at != weight || viewed.reshaped || types[at].rank() != 2 {
            return None;
        }
        let result = self.graph.ty(Value::from(node));
        let dim = result.rank().checked_sub(1)?;
        let digit = Digit { dim, step: 1, size: result.shape[dim] };
        let call = Call { op, attrs, operands: &types };
        let digits = (op.digits)(&Renumbering { call: &call, slot: 0, result, digit })?;
        let columns = digits.get(at)?.as_ref()?.dim;
        Some((columns == 1) != viewed.turned)
    }

    fn kind(&self, op: &'static OpDef, at: usize, turned: Option<bool>) -> UseKind {
        let name = op.operands.get(at).map_or("", |operand| operand.name);
        match (op.vanishes, op.family) {
            _ if turned.is_some() => UseKind::Matrix,
            (Vanishes::WithBoth, _) => UseKind::Addend,
            (Vanishes::WithAny, _) => UseKind::Factor,
            (Vanishes::WithWeight { bias, .. }, _) if bias == Some(at) => UseKind::Addend,
            (_, Family::Norm) if name == "bias" => UseKind::Addend,
            (_, Family::Norm) if name == "weight" => UseKind::Factor,
            _ => UseKind::Operand(op.name, at),
        }
    }

    /// The input that is added to a product, by itself or behind it.
    fn bias(&self, mut product: NodeId, op: &'static OpDef) -> Option<usize> {
        if let Vanishes::WithWeight { bias: Some(bias), .. } = op.vanishes
            && let Some(&bias) = self.graph.operands(product).get(bias)
        {
            return Some(self.viewed(bias)?.weight);
        }
        for _ in 0..MAX_VIEWS {
            let mut users = self.graph.users(product);
            let (Some(user), None) = (users.next(), users.next()) else { return None };
            let NodeKind::Op { op: Op::Table(op), .. } = &self.graph.node(user).kind else { return None };
            if op.vanishes == Vanishes::WithBoth {
                let operands = self.graph.operands(user);
                let other = operands.iter().find(|operand| operand.node != product)?;
                return Some(self.viewed(*other)?.weight);
            }
            if !is_view(op) {
                return None;
            }
            product = user;
        }
        None
    }
}

/// Whether an operator gives its one operand in another shape or order.
fn is_view(op: &OpDef) -> bool {
    use Movement::{Broadcast, Permute, Reshape, Stay};
    matches!(op.movement(), Some(Stay | Permute | Reshape | Broadcast))
}

/// The nodes that results are computed from, operands first, in the order of the results and of operands. Of operands that may be exchanged, the one that
/// more operators lead to comes first.
fn dataflow_order(graph: &Graph) -> Vec<NodeId> {
    let mut depths: Vec<usize> = Vec::with_capacity(graph.len());
    for (id, node) in graph.nodes() {
        let below = graph.operands(id).iter().map(|v| depths[v.node.index()]).max().unwrap_or(0);
        let counts = matches!(&node.kind, NodeKind::Op { op, .. } if op.movement().is_none());
        depths.push(below + usize::from(counts));
    }
    let mut seen = vec![false; graph.len()];
    let mut order = Vec::new();
    let mut open: Vec<(NodeId, bool)> = graph.outputs().iter().rev().map(|o| (o.value.node, false)).collect();
    while let Some((id, is_done)) = open.pop() {
        if is_done {
            order.push(id);
        } else if !std::mem::replace(&mut seen[id.index()], true) {
            open.push((id, true));
            let mut operands: Vec<NodeId> = graph.operands(id).iter().map(|v| v.node).collect();
            if matches!(&graph.node(id).kind, NodeKind::Op { op: Op::Table(op), .. } if op.commutative) {
                operands.sort_by_key(|operand| Reverse(depths[operand.index()]));
            }
            open.extend(operands.into_iter().rev().map(|operand| (operand, false)));
        }
    }
    order
}

/// Per node: the weights that its operands were last computed from. An operator that reads several stands for what it adds.
fn weights_before(graph: &Graph, uses: &[(NodeId, WeightUse)]) -> Vec<Vec<usize>> {
    let mut read: FxHashMap<NodeId, usize> = FxHashMap::default();
    for (node, found) in uses {
        let known = read.entry(*node).or_insert(found.weight);
        if found.what.kind == UseKind::Addend {
            *known = found.weight;
        }
    }
    let mut before: Vec<Option<BTreeSet<usize>>> = Vec::with_capacity(graph.len());
    for (id, _) in graph.nodes() {
        let mut all = Some(BTreeSet::new());
        for operand in graph.operands(id) {
            match (&mut all, read.get(&operand.node), &before[operand.node.index()]) {
                (Some(all), Some(&weight), _) => _ = all.insert(weight),
                (Some(all), None, Some(before)) => all.extend(before),
                _ => all = None,
            }
        }
        before.push(all.filter(|all| all.len() <= MAX_AFTER));
    }
    before.into_iter().map(|all| all.into_iter().flatten().collect()).collect()
}
