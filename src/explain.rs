//! One region in full: its operators with their costs, and the steps of its proof.

use rustc_hash::FxHashMap;

use crate::check::Checked;
use crate::energy::{Cost, CostModel, graph_costs};
use crate::ir::{Graph, NodeId, NodeKind, Value};
use crate::prove::{Lemma, Reason, Region, TermId, Values, show_above};
use crate::report::{Explanation, Operator, Step};

/// Region number `id` of the comparison of `a` and `b`; none if there is no such region.
pub fn explain(checked: &Checked, a: &Graph, b: &Graph, costs: &CostModel, id: usize) -> Option<Explanation> {
    let mut regions = checked.comparison.regions.iter().zip(&checked.proof.partition.regions).enumerate();
    let (position, (summary, region)) = regions.find(|(_, (r, _))| r.id == id)?;
    let cheaper = checked.cheaper.get(&position).into_iter().flatten();
    let names = outside(checked, a, b, region);
    let inputs = &checked.proof.binding.inputs;
    let input = |n: u32| inputs.get(n as usize).map_or_else(|| "?".to_owned(), |i| i.name.clone());
    let text = |t| show_above(&checked.proof.arena, t, &input, &|t| names.get(&t).cloned());
    Some(Explanation {
        schema: Explanation::SCHEMA,
        region: summary.clone(),
        regions: checked.comparison.regions.len(),
        a: operators(a, &region.a, &graph_costs(a, costs)),
        b: operators(b, &region.b, &graph_costs(b, costs)),
        steps: checked.proof.region_lemmas(region).map(|l| step(l, text(l.before), text(l.after))).collect(),
        cheaper: cheaper.flat_map(|r| r.steps()).map(|(l, before, after)| step(l, before, after)).collect(),
    })
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

fn operators(graph: &Graph, nodes: &[NodeId], costs: &[Cost]) -> Vec<Operator> {
    let explicit = nodes.iter().copied().filter(|&n| !graph.node(n).origin.implicit);
    let describe = |n: NodeId| {
        let node = graph.node(n);
        let operands = graph.operands(n);
        let types = operands.iter().map(|&v| graph.ty(v).to_string()).collect::<Vec<_>>().join(", ");
        let results = node.types.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        Some(Operator {
            name: node.name.to_string(),
            kind: match &node.kind {
                NodeKind::Op { op, .. } => op.name().to_owned(),
                _ => return None,
            },
            types: format!("({types}) -> {results}"),
            cost: costs.get(n.index())?.into(),
            source: node.origin.line().map(|frame| {
                let code = if frame.code.is_empty() { String::new() } else { format!(" {}", frame.code.trim()) };
                format!("{frame}{code}")
            }),
        })
    };
    explicit.filter_map(describe).collect()
}
