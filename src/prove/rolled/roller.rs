//! The form of a loop over all of its steps: a proposal, which nothing has proven.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::super::arena::{TermArena, TermId};
use super::at_steps::{AtSteps, Expression, Operands};
use super::views::{ints, moved, permuted, reshaped, sliced};
use crate::ir::{AttrValue, Attrs};
use crate::ops::{self, Arithmetic, AttrKind, Elements, Movement, Op};

/// An expression as a whole, and what it reads: all values of each operand, and as a whole.
type Read = (AtSteps, Vec<(Operands, AtSteps)>);

pub(super) struct Roller<'a> {
    arena: &'a mut TermArena,
    steps: usize,
    known: FxHashMap<Operands, Option<AtSteps>>,
    expressions: Vec<Expression>,
}

impl Roller<'_> {
    pub(super) fn new(arena: &mut TermArena, steps: usize) -> Roller<'_> {
        Roller { arena, steps, known: FxHashMap::default(), expressions: Vec::new() }
    }

    /// Values that differ, one for each step.
    pub(super) fn whole(mut self, values: &[TermId]) -> Option<(TermId, usize, Vec<Expression>)> {
        match self.at_steps(values)? {
            AtSteps::Along(all, along) if self.steps > 1 => Some((all, along, self.expressions)),
            _ => None,
        }
    }

    fn at_steps(&mut self, values: &[TermId]) -> Option<AtSteps> {
        let &first = values.first()?;
        if values.iter().all(|&v| v == first) {
            return Some(AtSteps::Same(first));
        }
        let key = Operands::from_slice(values);
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let found = self.parts(values).or_else(|| self.applied(values));
        let found = found.map(|(whole, read)| {
            self.expressions.push(Expression { values: key.clone(), read, whole });
            whole
        });
        self.known.insert(key, found);
        found
    }

    /// Parts of one tensor that follow each other: its dimension becomes two.
    fn parts(&mut self, values: &[TermId]) -> Option<Read> {
        let parts: Vec<Part> = values.iter().map(|&v| Part::of(self.arena, v)).collect::<Option<_>>()?;
        let first = &parts[0];
        let size = first.end - first.start;
        let follow = parts.iter().zip(0..).all(|(part, step)| {
            let start = first.start + step * size;
            (part.of, part.dim, part.start, part.end) == (first.of, first.dim, start, start + size)
        });
        let (dim, end) = (first.dim, first.start + self.steps as i64 * size);
        let mut shape = ints(&self.arena.ty(first.of).shape);
        let mut all = first.of;
        if !follow || size == 0 {
            return None;
        }
        if (first.start, end) != (0, shape[dim]) {
            all = sliced(self.arena, all, dim, first.start, end)?;
        }
        shape[dim] = size;
        shape.insert(dim, self.steps as i64);
        let read = (SmallVec::from_elem(first.of, self.steps), AtSteps::Same(first.of));
        Some((AtSteps::Along(reshaped(self.arena, all, &shape)?, dim), vec![read]))
    }

    /// One operator over the values of its operands at all steps.
    fn applied(&mut self, values: &[TermId]) -> Option<Read> {
        let (op, attrs, slot) = self.arena.op(values[0])?;
        let (op, attrs, slot) = (op.clone(), attrs.clone(), slot);
        let def = op.def()?;
        let is_alike = |&v: &TermId| self.arena.op(v) == Some((&op, &attrs, slot));
        let count = self.arena.term(values[0]).operands.len();
        if !values.iter().all(is_alike) || values.iter().any(|&v| self.arena.term(v).operands.len() != count) {
            return None;
        }
        let columns: Vec<Operands> =
            (0..count).map(|place| values.iter().map(|&v| self.arena.term(v).operands[place]).collect()).collect();
        let at_steps: SmallVec<[AtSteps; 4]> =
            columns.iter().map(|column| self.at_steps(column)).collect::<Option<_>>()?;
        let one = values[0];
        let (shape, rank) = (ints(&self.arena.ty(one).shape), self.arena.ty(one).rank());
        let steps = self.steps as i64;
        let longer = |along: usize| {
            let mut longer = shape.clone();
            longer.insert(along, steps);
            longer
        };
        let read = self.arena.term(one).operands.clone();
        let whole = match (def.movement(), &at_steps[..]) {
            (Some(Movement::Reshape), &[AtSteps::Along(all, along)]) => {
                let before: i64 = self.arena.ty(read[0]).shape[..along].iter().map(|&s| s as i64).product();
                let along = (0..=rank).find(|&at| shape[..at].iter().product::<i64>() == before)?;
                let longer = longer(along);
                AtSteps::Along(reshaped(self.arena, all, &longer)?, along)
            }
            (Some(Movement::Permute), &[AtSteps::Along(all, along)]) => {
                let mut dims: Vec<i64> = attrs.get(def.attr_index("dims")?)?.as_ints()?.to_vec();
                dims.iter_mut().filter(|d| **d >= along as i64).for_each(|d| *d += 1);
                dims.insert(along, along as i64);
                AtSteps::Along(permuted(self.arena, all, &dims)?, along)
            }
            (Some(Movement::Broadcast), &[AtSteps::Along(all, along)]) if def.attr_index("shape").is_some() => {
                let along = along + rank - self.arena.ty(read[0]).rank();
                let longer = AttrValue::Ints(longer(along));
                let attrs = def.attrs(&[("shape", longer)]).ok()?;
                AtSteps::Along(self.arena.call(&op, &attrs, 0, &[all], None).ok()?, along)
            }
            _ => {
                // Attributes name dimensions of the first operand.
                let first = match at_steps[..] {
                    [AtSteps::Along(_, along), ..] => along,
                    _ => usize::MAX,
                };
                let operands = match def.elements {
                    Elements::Placewise(_) => self.aligned(&at_steps, rank)?,
                    _ => at_steps.iter().map(|o| o.term()).collect(),
                };
                let mut attrs = attrs;
                for (attr, value) in def.attrs.iter().zip(attrs.iter_mut()) {
                    match (attr.kind, &mut *value) {
                        (AttrKind::Dim, AttrValue::Int(dim)) if *dim as usize >= first => *dim += 1,
                        (AttrKind::Dims, AttrValue::Ints(dims)) => {
                            dims.iter_mut().filter(|d| **d as usize >= first).for_each(|d| *d += 1);
                        }
                        _ => {}
                    }
                }
                let all = match self.arena.call(&op, &attrs, slot, &operands, None) {
                    Ok(all) => all,
                    // A weight for each step makes it a product of batches.
                    Err(_) if def.name == "linear" => self.product_of_batches(&at_steps, rank)?,
                    Err(_) => return None,
                };
                let is = |along: usize| ints(&self.arena.ty(all).shape) == longer(along);
                let along = std::iter::once(first.min(rank)).chain((0..=rank).rev()).find(|&along| is(along))?;
                if self.arena.ty(all).dtype != self.arena.ty(one).dtype {
                    return None;
                }
                AtSteps::Along(all, along)
            }
        };
        Some((whole, columns.into_iter().zip(at_steps).collect()))
    }

    /// A linear layer with a weight for each step, whose result has the rank `rank` at one.
    fn product_of_batches(&mut self, operands: &[AtSteps], rank: usize) -> Option<TermId> {
        let (&[x, AtSteps::Along(weight, 0), ref bias @ ..], true) = (operands, rank > 1) else { return None };
        let x = match x {
            AtSteps::Same(x) => x,
            AtSteps::Along(x, along) => moved(self.arena, x, along, 0)?,
        };
        let columns = permuted(self.arena, weight, &[0, 2, 1])?;
        let mut shape = ints(&self.arena.ty(columns).shape);
        (2..rank).for_each(|_| shape.insert(1, 1));
        let columns = reshaped(self.arena, columns, &shape)?;
        let product = self.arena.call(&Op::Table(ops::find("matmul")?), &Attrs::new(), 0, &[x, columns], None).ok()?;
        let Some(&bias) = bias.first() else { return Some(product) };
        let bias = match bias {
            AtSteps::Same(bias) => bias,
            AtSteps::Along(bias, along) => {
                let bias = moved(self.arena, bias, along, 0)?;
                let mut shape = ints(&self.arena.ty(bias).shape);
                (1..rank).for_each(|_| shape.insert(1, 1));
                reshaped(self.arena, bias, &shape)?
            }
        };
        let sum = ops::all().find(|def| def.arithmetic() == Arithmetic::Add)?;
        self.arena.call(&Op::Table(sum), &Attrs::new(), 0, &[product, bias], None).ok()
    }

    /// Operands of an elementwise operator whose result has the rank `rank` at one step: the steps are the same dimension of all.
    fn aligned(&mut self, operands: &[AtSteps], rank: usize) -> Option<Operands> {
        let with_steps = operands.iter().find_map(|o| match *o {
            AtSteps::Along(all, along) => Some(along + rank + 1 - self.arena.ty(all).rank()),
            AtSteps::Same(_) => None,
        })?;
        operands
            .iter()
            .map(|operand| match *operand {
                AtSteps::Along(all, along) => {
                    let mut shape = ints(&self.arena.ty(all).shape);
                    let missing = rank + 1 - shape.len();
                    (0..missing).for_each(|_| shape.insert(0, 1));
                    let all = reshaped(self.arena, all, &shape)?;
                    moved(self.arena, all, along + missing, with_steps)
                }
                AtSteps::Same(value) => {
                    let mut shape = ints(&self.arena.ty(value).shape);
                    // Dimensions are counted from the last one.
                    match (with_steps + shape.len()).checked_sub(rank) {
                        Some(at) if at > 0 => shape.insert(at, 1),
                        _ => return Some(value),
                    }
                    reshaped(self.arena, value, &shape)
                }
            })
            .collect()
    }
}

/// A part of a tensor along one dimension.
struct Part {
    of: TermId,
    dim: usize,
    start: i64,
    end: i64,
}

impl Part {
    fn of(arena: &TermArena, term: TermId) -> Option<Part> {
        let (op, attrs, slot) = arena.op(term)?;
        let def = op.def()?;
        let attr = |name: &str| attrs.get(def.attr_index(name)?);
        let of = *arena.term(term).operands.first()?;
        let dim = usize::try_from(attr("dim")?.as_int()?).ok()?;
        let size = *arena.ty(term).shape.get(dim)? as i64;
        let start = match def.movement()? {
            Movement::Slice if attr("step")?.as_int() == Some(1) => attr("start")?.as_int()?,
            Movement::Split => attr("sizes")?.as_ints()?.iter().take(slot as usize).sum(),
            _ => return None,
        };
        Some(Part { of, dim, start, end: start + size })
    }
}
