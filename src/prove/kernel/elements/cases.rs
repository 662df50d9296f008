//! Functions in pieces and elements that an integer chooses, over the real numbers: a formula for each case, times a factor that is 1
//! in that case and 0 in the others.
//!
//! So `max(x, y)` is `y + [x - y > 0] (x - y)`, and what `gather` takes is a sum over the places that it may take it from. There is a normal
//! form: conditions that differ by a positive factor or the sign are one, of two on the same quantity one is left, and a condition that
//! something is 0 puts that in.

use num_rational::BigRational;
use num_traits::{One, Signed};

use super::form::{Atom, AtomId, Form, FormId, Monomial, Operation, Product};
use super::formulas::{FIRST, Formulas};
use super::scope::Applied;
use crate::ir::{DType, Number, Shape};
use crate::ops::{Arithmetic, Comparison, EvalError, Moved};

/// Conditions inside of one condition that are told apart.
const MAX_SPLITS: usize = 6;

/// Elements that an integer may choose from.
const MAX_CHOICES: usize = 64;

/// A condition on a real number.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Condition {
    AboveZero,
    IsZero,
}

/// What the conditions of a product come to.
enum Settled {
    /// They exclude each other.
    Never,
    /// The factor at this place follows from the others.
    Without(usize),
}

impl Formulas<'_> {
    /// The larger or smaller of two formulas; nothing where cases are not told apart.
    pub(super) fn extreme_in_cases(&mut self, end: Arithmetic, x: &Form, y: &Form) -> Option<Form> {
        let apart = self.told_apart().then(|| self.minus(x.clone(), y))?;
        let above = self.condition(Condition::AboveZero, &apart, 0)?;
        let excess = self.times(&above, &apart)?;
        Some(match end {
            Arithmetic::Min => self.minus(x.clone(), &excess),
            _ => self.sum([y.clone(), excess]),
        })
    }

    pub(super) fn absolute_in_cases(&mut self, x: &Form) -> Option<Form> {
        let above = if self.told_apart() { self.condition(Condition::AboveZero, x, 0)? } else { return None };
        let positive = self.times(&above, x)?;
        Some(self.minus(positive.scaled(&BigRational::from_integer(2.into())), x))
    }

    /// 1 where a condition holds that an operator gives.
    pub(super) fn condition_in_cases(&mut self, atom: &Atom) -> Option<Form> {
        let Atom::Applied { what: Operation::Arithmetic(function), operands, .. } = atom else { return None };
        if !self.told_apart() {
            return None;
        }
        let &[(dtype, x), (other, y)] = &operands[..] else { return None };
        match function {
            Arithmetic::And | Arithmetic::Or if dtype == DType::Bool && other == DType::Bool => {
                let (x, y) = (self.indicator(x), self.indicator(y));
                let both = self.times(&x, &y)?;
                Some(if *function == Arithmetic::And { both } else { self.sum([x, self.minus(y, &both)]) })
            }
            Arithmetic::Compare(comparison) if dtype.is_float() && other.is_float() => {
                let apart = self.minus(self.finite(x)?, &self.finite(y)?);
                let opposite = apart.clone().scaled(&-BigRational::one());
                let (condition, of, holds) = match comparison {
                    Comparison::Greater => (Condition::AboveZero, apart, true),
                    Comparison::LessOrEqual => (Condition::AboveZero, apart, false),
                    Comparison::Less => (Condition::AboveZero, opposite, true),
                    Comparison::GreaterOrEqual => (Condition::AboveZero, opposite, false),
                    Comparison::Equal => (Condition::IsZero, apart, true),
                    Comparison::NotEqual => (Condition::IsZero, apart, false),
                };
                let form = self.condition(condition, &of, 0)?;
                Some(if holds { form } else { self.otherwise(&form) })
            }
            Arithmetic::Compare(comparison) if !dtype.is_float() && !other.is_float() => {
                let (comparison, x, y) = (*comparison, x, y);
                self.compared_with_number(comparison, x, y).or_else(|| self.compared_integers(comparison, atom))
            }
            _ => None,
        }
    }

    /// Of integers, which are all comparable: what is said by "less" and "equal".
    fn compared_integers(&mut self, comparison: Comparison, atom: &Atom) -> Option<Form> {
        let (said, swapped, holds) = match comparison {
            Comparison::Equal | Comparison::Less => return None,
            Comparison::NotEqual => (Comparison::Equal, false, false),
            Comparison::Greater => (Comparison::Less, true, true),
            Comparison::LessOrEqual => (Comparison::Less, true, false),
            Comparison::GreaterOrEqual => (Comparison::Less, false, false),
        };
        let mut atom = atom.clone();
        if let Atom::Applied { what, operands, .. } = &mut atom {
            *what = Operation::Arithmetic(Arithmetic::Compare(said));
            if swapped {
                operands.reverse();
            }
        }
        let condition = self.store.atom(atom);
        let condition = self.store.keep(condition);
        let form = self.store.atom(Atom::Indicator(condition));
        Some(if holds { form } else { self.otherwise(&form) })
    }

    /// Whether formulas tell cases apart. What could be is noted.
    fn told_apart(&self) -> bool {
        self.scope.note_cases();
        self.way.cases
    }

    fn otherwise(&self, condition: &Form) -> Form {
        self.minus(Form::number(BigRational::one()), condition)
    }

    /// 1 where a condition on a formula holds; nothing where the formula may be no real number.
    fn condition(&mut self, condition: Condition, x: &Form, splits: usize) -> Option<Form> {
        let number = |holds: bool| Some(Form::number(BigRational::from_integer(i32::from(holds).into())));
        if let Some(value) = x.as_number() {
            return number(if condition == Condition::IsZero { x.is_zero() } else { value.is_positive() });
        }
        if !self.store.is_real(x) || splits > MAX_SPLITS {
            return None;
        }
        let all = x.products().iter().flat_map(|product| &product.factors);
        if let Some(&case) = all.clone().find(|&&atom| self.store.atom_of(atom).is_case()) {
            return self.split(condition, x, case, splits);
        }
        let minus = -BigRational::one();
        let opposite = x.clone().scaled(&minus);
        match condition {
            Condition::AboveZero if self.store.is_positive(x) => return number(true),
            Condition::AboveZero if self.store.is_not_negative(&opposite) => return number(false),
            Condition::IsZero if self.store.is_positive(x) || self.store.is_positive(&opposite) => {
                return number(false);
            }
            _ => {}
        }
        let first = x.products().iter().find(|product| !product.factors.is_empty())?.number.clone();
        // Exact: where a condition changes, rounding would tell.
        let of = x.clone().scaled(&first.recip());
        let id = self.store.keep(of);
        let is_zero = |elements: &mut Self| elements.store.atom(Atom::Zero(id));
        Some(match condition {
            Condition::IsZero => is_zero(self),
            Condition::AboveZero if first.is_positive() => self.store.atom(Atom::Above(id)),
            Condition::AboveZero => {
                let either = [self.store.atom(Atom::Above(id)), is_zero(self)];
                let either = self.sum(either);
                self.otherwise(&either)
            }
        })
    }

    /// A condition on a formula with a case in it: told apart by that case.
    fn split(&mut self, condition: Condition, x: &Form, case: AtomId, splits: usize) -> Option<Form> {
        let [with, without] = self.parts(x, case);
        let then = self.condition(condition, &with, splits + 1)?;
        let otherwise = self.condition(condition, &without, splits + 1)?;
        let apart = self.minus(then, &otherwise);
        let chosen = self.times(&Form::atom(case), &apart)?;
        Some(self.sum([chosen, otherwise]))
    }

    /// A formula where a case holds, and where it does not.
    fn parts(&self, x: &Form, case: AtomId) -> [Form; 2] {
        let (mut with, mut without) = (Vec::new(), Vec::new());
        for product in x.products() {
            let mut product = product.clone();
            match product.factors.iter().position(|&atom| atom == case) {
                Some(at) => {
                    product.factors.remove(at);
                    with.push(Form::product(product));
                }
                None => without.push(Form::product(product)),
            }
        }
        let without = self.sum(without);
        [self.sum(with.into_iter().chain([without.clone()])), without]
    }

    /// A function of a formula with a case in it: one formula for each case, if both are real numbers.
    pub(super) fn of_cases(&mut self, x: &Form, function: impl Fn(&mut Self, &Form) -> Option<Form>) -> Option<Form> {
        if !self.way.cases || self.splits >= MAX_SPLITS {
            return None;
        }
        let all = x.products().iter().flat_map(|product| &product.factors);
        let case = *all.clone().find(|&&atom| self.store.atom_of(atom).is_case())?;
        let [with, without] = self.parts(x, case);
        self.splits += 1;
        let [then, otherwise] = [function(self, &with), function(self, &without)];
        self.splits -= 1;
        let (then, otherwise) = (then?, otherwise?);
        if !(self.store.is_real(&then) && self.store.is_real(&otherwise)) {
            return None;
        }
        let apart = self.minus(then, &otherwise);
        let chosen = self.times(&Form::atom(case), &apart)?;
        Some(self.sum([chosen, otherwise]))
    }

    /// What a product with conditions among its factors comes to, if that is not the product itself. No answer inside where it takes
    /// too much.
    pub(super) fn in_cases(&mut self, factors: &mut Monomial, number: &BigRational) -> Option<Option<Form>> {
        while let Some(settled) = self.settled(factors) {
            match settled {
                Settled::Never => return Some(Some(Form::default())),
                Settled::Without(at) => drop(factors.remove(at)),
            }
        }
        let (at, known) = (0..factors.len()).find_map(|n| self.put_in(factors, n))?;
        factors.remove(at);
        // The same may be known of what is left.
        let product = match self.in_cases(factors, number) {
            Some(product) => product,
            None => Some(Form::product(Product::new(factors.clone(), number.clone()))),
        };
        Some(product.and_then(|product| self.times(&product, &known)))
    }

    /// What two of the factors say of each other.
    fn settled(&self, factors: &[AtomId]) -> Option<Settled> {
        let pairs = (0..factors.len()).flat_map(|m| (0..factors.len()).map(move |n| (m, n)));
        pairs.filter(|(m, n)| m != n).find_map(|(m, n)| {
            match (self.store.atom_of(factors[m]), self.store.atom_of(factors[n])) {
                (
                    Atom::Place { integer: x, at, of, wraps },
                    Atom::Place { integer: y, at: other, of: count, wraps: wrapped },
                ) if x == y && of == count && wraps == wrapped && at != other => Some(Settled::Never),
                (Atom::Above(x), Atom::Above(y)) => {
                    let (x, y) = self.of_one_quantity(*x, *y)?;
                    // Above the larger bound is above the smaller one.
                    (x > y).then_some(Settled::Without(m))
                }
                (Atom::Zero(x), Atom::Zero(y)) => {
                    let (x, y) = self.of_one_quantity(*x, *y)?;
                    (x != y).then_some(Settled::Never)
                }
                (Atom::Zero(x), Atom::Above(y)) => {
                    let (x, y) = self.of_one_quantity(*x, *y)?;
                    Some(if y > x { Settled::Without(n) } else { Settled::Never })
                }
                _ => None,
            }
        })
    }

    /// The numbers that two formulas add to the same quantity, if they do.
    fn of_one_quantity(&self, x: FormId, y: FormId) -> Option<(BigRational, BigRational)> {
        let apart = |id: FormId| match self.store.form(id).products() {
            [Product { factors, number, .. }, rest @ ..] if factors.is_empty() => (number.clone(), rest),
            all => (BigRational::default(), all),
        };
        let ((m, of_x), (n, of_y)) = (apart(x), apart(y));
        (of_x == of_y).then_some((m, n))
    }

    /// Of a condition among the factors that something is 0: the place of a factor that is then known, and what it is.
    fn put_in(&self, factors: &[AtomId], condition: usize) -> Option<(usize, Form)> {
        let Atom::Zero(id) = self.store.atom_of(factors[condition]) else { return None };
        let products = self.store.form(*id).products();
        let first = products.iter().find(|product| !product.factors.is_empty())?;
        let [atom] = first.factors[..] else { return None };
        let others = products.iter().filter(|product| *product != first);
        if !first.number.is_one() || others.clone().any(|product| product.factors.contains(&atom)) {
            return None;
        }
        let at = factors.iter().position(|&factor| factor == atom)?;
        let rest = Form::sum(others.cloned().map(Form::product));
        Some((at, rest.scaled(&-BigRational::one())))
    }

    /// An element that one integer chooses among several; nothing where it is chosen in another way, or may be no real number.
    pub(super) fn chosen(
        &mut self,
        applied: &Applied,
        moved: Moved,
        index: &[usize],
        depth: usize,
    ) -> Option<Option<Form>> {
        if !self.told_apart() {
            return Some(None);
        }
        let mut name: Option<(usize, Shape)> = None;
        let mut choices: Vec<(usize, Shape)> = Vec::new();
        loop {
            match self.source(applied, moved, index, choices.len() as i64, &mut name) {
                Ok(Some(source)) if choices.len() < MAX_CHOICES => choices.push(source),
                // The integer names no place beyond the last one. Nothing else ends the list.
                Err(EvalError::IndexOutOfRange) => break,
                _ => return Some(None),
            }
        }
        let Some((operand, at)) = name.clone() else { return Some(None) };
        self.spend(choices.len())?;
        let wraps = self.source(applied, moved, index, -1, &mut name).is_ok();
        let mut forms = Vec::with_capacity(choices.len());
        for (operand, at) in &choices {
            let id = self.element(*applied.operands.get(*operand)?, at, depth + 1)?;
            let form = self.form(id);
            if self.is_minus_infinity(id) || !self.store.is_real(&form) {
                return Some(None);
            }
            forms.push(form);
        }
        let integer = self.element(*applied.operands.get(operand)?, &at, depth + 1)?;
        let (of, wraps) = match self.places_of(integer) {
            Some(of) if of <= forms.len() => (of, false),
            _ => (forms.len(), wraps),
        };
        forms.truncate(of);
        let Some(last) = forms.pop() else { return Some(None) };
        let mut sum = vec![last.clone()];
        for (at, form) in forms.into_iter().enumerate() {
            let place = self.store.atom(Atom::Place { integer, at, of, wraps });
            let apart = self.minus(form, &last);
            sum.push(self.times(&place, &apart)?);
        }
        Some(Some(self.sum(sum)))
    }

    /// The element that is taken where the integer `name`, the only one that is not known, has this value; none where it is a number.
    fn source(
        &self,
        applied: &Applied,
        moved: Moved,
        index: &[usize],
        value: i64,
        name: &mut Option<(usize, Shape)>,
    ) -> Result<Option<(usize, Shape)>, EvalError> {
        let (found, read) = self.taken(applied, moved, index, |operand, at| {
            let this = (operand, Shape::from_slice(at));
            if *name.get_or_insert_with(|| this.clone()) != this {
                return Err(EvalError::Budget);
            }
            Ok(Number::Int(value))
        })?;
        Ok(read.filter(|_| found == Number::Int(FIRST)))
    }

    /// An element of one-hot numbers. That the integer names no place there is left out: then there are none.
    pub(super) fn one_hot(&mut self, applied: &Applied, index: &[usize], depth: usize) -> Option<Option<Form>> {
        let (&at, of_integer) = index.split_last()?;
        let of = *applied.result.shape.last()?;
        if !self.told_apart() || of > MAX_CHOICES {
            return Some(None);
        }
        self.spend(of)?;
        let integer = self.element(*applied.operands.first()?, of_integer, depth + 1)?;
        let of = self.places_of(integer).map_or(of, |places| places.min(of));
        Some(Some(if at < of { self.place(integer, at, of) } else { Form::default() }))
    }

    /// Whether an integer is a number of places that are named.
    pub(super) fn counts_cases(&self, id: FormId) -> bool {
        let named = |atom: &AtomId| matches!(self.store.atom_of(*atom), Atom::Place { .. });
        self.store.form(id).products().iter().all(|product| product.factors.iter().all(named))
    }
}
