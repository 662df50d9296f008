//! Which operands could give a wanted result, for products of matrices and attention.

use super::operand_synthesis::{OperandSynthesis, tensor};
use crate::ir::{AttrValue, DType, Shape, TensorType};

impl OperandSynthesis<'_, '_> {
    pub(super) fn matmul(&mut self) -> Vec<TensorType> {
        let dtype = self.ty.dtype;
        let inner = self.known.iter().flatten().next().and_then(|t| t.shape.last().copied());
        let fresh = self.generator.size();
        let k = match (&self.known[0], inner) {
            (Some(_), Some(k)) if self.generator.random.chance(80) => k,
            _ => fresh,
        };
        let shape = self.ty.shape.clone();
        let rank = shape.len();
        let vector = self.generator.random.below(12);
        if vector == 1 && rank > 0 {
            let (batch, n) = (&shape[..rank - 1], shape[rank - 1]);
            let mut y = Shape::from_slice(batch);
            y.extend([k, n]);
            return vec![tensor(dtype, Shape::from_slice(&[k])), tensor(dtype, y)];
        }
        if rank < 2 || vector == 0 {
            let mut x = shape;
            x.push(k);
            return vec![tensor(dtype, x), tensor(dtype, Shape::from_slice(&[k]))];
        }
        let (batch, m, n) = (&shape[..rank - 2], shape[rank - 2], shape[rank - 1]);
        let mut x = Shape::from_slice(batch);
        let mut y = Shape::from_slice(batch);
        match self.generator.random.below(6) {
            0 | 1 => y.clear(),
            2 => x.clear(),
            3 => y.iter_mut().for_each(|d| *d = 1),
            _ => {}
        }
        x.extend([m, k]);
        y.extend([k, n]);
        vec![tensor(dtype, x), tensor(dtype, y)]
    }

    pub(super) fn linear(&mut self) -> Option<Vec<TensorType>> {
        let (&out, rows) = self.ty.shape.split_last()?;
        let known = |i: usize| self.known[i].as_ref().and_then(|t| t.shape.last().copied());
        let k = known(0).or(known(1)).unwrap_or_else(|| self.generator.size());
        let mut x = Shape::from_slice(rows);
        x.push(k);
        let mut types = vec![tensor(self.ty.dtype, x), tensor(self.ty.dtype, Shape::from_slice(&[out, k]))];
        if self.known.len() > 2 {
            types.push(tensor(self.ty.dtype, Shape::from_slice(&[out])));
        }
        Some(types)
    }

    pub(super) fn biased_product(&mut self, rank: usize) -> Option<Vec<TensorType>> {
        if self.ty.rank() != rank {
            return None;
        }
        let k = self.generator.size();
        let (mut x, mut w) = (self.ty.shape.clone(), self.ty.shape.clone());
        x[rank - 1] = k;
        w[rank - 2] = k;
        let dtype = self.ty.dtype;
        Some(vec![tensor(dtype, self.narrower()), tensor(dtype, x), tensor(dtype, w)])
    }

    pub(super) fn sdpa(&mut self) -> Option<Vec<TensorType>> {
        let rank = self.ty.rank();
        let heads = rank.checked_sub(2)?;
        let (batch, queries, values) = (&self.ty.shape[..heads], self.ty.shape[rank - 2], self.ty.shape[rank - 1]);
        let (keys, inner) = match &self.known[1] {
            Some(k) if k.rank() >= 2 => (k.shape[k.rank() - 2], k.shape[k.rank() - 1]),
            _ => (self.generator.size(), self.generator.size()),
        };
        let make = |batch: &[usize], a: usize, b: usize| {
            let mut shape = Shape::from_slice(batch);
            shape.extend([a, b]);
            tensor(self.ty.dtype, shape)
        };
        let mut shared = Shape::from_slice(batch);
        if self.fixed("grouped", None) != Some(AttrValue::Bool(false))
            && let Some(h) = shared.last_mut()
            && self.generator.random.chance(70)
        {
            let divisors: Vec<usize> = (1..=*h).filter(|d| h.is_multiple_of(*d)).collect();
            *h = self.generator.random.pick(&divisors)?;
        }
        let mut types = vec![make(batch, queries, inner), make(&shared, keys, inner), make(&shared, keys, values)];
        // Keys or values that more heads or batches share than share the other.
        if heads > 0 && self.generator.random.chance(20) {
            let other = &mut types[1 + self.generator.random.below(2)].shape;
            match self.generator.random.below(3) {
                0 => other[..heads].fill(1),
                1 => {
                    let most = batch[heads - 1];
                    let divisors: Vec<usize> = (1..=most).filter(|d| most.is_multiple_of(*d)).collect();
                    other[heads - 1] = self.generator.random.pick(&divisors).unwrap_or(1);
                }
                _ => {
                    other.remove(0);
                }
            }
        }
        if self.known.len() > 3 {
            let scores = make(batch, queries, keys).shape;
            let dtype = if self.generator.random.chance(50) { DType::Bool } else { self.ty.dtype };
            let shape = match self.generator.random.below(5) {
                0 => Shape::from_slice(&scores[heads..]),
                4 => scores.iter().map(|&d| if self.generator.random.chance(40) { 1 } else { d }).collect(),
                1 => scores.iter().enumerate().map(|(i, &d)| if i < heads { 1 } else { d }).collect(),
                _ => scores,
            };
            types.push(self.known[3].clone().unwrap_or(tensor(dtype, shape)));
        }
        Some(types)
    }
}
