//! The part of the graphs that one proof looks at: two terms and what lies between them and the leaves.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::arena::{Head, HeadId, KnownValue, Operands, TermArena, TermId, TypeId};
use crate::eval::Constant;
use crate::ops::{Arithmetic, Movement, Op, Sign, is_number};

/// Two terms down to leaves, written so that pairs which differ only in what their leaves are read the same.
/// Two cones with equal keys have the same proofs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ConeKey(Vec<Entry>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Entry {
    /// A leaf: its type, its value if it is a constant, and what is known of its elements. Leaves are numbered in order of
    /// appearance.
    Leaf(TypeId, Option<KnownValue>, Sign),
    /// An operator over earlier entries.
    Node(HeadId, TypeId, SmallVec<[u32; 4]>),
}

/// The cone of a pair.
pub(crate) struct Cone {
    pub key: ConeKey,
    /// Leaf terms in order of appearance, those with a known value left in.
    pub leaves: Vec<TermId>,
    /// Position in the key of both roots.
    entries: FxHashMap<TermId, u32>,
    pub size: usize,
}

/// Where cones end.
pub(crate) trait Boundary {
    /// The term that stands for the class of `t`.
    fn representative(&self, t: TermId) -> TermId;

    /// Whether both graphs have a value of this class, so that a proof may take it as given.
    fn is_shared(&self, t: TermId) -> bool;

    /// Whether a cone goes on below a shared term of this operator. By default it does below views: rules
    /// mostly look at what a view is of, and a view costs a proof next to nothing.
    fn passes(&self, op: &Op) -> bool {
        op.def().is_some_and(|d| d.is_view_or_cast() && d.movement() != Some(Movement::Concat))
    }

    /// Whether a cone goes on below a shared term of this operator where a part of it is read, which may be a part of one operand:
    /// of a tensor that was written to in part, for one.
    fn opens(&self, op: &Op) -> bool {
        op.def().is_some_and(|d| d.movement() == Some(Movement::Concat))
    }
}

/// Walks from both roots down to shared terms, passing `depth` shared terms on the way. `None` if the
/// cone has more than `limit` operators.
pub(crate) fn cone(
    arena: &TermArena,
    boundary: &impl Boundary,
    roots: &[TermId],
    depth: usize,
    limit: usize,
) -> Option<Cone> {
    let mut opened = FxHashSet::default();
    let mut walk = loop {
        let mut walk = Walk {
            arena,
            boundary,
            limit,
            opened,
            late: false,
            entries: FxHashMap::default(),
            key: Vec::new(),
            leaves: Vec::new(),
            nodes: 0,
        };
        for &root in roots {
            walk.visit(root, depth, Read::Root)?;
        }
        if !walk.late {
            break walk;
        }
        opened = walk.opened;
    };
    // Which entries the roots are is part of the question.
    let ends: SmallVec<[u32; 4]> = roots.iter().map(|r| walk.entries[r]).collect();
    let first = arena.term(roots[0]);
    walk.key.push(Entry::Node(first.head, first.ty, ends));
    Some(Cone { key: ConeKey(walk.key), leaves: walk.leaves, entries: walk.entries, size: walk.nodes })
}

/// Terms between a joined tensor and the shared values that it is made of.
const MAX_JOINED: usize = 64;

/// What is read of a term.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Read {
    /// It is a root.
    Root,
    All,
    /// A part of it, or of a view of it.
    Part,
}

impl Read {
    /// What is read of the operands of a term with this operator.
    fn below(self, op: &Op) -> Read {
        let Some(def) = op.def().filter(|def| def.is_view_or_cast()) else { return Read::All };
        match def.movement() {
            Some(Movement::Slice | Movement::Split) => Read::Part,
            _ if self == Read::Part => Read::Part,
            _ => Read::All,
        }
    }
}

struct Walk<'a, B> {
    arena: &'a TermArena,
    boundary: &'a B,
    limit: usize,
    /// Shared terms that are looked below since parts of them are read.
    opened: FxHashSet<TermId>,
    /// Whether some of these were found after they had been taken for leaves.
    late: bool,
    entries: FxHashMap<TermId, u32>,
    key: Vec<Entry>,
    leaves: Vec<TermId>,
    nodes: usize,
}

impl<B: Boundary> Walk<'_, B> {
    /// Whether the operands of a term are shared, or views of what is. Where they are computed by one side alone, as products whose
    /// joined result the other side computes at once, what is joined is the shared value.
    fn is_made_of_shared(&self, t: TermId, left: &mut usize) -> bool {
        let Some(fewer) = left.checked_sub(1) else { return false };
        *left = fewer;
        self.arena.term(t).operands.iter().all(|&o| {
            let o = self.boundary.representative(o);
            match self.arena.head(o) {
                _ if self.arena.value(o).is_some() || self.boundary.is_shared(o) => true,
                Head::Apply { op, .. } if self.boundary.passes(op) || self.boundary.opens(op) => {
                    self.is_made_of_shared(o, left)
                }
                Head::Apply { .. } => false,
                Head::Input(_) | Head::Literal(_) | Head::Random(_) => true,
            }
        })
    }

    /// Whether a constant stands for its term, whatever operators compute it. A float mask does not: rules match the operators
    /// that make it out of a bool mask.
    fn is_known(&self, t: TermId) -> bool {
        let is_mask =
            |constant: &Constant| matches!(constant, Constant::Region(_)) && self.arena.ty(t).dtype.is_float();
        self.arena.constant(t).is_some_and(|constant| !is_mask(constant))
    }

    /// Depth of recursion is bounded by `limit`: every level adds a node or ends in a leaf.
    fn visit(&mut self, t: TermId, depth: usize, read: Read) -> Option<u32> {
        let opens = |op: &Op| self.boundary.opens(op);
        if read == Read::Part
            && matches!(self.arena.head(t), Head::Apply { op, .. } if opens(op))
            && self.is_made_of_shared(t, &mut { MAX_JOINED })
        {
            let new = self.opened.insert(t);
            let entry = self.entries.get(&t).and_then(|&n| self.key.get(n as usize));
            self.late |= new && matches!(entry, Some(Entry::Leaf(..)));
        }
        if let Some(&entry) = self.entries.get(&t) {
            return Some(entry);
        }
        let term = self.arena.term(t);
        let root = read == Read::Root;
        let mut read_below = Read::All;
        let mut below = depth;
        let leaf = match self.arena.head(t) {
            Head::Input(_) | Head::Literal(_) | Head::Random(_) => true,
            // What computes with a number rounds it in a way of its own, so that its value alone does not stand for it.
            Head::Apply { op: Op::Table(def), .. } if is_number(def) => false,
            // Rules look at what is cast, of constants too.
            Head::Apply { op: Op::Table(def), .. } if def.arithmetic() == Arithmetic::Cast && term.value.is_some() => {
                false
            }
            Head::Apply { .. } if !root && self.is_known(t) => true,
            Head::Apply { op, .. } => {
                read_below = read.below(op);
                let passed = self.boundary.passes(op) || self.opened.contains(&t);
                if !root && self.boundary.is_shared(t) && !passed {
                    below = depth.saturating_sub(1);
                    depth == 0
                } else {
                    false
                }
            }
        };
        let entry = if leaf {
            self.leaves.push(t);
            Entry::Leaf(term.ty, term.value, term.sign)
        } else {
            self.nodes += usize::from(!term.operands.is_empty());
            if self.nodes > self.limit {
                return None;
            }
            let operands = term
                .operands
                .iter()
                .map(|&o| self.visit(self.boundary.representative(o), below, read_below))
                .collect::<Option<_>>()?;
            Entry::Node(term.head, term.ty, operands)
        };
        let number = self.key.len() as u32;
        self.key.push(entry);
        self.entries.insert(t, number);
        Some(number)
    }
}

impl Cone {
    /// Copies the cone into an arena of its own, in which leaf `n` is input `n`. Gives the copies of `roots`.
    pub(crate) fn localise(
        &self,
        arena: &TermArena,
        boundary: &impl Boundary,
        roots: &[TermId],
    ) -> (TermArena, Vec<TermId>) {
        let mut local = TermArena::default();
        let mut copies: FxHashMap<TermId, TermId> = FxHashMap::default();
        for (n, &leaf) in self.leaves.iter().enumerate() {
            let copy = local.leaf_like(arena, leaf, Head::Input(n as u32));
            copies.insert(leaf, copy);
        }
        let mut order: Vec<(u32, TermId)> = self.entries.iter().map(|(&t, &n)| (n, t)).collect();
        order.sort_unstable();
        for (_, t) in order {
            if copies.contains_key(&t) {
                continue;
            }
            let operands: Operands =
                arena.term(t).operands.iter().map(|&o| copies[&boundary.representative(o)]).collect();
            copies.insert(t, local.copy_head(arena, t, operands));
        }
        (local, roots.iter().map(|r| copies[r]).collect())
    }
}
