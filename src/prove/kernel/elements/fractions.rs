//! Sums of fractions and roots of multiples, over the real numbers.

use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive};

use super::algebra::common_factors;
use super::form::{Atom, AtomId, Form, Function, Monomial, Product};
use super::formulas::{Formulas, SIZE_PER_ELEMENT};
use crate::ir::DType;
use crate::ops::Call;
use crate::rules::Tier;

/// Above it, the logarithm of 1 plus an exponential is the number itself in f32.
const SOFTPLUS_IS_LINEAR: f64 = 20.0;

impl Formulas<'_> {
    /// A sum of fractions as one: its numerator and its divisor, which is positive. `None` inside where it has no such divisor.
    pub(super) fn fraction(&mut self, x: &Form) -> Option<Option<(Form, Form)>> {
        let Some(divisor) = self.positive_divisor(x) else { return Some(None) };
        let numerator = self.times(x, &divisor)?;
        Some(Some((numerator, divisor)))
    }

    /// The first that a formula's products are divided by, of those that are above 0.
    pub(super) fn positive_divisor(&self, x: &Form) -> Option<Form> {
        x.products().iter().flat_map(|product| &product.factors).find_map(|&atom| self.divisor(atom))
    }

    /// How many factors of a formula's products divide.
    pub(super) fn divisors(&self, x: &Form) -> usize {
        x.products().iter().flat_map(|product| &product.factors).filter(|&&atom| self.divides(atom)).count()
    }

    /// Whether a factor divides by something positive.
    fn divides(&self, atom: AtomId) -> bool {
        matches!(*self.store.atom_of(atom), Atom::Function(Function::Reciprocal, of) if self.store.is_kept_positive(of))
    }

    /// What a factor divides by, if that is positive.
    fn divisor(&self, atom: AtomId) -> Option<Form> {
        match *self.store.atom_of(atom) {
            Atom::Function(Function::Reciprocal, of) => {
                self.store.is_kept_positive(of).then(|| self.store.form(of).clone())
            }
            _ => None,
        }
    }

    /// The logarithm of a product of what is positive, part by part. Numbers are taken apart, so that `ln(1 / 2)` is `-ln 2`.
    pub(super) fn logarithm_of_part(&mut self, part: Form) -> Form {
        let minus = -BigRational::one();
        if let Some(number) = part.as_number() {
            let whole = |n: &num_bigint::BigInt| Form::number(BigRational::from_integer(n.clone()));
            let mut sum = Vec::new();
            for (n, sign) in [(number.numer(), BigRational::one()), (number.denom(), minus)] {
                if !n.is_one() {
                    sum.push(self.function(Function::Log, whole(n)).scaled(&sign));
                }
            }
            return self.sum(sum);
        }
        let divisor = match part.products() {
            [Product { factors, number, .. }] if number.is_one() && factors.len() == 1 => self.divisor(factors[0]),
            _ => None,
        };
        match divisor {
            Some(divisor) => self.function(Function::Log, divisor).scaled(&minus),
            None => self.function(Function::Log, part),
        }
    }

    /// A square root. Where numbers round, what the operand is a multiple of is taken out.
    pub(super) fn square_root(&mut self, x: Form) -> Form {
        if let Some(form) = self.of_cases(&x, |elements, x| Some(elements.square_root(x.clone()))) {
            return form;
        }
        if let Some(form) = self.root_of_product(&x) {
            return form;
        }
        if let Some(form) = self.root_of_known_product(&x) {
            return form;
        }
        let size: BigRational = x.products().iter().map(|product| product.number.abs()).sum();
        let root = size.to_f64().map(f64::sqrt).and_then(BigRational::from_float);
        match root {
            Some(root) if self.way.rounds && size.is_positive() && !size.is_one() => {
                self.tier = Tier::Rounding;
                let share = x.share();
                self.function(Function::Sqrt, x.scaled(&size.recip()).with_share(share)).scaled(&root).with_share(share)
            }
            _ => self.function(Function::Sqrt, x),
        }
    }

    /// The square root of a product of what is not negative, factor by factor; nothing where it is no such product of several.
    fn root_of_product(&mut self, x: &Form) -> Option<Form> {
        let [Product { factors, number, .. }] = x.products() else { return self.root_of_multiple(x) };
        let is_plain = factors.is_empty() || factors.len() < 2 && number.is_one();
        if is_plain || !number.is_positive() || !factors.iter().all(|&atom| self.has_root(atom)) {
            return None;
        }
        let root = self.root_of_number(number);
        self.times_roots(root, factors)
    }

    /// The square root of a sum all of whose products have factors that are not negative: those can be taken out.
    fn root_of_multiple(&mut self, x: &Form) -> Option<Form> {
        let all: Vec<Monomial> = x.products().iter().map(|product| product.factors.clone()).collect();
        let mut common = common_factors(&all);
        common.retain(|atom| self.has_root(*atom));
        if common.is_empty() {
            return None;
        }
        let rest = x.products().iter().map(|product| {
            let mut product = product.clone();
            for atom in &common {
                let at = product.factors.iter().position(|factor| factor == atom)?;
                product.factors.remove(at);
            }
            Some(Form::product(product))
        });
        let rest: Option<Vec<Form>> = rest.collect();
        let rest = self.sum(rest?);
        if !self.store.is_not_negative(&rest) {
            return None;
        }
        let root = self.square_root(rest);
        self.times_roots(root, &common)
    }

    /// Whether a factor is not negative, up to infinity: one that divides by what is not.
    fn has_root(&self, atom: AtomId) -> bool {
        let of = match *self.store.atom_of(atom) {
            Atom::Function(Function::Reciprocal, of) => self.store.form(of),
            _ => return self.store.is_not_negative(&Form::atom(atom)),
        };
        self.store.is_not_negative(of)
    }

    /// Times the square roots of these factors.
    fn times_roots(&mut self, mut root: Form, factors: &[AtomId]) -> Option<Form> {
        for &atom in factors {
            let factor = match *self.store.atom_of(atom) {
                Atom::Function(Function::Exp, exponent) => {
                    let half = self.form(exponent).scaled(&BigRational::new(1.into(), 2.into()));
                    self.exponential(&half)?
                }
                Atom::Function(Function::Reciprocal, of) => {
                    let of = self.form(of);
                    let root = self.square_root(of);
                    self.inverse(&root)?
                }
                _ => self.function(Function::Sqrt, Form::atom(atom)),
            };
            root = self.times(&root, &factor)?;
        }
        Some(root)
    }

    /// The square root of a sum that was computed as a product of two that are not negative.
    fn root_of_known_product(&mut self, x: &Form) -> Option<Form> {
        let (number, factors) = self.store.known_product(x)?;
        let mut root = self.root_of_number(&number);
        for factor in factors {
            let factor = self.form(factor);
            let of_factor = self.square_root(factor);
            root = self.times(&root, &of_factor)?;
        }
        Some(root)
    }

    /// The square root of a number above 0.
    fn root_of_number(&mut self, number: &BigRational) -> Form {
        match number.to_f64().map(f64::sqrt).and_then(BigRational::from_float) {
            _ if number.is_one() => Form::number(BigRational::one()),
            Some(root) if self.way.rounds => {
                self.tier = Tier::Rounding;
                Form::number(root)
            }
            _ => self.function(Function::Sqrt, Form::number(number.clone())),
        }
    }

    /// Where numbers round, `ln(1 + e^(beta x)) / beta`; nothing where it turns into a line too early for that.
    pub(super) fn softplus(&mut self, x: &Form, call: &Call, dtype: DType) -> Option<Option<Form>> {
        let beta = BigRational::from_float(call.float("beta"))?;
        if !self.way.rounds || dtype == DType::F64 || call.float("threshold") < SOFTPLUS_IS_LINEAR {
            return Some(None);
        }
        self.tier = Tier::Rounding;
        let exponential = self.exponential(&x.clone().scaled(&beta))?;
        let sum = self.sum([exponential, Form::number(BigRational::one())]);
        Some(Some(self.logarithm(&sum)?.scaled(&beta.recip())))
    }

    /// A sum in which fractions that add up to a whole are put together: `(a + b) / (a + b)` is 1. No answer where it takes too much.
    pub(super) fn whole_fractions(&mut self, sum: Form) -> Option<Form> {
        let mut divisors: Vec<AtomId> = sum.products().iter().flat_map(|p| p.factors.iter().copied()).collect();
        divisors.sort_unstable();
        divisors.dedup();
        divisors.retain(|&atom| self.divisor(atom).is_some_and(|divisor| divisor.products().len() > 1));
        if divisors.is_empty() {
            return Some(sum);
        }
        let (mut products, mut wholes) = (sum.products().to_vec(), Vec::new());
        for atom in divisors {
            let Some(divisor) = self.divisor(atom) else { continue };
            self.spend(1 + products.len() / SIZE_PER_ELEMENT)?;
            let mut at = 0;
            while at < products.len() {
                let Some((whole, mut parts)) = self.whole_at(&products, at, atom, &divisor) else {
                    at += 1;
                    continue;
                };
                self.spend(1 + products.len() / SIZE_PER_ELEMENT)?;
                parts.sort_unstable();
                parts.iter().rev().for_each(|&part| drop(products.remove(part)));
                wholes.push(whole);
            }
        }
        Some(self.sum(products.into_iter().map(Form::product).chain(wholes)))
    }

    /// What the product at `at` and others that are in order add up to, if these are all parts of `divisor` by `atom`, each once: their
    /// common rest, and their places.
    fn whole_at(&self, products: &[Product], at: usize, atom: AtomId, divisor: &Form) -> Option<(Form, Vec<usize>)> {
        let (first, others) = divisor.products().split_first()?;
        let without = |mut factors: Monomial, gone: &[AtomId]| -> Option<Monomial> {
            for atom in gone {
                factors.remove(factors.iter().position(|f| f == atom)?);
            }
            Some(factors)
        };
        let rest = without(without(products[at].factors.clone(), &[atom])?, &first.factors)?;
        // Exponentials of one product are one.
        let is_exponential = |&atom: &AtomId| matches!(self.store.atom_of(atom), Atom::Function(Function::Exp, _));
        if rest.iter().any(is_exponential) {
            return None;
        }
        let times = &products[at].number / &first.number;
        let mut parts = vec![at];
        for part in others {
            let mut factors: Monomial = rest.iter().chain(&part.factors).copied().collect();
            factors.push(atom);
            factors.sort_unstable();
            let found = products.binary_search_by(|product| product.factors.cmp(&factors)).ok()?;
            if products[found].number != &part.number * &times {
                return None;
            }
            parts.push(found);
        }
        Some((Form::product(Product::new(rest, times)), parts))
    }
}
