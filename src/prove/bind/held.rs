//! What an expression holds, told from what its inputs hold: enough to say whether a stated binding agrees with the files.

use rustc_hash::FxHashMap;

use super::{Expression, Part};
use crate::ir::{AttrValue, Attrs, Content, Digest};
use crate::ops::{Movement, OpDef};

/// Digests of a tensor by its rows and, of a matrix, by its columns, as far as they are known.
#[derive(Clone)]
pub(super) struct Held {
    lists: [Option<Vec<Digest>>; 2],
}

impl Held {
    fn of(content: &Content) -> Held {
        let columns = (content.ty.rank() == 2).then(|| content.columns.clone());
        Held { lists: [Some(content.rows.clone()), columns] }
    }

    /// What `expression` holds, given what its inputs hold; `None` if it does more than move whole rows and columns.
    pub(super) fn by(expression: &Expression, inputs: &FxHashMap<usize, Content>) -> Option<Held> {
        let mut values: Vec<Option<Held>> = Vec::new();
        for part in expression.parts() {
            values.push(match part {
                Part::Input(i) => inputs.get(i).map(Held::of),
                Part::Apply { op, attrs, slot, operands } => {
                    let operands: Option<Vec<&Held>> = operands.iter().map(|&o| values.get(o)?.as_ref()).collect();
                    operands.and_then(|operands| apply(op, attrs, *slot, &operands))
                }
            });
        }
        values.into_iter().nth(expression.root())?
    }

    /// Whether this is what `content` holds; `None` if they are known in different ways.
    pub(super) fn is(&self, content: &Content) -> Option<bool> {
        let other = Held::of(content);
        self.lists.iter().zip(&other.lists).find_map(|(x, y)| Some(x.as_ref()? == y.as_ref()?))
    }

    /// The same with another list along `dim`; rows that are cut or joined have other digests.
    fn along(dim: usize, list: Option<Vec<Digest>>) -> Option<Held> {
        let mut lists = [None, None];
        *lists.get_mut(dim)? = Some(list?);
        Some(Held { lists })
    }
}

fn apply(op: &OpDef, attrs: &Attrs, slot: usize, operands: &[&Held]) -> Option<Held> {
    let attr = |name: &str| attrs.get(op.attr_index(name)?);
    let size = |name: &str| attr(name).and_then(AttrValue::as_int).and_then(|v| usize::try_from(v).ok());
    let first = *operands.first()?;
    let list = |dim: usize| first.lists.get(dim)?.as_ref();
    match op.movement()? {
        Movement::Stay => Some(first.clone()),
        Movement::Permute => match attr("dims")?.as_ints()? {
            [1, 0] => Some(Held { lists: [first.lists[1].clone(), first.lists[0].clone()] }),
            dims => dims.iter().copied().eq(0..dims.len() as i64).then(|| first.clone()),
        },
        Movement::Concat => {
            let dim = size("dim")?;
            let all: Option<Vec<&Vec<Digest>>> = operands.iter().map(|o| o.lists.get(dim)?.as_ref()).collect();
            Held::along(dim, all.map(|all| all.into_iter().flatten().copied().collect()))
        }
        Movement::Slice => {
            let (dim, start, end, step) = (size("dim")?, size("start")?, size("end")?, size("step")?);
            let part = list(dim)?.get(start..end)?;
            Held::along(dim, (step > 0).then(|| part.iter().step_by(step).copied().collect()))
        }
        Movement::Split => {
            let dim = size("dim")?;
            let sizes = attr("sizes")?.as_shape()?;
            let start: usize = sizes.get(..slot)?.iter().sum();
            Held::along(dim, list(dim)?.get(start..start + sizes.get(slot)?).map(<[Digest]>::to_vec))
        }
        Movement::Flip => match *attr("dims")?.as_ints()? {
            [dim] => {
                let dim = usize::try_from(dim).ok()?;
                Held::along(dim, Some(list(dim)?.iter().rev().copied().collect()))
            }
            _ => None,
        },
        Movement::Broadcast
        | Movement::Reshape
        | Movement::Repeat
        | Movement::Triangle(_)
        | Movement::Pattern
        | Movement::Index
        | Movement::Gather
        | Movement::Padded => None,
    }
}
