use crate::check::compare;
use crate::energy::CostModel;
use crate::ir::text;
use crate::progress::Silent;
use crate::report::{Comparison, Region};
use crate::rules::{RuleSet, Tier};

fn compared(a: &str, b: &str) -> Comparison {
    let (rules, costs) = (RuleSet::library().unwrap(), CostModel::shipped().unwrap());
    let [a, b] = [a, b].map(|source| text::parse("test.mir", source).unwrap_or_else(|e| panic!("{e:?}")));
    compare(&a, &b, &rules, Tier::Rounding, &costs, &Silent).unwrap().comparison
}

fn dearest(found: &Comparison) -> &Region {
    let gap = |r: &Region| (r.a.energy_mj.unwrap() - r.b.energy_mj.unwrap()).abs();
    found.regions.iter().max_by(|x, y| gap(x).total_cmp(&gap(y))).unwrap()
}

#[test]
fn a_kernel_that_reads_across_memory_is_named_with_what_it_reads() {
    let head = "graph g(scores: f32[4, 256, 32000], labels: i64[4, 256])";
    let across =
        format!("{head} {{ turned = permute(scores; dims=[0, 2, 1]) y = cross_entropy(turned, labels) return y }}");
    let along = format!(
        "{head} {{ flat = reshape(scores; shape=[1024, 32000]) places = reshape(labels; shape=[1024]) \
         y = cross_entropy(flat, places) return y }}"
    );
    for (a, b, name) in [(&across, &along, "A"), (&along, &across, "B")] {
        let found = compared(a, b);
        let cause = &dearest(&found).cause;
        assert_eq!(cause.kind, "layout", "{}", cause.text);
        assert!(cause.text.contains("`cross_entropy` takes") && cause.text.contains("`turned`"), "{}", cause.text);
        assert!(cause.text.contains(&format!("In {name} it reads")), "{}", cause.text);
    }
}

#[test]
fn work_that_is_left_out_is_no_slow_kernel() {
    let head = "graph g(x: f32[64, 256, 1024])";
    let copied = format!("{head} {{ t = permute(x; dims=[0, 2, 1]) c = contiguous(t) y = exp(c) return y }}");
    let read = format!("{head} {{ t = permute(x; dims=[0, 2, 1]) y = exp(t) return y }}");
    let found = compared(&copied, &read);
    assert_eq!(dearest(&found).cause.kind, "less_traffic", "{}", dearest(&found).cause.text);
}

#[test]
fn the_respect_that_saves_most_energy_is_the_cause() {
    let head = "graph g(x: bf16[8, 1024, 1024], w: param bf16[16384, 1024])";
    let all = format!("{head} {{ s = linear(x, w) y = slice(s; dim=1, start=1023, end=1024) return y }}");
    let last = format!("{head} {{ k = slice(x; dim=1, start=1023, end=1024) y = linear(k, w) return y }}");
    let found = compared(&all, &last);
    let region = dearest(&found);
    assert_eq!(region.cause.kind, "less_arithmetic", "{}", region.cause.text);
    assert!(region.cause.text.contains("less memory traffic"), "{}", region.cause.text);
}

#[test]
fn a_slow_kernel_is_one_of_the_side_that_costs_more() {
    let head = "graph g(x: f32[8, 8], w: param f32[16, 8], b: param f32[16])";
    let fused = format!("{head} {{ t = permute(w; dims=[1, 0]) y = addmm(b, x, t) return y }}");
    let apart = format!("{head} {{ t = permute(w; dims=[1, 0]) p = matmul(x, t) y = add(p, b) return y }}");
    for (a, b) in [(&fused, &apart), (&apart, &fused)] {
        let found = compared(a, b);
        let region = dearest(&found);
        let (fat, side) = match region.a.energy_mj > region.b.energy_mj {
            true => (&region.a_kinds, "A"),
            false => (&region.b_kinds, "B"),
        };
        let text = &region.cause.text;
        assert!(!text.is_empty() && !text.contains("-0"), "{text}");
        if ["slower_kernel", "layout"].contains(&region.cause.kind.as_str()) {
            assert!(fat.iter().any(|op| text.starts_with(&format!("`{op}` takes"))), "{text}");
            assert!(
                text.contains(&format!(" in {side}")) && !text.contains("takes 0") && !text.contains('-'),
                "{text}"
            );
        }
    }
}
