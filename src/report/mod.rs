//! What the user sees: the comparison as text for a terminal, as JSON, as Markdown.

mod model;

pub use model::{
    Best, BestForm, Cause, Comparison, Cost, Figure, Form, Region, Rewrite, SCHEMA, Side, Source, Timing, Unproven,
    Verdict, Witness,
};
