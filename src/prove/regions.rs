//! Regions: both graphs cut at proven values, and what lies between consecutive cuts.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use super::arena::TermId;
use super::kernel::Values;
use super::view_equivalence::View;
use crate::ir::{Graph, Layout, NodeId, NodeKind, layouts};

/// Operators of both sides that compute the same from the same.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Region {
    /// What is known of the region.
    pub kind: RegionKind,
    /// Operators of A, in topological order; implicit nodes included.
    pub a: Vec<NodeId>,
    /// Operators of the second graph, in topological order.
    pub b: Vec<NodeId>,
    /// The values that both sides share where the region ends.
    pub ends: Vec<TermId>,
}

/// What makes a region proven.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RegionKind {
    /// Its ends were proven equal, over equal operands.
    #[default]
    Proven,
    /// It depends on no input: its values are known.
    Constant,
    /// No output depends on it.
    Dead,
    /// Not proven: on the witness of a difference its operands agree and its results do not.
    Divergent,
}

/// The partition of both graphs.
#[derive(Clone, Debug, Default)]
pub struct Partition {
    /// In A's order.
    pub regions: Vec<Region>,
    /// Operators in no proven region.
    pub unmatched_a: Vec<NodeId>,
    /// Operators of the second graph that no region holds.
    pub unmatched_b: Vec<NodeId>,
}

impl Partition {
    /// Makes operators of the remainder a region of their own: where the two sides part. Gives its place among the
    /// regions, or `None` if there are none of either side.
    pub fn part(&mut self, a: Vec<NodeId>, b: Vec<NodeId>) -> Option<usize> {
        if a.is_empty() && b.is_empty() {
            return None;
        }
        self.unmatched_a.retain(|n| !a.contains(n));
        self.unmatched_b.retain(|n| !b.contains(n));
        self.regions.push(Region { kind: RegionKind::Divergent, a, b, ends: Vec::new() });
        Some(self.regions.len() - 1)
    }
}

/// What the partition needs to know of a value's class.
pub(super) trait Classes {
    fn is_shared(&self, term: TermId) -> bool;
    fn is_random(&self, term: TermId) -> bool;
    /// Where a value of one side is a view of one of the other side: that value and the view.
    fn view(&self, term: TermId) -> Option<&(TermId, View)>;

    /// The class that a value counts as when the graphs are cut.
    fn cut(&self, term: TermId) -> TermId {
        self.view(term).map_or(term, |(original, _)| *original)
    }
}

/// Where an operator belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Membership {
    Constant,
    Dead,
    /// The region that ends in this class.
    Class(TermId),
    Unmatched,
}

/// Cuts both graphs at shared values. `a` and `b` are graphs with the class of each value.
pub(super) fn partition(a: (&Graph, &Values), b: (&Graph, &Values), classes: &impl Classes) -> Partition {
    let mut union = Union::default();
    let places = [places(a.0, a.1, classes, &mut union), places(b.0, b.1, classes, &mut union)];
    join_over_layouts([a, b], &places, classes, &mut union);
    let mut regions: BTreeMap<Membership, Region> = BTreeMap::new();
    let mut result = Partition::default();
    for (side, (graph, places)) in [a.0, b.0].into_iter().zip(&places).enumerate() {
        for (id, node) in graph.nodes() {
            if !matches!(node.kind, NodeKind::Op { .. }) {
                continue;
            }
            let place = match places[id.index()] {
                Membership::Class(t) => Membership::Class(union.find(t)),
                other => other,
            };
            let kind = match place {
                Membership::Unmatched => {
                    let rest = if side == 0 { &mut result.unmatched_a } else { &mut result.unmatched_b };
                    rest.push(id);
                    continue;
                }
                Membership::Constant => RegionKind::Constant,
                Membership::Dead => RegionKind::Dead,
                Membership::Class(_) => RegionKind::Proven,
            };
            let region = regions.entry(place).or_insert_with(|| Region { kind, ..Region::default() });
            if side == 0 { &mut region.a } else { &mut region.b }.push(id);
            if let Membership::Class(own) = places[id.index()]
                && !region.ends.contains(&own)
            {
                region.ends.push(own);
            }
        }
    }
    result.regions = regions.into_values().collect();
    // In the order of the graphs, so that a reader meets the layers from the first to the last.
    result.regions.sort_by_key(|r| (r.a.first().copied(), r.b.first().copied()));
    result
}

/// Joins the regions on both sides of a cut whose value lies in memory differently in A and in B. What the users
/// of such a value cost depends on how it was made, so the two have to be priced together.
fn join_over_layouts(
    sides: [(&Graph, &Values); 2],
    places: &[Vec<Membership>; 2],
    classes: &impl Classes,
    union: &mut Union,
) {
    let seen = [seen_layouts(sides[0], &places[0], classes), seen_layouts(sides[1], &places[1], classes)];
    for (class, left) in &seen[0] {
        let Some(right) = seen[1].get(class) else { continue };
        if left.layouts == right.layouts {
            continue;
        }
        for user in left.users.iter().chain(&right.users) {
            union.join(*class, *user);
        }
    }
}

/// How the users of a class see its value.
#[derive(Default)]
struct Seen {
    /// None stands for one that the other side cannot have.
    layouts: BTreeSet<Option<Layout>>,
    /// The regions of the users.
    users: BTreeSet<TermId>,
}

fn seen_layouts(
    (graph, values): (&Graph, &Values),
    places: &[Membership],
    classes: &impl Classes,
) -> BTreeMap<TermId, Seen> {
    let layouts = layouts(graph);
    let mut seen: BTreeMap<TermId, Seen> = BTreeMap::new();
    for (id, node) in graph.nodes() {
        let Membership::Class(user) = places[id.index()] else { continue };
        for operand in graph.operands(id) {
            let i = operand.node.index();
            let value = values[i][operand.slot as usize];
            let class = classes.cut(value);
            if !matches!(places[i], Membership::Class(_)) || values[id.index()].iter().any(|&t| classes.cut(t) == class)
            {
                continue;
            }
            let layout = &layouts[i][operand.slot as usize];
            let (mut layout, shape) = match classes.view(value) {
                Some((_, view)) => (view.original(layout), view.original_shape()),
                None => (Some(layout.clone()), &*graph.ty(operand).shape),
            };
            if let Some(layout) = &mut layout {
                layout.forget_ones(shape);
            }
            let entry = seen.entry(class).or_default();
            entry.layouts.insert(layout);
            if !node.origin.implicit {
                entry.users.insert(user);
            }
        }
    }
    seen
}

fn places(graph: &Graph, values: &Values, classes: &impl Classes, union: &mut Union) -> Vec<Membership> {
    let live = graph.live();
    let mut is_output = vec![false; graph.len()];
    for output in graph.outputs() {
        is_output[output.value.node.index()] = true;
    }
    let independent = input_independent(graph, values, classes);
    let mut places = vec![Membership::Unmatched; graph.len()];
    for (id, node) in graph.nodes().rev() {
        let i = id.index();
        if !matches!(node.kind, NodeKind::Op { .. }) {
            continue;
        }
        let cuts = values[i].iter().map(|&t| classes.cut(t));
        let shared: Vec<TermId> = cuts.filter(|&t| classes.is_shared(t)).collect();
        places[i] = if independent[i] {
            Membership::Constant
        } else if let Some(&first) = shared.first() {
            // Several outputs of one operator end one region.
            shared.iter().for_each(|&t| union.join(first, t));
            Membership::Class(first)
        } else if !live[i] {
            Membership::Dead
        } else {
            inside(graph, id, is_output[i], &places, union)
        };
    }
    places
}

/// Operators that compute the same at every call, whatever the inputs are.
fn input_independent(graph: &Graph, values: &Values, classes: &impl Classes) -> Vec<bool> {
    let mut independent = vec![false; graph.len()];
    for (id, node) in graph.nodes() {
        let i = id.index();
        independent[i] = match &node.kind {
            NodeKind::Input { .. } => false,
            NodeKind::Literal(_) => true,
            NodeKind::Op { op, .. } => {
                op.def().is_some()
                    && !values[i].iter().any(|&t| classes.is_random(t))
                    && graph.operands(id).iter().all(|v| independent[v.node.index()])
            }
        };
    }
    independent
}

/// The region of an operator that ends none: the one that its users are in. Users in several regions
/// make those regions one.
fn inside(graph: &Graph, id: NodeId, is_output: bool, places: &[Membership], union: &mut Union) -> Membership {
    let mut place = Membership::Unmatched;
    for user in graph.users(id) {
        match (places[user.index()], place) {
            (Membership::Class(t), Membership::Class(own)) => union.join(own, t),
            (Membership::Class(t), _) if !is_output => place = Membership::Class(t),
            _ => {}
        }
    }
    place
}

#[derive(Default)]
struct Union {
    parent: FxHashMap<TermId, TermId>,
}

impl Union {
    fn find(&self, mut t: TermId) -> TermId {
        while let Some(&up) = self.parent.get(&t) {
            t = up;
        }
        t
    }

    fn join(&mut self, a: TermId, b: TermId) {
        let (a, b) = (self.find(a), self.find(b));
        // The smaller id is the root, which keeps chains short and the result independent of order.
        if a != b {
            self.parent.insert(a.max(b), a.min(b));
        }
    }
}
