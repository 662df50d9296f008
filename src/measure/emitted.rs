//! What is measured as a Python program: the calls that the tool writes for an operator, or for a part of a graph.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::emit::{EmitError, Program, python};
use crate::energy::CallParts;
use crate::ir::{AttrValue, Attrs, Graph, GraphError, NodeId, NodeKind, Origin, Role, TensorType, Value};
use crate::ops::{Op, OpDef, is_called, is_number, number, operand_read};

/// Why there is no program.
#[derive(Debug, thiserror::Error)]
pub(super) enum EmittedError {
    #[error(transparent)]
    Emit(#[from] EmitError),
    #[error(transparent)]
    Graph(#[from] GraphError),
    #[error("`{0}` is not in the op table")]
    Opaque(String),
}

/// A program, and what it takes and gives.
#[derive(Debug)]
pub(super) struct Emitted {
    /// It has a function `forward`, and `precompute` where there are constants.
    pub text: String,
    /// The values of the graph that `forward` takes first, in order. Constants follow.
    pub inputs: Vec<Value>,
    pub results: Vec<TensorType>,
    /// The operators that are called.
    pub operators: Vec<&'static OpDef>,
}

/// The program of one operator.
pub(super) fn operator(parts: &CallParts) -> Result<Emitted, EmittedError> {
    let mut graph = Graph::new(parts.def.name);
    let inputs = parts.types.iter().enumerate();
    let inputs: Vec<Value> = inputs
        .map(|(i, ty)| graph.add_input(&format!("x{i}"), Role::User, ty.clone(), Origin::default()).into())
        .collect();
    let node = graph.add_op("y", parts.def, parts.attrs.clone(), &inputs, Origin::default())?;
    let results = graph.node(node).types.to_vec();
    for slot in 0..results.len() as u32 {
        graph.add_output(&format!("y{slot}"), Value::new(node, slot));
    }
    let text = python(&Program::new(&graph, None)?, None)?;
    Ok(Emitted { text, inputs, results, operators: vec![parts.def] })
}

/// The program of these nodes, in topological order. What they read and do not compute is an input; what others read of them,
/// or the graph gives out, is a result.
pub(super) fn part(graph: &Graph, nodes: &[NodeId]) -> Result<Emitted, EmittedError> {
    let mut part = Part {
        graph,
        inside: nodes.iter().copied().collect(),
        own: Graph::new(graph.name.clone()),
        constants: Graph::new(graph.name.clone()),
        moved: FxHashMap::default(),
        inputs: Vec::new(),
        operators: Vec::new(),
    };
    // Inputs come before the constants, which `forward` takes behind them.
    let called: Vec<NodeId> = nodes.iter().copied().filter(|&id| is_called(graph, id)).collect();
    let mut constants = Vec::new();
    for &id in &called {
        part.inputs_of(id, &mut constants)?;
    }
    for id in constants {
        part.constant(id)?;
    }
    for &id in &called {
        part.operator(id)?;
    }
    part.outputs(&called);
    let Part { own, constants, inputs, operators, .. } = part;
    let results = own.outputs().iter().map(|o| own.ty(o.value).clone()).collect();
    let before = if constants.is_empty() { None } else { Some(Program::new(&constants, None)?) };
    let text = python(&Program::as_run(&own)?, before.as_ref())?;
    Ok(Emitted { text, inputs, results, operators })
}

struct Part<'g> {
    graph: &'g Graph,
    inside: FxHashSet<NodeId>,
    own: Graph,
    /// A graph of the constants alone.
    constants: Graph,
    moved: FxHashMap<Value, Value>,
    inputs: Vec<Value>,
    operators: Vec<&'static OpDef>,
}

impl Part<'_> {
    /// Adds what a call reads from outside; constants are listed.
    fn inputs_of(&mut self, id: NodeId, constants: &mut Vec<NodeId>) -> Result<(), EmittedError> {
        let def = self.def(id)?;
        for value in self.graph.operands(id) {
            let value = operand_read(self.graph, value, def);
            let node = self.graph.node(value.node);
            match &node.kind {
                NodeKind::Literal(_) if !constants.contains(&value.node) => constants.push(value.node),
                NodeKind::Literal(_) => {}
                NodeKind::Op { op: Op::Table(def), .. } if is_number(def) => {}
                NodeKind::Op { .. } if self.inside.contains(&value.node) => {}
                _ if self.moved.contains_key(&value) => {}
                _ => {
                    let (name, ty) = (node.name.clone(), self.graph.ty(value).clone());
                    let own = self.own.add_input(&name, Role::User, ty, Origin::default());
                    self.moved.insert(value, own.into());
                    self.inputs.push(value);
                }
            }
        }
        Ok(())
    }

    fn def(&self, id: NodeId) -> Result<&'static OpDef, EmittedError> {
        match &self.graph.node(id).kind {
            NodeKind::Op { op: Op::Table(def), .. } => Ok(def),
            NodeKind::Op { op, .. } => Err(EmittedError::Opaque(op.name().to_owned())),
            _ => Err(EmittedError::Opaque(self.graph.node(id).name.to_string())),
        }
    }

    /// A tensor whose elements are known: computed once, and an input from then on.
    fn constant(&mut self, id: NodeId) -> Result<(), EmittedError> {
        let node = self.graph.node(id);
        let NodeKind::Literal(literal) = &node.kind else { return Ok(()) };
        let Some(ty) = node.types.first() else { return Ok(()) };
        let known = self.constants.add_literal(&node.name, ty.clone(), literal.data.clone(), Origin::default())?;
        self.constants.add_output(&node.name, known.into());
        let own = self.own.add_input(&node.name, Role::User, ty.clone(), Origin::default());
        self.moved.insert(id.into(), own.into());
        Ok(())
    }

    fn operator(&mut self, id: NodeId) -> Result<(), EmittedError> {
        let def = self.def(id)?;
        let node = self.graph.node(id);
        let NodeKind::Op { attrs, .. } = &node.kind else { return Ok(()) };
        let operands = self.graph.operands(id);
        let operands = operands.iter().map(|&v| self.operand(v, def)).collect::<Result<Vec<_>, _>>()?;
        let own = self.own.add_op(&node.name, def, attrs.clone(), &operands, Origin::default())?;
        for slot in 0..node.types.len() as u32 {
            self.moved.insert(Value::new(id, slot), Value::new(own, slot));
        }
        self.operators.push(def);
        Ok(())
    }

    /// The value in the part's own graph that `op` reads where the whole graph says `value`.
    fn operand(&mut self, value: Value, op: &OpDef) -> Result<Value, EmittedError> {
        let read = operand_read(self.graph, value, op);
        let (node, ty) = (self.graph.node(read.node), self.graph.ty(value).clone());
        if let NodeKind::Op { op: Op::Table(made), attrs } = &node.kind
            && is_number(made)
            && let Some(known) = attrs.first().and_then(AttrValue::as_number)
        {
            let (def, attrs) = number(known, ty.dtype);
            return Ok(self.own.add_op(&node.name, def, attrs, &[], Origin::implicit())?.into());
        }
        let lacking = || EmittedError::Opaque(node.name.to_string());
        let own = self.moved.get(&read).copied().ok_or_else(lacking)?;
        if read == value {
            return Ok(own);
        }
        // A cast that is no call of its own; as a node it says which type the operator computes in.
        let (cast, attrs) = self.cast_to(value)?;
        Ok(self.own.add_op(&node.name, cast, attrs, &[own], Origin::implicit())?.into())
    }

    /// The cast that gives `value`.
    fn cast_to(&self, value: Value) -> Result<(&'static OpDef, Attrs), EmittedError> {
        match &self.graph.node(value.node).kind {
            NodeKind::Op { op: Op::Table(def), attrs } => Ok((def, attrs.clone())),
            _ => Err(EmittedError::Opaque(self.graph.node(value.node).name.to_string())),
        }
    }

    fn outputs(&mut self, called: &[NodeId]) {
        let is_wanted = |value: Value| {
            self.graph.outputs().iter().any(|o| o.value == value)
                || self.graph.users(value.node).any(|user| !self.inside.contains(&user))
        };
        let slots = |id: NodeId| (0..self.graph.node(id).types.len() as u32).map(move |slot| Value::new(id, slot));
        let wanted: Vec<Value> = called.iter().copied().flat_map(slots).filter(|&v| is_wanted(v)).collect();
        for value in wanted {
            if let Some(&own) = self.moved.get(&value) {
                let name = format!("{}_{}", self.graph.node(value.node).name, value.slot);
                self.own.add_output(&name, own);
            }
        }
    }
}

#[cfg(test)]
#[path = "emitted_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "emitted_torch_tests.rs"]
mod torch_tests;
