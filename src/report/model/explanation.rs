//! One region in full, as plain data. Keys are a promise, as those of a comparison are.

use serde::Serialize;

use super::{Cost, Region};

/// A region with everything that is known about it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// Always [`Explanation::SCHEMA`].
    pub schema: &'static str,
    pub a_file: String,
    pub b_file: String,
    pub region: Region,
    /// How many regions there are.
    pub regions: usize,
    pub a: Vec<Operator>,
    pub b: Vec<Operator>,
    /// Steps of the proof beyond normal forms, in the order in which they are applied.
    pub steps: Vec<Step>,
    /// Steps of the proofs of the cheaper forms that neither side has, over letters.
    pub cheaper: Vec<Step>,
}

impl Explanation {
    /// The version of the JSON form.
    pub const SCHEMA: &'static str = "magneton-ir/explain/1";
}

/// An operator of the input file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Operator {
    pub name: String,
    pub kind: String,
    /// Types of operands and results, as `(f32[2], f32[2]) -> f32[2]`.
    pub types: String,
    pub cost: Cost,
    /// `file:line code`.
    pub source: Option<String>,
}

/// Two terms that a rule says are equal.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    pub rule: String,
    pub tier: String,
    pub doc: String,
    /// Names for expressions that this step and later ones use.
    pub definitions: Vec<Definition>,
    pub before: String,
    pub after: String,
    /// What the rule assumes of the tensors that it is applied to.
    pub assumes: Vec<String>,
}

/// A name for an expression: `let t1 = …`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Definition {
    pub name: String,
    pub text: String,
}
