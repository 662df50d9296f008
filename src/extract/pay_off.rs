//! Which cheaper forms pay off in the whole: a form that leaves its result in another layout may cost those who read it more than
//! it saves.

use super::apply::{Applied, apply};
use super::once::{Cut, Once, cut};
use super::rewrite::{Elsewhere, Rewrite};
use crate::energy::{Bill, Cost, CostModel, Item, Weights, graph_items};
use crate::ir::{Graph, GraphError};

/// How many kinds of forms are each left out for a trial, those that save most first.
const MAX_TRIES: usize = 12;

/// By how much, relative to the sum of what the forms save, the whole may save less before the cause is looked for.
const SHORTFALL: f64 = 1e-3;

/// A graph with cheaper forms in place.
pub(crate) struct Improved {
    pub rewrites: Vec<Rewrite>,
    pub applied: Applied,
    /// The graph in two parts, where some of it is computed once.
    pub once: Option<Once>,
    /// What each node of the whole graph is priced as.
    pub items: Vec<Item>,
    /// What each node is priced as of the graph that is executed.
    executed_items: Vec<Item>,
}

impl Improved {
    /// `graph` with `rewrites` in place, and with what is the same at every execution computed once where that takes less of what
    /// counts.
    pub(crate) fn new(
        graph: &Graph,
        rewrites: Vec<Rewrite>,
        model: &CostModel,
        weights: Weights,
    ) -> Result<Improved, GraphError> {
        let applied = apply(graph, &rewrites)?;
        let mut items = graph_items(&applied.graph, model);
        let Cut { once, kept } = cut(&applied.graph, &items, model.is_frozen())?;
        let parts = once.map(|once| (graph_items(&once.each, model), once));
        // What the file says is computed once is so already.
        let stated = items.iter().any(|item| matches!(item, Item::Once));
        let counts = |items: &[Item]| weights.cost(&items.iter().collect::<Bill>().total());
        let parts = parts.filter(|(each, _)| stated || counts(each) <= counts(&items));
        let Some((executed_items, once)) = parts else {
            return Ok(Improved { rewrites, applied, once: None, executed_items: items.clone(), items });
        };
        items.iter_mut().zip(kept).filter(|(_, kept)| !kept).for_each(|(item, _)| *item = Item::Once);
        Ok(Improved { rewrites, applied, once: Some(once), items, executed_items })
    }

    /// What every execution computes, with the prices of its nodes: a graph that is priced like any other.
    pub(crate) fn executed(&self) -> (&Graph, &[Item]) {
        (self.once.as_ref().map_or(&self.applied.graph, |once| &once.each), &self.executed_items)
    }

    /// What every execution executes.
    fn bill(&self) -> Bill {
        self.executed_items.iter().collect()
    }

    /// What every execution costs.
    pub(crate) fn total(&self) -> Cost {
        self.bill().total()
    }
}

/// `graph`, which costs `now` without them, with those of `rewrites` in place that make the whole take less of what counts, beyond
/// doubt: what a form saves by itself is sure, what its layout costs others need not be.
pub(crate) fn pay_off(
    graph: &Graph,
    now: &Cost,
    mut rewrites: Vec<Rewrite>,
    model: &CostModel,
    weights: Weights,
) -> Result<Improved, GraphError> {
    let now = weights.cost(now);
    // They may come from another choice of forms.
    rewrites.iter_mut().for_each(|rewrite| rewrite.elsewhere = Elsewhere::default());
    let mut best = Improved::new(graph, rewrites, model, weights)?;
    loop {
        let bill = best.bill();
        let with_all = bill.total();
        let expected: f64 = best.rewrites.iter().map(|rewrite| rewrite.saves(weights)).sum();
        let saved = now - weights.cost(&with_all);
        if best.rewrites.is_empty() || !now.is_finite() || (saved - expected).abs() <= expected * SHORTFALL {
            return Ok(best);
        }
        let mut without = Vec::new();
        for kind in kinds(&best.rewrites, weights) {
            let others = best.rewrites.iter().filter(|r| !is_alike(r, &kind)).cloned().collect();
            let improved = Improved::new(graph, others, model, weights)?;
            let others = improved.bill();
            let is_sure = others.saving_of(&bill, weights).is_sure;
            without.push((kind, others.total(), improved, is_sure));
        }
        let counts = |at: &usize| weights.cost(&without[*at].1);
        let in_doubt = (0..without.len()).filter(|&at| saved < expected && !without[at].3);
        match in_doubt.min_by(|x, y| counts(x).total_cmp(&counts(y))) {
            Some(at) => best = without.swap_remove(at).2,
            // What a kind of form saves is what the whole costs without it.
            None => {
                // What a kind of form costs elsewhere, per place.
                let elsewhere = |(kind, without, ..): &(Rewrite, Cost, Improved, bool)| {
                    let alike = || best.rewrites.iter().filter(|r| is_alike(r, kind));
                    let count = alike().count() as f64;
                    let mj = alike().map(Rewrite::saves_mj).sum::<f64>()
                        - (without.energy_mj.value - with_all.energy_mj.value);
                    let us =
                        alike().map(Rewrite::saves_us).sum::<f64>() - (without.time_us.value - with_all.time_us.value);
                    (Elsewhere { mj: mj / count, us: us / count }, weights.of(mj, us))
                };
                let all: Vec<(Elsewhere, f64)> = without.iter().map(elsewhere).collect();
                // What several forms save only together, each of them would count as its own.
                let more: f64 = -all.iter().map(|(_, counts)| counts.min(0.0)).sum::<f64>();
                let share = if saved > expected && more > 0.0 { ((saved - expected) / more).min(1.0) } else { 1.0 };
                for ((kind, ..), (elsewhere, counts)) in without.iter().zip(all) {
                    let share = if counts < 0.0 { share } else { 1.0 };
                    let rewrites = best.rewrites.iter_mut().filter(|r| is_alike(r, kind));
                    rewrites.for_each(|rewrite| {
                        rewrite.elsewhere.mj += elsewhere.mj * share;
                        rewrite.elsewhere.us += elsewhere.us * share;
                    });
                }
                return Ok(best);
            }
        }
    }
}

/// One of each kind of rewrites, those that save most first.
fn kinds(rewrites: &[Rewrite], weights: Weights) -> Vec<Rewrite> {
    let mut kinds: Vec<&Rewrite> = Vec::new();
    for rewrite in rewrites {
        if !kinds.iter().any(|kind| is_alike(rewrite, kind)) {
            kinds.push(rewrite);
        }
    }
    kinds.sort_by(|x, y| y.saves(weights).total_cmp(&x.saves(weights)));
    kinds.into_iter().take(MAX_TRIES).cloned().collect()
}

fn is_alike(x: &Rewrite, y: &Rewrite) -> bool {
    x.pattern == y.pattern && x.saves_mj() == y.saves_mj()
}
