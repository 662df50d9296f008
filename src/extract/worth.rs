//! Whether a tensor that is computed once is worth the memory that keeps it.

/// Bytes that a precomputed tensor may take in any case: masks, and tables of positions.
const SMALL: u64 = 64 << 20;

/// How many times the bytes of the parameters that it is made of a larger one may take: weights that are packed into a few bits, so
/// that they fit into memory, are not unpacked for good.
const MAX_GROWTH: u64 = 2;

/// Whether a tensor of so many bytes is worth its memory, made of parameters of so many.
pub(super) fn is_worth_keeping(bytes: usize, made_of: u64) -> bool {
    let bytes = bytes as u64;
    bytes <= SMALL || bytes <= made_of.saturating_mul(MAX_GROWTH)
}
