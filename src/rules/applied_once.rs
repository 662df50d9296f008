//! A graph that holds each application of an operator once.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::ir::{Attrs, Graph, GraphError, NodeId, Origin, Value};
use crate::ops::{Op, OpDef, TypeError};

/// Operator, attributes, operands.
type Application = (Op, Attrs, SmallVec<[Value; 4]>);

/// What was added to a graph.
#[derive(Debug, Default)]
pub(crate) struct AppliedOnce {
    nodes: FxHashMap<Application, NodeId>,
}

impl AppliedOnce {
    /// Result `slot` of `op`, which is added to `graph` unless this has been done before.
    ///
    /// # Errors
    /// The operator refuses the operands, or has no such result.
    pub(crate) fn apply(
        &mut self,
        graph: &mut Graph,
        op: &'static OpDef,
        attrs: &Attrs,
        slot: usize,
        operands: &[Value],
        origin: &Origin,
    ) -> Result<Value, TypeError> {
        let application = (Op::Table(op), attrs.clone(), SmallVec::from_slice(operands));
        let node = match self.nodes.get(&application) {
            Some(&node) => node,
            None => {
                let name = format!("{}.{}", op.name, graph.len());
                let added = graph.add_op(&name, op, attrs.clone(), operands, origin.clone());
                let node = added.map_err(|e| match e {
                    GraphError::Type { source, .. } => source,
                    other => TypeError::new(op.name, other.to_string()),
                })?;
                self.nodes.insert(application, node);
                node
            }
        };
        if slot >= graph.node(node).types.len() {
            return Err(TypeError::new(op.name, format!("has no output {slot}")));
        }
        Ok(Value::new(node, slot as u32))
    }
}
