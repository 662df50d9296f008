//! Real and imaginary parts of complex tensors.

use super::super::lowering::{NodeLowering, Refusal, int};
use crate::ir::Value;

/// Part number `at` of complex numbers, with its dimension.
pub(super) fn slice_of_part(site: &mut NodeLowering, x: Value, at: i64) -> Result<Value, Refusal> {
    let last = site.rank(x) as i64 - 1;
    site.implicit("part", "slice", &[("dim", int(last)), ("start", int(at)), ("end", int(at + 1))], &[x])
}

/// Part number `at` of complex numbers, as a tensor of real ones. `name` tells the node from others.
pub(super) fn part(site: &mut NodeLowering, name: &str, x: Value, at: i64) -> Result<Value, Refusal> {
    let part = slice_of_part(site, x, at)?;
    site.implicit(name, "squeeze", &[("dim", int(site.rank(x) as i64 - 1))], &[part])
}
