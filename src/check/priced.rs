//! A side of a comparison with its cost.

use rustc_hash::FxHashSet;

use crate::energy::{self, Bill, Calls, CostModel, Item, Waiting, graph_items};
use crate::extract::Rewrite;
use crate::ir::{Graph, NodeId, NodeKind};
use crate::report as model;

/// A graph with what each of its nodes costs.
pub(super) struct Priced<'g> {
    pub graph: &'g Graph,
    pub items: Vec<Item>,
    pub costs: Vec<energy::Cost>,
    pub bill: Bill,
    pub total: energy::Cost,
    /// What it waits for the host.
    pub waiting: Option<Waiting>,
}

impl<'g> Priced<'g> {
    pub(super) fn new(graph: &'g Graph, model: &CostModel) -> Self {
        let items = graph_items(graph, model);
        let costs = items.iter().map(Item::cost).collect();
        let bill: Bill = items.iter().collect();
        let total = bill.total();
        let waiting = model.waiting(Calls::of_graph(graph, &items), &total);
        Priced { graph, items, costs, bill, total, waiting }
    }

    /// Whether a node runs a kernel.
    pub(super) fn runs(&self, node: NodeId) -> bool {
        !matches!(self.items[node.index()], Item::Free | Item::Once)
    }

    /// Whether the file says of something that it is computed once.
    pub(super) fn computes_once(&self) -> bool {
        self.items.iter().any(|item| matches!(item, Item::Once))
    }

    /// All that it calls.
    pub(super) fn all_calls(&self) -> Calls {
        Calls::of_graph(self.graph, &self.items)
    }

    /// Its energy as it is run.
    pub(super) fn energy_as_run(&self) -> energy::Figure {
        self.waiting.as_ref().map_or(self.total.energy_mj, |waiting| waiting.energy_with(&self.total))
    }

    /// What `nodes` execute.
    pub(super) fn bill(&self, nodes: &[NodeId]) -> Bill {
        nodes.iter().map(|n| &self.items[n.index()]).collect()
    }

    /// What `nodes` execute with cheaper forms in place of some of them.
    pub(super) fn with(&self, nodes: &[NodeId], rewrites: &[Rewrite]) -> Bill {
        let replaced: FxHashSet<NodeId> = rewrites.iter().flat_map(|r| r.replaced.iter().copied()).collect();
        let kept: Vec<NodeId> = nodes.iter().copied().filter(|n| !replaced.contains(n)).collect();
        rewrites.iter().fold(self.bill(&kept), |all, rewrite| all.and(&rewrite.bill))
    }

    pub(super) fn describe(&self, covered_ops: usize) -> model::Side {
        let mut flags = Vec::new();
        if self.graph.config.allow_tf32 {
            flags.push("allow_tf32=true".to_owned());
        }
        if self.graph.config.cudnn_tf32_off {
            flags.push("cudnn_tf32_off=true".to_owned());
        }
        model::Side {
            file: self.graph.name.clone(),
            ops: self.graph.operators().count(),
            covered_ops,
            energy_mj: self.total.energy_mj.into(),
            energy_basis_mj: self.total.basis_mj,
            left_out: model::LeftOut::of(&self.bill),
            time_us: model::Figure::from(self.total.time_us).value,
            launched: self.waiting.as_ref().map(|waiting| model::Launched::new(&self.total, waiting)),
            flags,
        }
    }
}

/// Whether B costs less than A. Cheaper forms are looked for on the side that does. Of sides that cost the same, the one with fewer
/// operators leads, whichever file came first.
pub(super) fn b_leads([a, b]: &[Priced; 2]) -> bool {
    let (of_a, of_b) = (a.total.energy_mj.value, b.total.energy_mj.value);
    let count = |side: &Priced| side.graph.operators().count();
    let by_names = || op_names(b.graph).cmp(op_names(a.graph));
    of_b.total_cmp(&of_a).then_with(|| count(b).cmp(&count(a))).then_with(by_names).is_le()
}

/// The operators of a graph in order, by the names of their kinds.
fn op_names(graph: &Graph) -> impl Iterator<Item = &str> {
    graph.nodes().filter_map(|(_, node)| match &node.kind {
        NodeKind::Op { op, .. } => Some(op.name()),
        _ => None,
    })
}

/// Names of the operators that the file has.
pub(super) fn names(graph: &Graph, nodes: &[NodeId]) -> Vec<String> {
    explicit(graph, nodes).map(|n| graph.node(n).name.to_string()).collect()
}

/// The same. Where the file has none of them, the nodes that were made in reading it.
pub(super) fn names_of_any(graph: &Graph, nodes: &[NodeId]) -> Vec<String> {
    let names = names(graph, nodes);
    if names.is_empty() { nodes.iter().map(|&n| graph.node(n).name.to_string()).collect() } else { names }
}

pub(super) fn kinds(graph: &Graph, nodes: &[NodeId]) -> Vec<String> {
    let kind = |n: NodeId| match &graph.node(n).kind {
        NodeKind::Op { op, .. } => Some(op.name().to_owned()),
        _ => None,
    };
    explicit(graph, nodes).filter_map(kind).collect()
}

fn explicit<'a>(graph: &'a Graph, nodes: &'a [NodeId]) -> impl Iterator<Item = NodeId> + 'a {
    nodes.iter().copied().filter(|&n| !graph.node(n).origin.implicit)
}
