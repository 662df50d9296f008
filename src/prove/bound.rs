//! Which error of approximate steps reaches the outputs.
//!
//! Two kinds of steps are approximate, each in a norm of its own:
//!
//! - a rule of tier `approx(e)`: an element is off by at most `e` times the largest element of the result;
//! - a product in TF32: an element is off by at most `e` times what the product of the absolute values gives.
//!
//! Through other operators, neither is carried on: what `exp` or a difference makes of it depends on the values. So an output
//! has a bound only where it is the result of one such step, up to operators that move elements.

use super::kernel::Replay;
use super::math::{TF32, is_tf32};
use crate::ir::{Graph, NodeKind, Value};
use crate::ops::{Family, Op};

/// The largest error of an output, if there is a bound for all of them. `steps` make the outputs equal.
pub(super) fn output_error(
    [a, b]: [&Graph; 2],
    replay: &Replay,
    steps: &[u32],
    outputs: &[(Value, Value)],
) -> Option<f64> {
    let of_steps = replay.errors(steps, outputs);
    let all = outputs.iter().zip(of_steps).map(|(&(x, y), of_steps)| {
        let of_products = [(a, b, x), (b, a, y)].map(|(own, other, value)| Products { own, other }.error(value));
        match (of_steps?, of_products[0]? + of_products[1]?) {
            (steps, 0.0) => Some(steps),
            (0.0, products) => Some(products),
            _ => None,
        }
    });
    all.reduce(|x, y| Some(x?.max(y?)))?
}

/// Products of one side that are in TF32 there and not on the other side.
struct Products<'a> {
    own: &'a Graph,
    other: &'a Graph,
}

impl Products<'_> {
    /// What they add to the error of a value; `None` where there is no bound.
    fn error(&self, value: Value) -> Option<f64> {
        let mut worst = 0.0;
        let mut stack = vec![value];
        let mut seen = rustc_hash::FxHashSet::default();
        while let Some(at) = stack.pop() {
            if !seen.insert(at) {
                continue;
            }
            match &self.own.node(at.node).kind {
                NodeKind::Op { op: Op::Table(def), .. } if def.family == Family::View => {
                    stack.extend(self.own.operands(at.node));
                }
                NodeKind::Op { op: Op::Table(def), .. } if is_tf32(self.own, at.node, &self.other.config) => {
                    let product = matches!(def.family, Family::Linear | Family::Conv);
                    if !product || self.own.operands(at.node).iter().any(|&v| self.is_below(v)) {
                        return None;
                    }
                    worst = TF32;
                }
                _ if self.is_below(at) => return None,
                _ => {}
            }
        }
        Some(worst)
    }

    /// Whether a value is computed from such a product.
    fn is_below(&self, value: Value) -> bool {
        let mut stack = vec![value.node];
        let mut seen = rustc_hash::FxHashSet::default();
        while let Some(node) = stack.pop() {
            if !seen.insert(node) {
                continue;
            }
            if is_tf32(self.own, node, &self.other.config) {
                return true;
            }
            stack.extend(self.own.operands(node).iter().map(|v| v.node));
        }
        false
    }
}
