//! Dependencies between the statements of a file, to tell a cycle from a definition that stands too low.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::ast::{Body, CallExpr, File, Operand};

/// The shortest chain of statements from `from` to `to` in which each uses a result of the next;
/// `statement_of` finds the statement that defines a name.
pub(super) fn path(
    file: &File<'_>,
    statement_of: impl Fn(&str) -> Option<usize>,
    from: usize,
    to: usize,
) -> Option<Vec<usize>> {
    let mut came_from: FxHashMap<usize, usize> = FxHashMap::default();
    let mut queue = VecDeque::from([from]);
    let mut reached = from == to;
    while let Some(at) = queue.pop_front().filter(|_| !reached) {
        let mut used = Vec::new();
        match &file.statements.get(at)?.body {
            Body::Call(call) | Body::Opaque { call, .. } => names(call, &mut used),
            Body::Literal { .. } => {}
        }
        for next in used.into_iter().filter_map(&statement_of) {
            if next != from && !came_from.contains_key(&next) {
                came_from.insert(next, at);
                queue.push_back(next);
            }
            reached |= next == to;
        }
    }
    if !reached {
        return None;
    }
    let mut chain = vec![to];
    let mut at = to;
    while at != from {
        at = *came_from.get(&at)?;
        chain.push(at);
    }
    chain.reverse();
    Some(chain)
}

fn names<'c>(call: &'c CallExpr, used: &mut Vec<&'c str>) {
    for operand in &call.operands {
        match operand {
            Operand::Name(name) => used.push(&name.text),
            Operand::Call(inner) => names(inner, used),
            Operand::Scalar(..) => {}
        }
    }
}
