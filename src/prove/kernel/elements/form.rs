//! What one element is, as a formula over elements of other tensors.

use std::collections::BTreeMap;

use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};
use smallvec::SmallVec;

use super::super::arena::TermId;
use crate::ir::{AttrValue, DType, Float, Number};

/// Number of an [`Atom`].
pub type AtomId = u32;

/// Number of a [`Form`].
pub type FormId = u32;

/// What is not looked into: two of them are equal if they are the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Atom {
    /// An element, counted in row-major order, of a term.
    Leaf(TermId, usize),
    Constant(Number),
    /// What an operator gives for these elements in this order. `place` tells the elements that it gives apart.
    Applied {
        op: &'static str,
        dtype: DType,
        attrs: SmallVec<[AttrValue; 2]>,
        operands: Vec<(DType, FormId)>,
        place: SmallVec<[usize; 4]>,
    },
    /// A sum as a factor of products.
    Sum(FormId),
}

/// Factors in ascending order; the empty product is 1.
pub type Monomial = SmallVec<[AtomId; 2]>;

/// A sum of products of atoms, each times a number: ordered by products, of which none occurs twice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Form(Vec<(Monomial, Float)>);

/// Relative difference up to which two numbers of formulas are the same number, as people type them.
const TOLERANCE: f64 = 1e-6;

/// Weights of an interpolation are computed in single precision from places in a tensor. They are the same up to this part of
/// the largest one.
const WEIGHT_TOLERANCE: f64 = 1e-5;

impl Form {
    pub fn atom(atom: AtomId) -> Form {
        Form(vec![(Monomial::from_slice(&[atom]), Float(1.0))])
    }

    pub fn number(value: f64) -> Form {
        if value == 0.0 { Form::default() } else { Form(vec![(Monomial::new(), Float(value))]) }
    }

    /// Whether all numbers in it are finite: others are equal to nothing.
    pub fn is_finite(&self) -> bool {
        self.0.iter().all(|(_, number)| number.0.is_finite())
    }

    /// The number that it is, if it has no atoms.
    pub fn as_number(&self) -> Option<f64> {
        match self.0.as_slice() {
            [] => Some(0.0),
            [(factors, number)] if factors.is_empty() => Some(number.0),
            _ => None,
        }
    }

    /// The product that it is, if it is one.
    pub fn as_product(&self) -> Option<(&Monomial, f64)> {
        match self.0.as_slice() {
            [(factors, number)] => Some((factors, number.0)),
            _ => None,
        }
    }

    pub fn product(factors: Monomial, number: f64) -> Form {
        Form(vec![(factors, Float(number))])
    }

    pub fn scaled(&self, by: f64) -> Form {
        if by == 0.0 {
            return Form::default();
        }
        Form(self.0.iter().map(|(factors, number)| (factors.clone(), Float(number.0 * by))).collect())
    }

    /// The sum of many.
    pub fn sum(forms: impl IntoIterator<Item = Form>) -> Form {
        let mut all: Vec<(Monomial, Float)> = forms.into_iter().flat_map(|form| form.0).collect();
        // Stable, so that equal products are added in the order in which they come.
        all.sort_by(|(a, _), (b, _)| a.cmp(b));
        let mut sum: Vec<(Monomial, Float)> = Vec::with_capacity(all.len());
        for (factors, number) in all {
            match sum.last_mut() {
                Some((last, total)) if *last == factors => total.0 += number.0,
                _ => sum.push((factors, number)),
            }
        }
        sum.retain(|(_, number)| number.0 != 0.0);
        Form(sum)
    }
}

/// Atoms and forms by number.
#[derive(Default)]
pub struct Store {
    atoms: IndexSet<Atom, FxBuildHasher>,
    forms: IndexSet<Form, FxBuildHasher>,
}

impl Store {
    pub fn atom(&mut self, atom: Atom) -> Form {
        Form::atom(self.atoms.insert_full(atom).0 as u32)
    }

    pub fn keep(&mut self, form: Form) -> FormId {
        self.forms.insert_full(form).0 as u32
    }

    pub fn form(&self, id: FormId) -> &Form {
        &self.forms[id as usize]
    }

    /// A form as factors and a number.
    pub fn factors(&mut self, form: Form) -> (Monomial, f64) {
        if let Some((factors, number)) = form.as_product() {
            return (factors.clone(), number);
        }
        if let Some(number) = form.as_number() {
            return (Monomial::new(), number);
        }
        let whole = self.keep(form);
        (Monomial::from_slice(&[self.atoms.insert_full(Atom::Sum(whole)).0 as u32]), 1.0)
    }

    pub fn product(&mut self, x: Form, y: Form) -> Form {
        match (x.as_number(), y.as_number()) {
            (Some(n), _) => return y.scaled(n),
            (_, Some(n)) => return x.scaled(n),
            _ => {}
        }
        let ((mut factors, a), (others, b)) = (self.factors(x), self.factors(y));
        factors.extend(others);
        factors.sort_unstable();
        Form::product(factors, a * b)
    }

    /// Whether two forms have the same numbers up to rounding. With `weighted`, the numbers of what is read from one tensor
    /// are weights of an interpolation: each may be off by a part of the largest one.
    pub fn are_near(&self, x: &Form, y: &Form, weighted: bool) -> bool {
        let mut largest: FxHashMap<Option<SmallVec<[Group; 2]>>, f64> = FxHashMap::default();
        let mut both: BTreeMap<&Monomial, [f64; 2]> = BTreeMap::new();
        for (side, form) in [x, y].into_iter().enumerate() {
            for (factors, number) in &form.0 {
                both.entry(factors).or_default()[side] = number.0;
                let most = largest.entry(self.group(factors)).or_default();
                *most = most.max(number.0.abs());
            }
        }
        both.into_iter().all(|(factors, [a, b])| {
            let group = self.group(factors).filter(|_| weighted);
            let allowed = match group.is_some() {
                true => WEIGHT_TOLERANCE * largest.get(&group).copied().unwrap_or(0.0),
                false => TOLERANCE * a.abs().min(b.abs()),
            };
            (a - b).abs() <= allowed
        })
    }

    /// What products have in common whose numbers may be weights of one interpolation; none for a number alone.
    fn group(&self, factors: &Monomial) -> Option<SmallVec<[Group; 2]>> {
        let of = |&atom: &AtomId| match self.atoms.get_index(atom as usize) {
            Some(Atom::Leaf(term, _)) => Group::Leaf(*term),
            Some(Atom::Applied { op, .. }) => Group::Operator(op),
            _ => Group::Other(atom),
        };
        (!factors.is_empty()).then(|| factors.iter().map(of).collect())
    }
}

/// Where an atom comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Group {
    Leaf(TermId),
    Operator(&'static str),
    Other(AtomId),
}
