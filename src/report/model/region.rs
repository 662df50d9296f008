//! A pair of parts of two workloads that are proven equal.

use serde::Serialize;

use super::difference::Difference;
use super::figure::Cost;
use super::switch::{CallPaths, Switch};

/// Operators of both sides that compute the same from the same.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Region {
    /// Counts from 1 in the order of A.
    pub id: usize,
    /// Names from the input file.
    pub a_ops: Vec<String>,
    /// Operators of B, by name.
    pub b_ops: Vec<String>,
    /// Operators of the IR, in the same order: `matmul`, `add`.
    pub a_kinds: Vec<String>,
    /// What B's operators are, in the same order.
    pub b_kinds: Vec<String>,
    /// How equal the sides of this region are; `none` where they part on a witness, which only the last region does.
    pub tier: String,
    /// Names of the rules that its proof uses.
    pub rules: Vec<String>,
    /// What A's operators cost.
    pub a: Cost,
    /// What B's operators cost.
    pub b: Cost,
    /// The cheapest form that is known.
    pub best: BestForm,
    /// What sets the two sides apart.
    pub cause: Cause,
    /// What the sides' energies differ by, in parts; none where a price is not known, and where the energies are the same.
    pub difference: Option<Difference>,
    /// The first region that this one repeats (same operators, types, layouts, costs); none for a first one.
    pub same_as: Option<usize>,
    /// How many regions are the same, this one included. The first of them speaks for all.
    pub repeats: usize,
}

/// The cheapest known form of a region.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BestForm {
    /// Whose form it is.
    pub form: Form,
    /// Energy of one execution, in millijoules.
    pub energy_mj: Option<f64>,
    /// Time of one execution, in microseconds.
    pub time_us: Option<f64>,
    /// The form in words of the IR, such as `addmm(b, x, w)`.
    pub text: String,
    /// What it saves as a fraction of A's energy in this region. None where a figure is unknown or the intervals meet.
    pub saves_vs_a: Option<f64>,
    /// What it saves against B, as a fraction of B's energy.
    pub saves_vs_b: Option<f64>,
    /// It is cheaper and more than 1 % slower.
    pub trade_off: bool,
}

/// Whose form is the cheapest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// A's own.
    A,
    /// B's own.
    B,
    /// A form that neither side has.
    Other,
}

/// Why one side of a region costs more.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cause {
    /// A word for the kind of cause, such as `redundant`, `misuse`, `flag`, `layout`, `same`.
    pub kind: String,
    /// One sentence.
    pub text: String,
    /// The configuration flag that makes the difference, if one does.
    pub flag: Option<String>,
    /// How that flag is set.
    pub how: Option<String>,
    /// The source line that the costlier operators of A come from, as `file:line code`.
    pub a_source: Option<String>,
    /// The line of B that is responsible.
    pub b_source: Option<String>,
    /// The recorded calls that lead to what sets the sides apart.
    pub paths: CallPaths,
    /// What decides which of both ways is taken, where the source is at hand and says so.
    pub switch: Option<Switch>,
}
