//! The place of the largest of several formulas: it hangs on their order alone, not on what is added to all of them, nor on an increasing
//! function of all of them.

use num_rational::BigRational;
use num_traits::{Signed, Zero};

use super::form::{Atom, AtomId, Form, FormId, Function, Operation, Product};
use super::formulas::Formulas;
use crate::ir::{DType, Shape};

impl Formulas<'_> {
    /// The place of the first largest formula of a row of these sizes, or of the first smallest one; nothing where one is a limit.
    pub(super) fn place_of_largest(
        &mut self,
        row: &[(DType, FormId)],
        largest: bool,
        sizes: &Shape,
    ) -> Option<Option<Form>> {
        let Some(mut forms) = row.iter().map(|&(_, id)| self.finite(id)).collect::<Option<Vec<Form>>>() else {
            return Some(None);
        };
        if !largest {
            forms = forms.into_iter().map(|form| form.scaled(&BigRational::from_integer((-1).into()))).collect();
        }
        while let Some(plainer) = self.without_increasing_function(&forms) {
            forms = plainer;
        }
        self.spend(forms.iter().map(Form::size).sum())?;
        let Some(first) = forms.first().cloned() else { return Some(None) };
        forms = forms.into_iter().map(|form| self.minus(form, &first)).collect();
        let number = |form: &Form| form.products().iter().map(|product| product.number.abs()).find(|n| !n.is_zero());
        if let Some(scale) = forms.iter().find_map(number) {
            forms = forms.into_iter().map(|form| form.scaled(&scale.recip())).collect();
        }
        let mut operands = Vec::with_capacity(forms.len());
        for form in forms {
            let form = self.rounded(form);
            operands.push((DType::F32, self.store.keep(form)));
        }
        let place = sizes.iter().copied().collect();
        let what = Operation::PlaceOfLargest;
        let last = i64::try_from(operands.len()).ok()? - 1;
        let (dtype, attrs) = (DType::I64, [].into_iter().collect());
        let atom = self.store.atom(Atom::Applied { what, dtype, attrs, operands, place });
        self.store.set_range(&atom, (0, last));
        Some(Some(atom))
    }

    /// Formulas in the same order as these, which are all the same increasing function of them, or the same positive multiple.
    fn without_increasing_function(&self, forms: &[Form]) -> Option<Vec<Form>> {
        let products: Option<Vec<&Product>> = forms
            .iter()
            .map(|form| match form.products() {
                [product] if !product.factors.is_empty() => Some(product),
                _ => None,
            })
            .collect();
        let products = products?;
        let (first, others) = products.split_first()?;
        let is_positive = |atom: &AtomId| self.store.is_positive(&Form::atom(*atom));
        let common = |atom: &&AtomId| is_positive(atom) && others.iter().all(|other| other.factors.contains(atom));
        if let Some(common) = first.factors.iter().find(common) {
            let without = |product: &&Product| {
                let mut factors = product.factors.clone();
                if let Some(at) = factors.iter().position(|atom| atom == common) {
                    factors.remove(at);
                }
                Form::product(Product::new(factors, product.number.clone()))
            };
            return Some(products.iter().map(without).collect());
        }
        let mut function = None;
        let inner = products.iter().map(|product| {
            let [atom] = product.factors[..] else { return None };
            let Atom::Function(own, id) = *self.store.atom_of(atom) else { return None };
            let inner = self.store.form(id);
            let increases = match own {
                Function::Exp => self.store.is_real(inner),
                Function::Sqrt => self.store.is_real(inner) && self.store.is_not_negative(inner),
                Function::Log => self.store.is_positive(inner),
                Function::Reciprocal | Function::Abs | Function::Sine | Function::Cosine => false,
            };
            let alike = *function.get_or_insert(own) == own && product.number == first.number;
            let sign = BigRational::from_integer(if product.number.is_negative() { -1 } else { 1 }.into());
            (increases && alike && !product.number.is_zero()).then(|| inner.clone().scaled(&sign))
        });
        inner.collect()
    }
}
