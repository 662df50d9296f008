//! What is computed row by row, over the real numbers: sums, softmax, norms, fused attention.

use std::rc::Rc;

use num_rational::BigRational;
use num_traits::One;

use super::form::{Atom, Form, FormId};
use super::formulas::{Formulas, Row};
use super::scope::Applied;
use crate::ir::{DType, Shape, flat_index};
use crate::ops::shapes::broadcast_index;
use crate::ops::{Call, RowFunction, Sign, attention_key};
use crate::rules::Tier;

/// Elements of a row of which the variance is multiplied out. Of longer ones it would take too much, and it stands for itself.
const MAX_VARIANCE: usize = 32;

/// Elements of a row that is centred.
const MAX_ROW: usize = 256;

impl Formulas<'_> {
    /// What an operator gives for a row: nothing where there is no law for it, and no answer where it is no real number or takes too much.
    pub(super) fn row(&mut self, function: RowFunction, applied: &Applied, row: &Row) -> Option<Option<Form>> {
        let call = applied.call();
        let count = BigRational::from_integer(row.elements.len().into());
        // An operator that casts first reads other numbers than these.
        if row.elements.is_empty() || call.operands[0].dtype != applied.result.dtype {
            return Some(None);
        }
        Some(Some(match function {
            RowFunction::Sum => self.total(row.elements)?,
            RowFunction::Mean => self.total(row.elements)?.scaled(&count.recip()),
            RowFunction::RunningSum => self.total(row.elements.get(..=row.place)?)?,
            RowFunction::Product => self.product_of(row.elements)?,
            RowFunction::RunningProduct => self.product_of(row.elements.get(..=row.place)?)?,
            RowFunction::Max => self.largest_of(row.elements)?,
            RowFunction::RunningMax => self.largest_of(row.elements.get(..=row.place)?)?,
            RowFunction::Min => self.smallest_of(row.elements)?,
            RowFunction::RunningMin => self.smallest_of(row.elements.get(..=row.place)?)?,
            RowFunction::Length => match call.float("ord") {
                1.0 => {
                    let mut sizes = Vec::with_capacity(row.elements.len());
                    for &(_, id) in row.elements {
                        let x = self.finite(id)?;
                        sizes.push(self.absolute(x));
                    }
                    self.sum(sizes)
                }
                2.0 => {
                    let mut squares = Vec::with_capacity(row.elements.len());
                    for &(_, id) in row.elements {
                        let x = self.finite(id)?;
                        squares.push(self.times(&x, &x)?);
                    }
                    let sum = self.sum_of_squares(row, squares);
                    self.square_root(sum)
                }
                _ => return Some(None),
            },
            RowFunction::LogSumExp => {
                let sum = self.sum_of_exponentials(row)?;
                self.logarithm(&sum)?
            }
            RowFunction::LogSoftmax => {
                let sum = self.sum_of_exponentials(row)?;
                let logarithm = self.logarithm(&sum)?;
                let x = self.finite(row.elements.get(row.place)?.1)?;
                self.minus(x, &logarithm)
            }
            RowFunction::Softmax => {
                let share = self.shared(row, |elements| {
                    let sum = elements.sum_of_exponentials(row)?;
                    elements.inverse(&sum)
                })?;
                let exponential = self.exponential_of(row.elements.get(row.place)?.1)?;
                self.times(&exponential, &share)?
            }
            RowFunction::RmsNorm => {
                let eps = self.epsilon(&call)?;
                let scale = self.shared(row, |elements| {
                    let mut squares = Vec::with_capacity(row.elements.len());
                    for &(_, id) in row.elements {
                        let x = elements.finite(id)?;
                        squares.push(elements.times(&x, &x)?.scaled(&count.recip()));
                    }
                    let mean = elements.sum_of_squares(row, squares);
                    let mean = elements.plus_epsilon(mean, eps);
                    elements.inverse_root(mean)
                })?;
                let x = self.finite(row.elements.get(row.place)?.1)?;
                let normal = self.times(&x, &scale)?;
                self.scaled_and_shifted(normal, row)?
            }
            RowFunction::Variance if row.elements.len() <= MAX_ROW => {
                let divisor = count - BigRational::from_float(call.float("correction"))?;
                if divisor <= BigRational::default() {
                    return None;
                }
                self.deviations(row)?.scaled(&divisor.recip())
            }
            RowFunction::LayerNorm if row.elements.len() <= MAX_ROW => {
                let eps = self.epsilon(&call)?;
                let scale = self.shared(row, |elements| {
                    let variance = elements.deviations(row)?.scaled(&count.recip());
                    let sum = elements.plus_epsilon(variance, eps);
                    elements.inverse_root(sum)
                })?;
                let mean = self.total(row.elements)?.scaled(&count.recip());
                let x = self.finite(row.elements.get(row.place)?.1)?;
                let centred = self.minus(x, &mean);
                let normal = self.times(&centred, &scale)?;
                self.scaled_and_shifted(normal, row)?
            }
            RowFunction::Variance
            | RowFunction::LayerNorm
            | RowFunction::PlaceOfLargest
            | RowFunction::PlaceOfSmallest
            | RowFunction::Other => return Some(None),
        }))
    }

    /// What all elements of a result's row share, found once.
    fn shared(&mut self, row: &Row, find: impl FnOnce(&mut Self) -> Option<Form>) -> Option<Form> {
        if let Some(known) = self.rows.get(&row.key) {
            return Some(self.form(*known.first()?));
        }
        let found = find(self)?;
        let id = self.store.keep(found.clone());
        self.rows.insert(row.key, Rc::from([id]));
        Some(found)
    }

    fn total(&mut self, elements: &[(DType, FormId)]) -> Option<Form> {
        let all: Option<Vec<Form>> = elements.iter().map(|&(_, id)| self.finite(id)).collect();
        let all = all?;
        let signs = all.iter().map(|form| self.store.sign(form)).collect::<Vec<_>>();
        let sum = self.sum(all);
        let sum = self.whole_fractions(sum)?;
        self.store.learn(&sum, sign_of_sum(&signs));
        Some(sum)
    }

    /// The sum of the squares of a row's elements.
    fn sum_of_squares(&mut self, row: &Row, squares: Vec<Form>) -> Form {
        let is_real = row.elements.iter().all(|&(_, id)| self.store.is_real(self.store.form(id)));
        let sum = self.sum(squares);
        self.store.learn(&sum, if is_real { Sign::NotNegative } else { Sign::Unknown });
        sum
    }

    /// A sum of squares and the number above 0 that keeps it from 0.
    fn plus_epsilon(&mut self, squares: Form, epsilon: Form) -> Form {
        let signs = [self.store.sign(&squares), self.store.sign(&epsilon)];
        let sum = self.sum([squares, epsilon]);
        self.store.learn(&sum, sign_of_sum(&signs));
        sum
    }

    /// The largest element: minus infinity is none while there are others.
    fn largest_of(&mut self, elements: &[(DType, FormId)]) -> Option<Form> {
        let finite: Vec<Form> = elements.iter().filter_map(|&(_, id)| self.finite(id)).collect();
        if finite.is_empty() { None } else { Some(self.largest(finite)) }
    }

    fn smallest_of(&mut self, elements: &[(DType, FormId)]) -> Option<Form> {
        let finite: Option<Vec<Form>> = elements.iter().map(|&(_, id)| self.finite(id)).collect();
        Some(self.smallest(finite?))
    }

    fn product_of(&mut self, elements: &[(DType, FormId)]) -> Option<Form> {
        let mut product = Form::number(BigRational::one());
        for &(_, id) in elements {
            let factor = self.finite(id)?;
            product = self.times(&product, &factor)?;
        }
        Some(product)
    }

    fn exponential_of(&mut self, id: FormId) -> Option<Form> {
        match self.finite(id) {
            Some(x) => self.exponential(&x),
            None => Some(Form::default()),
        }
    }

    fn sum_of_exponentials(&mut self, row: &Row) -> Option<Form> {
        let mut all = Vec::with_capacity(row.elements.len());
        for &(_, id) in row.elements {
            all.push(self.exponential_of(id)?);
        }
        Some(self.sum(all))
    }

    /// The sum of the squares of what the elements are off their mean.
    fn deviations(&mut self, row: &Row) -> Option<Form> {
        if row.elements.len() > MAX_VARIANCE {
            let all: Option<Vec<Form>> = row.elements.iter().map(|&(_, id)| self.finite(id)).collect();
            let mut ids: Vec<FormId> = all?.into_iter().map(|form| self.store.keep(form)).collect();
            ids.sort_unstable();
            return Some(self.store.atom(Atom::Deviations(ids)));
        }
        let mean = self.total(row.elements)?.scaled(&BigRational::new(1.into(), row.elements.len().into()));
        let mut squares = Vec::with_capacity(row.elements.len());
        for &(_, id) in row.elements {
            let x = self.finite(id)?;
            let centred = self.minus(x, &mean);
            squares.push(self.times(&centred, &centred)?);
        }
        Some(self.sum_of_squares(row, squares))
    }

    fn epsilon(&mut self, call: &Call) -> Option<Form> {
        Some(Form::number(BigRational::from_float(call.float("eps"))?))
    }

    /// Times the weight, plus the bias, as far as there are any.
    fn scaled_and_shifted(&mut self, normal: Form, row: &Row) -> Option<Form> {
        let mut form = normal;
        if let Some(&(_, weight)) = row.others.first() {
            let weight = self.finite(weight)?;
            form = self.times(&form, &weight)?;
        }
        if let Some(&(_, bias)) = row.others.get(1) {
            let bias = self.finite(bias)?;
            form = self.sum([form, bias]);
        }
        Some(form)
    }

    /// An element of what fused attention gives.
    pub(super) fn attention(
        &mut self,
        term: super::TermId,
        applied: &Applied,
        index: &[usize],
        depth: usize,
    ) -> Option<Form> {
        let (&place, start) = index.split_last()?;
        let mut first = Shape::from_slice(start);
        first.push(0);
        let key = (term, flat_index(&applied.result.shape, &first));
        let weights = match self.rows.get(&key) {
            Some(known) => known.clone(),
            None => {
                let found: Rc<[FormId]> = self.attention_weights(applied, start, depth)?.into();
                self.rows.insert(key, found.clone());
                found
            }
        };
        let (_, batch) = start.split_last()?;
        let mut at = attention_key(&applied.call(), 2, batch);
        let last = at.len().checked_sub(1)?;
        at[last] = place;
        let mut sum = Vec::with_capacity(weights.len());
        for (n, &weight) in weights.iter().enumerate() {
            let weight = self.form(weight);
            at[last - 1] = n;
            let id = self.element(*applied.operands.get(2)?, &at, depth + 1)?;
            let value = self.finite(id)?;
            sum.push(self.times(&weight, &value)?);
        }
        Some(self.sum(sum))
    }

    /// The share of each key in the result for the query at `start`: batch, head and row.
    fn attention_weights(&mut self, applied: &Applied, start: &[usize], depth: usize) -> Option<Vec<FormId>> {
        let (call, operands) = (applied.call(), applied.operands);
        let (&row, batch) = start.split_last()?;
        let [q, k] = [*call.operands.first()?, *call.operands.get(1)?];
        let (&size, &keys) = (q.shape.last()?, k.shape.get(k.rank().checked_sub(2)?)?);
        let mut at_q = broadcast_index(&q.shape[..q.rank() - 2], batch);
        at_q.extend([row, 0]);
        let mut at_k = attention_key(&call, 1, batch);
        let [last_q, last_k] = [at_q.len() - 1, at_k.len().checked_sub(1)?];
        let scale = BigRational::from_float(call.float("scale"))?;
        let mut at = Shape::from_slice(start);
        at.push(0);
        let mut exponentials = Vec::with_capacity(keys);
        for key in 0..keys {
            at[start.len()] = key;
            let mask = match call.operands.get(3) {
                _ if call.bool("causal") && key > row => None,
                None => Some(Form::default()),
                Some(ty) => {
                    // Of a mask that is computed, only a run shows which keys it hides, and whether it leaves any: what comes of
                    // none is 0 here and NaN elsewhere.
                    let known = self.scope.known(*operands.get(3)?)?;
                    let value = known.value.at(ty, &broadcast_index(&ty.shape, &at));
                    if ty.dtype == DType::Bool {
                        value.is_true().then(Form::default)
                    } else {
                        self.tier = if known.exact { self.tier } else { Tier::Rounding };
                        let added = self.number(value)?;
                        let id = self.store.keep(added);
                        self.finite(id)
                    }
                }
            };
            at_k[last_k - 1] = key;
            let mut score: Vec<Form> = mask.iter().cloned().collect();
            for place in 0..size {
                (at_q[last_q], at_k[last_k]) = (place, place);
                let x = self.element(*operands.first()?, &at_q, depth + 1)?;
                let y = self.element(*operands.get(1)?, &at_k, depth + 1)?;
                let (x, y) = (self.finite(x)?, self.finite(y)?);
                score.push(self.times(&x, &y)?.scaled(&scale));
            }
            let score = self.sum(score);
            exponentials.push(match mask {
                Some(_) => self.exponential(&score)?,
                // A hidden key takes no part, unless its score may be NaN.
                None if self.store.is_real(&score) => Form::default(),
                None => return None,
            });
        }
        let sum = self.sum(exponentials.iter().cloned());
        // A query that sees no key gets zeros.
        let share = if sum.is_zero() { Form::default() } else { self.inverse(&sum)? };
        let mut weights = Vec::with_capacity(keys);
        for exponential in exponentials {
            let weight = self.times(&exponential, &share)?;
            weights.push(self.store.keep(weight));
        }
        Some(weights)
    }
}

/// What is known of a sum of formulas of which that is known.
pub(super) fn sign_of_sum(signs: &[Sign]) -> Sign {
    let least = signs.iter().copied().min().unwrap_or(Sign::NotNegative);
    let largest = signs.iter().copied().max().unwrap_or(Sign::NotNegative);
    if least >= Sign::NotNegative { largest } else { least }
}
