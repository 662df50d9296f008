//! Parts of a graph that a cheaper form may replace, each as a question that no name and no place in the graph matters to.

use std::collections::hash_map::Entry;
use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::fanout_free::{self, MAX_OPERATORS, Users};
use super::joint::{self, read_outside, together};
use super::plan::{Leaf, Leaves};
use super::search::Search;
use super::term::Term;
use crate::energy::{Bill, CostModel, Item, computed_nodes};
use crate::ir::{Fixed, Graph, Layout, NodeId, NodeKind, Value, layouts};
use crate::ops::{Op, TypeError};
use crate::prove::{
    Boundary, ConeKey, GraphLeaves, Head, Side, TermArena, TermId, Values, cone, graph_terms, may_end_loop,
};

/// No GPU holds the operands of a part that moves more bytes: nobody runs it.
const MAX_BYTES: f64 = 1e12;

/// Operators of a loop that a program ran through step by step.
const MAX_LOOP: usize = 400;

/// A part of a graph that a cheaper form may replace.
pub(super) struct Part {
    /// The values that it computes, in the order of the graph.
    pub roots: Vec<Value>,
    /// Its operators, in topological order.
    pub nodes: Vec<NodeId>,
    /// What it reads.
    pub leaves: Vec<Value>,
}

/// The parts of a graph, and what is known of it.
pub(super) struct Parts<'g> {
    pub graph: &'g Graph,
    items: &'g [Item],
    pub users: Users,
    /// The terms of its values.
    pub values: Values,
    arena: TermArena,
    layouts: Vec<SmallVec<[Layout; 1]>>,
    computed: Vec<bool>,
    fixed: Fixed,
    /// With the number of the search for its forms.
    pub all: Vec<(Part, usize)>,
    /// Parts that are alike, such as the layers of a model, are searched once.
    pub searches: IndexMap<(ConeKey, Leaves), Search>,
}

impl<'g> Parts<'g> {
    /// No parts yet. The nodes of `graph` are priced as `items`.
    pub(super) fn new(graph: &'g Graph, items: &'g [Item], model: &CostModel) -> Result<Parts<'g>, TypeError> {
        let numbers: Vec<u32> = (0..graph.inputs().len() as u32).collect();
        let mut arena = TermArena::default();
        let values = graph_terms(&mut arena, graph, &GraphLeaves::of(graph, Side::A, &numbers))?;
        Ok(Parts {
            graph,
            items,
            users: Users::of(graph),
            values,
            arena,
            layouts: layouts(graph),
            computed: computed_nodes(graph, items),
            fixed: Fixed::of(graph, model.is_frozen()),
            all: Vec::new(),
            searches: IndexMap::new(),
        })
    }

    /// Operators that compute what an earlier one has computed, with that. Views are free, and what is drawn is never the same.
    pub(super) fn repeated(&self, live: &[bool]) -> Vec<(NodeId, Value)> {
        let mut first: FxHashMap<TermId, Value> = FxHashMap::default();
        let mut repeated = Vec::new();
        for (id, node) in self.graph.nodes() {
            let runs = matches!(self.items[id.index()], Item::Kernel(_)) && !node.origin.implicit;
            let is_one = matches!(node.kind, NodeKind::Op { op: Op::Table(_), .. }) && node.types.len() == 1;
            let term = self.values[id.index()].first().filter(|_| runs && is_one && live[id.index()]);
            let Some(&term) = term.filter(|&&term| self.arena.constant(term).is_none()) else { continue };
            match first.entry(term) {
                Entry::Occupied(known) if !self.users.is_written(id) => repeated.push((id, *known.get())),
                Entry::Occupied(_) => {}
                Entry::Vacant(place) => {
                    place.insert(id.into());
                }
            }
        }
        repeated
    }

    /// A part that is one operator, as a term over what it reads.
    pub(super) fn single(&self, id: NodeId) -> Option<(Part, Term)> {
        let NodeKind::Op { op, attrs } = &self.graph.node(id).kind else { return None };
        let leaves: IndexSet<Value> = self.graph.operands(id).into_iter().collect();
        let mut arena = TermArena::default();
        let given: Vec<TermId> = (0..)
            .zip(&leaves)
            .map(|(n, v)| arena.leaf_like(&self.arena, self.values[v.node.index()][v.slot as usize], Head::Input(n)))
            .collect();
        let operands: SmallVec<[TermId; 4]> =
            self.graph.operands(id).iter().map(|v| Some(given[leaves.get_index_of(v)?])).collect::<Option<_>>()?;
        let term = arena.call(op, attrs, 0, &operands, None).ok()?;
        let part = Part { roots: vec![id.into()], nodes: vec![id], leaves: leaves.into_iter().collect() };
        Some((part, Term { arena: Arc::new(arena), replaced: term, root: term, proof: Arc::from([]) }))
    }

    /// Adds the part `nodes`, which computes the one value `root`, unless it is no part that a form can replace.
    pub(super) fn add(&mut self, nodes: Vec<NodeId>, root: Value) {
        self.add_part(nodes, vec![root]);
    }

    /// Adds the part that ends in `root`, if that may be the end of a loop of many steps.
    pub(super) fn add_loop(&mut self, root: NodeId) {
        let def = |id: NodeId| match &self.graph.node(id).kind {
            NodeKind::Op { op: Op::Table(def), .. } => Some(*def),
            _ => None,
        };
        let Some(last) = def(root).filter(|def| may_end_loop(def)) else { return };
        // A chain ends in its last link.
        let is_link = |&user: &NodeId| last.operands.len() == 2 && def(user).is_some_and(|def| def.name == last.name);
        let readers = self.users.of_node(root);
        if readers.len() == 1 && readers.iter().all(is_link) {
            return;
        }
        let nodes = fanout_free::cone(self.graph, &self.users, root, MAX_LOOP);
        if nodes.len() > MAX_OPERATORS {
            self.add(nodes, root.into());
        }
    }

    /// Adds a part with what others read of it.
    pub(super) fn add_joint(&mut self, mut nodes: Vec<NodeId>) {
        // A constant is computed as before.
        nodes.retain(|id| self.values[id.index()].iter().all(|&term| self.arena.constant(term).is_none()));
        let roots = read_outside(self.graph, &nodes);
        if !roots.is_empty() {
            self.add_part(nodes, roots);
        }
    }

    fn add_part(&mut self, mut nodes: Vec<NodeId>, roots: Vec<Value>) -> Option<()> {
        let before = self.price(&nodes).total();
        if before.launches == 0 || !before.energy_mj.is_known() || before.bytes > MAX_BYTES {
            return None;
        }
        let tops: Vec<TermId> = roots.iter().map(|v| self.values[v.node.index()][v.slot as usize]).collect();
        let top = together(&mut self.arena, &tops)?;
        let mut inside: FxHashSet<TermId> = nodes.iter().flat_map(|n| self.values[n.index()].iter().copied()).collect();
        inside.insert(top);
        let shape = cone(&self.arena, &Inside(inside), &[top], 0, 2 * nodes.len().max(MAX_OPERATORS))?;
        // What depends on no input is computed once, whatever form it has.
        if shape.leaves.iter().all(|&t| self.arena.constant(t).is_some()) {
            return None;
        }
        let value_of = values_read(self.graph, &self.values, &nodes);
        let leaves: Vec<Value> = shape.leaves.iter().map(|t| value_of.get(t).copied()).collect::<Option<_>>()?;
        if leaves.iter().all(|v| self.fixed.made_of(v.node).is_some()) {
            return None;
        }
        // A constant that the form reads is computed as before, and what it costs is not saved.
        keep_computing(self.graph, &leaves, &mut nodes);
        let before = self.price(&nodes);
        if before.total().launches == 0 {
            return None;
        }
        let explicit = nodes.iter().filter(|&&id| !self.graph.node(id).origin.implicit).count();
        let is_loop = roots.len() == 1 && explicit > joint::MAX_WHOLE;
        let entry = self.searches.entry((shape.key.clone(), self.leaves(&leaves)));
        let search = entry.index();
        entry.or_insert_with(|| {
            let (arena, copies) = shape.localise(&self.arena, &Nothing, &[top]);
            Search { arena, root: copies[0], before, is_loop }
        });
        self.all.push((Part { roots, nodes, leaves }, search));
        Some(())
    }

    /// What some operators of the graph execute.
    pub(super) fn price(&self, nodes: &[NodeId]) -> Bill {
        nodes.iter().map(|n| &self.items[n.index()]).collect()
    }

    /// What is known of values that a part reads.
    pub(super) fn leaves(&self, values: &[Value]) -> Leaves {
        let leaf = |v: &Value| Leaf {
            layout: self.layouts[v.node.index()][v.slot as usize].clone(),
            is_computed: self.computed[v.node.index()],
            made_of: self.fixed.made_of(v.node),
        };
        Leaves { read: values.iter().map(leaf).collect(), is_frozen: self.fixed.any() }
    }
}

impl Part {
    /// The values that it reads and computes with their terms in the arena of its search, which knows it as terms over leaves that are
    /// numbered.
    pub(super) fn terms(&self, parts: &Parts, arena: &mut TermArena) -> Vec<(Value, TermId)> {
        let mut here: FxHashMap<TermId, TermId> = FxHashMap::default();
        let mut terms = Vec::new();
        let term_of = |v: Value| parts.values[v.node.index()][v.slot as usize];
        for (n, &leaf) in (0..).zip(&self.leaves) {
            let input = (0..arena.len()).map(|t| arena.nth(t)).find(|&t| *arena.head(t) == Head::Input(n));
            if let Some(term) = input {
                here.insert(term_of(leaf), term);
                terms.push((leaf, term));
            }
        }
        for &id in &self.nodes {
            let node = parts.graph.node(id);
            let operands: Option<SmallVec<[TermId; 4]>> =
                parts.graph.operands(id).iter().map(|&v| here.get(&term_of(v)).copied()).collect();
            let (NodeKind::Op { op, attrs }, Some(operands)) = (&node.kind, operands) else { continue };
            for (slot, &graph_term) in parts.values[id.index()].iter().enumerate() {
                let known = here.get(&graph_term).copied();
                let call =
                    |arena: &mut TermArena| arena.call(op, attrs, slot as u32, &operands, Some(&node.types[slot])).ok();
                if let Some(term) = known.or_else(|| call(arena)) {
                    here.insert(graph_term, term);
                    terms.push((Value::new(id, slot as u32), term));
                }
            }
        }
        terms
    }
}

/// The values that a part may read, by their terms: what its operators read from outside, and what they compute themselves.
fn values_read(graph: &Graph, values: &Values, part: &[NodeId]) -> FxHashMap<TermId, Value> {
    let own = part.iter().flat_map(|&id| (0..values[id.index()].len() as u32).map(move |slot| Value::new(id, slot)));
    let read = part.iter().flat_map(|&id| graph.operands(id)).filter(|v| !part.contains(&v.node));
    // Of two values of one term, the one from outside counts: it is there whatever becomes of the part.
    own.chain(read).map(|v| (values[v.node.index()][v.slot as usize], v)).collect()
}

/// Takes what `leaves` are computed by out of the operators that a form replaces.
fn keep_computing(graph: &Graph, leaves: &[Value], replaced: &mut Vec<NodeId>) {
    let mut kept: Vec<NodeId> = leaves.iter().map(|v| v.node).filter(|n| replaced.contains(n)).collect();
    while let Some(node) = kept.pop() {
        replaced.retain(|&n| n != node);
        kept.extend(graph.operands(node).iter().map(|v| v.node).filter(|n| replaced.contains(n)));
    }
}

/// The terms of a part as a boundary: everything else is a leaf.
struct Inside(FxHashSet<TermId>);

impl Boundary for Inside {
    fn representative(&self, t: TermId) -> TermId {
        t
    }

    fn is_shared(&self, t: TermId) -> bool {
        !self.0.contains(&t)
    }

    fn passes(&self, _: &Op) -> bool {
        false
    }

    fn opens(&self, _: &Op) -> bool {
        false
    }
}

/// No classes: every term stands for itself.
struct Nothing;

impl Boundary for Nothing {
    fn representative(&self, t: TermId) -> TermId {
        t
    }

    fn is_shared(&self, _: TermId) -> bool {
        false
    }
}
