//! Making a counterexample so small that a reader can check it by hand.

use std::collections::BTreeSet;

use super::choice::Choice;
use super::counterexample::{Counterexample, Shown, show};
use super::data::{Data, Scale};
use super::instance::Instance;
use crate::eval::{LazyEvaluator, Options};
use crate::ir::{AttrValue, Number, TensorType};
use crate::rules::arena::Term;
use crate::rules::definition::Definitions;
use crate::rules::rule::Rule;
use crate::rules::terms::Terms;

/// Instances that are tried.
const TRIES: usize = 4_000;
/// Other elements that are tried for one choice of types and attributes.
const DATA: u64 = 4;

/// What a counterexample shows, the most informative first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum CounterexampleKind {
    Wrong,
    Unbuildable,
    Rounding,
    Range,
}

/// How hard a counterexample is to read. What tells more comes first, whatever the size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Size {
    kind: CounterexampleKind,
    elements: usize,
    ranks: usize,
    attrs: u64,
    /// Whether the elements are other than small integers, or not even around 1.
    odd: u8,
}

impl Size {
    pub(super) fn of(found: &Counterexample) -> Size {
        let types = || found.instance.leaves().map(|id| found.instance.arena.ty(id));
        let attrs = found.choice.attrs.iter().flatten().map(|a| match a {
            AttrValue::Int(v) => v.unsigned_abs(),
            AttrValue::Ints(v) => v.iter().map(|v| v.unsigned_abs()).sum(),
            _ => 0,
        });
        Size {
            kind: match found.code {
                "rules::tier_too_strong" => CounterexampleKind::Rounding,
                "rules::unbuildable" => CounterexampleKind::Unbuildable,
                "rules::range" => CounterexampleKind::Range,
                _ => CounterexampleKind::Wrong,
            },
            elements: types().map(TensorType::numel).sum(),
            ranks: types().map(TensorType::rank).sum(),
            attrs: attrs.fold(0, u64::saturating_add),
            odd: u8::from(!found.data.plain) + u8::from(found.data.scale != Scale::Unit),
        }
    }
}

/// The smallest counterexample that steps from `found` lead to.
pub(super) fn shrink(
    rule: &Rule,
    definitions: &Definitions,
    size: Size,
    found: Box<Counterexample>,
) -> Box<Counterexample> {
    let (mut size, mut best) = (size, found);
    let mut tries = TRIES;
    'again: loop {
        let mut smaller = vec![best.choice.clone()];
        smaller.extend(steps(&best.choice));
        for choice in smaller {
            let plain = (0..DATA).map(Data::plain);
            for data in plain.chain([best.data]).chain((1..=DATA).map(|n| best.data.next(n))) {
                if tries == 0 {
                    return best;
                }
                tries -= 1;
                if let Shown::Breaks(found) = show(rule, definitions, &choice, data)
                    && found.code == best.code
                    && Size::of(&found) < size
                {
                    (size, best) = (Size::of(&found), found);
                    continue 'again;
                }
            }
        }
        return best;
    }
}

/// The same instance with small integers as elements, if it fails with those too.
pub(super) fn plain(
    rule: &Rule,
    definitions: &Definitions,
    size: Size,
    found: Box<Counterexample>,
) -> Box<Counterexample> {
    for data in (0..DATA).map(Data::plain) {
        if let Shown::Breaks(other) = show(rule, definitions, &found.choice, data)
            && other.code == found.code
            && Size::of(&other) < size
        {
            return other;
        }
    }
    found
}

/// Choices one step smaller. Most fit no more; those are thrown away.
fn steps(choice: &Choice) -> Vec<Choice> {
    let mut steps = Vec::new();
    let sizes: BTreeSet<usize> = choice.types().flat_map(|t| t.shape.iter().copied()).filter(|&d| d > 1).collect();
    // All dims of one size: those that have to agree do so.
    for &size in &sizes {
        for to in 1..size.min(6) {
            let mut next = choice.clone();
            next.types_mut().for_each(|t| t.shape.iter_mut().filter(|d| **d == size).for_each(|d| *d = to));
            replace(&mut next, size as i64, to as i64);
            steps.push(next);
        }
    }
    // A dim less in front, in all tensors of the greatest rank or in all that have one.
    let rank = choice.types().map(TensorType::rank).max().unwrap_or(0);
    for least in [rank, 1] {
        for shift in [true, false] {
            let mut next = choice.clone();
            next.types_mut().filter(|t| t.rank() >= least.max(1)).for_each(|t| {
                t.shape.remove(0);
            });
            if shift {
                shift_dims(&mut next);
            }
            steps.push(next);
        }
    }
    // Single dims and ranks.
    let count = choice.types().count();
    for n in 0..count {
        let shape = choice.types().nth(n).map(|t| t.shape.clone()).unwrap_or_default();
        for (d, &size) in shape.iter().enumerate() {
            for to in (1..size.min(6)).chain((size == 1).then_some(0)) {
                let mut next = choice.clone();
                if let Some(ty) = next.types_mut().nth(n) {
                    if to == 0 {
                        ty.shape.remove(d);
                    } else {
                        ty.shape[d] = to;
                    }
                }
                steps.push(next);
            }
        }
    }
    for (l, list) in choice.lists.iter().enumerate() {
        if list.as_ref().is_some_and(|l| l.len() > 1) {
            let mut next = choice.clone();
            next.lists[l].as_mut().map(Vec::pop);
            steps.push(next);
        }
    }
    for (v, value) in choice.attrs.iter().enumerate() {
        if let Some(AttrValue::Int(value)) = value
            && *value > 0
        {
            for to in [0, value - 1] {
                let mut next = choice.clone();
                next.attrs[v] = Some(AttrValue::Int(to));
                steps.push(next);
            }
        }
    }
    steps
}

/// Replaces a size in lists of sizes and in counts.
fn replace(choice: &mut Choice, from: i64, to: i64) {
    for value in choice.attrs.iter_mut().flatten() {
        match value {
            AttrValue::Int(v) if *v == from => *v = to,
            AttrValue::Ints(list) => list.iter_mut().filter(|v| **v == from).for_each(|v| *v = to),
            _ => {}
        }
    }
}

/// Counts dims from one further, and drops the first entry of lists of sizes and dims.
fn shift_dims(choice: &mut Choice) {
    for value in choice.attrs.iter_mut().flatten() {
        match value {
            AttrValue::Int(v) if *v > 0 => *v -= 1,
            AttrValue::Ints(list) if list.len() > 1 => {
                let permutes = (0..list.len() as i64).all(|d| list.contains(&d));
                if permutes {
                    list.retain(|d| *d != 0);
                    list.iter_mut().for_each(|d| *d -= 1);
                } else {
                    list.remove(0);
                }
            }
            _ => {}
        }
    }
}

impl Counterexample {
    /// The operands, the attributes and both sides, a line each.
    pub(super) fn text(&self, rule: &Rule) -> String {
        let instance = &self.instance;
        let mut lines = Vec::new();
        let tensor = |id: u32| {
            let ty = instance.arena.ty(id);
            format!("{ty} = {}", elements(ty, &leaf_values(instance, id)))
        };
        for (name, id) in rule.vars.tensors.iter().zip(&instance.bindings.tensors) {
            if let Some(id) = id {
                lines.push(format!("  {name}: {}", tensor(*id)));
            }
        }
        for (name, list) in rule.vars.lists.iter().zip(&instance.bindings.lists) {
            for (i, &id) in list.iter().flatten().enumerate() {
                lines.push(format!("  {name}[{i}]: {}", tensor(id)));
            }
        }
        for (name, value) in rule.vars.attrs.iter().zip(&instance.bindings.attrs) {
            if let (false, Some(value)) = (name.starts_with('$'), value) {
                lines.push(format!("  {name} = {value}"));
            }
        }
        if let Some((left, right)) = &self.values {
            let ty = instance.arena.ty(instance.lhs);
            lines.push(format!("  left:  {ty} = {}", elements(ty, left)));
            lines.push(format!("  right: {ty} = {}", elements(ty, right)));
        }
        lines.join("\n")
    }
}

/// The elements of a leaf.
fn leaf_values(instance: &Instance, id: u32) -> Vec<Number> {
    match instance.arena.term(id) {
        Term::Leaf(data) => data.to_vec(),
        _ => {
            let options = Options { rounding: false, budget: 100_000 };
            LazyEvaluator::new(&instance.arena, options).tensor(id).unwrap_or_default()
        }
    }
}

/// The first elements of a tensor, with brackets around each row.
fn elements(ty: &TensorType, values: &[Number]) -> String {
    const SHOWN: usize = 16;
    if ty.rank() == 0 {
        return values.first().map_or_else(String::new, |v| short(*v));
    }
    let mut text = String::new();
    let opened = |i: usize| {
        let mut inner = 1;
        ty.shape.iter().rev().take_while(move |&&d| {
            inner *= d.max(1);
            i.is_multiple_of(inner)
        })
    };
    for (i, value) in values.iter().enumerate().take(SHOWN) {
        if i > 0 {
            text += &"]".repeat(opened(i).count());
            text += ", ";
        }
        text += &"[".repeat(opened(i).count());
        text += &short(*value);
    }
    match values.len() {
        0 => text + "[]",
        n if n > SHOWN => text + ", …",
        _ => text + &"]".repeat(ty.rank()),
    }
}

/// Seven digits, which tell every f32 from its neighbours in most cases; all where that is not enough.
fn short(value: Number) -> String {
    let value = match value {
        Number::Int(v) => return v.to_string(),
        Number::Float(v) => v.0,
    };
    let text = format!("{value:.6e}");
    match text.parse::<f64>() {
        Ok(v) if v == value && value.abs() < 1e6 && value == value.trunc() => format!("{value}"),
        Ok(v) if v == value => format!("{value:?}"),
        _ if value.abs() >= 1e-4 && value.abs() < 1e6 => format!("{value:.9}"),
        _ => format!("{value:.9e}"),
    }
}
