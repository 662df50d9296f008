//! Losses, as the formulas that PyTorch computes them by.
//!
//! Only in f32 and f64: in narrower types, kernels round at other places than the single steps would.

use super::super::lowering::{Converted, NodeLowering, Refusal, Scalar, ints};
use super::super::target::Target;
use super::formula::Formula;
use crate::ir::{AttrValue, DType, Value};

/// Makes the nodes of a loss before it is reduced.
type LossFormula = fn(&mut Formula) -> Result<Option<Value>, Refusal>;

pub(super) fn convert(site: &mut NodeLowering, target: Target) -> Converted {
    if let ("nll_loss_nd" | "nll_loss" | "nll_loss2d" | "nll_loss_forward" | "nll_loss2d_forward", "") =
        (target.name, target.overload)
    {
        return likelihood(site);
    }
    if target.name == "cross_entropy_loss" {
        return cross_entropy(site);
    }
    // PyTorch runs one kernel for all operators of a loss, or one for each of them (`steps`).
    let (formula, steps): (LossFormula, bool) = match (target.name, target.overload) {
        ("mse_loss", "") => (mean_square, false),
        ("l1_loss", "") => (mean_distance, true),
        ("smooth_l1_loss", "") => (smooth_distance, false),
        ("huber_loss", "") => (huber, false),
        ("binary_cross_entropy", "") => (binary_cross_entropy, false),
        ("binary_cross_entropy_with_logits", "") => (binary_cross_entropy_with_logits, true),
        ("kl_div", "") => (divergence, true),
        ("margin_ranking_loss", "") => (margin_ranking, true),
        ("hinge_embedding_loss", "") => (hinge_embedding, false),
        ("soft_margin_loss", "") => (soft_margin, true),
        ("poisson_nll_loss", "") => (poisson, true),
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
    let mut f = if steps { Formula::in_steps(site, dtype) } else { Formula::new(site, dtype) };
    let Some(loss) = formula(&mut f)? else { return Ok(None) };
    f.kernel(loss);
    f.reduced(loss)
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
    // One kernel.
    f.in_steps = false;
    let logarithm = f.op("log", &[y])?;
    let product = f.op("mul", &[y, logarithm])?;
    let (zero, undefined) = (f.with("eq", y, 0.0)?, f.op("ne", &[y, y])?);
    let (nothing, nan) = (f.literal(0.0)?, f.literal(f64::NAN)?);
    let entropy = f.op("where", &[zero, nothing, product])?;
    let entropy = f.op("where", &[undefined, nan, entropy])?;
    f.kernel(entropy);
    f.in_steps = true;
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

/// `e^x - y x`, or `x - y ln(x + eps)`; with `full`, plus an approximation for large targets.
fn poisson(f: &mut Formula) -> Result<Option<Value>, Refusal> {
    let (x, y) = (f.tensor("input")?, f.tensor("target")?);
    let loss = if f.site.bool_or("log_input", true)? {
        let (exponential, product) = (f.op("exp", &[x])?, f.op("mul", &[y, x])?);
        f.op("sub", &[exponential, product])?
    } else {
        let eps = f.number("eps", 1e-8)?;
        let shifted = f.with("add", x, eps)?;
        let logarithm = f.op("log", &[shifted])?;
        let product = f.op("mul", &[y, logarithm])?;
        f.op("sub", &[x, product])?
    };
    if !f.site.bool_or("full", false)? {
        return Ok(Some(loss));
    }
    // Stirling's approximation of the logarithm of the target's factorial, for targets above 1.
    let circle = f.with("mul", y, std::f64::consts::TAU)?;
    let circle = f.op("log", &[circle])?;
    let half = f.with("mul", circle, 0.5)?;
    let logarithm = f.op("log", &[y])?;
    let product = f.op("mul", &[y, logarithm])?;
    let difference = f.op("sub", &[product, y])?;
    let factorial = f.op("add", &[difference, half])?;
    let (small, zero) = (f.with("le", y, 1.0)?, f.literal(0.0)?);
    let factorial = f.op("where", &[small, zero, factorial])?;
    f.op("add", &[loss, factorial]).map(Some)
}

/// The negated element of the target's class (dimension 1, or 0 of a vector), without the targets that are to be ignored.
fn likelihood(site: &mut NodeLowering) -> Converted {
    let needs_total = site.is_used(1);
    if needs_total && site.int_or("reduction", 1)? == 0 {
        return Ok(None);
    }
    let (scores, target) = (site.tensor("self")?, site.tensor("target")?);
    let Some(loss) = of_classes(site, scores, target)? else { return Ok(None) };
    let Some(call) = loss.reduced(site)? else { return Ok(None) };
    let Some(mut values) = kernel(site, call)? else { return Ok(None) };
    if needs_total {
        values.push(loss.total(site)?);
    }
    Ok(Some(values))
}

/// Losses of single targets, 0 where one is ignored, and what they count in a mean.
struct OfClasses {
    /// Whether a target counts, its loss, and 0.
    losses: [Value; 3],
    /// Whether a target counts, its weight, and 0; without weights, only the first.
    counts: Vec<Value>,
    dtype: DType,
    rank: usize,
}

/// An operator with its attributes and operands.
type Call = (&'static str, Vec<(&'static str, AttrValue)>, Vec<Value>);

/// The last operator of a loss. Where nothing is added up, every element is one of the scores, so that no bits differ.
fn kernel(site: &mut NodeLowering, (op, attrs, operands): Call) -> Converted {
    match op {
        "where" => site.emit(op, &attrs, &operands),
        _ => site.emit_fused(op, &attrs, &operands),
    }
}

fn of_classes(site: &mut NodeLowering, scores: Value, target: Value) -> Result<Option<OfClasses>, Refusal> {
    let (dtype, rank) = (site.dtype(scores), site.rank(scores));
    let unknown = rank == 0 || site.rank(target) + 1 != rank;
    if unknown || !matches!(dtype, DType::F32 | DType::F64) || site.dtype(target) != DType::I64 {
        return Ok(None);
    }
    let class = [("dim", AttrValue::Int(i64::from(rank > 1)))];
    let ignored = site.literal("ignored", Scalar::Int(site.int_or("ignore_index", -100)?), DType::I64)?;
    let nothing = site.literal("nothing", Scalar::Int(0), DType::I64)?;
    let counts = site.implicit("counts", "ne", &[], &[target, ignored])?;
    let safe = site.implicit("safe", "where", &[], &[counts, target, nothing])?;
    let target = site.implicit("places", "unsqueeze", &class, &[safe])?;
    let zero = site.literal("zero", Scalar::Float(0.0), dtype)?;
    let mut weighed = vec![counts];
    let mut scores = scores;
    if let Some(weight) = site.maybe_tensor("weight")? {
        if site.dtype(weight) != dtype {
            return Ok(None);
        }
        let shape: Vec<i64> = (0..rank as i64).map(|d| if d == i64::from(rank > 1) { -1 } else { 1 }).collect();
        let classes = site.ty(weight).numel() as i64;
        let shape: Vec<i64> = shape.into_iter().map(|n| if n == -1 { classes } else { n }).collect();
        let along = site.implicit("weight", "reshape", &[("shape", ints(&shape))], &[weight])?;
        let sizes = AttrValue::shape(&site.ty(scores).shape);
        let each = site.implicit("weights", "expand", &[("shape", sizes)], &[along])?;
        scores = site.implicit("weighed", "mul", &[], &[scores, along])?;
        let chosen = site.implicit("weight", "gather", &class, &[each, target])?;
        let chosen = site.implicit("weight", "squeeze", &class, &[chosen])?;
        weighed.extend([chosen, zero]);
    }
    let chosen = site.implicit("chosen", "gather", &class, &[scores, target])?;
    let chosen = site.implicit("each", "squeeze", &class, &[chosen])?;
    let opposite = site.implicit("opposite", "neg", &[], &[chosen])?;
    Ok(Some(OfClasses { losses: [counts, opposite, zero], counts: weighed, dtype, rank }))
}

impl OfClasses {
    /// The last operator of the loss.
    fn reduced(&self, site: &mut NodeLowering) -> Result<Option<Call>, Refusal> {
        let all = || self.all_targets();
        Ok(Some(match site.int_or("reduction", 1)? {
            0 => ("where", Vec::new(), self.losses.to_vec()),
            2 => ("sum", all(), vec![site.implicit("losses", "where", &[], &self.losses)?]),
            1 => {
                let losses = site.implicit("losses", "where", &[], &self.losses)?;
                let sum = site.implicit("sum", "sum", &all(), &[losses])?;
                ("div", Vec::new(), vec![sum, self.total(site)?])
            }
            _ => return Ok(None),
        }))
    }

    /// What all targets count together.
    fn total(&self, site: &mut NodeLowering) -> Result<Value, Refusal> {
        let counted = match self.counts[..] {
            [counts] => site.cast("counted", counts, self.dtype)?,
            _ => site.implicit("counted", "where", &[], &self.counts)?,
        };
        site.implicit("count", "sum", &self.all_targets(), &[counted])
    }

    fn all_targets(&self) -> Vec<(&'static str, AttrValue)> {
        vec![("dim", AttrValue::Ints((0..self.rank as i64 - 1).collect()))]
    }
}

/// The negated logarithm of the softmax: at the target's class, with some of the other classes, or weighed by the target's
/// probabilities.
fn cross_entropy(site: &mut NodeLowering) -> Converted {
    let (x, target) = (site.tensor("self")?, site.tensor("target")?);
    let (dtype, rank) = (site.dtype(x), site.rank(x));
    let smoothing = site.float_or("label_smoothing", 0.0)?;
    if !matches!(dtype, DType::F32 | DType::F64) || rank == 0 || (smoothing != 0.0 && site.given("weight")) {
        return Ok(None);
    }
    let class = i64::from(rank > 1);
    let Some(&classes) = site.ty(x).shape.get(class as usize) else { return Ok(None) };
    // PyTorch runs it as a kernel of its own.
    let logarithms = site.step("log_softmax", &[("dim", AttrValue::Int(class))], &[x])?;
    if site.ty(target) == site.ty(x) {
        let plain = !site.given("weight") && smoothing == 0.0 && site.int_or("reduction", 1)? == 1;
        let vectors = site.ty(x).numel() / classes.max(1);
        if !plain || vectors == 0 {
            return Ok(None);
        }
        let all = [("dim", AttrValue::Ints((0..rank as i64).collect()))];
        let product = site.implicit("product", "mul", &[], &[logarithms, target])?;
        let sum = site.implicit("sum", "sum", &all, &[product])?;
        let opposite = site.implicit("opposite", "neg", &[], &[sum])?;
        let count = site.literal("count", Scalar::Float(vectors as f64), dtype)?;
        return site.emit("div", &[], &[opposite, count]);
    }
    let Some(loss) = of_classes(site, logarithms, target)? else { return Ok(None) };
    let Some((op, attrs, operands)) = loss.reduced(site)? else { return Ok(None) };
    if smoothing == 0.0 {
        return kernel(site, (op, attrs, operands));
    }
    let at_target = site.implicit("at_target", op, &attrs, &operands)?;
    let sum = site.implicit("sum", "sum", &[("dim", ints(&[class]))], &[logarithms])?;
    let opposite = site.implicit("opposite", "neg", &[], &[sum])?;
    let smooth = OfClasses { losses: [loss.losses[0], opposite, loss.losses[2]], ..loss };
    let Some((op, attrs, operands)) = smooth.reduced(site)? else { return Ok(None) };
    let everywhere = site.implicit("everywhere", op, &attrs, &operands)?;
    let mut scaled = |value: Value, factor: f64| {
        let factor = site.literal("factor", Scalar::Float(factor), dtype)?;
        site.implicit("scaled", "mul", &[], &[value, factor])
    };
    let (at_target, everywhere) =
        (scaled(at_target, 1.0 - smoothing)?, scaled(everywhere, smoothing / classes as f64)?);
    site.emit_fused("add", &[], &[at_target, everywhere])
}
