//! Conditions that a rule does not need.

use miette::SourceSpan;

use super::counterexample::{Shown, show};
use super::data::{Data, Scale};
use super::generator::{Generator, Style};
use super::named::Named;
use crate::rules::expr::Expr;
use crate::rules::matcher::holds;
use crate::rules::rule::{Condition, ConditionKind, Rule};
use crate::rules::tensor_functions::IS_REAL;
use crate::rules::terms::Terms;
use crate::rules::{Problem, RuleSet};

/// Instances that a condition excludes and that have to agree before it counts as idle.
const EXCLUDED: usize = 200;
/// Instances without one that the condition excludes after which it counts as implied.
const INCLUDED: usize = 250;
/// Attempts to find instances for one condition of one direction.
const ATTEMPTS: u64 = 10_000;

/// What leaving a condition out does.
#[derive(Clone, Copy, Debug, Default)]
struct Tried {
    /// Instances that agree although the condition does not hold.
    excluded: usize,
    /// Instances that agree and on which the condition holds.
    included: usize,
    breaks: bool,
}

/// Warnings about the conditions of rule number `i` and all its directions.
pub(super) fn idle(set: &RuleSet, i: usize) -> Vec<Problem> {
    let name = &set.rules[i].name;
    let rules: Vec<&Rule> = set.rules[i..].iter().filter(|r| r.name == *name).map(|r| &**r).collect();
    let mut spans: Vec<SourceSpan> = Vec::new();
    for condition in rules.iter().flat_map(|r| &r.conditions) {
        // Rules are tried on real numbers.
        let asks_for_reals = matches!(&condition.expr, Expr::Tensor(function, ..) if *function == IS_REAL);
        let is_tried = condition.kind == ConditionKind::Needed && !asks_for_reals;
        if let Some(span) = condition.span.filter(|s| is_tried && !spans.contains(s)) {
            spans.push(span);
        }
    }
    let place = &set.places[i];
    spans.into_iter().filter_map(|span| warning(set, &rules, span).map(|w| w.at(place, span))).collect()
}

struct Warning {
    message: String,
    label: &'static str,
    help: &'static str,
}

impl Warning {
    fn at(self, place: &crate::rules::set::RuleLocation, span: SourceSpan) -> Problem {
        place.report.problem("rules::idle_condition", span, self.message, self.label).with_help(self.help).warning()
    }
}

fn warning(set: &RuleSet, rules: &[&Rule], span: SourceSpan) -> Option<Warning> {
    let mut sum = Tried::default();
    let mut text = None;
    for rule in rules {
        let Some(at) = rule.conditions.iter().position(|c| c.span == Some(span)) else { continue };
        text = Some(rule.conditions[at].text.clone());
        let one = without(set, rule, at);
        sum.excluded += one.excluded;
        sum.included += one.included;
        if one.breaks {
            return None;
        }
    }
    let (name, text) = (&rules.first()?.name, text?);
    if sum.excluded >= EXCLUDED {
        return Some(Warning {
            message: format!("`{name}` holds without the condition `{text}` too"),
            label: "its removal breaks nothing",
            help: "leave it out; a condition that only keeps the search small stands behind `guard`",
        });
    }
    (sum.excluded == 0 && sum.included >= INCLUDED).then(|| Warning {
        message: format!("the condition `{text}` of `{name}` excludes nothing that the left side allows"),
        label: "holds on every instance that was found",
        help: "leave it out",
    })
}

/// Tries a rule out without its condition number `at`.
fn without(set: &RuleSet, rule: &Rule, at: usize) -> Tried {
    let mut looser = rule.clone();
    let condition: Condition = looser.conditions.remove(at);
    let named = Named::of(&looser);
    let (scales, in_turn) = (Scale::others(&named), Scale::in_turn(&named, looser.tier));
    // Half of the attempts are usual ones.
    let styles = [Style::Empty, Style::Named, Style::Narrow, Style::Extreme];
    let style = |seed: u64| if seed.is_multiple_of(2) { styles[(seed / 2 % 4) as usize] } else { Style::Usual };
    let mut tried = Tried::default();
    for seed in 0..ATTEMPTS {
        if tried.excluded >= EXCLUDED || tried.excluded == 0 && tried.included >= INCLUDED {
            break;
        }
        let Some(choice) = Generator::styled(&looser, seed, &named, style(seed)).attempt() else { continue };
        let data = Data::seeded(seed).far(!matches!(style(seed), Style::Usual | Style::Empty));
        match show(&looser, &set.definitions, &choice, data) {
            Shown::Agrees(instance) => {
                let elsewhere = |scale| show(&looser, &set.definitions, &choice, data.at(scale));
                if holds(&condition, &instance.arena, &instance.bindings) == Ok(true) {
                    tried.included += 1;
                } else if scales
                    .iter()
                    .chain(in_turn.get(seed as usize % in_turn.len()))
                    .any(|&s| matches!(elsewhere(s), Shown::Breaks(_)))
                {
                    tried.breaks = true;
                    break;
                } else if instance.arena.ty(instance.lhs).numel() > 0 {
                    tried.excluded += 1;
                }
            }
            Shown::Breaks(_) => {
                tried.breaks = true;
                break;
            }
            Shown::NoInstance | Shown::Undefined => {}
        }
    }
    tried
}
