//! Explanations of small pairs and of the shared models.

use rustc_hash::FxHashMap;

use super::passage::Passage;
use super::{Explainer, ValueLayouts, proof_of};
use crate::check::compare;
use crate::energy::{CostModel, Objective, Weights};
use crate::frontend;
use crate::ir::{Graph, text};
use crate::optimize::optimize;
use crate::progress::Silent;
use crate::prove::{Context, show};
use crate::report::{Chain, Explanation, Form, HumanOptions, Report};
use crate::rules::{RuleSet, Tier};

fn graph(file: &str) -> Graph {
    frontend::load(format!("corpus/exports/{file}.pt2")).unwrap()
}

/// The expression with every name replaced by what it stands for.
fn expanded(text: &str, names: &FxHashMap<String, String>) -> String {
    let mut out = String::new();
    let mut word = String::new();
    for c in text.chars().chain([' ']) {
        if c.is_alphanumeric() || c == '_' || c == '.' {
            word.push(c);
        } else {
            out += names.get(&word).unwrap_or(&word);
            word.clear();
            out.push(c);
        }
    }
    out.trim_end().to_owned()
}

#[test]
fn names_stand_for_what_they_replace() {
    let graph = graph("gpt2-eager");
    let rules = RuleSet::library().unwrap();
    let costs = CostModel::shipped().unwrap();
    let items = crate::energy::graph_items(&graph, &costs);
    let rewrites = crate::extract::cheaper_forms(
        &graph,
        &items,
        &Context::under(&rules),
        &costs,
        Weights::ENERGY,
        crate::extract::FormSearch::ByRules,
        None,
    )
    .unwrap();
    let mut named = 0;
    let memory = ValueLayouts::of(&graph, &items);
    for rewrite in &rewrites {
        let mut arena = rewrite.proof().0.clone();
        let (applied, _) = Passage::of_rewrite(rewrite, &mut arena).unwrap().priced(None, None);
        let mut names = FxHashMap::default();
        for (step, applied) in proof_of(rewrite, &memory, &costs).iter().zip(&applied) {
            for d in &step.definitions {
                named += 1;
                let text = expanded(&d.text, &names);
                assert!(names.insert(d.name.clone(), text).is_none(), "{} is introduced once", d.name);
            }
            for (text, term) in [&step.before, &step.after].into_iter().zip(applied.sides()) {
                assert_eq!(expanded(text, &names), show(&arena, term, &crate::extract::letter));
            }
        }
    }
    assert!(named > 10, "{named}");
    let found = optimize(&graph, &Context::under(&rules), Tier::Rounding, Objective::Energy, &costs).unwrap();
    assert!(found.optimization.cheaper.iter().all(|c| !c.steps.is_empty()));
}

#[test]
fn a_step_costs_what_its_operators_cost() {
    let written =
        "t = permute(k; dims=[0, 1, 3, 2]) s = matmul(q, t) m = mul(s, 0.25) p = softmax(m; dim=3) y = matmul(p, v)";
    let explained = explained([written, "y = sdpa(q, k, v; scale=0.25)"]);
    let [step] = explained.steps.as_slice() else { panic!("{:?}", explained.steps) };
    assert_eq!(step.rule, "sdpa_written_out");
    for (of_step, of_side) in [(step.before_mj, &explained.region.a), (step.after_mj, &explained.region.b)] {
        let (of_step, of_side) = (of_step.unwrap(), of_side.energy_mj.unwrap());
        assert!((of_step / of_side - 1.0).abs() < 1e-6, "{of_step} and {of_side}: {step:?}");
    }
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn every_region_fits_in_60_lines_of_100_columns() {
    let (rules, costs) = (RuleSet::library().unwrap(), CostModel::shipped().unwrap());
    let mut regions = 0;
    for model in ["gpt2", "qwen2-4l", "llama3-8b", "llama3-405b", "bert", "whisper", "mixtral"] {
        let [a, b] = ["eager", "sdpa"].map(|side| graph(&format!("{model}-{side}")));
        let checked = compare(&a, &b, &rules, Tier::Rounding, &costs, &Silent).unwrap();
        let explainer = Explainer::new(&checked, &a, &b, &costs);
        for explanation in explainer.details().explanations {
            regions += 1;
            let text = explanation.human(&HumanOptions::default());
            let text = anstream::adapter::strip_str(&text).to_string();
            assert!(text.lines().count() <= 60, "{text}");
            assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
            // The whole proof fits for models with one attention in a region; of others, steps may be counted.
            let is_one = explanation.region.b_kinds.iter().filter(|kind| *kind == "sdpa").count() < 2;
            assert!(!is_one || !text.contains("more step"), "{text}");
            assert!(!text.contains('…'), "a clipped expression in\n{text}");
            assert!(explanation.steps.is_empty() || explanation.chain.is_some(), "no way from form to form in\n{text}");
            let forms = explanation.steps.iter().all(|step| step.whole_mj.is_some());
            assert!(forms, "a form without a price in\n{text}");
        }
    }
    assert!(regions > 200, "{regions}");
}

/// The explanation of the region with steps of two graphs over three inputs.
fn explained(sides: [&str; 2]) -> Explanation {
    let head = "graph g(q: f32[2, 4, 64, 16], k: f32[2, 4, 64, 16], v: f32[2, 4, 64, 16])";
    let [a, b] = sides.map(|body| text::parse("test.mir", &format!("{head} {{ {body} return y }}")).unwrap());
    let (rules, costs) = (RuleSet::library().unwrap(), CostModel::shipped().unwrap());
    let checked = compare(&a, &b, &rules, Tier::Rounding, &costs, &Silent).unwrap();
    let all = Explainer::new(&checked, &a, &b, &costs).details().explanations;
    all.into_iter().find(|e| !e.steps.is_empty()).unwrap()
}

fn is_near(x: Option<f64>, y: Option<f64>) -> bool {
    x.zip(y).is_some_and(|(x, y)| (x - y).abs() <= 1e-6 * y)
}

#[test]
fn the_forms_of_a_proof_lead_from_the_price_of_a_to_that_of_b() {
    let written =
        "t = permute(k; dims=[0, 1, 3, 2]) s = matmul(q, t) m = mul(s, 0.25) p = softmax(m; dim=3) y = matmul(p, v)";
    let fused = "y = sdpa(q, k, v; scale=0.25)";
    for sides in [[written, fused], [fused, written]] {
        let e = explained(sides);
        assert!(is_near(e.chain.as_ref().unwrap().from_mj, e.region.a.energy_mj), "{e:?}");
        assert!(is_near(e.steps.last().unwrap().whole_mj, e.region.b.energy_mj), "{e:?}");
    }
    let rules = |sides| explained(sides).steps.iter().map(|s| (s.rule.clone(), s.reversed)).collect::<Vec<_>>();
    let (there, mut back) = (rules([written, fused]), rules([fused, written]));
    back.reverse();
    let turned: Vec<_> = back.into_iter().map(|(rule, reversed)| (rule, !reversed)).collect();
    assert_eq!(there, turned, "the other way round, the steps are read from right to left");
}

#[test]
fn the_proof_of_a_cheaper_form_goes_on_to_the_price_of_the_cheapest() {
    let sides = ["a", "b"].map(|side| graph_of(&format!("corpus/pairs/channels_norm.{side}.mir")));
    let (rules, costs) = (RuleSet::library().unwrap(), CostModel::shipped().unwrap());
    let checked = compare(&sides[0], &sides[1], &rules, Tier::Rounding, &costs, &Silent).unwrap();
    let explainer = Explainer::new(&checked, &sides[0], &sides[1], &costs);
    let e = explainer.details().explanations.into_iter().find(|e| !e.cheaper.is_empty()).unwrap();
    let Some(Chain { from: Form::A, from_mj }) = e.cheaper_chain else { panic!("{e:?}") };
    assert!(is_near(from_mj, e.region.a.energy_mj), "{e:?}");
    assert!(is_near(e.cheaper.last().unwrap().whole_mj, e.region.best.energy_mj), "{e:?}");
    let text = anstream::adapter::strip_str(&e.human(&HumanOptions::default())).to_string();
    assert!(text.contains("= cheapest"), "{text}");
}

fn graph_of(path: &str) -> Graph {
    frontend::load(path).unwrap()
}
