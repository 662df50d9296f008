//! Sums of products as matrix products: what is multiplied and added up along some dimensions, however it is broadcast, is a product of
//! two matrices, or of a batch of them. Of several factors, two after the other are joined.

use std::collections::VecDeque;

use smallvec::SmallVec;

use crate::ir::{AttrValue, Attrs, Ints, Number, Shape};
use crate::ops::{self, Arithmetic, Call, Elements, Movement, Op, OpDef, RowFunction};
use crate::prove::{Lemma, Limits, TermArena, TermId, proven_equal};
use crate::rules::RuleSet;

use super::spellings::parts_of;

/// Sums of one part that are looked at.
const MAX_SUMS: usize = 8;

/// Factors of one product that are taken apart.
const MAX_FACTORS: usize = 4;

/// Both sides add up the same products, which their elements show: hardly any search is needed.
const BY_ELEMENTS: Limits = Limits { rounds: 2, nodes: 200, search: 20_000 };

/// Factors are taken out of inner sums by rules.
const IN_TURN: Limits = Limits { rounds: 4, nodes: 1_000, search: 100_000 };

/// Dimensions of a sum of products, by their numbers.
type Labels = SmallVec<[usize; 6]>;

/// A factor, and which dimensions of the sum its own ones are.
#[derive(Clone)]
struct Factor {
    term: TermId,
    labels: Labels,
}

/// `Σ x y ...` over some dimensions.
struct Contraction {
    factors: Vec<Factor>,
    /// The size of each dimension.
    sizes: SmallVec<[usize; 6]>,
    /// Those that are added up.
    summed: Labels,
    /// What the sum is multiplied by.
    scale: f64,
}

/// Adds products of matrices that sums of products are which `root` is made of, with what is proven of them.
pub(super) fn contractions(mut arena: TermArena, root: TermId, rules: &RuleSet) -> (TermArena, Vec<Lemma>) {
    let is_sum = |term: &TermId| contraction(&arena, *term, 2).is_some();
    let mut sums: VecDeque<TermId> = parts_of(&arena, root).into_iter().filter(is_sum).take(MAX_SUMS).collect();
    let mut equal = Vec::new();
    while let Some(term) = sums.pop_front() {
        let mut tried = arena.clone();
        if let Some(product) = contraction(&arena, term, 2).and_then(|c| c.into_product(&mut tried, term))
            && let Some((with_steps, steps)) = proven_equal(rules, tried, [term, product], BY_ELEMENTS)
        {
            equal.extend(steps);
            arena = with_steps;
        }
        // Of more factors, sums inside of it are looked at in turn.
        let mut tried = arena.clone();
        if let Some(several) = contraction(&arena, term, MAX_FACTORS).filter(|c| c.factors.len() > 2)
            && let Some(joined) = several.into_nested(&mut tried, term)
            && let Some((with_steps, steps)) = proven(rules, tried, &joined.path)
        {
            equal.extend(steps);
            arena = with_steps;
            sums.extend(joined.sums);
        }
    }
    (arena, equal)
}

/// The steps along a path of terms, each of which has to be proven equal to the one before.
fn proven(rules: &RuleSet, mut arena: TermArena, path: &[TermId]) -> Option<(TermArena, Vec<Lemma>)> {
    let mut all = Vec::new();
    for pair in path.windows(2) {
        let &[from, to] = pair else { return None };
        let (with_steps, steps) = proven_equal(rules, arena, [from, to], IN_TURN)?;
        all.extend(steps);
        arena = with_steps;
    }
    Some((arena, all))
}

/// A sum of products of several factors as sums of two inside of one another.
struct Nested {
    /// What leads to it: the sum, the same one part of its dimensions after the other, and the sums inside of one another.
    path: Vec<TermId>,
    /// Those sums, each of two factors.
    sums: Vec<TermId>,
}

/// The sum of products that a term is, of `most` factors at most.
fn contraction(arena: &TermArena, term: TermId, most: usize) -> Option<Contraction> {
    let (Op::Table(sum), attrs, 0) = arena.op(term)? else { return None };
    let [summed] = arena.term(term).operands[..] else { return None };
    let whole = arena.ty(summed);
    let dims = sum.attr_index("dim").and_then(|at| attrs[at].as_ints())?;
    let dims: Labels = dims.iter().filter_map(|&dim| usize::try_from(dim).ok()).collect();
    let count: usize = dims.iter().map(|&dim| whole.shape[dim]).product();
    let scale = match sum.row_function() {
        RowFunction::Sum => 1.0,
        RowFunction::Mean if count > 0 => 1.0 / count as f64,
        _ => return None,
    };
    let (&Op::Table(op), attrs, 0) = arena.op(summed)? else { return None };
    if !whole.dtype.is_float() {
        return None;
    }
    let rank = whole.rank();
    let mut sizes: SmallVec<[usize; 6]> = whole.shape.iter().copied().collect();
    let mut summed_dims = dims;
    let factors = match op.elements {
        Elements::Placewise(Arithmetic::Mul) => factors_of(arena, summed, rank, most),
        // One more dimension is added up inside.
        Elements::Product => {
            let [x, y] = arena.term(summed).operands[..] else { return None };
            let ranks = [x, y].map(|factor| arena.ty(factor).rank());
            ranks.iter().all(|&rank| rank >= 2).then_some(())?;
            summed_dims.push(rank);
            sizes.push(*arena.ty(x).shape.last()?);
            let mut of_x = aligned(ranks[0], rank);
            *of_x.last_mut()? = rank;
            let call = Call { op, attrs, operands: &[arena.ty(x), arena.ty(y)] };
            let inside = ops::contraction(&call, &SmallVec::<[usize; 6]>::from_elem(0, rank))?;
            let mut of_y: Labels = aligned(ranks[1] - 2, rank - 2).into_iter().chain([rank, rank - 1]).collect();
            if inside.y.axis + 1 == ranks[1] {
                of_y.swap(ranks[1] - 2, ranks[1] - 1);
            }
            vec![Factor { term: x, labels: of_x }, Factor { term: y, labels: of_y }]
        }
        _ => return None,
    };
    let fits = |f: &Factor| f.labels.len() == arena.ty(f.term).rank() && arena.ty(f.term).dtype == whole.dtype;
    (factors.len() > 1 && factors.iter().all(fits)).then_some(())?;
    Some(Contraction { factors, sizes, summed: summed_dims, scale })
}

/// The last `count` of so many dimensions, which a factor that is broadcast has.
fn aligned(count: usize, of: usize) -> Labels {
    (of - count..of).collect()
}

/// The factors of a product of products, place by place, whose dimensions are the last of `rank`; `most` at most.
fn factors_of(arena: &TermArena, product: TermId, rank: usize, most: usize) -> Vec<Factor> {
    let (mut factors, mut stack) = (Vec::new(), vec![product]);
    while let Some(term) = stack.pop() {
        match (arena.op(term), &arena.term(term).operands[..]) {
            (Some((Op::Table(op), ..)), &[x, y])
                if op.arithmetic() == Arithmetic::Mul && factors.len() + stack.len() + 2 <= most =>
            {
                stack.extend([y, x]);
            }
            _ => factors.push(Factor { term, labels: aligned(arena.ty(term).rank(), rank) }),
        }
    }
    factors
}

impl Contraction {
    /// The product of matrices that a sum of two factors is, in the type of the sum `term`.
    fn into_product(self, arena: &mut TermArena, term: TermId) -> Option<TermId> {
        let [x, y] = &self.factors[..] else { return None };
        let product = self.matrix_product(arena, [x.clone(), y.clone()])?;
        self.in_type_of(arena, product, term)
    }

    /// Sums of two factors inside of one another, in the type of the sum `term`.
    fn into_nested(mut self, arena: &mut TermArena, term: TermId) -> Option<Nested> {
        let (mut sums, mut in_turn) = (Vec::new(), Vec::new());
        // What only one factor has is added up before.
        for at in 0..self.factors.len() {
            let others: Vec<Labels> =
                self.factors.iter().enumerate().filter(|(n, _)| *n != at).map(|(_, f)| self.own(arena, f)).collect();
            let mut alone = self.own(arena, &self.factors[at]);
            alone.retain(|label| self.summed.contains(label) && !others.iter().any(|own| own.contains(label)));
            if !alone.is_empty() {
                self.factors[at].sum(arena, &alone)?;
                self.summed.retain(|label| !alone.contains(label));
                in_turn.push(alone);
            }
        }
        let summed_alone = !in_turn.is_empty();
        while self.factors.len() > 1 {
            let ([i, j], gone) = self.next_join(arena)?;
            let joined = self.multiplied(arena, [&self.factors[i], &self.factors[j]], &gone)?;
            if !gone.is_empty() {
                sums.push(joined.term);
                self.summed.retain(|label| !gone.contains(label));
                in_turn.push(gone);
            }
            self.factors.remove(j);
            self.factors[i] = joined;
        }
        let in_steps = self.summed_in_turn(arena, term, &in_turn)?;
        let nested = self.factors.pop()?;
        let nested = self.in_type_of(arena, nested, term)?;
        (in_turn.len() > 1 || summed_alone).then_some(Nested { path: vec![term, in_steps, nested], sums })
    }

    /// What a factor is that is left alone, in the order and the type of the sum `term`.
    fn in_type_of(&self, arena: &mut TermArena, factor: Factor, term: TermId) -> Option<TermId> {
        let mut sorted: SmallVec<[(usize, usize); 6]> = factor.labels.iter().copied().zip(0..).collect();
        sorted.sort_unstable();
        let scaled = self.scaled(arena, factor.term)?;
        let permuted = permute(arena, scaled, sorted.into_iter().map(|(_, at)| at))?;
        let wanted = arena.ty(term).clone();
        let result = reshape(arena, permuted, &wanted.shape)?;
        (*arena.ty(result) == wanted).then_some(result)
    }

    fn scaled(&self, arena: &mut TermArena, of: TermId) -> Option<TermId> {
        if self.scale == 1.0 {
            return Some(of);
        }
        let (number, attrs) = ops::number(Number::float(self.scale), arena.ty(of).dtype);
        let number = arena.call(&Op::Table(number), &attrs, 0, &[], None).ok()?;
        multiply(arena, &[of, number])
    }

    /// The sum `term`, one part of its dimensions after the other.
    fn summed_in_turn(&self, arena: &mut TermArena, term: TermId, in_turn: &[Labels]) -> Option<TermId> {
        let &[mut of] = &arena.term(term).operands[..] else { return None };
        let mut left: Labels = (0..self.sizes.len()).collect();
        for labels in in_turn {
            let dims = left.iter().zip(0..).filter(|(label, _)| labels.contains(label)).map(|(_, at)| at).collect();
            of = sum(arena, of, dims, false)?;
            left.retain(|label| !labels.contains(label));
        }
        let scaled = self.scaled(arena, of)?;
        let shape = arena.ty(term).shape.clone();
        reshape(arena, scaled, &shape)
    }

    /// Whether a factor runs along a dimension, and does not only repeat along it.
    fn has(&self, arena: &TermArena, factor: &Factor, label: usize) -> bool {
        factor.labels.iter().zip(&arena.ty(factor.term).shape).any(|(&l, &size)| l == label && size > 1)
    }

    fn size<'l>(&self, labels: impl IntoIterator<Item = &'l usize>) -> usize {
        labels.into_iter().fold(1, |size, &label| size.saturating_mul(self.sizes[label]))
    }

    /// The two factors with which the work is least, and the dimensions that no other factor has, which are added up with them. Where any
    /// two leave all dimensions, those that make the least tensor.
    fn next_join(&self, arena: &TermArena) -> Option<([usize; 2], Labels)> {
        let count = self.factors.len();
        let own: Vec<Labels> = self.factors.iter().map(|f| self.own(arena, f)).collect();
        let pairs = (0..count).flat_map(|i| (i + 1..count).map(move |j| [i, j]));
        let join = |pair: [usize; 2]| {
            let has = |label: &usize, of_pair: bool| {
                (0..count).any(|n| pair.contains(&n) == of_pair && own[n].contains(label))
            };
            let both: Labels = (0..self.sizes.len()).filter(|label| has(label, true)).collect();
            let gone: Labels =
                both.iter().copied().filter(|label| self.summed.contains(label) && !has(label, false)).collect();
            let left: Labels = (0..self.sizes.len()).filter(|label| !gone.contains(label)).collect();
            let work = self.size(&both).saturating_add(self.size(&left));
            ((gone.is_empty(), work), (pair, gone))
        };
        pairs.map(join).min_by_key(|(order, _)| *order).map(|(_, join)| join)
    }

    /// The dimensions that a factor runs along.
    fn own(&self, arena: &TermArena, factor: &Factor) -> Labels {
        (0..self.sizes.len()).filter(|&label| self.has(arena, factor, label)).collect()
    }

    /// Two factors as a product of matrices, as a factor.
    fn matrix_product(&self, arena: &mut TermArena, [mut x, mut y]: [Factor; 2]) -> Option<Factor> {
        let all: Labels = (0..self.sizes.len()).filter(|&label| self.sizes[label] > 1).collect();
        let (mut batch, mut rows, mut columns, mut inner) =
            (Labels::new(), Labels::new(), Labels::new(), Labels::new());
        let (mut of_x, mut of_y) = (Labels::new(), Labels::new());
        for label in all {
            let is_summed = self.summed.contains(&label);
            match (self.has(arena, &x, label), self.has(arena, &y, label)) {
                (true, true) if is_summed => inner.push(label),
                (true, true) => batch.push(label),
                (true, false) if is_summed => of_x.push(label),
                (true, false) => rows.push(label),
                (false, true) if is_summed => of_y.push(label),
                (false, true) => columns.push(label),
                (false, false) => return None,
            }
        }
        if inner.is_empty() || self.size(&rows) == 1 && self.size(&columns) == 1 {
            return None;
        }
        // What only one factor has is added up before.
        x.sum(arena, &of_x)?;
        y.sum(arena, &of_y)?;
        let (b, m, n, k) = (self.size(&batch), self.size(&rows), self.size(&columns), self.size(&inner));
        let is_batch = !batch.is_empty();
        let matrix = |sizes: [usize; 2]| is_batch.then_some(b).into_iter().chain(sizes).collect::<Shape>();
        let x = x.matrix(arena, [&batch, &rows, &inner], &matrix([m, k]))?;
        let y = y.matrix(arena, [&batch, &inner, &columns], &matrix([k, n]))?;
        let matmul = ops::all().find(|op| matches!(op.elements, Elements::Product))?;
        let product = arena.call(&Op::Table(matmul), &Attrs::new(), 0, &[x, y], None).ok()?;
        let labels: Labels = [batch, rows, columns].concat().into();
        let shape = labels.iter().map(|&label| self.sizes[label]).collect::<Shape>();
        Some(Factor { term: reshape(arena, product, &shape)?, labels })
    }

    /// Two factors multiplied place by place, and added up along `summed`.
    fn multiplied(&self, arena: &mut TermArena, factors: [&Factor; 2], summed: &Labels) -> Option<Factor> {
        let own = factors.map(|factor| self.own(arena, factor));
        let labels: Labels = (0..self.sizes.len()).filter(|l| own.iter().any(|own| own.contains(l))).collect();
        let mut operands = Vec::new();
        for (factor, own) in factors.iter().zip(&own) {
            let shape = labels.iter().map(|l| if own.contains(l) { self.sizes[*l] } else { 1 }).collect::<Shape>();
            operands.push(factor.matrix(arena, [own, &Labels::new(), &Labels::new()], &shape)?);
        }
        let product = multiply(arena, &operands)?;
        let dims: Ints = labels.iter().zip(0..).filter(|(label, _)| summed.contains(label)).map(|(_, at)| at).collect();
        let term = if dims.is_empty() { product } else { sum(arena, product, dims, false)? };
        Some(Factor { term, labels: labels.into_iter().filter(|label| !summed.contains(label)).collect() })
    }
}

fn multiply(arena: &mut TermArena, factors: &[TermId]) -> Option<TermId> {
    let mul = ops::all().find(|op| op.arithmetic() == Arithmetic::Mul)?;
    arena.call(&Op::Table(mul), &Attrs::new(), 0, factors, None).ok()
}

fn sum(arena: &mut TermArena, of: TermId, dims: Ints, keepdim: bool) -> Option<TermId> {
    let sum = ops::all().find(|op| op.row_function() == RowFunction::Sum)?;
    let attrs = sum.attrs(&[("dim", AttrValue::Ints(dims)), ("keepdim", AttrValue::Bool(keepdim))]).ok()?;
    arena.call(&Op::Table(sum), &attrs, 0, &[of], None).ok()
}

impl Factor {
    /// Adds up dimensions.
    fn sum(&mut self, arena: &mut TermArena, labels: &Labels) -> Option<()> {
        let dims: Ints =
            (0..self.labels.len()).filter(|&at| labels.contains(&self.labels[at])).map(|at| at as i64).collect();
        if !dims.is_empty() {
            self.term = sum(arena, self.term, dims, true)?;
        }
        Some(())
    }

    /// The factor with its dimensions in this order, as a matrix or a batch of them.
    fn matrix(&self, arena: &mut TermArena, order: [&Labels; 3], shape: &Shape) -> Option<TermId> {
        // Other dimensions have one place.
        let order: Labels = order.into_iter().flatten().copied().collect();
        let sizes = self.labels.iter().copied().zip(arena.ty(self.term).shape.iter().copied());
        let (kept, sizes): (Labels, Shape) = sizes.filter(|(label, _)| order.contains(label)).unzip();
        let dense = reshape(arena, self.term, &sizes)?;
        let at = |label: &usize| kept.iter().position(|l| l == label);
        let dims: Labels = order.iter().map(at).collect::<Option<_>>()?;
        let permuted = permute(arena, dense, dims.into_iter())?;
        reshape(arena, permuted, shape)
    }
}

fn view(arena: &mut TermArena, movement: Movement, attr: (&str, AttrValue), of: TermId) -> Option<TermId> {
    let view: &'static OpDef = ops::moving(movement)?;
    let attrs = view.attrs(&[attr]).ok()?;
    arena.call(&Op::Table(view), &attrs, 0, &[of], None).ok()
}

fn reshape(arena: &mut TermArena, of: TermId, shape: &Shape) -> Option<TermId> {
    if arena.ty(of).shape == *shape {
        return Some(of);
    }
    view(arena, Movement::Reshape, ("shape", AttrValue::shape(shape)), of)
}

fn permute(arena: &mut TermArena, of: TermId, dims: impl Iterator<Item = usize>) -> Option<TermId> {
    let dims: Labels = dims.collect();
    if dims.is_sorted() {
        return Some(of);
    }
    view(arena, Movement::Permute, ("dims", AttrValue::shape(&dims)), of)
}
