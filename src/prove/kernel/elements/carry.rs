//! Dimensions along which everything happens to each place alike, so that one place shows what happens to all.
//!
//! A dimension of a result is carried if renumbering its places does the same to one dimension of every tensor that it is
//! computed from, or nothing. Elements at place 0 are then equal to what elements at any other place are, with the
//! place put in.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::super::arena::{Arena, Head, TermId};
use super::kind::{Kind, kind, lane_dims, reduces};
use super::{Leaves, Mode};
use crate::eval::Constant;
use crate::ir::TensorType;
use crate::ops::{Call, Op, is_number};

/// Terms that may be visited.
const MAX_TERMS: usize = 10_000;

/// Whether dimension `dim` of both terms is carried.
pub fn is_carried(arena: &Arena, roots: [TermId; 2], leaves: &Leaves, mode: Mode, dim: usize) -> bool {
    let mut carry = Carry { arena, leaves, mode, dims: FxHashMap::default() };
    roots.into_iter().all(|root| carry.visit(root, Some(dim)))
}

struct Carry<'a> {
    arena: &'a Arena,
    leaves: &'a Leaves,
    mode: Mode,
    /// The dimension that is renumbered of every term that was visited.
    dims: FxHashMap<TermId, Option<usize>>,
}

impl Carry<'_> {
    fn visit(&mut self, root: TermId, dim: Option<usize>) -> bool {
        let mut stack = vec![(root, dim)];
        while let Some((term, dim)) = stack.pop() {
            // Renumbering a single place changes nothing.
            let dim = dim.filter(|&d| self.arena.ty(term).shape.get(d) != Some(&1));
            if self.arena.value(term).is_some() {
                if !dim.is_none_or(|d| self.is_alike(term, d)) {
                    return false;
                }
                continue;
            }
            match self.dims.get(&term) {
                Some(known) if *known == dim => continue,
                Some(_) => return false,
                None if self.dims.len() == MAX_TERMS => return false,
                None => self.dims.insert(term, dim),
            };
            if self.leaves.contains(&term) {
                continue;
            }
            let Head::Apply { op: Op::Table(def), attrs, slot } = self.arena.head(term) else { continue };
            let operands = &self.arena.term(term).operands;
            let types: SmallVec<[&TensorType; 4]> = operands.iter().map(|&o| self.arena.ty(o)).collect();
            let call = Call { op: def, attrs, operands: &types };
            // What is not looked into has elements of its own.
            let Some(kind) = kind(&call, self.mode).filter(|_| *slot == 0 || def.name == "split") else { continue };
            let below = match dim {
                None => Some(SmallVec::from_elem(None, operands.len())),
                Some(d) => carried(&call, kind, self.arena.ty(term), d),
            };
            let Some(below) = below else { return false };
            stack.extend(operands.iter().copied().zip(below));
        }
        true
    }

    /// Whether a known tensor is the same at every place along a dimension.
    fn is_alike(&self, term: TermId, dim: usize) -> bool {
        let ty = self.arena.ty(term);
        match self.arena.value(term) {
            Some(Constant::Uniform(_)) => true,
            Some(Constant::Affine(formula)) => formula.coefficients.get(dim).is_none_or(|&c| c == 0),
            Some(Constant::Polyhedron(all)) => all.iter().all(|f| f.coefficients.get(dim).is_none_or(|&c| c == 0)),
            Some(Constant::Dense(data)) => {
                let inner: usize = ty.shape[dim + 1..].iter().product();
                let size = ty.shape[dim];
                data.is_empty()
                    || data.chunks(inner * size).all(|block| block.chunks(inner).all(|part| part == &block[..inner]))
            }
            None => matches!(self.arena.op(term), Some((Op::Table(def), ..)) if is_number(def)),
        }
    }
}

type Dims = SmallVec<[Option<usize>; 4]>;

/// The dimensions of the operands that are renumbered along with dimension `d` of the result; `None` where that is not all
/// that happens to them.
fn carried(call: &Call, kind: Kind, result: &TensorType, d: usize) -> Option<Dims> {
    let x = *call.operands.first()?;
    // The dimension of an operand that broadcasting brings to dimension `d`.
    let aligned = |ty: &TensorType| (d + ty.rank()).checked_sub(result.rank());
    let all_aligned = || call.operands.iter().map(|ty| aligned(ty)).collect::<Dims>();
    let first = |at: Option<usize>| {
        let mut dims = Dims::from_elem(None, call.operands.len());
        if let Some(first) = dims.first_mut() {
            *first = at;
        }
        dims
    };
    match kind {
        Kind::Elementwise => Some(all_aligned()),
        Kind::Moves(_) => match call.op.name {
            "alias" | "contiguous" | "clone" | "dropout" => Some(first(Some(d))),
            "expand" => Some(all_aligned()),
            "permute" => Some(first(Some(*call.dims("dims").ok()?.get(d)?))),
            "reshape" | "unsqueeze" | "squeeze" => {
                let before: usize = result.shape[..d].iter().product();
                let mut product = 1;
                let at = x.shape.iter().position(|&size| {
                    let found = product == before && size == result.shape[d];
                    product *= size;
                    found
                })?;
                Some(first(Some(at)))
            }
            "slice" | "split" | "concat" | "index_select" | "repeat_interleave" | "gather"
                if call.dim("dim", 0).ok()? != d =>
            {
                match call.op.name {
                    "concat" => Some(Dims::from_elem(Some(d), call.operands.len())),
                    "gather" => (x.shape.get(d) == result.shape.get(d)).then(|| Dims::from_slice(&[Some(d), Some(d)])),
                    _ => Some(first(Some(d))),
                }
            }
            "flip" | "roll" if !call.dims("dims").ok()?.contains(&d) => Some(first(Some(d))),
            "tril" | "triu" if d + 2 < result.rank() => Some(first(Some(d))),
            "repeat_heads" if d != 1 => Some(first(Some(d))),
            "pad" => (call.ints("pad").get(2 * d..2 * d + 2)? == [0, 0]).then(|| first(Some(d))),
            "pad_edges" if d + call.ints("pad").len() / 2 < result.rank() => Some(first(Some(d))),
            "upsample_nearest" if d < 2 => Some(first(Some(d))),
            "im2col" if d == 0 && x.rank() == 4 => Some(first(Some(0))),
            "index" => {
                let dims = call.dims("dims").ok()?;
                let (from, count) = (*dims.first()?, dims.len());
                if !dims.iter().zip(from..).all(|(&dim, at)| dim == at) {
                    return None;
                }
                let places = call.operands[1..].iter().map(|ty| ty.rank()).max()?;
                match d {
                    _ if d < from => Some(first(Some(d))),
                    _ if d >= from + places => Some(first(Some(d - places + count))),
                    _ => None,
                }
            }
            "embedding" if d + 1 == result.rank() => Some(first(Some(1))),
            _ => None,
        },
        Kind::Lane => {
            let lane = lane_dims(call)?;
            let at = match reduces(call) && !call.bool("keepdim") {
                true => (0..x.rank()).filter(|i| !lane.contains(i)).nth(d)?,
                false if lane.contains(&d) => return None,
                false => d,
            };
            Some(first(Some(at)))
        }
        Kind::Weighted => {
            let leading = match call.op.name {
                "diff" => {
                    return if call.dim("dim", 0).ok()? != d {
                        Some(Dims::from_elem(Some(d), call.operands.len()))
                    } else {
                        None
                    };
                }
                "col2im" => usize::from(x.rank() == 3),
                "adaptive_avg_pool" => x.rank().checked_sub(call.ints("output_size").len())?,
                "avg_pool2d" => x.rank().checked_sub(2)?,
                "avg_pool3d" => x.rank().checked_sub(3)?,
                _ => 2,
            };
            (d < leading).then(|| first(Some(d)))
        }
        Kind::Contraction => contracted(call, result, d),
        Kind::Attention => attended(call, result, d),
    }
}

fn contracted(call: &Call, result: &TensorType, d: usize) -> Option<Dims> {
    let rank = result.rank();
    // Whether the dimension is one of rows, of columns, or of batches.
    let of_matrix = rank.checked_sub(d)?;
    let batch = |ty: &TensorType| (d + ty.rank()).checked_sub(rank);
    match (call.op.name, call.operands) {
        ("linear", operands) => {
            let last = d + 1 == rank;
            let mut dims = Dims::from_slice(&[(!last).then_some(d), last.then_some(0)]);
            dims.extend(operands.get(2).map(|_| last.then_some(0)));
            Some(dims)
        }
        ("matmul", [x, y]) if x.rank() >= 2 && y.rank() >= 2 => Some(match of_matrix {
            1 => Dims::from_slice(&[None, Some(y.rank() - 1)]),
            2 => Dims::from_slice(&[Some(x.rank() - 2), None]),
            _ => Dims::from_slice(&[batch(x), batch(y)]),
        }),
        ("conv1d" | "conv2d" | "conv3d", operands) => match d {
            0 => Some((0..operands.len()).map(|i| (i == 0).then_some(0)).collect()),
            1 if call.int("groups") == 1 => Some((0..operands.len()).map(|i| (i > 0).then_some(0)).collect()),
            _ => None,
        },
        ("addmm" | "baddbmm", [b, ..]) => Some(match of_matrix {
            1 => Dims::from_slice(&[batch(b), None, Some(d)]),
            2 => Dims::from_slice(&[batch(b), Some(d), None]),
            _ => Dims::from_slice(&[batch(b), Some(d), Some(d)]),
        }),
        _ => None,
    }
}

/// As [`carried`], for fused attention.
fn attended(call: &Call, result: &TensorType, d: usize) -> Option<Dims> {
    let aligned = |ty: &TensorType| (d + ty.rank()).checked_sub(result.rank());
    let numbered = || call.operands.iter().enumerate();
    match result.rank().checked_sub(d)? {
        // Values have a dimension of their own.
        1 => Some(numbered().map(|(i, ty)| if i == 2 { ty.rank().checked_sub(1) } else { None }).collect()),
        2 if call.bool("causal") => None,
        2 => Some(numbered().map(|(i, ty)| if matches!(i, 0 | 3) { aligned(ty) } else { None }).collect()),
        3 if call.bool("grouped") => None,
        _ => Some(call.operands.iter().map(|ty| aligned(ty)).collect()),
    }
}
