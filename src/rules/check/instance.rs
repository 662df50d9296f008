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
use crate::rules::matcher::holds;
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
    /// The right side, or why it cannot be built.
    pub rhs: Result<TermId, String>,
}

impl Instance {
    /// The operands.
    pub fn leaves(&self) -> impl Iterator<Item = TermId> {
        let lists = self.bindings.lists.iter().flatten().flatten();
        self.bindings.tensors.iter().flatten().chain(lists).copied()
    }
}

/// Why a choice gives no instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// The left side is ill-typed.
    Left,
    /// A condition does not hold.
    Condition,
}

/// Which elements operands have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    seed: u64,
    /// Small integers, which a reader can calculate with.
    pub plain: bool,
}

impl Data {
    pub fn seeded(seed: u64) -> Data {
        Data { seed, plain: false }
    }

    pub fn plain(seed: u64) -> Data {
        Data { seed, plain: true }
    }

    /// Others of the same kind.
    pub fn next(self, n: u64) -> Data {
        Data { seed: self.seed.wrapping_add(n), ..self }
    }

    fn elements(self, ty: &TensorType, seed: u64, every_bit: bool) -> Vec<f64> {
        if !(self.plain && ty.dtype.is_float()) {
            return data(ty, seed, every_bit);
        }
        let mut random = Random::new(seed);
        (0..ty.numel()).map(|_| [1.0, 2.0, 3.0, -1.0, -2.0, 0.0][random.below(6)]).collect()
    }
}

/// Builds both sides.
pub fn build(rule: &Rule, definitions: &[Arc<Definition>], choice: &Choice, elements: Data) -> Result<Instance, Unfit> {
    let mut arena = Arena::new(definitions);
    let mut bindings = operands(rule, &mut arena, choice, elements);
    let lhs = rule.build_lhs(&bindings, &mut arena).map_err(|_| Unfit::Left)?;
    if rule.check_conditions(&arena, &mut bindings) == Outcome::Fails {
        return Err(Unfit::Condition);
    }
    let rhs = rule.build_rhs(&bindings, &mut arena).map_err(|e| e.to_string());
    Ok(Instance { arena, bindings, lhs, rhs })
}

/// Why [`build`] gives no instance, for the author of a test.
pub fn why_none(rule: &Rule, definitions: &[Arc<Definition>], choice: &Choice) -> String {
    let mut arena = Arena::new(definitions);
    let mut bindings = operands(rule, &mut arena, choice, Data::seeded(0));
    if let Err(e) = rule.build_lhs(&bindings, &mut arena) {
        return format!("the left side cannot be built: {e}");
    }
    // The lets come first: conditions use them.
    let _ = rule.check_conditions(&arena, &mut bindings);
    let broken = rule.conditions.iter().find(|c| holds(c, &arena, &bindings) != Ok(true));
    match broken {
        Some(condition) => format!("the condition `{}` does not hold", condition.text),
        None => "a `let` has no value".to_owned(),
    }
}

/// Operands with data, and the chosen attributes.
fn operands(rule: &Rule, arena: &mut Arena, choice: &Choice, elements: Data) -> Bindings<TermId> {
    let constant = asked_for_values(rule);
    let mut random = Random::new(elements.seed);
    let mut bindings = Bindings::empty(rule);
    let mut leaf = |arena: &mut Arena, ty: &TensorType, is_constant: bool| {
        let seed = random.next();
        if is_constant {
            arena.constant_leaf(ty.clone(), known_value(ty, seed))
        } else {
            arena.leaf(ty.clone(), elements.elements(ty, seed, rule.tier == crate::rules::Tier::Exact).into())
        }
    };
    for (v, ty) in choice.tensors.iter().enumerate() {
        if let Some(ty) = ty {
            bindings.tensors[v] = Some(leaf(arena, ty, constant.contains(&TensorRef::Var(v))));
        }
    }
    for (l, types) in choice.lists.iter().enumerate() {
        if let Some(types) = types {
            let known = constant.contains(&TensorRef::Element(l));
            bindings.lists[l] = Some(types.iter().map(|ty| leaf(arena, ty, known)).collect());
        }
    }
    for (slot, value) in bindings.attrs.iter_mut().zip(&choice.attrs) {
        slot.clone_from(value);
    }
    bindings
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
