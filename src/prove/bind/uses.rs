//! What a graph does with its weights, described so that graphs of two formats can be compared.
//!
//! One format multiplies by `w` as its rows are, another one by the transpose; one has the channels of a kernel first, another one last, and
//! a third one keeps a matrix by heads. A description is the same for all of them. Uses come in an order that follows from what is computed
//! from what, and not from how a file lists its operators.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::stacked::{Stack, part_of_slice};
use super::views::View;
use crate::ir::{Attrs, DType, Graph, NodeId, NodeKind, Shape, TensorType, Value};
use crate::ops::{Arithmetic, Call, Digit, Family, Movement, Op, OpDef, Renumbering, Vanishes, is_number};

/// What a weight is to the operator that reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum UseKind {
    /// The matrix of a product.
    Matrix,
    /// It is added, as a bias is.
    Addend,
    /// It is subtracted, as a mean is.
    Subtrahend,
    /// A number is added to it, as to a variance.
    Variance,
    /// It is multiplied by, place by place, as the scale of a norm is.
    Factor,
    /// This operand of an operator of this name.
    Operand(&'static str, usize),
}

/// A use, without what differs between formats.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Description {
    pub kind: UseKind,
    pub dtype: DType,
    /// The shape in which it is read; of a matrix with a row for each column of the product, and of what is added or multiplied by place by
    /// place in one dimension.
    pub shape: Shape,
}

/// A place where a weight is read.
#[derive(Clone, Debug)]
pub(super) struct WeightUse {
    /// The weight, by its number among the inputs.
    pub weight: usize,
    pub what: Description,
    /// What makes a tensor of the described shape of the weight, in this order.
    pub views: Vec<View>,
    /// The input that is added to the product.
    pub bias: Option<usize>,
    /// The weights that the operator's other operands were last computed from, one for each operator that reads some. Empty where there are too many.
    pub after: Vec<usize>,
}

/// So many weights say what stands before a use.
const MAX_AFTER: usize = 8;

/// A product may be viewed in so many ways before a bias is added.
const MAX_VIEWS: usize = 4;

/// All uses of the inputs for which `is_weight` holds, and of the parts of those that are `stacks`, by what the results are computed from.
pub(super) fn weight_uses(graph: &Graph, stacks: &[Stack], is_weight: &dyn Fn(usize) -> bool) -> Vec<WeightUse> {
    let positions = graph.inputs().iter().zip(0..).filter(|&(_, i)| is_weight(i)).map(|(&id, i)| (id, i)).collect();
    let parts = stacks.iter().map(|stack| (stack.input, stack.parts.start)).collect();
    let reader = Reader { graph, positions, parts };
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
    /// Per input that is a stack: the number of its first part.
    parts: FxHashMap<usize, usize>,
}

/// A weight, and how it is viewed.
struct Viewed {
    weight: usize,
    /// From the weight on.
    views: Vec<View>,
    shape: Shape,
    /// Whether elements are repeated; only the views before that are listed.
    repeated: bool,
}

impl Viewed {
    fn reshape(&mut self, to: Shape) {
        if self.shape != to {
            self.views.push(View::Reshape { from: self.shape.clone(), to: to.clone() });
            self.shape = to;
        }
    }

    fn permute(&mut self, dims: Shape) {
        self.shape = dims.iter().map(|&dim| self.shape[dim]).collect();
        self.views.push(View::Permute(dims));
    }
}

impl Reader<'_> {
    fn uses_at(&self, node: NodeId) -> Vec<WeightUse> {
        let NodeKind::Op { op: Op::Table(op), attrs } = &self.graph.node(node).kind else { return Vec::new() };
        // Of a stack, its parts are used.
        let takes_part = || self.graph.operands(node).iter().any(|&operand| self.part(operand, attrs).is_some());
        if is_view(op) || op.movement() == Some(Movement::Slice) && takes_part() {
            return Vec::new();
        }
        let found = |(at, &operand): (usize, &Value)| {
            let mut viewed = self.viewed(operand)?;
            let has_columns = self.has_columns(node, op, attrs, at).filter(|_| !viewed.repeated);
            let kind = if has_columns.is_some() { UseKind::Matrix } else { self.kind(node, op, at) };
            match kind {
                UseKind::Matrix if has_columns == Some(true) => viewed.permute(Shape::from_slice(&[1, 0])),
                UseKind::Matrix => {}
                UseKind::Operand(..) if viewed.repeated => {
                    let large = viewed.shape.iter().copied().filter(|&size| size != 1).collect();
                    viewed.reshape(large);
                }
                UseKind::Operand(..) => {}
                UseKind::Addend | UseKind::Subtrahend | UseKind::Variance | UseKind::Factor => {
                    let all = count(&viewed.shape);
                    viewed.reshape(Shape::from_slice(&[all]));
                }
            }
            let Viewed { weight, views, shape, .. } = viewed;
            let bias = match op.vanishes {
                Vanishes::WithWeight { weight, .. } if weight == at => self.bias(node, op),
                _ => None,
            };
            let what = Description { kind, dtype: self.graph.ty(operand).dtype, shape };
            Some(WeightUse { weight, what, views, bias, after: Vec::new() })
        };
        self.graph.operands(node).iter().enumerate().filter_map(found).collect()
    }

    /// The weight that a value is, as it is or viewed in another way.
    fn viewed(&self, mut value: Value) -> Option<Viewed> {
        // From the value back to the weight.
        let mut steps: Vec<(&OpDef, &Attrs, Value)> = Vec::new();
        let weight = loop {
            if let Some(&weight) = self.positions.get(&value.node) {
                break weight;
            }
            let NodeKind::Op { op: Op::Table(op), attrs } = &self.graph.node(value.node).kind else { return None };
            let [operand] = self.graph.operands(value.node)[..] else { return None };
            if op.movement() == Some(Movement::Slice) {
                break self.part(operand, attrs)?;
            }
            if !is_view(op) {
                return None;
            }
            steps.push((op, attrs, value));
            value = operand;
        };
        let mut viewed = Viewed { weight, views: Vec::new(), shape: self.shape(value), repeated: false };
        for (op, attrs, result) in steps.into_iter().rev() {
            match op.movement() {
                Some(Movement::Stay) => {}
                Some(Movement::Permute) => {
                    viewed.permute(attrs.first()?.as_shape()?);
                }
                Some(Movement::Reshape) => viewed.reshape(self.shape(result)),
                _ if count(&self.shape(result)) == count(&viewed.shape) => viewed.reshape(self.shape(result)),
                _ => {
                    viewed.repeated = true;
                    break;
                }
            }
        }
        Some(viewed)
    }

    /// The part of a stack that a slice takes.
    fn part(&self, stack: Value, attrs: &Attrs) -> Option<usize> {
        let first = self.parts.get(self.positions.get(&stack.node)?)?;
        Some(first + part_of_slice(attrs)?)
    }

    fn shape(&self, value: Value) -> Shape {
        self.graph.ty(value).shape.clone()
    }

    /// Of the matrix of a product: whether its columns, as the product reads it, give the product's columns. `None` of all other operands.
    fn has_columns(&self, node: NodeId, op: &'static OpDef, attrs: &Attrs, at: usize) -> Option<bool> {
        let Vanishes::WithWeight { weight, .. } = op.vanishes else { return None };
        let operands = self.graph.operands(node);
        let types: Vec<&TensorType> = operands.iter().map(|&v| self.graph.ty(v)).collect();
        if at != weight || types[at].rank() != 2 {
            return None;
        }
        let result = self.graph.ty(Value::from(node));
        let dim = result.rank().checked_sub(1)?;
        let digit = Digit { dim, step: 1, size: result.shape[dim] };
        let call = Call { op, attrs, operands: &types };
        let digits = (op.digits)(&Renumbering { call: &call, slot: 0, result, digit })?;
        Some(digits.get(at)?.as_ref()?.dim == 1)
    }

    fn kind(&self, node: NodeId, op: &'static OpDef, at: usize) -> UseKind {
        let name = op.operands.get(at).map_or("", |operand| operand.name);
        let is_number = |operand: &Value| matches!(&self.graph.node(operand.node).kind, NodeKind::Op { op: Op::Table(op), .. } if is_number(op));
        match (op.vanishes, op.family) {
            _ if op.statistics.is_some_and(|(mean, _)| mean == at) => UseKind::Subtrahend,
            _ if op.statistics.is_some_and(|(_, variance)| variance == at) => UseKind::Variance,
            _ if op.arithmetic() == Arithmetic::Sub && at == 1 => UseKind::Subtrahend,
            (Vanishes::WithBoth, _) if self.graph.operands(node).iter().any(is_number) => UseKind::Variance,
            (Vanishes::WithBoth, _) => UseKind::Addend,
            (Vanishes::WithAny, _) => UseKind::Factor,
            (Vanishes::WithWeight { bias, .. }, _) if bias == Some(at) => UseKind::Addend,
            (_, Family::Norm | Family::Conv) if matches!(name, "b" | "bias") => UseKind::Addend,
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

fn count(shape: &[usize]) -> usize {
    shape.iter().product()
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
            if matches!(&graph.node(id).kind, NodeKind::Op { op: Op::Table(op), .. } if may_be_exchanged(op)) {
                operands.sort_by_key(|operand| Reverse(depths[operand.index()]));
            }
            open.extend(operands.into_iter().rev().map(|operand| (operand, false)));
        }
    }
    order
}

/// Whether another format may have the operands in another order: a product is the transpose of the product of the transposed operands.
fn may_be_exchanged(op: &OpDef) -> bool {
    op.commutative || matches!(op.vanishes, Vanishes::WithWeight { .. })
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
