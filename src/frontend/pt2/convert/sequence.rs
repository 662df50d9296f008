//! Recurrent networks over whole sequences, step by step.

use super::super::lowering::{Converted, NodeLowering, Refusal, Values, int, ints};
use super::super::target::Target;
use super::recurrent::{gru_step, lstm_step, step};
use crate::ir::{AttrValue, DType, Value};

/// Steps of all layers and directions up to which a sequence is written out.
const MAX_STEPS: usize = 256;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Cell {
    Tanh,
    Relu,
    Lstm,
    Gru,
}

pub(super) fn convert(site: &mut NodeLowering, target: Target) -> Converted {
    match (target.name, target.overload) {
        ("rnn_tanh", "input") => sequence(site, Cell::Tanh),
        ("rnn_relu", "input") => sequence(site, Cell::Relu),
        ("lstm", "input") => sequence(site, Cell::Lstm),
        ("gru", "input") => sequence(site, Cell::Gru),
        _ => Ok(None),
    }
}

/// All layers, one after the other, each of them forwards and, if the network is bidirectional, backwards as well.
fn sequence(site: &mut NodeLowering, cell: Cell) -> Converted {
    let input = site.tensor("input")?;
    let states = if cell == Cell::Lstm { site.tensors("hx")? } else { vec![site.tensor("hx")?] };
    let (params, biased) = (site.tensors("params")?, site.bool_or("has_biases", true)?);
    let layers = usize::try_from(site.int("num_layers")?).unwrap_or(0);
    let directions = 1 + usize::from(site.bool_or("bidirectional", false)?);
    let batch_first = site.bool_or("batch_first", false)?;
    let of_each = if biased { 4 } else { 2 };
    let drops = site.bool_or("train", false)? && site.float_or("dropout", 0.0)? != 0.0;
    let fits = params.len() == layers * directions * of_each && states.len() == 1 + usize::from(cell == Cell::Lstm);
    // In narrower types, kernels round at other places than the single steps would.
    let wide = matches!(site.dtype(input), DType::F32 | DType::F64);
    let length = site.ty(input).shape.get(usize::from(batch_first)).copied().unwrap_or(0);
    let steps = length.saturating_mul(layers).saturating_mul(directions);
    if !fits || drops || !wide || site.rank(input) != 3 || !(1..=MAX_STEPS).contains(&steps) {
        return Ok(None);
    }
    let turn = [("dims", ints(&[1, 0, 2]))];
    let mut x = if batch_first { site.implicit("input", "permute", &turn, &[input])? } else { input };
    let mut last: Vec<Vec<Value>> = vec![Vec::new(); states.len()];
    for layer in 0..layers {
        let mut outputs = Vec::with_capacity(directions);
        for direction in 0..directions {
            let number = layer * directions + direction;
            let weights = &params[number * of_each..(number + 1) * of_each];
            let with_bias = |value: Value, at: usize| {
                let mut operands = vec![value, weights[at]];
                operands.extend(weights.get(at + 2));
                operands
            };
            let inputs = site.implicit("of_input", "linear", &[], &with_bias(x, 0))?;
            let mut state: Vec<Value> = Vec::with_capacity(states.len());
            for &all in &states {
                state.push(one(site, all, number)?);
            }
            let mut shown = Vec::with_capacity(length);
            for place in 0..length {
                let at = if direction == 0 { place } else { length - 1 - place };
                let of_input = one(site, inputs, at)?;
                let of_state = site.implicit("of_state", "linear", &[], &with_bias(state[0], 1))?;
                advance(site, cell, of_input, of_state, &mut state)?;
                shown.push(site.implicit("step", "unsqueeze", &[("dim", int(0))], &state[..1])?);
            }
            if direction == 1 {
                shown.reverse();
            }
            outputs.push(site.implicit("steps", "concat", &[("dim", int(0))], &shown)?);
            for (all, state) in last.iter_mut().zip(&state) {
                all.push(site.implicit("last", "unsqueeze", &[("dim", int(0))], &[*state])?);
            }
        }
        x = match outputs[..] {
            [output] => output,
            _ => site.implicit("directions", "concat", &[("dim", int(2))], &outputs)?,
        };
    }
    let order = if batch_first { [1, 0, 2] } else { [0, 1, 2] };
    let Some(output) = site.emit("permute", &[("dims", ints(&order))], &[x])? else { return Ok(None) };
    let mut results: Values = output;
    for (all, slot) in last.iter().zip(1..) {
        let states = site.implicit("states", "concat", &[("dim", int(0))], all)?;
        // PyTorch's trace of an LSTM gives its states a dimension of size 1 more than its kernels do.
        let stated = site.stated(slot)?.shape;
        results.push(match stated[..] == site.ty(states).shape[..] {
            true => states,
            false => site.implicit("stated", "reshape", &[("shape", AttrValue::shape(&stated))], &[states])?,
        });
    }
    Ok(Some(results))
}

/// Entry number `at` of the first dimension.
fn one(site: &mut NodeLowering, x: Value, at: usize) -> Result<Value, Refusal> {
    let (start, end) = (at as i64, at as i64 + 1);
    let attrs = [("dim", int(0)), ("start", int(start)), ("end", int(end)), ("step", AttrValue::Int(1))];
    let slice = site.implicit("entry", "slice", &attrs, &[x])?;
    site.implicit("entry", "squeeze", &[("dim", int(0))], &[slice])
}

/// One step: the new state in place of the old one.
fn advance(
    site: &mut NodeLowering,
    cell: Cell,
    input: Value,
    hidden: Value,
    state: &mut [Value],
) -> Result<(), Refusal> {
    match (cell, state) {
        (Cell::Lstm, [shown, kept]) => {
            let (factors, new) = lstm_step(site, input, hidden, *kept)?;
            *shown = step(site, "mul", &factors)?;
            *kept = new;
        }
        (Cell::Gru, [shown]) => {
            let summands = gru_step(site, input, hidden, *shown)?;
            *shown = step(site, "add", &summands)?;
        }
        (_, [shown, ..]) => {
            let sum = step(site, "add", &[hidden, input])?;
            *shown = step(site, if cell == Cell::Relu { "relu" } else { "tanh" }, &[sum])?;
        }
        (_, []) => return Err(Refusal::new("has no state")),
    }
    Ok(())
}
