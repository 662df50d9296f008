//! Elements moved before an operator in place of after it: what is not kept need not be computed.

use smallvec::SmallVec;

use super::arena::{TermArena, TermId};
use crate::ir::{AttrValue, Attrs, Shape, TensorType};
use crate::ops::{Along, Call, Elements, Movement, Op, OpDef, moving};

/// An operator of whose results places are moved.
struct Exchange {
    op: Op,
    attrs: Attrs,
    slot: u32,
    operands: SmallVec<[Operand; 4]>,
}

/// An operand of such an operator.
struct Operand {
    plain: TermId,
    moved: TermId,
    /// Whether it may stay as it is: it has one place, which stands for all.
    may_stay: bool,
}

/// What moves the elements of a term's operands, along which of their dimensions if it moves whole places, and how many operands it
/// moves: others say how.
pub(crate) fn mover(arena: &TermArena, term: TermId) -> Option<(&'static OpDef, Along, usize)> {
    let (&Op::Table(mover), attrs, _) = arena.op(term)? else { return None };
    let operands = &arena.term(term).operands;
    let types: SmallVec<[&TensorType; 4]> = operands.iter().map(|&t| arena.ty(t)).collect();
    let along = (mover.moves_along)(&Call { op: mover, attrs, operands: &types }).unwrap_or_default();
    let moved = if mover.operands.len() == 1 { operands.len() } else { 1 };
    (!operands.is_empty() && (!along.is_empty() || mover.only_moves())).then_some((mover, along, moved))
}

/// For a term that moves elements of the result of an operator that computes each by itself: that operator on the moved elements of
/// its operands.
fn exchange_of_elements(arena: &mut TermArena, before: TermId) -> Option<Exchange> {
    let (&Op::Table(mover), moved, place) = arena.op(before)? else { return None };
    let Elements::Moved(_, movement) = mover.elements else { return None };
    if !mover.only_moves() || movement == Movement::Broadcast {
        return None;
    }
    let (moves, moved) = (Op::Table(mover), moved.clone());
    let operands = arena.term(before).operands.clone();
    let (&result, named) = operands.split_first()?;
    let (&Op::Table(op), attrs, slot) = arena.op(result)? else { return None };
    let attrs = attrs.clone();
    let plain = arena.term(result).operands.clone();
    let is_placewise = {
        let types: SmallVec<[&TensorType; 4]> = plain.iter().map(|&t| arena.ty(t)).collect();
        Call { op, attrs: &attrs, operands: &types }.is_placewise()
    };
    if !is_placewise {
        return None;
    }
    let whole = arena.ty(result).shape.clone();
    let mut exchanged = SmallVec::new();
    for &plain in &plain {
        let shape = arena.ty(plain).shape.clone();
        if shape.is_empty() {
            exchanged.push(Operand { plain, moved: plain, may_stay: true });
            continue;
        }
        let mut source = plain;
        if shape != whole {
            // What is broadcast has its places where the others have them once its dimensions are counted alike.
            if movement != Movement::Permute {
                return None;
            }
            let missing = whole.len().checked_sub(shape.len())?;
            if missing > 0 {
                let shape: Shape = std::iter::repeat_n(1, missing).chain(shape.iter().copied()).collect();
                let reshape = Op::Table(moving(Movement::Reshape)?);
                let attrs = [AttrValue::shape(&shape)].into_iter().collect();
                source = arena.call(&reshape, &attrs, 0, &[plain], None).ok()?;
            }
        }
        let given: SmallVec<[TermId; 4]> = [source].into_iter().chain(named.iter().copied()).collect();
        let moved = arena.call(&moves, &moved, place, &given, None).ok()?;
        exchanged.push(Operand { plain, moved, may_stay: false });
    }
    exchanged.iter().any(|operand: &Operand| !operand.may_stay).then_some(())?;
    Some(Exchange { op: Op::Table(op), attrs, slot, operands: exchanged })
}

/// For a term that moves elements of the results of an operator: that operator on the moved elements of its operands, if that is the
/// same.
fn exchange(arena: &mut TermArena, before: TermId) -> Option<Exchange> {
    exchange_of_elements(arena, before).or_else(|| exchange_of_places(arena, before))
}

/// The same where places along dimensions are moved and each is computed by itself.
fn exchange_of_places(arena: &mut TermArena, before: TermId) -> Option<Exchange> {
    let (mover, along, moved) = mover(arena, before).filter(|(_, along, _)| !along.is_empty())?;
    let (moves, attrs, 0) = arena.op(before)? else { return None };
    let (moves, attrs) = (moves.clone(), attrs.clone());
    let operands = arena.term(before).operands.clone();
    let (parts, named) = operands.split_at(moved);
    let (op, op_attrs, slot) = arena.op(parts[0])?;
    let (Op::Table(computes), op, op_attrs) = (op, op.clone(), op_attrs.clone()) else { return None };
    let below: SmallVec<[SmallVec<[TermId; 4]>; 2]> =
        parts.iter().map(|&part| arena.term(part).operands.iter().copied().collect()).collect();
    let is_alike = |(&part, operands): (&TermId, &SmallVec<[TermId; 4]>)| {
        arena.op(part) == Some((&op, &op_attrs, slot)) && operands.len() == below[0].len()
    };
    if !parts.iter().zip(&below).all(is_alike) {
        return None;
    }
    let is_placewise = matches!(computes.elements, Elements::Placewise(_));
    // Where several dimensions take the place of one, those after it are others, and so is what is broadcast to those before it.
    let is_renumbered = arena.ty(before).rank() != arena.ty(parts[0]).rank();
    if is_renumbered && !(along[..] == [0] && is_placewise) {
        return None;
    }
    // For each part and dimension, along which dimension of each operand the places stand.
    let local = |(&part, operands): (&TermId, &SmallVec<[TermId; 4]>)| {
        let types: SmallVec<[&TensorType; 4]> = operands.iter().map(|&t| arena.ty(t)).collect();
        let call = Call { op: computes, attrs: &op_attrs, operands: &types };
        along
            .iter()
            .map(|&dim| call.local_dims(slot as usize, arena.ty(part), dim))
            .collect::<Option<SmallVec<[_; 2]>>>()
    };
    let local: SmallVec<[_; 2]> = parts.iter().zip(&below).map(local).collect::<Option<_>>()?;
    let mut exchanged = SmallVec::new();
    for n in 0..below[0].len() {
        let column: SmallVec<[TermId; 4]> = below.iter().map(|operands| operands[n]).collect();
        let plain = column[0];
        let is_same = column.iter().all(|&term| term == plain);
        let dims_of = |part: usize| -> SmallVec<[Option<usize>; 2]> {
            let stands = |(dims, &dim): (&SmallVec<[Option<usize>; 4]>, &usize)| {
                let at = dims[n]?;
                let size = arena.ty(column[part]).shape.get(at);
                (size.is_some() && size == arena.ty(parts[part]).shape.get(dim)).then_some(at)
            };
            local[part].iter().zip(&along).map(stands).collect()
        };
        let dims = dims_of(0);
        if (1..parts.len()).any(|part| dims_of(part) != dims) {
            return None;
        }
        let ty = arena.ty(plain);
        let may_stay = is_placewise && is_same && dims.iter().flatten().all(|&dim| ty.shape[dim] == 1);
        let moved = match dims.iter().all(Option::is_none) {
            true if is_same => plain,
            true => return None,
            false => {
                let attrs = mover.moving_along(&attrs, &along, &dims, ty)?;
                let given: SmallVec<[TermId; 4]> = column.iter().chain(named).copied().collect();
                arena.call(&moves, &attrs, 0, &given, None).ok()?
            }
        };
        exchanged.push(Operand { plain, moved, may_stay });
    }
    Some(Exchange { op, attrs: op_attrs, slot, operands: exchanged })
}

/// For a term that moves places of the results of an operator: the operator on the moved places of its operands, if that is the same.
pub(crate) fn pushed_down(arena: &mut TermArena, before: TermId) -> Option<TermId> {
    let Exchange { op, attrs, slot, operands } = exchange(arena, before)?;
    // What stands for all places stays if something else tells how many there are.
    let some_move = operands.iter().any(|operand| !operand.may_stay);
    let chosen = |operand: &Operand| if some_move && operand.may_stay { operand.plain } else { operand.moved };
    let operands: SmallVec<[TermId; 4]> = operands.iter().map(chosen).collect();
    let after = arena.call(&op, &attrs, slot, &operands, None).ok()?;
    (arena.ty(after) == arena.ty(before)).then_some(after)
}

/// The operand of a term that repeats it, in new dimensions too.
pub(crate) fn expanded(arena: &TermArena, term: TermId) -> Option<TermId> {
    let (Op::Table(op), ..) = arena.op(term)? else { return None };
    let repeats = matches!(op.elements, Elements::Moved(_, Movement::Broadcast));
    repeats.then(|| arena.term(term).operands.first().copied()).flatten()
}

/// Whether `before` repeats the results of an operator, and `after` is that operator where some operands are repeated.
fn is_expanded_before(arena: &TermArena, before: TermId, after: TermId) -> bool {
    let Some(result) = expanded(arena, before) else { return false };
    let Some((&Op::Table(op), attrs, _)) = arena.op(result) else { return false };
    let (plain, given) = (&arena.term(result).operands, &arena.term(after).operands);
    let types: SmallVec<[&TensorType; 4]> = plain.iter().map(|&t| arena.ty(t)).collect();
    arena.ty(before) == arena.ty(after)
        && arena.op(result) == arena.op(after)
        && Call { op, attrs, operands: &types }.is_placewise()
        && plain.len() == given.len()
        && plain.iter().zip(given).all(|(&plain, &given)| given == plain || expanded(arena, given) == Some(plain))
}

/// Whether `after` is an operator on the moved places of its operands, where `before` moves the places of its results.
pub(crate) fn is_pushed_down(arena: &mut TermArena, before: TermId, after: TermId) -> bool {
    if is_expanded_before(arena, before, after) {
        return true;
    }
    let Some(Exchange { op, attrs, slot, operands }) = exchange(arena, before) else { return false };
    let given = arena.term(after).operands.clone();
    let chosen =
        |(n, o): (usize, &Operand)| if o.may_stay && given.get(n) == Some(&o.plain) { o.plain } else { o.moved };
    let operands: SmallVec<[TermId; 4]> = operands.iter().enumerate().map(chosen).collect();
    arena.ty(after) == arena.ty(before) && arena.call(&op, &attrs, slot, &operands, None) == Ok(after)
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
            // Places that change their order or their number, and elements that go anywhere.
            ("x: f32[2, 4, 3], w: f32[5, 3]", "linear(x, w)", "r = flip(y; dims=[0, 1])", true),
            ("x: f32[2, 4, 3], w: f32[5, 3]", "linear(x, w)", "r = flip(y; dims=[0, 2])", true),
            ("x: f32[2, 4, 3]", "softmax(x; dim=2)", "r = roll(y; shifts=[1], dims=[1])", true),
            ("x: f32[2, 4, 3]", "softmax(x; dim=2)", "r = roll(y; shifts=[1], dims=[2])", false),
            ("x: f32[2, 4, 3]", "softmax(x; dim=2)", "r = reshape(y; shape=[8, 3])", false),
            ("x: f32[2, 4, 3], b: f32[4, 1]", "add(x, b)", "r = permute(y; dims=[1, 2, 0])", true),
            ("x: f32[2, 4, 3], b: f32[4, 1]", "add(x, b)", "r = reshape(y; shape=[24])", false),
            ("x: f32[2, 4, 3], b: f32[2, 4, 3]", "add(x, b)", "r = reshape(y; shape=[24])", true),
            ("x: f32[4, 3], i: i64[4, 2]", "exp(x)", "r = gather(y, i; dim=1)", true),
            ("x: f32[4, 3]", "exp(x)", "r = tril(y)", false),
            ("x: f32[4, 3]", "exp(x)", "r = pad(y; pad=[1, 0, 0, 0], value=0.0)", false),
        ] {
            assert_eq!(
                can_be_pushed(inputs, &format!("y = {computed}\n {selected}")),
                is_pushed,
                "{computed}: {selected}"
            );
        }
    }

    #[test]
    fn parts_are_joined_where_the_operator_reads_the_same_of_all() {
        for (inputs, first, second, dim, is_pushed) in [
            ("x: f32[2, 3], y: f32[4, 3], w: f32[5, 3]", "linear(x, w)", "linear(y, w)", 0, true),
            ("x: f32[2, 3], v: f32[4, 3], w: f32[5, 3]", "linear(x, w)", "linear(x, v)", 1, true),
            ("x: f32[2, 3], y: f32[2, 3], v: f32[4, 3], w: f32[5, 3]", "linear(x, w)", "linear(y, v)", 1, false),
            ("x: f32[2, 3], y: f32[2, 3]", "softmax(x; dim=1)", "softmax(y; dim=1)", 1, false),
            ("x: f32[2, 3], y: f32[2, 3]", "softmax(x; dim=1)", "softmax(y; dim=1)", 0, true),
            ("x: f32[2, 3], y: f32[2, 3]", "softmax(x; dim=1)", "log_softmax(y; dim=1)", 0, false),
            ("x: f32[1, 3], y: f32[2, 3], b: f32[1, 3]", "add(x, b)", "add(y, b)", 0, false),
            ("x: f32[2, 3], y: f32[4, 3], b: f32[1, 3]", "add(x, b)", "add(y, b)", 0, true),
        ] {
            let body = format!("p = {first}\n q = {second}\n r = concat(p, q; dim={dim})");
            assert_eq!(can_be_pushed(inputs, &body), is_pushed, "{body}");
        }
    }
}
