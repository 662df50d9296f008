//! The comparison of two workloads, put together: prove, price, look for cheaper forms, name causes.

use std::collections::BTreeMap;
use std::time::Instant;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::diagnose::{self, CauseKind, Part};
use crate::energy::{self, CostModel, graph_costs};
use crate::extract::{self, Rewrite};
use crate::ir::{Graph, NodeId, NodeKind};
use crate::progress::{Progress, Silent};
use crate::prove::{
    Bound, Context, Proof, ProveError, Region, RegionKind, Verdict, Witness, bind, math_tier, prove_bound,
};
use crate::report as model;
use crate::rules::{RuleSet, Tier};

/// A time beyond which a cheaper form counts as slower, relative to the other one.
pub(crate) const SLOWER: f64 = 1.01;

/// A comparison with the proof behind it, which `explain` shows in full.
pub struct Checked {
    pub comparison: model::Comparison,
    pub proof: Proof,
    /// Forms that neither side has, by the position of the region that each is in.
    pub cheaper: BTreeMap<usize, Vec<Rewrite>>,
}

/// Compares two workloads. `tier` is the weakest tier that the proof may use.
pub fn compare(
    a: &Graph,
    b: &Graph,
    rules: &RuleSet,
    tier: Tier,
    costs: &CostModel,
    progress: &dyn Progress,
) -> Result<Checked, ProveError> {
    let bound = Bound { a: a.clone(), b: b.clone(), binding: bind(a, b) };
    compare_bound(&bound, &Context { progress, ..Context::under(rules) }, tier, costs)
}

/// Compares two workloads whose inputs are bound already. `tier` is the weakest tier that the proof may use.
pub fn compare_bound(bound: &Bound, context: &Context, tier: Tier, costs: &CostModel) -> Result<Checked, ProveError> {
    let start = Instant::now();
    let rules = context.rules.up_to(tier);
    let context = Context { rules: &rules, ..*context };
    let Bound { a, b, .. } = bound;
    let sides = [Priced::new(a, costs), Priced::new(b, costs)];
    // Cheaper forms are looked for on the side that costs less, whatever the proof comes to.
    let searched = sides[usize::from(b_leads(&sides))].graph;
    let ((proof, proved), forms) = rayon::join(
        || {
            let proof = prove_bound(bound, &context);
            context.progress.stage("looking for cheaper forms");
            (proof, start.elapsed())
        },
        || extract::cheaper_forms(searched, &Context { progress: &Silent, ..context }, costs),
    );
    let (mut proof, forms) = (proof?, forms?);
    // Rules beyond the tier were left out; that flags differ is only known at the end.
    if let Verdict::Equivalent { tier: found } = proof.verdict
        && found > tier
    {
        proof.verdict = Verdict::Unknown;
        proof.assumed.push(format!("math flags differ: equal only at tier {found}; --tier approx accepts that"));
    }

    let mut regions: Vec<model::Region> =
        proof.partition.regions.iter().enumerate().map(|(i, region)| describe(i + 1, region, &proof, &sides)).collect();
    let (within, spanning) = placed(forms, &sides, &proof.partition.regions, &regions);
    for (&i, rewrites) in &within {
        improve(&mut regions[i], &proof.partition.regions[i], &sides, rewrites);
    }
    group_repeats(&mut regions);
    let equivalent = matches!(proof.verdict, Verdict::Equivalent { .. });
    let best = if equivalent { best(&sides, &regions, &spanning) } else { UNKNOWN_BEST };
    let (covered_a, covered_b) = proof.covered(a, b);
    let total = start.elapsed();
    let milliseconds = |d: std::time::Duration| d.as_secs_f64() * 1e3;

    let comparison = model::Comparison {
        schema: model::SCHEMA,
        verdict: match proof.verdict {
            Verdict::Equivalent { .. } => model::Verdict::Equivalent,
            Verdict::Different(_) => model::Verdict::Different,
            Verdict::Unknown => model::Verdict::Unknown,
        },
        tier: match &proof.verdict {
            Verdict::Equivalent { tier } => Some(tier.to_string()),
            _ => None,
        },
        a: sides[0].describe(covered_a),
        b: sides[1].describe(covered_b),
        best,
        regions,
        rewrites: spanning,
        witness: match &proof.verdict {
            Verdict::Different(w) => Some(witness(w, a, b)),
            _ => None,
        },
        unproven: proof
            .unproven
            .iter()
            .map(|u| model::Unproven {
                a_ops: names(a, &u.a),
                b_ops: names(b, &u.b),
                agrees_numerically: u.agrees_numerically,
                a_mir: u.a_mir.clone(),
                b_mir: u.b_mir.clone(),
                rule: u.rule.clone(),
            })
            .collect(),
        assumptions: assumptions(&proof),
        profile: described(costs),
        timing_ms: model::Timing {
            read: 0.0,
            prove: milliseconds(proved),
            cost: milliseconds(total - proved),
            total: milliseconds(total),
        },
    };
    Ok(Checked { comparison, proof, cheaper: within })
}

fn witness(w: &Witness, a: &Graph, b: &Graph) -> model::Witness {
    let place = |graph: &Graph, first: Option<NodeId>| {
        first.map(|n| {
            let node = graph.node(n);
            model::Place { op: node.name.to_string(), source: diagnose::source(node) }
        })
    };
    model::Witness {
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
    (!profile.entries.is_empty())
        .then(|| format!("{}, driver {}, libtorch {}", device.name, device.driver, device.libtorch))
}

const UNKNOWN_BEST: model::Best = model::Best { energy_mj: None, time_us: None, saves_vs_a: None, saves_vs_b: None };

/// A graph with what each of its nodes costs.
struct Priced<'g> {
    graph: &'g Graph,
    costs: Vec<energy::Cost>,
    total: energy::Cost,
}

impl<'g> Priced<'g> {
    fn new(graph: &'g Graph, model: &CostModel) -> Self {
        let costs = graph_costs(graph, model);
        let total = costs.iter().copied().sum();
        Priced { graph, costs, total }
    }

    fn cost(&self, nodes: &[NodeId]) -> energy::Cost {
        nodes.iter().map(|n| self.costs[n.index()]).sum()
    }

    /// What `nodes` cost with cheaper forms in place of some of them.
    fn with(&self, nodes: &[NodeId], rewrites: &[Rewrite]) -> energy::Cost {
        let replaced: FxHashSet<NodeId> = rewrites.iter().flat_map(|r| r.replaced.iter().copied()).collect();
        let kept: Vec<NodeId> = nodes.iter().copied().filter(|n| !replaced.contains(n)).collect();
        self.cost(&kept) + rewrites.iter().map(|r| r.after).sum()
    }

    fn describe(&self, covered_ops: usize) -> model::Side {
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
            time_us: model::Figure::from(self.total.time_us).value,
            flags,
        }
    }
}

/// Names of the operators that the file has.
fn names(graph: &Graph, nodes: &[NodeId]) -> Vec<String> {
    explicit(graph, nodes).map(|n| graph.node(n).name.to_string()).collect()
}

fn kinds(graph: &Graph, nodes: &[NodeId]) -> Vec<String> {
    let kind = |n: NodeId| match &graph.node(n).kind {
        NodeKind::Op { op, .. } => Some(op.name().to_owned()),
        _ => None,
    };
    explicit(graph, nodes).filter_map(kind).collect()
}

fn explicit<'a>(graph: &'a Graph, nodes: &'a [NodeId]) -> impl Iterator<Item = NodeId> + 'a {
    nodes.iter().copied().filter(|&n| !graph.node(n).origin.implicit)
}

fn describe(id: usize, region: &Region, proof: &Proof, [a, b]: &[Priced; 2]) -> model::Region {
    let (cost_a, cost_b) = (a.cost(&region.a), b.cost(&region.b));
    let mut rules: Vec<String> = Vec::new();
    for lemma in proof.region_lemmas(region) {
        if !rules.iter().any(|r| r == lemma.name()) {
            rules.push(lemma.name().to_owned());
        }
    }
    let cause = diagnose::cause(
        Part { graph: a.graph, nodes: &region.a, costs: &a.costs },
        Part { graph: b.graph, nodes: &region.b, costs: &b.costs },
    );
    let kind = match region.kind {
        RegionKind::Constant => "constant",
        RegionKind::Dead => "dead",
        RegionKind::Parted => "different",
        RegionKind::Proven => kind_name(cause.kind),
    };
    let parted = region.kind == RegionKind::Parted;
    let (a_kinds, b_kinds) = (kinds(a.graph, &region.a), kinds(b.graph, &region.b));
    model::Region {
        id,
        a_ops: names(a.graph, &region.a),
        b_ops: names(b.graph, &region.b),
        best: if parted { unequal(&a_kinds) } else { best_side(&cost_a, &cost_b, &a_kinds, &b_kinds) },
        a_kinds,
        b_kinds,
        tier: if parted {
            "none".to_owned()
        } else {
            math_tier((a.graph, &region.a), (b.graph, &region.b))
                .map_or(proof.region_tier(region), |math| math.max(proof.region_tier(region)))
                .to_string()
        },
        rules,
        a: (&cost_a).into(),
        b: (&cost_b).into(),
        cause: model::Cause {
            kind: kind.to_owned(),
            text: match region.kind {
                RegionKind::Constant => "depends on no input: can be computed once".to_owned(),
                RegionKind::Dead => "no output depends on it".to_owned(),
                RegionKind::Parted => "the sides part here: equal operands, other results".to_owned(),
                RegionKind::Proven => cause.text,
            },
            flag: cause.flag,
            a_source: cause.a_source,
            b_source: cause.b_source,
        },
        same_as: None,
        repeats: 1,
    }
}

fn kind_name(kind: CauseKind) -> &'static str {
    match kind {
        CauseKind::None => "same",
        CauseKind::FewerKernels => "fewer_kernels",
        CauseKind::LessTraffic => "less_traffic",
        CauseKind::LessArithmetic => "less_arithmetic",
        CauseKind::MathMode => "flag",
        CauseKind::OtherImplementation => "other_implementation",
    }
}

/// Where the sides are not equal, none is a form of the other.
fn unequal(a_kinds: &[String]) -> model::BestForm {
    model::BestForm {
        form: model::Form::A,
        energy_mj: None,
        time_us: None,
        text: a_kinds.join(", "),
        saves_vs_a: None,
        saves_vs_b: None,
        trade_off: false,
    }
}

/// The side of a region with the lower energy. A side whose energy is not known loses.
fn best_side(a: &energy::Cost, b: &energy::Cost, a_kinds: &[String], b_kinds: &[String]) -> model::BestForm {
    let takes_b = match (a.energy_mj.is_known(), b.energy_mj.is_known()) {
        (true, true) => b.energy_mj.value < a.energy_mj.value,
        (known, _) => !known,
    };
    let (best, form, kinds, other) =
        if takes_b { (b, model::Form::B, b_kinds, a) } else { (a, model::Form::A, a_kinds, b) };
    let cost = model::Cost::from(best);
    model::BestForm {
        form,
        energy_mj: cost.energy_mj,
        time_us: cost.time_us,
        text: kinds.join(", "),
        saves_vs_a: saving(&a.energy_mj, &best.energy_mj),
        saves_vs_b: saving(&b.energy_mj, &best.energy_mj),
        trade_off: other.time_us.is_known() && best.time_us.value > other.time_us.value * SLOWER,
    }
}

/// What `best` saves as a fraction of `of`; none where the intervals meet.
fn saving(of: &energy::Figure, best: &energy::Figure) -> Option<f64> {
    let sure = of.is_known() && best.is_known() && best.is_below(of) && of.value > 0.0;
    sure.then(|| 1.0 - best.value / of.value)
}

/// Cheaper forms by the position of the region that they are in.
type Within = BTreeMap<usize, Vec<Rewrite>>;

/// The cheaper forms of the side that costs less by where they are: those inside one region, and those that span several.
fn placed(
    found: Vec<Rewrite>,
    sides: &[Priced; 2],
    cut: &[Region],
    regions: &[model::Region],
) -> (Within, Vec<model::Rewrite>) {
    let b_leads = b_leads(sides);
    let mut region_of: FxHashMap<NodeId, usize> = FxHashMap::default();
    for (i, region) in cut.iter().enumerate().filter(|(_, r)| r.kind == RegionKind::Proven) {
        for &n in if b_leads { &region.b } else { &region.a } {
            region_of.insert(n, i);
        }
    }
    let mut spanning = Vec::new();
    let mut within = Within::new();
    for rewrite in found {
        let touched: FxHashSet<Option<usize>> = rewrite.replaced.iter().map(|n| region_of.get(n).copied()).collect();
        let mut touched: Vec<usize> = touched.into_iter().flatten().collect();
        touched.sort_unstable();
        // The other side may already do better there.
        let own = if b_leads { model::Form::B } else { model::Form::A };
        let free =
            touched.iter().all(|&i| regions[i].best.form == own || regions[i].a.energy_mj == regions[i].b.energy_mj);
        if !free {
            continue;
        }
        match touched.as_slice() {
            [one] => within.entry(*one).or_default().push(rewrite),
            _ => spanning.push(describe_rewrite(&rewrite, b_leads, &touched, sides, cut)),
        }
    }
    (within, spanning)
}

/// Whether B costs less than A, or as much. Cheaper forms are looked for on that side.
fn b_leads([a, b]: &[Priced; 2]) -> bool {
    b.total.energy_mj.value <= a.total.energy_mj.value
}

/// Makes forms that neither side has the best ones of their region.
fn improve(region: &mut model::Region, cut: &Region, sides: &[Priced; 2], rewrites: &[Rewrite]) {
    let [a, b] = [sides[0].cost(&cut.a), sides[1].cost(&cut.b)];
    let best = if b_leads(sides) { sides[1].with(&cut.b, rewrites) } else { sides[0].with(&cut.a, rewrites) };
    let cost = model::Cost::from(&best);
    let forms: Vec<&str> = rewrites.iter().map(|r| r.form.as_str()).collect();
    region.best = model::BestForm {
        form: model::Form::Other,
        energy_mj: cost.energy_mj,
        time_us: cost.time_us,
        text: forms.join("; "),
        saves_vs_a: saving(&a.energy_mj, &best.energy_mj),
        saves_vs_b: saving(&b.energy_mj, &best.energy_mj),
        trade_off: rewrites.iter().any(|r| r.after.time_us.value > r.before.time_us.value * SLOWER),
    };
    for rule in rewrites.iter().flat_map(|r| &r.rules) {
        if !region.rules.iter().any(|r| **r == **rule) {
            region.rules.push(rule.to_string());
        }
    }
}

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
        saves_mj: rewrite.before.energy_mj.value - rewrite.after.energy_mj.value,
        saves_us: rewrite.before.time_us.value - rewrite.after.time_us.value,
        rules: rewrite.rules.iter().map(|r| r.to_string()).collect(),
        tier: rewrite.tier.to_string(),
    }
}

/// The energy of one side of a region, and the fraction of it that is saved.
type EnergyAndShare = (Option<f64>, Option<f64>);

/// The cheapest known whole: the best form of each region, and the rewrites that span several.
fn best([a, b]: &[Priced; 2], regions: &[model::Region], rewrites: &[model::Rewrite]) -> model::Best {
    let known = a.total.energy_mj.is_known() && b.total.energy_mj.is_known();
    if !known {
        return UNKNOWN_BEST;
    }
    let sum = |f: &dyn Fn(&model::Region) -> Option<f64>| regions.iter().map(f).sum::<Option<f64>>();
    let saved: f64 = rewrites.iter().map(|r| r.saves_mj).sum();
    let energy = sum(&|r| r.best.energy_mj).map(|e| e - saved);
    let time = sum(&|r| r.best.time_us).map(|t| t - rewrites.iter().map(|r| r.saves_us).sum::<f64>());
    // Only what is beyond doubt counts as saved.
    let sure = |of: fn(&model::Region) -> EnergyAndShare| -> f64 {
        let of_region = |r: &model::Region| match of(r) {
            (Some(energy), Some(fraction)) => energy * fraction,
            _ => 0.0,
        };
        regions.iter().map(of_region).sum::<f64>() + saved
    };
    let fraction = |saved: f64, total: f64| (saved > 0.0 && total > 0.0).then(|| saved / total);
    model::Best {
        energy_mj: energy,
        time_us: time,
        saves_vs_a: fraction(sure(|r| (r.a.energy_mj, r.best.saves_vs_a)), a.total.energy_mj.value),
        saves_vs_b: fraction(sure(|r| (r.b.energy_mj, r.best.saves_vs_b)), b.total.energy_mj.value),
    }
}

/// Finds regions that are the same but for the names of their operators: the layers of a model.
fn group_repeats(regions: &mut [model::Region]) {
    type Key = (Vec<String>, Vec<String>, [Option<u64>; 3], String, Vec<String>);
    let bits = |v: Option<f64>| v.map(f64::to_bits);
    let mut first: FxHashMap<Key, usize> = FxHashMap::default();
    for i in 0..regions.len() {
        let r = &regions[i];
        let energies = [bits(r.a.energy_mj), bits(r.b.energy_mj), bits(r.best.energy_mj)];
        let key = (r.a_kinds.clone(), r.b_kinds.clone(), energies, r.tier.clone(), r.rules.clone());
        let id = regions[i].id;
        match first.get(&key) {
            Some(&f) => {
                regions[i].same_as = Some(regions[f].id);
                regions[f].repeats += 1;
            }
            None => {
                first.insert(key, id - 1);
            }
        }
    }
    for i in 0..regions.len() {
        if let Some(f) = regions[i].same_as {
            regions[i].repeats = regions[f - 1].repeats;
        }
    }
}

fn assumptions(proof: &Proof) -> Vec<String> {
    let mut all = proof.binding.assumptions.clone();
    all.extend(proof.assumed.iter().cloned());
    let mut wrong: Vec<&str> = proof.ill_typed.iter().map(|r| &**r).collect();
    wrong.sort_unstable();
    wrong.dedup();
    all.extend(
        wrong.iter().map(|r| format!("rule `{r}` joined values of different types and was stopped: it is wrong")),
    );
    let mut busy: Vec<&str> = proof.busiest.iter().map(|r| &**r).collect();
    busy.sort_unstable();
    busy.dedup();
    all.extend(busy.iter().map(|r| format!("a search ended at its limit; rule `{r}` added most to it")));
    all
}
