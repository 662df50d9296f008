//! Recurrent layers, written out step by step.

use super::operator::{Operator, standard};
use crate::frontend::builder::{Refusal, int};
use crate::frontend::onnx::lowering::{Lowered, NodeLowering};
use crate::ir::{AttrValue, Value};

pub(super) const OPERATORS: &[Operator] = &[
    standard("RNN", &[1, 7, 14, 22], |s| layer(s, Cell::Plain)),
    standard("GRU", &[1, 3, 7, 14, 22], |s| layer(s, Cell::Gru)),
    standard("LSTM", &[1, 7, 14, 22], |s| layer(s, Cell::Lstm)),
];

/// The most steps that are written out.
const MOST_STEPS: i64 = 1 << 12;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Cell {
    Plain,
    Gru,
    Lstm,
}

impl Cell {
    fn gates(self) -> i64 {
        match self {
            Cell::Plain => 1,
            Cell::Gru => 3,
            Cell::Lstm => 4,
        }
    }

    fn activations(self) -> &'static [&'static str] {
        match self {
            Cell::Plain => &["Tanh"],
            Cell::Gru => &["Sigmoid", "Tanh"],
            Cell::Lstm => &["Sigmoid", "Tanh", "Tanh"],
        }
    }
}

/// An activation with its numbers.
#[derive(Clone, Debug)]
struct Activation {
    name: String,
    alpha: Option<f64>,
    beta: Option<f64>,
}

/// The weights of one direction.
struct Direction {
    /// (gates, input)
    w: Value,
    /// (gates, hidden)
    r: Value,
    /// Both biases, if there are any.
    biases: Option<[Value; 2]>,
    peepholes: Option<Value>,
    h: Value,
    c: Option<Value>,
    activations: Vec<Activation>,
    backwards: bool,
}

fn activations(s: &NodeLowering, cell: Cell, directions: usize) -> Result<Vec<Activation>, Refusal> {
    let given = s.texts("activations")?;
    let own = cell.activations();
    let wanted = own.len() * directions;
    let names: Vec<String> = match given.len() {
        0 => own.iter().cycle().take(wanted).map(|n| (*n).to_owned()).collect(),
        n if n == wanted => given.iter().map(|n| (*n).to_owned()).collect(),
        n => return Err(Refusal::new(format!("names {n} activations, {wanted} are wanted"))),
    };
    let (mut alphas, mut betas) =
        (s.float_list("activation_alpha").into_iter(), s.float_list("activation_beta").into_iter());
    Ok(names
        .into_iter()
        .map(|name| {
            let lower = name.to_lowercase();
            let takes_alpha =
                matches!(&*lower, "affine" | "leakyrelu" | "thresholdedrelu" | "scaledtanh" | "hardsigmoid" | "elu");
            let takes_beta = matches!(&*lower, "affine" | "scaledtanh" | "hardsigmoid");
            let alpha = if takes_alpha { alphas.next() } else { None };
            let beta = if takes_beta { betas.next() } else { None };
            Activation { name: lower, alpha, beta }
        })
        .collect())
}

fn activate(s: &mut NodeLowering, x: Value, of: &Activation) -> Result<Value, Refusal> {
    let alpha = |default: f64| of.alpha.unwrap_or(default);
    match of.name.as_str() {
        "relu" | "tanh" | "sigmoid" => s.unary(&of.name, x),
        "softsign" => super::activation::softsign(s, x),
        "softplus" => s.op("softplus", &[("threshold", AttrValue::float(f64::INFINITY))], &[x]),
        "elu" => s.op("elu", &[("alpha", AttrValue::float(alpha(1.0)))], &[x]),
        "leakyrelu" => s.op("leaky_relu", &[("negative_slope", AttrValue::float(alpha(0.01)))], &[x]),
        "hardsigmoid" => super::activation::hard_sigmoid(s, x, alpha(0.2), of.beta.unwrap_or(0.5)),
        "affine" => {
            let scaled = s.with("mul", x, alpha(1.0))?;
            s.with("add", scaled, of.beta.unwrap_or(0.0))
        }
        "scaledtanh" => {
            let inner = s.with("mul", x, of.beta.unwrap_or(1.0))?;
            let bent = s.unary("tanh", inner)?;
            s.with("mul", bent, alpha(1.0))
        }
        "thresholdedrelu" => {
            let above = s.with("ge", x, alpha(1.0))?;
            let zero = s.number(0.0, x)?;
            s.op("where", &[], &[above, x, zero])
        }
        other => Err(Refusal::new(format!("has the unknown activation {other:?}"))),
    }
}

/// One entry of the first dimension, without it.
fn entry(s: &mut NodeLowering, x: Value, at: i64) -> Result<Value, Refusal> {
    let part = s.slice(x, 0, at, at + 1)?;
    s.op("squeeze", &[("dim", int(0))], &[part])
}

fn layer(s: &mut NodeLowering, cell: Cell) -> Lowered {
    let (mut x, w, r) = (s.x(0)?, s.x(1)?, s.x(2)?);
    if s.rank(x) != 3 || s.rank(w) != 3 || s.rank(r) != 3 {
        return Err(Refusal::new("takes tensors of rank 3"));
    }
    let batch_first = s.flag("layout")?;
    if batch_first {
        x = s.permute(x, &[1, 0, 2])?;
    }
    let [steps, batch, _] = [0, 1, 2].map(|d| s.size(x, d));
    if steps > MOST_STEPS {
        return Err(Refusal::new(format!("takes {steps} steps, at most {MOST_STEPS} are written out")));
    }
    let hidden = s.size(r, 2);
    let ways: &[bool] = match s.text("direction", "forward")? {
        "forward" => &[false],
        "reverse" => &[true],
        "bidirectional" => &[false, true],
        other => return Err(Refusal::new(format!("has the direction {other:?}"))),
    };
    let activations = activations(s, cell, ways.len())?;
    let lengths = s.maybe(4)?;
    let dtype = s.dtype(x);
    let zeros = |s: &mut NodeLowering| s.full(&[batch, hidden], 0.0, dtype);
    let (mut all, mut last_h, mut last_c) = (Vec::new(), Vec::new(), Vec::new());
    for (way, &backwards) in ways.iter().enumerate() {
        let at = way as i64;
        let state = |s: &mut NodeLowering, i: usize| -> Result<Value, Refusal> {
            match s.maybe(i)? {
                None => zeros(s),
                Some(state) if batch_first => {
                    let turned = s.permute(state, &[1, 0, 2])?;
                    entry(s, turned, at)
                }
                Some(state) => entry(s, state, at),
            }
        };
        let gates = cell.gates() * hidden;
        let biases = match s.maybe(3)? {
            None => None,
            Some(b) => {
                let row = entry(s, b, at)?;
                Some([s.slice(row, 0, 0, gates)?, s.slice(row, 0, gates, 2 * gates)?])
            }
        };
        let peepholes = if cell == Cell::Lstm { s.maybe(7)? } else { None };
        let count = cell.activations().len();
        let direction = Direction {
            w: entry(s, w, at)?,
            r: entry(s, r, at)?,
            biases,
            peepholes: peepholes.map(|p| entry(s, p, at)).transpose()?,
            h: state(s, 5)?,
            c: if cell == Cell::Lstm { Some(state(s, 6)?) } else { None },
            activations: activations[way * count..][..count].to_vec(),
            backwards,
        };
        let (rows, h, c) = run(s, cell, x, &direction, lengths, hidden)?;
        all.push(rows);
        last_h.push(h);
        last_c.extend(c);
    }
    let stacked = |s: &mut NodeLowering, parts: &[Value], dim: i64| -> Result<Value, Refusal> {
        let mut rows = Vec::new();
        for &part in parts {
            rows.push(s.op("unsqueeze", &[("dim", int(dim))], &[part])?);
        }
        s.concat(&rows, dim)
    };
    // (step, direction, batch, hidden) and (direction, batch, hidden)
    let mut y = stacked(s, &all, 1)?;
    let mut outputs = Vec::new();
    if batch_first {
        y = s.permute(y, &[2, 0, 1, 3])?;
    }
    outputs.push(y.into());
    for parts in [last_h, last_c] {
        if parts.is_empty() {
            continue;
        }
        let mut state = stacked(s, &parts, 0)?;
        if batch_first {
            state = s.permute(state, &[1, 0, 2])?;
        }
        outputs.push(state.into());
    }
    Ok(Some(outputs))
}

/// All outputs of one direction in the order of steps, and the last states.
fn run(
    s: &mut NodeLowering,
    cell: Cell,
    x: Value,
    of: &Direction,
    lengths: Option<Value>,
    hidden: i64,
) -> Result<(Value, Value, Option<Value>), Refusal> {
    let [steps, batch, _] = [0, 1, 2].map(|d| s.size(x, d));
    let (w, r) = (s.transpose(of.w)?, s.transpose(of.r)?);
    let (mut h, mut c) = (of.h, of.c);
    let mut rows = vec![None; steps as usize];
    for step in 0..steps {
        let at = if of.backwards { steps - 1 - step } else { step };
        let input = entry(s, x, at)?;
        let (new_h, new_c) = cell_step(s, cell, input, [w, r], h, c, of, hidden)?;
        let mut row = new_h;
        (h, c) = match lengths {
            None => (new_h, new_c),
            // Behind the end of a sequence nothing happens, and the output is 0.
            Some(lengths) => {
                let inside = s.with("gt", lengths, at)?;
                let inside = s.reshape(inside, &[batch, 1])?;
                let zero = s.number(0.0, new_h)?;
                row = s.op("where", &[], &[inside, new_h, zero])?;
                let kept = s.op("where", &[], &[inside, new_h, h])?;
                let cell = match (new_c, c) {
                    (Some(new), Some(old)) => Some(s.op("where", &[], &[inside, new, old])?),
                    _ => None,
                };
                (kept, cell)
            }
        };
        let row = s.op("unsqueeze", &[("dim", int(0))], &[row])?;
        if let Some(slot) = rows.get_mut(at as usize) {
            *slot = Some(row);
        }
    }
    let rows: Vec<Value> = rows.into_iter().flatten().collect();
    let all = if rows.is_empty() {
        let dtype = s.dtype(x);
        s.full(&[0, batch, hidden], 0.0, dtype)?
    } else {
        s.concat(&rows, 0)?
    };
    Ok((all, h, c))
}

#[allow(clippy::too_many_arguments)]
fn cell_step(
    s: &mut NodeLowering,
    cell: Cell,
    x: Value,
    [w, r]: [Value; 2],
    h: Value,
    c: Option<Value>,
    of: &Direction,
    hidden: i64,
) -> Result<(Value, Option<Value>), Refusal> {
    let clip = s.maybe_float("clip")?;
    let limited = |s: &mut NodeLowering, x: Value| match clip {
        None => Ok(x),
        Some(most) => s.op("clamp", &[("min", AttrValue::float(-most)), ("max", AttrValue::float(most))], &[x]),
    };
    let gate = |s: &mut NodeLowering, x: Value, i: i64| {
        let last = s.rank(x) as i64 - 1;
        s.slice(x, last, i * hidden, (i + 1) * hidden)
    };
    let mut of_x = s.binary("matmul", x, w)?;
    let mut of_h = s.binary("matmul", h, r)?;
    if let Some([of_input, of_state]) = of.biases {
        of_x = s.binary("add", of_x, of_input)?;
        of_h = s.binary("add", of_h, of_state)?;
    }
    let sum = |s: &mut NodeLowering, i: i64| -> Result<Value, Refusal> {
        let (x, h) = (gate(s, of_x, i)?, gate(s, of_h, i)?);
        s.binary("add", x, h)
    };
    match cell {
        Cell::Plain => {
            let sum = sum(s, 0)?;
            let sum = limited(s, sum)?;
            Ok((activate(s, sum, &of.activations[0])?, None))
        }
        Cell::Gru => {
            let z = sum(s, 0)?;
            let z = limited(s, z)?;
            let z = activate(s, z, &of.activations[0])?;
            let reset = sum(s, 1)?;
            let reset = limited(s, reset)?;
            let reset = activate(s, reset, &of.activations[0])?;
            let from_h = if s.flag("linear_before_reset")? {
                let linear = gate(s, of_h, 2)?;
                s.binary("mul", reset, linear)?
            } else {
                let kept = s.binary("mul", reset, h)?;
                let weights = gate(s, r, 2)?;
                let product = s.binary("matmul", kept, weights)?;
                match of.biases {
                    None => product,
                    Some([_, bias]) => {
                        let bias = gate(s, bias, 2)?;
                        s.binary("add", product, bias)?
                    }
                }
            };
            let from_x = gate(s, of_x, 2)?;
            let new = s.binary("add", from_x, from_h)?;
            let new = limited(s, new)?;
            let new = activate(s, new, &of.activations[1])?;
            let one = s.number(1.0, z)?;
            let rest = s.binary("sub", one, z)?;
            let (fresh, kept) = (s.binary("mul", rest, new)?, s.binary("mul", z, h)?);
            Ok((s.binary("add", fresh, kept)?, None))
        }
        Cell::Lstm => {
            let old = c.ok_or_else(|| Refusal::new("lacks a cell state"))?;
            // The gates stand in the order input, output, forget, cell; peepholes in the order input, output, forget.
            let seen = |s: &mut NodeLowering, x: Value, i: i64, state: Value| -> Result<Value, Refusal> {
                let Some(peepholes) = of.peepholes else { return Ok(x) };
                let weights = gate(s, peepholes, i)?;
                let part = s.binary("mul", weights, state)?;
                s.binary("add", x, part)
            };
            let i = sum(s, 0)?;
            let i = seen(s, i, 0, old)?;
            let i = limited(s, i)?;
            let i = activate(s, i, &of.activations[0])?;
            let f = if s.flag("input_forget")? {
                let one = s.number(1.0, i)?;
                s.binary("sub", one, i)?
            } else {
                let f = sum(s, 2)?;
                let f = seen(s, f, 2, old)?;
                let f = limited(s, f)?;
                activate(s, f, &of.activations[0])?
            };
            let g = sum(s, 3)?;
            let g = limited(s, g)?;
            let g = activate(s, g, &of.activations[1])?;
            let (kept, fresh) = (s.binary("mul", f, old)?, s.binary("mul", i, g)?);
            let new = s.binary("add", kept, fresh)?;
            let o = sum(s, 1)?;
            let o = seen(s, o, 1, new)?;
            let o = limited(s, o)?;
            let o = activate(s, o, &of.activations[0])?;
            let shown = activate(s, new, &of.activations[2])?;
            Ok((s.binary("mul", o, shown)?, Some(new)))
        }
    }
}
