use super::*;
use crate::energy::Profile;
use crate::energy::estimate::Estimator;

fn breakdown(keys: &[(&str, usize)], model: &CostModel) -> (f64, Breakdown) {
    let mut bill = Bill::default();
    for (key, count) in keys {
        let item = model.item(&key.parse().unwrap(), crate::energy::context::Context::Alone);
        (0..*count).for_each(|_| bill.add(&item));
    }
    (bill.total().energy_mj.value, Breakdown::of(&bill, model).unwrap())
}

fn sums(contrasts: &[Contrast]) -> [f64; 2] {
    contrasts.iter().fold([0.0; 2], |[a, b], c| [a + c.a.mj, b + c.b.mj])
}

const SOFTMAX: &str = "softmax(f32[12, 1024, 1024]; dim=2)";
const PRODUCT: &str = "matmul(f32[4096, 4096], f32[4096, 4096]) math=ieee";

#[test]
fn the_parts_add_up_to_both_prices() {
    let model = CostModel::shipped().unwrap();
    let (mj_a, a) = breakdown(&[(SOFTMAX, 3), (PRODUCT, 2), ("add(bf16[4096, 4096], bf16[4096, 4096])", 1)], &model);
    let (mj_b, b) = breakdown(&[(PRODUCT, 2)], &model);
    let [sum_a, sum_b] = sums(&a.against(&b));
    assert!((sum_a / mj_a - 1.0).abs() < 1e-9 && (sum_b / mj_b - 1.0).abs() < 1e-9, "{sum_a} {mj_a} {sum_b} {mj_b}");
}

#[test]
fn a_math_mode_is_told_from_less_arithmetic() {
    let model = CostModel::shipped().unwrap();
    let tf32 = PRODUCT.replace("ieee", "tf32");
    let of = |a: &[(&str, usize)], b: &[(&str, usize)]| breakdown(a, &model).1.against(&breakdown(b, &model).1);
    let arithmetic = |contrasts: &[Contrast]| {
        let found = contrasts.iter().find(|c| matches!(c.purpose, Purpose::Arithmetic(_))).unwrap();
        found.a.amount - found.b.amount
    };
    let is_mode = |c: &Contrast| matches!(c.purpose, Purpose::MathMode(..));
    let mode = of(&[(PRODUCT, 1)], &[(&tf32, 1)]);
    assert!(mode.iter().any(|c| is_mode(c) && c.a.mj > 2.0 * c.b.mj), "{mode:?}");
    assert_eq!(arithmetic(&mode), 0.0, "no less arithmetic");
    let work = of(&[(PRODUCT, 2)], &[(PRODUCT, 1)]);
    assert!(!work.iter().any(is_mode) && arithmetic(&work) > 0.0, "{work:?}");
    let both = of(&[(PRODUCT, 2)], &[(&tf32, 1)]);
    assert!(both.iter().any(is_mode) && arithmetic(&both) > 0.0, "{both:?}");
}

#[test]
fn what_no_model_covers_is_not_explained() {
    let shipped = CostModel::shipped().unwrap();
    let mut bill = Bill::default();
    bill.add(&shipped.item(&SOFTMAX.parse().unwrap(), crate::energy::context::Context::Alone));
    let estimator = Estimator { classes: BTreeMap::new(), ..shipped.estimator().clone() };
    let without = CostModel::new(Profile { estimator: Some(estimator.clone()), ..shipped.profile().clone() });
    let found = Breakdown::of(&bill, &without).unwrap();
    let cost = bill.total();
    let at_rest = estimator.device.rest_w * cost.time_us.value * 1e-3;
    assert!((found.over_time.mj / at_rest - 1.0).abs() < 1e-9, "the device draws at least what it draws at rest");
    assert!((found.not_explained_mj / (cost.energy_mj.value - at_rest) - 1.0).abs() < 1e-9);
    assert_eq!(found.memory.mj + found.launches.mj, 0.0);
}
