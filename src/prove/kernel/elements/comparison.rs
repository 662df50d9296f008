//! Whether two formulas say the same that are not the same.

use num_rational::BigRational;
use num_traits::ToPrimitive;

use super::dyadic::times;
use super::form::{Atom, AtomId, Form, FormId, Function, Product};
use super::formulas::Formulas;
use super::mode::Mode;
use crate::ops::Sign;
use crate::rules::Tier;

/// Divisors that two formulas are multiplied by before they are compared.
const MAX_DIVISORS: usize = 4;

/// Products that such a multiple may have. Most pairs that are compared are unequal, and long ones would use up what the others need.
const MAX_MULTIPLE: usize = 64;

/// Fractions with divisors of their own in two sums that are compared.
const MAX_FRACTIONS: usize = 64;

impl Formulas<'_> {
    /// Whether two formulas say the same, up to the rounding of their numbers. No answer where that takes too much.
    pub(super) fn is_same(&mut self, x: FormId, y: FormId) -> Option<bool> {
        if self.way.mode == Mode::Operators {
            return Some(false);
        }
        let (x, y) = (self.form(x), self.form(y));
        if self.is_near(&x, &y) {
            return Some(true);
        }
        if self.way.mode != Mode::Reals {
            return Some(false);
        }
        let (x, y) = (self.with_numbers_computed(x), self.with_numbers_computed(y));
        if x == y || self.is_near(&x, &y) {
            return Some(true);
        }
        let Some(divisor) = self.common_divisor(&x, &y) else {
            return if self.are_same_fractions(&x, &y)? { Some(true) } else { self.are_same_multiples(x, y) };
        };
        let (x, y) = (self.over(divisor, &x)?, self.over(divisor, &y)?);
        Some(x == y || self.is_near(&x, &y))
    }

    /// Whether two formulas are the same times what they are divided by, which is above 0: as `2 a / (a + b) - 1` is
    /// `(a - b) / (a + b)`.
    fn are_same_multiples(&mut self, mut x: Form, mut y: Form) -> Option<bool> {
        for _ in 0..MAX_DIVISORS {
            let Some(divisor) = [&x, &y].into_iter().find_map(|form| self.positive_divisor(form)) else { break };
            let longest = x.products().len().max(y.products().len());
            if longest * divisor.products().len() > MAX_MULTIPLE {
                break;
            }
            (x, y) = (self.times(&x, &divisor)?, self.times(&y, &divisor)?);
            if x == y || self.is_near(&x, &y) {
                return Some(true);
            }
        }
        Some(false)
    }

    /// Whether two sums are the same whose fractions have the same divisors, as `1 - a / c - b / d` and
    /// `(c - 2 a) / 2 c + (d - 2 b) / 2 d`. Where one of these is 0, neither sum is a real number, and both are the same infinity or NaN.
    fn are_same_fractions(&mut self, x: &Form, y: &Form) -> Option<bool> {
        let divisors = self.unknown_factors(x);
        if !(2..=MAX_FRACTIONS).contains(&divisors.len()) || divisors != self.unknown_factors(y) {
            return Some(false);
        }
        let apart = self.minus(x.clone(), y);
        let (mut over, mut whole) = (vec![Vec::new(); divisors.len()], Vec::new());
        for product in apart.products() {
            let mut product = product.clone();
            let found = divisors.iter().position(|atom| product.factors.contains(atom));
            if let Some(n) = found {
                product.factors.remove(product.factors.iter().position(|&atom| atom == divisors[n])?);
            }
            if divisors.iter().any(|atom| product.factors.contains(atom)) {
                return Some(false);
            }
            found.map_or(&mut whole, |n| &mut over[n]).push(Form::product(product));
        }
        for (atom, parts) in divisors.into_iter().zip(over) {
            let Some(divisor) = self.real_divisor(atom) else { return Some(false) };
            let numerator = self.sum(parts);
            let (Some(first), Some(of)) = (numerator.products().first(), divisor.products().first()) else { continue };
            let times = &first.number / &of.number;
            let multiple = divisor.scaled(&times);
            if numerator != multiple && !self.is_near(&numerator, &multiple) {
                return Some(false);
            }
            whole.push(Form::number(times));
        }
        Some(self.sum(whole).is_zero())
    }

    fn is_near(&mut self, x: &Form, y: &Form) -> bool {
        // Integers do not round.
        let near = !self.is_exact && x.is_near(y, self.precision);
        if near {
            self.tier = Tier::Rounding;
        }
        near
    }

    /// Where numbers round: a formula in which functions of numbers are numbers, so that `ln 2` is what somebody wrote for it.
    fn with_numbers_computed(&mut self, form: Form) -> Form {
        if !self.way.rounds {
            return form;
        }
        let mut changed = false;
        let products = form.products().iter().map(|product| {
            let mut product = product.clone();
            product.factors.retain(|atom| match self.computed(*atom) {
                Some(number) => {
                    product.number = times(&product.number, &number);
                    changed = true;
                    false
                }
                None => true,
            });
            Form::product(product)
        });
        let products: Vec<Form> = products.collect();
        if !changed {
            return form;
        }
        self.tier = Tier::Rounding;
        self.sum(products)
    }

    /// What a function of a number comes to.
    fn computed(&self, atom: AtomId) -> Option<BigRational> {
        let Atom::Function(function, of) = *self.store.atom_of(atom) else { return None };
        let of = self.store.form(of).as_number()?.to_f64()?;
        BigRational::from_float(match function {
            Function::Exp => of.exp(),
            Function::Log => of.ln(),
            Function::Sqrt => of.sqrt(),
            Function::Sine => of.sin(),
            Function::Cosine => of.cos(),
            Function::Reciprocal | Function::Abs => return None,
        })
    }

    /// The factors of a formula that may be no real number, in order.
    fn unknown_factors(&self, form: &Form) -> Vec<AtomId> {
        let atoms = form.products().iter().flat_map(|product| product.factors.iter().copied());
        let mut unknown: Vec<AtomId> =
            atoms.filter(|&atom| self.store.sign(&Form::atom(atom)) == Sign::Unknown).collect();
        unknown.sort_unstable();
        unknown.dedup();
        unknown
    }

    /// The only factor of two formulas that may be no real number, if each has it and it divides by a real number.
    fn common_divisor(&self, x: &Form, y: &Form) -> Option<AtomId> {
        let (of_x, of_y) = (self.unknown_factors(x), self.unknown_factors(y));
        match (&of_x[..], &of_y[..]) {
            (&[atom], &[other]) if atom == other => self.real_divisor(atom).map(|_| atom),
            _ => None,
        }
    }

    fn real_divisor(&self, atom: AtomId) -> Option<Form> {
        let Atom::Function(Function::Reciprocal, divisor) = *self.store.atom_of(atom) else { return None };
        let divisor = self.store.form(divisor);
        self.store.is_real(divisor).then(|| divisor.clone())
    }

    /// A formula as one fraction: `a / d + b` is `(a + b d) / d`. Where `d` is 0, neither is a real number, and both are the same
    /// infinity or NaN, since `b` is a real number.
    fn over(&mut self, divides: AtomId, form: &Form) -> Option<Form> {
        let Some(divisor) = self.real_divisor(divides) else { return Some(form.clone()) };
        let fraction = self.times(&divisor, &Form::atom(divides))?;
        let (mut sum, mut others) = (Vec::new(), Vec::new());
        for product in form.products() {
            let of: &mut Vec<Form> = if product.factors.contains(&divides) { &mut sum } else { &mut others };
            of.push(Form::product(Product::clone(product)));
        }
        if !others.is_empty() {
            let others = self.sum(others);
            sum.push(self.times(&others, &fraction)?);
        }
        Some(self.sum(sum))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::equal;
    use crate::rules::Tier;

    #[test]
    fn a_sum_of_fractions_is_one_fraction() {
        let other = "t = permute(x; dims=[1, 0, 2])\n u = permute(x; dims=[2, 1, 0])\n ";
        let apart = format!("{other}q = div(x, t)\n y = add(q, u)");
        let joined = |by: &str| format!("{other}p = mul(u, {by})\n s = add(x, p)\n y = div(s, t)");
        assert_eq!(equal(&apart, &joined("t")), Some(Tier::Real));
        assert_eq!(equal(&apart, &joined("x")), None);
        // `x` is a number where `x x / x` is none.
        assert_eq!(equal("y = alias(x)", "p = mul(x, x)\n y = div(p, x)"), None);
    }

    #[test]
    fn fractions_with_divisors_of_their_own_are_compared_one_by_one() {
        let other = "t = permute(x; dims=[1, 0, 2])\n v = permute(x; dims=[2, 1, 0])\n \
                     k = number(; value=3.0, dtype=f32)\n u = add(v, k)\n ";
        let apart = format!("{other}q = div(x, t)\n r = div(t, u)\n s = add(q, r)\n y = sub(s, u)");
        let joined = |of: &str| {
            format!(
                "{other}a = add(x, t)\n q = div(a, t)\n b = sub({of}, u)\n r = div(b, u)\n s = add(q, r)\n y = sub(s, u)"
            )
        };
        assert_eq!(equal(&apart, &joined("t")), Some(Tier::Real));
        assert_eq!(equal(&apart, &joined("x")), None);
    }

    #[test]
    fn logarithms_of_numbers_are_numbers() {
        let written = "c = cosh(x)\n y = log(c)";
        let with = |number: &str| {
            format!(
                "n = number(; value=-2.0, dtype=f32)\n t = mul(x, n)\n s = softplus(t)\n a = add(x, s)\n \
                 k = number(; value={number}, dtype=f32)\n y = sub(a, k)"
            )
        };
        assert_eq!(equal(written, &with("0.6931472")), Some(Tier::Rounding));
        assert_eq!(equal(written, &with("0.6931")), None);
        assert_eq!(equal(written, &with("1.0986123")), None);
    }
}
