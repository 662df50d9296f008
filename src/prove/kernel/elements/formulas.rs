//! The formulas of the elements of terms, written down in one mode.

use std::cell::Cell;
use std::rc::Rc;

use num_rational::BigRational;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::super::arena::TermId;
use super::form::{Atom, Form, FormId, Operation, Product};
use super::mode::{Mode, Way};
use super::numbers::Numbers;
use super::scope::{Applied, Known, Scope, Seen};
use super::store::Store;
use super::written::Written;
use crate::ir::{AttrValue, DType, Number, Shape, flat_index, unflatten};
use crate::ops::shapes::{broadcast_index, visit_axes};
use crate::ops::{
    Arithmetic, AttrDef, AttrKind, Elements, EvalError, Moved, Movement, RowFunction, Sign, as_number, sign_of,
};
use crate::rules::Tier;

/// Operators that may nest.
const MAX_DEPTH: usize = 100;

/// Numbers of a formula that cost as much as one element.
pub(super) const SIZE_PER_ELEMENT: usize = 16;

/// From here on, integers that a kernel hands on stand for elements.
pub(super) const FIRST: i64 = 1 << 62;

pub(super) struct Formulas<'a> {
    pub(super) scope: &'a Scope<'a>,
    pub(super) way: Way,
    pub(super) numbers: Numbers,
    /// Bits of the numbers of the result's type.
    pub(super) precision: u64,
    /// Whether the result has a type whose numbers do not round.
    pub(super) is_exact: bool,
    pub(super) store: Store,
    pub(super) written: Written,
    /// Of terms that are computed row by row, what the elements of a row share, by the place where the row starts.
    pub(super) rows: FxHashMap<(TermId, usize), Rc<[FormId]>>,
    /// Of such terms, the rows that they are computed from.
    lanes: FxHashMap<(TermId, usize), Rc<Lane>>,
    /// Of formulas that are kept: `1 / x`.
    pub(super) inverses: FxHashMap<FormId, Form>,
    pub(super) left: usize,
    /// Cases that are told apart at present, one inside of the other.
    pub(super) splits: usize,
    pub(super) tier: Tier,
    /// Whether a sum left something out that cancels but for rounding.
    pub(super) drops: Cell<bool>,
}

impl<'a> Formulas<'a> {
    /// For results of type `dtype`.
    pub(super) fn new(scope: &'a Scope<'a>, way: Way, dtype: DType, left: usize) -> Self {
        let tier = if way.mode == Mode::Operators { Tier::Exact } else { Tier::Real };
        let (store, written) = (Store::default(), Written::default());
        let (rows, lanes) = (FxHashMap::default(), FxHashMap::default());
        let precision = if dtype == DType::F64 { 53 } else { 24 };
        let numbers = Numbers::new(precision);
        Formulas {
            scope,
            way,
            numbers,
            precision,
            is_exact: !dtype.is_float(),
            store,
            written,
            rows,
            lanes,
            inverses: FxHashMap::default(),
            left,
            splits: 0,
            tier,
            drops: Cell::default(),
        }
    }

    /// How equal two terms are at all combinations of some places along each dimension.
    pub(super) fn compare(&mut self, terms: [TermId; 2], places: &[Vec<usize>]) -> Option<Tier> {
        let learned = self.store.learned;
        let found = self.compared(terms, places);
        if found.is_some() || self.store.learned == learned {
            return found;
        }
        // What one side shows of a sum may have come too late for the other one.
        self.written.clear();
        self.rows.clear();
        self.lanes.clear();
        self.compared(terms, places)
    }

    fn compared(&mut self, [a, b]: [TermId; 2], places: &[Vec<usize>]) -> Option<Tier> {
        let counts: Shape = places.iter().map(Vec::len).collect();
        for number in 0..counts.iter().product() {
            let at = unflatten(&counts, number);
            let index: Shape = places.iter().zip(&at).map(|(places, &n)| places[n]).collect();
            let (x, y) = (self.element(a, &index, 0)?, self.element(b, &index, 0)?);
            if x != y && !self.is_same(x, y)? {
                return None;
            }
        }
        Some(if self.drops.get() { Tier::Rounding } else { self.tier })
    }

    /// What an element is; `None` where that takes too much, or where there is no such element.
    pub(super) fn element(&mut self, term: TermId, index: &[usize], depth: usize) -> Option<FormId> {
        let flat = flat_index(&self.scope.ty(term).shape, index);
        if let Some(form) = self.written.get(term, flat) {
            return Some(form);
        }
        if depth > MAX_DEPTH {
            return None;
        }
        self.spend(1)?;
        let form = self.found(term, index, depth)?;
        if !form.fits(self.scope.ty(term).dtype) {
            return None;
        }
        self.spend(form.size() / SIZE_PER_ELEMENT)?;
        if self.way.mode == Mode::Reals {
            self.store.learn(&form, self.scope.sign(term));
        }
        let id = self.store.keep(form);
        self.written.insert(term, flat, id);
        Some(id)
    }

    pub(super) fn spend(&mut self, count: usize) -> Option<()> {
        self.left = self.left.checked_sub(count)?;
        Some(())
    }

    pub(super) fn found(&mut self, term: TermId, index: &[usize], depth: usize) -> Option<Form> {
        let applied = match self.scope.seen(term) {
            Seen::Leaf => return Some(self.leaf(term, index)),
            Seen::Known(known) => return self.constant(term, known, index),
            Seen::Result(applied) => applied,
        };
        match applied.elements(self.way) {
            // Which elements are moved is known if the other operands are.
            Elements::Moved(moved, _) if self.knows_others(&applied, moved) => {
                self.moved(&applied, moved, index, depth)
            }
            Elements::Moved(moved, Movement::Gather | Movement::Index) if applied.result.dtype.is_float() => {
                let chosen = self.chosen(&applied, moved, index, depth)?;
                Some(chosen.unwrap_or_else(|| self.leaf(term, index)))
            }
            Elements::OneHot => {
                let hot = self.one_hot(&applied, index, depth)?;
                Some(hot.unwrap_or_else(|| self.leaf(term, index)))
            }
            Elements::Placewise(Arithmetic::Select) if self.scope.known(applied.operands[0]).is_some() => {
                self.moved(&applied, Moved::ButFirst, index, depth)
            }
            Elements::Placewise(function) => self.elementwise(&applied, function, index, depth),
            Elements::Lane(function) => self.lane(term, &applied, function, index, depth),
            Elements::Product | Elements::Convolution => self.contracted(&applied, index, depth),
            Elements::Attention => self.attention(term, &applied, index, depth),
            Elements::Weighted(moved)
                if self.way.mode != Mode::Operators
                    && adds_floats(&applied, moved)
                    && self.knows_others(&applied, moved) =>
            {
                let sum = self.weighted(&applied, moved, index, depth)?;
                Some(if self.vanishes(&sum) { self.leaf(term, index) } else { sum })
            }
            _ => Some(self.leaf(term, index)),
        }
    }

    pub(super) fn leaf(&mut self, term: TermId, index: &[usize]) -> Form {
        let ty = self.scope.ty(term);
        self.store.leaf(term, flat_index(&ty.shape, index), ty.dtype, self.scope.sign(term))
    }

    pub(super) fn constant(&mut self, term: TermId, known: Known, index: &[usize]) -> Option<Form> {
        let ty = self.scope.ty(term);
        let value = known.value.at(ty, index);
        if self.way.mode == Mode::Operators {
            // What is computed inexactly is equal to nothing bit for bit.
            return known.exact.then(|| match known.is_number {
                true => self.store.leaf(term, 0, ty.dtype, self.scope.sign(term)),
                false => self.store.atom(Atom::Constant(value)),
            });
        }
        if !known.exact {
            self.tier = Tier::Rounding;
        }
        self.number(if known.is_number { as_number(ty.dtype, value) } else { value })
    }

    /// A number that is no operator's; `None` where formulas are about real numbers and this is none, nor a limit of them.
    pub(super) fn number(&mut self, value: Number) -> Option<Form> {
        Some(match (value, self.way.mode) {
            (Number::Float(v), Mode::Products) => self.store.float(v.0),
            (Number::Float(v), Mode::Reals) if v.0 != f64::NEG_INFINITY => Form::number(BigRational::from_float(v.0)?),
            _ => self.store.atom(Atom::Constant(value)),
        })
    }

    /// Whether a sum comes to 0 where that holds for finite elements only, and formulas are about others too.
    pub(super) fn vanishes(&self, sum: &Form) -> bool {
        self.way.mode == Mode::Products && sum.is_zero()
    }

    pub(super) fn knows_others(&self, applied: &Applied, moved: Moved) -> bool {
        let is_known = |term| self.scope.known(term).is_some_and(|known| known.exact);
        applied.operands.iter().enumerate().all(|(i, &operand)| moved.contains(i) || is_known(operand))
    }

    /// The element that the operator takes, or the number that it puts there.
    pub(super) fn moved(&mut self, applied: &Applied, moved: Moved, index: &[usize], depth: usize) -> Option<Form> {
        self.spend((applied.op.reads)(&applied.call(), 1) / SIZE_PER_ELEMENT)?;
        match self.taken(applied, moved, index, |_, _| Err(EvalError::Budget)).ok()? {
            (value, Some((operand, at))) if value == Number::Int(FIRST) => {
                let id = self.element(*applied.operands.get(operand)?, &at, depth + 1)?;
                Some(self.store.form(id).clone())
            }
            (_, Some(_)) => None,
            (value, None) => {
                let value = applied.result.dtype.store(value)?;
                self.number(value)
            }
        }
    }

    /// What an operator that moves elements gives at a place, and the element that it read: then the number is [`FIRST`] if it hands
    /// that element on. `other` gives integers whose values are not known.
    pub(super) fn taken(
        &self,
        applied: &Applied,
        moved: Moved,
        index: &[usize],
        mut other: impl FnMut(usize, &[usize]) -> Result<Number, EvalError>,
    ) -> Result<(Number, Option<(usize, Shape)>), EvalError> {
        // Numbers that could be taken for the elements' own.
        let large = |value: &AttrValue| value.as_int().is_some_and(|n| n >= FIRST);
        if applied.attrs.iter().any(large) {
            return Err(EvalError::Budget);
        }
        let mut read: Option<(usize, Shape)> = None;
        let (scope, call) = (self.scope, applied.call());
        let mut fetch = |operand: usize, at: &[usize]| {
            if moved.contains(operand) {
                let first = read.is_none();
                read = Some((operand, at.into()));
                // One that reads two elements does more than move.
                return if first { Ok(Number::Int(FIRST)) } else { Err(EvalError::Budget) };
            }
            let term = applied.operands.get(operand).ok_or(EvalError::Budget)?;
            match scope.known(*term).filter(|known| known.exact) {
                Some(known) => Ok(known.value.at(scope.ty(*term), at)),
                None => other(operand, at),
            }
        };
        let found = applied.op.kernel.compute(&call, applied.slot as usize, index, &mut fetch)?;
        Ok((*found.first().ok_or(EvalError::Budget)?, read))
    }

    /// What an operator that is not looked into further gives for these elements.
    pub(super) fn applied(&mut self, applied: &Applied, operands: Vec<(DType, FormId)>, place: &[usize]) -> Form {
        let call = applied.call();
        // What says where a lane lies makes no difference to its elements: they are listed, and `place` has its sizes.
        let places = |def: &AttrDef| {
            !place.is_empty()
                && (matches!(def.kind, AttrKind::Dim | AttrKind::Dims | AttrKind::Ints) || def.name == "keepdim")
        };
        let attrs = call.op.attrs.iter().zip(call.attrs).filter(|(def, _)| !places(def));
        let attrs = attrs.map(|(_, value)| value.clone()).collect();
        let (mut dtype, mut operands) = (applied.result.dtype, operands);
        // A cast is between the types that it is between; other operators compute the same real numbers in bf16 and f32.
        if self.way.mode != Mode::Operators && call.op.arithmetic() != Arithmetic::Cast {
            dtype = over_reals(dtype);
            operands.iter_mut().for_each(|(dtype, _)| *dtype = over_reals(*dtype));
        }
        let sign = if place.is_empty() && applied.slot == 0 && operands.len() == call.operands.len() {
            let signs = operands.iter().map(|&(_, id)| self.store.sign(self.store.form(id)));
            sign_of(call.op, call.attrs, call.operands.iter().copied().zip(signs))
        } else {
            Sign::Unknown
        };
        let range = if place.is_empty() { self.range_of(applied, &operands) } else { None };
        let mut what = Operation::of(call.op);
        // Greater is less, the other way round.
        if let Operation::Arithmetic(Arithmetic::Compare(comparison)) = &mut what
            && let Some(swapped) = comparison.as_less()
        {
            *comparison = swapped;
            operands.reverse();
        }
        let atom = self.store.signed(Atom::Applied { what, dtype, attrs, operands, place: place.into() }, sign);
        if let Some(range) = range {
            self.store.set_range(&atom, range);
        }
        atom
    }

    pub(super) fn elementwise(
        &mut self,
        applied: &Applied,
        function: Arithmetic,
        index: &[usize],
        depth: usize,
    ) -> Option<Form> {
        let call = applied.call();
        let mut operands: Vec<(DType, FormId)> = Vec::with_capacity(call.operands.len());
        for (&term, ty) in applied.operands.iter().zip(call.operands) {
            operands.push((ty.dtype, self.element(term, &broadcast_index(&ty.shape, index), depth + 1)?));
        }
        let arithmetic = self.arithmetic(function, &call, &operands, applied.result.dtype)?;
        if arithmetic.is_some() {
            return arithmetic;
        }
        if let Some(id) = self.known_condition(function, &operands) {
            return Some(self.form(id));
        }
        if call.op.commutative
            && let [first, second, ..] = operands.as_mut_slice()
            && second < first
        {
            std::mem::swap(first, second);
        }
        Some(self.applied(applied, operands, &[]))
    }

    /// What two truth values of which one is known come to: the other one, or the known one.
    fn known_condition(&self, function: Arithmetic, operands: &[(DType, FormId)]) -> Option<FormId> {
        let neutral = match function {
            Arithmetic::And => true,
            Arithmetic::Or => false,
            _ => return None,
        };
        let &[(DType::Bool, x), (DType::Bool, y)] = operands else { return None };
        let known = |id: FormId| {
            let [Product { factors, .. }] = self.store.form(id).products() else { return None };
            let [atom] = factors[..] else { return None };
            match self.store.atom_of(atom) {
                Atom::Constant(value) => Some(value.is_true()),
                _ => None,
            }
        };
        match (known(x), known(y)) {
            (Some(value), _) => Some(if value == neutral { y } else { x }),
            (_, Some(value)) => Some(if value == neutral { x } else { y }),
            _ => None,
        }
    }

    /// An element of a row that is computed from a row, or what a row comes to.
    pub(super) fn lane(
        &mut self,
        term: TermId,
        applied: &Applied,
        function: RowFunction,
        index: &[usize],
        depth: usize,
    ) -> Option<Form> {
        let call = applied.call();
        let (x, axes) = (call.operands[0], call.lane_dims()?);
        let mut start = Shape::from_elem(0, x.rank());
        let whole = call.reduces_lanes();
        if whole && !call.bool("keepdim") {
            let kept = (0..x.rank()).filter(|d| !axes.contains(d));
            kept.zip(index).for_each(|(d, &i)| start[d] = i);
        } else {
            start.copy_from_slice(index);
        }
        let inner: SmallVec<[usize; 4]> = axes.iter().map(|&d| start[d]).collect();
        axes.iter().for_each(|&d| start[d] = 0);
        let key = (term, flat_index(&x.shape, &start));
        let lane = match self.lanes.get(&key) {
            Some(known) => known.clone(),
            None => {
                let lane = self.elements_of(applied.operands[0], &axes, &start, depth)?;
                if !whole {
                    self.lanes.insert(key, lane.clone());
                }
                lane
            }
        };
        let count = lane.elements.len();
        let shared_by = match function {
            RowFunction::Sum => Some(1),
            RowFunction::Mean => Some(count),
            _ => None,
        };
        if self.way.mode == Mode::Products
            && let Some(divisor) = shared_by
            && computes_floats(applied)
            && count > 0
        {
            let sizes: usize = lane.elements.iter().map(|&(_, id)| self.store.form(id).size()).sum();
            self.spend(count + sizes / SIZE_PER_ELEMENT)?;
            let part = BigRational::new(1.into(), divisor.into());
            let sum = Form::sum(lane.elements.iter().map(|&(_, id)| self.store.form(id).clone().scaled(&part)));
            if !sum.is_zero() {
                return Some(sum);
            }
        }
        if self.way.mode == Mode::Products
            && function == RowFunction::Sum
            && x.dtype == applied.result.dtype
            && x.dtype.is_int()
        {
            return self.sum_of_integers(&lane.elements, x.dtype);
        }
        // Weight and bias of a normalisation.
        let mut others = Vec::new();
        for (&term, ty) in applied.operands.iter().zip(call.operands).skip(1) {
            others.push((ty.dtype, self.element(term, &inner, depth + 1)?));
        }
        if self.way.mode == Mode::Reals
            && x.dtype.is_float()
            && let RowFunction::PlaceOfLargest | RowFunction::PlaceOfSmallest = function
        {
            let sizes: Shape = axes.iter().map(|&d| x.shape[d]).collect();
            if let Some(place) =
                self.place_of_largest(&lane.elements, function == RowFunction::PlaceOfLargest, &sizes)?
            {
                return Some(place);
            }
        }
        if self.way.mode == Mode::Reals && computes_floats(applied) {
            let sizes: SmallVec<[usize; 4]> = axes.iter().map(|&d| x.shape[d]).collect();
            let row = Row { key, elements: &lane.elements, place: flat_index(&sizes, &inner), others: &others };
            if let Some(form) = self.row(function, applied, &row)? {
                return Some(form);
            }
            // Limits have laws of their own.
            if lane.has_limit || others.iter().any(|&(_, id)| self.is_minus_infinity(id)) {
                return None;
            }
        }
        let mut place: SmallVec<[usize; 4]> = axes.iter().map(|&d| x.shape[d]).collect();
        if !whole {
            place.extend(inner);
        }
        // Its elements would stand in the formula of each of its results.
        others.insert(0, (x.dtype, lane.form));
        Some(self.applied(applied, others, &place))
    }

    /// The elements of a row that starts at a place.
    fn elements_of(&mut self, term: TermId, axes: &[usize], start: &[usize], depth: usize) -> Option<Rc<Lane>> {
        let ty = self.scope.ty(term);
        let mut elements = Vec::new();
        visit_axes(&ty.shape, axes, start, |at| {
            elements.push((ty.dtype, self.element(term, at, depth + 1).ok_or(())?));
            Ok::<(), ()>(())
        })
        .ok()?;
        let has_limit = self.way.mode == Mode::Reals && elements.iter().any(|&(_, id)| self.is_minus_infinity(id));
        let dtype = if self.way.mode == Mode::Operators { ty.dtype } else { over_reals(ty.dtype) };
        let operands = elements.iter().map(|&(_, id)| (dtype, id)).collect();
        let (attrs, place) = (SmallVec::new(), SmallVec::new());
        let row = self.store.atom(Atom::Applied { what: Operation::Row, dtype, attrs, operands, place });
        Some(Rc::new(Lane { elements, has_limit, form: self.store.keep(row) }))
    }
}

/// Whether an operator computes floats of floats. Integers wrap around: they are no real numbers.
fn computes_floats(applied: &Applied) -> bool {
    applied.result.dtype.is_float() && applied.call().operands.iter().all(|ty| ty.dtype.is_float())
}

/// Whether an operator computes floats of the floats that it adds.
fn adds_floats(applied: &Applied, added: Moved) -> bool {
    let call = applied.call();
    let mut summands = call.operands.iter().enumerate().filter(|(i, _)| added.contains(*i));
    applied.result.dtype.is_float() && summands.all(|(_, ty)| ty.dtype.is_float())
}

/// One type for those of one range: over the real numbers they compute the same.
pub(super) fn over_reals(dtype: DType) -> DType {
    if dtype == DType::BF16 { DType::F32 } else { dtype }
}

/// The elements of a row.
struct Lane {
    elements: Vec<(DType, FormId)>,
    /// Whether one of them is minus infinity, which is asked over the real numbers only.
    has_limit: bool,
    /// The row as one formula.
    form: FormId,
}

/// A row that an operator reads, and one place on it.
pub(super) struct Row<'r> {
    /// What no other row of this operator has.
    pub key: (TermId, usize),
    pub elements: &'r [(DType, FormId)],
    /// The place of the result among them, where the operator gives a row.
    pub place: usize,
    /// The elements of further operands for that place.
    pub others: &'r [(DType, FormId)],
}
