//! Sums of products as matrix products: what is multiplied and added up along some dimensions, however it is broadcast, is a product of
//! two matrices, or of a batch of them.

use smallvec::SmallVec;

use crate::ir::{AttrValue, Attrs, Ints, Number, Shape};
use crate::ops::{self, Arithmetic, Call, Elements, Movement, Op, OpDef, RowFunction};
use crate::prove::{Lemma, Limits, TermArena, TermId, proven_equal};
use crate::rules::RuleSet;

use super::spellings::parts_of;

/// Sums of one part that are looked at.
const MAX_SUMS: usize = 8;

/// Both sides add up the same products, which their elements show: hardly any search is needed.
const BY_ELEMENTS: Limits = Limits { rounds: 2, nodes: 200, search: 20_000 };

/// Dimensions of a sum of products, by their numbers.
type Labels = SmallVec<[usize; 6]>;

/// A factor, and which dimensions of the sum its own ones are.
struct Factor {
    term: TermId,
    labels: Labels,
}

/// `Σ x y` over some dimensions.
struct Contraction {
    x: Factor,
    y: Factor,
    /// The size of each dimension.
    sizes: SmallVec<[usize; 6]>,
    /// Those that are added up.
    summed: Labels,
    /// What the sum is multiplied by.
    scale: f64,
}

/// Adds products of matrices that sums of products are which `root` is made of, with what is proven of them.
pub(super) fn contractions(mut arena: TermArena, root: TermId, rules: &RuleSet) -> (TermArena, Vec<Lemma>) {
    let sums = parts_of(&arena, root).into_iter().filter_map(|term| Some((term, contraction(&arena, term)?)));
    let sums: Vec<(TermId, Contraction)> = sums.take(MAX_SUMS).collect();
    let mut equal = Vec::new();
    for (term, contraction) in sums {
        let mut tried = arena.clone();
        let Some(product) = contraction.into_product(&mut tried, term) else { continue };
        if let Some((with_steps, steps)) = proven_equal(rules, tried, [term, product], BY_ELEMENTS) {
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
    let [x, y] = arena.term(summed).operands[..] else { return None };
    if !whole.dtype.is_float() || [x, y].iter().any(|&f| arena.ty(f).dtype != whole.dtype) {
        return None;
    }
    let rank = whole.rank();
    let ranks = [x, y].map(|factor| arena.ty(factor).rank());
    let mut sizes: SmallVec<[usize; 6]> = whole.shape.iter().copied().collect();
    let mut summed = dims;
    let aligned = |count: usize, of: usize| (of - count..of).collect::<Labels>();
    let (of_x, of_y) = match op.elements {
        Elements::Placewise(Arithmetic::Mul) => (aligned(ranks[0], rank), aligned(ranks[1], rank)),
        // One more dimension is added up inside.
        Elements::Product if ranks.iter().all(|&rank| rank >= 2) => {
            summed.push(rank);
            sizes.push(*arena.ty(x).shape.last()?);
            let mut of_x = aligned(ranks[0], rank);
            *of_x.last_mut()? = rank;
            let call = Call { op, attrs, operands: &[arena.ty(x), arena.ty(y)] };
            let inside = ops::contraction(&call, &SmallVec::<[usize; 6]>::from_elem(0, rank))?;
            let mut of_y: Labels = aligned(ranks[1] - 2, rank - 2).into_iter().chain([rank, rank - 1]).collect();
            if inside.y.axis + 1 == ranks[1] {
                of_y.swap(ranks[1] - 2, ranks[1] - 1);
            }
            (of_x, of_y)
        }
        _ => return None,
    };
    (of_x.len() == ranks[0] && of_y.len() == ranks[1]).then_some(())?;
    Some(Contraction { x: Factor { term: x, labels: of_x }, y: Factor { term: y, labels: of_y }, sizes, summed, scale })
}

impl Contraction {
    /// The product of matrices, in the type of the sum `term`.
    fn into_product(mut self, arena: &mut TermArena, term: TermId) -> Option<TermId> {
        let has = |arena: &TermArena, factor: &Factor, label: usize| {
            factor.labels.iter().zip(&arena.ty(factor.term).shape).any(|(&l, &size)| l == label && size > 1)
        };
        let all: Labels = (0..self.sizes.len()).filter(|&label| self.sizes[label] > 1).collect();
        let (mut batch, mut rows, mut columns, mut inner) =
            (Labels::new(), Labels::new(), Labels::new(), Labels::new());
        let (mut of_x, mut of_y) = (Labels::new(), Labels::new());
        for label in all {
            let is_summed = self.summed.contains(&label);
            match (has(arena, &self.x, label), has(arena, &self.y, label)) {
                (true, true) if is_summed => inner.push(label),
                (true, true) => batch.push(label),
                (true, false) if is_summed => of_x.push(label),
                (true, false) => rows.push(label),
                (false, true) if is_summed => of_y.push(label),
                (false, true) => columns.push(label),
                (false, false) => return None,
            }
        }
        let size = |labels: &Labels| labels.iter().map(|&label| self.sizes[label]).product::<usize>();
        if inner.is_empty() || size(&rows) == 1 && size(&columns) == 1 {
            return None;
        }
        // What only one factor has is added up before.
        self.x.sum(arena, &of_x)?;
        self.y.sum(arena, &of_y)?;
        let (b, m, n, k) = (size(&batch), size(&rows), size(&columns), size(&inner));
        let is_batch = !batch.is_empty();
        let matrix = |sizes: [usize; 2]| is_batch.then_some(b).into_iter().chain(sizes).collect::<Shape>();
        let x = self.x.matrix(arena, [&batch, &rows, &inner], &matrix([m, k]))?;
        let y = self.y.matrix(arena, [&batch, &inner, &columns], &matrix([k, n]))?;
        let matmul = ops::all().find(|op| matches!(op.elements, Elements::Product))?;
        let mut product = arena.call(&Op::Table(matmul), &Attrs::new(), 0, &[x, y], None).ok()?;
        if self.scale != 1.0 {
            let (number, attrs) = ops::number(Number::float(self.scale), arena.ty(term).dtype);
            let number = arena.call(&Op::Table(number), &attrs, 0, &[], None).ok()?;
            let mul = ops::all().find(|op| op.arithmetic() == Arithmetic::Mul)?;
            product = arena.call(&Op::Table(mul), &Attrs::new(), 0, &[product, number], None).ok()?;
        }
        let order: Labels = [batch, rows, columns].concat().into();
        let shape = order.iter().map(|&label| self.sizes[label]).collect::<Shape>();
        let product = reshape(arena, product, &shape)?;
        let mut sorted: SmallVec<[(usize, usize); 6]> = order.iter().copied().zip(0..).collect();
        sorted.sort_unstable();
        let product = permute(arena, product, sorted.into_iter().map(|(_, at)| at))?;
        let wanted = arena.ty(term).clone();
        let product = reshape(arena, product, &wanted.shape)?;
        (*arena.ty(product) == wanted).then_some(product)
    }
}

impl Factor {
    /// Adds up dimensions.
    fn sum(&mut self, arena: &mut TermArena, labels: &Labels) -> Option<()> {
        let dims: Ints =
            (0..self.labels.len()).filter(|&at| labels.contains(&self.labels[at])).map(|at| at as i64).collect();
        if dims.is_empty() {
            return Some(());
        }
        let sum = ops::all().find(|op| op.row_function() == RowFunction::Sum)?;
        let attrs = sum.attrs(&[("dim", AttrValue::Ints(dims)), ("keepdim", AttrValue::Bool(true))]).ok()?;
        self.term = arena.call(&Op::Table(sum), &attrs, 0, &[self.term], None).ok()?;
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
