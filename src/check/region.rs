//! Regions as the report has them: what each side costs there, which is cheaper, and why.

use rustc_hash::FxHashMap;

use super::difference;
use super::priced::{Priced, kinds, names};
use crate::diagnose::{self, CauseKind, Part, call_paths};
use crate::energy::{Bill, Cost, CostModel};
use crate::extract::SLOWER;
use crate::prove::{Proof, Region, RegionKind, math_tier};
use crate::report::{self as model, CallPaths};

/// Region number `id`.
pub(super) fn describe(
    id: usize,
    region: &Region,
    proof: &Proof,
    sides: &[Priced; 2],
    costs: &CostModel,
) -> model::Region {
    let [a, b] = sides;
    let bills = [a.bill(&region.a), b.bill(&region.b)];
    let [cost_a, cost_b] = bills.each_ref().map(Bill::total);
    let mut rules: Vec<String> = Vec::new();
    for lemma in proof.region_lemmas(region) {
        if !rules.iter().any(|r| r == lemma.name()) {
            rules.push(lemma.name().to_owned());
        }
    }
    let parts =
        [(a, &region.a), (b, &region.b)].map(|(side, nodes)| Part { graph: side.graph, nodes, costs: &side.costs });
    let difference = difference::of_regions(bills.each_ref(), sides, [&region.a, &region.b], costs);
    let side = |name, side: usize| diagnose::PricedPart { name, part: parts[side], items: &sides[side].items };
    let cause = diagnose::cause(side("A", 0), side("B", 1), difference.as_ref());
    let kind = match region.kind {
        RegionKind::Constant => "constant",
        RegionKind::Dead => "dead",
        RegionKind::Divergent => "different",
        RegionKind::Proven => kind_name(cause.kind),
    };
    let parted = region.kind == RegionKind::Divergent;
    let (a_kinds, b_kinds) = (kinds(a.graph, &region.a), kinds(b.graph, &region.b));
    model::Region {
        id,
        a_ops: names(a.graph, &region.a),
        b_ops: names(b.graph, &region.b),
        best: if parted { unequal(&a_kinds) } else { best_side(&bills, [&cost_a, &cost_b], [&a_kinds, &b_kinds]) },
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
                RegionKind::Divergent => {
                    let why = diagnose::parting(parts[0], parts[1]).map_or(String::new(), |why| format!("; {why}"));
                    format!("the sides part here: equal operands, other results{why}")
                }
                RegionKind::Proven => cause.text,
            },
            flag: cause.flag,
            how: cause.how,
            a_source: cause.a_source,
            b_source: cause.b_source,
            paths: if region.kind == RegionKind::Proven {
                call_paths(parts[0], parts[1])
            } else {
                CallPaths::default()
            },
            switch: None,
        },
        difference,
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
        CauseKind::Layout => "layout",
        CauseKind::SlowerKernel => "slower_kernel",
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
fn best_side(bills: &[Bill; 2], [a, b]: [&Cost; 2], [a_kinds, b_kinds]: [&[String]; 2]) -> model::BestForm {
    let takes_b = match (a.energy_mj.is_known(), b.energy_mj.is_known()) {
        (true, true) => b.energy_mj.value < a.energy_mj.value,
        (known, _) => !known,
    };
    let (best, form, kinds, other) =
        if takes_b { (b, model::Form::B, b_kinds, a) } else { (a, model::Form::A, a_kinds, b) };
    let best_bill = &bills[usize::from(takes_b)];
    let cost = model::Cost::from(best);
    model::BestForm {
        form,
        energy_mj: cost.energy_mj,
        time_us: cost.time_us,
        text: kinds.join(", "),
        saves_vs_a: saving(&bills[0], best_bill),
        saves_vs_b: saving(&bills[1], best_bill),
        trade_off: other.time_us.is_known() && best.time_us.value > other.time_us.value * SLOWER,
    }
}

/// What `best` saves as a fraction of `of`; none where it is in doubt that it saves anything, or the whole is not known.
pub(super) fn saving(of: &Bill, best: &Bill) -> Option<f64> {
    let saving = of.saving(best);
    let whole = of.total().energy_mj;
    (saving.is_sure && whole.is_known() && whole.value > 0.0).then(|| saving.energy_mj / whole.value)
}

/// Finds regions that are the same but for the names of their operators: the layers of a model.
pub(super) fn group_repeats(regions: &mut [model::Region]) {
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
