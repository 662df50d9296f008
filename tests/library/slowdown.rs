//! Forms that take less energy and more time: kept apart, and taken within a limit on the time of the whole.

use magneton_ir::energy::{CostModel, Launch, Measured, Objective, Profile, graph_total};
use magneton_ir::ir::{Graph, text};
use magneton_ir::optimize::{Optimized, optimize};
use magneton_ir::prove::Context;
use magneton_ir::report::{HumanOptions, Point, Report};
use magneton_ir::rules::{RuleSet, Tier};

/// An activation written out beside a product that takes a while.
const WRITTEN_OUT: &str = "graph g(x: f32[4194304], a: f32[2048, 2048], b: f32[2048, 2048]) {
    y = mul(x, sigmoid(x))
    z = matmul(a, b)
    return y, z
}";

fn exactly(mean: f64) -> Measured {
    Measured { mean, low: mean, high: mean }
}

/// Prices by which `silu` takes less energy than what it stands for, and more time.
fn costs() -> CostModel {
    let mut profile = Profile::shipped().unwrap();
    let mut entry = profile.entries.values().next().unwrap().clone();
    let figures = [
        ("sigmoid(f32[4194304])", 6.0, 15.0),
        ("mul(f32[4194304], f32[4194304])", 6.0, 15.0),
        ("silu(f32[4194304])", 4.0, 60.0),
        ("sigmoid(f32[2097152])", 3.0, 7.0),
        ("mul(f32[2097152], f32[2097152])", 3.0, 7.0),
        ("silu(f32[2097152])", 2.0, 30.0),
        ("matmul(f32[2048, 2048], f32[2048, 2048])", 100.0, 500.0),
    ];
    for (key, mj, us) in figures {
        (entry.energy_mj, entry.time_us) = (exactly(mj), exactly(us));
        profile.entries.insert(key.parse().unwrap(), entry.clone());
    }
    CostModel::new(profile).launched(Launch::Graph)
}

fn graph() -> Graph {
    text::parse("test.mir", WRITTEN_OUT).unwrap_or_else(|e| panic!("{e:?}"))
}

fn found(costs: &CostModel, max_slowdown: Option<f64>) -> Optimized {
    let (rules, graph) = (RuleSet::library().unwrap(), graph());
    let mut found = optimize(&graph, &Context::under(&rules), Tier::Rounding, Objective::Energy, costs).unwrap();
    if let Some(most) = max_slowdown {
        found.allow_slowdown(&graph, most, costs).unwrap();
    }
    found
}

#[test]
fn slower_forms_are_taken_only_as_far_as_the_time_of_the_whole_allows() {
    let costs = costs();
    let apart = found(&costs, None).optimization;
    assert_eq!((apart.cheaper.len(), apart.trade_offs.len(), apart.frontier.len()), (0, 1, 2), "{apart:?}");
    assert_eq!(apart.frontier.iter().map(|point| point.trade_offs).collect::<Vec<_>>(), [0, 1]);
    assert_eq!((apart.best_energy_mj, apart.best_time_us), (apart.energy_mj, apart.time_us));

    let (now, then) = (apart.time_us.unwrap(), apart.frontier[1].time_us.unwrap());
    let needed = then / now - 1.0;
    assert!(needed > 0.01, "{needed}");
    let kept_out = found(&costs, Some(needed * 0.99)).optimization;
    assert_eq!((&kept_out.cheaper, &kept_out.trade_offs), (&apart.cheaper, &apart.trade_offs));
    assert_eq!(kept_out.frontier, apart.frontier);

    let taken = found(&costs, Some(needed * 1.01));
    let told = &taken.optimization;
    assert_eq!((told.cheaper.len(), told.trade_offs.len()), (1, 0), "{told:?}");
    assert!(told.cheaper[0].trade_off && told.cheaper[0].saves_us < 0.0);
    // What it was allowed is in place, and no trade-off any more.
    assert_eq!(told.frontier, [Point { trade_offs: 0, ..apart.frontier[1] }]);
    // What is claimed is the price of the graph that is written.
    let written = graph_total(&taken.rewritten, &costs);
    assert_eq!(told.best_energy_mj.value, Some(written.energy_mj.value));
    assert_eq!(told.best_time_us, Some(written.time_us.value));
    let saved = told.energy_mj.value.unwrap() - written.energy_mj.value;
    assert!(saved > 0.0 && (saved - told.cheaper[0].saves_mj).abs() < 1e-9 * saved, "{saved}");
}

#[test]
fn a_slower_form_that_is_left_out_again_is_gone_from_the_price_too() {
    let (costs, graph) = (costs(), graph());
    let mut found = found(&costs, Some(1.0));
    assert_eq!(found.optimization.cheaper.len(), 1);
    assert!(found.leave_out(&graph, &["y".to_owned()], &costs).unwrap());
    let told = &found.optimization;
    assert_eq!((told.cheaper.len(), told.max_slowdown), (0, Some(1.0)));
    assert_eq!(told.best_energy_mj.value, Some(graph_total(&found.rewritten, &costs).energy_mj.value));
}

#[test]
fn the_picture_has_a_point_for_each_form() {
    let told = found(&costs(), None).optimization;
    let svg = told.frontier_svg();
    assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""), "{svg}");
    assert_eq!(svg.matches("<circle").count(), 1 + told.frontier.len());
}

#[test]
fn the_table_says_what_a_slower_form_changes() {
    let told = found(&costs(), None).optimization;
    for text in [told.human(&HumanOptions::default()), told.markdown()] {
        assert!(text.contains("and silu instead of sigmoid, mul"), "{text}");
    }
}

/// The same form of operands of another size is another choice.
#[test]
fn points_have_the_trade_offs_that_they_count() {
    let source = "graph g(x: f32[4194304], u: f32[2097152]) {
        y = mul(x, sigmoid(x))
        v = mul(u, sigmoid(u))
        return y, v
    }";
    let graph = text::parse("test.mir", source).unwrap_or_else(|e| panic!("{e:?}"));
    let rules = RuleSet::library().unwrap();
    let told =
        optimize(&graph, &Context::under(&rules), Tier::Rounding, Objective::Energy, &costs()).unwrap().optimization;
    assert_eq!(told.trade_offs.len(), 2, "{told:?}");
    assert_eq!(told.trade_offs[0].pattern, told.trade_offs[1].pattern);
    assert_eq!(told.frontier.iter().map(|point| point.trade_offs).collect::<Vec<_>>(), [0, 1, 2]);
    for (pair, c) in told.frontier.windows(2).zip(&told.trade_offs) {
        let saved = pair[0].energy_mj.unwrap() - pair[1].energy_mj.unwrap();
        assert!(saved >= c.total_mj() * 0.999, "{saved} of {}", c.total_mj());
    }
}
