use super::super::graph::{GraphLeaves, graph_terms};
use super::*;
use crate::ir::text;
use crate::prove::Side;

/// What is known of the elements of the last node of a graph over `x`, four scores, and `m`, a mask of any numbers.
fn sign(body: &str) -> Sign {
    let source = format!("graph g(x: f32[2, 2], m: f32[2, 2]) {{ {body} return y }}");
    let graph = text::parse("signs.mir", &source).unwrap();
    let mut arena = TermArena::default();
    let values = graph_terms(&mut arena, &graph, &GraphLeaves::of(&graph, Side::A, &[0, 1])).unwrap();
    arena.term(*values.last().and_then(|terms| terms.last()).unwrap()).sign
}

/// Causal: true up to the diagonal.
const MASK: &str = "ones = full(; shape=[2, 2], value=1.0, dtype=f32) low = tril(ones) keep = gt(low, 0.5)";

#[test]
fn the_softmax_of_masked_rows_is_real_where_each_row_keeps_a_score() {
    let softmax = |scores: &str| sign(&format!("{MASK} s = {scores} y = softmax(s; dim=1)"));
    // What is hidden is 0.
    assert_eq!(softmax("where(keep, x, -inf)"), Sign::NotNegative);
    assert_eq!(softmax("where(keep, -inf, x)"), Sign::Unknown);
    assert_eq!(sign(&format!("{MASK} s = where(keep, x, -inf) y = softmax(s; dim=0)")), Sign::Unknown);
    let added = |kept: &str, hidden: &str| {
        sign(&format!("{MASK} mask = where(keep, {kept}, {hidden}) s = add(x, mask) y = softmax(s; dim=1)"))
    };
    assert_eq!(added("0.0", "-inf"), Sign::NotNegative);
    assert_eq!(added("0.0", "-10000.0"), Sign::Positive);
    assert_eq!(added("-inf", "0.0"), Sign::Unknown);
    // A score of infinity makes its row NaN.
    assert_eq!(added("0.0", "inf"), Sign::Unknown);
    // A mask that is an input may hide a whole row.
    let given = "keep = gt(m, 0.5) s = where(keep, x, -inf) y = softmax(s; dim=1)";
    assert_eq!(sign(given), Sign::Unknown);
}
