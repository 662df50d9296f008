//! Forms that neither side has.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use super::priced::{Priced, b_leads, kinds, names};
use super::region::saving;
use crate::diagnose::Part;
use crate::energy::Cost;
use crate::extract::Rewrite;
use crate::ir::{Graph, NodeId};
use crate::prove::{Region, RegionKind};
use crate::report as model;

/// Cheaper forms by the position of the region that they are in.
pub(super) type Within = BTreeMap<usize, Vec<Rewrite>>;

/// Cheaper forms by where they are.
#[derive(Default)]
pub(super) struct Found {
    pub within: Within,
    /// Those that span several regions.
    pub spanning: Vec<model::Rewrite>,
    /// All of both.
    pub all: Vec<Rewrite>,
}

/// The cheaper forms of the side that costs less, but for those of regions where the other side costs less still.
pub(super) fn placed(found: Vec<Rewrite>, sides: &[Priced; 2], cut: &[Region], regions: &[model::Region]) -> Found {
    let b_leads = b_leads(sides);
    let costs = &sides[usize::from(b_leads)].costs;
    // The region of every proven operator; `None` for constants, which have no region of interest.
    let mut region_of: FxHashMap<NodeId, Option<usize>> = FxHashMap::default();
    for (i, region) in cut.iter().enumerate() {
        let nodes = if b_leads { &region.b } else { &region.a };
        match region.kind {
            RegionKind::Proven => region_of.extend(nodes.iter().map(|&n| (n, Some(i)))),
            RegionKind::Constant => region_of.extend(nodes.iter().map(|&n| (n, None))),
            // Forms are only looked for where outputs depend on them.
            RegionKind::Dead | RegionKind::Divergent => {}
        }
    }
    let Found { mut within, mut spanning, mut all } = Found::default();
    for rewrite in found {
        let regions_of = || rewrite.replaced.iter().map(|n| region_of.get(n).copied());
        let mut touched: Vec<usize> = regions_of().flatten().flatten().collect::<FxHashSet<_>>().into_iter().collect();
        touched.sort_unstable();
        // The other side may already do better there.
        let own = if b_leads { model::Form::B } else { model::Form::A };
        let free =
            touched.iter().all(|&i| regions[i].best.form == own || regions[i].a.energy_mj == regions[i].b.energy_mj);
        if !free {
            continue;
        }
        all.push(rewrite.clone());
        match touched.as_slice() {
            // What replaces unproven operators as well, or constants that cost something, is no form of the region.
            [one]
                if rewrite.replaced.iter().all(|n| match region_of.get(n) {
                    Some(Some(region)) => region == one,
                    Some(None) => is_free(&costs[n.index()]),
                    None => false,
                }) =>
            {
                within.entry(*one).or_default().push(rewrite);
            }
            _ => spanning.push(describe_rewrite(&rewrite, b_leads, &touched, sides, cut)),
        }
    }
    Found { within, spanning, all }
}

/// Whether an operator is known to cost nothing, as a view.
fn is_free(cost: &Cost) -> bool {
    cost.energy_mj.is_known() && cost.energy_mj.value == 0.0
}

/// Makes forms that neither side has the best ones of their region.
pub(super) fn improve(region: &mut model::Region, cut: &Region, sides: &[Priced; 2], rewrites: &[Rewrite]) {
    let [a, b] = [sides[0].bill(&cut.a), sides[1].bill(&cut.b)];
    let best = if b_leads(sides) { sides[1].with(&cut.b, rewrites) } else { sides[0].with(&cut.a, rewrites) };
    let cost = model::Cost::from(&best.total());
    let forms: Vec<&str> = rewrites.iter().map(|r| r.form.as_str()).collect();
    region.best = model::BestForm {
        form: model::Form::Other,
        energy_mj: cost.energy_mj,
        time_us: cost.time_us,
        text: forms.join("; "),
        saves_vs_a: saving(&a, &best),
        saves_vs_b: saving(&b, &best),
        trade_off: rewrites.iter().any(Rewrite::is_trade_off),
    };
    for rule in rewrites.iter().flat_map(|r| &r.rules) {
        if !region.rules.iter().any(|r| **r == **rule) {
            region.rules.push(rule.to_string());
        }
    }
}

/// Operators of the regions around a form that are named. A region of one value that is computed over and over has no end of them.
const MAX_NAMED: usize = 1_000;

fn describe_rewrite(
    rewrite: &Rewrite,
    in_b: bool,
    touched: &[usize],
    [a, b]: &[Priced; 2],
    cut: &[Region],
) -> model::Rewrite {
    let ops = |graph: &Graph, nodes: &dyn Fn(&Region) -> Vec<NodeId>| {
        let mut all: Vec<NodeId> = touched.iter().flat_map(|&i| nodes(&cut[i])).collect();
        all.sort_unstable();
        all.truncate(MAX_NAMED);
        names(graph, &all)
    };
    let side = if in_b { b } else { a };
    model::Rewrite {
        side: if in_b { model::Form::B } else { model::Form::A },
        a_ops: ops(a.graph, &|r| r.a.clone()),
        b_ops: ops(b.graph, &|r| r.b.clone()),
        from: kinds(side.graph, &rewrite.replaced).join(", "),
        to: rewrite.form.clone(),
        pattern: rewrite.pattern.clone(),
        saves_mj: rewrite.saves_mj(),
        saves_us: rewrite.saves_us(),
        rules: rewrite.rules.iter().map(ToString::to_string).collect(),
        tier: rewrite.tier.to_string(),
        at: Part { graph: side.graph, nodes: &rewrite.replaced, costs: &side.costs }.source(),
    }
}
