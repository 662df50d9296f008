//! The operator graph: a petgraph `DiGraph` whose nodes are operators and whose edges are uses.

use std::borrow::Cow;
use std::sync::Arc;

use miette::Diagnostic;
use petgraph::graph::DiGraph;
use petgraph::visit::EdgeRef;
use petgraph::{Direction, algo};
use smallvec::SmallVec;
use thiserror::Error;

use super::signature::{ConstantInput, ConstantOutput, Output, Path, ResultPosition, Target};
use super::value::{NodeId, Value};
use super::{AttrValue, Attrs, MathConfig, Number, Origin, Settings, TensorType};
use crate::ops::{Arithmetic, Call, Op, OpDef, TypeError, canonical_attrs, is_number, numbers_to_store};

/// What a graph input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// Given at every call: token ids, images.
    User,
    /// A trained weight.
    Parameter,
    /// Model state that is not trained.
    Buffer,
}

/// A tensor whose elements are written in the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Literal {
    /// Elements in row-major order.
    pub data: Arc<[Number]>,
}

/// What a node does.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeKind {
    /// A tensor that the graph is given.
    Input {
        /// What the caller means it for.
        role: Role,
    },
    /// A tensor that is part of the graph.
    Literal(Literal),
    /// The result of an operator.
    Op {
        /// Of the table, or one that the table lacks.
        op: Op,
        /// In the order of the definition.
        attrs: Attrs,
    },
}

/// One node.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The name in the input file, unique within a graph.
    pub name: Arc<str>,
    /// What the node is.
    pub kind: NodeKind,
    /// One type per output slot.
    pub types: SmallVec<[TensorType; 1]>,
    /// Where it was written.
    pub origin: Origin,
}

/// A use of a value: which output of the source feeds which operand of the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Use {
    slot: u32,
    operand: u32,
}

/// An operator graph with concrete types.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// What reports call this graph; usually the file it came from.
    pub name: String,
    /// Math flags that the graph runs under.
    pub config: MathConfig,
    /// What was set in the process that the graph comes from; empty where the file does not say.
    pub settings: Settings,
    dag: DiGraph<Node, Use>,
    inputs: Vec<NodeId>,
    outputs: Vec<Output>,
    constant_inputs: Vec<ConstantInput>,
    constant_outputs: Vec<ConstantOutput>,
}

/// What can be wrong with a graph under construction.
#[derive(Debug, Clone, PartialEq, Error, Diagnostic)]
#[allow(missing_docs, reason = "the message of each variant says it")]
pub enum GraphError {
    #[error("`{node}`: {source}")]
    #[diagnostic(code(ir::type_error))]
    Type {
        node: String,
        #[source]
        source: TypeError,
    },
    #[error("`{node}` uses output {slot} of `{source_node}`, which has {count}")]
    #[diagnostic(code(ir::no_such_output))]
    NoSuchOutput { node: String, source_node: String, slot: u32, count: usize },
    #[error("`{node}` is used before it is computed")]
    #[diagnostic(code(ir::missing))]
    Missing { node: String },
    #[error("`{node}` holds {found} elements, its type {ty} wants {}", ty.numel())]
    #[diagnostic(code(ir::literal_size))]
    LiteralSize { node: String, ty: TensorType, found: usize },
    #[error("`{node}` calls an operator without a name")]
    #[diagnostic(code(ir::no_operator))]
    NoOperator { node: String },
}

impl Graph {
    /// A graph without nodes.
    pub fn new(name: impl Into<String>) -> Self {
        Graph { name: name.into(), ..Graph::default() }
    }

    /// Adds an input. Inputs keep the order in which they are added.
    pub fn add_input(&mut self, name: &str, role: Role, ty: TensorType, origin: Origin) -> NodeId {
        let types = SmallVec::from_elem(ty, 1);
        let node = self.dag.add_node(Node { name: name.into(), kind: NodeKind::Input { role }, types, origin });
        self.inputs.push(node);
        node
    }

    /// Says of every operator that it is computed once, before the first execution.
    pub(crate) fn mark_once(&mut self) {
        let nodes = self.dag.node_weights_mut().filter(|node| matches!(node.kind, NodeKind::Op { .. }));
        nodes.filter(|node| !node.origin.implicit).for_each(|node| node.origin.once = true);
    }

    /// Says of an operator that a kernel computes it, with what is implicit before it.
    pub(crate) fn make_explicit(&mut self, id: NodeId) {
        if let Some(node) = self.dag.node_weight_mut(id) {
            node.origin.implicit = false;
        }
    }

    /// Adds a tensor whose elements are known, in row-major order.
    ///
    /// # Errors
    /// Another count of elements than the type has, or elements outside of it.
    pub fn add_literal(
        &mut self,
        name: &str,
        ty: TensorType,
        data: impl Into<Arc<[Number]>>,
        origin: Origin,
    ) -> Result<NodeId, GraphError> {
        let data = data.into();
        if data.len() != ty.numel() {
            return Err(GraphError::LiteralSize { node: name.to_owned(), ty, found: data.len() });
        }
        let kind = NodeKind::Literal(Literal { data });
        Ok(self.dag.add_node(Node { name: name.into(), kind, types: SmallVec::from_elem(ty, 1), origin }))
    }

    /// Adds an operator of the op table; its output types are inferred.
    ///
    /// # Errors
    /// Operands of which the graph has none, or that do not fit the operator.
    pub fn add_op(
        &mut self,
        name: &str,
        op: &'static OpDef,
        mut attrs: Attrs,
        operands: &[Value],
        origin: Origin,
    ) -> Result<NodeId, GraphError> {
        let types = {
            let operand_types = self.operand_types(name, operands)?;
            canonical_attrs(op, &mut attrs, &operand_types);
            let call = Call { op, attrs: &attrs, operands: &operand_types };
            call.infer().map_err(|source| GraphError::Type { node: name.to_owned(), source })?
        };
        Ok(self.attach(name, Op::Table(op), attrs, operands, types, origin))
    }

    /// Adds an operator that is not in the op table, with the output types that its file states.
    ///
    /// # Errors
    /// Operands of which the graph has none.
    pub fn add_custom(
        &mut self,
        name: &str,
        op: Op,
        attrs: Attrs,
        operands: &[Value],
        types: impl IntoIterator<Item = TensorType>,
        origin: Origin,
    ) -> Result<NodeId, GraphError> {
        self.operand_types(name, operands)?;
        if op.name().is_empty() {
            return Err(GraphError::NoOperator { node: name.to_owned() });
        }
        Ok(self.attach(name, op, attrs, operands, types.into_iter().collect(), origin))
    }

    fn operand_types<'g>(
        &'g self,
        name: &str,
        operands: &[Value],
    ) -> Result<SmallVec<[&'g TensorType; 4]>, GraphError> {
        let find = |v: &Value| {
            let source = &self.dag[v.node];
            source.types.get(v.slot as usize).ok_or_else(|| GraphError::NoSuchOutput {
                node: name.to_owned(),
                source_node: source.name.to_string(),
                slot: v.slot,
                count: source.types.len(),
            })
        };
        operands.iter().map(find).collect()
    }

    fn attach(
        &mut self,
        name: &str,
        op: Op,
        attrs: Attrs,
        operands: &[Value],
        types: SmallVec<[TensorType; 1]>,
        origin: Origin,
    ) -> NodeId {
        let operands = op.def().map_or(Cow::Borrowed(operands), |def| self.stored(def, operands));
        let node = self.dag.add_node(Node { name: name.into(), kind: NodeKind::Op { op, attrs }, types, origin });
        for (i, v) in operands.iter().enumerate() {
            self.dag.add_edge(v.node, node, Use { slot: v.slot, operand: i as u32 });
        }
        node
    }

    /// The operands of `op` with what it stores of numbers in their places: see [`numbers_to_store`].
    fn stored<'o>(&mut self, op: &OpDef, operands: &'o [Value]) -> Cow<'o, [Value]> {
        let attrs = |i: usize| match &self.node(operands[i].node).kind {
            NodeKind::Op { op: Op::Table(made), attrs } if is_number(made) => Some(attrs),
            _ => None,
        };
        let mut stored = Cow::Borrowed(operands);
        for (at, attrs) in numbers_to_store(op, operands.len(), attrs) {
            let Node { name, kind: NodeKind::Op { op, .. }, types, origin } = self.node(operands[at].node).clone()
            else {
                continue;
            };
            let name = format!("{name}.stored.{}", self.len());
            stored.to_mut()[at] = self.attach(&name, op, attrs, &[], types, origin).into();
        }
        stored
    }

    /// Adds a result, of which only its position is known.
    pub fn add_output(&mut self, name: &str, value: Value) {
        let place = self.next_place(None);
        self.push_output(Output { name: name.into(), value, target: Target::Result(place) });
    }

    /// Adds an output behind the others.
    pub fn push_output(&mut self, output: Output) {
        self.outputs.push(output);
    }

    /// Adds a result that is a constant.
    pub fn add_constant_output(&mut self, value: AttrValue, path: Option<Path>) {
        let place = self.next_place(path);
        self.constant_outputs.push(ConstantOutput { value, place });
    }

    /// Adds a constant that the graph was made for.
    pub fn add_constant_input(&mut self, name: &str, value: AttrValue) {
        self.constant_inputs.push(ConstantInput { name: name.into(), value });
    }

    /// The place of the result that is added next.
    pub fn next_place(&self, path: Option<Path>) -> ResultPosition {
        let results = self.outputs.iter().filter(|o| o.place().is_some()).count();
        ResultPosition { position: results + self.constant_outputs.len(), path }
    }

    /// Takes over what a caller sees of `other`: its outputs, which stand in this graph where `moved` says, and its constants.
    ///
    /// # Errors
    /// As `moved`.
    pub fn take_outputs<E>(&mut self, other: &Graph, moved: impl Fn(Value) -> Result<Value, E>) -> Result<(), E> {
        let outputs = other.outputs.iter().map(|o| Ok(Output { value: moved(o.value)?, ..o.clone() }));
        self.outputs = outputs.collect::<Result<_, E>>()?;
        self.constant_inputs.clone_from(&other.constant_inputs);
        self.constant_outputs.clone_from(&other.constant_outputs);
        Ok(())
    }

    /// Puts outputs in another order, or others in their place.
    pub fn set_outputs(&mut self, outputs: Vec<Output>) {
        self.outputs = outputs;
    }

    /// Inputs in the order of the file.
    pub fn inputs(&self) -> &[NodeId] {
        &self.inputs
    }

    /// The tensors that the graph gives.
    pub fn outputs(&self) -> &[Output] {
        &self.outputs
    }

    /// The results that are constants.
    pub fn constant_outputs(&self) -> &[ConstantOutput] {
        &self.constant_outputs
    }

    /// The constants that the graph was made for.
    pub fn constant_inputs(&self) -> &[ConstantInput] {
        &self.constant_inputs
    }

    /// The node of that number. It panics if the graph has none, as for a number of another graph.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.dag[id]
    }

    /// Element type and shape of a value of this graph.
    pub fn ty(&self, value: Value) -> &TensorType {
        &self.dag[value.node].types[value.slot as usize]
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.dag.node_count()
    }

    /// Whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Nodes in the order in which they were added, which is a topological order: an operand has to
    /// exist before its user is added.
    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = (NodeId, &Node)> {
        self.dag.node_indices().map(|id| (id, &self.dag[id]))
    }

    /// Operands of a node, in order.
    pub fn operands(&self, id: NodeId) -> SmallVec<[Value; 4]> {
        let mut edges: SmallVec<[(u32, Value); 4]> = self
            .dag
            .edges_directed(id, Direction::Incoming)
            .map(|e| (e.weight().operand, Value::new(e.source(), e.weight().slot)))
            .collect();
        edges.sort_unstable_by_key(|&(operand, _)| operand);
        edges.into_iter().map(|(_, value)| value).collect()
    }

    /// Nodes that use some output of `id`.
    pub fn users(&self, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        self.dag.neighbors_directed(id, Direction::Outgoing)
    }

    /// Whether some output is computed from it, by node.
    pub fn live(&self) -> Vec<bool> {
        let mut live = vec![false; self.len()];
        let mut pending: Vec<NodeId> = self.outputs().iter().map(|o| o.value.node).collect();
        while let Some(id) = pending.pop() {
            if !std::mem::replace(&mut live[id.index()], true) {
                pending.extend(self.operands(id).iter().map(|v| v.node));
            }
        }
        live
    }

    /// Operators that the input file names: what reports count.
    pub fn operators(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        self.nodes().filter(|(_, n)| matches!(n.kind, NodeKind::Op { .. }) && !n.origin.implicit)
    }

    /// Whether the edges form no cycle. True for every graph that the builder methods made.
    pub fn is_acyclic(&self) -> bool {
        !algo::is_cyclic_directed(&self.dag)
    }
}

/// The value that a kernel reads where the graph says `value`: what stands before implicit casts.
pub fn read_value(graph: &Graph, mut value: Value) -> Value {
    loop {
        let node = graph.node(value.node);
        match &node.kind {
            NodeKind::Op { op, .. } if node.origin.implicit && op.arithmetic() == Arithmetic::Cast => {
                match graph.operands(value.node)[..] {
                    [source] => value = source,
                    _ => return value,
                }
            }
            _ => return value,
        }
    }
}
