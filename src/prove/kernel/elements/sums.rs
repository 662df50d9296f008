//! Elements that are sums: of products, and of elements times numbers.

use num_rational::BigRational;
use smallvec::SmallVec;

use super::form::{Form, FormId};
use super::formulas::{Formulas, SIZE_PER_ELEMENT};
use super::mode::Mode;
use super::scope::Applied;
use crate::ir::{DType, Number, Shape};
use crate::ops::{EvalError, Moved, contraction};
use crate::rules::Tier;

/// Elements that a weighted sum may have: every weight takes a pass over all of them.
const MAX_WEIGHTS: usize = 64;

/// What is a smaller part of the largest weight is rounding of f64.
const RESIDUE: f64 = 1.0 / (1_u64 << 48) as f64;

impl Formulas<'_> {
    pub(super) fn contracted(&mut self, applied: &Applied, index: &[usize], depth: usize) -> Option<Form> {
        let call = applied.call();
        let Some(mut line) = contraction(&call, index) else { return self.convolved(applied, index, depth) };
        // Not as many as the line is long: the budget ends long ones.
        let mut factors = Vec::new();
        for step in 0..line.length {
            line.x.index[line.x.axis] = step;
            line.y.index[line.y.axis] = step;
            for side in [&line.x, &line.y] {
                let id = self.element(*applied.operands.get(side.operand)?, &side.index, depth + 1)?;
                factors.push((call.operands[side.operand].dtype, id));
            }
        }
        let bias = match &line.bias {
            Some((operand, at, factor)) => {
                Some((self.element(*applied.operands.get(*operand)?, at, depth + 1)?, *operand, *factor))
            }
            None => None,
        };
        if self.way.mode != Mode::Operators && applied.result.dtype.is_float() {
            let sum = self.sum_of_products(&factors, line.alpha, bias.map(|(id, _, factor)| (id, factor)))?;
            if let Some(sum) = sum.filter(|sum| !self.vanishes(sum)) {
                return Some(sum);
            }
        }
        if self.way.mode == Mode::Products {
            let bias = bias.map(|(id, operand, factor)| (call.operands[operand].dtype, id, factor));
            let sum = self.sum_of_integer_products(&factors, line.alpha, bias, applied.result.dtype)?;
            if sum.is_some() {
                return sum;
            }
        }
        if let Some((id, operand, _)) = bias {
            factors.push((call.operands[operand].dtype, id));
        }
        Some(self.applied(applied, factors, &[]))
    }

    /// An element of the result of a convolution: its semantics read an element and what it is multiplied with in turn.
    fn convolved(&mut self, applied: &Applied, index: &[usize], depth: usize) -> Option<Form> {
        let (call, limit) = (applied.call(), self.left);
        let (mut pairs, mut bias): (Vec<(usize, Shape)>, _) = (Vec::new(), None);
        let mut fetch = |operand: usize, at: &[usize]| {
            match operand {
                2 => bias = Some(Shape::from_slice(at)),
                _ => pairs.push((operand, at.into())),
            }
            if pairs.len() / 2 > limit { Err(EvalError::Budget) } else { Ok(Number::float(0.0)) }
        };
        applied.op.kernel.compute(&call, applied.slot as usize, index, &mut fetch).ok()?;
        let mut factors = Vec::with_capacity(pairs.len());
        for (n, (operand, at)) in pairs.iter().enumerate() {
            if *operand != n % 2 {
                return None;
            }
            factors.push((applied.result.dtype, self.element(*applied.operands.get(*operand)?, at, depth + 1)?));
        }
        let bias = match (bias, applied.operands.get(2)) {
            (Some(at), Some(&term)) => Some((self.element(term, &at, depth + 1)?, Number::Int(1))),
            _ => None,
        };
        self.sum_of_products(&factors, Number::Int(1), bias)?
    }

    /// The sum of the products of each two `factors`, times `alpha`, and of the bias times its factor; nothing where those are
    /// no real numbers, and no answer where it takes too much.
    pub(super) fn sum_of_products(
        &mut self,
        factors: &[(DType, FormId)],
        alpha: Number,
        bias: Option<(FormId, Number)>,
    ) -> Option<Option<Form>> {
        let Some(alpha) = BigRational::from_float(alpha.to_f64()) else { return Some(None) };
        let mut products = Vec::with_capacity(factors.len() / 2 + 1);
        for pair in factors.chunks_exact(2) {
            let [x, y] = [self.finite(pair[0].1)?, self.finite(pair[1].1)?];
            self.spend(1 + (x.size() + y.size()) / SIZE_PER_ELEMENT)?;
            let product = match self.way.mode {
                Mode::Reals => self.times(&x, &y)?,
                _ => self.store.product(x, y),
            };
            products.push(product.scaled(&alpha));
        }
        if let Some((id, factor)) = bias {
            let Some(factor) = BigRational::from_float(factor.to_f64()) else { return Some(None) };
            products.push(self.finite(id)?.scaled(&factor));
        }
        let sum = self.sum(products);
        Some(Some(if self.way.mode == Mode::Reals { self.whole_fractions(sum)? } else { sum }))
    }

    /// A sum of elements, each times the number that the operator's own semantics give it: what comes out if that element is
    /// 1 and all others are 0.
    pub(super) fn weighted(&mut self, applied: &Applied, added: Moved, index: &[usize], depth: usize) -> Option<Form> {
        let (call, slot, scope) = (applied.call(), applied.slot as usize, self.scope);
        // What each pass over the places costs.
        let pass = 1 + (call.op.reads)(&call, 1) / SIZE_PER_ELEMENT;
        self.spend(pass)?;
        let known = |operand: usize, at: &[usize]| {
            let term = applied.operands.get(operand).ok_or(EvalError::IndexOutOfRange)?;
            let known = scope.known(*term).filter(|known| known.exact).ok_or(EvalError::Budget)?;
            Ok(known.value.at(scope.ty(*term), at))
        };
        let mut read: Vec<(usize, Shape)> = Vec::new();
        let mut record = |operand: usize, at: &[usize]| {
            if !added.contains(operand) {
                return known(operand, at);
            }
            if !read.iter().any(|(o, known)| *o == operand && known[..] == *at) {
                read.push((operand, at.into()));
            }
            if read.len() > MAX_WEIGHTS { Err(EvalError::Budget) } else { Ok(Number::float(0.0)) }
        };
        // Where the element stands among those that are computed at once.
        let shape = &applied.result.shape;
        let axes = call.op.kernel.axes(&call).unwrap_or_default();
        let position = axes.iter().fold(0, |position, &axis| position * shape[axis] + index[axis]);
        let value = |values: SmallVec<[Number; 1]>| values.get(position).map(|v| v.to_f64());
        let nothing = value(call.op.kernel.compute(&call, slot, index, &mut record).ok()?)?;
        if nothing != 0.0 {
            return None;
        }
        // Of all weights that these elements have in the results that are computed at once.
        let mut largest = 0.0;
        let mut sum = Vec::with_capacity(read.len());
        for (operand, at) in &read {
            self.spend(read.len().max(pass))?;
            let mut single = |o: usize, place: &[usize]| match added.contains(o) {
                true => Ok(Number::float(f64::from(u8::from(o == *operand && *place == at[..])))),
                false => known(o, place),
            };
            let results = call.op.kernel.compute(&call, slot, index, &mut single).ok()?;
            largest = results.iter().map(|result| result.to_f64().abs()).fold(largest, f64::max);
            let weight = value(results)?;
            let id = self.element(*applied.operands.get(*operand)?, at, depth + 1)?;
            sum.push((weight, self.finite(id)?));
        }
        let mut products = Vec::with_capacity(sum.len());
        for (weight, form) in sum {
            // As the sine of half a turn is in f64.
            let is_residue = weight.abs() < largest * RESIDUE && weight != 0.0;
            if is_residue && self.way.rounds && self.store.is_real(&form) {
                self.tier = Tier::Rounding;
            } else {
                let weight = self.weight(weight)?;
                products.push(form.scaled(&weight));
            }
        }
        Some(self.sum(products))
    }

    /// The number that the reference semantics give as a weight. Parts of a whole, as in a mean, are known exactly; others are
    /// as near as f64 comes.
    fn weight(&mut self, weight: f64) -> Option<BigRational> {
        let whole = (1.0 / weight).round();
        if weight != 0.0 && 1.0 / whole == weight {
            return Some(BigRational::from_float(whole)?.recip());
        }
        if weight.fract() != 0.0 {
            self.tier = Tier::Rounding;
        }
        BigRational::from_float(weight)
    }
}
