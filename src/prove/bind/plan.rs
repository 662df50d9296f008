//! What is known of each input while a binding is being made.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::Expression;
use super::bound_input::BoundInput;
use crate::ir::{Content, Graph, NodeId, NodeKind, Number, Role, Target};
use crate::prove::Side;

/// What an input is in terms of the other graph.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Meaning {
    /// The same tensor as input `i` of the other graph, which has this input as its meaning in turn.
    Same(usize),
    /// Computed from inputs of the other graph.
    Derived(Expression),
}

/// Where a meaning comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Source {
    /// A binding file says so.
    Stated,
    /// A binding file says so of a weight that nothing reads, and this is the only one of its type that is read: the file can mean no other.
    Tied,
    /// Name and type are the same.
    Name,
    /// The name is the same but for what one file puts before the names of its weights: a guess.
    Prefixed,
    /// A user gives the same integers in a narrower type on one side.
    Narrower,
    /// The files hold the same values, and no other input does.
    Content,
    /// The files hold the same values, and the weights of the layers that use them are bound to each other.
    Layer,
    /// The other side computes it from weights for which its file holds values, and these agree but for rounding.
    Folded,
    /// Shapes fit, and the graphs use the tensors accordingly: a guess.
    Use,
    /// The only inputs that are left of their type: a guess that cannot be wrong about which.
    Only,
    /// One of several inputs with the same values, by position: a guess.
    Alike,
    /// Type and position: a guess.
    Position,
}

impl Source {
    /// Whether the values that the files hold are the reason.
    pub(super) fn is_by_content(self) -> bool {
        matches!(self, Source::Content | Source::Layer | Source::Folded | Source::Alike)
    }

    /// Whether another binding is as possible as this one.
    pub(super) fn is_guess(self) -> bool {
        matches!(self, Source::Prefixed | Source::Use | Source::Alike | Source::Position)
    }
}

/// An input of one graph.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    pub input: BoundInput,
    pub meaning: Option<(Meaning, Source)>,
    /// Whether inputs of the other graph are made of this one.
    pub used: bool,
    /// Whether the graph reads it. An export lists a weight that two layers share under both names and reads one of them.
    pub live: bool,
    /// Whether an output is its new value, or its gradient: it is no constant then.
    pub changes: bool,
    /// What the file holds for it, if that was read.
    pub content: Option<Content>,
    /// A checksum of what the file holds for it, if there is one that takes no reading.
    pub checksum: Option<u32>,
    /// The elements of a constant of the file: one that nothing of the other side is known to be the same as, or a buffer of
    /// integers or a causal mask that both files hold alike. Also what a buffer without values is supposed to hold.
    pub literal: Option<Arc<[Number]>>,
    /// Whether both files hold these elements for it.
    pub held_alike: bool,
    /// The constant of the other side for the sake of which the buffer is supposed to hold this.
    pub supposed_by: Option<String>,
}

impl Slot {
    /// Whether the values of both inputs are the same as far as they are known.
    pub(super) fn may_hold(&self, other: &Slot) -> bool {
        match (&self.content, &other.content) {
            (Some(x), Some(y)) => x == y,
            _ => true,
        }
    }

    /// The inputs of the other graph that this one is computed from.
    pub(super) fn made_of(&self) -> Vec<usize> {
        match &self.meaning {
            Some((Meaning::Derived(expression), _)) => expression.inputs().collect(),
            _ => Vec::new(),
        }
    }

    /// Nothing is known of the input yet.
    pub(super) fn is_free(&self) -> bool {
        self.meaning.is_none() && !self.used
    }

    /// Integers that a user gives, of which nothing is known yet.
    pub(super) fn is_free_whole(&self) -> bool {
        self.is_free() && self.input.role == Role::User && self.input.ty.dtype.is_int()
    }

    /// A tensor that the graph reads, that no user gives and that is not bound to anything.
    pub(super) fn is_alone(&self) -> bool {
        self.is_free() && self.live && self.literal.is_none() && self.input.role != Role::User
    }
}

/// By side and input: the elements of weights, in row-major order, that both files hold.
pub(super) type Weights = FxHashMap<(Side, usize), Arc<[f64]>>;

/// All inputs of both graphs.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub a: Vec<Slot>,
    pub b: Vec<Slot>,
    /// Whether some input was bound by its values: the files then hold the weights of one model.
    pub same_weights: bool,
    /// Inputs whose meaning goes against the values that the files hold; of pairs, B's.
    pub unlike: Vec<(Side, usize)>,
    /// How many inputs are taken to hold the same in both files because their checksums are equal.
    pub by_checksum: usize,
    /// Inputs of A that are the same tensor as another one, bound alike in B: the files hold the same values for all of them.
    pub ties: BTreeMap<usize, usize>,
    /// Inputs that are bound to an expression whose values could not be compared with theirs.
    pub uncompared: Vec<(Side, usize)>,
    /// The weights as the files hold them, where that decides something.
    pub held: Option<Weights>,
}

impl Plan {
    pub(super) fn new(a: &Graph, b: &Graph) -> Plan {
        let slots = |graph: &Graph| {
            let given: FxHashSet<NodeId> = graph.outputs().iter().map(|output| output.value.node).collect();
            let changed: FxHashSet<&str> =
                graph.outputs().iter().filter_map(|output| changed_input(&output.target)).collect();
            let slot = |&id| Slot {
                input: describe(graph, id),
                meaning: None,
                used: false,
                live: graph.users(id).next().is_some() || given.contains(&id),
                changes: changed.contains(&*graph.node(id).name),
                content: None,
                checksum: None,
                literal: None,
                held_alike: false,
                supposed_by: None,
            };
            graph.inputs().iter().map(slot).collect()
        };
        Plan {
            a: slots(a),
            b: slots(b),
            same_weights: false,
            unlike: Vec::new(),
            by_checksum: 0,
            ties: BTreeMap::new(),
            uncompared: Vec::new(),
            held: None,
        }
    }

    pub(super) fn side(&self, side: Side) -> &[Slot] {
        match side {
            Side::A => &self.a,
            Side::B => &self.b,
        }
    }

    pub(super) fn side_mut(&mut self, side: Side) -> &mut Vec<Slot> {
        match side {
            Side::A => &mut self.a,
            Side::B => &mut self.b,
        }
    }

    /// Input `i` of A and input `j` of B are the same tensor.
    pub(super) fn pair(&mut self, i: usize, j: usize, source: Source) {
        self.a[i].meaning = Some((Meaning::Same(j), source));
        self.b[j].meaning = Some((Meaning::Same(i), source));
    }

    /// Input `target` of `side` is `expression` over the inputs of the other side.
    pub(super) fn derive(&mut self, side: Side, target: usize, expression: Expression, source: Source) {
        for leaf in expression.inputs() {
            self.side_mut(side.other())[leaf].used = true;
        }
        self.side_mut(side)[target].meaning = Some((Meaning::Derived(expression), source));
    }
}

/// The input that an output changes, or that it is the gradient of.
fn changed_input(target: &Target) -> Option<&str> {
    match target {
        Target::Write(name) | Target::Gradient(name) => Some(name),
        Target::Result(_) | Target::Loss(_) => None,
    }
}

fn describe(graph: &Graph, input: NodeId) -> BoundInput {
    let node = graph.node(input);
    let role = match node.kind {
        NodeKind::Input { role } => role,
        _ => Role::User,
    };
    BoundInput { name: node.name.to_string(), role, ty: node.types[0].clone() }
}
