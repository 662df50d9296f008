//! What one element is, as a formula over elements of other tensors.
//!
//! The numbers of a formula are exact: it is built from what the files state, without rounding of its own. What is added and
//! multiplied may be infinite or NaN, so nothing vanishes: `x - x` is `0 x`, which is not 0, and `2 x - x` is not `x`.

use std::hash::{Hash, Hasher};

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive, Zero};
use smallvec::SmallVec;

use super::super::arena::TermId;
use super::dyadic::{plus, times};
use crate::ir::{AttrValue, DType, Number};
use crate::ops::{Arithmetic, OpDef};

/// Number of an [`Atom`].
pub(super) type AtomId = u32;

/// Number of a [`Form`].
pub(super) type FormId = u32;

/// What is not looked into: two of them are equal if they are the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Atom {
    /// An element, counted in row-major order, of a term.
    Leaf(TermId, usize),
    /// A number that formulas do not compute with: an integer, a float that is not finite, a negative zero.
    Constant(Number),
    /// What an operator gives for these elements in this order. `place` tells the elements that it gives apart.
    Applied {
        what: Operation,
        dtype: DType,
        attrs: SmallVec<[AttrValue; 2]>,
        operands: Vec<(DType, FormId)>,
        place: SmallVec<[usize; 4]>,
    },
    /// A sum as a factor of products.
    Sum(FormId),
    /// A function of a real number.
    Function(Function, FormId),
    /// 1 where a bool is true, 0 elsewhere.
    Indicator(FormId),
    /// 1 where a formula is above 0, 0 elsewhere. The number of its first product with factors is 1.
    Above(FormId),
    /// 1 where such a formula is 0, 0 elsewhere.
    Zero(FormId),
    /// 1 where an integer names place `at` of as many as `of`, 0 where it names another one. `wraps`: negative ones count from the end.
    Place { integer: FormId, at: usize, of: usize, wraps: bool },
    /// The largest of several real numbers, in ascending order.
    Largest(Vec<FormId>),
    /// The sum of the squares of what several real numbers, in ascending order, are off their mean.
    Deviations(Vec<FormId>),
}

impl Atom {
    /// Whether it is 1 in some cases and 0 in the others.
    pub(super) fn is_case(&self) -> bool {
        matches!(self, Atom::Indicator(_) | Atom::Above(_) | Atom::Zero(_) | Atom::Place { .. })
    }
}

/// What is applied to elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Operation {
    /// A function of elements at one place. Operators that are the same function give the same.
    Arithmetic(Arithmetic),
    /// The elements of a row themselves.
    Row,
    /// The place of the first largest element of a row.
    PlaceOfLargest,
    /// An operator that is none of those.
    Operator(&'static str),
}

impl Operation {
    pub(super) fn of(op: &OpDef) -> Operation {
        match op.arithmetic() {
            Arithmetic::Other => Operation::Operator(op.name),
            function => Operation::Arithmetic(function),
        }
    }
}

/// Functions that real numbers have laws for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Function {
    Exp,
    Log,
    Reciprocal,
    Sqrt,
    Abs,
    Sine,
    Cosine,
}

/// Factors in ascending order; the empty product is 1.
pub(super) type Monomial = SmallVec<[AtomId; 2]>;

/// A product of atoms, times a number, which is a fraction in lowest terms.
#[derive(Clone, Debug)]
pub(super) struct Product {
    pub factors: Monomial,
    pub number: BigRational,
    /// Whether the number is a sum of numbers of both signs, or 0: for an infinite product it then comes to NaN.
    pub cancels: bool,
    /// The smallest of the numbers that were added up in it or in what it was divided by, as a share of it; 1 where none were.
    pub share: f64,
}

/// A sum of products: ordered by their factors, which no two share.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Form(Vec<Product>);

/// How much of the smallest of the numbers that are added up may count as rounding: more than a few roundings of a sum take from a summand
/// that is 10,000 times smaller, and far less than all of it.
const MAX_LOST: f64 = 1e-3;

/// Bits of a number beyond which it is not worth computing with.
const MAX_BITS: u64 = 4096;

impl PartialEq for Product {
    /// The comparison and the hash of `BigRational` divide until nothing is left; in lowest terms, parts tell as much.
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (&self.number, &other.number);
        self.factors == other.factors
            && self.cancels == other.cancels
            && a.numer() == b.numer()
            && a.denom() == b.denom()
    }
}

impl Eq for Product {}

impl Hash for Product {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.factors.hash(state);
        self.number.numer().hash(state);
        self.number.denom().hash(state);
        self.cancels.hash(state);
    }
}

impl Product {
    pub(super) fn new(factors: Monomial, number: BigRational) -> Product {
        Product { factors, number, cancels: false, share: 1.0 }
    }

    /// Whether the numbers are apart by rounding to so many bits, where some were multiplied. Numbers that the type has are as they were
    /// written, and have to be the same. What was added is no rounding error of what it was added to: `1e8 + 1` is not `1e8`.
    fn is_near(&self, other: &Product, precision: u64) -> bool {
        let (x, y) = (&self.number, &other.number);
        let written = is_representable(x, precision) && is_representable(y, precision);
        x == y || !written && part_by_rounding(x, y, precision) && self.parts_by_less_than_its_share(other)
    }

    /// Whether the numbers differ by next to nothing of the smallest of those that they were added up from.
    pub(super) fn parts_by_less_than_its_share(&self, other: &Product) -> bool {
        let share = self.share.min(other.share);
        if share >= 1.0 {
            return true;
        }
        let apart = ((&self.number - &other.number) / &self.number).to_f64().map_or(f64::INFINITY, f64::abs);
        apart <= share * MAX_LOST
    }
}

impl Form {
    pub(super) fn atom(atom: AtomId) -> Form {
        Form(vec![Product::new(Monomial::from_slice(&[atom]), BigRational::one())])
    }

    pub(super) fn product(product: Product) -> Form {
        Form(vec![product])
    }

    pub(super) fn products(&self) -> &[Product] {
        &self.0
    }

    /// Whether computing with its numbers comes to an end.
    pub(super) fn is_small(&self) -> bool {
        self.0.iter().all(|product| product.number.numer().bits().max(product.number.denom().bits()) <= MAX_BITS)
    }

    pub(super) fn number(number: BigRational) -> Form {
        if number.is_zero() {
            return Form::default();
        }
        Form(vec![Product::new(Monomial::new(), number)])
    }

    /// Whether it is 0 for all finite values of its atoms.
    pub(super) fn is_zero(&self) -> bool {
        self.0.iter().all(|product| product.number.is_zero())
    }

    /// Bits of its longest number, by a sample.
    pub(super) fn bits(&self) -> usize {
        let bits = |product: &Product| product.number.numer().bits().saturating_add(product.number.denom().bits());
        self.sample().map(bits).max().unwrap_or(0) as usize
    }

    /// Factors of its longest product, by a sample.
    pub(super) fn degree(&self) -> usize {
        self.sample().map(|product| product.factors.len()).max().unwrap_or(0)
    }

    /// Some of its products: of powers of a sum, those in the middle have the longest numbers.
    fn sample(&self) -> impl Iterator<Item = &Product> {
        [0, self.0.len() / 2, self.0.len().saturating_sub(1)].into_iter().filter_map(|n| self.0.get(n))
    }

    /// Numbers to keep: what the formula takes in memory.
    pub(super) fn size(&self) -> usize {
        self.0.iter().map(|product| 1 + product.factors.len()).sum()
    }

    /// Whether type `dtype` has its numbers, up to rounding: none overflows or comes to 0.
    pub(super) fn fits(&self, dtype: DType) -> bool {
        let most = if dtype == DType::F64 { 1022 } else { 126 };
        self.0.iter().filter(|product| !product.number.is_zero()).all(|Product { number, .. }| {
            let (above, below) = (number.numer().bits(), number.denom().bits());
            above.max(below) <= MAX_BITS && above.abs_diff(below) <= most
        })
    }

    /// The number that it is, if it has no atoms.
    pub(super) fn as_number(&self) -> Option<BigRational> {
        match self.0.as_slice() {
            [] => Some(BigRational::zero()),
            [product] if product.factors.is_empty() => Some(product.number.clone()),
            _ => None,
        }
    }

    pub(super) fn scaled(mut self, by: &BigRational) -> Form {
        if by.is_one() {
            return self;
        }
        for product in &mut self.0 {
            product.number = times(&product.number, by);
            product.cancels |= by.is_zero();
        }
        // Numbers are finite: 0 times one of them is 0.
        self.0.retain(|product| !(product.factors.is_empty() && product.number.is_zero()));
        self
    }

    /// Whether it is `other` times a number above 0. Fractions are multiplied across: to divide them takes far longer.
    pub(super) fn is_positive_multiple(&self, other: &Form) -> bool {
        let [Product { number: x, .. }, ..] = self.0.as_slice() else { return other.0.is_empty() };
        let [Product { number: y, .. }, ..] = other.0.as_slice() else { return false };
        let is_same = |a: &BigRational, b: &BigRational| a.numer() == b.numer() && a.denom() == b.denom();
        let (is_equal, is_turned) = (is_same(x, y), x.is_negative() != y.is_negative() || x.is_zero() != y.is_zero());
        // `a / b` is `x / y`.
        let in_proportion = |a: &BigRational, b: &BigRational| {
            (a.numer() * y.numer()) * (b.denom() * x.denom()) == (b.numer() * x.numer()) * (a.denom() * y.denom())
        };
        let is_alike = |(a, b): (&Product, &Product)| {
            let numbers = if is_equal { is_same(&a.number, &b.number) } else { in_proportion(&a.number, &b.number) };
            numbers && a.factors == b.factors && a.cancels == b.cancels
        };
        self.0.len() == other.0.len() && !is_turned && self.0.iter().zip(&other.0).all(is_alike)
    }

    /// What [`Product::share`] is at least.
    pub(super) fn share(&self) -> f64 {
        self.0.iter().map(|product| product.share).fold(1.0, f64::min)
    }

    /// The same, made with the help of numbers of this share.
    pub(super) fn with_share(mut self, share: f64) -> Form {
        if share < 1.0 {
            self.0.iter_mut().for_each(|product| product.share = product.share.min(share));
        }
        self
    }

    /// The sum of many.
    pub(super) fn sum(forms: impl IntoIterator<Item = Form>) -> Form {
        Form::sum_of_sorted(sorted_products(forms))
    }

    /// The sum of many, and whether something was left out: products of numbers that cancel but for rounding to `precision` bits,
    /// where `may_vanish` allows it.
    pub(super) fn sum_but_residues(
        forms: impl IntoIterator<Item = Form>,
        precision: u64,
        may_vanish: impl Fn(&Monomial) -> bool,
    ) -> (Form, bool) {
        let all = sorted_products(forms);
        let runs = all.chunk_by(|a, b| a.factors == b.factors);
        let kept: Vec<bool> = runs
            .flat_map(|run| {
                let is_residue = is_residue(run, precision) && may_vanish(&run[0].factors);
                std::iter::repeat_n(!is_residue, run.len())
            })
            .collect();
        let drops = kept.contains(&false);
        let all =
            if drops { all.into_iter().zip(kept).filter_map(|(p, kept)| kept.then_some(p)).collect() } else { all };
        (Form::sum_of_sorted(all), drops)
    }

    /// The sum of products in the order of their factors.
    fn sum_of_sorted(all: Vec<Product>) -> Form {
        let mut sum: Vec<Product> = Vec::with_capacity(all.len());
        for product in all {
            match sum.last_mut() {
                Some(last) if last.factors == product.factors => {
                    last.cancels |= product.cancels || last.number.is_negative() != product.number.is_negative();
                    let smallest = |p: &Product| p.number.to_f64().map_or(0.0, f64::abs) * p.share;
                    let smallest = smallest(last).min(smallest(&product));
                    last.number = plus(&last.number, &product.number);
                    let all = last.number.to_f64().map_or(f64::INFINITY, f64::abs);
                    last.share = if smallest < all { smallest / all } else { 1.0 };
                }
                _ => sum.push(product),
            }
        }
        for product in sum.iter_mut().filter(|product| product.factors.is_empty()) {
            product.cancels = false;
        }
        sum.retain(|product| !(product.factors.is_empty() && product.number.is_zero()));
        Form(sum)
    }

    /// The formula with the numbers that `settled` makes of its own, and whether any changed.
    pub(super) fn with_numbers(mut self, mut settled: impl FnMut(&Product) -> BigRational) -> (Form, bool) {
        let mut changed = false;
        for product in &mut self.0 {
            let number = settled(product);
            changed |= number != product.number;
            product.number = number;
        }
        (self, changed)
    }

    /// Whether two formulas have the same products with the same numbers, up to the rounding of numbers of so many bits.
    pub(super) fn is_near(&self, other: &Form, precision: u64) -> bool {
        let alike =
            |(x, y): (&Product, &Product)| x.factors == y.factors && x.cancels == y.cancels && x.is_near(y, precision);
        self.0.len() == other.0.len() && self.0.iter().zip(&other.0).all(alike)
    }

    /// Without the products that are 0 times atoms for all of which `is_real` holds; nothing else of it cancels.
    pub(super) fn without_zeros(mut self, is_real: impl Fn(AtomId) -> bool) -> Form {
        self.0.retain(|product| !(product.number.is_zero() && product.factors.iter().all(|&atom| is_real(atom))));
        self.0.iter_mut().for_each(|product| product.cancels = false);
        self
    }
}

/// All products of some formulas, in the order of their factors.
fn sorted_products(forms: impl IntoIterator<Item = Form>) -> Vec<Product> {
    let mut all: Vec<Product> = forms.into_iter().flat_map(|form| form.0).collect();
    all.sort_by(|a, b| a.factors.cmp(&b.factors));
    all
}

/// Numbers of one sum that are no smaller than this part of the largest are no rounding errors of it.
const NO_RESIDUE: f64 = 1.0 / (1 << 20) as f64;

/// Whether the numbers of products with the same factors cancel but for a few roundings to `precision` bits. One at least was
/// computed: what is written in a file is what it is.
fn is_residue(run: &[Product], precision: u64) -> bool {
    if run.len() < 2 {
        return false;
    }
    let sizes = || run.iter().map(|product| product.number.to_f64().unwrap_or(f64::NAN));
    let largest = sizes().map(f64::abs).fold(0.0, f64::max);
    let cancel = sizes().sum::<f64>().abs() <= largest * NO_RESIDUE;
    if !cancel || sizes().any(|size| size != 0.0 && size.abs() < largest * NO_RESIDUE) {
        return false;
    }
    let sum = run.iter().fold(BigRational::zero(), |sum, product| plus(&sum, &product.number));
    let largest = run.iter().map(|product| product.number.abs()).max().unwrap_or_default();
    let is_less_than_parts = || {
        let sum = sum.to_f64().map_or(f64::INFINITY, f64::abs);
        run.iter()
            .zip(sizes())
            .all(|(product, size)| product.share >= 1.0 || sum <= size.abs() * product.share * MAX_LOST)
    };
    !sum.is_zero()
        && sum.abs() * BigInt::from(1_i64 << (precision - 2)) <= largest
        && is_less_than_parts()
        && run.iter().any(|product| !is_representable(&product.number, precision))
}

/// Whether two numbers are as near as what was rounded to so many bits a few times: a product of three numbers, and the one that
/// somebody wrote for it, part by 4 roundings at most.
pub(super) fn part_by_rounding(x: &BigRational, y: &BigRational, precision: u64) -> bool {
    (x - y).abs() * BigInt::from(1_i64 << (precision - 2)) <= x.abs().max(y.abs())
}

/// Whether a float with so many bits has exactly this value, up to the range of its exponent.
pub(super) fn is_representable(number: &BigRational, precision: u64) -> bool {
    let (above, below) = (number.numer(), number.denom());
    let is_power_of_2 = below.trailing_zeros() == Some(below.bits() - 1);
    is_power_of_2 && above.bits() - above.trailing_zeros().unwrap_or(0) <= precision
}
