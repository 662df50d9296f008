use std::sync::{Arc, LazyLock};

use proptest::prelude::*;

use super::*;
use crate::energy::context::Context;
use crate::energy::coverage::COVERAGE_SD;
use crate::energy::estimate::BOUNDS_SD;
use crate::energy::{CostModel, Figure, Gap, KernelKey};

fn model() -> CostModel {
    static SHIPPED: LazyLock<CostModel> = LazyLock::new(|| CostModel::shipped().unwrap());
    SHIPPED.clone()
}

/// Kernels of several classes that no profile holds.
fn key(n: usize) -> String {
    let size = 1000 * (n + 1);
    match n % 5 {
        0 => format!("add(f16[{size}], f16[{size}])"),
        1 => format!("softmax(f16[{size}, 333]; dim=1)"),
        2 => format!("matmul(f16[{size}, 96], f16[96, 160])"),
        3 => format!("gather(f16[{size}, 64], i64[{size}, 4]; dim=1)"),
        _ => format!("mish(f16[{size}])"),
    }
}

fn item(model: &CostModel, key: &str) -> Item {
    model.item(&key.parse::<KernelKey>().unwrap(), Context::Alone)
}

fn bill(model: &CostModel, kernels: &[usize]) -> Bill {
    kernels.iter().map(|n| item(model, &key(*n))).collect::<Vec<_>>().iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A against A saves nothing, in whatever order.
    #[test]
    fn a_form_saves_nothing_against_itself(mut kernels in proptest::collection::vec(0_usize..60, 1..12)) {
        let model = model();
        let forth = bill(&model, &kernels);
        kernels.reverse();
        let saving = forth.saving(&bill(&model, &kernels));
        prop_assert_eq!(saving, Saving { energy_mj: 0.0, is_sure: false });
    }

    /// Fewer of the same kernels are cheaper beyond doubt, however uncertain each of them is.
    #[test]
    fn what_is_contained_is_cheaper(kernels in proptest::collection::vec(0_usize..60, 1..8), more in 0_usize..60) {
        let model = model();
        let (small, large) = (bill(&model, &kernels), bill(&model, &[&kernels[..], &[more]].concat()));
        prop_assert!(large.saving(&small).is_sure);
        prop_assert!(!small.saving(&large).is_sure && small.saving(&large).energy_mj < 0.0);
    }

    /// What both hold changes nothing, so that a missing common part cancels.
    #[test]
    fn a_common_part_cancels(a in proptest::collection::vec(0_usize..60, 1..6), b in proptest::collection::vec(0_usize..60, 1..6), common in proptest::collection::vec(0_usize..60, 0..6)) {
        let model = model();
        let gap = Item::Gap(Gap { op: "lstm".to_owned(), bytes: 64.0 });
        let with = |own: &[usize]| {
            let mut all = bill(&model, &[own, &common].concat());
            all.add(&gap);
            all
        };
        let (plain, extended) = (bill(&model, &a).saving(&bill(&model, &b)), with(&a).saving(&with(&b)));
        prop_assert_eq!(plain.is_sure, extended.is_sure);
        prop_assert!((plain.energy_mj - extended.energy_mj).abs() <= 1e-9 * plain.energy_mj.abs().max(1e-9));
    }

    /// Never are both of two forms cheaper than the other.
    #[test]
    fn only_one_of_two_forms_is_cheaper(a in proptest::collection::vec(0_usize..60, 1..6), b in proptest::collection::vec(0_usize..60, 1..6)) {
        let model = model();
        let (a, b) = (bill(&model, &a), bill(&model, &b));
        prop_assert!(!(a.saving(&b).is_sure && b.saving(&a).is_sure));
    }

    /// A sum is at most as uncertain as its least certain part, and the more independent parts it has the less.
    #[test]
    fn errors_of_independent_kernels_add_up_in_squares(n in 0_usize..10) {
        let model = model();
        let part = |n: usize| {
            let total = bill(&model, &[n]).total().energy_mj;
            (total.high / total.low).ln()
        };
        let parts = [5 * n, 5 * n + 1, 5 * n + 2, 5 * n + 3];
        let total = bill(&model, &parts).total().energy_mj;
        let widest = parts.iter().map(|&n| part(n)).fold(0.0, f64::max);
        prop_assert!((total.high / total.low).ln() <= widest + 1e-9);
        // The same kernel over and over is one error.
        let same = bill(&model, &[n, n, n, n]).total().energy_mj;
        prop_assert!(((same.high / same.low).ln() - part(n)).abs() < 0.02);
    }
}

#[test]
fn planted_pairs_that_differ_by_less_than_the_error_save_nothing() {
    let model = model();
    // Another operator with the same traffic, and no measurement near enough to say how the two differ.
    for (a, b) in [
        ("asin(f16[3000000])", "atan(f16[3000000])"),
        ("add(f16[3000000], f16[3000000])", "sub(f16[2900000], f16[2900000])"),
        ("matmul(f16[700, 900], f16[900, 1100])", "matmul(f16[700, 900], f16[900, 1050])"),
    ] {
        let bills = [a, b].map(|k| [item(&model, k)].iter().collect::<Bill>());
        assert!(!bills[0].saving(&bills[1]).is_sure && !bills[1].saving(&bills[0]).is_sure, "{a} {b}");
    }
}

#[test]
fn a_kernel_that_moves_clearly_less_is_cheaper() {
    let model = model();
    let of = |k: &str| [item(&model, k)].iter().collect::<Bill>();
    assert!(of("mish(f16[3000000])").saving(&of("mish(f16[1500000])")).is_sure);
}

#[test]
fn a_gap_makes_a_sum_a_lower_bound_and_forbids_savings_of_the_form_that_has_it() {
    let model = model();
    let (whole, mut gap) = (bill(&model, &[0, 1, 2]), bill(&model, &[0]));
    gap.add(&Item::Gap(Gap { op: "lstm".to_owned(), bytes: 64.0 }));
    let total = gap.total().energy_mj;
    assert!(!total.is_known() && total.low > 0.0 && total.high.is_infinite());
    assert!(!whole.saving(&gap).is_sure);
    assert_eq!(gap.gaps().collect::<Vec<_>>(), [("lstm", 1, 64.0)]);
    // It costs at least what else it holds.
    assert!(gap.and(&whole).saving(&bill(&model, &[0])).is_sure);
}

#[test]
fn no_estimate_is_less_sure_than_what_the_limits_of_the_device_tell() {
    let model = model();
    // `index_put` has few measured kernels, which disagree: it was said to take 1e-17 to 1e17 mJ.
    let widest = (2.0 * COVERAGE_SD * BOUNDS_SD).exp();
    for key in [
        "index_put(f32[4, 4], f32[2, 4], i64[2]; dims=[0])",
        "index_put(f32[100000000, 8], f32[50000000, 8], i64[50000000]; dims=[0], accumulate=true)",
        "matmul(f64[100000, 90000], f64[90000, 110000])",
        "gather(u8[3], i64[2]; dim=0)",
    ] {
        let Figure { low, high, .. } = item(&model, key).cost().energy_mj;
        assert!(low > 0.0 && high <= low * widest * 1.000_001, "{key}: {low} to {high} mJ");
    }
}

/// How many pairs of entries of the shipped profile the bill takes for a kernel and less of the same, and how many of these take more.
fn pairs_of(classes: &[KernelClass]) -> (usize, usize) {
    let model = model();
    let is_one = |kernel: &Kernel| kernel.features.as_ref().is_some_and(|f| classes.contains(&f.class));
    let measured = model.profile().entries.iter().filter(|(_, entry)| !entry.launch_bound);
    let kernels: Vec<Arc<Kernel>> = measured
        .filter_map(|(key, _)| match model.item(key, Context::Alone) {
            Item::Kernel(kernel) if is_one(&kernel) => Some(kernel),
            _ => None,
        })
        .collect();
    let pairs = kernels.iter().flat_map(|a| kernels.iter().map(move |b| (a, b)));
    let less: Vec<bool> = pairs
        .filter(|(a, b)| is_less_of_the_same(a, b))
        .map(|(a, b)| a.cost.energy_mj.value < b.cost.energy_mj.value)
        .collect();
    (less.len(), less.iter().filter(|is_less| !**is_less).count())
}

#[test]
fn less_of_the_same_takes_less_energy_in_nearly_all_pairs_of_the_profile() {
    let products = pairs_of(&[KernelClass::Product, KernelClass::Pointwise, KernelClass::Convolution]);
    let streaming = pairs_of(&[KernelClass::Streaming]);
    let pools = pairs_of(&[KernelClass::Window]);
    println!("products and convolutions {products:?}, streaming kernels {streaming:?}, pools {pools:?}");
    // One in forty, as where prices decide.
    for ((pairs, more), at_least) in [(products, 10_000), (streaming, 5_000), (pools, 300)] {
        assert!(pairs > at_least && more * 40 <= pairs, "{more} of {pairs}");
    }
    assert_eq!(pairs_of(&[KernelClass::Gather]), (0, 0));
}
