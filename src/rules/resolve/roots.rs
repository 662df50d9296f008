//! Rules with several roots.

use crate::rules::expr::TensorRef;
use crate::rules::rule::{Operand, Pattern};

/// Whether every root shares a tensor or a list with another one, directly or through further roots.
pub(super) fn connected(roots: &[Pattern]) -> bool {
    let tensors: Vec<Vec<TensorRef>> = roots
        .iter()
        .map(|root| {
            let mut found = Vec::new();
            collect(root, &mut found);
            found
        })
        .collect();
    let Some((first, rest)) = tensors.split_first() else { return true };
    let mut known = first.clone();
    let mut open: Vec<&Vec<TensorRef>> = rest.iter().collect();
    while let Some(at) = open.iter().position(|t| t.iter().any(|t| known.contains(t))) {
        known.extend(open.swap_remove(at).iter().copied());
    }
    open.is_empty()
}

fn collect(pattern: &Pattern, found: &mut Vec<TensorRef>) {
    match pattern {
        Pattern::Tensor(v) => found.push(TensorRef::Var(*v)),
        Pattern::Element(l) => found.push(TensorRef::Element(*l)),
        Pattern::Scalar(_) => {}
        Pattern::Apply { operands, .. } => {
            for operand in operands {
                let (Operand::One(p) | Operand::Each(p)) = operand;
                collect(p, found);
            }
        }
    }
}
