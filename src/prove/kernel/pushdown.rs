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
        let dim = (selection.selects)(&Call { op: selection, attrs: &attrs, operands: &types })?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::text;
    use crate::prove::kernel::arena::Side;
    use crate::prove::kernel::{GraphLeaves, graph_terms};

    /// Whether the selection that a graph gives can be made before the operator below it.
    fn can_be_pushed(inputs: &str, body: &str) -> bool {
        let graph = text::parse("test", &format!("graph g({inputs}) {{ {body}\n return r }}")).unwrap();
        let mut arena = TermArena::default();
        let numbers: Vec<u32> = (0..graph.inputs().len() as u32).collect();
        let values = graph_terms(&mut arena, &graph, &GraphLeaves::of(&graph, Side::A, &numbers)).unwrap();
        let before = values[graph.outputs()[0].value.node.index()][0];
        pushed_down(&mut arena, before).is_some()
    }

    #[test]
    fn places_are_taken_of_operands_where_each_is_computed_by_itself() {
        let last = "r = slice(y; dim=1, start=3, end=4)";
        for (inputs, computed, selected, is_pushed) in [
            ("x: f32[2, 4, 3], b: f32[4, 1]", "add(x, b)", last, true),
            ("x: f32[2, 4, 3], w: f32[5, 3]", "linear(x, w)", last, true),
            ("x: f32[2, 4, 3]", "softmax(x; dim=2)", last, true),
            ("x: f32[2, 4, 3]", "sum(x; dim=[0], keepdim=true)", last, true),
            ("x: f32[4, 3], b: f32[1, 3], i: i64[2, 5]", "mul(x, b)", "r = index(y, i; dims=[0])", true),
            // They depend on each other, or on where they stand.
            ("x: f32[2, 4, 3]", "softmax(x; dim=1)", last, false),
            ("x: f32[2, 4, 3]", "cumsum(x; dim=1)", last, false),
            ("x: f32[2, 4, 3]", "flip(x; dims=[1])", last, false),
            ("x: f32[2, 4, 4]", "tril(x)", last, false),
            ("x: f32[2, 4, 3]", "dropout(x; p=0.5, train=true)", last, false),
            // The index puts two dims in the place of one: those before it are others for what is broadcast.
            ("x: f32[2, 4, 3], b: f32[2, 1, 3], i: i64[2, 5]", "mul(x, b)", "r = index(y, i; dims=[1])", false),
            ("x: f32[4, 3], i: i64[2, 5]", "softmax(x; dim=1)", "r = index(y, i; dims=[0])", false),
        ] {
            assert_eq!(
                can_be_pushed(inputs, &format!("y = {computed}\n {selected}")),
                is_pushed,
                "{computed}: {selected}"
            );
        }
    }
}
