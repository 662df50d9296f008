//! What a comparison says of operators beside the equal ones.

use super::{Checked, compare};
use crate::energy::CostModel;
use crate::ir::text;
use crate::progress::Silent;
use crate::rules::{RuleSet, Tier};

fn compared(a: &str, b: &str) -> Checked {
    let [a, b] = [a, b].map(|source| text::parse("test.mir", source).unwrap_or_else(|e| panic!("{e:?}")));
    let (rules, costs) = (RuleSet::library().unwrap(), CostModel::shipped().unwrap());
    compare(&a, &b, &rules, Tier::Rounding, &costs, &Silent).unwrap()
}

#[test]
fn dead_operators_are_no_cheaper_form_of_the_region_before_them() {
    let source = "graph g(x: f32[64, 64], y: f32[64, 64]) {
        s = sub(x, y)
        c = clone(s)
        unused = mul(c, c)
        z = relu(s)
        return z
    }";
    let comparison = compared(source, source).comparison;
    for region in &comparison.regions {
        let [best, a, b] = [region.best.energy_mj, region.a.energy_mj, region.b.energy_mj].map(Option::unwrap);
        assert!(best <= a.min(b), "region {}: {best} against {a} and {b}", region.id);
    }
    assert_eq!(comparison.rewrites, []);
}

#[test]
fn a_side_that_computes_a_value_twice_is_covered_whole() {
    // `p` and `q` of B are one value, of which A has one.
    let a = "graph g(x: f32[8, 1, 3], e: f32[8, 3, 0], f: f32[8, 0, 3]) {
        m = baddbmm(x, e, f; beta=2.0)
        c = cast(m; dtype=f16)
        y = mul(c, c)
        return y
    }";
    let b = "graph g(x: f32[8, 1, 3], e: f32[8, 3, 0], f: f32[8, 0, 3]) {
        n = number(; value=2.0, dtype=f32)
        p = mul(x, n)
        q = add(p, matmul(e, f))
        c = cast(q; dtype=f16)
        y = mul(c, c)
        return y
    }";
    for [a, b] in [[a, b], [b, a]] {
        let comparison = compared(a, b).comparison;
        assert_eq!(comparison.verdict, crate::report::Verdict::Equivalent);
        for side in [&comparison.a, &comparison.b] {
            assert_eq!(side.covered_ops, side.ops);
        }
    }
}
