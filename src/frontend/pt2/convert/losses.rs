//! Losses, as the formulas that PyTorch computes them by.
//!
//! Only in f32 and f64: in narrower types, kernels round at other places than the single steps would.

use super::super::site::{Converted, Refusal, Scalar, Site, Values};
use super::Target;
use crate::ir::{AttrValue, DType, Ints, Value};

pub(super) fn convert(site: &mut Site, target: Target) -> Converted {
    if let ("nll_loss_nd" | "nll_loss" | "nll_loss2d" | "nll_loss_forward" | "nll_loss2d_forward", "") =
        (target.name, target.overload)
    {
        return likelihood(site);
    }
    let formula: fn(&mut Formula) -> Result<Option<Value>, Refusal> = match (target.name, target.overload) {
        ("mse_loss", "") => mean_square,
        ("l1_loss", "") => mean_distance,
        ("smooth_l1_loss", "") => smooth_distance,
        ("huber_loss", "") => huber,
        ("binary_cross_entropy", "") => binary_cross_entropy,
        ("binary_cross_entropy_with_logits", "") => binary_cross_entropy_with_logits,
        ("kl_div", "") => divergence,
        ("margin_ranking_loss", "") => margin_ranking,
        ("hinge_embedding_loss", "") => hinge_embedding,
        ("soft_margin_loss", "") => soft_margin,
        ("poisson_nll_loss", "") => poisson,
        _ => return Ok(None),
    };
    let tensors: Vec<&str> = ["self", "input", "input1", "input2", "target", "weight", "pos_weight"]
        .into_iter()
        .filter(|name| site.given(name))
        .collect();
    let Some(&first) = tensors.first() else { return Ok(None) };
    let first = site.tensor(first)?;
    let dtype = site.dtype(first);
    for name in &tensors {
        let value = site.tensor(name)?;
        if site.dtype(value) != dtype {
            return Ok(None);
        }
    }
    if !matches!(dtype, DType::F32 | DType::F64) {
        return Ok(None);
    }
    let mut formula_site = Formula { site, dtype };
    let Some(loss) = formula(&mut formula_site)? else { return Ok(None) };
    formula_site.reduced(loss)
}

/// A formula while its nodes are made.
struct Formula<'f, 's, 'a> {
    site: &'f mut Site<'s, 'a>,
    dtype: DType,
}

type Term = Result<Value, Refusal>;

impl Formula<'_, '_, '_> {
    fn tensor(&self, name: &str) -> Term {
        self.site.tensor(name)
    }

    fn number(&self, name: &str, default: f64) -> Result<f64, Refusal> {
        self.site.float_or(name, default)
    }

    fn literal(&mut self, value: f64) -> Term {
        self.site.literal("number", Scalar::Float(value), self.dtype)
    }

    fn op(&mut self, op: &str, operands: &[Value]) -> Term {
        self.site.implicit(op, op, &[], operands)
    }

    fn with(&mut self, op: &str, x: Value, number: f64) -> Term {
        let number = self.literal(number)?;
        self.op(op, &[x, number])
    }

    /// `number - x`.
    fn from(&mut self, number: f64, x: Value) -> Term {
        let number = self.literal(number)?;
        self.op("sub", &[number, x])
    }

    fn at_least(&mut self, x: Value, least: f64) -> Term {
        self.site.implicit("clamp", "clamp", &[("min", AttrValue::float(least))], &[x])
    }

    /// The mean or the sum of all elements, or these themselves.
    fn reduced(&mut self, loss: Value) -> Converted {
        let op = match self.site.int_or("reduction", 1)? {
            0 => return Ok(Some(Values::from_elem(loss, 1))),
            1 => "mean",
            2 => "sum",
            _ => return Ok(None),
        };
        let all: Ints = (0..self.site.rank(loss) as i64).collect();
        self.site.explicit(op, &[("dim", AttrValue::Ints(all))], &[loss])
    }

    fn difference(&mut self) -> Term {
        let (x, y) = (self.tensor("self")?, self.tensor("target")?);
        self.op("sub", &[x, y])
    }

    /// `loss` times the argument `weight`, if there is one.
    fn weighed(&mut self, loss: Value) -> Term {
        match self.site.maybe_tensor("weight")? {
            Some(weight) => self.op("mul", &[loss, weight]),
            None => Ok(loss),
        }
    }
}

fn mean_square(f: &mut Formula) -> Result<Option<Value>, Refusal> {
    let difference = f.difference()?;
    f.op("mul", &[difference, difference]).map(Some)
}

fn mean_distance(f: &mut Formula) -> Result<Option<Value>, Refusal> {
    let difference = f.difference()?;
    f.op("abs", &[difference]).map(Some)
}

/// `z² / 2 beta` below `beta`, `z - beta / 2` beyond.
fn smooth_distance(f: &mut Formula) -> Result<Option<Value>, Refusal> {
    let beta = f.number("beta", 1.0)?;
    let Some(distance) = mean_distance(f)? else { return Ok(None) };
    if beta == 0.0 {
        return Ok(Some(distance));
    }
    let near = f.with("lt", distance, beta)?;
    let half = f.with("mul", distance, 0.5)?;
    let square = f.op("mul", &[half, distance])?;
    let square = f.with("div", square, beta)?;
    let line = f.with("sub", distance, 0.5 * beta)?;
    f.op("where", &[near, square, line]).map(Some)
}

/// `z² / 2` below `delta`, `delta (z - delta / 2)` beyond.
fn huber(f: &mut Formula) -> Result<Option<Value>, Refusal> {
    let delta = f.number("delta", 1.0)?;
    let Some(distance) = mean_distance(f)? else { return Ok(None) };
    let near = f.with("lt", distance, delta)?;
    let half = f.with("mul", distance, 0.5)?;
    let square = f.op("mul", &[half, distance])?;
    let beyond = f.with("sub", distance, 0.5 * delta)?;
    let line = f.with("mul", beyond, delta)?;
    f.op("where", &[near, square, line]).map(Some)
}

/// `(y - 1) max(ln(1 - x), -100) - y max(ln x, -100)`.
fn binary_cross_entropy(f: &mut Formula) -> Result<Option<Value>, Refusal> {
    let (x, y) = (f.tensor("self")?, f.tensor("target")?);
    let opposite = f.op("neg", &[x])?;
    let absent = f.op("log1p", &[opposite])?;
    let absent = f.at_least(absent, -100.0)?;
    let present = f.op("log", &[x])?;
    let present = f.at_least(present, -100.0)?;
    let rest = f.with("sub", y, 1.0)?;
    let (absent, present) = (f.op("mul", &[rest, absent])?, f.op("mul", &[y, present])?);
    let loss = f.op("sub", &[absent, present])?;
    f.weighed(loss).map(Some)
}

/// `(1 - y) x - w ln sigmoid(x)` with `w = (pos_weight - 1) y + 1`.
fn binary_cross_entropy_with_logits(f: &mut Formula) -> Result<Option<Value>, Refusal> {
    let (x, y) = (f.tensor("self")?, f.tensor("target")?);
    let mut log = f.op("log_sigmoid", &[x])?;
    if let Some(positive) = f.site.maybe_tensor("pos_weight")? {
        let more = f.with("sub", positive, 1.0)?;
        let more = f.op("mul", &[more, y])?;
        let weight = f.with("add", more, 1.0)?;
        log = f.op("mul", &[log, weight])?;
    }
    let rest = f.from(1.0, y)?;
    let absent = f.op("mul", &[rest, x])?;
    let loss = f.op("sub", &[absent, log])?;
    f.weighed(loss).map(Some)
}

/// `e^y (y - x)`, or `y (ln y - x)` where 0 times a logarithm is 0.
fn divergence(f: &mut Formula) -> Result<Option<Value>, Refusal> {
    let (x, y) = (f.tensor("self")?, f.tensor("target")?);
    if f.site.bool_or("log_target", false)? {
        let (exponential, difference) = (f.op("exp", &[y])?, f.op("sub", &[y, x])?);
        return f.op("mul", &[exponential, difference]).map(Some);
    }
    let logarithm = f.op("log", &[y])?;
    let product = f.op("mul", &[y, logarithm])?;
    let (zero, undefined) = (f.with("eq", y, 0.0)?, f.op("ne", &[y, y])?);
    let (nothing, nan) = (f.literal(0.0)?, f.literal(f64::NAN)?);
    let entropy = f.op("where", &[zero, nothing, product])?;
    let entropy = f.op("where", &[undefined, nan, entropy])?;
    let cross = f.op("mul", &[y, x])?;
    f.op("sub", &[entropy, cross]).map(Some)
}

/// `max(margin - y (a - b), 0)`.
fn margin_ranking(f: &mut Formula) -> Result<Option<Value>, Refusal> {
    let (a, b, y) = (f.tensor("input1")?, f.tensor("input2")?, f.tensor("target")?);
    let margin = f.number("margin", 0.0)?;
    let (opposite, difference) = (f.op("neg", &[y])?, f.op("sub", &[a, b])?);
    let product = f.op("mul", &[opposite, difference])?;
    let above = f.with("add", product, margin)?;
    f.at_least(above, 0.0).map(Some)
}

/// `max(margin - x, 0)` where the target is not 1, plus `x` where it is not -1.
fn hinge_embedding(f: &mut Formula) -> Result<Option<Value>, Refusal> {
    let (x, y) = (f.tensor("self")?, f.tensor("target")?);
    let margin = f.number("margin", 1.0)?;
    let nothing = f.literal(0.0)?;
    let difference = f.from(margin, x)?;
    let hinge = f.at_least(difference, 0.0)?;
    let (apart, together) = (f.with("ne", y, 1.0)?, f.with("ne", y, -1.0)?);
    let apart = f.op("where", &[apart, hinge, nothing])?;
    let together = f.op("where", &[together, x, nothing])?;
    f.op("add", &[apart, together]).map(Some)
}

/// `ln(1 + e^(-y x))`.
fn soft_margin(f: &mut Formula) -> Result<Option<Value>, Refusal> {
    let (x, y) = (f.tensor("self")?, f.tensor("target")?);
    let opposite = f.op("neg", &[y])?;
    let product = f.op("mul", &[opposite, x])?;
    let exponential = f.op("exp", &[product])?;
    f.op("log1p", &[exponential]).map(Some)
}

/// `e^x - y x`, or `x - y ln(x + eps)`, without the approximation for large targets.
fn poisson(f: &mut Formula) -> Result<Option<Value>, Refusal> {
    let (x, y) = (f.tensor("input")?, f.tensor("target")?);
    if f.site.bool_or("full", false)? {
        return Ok(None);
    }
    if f.site.bool_or("log_input", true)? {
        let (exponential, product) = (f.op("exp", &[x])?, f.op("mul", &[y, x])?);
        return f.op("sub", &[exponential, product]).map(Some);
    }
    let eps = f.number("eps", 1e-8)?;
    let shifted = f.with("add", x, eps)?;
    let logarithm = f.op("log", &[shifted])?;
    let product = f.op("mul", &[y, logarithm])?;
    f.op("sub", &[x, product]).map(Some)
}

/// The negated element of the target's class (dimension 1, or 0 of a vector), without the targets that are to be ignored.
fn likelihood(site: &mut Site) -> Converted {
    let (x, target) = (site.tensor("self")?, site.tensor("target")?);
    let (dtype, rank) = (site.dtype(x), site.rank(x));
    let unknown = site.given("weight") || site.is_used(1) || rank == 0 || site.rank(target) + 1 != rank;
    if unknown || !matches!(dtype, DType::F32 | DType::F64) || site.dtype(target) != DType::I64 {
        return Ok(None);
    }
    let reduction = site.int_or("reduction", 1)?;
    if !(0..=2).contains(&reduction) {
        return Ok(None);
    }
    let class = [("dim", AttrValue::Int(i64::from(rank > 1)))];
    let ignored = site.literal("ignored", Scalar::Int(site.int_or("ignore_index", -100)?), DType::I64)?;
    let nothing = site.literal("nothing", Scalar::Int(0), DType::I64)?;
    let counts = site.implicit("counts", "ne", &[], &[target, ignored])?;
    let target = site.implicit("safe", "where", &[], &[counts, target, nothing])?;
    let target = site.implicit("places", "unsqueeze", &class, &[target])?;
    let chosen = site.implicit("chosen", "gather", &class, &[x, target])?;
    let chosen = site.implicit("each", "squeeze", &class, &[chosen])?;
    let opposite = site.implicit("opposite", "neg", &[], &[chosen])?;
    let zero = site.literal("zero", Scalar::Float(0.0), dtype)?;
    let losses = [counts, opposite, zero];
    if reduction == 0 {
        return site.explicit("where", &[], &losses);
    }
    let losses = site.implicit("losses", "where", &[], &losses)?;
    let all = [("dim", AttrValue::Ints((0..rank as i64 - 1).collect()))];
    if reduction == 2 {
        return site.explicit("sum", &all, &[losses]);
    }
    let sum = site.implicit("sum", "sum", &all, &[losses])?;
    let counted = site.cast("counted", counts, dtype)?;
    let count = site.implicit("count", "sum", &all, &[counted])?;
    site.explicit("div", &[], &[sum, count])
}
