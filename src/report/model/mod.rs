//! What the commands found, as plain data: the JSON objects that scripts read, and all that the other formats show.

mod comparison;
mod details;
mod explanation;
mod launched;
mod optimization;

pub use comparison::*;
pub use details::{Details, PlacedOperator};
pub use explanation::{Definition, Explanation, Operator, Step};
pub use launched::{Launched, LaunchedBest};
pub use optimization::{Cheaper, Optimization};
