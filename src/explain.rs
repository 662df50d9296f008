//! One region in full: its operators with their costs, and the steps of its proof.

use rustc_hash::FxHashMap;

use crate::check::Checked;
use crate::diagnose;
use crate::energy::{Cost, CostModel, graph_costs};
use crate::ir::{Graph, NodeId, NodeKind, Value};
use crate::prove::{Lemma, Reason, Region, TermId, Values, show_above};
use crate::report::{Details, Explanation, Operator, PlacedOperator, Step};

/// Looks at the regions of a comparison one by one.
pub struct Explainer<'c> {
    checked: &'c Checked,
    /// Both graphs with what their nodes cost.
    a: (&'c Graph, Vec<Cost>),
    b: (&'c Graph, Vec<Cost>),
}

impl<'c> Explainer<'c> {
    /// `a` and `b` are the graphs that were compared.
    pub fn new(checked: &'c Checked, a: &'c Graph, b: &'c Graph, costs: &CostModel) -> Self {
        Explainer { checked, a: (a, graph_costs(a, costs)), b: (b, graph_costs(b, costs)) }
    }

    /// Region number `id`; none if there is no such region.
    pub fn region(&self, id: usize) -> Option<Explanation> {
        let Explainer { checked, a, b } = self;
        let position = id.checked_sub(1)?;
        let summary = checked.comparison.regions.get(position)?;
        let region = checked.proof.partition.regions.get(position)?;
        let cheaper = checked.cheaper.get(&position).into_iter().flatten();
        let names = outside(checked, a.0, b.0, region);
        let inputs = &checked.proof.binding.inputs;
        let input = |n: u32| inputs.get(n as usize).map_or_else(|| "?".to_owned(), |i| i.name.clone());
        let text = |t| show_above(&checked.proof.arena, t, &input, &|t| names.get(&t).cloned());
        Some(Explanation {
            schema: Explanation::SCHEMA,
            a_file: a.0.name.clone(),
            b_file: b.0.name.clone(),
            region: summary.clone(),
            regions: checked.comparison.regions.len(),
            a: operators(a, &region.a),
            b: operators(b, &region.b),
            steps: checked.proof.region_lemmas(region).map(|l| step(l, text(l.before), text(l.after))).collect(),
            cheaper: cheaper.flat_map(|r| r.steps()).map(|(l, before, after)| step(l, before, after)).collect(),
        })
    }

    /// Both graphs operator by operator, and every region that repeats no other.
    pub fn details(&self) -> Details {
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

/// A step of a proof with its two sides as text.
pub(crate) fn step(lemma: &Lemma, before: String, after: String) -> Step {
    Step {
        rule: lemma.name().to_owned(),
        tier: lemma.tier().to_string(),
        doc: match &lemma.reason {
            Reason::Rule { rule, .. } => rule.doc.to_string(),
            Reason::SplitSlice => "One part of a split is a slice.".to_owned(),
            Reason::Elements { .. } => {
                "Every element is the same formula over elements of the tensors below.".to_owned()
            }
        },
        before,
        after,
    }
}

/// Names of the values that the region builds on, by their terms: what its proof takes as given.
fn outside(checked: &Checked, a: &Graph, b: &Graph, region: &Region) -> FxHashMap<TermId, String> {
    let mut names = FxHashMap::default();
    let proof = &checked.proof;
    // A's names come last and win: the two sides share these values.
    for (graph, inside, values) in [(b, &region.b, &proof.values_b), (a, &region.a, &proof.values_a)] {
        for operand in inside.iter().flat_map(|&n| graph.operands(n)).filter(|v| !inside.contains(&v.node)) {
            if let Some((term, name)) = named(graph, values, operand) {
                names.insert(term, name);
            }
        }
    }
    names
}

fn named(graph: &Graph, values: &Values, value: Value) -> Option<(TermId, String)> {
    let node = graph.node(value.node);
    if node.origin.implicit {
        return None;
    }
    let term = *values.get(value.node.index())?.get(value.slot as usize)?;
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
