//! What a difference counts for: inputs may be bound wrongly, and numbers may leave their types.

use super::bind::{Binding, BoundPair, bind};
use super::context::Context;
use super::refute::{self, Question, refute_defined};
use super::regions::Partition;
use super::witness::Verdict;
use crate::ir::{Graph, Output};
use crate::rules::RuleSet;

/// Looks for an input on which the sides differ, and cuts the region in which they part first out of the others. The verdict is
/// `unknown` where the inputs may be bound wrongly; there is none if no such input was found.
pub(super) fn difference(
    bound: &BoundPair,
    context: &Context,
    effort: usize,
    partition: &mut Partition,
    assumptions: &mut Vec<String>,
) -> Option<Verdict> {
    let BoundPair { a, b, binding } = bound;
    let unproven = [&partition.unmatched_a[..], &partition.unmatched_b];
    // Where any difference may come from a wrong guess, finding one is of little use.
    let effort = match (0..a.outputs().len()).all(|output| binding.is_doubtful_in_any_order(a, b, output)) {
        true => refute::IN_DOUBT,
        false => effort,
    };
    let question = Question { graphs: [a, b], binding, seed: context.seed, effort, unproven };
    let (mut witness, location) = refute_defined(&question, context.rules)?;
    let is_certain = witness.output_number.is_some_and(|output| !binding.is_doubtful(a, b, output));
    if !is_certain && !differs_in_any_order(&question, context.rules, witness.output_number, assumptions) {
        let output = &witness.output;
        assumptions.push(format!(
            "`{output}` differs under this binding, {}",
            if binding.is_contradicted(a, b) {
                "under which the files hold different values for one input"
            } else {
                "of which the guesses may be wrong"
            }
        ));
        return Some(Verdict::Unknown);
    }
    if binding.held.as_ref().is_some_and(|held| !held.is_empty()) {
        assumptions.push("weights are what both files hold".to_owned());
    }
    (witness.first_a, witness.first_b) = (location.first_a, location.first_b);
    witness.region = partition.part(location.a, location.b);
    Some(Verdict::Different(witness))
}

/// Whether an input is found on which a graph and another form `b` of it give different outputs, or on which only the graph gives one, with
/// little effort.
pub(crate) fn differ(a: &Graph, b: &Graph, context: &Context) -> bool {
    let BoundPair { a, b, binding } = &bind(a, b);
    let (seed, effort) = (context.seed, refute::IN_DOUBT);
    let question = Question { graphs: [a, b], binding, seed, effort, unproven: [&[], &[]] };
    refute_defined(&question, context.rules).is_some() || refute::fails_alone(&question, context.rules)
}

/// Whether sides that are equal over the real numbers give other values as soon as they are computed in their own types.
pub(super) fn parts_in_types(bound: &BoundPair, context: &Context, assumptions: &mut Vec<String>) -> bool {
    let BoundPair { a, b, binding } = bound;
    let question = Question { graphs: [a, b], binding, seed: context.seed, effort: 0, unproven: [&[], &[]] };
    let Some(parted) = refute::parted_in_types(&question, context.rules) else { return false };
    let name = a.outputs().get(parted.output).map(Output::shown).unwrap_or_default();
    let place: Vec<String> = parted.index.iter().map(usize::to_string).collect();
    let [x, y] = parted.values;
    assumptions.push(format!(
        "the sides are equal over the real numbers, and not in their own types: `{name}`[{}] is {x} in A and {y} in B",
        place.join(", ")
    ));
    true
}

/// Whether a difference in output number `output` can only be one of the order in which a user gives inputs, and the sides differ in every
/// other order, too.
fn differs_in_any_order(
    question: &Question,
    rules: &RuleSet,
    output: Option<usize>,
    assumptions: &mut Vec<String>,
) -> bool {
    let [a, b] = question.graphs;
    let is_settled = |binding: &Binding, output: Option<usize>| {
        output.is_some_and(|output| !binding.is_doubtful_in_any_order(a, b, output))
    };
    if !is_settled(question.binding, output) {
        return false;
    }
    let Some(orders) = question.binding.exchanged() else { return false };
    let differs = |binding: &Binding| {
        let question = Question { binding, effort: refute::IN_DOUBT, ..*question };
        refute_defined(&question, rules).is_some_and(|(witness, _)| is_settled(binding, witness.output_number))
    };
    let differ = !orders.is_empty() && orders.iter().all(differs);
    if differ {
        assumptions.push("the outputs differ in every order of the inputs whose order was guessed".to_owned());
    }
    differ
}
