//! Formulas over the real numbers, in a normal form.
//!
//! Every input is a real number, so `x - x` is 0 for what is computed of inputs and is a real number whatever they are, and a product
//! of sums is a sum of products. A product has at most one
//! exponential, a quotient has no number, exponential or common factor left in its divisor. What is divided by 0 is no real number:
//! it has no formula. Of the limits, minus infinity alone is known, as masks have it: it stands by itself, and what it takes part in
//! is computed at once or not at all.

use std::collections::BTreeMap;

use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive, Zero};
use smallvec::SmallVec;

use super::dyadic;
use super::form::{Atom, AtomId, Form, FormId, Function, Monomial, Operation, Product};
use super::formulas::{Formulas, SIZE_PER_ELEMENT};
use super::mode::Mode;
use crate::ir::Number;
use crate::ops::{Arithmetic, Sign};
use crate::rules::Tier;

/// Powers that are written as products.
const MAX_POWER: i64 = 8;

/// Up to so many exponentials are divided by their geometric mean; of more, only what most have is divided out. With two of them the
/// mean makes `1 / (1 + e^-x)` and `e^x / (e^x + 1)` one; of many it would be long.
const MAX_MEAN: usize = 4;

/// Bits of a number that are multiplied in one step.
const BITS_PER_STEP: usize = 128;

/// Factors that are put in order in one step.
const FACTORS_PER_STEP: usize = 16;

/// A formula as `number * e^exponent * factors * rest`, where the rest is the same for all multiples of the formula.
struct Content {
    number: BigRational,
    exponent: Form,
    factors: Monomial,
    rest: Form,
}

impl Formulas<'_> {
    pub(super) fn form(&self, id: FormId) -> Form {
        self.store.form(id).clone()
    }

    /// A formula to compute with; `None` if it is about a limit.
    pub(super) fn finite(&self, id: FormId) -> Option<Form> {
        let at_limit = self.way.mode == Mode::Reals && self.is_minus_infinity(id);
        (!at_limit).then(|| self.form(id))
    }

    pub(super) fn is_minus_infinity(&self, id: FormId) -> bool {
        let [Product { factors, .. }] = self.store.form(id).products() else { return false };
        let [atom] = factors[..] else { return false };
        matches!(self.store.atom_of(atom), Atom::Constant(Number::Float(v)) if v.0 == f64::NEG_INFINITY)
    }

    pub(super) fn sum(&self, forms: impl IntoIterator<Item = Form>) -> Form {
        // What a condition is about stays as it is: there, rounding would tell.
        if self.way.rounds && !self.way.cases {
            let is_real =
                |factors: &Monomial| self.store.is_real(&Form::product(Product::new(factors.clone(), One::one())));
            let (sum, drops) = Form::sum_but_residues(forms, self.precision, is_real);
            self.drops.set(self.drops.get() || drops);
            return self.store.over_reals(sum);
        }
        let sum = Form::sum(forms);
        if self.way.mode == Mode::Reals { self.store.over_reals(sum) } else { sum }
    }

    pub(super) fn finite_number(&self, number: Number) -> Option<BigRational> {
        BigRational::from_float(number.to_f64())
    }

    pub(super) fn minus(&self, x: Form, y: &Form) -> Form {
        self.sum([x, y.clone().scaled(&-BigRational::one())])
    }

    /// The product of two formulas, multiplied out.
    pub(super) fn times(&mut self, x: &Form, y: &Form) -> Option<Form> {
        for (number, other) in [(x, y), (y, x)] {
            if let Some(number) = number.as_number() {
                let product = other.clone().scaled(&number).with_share(x.share().min(y.share()));
                return Some(self.store.over_reals(product));
            }
        }
        for (sum, other) in [(x, y), (y, x)] {
            if let Some(product) = self.divided_out(sum, other)? {
                return Some(product.with_share(sum.share()));
            }
        }
        let long = (x.bits() + y.bits()) / BITS_PER_STEP + (x.degree() + y.degree()) / FACTORS_PER_STEP;
        self.spend(1 + x.products().len() * y.products().len() * (1 + long) / 4)?;
        let mut products = Vec::with_capacity(x.products().len() * y.products().len());
        for p in x.products() {
            for q in y.products() {
                products.push(self.product(p, q)?);
            }
        }
        let sum = self.sum(products);
        sum.is_small().then_some(sum)
    }

    /// The product with a sum by which some of the other's products are divided: that sum and the divisor vanish. `None` inside
    /// where none is, or where the sum may be 0.
    fn divided_out(&mut self, sum: &Form, other: &Form) -> Option<Option<Form>> {
        // What a sum is a multiple of is a sum of as many products: anything else need not be taken apart.
        let divides = |atom: &AtomId| match self.store.atom_of(*atom) {
            Atom::Function(Function::Reciprocal, of) => self.store.form(*of).products().len() == sum.products().len(),
            _ => false,
        };
        let any = other.products().iter().any(|product| product.factors.iter().any(divides));
        if sum.products().len() < 2 || !any || !self.store.is_positive(sum) {
            return Some(None);
        }
        let Content { number, exponent, factors, rest } = self.content(sum)?;
        let rest = self.rounded(rest);
        let rest = self.store.keep(rest);
        let Some(divisor) = self.store.known(&Atom::Function(Function::Reciprocal, rest)) else { return Some(None) };
        let (mut divided, mut left) = (Vec::new(), Vec::new());
        for product in other.products() {
            match product.factors.iter().position(|&atom| atom == divisor) {
                Some(at) => {
                    let mut product = product.clone();
                    product.factors.remove(at);
                    divided.push(Form::product(product));
                }
                None => left.push(Form::product(product.clone())),
            }
        }
        if divided.is_empty() {
            return Some(None);
        }
        let divided = self.sum(divided);
        let exponential = self.exponential(&exponent)?;
        let mut product = self.times(&divided, &exponential)?;
        product = self.times(&product, &Form::product(Product::new(factors, number)))?;
        let left = self.sum(left);
        let left = self.times(&left, sum)?;
        Some(Some(self.sum([product, left])))
    }

    fn product(&mut self, p: &Product, q: &Product) -> Option<Form> {
        let mut exponents: SmallVec<[FormId; 2]> = SmallVec::new();
        let mut factors = Monomial::new();
        for &atom in p.factors.iter().chain(&q.factors) {
            match self.store.atom_of(atom) {
                Atom::Function(Function::Exp, exponent) => exponents.push(*exponent),
                // 1 and 0 are their own squares.
                case if case.is_case() && factors.contains(&atom) => {}
                _ => factors.push(atom),
            }
        }
        let sizes: usize = exponents.iter().map(|&id| self.store.form(id).size()).sum();
        self.spend(sizes / SIZE_PER_ELEMENT)?;
        let exponent = self.sum(exponents.iter().map(|&id| self.store.form(id).clone()));
        if !exponent.products().is_empty() {
            let exponent = self.rounded(exponent);
            let exponent = self.store.keep(exponent);
            factors.push(self.store.atom_id(Atom::Function(Function::Exp, exponent)));
        }
        factors.sort_unstable();
        let number = dyadic::times(&p.number, &q.number);
        if self.way.cases
            && let Some(product) = self.in_cases(&mut factors, &number)
        {
            return product.map(|product| product.with_share(p.share.min(q.share)));
        }
        let part = match self.known_square(&mut factors)? {
            None => self.product_of_waves(&mut factors)?,
            square => square,
        };
        let product = Form::product(Product::new(factors, number)).with_share(p.share.min(q.share));
        match part {
            Some(part) => self.times(&product, &part),
            None => Some(product),
        }
    }

    /// The square of a factor that occurs twice, which is taken out, if that is a simpler formula. `factors` are in order.
    fn known_square(&mut self, factors: &mut Monomial) -> Option<Option<Form>> {
        for at in 1..factors.len() {
            let atom = factors[at];
            if factors[at - 1] != atom {
                continue;
            }
            let square = match *self.store.atom_of(atom) {
                Atom::Function(Function::Abs, of) => {
                    let of = self.form(of);
                    self.times(&of, &of)?
                }
                Atom::Function(Function::Sqrt, of) if self.store.is_kept_not_negative(of) => self.form(of),
                Atom::Function(Function::Reciprocal, of) => match self.root(of) {
                    Some(of) => self.inverse_of_kept(of)?,
                    None => continue,
                },
                _ => continue,
            };
            factors.drain(at - 1..=at);
            return Some(Some(square));
        }
        Some(None)
    }

    /// Of the square root of what is not negative, that.
    fn root(&self, id: FormId) -> Option<FormId> {
        let [Product { factors, number, .. }] = self.store.form(id).products() else { return None };
        let [atom] = factors[..] else { return None };
        match *self.store.atom_of(atom) {
            Atom::Function(Function::Sqrt, of) if number.is_one() && self.store.is_kept_not_negative(of) => Some(of),
            _ => None,
        }
    }

    pub(super) fn function(&mut self, function: Function, of: Form) -> Form {
        let of = self.rounded(of);
        let id = self.store.keep(of);
        self.store.atom(Atom::Function(function, id))
    }

    /// A formula inside of a function, which others have to be equal to: where numbers round, those that are apart by rounding are
    /// one number.
    pub(super) fn rounded(&mut self, form: Form) -> Form {
        if !self.way.rounds {
            return form;
        }
        let sign = self.store.sign(&form);
        let (form, changed) = form.with_numbers(|product| self.numbers.settled(product));
        if changed {
            self.tier = Tier::Rounding;
            self.store.learn(&form, sign);
        }
        form
    }

    /// `1 / x`.
    pub(super) fn inverse(&mut self, x: &Form) -> Option<Form> {
        Some(self.inverse_of(x)?.with_share(x.share()))
    }

    /// The same of a formula that is kept. Every product of two normalised rows asks for it.
    fn inverse_of_kept(&mut self, id: FormId) -> Option<Form> {
        if let Some(inverse) = self.inverses.get(&id) {
            return Some(inverse.clone());
        }
        let of = self.form(id);
        let inverse = self.inverse(&of)?;
        self.inverses.insert(id, inverse.clone());
        Some(inverse)
    }

    fn inverse_of(&mut self, x: &Form) -> Option<Form> {
        if x.is_zero() {
            return None;
        }
        if let Some(form) = self.of_cases(x, Self::inverse) {
            return Some(form);
        }
        // `1 / (1 + a / b)` is `b / (b + a)`.
        if x.products().len() > 1
            && let Some((above, below)) = self.fraction(x)?
            && self.store.is_positive(&above)
            && self.divisors(&above) < self.divisors(x)
        {
            let inverse = self.inverse(&above)?;
            return self.times(&below, &inverse);
        }
        let Content { number, exponent, factors, rest } = self.content(x)?;
        let mut inverse = self.exponential(&exponent.scaled(&-BigRational::one()))?.scaled(&number.recip());
        for atom in factors {
            let inverse_of_atom = match *self.store.atom_of(atom) {
                Atom::Function(Function::Reciprocal, divisor) if self.store.is_kept_positive(divisor) => {
                    self.form(divisor)
                }
                _ => self.function(Function::Reciprocal, Form::atom(atom)),
            };
            inverse = self.times(&inverse, &inverse_of_atom)?;
        }
        match rest.as_number() {
            Some(_) => Some(inverse),
            None => {
                let divisor = self.function(Function::Reciprocal, rest);
                self.times(&inverse, &divisor)
            }
        }
    }

    pub(super) fn absolute(&mut self, x: Form) -> Form {
        if let Some(absolute) = self.absolute_in_cases(&x) {
            return absolute;
        }
        let negative = x.products().first().is_some_and(|product| product.number.is_negative());
        let x = if negative { x.scaled(&-BigRational::one()) } else { x };
        match x.as_number() {
            Some(_) => x,
            None => self.function(Function::Abs, x),
        }
    }

    pub(super) fn inverse_root(&mut self, x: Form) -> Option<Form> {
        let root = self.square_root(x);
        self.inverse(&root)
    }

    /// `e^x`. Of a logarithm of what is positive, that itself.
    pub(super) fn exponential(&mut self, x: &Form) -> Option<Form> {
        if let Some(form) = self.of_cases(x, Self::exponential) {
            return Some(form);
        }
        if let Some(form) = self.exponential_of_hidden(x)? {
            return Some(form);
        }
        let (mut powers, mut rest) = (Vec::new(), Vec::new());
        for product in x.products() {
            match self.power_of_logarithm(product) {
                Some(power) => powers.push(power),
                None => rest.push(Form::product(product.clone())),
            }
        }
        let rest = self.sum(rest);
        let mut result = if rest.products().is_empty() {
            Form::number(BigRational::one())
        } else {
            self.function(Function::Exp, rest)
        };
        for (base, power) in powers {
            let base = self.form(base);
            let base = if power > 0 { base } else { self.inverse(&base)? };
            for _ in 0..power.abs() {
                result = self.times(&result, &base)?;
            }
        }
        Some(result)
    }

    /// `e` to a sum with a choice in it between minus infinity and a real number: 0 in the one case, and no minus infinity in the other.
    /// Nothing inside where there is no such choice.
    fn exponential_of_hidden(&mut self, x: &Form) -> Option<Option<Form>> {
        for (at, product) in x.products().iter().enumerate() {
            let [atom] = product.factors[..] else { continue };
            let Some((kept, shown)) = self.hidden_or(atom).filter(|_| product.number.is_positive()) else { continue };
            let others = x.products().iter().enumerate().filter(|(n, _)| *n != at);
            let rest = self.sum(others.map(|(_, product)| Form::product(product.clone())));
            let exponent = self.sum([rest, shown.scaled(&product.number)]);
            if !self.store.is_real(&exponent) {
                return Some(None);
            }
            let exponential = self.exponential(&exponent)?;
            return self.times(&kept, &exponential).map(Some);
        }
        Some(None)
    }

    /// Of an element that is minus infinity in one case: 1 in the other case, and what it is then.
    fn hidden_or(&mut self, atom: AtomId) -> Option<(Form, Form)> {
        let Atom::Applied { what: Operation::Arithmetic(Arithmetic::Select), operands, .. } = self.store.atom_of(atom)
        else {
            return None;
        };
        let &[(_, condition), (_, then), (_, otherwise)] = &operands[..] else { return None };
        let holds = self.indicator(condition);
        match [then, otherwise].map(|id| self.is_minus_infinity(id)) {
            [true, false] => Some((self.minus(Form::number(BigRational::one()), &holds), self.form(otherwise))),
            [false, true] => Some((holds, self.form(then))),
            _ => None,
        }
    }

    /// Base and exponent of what `e` to a multiple of a logarithm is.
    fn power_of_logarithm(&self, product: &Product) -> Option<(FormId, i64)> {
        let [atom] = product.factors[..] else { return None };
        let Atom::Function(Function::Log, base) = *self.store.atom_of(atom) else { return None };
        let power = if product.number.is_integer() { product.number.to_i64()? } else { return None };
        (power.abs() <= MAX_POWER && self.store.is_kept_positive(base)).then_some((base, power))
    }

    /// The natural logarithm. Of a product of what is positive, the sum of logarithms.
    pub(super) fn logarithm(&mut self, x: &Form) -> Option<Form> {
        if let Some(form) = self.of_cases(x, Self::logarithm) {
            return Some(form);
        }
        if !self.store.is_positive(x) {
            return match self.fraction(x)? {
                Some((above, below)) if self.store.is_positive(&above) => {
                    let (above, below) = (self.logarithm(&above)?, self.logarithm(&below)?);
                    Some(self.minus(above, &below))
                }
                _ => Some(self.function(Function::Log, x.clone())),
            };
        }
        let Content { number, exponent, factors, rest } = self.content(x)?;
        let mut sum = vec![exponent];
        let others = factors.into_iter().map(Form::atom).chain([Form::number(number), rest]);
        for part in others.collect::<Vec<_>>() {
            if !part.as_number().is_some_and(|n| n.is_one()) {
                sum.push(self.logarithm_of_part(part));
            }
        }
        Some(self.sum(sum))
    }

    pub(super) fn sigmoid(&mut self, x: &Form) -> Option<Form> {
        let exponential = self.exponential(&x.clone().scaled(&-BigRational::one()))?;
        let divisor = self.sum([exponential, Form::number(BigRational::one())]);
        self.inverse(&divisor)
    }

    /// Hyperbolic sine or cosine.
    pub(super) fn hyperbolic(&mut self, x: &Form, function: Arithmetic) -> Option<Form> {
        let half = BigRational::new(1.into(), 2.into());
        let growing = self.exponential(x)?.scaled(&half);
        let falling = self.exponential(&x.clone().scaled(&-BigRational::one()))?.scaled(&half);
        Some(match function {
            Arithmetic::HyperbolicSine => self.minus(growing, &falling),
            _ => self.sum([growing, falling]),
        })
    }

    /// A constant power over the real numbers, if it is a whole or a half.
    pub(super) fn power(&mut self, x: Form, exponent: f64) -> Option<Option<Form>> {
        if exponent == 0.5 {
            return Some(Some(self.square_root(x)));
        }
        if exponent == -0.5 {
            return Some(Some(self.inverse_root(x)?));
        }
        let Some(whole) = exponent.to_i64().filter(|&n| n as f64 == exponent && n.abs() <= MAX_POWER) else {
            return Some(None);
        };
        let mut product = Form::number(BigRational::one());
        for _ in 0..whole.abs() {
            product = self.times(&product, &x)?;
        }
        if whole % 2 == 0 && self.store.is_real(&x) {
            self.store.learn(&product, Sign::NotNegative);
        }
        Some(Some(if whole < 0 { self.inverse(&product)? } else { product }))
    }

    /// The largest of real numbers, in any order and grouping.
    pub(super) fn largest(&mut self, forms: impl IntoIterator<Item = Form>) -> Form {
        let mut all: Vec<FormId> = Vec::new();
        for form in forms {
            let inner = match form.products() {
                [Product { factors, number, .. }] if number.is_one() && factors.len() == 1 => {
                    match self.store.atom_of(factors[0]) {
                        Atom::Largest(inner) => Some(inner.clone()),
                        _ => None,
                    }
                }
                _ => None,
            };
            match inner {
                Some(inner) => all.extend(inner),
                None => all.push(self.store.keep(form)),
            }
        }
        all.sort_unstable();
        all.dedup();
        match all[..] {
            [single] => self.form(single),
            _ => self.store.atom(Atom::Largest(all)),
        }
    }

    /// The smallest of real numbers.
    pub(super) fn smallest(&mut self, forms: impl IntoIterator<Item = Form>) -> Form {
        let minus = -BigRational::one();
        let largest = self.largest(forms.into_iter().map(|form| form.scaled(&minus)).collect::<Vec<_>>());
        largest.scaled(&-BigRational::one())
    }

    /// Takes apart what a formula other than 0 is a multiple of.
    fn content(&mut self, form: &Form) -> Option<Content> {
        let mut exponents = Vec::with_capacity(form.products().len());
        let mut others: Vec<Monomial> = Vec::with_capacity(form.products().len());
        for product in form.products() {
            let mut exponent = Form::default();
            let mut factors = Monomial::new();
            for &atom in &product.factors {
                match self.store.atom_of(atom) {
                    Atom::Function(Function::Exp, id) => exponent = self.store.form(*id).clone(),
                    _ => factors.push(atom),
                }
            }
            exponents.push(exponent);
            others.push(factors);
        }
        let sizes: usize = exponents.iter().map(Form::size).sum::<usize>() + form.size();
        self.spend(sizes / SIZE_PER_ELEMENT)?;
        let common = common_factors(&others);
        let exponent = if form.products().len() <= MAX_MEAN {
            let part = BigRational::new(1.into(), form.products().len().into());
            self.sum(exponents.iter().map(|e| e.clone().scaled(&part)))
        } else {
            self.usual_products(&exponents)
        };
        // By the largest number the rest is the same whatever the formula is multiplied by, without adding up fractions.
        let sizes = form.products().iter().map(|p| p.number.abs());
        let size = sizes.reduce(|x, y| if dyadic::is_less(&x, &y) { y } else { x })?;
        let number = match form.products() {
            [product] => product.number.clone(),
            products if products[0].number.is_negative() => -size,
            _ => size,
        };
        let mut rest = Vec::with_capacity(form.products().len());
        for ((product, own), mut factors) in form.products().iter().zip(exponents).zip(others) {
            for atom in &common {
                let at = factors.iter().position(|f| f == atom)?;
                factors.remove(at);
            }
            let own = self.minus(own, &exponent);
            if !own.products().is_empty() {
                let own = self.rounded(own);
                let own = self.store.keep(own);
                factors.push(self.store.atom_id(Atom::Function(Function::Exp, own)));
            }
            factors.sort_unstable();
            rest.push(Form::product(Product::new(factors, &product.number / &number)).with_share(form.share()));
        }
        let rest = self.sum(rest);
        (rest.is_small() && exponent.is_small()).then_some(Content { number, exponent, factors: common, rest })
    }

    /// Of all products of several sums, the number that most have: what is added to all of the sums is added to it too. Of what may
    /// be no real number, only what all have alike.
    fn usual_products(&self, all: &[Form]) -> Form {
        let mut numbers: BTreeMap<&Monomial, Vec<&BigRational>> = BTreeMap::new();
        for product in all.iter().flat_map(Form::products) {
            numbers.entry(&product.factors).or_default().push(&product.number);
        }
        let usual = numbers.into_iter().filter_map(|(factors, mut numbers)| {
            numbers.sort_unstable();
            let number = usual_number(&numbers, all.len());
            let alike = numbers.len() == all.len() && numbers.iter().all(|n| **n == number);
            let product = Form::product(Product::new(factors.clone(), number.clone()));
            (!number.is_zero() && (alike || self.store.is_real(&product))).then_some(product)
        });
        Form::sum(usual)
    }
}

/// Factors that all products have.
pub(super) fn common_factors(all: &[Monomial]) -> Monomial {
    let Some((first, others)) = all.split_first() else { return Monomial::new() };
    let mut common = first.clone();
    for other in others {
        let mut left = other.clone();
        common.retain(|atom| match left.iter().position(|f| f == atom) {
            Some(at) => {
                left.remove(at);
                true
            }
            None => false,
        });
    }
    common
}

/// The number that most of several have, of those that are as many the smallest. `sorted` are those that are not 0, in ascending
/// order, of `count` numbers: adding something to all of them adds it to this one.
fn usual_number(sorted: &[&BigRational], count: usize) -> BigRational {
    let zeros = (BigRational::default(), count.saturating_sub(sorted.len()));
    let runs = sorted.chunk_by(|x, y| x == y).map(|run| (run[0].clone(), run.len()));
    let best = runs.chain([zeros]).max_by(|(x, m), (y, n)| m.cmp(n).then_with(|| y.cmp(x)));
    best.map(|(number, _)| number).unwrap_or_default()
}
