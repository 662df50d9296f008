//! What a graph computes from weights alone, and what it could: rules move functions of weights together, such as the factor of a
//! batch normalisation and the kernels before it.

use std::ops::ControlFlow;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::eval::Constant;
use crate::ir::{AttrValue, Attrs, DType, Graph, Ints, NodeId, NodeKind, Origin, Shape, TensorType, Value};
use crate::ops::{self, Draws, Op, TypeError};
use crate::rules::{AppliedOnce, Bindings, Build, Outcome, RuleSet, Terms, Visitor};

/// The most nodes that rules add for one of the graph, and in all.
const MAX_GROWTH: usize = 4;
const MAX_ADDED: usize = 1 << 16;

/// How often rules are applied, each time to what they have added, too: merged weights are several steps away.
const ROUNDS: usize = 3;

/// The most other forms of one value that operands of rules are looked for in.
const MAX_FORMS: usize = 8;

/// The most weights that one value is computed from.
const MAX_WEIGHTS: usize = 8;

/// The most shapes in which one value is offered.
const MAX_ARRANGED: usize = 4;

/// Forms that the search for instances of rules may look at, for each node.
const SEARCHED: usize = 1 << 12;

/// A value that is computed from weights and constants.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub value: Value,
    /// The numbers of the weights.
    pub weights: Vec<usize>,
    /// Whether it is a weight in another arrangement, and no more.
    pub is_weight: bool,
}

/// Values of a graph that are computed from weights and constants, by type.
pub(super) struct FoldCandidates {
    graph: Graph,
    found: FxHashMap<TensorType, Vec<Candidate>>,
}

impl FoldCandidates {
    /// Those of the types `wanted`. `weights` says of every input whether it is one.
    pub(super) fn new(graph: &Graph, weights: &[bool], wanted: &FxHashSet<TensorType>) -> FoldCandidates {
        let mut extended =
            Extended { graph: graph.clone(), added: AppliedOnce::default(), forms: FxHashMap::default() };
        extended.apply_rules();
        let mut reads = Vec::new();
        extended.read(weights, &mut reads);
        extended.arrange(&reads, wanted);
        extended.read(weights, &mut reads);
        let graph = extended.graph;
        let mut found: FxHashMap<TensorType, Vec<Candidate>> = FxHashMap::default();
        for ((id, node), weights) in graph.nodes().zip(reads) {
            let ([ty], Some(weights)) = (&node.types[..], weights) else { continue };
            if !weights.is_empty() && wanted.contains(ty) {
                let candidate = Candidate { value: Value::from(id), weights, is_weight: is_weight(&graph, id) };
                found.entry(ty.clone()).or_default().push(candidate);
            }
        }
        FoldCandidates { graph, found }
    }

    /// The graph that has the values.
    pub(super) fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Those of a type, in the order of the graph.
    pub(super) fn of_type(&self, ty: &TensorType) -> &[Candidate] {
        self.found.get(ty).map_or(&[], Vec::as_slice)
    }
}

fn is_weight(graph: &Graph, id: NodeId) -> bool {
    match &graph.node(id).kind {
        NodeKind::Input { .. } => true,
        NodeKind::Op { op, .. } => {
            let is_input = |v: &Value| matches!(graph.node(v.node).kind, NodeKind::Input { .. });
            op.movement().is_some() && graph.operands(id).iter().all(is_input)
        }
        NodeKind::Literal(_) => false,
    }
}

/// A graph with the other sides of the rules that match in it.
struct Extended {
    graph: Graph,
    added: AppliedOnce,
    /// What rules have made of a value.
    forms: FxHashMap<Value, SmallVec<[Value; 1]>>,
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
                    all.collect::<Option<Vec<_>>>().and_then(|all| {
                        let mut all: Vec<usize> = all.into_iter().flatten().copied().collect();
                        all.sort_unstable();
                        all.dedup();
                        (all.len() <= MAX_WEIGHTS).then_some(all)
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
        let mut by_size: FxHashMap<(DType, usize), Vec<&TensorType>> = FxHashMap::default();
        wanted.iter().for_each(|ty| by_size.entry((ty.dtype, ty.numel())).or_default().push(ty));
        by_size.values_mut().for_each(|all| all.sort_by(|a, b| a.shape.cmp(&b.shape)));
        for value in fixed {
            let ty = self.graph.ty(value).clone();
            let alike = by_size.get(&(ty.dtype, ty.numel())).into_iter().flatten();
            for other in alike.filter(|other| other.shape != ty.shape).take(MAX_ARRANGED) {
                self.add("reshape", "shape", AttrValue::shape(&other.shape), value);
            }
            if let [rows, columns] = ty.shape[..]
                && wanted.contains(&TensorType { dtype: ty.dtype, shape: Shape::from_slice(&[columns, rows]) })
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
        let most = self.graph.len() + self.graph.len().saturating_mul(MAX_GROWTH).min(MAX_ADDED);
        for _ in 0..ROUNDS {
            // What one rule has added is an operand to another one in the next round.
            let before = self.graph.len();
            let operators = self.graph.nodes().filter_map(|(id, node)| match &node.kind {
                NodeKind::Op { op, .. } => Some((id, op.clone())),
                _ => None,
            });
            for (id, op) in operators.collect::<Vec<_>>() {
                self.apply_rules_to(&library, Value::from(id), &op);
                if self.graph.len() > most {
                    return;
                }
            }
            if self.graph.len() == before {
                return;
            }
        }
    }

    fn apply_rules_to(&mut self, library: &RuleSet, root: Value, op: &Op) {
        let mut budget = SEARCHED;
        for rule in library.rules().iter().filter(|rule| rule.root_op() == Some(op.name()) && rule.height > 1) {
            let mut found: Vec<Bindings<Value>> = Vec::new();
            rule.search(self, root, &mut budget, &mut found);
            for mut bindings in found {
                if !matches!(rule.check_conditions(self, &mut bindings), Outcome::Holds { .. }) {
                    continue;
                }
                // What has no type is no other side.
                let Ok(other) = rule.build_rhs(&bindings, self) else { continue };
                let forms = self.forms.entry(root).or_default();
                if forms.len() < MAX_FORMS && other != root && !forms.contains(&other) {
                    forms.push(other);
                }
            }
        }
    }
}

impl Terms for Extended {
    type Id = Value;

    fn visit(&self, id: Value, f: &mut Visitor<'_, Value>) -> ControlFlow<()> {
        let others = self.forms.get(&id).into_iter().flatten().copied();
        for form in std::iter::once(id).chain(others) {
            if let NodeKind::Op { op, attrs } = &self.graph.node(form.node).kind {
                f(op, attrs, form.slot as usize, &self.graph.operands(form.node))?;
            }
        }
        ControlFlow::Continue(())
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
        self.added.apply(&mut self.graph, def, attrs, slot, operands, &Origin::implicit())
    }
}
