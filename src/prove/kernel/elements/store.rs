//! Atoms and forms by number, and what is known of them beyond what they say.

use std::cell::RefCell;
use std::hash::{Hash, Hasher};

use indexmap::IndexSet;
use num_rational::BigRational;
use num_traits::{One, Signed, Zero};
use rustc_hash::{FxBuildHasher, FxHashMap, FxHasher};

use super::super::arena::TermId;
use super::dyadic::times;
use super::form::{Atom, AtomId, Form, FormId, Function, Monomial, Operation, Product};
use crate::ir::{DType, Number};
use crate::ops::{Arithmetic, Sign};

const CAST: Operation = Operation::Arithmetic(Arithmetic::Cast);

/// Atoms and forms by number.
#[derive(Default)]
pub(super) struct Store {
    atoms: IndexSet<Atom, FxBuildHasher>,
    /// By atom: whether it is computed from nothing that is wider than bf16.
    narrow: Vec<bool>,
    /// By atom: what is known of it.
    signs: Vec<Sign>,
    forms: IndexSet<Form, FxBuildHasher>,
    /// Of sums, up to a positive factor: what their forms do not tell. By a digest of the factors of their products.
    facts: FxHashMap<u64, Vec<(Form, Fact)>>,
    /// How often something was learned.
    pub learned: usize,
    /// By formula: whether it was found to be positive, and what had been learned then. It is asked for with every factor of a sum, and
    /// a long sum takes long to look up.
    positive: RefCell<FxHashMap<FormId, (bool, usize)>>,
    /// The same of what was found not to be negative.
    not_negative: RefCell<FxHashMap<FormId, (bool, usize)>>,
    /// By atom that is an integer: the least and the largest number that it may be.
    ranges: FxHashMap<AtomId, (i64, i64)>,
}

/// What is known of a sum from how it was computed: multiplied out, the square of a difference does not show that it is one.
#[derive(Clone, Copy, Default)]
struct Fact {
    sign: Sign,
    /// The sum itself, and two that are not negative whose product it is.
    product: Option<(FormId, [FormId; 2])>,
}

impl Store {
    pub(super) fn atom(&mut self, atom: Atom) -> Form {
        Form::atom(self.atom_id(atom))
    }

    /// An element, counted in row-major order, of a term of type `dtype` whose elements are known to be `sign`.
    pub(super) fn leaf(&mut self, term: TermId, at: usize, dtype: DType, sign: Sign) -> Form {
        Form::atom(self.insert(Atom::Leaf(term, at), dtype == DType::BF16 || !dtype.is_float(), sign))
    }

    /// What an operator gives that is known to be `sign`.
    pub(super) fn signed(&mut self, atom: Atom, sign: Sign) -> Form {
        let narrow = self.narrow_of(&atom);
        Form::atom(self.insert(atom, narrow, sign))
    }

    pub(super) fn atom_of(&self, id: AtomId) -> &Atom {
        &self.atoms[id as usize]
    }

    /// The number of an atom that was made before.
    pub(super) fn known(&self, atom: &Atom) -> Option<AtomId> {
        self.atoms.get_index_of(atom).map(|n| n as AtomId)
    }

    pub(super) fn atom_id(&mut self, atom: Atom) -> AtomId {
        let (narrow, sign) = (self.narrow_of(&atom), self.sign_of(&atom));
        self.insert(atom, narrow, sign)
    }

    fn insert(&mut self, atom: Atom, narrow: bool, sign: Sign) -> AtomId {
        let (id, new) = self.atoms.insert_full(atom);
        if new {
            self.narrow.push(narrow);
            self.signs.push(sign);
        } else if let Some(known) = self.signs.get_mut(id).filter(|known| **known < sign) {
            // More may have been learned of what it is computed from.
            *known = sign;
        }
        id as AtomId
    }

    fn narrow_of(&self, atom: &Atom) -> bool {
        match atom {
            Atom::Leaf(..) => false,
            Atom::Constant(_) | Atom::Indicator(_) | Atom::Above(_) | Atom::Zero(_) | Atom::Place { .. } => true,
            Atom::Applied { what: CAST, dtype: DType::BF16, .. } => true,
            Atom::Applied { operands, .. } => operands.iter().all(|&(_, id)| self.is_narrow(self.form(id))),
            Atom::Sum(form) | Atom::Function(_, form) => self.is_narrow(self.form(*form)),
            Atom::Largest(forms) | Atom::Deviations(forms) => forms.iter().all(|&id| self.is_narrow(self.form(id))),
        }
    }

    fn sign_of(&self, atom: &Atom) -> Sign {
        let real = |is: bool| if is { Sign::Real } else { Sign::Unknown };
        match atom {
            Atom::Indicator(_) | Atom::Above(_) | Atom::Zero(_) | Atom::Place { .. } => Sign::NotNegative,
            Atom::Sum(form) => self.sign(self.form(*form)),
            Atom::Largest(all) => real(all.iter().all(|&id| self.is_real(self.form(id)))),
            Atom::Deviations(all) if all.iter().all(|&id| self.is_real(self.form(id))) => Sign::NotNegative,
            Atom::Deviations(_) => Sign::Unknown,
            Atom::Function(function, form) => {
                let sign = self.sign(self.form(*form));
                match function {
                    Function::Exp if sign >= Sign::Real => Sign::Positive,
                    Function::Abs if sign >= Sign::Real => sign.max(Sign::NotNegative),
                    Function::Log if sign == Sign::Positive => Sign::Real,
                    Function::Reciprocal if sign == Sign::Positive => Sign::Positive,
                    Function::Sqrt if sign >= Sign::NotNegative => sign,
                    Function::Sine | Function::Cosine if sign >= Sign::Real => Sign::Real,
                    _ => Sign::Unknown,
                }
            }
            // What other operators give may be infinite or NaN for real numbers.
            Atom::Leaf(..) | Atom::Constant(_) | Atom::Applied { .. } => Sign::Unknown,
        }
    }

    /// What is known of a formula's values, as far as its form tells.
    pub(super) fn sign(&self, form: &Form) -> Sign {
        if self.is_positive(form) {
            Sign::Positive
        } else if self.is_not_negative(form) {
            Sign::NotNegative
        } else if self.is_real(form) {
            Sign::Real
        } else {
            Sign::Unknown
        }
    }

    /// Whether a formula is a real number for all real numbers that it is computed from, as far as its form tells.
    pub(super) fn is_real(&self, form: &Form) -> bool {
        form.products().iter().flat_map(|product| &product.factors).all(|&atom| self.signs[atom as usize] >= Sign::Real)
    }

    /// The same of real numbers above 0.
    pub(super) fn is_positive(&self, form: &Form) -> bool {
        let positive = |&atom: &AtomId| self.signs[atom as usize] == Sign::Positive;
        self.shows_no_negative(form)
            && form.products().iter().any(|p| p.number.is_positive() && p.factors.iter().all(positive))
            || self.fact(form).is_some_and(|fact| fact.sign == Sign::Positive)
    }

    /// As [`is_positive`](Self::is_positive), of a formula that is kept.
    pub(super) fn is_kept_positive(&self, id: FormId) -> bool {
        self.known_or(&self.positive, id, |form| self.is_positive(form))
    }

    /// As [`is_not_negative`](Self::is_not_negative), of a formula that is kept.
    pub(super) fn is_kept_not_negative(&self, id: FormId) -> bool {
        self.known_or(&self.not_negative, id, |form| self.is_not_negative(form))
    }

    /// What is known of a formula that is kept, or else is found of it.
    fn known_or(
        &self,
        known: &RefCell<FxHashMap<FormId, (bool, usize)>>,
        id: FormId,
        find: impl Fn(&Form) -> bool,
    ) -> bool {
        match known.borrow().get(&id) {
            // Nothing that is learned takes it back.
            Some((true, _)) => return true,
            Some((false, learned)) if *learned == self.learned => return false,
            _ => {}
        }
        let holds = find(self.form(id));
        known.borrow_mut().insert(id, (holds, self.learned));
        holds
    }

    /// The same of real numbers that are not below 0.
    pub(super) fn is_not_negative(&self, form: &Form) -> bool {
        self.shows_no_negative(form) || self.fact(form).is_some_and(|fact| fact.sign >= Sign::NotNegative)
    }

    /// Whether none of its products can be negative.
    fn shows_no_negative(&self, form: &Form) -> bool {
        form.products().iter().all(|p| {
            let even = |atom: AtomId| p.factors.iter().filter(|f| **f == atom).count() % 2 == 0;
            let known = |&atom: &AtomId| {
                let sign = self.signs[atom as usize];
                sign >= Sign::NotNegative || sign == Sign::Real && even(atom)
            };
            p.number.is_positive() && p.factors.iter().all(known)
        })
    }

    fn fact(&self, form: &Form) -> Option<Fact> {
        if self.facts.is_empty() || form.products().len() < 2 {
            return None;
        }
        let alike = self.facts.get(&factors_digest(form))?;
        alike.iter().find(|(known, _)| known.is_positive_multiple(form)).map(|(_, fact)| *fact)
    }

    /// What is noted of a sum of several products; `None` for other formulas.
    fn fact_mut(&mut self, form: &Form) -> Option<&mut Fact> {
        if form.products().len() < 2 {
            return None;
        }
        let alike = self.facts.entry(factors_digest(form)).or_default();
        let known = alike.iter().position(|(known, _)| known.is_positive_multiple(form));
        let at = known.unwrap_or_else(|| {
            alike.push((form.clone(), Fact::default()));
            alike.len() - 1
        });
        alike.get_mut(at).map(|(_, fact)| fact)
    }

    /// Notes what is known of a sum from how it was computed.
    pub(super) fn learn(&mut self, form: &Form, sign: Sign) {
        if sign < Sign::NotNegative || self.sign(form) >= sign {
            return;
        }
        if let Some(fact) = self.fact_mut(form) {
            fact.sign = sign;
            self.learned += 1;
        }
    }

    /// Notes that a sum is the product of two that are not negative.
    pub(super) fn learn_product(&mut self, form: &Form, factors: [FormId; 2]) {
        let product = self.keep(form.clone());
        if let Some(fact) = self.fact_mut(form).filter(|fact| fact.product.is_none()) {
            fact.product = Some((product, factors));
            self.learned += 1;
        }
    }

    /// Two formulas that are not negative, and a number above 0, whose product a sum is known to be.
    pub(super) fn known_product(&self, form: &Form) -> Option<(BigRational, [FormId; 2])> {
        let (product, factors) = self.fact(form)?.product?;
        let number = &form.products().first()?.number / &self.form(product).products().first()?.number;
        Some((number, factors))
    }

    /// Notes between which numbers an atom lies that is an integer.
    pub(super) fn set_range(&mut self, atom: &Form, range: (i64, i64)) {
        if let [Product { factors, .. }] = atom.products()
            && let [id] = factors[..]
        {
            self.ranges.insert(id, range);
        }
    }

    /// The least and the largest number that an integer may be, as far as is known.
    pub(super) fn range(&self, integer: FormId) -> Option<(i64, i64)> {
        let [Product { factors, number, .. }] = self.form(integer).products() else { return None };
        let [id] = factors[..] else { return None };
        if !number.is_one() {
            return None;
        }
        match self.atom_of(id) {
            Atom::Constant(Number::Int(value)) => Some((*value, *value)),
            _ => self.ranges.get(&id).copied(),
        }
    }

    /// A sum over the real numbers: what is 0 times a real number vanishes.
    pub(super) fn over_reals(&self, form: Form) -> Form {
        form.without_zeros(|atom| self.signs[atom as usize] >= Sign::Real)
    }

    /// Whether a form is computed from nothing that is wider than bf16, numbers aside.
    pub(super) fn is_narrow(&self, form: &Form) -> bool {
        form.products().iter().flat_map(|product| &product.factors).all(|&atom| self.narrow[atom as usize])
    }

    /// Whether a form is a number, or an element that is stored or cast and not computed.
    pub(super) fn is_stored(&self, form: &Form) -> bool {
        match form.products() {
            [] => true,
            [product] if product.factors.is_empty() => true,
            [Product { factors, number, cancels: false, .. }] if factors.len() == 1 && number.is_one() => {
                matches!(
                    self.atoms.get_index(factors[0] as usize),
                    Some(Atom::Leaf(..) | Atom::Constant(_) | Atom::Applied { what: CAST, .. })
                )
            }
            _ => false,
        }
    }

    /// A float. Those that are no real numbers compute as atoms do: an infinity minus itself is not 0. A negative zero is one of
    /// those, since what divides by it tells it from 0.
    pub(super) fn float(&mut self, value: f64) -> Form {
        match BigRational::from_float(value).filter(|number| !(number.is_zero() && value.is_sign_negative())) {
            Some(number) => Form::number(number),
            None => self.atom(Atom::Constant(Number::float(value))),
        }
    }

    pub(super) fn keep(&mut self, form: Form) -> FormId {
        self.forms.insert_full(form).0 as FormId
    }

    pub(super) fn form(&self, id: FormId) -> &Form {
        &self.forms[id as usize]
    }

    /// A form as one product.
    fn as_product(&mut self, form: Form) -> Product {
        match form.products() {
            [product] if !product.cancels => product.clone(),
            _ => {
                let whole = self.keep(form);
                Product::new(Monomial::from_slice(&[self.atom_id(Atom::Sum(whole))]), BigRational::one())
            }
        }
    }

    pub(super) fn product(&mut self, x: Form, y: Form) -> Form {
        match (x.as_number(), y.as_number()) {
            (Some(number), _) => return y.scaled(&number).with_share(x.share()),
            (_, Some(number)) => return x.scaled(&number).with_share(y.share()),
            _ => {}
        }
        let (a, b) = (self.as_product(x), self.as_product(y));
        let mut product = Product::new(a.factors.clone(), times(&a.number, &b.number));
        product.factors.extend(b.factors.iter().copied());
        product.factors.sort_unstable();
        product.share = a.share.min(b.share);
        Form::product(product)
    }
}

/// A digest of what is multiplied in the products of a formula, whatever their numbers are.
fn factors_digest(form: &Form) -> u64 {
    let mut hasher = FxHasher::default();
    form.products().iter().for_each(|product| product.factors.hash(&mut hasher));
    hasher.finish()
}
