//! One region in full, as plain data. Keys are a promise, as those of a comparison are.

use serde::Serialize;

use super::{Cost, Form, Region};

/// A region with everything that is known about it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// Always [`Explanation::SCHEMA`].
    pub schema: &'static str,
    /// The path of A as it was given.
    pub a_file: String,
    /// The path of B as it was given.
    pub b_file: String,
    /// The region that is explained.
    pub region: Region,
    /// How many regions there are.
    pub regions: usize,
    /// Operators of A, in topological order.
    pub a: Vec<Operator>,
    /// Operators of B, in topological order.
    pub b: Vec<Operator>,
    /// Steps of the proof beyond normal forms, in the order in which they are applied.
    pub steps: Vec<Step>,
    /// Where `steps` begin, if they are a way from A to B.
    pub chain: Option<Chain>,
    /// Steps of the proofs of the cheaper forms that neither side has, over letters.
    pub cheaper: Vec<Step>,
    /// Where `cheaper` begins, if it is a way from one of the sides to the cheapest form.
    pub cheaper_chain: Option<Chain>,
}

/// Where steps begin each of which makes a form of the whole region of the one before. What they come to stands in
/// [`Step::whole_mj`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Chain {
    /// The side whose form comes first.
    pub from: Form,
    /// Millijoules of that form as a proof reads it: without operators that its normal form lacks. None where a price is not known,
    /// and where A and B are run under other math flags.
    pub from_mj: Option<f64>,
}

impl Explanation {
    /// The version of the JSON form.
    pub const SCHEMA: &'static str = "magneton-ir/explain/1";
}

/// An operator of the input file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Operator {
    /// Its name in the file.
    pub name: String,
    /// The name of the operator.
    pub kind: String,
    /// Types of operands and results, as `(f32[2], f32[2]) -> f32[2]`.
    pub types: String,
    /// What it costs.
    pub cost: Cost,
    /// `file:line code`.
    pub source: Option<String>,
}

/// Two terms that a rule says are equal.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// The name of the rule.
    pub rule: String,
    /// How equal the rule is.
    pub tier: String,
    /// The rule's sentence.
    pub doc: String,
    /// Names for expressions that this step and later ones use.
    pub definitions: Vec<Definition>,
    /// The part that changes, before the step.
    pub before: String,
    /// The same part after the step.
    pub after: String,
    /// What the rule assumes of the tensors that it is applied to.
    pub assumes: Vec<String>,
    /// Millijoules of the operators that the step replaces. None where a price is not known, and where A and B are run under other
    /// math flags.
    pub before_mj: Option<f64>,
    /// Millijoules of the operators that take their place.
    pub after_mj: Option<f64>,
    /// Whether the rule is read from right to left.
    pub reversed: bool,
    /// Millijoules of the whole form that the step leads to: that of the region, or in a report of cheaper forms that of what is
    /// replaced. None where the steps are no way from form to form, and where a price is not known.
    pub whole_mj: Option<f64>,
}

/// A name for an expression: `let t1 = …`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Definition {
    /// The name that stands for it.
    pub name: String,
    /// What it stands for.
    pub text: String,
}
