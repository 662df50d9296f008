//! Forms in a window: those whose elements are known best, which have the fewest operators that formulas do not look into, and the
//! smallest ones.
//!
//! What a composite operator is, such as a group normalisation or a loss, rules say; comparing elements needs that form, wherever in
//! a value the operator stands. The smallest form is where a search goes on that is crowded with other forms.

use egg::{CostFunction, EGraph, Extractor, Id};
use rustc_hash::FxHashMap;

use super::arena::{Operands, TermArena, TermId};
use super::kernel::Leaves;
use super::language::{Node, Types};
use crate::ops::Elements;

/// What an operator costs that formulas do not look into: more than all that they do.
const OPAQUE: u64 = 1 << 20;

struct Cost<'a> {
    arena: &'a TermArena,
    leaves: &'a Leaves,
    /// What an operator costs that formulas do not look into.
    opaque: u64,
}

impl Cost<'_> {
    /// Whether a node needs no look inside.
    fn is_end(&self, node: &Node) -> bool {
        node.head.is_none() || self.leaves.contains(&node.term) || self.arena.value(node.term).is_some()
    }
}

impl CostFunction<Node> for Cost<'_> {
    type Cost = u64;

    fn cost<C: FnMut(Id) -> u64>(&mut self, node: &Node, mut costs: C) -> u64 {
        if self.is_end(node) {
            return 0;
        }
        let def = self.arena.op(node.term).and_then(|(op, ..)| op.def());
        let own = if def.is_none_or(|def| def.elements == Elements::Unknown) { self.opaque } else { 1 };
        node.children.iter().fold(own, |sum, &child| sum.saturating_add(costs(child)))
    }
}

/// The plainest forms of some classes, as terms, if there are any with only operators that formulas look into.
pub(super) fn plainest(
    egraph: &EGraph<Node, Types>,
    arena: &mut TermArena,
    roots: [Id; 2],
    leaves: &Leaves,
) -> Option<[TermId; 2]> {
    cheapest(egraph, arena, roots, leaves, OPAQUE)
}

/// The smallest forms of some classes, as terms.
pub(super) fn smallest(egraph: &EGraph<Node, Types>, arena: &mut TermArena, roots: [Id; 2]) -> Option<[TermId; 2]> {
    cheapest(egraph, arena, roots, &Leaves::default(), 1)
}

fn cheapest(
    egraph: &EGraph<Node, Types>,
    arena: &mut TermArena,
    roots: [Id; 2],
    leaves: &Leaves,
    opaque: u64,
) -> Option<[TermId; 2]> {
    let nodes: FxHashMap<Id, Node> = {
        let cost = Cost { arena, leaves, opaque };
        let extractor = Extractor::new(egraph, Cost { arena, leaves, opaque });
        if roots.iter().any(|&root| extractor.find_best_cost(root) >= OPAQUE) {
            return None;
        }
        let mut nodes = FxHashMap::default();
        let mut stack = roots.to_vec();
        while let Some(id) = stack.pop() {
            let id = egraph.find(id);
            if nodes.contains_key(&id) {
                continue;
            }
            let node = extractor.find_best_node(id);
            if !cost.is_end(node) {
                stack.extend(&node.children);
            }
            let mut node = node.clone();
            if cost.is_end(&node) {
                node.children.clear();
            }
            nodes.insert(id, node);
        }
        nodes
    };
    let mut built = FxHashMap::default();
    let [a, b] = roots.map(|root| build(egraph, arena, &nodes, egraph.find(root), &mut built));
    Some([a?, b?])
}

/// The term of the nodes that were chosen for a class and those below it.
fn build(
    egraph: &EGraph<Node, Types>,
    arena: &mut TermArena,
    nodes: &FxHashMap<Id, Node>,
    root: Id,
    built: &mut FxHashMap<Id, TermId>,
) -> Option<TermId> {
    let mut stack = vec![root];
    while let Some(&id) = stack.last() {
        let node = nodes.get(&id)?;
        let missing: Vec<Id> =
            node.children.iter().map(|&c| egraph.find(c)).filter(|c| !built.contains_key(c)).collect();
        if !missing.is_empty() {
            stack.extend(missing);
            continue;
        }
        stack.pop();
        if built.contains_key(&id) {
            continue;
        }
        let term = if node.children.is_empty() {
            node.term
        } else {
            let operands: Operands =
                node.children.iter().map(|c| built.get(&egraph.find(*c)).copied()).collect::<Option<_>>()?;
            if operands == arena.term(node.term).operands {
                node.term
            } else {
                let (op, attrs, slot) = arena.op(node.term)?;
                let (op, attrs) = (op.clone(), attrs.clone());
                arena.call(&op, &attrs, slot, &operands, None).ok()?
            }
        };
        built.insert(id, term);
    }
    built.get(&root).copied()
}
