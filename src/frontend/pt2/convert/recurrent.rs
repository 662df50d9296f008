//! Steps of recurrent networks, distances, running extremes, bags of embeddings.

use super::super::lowering::{Converted, NodeLowering, Refusal, int};
use super::super::target::Target;
use crate::ir::{AttrValue, DType, Value};

pub(super) fn convert(site: &mut NodeLowering, target: Target) -> Converted {
    match (target.name, target.overload) {
        ("lstm_cell", "") => lstm_cell(site),
        ("gru_cell", "") => gru_cell(site),
        ("rnn_tanh_cell", "") => rnn_cell(site, "tanh"),
        ("rnn_relu_cell", "") => rnn_cell(site, "relu"),
        ("cdist" | "_cdist_forward", "") => {
            let operands = [site.tensor("x1")?, site.tensor("x2")?];
            let p = site.float_or("p", 2.0)?;
            let wide = |v: &Value| matches!(site.dtype(*v), DType::F32 | DType::F64);
            // Lengths of a small order lie beyond the range of f32.
            match (p == 0.0 || p >= 1.0) && operands.iter().all(wide) && site.ty(operands[0]).shape.last() != Some(&0) {
                true => site.emit("cdist", &[("p", AttrValue::float(p))], &operands),
                false => Ok(None),
            }
        }
        ("logcumsumexp", "") => along(site, "logcumsumexp"),
        ("cummax" | "cummin", "") => along(site, target.name),
        // Which of equal elements is named is open.
        ("median", "dim") if !site.is_used(1) => {
            let x = site.tensor("self")?;
            if site.rank(x) == 0 {
                return Ok(None);
            }
            let dim = site.dim_of(x, site.int("dim")?)?;
            let keepdim = AttrValue::Bool(site.bool_or("keepdim", false)?);
            site.emit("median", &[("dim", int(dim)), ("keepdim", keepdim)], &[x])
        }
        ("embedding_bag", "" | "padding_idx") | ("_embedding_bag" | "_embedding_bag_forward_only", "") => bag(site),
        _ => Ok(None),
    }
}

fn along(site: &mut NodeLowering, op: &str) -> Converted {
    let x = site.tensor("self")?;
    // A scalar is a vector of one element to PyTorch, but not to the op table.
    if site.rank(x) == 0 {
        return Ok(None);
    }
    let dim = site.dim_of(x, site.int("dim")?)?;
    site.emit(op, &[("dim", int(dim))], &[x])
}

/// Without weights for single elements and without a row that does not count. The other results are for the backward pass.
fn bag(site: &mut NodeLowering) -> Converted {
    let operands = [site.tensor("weight")?, site.tensor("indices")?, site.tensor("offsets")?];
    let padded = site.maybe_int("padding_idx")?.is_some_and(|index| index >= 0);
    let plain = !padded && !site.given("per_sample_weights") && !site.bool_or("include_last_offset", false)?;
    let mode = match site.int_or("mode", 0)? {
        0 => "sum",
        1 => "mean",
        // Of largest elements, PyTorch does not check where bags start.
        _ => return Ok(None),
    };
    let ranks = operands.map(|v| site.rank(v)) == [2, 1, 1];
    let wide = matches!(site.dtype(operands[0]), DType::F32 | DType::F64);
    if !plain || !ranks || !wide || (1..4).any(|slot| site.is_used(slot)) {
        return Ok(None);
    }
    site.emit("embedding_bag", &[("mode", AttrValue::str(mode))], &operands)
}

fn affine(site: &mut NodeLowering, x: Value, weight: &str, bias: &str) -> Result<Value, Refusal> {
    let mut operands = vec![x, site.tensor(weight)?];
    operands.extend(site.maybe_tensor(bias)?);
    site.implicit(weight, "linear", &[], &operands)
}

/// What a cell makes of its input and of its state.
fn gates(site: &mut NodeLowering, state: Value) -> Result<Option<[Value; 2]>, Refusal> {
    let x = site.tensor("input")?;
    // In narrower types, kernels round at other places than the single steps would.
    if !matches!(site.dtype(x), DType::F32 | DType::F64) {
        return Ok(None);
    }
    Ok(Some([affine(site, x, "w_ih", "b_ih")?, affine(site, state, "w_hh", "b_hh")?]))
}

pub(super) fn step(site: &mut NodeLowering, op: &str, operands: &[Value]) -> Result<Value, Refusal> {
    site.implicit(op, op, &[], operands)
}

/// `count` equal parts of the last dimension.
fn parts(site: &mut NodeLowering, x: Value, count: i64) -> Result<Vec<Value>, Refusal> {
    let dim = site.rank(x).saturating_sub(1) as i64;
    let size = site.ty(x).shape.last().map_or(0, |&n| n as i64);
    if size % count != 0 {
        return Err(Refusal::new(format!("cannot cut {} into {count} parts", site.ty(x))));
    }
    let slice = |i: i64| {
        let (start, end) = (i * size / count, (i + 1) * size / count);
        site.implicit("part", "slice", &[("dim", int(dim)), ("start", int(start)), ("end", int(end))], &[x])
    };
    (0..count).map(slice).collect()
}

fn rnn_cell(site: &mut NodeLowering, op: &str) -> Converted {
    let state = site.tensor("hx")?;
    let Some([input, hidden]) = gates(site, state)? else { return Ok(None) };
    let sum = step(site, "add", &[input, hidden])?;
    site.emit(op, &[], &[sum])
}

fn lstm_cell(site: &mut NodeLowering) -> Converted {
    let [hidden, cell] = site.tensors("hx")?[..] else {
        return Err(Refusal::new("has a state of other than two parts"));
    };
    let Some([input, hidden]) = gates(site, hidden)? else { return Ok(None) };
    let (factors, cell) = lstm_step(site, input, hidden, cell)?;
    let Some(mut results) = site.emit("mul", &[], &factors)? else { return Ok(None) };
    results.push(cell);
    Ok(Some(results))
}

/// `c' = f c + i g` and the factors of `h' = o tanh(c')`, from what the gates make of input and state.
pub(super) fn lstm_step(
    site: &mut NodeLowering,
    input: Value,
    hidden: Value,
    cell: Value,
) -> Result<([Value; 2], Value), Refusal> {
    let sum = step(site, "add", &[input, hidden])?;
    let all = parts(site, sum, 4)?;
    let [write, keep, show] = [all[0], all[1], all[3]].map(|gate| step(site, "sigmoid", &[gate]));
    let (write, keep, show) = (write?, keep?, show?);
    let new = step(site, "tanh", &[all[2]])?;
    let (kept, written) = (step(site, "mul", &[keep, cell])?, step(site, "mul", &[write, new])?);
    let cell = step(site, "add", &[kept, written])?;
    let shown = step(site, "tanh", &[cell])?;
    Ok(([show, shown], cell))
}

fn gru_cell(site: &mut NodeLowering) -> Converted {
    let state = site.tensor("hx")?;
    let Some([input, hidden]) = gates(site, state)? else { return Ok(None) };
    let summands = gru_step(site, input, hidden, state)?;
    site.emit("add", &[], &summands)
}

/// The summands of `h' = (h - n) z + n`, where `n = tanh(i + r h)`.
pub(super) fn gru_step(
    site: &mut NodeLowering,
    input: Value,
    hidden: Value,
    state: Value,
) -> Result<[Value; 2], Refusal> {
    let (input, hidden) = (parts(site, input, 3)?, parts(site, hidden, 3)?);
    let mut gate = |i: usize| {
        let sum = step(site, "add", &[hidden[i], input[i]])?;
        step(site, "sigmoid", &[sum])
    };
    let (reset, update) = (gate(0)?, gate(1)?);
    let kept = step(site, "mul", &[hidden[2], reset])?;
    let sum = step(site, "add", &[input[2], kept])?;
    let new = step(site, "tanh", &[sum])?;
    let difference = step(site, "sub", &[state, new])?;
    let updated = step(site, "mul", &[difference, update])?;
    Ok([updated, new])
}
