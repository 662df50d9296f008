//! Normal forms: the directed rules of `rules/normalise.rules`, applied from the leaves up as terms are made.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::arena::{ConstantId, Head, Operands, TermArena, TermId, TypeId};
use super::kernel::Instances;
use super::lemma::{Lemma, Reason};
use crate::ir::AttrValue;
use crate::ops;
use crate::rules::{Outcome, Rule, RuleSet};

/// Name of the rule file that the normaliser applies.
const FAMILY: &str = "normalise";

/// Steps after which a term counts as normal, whatever the rules say: they are meant to terminate, and a rule file
/// that does not must not hang the tool.
const MAX_STEPS: usize = 64;

/// The normaliser with what it has done so far.
pub(super) struct Normaliser {
    rules: FxHashMap<String, Vec<Arc<Rule>>>,
    normal: FxHashMap<TermId, TermId>,
    /// The first term of each known value.
    constants: FxHashMap<(TypeId, ConstantId), TermId>,
    pub lemmas: Vec<Lemma>,
    /// Rules that were still turning a term round after the last step.
    pub endless: Vec<Arc<str>>,
}

impl Normaliser {
    pub(super) fn new(rules: &RuleSet) -> Self {
        let mut by_op: FxHashMap<String, Vec<Arc<Rule>>> = FxHashMap::default();
        for rule in rules.rules() {
            if &*rule.family == FAMILY
                && !rule.reversed
                && let Some(op) = rule.root_op()
            {
                by_op.entry(op.to_owned()).or_default().push(rule.clone());
            }
        }
        Normaliser {
            rules: by_op,
            normal: FxHashMap::default(),
            constants: FxHashMap::default(),
            lemmas: Vec::new(),
            endless: Vec::new(),
        }
    }

    /// The normal form of a term whose operands are normal.
    pub(super) fn normal(&mut self, arena: &mut TermArena, term: TermId) -> TermId {
        if let Some(&known) = self.normal.get(&term) {
            return known;
        }
        let mut at = term;
        let mut fuel = MAX_STEPS;
        while let Some(next) = self.step(arena, at)
            && fuel > 0
        {
            fuel -= 1;
            at = next;
        }
        if fuel == 0
            && let Some(Lemma { reason: Reason::Rule { rule, .. }, .. }) = self.lemmas.last()
            && !self.endless.contains(&rule.name)
        {
            self.endless.push(rule.name.clone());
        }
        self.normal.insert(term, at);
        self.normal.insert(at, at);
        at
    }

    /// One step at the root, with its lemma in the log.
    fn step(&mut self, arena: &mut TermArena, term: TermId) -> Option<TermId> {
        let t = arena.term(term);
        if let Some(value) = t.value {
            let equal = *self.constants.entry((t.ty, value.id)).or_insert(term);
            return (equal != term).then_some(equal);
        }
        if let Some(slice) = slice_of_split(arena, term) {
            return Some(self.log(term, slice, Reason::SplitSlice));
        }
        let Head::Apply { op, .. } = arena.head(term) else { return None };
        let rules = self.rules.get(op.name())?.clone();
        for rule in rules {
            let mut found = Vec::new();
            let mut budget = 1_000;
            let mut terms = Instances { arena };
            rule.search(&terms, term, &mut budget, &mut found);
            for mut bindings in found {
                let Outcome::Holds { .. } = rule.check_conditions(&terms, &mut bindings) else { continue };
                let Ok(built) = rule.build_rhs(&bindings, &mut terms) else { continue };
                if built == term || terms.arena.term(built).ty != terms.arena.term(term).ty {
                    continue;
                }
                // The instance of the rule need not be `term` itself: a number may be written in several ways, and operands
                // stand in several orders. The checker sees by itself that the two are equal, where they are.
                let Ok(before) = rule.build_lhs(&bindings, &mut terms) else { continue };
                if !terms.arena.same_but_for_order(before, term) {
                    continue;
                }
                let reason = Reason::Rule { rule: rule.clone(), bindings: bindings.into() };
                return Some(self.log(before, built, reason));
            }
        }
        None
    }

    fn log(&mut self, before: TermId, after: TermId, reason: Reason) -> TermId {
        self.lemmas.push(Lemma { before, after, reason });
        after
    }
}

/// Output `i` of a `split` as the slice that it is.
pub(crate) fn slice_of_split(arena: &mut TermArena, term: TermId) -> Option<TermId> {
    let (op, attrs, slot) = arena.op(term)?;
    let def = op.def().filter(|d| d.movement() == Some(ops::Movement::Split))?;
    let sizes = attrs[def.attr_index("sizes")?].as_ints()?;
    let dim = attrs[def.attr_index("dim")?].clone();
    let start: i64 = sizes.get(..slot as usize)?.iter().sum();
    let end = start + sizes.get(slot as usize)?;
    let slice = ops::find("slice")?;
    let given = [("dim", dim), ("start", AttrValue::Int(start)), ("end", AttrValue::Int(end))];
    let attrs = slice.attrs(&given).ok()?;
    let operands: Operands = arena.term(term).operands.clone();
    arena.call(&ops::Op::Table(slice), &attrs, 0, &operands, None).ok()
}
