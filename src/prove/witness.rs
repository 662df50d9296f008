//! What two graphs are to each other, and where they part.

use crate::eval::Draw;
use crate::ir::{AttrValue, NodeId, Number};
use crate::rules::Tier;

/// Whether two graphs compute the same.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Proven; holds as far as `tier` says.
    Equivalent {
        /// The weakest tier of a step that the proof needs.
        tier: Tier,
    },
    /// An input on which the outputs part.
    Different(Witness),
    /// Neither proven nor refuted.
    Unknown,
}

/// Where two graphs part.
#[derive(Clone, Debug, PartialEq)]
pub struct Witness {
    /// Seed of the random inputs.
    pub seed: u64,
    /// Name of the output.
    pub output: String,
    /// Its position among the tensors that the graphs give; none for a constant.
    pub output_number: Option<usize>,
    /// Index of the element.
    pub index: Vec<usize>,
    /// What the first graph gives there.
    pub a: Number,
    /// What the second graph gives there.
    pub b: Number,
    /// What the two graphs return whatever their inputs are, if that differs.
    pub constants: Option<Box<[AttrValue; 2]>>,
    /// Largest difference among the elements that were looked at.
    pub max_abs_error: f64,
    /// The first region whose results part although its operands agree: its place in the partition's regions.
    pub region: Option<usize>,
    /// The first operator of either side whose result has no counterpart on the other.
    pub first_a: Option<NodeId>,
    /// The same in the second graph.
    pub first_b: Option<NodeId>,
    /// The values of the inputs, by their numbers in the binding.
    pub inputs: Vec<Draw>,
}
