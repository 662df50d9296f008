//! What the two expressions of a step cost.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::energy::{CostModel, Item, WorkWithLayout, call_item, computed_nodes};
use crate::ir::{AttrValue, Graph, Layout, MathConfig, TensorType, Value, layouts, output_layout};
use crate::ops::{Call, Op};
use crate::prove::{Head, TermArena, TermId};

/// A value that expressions read and that is there whatever they are.
#[derive(Clone)]
pub(super) struct Given {
    pub layout: Layout,
    /// Whether a kernel of the graph has written it.
    pub is_computed: bool,
}

/// How the values of a graph lie in memory.
pub(crate) struct ValueLayouts<'g> {
    config: &'g MathConfig,
    layouts: Vec<SmallVec<[Layout; 1]>>,
    computed: Vec<bool>,
}

impl<'g> ValueLayouts<'g> {
    /// `items` are what the graph's nodes are priced as.
    pub(crate) fn of(graph: &'g Graph, items: &[Item]) -> ValueLayouts<'g> {
        ValueLayouts { config: &graph.config, layouts: layouts(graph), computed: computed_nodes(graph, items) }
    }

    pub(super) fn config(&self) -> &'g MathConfig {
        self.config
    }

    pub(super) fn given(&self, value: Value) -> Option<Given> {
        let layout = self.layouts.get(value.node.index())?.get(value.slot as usize)?.clone();
        Some(Given { layout, is_computed: self.computed.get(value.node.index()).copied()? })
    }
}

/// What terms cost that a graph with these flags would execute.
pub(super) struct Prices<'a> {
    pub model: &'a CostModel,
    pub config: &'a MathConfig,
    /// Where expressions end: what is given, or equal to that.
    pub given: &'a dyn Fn(TermId) -> Option<Given>,
    /// Whether a term is given as it is.
    pub is_given: &'a dyn Fn(TermId) -> bool,
}

/// One execution of an operator, whichever of its results a term stands for.
type Execution<'a> = (&'a str, Vec<AttrValue>, SmallVec<[TermId; 4]>);

/// Prices with what is known already of the terms of an arena.
pub(super) struct StepPrices<'a> {
    prices: &'a Prices<'a>,
    arena: &'a TermArena,
    lies: FxHashMap<TermId, Given>,
}

impl<'a> StepPrices<'a> {
    pub(super) fn new(prices: &'a Prices<'a>, arena: &'a TermArena) -> Self {
        StepPrices { prices, arena, lies: FxHashMap::default() }
    }

    /// Millijoules of what only `before` executes and of what only `after` does. None where a price is not known.
    pub(super) fn step(&mut self, before: TermId, after: TermId) -> Option<[f64; 2]> {
        let [(before, in_before), (after, in_after)] = [before, after].map(|term| self.executions(term));
        let mut sum = |terms: &[(TermId, Execution<'a>)], other: &FxHashSet<Execution<'a>>| {
            terms
                .iter()
                .filter(|(_, run)| !other.contains(run))
                .try_fold(0.0, |sum, (term, _)| Some(sum + self.own_mj(*term)?))
        };
        Some([sum(&before, &in_after)?, sum(&after, &in_before)?])
    }

    /// Millijoules of what several expressions execute together. None where a price is not known.
    pub(super) fn form(&mut self, roots: &[TermId]) -> Option<f64> {
        let mut counted: FxHashSet<Execution<'a>> = FxHashSet::default();
        let mut sum = 0.0;
        for &root in roots {
            for (term, run) in self.executions(root).0 {
                if counted.insert(run) {
                    sum += self.own_mj(term)?;
                }
            }
        }
        Some(sum)
    }

    /// What an expression executes, down to what is given; each execution once, with a term that stands for it.
    fn executions(&self, root: TermId) -> (Vec<(TermId, Execution<'a>)>, FxHashSet<Execution<'a>>) {
        let (mut all, mut known) = (Vec::new(), FxHashSet::default());
        let (mut seen, mut open) = (FxHashSet::from_iter([root]), vec![root]);
        while let Some(term) = open.pop() {
            // What a step is about is executed, though something equal may be there.
            let is_given =
                if term == root { (self.prices.is_given)(term) } else { (self.prices.given)(term).is_some() };
            let Head::Apply { op, attrs, .. } = self.arena.head(term) else { continue };
            if is_given || self.arena.constant(term).is_some() {
                continue;
            }
            let operands = &self.arena.term(term).operands;
            let run: Execution = (op.name(), attrs.to_vec(), operands.iter().copied().collect());
            if known.insert(run.clone()) {
                all.push((term, run));
            }
            open.extend(operands.iter().filter(|&&o| seen.insert(o)));
        }
        (all, known)
    }

    /// What the operator of a term costs by itself.
    fn own_mj(&mut self, term: TermId) -> Option<f64> {
        let arena = self.arena;
        // Nothing is known of an operator that the table lacks.
        let Head::Apply { op: Op::Table(op), attrs, .. } = arena.head(term) else { return None };
        let operands = &arena.term(term).operands;
        let types: SmallVec<[&TensorType; 4]> = operands.iter().map(|&o| arena.ty(o)).collect();
        let (lie, computed): (Vec<Layout>, Vec<bool>) =
            operands.iter().map(|&o| self.lies(o)).map(|given| (given.layout, given.is_computed)).unzip();
        let call = Call { op, attrs, operands: &types };
        let cost = call_item(&call, &lie, &computed, self.prices.config, self.prices.model).cost();
        cost.energy_mj.is_known().then_some(cost.energy_mj.value)
    }

    /// How the result of an operator lies in memory whose operands are known.
    fn made(&self, term: TermId) -> Given {
        let arena = self.arena;
        let dense = || Given { layout: Layout::contiguous(&arena.ty(term).shape), is_computed: false };
        let Head::Apply { op: Op::Table(op), attrs, slot } = arena.head(term) else { return dense() };
        let operands = &arena.term(term).operands;
        let types: SmallVec<[&TensorType; 4]> = operands.iter().map(|&o| arena.ty(o)).collect();
        let parts: SmallVec<[&Given; 4]> = operands.iter().filter_map(|o| self.lies.get(o)).collect();
        let inputs: SmallVec<[&Layout; 4]> = parts.iter().map(|part| &part.layout).collect();
        let call = Call { op, attrs, operands: &types };
        let is_view = WorkWithLayout::of_call(&call, &inputs).launches == 0;
        Given {
            layout: output_layout(&call, *slot as usize, arena.ty(term), &inputs),
            is_computed: !is_view || parts.iter().any(|part| part.is_computed),
        }
    }

    /// How a value lies in memory.
    fn lies(&mut self, root: TermId) -> Given {
        let arena = self.arena;
        // Operands come before their users, so that an expression may be as deep as it likes.
        let mut open = vec![root];
        while let Some(&term) = open.last() {
            if self.lies.contains_key(&term) {
                open.pop();
                continue;
            }
            let dense = || Given { layout: Layout::contiguous(&arena.ty(term).shape), is_computed: false };
            let known = (self.prices.given)(term).or_else(|| match arena.head(term) {
                Head::Apply { op: Op::Table(_), .. } if arena.constant(term).is_none() => None,
                _ => Some(dense()),
            });
            if let Some(known) = known {
                self.lies.insert(term, known);
                continue;
            }
            let operands = &arena.term(term).operands;
            let missing: Vec<TermId> = operands.iter().copied().filter(|o| !self.lies.contains_key(o)).collect();
            if !missing.is_empty() {
                open.extend(missing);
                continue;
            }
            let made = self.made(term);
            self.lies.insert(term, made);
        }
        self.lies
            .get(&root)
            .cloned()
            .unwrap_or_else(|| Given { layout: Layout::contiguous(&arena.ty(root).shape), is_computed: false })
    }
}
