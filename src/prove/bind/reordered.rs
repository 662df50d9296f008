//! Weights that hold the elements of weights of the other side in another order: with dims exchanged, or made of runs of their rows, as
//! where a format wants the gates of a recurrent layer in an order of its own, or the pairs of a rotary embedding side by side.

use std::ops::Range;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::Expression;
use super::expression::Rows;
use super::plan::{Meaning, Plan, Source};
use crate::ir::{Contents, Role, Shape, Steps, TensorType, unflatten};
use crate::prove::Side;
use crate::prove::view_equivalence::permutations;

/// The most elements of a tensor that is looked at, and of all that are looked at on one side.
const MAX_ELEMENTS: usize = 1 << 20;
const MAX_ALL_ELEMENTS: usize = 1 << 22;

/// Dims other than 1 whose orders are tried.
const MAX_DIMS: usize = 5;

/// The most runs of rows that a tensor is made of.
const MAX_RUNS: usize = 64;

/// The fewest elements of a run: of less, every tensor can be made.
const MIN_RUN: usize = 4;

/// A float tensor and the bits of its elements.
struct Tensor {
    input: usize,
    ty: TensorType,
    bits: Vec<u64>,
}

/// A tensor as rows of some width: a vector has rows of one element.
struct Table<'t> {
    tensor: &'t Tensor,
    is_transposed: bool,
    width: usize,
    bits: Vec<u64>,
}

impl Table<'_> {
    fn row(&self, row: usize) -> Option<&[u64]> {
        let start = row.checked_mul(self.width)?;
        self.bits.get(start..start.checked_add(self.width)?)
    }
}

/// Rows of a table one after another.
struct Run {
    table: usize,
    start: usize,
    end: usize,
}

/// What a tensor was found to be.
struct Found {
    expression: Expression,
    source: Source,
    /// The elements that it takes of each tensor, in the order in which that tensor is read: all of them, or a range.
    taken: Vec<(usize, Range<usize>)>,
}

impl Found {
    /// All elements of one tensor.
    fn whole(expression: Expression, tensor: &Tensor) -> Found {
        Found { expression, source: Source::Content, taken: vec![(tensor.input, 0..tensor.ty.numel())] }
    }
}

/// Leaves out what takes a part of a tensor of which the rest is taken by nothing: that part may stand for something else.
fn keep_whole(found: &mut Vec<(usize, Found)>, sources: &[Tensor]) {
    loop {
        let mut taken: FxHashMap<usize, Vec<Range<usize>>> = FxHashMap::default();
        for (input, range) in found.iter().flat_map(|(_, found)| &found.taken) {
            taken.entry(*input).or_default().push(range.clone());
        }
        let is_whole = |input: &usize| {
            let size = sources.iter().find(|s| s.input == *input).map_or(0, |s| s.ty.numel());
            let mut ranges = taken.get(input).cloned().unwrap_or_default();
            ranges.sort_by_key(|range| range.start);
            ranges.iter().fold(0, |end, range| if range.start <= end { end.max(range.end) } else { end }) >= size
        };
        let before = found.len();
        found.retain(|(_, found)| found.taken.iter().all(|(input, _)| is_whole(input)));
        if found.len() == before {
            return;
        }
    }
}

impl Plan {
    /// Binds tensors that are bound to nothing to what holds their elements in another order.
    pub(super) fn reordered(&mut self, [of_a, of_b]: [&mut dyn Contents; 2]) {
        self.reordered_of(Side::B, of_b, of_a);
        self.reordered_of(Side::A, of_a, of_b);
    }

    fn reordered_of(&mut self, side: Side, own: &mut dyn Contents, others: &mut dyn Contents) {
        let mut targets = self.open_tensors(side, own, false);
        if targets.is_empty() {
            return;
        }
        let sources = self.open_tensors(side.other(), others, true);
        targets.retain(|target| {
            let named = self.named(side, target.input);
            !named.is_some_and(|i| sources.iter().any(|s| s.input == i && s.bits == target.bits))
        });
        if targets.is_empty() {
            return;
        }
        let tables: Vec<Table> = sources.iter().flat_map(tables).collect();
        let mut found: Vec<(usize, Found)> = Vec::new();
        for target in targets {
            let own = exchanged(&target, &sources).or_else(|| arranged(&target, &tables));
            found.extend(own.or_else(|| of_rows(&target, &tables)).map(|own| (target.input, own)));
        }
        keep_whole(&mut found, &sources);
        for (target, Found { expression, source, .. }) in found {
            if let Some(other) = self.named(side, target) {
                self.side_mut(side.other())[other].meaning = None;
            }
            self.derive(side, target, expression, source);
        }
    }

    /// The input of the other side that has the name of a weight, and as far as checksums tell other values.
    fn named(&self, side: Side, input: usize) -> Option<usize> {
        let slot = &self.side(side)[input];
        let Some((Meaning::Same(other), Source::Name)) = slot.meaning else { return None };
        let checksum = self.side(side.other())[other].checksum;
        (slot.input.role != Role::User && (checksum.is_none() || checksum != slot.checksum)).then_some(other)
    }

    /// The float tensors of `side` that are bound to nothing, or by their name alone, and hold values other than one; those that others are
    /// made of, too, where `used`.
    fn open_tensors(&self, side: Side, contents: &mut dyn Contents, used: bool) -> Vec<Tensor> {
        let mut left = MAX_ALL_ELEMENTS;
        let mut all = Vec::new();
        for (input, slot) in self.side(side).iter().enumerate() {
            let ty = &slot.input.ty;
            let is_read = used && slot.used && slot.meaning.is_none() && slot.input.role != Role::User;
            let is_open = slot.is_alone() || is_read || self.named(side, input).is_some();
            if !is_open || !ty.dtype.is_float() || ty.numel() > MAX_ELEMENTS.min(left) {
                continue;
            }
            let Some(elements) = contents.elements(input).filter(|all| all.len() == ty.numel()) else { continue };
            let bits: Vec<u64> = elements.iter().map(|element| element.to_f64().to_bits()).collect();
            if bits.iter().any(|b| bits.first() != Some(b)) {
                left -= ty.numel();
                all.push(Tensor { input, ty: ty.clone(), bits });
            }
        }
        all
    }
}

/// The one source that holds the elements of `target` with its dims in another order.
fn exchanged(target: &Tensor, sources: &[Tensor]) -> Option<Found> {
    let mut found: Option<(&Tensor, Vec<usize>)> = None;
    for source in sources.iter().filter(|s| s.ty.numel() == target.ty.numel() && s.ty.dtype == target.ty.dtype) {
        let dims = &source.ty.shape;
        if dims.iter().filter(|&&size| size > 1).count() > MAX_DIMS || dims.len() > 2 * MAX_DIMS {
            continue;
        }
        let wide: Vec<usize> = (0..dims.len()).filter(|&d| dims[d] > 1).collect();
        for order in permutations(wide.len()) {
            let order: Vec<usize> = order.into_iter().map(|n| wide[n]).collect();
            let mut places = in_order(dims, &order).zip(&target.bits);
            let is_same = places.all(|(at, bits)| source.bits.get(at) == Some(bits));
            if is_same && found.replace((source, order)).is_some() {
                return None;
            }
        }
    }
    let (source, wide) = found?;
    let narrow = (0..source.ty.rank()).filter(|&d| source.ty.shape[d] == 1);
    let order: Vec<usize> = narrow.chain(wide).collect();
    let permuted: Shape = order.iter().map(|&d| source.ty.shape[d]).collect();
    let is_moved = !order.iter().copied().eq(0..order.len());
    let steps = Steps {
        split: None,
        order: is_moved.then_some(order),
        shape: (permuted != target.ty.shape).then(|| target.ty.shape.clone()),
    };
    Some(Found::whole(Expression::arranged(source.input, &source.ty, &steps).ok()?, source))
}

/// The places of the elements of a tensor of size `dims`, in the order that they have once its dims stand in `order`; those of size 1 may
/// be left out.
fn in_order(dims: &[usize], order: &[usize]) -> impl Iterator<Item = usize> + use<> {
    let moved: Shape = order.iter().map(|&d| dims[d]).collect();
    let strides: Shape = order.iter().map(|&d| dims[d + 1..].iter().product()).collect();
    (0..moved.iter().product()).map(move |place| {
        let index = unflatten(&moved, place);
        index.iter().zip(&strides).map(|(at, stride)| at * stride).sum()
    })
}

/// A tensor by its rows, and a matrix by its columns, too.
fn tables(tensor: &Tensor) -> Vec<Table<'_>> {
    let own = |width: usize| Table { tensor, is_transposed: false, width, bits: tensor.bits.clone() };
    match tensor.ty.shape[..] {
        [] => Vec::new(),
        [_] => vec![own(1)],
        [rows, columns] => {
            let bits = in_order(&[rows, columns], &[1, 0]).map(|at| tensor.bits[at]).collect();
            vec![own(columns), Table { tensor, is_transposed: true, width: rows, bits }]
        }
        [.., columns] => vec![own(columns)],
    }
}

/// The table whose rows `target` holds with two digits of their number exchanged: as a tensor of four dimensions, with the inner two of the
/// first three exchanged.
fn arranged(target: &Tensor, tables: &[Table]) -> Option<Found> {
    tables.iter().find_map(|table| {
        let (source, width) = (table.tensor, table.width);
        let rows = source.ty.numel() / width.max(1);
        let fits = source.ty.dtype == target.ty.dtype && source.ty.numel() == target.ty.numel();
        if table.is_transposed || !fits || target.ty.shape.last() != source.ty.shape.last() || rows < 4 {
            return None;
        }
        let divisors = |n: usize| (2..n).filter(move |d| n.is_multiple_of(*d));
        let splits = divisors(rows).chain([rows]).flat_map(|inner| divisors(inner).map(move |first| (inner, first)));
        let row = |at: usize| target.bits.get(at * width..(at + 1) * width);
        let [inner, first] = splits
            .filter(|&(inner, first)| {
                let second = inner / first;
                let from = |at: usize| at / inner * inner + at % second * first + at % inner / second;
                (0..rows).all(|at| row(at) == table.row(from(at)))
            })
            .map(|(inner, first)| [inner, first])
            .next()?;
        let split: Shape =
            [rows / inner, inner / first, first].into_iter().chain((width > 1).then_some(width)).collect();
        let order = if width > 1 { vec![0, 2, 1, 3] } else { vec![0, 2, 1] };
        let steps = Steps { split: Some(split), order: Some(order), shape: Some(target.ty.shape.clone()) };
        Some(Found::whole(Expression::arranged(source.input, &source.ty, &steps).ok()?, source))
    })
}

/// The rows of tables that `target` is made of, one run after another.
fn of_rows(target: &Tensor, tables: &[Table]) -> Option<Found> {
    let &columns = target.ty.shape.last()?;
    [columns, 1].into_iter().find_map(|width| {
        let is_of_vectors = width == 1 && columns != 1;
        let fits = |table: &Table| table.width == width && table.tensor.ty.dtype == target.ty.dtype;
        let fitting: Vec<&Table> =
            tables.iter().filter(|t| fits(t) && (!is_of_vectors || t.tensor.ty.rank() == 1)).collect();
        let (runs, is_certain) = runs(&target.bits, width, &fitting)?;
        let rows = runs.iter().map(|run| {
            let table = fitting[run.table];
            let rows = Rows { start: run.start, end: run.end, is_transposed: table.is_transposed };
            (table.tensor.input, &table.tensor.ty, rows)
        });
        let expression = Expression::of_rows(rows, width, &target.ty.shape).ok()?;
        let source = if is_certain { Source::Content } else { Source::Alike };
        let taken = |run: &Run| {
            let table = fitting[run.table];
            let elements = run.start * width..run.end * width;
            // Some of the columns lie in all rows.
            let is_part = table.is_transposed && elements.len() < table.bits.len();
            (table.tensor.input, if is_part { 0..0 } else { elements })
        };
        let taken = runs.iter().map(taken).collect();
        Some(Found { expression, source, taken })
    })
}

/// The runs that `bits`, in rows of `width`, are made of, and whether each row occurs but once.
fn runs(bits: &[u64], width: usize, tables: &[&Table]) -> Option<(Vec<Run>, bool)> {
    // By its elements: the tables that hold a row, and where.
    type Places = SmallVec<[(usize, usize); 1]>;
    let mut places: FxHashMap<&[u64], Places> = FxHashMap::default();
    for (number, table) in tables.iter().enumerate() {
        for (row, bits) in table.bits.chunks_exact(width.max(1)).enumerate() {
            places.entry(bits).or_default().push((number, row));
        }
    }
    let (mut runs, mut is_certain): (Vec<Run>, bool) = (Vec::new(), true);
    for row in bits.chunks_exact(width.max(1)) {
        let known = places.get(row)?;
        is_certain &= known.len() == 1;
        match runs.last_mut() {
            Some(run) if tables[run.table].row(run.end) == Some(row) => run.end += 1,
            _ => {
                let &[(table, start)] = known.as_slice() else { return None };
                runs.push(Run { table, start, end: start + 1 });
            }
        }
        if runs.len() > MAX_RUNS {
            return None;
        }
    }
    let is_long = |run: &Run| (run.end - run.start) * width >= MIN_RUN;
    (!runs.is_empty() && runs.iter().all(is_long)).then_some((runs, is_certain))
}
