//! Writing a graph down with its cheaper forms in place.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::joint::results;
use super::rewrite::Rewrite;
use crate::eval::Constant;
use crate::ir::{Attrs, Graph, GraphError, Node, NodeId, NodeKind, Origin, Role, TensorType, Value};
use crate::ops::{self, Op, is_number};
use crate::prove::{Head, TermId};

/// A graph with cheaper forms in place.
pub(crate) struct Applied {
    pub graph: Graph,
    /// Per rewrite, the names of the nodes that were made for it.
    pub made: Vec<Vec<Arc<str>>>,
}

/// The graph with each of `rewrites` in place of the operators that it replaces. The rewrites must come from
/// [`super::cheaper_forms`] of this graph. Inputs, outputs, math flags and the names of all that stays are kept; what only served
/// operators that are gone is left out.
pub(crate) fn apply(graph: &Graph, rewrites: &[Rewrite]) -> Result<Applied, GraphError> {
    let of_root: FxHashMap<NodeId, usize> =
        rewrites.iter().enumerate().flat_map(|(i, r)| r.roots.iter().map(move |root| (root.node, i))).collect();
    let mut forms: Vec<Form> = rewrites.iter().map(|_| Form::default()).collect();
    let replaced: FxHashSet<NodeId> = rewrites.iter().flat_map(|r| r.replaced.iter().copied()).collect();
    let needed = needed(graph, rewrites, &of_root);
    let mut writer = Writer::new(graph, graph.nodes().map(|(_, n)| n.name.clone()).collect());
    for (id, node) in graph.nodes() {
        if !needed[id.index()] {
            continue;
        }
        if let Some(&i) = of_root.get(&id) {
            writer.write_form(graph, &rewrites[i], id, &mut forms[i])?;
        } else if !replaced.contains(&id) {
            let operands: SmallVec<[Value; 4]> =
                graph.operands(id).into_iter().map(|v| writer.moved(graph, v)).collect::<Result<_, _>>()?;
            let copy = writer.copy(&node.name, node, &operands)?;
            for slot in 0..node.types.len() as u32 {
                writer.moved.insert(Value::new(id, slot), Value::new(copy, slot));
            }
        }
    }
    let Writer { mut target, moved, .. } = writer;
    target.take_outputs(graph, |value| moved.get(&value).copied().ok_or_else(|| missing(graph, value)))?;
    Ok(Applied { graph: target, made: forms.into_iter().map(|form| form.made).collect() })
}

/// Which nodes still have a use once the rewrites are in place. Inputs do, and so does what had none before.
fn needed(graph: &Graph, rewrites: &[Rewrite], of_root: &FxHashMap<NodeId, usize>) -> Vec<bool> {
    let live = graph.live();
    let is_kept = |id: NodeId, node: &Node| !live[id.index()] || matches!(node.kind, NodeKind::Input { .. });
    let mut next: Vec<NodeId> = graph.outputs().iter().map(|output| output.value.node).collect();
    next.extend(graph.nodes().filter(|(id, node)| is_kept(*id, node)).map(|(id, _)| id));
    let mut needed = vec![false; graph.len()];
    while let Some(id) = next.pop() {
        if std::mem::replace(&mut needed[id.index()], true) {
            continue;
        }
        match of_root.get(&id) {
            Some(&i) => next.extend(rewrites[i].reads().map(|value| value.node)),
            None => next.extend(graph.operands(id).iter().map(|value| value.node)),
        }
    }
    needed
}

fn missing(graph: &Graph, value: Value) -> GraphError {
    GraphError::Missing { node: graph.node(value.node).name.to_string() }
}

/// What was written of a cheaper form.
#[derive(Default)]
struct Form {
    /// Names of the nodes that were made for it.
    made: Vec<Arc<str>>,
    done: FxHashMap<TermId, Value>,
    /// The node of every call: of an operator with several results, one.
    calls: FxHashMap<(String, Attrs, SmallVec<[Value; 4]>), NodeId>,
}

/// Writes a graph that is made of parts of others.
pub(super) struct Writer {
    target: Graph,
    /// Where a value of the old graph stands in the new one.
    moved: FxHashMap<Value, Value>,
    names: FxHashSet<Arc<str>>,
}

impl Writer {
    /// Begins a graph with the name and the flags of `graph`. `names` are taken.
    pub(super) fn new(graph: &Graph, names: FxHashSet<Arc<str>>) -> Writer {
        let mut target = Graph::new(graph.name.clone());
        target.config = graph.config.clone();
        Writer { target, moved: FxHashMap::default(), names }
    }

    pub(super) fn add_input(&mut self, name: &str, role: Role, ty: TensorType, origin: Origin) -> NodeId {
        self.target.add_input(name, role, ty, origin)
    }

    pub(super) fn into_graph(self) -> Graph {
        self.target
    }

    /// A node as it is, over operands of the new graph.
    pub(super) fn copy(&mut self, name: &str, node: &Node, operands: &[Value]) -> Result<NodeId, GraphError> {
        let (target, origin) = (&mut self.target, node.origin.clone());
        match &node.kind {
            NodeKind::Input { role } => Ok(target.add_input(name, *role, node.types[0].clone(), origin)),
            NodeKind::Literal(literal) => target.add_literal(name, node.types[0].clone(), literal.data.clone(), origin),
            NodeKind::Op { op, attrs } => self.call(name, op, attrs, operands, node.types.iter().cloned(), origin),
        }
    }

    /// A value of the old graph, which was written before its users were.
    fn moved(&self, graph: &Graph, value: Value) -> Result<Value, GraphError> {
        self.moved.get(&value).copied().ok_or_else(|| missing(graph, value))
    }

    fn call(
        &mut self,
        name: &str,
        op: &Op,
        attrs: &Attrs,
        operands: &[Value],
        types: impl IntoIterator<Item = TensorType>,
        origin: Origin,
    ) -> Result<NodeId, GraphError> {
        match op {
            Op::Table(def) => self.target.add_op(name, def, attrs.clone(), operands, origin),
            Op::Custom(_) => self.target.add_custom(name, op.clone(), attrs.clone(), operands, types, origin),
        }
    }

    /// Writes what a cheaper form computes in place of the node `of`, after what was written of it before. The last operator gets the name
    /// of that node.
    fn write_form(&mut self, graph: &Graph, rewrite: &Rewrite, of: NodeId, form: &mut Form) -> Result<(), GraphError> {
        let replaced = graph.node(of);
        let arena = &rewrite.arena;
        let tops = rewrite.roots.iter().copied().zip(results(arena, rewrite.root));
        for (root, top) in tops.filter(|(root, _)| root.node == of) {
            let mut stack = vec![top];
            while let Some(&term) = stack.last() {
                // Arithmetic of numbers is a number: nobody launches a kernel for it.
                let number = arena.constant(term).and_then(Constant::uniform);
                let number = number.filter(|_| term != top && arena.ty(term).rank() == 0);
                let operands = if number.is_some() { &[] } else { &*arena.term(term).operands };
                let before = stack.len();
                stack.extend(operands.iter().filter(|o| !form.done.contains_key(o)));
                if stack.len() > before {
                    continue;
                }
                stack.pop();
                if form.done.contains_key(&term) {
                    continue;
                }
                let ty = arena.ty(term).clone();
                let mut name = |writer: &mut Writer| {
                    let is_free = term == top && !form.made.contains(&replaced.name);
                    form.made.push(if is_free { replaced.name.clone() } else { writer.fresh(&replaced.name) });
                    form.made[form.made.len() - 1].clone()
                };
                let value = match arena.head(term) {
                    Head::Input(n) => self.moved(graph, rewrite.leaves[*n as usize])?,
                    Head::Literal(data) => {
                        let name = name(self);
                        self.target.add_literal(&name, ty, data.clone(), replaced.origin.clone())?.into()
                    }
                    Head::Apply { op, attrs, slot } => {
                        let number = number.map(|number| ops::number(number, ty.dtype));
                        let number = number.map(|(number, attrs)| (Op::Table(number), attrs));
                        let (op, attrs, slot) = match &number {
                            Some((number, attrs)) => (number, attrs, 0),
                            None => (op, attrs, *slot),
                        };
                        let operands: SmallVec<[Value; 4]> = operands.iter().map(|o| form.done[o]).collect();
                        let call = (op.name().to_owned(), attrs.clone(), operands);
                        let node = match form.calls.get(&call) {
                            Some(&node) => node,
                            None => {
                                // A scalar is a number in a call and no operator of its own.
                                let implicit = op.def().is_some_and(is_number);
                                // What takes the place of a step that cost nothing may cost something.
                                let origin = match implicit {
                                    true => Origin::implicit(),
                                    false => Origin { implicit: false, ..replaced.origin.clone() },
                                };
                                let name = name(self);
                                let node = self.call(&name, op, attrs, &call.2, [ty], origin)?;
                                form.calls.insert(call, node);
                                node
                            }
                        };
                        Value::new(node, slot)
                    }
                    Head::Random(_) => unreachable!("what is drawn anew at every call is a leaf of every part"),
                };
                form.done.insert(term, value);
            }
            self.moved.insert(root, form.done[&top]);
        }
        Ok(())
    }

    pub(super) fn fresh(&mut self, base: &str) -> Arc<str> {
        let mut n = 1;
        loop {
            let name: Arc<str> = format!("{base}_{n}").into();
            if self.names.insert(name.clone()) {
                return name;
            }
            n += 1;
        }
    }
}
