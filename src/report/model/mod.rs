//! What the commands found, as plain data: the JSON objects that scripts read, and all that the other formats show.

mod comparison;
mod details;
mod difference;
mod explanation;
mod figure;
mod finding;
mod launched;
mod optimization;
mod precomputed;
mod region;
mod switch;

pub use comparison::{
    BasisShares, Best, Comparison, Rejected, ReportedVerdict, Rewrite, SCHEMA, Setting, Side, Source, SourcedOperator,
    Timing, Unproven, Witness,
};
pub use details::{Details, PlacedOperator};
pub use difference::{Difference, MadeTensor, Part, PartKind};
pub use explanation::{Chain, Definition, Explanation, Operator, Step};
pub use figure::{Cost, Figure, LeftOut};
pub use finding::{Baseline, Finding, FindingKind, Saving, SourceLine};
pub use launched::{Launched, LaunchedBest};
pub use optimization::{Cheaper, Optimization, Point};
pub use precomputed::Precomputed;
pub use region::{BestForm, Cause, Form, Region};
pub use switch::{Call, CallPaths, SourceText, Switch, SwitchKind, Variable};
