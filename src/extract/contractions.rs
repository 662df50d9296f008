//! Sums of products as matrix products: what is multiplied and added up along some dimensions, however it is broadcast, is a product of
//! two matrices, or of a batch of them. Of several factors, two after the other are joined.

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

/// One factor after the other is taken out of an inner sum, which then is a product.
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
    /// The dimensions that joined factors have added up, those of each pair.
    in_turn: Vec<Labels>,
}

/// Adds products of matrices that sums of products are which `root` is made of, with what is proven of them.
pub(super) fn contractions(mut arena: TermArena, root: TermId, rules: &RuleSet) -> (TermArena, Vec<Lemma>) {
    let sums = parts_of(&arena, root).into_iter().filter_map(|term| Some((term, contraction(&arena, term)?)));
    let sums: Vec<(TermId, Contraction)> = sums.take(MAX_SUMS).collect();
    let mut equal = Vec::new();
    for (term, contraction) in sums {
        let mut tried = arena.clone();
        let Some((product, in_turn)) = contraction.into_product(&mut tried, term) else { continue };
        let proven = match in_turn {
            None => proven_equal(rules, tried, [term, product], BY_ELEMENTS),
            Some(in_turn) => {
                proven_equal(rules, tried, [term, in_turn], BY_ELEMENTS).and_then(|(with_first, mut steps)| {
                    let (with_all, further) = proven_equal(rules, with_first, [in_turn, product], IN_TURN)?;
                    steps.extend(further);
                    Some((with_all, steps))
                })
            }
        };
        if let Some((with_steps, steps)) = proven {
            equal.extend(steps);
            arena = with_steps;
        }
    }
    (arena, equal)
}

/// The sum of products that a term is.
fn contraction(arena: &TermArena, term: TermId) -> Option<Contraction> {
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
        Elements::Placewise(Arithmetic::Mul) => factors_of(arena, summed, rank),
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
    Some(Contraction { factors, sizes, summed: summed_dims, scale, in_turn: Vec::new() })
}

/// The last `count` of so many dimensions, which a factor that is broadcast has.
fn aligned(count: usize, of: usize) -> Labels {
    (of - count..of).collect()
}

/// The factors of a product of products, place by place, whose dimensions are the last of `rank`.
fn factors_of(arena: &TermArena, product: TermId, rank: usize) -> Vec<Factor> {
    let (mut factors, mut stack) = (Vec::new(), vec![product]);
    while let Some(term) = stack.pop() {
        match (arena.op(term), &arena.term(term).operands[..]) {
            (Some((Op::Table(op), ..)), &[x, y])
                if op.arithmetic() == Arithmetic::Mul && factors.len() + stack.len() + 2 <= MAX_FACTORS =>
            {
                stack.extend([y, x]);
            }
            _ => factors.push(Factor { term, labels: aligned(arena.ty(term).rank(), rank) }),
        }
    }
    factors
}

impl Contraction {
    /// Products of matrices, in the type of the sum `term`; and, where factors were joined, the sum one dimension after the other.
    fn into_product(mut self, arena: &mut TermArena, term: TermId) -> Option<(TermId, Option<TermId>)> {
        // Where sums are scaled, or one is inside of a product, two factors are as many as can be.
        if self.factors.len() > 2 && self.scale != 1.0 {
            return None;
        }
        while self.factors.len() > 2 {
            self.join_two(arena)?;
        }
        let [x, y] = &self.factors[..] else { return None };
        let (x, y, summed) = (x.clone(), y.clone(), self.summed.clone());
        let is_joined = !self.in_turn.is_empty();
        let product = match self.matrix_product(arena, [x.clone(), y.clone()], &summed) {
            Some(product) => product,
            None if is_joined => self.added_up(arena, [x, y])?,
            None => return None,
        };
        let Factor { term: mut product, labels: order } = product;
        if self.scale != 1.0 {
            let (number, attrs) = ops::number(Number::float(self.scale), arena.ty(term).dtype);
            let number = arena.call(&Op::Table(number), &attrs, 0, &[], None).ok()?;
            let mul = ops::all().find(|op| op.arithmetic() == Arithmetic::Mul)?;
            product = arena.call(&Op::Table(mul), &Attrs::new(), 0, &[product, number], None).ok()?;
        }
        let mut sorted: SmallVec<[(usize, usize); 6]> = order.iter().copied().zip(0..).collect();
        sorted.sort_unstable();
        let product = permute(arena, product, sorted.into_iter().map(|(_, at)| at))?;
        let wanted = arena.ty(term).clone();
        let product = reshape(arena, product, &wanted.shape)?;
        let in_turn = if is_joined { Some(self.summed_in_turn(arena, term)?) } else { None };
        (*arena.ty(product) == wanted).then_some((product, in_turn))
    }

    /// The sum `term`, one part of its dimensions after the other.
    fn summed_in_turn(&self, arena: &mut TermArena, term: TermId) -> Option<TermId> {
        let &[mut of] = &arena.term(term).operands[..] else { return None };
        let mut left: Labels = (0..self.sizes.len()).collect();
        for labels in self.in_turn.iter().chain([&self.summed]).filter(|labels| !labels.is_empty()) {
            let dims = left.iter().zip(0..).filter(|(label, _)| labels.contains(label)).map(|(_, at)| at).collect();
            of = sum(arena, of, dims, false)?;
            left.retain(|label| !labels.contains(label));
        }
        let shape = arena.ty(term).shape.clone();
        reshape(arena, of, &shape)
    }

    /// Whether a factor runs along a dimension, and does not only repeat along it.
    fn has(&self, arena: &TermArena, factor: &Factor, label: usize) -> bool {
        factor.labels.iter().zip(&arena.ty(factor.term).shape).any(|(&l, &size)| l == label && size > 1)
    }

    fn size<'l>(&self, labels: impl IntoIterator<Item = &'l usize>) -> usize {
        labels.into_iter().fold(1, |size, &label| size.saturating_mul(self.sizes[label]))
    }

    /// Multiplies the two factors with which the work is least, and adds up what no other factor has.
    fn join_two(&mut self, arena: &mut TermArena) -> Option<()> {
        let count = self.factors.len();
        let labels: Vec<Labels> = self.factors.iter().map(|f| self.own(arena, f)).collect();
        let best = (0..count).flat_map(|i| (i + 1..count).map(move |j| [i, j])).filter_map(|pair| {
            let others = (0..count).filter(|n| !pair.contains(n)).flat_map(|n| labels[n].iter());
            let others: Labels = others.copied().collect();
            let both: Labels = (0..self.sizes.len()).filter(|l| pair.iter().any(|&n| labels[n].contains(l))).collect();
            let gone: Labels =
                both.iter().copied().filter(|l| self.summed.contains(l) && !others.contains(l)).collect();
            let left = (0..self.sizes.len()).filter(|l| !gone.contains(l)).collect::<Labels>();
            let work = self.size(&both).saturating_add(self.size(&left));
            (!gone.is_empty()).then_some((work, pair, gone))
        });
        let (_, [i, j], gone) = best.min_by_key(|(work, ..)| *work)?;
        let pair = [self.factors[i].clone(), self.factors[j].clone()];
        let product = self.matrix_product(arena, pair, &gone)?;
        self.factors.remove(j);
        self.factors[i] = product;
        self.summed.retain(|label| !gone.contains(label));
        self.in_turn.push(gone);
        Some(())
    }

    /// The dimensions that a factor runs along.
    fn own(&self, arena: &TermArena, factor: &Factor) -> Labels {
        (0..self.sizes.len()).filter(|&label| self.has(arena, factor, label)).collect()
    }

    /// Two factors as a product of matrices that adds up along `summed`, as a factor.
    fn matrix_product(&self, arena: &mut TermArena, [mut x, mut y]: [Factor; 2], summed: &Labels) -> Option<Factor> {
        let all: Labels = (0..self.sizes.len()).filter(|&label| self.sizes[label] > 1).collect();
        let (mut batch, mut rows, mut columns, mut inner) =
            (Labels::new(), Labels::new(), Labels::new(), Labels::new());
        let (mut of_x, mut of_y) = (Labels::new(), Labels::new());
        for label in all {
            let is_summed = summed.contains(&label);
            match (self.has(arena, &x, label), self.has(arena, &y, label)) {
                (true, true) if is_summed => inner.push(label),
                (true, true) => batch.push(label),
                (true, false) if is_summed => of_x.push(label),
                (true, false) => rows.push(label),
                (false, true) if is_summed => of_y.push(label),
                (false, true) => columns.push(label),
                // Repeated along it, or of other factors alone.
                (false, false) if self.factors.len() == 2 => return None,
                (false, false) => {}
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

    /// Two factors multiplied place by place and added up.
    fn added_up(&self, arena: &mut TermArena, factors: [Factor; 2]) -> Option<Factor> {
        let labels: Labels = (0..self.sizes.len()).filter(|&label| self.sizes[label] > 1).collect();
        let mut operands = Vec::new();
        for factor in factors {
            let own = self.own(arena, &factor);
            let shape = labels.iter().map(|l| if own.contains(l) { self.sizes[*l] } else { 1 }).collect::<Shape>();
            let none = Labels::new();
            operands.push(factor.matrix(arena, [&own, &none, &none], &shape)?);
        }
        let mul = ops::all().find(|op| op.arithmetic() == Arithmetic::Mul)?;
        let product = arena.call(&Op::Table(mul), &Attrs::new(), 0, &operands, None).ok()?;
        let dims = labels.iter().zip(0..).filter(|(l, _)| self.summed.contains(l)).map(|(_, at)| at).collect::<Ints>();
        let term = if dims.is_empty() { product } else { sum(arena, product, dims, false)? };
        Some(Factor { term, labels: labels.into_iter().filter(|l| !self.summed.contains(l)).collect() })
    }
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
