//! Where the calls of two sides part: the stacks that both files record, side by side.

use rustc_hash::FxHashMap;

use super::part::Part;
use crate::ir::{Frame, Node, TensorType};
use crate::report::{Call, CallPaths};

/// The call paths of what sets two sides apart: operators that run kernels and that the other side does not have alike.
pub(crate) fn call_paths(a: Part, b: Part) -> CallPaths {
    let (own_a, own_b) = (own(a, b), own(b, a));
    let stacks = |own: &[(&Node, f64)]| -> Vec<_> { own.iter().map(|(node, _)| node.origin.frames.clone()).collect() };
    let (of_a, of_b) = (stacks(&own_a), stacks(&own_b));
    let Some(first) = of_a.iter().chain(&of_b).next() else { return CallPaths::default() };
    let shared = |n: usize| of_a.iter().chain(&of_b).all(|frames| frames.get(n) == first.get(n));
    let common = (0..first.len()).take_while(|&n| shared(n)).count();
    let next = |stacks: &[std::sync::Arc<[Frame]>]| -> Vec<Option<Frame>> {
        stacks.iter().map(|frames| frames.get(common).cloned()).collect()
    };
    let dearest = |own: &[(&Node, f64)]| -> Vec<Call> {
        let node = own.iter().max_by(|(_, x), (_, y)| x.total_cmp(y)).map(|(node, _)| *node);
        node.map_or(Vec::new(), |node| node.origin.frames.iter().skip(common).map(call).collect())
    };
    CallPaths {
        common: first.iter().take(common).map(call).collect(),
        a: dearest(&own_a),
        b: dearest(&own_b),
        is_clear: !of_a.is_empty() && !of_b.is_empty() && is_clear(&next(&of_a), &next(&of_b)),
    }
}

/// Whether two sides go on in other functions, or each on one line of the same one, or are recorded no further.
fn is_clear(a: &[Option<Frame>], b: &[Option<Frame>]) -> bool {
    let function = |f: &Option<Frame>| f.as_ref().map(|f| (f.file.clone(), f.function.clone()));
    let one = |all: &[Option<Frame>]| all.iter().all(|f| *f == all[0]);
    let apart = a.iter().all(|x| b.iter().all(|y| x.is_none() && y.is_none() || function(x) != function(y)));
    apart || one(a) && one(b)
}

/// Operators of a side that run kernels, without those that the other one has with the same types; with their energies.
fn own<'a>(side: Part<'a>, other: Part) -> Vec<(&'a Node, f64)> {
    let mut there: FxHashMap<(&str, &[TensorType]), usize> = FxHashMap::default();
    for (node, op, _) in other.calls() {
        *there.entry((op.name(), &node.types)).or_default() += 1;
    }
    let mut own = Vec::new();
    for (node, op, cost) in side.priced_calls() {
        match there.get_mut(&(op.name(), node.types.as_slice())) {
            Some(left) if *left > 0 => *left -= 1,
            _ if cost.launches > 0 => own.push((node, cost.energy_mj.value)),
            _ => {}
        }
    }
    own
}

fn call(frame: &Frame) -> Call {
    Call {
        file: frame.file.to_string(),
        line: frame.line,
        function: frame.function.to_string(),
        code: frame.code.to_string(),
    }
}
