//! Forms chosen by energy, by time, and by the product of both.

use magneton_ir::energy::{CostModel, Launch, Measured, Objective, Profile, graph_total};
use magneton_ir::ir::{Graph, text};
use magneton_ir::optimize::{Optimized, optimize};
use magneton_ir::prove::Context;
use magneton_ir::report::{HumanOptions, Report};
use magneton_ir::rules::{RuleSet, Tier};

fn exactly(mean: f64) -> Measured {
    Measured { mean, low: mean, high: mean }
}

fn graph() -> Graph {
    let source = "graph g(x: f32[67108864]) { y = mul(x, sigmoid(x)) return y }";
    text::parse("test.mir", source).unwrap_or_else(|e| panic!("{e:?}"))
}

/// What the two kernels of the graph take together: 12 mJ and 60 µs.
fn costs(silu_mj: f64, silu_us: f64) -> CostModel {
    let mut profile = Profile::shipped().unwrap();
    // A figure that was measured often, so that little is left in doubt.
    let mut entry = profile.entries.values().max_by_key(|entry| entry.passes).unwrap().clone();
    let figures = [
        ("sigmoid(f32[67108864])", 6.0, 30.0),
        ("mul(f32[67108864], f32[67108864])", 6.0, 30.0),
        ("silu(f32[67108864])", silu_mj, silu_us),
    ];
    for (key, mj, us) in figures {
        (entry.energy_mj, entry.time_us) = (exactly(mj), exactly(us));
        profile.entries.insert(key.parse().unwrap(), entry.clone());
    }
    CostModel::new(profile).launched(Launch::Graph)
}

fn found(objective: Objective, costs: &CostModel) -> Optimized {
    let rules = RuleSet::library().unwrap();
    optimize(&graph(), &Context::under(&rules), Tier::Rounding, objective, costs).unwrap()
}

/// Whether the form with one kernel is in place.
fn is_taken(objective: Objective, (mj, us): (f64, f64)) -> bool {
    let costs = costs(mj, us);
    let found = found(objective, &costs);
    let o = &found.optimization;
    // What is claimed is what the graph with the forms in place costs.
    let total = graph_total(&found.rewritten, &costs);
    assert_eq!((o.best_energy_mj.value, o.best_time_us), (Some(total.energy_mj.value), Some(total.time_us.value)));
    assert_eq!((o.cheaper.len() == 1, o.objective), (found.rewritten.operators().count() == 1, objective));
    if let [form] = &o.cheaper[..] {
        let saves = [12.0 - total.energy_mj.value, 60.0 - total.time_us.value];
        assert!((form.saves_mj - saves[0]).abs() < 1e-9 && (form.saves_us - saves[1]).abs() < 1e-9, "{form:?}");
    }
    o.cheaper.len() == 1
}

#[test]
fn each_objective_takes_what_is_better_by_its_own_measure() {
    let taken = |figures| [Objective::Energy, Objective::Time, Objective::Edp].map(|o| is_taken(o, figures));
    // Less of both, and more of both.
    assert_eq!(taken((8.0, 40.0)), [true, true, true]);
    assert_eq!(taken((16.0, 80.0)), [false, false, false]);
    // Less energy for more time, which is a trade-off by energy. The product of 720 falls to 280, or grows to 960.
    assert_eq!(taken((4.0, 70.0)), [false, false, true]);
    assert_eq!(taken((8.0, 120.0)), [false, false, false]);
    // Less time for more energy.
    assert_eq!(taken((13.0, 20.0)), [false, true, true]);
    assert_eq!(taken((26.0, 40.0)), [false, true, false]);
}

#[test]
fn reports_say_what_was_saved_of_what_counts_and_what_it_took() {
    let human = |objective, mj, us| {
        let o = found(objective, &costs(mj, us)).optimization;
        let text = o.human(&HumanOptions { width: 120, ..HumanOptions::default() });
        anstream::adapter::strip_str(&text).to_string()
    };
    let time = human(Objective::Time, 15.0, 30.0);
    assert!(time.contains("saves 50.0 % of the time, 25.0 % more energy"), "{time}");
    assert!(time.contains("saves 30.0 µs (50.0 %) for 3.00 mJ more"), "{time}");
    let both = human(Objective::Edp, 6.0, 48.0);
    assert!(both.contains("saves 60.0 % of energy × time: 50.0 % less energy, 20.0 % less time"), "{both}");
    assert!(both.contains("saves 6.00 mJ (50.0 %) and 12.0 µs (20.0 %)"), "{both}");
    let slower = human(Objective::Edp, 4.0, 72.0);
    assert!(slower.contains("saves 8.00 mJ (66.7 %) for 12.0 µs more"), "{slower}");
    let none = human(Objective::Time, 8.0, 120.0);
    assert!(none.contains("the rules know no form that takes less time beyond doubt"), "{none}");
}
