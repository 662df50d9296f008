//! Instances of a rule with data: both sides built, ready to be evaluated.

use super::super::vars::Bindings;
use super::choice::Choice;
use super::data::Data;
use super::types::Types;
use crate::ir::{AttrValue, TensorType};
use crate::ops::ties::leaves_open;
use crate::ops::{Call, Family, Kernel, KernelClass, Op};
use crate::rules::Tier;
use crate::rules::arena::{InstanceArena, Term, TermId};
use crate::rules::definition::Definitions;
use crate::rules::expr::{Expr, Scope, TensorRef};
use crate::rules::instantiate::BuildError;
use crate::rules::matcher::holds;
use crate::rules::rule::{Outcome, Rule};
use crate::rules::terms::Terms;

/// Functions that ask for the value of a tensor.
const ABOUT_VALUES: [&str; 15] = [
    "is_const",
    "is_uniform",
    "value",
    "is_above",
    "is_below",
    "distinct",
    "is_ascending",
    "is_counted",
    "is_diagonal",
    "is_causal_mask",
    "is_lower_ones",
    "is_upper_ones",
    "mask_keeps_a_key",
    "keeps_a_finite_key",
    "is_additive_mask",
];

/// Both sides of a rule on given operands.
pub(super) struct Instance {
    pub arena: InstanceArena,
    pub data: Data,
    pub bindings: Bindings<TermId>,
    pub lhs: TermId,
    /// The right side, or why it cannot be built.
    pub rhs: Result<TermId, String>,
}

impl Instance {
    /// The operands.
    pub(super) fn leaves(&self) -> impl Iterator<Item = TermId> {
        let lists = self.bindings.lists.iter().flatten().flatten();
        self.bindings.tensors.iter().flatten().chain(lists).copied()
    }

    /// Whether an operator of either side adds floats up. In which order it does is open, and where some are far larger than
    /// others the order shows.
    pub(super) fn adds_floats(&self) -> bool {
        let adds = |term: &Term| match term {
            Term::Apply { op: Op::Table(op), operands, .. } => {
                // Of what only moves elements, the operators that add those up which meet in one place.
                let elsewhere = op.kernels == KernelClass::Scatter && matches!(op.kernel, Kernel::Ordered(_));
                let adds = !matches!(op.family, Family::Elementwise | Family::View | Family::Index | Family::Create);
                (adds || elsewhere) && operands.iter().any(|&o| self.arena.ty(o).dtype.is_float())
            }
            Term::Apply { .. } => true,
            _ => false,
        };
        self.arena.terms().any(adds)
    }

    /// Whether an operator of either side leaves the order of equal elements open.
    pub(super) fn leaves_open(&self) -> bool {
        let open = |term: &Term| match term {
            Term::Apply { op: Op::Table(op), attrs, .. } => leaves_open(&Call { op, attrs, operands: &[] }),
            // A defined operator may be made of such operators.
            Term::Apply { .. } => true,
            _ => false,
        };
        self.arena.terms().any(open)
    }
}

/// Why a choice gives no instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unfit {
    /// The left side is ill-typed.
    Left,
    /// A condition does not hold.
    Condition,
}

/// Builds both sides.
pub(super) fn build(rule: &Rule, definitions: &Definitions, choice: &Choice, data: Data) -> Result<Instance, Unfit> {
    let mut arena = InstanceArena::new(definitions);
    let mut bindings = operands(rule, &mut arena, choice, data);
    let lhs = rule.build_lhs(&bindings, &mut arena).map_err(|_| Unfit::Left)?;
    if !matches!(rule.check_conditions(&arena, &mut bindings), Outcome::Holds { .. }) {
        return Err(Unfit::Condition);
    }
    let rhs = match rule.build_rhs(&bindings, &mut arena) {
        // The rule does not apply.
        Err(BuildError::NotHeld { .. }) => return Err(Unfit::Condition),
        rhs => rhs.map_err(|e| e.to_string()),
    };
    Ok(Instance { arena, data, bindings, lhs, rhs })
}

/// Why [`build`] gives no instance, for the author of a test.
pub(super) fn why_none(rule: &Rule, definitions: &Definitions, choice: &Choice) -> String {
    let mut arena = InstanceArena::new(definitions);
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
fn operands(rule: &Rule, arena: &mut InstanceArena, choice: &Choice, data: Data) -> Bindings<TermId> {
    let constant = asked_for_values(rule);
    let mut elements = data.operands(choice.types().count());
    let mut bindings = Bindings::empty(&rule.vars);
    let mut leaf = |arena: &mut InstanceArena, ty: &TensorType, tensor: TensorRef| {
        if constant.contains(&tensor) {
            arena.constant_leaf(ty.clone(), elements.next_constant(ty))
        } else {
            arena.leaf(ty.clone(), elements.next(ty, rule.tier == Tier::Exact).into())
        }
    };
    for (v, ty) in choice.tensors.iter().enumerate() {
        bindings.tensors[v] = ty.as_ref().map(|ty| leaf(arena, ty, TensorRef::Var(v)));
    }
    for (l, types) in choice.lists.iter().enumerate() {
        let leaves = |types: &Vec<TensorType>| types.iter().map(|ty| leaf(arena, ty, TensorRef::Element(l))).collect();
        bindings.lists[l] = types.as_ref().map(leaves);
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

/// The value of an expression as far as types and chosen attributes give it.
pub(super) fn types_only(rule: &Rule, choice: &Choice, expr: &Expr) -> Option<AttrValue> {
    let mut types = Vec::new();
    let mut bindings = Bindings::empty(&rule.vars);
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

/// Elements that may be computed for one instance.
pub(super) const BUDGET: usize = 400_000;
