//! The reference interpreter: what every operator computes, in f64, on demand.

mod constant;
mod fold;

pub use constant::{Affine, Constant};
pub use fold::{DENSE_LIMIT, canonical, fold};
