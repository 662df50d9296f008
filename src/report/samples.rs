//! Hand-made comparisons for tests of reports.

use super::{
    BasisShares, Best, BestForm, CallPaths, Cause, Cheaper, Comparison, Cost, Figure, Form, Launched, LaunchedBest,
    Optimization, Point, Region, ReportedVerdict, SCHEMA, Side, Source, SourcedOperator, Timing, Unproven, Witness,
};
use crate::energy::Objective;

const UNKNOWN_BEST: Best =
    Best { energy_mj: None, time_us: None, saves_vs_a: None, saves_vs_b: None, launched: None, precompute: Vec::new() };

fn figure(value: f64) -> Figure {
    Figure { value: Some(value), low: Some(value * 0.98), high: Some(value * 1.02), source: Source::Measured }
}

fn side(file: &str, ops: usize, covered_ops: usize, energy: f64) -> Side {
    let energy_mj = figure(energy);
    let energy_basis_mj = BasisShares { measured: energy, ..BasisShares::default() };
    let (time_us, left_out, flags) = (Some(energy * 1.6), vec![], vec![]);
    Side { file: file.into(), ops, covered_ops, energy_mj, energy_basis_mj, left_out, time_us, launched: None, flags }
}

fn cost(mj: f64) -> Cost {
    Cost {
        energy_mj: Some(mj),
        energy_range_mj: Some([mj * 0.98, mj * 1.02]),
        energy_source: Source::Measured,
        time_us: Some(mj * 1.6),
        launches: 3,
        flops: 1e9,
        bytes: 2e6,
    }
}

pub(super) fn strings(all: &[&str]) -> Vec<String> {
    all.iter().map(|s| (*s).to_owned()).collect()
}

pub(super) fn region(
    id: usize,
    a: (&[&str], f64),
    b: (&[&str], f64),
    same_as: Option<usize>,
    repeats: usize,
) -> Region {
    let best = a.1.min(b.1);
    let name = |kind: &&str| format!("{kind}_{id}");
    Region {
        id,
        a_ops: a.0.iter().map(name).collect(),
        b_ops: b.0.iter().map(name).collect(),
        a_kinds: strings(a.0),
        b_kinds: strings(b.0),
        tier: "rounding".into(),
        rules: strings(&["sdpa_eager"]),
        a: cost(a.1),
        b: cost(b.1),
        best: BestForm {
            form: if b.1 < a.1 { Form::B } else { Form::A },
            energy_mj: Some(best),
            time_us: Some(best * 1.6),
            text: "sdpa(q, k, v; causal=true)".into(),
            saves_vs_a: (b.1 < a.1).then(|| 1.0 - best / a.1),
            saves_vs_b: None,
            trade_off: false,
        },
        cause: Cause {
            kind: "same".into(),
            text: String::new(),
            flag: None,
            how: None,
            a_source: None,
            b_source: None,
            paths: CallPaths::default(),
            switch: None,
        },
        difference: None,
        same_as,
        repeats,
    }
}

/// An example of a comparison that is equivalent.
pub(super) fn equivalent() -> Comparison {
    let eager: &[&str] = &["permute", "matmul", "mul", "where", "add", "softmax", "dropout", "matmul"];
    let mut attention = region(4, (eager, 40.0), (&["sdpa"], 12.0), None, 2);
    attention.cause = Cause {
        kind: "less_traffic".into(),
        text: "B needs 1 instead of 6 kernels, 1.61 GB less memory traffic".into(),
        flag: Some("attn_implementation=\"sdpa\"".into()),
        how: Some("from_pretrained(..., attn_implementation=...)".into()),
        a_source: Some("site-packages/transformers/models/gpt2/modeling_gpt2.py:69".into()),
        b_source: Some("site-packages/transformers/integrations/sdpa_attention.py:92".into()),
        paths: CallPaths::default(),
        switch: None,
    };
    let regions = vec![
        region(1, (&["embedding"], 1.0), (&["embedding"], 1.0), None, 1),
        attention,
        region(5, (&["addmm"], 150.0), (&["addmm"], 150.0), None, 2),
        region(8, (eager, 40.0), (&["sdpa"], 12.0), Some(4), 2),
        region(9, (&["addmm"], 150.0), (&["addmm"], 150.0), Some(5), 2),
        region(10, (&["mul", "mul", "tanh"], 3.0), (&["gelu"], 2.99), None, 1),
    ];
    Comparison {
        schema: SCHEMA,
        verdict: ReportedVerdict::Equivalent,
        tier: Some("rounding".into()),
        output_error: None,
        a: side("gpt2-eager.pt2", 26, 26, 384.0),
        b: side("gpt2-sdpa.pt2", 12, 12, 328.0),
        best: Best {
            energy_mj: Some(328.0),
            time_us: Some(525.0),
            saves_vs_a: Some(0.1458),
            saves_vs_b: None,
            launched: None,
            precompute: Vec::new(),
        },
        difference: None,
        regions,
        rewrites: vec![],
        witness: None,
        unproven: vec![],
        settings: Vec::new(),
        assumptions: strings(&[
            "every row of `mask` keeps a key",
            "every row of `mask` keeps a key",
            "`x` is bound to `y`",
        ]),
        rejected: vec![],
        profile: Some("NVIDIA H200, driver 580, libtorch 2.11".into()),
        timing_ms: Timing { read: 10.0, prove: 200.5, cost: 3.0, total: 213.5 },
        details: None,
    }
}

/// An example of a comparison that is different.
pub(super) fn different() -> Comparison {
    let mut c = equivalent();
    c.verdict = ReportedVerdict::Different;
    c.tier = None;
    c.a.covered_ops = 20;
    c.b = Side { flags: strings(&["allow_tf32=true"]), ..side("a wrong one.mir", 12, 9, 328.0) };
    c.b.energy_mj = Figure { value: None, low: None, high: None, source: Source::Unknown };
    c.b.time_us = None;
    c.regions.truncate(1);
    c.best = UNKNOWN_BEST;
    c.witness = Some(Witness {
        seed: 7,
        region: Some(1),
        first_a: Some(SourcedOperator {
            op: "addmm_3".into(),
            source: Some("model.py:12 h = self.fc(x)".into()),
            at: Some("model.py:12".into()),
        }),
        first_b: Some(SourcedOperator { op: "linear_7".into(), source: None, at: None }),
        output: "logits".into(),
        index: vec![0, 3, 11],
        a: 0.125.into(),
        b: (-0.125).into(),
        constants: None,
        max_abs_error: 0.4321,
    });
    c.assumptions.clear();
    c
}

/// An example of a comparison that is unknown.
pub(super) fn unknown() -> Comparison {
    let mut c = equivalent();
    c.verdict = ReportedVerdict::Unknown;
    c.tier = None;
    c.a.covered_ops = 25;
    c.regions.retain(|r| r.a_kinds == r.b_kinds);
    c.best = UNKNOWN_BEST;
    c.unproven = vec![Unproven {
        a_ops: strings(&["softmax_3"]),
        b_ops: strings(&["scaled_dot_product_attention_2"]),
        a_at: Some("model.py:7".into()),
        b_at: None,
        agrees_numerically: Some(true),
        a_mir: Some("graph a(\n  x: f32[4]\n) {\n  y: f32[4] = neg(x)\n  return y\n}\n".into()),
        b_mir: Some("graph b(\n  x: f32[4]\n) {\n  y: f32[4] = sub(0.0, x)\n  return y\n}\n".into()),
        rule: Some("/// Why.\nrule missing [real]:\n    neg(x)\n      => sub(0.0, x)\n".into()),
    }];
    c.assumptions = (0..7).map(|i| format!("assumption number {i}")).collect();
    c.profile = None;
    c
}

/// An example of a comparison of small work that is launched one by one.
pub(super) fn launched() -> Comparison {
    let mut c = equivalent();
    let launched = |kernels: f64, waiting: f64| {
        let about = |value: f64| Figure {
            low: Some(value * 0.6),
            high: Some(value * 1.6),
            source: Source::Estimated,
            ..figure(value)
        };
        Launched {
            energy_mj: Figure { source: Source::Mixed, ..about(kernels + waiting) },
            time_us: Some(kernels * 1.6 + waiting * 8.0),
            host_us: about(kernels * 1.6 + waiting * 8.0),
            waiting_us: about(waiting * 8.0),
            waiting_mj: about(waiting),
        }
    };
    c.a.energy_basis_mj = BasisShares { measured: 300.0, class: 84.0, ..BasisShares::default() };
    c.a.launched = Some(launched(384.0, 600.0));
    c.b.launched = Some(launched(328.0, 11.0));
    c.best.launched =
        Some(LaunchedBest { energy_mj: 339.0, time_us: 613.0, saves_vs_a: Some(0.055), saves_vs_b: None });
    c
}

/// An example of a workload with `trade_offs` forms that take less energy and more time, each of them a little.
pub(super) fn optimization(trade_offs: usize) -> Optimization {
    let form = |i: usize| Cheaper {
        ops: vec![strings(&["mul", "tanh"])],
        from: strings(&["mul", "tanh"]),
        into: vec![format!("fast_{i}")],
        to: format!("fast_{i}(x)"),
        definitions: Vec::new(),
        call: format!("fast_{i}(x)"),
        pattern: format!("fast_{i}(x)"),
        saves_mj: 0.5,
        saves_us: -10.0,
        trade_off: true,
        steps: Vec::new(),
        tier: "rounding".into(),
        source: Some("model.py:12 y = torch.tanh(2 * x)".into()),
    };
    let point = |with: usize| Point {
        energy_mj: Some(112.0 - 0.5 * with as f64),
        time_us: Some(530.0 + 10.0 * with as f64),
        trade_offs: with,
    };
    Optimization {
        schema: Optimization::SCHEMA,
        objective: Objective::Energy,
        file: "workload.pt2".into(),
        ops: 3,
        energy_mj: figure(112.0),
        left_out: Vec::new(),
        time_us: Some(530.0),
        launched: None,
        best_energy_mj: figure(112.0),
        best_time_us: Some(530.0),
        best_launched: None,
        launched_saves_mj: None,
        launched_saves_us: None,
        cheaper: Vec::new(),
        precompute: Vec::new(),
        precompute_saves_mj: None,
        max_slowdown: None,
        trade_offs: (1..=trade_offs).map(form).collect(),
        frontier: (0..=trade_offs).map(point).collect(),
        assumptions: Vec::new(),
        profile: Some("NVIDIA H200, driver 580, libtorch 2.11".into()),
    }
}
