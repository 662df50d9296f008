//! One region in full: its operators with their costs, and the steps of its proof.

mod argument;
mod order;
mod prices;

use argument::{Known, argument, expression};
use order::post_order;
pub(crate) use prices::ValueLayouts;
use prices::{Given, Prices};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::check::Checked;
use crate::diagnose;
use crate::energy::{Cost, CostModel, Item, graph_items};
use crate::extract::{Rewrite, letter};
use crate::ir::{Graph, NodeId, NodeKind, Value};
use crate::ops::is_number;
use crate::prove::{Closure, Head, Region, TermId, Values};
use crate::report::{Definition, Details, Explanation, Operator, PlacedOperator, Step};

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
        let Explainer { checked, a, b, memory: [memory_a, memory_b], .. } = self;
        let searched = if checked.searches_b { memory_b } else { memory_a };
        let position = id.checked_sub(1)?;
        let summary = checked.comparison.regions.get(position)?;
        let region = checked.proof.partition.regions.get(position)?;
        let cheaper = checked.cheaper.get(&position).into_iter().flatten();
        Some(Explanation {
            schema: Explanation::SCHEMA,
            a_file: a.0.name.clone(),
            b_file: b.0.name.clone(),
            region: summary.clone(),
            regions: checked.comparison.regions.len(),
            a: operators(a, &region.a),
            b: operators(b, &region.b),
            steps: self.proof(region),
            cheaper: cheaper.flat_map(|rewrite| proof_of(rewrite, searched, self.costs)).collect(),
        })
    }

    /// The proof of a region. What the region reads goes by its name, as do values in between.
    fn proof(&self, region: &Region) -> Vec<Step> {
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
            lies.get(&self.closure.find(t)).cloned().or_else(lies_outside)
        };
        let is_given = |t: TermId| given.contains_key(&t) || outside(t).is_some();
        let prices = Prices { model: self.costs, config: memory_a.config(), given: &given_at, is_given: &is_given };
        // Under other flags the same operator costs something else, and a term does not say whose it is.
        let is_one_mode = memory_a.config() == memory_b.config();
        let known = Known {
            arena: &proof.arena,
            input: &|n| inputs.get(n as usize).map_or_else(|| "?".to_owned(), |i| i.name.clone()),
            given: &|t, is_subject| {
                let equal = || by_class.get(&self.closure.find(t)).filter(|_| !is_subject).copied();
                given.get(&t).or_else(equal).or_else(|| outside(t).map(|(.., name)| name)).cloned()
            },
            between: &|t| between.get(&t).cloned(),
            prices: is_one_mode.then_some(&prices),
        };
        argument(&known, proof.region_lemmas(region))
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
    let (arena, lemmas) = rewrite.proof();
    let (.., leaves) = rewrite.expression();
    let given_at = |term| match arena.head(term) {
        Head::Input(n) => memory.given(*leaves.get(*n as usize)?),
        _ => None,
    };
    let prices = Prices { model, config: memory.config(), given: &given_at, is_given: &|_| false };
    let known = Known { arena, input: &letter, given: &|_, _| None, between: &|_| None, prices: Some(&prices) };
    argument(&known, lemmas)
}

/// A cheaper form as a person would write it down.
pub(crate) struct Form {
    /// Its operators, each after those that it reads from.
    pub operators: Vec<String>,
    /// Names for parts of `call`.
    pub definitions: Vec<Definition>,
    /// The form over these and over the values of the graph that it reads.
    pub call: String,
}

/// What a cheaper form calls, over the names of the values of `graph` that it reads.
pub(crate) fn form_of(graph: &Graph, rewrite: &Rewrite) -> Form {
    let (arena, root, leaves) = rewrite.expression();
    let input = |n: u32| {
        leaves.get(n as usize).map_or("?".to_owned(), |value| {
            let slot = if value.slot > 0 { format!(".{}", value.slot) } else { String::new() };
            format!("{}{slot}", graph.node(value.node).name)
        })
    };
    let known = Known { arena, input: &input, given: &|_, _| None, between: &|_| None, prices: None };
    let (definitions, call) = expression(&known, root);
    let terms = post_order(arena, &[root], |_| true);
    let called = |&term: &TermId| match arena.head(term) {
        Head::Apply { op, .. } if !op.def().is_some_and(is_number) => Some(op.name().to_owned()),
        _ => None,
    };
    Form { operators: terms.iter().filter_map(called).collect(), definitions, call }
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

fn operators(side: &(&Graph, Vec<Cost>), nodes: &[NodeId]) -> Vec<Operator> {
    nodes.iter().filter_map(|&n| operator(side, n)).collect()
}

fn placed(side: &(&Graph, Vec<Cost>), region_of: &FxHashMap<NodeId, usize>) -> Vec<PlacedOperator> {
    let place = |id: NodeId| {
        let module = side.0.node(id).origin.module.clone();
        Some(PlacedOperator { operator: operator(side, id)?, module, region: region_of.get(&id).copied() })
    };
    side.0.nodes().filter_map(|(id, _)| place(id)).collect()
}

/// A node as the report has it; none if no operator of the file stands for it.
fn operator((graph, costs): &(&Graph, Vec<Cost>), id: NodeId) -> Option<Operator> {
    let node = graph.node(id);
    let NodeKind::Op { op, .. } = &node.kind else { return None };
    if node.origin.implicit {
        return None;
    }
    let types = graph.operands(id).iter().map(|&v| graph.ty(v).to_string()).collect::<Vec<_>>().join(", ");
    let results = node.types.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    Some(Operator {
        name: node.name.to_string(),
        kind: op.name().to_owned(),
        types: format!("({types}) -> {results}"),
        cost: costs.get(id.index())?.into(),
        source: diagnose::source(node),
    })
}
