//! Which elements operands have.

use super::limits;
use super::named::Named;
use super::random::Random;
use crate::eval::{Constant, random};
use crate::ir::{DType, Number, TensorType};
use crate::rules::Tier;

/// How large the elements of float operands are. What a rule gets wrong may show only where an operand is about as small
/// as an `eps` that stands beside it, or as large as a number that stands for infinity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scale {
    /// Around 1.
    Unit,
    /// All operands are small, each in its own way.
    Small,
    /// All operands are large, but not so large that an exponential of them leaves the range of doubles.
    Large,
    /// One operand is of this size, the others are around 1.
    One(f64),
    /// Many elements are this number or lie beside it.
    Around(f64),
    /// Integers, and floats where every bit counts, lie at the limits of types.
    Limits,
    /// Many elements are equal, zeros of both signs among them.
    Ties,
}

/// What the numbers of a rule may be in absolute value for operands to be as large. Beyond, they stand for infinity: `f32` ends
/// at 3.4e38.
const LARGEST: f64 = 1e36;
/// Where bits do not count, numbers as large are not mixed with others: what is small would be lost in a sum.
const MIXED: f64 = 1e6;

/// Elements of which several are drawn.
const EQUAL: [f64; 4] = [0.0, -0.0, 1.0, -1.0];

impl Scale {
    /// The scales at which every instance of a rule is tried besides [`Scale::Unit`]: the numbers that it names are among
    /// them.
    pub(super) fn others(named: &Named) -> Vec<Scale> {
        let mut scales = vec![Scale::Small, Scale::Large];
        for number in &named.floats {
            let size = number.abs();
            let told_apart = (1e-100..=1e-2).contains(&size) || (8.0..=LARGEST).contains(&size);
            if told_apart && !scales.contains(&Scale::One(size)) {
                scales.push(Scale::One(size));
            }
        }
        scales
    }

    /// The scales of which one is tried with every instance, in turn.
    pub(super) fn in_turn(named: &Named, tier: Tier) -> Vec<Scale> {
        let mut scales = vec![Scale::Limits, Scale::Ties];
        for number in named.all().into_iter().chain(ends(named)) {
            if number != 0.0 && (tier == Tier::Exact || number.abs() <= MIXED) {
                scales.push(Scale::Around(number));
            }
        }
        scales
    }

    /// The factor for operand number `n` of `count`.
    fn factor(self, n: usize, count: usize, random: &mut Random) -> f64 {
        // Powers of two keep the digits of narrow types.
        let pick = |factors: &[f64], random: &mut Random| random.pick(factors).unwrap_or(1.0);
        match self {
            Scale::Unit | Scale::Around(_) | Scale::Limits | Scale::Ties => 1.0,
            Scale::Small => pick(&[1.0 / 128.0, 1.0 / 8192.0, 1.0 / 1_048_576.0], random),
            Scale::Large => pick(&[8.0, 32.0], random),
            Scale::One(size) => {
                // Drawn once, with the first operand: which one it is.
                if n == random.clone().below(count) { size } else { 1.0 }
            }
        }
    }

    /// Factor and offset for integers, which are 0 to 3 so that they can be places in a tensor. Elsewhere they are negative
    /// too, or so large that a narrow float type lacks them.
    fn integers(self, dtype: DType, random: &mut Random) -> (f64, f64) {
        let signed = dtype.is_int() && !dtype.is_unsigned();
        match self {
            Scale::Small if signed => (1.0, -2.0),
            Scale::Large if matches!(dtype, DType::I64 | DType::I32) => {
                random.pick(&[(37.0, -40.0), (16_777_217.0, -20_000_000.0)]).unwrap_or((1.0, 0.0))
            }
            Scale::Large if signed => (37.0, -40.0),
            _ => (1.0, 0.0),
        }
    }

    /// Below which size elements count as absolute when they are compared.
    pub(super) fn floor(self) -> f64 {
        match self {
            Scale::Small => 1e-9,
            Scale::One(size) if size < 1.0 => 1e-9 * size,
            _ => 1e-3,
        }
    }
}

/// Which elements operands have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Data {
    seed: u64,
    /// Small integers, which a reader can calculate with.
    pub plain: bool,
    pub scale: Scale,
    /// Attributes or types are far from usual ones: what rounding does to the results says nothing of real numbers.
    pub far: bool,
}

impl Data {
    pub(super) fn seeded(seed: u64) -> Data {
        Data { seed, plain: false, scale: Scale::Unit, far: false }
    }

    pub(super) fn plain(seed: u64) -> Data {
        Data { seed, plain: true, scale: Scale::Unit, far: false }
    }

    /// Others of the same kind.
    pub(super) fn next(self, n: u64) -> Data {
        Data { seed: self.seed.wrapping_add(n), ..self }
    }

    /// The same beside attributes or types that are far from usual ones.
    pub(super) fn far(self, far: bool) -> Data {
        Data { far, ..self }
    }

    /// Whether rounding and leaving the range of a type say nothing of real numbers.
    pub(super) fn is_far(self) -> bool {
        self.far || self.scale != Scale::Unit
    }

    /// The same at another scale.
    pub(super) fn at(self, scale: Scale) -> Data {
        Data { scale, ..self }
    }

    /// Makes the elements of `count` operands, one after the other.
    pub(super) fn operands(self, count: usize) -> Elements {
        let mut random = Random::new(self.seed);
        let mut scales = Random::new(random.next());
        let whole = limits::whole(&mut scales);
        Elements { data: self, random: Random::new(self.seed), scales, made: 0, count, whole }
    }
}

/// Where float types that the rule names stop to tell whole numbers apart, and in the middle of two neighbours there of a narrower one.
fn ends(named: &Named) -> Vec<f64> {
    let epsilons: Vec<f64> = named.dtypes.iter().filter_map(|dtype| dtype.epsilon()).collect();
    let middles = |end: f64| epsilons.iter().map(move |epsilon| end + end * epsilon / 2.0).filter(move |&n| n != end);
    epsilons.iter().map(|epsilon| 2.0 / epsilon).flat_map(|end| std::iter::once(end).chain(middles(end))).collect()
}

/// See [`Data::operands`].
pub(super) struct Elements {
    data: Data,
    random: Random,
    scales: Random,
    made: usize,
    count: usize,
    /// The number around which integers lie where they are not at the ends of their type.
    whole: i64,
}

impl Elements {
    /// The elements of the next operand; `every_bit` adds values of which only bits tell that they differ.
    pub(super) fn next(&mut self, ty: &TensorType, every_bit: bool) -> Vec<Number> {
        let seed = self.random.next();
        let factor = self.data.scale.factor(self.made, self.count, &mut self.scales);
        self.made += 1;
        if let Some(values) = self.chosen(ty, seed, every_bit) {
            return values;
        }
        let usual = self.usual(ty, seed, every_bit, factor);
        usual.into_iter().map(|v| ty.dtype.element(v)).collect()
    }

    /// Elements that are all of one size.
    fn usual(&mut self, ty: &TensorType, seed: u64, every_bit: bool, factor: f64) -> Vec<f64> {
        if !ty.dtype.is_float() {
            let mut values = elements(ty, seed, every_bit);
            let offset = self.data.scale.integers(ty.dtype, &mut self.scales);
            values.iter_mut().for_each(|v| *v = *v * offset.0 + offset.1);
            return values;
        }
        if self.data.plain {
            let mut random = Random::new(seed);
            return (0..ty.numel()).map(|_| [1.0, 2.0, 3.0, -1.0, -2.0, 0.0][random.below(6)]).collect();
        }
        let mut values = elements(ty, seed, every_bit);
        if factor != 1.0 {
            let largest = ty.dtype.max_finite().unwrap_or(f64::MAX);
            values
                .iter_mut()
                .filter(|v| v.is_finite())
                .for_each(|v| *v = ty.dtype.round((*v * factor).clamp(-largest, largest)));
        }
        values
    }

    /// Elements that are chosen one by one. Some are usual ones, so that what is chosen meets those too.
    fn chosen(&self, ty: &TensorType, seed: u64, every_bit: bool) -> Option<Vec<Number>> {
        if ty.dtype.is_float() && self.data.scale == Scale::Limits && !every_bit {
            return None;
        }
        let mut random = Random::new(seed);
        let mut values: Vec<Number> = elements(ty, seed, every_bit).into_iter().map(|v| ty.dtype.element(v)).collect();
        for value in &mut values {
            let chosen = match self.data.scale {
                Scale::Around(number) if random.chance(60) => limits::around(ty.dtype, number, &mut random),
                Scale::Limits if random.chance(80) => {
                    let whole = if random.chance(30) { limits::whole(&mut random) } else { self.whole };
                    limits::at_limits(ty.dtype, whole, &mut random)
                }
                Scale::Ties if ty.dtype.is_float() && random.chance(80) => random.pick(&EQUAL).unwrap_or(0.0).into(),
                Scale::Around(_) | Scale::Limits | Scale::Ties => continue,
                _ => return None,
            };
            // A number beyond the range of a narrow type is none.
            if every_bit || chosen.is_finite() {
                *value = chosen;
            }
        }
        Some(values)
    }

    /// The next operand as a constant: uniform, causal, counted, an additive mask, or anything.
    pub(super) fn next_constant(&mut self, ty: &TensorType) -> Constant {
        self.made += 1;
        known_value(ty, self.random.next())
    }
}

/// Random elements with some that tend to be special; signed zeros, infinities and NaN only where every bit
/// counts.
fn elements(ty: &TensorType, seed: u64, every_bit: bool) -> Vec<f64> {
    let mut random = Random::new(seed);
    let special: &[f64] =
        if every_bit { &[0.0, -0.0, 1.0, -1.0, f64::INFINITY, f64::NAN, 1e-30] } else { &[1.0, -1.0, 0.5, 2.0, 0.0] };
    (0..ty.numel())
        .map(|i| match ty.dtype {
            d if d.is_float() && random.chance(10) => d.round(random.pick(special).unwrap_or(0.0)),
            _ => random::element(seed, ty, i),
        })
        .collect()
}

fn known_value(ty: &TensorType, seed: u64) -> Constant {
    let mut random = Random::new(seed);
    let kind = random.below(5);
    if kind == 0 {
        let values = [1.0, 0.0, 1.0, 2.0];
        return Constant::Uniform(ty.dtype.element(values[random.below(4)]));
    }
    let columns = ty.shape.last().copied().unwrap_or(1).max(1);
    let rows = ty.rank().checked_sub(2).map_or(1, |d| ty.shape[d]).max(1);
    let inner = ty.shape.iter().skip(1).product::<usize>().max(1);
    let element = |i: usize| match (kind, ty.dtype) {
        (1, _) => f64::from(u8::from(i % columns <= (i / columns) % rows)),
        (3, d) if d.is_int() => (i % columns) as f64,
        (4, DType::Bool) if ty.rank() > 2 => f64::from(u8::from(i % columns == i / inner)),
        // Mostly true, so that rows keep a key.
        (_, DType::Bool) => f64::from(u8::from(random.chance(70))),
        // A type without infinities has no such mask.
        (2, d) if d.is_float() && d != DType::F8E4M3 => random.pick(&[0.0, 0.0, 0.0, f64::NEG_INFINITY]).unwrap_or(0.0),
        _ => random::element(seed, ty, i),
    };
    Constant::Dense((0..ty.numel()).map(element).map(|v| ty.dtype.element(v)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::rule::Rule;
    use crate::rules::{RuleFile, RuleSet};

    fn rule(text: &str) -> std::sync::Arc<Rule> {
        let text = format!("/// Doc.\nrule r [real]: {text}");
        RuleSet::default().with_sources(&[RuleFile::new("r.rules", &text)]).unwrap().rules()[0].clone()
    }

    #[test]
    fn numbers_in_a_rule_become_sizes_of_operands() {
        let rule = rule("clamp(add(x, 1e-12); min=-1e6, max=1.5) => x where rank(x) < 3");
        let scales = Scale::others(&Named::of(&rule));
        assert!(scales.contains(&Scale::One(1e-12)) && scales.contains(&Scale::One(1e6)), "{scales:?}");
        assert!(!scales.contains(&Scale::One(1.5)));
    }

    #[test]
    fn one_operand_is_scaled_and_the_others_are_not() {
        let ty = TensorType::new(DType::F64, crate::ir::Shape::from_slice(&[50])).unwrap();
        for seed in 0..10 {
            let mut elements = Data::seeded(seed).at(Scale::One(1e6)).operands(3);
            let largest = |v: Vec<Number>| v.into_iter().fold(0.0_f64, |m, v| m.max(v.to_f64().abs()));
            let sizes: Vec<f64> = (0..3).map(|_| largest(elements.next(&ty, false))).collect();
            assert_eq!(sizes.iter().filter(|&&s| s > 1e5).count(), 1, "{sizes:?}");
        }
    }
}
