//! Products of which most steps are with 0: those are left out.

use std::sync::Arc;

use super::node::{Computation, Node, Operands};
use super::shortcut::Shortcut;
use super::{LazyEvaluator, MOST_READ};
use crate::eval::Program;
use crate::eval::draw::Places;
use crate::ir::{Number, Shape, flat_index, unflatten};
use crate::ops::{Arithmetic, Call, Contraction, Elements, EvalError, Footprint, Line, Movement, RowFunction};

impl<'p, P: Program> LazyEvaluator<'p, P> {
    /// An element of a matrix product. Leaves out the steps where one side is 0 and the other is known to be finite.
    pub(super) fn contract(&mut self, operands: &Operands<'p, P::Id>, mut k: Contraction) -> Result<Number, EvalError> {
        let (x, y) = (&*operands[k.x.operand], &*operands[k.y.operand]);
        let finite = [x, y].map(|o| o.interval.is_some());
        // The places where either side is not 0, once it is known that all elements beside them are finite.
        let mut places = self.line(y, &k.y);
        if places.is_some() && !self.finite(x, &k.x)? {
            places = None;
        }
        if finite[1]
            && let Some(own) = self.line(x, &k.x)
        {
            places = Some(match places {
                Some(all) => all.into_iter().filter(|place| own.binary_search(place).is_ok()).collect(),
                None => own,
            });
        }
        if places.as_ref().map_or(k.length, smallvec::SmallVec::len) > MOST_READ {
            return Err(EvalError::Budget);
        }
        let mut sum = Number::ZERO;
        let mut step = |evaluator: &mut Self, place: usize| {
            k.x.index[k.x.axis] = place;
            k.y.index[k.y.axis] = place;
            // The side that may be skipped is read last.
            let product = if finite[1] {
                let value = evaluator.read(x, &k.x.index)?;
                if value.is_true() { value * evaluator.read(y, &k.y.index)? } else { Number::ZERO }
            } else {
                let value = evaluator.read(y, &k.y.index)?;
                if !value.is_true() && finite[0] { Number::ZERO } else { value * evaluator.read(x, &k.x.index)? }
            };
            sum = sum + product;
            Ok(())
        };
        match places {
            Some(places) => places.into_iter().try_for_each(|place| step(self, place))?,
            None => (0..k.length).try_for_each(|place| step(self, place))?,
        }
        k.finish(sum, |o, at| self.read(&operands[o], at))
    }

    /// An element of a convolution whose filters are 0 but for a few elements, over an input that is known to be finite.
    pub(super) fn convolved(
        &mut self,
        call: &Call,
        operands: &Operands<'p, P::Id>,
        index: &[usize],
    ) -> Result<Shortcut, EvalError> {
        let [x, w, bias @ ..] = &operands[..] else { return Ok(Shortcut::None) };
        let Computation::Drawn(draw) = &w.kind else { return Ok(Shortcut::None) };
        if w.ty.shape[1..].iter().product::<usize>() > MOST_READ {
            return Err(EvalError::Budget);
        }
        let Some(places) = draw.filter(w.ty, index[1]).filter(|_| x.interval.is_some()) else {
            return Ok(Shortcut::None);
        };
        let footprint = Footprint::new(call, index);
        let per_channel: usize = w.ty.shape[2..].iter().product();
        let channels = x.support.and_then(|s| s.dim(1));
        let mut sum = match bias.first() {
            Some(bias) => self.read_real(bias, &index[1..2])?,
            None => 0.0,
        };
        for place in places {
            // The channels of the input that are 0 are left out without a look at the filter.
            let channel = footprint.first_channel() + place / per_channel;
            if channels.is_some_and(|c| !c.contains(channel)) {
                continue;
            }
            let mut tap: Shape = [index[1]].into_iter().collect();
            tap.extend(unflatten(&w.ty.shape[1..], place));
            if let Some(cell) = footprint.cell(&tap) {
                sum += self.read_real(x, &cell)? * self.read_real(w, &tap)?;
            }
        }
        Ok(Shortcut::Value(sum.into()))
    }

    /// Whether all elements along a line are finite. Where bounds do not show it, they are computed, once.
    fn finite(&mut self, node: &Node<'p, P::Id>, line: &Line) -> Result<bool, EvalError> {
        if node.interval.is_some() {
            return Ok(true);
        }
        let mut index = line.index.clone();
        index[line.axis] = 0;
        let key = (node.number, line.axis, flat_index(&node.ty.shape, &index));
        if let Some(&known) = self.finite_lines.get(&key) {
            self.spend(1)?;
            return Ok(known);
        }
        let mut all = true;
        for place in 0..node.ty.shape[line.axis] {
            index[line.axis] = place;
            all &= self.read(node, &index)?.is_finite();
        }
        self.finite_lines.insert(key, all);
        Ok(all)
    }

    /// Where elements along a line can be other than 0, if those are few and known without looking.
    fn line(&mut self, node: &Node<'p, P::Id>, line: &Line) -> Option<Places> {
        if node.ty.shape[line.axis] > MOST_READ {
            return None;
        }
        if let Some(places) = self.drawn_line(node, line) {
            return Some(places);
        }
        if let Computation::Call(call) = &node.kind
            && call.op.row_function() == RowFunction::Softmax
            && line.axis + 1 == node.ty.rank()
            && call.attrs.first()?.as_int() == Some(line.axis as i64)
        {
            let scores = Arc::clone(&self.operands(call)[0]);
            return Some(self.visible(&scores, &line.index).ok()??.iter().copied().collect());
        }
        Some(node.support?.dim(line.axis)?.list().iter().copied().collect())
    }

    /// The same for what was drawn that way.
    fn drawn_line(&mut self, node: &Node<'p, P::Id>, line: &Line) -> Option<Places> {
        match &node.kind {
            Computation::Drawn(draw) => draw.line(node.ty, &line.index, line.axis),
            Computation::Call(call) => {
                let same = || (line.index.clone(), line.axis);
                let (index, axis) = match call.call().elements() {
                    Elements::Moved(_, Movement::Stay) => same(),
                    Elements::Placewise(Arithmetic::Cast) if node.ty.dtype.is_float() => same(),
                    Elements::Moved(_, Movement::Permute) => {
                        let dims = call.attrs.first()?.as_ints()?;
                        let mut index = line.index.clone();
                        for (&to, &at) in dims.iter().zip(&line.index) {
                            *index.get_mut(usize::try_from(to).ok()?)? = at;
                        }
                        (index, usize::try_from(*dims.get(line.axis)?).ok()?)
                    }
                    _ => return None,
                };
                let operand = self.node(*call.operands.first()?);
                self.drawn_line(&operand, &Line { operand: 0, index, axis })
            }
            _ => None,
        }
    }
}
