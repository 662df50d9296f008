//! One workload by itself: cheaper equivalents that the rules prove.

use rustc_hash::FxHashSet;

use crate::check::{SLOWER, described};
use crate::diagnose::Part;
use crate::energy::{Bill, Cost, CostModel, Item, graph_items};
use crate::explain::proof_of;
use crate::extract::{self, Rewrite};
use crate::ir::{Graph, GraphError, NodeId, NodeKind};
use crate::prove::{Context, ProveError, Said, grouped};
use crate::report::{Cheaper, Figure, LeftOut, Optimization};
use crate::rules::Tier;

/// What was found for a graph.
pub struct Optimized {
    pub optimization: Optimization,
    rewrites: Vec<Rewrite>,
}

impl Optimized {
    /// `graph`, which the search was given, with all cheaper forms in place.
    pub fn rewritten(&self, graph: &Graph) -> Result<Graph, GraphError> {
        extract::apply(graph, &self.rewrites)
    }
}

/// Looks for cheaper forms of parts of `graph`. `tier` is the weakest tier that a proof may use.
pub fn optimize(graph: &Graph, context: &Context, tier: Tier, costs: &CostModel) -> Result<Optimized, ProveError> {
    context.progress.stage("looking for cheaper forms");
    let mut rewrites =
        extract::cheaper_forms(graph, &Context { rules: &context.rules.up_to(tier), ..*context }, costs)?;
    // That values may leave the range of a type is only known at the end; of errors inside of a graph, no bound is known.
    rewrites.retain(|rewrite| tier.refuses(rewrite.tier, None).is_none());
    let items = graph_items(graph, costs);
    let price: Vec<Cost> = items.iter().map(Item::cost).collect();
    let bill: Bill = items.iter().collect();
    let now = bill.total();
    let replaced: FxHashSet<NodeId> = rewrites.iter().flat_map(|r| r.replaced.iter().copied()).collect();
    let kept = graph.nodes().map(|(id, _)| id).filter(|id| !replaced.contains(id));
    let kept: Bill = kept.map(|id| &items[id.index()]).collect();
    let after = rewrites.iter().fold(kept, |all, rewrite| all.and(&rewrite.bill)).total();
    let mut cheaper: Vec<Cheaper> = Vec::new();
    let mut assumed: Vec<Said> = Vec::new();
    for rewrite in &rewrites {
        assumed.extend(rewrite.assumed.iter().cloned());
        let part = Part { graph, nodes: &rewrite.replaced, costs: &price };
        let one = describe(graph, rewrite, part.source());
        // Layers of a model repeat: the same change is told once.
        match cheaper.iter_mut().find(|c| c.pattern == one.pattern && c.from == one.from && c.saves_mj == one.saves_mj)
        {
            Some(known) => known.ops.extend(one.ops),
            None => cheaper.push(one),
        }
    }
    cheaper.sort_by(|x, y| y.total_mj().total_cmp(&x.total_mj()));
    let optimization = Optimization {
        schema: Optimization::SCHEMA,
        file: graph.name.clone(),
        ops: graph.operators().count(),
        energy_mj: now.energy_mj.into(),
        left_out: LeftOut::of(&bill),
        time_us: Figure::from(now.time_us).value,
        best_energy_mj: after.energy_mj.into(),
        best_time_us: Figure::from(after.time_us).value,
        cheaper,
        assumptions: grouped(assumed),
        profile: described(costs),
    };
    Ok(Optimized { optimization, rewrites })
}

fn describe(graph: &Graph, rewrite: &Rewrite, source: Option<String>) -> Cheaper {
    let explicit = rewrite.replaced.iter().map(|&n| graph.node(n)).filter(|n| !n.origin.implicit);
    let (mut names, mut kinds) = (Vec::new(), Vec::new());
    for node in explicit {
        if let NodeKind::Op { op, .. } = &node.kind {
            names.push(node.name.to_string());
            kinds.push(op.name().to_owned());
        }
    }
    let (before, after) = (&rewrite.before, &rewrite.after);
    Cheaper {
        ops: vec![names],
        from: kinds,
        to: rewrite.form.clone(),
        pattern: rewrite.pattern.clone(),
        saves_mj: before.energy_mj.value - after.energy_mj.value,
        saves_us: before.time_us.value - after.time_us.value,
        trade_off: after.time_us.value > before.time_us.value * SLOWER,
        steps: proof_of(rewrite),
        tier: rewrite.tier.to_string(),
        source,
    }
}
