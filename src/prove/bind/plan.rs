//! What is known of each input while a binding is being made.

use super::{BoundInput, Expression};
use crate::ir::{Graph, NodeKind, Role};
use crate::prove::Side;

/// What an input is in terms of the other graph.
#[derive(Clone, Debug, PartialEq)]
pub enum Meaning {
    /// The same tensor as input `i` of the other graph, which has this input as its meaning in turn.
    Same(usize),
    /// Computed from inputs of the other graph.
    Derived(Expression),
}

/// Where a meaning comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// A binding file says so.
    Stated,
    /// Name and type are the same.
    Name,
    /// Shapes fit, and the graphs use the tensors accordingly: a guess.
    Use,
    /// The only inputs that are left of their type: a guess that cannot be wrong about which.
    Only,
    /// Type and position: a guess.
    Position,
}

impl Source {
    /// Whether another binding is as possible as this one.
    pub fn is_guess(self) -> bool {
        matches!(self, Source::Use | Source::Position)
    }
}

/// An input of one graph.
#[derive(Clone, Debug)]
pub struct Slot {
    pub input: BoundInput,
    pub meaning: Option<(Meaning, Source)>,
    /// Whether inputs of the other graph are made of this one.
    pub used: bool,
}

impl Slot {
    /// Nothing is known of the input yet.
    pub fn is_free(&self) -> bool {
        self.meaning.is_none() && !self.used
    }
}

/// All inputs of both graphs.
#[derive(Clone, Debug)]
pub struct Plan {
    pub a: Vec<Slot>,
    pub b: Vec<Slot>,
}

impl Plan {
    pub fn new(a: &Graph, b: &Graph) -> Plan {
        let slots = |graph: &Graph| {
            let slot = |i| Slot { input: describe(graph, i), meaning: None, used: false };
            (0..graph.inputs().len()).map(slot).collect()
        };
        Plan { a: slots(a), b: slots(b) }
    }

    pub fn side(&self, side: Side) -> &[Slot] {
        match side {
            Side::A => &self.a,
            Side::B => &self.b,
        }
    }

    pub fn side_mut(&mut self, side: Side) -> &mut Vec<Slot> {
        match side {
            Side::A => &mut self.a,
            Side::B => &mut self.b,
        }
    }

    /// Input `i` of A and input `j` of B are the same tensor.
    pub fn pair(&mut self, i: usize, j: usize, source: Source) {
        self.a[i].meaning = Some((Meaning::Same(j), source));
        self.b[j].meaning = Some((Meaning::Same(i), source));
    }

    /// Input `target` of `side` is `expression` over the inputs of the other side.
    pub fn derive(&mut self, side: Side, target: usize, expression: Expression, source: Source) {
        for leaf in expression.inputs() {
            self.side_mut(side.other())[leaf].used = true;
        }
        self.side_mut(side)[target].meaning = Some((Meaning::Derived(expression), source));
    }
}

fn describe(graph: &Graph, input: usize) -> BoundInput {
    let node = graph.node(graph.inputs()[input]);
    let role = match node.kind {
        NodeKind::Input { role } => role,
        _ => Role::User,
    };
    BoundInput { name: node.name.to_string(), role, ty: node.types[0].clone() }
}
