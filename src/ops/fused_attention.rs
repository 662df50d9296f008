//! Which calls of attention libtorch has one fused kernel for, and what it does for the others.
//!
//! The conditions are those of `ATen/native/transformers/sdp_utils_cpp.h` of PyTorch 2.11 and of the kernels behind it; which
//! calls run in steps was looked up with a profiler on an H200.

use super::{Call, KernelClass, Unit, Work};
use crate::ir::{DType, Layout, TensorType};

/// Bytes that kernels without a mask pad the size of a vector to; those with a mask and those of f32 take multiples only.
const ALIGNMENT: usize = 16;

/// The longest vector that the kernel without a mask takes, which pads others.
const MAX_PADDED: usize = 256;

/// The kernels of a call whose operands lie in memory as `layouts` says; none for the fused one without a mask.
pub(super) fn attention_kernels(c: &Call, layouts: &[&Layout]) -> Option<KernelClass> {
    if !is_fused(c, layouts) {
        return Some(KernelClass::AttentionInSteps);
    }
    (c.operands.len() > 3).then_some(KernelClass::MaskedAttention)
}

/// Whether a fused kernel takes the call.
fn is_fused(c: &Call, layouts: &[&Layout]) -> bool {
    let [q, k, v, masks @ ..] = c.operands else { return true };
    let is_low = matches!(q.dtype, DType::F16 | DType::BF16);
    // Batches and heads are not repeated, but heads of keys and values are for numbers of 16 bits.
    let batches = [k, v].iter().all(|t| match (q.shape.as_slice(), t.shape.as_slice()) {
        ([b, heads, ..], [other, others, ..]) => b == other && (heads == others || c.bool("grouped") && is_low),
        _ => false,
    });
    let in_rows = |i: usize, t: &TensorType| {
        let last = layouts.get(i).and_then(|l| l.strides.last());
        t.shape.last() == Some(&1) || last.is_none_or(|&stride| stride == 1)
    };
    let sizes = [q, v].map(|t| t.shape.last().copied().unwrap_or(0));
    let is_aligned = sizes.iter().all(|size| (size * q.dtype.bytes()).is_multiple_of(ALIGNMENT));
    let is_padded = is_low && masks.is_empty() && sizes.iter().all(|&size| size <= MAX_PADDED);
    c.operands.iter().enumerate().all(|(i, t)| in_rows(i, t))
        && [q, k, v].iter().all(|t| t.rank() == 4)
        && (is_low || q.dtype == DType::F32)
        && batches
        && (is_aligned || is_padded)
}

/// Numbers of a call in steps.
pub(super) struct Steps {
    /// Pairs of a query and a key, in all batches and heads.
    pub pairs: f64,
    /// Of the scores of one head of one batch.
    pub pairs_of_head: f64,
    /// Elements of queries, of keys and values as they are repeated for them, and of the result.
    pub queries: f64,
    pub keys: f64,
    pub values: f64,
    pub results: f64,
}

/// What libtorch does beyond reading the operands and writing the result once, where it computes scores, their softmax and the
/// result one after the other: narrow numbers are cast to f32 before and back after, queries and keys are scaled, a mask is
/// turned into numbers and added, and rows that are hidden in full are set to 0.
pub(super) fn work_in_steps(c: &Call, steps: &Steps) -> Work {
    let Steps { pairs, pairs_of_head, queries, keys, values, results } = *steps;
    let own = c.operands.first().map_or(4, |q| q.dtype.bytes()) as f64;
    let is_cast = own < 4.0;
    let wide = own.max(4.0);
    let (mut read, mut written, mut kernels) = (0.0, 0.0, 0_u32);
    let mut step = |elements: f64, reads: f64, writes: f64, count: u32| {
        read += elements * reads;
        written += elements * writes;
        kernels += count;
    };
    if is_cast {
        step(queries + keys + values, 0.0, wide, 3);
        step(pairs + results, wide, own, 2);
    }
    step(queries + keys, wide, wide, 2);
    // The products read what the steps before have written, and write scores.
    step(queries + keys + values, wide, 0.0, 0);
    step(pairs, wide, wide, 1);
    let mask = c.operands.get(3).map(|mask| mask.numel() as f64);
    if let Some(elements) = mask.or_else(|| c.bool("causal").then_some(pairs_of_head)) {
        step(elements, 1.0, own, 2);
        step(pairs, wide, wide, 1);
    }
    // The softmax, and which rows are hidden in full: a comparison, a look at each row, a choice.
    step(pairs, wide, wide, 1);
    step(pairs, wide + 1.0 + wide, 1.0 + wide, 3);
    Work { flops: 0.0, bytes_read: read, bytes_written: written, kernels, unit: Unit::Matrix }
}
