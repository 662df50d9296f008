//! A node that may be edited, and what stands around it.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::constants::folded;
use magneton_ir::eval::Constant;
use magneton_ir::ir::{AttrValue, Attrs, Graph, Node, NodeId, NodeKind, Role, TensorType, Value};
use magneton_ir::ops::{Arithmetic, Fold, Op, OpDef, find};

/// What is known of every node.
pub(crate) struct Facts {
    /// An output depends on it.
    live: Vec<bool>,
    /// It depends on an input.
    varying: Vec<bool>,
    /// Values known as formulas.
    constants: FxHashMap<Value, Constant>,
}

impl Facts {
    pub(crate) fn new(graph: &Graph) -> Self {
        let mut live = vec![false; graph.len()];
        for output in graph.outputs() {
            live[output.value.node.index()] = true;
        }
        for (id, _) in graph.nodes().rev() {
            if live[id.index()] {
                graph.operands(id).iter().for_each(|v| live[v.node.index()] = true);
            }
        }
        let mut varying = vec![false; graph.len()];
        for (id, node) in graph.nodes() {
            varying[id.index()] = match node.kind {
                NodeKind::Input { .. } => true,
                NodeKind::Literal(_) => false,
                NodeKind::Op { .. } => graph.operands(id).iter().any(|v| varying[v.node.index()]),
            };
        }
        Facts { live, varying, constants: folded(graph) }
    }
}

/// A live operator of the table.
pub(crate) struct EditSite<'g> {
    pub graph: &'g Graph,
    facts: &'g Facts,
    pub id: NodeId,
    pub node: &'g Node,
    pub op: &'static OpDef,
    pub attrs: &'g Attrs,
    pub operands: SmallVec<[Value; 4]>,
}

impl<'g> EditSite<'g> {
    pub(crate) fn new(graph: &'g Graph, facts: &'g Facts, id: NodeId, node: &'g Node) -> Option<Self> {
        match &node.kind {
            NodeKind::Op { op: Op::Table(op), attrs } if facts.live[id.index()] => {
                Some(EditSite { graph, facts, id, node, op, attrs, operands: graph.operands(id) })
            }
            _ => None,
        }
    }

    pub(crate) fn is(&self, name: &str) -> bool {
        self.op.name == name
    }

    /// The type of the node's first output.
    pub(crate) fn ty(&self) -> &'g TensorType {
        &self.node.types[0]
    }

    /// Whether the node depends on an input and gives floats: the model proper, without its masks and positions.
    pub(crate) fn is_varying(&self) -> bool {
        self.varies(self.id.into()) && self.ty().dtype.is_float()
    }

    pub(crate) fn varies(&self, value: Value) -> bool {
        self.facts.varying[value.node.index()]
    }

    pub(crate) fn operand_type(&self, i: usize) -> Option<&'g TensorType> {
        self.operands.get(i).map(|&v| self.graph.ty(v))
    }

    pub(crate) fn same_types(&self, i: usize, j: usize) -> bool {
        let both = self.operand_type(i).zip(self.operand_type(j));
        self.operands.get(i) != self.operands.get(j) && both.is_some_and(|(x, y)| x == y)
    }

    /// The operator of the table that makes a value.
    pub(crate) fn maker(&self, value: Value) -> Option<&'static OpDef> {
        op_of(self.graph, value.node)
    }

    /// Whether a value is a parameter, behind nothing but views and casts.
    pub(crate) fn is_parameter(&self, value: Value) -> bool {
        match &self.graph.node(value.node).kind {
            NodeKind::Input { role } => *role != Role::User,
            NodeKind::Op { op: Op::Table(op), .. } if op.is_view_or_cast() => {
                self.graph.operands(value.node).first().is_some_and(|&v| self.is_parameter(v))
            }
            _ => false,
        }
    }

    /// The number that a scalar constant holds.
    pub(crate) fn scalar(&self, value: Value) -> Option<f64> {
        match &self.graph.node(value.node).kind {
            NodeKind::Op { op: Op::Table(op), attrs }
                if op.fold == Fold::Filled && self.graph.ty(value).numel() == 1 =>
            {
                attrs.get(op.attr_index("value")?)?.as_float()
            }
            _ => None,
        }
    }

    pub(crate) fn attr(&self, name: &str) -> Option<&'g AttrValue> {
        self.attrs.get(self.op.attr_index(name)?)
    }

    /// The attributes with one of them changed.
    pub(crate) fn with(&self, name: &str, value: AttrValue) -> Option<Attrs> {
        let mut attrs = self.attrs.clone();
        *attrs.get_mut(self.op.attr_index(name)?)? = value;
        Some(attrs)
    }

    /// The operands with two of them swapped.
    pub(crate) fn swapped(&self, i: usize, j: usize) -> SmallVec<[Value; 4]> {
        let mut operands = self.operands.clone();
        operands.swap(i, j);
        operands
    }

    pub(crate) fn is_live(&self, id: NodeId) -> bool {
        self.facts.live[id.index()]
    }

    /// The operators that use the node, views and casts looked through.
    pub(crate) fn readers(&self) -> Vec<NodeId> {
        self.readers_of(self.id)
    }

    fn readers_of(&self, id: NodeId) -> Vec<NodeId> {
        let mut open = vec![id];
        let mut readers = Vec::new();
        while let Some(n) = open.pop() {
            for user in self.graph.users(n) {
                if op_of(self.graph, user).is_some_and(is_passive) { &mut open } else { &mut readers }.push(user);
            }
        }
        readers
    }

    /// Names of the [`EditSite::readers`].
    pub(crate) fn users(&self) -> Vec<&'static str> {
        self.users_of(self.id)
    }

    pub(crate) fn users_of(&self, id: NodeId) -> Vec<&'static str> {
        self.readers_of(id).into_iter().filter_map(|n| op_of(self.graph, n)).map(|op| op.name).collect()
    }

    /// The node that makes a value, views and casts looked through, but no further than the site.
    pub(crate) fn source(&self, value: Value) -> NodeId {
        let mut node = value.node;
        while node != self.id && op_of(self.graph, node).is_some_and(is_passive) {
            match self.graph.operands(node).first() {
                Some(v) => node = v.node,
                None => break,
            }
        }
        node
    }

    /// Whether a mask is known to hide something, on some inputs at least.
    pub(crate) fn hides(&self, mask: Value) -> bool {
        let source = self.source(mask);
        let is_formula = |v: Value| self.facts.constants.get(&v).is_some_and(|c| c.uniform().is_none());
        let chosen_by = || self.graph.operands(source).first().copied();
        self.varies(source.into())
            || is_formula(source.into())
            || op_of(self.graph, source).is_some_and(|op| op.arithmetic() == Arithmetic::Select)
                && chosen_by().is_some_and(is_formula)
    }

    /// Whether one of the operators named is among all that depend on the node.
    pub(crate) fn reaches(&self, names: &[&str]) -> bool {
        let mut seen = vec![false; self.graph.len()];
        let mut open = vec![self.id];
        while let Some(n) = open.pop() {
            for user in self.graph.users(n) {
                if op_of(self.graph, user).is_some_and(|op| names.contains(&op.name)) {
                    return true;
                }
                if !std::mem::replace(&mut seen[user.index()], true) {
                    open.push(user);
                }
            }
        }
        false
    }
}

fn is_passive(op: &OpDef) -> bool {
    op.may_alias()
}

fn op_of(graph: &Graph, id: NodeId) -> Option<&'static OpDef> {
    match &graph.node(id).kind {
        NodeKind::Op { op, .. } => op.def(),
        _ => None,
    }
}

/// An operator and its attributes by name, for edits that add one.
pub(super) fn call(name: &str, attrs: &[(&str, AttrValue)]) -> Option<(&'static OpDef, Attrs)> {
    let op = find(name)?;
    Some((op, op.attrs(attrs).ok()?))
}
