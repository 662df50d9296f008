//! What operators leave open: the order of equal elements, and which of several writes to one place counts.
//!
//! PyTorch promises neither for `sort` (unless it is stable), `topk` and `kthvalue`, nor for `scatter` and `index_put` with one place
//! twice. The reference semantics take one answer, and this module tells when another would be as good. An operator is one
//! function of the values that it reads: on equal values it gives equal answers, wherever they lie.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;
use smallvec::SmallVec;

use super::index::compare;
use super::shapes::visit_axes;
use super::{AttrDef, Call, EvalError, Fetch, Kernel};
use crate::ir::{Number, Shape};

/// How to answer what an operator leaves open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ties {
    /// As the reference semantics do: equal elements keep their order, and the last write counts.
    #[default]
    Reference,
    /// In another way, which the number chooses.
    Drawn(u64),
    /// Not at all: what depends on the answer has no value.
    Refused,
}

/// Whether an operator with these attributes leaves anything open.
pub fn leaves_open(call: &Call) -> bool {
    match call.op.name {
        "sort" => !call.bool("stable"),
        "topk" | "kthvalue" | "scatter" => true,
        "index_put" => !call.bool("accumulate"),
        _ => false,
    }
}

/// Whether output `slot` may come out in several ways, beyond zeros of either sign: elements in order are the same however equal ones
/// are ordered, and their old places are not.
pub fn leaves_output_open(call: &Call, slot: usize) -> bool {
    let are_ordered = slot == 0 && matches!(call.op.name, "sort" | "topk") && !is_unsorted(call);
    leaves_open(call) && !are_ordered
}

/// As [`Kernel::compute`], with what the operator leaves open answered as `ties` says.
///
/// # Errors
/// As there, and where the answer shows although it is to be refused.
pub fn compute(
    kernel: &Kernel,
    call: &Call,
    slot: usize,
    index: &[usize],
    fetch: &mut Fetch,
    ties: Ties,
) -> Result<SmallVec<[Number; 1]>, EvalError> {
    if ties == Ties::Reference || !leaves_open(call) {
        return kernel.compute(call, slot, index, fetch);
    }
    match call.op.name {
        "sort" | "topk" | "kthvalue" => in_order(kernel, call, slot, index, fetch, ties),
        _ => written(kernel, call, slot, index, fetch, ties),
    }
}

/// A lane of `sort` or `topk`.
fn in_order(
    kernel: &Kernel,
    call: &Call,
    slot: usize,
    index: &[usize],
    fetch: &mut Fetch,
    ties: Ties,
) -> Result<SmallVec<[Number; 1]>, EvalError> {
    let mut values = Vec::new();
    visit_axes(&call.operands[0].shape, &call.dim_axis(), index, |at| {
        values.push(fetch(0, at)?);
        Ok(())
    })?;
    let any_order = is_unsorted(call);
    let Ties::Drawn(seed) = ties else {
        let open = any_order || differs(call, slot, values);
        return if open { Err(EvalError::OpenOrder) } else { kernel.compute(call, slot, index, fetch) };
    };
    // The reference keeps the order of equal elements: of those that have been moved around, it keeps another.
    let places = shuffled(values.len(), key(call, seed, &values));
    let dim = call.size("dim");
    let mut found = kernel.compute(call, slot, index, &mut |operand, at| {
        let mut at = Shape::from_slice(at);
        if let Some(i) = at.get_mut(dim) {
            *i = places[*i];
        }
        fetch(operand, &at)
    })?;
    if slot == 1 {
        for place in &mut found {
            let old = place.to_i64().and_then(|p| places.get(usize::try_from(p).ok()?));
            *place = old.map_or(*place, |&p| Number::Int(p as i64));
        }
    }
    if any_order {
        let order = shuffled(found.len(), key(call, seed, &values));
        found = order.iter().map(|&i| found[i]).collect();
    }
    Ok(found)
}

/// Whether the chosen elements come in an order that is open.
fn is_unsorted(call: &Call) -> bool {
    call.op.name == "topk" && !call.bool("sorted") && call.int("k") > 1
}

/// Whether the order of equal elements shows in a result: their places do, and zeros of both signs.
fn differs(call: &Call, slot: usize, mut values: Vec<Number>) -> bool {
    let (descending, shown) = match call.op.name {
        "topk" => (call.bool("largest"), 0..call.size("k")),
        "kthvalue" => (false, call.size("k").saturating_sub(1)..call.size("k")),
        _ => (call.bool("descending"), 0..values.len()),
    };
    values.sort_by(|&a, &b| if descending { compare(b, a) } else { compare(a, b) });
    let differ = |run: &[Number]| run.len() > 1 && (slot == 1 || run.iter().any(|v| *v != run[0]));
    let mut before = 0;
    values.chunk_by(|&a, &b| compare(a, b) == Ordering::Equal).any(|run| {
        let start = before;
        before += run.len();
        start < shown.end && before > shown.start && differ(run)
    })
}

/// An element of `scatter` or `index_put`.
fn written(
    kernel: &Kernel,
    call: &Call,
    slot: usize,
    index: &[usize],
    fetch: &mut Fetch,
    ties: Ties,
) -> Result<SmallVec<[Number; 1]>, EvalError> {
    let source = if call.op.name == "scatter" { 2 } else { 1 };
    // The kernels read what is written here and nothing else of that operand.
    let mut written = Vec::new();
    let value = kernel.compute(call, slot, index, &mut |operand, at| {
        let value = fetch(operand, at)?;
        if operand == source {
            written.push(value);
        }
        Ok(value)
    })?;
    match ties {
        Ties::Refused if written.windows(2).any(|w| w[0] != w[1]) => Err(EvalError::OpenOrder),
        Ties::Drawn(seed) if written.len() > 1 => {
            let chosen = key(call, seed, &written) % written.len() as u64;
            Ok(SmallVec::from_elem(written[chosen as usize], 1))
        }
        _ => Ok(value),
    }
}

/// A number that depends on the operator, its attributes and the values that it reads, not on where they lie.
fn key(call: &Call, seed: u64, values: &[Number]) -> u64 {
    let mut hasher = FxHasher::default();
    (seed, call.op.name).hash(&mut hasher);
    let which = |def: &AttrDef| !matches!(def.name, "dim" | "dims");
    for (_, value) in call.op.attrs.iter().zip(call.attrs).filter(|(def, _)| which(def)) {
        value.hash(&mut hasher);
    }
    for value in values {
        value.hash(&mut hasher);
    }
    mix(hasher.finish())
}

/// The numbers below `n` in an order that `seed` chooses.
fn shuffled(n: usize, seed: u64) -> Vec<usize> {
    let mut all: Vec<usize> = (0..n).collect();
    let mut state = seed;
    for i in (1..n).rev() {
        state = mix(state);
        all.swap(i, (state % (i as u64 + 1)) as usize);
    }
    all
}

/// The finaliser of splitmix64.
fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
