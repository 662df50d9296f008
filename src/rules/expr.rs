//! Attribute expressions: what conditions, lets and computed attributes say.
//!
//! Evaluation has three outcomes: a value, `Unknown` (it asks for a constant that is not known), or
//! `Invalid` (no such dimension, an inexact division). Facts about a term are only ever added, so a
//! condition that holds once holds for ever.

use super::bounds::{Bounds, bounds, is_made_unreal, is_never_real};
use super::evaluated::{Evaluated, Undecided, position};
use super::function::{Function, TensorFunction};
use super::masks;
use super::tensor_functions::{IS_REAL, KEEPS_A_FINITE_KEY, STAYS_REAL};
use super::terms::Terms;
use super::vars::{AttrVar, Bindings, ListVar, TensorVar};
use crate::ir::{AttrValue, Ints};
use crate::ops::Sign;

/// The tensor that a function looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TensorRef {
    Var(TensorVar),
    /// Every element of a list, one after the other.
    Element(ListVar),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arithmetic {
    Add,
    Sub,
    Mul,
    Div,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// An attribute expression over numbered variables.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    Value(AttrValue),
    Attr(AttrVar),
    /// Number of tensors in a list.
    Count(ListVar),
    /// Whether an expression has the same value for every tensor of a list.
    Same(ListVar, Box<Expr>),
    Tensor(TensorFunction, TensorRef, Vec<Expr>),
    Call(Function, Vec<Expr>),
    List(Vec<Expr>),
    Index(Box<Expr>, Box<Expr>),
    Slice(Box<Expr>, Option<Box<Expr>>, Option<Box<Expr>>),
    Neg(Box<Expr>),
    Not(Box<Expr>),
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    Compare(Comparison, Box<Expr>, Box<Expr>),
    Arithmetic(Arithmetic, Box<Expr>, Box<Expr>),
}

/// What an expression is evaluated in.
pub struct Scope<'a, T: Terms> {
    pub terms: &'a T,
    pub bindings: &'a Bindings<T::Id>,
    /// Position in the lists, within an [`super::rule::Operand::Each`].
    pub element: Option<usize>,
}

impl Expr {
    /// The value in `scope`.
    pub fn eval<T: Terms>(&self, scope: &Scope<'_, T>) -> Evaluated {
        match self {
            Expr::Value(v) => Ok(v.clone()),
            Expr::Attr(v) => scope.bindings.attrs.get(*v).cloned().flatten().ok_or(Undecided::Invalid),
            Expr::Count(l) => {
                let list = scope.bindings.lists.get(*l).and_then(Option::as_ref);
                Ok(AttrValue::Int(list.ok_or(Undecided::Invalid)?.len() as i64))
            }
            Expr::Same(l, e) => {
                let count = scope.bindings.lists.get(*l).and_then(Option::as_ref).ok_or(Undecided::Invalid)?.len();
                let of = |i| e.eval(&Scope { element: Some(i), ..*scope });
                let first = of(0)?;
                for i in 1..count {
                    if !first.is_same(&of(i)?) {
                        return Ok(AttrValue::Bool(false));
                    }
                }
                Ok(AttrValue::Bool(true))
            }
            Expr::Tensor(function, tensor, rest) => {
                let id = scope.tensor(*tensor).ok_or(Undecided::Invalid)?;
                if *function == KEEPS_A_FINITE_KEY {
                    return masks::keeps_a_finite_key(scope.terms, id).map(AttrValue::Bool);
                }
                if *function == IS_REAL || *function == STAYS_REAL {
                    let leaves_reals = || *function == STAYS_REAL && is_made_unreal(scope.terms, id);
                    return if scope.terms.sign(id) >= Sign::Real {
                        Ok(AttrValue::Bool(true))
                    } else if is_never_real(scope.terms, id) || leaves_reals() {
                        Ok(AttrValue::Bool(false))
                    } else {
                        Err(Undecided::Unknown)
                    };
                }
                let rest = rest.iter().map(|e| e.eval(scope)).collect::<Result<Vec<_>, _>>()?;
                let found = function.eval(scope.terms.ty(id), scope.terms.constant(id), &rest);
                if found == Err(Undecided::Unknown) { by_bounds(*function, scope.terms, id, &rest) } else { found }
            }
            Expr::Call(function, arguments) => {
                let arguments = arguments.iter().map(|e| e.eval(scope)).collect::<Result<Vec<_>, _>>()?;
                function.eval(&arguments).ok_or(Undecided::Invalid)
            }
            Expr::List(items) => {
                let item = |e: &Expr| e.eval(scope)?.as_int().ok_or(Undecided::Invalid);
                Ok(AttrValue::Ints(items.iter().map(item).collect::<Result<Ints, _>>()?))
            }
            Expr::Index(list, index) => {
                let (list, index) = (list.eval(scope)?, index.eval(scope)?);
                index_list(&list, &index).ok_or(Undecided::Invalid)
            }
            Expr::Slice(list, from, to) => {
                let list = list.eval(scope)?;
                let bound = |e: &Option<Box<Expr>>| e.as_ref().map(|e| e.eval(scope)).transpose();
                slice_list(&list, bound(from)?, bound(to)?).ok_or(Undecided::Invalid)
            }
            Expr::Neg(e) => negate(&e.eval(scope)?).ok_or(Undecided::Invalid),
            Expr::Not(e) => e.truth(scope).map(|b| AttrValue::Bool(!b)),
            Expr::And(a, b) => match a.truth(scope) {
                Ok(false) => Ok(AttrValue::Bool(false)),
                Ok(true) => b.truth(scope).map(AttrValue::Bool),
                Err(e) => match b.truth(scope) {
                    Ok(false) => Ok(AttrValue::Bool(false)),
                    _ => Err(e),
                },
            },
            Expr::Or(a, b) => match a.truth(scope) {
                Ok(true) => Ok(AttrValue::Bool(true)),
                Ok(false) => b.truth(scope).map(AttrValue::Bool),
                Err(e) => match b.truth(scope) {
                    Ok(true) => Ok(AttrValue::Bool(true)),
                    _ => Err(e),
                },
            },
            Expr::Compare(how, a, b) => {
                compare(*how, &a.eval(scope)?, &b.eval(scope)?).map(AttrValue::Bool).ok_or(Undecided::Invalid)
            }
            Expr::Arithmetic(how, a, b) => arithmetic(*how, &a.eval(scope)?, &b.eval(scope)?).ok_or(Undecided::Invalid),
        }
    }

    /// The value in `scope` as a truth value.
    pub fn truth<T: Terms>(&self, scope: &Scope<'_, T>) -> Result<bool, Undecided> {
        self.eval(scope)?.as_bool().ok_or(Undecided::Invalid)
    }

    /// Calls `f` for this expression and every part of it.
    pub fn walk(&self, f: &mut impl FnMut(&Expr)) {
        f(self);
        match self {
            Expr::Value(_) | Expr::Attr(_) | Expr::Count(_) => {}
            Expr::Tensor(_, _, es) | Expr::Call(_, es) | Expr::List(es) => es.iter().for_each(|e| e.walk(f)),
            Expr::Neg(e) | Expr::Not(e) | Expr::Same(_, e) => e.walk(f),
            Expr::Index(a, b)
            | Expr::And(a, b)
            | Expr::Or(a, b)
            | Expr::Compare(_, a, b)
            | Expr::Arithmetic(_, a, b) => {
                a.walk(f);
                b.walk(f);
            }
            Expr::Slice(a, from, to) => {
                a.walk(f);
                from.iter().chain(to).for_each(|e| e.walk(f));
            }
        }
    }
}

impl<T: Terms> Scope<'_, T> {
    pub(super) fn tensor(&self, tensor: TensorRef) -> Option<T::Id> {
        match tensor {
            TensorRef::Var(v) => self.bindings.tensors.get(v).copied().flatten(),
            TensorRef::Element(l) => self.bindings.lists.get(l)?.as_ref()?.get(self.element?).copied(),
        }
    }
}

/// What bounds on a term say where its value is not known: that it is never above a number or below one, that integers always are, or
/// that it is never beyond a type's range.
fn by_bounds<T: Terms>(function: TensorFunction, terms: &T, id: T::Id, rest: &[AttrValue]) -> Evaluated {
    let truth = match (function.name, rest) {
        ("is_above", [AttrValue::Int(_) | AttrValue::Float(_)]) => {
            let (Bounds { low, high }, bound) = (bounds(terms, id), rest[0].as_float().ok_or(Undecided::Invalid)?);
            decide(low > bound && is_int(terms, id), high <= bound)
        }
        ("is_below", [AttrValue::Int(_) | AttrValue::Float(_)]) => {
            let (Bounds { low, high }, bound) = (bounds(terms, id), rest[0].as_float().ok_or(Undecided::Invalid)?);
            decide(high < bound && is_int(terms, id), low >= bound)
        }
        ("in_range", [AttrValue::DType(to)]) => {
            let Bounds { low, high } = bounds(terms, id);
            let inside = [low, high].iter().all(|v| v.is_finite() && to.contains(*v));
            inside.then_some(true)
        }
        _ => None,
    };
    truth.map(AttrValue::Bool).ok_or(Undecided::Unknown)
}

/// Only integers: a float may be NaN.
fn is_int<T: Terms>(terms: &T, id: T::Id) -> bool {
    terms.ty(id).dtype.is_int()
}

fn decide(always: bool, never: bool) -> Option<bool> {
    if always { Some(true) } else { never.then_some(false) }
}

fn index_list(list: &AttrValue, index: &AttrValue) -> Option<AttrValue> {
    let list = list.as_ints()?;
    list.get(position(index.as_int()?, list.len())?).map(|&v| AttrValue::Int(v))
}

fn slice_list(list: &AttrValue, from: Option<AttrValue>, to: Option<AttrValue>) -> Option<AttrValue> {
    let list = list.as_ints()?;
    let bound = |v: Option<AttrValue>, default: usize| match v {
        None => Some(default),
        Some(v) => Some(crate::ops::shapes::clamp_bound(v.as_int()?, list.len())),
    };
    let (from, to) = (bound(from, 0)?, bound(to, list.len())?);
    Some(AttrValue::Ints(list.get(from..to.max(from))?.iter().copied().collect()))
}

fn negate(value: &AttrValue) -> Option<AttrValue> {
    match value {
        AttrValue::Int(v) => v.checked_neg().map(AttrValue::Int),
        AttrValue::Float(v) => Some(AttrValue::float(-v.0)),
        _ => None,
    }
}

fn compare(how: Comparison, a: &AttrValue, b: &AttrValue) -> Option<bool> {
    match how {
        Comparison::Eq => return Some(a.is_same(b)),
        Comparison::Ne => return Some(!a.is_same(b)),
        _ => {}
    }
    let order = match (a, b) {
        (AttrValue::Int(a), AttrValue::Int(b)) => a.cmp(b),
        _ => a.as_number()?.compare(b.as_number()?)?,
    };
    Some(match how {
        Comparison::Lt => order.is_lt(),
        Comparison::Le => order.is_le(),
        Comparison::Gt => order.is_gt(),
        Comparison::Ge => order.is_ge(),
        Comparison::Eq | Comparison::Ne => return None,
    })
}

/// The longest list that an expression may make.
const MAX_LIST: usize = 64;

fn arithmetic(how: Arithmetic, a: &AttrValue, b: &AttrValue) -> Option<AttrValue> {
    match (how, a, b) {
        (Arithmetic::Add, AttrValue::Ints(a), AttrValue::Ints(b)) if a.len() + b.len() <= MAX_LIST => {
            Some(AttrValue::Ints(a.iter().chain(b).copied().collect()))
        }
        (_, AttrValue::Int(a), AttrValue::Int(b)) => match how {
            Arithmetic::Add => a.checked_add(*b),
            Arithmetic::Sub => a.checked_sub(*b),
            Arithmetic::Mul => a.checked_mul(*b),
            Arithmetic::Div => a.checked_div(*b).filter(|q| q.checked_mul(*b) == Some(*a)),
        }
        .map(AttrValue::Int),
        _ => {
            let (a, b) = (a.as_float()?, b.as_float()?);
            Some(AttrValue::float(match how {
                Arithmetic::Add => a + b,
                Arithmetic::Sub => a - b,
                Arithmetic::Mul => a * b,
                Arithmetic::Div => a / b,
            }))
        }
    }
}
