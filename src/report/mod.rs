//! What the user sees: the comparison as text for a terminal, as JSON, as Markdown.

mod explanation;
mod human;
mod markdown;
mod model;
mod optimization;
mod wording;

pub use explanation::{Explanation, Operator, Step, explanation};
pub use human::{HumanOptions, human};
pub use markdown::markdown;
pub use model::{
    BasisShares, Best, BestForm, Cause, Comparison, Cost, Figure, Form, LeftOut, Place, Region, Rejected, Rewrite,
    SCHEMA, Side, Source, Timing, Unproven, Verdict, Witness,
};
pub use optimization::{Cheaper, Optimization};

/// A report as one JSON object. Numbers that are not finite become null.
pub fn json(report: &impl serde::Serialize) -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(report)
}
