//! A graph with the operators that rules define replaced by what they compute, so that it can be evaluated.

use std::ops::ControlFlow;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::{AppliedOnce, Build, RuleSet, Terms, Visitor};
use crate::eval::Constant;
use crate::ir::{Attrs, Graph, NodeId, NodeKind, Origin, TensorType, Value};
use crate::ops::{Op, TypeError};

/// How deeply definitions may use each other.
const MAX_DEPTH: usize = 16;

/// A graph without operators that rules define.
#[derive(Clone, Debug)]
pub struct InlinedDefinitions {
    pub graph: Graph,
    /// Per node, the node of the given graph that it stands for or is part of.
    pub parts_of: Vec<NodeId>,
}

impl RuleSet {
    /// `graph` with its defined operators written out; `None` if it has none, or if a definition does not fit.
    pub fn inline_definitions(&self, graph: &Graph) -> Option<InlinedDefinitions> {
        let any = graph.nodes().any(|(_, n)| match &n.kind {
            NodeKind::Op { op: Op::Custom(op), .. } => self.definition_of(op).is_some_and(|d| !d.rules.is_empty()),
            _ => false,
        });
        any.then(|| copy(self, graph)).flatten()
    }
}

fn copy(rules: &RuleSet, graph: &Graph) -> Option<InlinedDefinitions> {
    let mut empty = Graph::new(graph.name.clone());
    empty.config = graph.config.clone();
    let mut writer = Writer {
        definitions: rules,
        graph: empty,
        parts_of: Vec::with_capacity(graph.len()),
        added: AppliedOnce::default(),
        origin: Origin::default(),
        depth: 0,
    };
    let mut values: FxHashMap<Value, Value> = FxHashMap::default();
    for (id, node) in graph.nodes() {
        writer.added = AppliedOnce::default();
        writer.origin = node.origin.clone();
        let operands: SmallVec<[Value; 4]> = graph.operands(id).iter().map(|v| values[v]).collect();
        let (name, origin, types) = (&*node.name, node.origin.clone(), &node.types);
        let copied = match &node.kind {
            NodeKind::Input { role } => Ok(writer.graph.add_input(name, *role, types[0].clone(), origin)),
            NodeKind::Literal(literal) => {
                writer.graph.add_literal(name, types[0].clone(), literal.data.clone(), origin)
            }
            NodeKind::Op { op: Op::Table(def), attrs } => {
                writer.graph.add_op(name, def, attrs.clone(), &operands, origin)
            }
            NodeKind::Op { op, attrs } => {
                if let Some(found) = writer.results(op, attrs, types, &operands) {
                    values.extend((0..).zip(found).map(|(slot, value)| (Value::new(id, slot), value)));
                    writer.parts_of.resize(writer.graph.len(), id);
                    continue;
                }
                writer.graph.add_custom(name, op.clone(), attrs.clone(), &operands, types.iter().cloned(), origin)
            }
        };
        let copied = copied.ok()?;
        writer.parts_of.resize(writer.graph.len(), id);
        values.extend((0..types.len() as u32).map(|slot| (Value::new(id, slot), Value::new(copied, slot))));
    }
    writer.graph.take_outputs(graph, |value| values.get(&value).copied().ok_or(())).ok()?;
    Some(InlinedDefinitions { graph: writer.graph, parts_of: writer.parts_of })
}

struct Writer<'r> {
    definitions: &'r RuleSet,
    graph: Graph,
    parts_of: Vec<NodeId>,
    /// What the operator at hand has been written out to so far.
    added: AppliedOnce,
    /// Where the operator at hand comes from.
    origin: Origin,
    depth: usize,
}

impl Writer<'_> {
    /// The values that stand for the outputs of a defined operator, if they have the types that the file states.
    fn results(&mut self, op: &Op, attrs: &Attrs, types: &[TensorType], operands: &[Value]) -> Option<Vec<Value>> {
        (0..types.len())
            .map(|slot| {
                let value = self.apply(op, attrs, slot, operands).ok()?;
                (self.graph.ty(value) == &types[slot]).then_some(value)
            })
            .collect()
    }
}

impl Terms for Writer<'_> {
    type Id = Value;

    fn visit(&self, _: Value, _: &mut Visitor<'_, Value>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn ty(&self, id: Value) -> &TensorType {
        self.graph.ty(id)
    }

    fn constant(&self, _: Value) -> Option<&Constant> {
        None
    }
}

impl Build for Writer<'_> {
    fn apply(&mut self, op: &Op, attrs: &Attrs, slot: usize, operands: &[Value]) -> Result<Value, TypeError> {
        let op = match op {
            Op::Table(def) => return self.added.apply(&mut self.graph, def, attrs, slot, operands, &self.origin),
            Op::Custom(op) => op,
        };
        let definition = self.definitions.definition_of(op).filter(|_| self.depth < MAX_DEPTH).cloned();
        let definition = definition.ok_or_else(|| TypeError::new("custom operator", "has no definition"))?;
        self.depth += 1;
        let body = definition.apply(attrs, slot, operands, self);
        self.depth -= 1;
        body
    }
}

#[cfg(test)]
mod tests {
    use crate::ir::text;
    use crate::rules::RuleSet;

    #[test]
    fn defined_operators_are_written_out_and_others_stay() {
        let source = "graph g(x: f32[2, 6], r: f32[2, 6], w: f32[6]) {\n  y, s = opaque \"vllm.fused_add_rms_norm\"(x, r, w; \
                      epsilon=1e-6) -> (f32[2, 6], f32[2, 6])\n  z = opaque \"some.thing\"(y) -> f32[2, 6]\n  return z, s\n}\n";
        let graph = text::parse("g.mir", source).unwrap();
        let written = RuleSet::library().unwrap().inline_definitions(&graph).unwrap();
        let names: Vec<String> = written
            .graph
            .nodes()
            .filter_map(|(_, n)| match &n.kind {
                crate::ir::NodeKind::Op { op, .. } => Some(op.name().to_owned()),
                _ => None,
            })
            .collect();
        assert_eq!(names, ["add", "rms_norm", "some.thing"]);
        assert_eq!(written.parts_of.len(), written.graph.len());
        let types = |g: &crate::ir::Graph| g.outputs().iter().map(|o| g.ty(o.value).clone()).collect::<Vec<_>>();
        assert_eq!(types(&graph), types(&written.graph));
    }

    #[test]
    fn a_graph_of_table_operators_is_left_alone() {
        let graph = text::parse("g.mir", "graph g(x: f32[2]) { y = neg(x) return y }").unwrap();
        assert!(RuleSet::library().unwrap().inline_definitions(&graph).is_none());
    }
}
