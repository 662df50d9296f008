//! Equal terms that stand beside those of a part when the search for its forms begins, since no rule about one value leads to them:
//! parts of a split are slices, slices are parts of a split, and products that share a factor are parts of one product.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use smallvec::SmallVec;

use crate::ir::{AttrValue, Attrs, Ints};
use crate::ops::{self, KernelClass, Movement, Op};
use crate::prove::{Lemma, Limits, Reason, TermArena, TermId, proven_equal, slice_of_split};
use crate::rules::RuleSet;

/// Products that become one.
const MAX_PRODUCTS: usize = 8;

/// Groups of products of one part.
const MAX_GROUPS: usize = 8;

/// A term and all that it is made of, operands first.
pub(super) fn parts_of(arena: &TermArena, root: TermId) -> BTreeSet<TermId> {
    let (mut all, mut next) = (BTreeSet::new(), vec![root]);
    while let Some(term) = next.pop() {
        if all.insert(term) {
            next.extend(&arena.term(term).operands);
        }
    }
    all
}

/// Adds the slices that parts of splits are which `root` is made of. Gives what says so.
pub(super) fn parts_as_slices(arena: &mut TermArena, root: TermId) -> Vec<Lemma> {
    let mut equal = Vec::new();
    for part in parts_of(arena, root) {
        if let Some(slice) = slice_of_split(arena, part) {
            equal.push(Lemma { before: part, after: slice, reason: Reason::SplitSlice });
        }
    }
    equal
}

/// Adds products that compute several of those at once which `root` is made of, with what the rules prove of them.
pub(super) fn joined_products(mut arena: TermArena, root: TermId, rules: &RuleSet) -> (TermArena, Vec<Lemma>) {
    let mut equal = Vec::new();
    for products in products_of_one_factor(&arena, root).into_iter().take(MAX_GROUPS) {
        let mut tried = arena.clone();
        let Some(parts) = joined(&mut tried, &products) else { continue };
        let mut proof = Vec::new();
        let proven = products.iter().zip(&parts).try_for_each(|(&product, &part)| {
            let (with_steps, steps) = proven_equal(rules, tried.clone(), [product, part], Limits::default())?;
            tried = with_steps;
            proof.extend(steps);
            Some(())
        });
        if proven.is_some() {
            proof.extend(slices_as_parts(&mut tried, &parts));
            equal.extend(proof);
            arena = tried;
        }
    }
    (arena, equal)
}

/// Products of one kind that differ in the first factor and what belongs to it or in the second one, and none of which another one is
/// made of.
fn products_of_one_factor(arena: &TermArena, root: TermId) -> Vec<Vec<TermId>> {
    type Shared<'t> = (&'t str, &'t Attrs, usize, usize, TermId);
    let mut groups: IndexMap<Shared, Vec<TermId>> = IndexMap::new();
    for term in parts_of(arena, root) {
        let Some((Op::Table(def), attrs, 0)) = arena.op(term) else { continue };
        let is_product = matches!(def.kernels, KernelClass::Product | KernelClass::Convolution);
        let operands = &arena.term(term).operands;
        if !is_product || operands.len() < 2 || arena.constant(term).is_some() {
            continue;
        }
        for place in 0..2 {
            let shared = (def.name, attrs, operands.len(), place, operands[place]);
            groups.entry(shared).or_default().push(term);
        }
    }
    let is_apart = |group: &Vec<TermId>| {
        let first = group.iter().map(|term| term.index()).min().unwrap_or(0);
        group.iter().all(|&term| {
            let mut next: Vec<TermId> = arena.term(term).operands.to_vec();
            while let Some(below) = next.pop() {
                if group.contains(&below) {
                    return false;
                }
                // Operands stand before what is made of them.
                next.extend(arena.term(below).operands.iter().filter(|o| o.index() >= first));
            }
            true
        })
    };
    groups.into_values().filter(|g| (2..=MAX_PRODUCTS).contains(&g.len())).filter(is_apart).collect()
}

/// The parts of one product of joined factors that `products` are, if their types say so.
fn joined(arena: &mut TermArena, products: &[TermId]) -> Option<Vec<TermId>> {
    let first = *products.first()?;
    let (op, attrs, _) = arena.op(first)?;
    let (op, attrs) = (op.clone(), attrs.clone());
    let operands: Vec<SmallVec<[TermId; 4]>> = products.iter().map(|&p| arena.term(p).operands.clone()).collect();
    let differs = |place: usize| operands.iter().any(|of| of[place] != operands[0][place]);
    let rank = (0..2).filter(|&place| differs(place)).map(|place| arena.ty(operands[0][place]).rank()).max()?;
    let (dim, whole) = (0..rank).find_map(|dim| {
        let joined: Option<SmallVec<[TermId; 4]>> = (0..operands[0].len())
            .map(|place| {
                let all: Vec<TermId> = operands.iter().map(|of| of[place]).collect();
                match differs(place) {
                    // What is added to each product has as many numbers as it has columns.
                    true if place > 1 => concat(arena, &all, 0),
                    true => concat(arena, &all, dim),
                    false => Some(all[0]),
                }
            })
            .collect();
        let whole = arena.call(&op, &attrs, 0, &joined?, None).ok()?;
        let (of_all, of_first) = (&arena.ty(whole).shape, &arena.ty(first).shape);
        let mut changed = (0..of_all.len().min(of_first.len())).filter(|&d| of_all[d] != of_first[d]);
        match (changed.next(), changed.next()) {
            (Some(dim), None) if of_all.len() == of_first.len() => Some((dim, whole)),
            _ => None,
        }
    })?;
    let slice = ops::moving(Movement::Slice)?;
    let mut start = 0;
    let parts = products.iter().map(|&product| {
        let end = start + *arena.ty(product).shape.get(dim)? as i64;
        let place =
            [("dim", AttrValue::Int(dim as i64)), ("start", AttrValue::Int(start)), ("end", AttrValue::Int(end))];
        start = end;
        let part = arena.call(&Op::Table(slice), &slice.attrs(&place).ok()?, 0, &[whole], None).ok()?;
        (arena.ty(part) == arena.ty(product)).then_some(part)
    });
    parts.collect()
}

fn concat(arena: &mut TermArena, parts: &[TermId], dim: usize) -> Option<TermId> {
    let concat = ops::moving(Movement::Concat)?;
    let attrs = concat.attrs(&[("dim", AttrValue::Int(dim as i64))]).ok()?;
    arena.call(&Op::Table(concat), &attrs, 0, parts, None).ok()
}

/// Adds the parts of one split that slices are which follow each other and leave nothing out.
fn slices_as_parts(arena: &mut TermArena, slices: &[TermId]) -> Vec<Lemma> {
    let parts = split(arena, slices).unwrap_or_default();
    let steps = parts.into_iter().zip(slices);
    steps.map(|(part, &slice)| Lemma { before: part, after: slice, reason: Reason::SplitSlice }).collect()
}

fn split(arena: &mut TermArena, slices: &[TermId]) -> Option<Vec<TermId>> {
    let (op, attrs, _) = arena.op(*slices.first()?)?;
    let def = op.def().filter(|def| def.movement() == Some(Movement::Slice))?;
    let dim = attrs[def.attr_index("dim")?].clone();
    let along = usize::try_from(dim.as_int()?).ok()?;
    let sizes: Ints = slices.iter().map(|&s| Some(*arena.ty(s).shape.get(along)? as i64)).collect::<Option<_>>()?;
    let whole = arena.term(slices[0]).operands.clone();
    let split = ops::moving(Movement::Split)?;
    let attrs = split.attrs(&[("sizes", AttrValue::Ints(sizes)), ("dim", dim)]).ok()?;
    (0..slices.len()).map(|slot| arena.call(&Op::Table(split), &attrs, slot as u32, &whole, None).ok()).collect()
}
