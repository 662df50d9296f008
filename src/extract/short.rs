//! Short forms: what a part of a graph may amount to, whether or not a rule says so.
//!
//! Every operator of the table is put on top of what a part reads and computes on its way, and of what the part's own operators
//! make of its inputs. Such a form is a guess: fingerprints tell which ones are worth a proof.

use std::sync::LazyLock;

use indexmap::IndexSet;
use rustc_hash::FxHashSet;
use smallvec::{SmallVec, smallvec};

use crate::ir::{AttrValue, Attrs, Ints, Shape, TensorType};
use crate::ops::shapes::broadcast;
use crate::ops::{
    self, Arithmetic, Arity, AttrDef, AttrKind, Call, Default, Family, Kernel, Movement, Op, OpDef, canonical_attrs,
};
use crate::prove::{Head, TermArena, TermId};

/// Values that forms are made of, of each kind: numbers of the part, what its operators make of its inputs, and what it computes on its
/// way.
const MAX_NUMBERS: usize = 3;
const MAX_MADE: usize = 24;
const MAX_ON_THE_WAY: usize = 8;
/// Those in front that operators with three operands take.
const MAX_OF_THREE: usize = 8;
/// The sum of the places of two values that both stand in front.
const FRONT: usize = 20;

/// Forms that are looked at.
const MAX_FORMS: usize = 4_000;

/// Inputs of a part. With more of them there are too many forms to look at.
const MAX_INPUTS: usize = 5;

/// Dimensions of a value. Nobody's tensors have more, and each of them multiplies the choices of attributes.
const MAX_RANK: usize = 8;

/// The operators of the table that can be evaluated, by the number of operands that have to be given: one, two or three.
static OPERATORS: LazyLock<[Vec<&'static OpDef>; 3]> = LazyLock::new(|| {
    [1, 2, 3].map(|count| {
        let takes = |def: &&OpDef| {
            let one = def.operands.iter().filter(|o| o.arity == Arity::One).count();
            one == count && def.operands.iter().all(|o| o.arity != Arity::Many)
        };
        ops::all().filter(takes).filter(|def| !matches!(def.kernel, Kernel::Opaque)).collect()
    })
});

/// The terms that short forms of one part are built of.
struct Short<'a> {
    arena: &'a mut TermArena,
    wanted: TensorType,
    /// The calls of the part itself.
    calls: Vec<(&'static OpDef, Attrs)>,
    forms: IndexSet<TermId>,
}

/// Forms of the type of `root`, built in `arena`: an operator over inputs of the part, over what the part computes, or over what one or two of the part's
/// own operators make of inputs.
pub(super) fn short_forms(arena: &mut TermArena, root: TermId) -> Vec<TermId> {
    let below = below(arena, root);
    let is_input = |arena: &TermArena, t: TermId| matches!(arena.head(t), Head::Input(_)) && arena.value(t).is_none();
    let inputs: Vec<TermId> = below.iter().copied().filter(|&t| is_input(arena, t)).collect();
    let is_large = below.iter().any(|&t| arena.ty(t).rank() > MAX_RANK);
    if inputs.is_empty() || inputs.len() > MAX_INPUTS || is_large {
        return Vec::new();
    }
    let numbers = below.iter().copied().filter(|&t| arena.value(t).is_some() && arena.ty(t).rank() == 0);
    let numbers: Vec<TermId> = numbers.take(MAX_NUMBERS).collect();
    let on_the_way = below.iter().copied().filter(|&t| t != root && arena.value(t).is_none() && !is_input(arena, t));
    let on_the_way: Vec<TermId> = on_the_way.take(MAX_ON_THE_WAY).collect();
    let mut calls: Vec<(&'static OpDef, Attrs)> = Vec::new();
    for &term in &below {
        let Some((Op::Table(def), attrs, 0)) = arena.op(term) else { continue };
        if !calls.iter().any(|(known, own)| known.name == def.name && own == attrs) {
            calls.push((def, attrs.clone()));
        }
    }
    let wanted = arena.ty(root).clone();
    let mut short = Short { arena, wanted, calls, forms: IndexSet::new() };
    let made = short.made_of(&inputs);
    let values: Vec<TermId> = inputs.iter().chain(&numbers).chain(&made).chain(&on_the_way).copied().collect();
    short.forms.extend(&values);
    let reads: Vec<u8> = values.iter().map(|&t| short.reads(t, &inputs)).collect();
    for (&value, _) in values.iter().zip(&reads).filter(|(_, reads)| **reads != 0) {
        short.add(&[value], true);
    }
    let all = short.reads(root, &inputs);
    // Pairs of what stands in front come first.
    for sum in 0..2 * values.len() {
        for i in sum.saturating_sub(values.len() - 1)..=sum.min(values.len() - 1) {
            let j = sum - i;
            if reads[i] | reads[j] == all {
                short.add(&[values[i], values[j]], sum < FRONT);
            }
        }
    }
    let few = &values[..values.len().min(MAX_OF_THREE)];
    for i in 0..few.len() {
        for j in 0..few.len() {
            for k in (0..few.len()).filter(|k| reads[i] | reads[j] | reads[*k] == all) {
                short.add(&[few[i], few[j], few[k]], true);
            }
        }
    }
    let Short { arena, wanted, forms, .. } = short;
    forms.into_iter().filter(|&form| form != root && *arena.ty(form) == wanted).collect()
}

/// Whether an operator changes the order of dimensions.
fn is_order(def: &OpDef) -> bool {
    def.movement() == Some(Movement::Permute)
}

/// `root` and what it is computed from, users before their operands. What constants are computed from is left out.
fn below(arena: &TermArena, root: TermId) -> Vec<TermId> {
    let mut all = IndexSet::from([root]);
    let mut next = 0;
    while let Some(&term) = all.get_index(next) {
        next += 1;
        if arena.value(term).is_none() {
            all.extend(&arena.term(term).operands);
        }
    }
    all.into_iter().collect()
}

impl Short<'_> {
    /// Which of the inputs a term is computed from, a bit for each.
    fn reads(&self, term: TermId, inputs: &[TermId]) -> u8 {
        let below: FxHashSet<TermId> = below(self.arena, term).into_iter().collect();
        inputs.iter().enumerate().filter(|(_, input)| below.contains(input)).fold(0, |bits, (n, _)| bits | 1 << n)
    }

    /// What the part's own operators, and views, make of its inputs.
    fn made_of(&mut self, inputs: &[TermId]) -> Vec<TermId> {
        let mut operators: IndexSet<&'static str> = self.calls.iter().map(|(def, _)| def.name).collect();
        operators.extend(ops::all().filter(|def| is_order(def)).map(|def| def.name));
        let mut made = IndexSet::new();
        let own = |def: &&&OpDef| operators.contains(def.name);
        let [of_one, of_two, _] = &*OPERATORS;
        for def in of_one.iter().filter(own) {
            for &input in inputs {
                made.extend(self.results(def, &[input], None));
            }
        }
        let values: Vec<TermId> = inputs.iter().chain(&made).copied().take(MAX_MADE / 2).collect();
        // Products come first: their results are seldom larger than the operands, as those of broadcasting are.
        let elementwise = |def: &&&OpDef| def.family == Family::Elementwise;
        let others = of_two.iter().filter(own).filter(|def| !elementwise(def));
        for def in others.chain(of_two.iter().filter(own).filter(elementwise)) {
            for (i, &a) in values.iter().enumerate() {
                for &b in values.iter().skip(i + 1) {
                    made.extend(self.results(def, &[a, b], None));
                    made.extend(self.results(def, &[b, a], None));
                }
            }
        }
        made.into_iter().filter(|t| !inputs.contains(t)).take(MAX_MADE).collect()
    }

    /// Adds what the operators of the table make of some operands. If not `all`, only elementwise operators: most others have many choices of
    /// attributes.
    fn add(&mut self, operands: &[TermId], all: bool) {
        let Some(operators) = operands.len().checked_sub(1).and_then(|at| OPERATORS.get(at)) else { return };
        let wanted = self.wanted.clone();
        let meet = self.shapes_meet(operands);
        if !meet && !all {
            return;
        }
        for &def in operators {
            let in_order = !def.commutative || operands.len() != 2 || operands[0] <= operands[1];
            // Of elementwise functions of several operands, only those with laws lead to a proof.
            let has_law = operands.len() == 1 || def.arithmetic() != Arithmetic::Other;
            let fits = if def.family == Family::Elementwise { meet && has_law } else { all };
            if in_order && fits && self.forms.len() < MAX_FORMS {
                let forms = self.results(def, operands, Some(&wanted));
                self.forms.extend(forms);
            }
        }
    }

    /// Whether operands are broadcast to the shape that is wanted.
    fn shapes_meet(&self, operands: &[TermId]) -> bool {
        let shape = operands.iter().try_fold(Shape::new(), |shape, &o| broadcast(&shape, &self.arena.ty(o).shape));
        shape.is_some_and(|shape| shape == self.wanted.shape)
    }

    /// The results of an operator on some operands with all attributes that come into question, those of one type if it is given.
    fn results(&mut self, def: &'static OpDef, operands: &[TermId], wanted: Option<&TensorType>) -> Vec<TermId> {
        let mut found = Vec::new();
        for mut attrs in self.attrs(def, operands) {
            let fits = {
                let types: SmallVec<[&TensorType; 4]> = operands.iter().map(|&o| self.arena.ty(o)).collect();
                canonical_attrs(def, &mut attrs, &types);
                let call = Call { op: def, attrs: &attrs, operands: &types };
                let types = call.infer().unwrap_or_default();
                types.len() == 1 && wanted.is_none_or(|wanted| types[0] == *wanted) && !call.is_chance()
            };
            if fits
                && let Ok(term) = self.arena.call(&Op::Table(def), &attrs, 0, operands, None)
                && !(def.is_view_or_cast() && !is_order(def) && self.arena.ty(term) == self.arena.ty(operands[0]))
            {
                found.push(term);
            }
        }
        found
    }

    /// The attributes that come into question: those that the part itself has, and all choices of dimensions, of sizes as the result
    /// has them, and of what is on or off.
    fn attrs(&self, def: &'static OpDef, operands: &[TermId]) -> Vec<Attrs> {
        let own = self.calls.iter().filter(|(other, _)| other.name == def.name).map(|(_, attrs)| attrs.clone());
        let mut all: Vec<Attrs> = own.collect();
        let first = operands.first().map_or(0, |&o| self.arena.ty(o).rank());
        let mut chosen: Vec<Attrs> = vec![Attrs::new()];
        for attr in def.attrs {
            let choices = self.choices(def, attr, first);
            let with = |attrs: &Attrs| {
                let with = |choice: &AttrValue| attrs.iter().chain([choice]).cloned().collect();
                choices.iter().map(with).collect::<Vec<Attrs>>()
            };
            chosen = chosen.iter().flat_map(with).collect();
        }
        all.extend(chosen);
        all
    }

    fn choices(&self, def: &OpDef, attr: &AttrDef, rank: usize) -> SmallVec<[AttrValue; 4]> {
        let dims = || 0..rank as i64;
        match (attr.kind, attr.default) {
            (AttrKind::Bool, _) => smallvec![AttrValue::Bool(false), AttrValue::Bool(true)],
            (AttrKind::Dim, _) => dims().map(AttrValue::Int).collect(),
            (AttrKind::Dims, Default::Required) if is_order(def) => {
                let exchanged = |(a, b): (usize, usize)| {
                    let mut order: Ints = dims().collect();
                    order.swap(a, b);
                    AttrValue::Ints(order)
                };
                (0..rank).flat_map(|a| (a + 1..rank).map(move |b| (a, b))).map(exchanged).collect()
            }
            (AttrKind::Dims, Default::Required) => {
                dims().map(|d| AttrValue::Ints(smallvec![d])).chain([AttrValue::Ints(dims().collect())]).collect()
            }
            (AttrKind::Ints, Default::Required) => {
                let sizes: Vec<i64> = self.wanted.shape.iter().map(|&size| size as i64).collect();
                (0..sizes.len()).map(|from| AttrValue::Ints(sizes[from..].into())).collect()
            }
            (AttrKind::DType, Default::Required) => smallvec![AttrValue::DType(self.wanted.dtype)],
            (_, default) => default.value().into_iter().collect(),
        }
    }
}
