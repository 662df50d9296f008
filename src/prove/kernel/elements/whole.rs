//! Sums and products of integers of one type. They wrap around, and form a ring: what is one polynomial is equal for all elements,
//! whatever order they are added and multiplied in.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, ToPrimitive};

use super::dyadic::times;
use super::form::{Atom, Form, FormId, Monomial, Product};
use super::formulas::{Formulas, SIZE_PER_ELEMENT};
use crate::ir::{DType, Number};
use crate::ops::{Arithmetic, Call};

/// The largest power that is written out as a product.
const LARGEST_POWER: i64 = 4;

impl Formulas<'_> {
    /// What a function of integers gives: nothing where it is no sum or product of integers of one type, and no answer where it
    /// takes too much.
    pub(super) fn arithmetic_of_integers(
        &mut self,
        function: Arithmetic,
        call: &Call,
        operands: &[(DType, FormId)],
        dtype: DType,
    ) -> Option<Option<Form>> {
        if !dtype.is_int() || operands.iter().any(|&(operand, _)| operand != dtype) {
            return Some(None);
        }
        let all: Vec<Form> = operands.iter().map(|&(_, id)| self.integer(id)).collect();
        let sum = match (function, &all[..]) {
            (Arithmetic::Neg, [x]) => negative(x),
            (Arithmetic::Add, [x, y]) => Form::sum([x.clone(), y.clone()]),
            (Arithmetic::Sub, [x, y]) => Form::sum([x.clone(), negative(y)]),
            (Arithmetic::Mul, [x, y]) => self.multiplied_out(x, y)?,
            (Arithmetic::AddProduct, [x, y, z]) => {
                let Some(Number::Int(factor)) = call.number("value", dtype) else { return Some(None) };
                let product = self.multiplied_out(y, z)?;
                Form::sum([x.clone(), product.scaled(&whole(factor))])
            }
            (Arithmetic::Power, [x]) => {
                let exponent = call.number("exponent", dtype).and_then(Number::to_i64);
                let Some(times @ 1..=LARGEST_POWER) = exponent else { return Some(None) };
                let mut power = x.clone();
                for _ in 1..times {
                    power = self.multiplied_out(&power, x)?;
                }
                power
            }
            _ => return Some(None),
        };
        Some(self.wrapped(&sum, dtype))
    }

    /// The sum of the products of each two `factors`, times `alpha`, and of the bias times its factor: nothing where those are no
    /// integers of one type.
    pub(super) fn sum_of_integer_products(
        &mut self,
        factors: &[(DType, FormId)],
        alpha: Number,
        bias: Option<(DType, FormId, Number)>,
        dtype: DType,
    ) -> Option<Option<Form>> {
        let other = |&(of, _): &(DType, FormId)| of != dtype;
        let Number::Int(alpha) = alpha else { return Some(None) };
        if !dtype.is_int() || factors.iter().any(other) || bias.is_some_and(|(of, ..)| of != dtype) {
            return Some(None);
        }
        let mut products = Vec::with_capacity(factors.len() / 2 + 1);
        for pair in factors.chunks_exact(2) {
            let (x, y) = (self.integer(pair[0].1), self.integer(pair[1].1));
            products.push(self.multiplied_out(&x, &y)?.scaled(&whole(alpha)));
        }
        if let Some((_, id, factor)) = bias {
            let Number::Int(factor) = factor else { return Some(None) };
            products.push(self.integer(id).scaled(&whole(factor)));
        }
        Some(self.wrapped(&Form::sum(products), dtype))
    }

    /// The sum of a row of integers.
    pub(super) fn sum_of_integers(&mut self, row: &[(DType, FormId)], dtype: DType) -> Option<Form> {
        let all: Vec<Form> = row.iter().map(|&(_, id)| self.integer(id)).collect();
        self.spend(all.iter().map(Form::size).sum::<usize>() / SIZE_PER_ELEMENT)?;
        self.wrapped(&Form::sum(all), dtype)
    }

    /// An integer to compute with: a constant as a number.
    fn integer(&self, id: FormId) -> Form {
        let form = self.store.form(id);
        if let [Product { factors, number, .. }] = form.products()
            && let [atom] = factors[..]
            && let Atom::Constant(Number::Int(value)) = self.store.atom_of(atom)
        {
            return Form::number(whole(*value) * number);
        }
        form.clone()
    }

    fn multiplied_out(&mut self, x: &Form, y: &Form) -> Option<Form> {
        self.spend(1 + x.products().len() * y.products().len() / SIZE_PER_ELEMENT)?;
        let mut products = Vec::with_capacity(x.products().len() * y.products().len());
        for p in x.products() {
            for q in y.products() {
                let mut factors: Monomial = p.factors.iter().chain(&q.factors).copied().collect();
                factors.sort_unstable();
                let share = p.share.min(q.share);
                let product = Product { share, ..Product::new(factors, times(&p.number, &q.number)) };
                products.push(Form::product(product));
            }
        }
        Some(Form::sum(products))
    }

    /// A sum with its numbers brought into the range of the type; one of numbers alone is a constant. `None` if some number is no integer.
    fn wrapped(&mut self, sum: &Form, dtype: DType) -> Option<Form> {
        if sum.products().iter().any(|product| !product.number.is_integer()) {
            return None;
        }
        let low_bits = |number: &BigRational| -> i64 {
            let modulus = BigInt::one() << 64;
            let rest: BigInt = ((number.to_integer() % &modulus) + &modulus) % &modulus;
            dtype.wrap(rest.to_u64().unwrap_or_default().cast_signed())
        };
        let mut products = Vec::with_capacity(sum.products().len());
        for Product { factors, number, .. } in sum.products() {
            match low_bits(number) {
                0 => {}
                number => products.push(Form::product(Product::new(factors.clone(), whole(number)))),
            }
        }
        let sum = Form::sum(products);
        Some(match sum.as_number() {
            Some(number) => self.store.atom(Atom::Constant(Number::Int(low_bits(&number)))),
            None => sum,
        })
    }
}

fn whole(number: i64) -> BigRational {
    BigRational::from_integer(number.into())
}

fn negative(x: &Form) -> Form {
    x.clone().scaled(&whole(-1))
}
