//! One graph made of two: what one of them computes, some of it in the way of the other.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::apply::Writer;
use crate::ir::{Graph, NodeId, NodeKind, Value};

/// Two graphs with values that are equal.
pub(crate) struct Pair<'g> {
    /// The graph whose inputs, outputs and names are kept, and the other one.
    pub graphs: [&'g Graph; 2],
    /// Equal values of both, inputs among them.
    pub equal: Vec<(Value, Value)>,
}

/// A graph, and where nodes of the one whose names it keeps stand in it.
pub(crate) struct Merged {
    pub graph: Graph,
    pub moved: FxHashMap<NodeId, NodeId>,
}

/// A node of either graph.
type Of = (usize, NodeId);

const OWN: usize = 0;
const OTHER: usize = 1;

/// The first graph with its nodes `replaced` left out, as far as what they compute is equal to something that nodes `by` of
/// the other one compute. `None` where no such graph can be built.
pub(crate) fn merge(pair: &Pair, replaced: &FxHashSet<NodeId>, by: &FxHashSet<NodeId>) -> Option<Merged> {
    let mut ways = [FxHashMap::default(), FxHashMap::default()];
    for &(own, other) in &pair.equal {
        ways[OWN].entry(own).or_insert(other);
        ways[OTHER].entry(other).or_insert(own);
    }
    // Where a value is taken from.
    let source = |side: usize, value: Value| -> (usize, Value) {
        let equal = ways[side].get(&value);
        match equal {
            Some(&other) if side == OWN && replaced.contains(&value.node) && by.contains(&other.node) => (OTHER, other),
            Some(&own) if side == OTHER && !by.contains(&value.node) && !replaced.contains(&own.node) => (OWN, own),
            _ => (side, value),
        }
    };
    let names = pair.graphs.iter().flat_map(|graph| graph.nodes()).map(|(_, node)| node.name.clone());
    let own = pair.graphs[OWN];
    let mut writer = Writer::new(own, names.collect());
    let mut done: FxHashMap<Of, NodeId> = FxHashMap::default();
    for &input in own.inputs() {
        let node = own.node(input);
        done.insert((OWN, input), writer.copy(&node.name, node, &[]).ok()?);
    }
    let outputs = own.outputs().iter().map(|output| source(OWN, output.value));
    let mut stack: Vec<Of> = outputs.map(|(side, value)| (side, value.node)).collect();
    let mut open: FxHashSet<Of> = FxHashSet::default();
    while let Some(&(side, node)) = stack.last() {
        if done.contains_key(&(side, node)) {
            stack.pop();
            continue;
        }
        let graph = pair.graphs[side];
        // An input of the other graph that stands for nothing here.
        if matches!(graph.node(node).kind, NodeKind::Input { .. }) {
            return None;
        }
        let operands: SmallVec<[(usize, Value); 4]> =
            graph.operands(node).into_iter().map(|v| source(side, v)).collect();
        let missing = |(side, value): &(usize, Value)| {
            let of = (*side, value.node);
            (!done.contains_key(&of)).then_some(of)
        };
        let missing: SmallVec<[Of; 4]> = operands.iter().filter_map(missing).collect();
        if missing.is_empty() {
            let moved = |(side, value): &(usize, Value)| Value::new(done[&(*side, value.node)], value.slot);
            let operands: SmallVec<[Value; 4]> = operands.iter().map(moved).collect();
            let copied = graph.node(node);
            let name = if side == OWN { copied.name.clone() } else { writer.fresh(&copied.name) };
            done.insert((side, node), writer.copy(&name, copied, &operands).ok()?);
            stack.pop();
        } else if open.insert((side, node)) {
            stack.extend(missing);
        } else {
            // It takes itself: what each graph computes from the other way round.
            return None;
        }
    }
    let place = |value: Value| {
        let (side, value) = source(OWN, value);
        done.get(&(side, value.node)).map(|&node| Value::new(node, value.slot)).ok_or(())
    };
    let mut graph = writer.into_graph();
    graph.take_outputs(own, place).ok()?;
    let moved = done.into_iter().filter(|((side, _), _)| *side == OWN).map(|((_, old), new)| (old, new)).collect();
    Some(Merged { graph, moved })
}
