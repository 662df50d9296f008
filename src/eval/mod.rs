//! The reference interpreter: what every operator computes, in f64, on demand.

mod constant;

pub use constant::{Affine, Constant};
