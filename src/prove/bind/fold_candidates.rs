//! What a graph computes from weights alone, and what it could: rules move functions of weights together, such as the factor of a
//! batch normalisation and the kernels before it.

use std::ops::ControlFlow;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::eval::Constant;
use crate::ir::{Attrs, Graph, GraphError, NodeId, NodeKind, Origin, TensorType, Value};
use crate::ops::{Op, TypeError};
use crate::rules::{Bindings, Build, Outcome, RuleSet, Terms, Visitor};

/// The most nodes that rules add for one of the graph.
const MAX_GROWTH: usize = 16;

/// Forms that the search for instances of rules may look at, for each node.
const SEARCHED: usize = 1 << 8;

/// Values of a graph that are computed from weights and constants.
pub(super) struct FoldCandidates {
    graph: Graph,
    found: Vec<(Value, Vec<usize>)>,
}

impl FoldCandidates {
    /// Those of the types `wanted`. `weights` says of every input whether it is one.
    pub(super) fn new(graph: &Graph, weights: &[bool], wanted: &FxHashSet<TensorType>) -> FoldCandidates {
        let mut extended = Extended { graph: graph.clone(), known: FxHashMap::default() };
        extended.apply_rules();
        let graph = extended.graph;
        let positions: FxHashMap<NodeId, usize> = graph.inputs().iter().zip(0..).map(|(&id, i)| (id, i)).collect();
        // By node: the weights that it is computed from, if nothing else.
        let mut reads: Vec<Option<Vec<usize>>> = Vec::with_capacity(graph.len());
        let mut found = Vec::new();
        for (id, node) in graph.nodes() {
            let from = match &node.kind {
                NodeKind::Literal(_) => Some(Vec::new()),
                NodeKind::Input { .. } => {
                    positions.get(&id).filter(|&&i| weights.get(i) == Some(&true)).map(|&i| vec![i])
                }
                NodeKind::Op { op: Op::Table(_), .. } => {
                    let operands = graph.operands(id);
                    let all = operands.iter().map(|v| reads.get(v.node.index())?.as_ref());
                    all.collect::<Option<Vec<_>>>().map(|all| {
                        let mut all: Vec<usize> = all.into_iter().flatten().copied().collect();
                        all.sort_unstable();
                        all.dedup();
                        all
                    })
                }
                NodeKind::Op { .. } => None,
            };
            if let (Some(weights), NodeKind::Op { .. }, [ty]) = (&from, &node.kind, &node.types[..])
                && !weights.is_empty()
                && wanted.contains(ty)
            {
                found.push((Value::from(id), weights.clone()));
            }
            reads.push(from);
        }
        FoldCandidates { graph, found }
    }

    /// The graph that has the values.
    pub(super) fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Values, each with the numbers of the weights that it is computed from.
    pub(super) fn values(&self) -> impl Iterator<Item = (Value, &[usize])> {
        self.found.iter().map(|(value, weights)| (*value, weights.as_slice()))
    }
}

/// Operator, attributes, operands.
type Application = (Op, Attrs, SmallVec<[Value; 4]>);

/// A graph with the other sides of the rules that match in it.
struct Extended {
    graph: Graph,
    /// What was added.
    known: FxHashMap<Application, NodeId>,
}

impl Extended {
    fn apply_rules(&mut self) {
        let Ok(library) = RuleSet::library() else { return };
        let own: Vec<(NodeId, Op)> = self
            .graph
            .nodes()
            .filter_map(|(id, node)| match &node.kind {
                NodeKind::Op { op, .. } => Some((id, op.clone())),
                _ => None,
            })
            .collect();
        let most = self.graph.len().saturating_mul(MAX_GROWTH);
        for (id, op) in own {
            let mut budget = SEARCHED;
            for rule in library.rules().iter().filter(|rule| rule.root_op() == Some(op.name()) && rule.height > 1) {
                let mut found: Vec<Bindings<Value>> = Vec::new();
                rule.search(self, Value::from(id), &mut budget, &mut found);
                for mut bindings in found {
                    if self.graph.len() > most {
                        return;
                    }
                    if matches!(rule.check_conditions(self, &mut bindings), Outcome::Holds { .. }) {
                        // What has no type is no other side.
                        let _ = rule.build_rhs(&bindings, self);
                    }
                }
            }
        }
    }
}

impl Terms for Extended {
    type Id = Value;

    fn visit(&self, id: Value, f: &mut Visitor<'_, Value>) -> ControlFlow<()> {
        match &self.graph.node(id.node).kind {
            NodeKind::Op { op, attrs } => f(op, attrs, id.slot as usize, &self.graph.operands(id.node)),
            _ => ControlFlow::Continue(()),
        }
    }

    fn ty(&self, id: Value) -> &TensorType {
        self.graph.ty(id)
    }

    fn constant(&self, _: Value) -> Option<&Constant> {
        None
    }
}

impl Build for Extended {
    fn apply(&mut self, op: &Op, attrs: &Attrs, slot: usize, operands: &[Value]) -> Result<Value, TypeError> {
        let Op::Table(def) = op else { return Err(TypeError::new("custom operator", "is not looked into")) };
        let key = (op.clone(), attrs.clone(), SmallVec::from_slice(operands));
        let node = match self.known.get(&key) {
            Some(&node) => node,
            None => {
                let name = format!("{}.{}", def.name, self.graph.len());
                let added = self.graph.add_op(&name, def, attrs.clone(), operands, Origin::implicit());
                let node = added.map_err(|e| match e {
                    GraphError::Type { source, .. } => source,
                    other => TypeError::new(def.name, other.to_string()),
                })?;
                self.known.insert(key, node);
                node
            }
        };
        if slot >= self.graph.node(node).types.len() {
            return Err(TypeError::new(def.name, format!("has no output {slot}")));
        }
        Ok(Value::new(node, slot as u32))
    }
}
