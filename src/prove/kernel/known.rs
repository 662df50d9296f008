//! Values that follow from equalities: an operator of known values has a known value, too.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::arena::{Operands, TermArena, TermId};
use super::closure::Closure;
use crate::ops::Op;

/// Values of one class that are told apart. There are several where rounding has put numbers apart that a rule makes equal.
const MAX_VALUES: usize = 3;

/// For every operator whose operands all equal known values, adds the same operator of those values: it is equal by congruence,
/// and known if it folds. The search folds in this way wherever it replaces a term by an equal one.
pub(super) fn fold_known(arena: &mut TermArena, closure: &mut Closure) {
    loop {
        closure.extend(arena);
        let known = known_values(arena, closure);
        let before = arena.len();
        for n in 0..before {
            let t = arena.nth(n);
            let Some((op @ Op::Table(_), attrs, slot)) = arena.op(t) else { continue };
            let operands = &arena.term(t).operands;
            let values: Option<Vec<&Values>> = operands.iter().map(|&o| known.get(&closure.find(o))).collect();
            let Some(values) = values.filter(|values| !values.is_empty()) else { continue };
            // What is known and computed from nothing that has another value needs no other form.
            let alone = operands.iter().zip(&values).all(|(&o, values)| {
                values.len() == 1 && arena.value(o).is_none_or(|own| arena.value(values[0]) == Some(own))
            });
            if alone && known.contains_key(&closure.find(t)) {
                continue;
            }
            // Operands of one class have one value at a time.
            let count = values.iter().map(|values| values.len()).max().unwrap_or(0);
            let choice = |n: usize| values.iter().map(|values| values[n.min(values.len() - 1)]).collect();
            let choices: SmallVec<[Operands; MAX_VALUES]> = (0..count).map(choice).collect();
            let (op, attrs) = (op.clone(), attrs.clone());
            for values in choices {
                // What has no type over equal operands has none over these.
                let _ = arena.call(&op, &attrs, slot, &values, None);
            }
        }
        if arena.len() == before {
            return;
        }
    }
}

/// Terms of one class with different values.
type Values = SmallVec<[TermId; 1]>;

/// The values of each class that has any, exact ones first.
fn known_values(arena: &TermArena, closure: &Closure) -> FxHashMap<TermId, Values> {
    let valued = || (0..arena.len()).map(|n| arena.nth(n)).filter(|&t| arena.value(t).is_some());
    let is_exact = |t: &TermId| arena.constant(*t).is_some();
    let mut known: FxHashMap<TermId, Values> = FxHashMap::default();
    for t in valued().filter(is_exact).chain(valued().filter(|t| !is_exact(t))) {
        let values = known.entry(closure.find(t)).or_default();
        if values.len() < MAX_VALUES && values.iter().all(|&other| arena.value(other) != arena.value(t)) {
            values.push(t);
        }
    }
    known
}
