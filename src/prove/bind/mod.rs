//! Binding: which inputs of the two graphs are the same tensor, and which are made of others.
//!
//! What is known best comes first: a binding file, then names, then the values that the files hold, then what the graphs do
//! with their weights, and at last positions. Whatever is taken for granted is listed as an assumption. An input that is made of inputs of the other graph
//! is replaced by operators over those, so that everything behind this point sees two graphs over common inputs.

mod align;
mod bias;
mod binding;
mod bound_input;
mod compare;
mod constants;
mod content;
mod doubt;
mod exchange;
mod expression;
mod fold_candidates;
mod folded;
mod held;
mod held_weights;
mod join;
mod known;
mod made;
mod mask;
mod matched_uses;
mod merged;
mod pairs;
mod plan;
mod reordered;
mod share;
mod stacked;
mod statement;
mod suppose;
mod tied;
mod uniform;
mod uses;
mod views;

pub use constants::MissingConstant;
use expression::{Expression, Part};
use plan::Plan;

use crate::ir::{Contents, Graph, NoContents};
use crate::prove::Side;
pub use binding::{Binding, BoundPair, HeldWeights};
pub use bound_input::BoundInput;
pub(crate) use known::KnownMasks;

/// Binds what can be bound without looking at the graphs' operators: inputs of one name and type, then, per role and
/// type, the rest by position.
pub(crate) fn bind(a: &Graph, b: &Graph) -> BoundPair {
    let mut plan = Plan::new(a, b);
    plan.by_name(|_, _| true);
    plan.by_position();
    BoundPair { a: a.clone(), b: b.clone(), binding: share::number(&plan) }.aligned()
}

/// Binds the inputs of two graphs by all means there are without their values. `stated` is what a binding file says
/// ([`parse_equalities`](crate::ir::text::parse_equalities)).
pub fn bind_graphs(a: Graph, b: Graph, stated: Option<&[Graph; 2]>) -> BoundPair {
    bind_with_contents(a, b, stated, [&mut NoContents, &mut NoContents])
}

/// As [`bind_graphs`], and where both files hold values for inputs that names leave unbound, those are compared.
pub fn bind_with_contents(
    a: Graph,
    b: Graph,
    stated: Option<&[Graph; 2]>,
    [of_a, of_b]: [&mut dyn Contents; 2],
) -> BoundPair {
    let mut plan = Plan::new(&a, &b);
    if let Some([stated_a, stated_b]) = stated {
        plan.by_statement(Side::A, stated_a);
        plan.by_statement(Side::B, stated_b);
        plan.stated_narrower();
        plan.tied();
    }
    plan.read_checksums([&mut *of_a, &mut *of_b]);
    let exchanged = plan.exchanged_names();
    plan.by_name(|x, y| x.live == y.live && !exchanged.contains(&x.input.name));
    plan.by_content(of_a, of_b);
    plan.turned(of_a, of_b);
    plan.bias_with_weight(&a, &b);
    plan.by_name(|_, _| true);
    plan.by_narrower_type();
    plan.by_prefix();
    plan.folded([&a, &b], [&mut *of_a, &mut *of_b]);
    plan.reordered([&mut *of_a, &mut *of_b]);
    plan.by_use(&a, &b);
    plan.alike();
    plan.by_weight_uses(&a, &b);
    plan.by_position();
    plan.only_narrower();
    plan.compare([&mut *of_a, &mut *of_b]);
    plan.tied_by_content(of_a);
    plan.keep_whole_buffers([&mut *of_a, &mut *of_b]);
    plan.keep_constants([&mut *of_a, &mut *of_b]);
    plan.keep_uniform([&mut *of_a, &mut *of_b]);
    plan.suppose([&a, &b], [&mut *of_a, &mut *of_b]);
    plan.hold_weights([&mut *of_a, &mut *of_b]);
    let mut bound = share::share(a, b, &plan).aligned();
    bound.binding.missing = plan.missing_constants([of_a, of_b]);
    bound
}

#[cfg(test)]
mod content_tests;
#[cfg(test)]
mod folded_tests;
#[cfg(test)]
mod known_tests;
#[cfg(test)]
mod reordered_tests;
#[cfg(test)]
mod suppose_tests;
#[cfg(test)]
mod tests;
