//! Steps in memory to steps in a file.

use rustc_hash::FxHashMap;

use super::super::kernel::arena::{self, HeadId, TermArena, TermId, TypeId};
use super::super::kernel::{Lemma, Reason, literal_leaf};
use super::format::{ElementTier, Head, Log, RuleName, Side, Step, Type, Value};
use crate::ir::{AttrValue, Graph, NodeKind, TensorType};
use crate::ops::Op;
use crate::rules::{Rule, RuleSet};

/// Writes steps about the terms of an arena.
pub(crate) struct Writer<'a> {
    arena: &'a TermArena,
    rules: &'a RuleSet,
    /// Where the arena's literals come from.
    graphs: &'a [&'a Graph],
    used: FxHashMap<RuleName, u32>,
    values: FxHashMap<AttrValue, u32>,
    /// Operators outside the table are one head for each type of their result.
    heads: FxHashMap<(HeadId, TypeId), u32>,
    terms: FxHashMap<TermId, u32>,
    /// Where the literals of both graphs stand.
    literals: Option<FxHashMap<(arena::Head, TensorType), (Side, u32)>>,
    log: Log,
}

impl<'a> Writer<'a> {
    /// For terms of `arena` and instances of `rules`. Literals are referred to in `graphs`, A and B; the first `known`
    /// terms are taken to be known to whoever reads the log.
    pub(crate) fn new(arena: &'a TermArena, rules: &'a RuleSet, graphs: &'a [&'a Graph], known: usize) -> Writer<'a> {
        Writer {
            arena,
            rules,
            graphs,
            used: FxHashMap::default(),
            values: FxHashMap::default(),
            heads: FxHashMap::default(),
            terms: (0..known).map(|n| (arena.nth(n), n as u32)).collect(),
            literals: None,
            log: Log::default(),
        }
    }

    /// What was written.
    pub(crate) fn finish(self) -> Log {
        self.log
    }

    /// Appends a step.
    pub(crate) fn push(&mut self, lemma: &Lemma) {
        let step = self.step(lemma);
        self.log.steps.push(step);
    }

    fn step(&mut self, lemma: &Lemma) -> Step {
        let (before, after) = (self.term(lemma.before), self.term(lemma.after));
        match &lemma.reason {
            Reason::Rule { rule, bindings } => Step::Rule {
                rule: self.rule(rule),
                before,
                after,
                tensors: bindings.tensors.iter().map(|t| t.map(|t| self.term(t))).collect(),
                lists: bindings
                    .lists
                    .iter()
                    .map(|l| l.as_ref().map(|l| l.iter().map(|&t| self.term(t)).collect()))
                    .collect(),
                attrs: bindings.attrs.iter().map(|v| v.as_ref().map(|v| self.value(v))).collect(),
            },
            Reason::SplitSlice => Step::SplitSlice { before, after },
            Reason::PushedDown => Step::PushedDown { before, after },
            Reason::Near => Step::Near { before, after },
            Reason::Elements { leaves, tier } => Step::Elements {
                before,
                after,
                leaves: leaves.iter().map(|&leaf| self.term(leaf)).collect(),
                tier: ElementTier::of(*tier),
            },
        }
    }

    fn rule(&mut self, rule: &Rule) -> u32 {
        let twins = |r: &Rule| r.name == rule.name && r.reversed == rule.reversed;
        let mut same = self.rules.rules().iter().filter(|r| twins(r));
        // A rule that is not in the set gets a number that no reader accepts.
        let instance = same.position(|r| r.lhs == rule.lhs && r.rhs == rule.rhs).map_or(u32::MAX, |n| n as u32);
        let name = RuleName { name: rule.name.to_string(), reversed: rule.reversed, instance };
        if let Some(&known) = self.used.get(&name) {
            return known;
        }
        self.log.rules.push(name.clone());
        let number = self.used.len() as u32;
        self.used.insert(name, number);
        number
    }

    fn value(&mut self, value: &AttrValue) -> u32 {
        if let Some(&known) = self.values.get(value) {
            return known;
        }
        self.log.values.push(Value::from(value));
        let number = self.values.len() as u32;
        self.values.insert(value.clone(), number);
        number
    }

    /// The number of a term, after everything below it.
    pub(crate) fn term(&mut self, term: TermId) -> u32 {
        let arena = self.arena;
        let mut stack = vec![term];
        while let Some(&top) = stack.last() {
            if self.terms.contains_key(&top) {
                stack.pop();
                continue;
            }
            let operands = &arena.term(top).operands;
            let before = stack.len();
            stack.extend(operands.iter().copied().filter(|o| !self.terms.contains_key(o)));
            if stack.len() == before {
                let mut row = vec![self.head(top)];
                row.extend(operands.iter().map(|o| self.terms[o]));
                self.log.terms.push(row);
                self.terms.insert(top, self.terms.len() as u32);
                stack.pop();
            }
        }
        self.terms[&term]
    }

    fn head(&mut self, term: TermId) -> u32 {
        let arena = self.arena;
        let key = (arena.term(term).head, arena.term(term).ty);
        if let Some(&known) = self.heads.get(&key) {
            return known;
        }
        let head = match arena.head(term) {
            arena::Head::Input(n) => Head::Input(*n),
            arena::Head::Random(draw) => Head::Leaf(draw.side.into(), draw.node, draw.slot),
            literal @ arena::Head::Literal(_) => {
                let (side, node) = self.literal(literal, arena.ty(term));
                Head::Leaf(side, node, 0)
            }
            arena::Head::Apply { op, attrs, slot } => {
                let values: Vec<u32> = attrs.iter().map(|v| self.value(v)).collect();
                match op {
                    Op::Table(def) => Head::Op { op: def.name.to_owned(), slot: *slot, attrs: values },
                    Op::Custom(op) => Head::Custom {
                        op: op.name.clone(),
                        slot: *slot,
                        attrs: op.attrs.iter().cloned().zip(values).collect(),
                        result: Type::from(arena.ty(term)),
                    },
                }
            }
        };
        self.log.heads.push(head);
        let number = self.heads.len() as u32;
        self.heads.insert(key, number);
        number
    }

    fn literal(&mut self, head: &arena::Head, ty: &TensorType) -> (Side, u32) {
        let graphs = self.graphs;
        let literals = self.literals.get_or_insert_with(|| {
            let mut all = FxHashMap::default();
            for (side, graph) in [Side::A, Side::B].into_iter().zip(graphs) {
                for (id, node) in graph.nodes() {
                    if let NodeKind::Literal(literal) = &node.kind {
                        let key = (literal_leaf(literal), node.types[0].clone());
                        all.entry(key).or_insert((side, id.index() as u32));
                    }
                }
            }
            all
        });
        // Literals come from the graphs alone.
        literals.get(&(head.clone(), ty.clone())).copied().unwrap_or((Side::A, u32::MAX))
    }
}
