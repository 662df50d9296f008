//! A cheaper form written down.

use super::argument::{Known, expression};
use super::order::post_order;
use crate::extract::{Rewrite, results};
use crate::ir::Graph;
use crate::ops::is_number;
use crate::prove::{Head, TermId};
use crate::report::Definition;

/// A cheaper form as a person would write it down.
pub(crate) struct Form {
    /// Its operators, each after those that it reads from.
    pub operators: Vec<String>,
    /// Names for parts of `call`.
    pub definitions: Vec<Definition>,
    /// The form over these and over the values of the graph that it reads.
    pub call: String,
}

/// What a cheaper form calls, over the names of the values of `graph` that it reads.
pub(crate) fn form_of(graph: &Graph, rewrite: &Rewrite) -> Form {
    let (arena, root, leaves) = rewrite.expression();
    let input = |n: u32| {
        leaves.get(n as usize).map_or("?".to_owned(), |value| {
            let slot = if value.slot > 0 { format!(".{}", value.slot) } else { String::new() };
            format!("{}{slot}", graph.node(value.node).name)
        })
    };
    let known = Known { arena, input: &input, given: &|_, _| None, between: &|_| None, prices: None };
    let (definitions, call) = expression(&known, root);
    let terms = post_order(arena, &results(arena, root), |_| true);
    let called = |&term: &TermId| match arena.head(term) {
        Head::Apply { op, .. } if !op.def().is_some_and(is_number) => Some(op.name().to_owned()),
        _ => None,
    };
    Form { operators: terms.iter().filter_map(called).collect(), definitions, call }
}
