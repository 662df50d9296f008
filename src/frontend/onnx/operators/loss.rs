//! Losses.

use super::operator::{Operator, standard};
use crate::frontend::builder::{Refusal, int};
use crate::frontend::onnx::lowering::{Lowered, NodeLowering, one};
use crate::ir::{DType, Value};

pub(super) const OPERATORS: &[Operator] = &[
    standard("NegativeLogLikelihoodLoss", &[12, 13, 22], negative_log_likelihood),
    standard("SoftmaxCrossEntropyLoss", &[12, 13], cross_entropy),
];

fn negative_log_likelihood(s: &mut NodeLowering) -> Lowered {
    let x = s.x(0)?;
    one(loss(s, x)?)
}

fn cross_entropy(s: &mut NodeLowering) -> Lowered {
    let x = s.x(0)?;
    let scores = s.op("log_softmax", &[("dim", int(1))], &[x])?;
    let loss = loss(s, scores)?;
    Ok(Some(vec![loss.into(), scores.into()]))
}

/// Minus the scores of the target classes, weighted by class. Targets that are to be ignored count nothing.
fn loss(s: &mut NodeLowering, scores: Value) -> Result<Value, Refusal> {
    let (target, weights) = (s.x(1)?, s.maybe(2)?);
    let target = s.cast(target, DType::I64)?;
    let ignored = s.maybe_int("ignore_index")?;
    let place = match ignored {
        None => target,
        // Any class will do, since its score is not used.
        Some(ignored) => {
            let (skipped, zero) = (s.with("eq", target, ignored)?, s.number(0, target)?);
            s.op("where", &[], &[skipped, zero, target])?
        }
    };
    let column = s.op("unsqueeze", &[("dim", int(1))], &[place])?;
    let picked = s.op("gather", &[("dim", int(1))], &[scores, column])?;
    let picked = s.op("squeeze", &[("dim", int(1))], &[picked])?;
    let mut losses = s.unary("neg", picked)?;
    let mut shares = match weights {
        Some(weights) => Some(s.op("index", &[("dims", crate::frontend::builder::ints(&[0]))], &[weights, place])?),
        None => None,
    };
    if let Some(ignored) = ignored {
        let counts = s.with("ne", target, ignored)?;
        let dtype = s.dtype(scores);
        let counts = s.cast(counts, dtype)?;
        shares = Some(match shares {
            Some(shares) => s.binary("mul", shares, counts)?,
            None => counts,
        });
    }
    if let Some(shares) = shares {
        losses = s.binary("mul", losses, shares)?;
    }
    let all: Vec<i64> = (0..s.rank(losses) as i64).collect();
    match s.text("reduction", "mean")? {
        "none" => Ok(losses),
        "sum" => s.reduce("sum", losses, &all, false),
        "mean" => match shares {
            None => s.reduce("mean", losses, &all, false),
            Some(shares) => {
                let (sum, count) = (s.reduce("sum", losses, &all, false)?, s.reduce("sum", shares, &all, false)?);
                s.binary("div", sum, count)
            }
        },
        other => Err(Refusal::new(format!("reduces by {other:?}"))),
    }
}
