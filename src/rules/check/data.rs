//! Which elements operands have.

use super::random::Random;
use crate::eval::{Constant, random};
use crate::ir::{AttrValue, DType, TensorType};
use crate::rules::expr::Expr;
use crate::rules::rule::{AttrPattern, Operand, Pattern, Rule};

/// How large the elements of float operands are. What a rule gets wrong may show only where an operand is about as small
/// as an `eps` that stands beside it, or as large as a number that stands for infinity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    /// Around 1.
    Unit,
    /// All operands are small, each in its own way.
    Small,
    /// All operands are large, but not so large that an exponential of them leaves the range of doubles.
    Large,
    /// One operand is of this size, the others are around 1.
    One(f64),
}

impl Scale {
    /// The scales at which `rule` is tried besides [`Scale::Unit`]: the numbers that it names are among them.
    pub fn others(rule: &Rule) -> Vec<Scale> {
        let mut scales = vec![Scale::Small, Scale::Large];
        for number in numbers(rule) {
            let size = number.abs();
            let told_apart = (1e-30..=1e-2).contains(&size) || (8.0..=1e10).contains(&size);
            if told_apart && !scales.contains(&Scale::One(size)) {
                scales.push(Scale::One(size));
            }
        }
        scales
    }

    /// The factor for operand number `n` of `count`.
    fn factor(self, n: usize, count: usize, random: &mut Random) -> f64 {
        // Powers of two keep the digits of narrow types.
        let pick = |factors: &[f64], random: &mut Random| random.pick(factors).unwrap_or(1.0);
        match self {
            Scale::Unit => 1.0,
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
        let signed = dtype.is_int() && dtype != DType::U8;
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
    pub fn floor(self) -> f64 {
        match self {
            Scale::Small => 1e-9,
            Scale::One(size) if size < 1.0 => 1e-9 * size,
            _ => 1e-3,
        }
    }
}

/// Which elements operands have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Data {
    seed: u64,
    /// Small integers, which a reader can calculate with.
    pub plain: bool,
    pub scale: Scale,
}

impl Data {
    pub fn seeded(seed: u64) -> Data {
        Data { seed, plain: false, scale: Scale::Unit }
    }

    pub fn plain(seed: u64) -> Data {
        Data { seed, plain: true, scale: Scale::Unit }
    }

    /// Others of the same kind.
    pub fn next(self, n: u64) -> Data {
        Data { seed: self.seed.wrapping_add(n), ..self }
    }

    /// The same at another scale.
    pub fn at(self, scale: Scale) -> Data {
        Data { scale, ..self }
    }

    /// Makes the elements of `count` operands, one after the other.
    pub fn operands(self, count: usize) -> Elements {
        let mut random = Random::new(self.seed);
        let scales = Random::new(random.next());
        Elements { data: self, random: Random::new(self.seed), scales, made: 0, count }
    }
}

/// See [`Data::operands`].
pub struct Elements {
    data: Data,
    random: Random,
    scales: Random,
    made: usize,
    count: usize,
}

impl Elements {
    /// The elements of the next operand; `every_bit` adds values of which only bits tell that they differ.
    pub fn next(&mut self, ty: &TensorType, every_bit: bool) -> Vec<f64> {
        let seed = self.random.next();
        let factor = self.data.scale.factor(self.made, self.count, &mut self.scales);
        self.made += 1;
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

    /// The next operand as a constant: uniform, causal, an additive mask, or anything.
    pub fn next_constant(&mut self, ty: &TensorType) -> Constant {
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
        (4, DType::Bool) if ty.rank() > 2 => f64::from(u8::from(i % columns == i / inner)),
        // Mostly true, so that rows keep a key.
        (_, DType::Bool) => f64::from(u8::from(random.chance(70))),
        (2, d) if d.is_float() => random.pick(&[0.0, 0.0, 0.0, f64::NEG_INFINITY]).unwrap_or(0.0),
        _ => random::element(seed, ty, i),
    };
    Constant::Dense((0..ty.numel()).map(element).map(|v| ty.dtype.element(v)).collect())
}

/// The numbers that stand in the patterns and conditions of a rule.
fn numbers(rule: &Rule) -> Vec<f64> {
    let mut found = Vec::new();
    for pattern in [&rule.lhs, &rule.rhs].into_iter().chain(&rule.context) {
        in_pattern(pattern, &mut found);
    }
    let conditions = rule.conditions.iter().map(|c| &c.expr);
    conditions.chain(rule.lets.iter().map(|(_, e)| e)).for_each(|e| in_expr(e, &mut found));
    found
}

fn in_pattern(pattern: &Pattern, found: &mut Vec<f64>) {
    match pattern {
        Pattern::Scalar(value) => in_attr(value, found),
        Pattern::Apply { attrs, operands, .. } => {
            attrs.iter().for_each(|a| in_attr(a, found));
            for operand in operands {
                let (Operand::One(p) | Operand::Each(p)) = operand;
                in_pattern(p, found);
            }
        }
        Pattern::Tensor(_) | Pattern::Element(_) => {}
    }
}

fn in_attr(attr: &AttrPattern, found: &mut Vec<f64>) {
    match attr {
        AttrPattern::Value(AttrValue::Float(v)) => found.push(v.0),
        AttrPattern::Expr(e) => in_expr(e, found),
        _ => {}
    }
}

fn in_expr(expr: &Expr, found: &mut Vec<f64>) {
    expr.walk(&mut |e| {
        if let Expr::Value(AttrValue::Float(v)) = e {
            found.push(v.0);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{RuleFile, RuleSet};

    fn rule(text: &str) -> std::sync::Arc<Rule> {
        let text = format!("/// Doc.\nrule r [real]: {text}");
        RuleSet::default().with_sources(&[RuleFile::new("r.rules", &text)]).unwrap().rules()[0].clone()
    }

    #[test]
    fn numbers_in_a_rule_become_sizes_of_operands() {
        let rule = rule("clamp(add(x, 1e-12); min=-1e6, max=1.5) => x where rank(x) < 3");
        let scales = Scale::others(&rule);
        assert!(scales.contains(&Scale::One(1e-12)) && scales.contains(&Scale::One(1e6)), "{scales:?}");
        assert!(!scales.contains(&Scale::One(1.5)));
    }

    #[test]
    fn one_operand_is_scaled_and_the_others_are_not() {
        let ty = TensorType::new(DType::F64, crate::ir::Shape::from_slice(&[50])).unwrap();
        for seed in 0..10 {
            let mut elements = Data::seeded(seed).at(Scale::One(1e6)).operands(3);
            let largest = |v: Vec<f64>| v.into_iter().fold(0.0_f64, |m, v| m.max(v.abs()));
            let sizes: Vec<f64> = (0..3).map(|_| largest(elements.next(&ty, false))).collect();
            assert_eq!(sizes.iter().filter(|&&s| s > 1e5).count(), 1, "{sizes:?}");
        }
    }
}
