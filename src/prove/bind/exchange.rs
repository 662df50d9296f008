//! Other orders of inputs that a user gives, where the names do not tell which is which.

use rustc_hash::FxHashMap;

use super::binding::Binding;
use crate::ir::TensorType;
use crate::prove::view_equivalence::permutations;

/// The most orders that are looked at.
const MAX_ORDERS: usize = 24;

impl Binding {
    /// The binding with the inputs whose order was guessed in every other order; `None` if there are too many of those.
    pub(crate) fn exchanged(&self) -> Option<Vec<Binding>> {
        let mut by_type: FxHashMap<&TensorType, Vec<u32>> = FxHashMap::default();
        for &number in &self.exchangeable {
            by_type.entry(&self.inputs.get(number as usize)?.ty).or_default().push(number);
        }
        let mut orders: Vec<Vec<(u32, u32)>> = vec![Vec::new()];
        for numbers in by_type.into_values() {
            let count: usize = (1..=numbers.len()).try_fold(orders.len(), usize::checked_mul)?;
            if count > MAX_ORDERS {
                return None;
            }
            let own = permutations(numbers.len());
            let with = |order: &Vec<usize>, so_far: &Vec<(u32, u32)>| {
                let moved = numbers.iter().zip(order).map(|(&from, &to)| (from, numbers[to]));
                so_far.iter().copied().chain(moved).collect()
            };
            orders = orders.iter().flat_map(|so_far| own.iter().map(move |order| with(order, so_far))).collect();
        }
        let others = orders.into_iter().filter(|order| order.iter().any(|(from, to)| from != to));
        Some(others.map(|order| self.in_order(&order)).collect())
    }

    fn in_order(&self, order: &[(u32, u32)]) -> Binding {
        let moved = |n: u32| order.iter().find(|(from, _)| *from == n).map_or(n, |(_, to)| *to);
        Binding { b: self.b.iter().map(|&n| moved(n)).collect(), ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use crate::ir::text::parse;
    use crate::prove::{Context, Verdict, bind_graphs, prove_bound};
    use crate::rules::RuleSet;

    fn verdict(a: &str, b: &str) -> Verdict {
        let a = parse("a", &format!("graph a(q: f32[3], k: f32[3]) {{ y = {a} return y }}")).unwrap();
        let b = parse("b", &format!("graph b(left: f32[3], right: f32[3]) {{ y = {b} return y }}")).unwrap();
        let rules = RuleSet::library().unwrap();
        prove_bound(&bind_graphs(a, b, None), &Context::under(&rules)).unwrap().verdict
    }

    #[test]
    fn what_differs_in_every_order_differs() {
        assert!(matches!(verdict("sub(q, k)", "mul(left, right)"), Verdict::Different(_)));
        assert!(matches!(verdict("sub(q, k)", "sub(left, right)"), Verdict::Equivalent { .. }));
        // Equal the other way round.
        assert_eq!(verdict("sub(q, k)", "sub(right, left)"), Verdict::Unknown);
    }
}
