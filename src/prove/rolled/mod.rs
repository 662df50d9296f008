//! Loops that a program runs through step by step: the same operators over parts of tensors that follow each other, whose results are
//! joined or added up. They are rolled up into operators over whole tensors, with the steps as a dimension.

mod at_steps;
mod proof;
mod roller;
mod views;

use super::arena::{TermArena, TermId};
use super::lemma::Lemma;
use super::window::Window;
use crate::eval::Constant;
use crate::ir::AttrValue;
use crate::ops::{self, Arithmetic, Movement, Op, OpDef, RowFunction};
use at_steps::{Expression, Operands};
use proof::Prove;
use roller::Roller;
use views::{ints, moved, reshaped, without_detours};

/// The most values that are added up: where both operands of a sum are one value, it stands for twice as many at every link.
const MAX_SUMMANDS: usize = 512;

/// A loop over all of its steps at once.
pub(crate) struct Rolled {
    /// A proposal, which nothing has proven.
    pub(crate) form: TermId,
    /// The same, with a view for each expression of the loop that is one.
    long: TermId,
    /// The expressions of the loop, operands first; the last one is what is joined or added up.
    expressions: Vec<Expression>,
}

/// What `root` is if it joins or adds up the steps of a loop.
pub(crate) fn rolled(arena: &mut TermArena, root: TermId) -> Option<Rolled> {
    let (op, attrs, _) = arena.op(root)?;
    let def = op.def()?;
    let (shape, dtype) = (ints(&arena.ty(root).shape), arena.ty(root).dtype);
    if def.movement() == Some(Movement::Concat) {
        let dim = usize::try_from(attrs.get(def.attr_index("dim")?)?.as_int()?).ok()?;
        let steps = arena.term(root).operands.clone();
        let (all, along, expressions) = Roller::new(arena, steps.len()).whole(&steps)?;
        let joined = moved(arena, all, along, dim)?;
        let long = reshaped(arena, joined, &shape)?;
        return Some(Rolled { form: without_detours(arena, long)?, long, expressions });
    }
    let steps = summands(arena, root, def)?;
    let (all, along, expressions) = Roller::new(arena, steps.len()).whole(&steps)?;
    let reduction = reduction(def.arithmetic())?;
    let attrs = reduction.attrs(&[("dim", AttrValue::Ints(ints(&[along])))]).ok()?;
    let total = arena.call(&Op::Table(reduction), &attrs, 0, &[all], None).ok()?;
    let fits = ints(&arena.ty(total).shape) == shape && arena.ty(total).dtype == dtype;
    if !fits {
        return None;
    }
    Some(Rolled { form: without_detours(arena, total)?, long: total, expressions })
}

impl Rolled {
    /// The proof that the form is `root`, with the arena of its steps, which goes on from the one that the form is in.
    pub(crate) fn proof(&self, mut arena: TermArena, root: TermId, prove: &Prove) -> Option<(TermArena, Vec<Lemma>)> {
        let steps = proof::steps(&mut arena, &self.expressions, [root, self.long, self.form], prove)?;
        let (mut window, _) = Window::with_steps(arena, steps, &[]);
        let proof = window.proof(root, self.form)?;
        Some((window.arena, proof))
    }
}

/// Whether an operator may end a loop of many steps.
pub(crate) fn may_end_loop(def: &OpDef) -> bool {
    def.movement() == Some(Movement::Concat) || reduction(def.arithmetic()).is_some()
}

/// What a chain of an operator between two does over a dimension.
fn reduction(arithmetic: Arithmetic) -> Option<&'static OpDef> {
    let function = match arithmetic {
        Arithmetic::Add => RowFunction::Sum,
        Arithmetic::Max => RowFunction::Max,
        Arithmetic::Min => RowFunction::Min,
        _ => return None,
    };
    ops::all().find(|def| def.row_function() == function)
}

/// What a chain of one operator adds up, from left to right, without a 0 that it starts from. None for fewer than two, or too many.
fn summands(arena: &TermArena, root: TermId, def: &OpDef) -> Option<Operands> {
    reduction(def.arithmetic())?;
    let (mut found, mut next) = (Operands::new(), vec![root]);
    while let Some(term) = next.pop() {
        let is_link = matches!(arena.op(term), Some((Op::Table(other), ..)) if other.name == def.name);
        let zero = || arena.constant(term).and_then(Constant::uniform).is_some_and(|v| !v.is_true());
        if is_link {
            next.extend(arena.term(term).operands.iter().rev());
            if next.len() + found.len() > MAX_SUMMANDS {
                return None;
            }
        } else if def.arithmetic() != Arithmetic::Add || !zero() {
            found.push(term);
        }
    }
    (found.len() > 1).then_some(found)
}
