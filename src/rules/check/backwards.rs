//! Which operand types could give a wanted result: for every operator one way to choose.

use smallvec::SmallVec;

use super::super::vars::AttrVar;
use super::generator::Style;
use super::operand_synthesis::{OperandSynthesis, tensor};
use super::{limits, moves, places, views, windows};
use crate::ir::{AttrValue, DType, Ints, Shape, TensorType};
use crate::ops::shapes::broadcast;
use crate::ops::{Arity, AttrDef, AttrKind, Op, Synthesis};
use crate::rules::rule::AttrPattern;

impl OperandSynthesis<'_, '_> {
    /// One choice of operand types, with the attributes fixed to go with it.
    pub(super) fn operand_types(&mut self) -> Option<Vec<TensorType>> {
        let types = match self.op.synthesis {
            Synthesis::Broadcast if self.op.operands.iter().all(|o| o.arity == Arity::One) => {
                self.elementwise(self.ty.dtype)?
            }
            Synthesis::Broadcast => return None,
            Synthesis::Compare => {
                self.want_bool()?;
                let dtype = self.operand_dtype();
                self.elementwise(dtype)?
            }
            Synthesis::Negate => {
                self.want_bool()?;
                let dtype = if self.generator.random.chance(70) { DType::Bool } else { self.operand_dtype() };
                vec![tensor(dtype, self.ty.shape.clone())]
            }
            Synthesis::Choose => {
                let mut types = self.elementwise(self.ty.dtype)?;
                types[0].dtype = DType::Bool;
                types
            }
            Synthesis::Fill => {
                let mask = self.narrower();
                vec![self.ty.clone(), tensor(DType::Bool, mask), tensor(self.ty.dtype, Shape::new())]
            }
            Synthesis::Cast => {
                let dtype = self.cast_from()?;
                vec![tensor(dtype, self.ty.shape.clone())]
            }
            Synthesis::Softmax => self.softmax()?,
            Synthesis::Matmul => self.matmul(),
            Synthesis::Linear => self.linear()?,
            Synthesis::BiasedProduct { rank } => self.biased_product(rank)?,
            Synthesis::Attention => self.sdpa()?,
            Synthesis::Normalise => self.norm()?,
            Synthesis::NormaliseChannels { wide } => windows::by_channel(self, wide)?,
            Synthesis::Reduce => self.reduction()?,
            Synthesis::ReduceToPlace => views::reduced_to_place(self)?,
            Synthesis::Reshape => vec![views::reshape(self)?],
            Synthesis::Permute => vec![views::permute(self)?],
            Synthesis::Expand => vec![views::expand(self)?],
            Synthesis::Slice => vec![views::slice(self)?],
            Synthesis::Split => vec![views::split(self)?],
            Synthesis::Unsqueeze => vec![views::unsqueeze(self)?],
            Synthesis::Squeeze => vec![views::squeeze(self)?],
            Synthesis::Concat => views::concat(self)?,
            Synthesis::RepeatHeads => vec![views::repeat_heads(self)?],
            Synthesis::RepeatEntries => vec![views::repeat_entries(self)?],
            Synthesis::Flip => vec![moves::flip(self)?],
            Synthesis::Roll => vec![moves::roll(self)?],
            Synthesis::Pad => moves::pad(self)?,
            Synthesis::Differences => self.differences()?,
            Synthesis::Gather => self.gather()?,
            Synthesis::Embed => {
                let few = self.generator.size().max(4);
                let rows = self.generator.rows(few);
                let (&last, rest) = self.ty.shape.split_last()?;
                vec![
                    tensor(self.ty.dtype, Shape::from_slice(&[rows, last])),
                    tensor(DType::I64, Shape::from_slice(rest)),
                ]
            }
            Synthesis::Select => moves::select(self)?,
            Synthesis::Index => places::index(self)?,
            Synthesis::Scatter => places::scatter(self)?,
            Synthesis::AddSlices => places::add_slices(self)?,
            Synthesis::Put => places::put(self)?,
            Synthesis::Classes => moves::classes(self)?,
            Synthesis::Order => {
                let dim = self.ordered_dim()?;
                vec![self.ordered(dim, 0)?]
            }
            Synthesis::OrderFirst => self.first_ordered()?,
            Synthesis::ClassLoss => self.cross_entropy()?,
            Synthesis::Convolve { spatial } => windows::convolution(self, spatial)?,
            Synthesis::Pool => windows::pooling(self)?,
            Synthesis::Eigenvalues => {
                let mut shape = self.ty.shape.clone();
                shape.push(*shape.last()?);
                vec![tensor(self.ty.dtype, shape)]
            }
            Synthesis::Create => {
                if self.index_of("shape").is_some() {
                    self.set("shape", 0, AttrValue::shape(&self.ty.shape.clone()))?;
                }
                self.set("dtype", 0, AttrValue::DType(self.ty.dtype))?;
                Vec::new()
            }
        };
        let rank = types.first().map_or(0, TensorType::rank);
        self.open_attrs(rank)?;
        Some(types)
    }

    fn want_bool(&self) -> Option<()> {
        (self.ty.dtype == DType::Bool).then_some(())
    }

    /// Gives random values to the attributes that nothing has fixed.
    fn open_attrs(&mut self, rank: usize) -> Option<()> {
        for (at, def) in self.op.attrs.iter().enumerate() {
            let op = Op::Table(self.op);
            if self.generator.attr(&op, at, &self.attrs[at], Some(rank)).is_none() {
                let var = if let AttrPattern::Var(v) = self.attrs[at] { Some(v) } else { None };
                let value = self.any_value(def, var, rank);
                self.generator.set_attr(&op, at, &self.attrs[at], rank, value)?;
            } else if let AttrPattern::Var(_) = self.attrs[at] {
                let value = self.generator.attr(&op, at, &self.attrs[at], Some(rank))?;
                self.generator.set_attr(&op, at, &self.attrs[at], rank, value)?;
            }
        }
        Some(())
    }

    fn any_value(&mut self, def: &AttrDef, var: Option<AttrVar>, rank: usize) -> AttrValue {
        if def.kind == AttrKind::Number && self.ty.dtype.is_int() && self.generator.style != Style::Usual {
            let random = &mut self.generator.random;
            return AttrValue::Int(limits::whole(random) + random.below(3) as i64 - 1);
        }
        let random = &mut self.generator.random;
        match def.kind {
            AttrKind::Bool => AttrValue::Bool(random.chance(50)),
            AttrKind::Int => AttrValue::Int(self.generator.integer(var)),
            AttrKind::Dim => AttrValue::Int(random.below(rank) as i64),
            AttrKind::Float | AttrKind::Number => AttrValue::float(self.generator.number(var)),
            AttrKind::DType => {
                if self.op.synthesis == Synthesis::Cast {
                    AttrValue::DType(self.ty.dtype)
                } else {
                    AttrValue::None
                }
            }
            AttrKind::Str => match def.name {
                "approximate" if random.chance(50) => AttrValue::str("tanh"),
                _ => def.default.value().unwrap_or(AttrValue::str("none")),
            },
            AttrKind::Ints | AttrKind::Dims => AttrValue::Ints(Ints::new()),
        }
    }

    /// Operands that broadcast to the wanted shape.
    fn elementwise(&mut self, dtype: DType) -> Option<Vec<TensorType>> {
        let mut shape = Shape::new();
        let mut types = Vec::new();
        for i in 0..self.known.len() {
            let operand = match (&self.known[i], self.scalars[i]) {
                (Some(known), _) => known.clone(),
                (None, true) => tensor(dtype, Shape::new()),
                (None, false) => tensor(dtype, self.narrower()),
            };
            shape = broadcast(&shape, &operand.shape)?;
            types.push(operand);
        }
        // Someone has to have the full shape: the first operand that is open.
        if shape != self.ty.shape
            && let Some(i) = (0..types.len()).find(|&i| self.known[i].is_none() && !self.scalars[i])
        {
            types[i].shape.clone_from(&self.ty.shape);
        }
        Some(types)
    }

    fn cast_from(&mut self) -> Option<DType> {
        self.set("dtype", 0, AttrValue::DType(self.ty.dtype))?;
        Some(self.operand_dtype())
    }

    fn softmax(&mut self) -> Option<Vec<TensorType>> {
        let dtype = match self.fixed("dtype", None) {
            Some(AttrValue::None) => self.ty.dtype,
            _ if self.generator.random.chance(40) => {
                self.set("dtype", 0, AttrValue::None)?;
                self.ty.dtype
            }
            _ => {
                self.set("dtype", 0, AttrValue::DType(self.ty.dtype))?;
                self.operand_dtype()
            }
        };
        Some(vec![tensor(dtype, self.ty.shape.clone())])
    }

    fn norm(&mut self) -> Option<Vec<TensorType>> {
        let rank = self.ty.rank();
        let last = match self.fixed("normalized_shape", None) {
            Some(AttrValue::Ints(shape)) => shape.len(),
            _ if self.generator.random.chance(70) => 1,
            _ => 1 + self.generator.random.below(rank),
        };
        let normal = Shape::from_slice(self.ty.shape.get(rank.checked_sub(last)?..)?);
        self.set("normalized_shape", rank, AttrValue::shape(&normal))?;
        let mut types = vec![self.ty.clone()];
        types.extend((1..self.known.len()).map(|_| tensor(self.ty.dtype, normal.clone())));
        Some(types)
    }

    fn reduction(&mut self) -> Option<Vec<TensorType>> {
        let keep = match self.fixed("keepdim", None).and_then(|k| k.as_bool()) {
            Some(keep) => keep,
            None => self.generator.random.chance(50),
        };
        let known = self.known[0].clone();
        let rank = self.ty.rank();
        let total = match (&known, self.fixed("dim", None)) {
            (Some(t), _) => t.rank(),
            (None, Some(AttrValue::Ints(d))) if !keep => rank + d.len(),
            (None, _) if keep => rank,
            _ => rank + 1 + self.generator.random.below(2),
        };
        let dims: SmallVec<[usize; 4]> = match self.fixed("dim", Some(total)) {
            Some(AttrValue::Ints(d)) => d.iter().map(|&d| usize::try_from(d).ok()).collect::<Option<_>>()?,
            _ if keep => (0..rank).filter(|&d| self.ty.shape[d] == 1).collect(),
            _ => {
                let mut dims = self.generator.random.shuffled(total);
                dims.truncate(total.checked_sub(rank)?);
                dims.sort_unstable();
                dims.into()
            }
        };
        self.set("keepdim", total, AttrValue::Bool(keep))?;
        self.set("dim", total, AttrValue::Ints(dims.iter().map(|&d| d as i64).collect()))?;
        let dtype = self.dtype_of_known().unwrap_or(self.ty.dtype);
        if let Some(known) = known {
            return Some(vec![known]);
        }
        let mut sizes = self.ty.shape.iter();
        let mut shape = Shape::new();
        for d in 0..total {
            let size = self.generator.size();
            let kept = if keep || !dims.contains(&d) { Some(*sizes.next()?) } else { None };
            shape.push(match kept {
                Some(kept) if !dims.contains(&d) => kept,
                Some(1) | None => size,
                Some(_) => return None,
            });
        }
        Some(vec![tensor(dtype, shape)])
    }

    fn gather(&mut self) -> Option<Vec<TensorType>> {
        let rank = self.ty.rank();
        let dim = match self.fixed("dim", Some(rank)).and_then(|d| d.as_int()) {
            Some(d) => usize::try_from(d).ok().filter(|&d| d < rank)?,
            None => self.generator.random.below(rank),
        };
        self.set("dim", rank, AttrValue::Int(dim as i64))?;
        let mut shape = self.ty.shape.clone();
        // Places may leave out the ends of other dims.
        if self.generator.random.chance(places::PARTIAL) {
            shape.iter_mut().for_each(|size| *size += self.generator.random.below(2));
        }
        // Random indices lie in 0..=3.
        *shape.get_mut(dim)? = 4 + self.generator.random.below(2);
        Some(vec![tensor(self.ty.dtype, shape), tensor(DType::I64, self.ty.shape.clone())])
    }

    fn cross_entropy(&mut self) -> Option<Vec<TensorType>> {
        let reduction = self.fixed("reduction", None).unwrap_or(AttrValue::str("mean"));
        self.set("reduction", 0, reduction.clone())?;
        let target =
            if reduction == AttrValue::str("none") { self.ty.shape.clone() } else { self.generator.any_shape() };
        let mut shape = target.clone();
        shape.insert(1.min(target.len()), 4 + self.generator.random.below(2));
        Some(vec![tensor(self.ty.dtype, shape), tensor(DType::I64, target)])
    }

    fn differences(&mut self) -> Option<Vec<TensorType>> {
        let rank = self.ty.rank();
        let dim = match self.fixed("dim", Some(rank)).and_then(|d| d.as_int()) {
            Some(d) => usize::try_from(d).ok().filter(|&d| d < rank)?,
            None => self.generator.random.below(rank),
        };
        self.set("dim", rank, AttrValue::Int(dim as i64))?;
        let order = match self.fixed("n", None).and_then(|n| n.as_int()) {
            Some(order) => order,
            None => self.generator.count(|random| 1 + random.below(2) as i64),
        };
        self.set("n", rank, AttrValue::Int(order))?;
        let mut shape = self.ty.shape.clone();
        let size = shape.get_mut(dim)?;
        *size = size.checked_add(usize::try_from(order).ok()?)?;
        // What stands in front makes up for part of it.
        if self.known.len() > 1 {
            let mut before = shape.clone();
            before[dim] = self.generator.random.below(shape[dim] + 1);
            shape[dim] -= before[dim];
            return Some(vec![tensor(self.ty.dtype, shape), tensor(self.ty.dtype, before)]);
        }
        Some(vec![tensor(self.ty.dtype, shape)])
    }

    fn ordered_dim(&mut self) -> Option<usize> {
        let rank = self.ty.rank();
        let dim = match self.fixed("dim", Some(rank)).and_then(|d| d.as_int()) {
            Some(d) => usize::try_from(d).ok().filter(|&d| d < rank)?,
            None => self.generator.random.below(rank),
        };
        self.set("dim", rank, AttrValue::Int(dim as i64))?;
        Some(dim)
    }

    fn first_ordered(&mut self) -> Option<Vec<TensorType>> {
        let dim = self.ordered_dim()?;
        let chosen = *self.ty.shape.get(dim)?;
        self.set("k", self.ty.rank(), AttrValue::Int(chosen as i64))?;
        let others = self.generator.random.below(3);
        Some(vec![self.ordered(dim, others)?])
    }

    /// The operand of an operator that gives values or places in order, `others` of them besides.
    fn ordered(&mut self, dim: usize, others: usize) -> Option<TensorType> {
        let mut shape = self.ty.shape.clone();
        *shape.get_mut(dim)? += others;
        let dtype = if self.slot == 1 { self.operand_dtype() } else { self.ty.dtype };
        Some(tensor(dtype, shape))
    }
}
