//! Instances of a rule with data: both sides built, ready to be evaluated.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::generate::Choice;
use super::random::Random;
use crate::eval::{Constant, random};
use crate::ir::{AttrValue, DType, TensorType};
use crate::rules::arena::{Arena, TermId};
use crate::rules::definition::Definition;
use crate::rules::expr::{Expr, Scope, TensorRef};
use crate::rules::rule::{Bindings, Outcome, Rule};
use crate::rules::terms::{Terms, Visitor};

/// Functions that ask for the value of a tensor.
const ABOUT_VALUES: [&str; 7] =
    ["is_const", "is_uniform", "value", "is_causal_mask", "mask_keeps_a_key", "keeps_a_finite_key", "is_additive_mask"];

/// Both sides of a rule on given operands.
pub struct Instance {
    pub arena: Arena,
    pub bindings: Bindings<TermId>,
    pub lhs: TermId,
    pub rhs: TermId,
}

/// Why a choice gives no instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// The left side is ill-typed.
    Left,
    /// A condition does not hold.
    Condition,
    /// The right side is ill-typed: the prover would not apply the rule.
    Right(String),
}

/// Builds both sides.
pub fn build(rule: &Rule, definitions: &[Arc<Definition>], choice: &Choice, seed: u64) -> Result<Instance, Unfit> {
    let mut arena = Arena::new(definitions);
    let constant = asked_for_values(rule);
    let mut random = Random::new(seed);
    let mut bindings = Bindings::empty(rule);
    let mut leaf = |arena: &mut Arena, ty: &TensorType, is_constant: bool| {
        let seed = random.next();
        if is_constant {
            arena.constant_leaf(ty.clone(), known_value(ty, seed))
        } else {
            arena.leaf(ty.clone(), data(ty, seed, rule.tier == crate::rules::Tier::Exact).into())
        }
    };
    for (v, ty) in choice.tensors.iter().enumerate() {
        if let Some(ty) = ty {
            bindings.tensors[v] = Some(leaf(&mut arena, ty, constant.contains(&TensorRef::Var(v))));
        }
    }
    for (l, types) in choice.lists.iter().enumerate() {
        if let Some(types) = types {
            let known = constant.contains(&TensorRef::Element(l));
            bindings.lists[l] = Some(types.iter().map(|ty| leaf(&mut arena, ty, known)).collect());
        }
    }
    for (slot, value) in bindings.attrs.iter_mut().zip(&choice.attrs) {
        slot.clone_from(value);
    }
    let lhs = rule.build_lhs(&bindings, &mut arena).map_err(|_| Unfit::Left)?;
    if rule.check_conditions(&arena, &mut bindings) == Outcome::Fails {
        return Err(Unfit::Condition);
    }
    let rhs = rule.build_rhs(&bindings, &mut arena).map_err(|e| Unfit::Right(e.to_string()))?;
    Ok(Instance { arena, bindings, lhs, rhs })
}

/// The tensors of whose value the conditions ask something: those are made constants.
fn asked_for_values(rule: &Rule) -> Vec<TensorRef> {
    let mut found = Vec::new();
    let lets = rule.lets.iter().map(|(_, e)| e);
    for e in rule.conditions.iter().map(|c| &c.expr).chain(lets) {
        e.walk(&mut |e| {
            if let Expr::Tensor(f, tensor, _) = e
                && ABOUT_VALUES.contains(&f.name)
            {
                found.push(*tensor);
            }
        });
    }
    found
}

/// Random elements with some that tend to be special; signed zeros and infinities only where every bit counts.
fn data(ty: &TensorType, seed: u64, every_bit: bool) -> Vec<f64> {
    let mut random = Random::new(seed);
    let special: &[f64] =
        if every_bit { &[0.0, -0.0, 1.0, -1.0, f64::INFINITY, 1e-30] } else { &[1.0, -1.0, 0.5, 2.0] };
    (0..ty.numel())
        .map(|i| match ty.dtype {
            d if d.is_float() && random.chance(10) => d.round(random.pick(special).unwrap_or(0.0)),
            _ => random::element(seed, ty, i),
        })
        .collect()
}

/// A constant: uniform, causal, an additive mask, or anything.
fn known_value(ty: &TensorType, seed: u64) -> Constant {
    let mut random = Random::new(seed);
    let kind = random.below(5);
    if kind == 0 {
        let values = [1.0, 0.0, 1.0, 2.0];
        return Constant::Uniform(ty.dtype.round(values[random.below(4)]).into());
    }
    let columns = ty.shape.last().copied().unwrap_or(1).max(1);
    let rows = ty.rank().checked_sub(2).map_or(1, |d| ty.shape[d]).max(1);
    let element = |i: usize| match (kind, ty.dtype) {
        (1, _) => f64::from(u8::from(i % columns <= (i / columns) % rows)),
        // Mostly true, so that rows keep a key.
        (_, DType::Bool) => f64::from(u8::from(random.chance(70))),
        (2, d) if d.is_float() => random.pick(&[0.0, 0.0, 0.0, f64::NEG_INFINITY]).unwrap_or(0.0),
        _ => random::element(seed, ty, i),
    };
    Constant::Dense((0..ty.numel()).map(element).map(Into::into).collect())
}

/// The value of an expression as far as types and chosen attributes give it.
pub fn types_only(rule: &Rule, choice: &Choice, expr: &Expr) -> Option<AttrValue> {
    let mut types = Vec::new();
    let mut bindings = Bindings::empty(rule);
    for (v, ty) in choice.tensors.iter().enumerate() {
        if let Some(ty) = ty {
            bindings.tensors[v] = Some(types.len());
            types.push(ty.clone());
        }
    }
    for (slot, value) in bindings.attrs.iter_mut().zip(&choice.attrs) {
        slot.clone_from(value);
    }
    let terms = Types(types);
    for (var, value) in &rule.lets {
        let value = value.eval(&Scope { terms: &terms, bindings: &bindings, element: None }).ok();
        if bindings.attrs[*var].is_none() {
            bindings.attrs[*var] = value;
        }
    }
    expr.eval(&Scope { terms: &terms, bindings: &bindings, element: None }).ok()
}

/// Tensors of which only the types are known.
struct Types(Vec<TensorType>);

impl Terms for Types {
    type Id = usize;

    fn visit(&self, _: usize, _: &mut Visitor<'_, usize>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn ty(&self, id: usize) -> &TensorType {
        &self.0[id]
    }

    fn constant(&self, _: usize) -> Option<&Constant> {
        None
    }
}
