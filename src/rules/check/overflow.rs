//! Values at the limits of narrow types. A rule may move or drop a cast only while that makes no value infinite, or NaN where
//! the type has no infinity, on one side alone: what it needs for that, it has to say.

use std::ops::ControlFlow;

use rustc_hash::FxHashMap;

use super::super::evaluated::Undecided;
use super::choice::Choice;
use super::compare::values;
use super::counterexample::Counterexample;
use super::data::{Data, Scale};
use super::instance::{Instance, build};
use crate::eval::Constant;
use crate::ir::{AttrValue, DType, TensorType};
use crate::ops::Arithmetic;
use crate::rules::Tier;
use crate::rules::arena::{InstanceArena, Term, TermId};
use crate::rules::definition::Definitions;
use crate::rules::matcher::holds;
use crate::rules::rule::{Operand, Pattern, Rule};
use crate::rules::terms::{Terms, Visitor};

/// Types whose limits are tried where a rule leaves its types open.
const NARROW: [DType; 3] = [DType::F16, DType::F8E4M3, DType::F8E5M2];
/// Sizes of operands, as multiples of the largest number of a narrow type.
const SIZES: [f64; 3] = [0.5, 1.0, 8.0];
/// Other elements that are tried for one size.
const DATA: u64 = 3;

/// An instance of the types of `choice`, or with narrow types in their place, of which one side is finite and the other one
/// not, although the rule's conditions hold.
pub(super) fn find(rule: &Rule, definitions: &Definitions, choice: &Choice, data: Data) -> Option<Box<Counterexample>> {
    // What is claimed bit for bit is compared bit for bit, infinities and all.
    if rule.tier == Tier::Exact || ![&rule.lhs, &rule.rhs].into_iter().any(casts) {
        return None;
    }
    narrower(choice).into_iter().find_map(|choice| {
        let instance = build(rule, definitions, &choice, data).ok()?;
        let dtype = narrowest_cast(&instance)?;
        let sizes = SIZES.map(|size| size * dtype.magnitude());
        let scales = sizes.into_iter().chain([2.0 * dtype.magnitude().sqrt()]).map(Scale::One);
        scales.flat_map(|scale| (0..DATA).map(move |n| data.next(n).at(scale))).find_map(|data| {
            let instance = build(rule, definitions, &choice, data).ok()?;
            let rhs = instance.rhs.clone().ok()?;
            let (left, right) = (values(&instance, instance.lhs, true).ok()?, values(&instance, rhs, true).ok()?);
            let parts = left.iter().zip(&right).any(|(a, b)| a.is_finite() != b.is_finite());
            if !parts || excluded(rule, &instance) {
                return None;
            }
            let values = Some((left, right));
            Some(Box::new(Counterexample { code: "rules::range", instance, choice: choice.clone(), data, values }))
        })
    })
}

/// Whether a pattern may hold a cast: itself, or in what defines one of its operators.
fn casts(pattern: &Pattern) -> bool {
    let Pattern::Apply { op, operands, .. } = pattern else { return false };
    let below = |operand: &Operand| {
        let (Operand::One(p) | Operand::Each(p)) = operand;
        casts(p)
    };
    op.arithmetic() == Arithmetic::Cast || op.def().is_none() || operands.iter().any(below)
}

/// The choice, and those with another type in place of one of its float types.
fn narrower(choice: &Choice) -> Vec<Choice> {
    let of_attr = |value: &AttrValue| value.as_dtype();
    let mut present: Vec<DType> = choice.types().map(|ty| ty.dtype).collect();
    present.extend(choice.attrs.iter().flatten().filter_map(of_attr));
    present.retain(|dtype| dtype.is_float());
    present.sort_unstable();
    present.dedup();
    let mut all = vec![choice.clone()];
    for from in present {
        for to in NARROW.into_iter().filter(|&to| to != from) {
            let mut other = choice.clone();
            other.types_mut().filter(|ty| ty.dtype == from).for_each(|ty| ty.dtype = to);
            replace(&mut other.attrs, from, to);
            all.push(other);
            let mut other = choice.clone();
            replace(&mut other.attrs, from, to);
            all.push(other);
        }
    }
    all
}

fn replace(attrs: &mut [Option<AttrValue>], from: DType, to: DType) {
    let same = |value: &&mut AttrValue| value.as_dtype() == Some(from);
    attrs.iter_mut().flatten().filter(same).for_each(|value| *value = AttrValue::DType(to));
}

/// The type of smallest range that something of larger range is cast to, on either side.
fn narrowest_cast(instance: &Instance) -> Option<DType> {
    let Instance { arena, lhs, rhs, .. } = instance;
    let mut stack = vec![*lhs, *rhs.as_ref().ok()?];
    let mut narrowest: Option<DType> = None;
    while let Some(id) = stack.pop() {
        let Term::Apply { op, operands, .. } = arena.term(id) else { continue };
        stack.extend(operands);
        let to = Terms::ty(arena, id).dtype;
        let from = |&o: &TermId| Terms::ty(arena, o).dtype;
        if op.arithmetic() == Arithmetic::Cast
            && to.is_float()
            && operands.first().is_some_and(|o| !from(o).within_range_of(to))
        {
            narrowest = narrowest.filter(|known| known.magnitude() <= to.magnitude()).or(Some(to));
        }
    }
    narrowest
}

/// Whether a condition fails on the elements that the operands have. What only the elements tell is assumed elsewhere.
fn excluded(rule: &Rule, instance: &Instance) -> bool {
    let constant = |id: TermId| match instance.arena.term(id) {
        Term::Leaf(data) => Some((id, Constant::Dense(data.clone()))),
        _ => None,
    };
    let known = Known { arena: &instance.arena, elements: instance.leaves().filter_map(constant).collect() };
    let fails = |found| !matches!(found, Ok(true) | Err(Undecided::Unknown));
    rule.conditions.iter().any(|condition| fails(holds(condition, &known, &instance.bindings)))
}

/// Terms of which the elements of all leaves are known.
struct Known<'a> {
    arena: &'a InstanceArena,
    elements: FxHashMap<TermId, Constant>,
}

impl Terms for Known<'_> {
    type Id = TermId;

    fn visit(&self, id: TermId, f: &mut Visitor<'_, TermId>) -> ControlFlow<()> {
        self.arena.visit(id, f)
    }

    fn ty(&self, id: TermId) -> &TensorType {
        Terms::ty(self.arena, id)
    }

    fn constant(&self, id: TermId) -> Option<&Constant> {
        self.elements.get(&id).or_else(|| self.arena.constant(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Shape;
    use crate::rules::{RuleFile, RuleSet};

    /// Whether a rule about `x` and the type `t` parts at the limits of types.
    fn parts(rule: &str, t: DType) -> bool {
        let text = format!("/// Doc.\nrule r [real]: {rule}");
        let set = RuleSet::default().with_sources(&[RuleFile::new("r.rules", &text)]).unwrap();
        let ty = TensorType::new(DType::F32, Shape::from_slice(&[9])).unwrap();
        let attrs = vec![Some(AttrValue::DType(t)); set.rules()[0].vars.attrs.len()];
        let choice = Choice { tensors: vec![Some(ty)], lists: Vec::new(), attrs };
        find(&set.rules()[0], &Definitions::default(), &choice, Data::seeded(1)).is_some()
    }

    #[test]
    fn a_type_without_infinity_shows_that_relu_and_a_cast_do_not_commute() {
        let rule = "relu(cast(x; dtype=t)) => cast(relu(x); dtype=t) where is_float(t)";
        for t in [DType::F8E4M3, DType::BF16] {
            assert!(parts(rule, t), "{t}");
            assert!(!parts(&format!("{rule} assume in_range(x, t)"), t), "{t}");
        }
    }

    #[test]
    fn what_overflows_on_both_sides_does_not_part() {
        assert!(!parts("neg(cast(x; dtype=t)) => cast(neg(x); dtype=t) where is_float(t)", DType::F16));
        assert!(!parts("permute(cast(x; dtype=t); dims=[0]) => cast(permute(x; dims=[0]); dtype=t)", DType::F8E5M2));
    }
}
