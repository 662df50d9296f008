//! Binding: which inputs of the two graphs are the same tensor, and which are made of others.
//!
//! What is known best comes first: a binding file, then names, then the values that the files hold, then what the graphs do
//! with their weights, and at last positions. Whatever is taken for granted is listed as an assumption. An input that is made of inputs of the other graph
//! is replaced by operators over those, so that everything behind this point sees two graphs over common inputs.

mod align;
mod bias;
mod bound_input;
mod compare;
mod constants;
mod content;
mod doubt;
mod expression;
mod held;
mod join;
mod mask;
mod merged;
mod pairs;
mod plan;
mod share;
mod statement;
mod suppose;
mod tied;

pub use constants::MissingConstant;
use expression::{Expression, Part};
use plan::Plan;

use crate::ir::{Contents, Graph, NoContents};
use crate::prove::Side;
pub use bound_input::BoundInput;

/// Inputs of both graphs under common numbers.
#[derive(Clone, Debug, Default)]
pub struct Binding {
    /// Inputs that both graphs have, in A's order.
    pub inputs: Vec<BoundInput>,
    /// Per input of A, in the graph's order: its number.
    pub a: Vec<u32>,
    /// Per input of B, in the graph's order: its number.
    pub b: Vec<u32>,
    /// What was taken for granted, one sentence each.
    pub assumptions: Vec<String>,
    /// Numbers of inputs that are bound by a guess that may be wrong.
    pub guessed: Vec<u32>,
    /// Numbers of inputs that a binding file speaks of. It may leave out how others belong to them.
    pub stated: Vec<u32>,
    /// Numbers of inputs that are bound although the two files hold other values for them.
    pub unlike: Vec<u32>,
    /// Whether A and B have tensors that count as constants of their file because they are bound to nothing.
    pub keeps_constants: [bool; 2],
    /// Whether some of those may be made of weights that are bound.
    pub keeps_folded_weights: bool,
    /// For A and for B: whether weights are arguments in its format, as in StableHLO, and have a role of their own on the other side.
    pub gives_weights: [bool; 2],
    /// Whether it is only supposed what some buffers hold.
    pub supposes_values: bool,
    /// Tensors without values that can be no weights.
    pub missing: Vec<MissingConstant>,
    /// The binding as a file for `--bind`, one line each.
    pub lines: Vec<String>,
}

/// Two graphs over common inputs.
#[derive(Clone, Debug)]
pub struct BoundPair {
    /// The graphs as they were given, except that derived inputs are operators now. Those operators are implicit:
    /// no report counts them and they cost nothing.
    pub a: Graph,
    /// The second graph, over the same inputs.
    pub b: Graph,
    /// How inputs were paired.
    pub binding: Binding,
}

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
    plan.by_use(&a, &b);
    plan.alike();
    plan.by_position();
    plan.compare([&mut *of_a, &mut *of_b]);
    plan.keep_constants([&mut *of_a, &mut *of_b]);
    plan.suppose([&a, &b], [&mut *of_a, &mut *of_b]);
    let mut bound = share::share(a, b, &plan).aligned();
    bound.binding.missing = plan.missing_constants([of_a, of_b]);
    bound
}

#[cfg(test)]
mod content_tests;
#[cfg(test)]
mod suppose_tests;
#[cfg(test)]
mod tests;
