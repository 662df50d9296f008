//! The egg language of a window, and its analysis.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use egg::{Analysis, DidMerge, EGraph, Id, Language};
use smallvec::SmallVec;

use super::arena::{HeadId, TermId, TypeId};

/// A node of a window's e-graph: the root of `term` over classes instead of operands.
///
/// `term` is one expression that the node stands for; two nodes are the same whatever their terms.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// `None` for a leaf, which equals only itself.
    pub head: Option<HeadId>,
    pub ty: TypeId,
    pub commutative: bool,
    pub term: TermId,
    /// Whether the term's value is known exactly.
    pub constant: bool,
    pub children: SmallVec<[Id; 4]>,
}

impl Node {
    /// What makes two nodes the same. The first two operands of a commutative operator count in either
    /// order, which makes commutativity part of congruence and needs no rule.
    fn key(&self) -> (Option<HeadId>, TypeId, Option<TermId>, SmallVec<[Id; 4]>) {
        let mut children = self.children.clone();
        if self.commutative && children.len() >= 2 {
            children[..2].sort_unstable();
        }
        (self.head, self.ty, self.head.is_none().then_some(self.term), children)
    }
}

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Node {}

impl PartialOrd for Node {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Node {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl Hash for Node {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

impl Language for Node {
    type Discriminant = (Option<HeadId>, TypeId, usize);

    fn discriminant(&self) -> Self::Discriminant {
        (self.head, self.ty, self.children.len())
    }

    fn matches(&self, other: &Self) -> bool {
        self.discriminant() == other.discriminant() && (self.head.is_some() || self.term == other.term)
    }

    fn children(&self) -> &[Id] {
        &self.children
    }

    fn children_mut(&mut self) -> &mut [Id] {
        &mut self.children
    }
}

/// What is known of a class.
#[derive(Clone, Debug)]
pub(crate) struct ClassData {
    pub ty: TypeId,
    /// An expression for the class; one with a known value if there is one.
    pub term: TermId,
    pub constant: bool,
}

/// The analysis of a window: every class has one type. A class that would get two is a wrong union.
#[derive(Clone, Debug, Default)]
pub(crate) struct Types {
    /// Two expressions of different types that were joined.
    pub mismatch: Option<(TermId, TermId)>,
    /// Classes that are new or have grown; not always by their canonical ids.
    pub changed: Vec<Id>,
}

impl Analysis<Node> for Types {
    type Data = ClassData;

    fn make(_: &mut EGraph<Node, Self>, node: &Node, _: Id) -> ClassData {
        ClassData { ty: node.ty, term: node.term, constant: node.constant }
    }

    fn merge(&mut self, a: &mut ClassData, b: ClassData) -> DidMerge {
        if a.ty != b.ty {
            self.mismatch.get_or_insert((a.term, b.term));
        }
        let rank = |d: &ClassData| (!d.constant, d.term);
        if rank(&b) < rank(a) {
            *a = b;
            DidMerge(true, false)
        } else {
            DidMerge(false, rank(a) != rank(&b))
        }
    }

    fn modify(egraph: &mut EGraph<Node, Self>, id: Id) {
        egraph.analysis.changed.push(id);
    }
}
