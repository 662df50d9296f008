//! What a graph computes from weights alone, and what it could: rules move functions of weights together, such as the factor of a
//! batch normalisation and the kernels before it.

use std::ops::ControlFlow;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::eval::Constant;
use crate::ir::{AttrValue, Attrs, Graph, GraphError, Ints, NodeId, NodeKind, Origin, TensorType, Value};
use crate::ops::{self, Draws, Op, TypeError};
use crate::rules::{Bindings, Build, Outcome, RuleSet, Terms, Visitor};

/// The most nodes that rules add for one of the graph.
const MAX_GROWTH: usize = 16;

/// The most shapes in which one value is offered.
const MAX_ARRANGED: usize = 4;

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
        let mut reads = Vec::new();
        extended.read(weights, &mut reads);
        extended.arrange(&reads, wanted);
        extended.read(weights, &mut reads);
        let graph = extended.graph;
        let wanted = |id: NodeId| matches!(&graph.node(id).types[..], [ty] if wanted.contains(ty));
        let found = graph.nodes().zip(reads).filter_map(|((id, _), weights)| Some((Value::from(id), weights?)));
        let found = found.filter(|(value, weights)| !weights.is_empty() && wanted(value.node)).collect();
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
    /// Adds to `reads`, for every node that has no entry there: the weights that it is computed from, if nothing else.
    fn read(&self, weights: &[bool], reads: &mut Vec<Option<Vec<usize>>>) {
        let graph = &self.graph;
        let positions: FxHashMap<NodeId, usize> = graph.inputs().iter().zip(0..).map(|(&id, i)| (id, i)).collect();
        for (id, node) in graph.nodes().skip(reads.len()) {
            let from = match &node.kind {
                NodeKind::Literal(_) => Some(Vec::new()),
                NodeKind::Input { .. } => {
                    positions.get(&id).filter(|&&i| weights.get(i) == Some(&true)).map(|&i| vec![i])
                }
                NodeKind::Op { op: Op::Table(op), .. } if op.draws == Draws::Never => {
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
            reads.push(from);
        }
    }

    /// Adds what is computed from weights in another shape, or transposed, where the type is wanted.
    fn arrange(&mut self, reads: &[Option<Vec<usize>>], wanted: &FxHashSet<TensorType>) {
        let is_fixed = |from: &Option<Vec<usize>>| from.as_ref().is_some_and(|all| !all.is_empty());
        let fixed = self.graph.nodes().zip(reads).filter(|((_, node), from)| is_fixed(from) && node.types.len() == 1);
        let fixed: Vec<Value> = fixed.map(|((id, _), _)| Value::from(id)).collect();
        let mut wanted: Vec<&TensorType> = wanted.iter().collect();
        wanted.sort_by(|a, b| a.shape.cmp(&b.shape));
        for value in fixed {
            let ty = self.graph.ty(value).clone();
            let alike = wanted.iter().filter(|w| w.dtype == ty.dtype && w.numel() == ty.numel() && w.shape != ty.shape);
            for other in alike.take(MAX_ARRANGED) {
                self.add("reshape", "shape", AttrValue::shape(&other.shape), value);
            }
            if let [rows, columns] = ty.shape[..]
                && wanted.iter().any(|w| w.dtype == ty.dtype && w.shape[..] == [columns, rows])
            {
                self.add("permute", "dims", AttrValue::Ints(Ints::from_slice(&[1, 0])), value);
            }
        }
    }

    /// Adds one operator over `value`, if its type allows it.
    fn add(&mut self, op: &str, attr: &str, to: AttrValue, value: Value) {
        let Some(op) = ops::find(op) else { return };
        if let Ok(attrs) = op.attrs(&[(attr, to)]) {
            let _ = self.apply(&Op::Table(op), &attrs, 0, &[value]);
        }
    }

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
