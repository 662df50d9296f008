//! Selections made before an operator in place of after it: what is not kept need not be computed.

use smallvec::SmallVec;

use super::arena::{TermArena, TermId};
use crate::ir::TensorType;
use crate::ops::{Call, Elements, Op};

/// For places taken from the result of an operator: the operator on the places taken from its operands, if that is the same.
pub(crate) fn pushed_down(arena: &mut TermArena, before: TermId) -> Option<TermId> {
    let (selects, attrs, 0) = arena.op(before)? else { return None };
    let Op::Table(selection) = *selects else { return None };
    let (selects, attrs) = (selects.clone(), attrs.clone());
    let operands = arena.term(before).operands.clone();
    let (&result, named) = operands.split_first()?;
    let (op, op_attrs, slot) = arena.op(result)?;
    let (Op::Table(computes), op, op_attrs) = (op, op.clone(), op_attrs.clone()) else { return None };
    let below = arena.term(result).operands.clone();
    let local = {
        let types: SmallVec<[&TensorType; 4]> = operands.iter().map(|&t| arena.ty(t)).collect();
        let dim = Call { op: selection, attrs: &attrs, operands: &types }.selected_dim()?;
        // Where several dimensions take the place of one, those after it are others, and so is what is broadcast to those before it.
        let is_renumbered = arena.ty(before).rank() != arena.ty(result).rank();
        if is_renumbered && !(dim == 0 && matches!(computes.elements, Elements::Placewise(_))) {
            return None;
        }
        let types: SmallVec<[&TensorType; 4]> = below.iter().map(|&t| arena.ty(t)).collect();
        Call { op: computes, attrs: &op_attrs, operands: &types }.local_dims(slot as usize, arena.ty(result), dim)?
    };
    let mut selected: SmallVec<[TermId; 4]> = SmallVec::new();
    for (&operand, dim) in below.iter().zip(local) {
        selected.push(match dim {
            None => operand,
            Some(dim) => {
                let given: SmallVec<[TermId; 4]> = [operand].into_iter().chain(named.iter().copied()).collect();
                arena.call(&selects, &selection.selecting_along(&attrs, dim)?, 0, &given, None).ok()?
            }
        });
    }
    let after = arena.call(&op, &op_attrs, slot, &selected, None).ok()?;
    (arena.ty(after) == arena.ty(before)).then_some(after)
}
