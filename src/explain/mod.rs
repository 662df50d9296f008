//! One region in full: its operators with their costs, and the steps of its proof.

mod argument;
mod form;
mod operators;
mod order;
mod passage;
mod prices;
#[cfg(test)]
mod tests;

use argument::{Known, argument};
pub(crate) use form::{Form, form_of};
use operators::{operators, placed};
use passage::{Applied, Passage, loose};
pub(crate) use prices::ValueLayouts;
use prices::{Given, Prices, StepPrices};
use std::borrow::Cow;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::check::Checked;
use crate::energy::{Cost, CostModel, Figure, Item, graph_items};
use crate::extract::{Rewrite, letter};
use crate::ir::{Graph, NodeId, Value};
use crate::prove::{Closure, Lemma, Region, TermId, Values};
use crate::report::{self as model, Chain, Details, Explanation, Step};

/// Looks at the regions of a comparison one by one.
pub(crate) struct Explainer<'c> {
    checked: &'c Checked,
    /// Both graphs with what their nodes cost.
    a: (&'c Graph, Vec<Cost>),
    b: (&'c Graph, Vec<Cost>),
    /// How their values lie in memory.
    memory: [ValueLayouts<'c>; 2],
    costs: &'c CostModel,
    /// The values of both files, A's first: side, value, and name.
    values: FxHashMap<TermId, (usize, Value, String)>,
    /// What is equal by all steps.
    closure: Closure,
}

impl<'c> Explainer<'c> {
    /// `a` and `b` are the graphs that were compared.
    pub(crate) fn new(checked: &'c Checked, a: &'c Graph, b: &'c Graph, costs: &'c CostModel) -> Self {
        let mut closure = Closure::default();
        closure.extend(&checked.proof.arena);
        for (number, lemma) in (0..).zip(&checked.proof.lemmas) {
            closure.assume(&checked.proof.arena, lemma.before, lemma.after, number);
        }
        let mut all = FxHashMap::default();
        // A's values come last and win.
        for (side, graph, values) in [(1, b, &checked.proof.values_b), (0, a, &checked.proof.values_a)] {
            let named = |v| named(graph, values, v).map(|(term, name)| (term, (side, v, name)));
            all.extend(all_values(graph).filter_map(named));
        }
        let [(memory_a, costs_a), (memory_b, costs_b)] = [a, b].map(|graph| {
            let items = graph_items(graph, costs);
            (ValueLayouts::of(graph, &items), items.iter().map(Item::cost).collect())
        });
        Explainer {
            checked,
            a: (a, costs_a),
            b: (b, costs_b),
            memory: [memory_a, memory_b],
            costs,
            values: all,
            closure,
        }
    }

    /// The regions that `text` names, those that cost most first: by number, by the name of an operator, or by a source line
    /// such as `model.py:12`.
    pub(crate) fn find(&self, text: &str) -> Vec<usize> {
        let regions = &self.checked.comparison.regions;
        if let Ok(number) = text.parse::<usize>() {
            return regions.iter().map(|r| r.id).filter(|&id| id == number).collect();
        }
        let line = text.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse().ok()?)));
        let cuts = &self.checked.proof.partition.regions;
        let holds = |graph: &Graph, nodes: &[NodeId]| {
            nodes
                .iter()
                .map(|&n| graph.node(n))
                .any(|node| &*node.name == text || line.is_some_and(|(file, line)| node.origin.stands_at(file, line)))
        };
        let found = regions.iter().zip(cuts).filter(|(_, cut)| holds(self.a.0, &cut.a) || holds(self.b.0, &cut.b));
        let mut found: Vec<(f64, usize)> =
            found.map(|(r, _)| (r.a.energy_mj.unwrap_or(0.0).max(r.b.energy_mj.unwrap_or(0.0)), r.id)).collect();
        found.sort_by(|x, y| y.0.total_cmp(&x.0).then(x.1.cmp(&y.1)));
        found.into_iter().map(|(_, id)| id).collect()
    }

    /// Region number `id`; none if there is no such region.
    pub(crate) fn region(&self, id: usize) -> Option<Explanation> {
        let Explainer { checked, a, b, .. } = self;
        let position = id.checked_sub(1)?;
        let summary = checked.comparison.regions.get(position)?;
        let region = checked.proof.partition.regions.get(position)?;
        let (steps, chain) = self.proof(region);
        let (cheaper, cheaper_chain) = self.cheaper(position, region);
        Some(Explanation {
            schema: Explanation::SCHEMA,
            a_file: a.0.name.clone(),
            b_file: b.0.name.clone(),
            region: summary.clone(),
            regions: checked.comparison.regions.len(),
            a: operators(a, &region.a),
            b: operators(b, &region.b),
            steps,
            chain,
            cheaper,
            cheaper_chain,
        })
    }

    /// The proofs of the cheaper forms in a region, one after another.
    fn cheaper(&self, position: usize, region: &Region) -> (Vec<Step>, Option<Chain>) {
        let Explainer { checked, a, b, memory: [memory_a, memory_b], costs, .. } = self;
        let rewrites = checked.cheaper.get(&position).map_or(&[][..], Vec::as_slice);
        let (from, memory, (_, prices), nodes) = match checked.searches_b {
            true => (model::Form::B, memory_b, b, &region.b),
            false => (model::Form::A, memory_a, a, &region.a),
        };
        let kept = nodes.iter().filter(|n| !rewrites.iter().any(|r| r.replaced.contains(n)));
        let known = |n: &NodeId| Some(prices.get(n.index())?.energy_mj).filter(Figure::is_known).map(|e| e.value);
        let kept_mj: Option<f64> = kept.map(known).sum();
        // Of several forms, each comes after those before it and while those after it are as they were.
        let later = rewrites.iter().skip(1);
        let later: Vec<Option<f64>> = later.map(|r| cheaper_proof(r, memory, costs, Some(0.0)).1.flatten()).collect();
        let (mut steps, mut start, mut done_mj, mut is_chain) = (Vec::new(), None, Some(0.0), true);
        for (i, rewrite) in rewrites.iter().enumerate() {
            let later_mj: Option<f64> = later.iter().skip(i).copied().sum();
            let elsewhere_mj = kept_mj.zip(later_mj).zip(done_mj).map(|((kept, later), done)| kept + later + done);
            let (own, from_mj) = cheaper_proof(rewrite, memory, costs, elsewhere_mj);
            is_chain &= from_mj.is_some();
            let from_mj = from_mj.flatten();
            start = start.or(Some(from_mj));
            let after = own.last().map_or(from_mj, |step| step.whole_mj);
            done_mj = after.zip(kept_mj).zip(later_mj).map(|((after, kept), later)| after - kept - later);
            steps.extend(own);
        }
        (steps, start.filter(|_| is_chain).map(|from_mj| Chain { from, from_mj }))
    }

    /// The proof of a region. What the region reads goes by its name, as do values in between.
    fn proof(&self, region: &Region) -> (Vec<Step>, Option<Chain>) {
        let proof = &self.checked.proof;
        let (mut given, mut between, mut lies) = (FxHashMap::default(), FxHashMap::default(), FxHashMap::default());
        let [memory_a, memory_b] = &self.memory;
        // A's names come last and win: the two sides share what they read.
        for ((graph, _), nodes, values, memory) in
            [(&self.b, &region.b, &proof.values_b, memory_b), (&self.a, &region.a, &proof.values_a, memory_a)]
        {
            let inside: FxHashSet<NodeId> = nodes.iter().copied().collect();
            let operands = nodes.iter().flat_map(|&n| graph.operands(n)).filter(|v| !inside.contains(&v.node));
            for value in operands {
                given.extend(named(graph, values, value));
                lies.extend(term(values, value).map(|t| self.closure.find(t)).zip(memory.given(value)));
            }
            let results =
                nodes.iter().flat_map(|&n| (0..graph.node(n).types.len()).map(move |s| Value::new(n, s as u32)));
            between.extend(results.filter_map(|v| named(graph, values, v)));
        }
        let by_class: FxHashMap<TermId, &String> =
            given.iter().map(|(&t, name)| (self.closure.find(t), name)).collect();
        let inputs = &proof.binding.inputs;
        let outside = |t: TermId| self.values.get(&t).filter(|_| !between.contains_key(&t));
        let given_at = |t: TermId| -> Option<Given> {
            let lies_outside = || outside(t).and_then(|(side, value, _)| self.memory.get(*side)?.given(*value));
            self.class(t).and_then(|class| lies.get(&class).cloned()).or_else(lies_outside)
        };
        let is_given = |t: TermId| given.contains_key(&t) || outside(t).is_some();
        let prices = Prices { model: self.costs, config: memory_a.config(), given: &given_at, is_given: &is_given };
        // Under other flags the same operator costs something else, and a term does not say whose it is.
        let is_one_mode = memory_a.config() == memory_b.config();
        let priced = is_one_mode.then_some(&prices);
        let mut arena = Cow::Borrowed(&proof.arena);
        let mut passage = None;
        if proof.region_proofs(region).next().is_some() {
            passage = Passage::of_region(proof, region, arena.to_mut(), &|t| is_given(t) || given_at(t).is_some());
        }
        let forms = priced.map(|prices| StepPrices::new(prices, &arena));
        let (steps, from_mj) = applied(passage, proof.region_lemmas(region), forms, Some(0.0));
        let known = Known {
            arena: &arena,
            input: &|n| inputs.get(n as usize).map_or_else(|| "?".to_owned(), |i| i.name.clone()),
            given: &|t, is_subject| {
                let equal = || by_class.get(&self.class(t)?).filter(|_| !is_subject).copied();
                given.get(&t).or_else(equal).or_else(|| outside(t).map(|(.., name)| name)).cloned()
            },
            between: &|t| between.get(&t).cloned(),
            prices: priced,
        };
        (argument(&known, &steps), from_mj.map(|from_mj| Chain { from: model::Form::A, from_mj }))
    }

    /// The class of a term; none for terms that only forms between A and B have.
    fn class(&self, term: TermId) -> Option<TermId> {
        self.closure.knows(term).then(|| self.closure.find(term))
    }

    /// Both graphs operator by operator, and every region that repeats no other.
    pub(crate) fn details(&self) -> Details {
        let (regions, cut) = (&self.checked.comparison.regions, &self.checked.proof.partition.regions);
        let firsts = regions.iter().filter(|r| r.same_as.is_none());
        let side = |side: &(&Graph, Vec<Cost>), of: fn(&Region) -> &[NodeId]| {
            let region_of = |(i, region)| of(region).iter().map(move |&n| (n, i + 1));
            placed(side, &cut.iter().enumerate().flat_map(region_of).collect())
        };
        Details {
            a: side(&self.a, |r| &r.a),
            b: side(&self.b, |r| &r.b),
            explanations: firsts.filter_map(|r| self.region(r.id)).collect(),
        }
    }
}

/// The proof of a cheaper form, over letters for what it reads of a graph whose values lie in memory as `memory` says.
pub(crate) fn proof_of(rewrite: &Rewrite, memory: &ValueLayouts, model: &CostModel) -> Vec<Step> {
    cheaper_proof(rewrite, memory, model, Some(0.0)).0
}

/// The same with the price of what the form replaces, in both cases with `elsewhere_mj` beside; no price where the steps are no way
/// from the one to the other.
fn cheaper_proof(
    rewrite: &Rewrite,
    memory: &ValueLayouts,
    model: &CostModel,
    elsewhere_mj: Option<f64>,
) -> (Vec<Step>, Option<Option<f64>>) {
    let (arena, lemmas) = rewrite.proof();
    let mut arena = arena.clone();
    let passage = Passage::of_rewrite(rewrite, &mut arena);
    let given_at = |term| memory.given(rewrite.given(term)?);
    let is_given = |term| rewrite.given(term).is_some();
    let prices = Prices { model, config: memory.config(), given: &given_at, is_given: &is_given };
    let (steps, start) = applied(passage, lemmas, Some(StepPrices::new(&prices, &arena)), elsewhere_mj);
    let known = Known { arena: &arena, input: &letter, given: &|_, _| None, between: &|_| None, prices: Some(&prices) };
    (argument(&known, &steps), start)
}

/// The steps of a passage with the price of its first form, or else the steps as they were found.
fn applied<'l>(
    passage: Option<Passage<'l>>,
    lemmas: impl IntoIterator<Item = &'l Lemma>,
    prices: Option<StepPrices>,
    elsewhere_mj: Option<f64>,
) -> (Vec<Applied<'l>>, Option<Option<f64>>) {
    match passage {
        Some(passage) => {
            let (steps, start) = passage.priced(prices, elsewhere_mj);
            (steps, Some(start))
        }
        None => (loose(lemmas), None),
    }
}

fn all_values(graph: &Graph) -> impl Iterator<Item = Value> {
    graph.nodes().flat_map(|(id, node)| (0..node.types.len() as u32).map(move |slot| Value::new(id, slot)))
}

fn term(values: &Values, value: Value) -> Option<TermId> {
    values.get(value.node.index())?.get(value.slot as usize).copied()
}

fn named(graph: &Graph, values: &Values, value: Value) -> Option<(TermId, String)> {
    let node = graph.node(value.node);
    if node.origin.implicit {
        return None;
    }
    let term = term(values, value)?;
    let slot = if value.slot > 0 { format!(".{}", value.slot) } else { String::new() };
    Some((term, format!("{}{slot}", node.name)))
}
