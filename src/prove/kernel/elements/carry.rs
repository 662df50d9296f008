//! Digits along which everything happens to each place alike, so that one place shows what happens to all.
//!
//! Places along a dimension are numbers; written with several digits, as a reshape does that splits the dimension, each digit may
//! be looked at by itself. A digit of a result is carried if renumbering its values does the same to one digit of every tensor
//! that it is computed from, or nothing. Elements where the digit is 0 are then equal to what elements with any other value are,
//! with that value put in.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};

use super::super::arena::TermId;
use super::Mode;
use super::scope::{Known, Scope, Seen};
use crate::eval::Constant;
use crate::ir::TensorType;
use crate::ops::{Call, Elements};

/// Terms that may be visited.
const MAX_TERMS: usize = 10_000;

/// Digits that may be tried for one pair of terms.
const MAX_TRIES: usize = 200;

/// A digit of the places along a dimension: `place / step % size`. The dimension's size is a multiple of `step * size`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Digit {
    dim: usize,
    step: usize,
    size: usize,
}

/// The places along each dimension of two terms of one type whose elements show what all others are; `None` where those are more
/// than `limit` elements.
pub fn places(scope: &Scope, roots: [TermId; 2], mode: Mode, limit: usize) -> Option<Vec<Vec<usize>>> {
    let mut search = Search { scope, roots, mode, sizes: None, left: MAX_TRIES };
    let mut left = limit;
    let of_dim = |(dim, &size): (usize, &usize)| {
        let carried = search.carried_digits(Digit { dim, step: 1, size });
        let count = size / carried.iter().map(|digit| digit.size).product::<usize>();
        left = left.checked_div(count).filter(|&left| left > 0)?;
        Some(without(&carried, size))
    };
    scope.ty(roots[0]).shape.iter().enumerate().map(of_dim).collect()
}

/// The places along a dimension where these digits are 0.
fn without(digits: &[Digit], size: usize) -> Vec<usize> {
    let mut digits: Vec<(usize, usize)> = digits.iter().map(|digit| (digit.step, digit.size)).collect();
    digits.sort_unstable();
    let (mut places, mut unit) = (vec![0], 1);
    for (step, values) in digits.into_iter().chain([(size, 1)]) {
        let below = (0..step / unit).map(|value| value * unit);
        places = below.flat_map(|value| places.iter().map(move |place| place + value)).collect();
        unit = step * values;
    }
    places
}

struct Search<'a> {
    scope: &'a Scope<'a>,
    roots: [TermId; 2],
    mode: Mode,
    /// The sizes of dimensions on the way, once they are asked for.
    sizes: Option<Vec<usize>>,
    /// Digits that may still be tried.
    left: usize,
}

impl Search<'_> {
    /// The digits within a digit that are carried: as few and as large ones as there are.
    fn carried_digits(&mut self, digit: Digit) -> Vec<Digit> {
        if digit.size < 2 || self.left == 0 {
            return Vec::new();
        }
        self.left -= 1;
        let mut carry = Carry { scope: self.scope, mode: self.mode, digits: FxHashMap::default() };
        if self.roots.into_iter().all(|root| carry.visit(root, Some(digit))) {
            return vec![digit];
        }
        let (mut best, mut most) = (Vec::new(), 1);
        for low in self.sizes().into_iter().filter(|&low| low < digit.size && digit.size.is_multiple_of(low)) {
            let mut found = self.carried_digits(Digit { size: low, ..digit });
            found.extend(self.carried_digits(Digit { step: digit.step * low, size: digit.size / low, ..digit }));
            let covered = found.iter().map(|digit| digit.size).product();
            if covered > most {
                (best, most) = (found, covered);
            }
            if most == digit.size {
                break;
            }
        }
        best
    }

    /// The sizes that dimensions have on the way to the leaves, where something is reshaped.
    fn sizes(&mut self) -> Vec<usize> {
        let scope = self.scope;
        let find = || {
            let (mut seen, mut stack) = (FxHashSet::default(), self.roots.to_vec());
            let mut sizes: Vec<usize> = Vec::new();
            while let Some(term) = stack.pop() {
                if !seen.insert(term) || seen.len() > MAX_TERMS {
                    continue;
                }
                sizes.extend(scope.ty(term).shape.iter().filter(|&&size| size > 1));
                if let Seen::Result(applied) = scope.seen(term) {
                    stack.extend(applied.operands);
                }
            }
            sizes.sort_unstable();
            sizes.dedup();
            sizes
        };
        self.sizes.get_or_insert_with(find).clone()
    }
}

struct Carry<'a> {
    scope: &'a Scope<'a>,
    mode: Mode,
    /// The digit that is renumbered of every term that was visited.
    digits: FxHashMap<TermId, Option<Digit>>,
}

impl Carry<'_> {
    fn visit(&mut self, root: TermId, digit: Option<Digit>) -> bool {
        let mut stack = vec![(root, digit)];
        while let Some((term, digit)) = stack.pop() {
            // Renumbering a single place changes nothing.
            let digit = digit.filter(|digit| self.scope.ty(term).shape.get(digit.dim) != Some(&1));
            let seen = self.scope.seen(term);
            if let Seen::Known(known) = seen {
                if !digit.is_none_or(|digit| is_alike(known, self.scope.ty(term), digit)) {
                    return false;
                }
                continue;
            }
            match self.digits.get(&term) {
                Some(known) if *known == digit => continue,
                Some(_) => return false,
                None if self.digits.len() == MAX_TERMS => return false,
                None => self.digits.insert(term, digit),
            };
            let Seen::Result(applied) = seen else { continue };
            let (call, slot, operands, result) = (applied.call(), applied.slot, applied.operands, applied.result);
            // What is not looked into has elements of its own.
            let elements = applied.elements(self.mode);
            if elements == Elements::Unknown {
                continue;
            }
            let below: Option<SmallVec<[Option<Digit>; 4]>> = match digit {
                None => Some(SmallVec::from_elem(None, operands.len())),
                Some(digit) => moved(&call, slot, result, digit).or_else(|| {
                    let dims = carried(&call, elements, result, digit.dim)?;
                    Some(dims.into_iter().map(|dim| dim.map(|dim| Digit { dim, ..digit })).collect())
                }),
            };
            let Some(below) = below else { return false };
            stack.extend(operands.iter().copied().zip(below));
        }
        true
    }
}

/// Whether a known tensor is the same whatever a digit is.
fn is_alike(known: Known, ty: &TensorType, Digit { dim, step, size }: Digit) -> bool {
    let is_constant = |coefficients: &[i64]| coefficients.get(dim).is_none_or(|&c| c == 0);
    match known.value {
        _ if known.is_number => true,
        Constant::Uniform(_) => true,
        Constant::Affine(formula) => is_constant(&formula.coefficients),
        Constant::Polyhedron(all) => all.iter().all(|formula| is_constant(&formula.coefficients)),
        Constant::Dense(data) => {
            let inner = step * ty.shape[dim + 1..].iter().product::<usize>();
            data.is_empty()
                || data.chunks(inner * size).all(|block| block.chunks(inner).all(|part| part == &block[..inner]))
        }
    }
}

/// The digit of the operand of a view, or of each part of a concatenation, that is renumbered along with a digit of the result,
/// where that is another one, or one of a dimension that is cut: `None` where it is not known.
fn moved(call: &Call, slot: u32, result: &TensorType, digit: Digit) -> Option<SmallVec<[Option<Digit>; 4]>> {
    let x = *call.operands.first()?;
    let Digit { dim, step, size } = digit;
    let aligned = |offset: i64| usize::try_from(offset).is_ok_and(|offset| offset.is_multiple_of(step * size));
    let within = |ty: &TensorType| ty.shape.get(dim).is_some_and(|n| n.is_multiple_of(step * size));
    match call.op.name {
        "reshape" | "unsqueeze" | "squeeze" => {
            let stride = step * result.shape[dim + 1..].iter().product::<usize>();
            let mut inner = 1;
            for (dim, &n) in x.shape.iter().enumerate().rev() {
                if stride.is_multiple_of(inner) && n.is_multiple_of(stride / inner * size) {
                    return Some(smallvec![Some(Digit { dim, step: stride / inner, size })]);
                }
                inner *= n;
            }
            None
        }
        "slice" if call.dim("dim", 0).ok()? == dim => {
            let fits = call.int("step") == 1 && aligned(call.int("start")) && within(x);
            fits.then(|| smallvec![Some(digit)])
        }
        "split" if call.dim("dim", 0).ok()? == dim => {
            let start: i64 = call.ints("sizes").get(..slot as usize)?.iter().sum();
            (aligned(start) && within(x)).then(|| smallvec![Some(digit)])
        }
        "concat" if call.dim("dim", 0).ok()? == dim => {
            call.operands.iter().all(|ty| within(ty)).then(|| SmallVec::from_elem(Some(digit), call.operands.len()))
        }
        // Each channel gives the cells of its window.
        "im2col" if dim == 1 && x.rank() == 4 => {
            let window = usize::try_from(call.ints("kernel_size").iter().product::<i64>()).ok()?;
            step.is_multiple_of(window).then(|| smallvec![Some(Digit { dim, step: step / window, size })])
        }
        "repeat_heads" if dim == 1 => {
            let times = usize::try_from(call.int("times")).ok()?;
            match step.is_multiple_of(times) {
                true => Some(smallvec![Some(Digit { dim, step: step / times, size })]),
                // Which copy it is makes no difference.
                false => times.is_multiple_of(step * size).then(|| smallvec![None]),
            }
        }
        _ => None,
    }
}

type Dims = SmallVec<[Option<usize>; 4]>;

/// The dimensions of the operands that are renumbered along with dimension `d` of the result; `None` where that is not all
/// that happens to them.
fn carried(call: &Call, elements: Elements, result: &TensorType, d: usize) -> Option<Dims> {
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
    match elements {
        Elements::Unknown | Elements::OfFamily => None,
        Elements::Placewise => Some(all_aligned()),
        Elements::Moved(_) => match call.op.name {
            "alias" | "contiguous" | "clone" | "dropout" => Some(first(Some(d))),
            "expand" => Some(all_aligned()),
            "permute" => Some(first(Some(*call.dims("dims").ok()?.get(d)?))),
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
        Elements::Lane | Elements::RunningSum => {
            let lane = call.lane_dims()?;
            let at = match call.reduces_lanes() && !call.bool("keepdim") {
                true => (0..x.rank()).filter(|i| !lane.contains(i)).nth(d)?,
                false if lane.contains(&d) => return None,
                false => d,
            };
            Some(first(Some(at)))
        }
        Elements::Weighted => {
            let leading = match call.op.name {
                "diff" => {
                    return if call.dim("dim", 0).ok()? != d {
                        Some(Dims::from_elem(Some(d), call.operands.len()))
                    } else {
                        None
                    };
                }
                // Each transform has places along some dimensions, and numbers of two parts, or makes such.
                "fft_c2c" | "fft_r2c" | "fft_c2r" => {
                    let own = x.rank() - usize::from(call.op.name != "fft_r2c");
                    return (d < own && !call.dims("dims").ok()?.contains(&d)).then(|| first(Some(d)));
                }
                "col2im" => usize::from(x.rank() == 3),
                "adaptive_avg_pool" => x.rank().checked_sub(call.ints("output_size").len())?,
                "avg_pool2d" => x.rank().checked_sub(2)?,
                "avg_pool3d" => x.rank().checked_sub(3)?,
                _ => 2,
            };
            (d < leading).then(|| first(Some(d)))
        }
        Elements::Product | Elements::Convolution => contracted(call, result, d),
        Elements::Attention => attended(call, result, d),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_without_digits_are_those_where_they_are_0() {
        let digit = |step, size| Digit { dim: 0, step, size };
        for digits in
            [vec![], vec![digit(1, 24)], vec![digit(2, 3)], vec![digit(12, 2), digit(1, 4)], vec![digit(6, 4)]]
        {
            let mut found = without(&digits, 24);
            found.sort_unstable();
            let zero = |place: &usize| digits.iter().all(|digit| (place / digit.step).is_multiple_of(digit.size));
            assert_eq!(found, (0..24).filter(zero).collect::<Vec<_>>(), "{digits:?}");
        }
    }
}
