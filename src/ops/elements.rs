//! How the elements of an operator's result come from those of its operands.

use smallvec::SmallVec;

use super::{Arithmetic, AttrKind, Call, Draws, Family, LayoutRule, Movement, OpDef, RowFunction};

/// What is known of where the elements of a result come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elements {
    /// Nothing.
    Unknown,
    /// Every element is one of these operands', or a number; the other operands say which one.
    Moved(Moved, Movement),
    /// An element depends on the elements at its place.
    Placewise(Arithmetic),
    /// An element depends on those along some dimensions of operand 0, its lane, and on its place along these.
    Lane(RowFunction),
    /// A product of matrices.
    Product,
    Convolution,
    /// Fused attention.
    Attention,
    /// 1 at the place along the last dimension that an element of operand 0 names, 0 elsewhere.
    OneHot,
    /// A sum of elements of these operands times numbers that depend on the place, and on what the other operands hold.
    Weighted(Moved),
}

/// Which operands have elements that are moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    All,
    First,
    ButFirst,
    FirstTwo,
    ButSecond,
}

impl Moved {
    pub fn contains(self, operand: usize) -> bool {
        match self {
            Moved::All => true,
            Moved::First => operand == 0,
            Moved::ButFirst => operand > 0,
            Moved::FirstTwo => operand < 2,
            Moved::ButSecond => operand != 1,
        }
    }
}

impl OpDef {
    /// The function of elements at one place that it is; [`Arithmetic::Other`] of operators that are none.
    pub fn arithmetic(&self) -> Arithmetic {
        match self.elements {
            Elements::Placewise(arithmetic) => arithmetic,
            _ => Arithmetic::Other,
        }
    }

    /// Where it moves elements to, if it moves them and never draws.
    pub fn movement(&self) -> Option<Movement> {
        match self.elements {
            Elements::Moved(_, movement) if self.draws == Draws::Never => Some(movement),
            _ => None,
        }
    }

    /// Whether the result may lie in the memory of operand 0.
    pub fn may_alias(&self) -> bool {
        self.is_view_or_cast() || matches!(self.layout, LayoutRule::View(_))
    }

    /// Whether it gives operand 0 in another shape, order or element type.
    pub fn is_view_or_cast(&self) -> bool {
        self.family == Family::View || self.arithmetic() == Arithmetic::Cast
    }

    /// The function of lanes that it is; [`RowFunction::Other`] of operators that are none.
    pub fn row_function(&self) -> RowFunction {
        match self.elements {
            Elements::Lane(function) => function,
            _ => RowFunction::Other,
        }
    }
}

impl Call<'_> {
    /// Where the elements of the result come from. What is drawn has elements of its own.
    pub fn elements(&self) -> Elements {
        match self.op.elements {
            _ if self.is_chance() => Elements::Unknown,
            // What is not added takes the place of what was there.
            Elements::Weighted(moved) if self.op.attr_index("accumulate").is_some() && !self.bool("accumulate") => {
                Elements::Moved(moved, Movement::Gather)
            }
            elements => elements,
        }
    }

    /// Whether the result is chance.
    pub fn is_chance(&self) -> bool {
        match self.op.draws {
            Draws::Never => false,
            Draws::Where(switch) => self.bool(switch),
            Draws::Memory => true,
        }
    }

    /// The dimensions of operand 0 that a lane runs along, in ascending order.
    pub fn lane_dims(&self) -> Option<SmallVec<[usize; 4]>> {
        let rank = self.operands.first()?.rank();
        if self.op.attr_index("normalized_shape").is_some() {
            return Some((rank.checked_sub(self.ints("normalized_shape").len())?..rank).collect());
        }
        if self.op.attrs.iter().any(|attr| matches!(attr.kind, AttrKind::Dim)) {
            return Some(self.dim_axis());
        }
        let mut dims = self.dims("dim").ok()?;
        // A single number has no dimension, whatever the attribute says.
        dims.retain(|&mut d| d < rank);
        dims.sort_unstable();
        Some(dims)
    }

    /// Whether an operator over lanes gives one element for each lane.
    pub fn reduces_lanes(&self) -> bool {
        self.op.attr_index("keepdim").is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::EvalError;
    use crate::ir::{AttrValue, DType, Number, Shape, TensorType, unflatten};
    use crate::ops::shapes::broadcast_index;
    use crate::ops::{OpDef, all};

    /// Checks a call of an operator on tensors of these types, if its attributes have defaults or are dimensions. Whether there was one.
    fn with_call(op: &'static OpDef, types: &[&TensorType], check: impl Fn(&Call)) -> bool {
        let value = |attr: &crate::ops::AttrDef| match attr.kind {
            _ if attr.default.value().is_some() => attr.default.value(),
            AttrKind::Dim => Some(AttrValue::Int(1)),
            AttrKind::Dims => Some(AttrValue::Ints([1].into_iter().collect())),
            _ if attr.name == "normalized_shape" => Some(AttrValue::Ints([4].into_iter().collect())),
            _ => None,
        };
        let Some(attrs) = op.attrs.iter().map(value).collect::<Option<Vec<_>>>() else { return false };
        let call = Call { op, attrs: &attrs, operands: types };
        let accepted = call.infer().is_ok();
        if accepted {
            check(&call);
        }
        accepted
    }

    /// What a call reads for each element of its first result.
    fn reads(call: &Call) -> Vec<(Shape, Vec<(usize, Shape)>)> {
        let result = call.infer().unwrap().swap_remove(0);
        let all = (0..result.numel()).filter_map(|flat| {
            let index = unflatten(&result.shape, flat);
            let mut read = Vec::new();
            let mut fetch = |operand: usize, at: &[usize]| -> Result<Number, EvalError> {
                read.push((operand, Shape::from_slice(at)));
                Ok(Number::float(0.5))
            };
            call.op.kernel.compute(call, 0, &index, &mut fetch).ok()?;
            Some((index, read))
        });
        all.collect()
    }

    #[test]
    fn operators_read_what_their_entries_say() {
        let ty = TensorType::new(DType::F64, Shape::from_slice(&[2, 3, 4])).unwrap();
        let mut seen = Vec::new();
        for op in all() {
            let types = vec![&ty; op.operands.len()];
            let check = |call: &Call| {
                for (index, read) in reads(call) {
                    for (operand, at) in &read {
                        let right = match call.elements() {
                            Elements::Placewise(_) => at == &broadcast_index(&call.operands[*operand].shape, &index),
                            Elements::Lane(_) if *operand == 0 => {
                                let lane = call.lane_dims().unwrap();
                                let mut kept = (0..3).filter(|d| !lane.contains(d));
                                match call.reduces_lanes() && !call.bool("keepdim") {
                                    true => kept.zip(&index).all(|(d, &i)| at[d] == i),
                                    false => kept.all(|d| at[d] == index[d]),
                                }
                            }
                            Elements::Moved(moved, _) => {
                                read.iter().filter(|(operand, _)| moved.contains(*operand)).count() <= 1
                            }
                            _ => true,
                        };
                        assert!(right, "{} reads {at:?} of operand {operand} for {index:?}", op.name);
                    }
                }
            };
            if (1..=types.len()).rev().any(|count| with_call(op, &types[..count], check)) {
                seen.push(op.name);
            }
        }
        for name in ["exp", "add", "softmax", "sum", "cumsum", "layer_norm", "flip"] {
            assert!(seen.contains(&name), "{name}: {seen:?}");
        }
        assert!(seen.len() > 80, "{}", seen.len());
    }
}
