//! Which inputs of two graphs are bound to each other, and the graphs over the inputs that they have in common.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::bound_input::BoundInput;
use super::constants::MissingConstant;
use crate::ir::Graph;

/// Per number of an input that no user gives: its elements, in row-major order. All of them are known and the same in both files.
pub type HeldWeights = FxHashMap<u32, Arc<[f64]>>;

/// Inputs of both graphs under common numbers.
#[derive(Clone, Debug, Default)]
pub struct Binding {
    /// Inputs that both graphs have, in A's order.
    pub inputs: Vec<BoundInput>,
    /// Per input of A, in the graph's order: its number.
    pub a: Vec<u32>,
    /// Per input of B, in the graph's order: its number.
    pub b: Vec<u32>,
    /// What was taken for granted, one sentence each.
    pub assumptions: Vec<String>,
    /// Numbers of inputs that are bound by a guess that may be wrong.
    pub guessed: Vec<u32>,
    /// Numbers of inputs that a user gives and that are bound to inputs as they are by their places: only their order is a guess.
    pub exchangeable: Vec<u32>,
    /// Numbers of inputs that a binding file speaks of. It may leave out how others belong to them.
    pub stated: Vec<u32>,
    /// Numbers of inputs that are bound although the two files hold other values for them.
    pub unlike: Vec<u32>,
    /// Whether A and B have tensors that count as constants of their file because they are bound to nothing.
    pub keeps_constants: [bool; 2],
    /// Whether some of those may be made of weights that are bound.
    pub keeps_folded_weights: bool,
    /// What weights hold, where that decides whether constants are made of them; see [`HeldWeights`].
    pub held: Option<HeldWeights>,
    /// For A and for B: whether weights are arguments in its format, as in StableHLO, and have a role of their own on the other side.
    pub gives_weights: [bool; 2],
    /// Whether it is only supposed what some buffers hold.
    pub supposes_values: bool,
    /// Tensors without values that can be no weights.
    pub missing: Vec<MissingConstant>,
    /// The binding as a file for `--bind`, one line each.
    pub lines: Vec<String>,
}

/// Two graphs over common inputs.
#[derive(Clone, Debug)]
pub struct BoundPair {
    /// The graphs as they were given, except that derived inputs are operators now. Those operators are implicit:
    /// no report counts them and they cost nothing.
    pub a: Graph,
    /// The second graph, over the same inputs.
    pub b: Graph,
    /// How inputs were paired.
    pub binding: Binding,
}
