//! The comparison of two workloads, put together: prove, price, look for cheaper forms, name causes.

mod cheaper;
mod difference;
mod precomputed;
mod priced;
mod region;
#[cfg(test)]
mod tests;
mod whole;

use std::time::Instant;

use cheaper::{Found, Within, improve, placed};
pub(crate) use precomputed::{FROZEN, precomputed};
use priced::{Priced, b_leads, names_of_any};
use region::{describe, group_repeats};
use whole::{UNKNOWN_BEST, Whole, best, mixed, take_back};

use crate::diagnose;
use crate::energy::{CostModel, Weights};
use crate::extract::{self, FormSearch, Improved};
use crate::guard::guarded;
use crate::ir::{Graph, NodeId};
use crate::ops::TypeError;
use crate::progress::{Progress, Silent};
use crate::prove::{BoundPair, Context, Proof, ProveError, Rejected, Verdict, Witness, bind, prove_bound};
use crate::report as model;
use crate::rules::{RuleSet, Tier};

/// A comparison with the proof behind it, which `explain` shows in full.
pub struct Checked {
    /// What reports show.
    pub comparison: model::Comparison,
    /// The proof that it rests on.
    pub proof: Proof,
    /// Forms that neither side has, by the position of the region that each is in.
    pub cheaper: Within,
    /// Whether they are forms of operators of B.
    pub searches_b: bool,
}

/// Compares two workloads. `tier` is the weakest tier that the proof may use.
///
/// ```
/// use magneton_ir::check::compare;
/// use magneton_ir::energy::CostModel;
/// use magneton_ir::ir::text::parse;
/// use magneton_ir::progress::Silent;
/// use magneton_ir::rules::{RuleSet, Tier};
///
/// let twice = parse("twice.mir", "graph g(x: f32[64, 64]) { y = relu(relu(x)) return y }")?;
/// let once = parse("once.mir", "graph g(x: f32[64, 64]) { y = relu(x) return y }")?;
/// let (rules, prices) = (RuleSet::library()?, CostModel::shipped()?);
/// let found = compare(&twice, &once, &rules, Tier::Exact, &prices, &Silent)?.comparison;
/// assert!(found.a.energy_mj.value > found.b.energy_mj.value);
/// # Ok::<(), miette::Report>(())
/// ```
///
/// # Errors
/// What [`ProveError`] says: graphs whose outputs cannot be paired, or a node without a type.
pub fn compare(
    a: &Graph,
    b: &Graph,
    rules: &RuleSet,
    tier: Tier,
    costs: &CostModel,
    progress: &dyn Progress,
) -> Result<Checked, ProveError> {
    let bound = bind(a, b);
    compare_bound(&bound, &Context { progress, ..Context::under(rules) }, tier, costs)
}

/// Compares two workloads whose inputs are bound already. `tier` is the weakest tier that the proof may use.
///
/// # Errors
/// As [`compare`].
pub fn compare_bound(
    bound: &BoundPair,
    context: &Context,
    tier: Tier,
    costs: &CostModel,
) -> Result<Checked, ProveError> {
    let start = Instant::now();
    let rules = context.rules.up_to(tier);
    let context = Context { rules: &rules, ..*context };
    let BoundPair { a, b, .. } = bound;
    let sides: [Priced; 2] = rayon::join(|| Priced::new(a, costs), || Priced::new(b, costs)).into();
    // Cheaper forms are looked for on the side that costs less, whatever the proof comes to.
    let searched = &sides[usize::from(b_leads(&sides))];
    let ((proof, proved), improved) = rayon::join(
        || {
            let proof = guarded(|| prove_bound(bound, &context));
            context.progress.stage("looking for cheaper forms");
            (proof, start.elapsed())
        },
        || {
            let context = Context { progress: &Silent, ..context };
            guarded(|| improved(searched, &context, tier, costs))
        },
    );
    let mut proof =
        proof.unwrap_or_else(|panic| Ok(Proof::broken_off(bound, format!("the search broke off: {panic}"))))?;
    let mut rejected: Vec<Rejected> = proof.rejected.clone().into_iter().collect();
    let improved = improved.unwrap_or_else(|panic| {
        let reason = format!("the search for cheaper forms broke off: {panic}");
        rejected.push(Rejected { step: None, reason });
        Ok(None)
    })?;
    let whole = improved.as_ref().map(Whole::new);
    let forms = improved.map(|improved| improved.rewrites).unwrap_or_default();
    // Rules beyond the tier were left out; that flags differ, and that values may leave the range of a type, is only known
    // at the end, and so is what error reaches the outputs.
    if let Verdict::Equivalent { tier: found } = proof.verdict
        && let Some(reason) = tier.refuses(found, proof.output_error)
    {
        proof.verdict = Verdict::Unknown;
        proof.assumed.push(reason);
    }

    let mut regions: Vec<model::Region> = proof
        .partition
        .regions
        .iter()
        .enumerate()
        .map(|(i, region)| describe(i + 1, region, &proof, &sides, costs))
        .collect();
    let Found { within, spanning, all } = placed(forms, &sides, &proof.partition.regions, &regions);
    for (&i, rewrites) in &within {
        improve(&mut regions[i], &proof.partition.regions[i], &sides, rewrites);
    }
    group_repeats(&mut regions);
    let equivalent = matches!(proof.verdict, Verdict::Equivalent { .. });
    let best = if equivalent {
        let lead = whole.as_ref().map_or(searched.total.energy_mj.value, Whole::energy_mj);
        let mixed = mixed(bound, &sides, &proof, &regions, &all, costs).filter(|mixed| mixed.energy_mj() < lead);
        if mixed.is_none() {
            take_back(&mut regions, b_leads(&sides));
        }
        let frozen = Whole::frozen(&sides[usize::from(!b_leads(&sides))], costs);
        best(&sides, whole.into_iter().chain(mixed).chain(frozen), costs)
    } else {
        UNKNOWN_BEST
    };
    let mut assumptions = assumptions(&proof);
    if !best.precompute.is_empty() || sides.iter().any(Priced::computes_once) {
        assumptions.push(FROZEN.to_owned());
    }
    let (covered_a, covered_b) = proof.covered(a, b);
    let total = start.elapsed();
    let milliseconds = |d: std::time::Duration| d.as_secs_f64() * 1e3;

    let comparison = model::Comparison {
        schema: model::SCHEMA,
        verdict: match proof.verdict {
            Verdict::Equivalent { .. } => model::ReportedVerdict::Equivalent,
            Verdict::Different(_) => model::ReportedVerdict::Different,
            Verdict::Unknown => model::ReportedVerdict::Unknown,
        },
        tier: match &proof.verdict {
            Verdict::Equivalent { tier } => Some(tier.to_string()),
            _ => None,
        },
        output_error: match &proof.verdict {
            Verdict::Equivalent { tier: Tier::Approx(_) } => proof.output_error,
            _ => None,
        },
        a: sides[0].describe(covered_a),
        b: sides[1].describe(covered_b),
        best,
        difference: difference::of_sides(&sides, costs),
        regions,
        rewrites: spanning,
        witness: match &proof.verdict {
            Verdict::Different(w) => Some(witness(w, a, b)),
            _ => None,
        },
        settings: model::Setting::apart([&a.settings, &b.settings]),
        unproven: proof
            .unproven
            .iter()
            .map(|u| model::Unproven {
                a_ops: names_of_any(a, &u.a),
                b_ops: names_of_any(b, &u.b),
                a_at: last_line(a, &u.a),
                b_at: last_line(b, &u.b),
                agrees_numerically: u.agrees_numerically,
                a_mir: u.a_mir.clone(),
                b_mir: u.b_mir.clone(),
                rule: u.rule.clone(),
            })
            .collect(),
        assumptions,
        rejected: rejected.into_iter().map(|r| model::Rejected { step: r.step, reason: r.reason }).collect(),
        profile: described(costs),
        timing_ms: model::Timing {
            read: 0.0,
            prove: milliseconds(proved),
            cost: milliseconds(total - proved),
            total: milliseconds(total),
        },
        details: None,
    };
    Ok(Checked { comparison, proof, cheaper: within, searches_b: b_leads(&sides) })
}

/// A side with those cheaper forms in place that are no weaker than `tier`, no slower, and pay off, and with what is the same at every execution
/// computed once; `None` if there is neither.
fn improved(side: &Priced, context: &Context, tier: Tier, costs: &CostModel) -> Result<Option<Improved>, TypeError> {
    // A graph that cannot be built is no equivalent.
    let Ok(frozen) = Improved::new(side.graph, Vec::new(), costs, Weights::ENERGY) else { return Ok(None) };
    let mut forms =
        extract::cheaper_forms(side.graph, &frozen.items, context, costs, Weights::ENERGY, FormSearch::ByRules, None)?;
    forms.retain(|form| tier.refuses(form.tier, None).is_none() && !form.is_trade_off());
    let improved = extract::pay_off(side.graph, &frozen.total(), forms, costs, Weights::ENERGY).ok();
    Ok(improved.filter(|improved| !improved.rewrites.is_empty() || improved.once.is_some()))
}

/// `file:line` of the last operator that has one.
fn last_line(graph: &Graph, nodes: &[NodeId]) -> Option<String> {
    nodes.iter().rev().find_map(|&n| graph.node(n).origin.line()).map(ToString::to_string)
}

fn witness(w: &Witness, a: &Graph, b: &Graph) -> model::Witness {
    let place = |graph: &Graph, first: Option<NodeId>| {
        first.map(|n| {
            let node = graph.node(n);
            model::SourcedOperator {
                op: node.name.to_string(),
                source: diagnose::source(node),
                at: node.origin.line().map(ToString::to_string),
            }
        })
    };
    model::Witness {
        constants: w.constants.as_ref().map(|both| both.each_ref().map(ToString::to_string)),
        seed: w.seed,
        region: w.region.map(|r| r + 1),
        first_a: place(a, w.first_a),
        first_b: place(b, w.first_b),
        output: w.output.clone(),
        index: w.index.clone(),
        a: w.a,
        b: w.b,
        max_abs_error: w.max_abs_error,
    }
}

/// Device and software of the measured figures, if there are any.
pub(crate) fn described(costs: &CostModel) -> Option<String> {
    let profile = costs.profile();
    let device = &profile.device;
    let lacks = if costs.lacks_host() { "; how long it waits for the host is not known" } else { "" };
    (!profile.entries.is_empty())
        .then(|| format!("{}, driver {}, libtorch {}{lacks}", device.name, device.driver, device.libtorch))
}

fn assumptions(proof: &Proof) -> Vec<String> {
    let mut all = proof.binding.assumptions.clone();
    all.extend(proof.assumed.iter().cloned());
    let mut caught = proof.caught.clone();
    caught.sort_unstable();
    caught.dedup();
    all.extend(caught.iter().map(ToString::to_string));
    let mut busy: Vec<&str> = proof.busiest.iter().map(|r| &**r).collect();
    busy.sort_unstable();
    busy.dedup();
    all.extend(busy.iter().map(|r| format!("a search ended at its limit; rule `{r}` added most to it")));
    all
}
