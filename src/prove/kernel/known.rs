//! Values that follow from equalities: an operator of known values has a known value, too.

use rustc_hash::FxHashMap;

use super::arena::{Operands, TermArena, TermId};
use super::closure::Closure;
use crate::ops::Op;

/// For every operator whose operands all equal known values, adds the same operator of those values: it is equal by congruence,
/// and known if it folds. The search folds in this way wherever it replaces a term by an equal one.
pub(super) fn fold_known(arena: &mut TermArena, closure: &mut Closure) {
    loop {
        closure.extend(arena);
        let mut known: FxHashMap<TermId, TermId> = FxHashMap::default();
        for t in (0..arena.len()).map(|n| arena.nth(n)).filter(|&t| arena.value(t).is_some()) {
            let first = known.entry(closure.find(t)).or_insert(t);
            if arena.constant(*first).is_none() {
                *first = t;
            }
        }
        let before = arena.len();
        for n in 0..before {
            let t = arena.nth(n);
            let Some((op @ Op::Table(_), attrs, slot)) = arena.op(t) else { continue };
            let operands = &arena.term(t).operands;
            // A constant that is taken for another one, which rounding has put apart: what is computed from that one may be known
            // by its value.
            let is_taken_for_another = |&o: &TermId| {
                let first = known.get(&closure.find(o)).and_then(|&first| arena.value(first));
                first.is_some_and(|first| arena.value(o).is_some_and(|own| own != first))
            };
            let is_known = known.contains_key(&closure.find(t)) && !operands.iter().any(is_taken_for_another);
            if operands.is_empty() || is_known {
                continue;
            }
            let values: Option<Operands> = operands.iter().map(|&o| known.get(&closure.find(o)).copied()).collect();
            let (op, attrs) = (op.clone(), attrs.clone());
            if let Some(values) = values {
                // What has no type over equal operands has none over these.
                let _ = arena.call(&op, &attrs, slot, &values, None);
            }
        }
        if arena.len() == before {
            return;
        }
    }
}
