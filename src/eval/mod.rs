//! The reference interpreter: what every operator computes, in f64, on demand.

mod constant;
mod dense;
mod draw;
mod fold;
mod graph;
mod lazy;
mod program;
pub mod random;
mod range;

pub use constant::{Affine, Constant, Region};
pub use dense::{product, product_steps};
pub use draw::{Arranged, DIAGONALS, Draw, Places, Sparse};
pub use fold::{DENSE_LIMIT, Folded, canonical, fold, stored};
pub use graph::{GraphProgram, InputSize};
pub use lazy::{LazyEvaluator, Options, TRUSTED_MOVES};
pub use program::{Program, Source};

pub use crate::ops::ties::Ties;
pub use crate::ops::{EvalError, Interval, PlaceSet, Support, range, range_of};

#[cfg(test)]
mod tests;

#[cfg(test)]
mod digits_tests;
#[cfg(test)]
mod fold_tests;

#[cfg(test)]
mod support_tests;
