//! The smallest pair of values that could not be proven equal.

use rustc_hash::FxHashMap;

use super::arena::TermId;
use super::cone::cone;
use super::fingerprint;
use super::kernel::{Outputs, Values};
use super::regions::Partition;
use super::snippet;
use super::sweep::Sweep;
use crate::ir::{Graph, NodeId};

/// Operators in an unproven pair.
const PAIR_LIMIT: usize = 96;

/// Proven values that an unproven pair may reach over, if only then its samples agree.
const WIDENED: usize = 3;

/// Pairs that are looked at for the smallest unproven one.
const MAX_PAIRS: usize = 40;

/// A pair of values that could not be proven equal, although everything before it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Unproven {
    /// Operators of the first graph, in topological order.
    pub a: Vec<NodeId>,
    /// Operators of the second graph, in topological order.
    pub b: Vec<NodeId>,
    /// Whether sampled elements agree over the same random operands; `None` if they cannot be evaluated.
    pub agrees_numerically: Option<bool>,
    /// Either side over values that are proven, as a graph in `.mir` text. `None` where no pair of one type was found.
    pub a_mir: Option<String>,
    /// The second side as a graph of its own, in text form.
    pub b_mir: Option<String>,
    /// The rule that would prove the pair, for a person to judge. `None` where one side uses what the other lacks.
    pub rule: Option<String>,
}

/// The smallest pair of values that should have been found equal: of those whose operands are all proven, or else of `outputs`.
pub(super) fn smallest_unproven(
    a: &Graph,
    b: &Graph,
    outputs: &Outputs,
    partition: &Partition,
    values_a: &Values,
    values_b: &Values,
    sweep: &Sweep,
) -> Vec<Unproven> {
    let first = |graph: &Graph, nodes: &[NodeId]| -> Option<NodeId> {
        nodes.iter().copied().find(|&n| !graph.node(n).origin.implicit)
    };
    // Operators of which only the first output is looked at.
    let ends: Vec<(NodeId, NodeId)> = outputs
        .pairs
        .iter()
        .map(|pair| (pair.a.value, pair.b.value))
        .filter(|(x, y)| x.slot == 0 && y.slot == 0)
        .map(|(x, y)| (x.node, y.node))
        .filter(|(m, n)| values_a[m.index()][0] != values_b[n.index()][0])
        .collect();
    let start = first(a, &partition.unmatched_a).zip(first(b, &partition.unmatched_b));
    let Some((x, y)) = start.or_else(|| ends.first().copied()) else { return Vec::new() };
    // The closest pair of one type from there on: what the two sides should have met in. At the latest, they should in an output.
    let inner = partition.unmatched_a.iter().flat_map(|&m| partition.unmatched_b.iter().map(move |&n| (m, n)));
    let inner = inner.filter(|&(m, n)| a.node(m).types[0] == b.node(n).types[0]).take(MAX_PAIRS);
    let mut budget = fingerprint::TOTAL / 4;
    let best = inner
        .chain(ends.iter().copied().take(MAX_PAIRS))
        .filter_map(|(m, n)| {
            let roots = [values_a[m.index()][0], values_b[n.index()][0]];
            // What is proven may matter for what is not: `x` and `relu(x)` are two inputs only for who looks no further.
            let mut shown = None;
            for depth in 0..=WIDENED {
                let Some(cone) = cone(&sweep.arena, sweep, &roots, depth, PAIR_LIMIT) else { break };
                let (local, copies) = cone.localise(&sweep.arena, sweep, &roots);
                let agrees = fingerprint::agree(&local, copies[0], copies[1], fingerprint::REPORT, &mut budget);
                if shown.is_none() || agrees == Some(true) {
                    shown = Some((agrees != Some(true), cone.size, m, n, agrees, depth));
                }
                if agrees == Some(true) {
                    break;
                }
            }
            shown
        })
        .min_by_key(|&(differs, size, m, n, ..)| (differs, size, m, n));
    let (m, n, agrees_numerically) = best.map_or((x, y, None), |(_, _, m, n, agrees, _)| (m, n, agrees));
    let mut unproven = Unproven { a: vec![m], b: vec![n], agrees_numerically, a_mir: None, b_mir: None, rule: None };
    if let Some((.., depth)) = best {
        let roots = [values_a[m.index()][0], values_b[n.index()][0]];
        write_out(&mut unproven, roots, depth, (a, values_a), (b, values_b), sweep);
    }
    vec![unproven]
}

/// The pair as text, down to values that are proven, of which `depth` are passed.
fn write_out(
    unproven: &mut Unproven,
    roots: [TermId; 2],
    depth: usize,
    a: (&Graph, &Values),
    b: (&Graph, &Values),
    sweep: &Sweep,
) -> Option<()> {
    let cone = cone(&sweep.arena, sweep, &roots, depth, PAIR_LIMIT)?;
    let (local, copies) = cone.localise(&sweep.arena, sweep, &roots);
    let known = snippet::names([a, b]);
    let mut names: FxHashMap<TermId, String> = FxHashMap::default();
    for (n, leaf) in cone.leaves.iter().enumerate() {
        names.extend(known.get(leaf).map(|name| (local.nth(n), name.clone())));
    }
    let name = |t: TermId| names.get(&t).cloned();
    unproven.a_mir = snippet::as_mir(&local, copies[0], "a", &name).ok();
    unproven.b_mir = snippet::as_mir(&local, copies[1], "b", &name).ok();
    // A rule between sides that may differ would be refused, or wrong.
    if unproven.agrees_numerically == Some(true) {
        unproven.rule = snippet::rule_stub("missing", &local, copies[0], copies[1]);
    }
    Some(())
}
