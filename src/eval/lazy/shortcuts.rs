//! What can be said of an element without computing all that its operator reads: most of a row of scores may be masked,
//! most of a row that is normalised may be 0.

use std::sync::Arc;

use smallvec::SmallVec;

use super::super::Interval;
use super::node::{Computation, Node, Operands};
use super::shortcut::Shortcut;
use super::{COMPUTED, LazyEvaluator, MOST_READ, squares_in, within};
use crate::eval::Program;
use crate::ir::{Number, Shape, flat_index};
use crate::ops::shapes::broadcast_index;
use crate::ops::{Arithmetic, Call, EvalError, Family, RowFunction, contraction};

/// Scores below the negative of this are those of masked keys.
const MASKED: f64 = 1e6;

/// What a number may be multiplied by and still not show beside it: f64 has 53 binary digits.
const HALF_A_DIGIT: f64 = 1.0 / (1_u64 << 54) as f64;

impl<'p, P: Program> LazyEvaluator<'p, P> {
    /// What an operator of two operands gives without looking at all of them. Never another value than the kernel's.
    pub(super) fn shortcut(
        &mut self,
        call: &Call,
        operands: &Operands<'p, P::Id>,
        index: &[usize],
    ) -> Result<Shortcut, EvalError> {
        if operands.iter().all(|o| o.interval.is_none()) {
            return Ok(Shortcut::None);
        }
        if call.op.family == Family::Linear {
            return Ok(match contraction(call, index) {
                Some(k) => Shortcut::Value(self.contract(operands, k)?),
                None => Shortcut::None,
            });
        }
        // Integers wrap around, so that bounds on real numbers say nothing of what is left out.
        if !call.operands.iter().all(|t| t.dtype.is_float()) {
            return Ok(Shortcut::None);
        }
        if call.op.family == Family::Conv {
            return self.convolved(call, operands, index);
        }
        if matches!(call.op.row_function(), RowFunction::Sum | RowFunction::Mean) {
            return self.few(call, &operands[0], index);
        }
        if call.op.arithmetic() != Arithmetic::Add {
            return Ok(Shortcut::None);
        }
        for (x, y) in [(0, 1), (1, 0)] {
            let Some(bounds) = operands[x].interval else { continue };
            let at = broadcast_index(&call.operands[y].shape, index);
            if bounds.is_zero() {
                // The sum with a 0 that the program names is no zero of negative sign, which the other operand may be.
                return Ok(if operands[x].is_literal() { Shortcut::None } else { Shortcut::Same(y, at) });
            }
            // A mask of -inf or the most negative number swallows a score that is less than half its last digit.
            let swallows = |mask: f64| mask.abs() * HALF_A_DIGIT > bounds.magnitude();
            if operands[y].interval.is_none_or(|i| swallows(i.magnitude())) {
                let value = self.read_real(&operands[y], &at)?;
                return Ok(if swallows(value) { Shortcut::Value(value.into()) } else { Shortcut::None });
            }
        }
        Ok(Shortcut::None)
    }

    /// The places along the last dimension of masked scores, through `index`, that softmax does not turn to 0: where the
    /// mask leaves a score as it is, and all others lie lower by so much that nothing of them is left. `None` where
    /// that is not known.
    pub(super) fn visible(
        &mut self,
        scores: &Node<'p, P::Id>,
        index: &[usize],
    ) -> Result<Option<Arc<[usize]>>, EvalError> {
        let Computation::Call(call) = &scores.kind else { return Ok(None) };
        if call.op.arithmetic() != Arithmetic::Add {
            return Ok(None);
        }
        let operands = self.operands(call);
        let bounds = |o: &Node<P::Id>| o.interval.map(Interval::magnitude);
        let (own, mask) = match (bounds(&operands[0]), bounds(&operands[1])) {
            (Some(x), Some(y)) if x <= y => (x, &operands[1]),
            (Some(_), Some(y)) => (y, &operands[0]),
            _ => return Ok(None),
        };
        let mut at = broadcast_index(&mask.ty.shape, index);
        let length = scores.ty.shape[index.len() - 1];
        let whole = |last: &usize| mask.ty.shape[*last] == length && length <= MOST_READ;
        let Some(last) = at.len().checked_sub(1).filter(whole) else { return Ok(None) };
        at[last] = 0;
        let key = (mask.number, flat_index(&mask.ty.shape, &at));
        if let Some((known, bound)) = self.visible_rows.get(&key)
            && *bound >= own
        {
            return Ok(known.clone());
        }
        let mut places = Vec::new();
        for place in 0..mask.ty.shape[last] {
            at[last] = place;
            let value = self.read_real(mask, &at)?;
            if value.abs() <= own {
                places.push(place);
            } else if -value <= 4.0 * own + 1e4 {
                // Neither hidden for certain nor seen for certain.
                places.clear();
                break;
            }
        }
        let places: Option<Arc<[usize]>> = (!places.is_empty()).then(|| places.into());
        self.visible_rows.insert(key, (places.clone(), own));
        Ok(places)
    }

    /// An element of softmax over the last dimension where only the scores at `visible` count.
    pub(super) fn softmax_of(
        &mut self,
        node: &Node<'p, P::Id>,
        scores: &Node<'p, P::Id>,
        index: &[usize],
        visible: &[usize],
    ) -> Result<Number, EvalError> {
        let last = index.len() - 1;
        if visible.binary_search(&index[last]).is_err() {
            self.spend(1)?;
            return Ok(Number::float(0.0));
        }
        let mut at: Shape = index.into();
        let mut values = Vec::with_capacity(visible.len());
        for &place in visible {
            self.spend(COMPUTED)?;
            at[last] = place;
            values.push(self.read_real(scores, &at)?);
        }
        let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = values.iter().map(|v| (v - largest).exp()).sum();
        let mut own = Number::ZERO;
        for (&place, value) in visible.iter().zip(values) {
            at[last] = place;
            let flat = flat_index(&node.ty.shape, &at);
            let value = self.stored(node.ty.dtype, Number::float((value - largest).exp() / sum))?;
            let value = self.disturb(node, flat, value)?;
            self.memo.insert((node.number, flat), value);
            if place == index[last] {
                own = value;
            }
        }
        Ok(own)
    }

    /// A sum or mean along one dimension in which few elements can be other than 0.
    fn few(&mut self, call: &Call, x: &Node<'p, P::Id>, index: &[usize]) -> Result<Shortcut, EvalError> {
        let &[dim] = call.ints("dim") else { return Ok(Shortcut::None) };
        let (axis, keeps) = (dim as usize, call.bool("keepdim"));
        let Some(places) = x.support.and_then(|s| s.dim(axis)) else { return Ok(Shortcut::None) };
        let mut at: Shape = index.into();
        if !keeps {
            at.insert(axis, 0);
        }
        let mut sum = 0.0;
        for &place in places.list() {
            at[axis] = place;
            sum += self.read_real(x, &at)?;
        }
        let length = if call.op.row_function() == RowFunction::Mean { x.ty.shape[axis] as f64 } else { 1.0 };
        Ok(Shortcut::Value(Number::float(sum / length)))
    }

    /// An element of a norm over the last dimension, if few elements of a row can be other than 0: the row itself
    /// is then not computed.
    pub(super) fn normalised(
        &mut self,
        call: &Call,
        node: &Node<'p, P::Id>,
        operands: &Operands<'p, P::Id>,
        index: &[usize],
    ) -> Result<Option<f64>, EvalError> {
        let centred = match call.op.row_function() {
            RowFunction::LayerNorm => true,
            RowFunction::RmsNorm => false,
            _ => return Ok(None),
        };
        let (x, last) = (&operands[0], index.len() - 1);
        let places = x.support.and_then(|s| s.dim(last));
        let (Some(places), 1) = (places, call.ints("normalized_shape").len()) else { return Ok(None) };
        self.spend(COMPUTED)?;
        let mut at: Shape = index.into();
        at[last] = 0;
        let key = (node.number, flat_index(&node.ty.shape, &at));
        let (mean, factor) = match self.rows.get(&key) {
            Some(&row) => row,
            None => {
                let mut values: SmallVec<[f64; 64]> = SmallVec::new();
                for &place in places.list() {
                    at[last] = place;
                    values.push(self.read_real(x, &at)?);
                }
                let length = x.ty.shape[last] as f64;
                let mean = if centred { values.iter().sum::<f64>() / length } else { 0.0 };
                let others = (length - values.len() as f64) * mean * mean;
                let squares = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() + others;
                if self.disturbance.is_some() {
                    within(squares_in(x.ty.dtype), squares)?;
                }
                let row = (mean, 1.0 / (squares / length + call.float("eps")).sqrt());
                self.rows.insert(key, row);
                row
            }
        };
        let mut value = (self.read_real(x, index)? - mean) * factor;
        if let Some(weight) = operands.get(1) {
            value *= self.read_real(weight, &index[last..])?;
        }
        if let Some(bias) = operands.get(2) {
            value += self.read_real(bias, &index[last..])?;
        }
        Ok(Some(value))
    }

    /// Whether softmax gives 0 here because an element at the end of the lane is larger by so much. The others need
    /// not be looked at, as they are finite.
    pub(super) fn vanishes(&mut self, x: &Node<'p, P::Id>, index: &[usize], axes: &[usize]) -> Result<bool, EvalError> {
        let &[axis] = axes else { return Ok(false) };
        // Only along another axis than the last are lanes dear.
        if x.interval.is_none() || axis + 1 == index.len() {
            return Ok(false);
        }
        let own = self.read_real(x, index)?;
        if own > -MASKED {
            return Ok(false);
        }
        let mut end: Shape = index.into();
        for place in [x.ty.shape[axis] - 1, 0] {
            end[axis] = place;
            // e^-800 is less than the smallest number.
            if self.read_real(x, &end)? > own + 800.0 {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
