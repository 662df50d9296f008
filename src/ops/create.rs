//! Tensors made from nothing.

use std::sync::LazyLock;

use smallvec::SmallVec;

use super::{
    Arithmetic, AttrKind, Bounds, Call, Default, Draws, EvalError, Family, Fetch, Fold, Interval, Kernel, OpDef,
    Synthesis, TypeError, Types, Unit, Work, as_number, attr, stored_number,
};
use crate::ir::{AttrValue, Attrs, DType, MAX_ELEMENTS, Number, Shape, TensorType};

fn fills(c: &Call, outputs: &[TensorType]) -> Work {
    Work::streaming(c, outputs, 0.0, Unit::Vector)
}

fn wanted_dtype(c: &Call) -> Result<DType, TypeError> {
    c.dtype("dtype").ok_or_else(|| c.error("needs the attribute `dtype`"))
}

/// The operator and attributes of a number beside a tensor of type `dtype`.
pub fn number(value: Number, dtype: DType) -> (&'static OpDef, Attrs) {
    static OP: LazyLock<&OpDef> =
        LazyLock::new(|| OPS.iter().find(|op| is_number(op)).expect("stands in the table below"));
    let value = dtype.number(value).unwrap_or(value);
    (*OP, Attrs::from_iter([value.into(), AttrValue::DType(dtype)]))
}

/// Whether `op` is a number beside a tensor, whose value need not be one of its element type.
pub fn is_number(op: &OpDef) -> bool {
    op.name == "number"
}

/// The operands of `op` that are numbers which it stores, and what is left of them: it does not compute with them beside a tensor, and
/// their element type does not have them. `attrs(i)` are those of operand `i` if that is a number.
pub fn numbers_to_store<'a>(
    op: &OpDef,
    count: usize,
    attrs: impl Fn(usize) -> Option<&'a Attrs>,
) -> SmallVec<[(usize, Attrs); 1]> {
    let computes = op.family == Family::Elementwise && op.arithmetic() != Arithmetic::Select;
    if computes && (0..count).any(|i| attrs(i).is_none()) {
        return SmallVec::new();
    }
    let left = |i: usize| {
        let [value, AttrValue::DType(dtype)] = attrs(i)?.as_slice() else { return None };
        let value = value.as_number()?;
        let stored = stored_number(*dtype, value);
        (stored != as_number(*dtype, value)).then(|| (i, number(stored, *dtype).1))
    };
    (0..count).filter_map(left).collect()
}

/// The attribute `value` in element type `dtype`.
fn value(c: &Call) -> Result<Number, EvalError> {
    c.dtype("dtype").and_then(|d| c.number("value", d)).ok_or(EvalError::Unrepresentable)
}

/// How many columns of the rows before `row` lie below a diagonal: in row `r` those before column `r + diagonal`.
fn places_below(row: i64, col: i64, diagonal: i64) -> i128 {
    let col = i128::from(col);
    // The sum of 0, 1, 2 and so on, `count` numbers, of which none is larger than `col`.
    let sum = |count: i128| match count {
        ..=0 => 0,
        n if n <= col => n * (n - 1) / 2,
        n => col * (col - 1) / 2 + (n - col) * col,
    };
    sum(i128::from(row) + i128::from(diagonal)) - sum(i128::from(diagonal))
}

/// How many places of the rows before `row` the operator counts.
fn places_before(c: &Call, row: i64) -> i128 {
    let (col, offset) = (c.int("col"), c.int("offset"));
    match c.op.name {
        "tril_indices" => places_below(row, col, offset.saturating_add(1)),
        _ => i128::from(row) * i128::from(col) - places_below(row, col, offset),
    }
}

fn triangle_types(c: &Call) -> Result<Types, TypeError> {
    let (row, col, dtype) = (c.int("row"), c.int("col"), wanted_dtype(c)?);
    let most = match dtype {
        DType::I64 => i64::from(u32::MAX),
        DType::I32 => i64::from(i32::MAX),
        _ => return Err(c.error(format!("counts places as i64 or i32, not as {dtype}"))),
    };
    if [row, col].iter().any(|size| !(0..=most).contains(size)) {
        return Err(c.error(format!("cannot count the places of {row} rows and {col} columns as {dtype}")));
    }
    let count = usize::try_from(places_before(c, row)).ok().filter(|&n| n <= MAX_ELEMENTS / 2);
    c.output(dtype, Shape::from_slice(&[2, count.ok_or_else(|| c.error("has too many places"))?]))
}

fn triangle_place(c: &Call, _: usize, index: &[usize], _: &mut Fetch) -> Result<Number, EvalError> {
    let place = index[1] as i128;
    // The last row before which there are no more places than this.
    let (mut first, mut end) = (0, c.int("row"));
    while end - first > 1 {
        let middle = first + (end - first) / 2;
        if places_before(c, middle) <= place { first = middle } else { end = middle }
    }
    let column = (place - places_before(c, first)) as i64;
    let start = if c.op.name == "tril_indices" { 0 } else { first.saturating_add(c.int("offset")).max(0) };
    Ok(Number::Int(if index[0] == 0 { first } else { start + column }))
}

fn arange_types(c: &Call) -> Result<Types, TypeError> {
    let dtype = wanted_dtype(c)?;
    if dtype == DType::Bool {
        return Err(c.error("counts no bools"));
    }
    let numbers = ["start", "end", "step"].map(|name| c.number(name, dtype.accumulator()));
    let (start, end, step) = (c.float("start"), c.float("end"), c.float("step"));
    let count = match numbers {
        [Some(Number::Int(start)), Some(Number::Int(end)), Some(Number::Int(step))]
            if step != 0 && dtype == DType::I64 =>
        {
            let (span, step) = (i128::from(end) - i128::from(start), i128::from(step));
            // Rounded up.
            (span / step + i128::from(span % step != 0 && (span < 0) == (step < 0))) as f64
        }
        // PyTorch counts in doubles for every type but i64.
        [Some(_), Some(_), Some(_)] if start.is_finite() && step.is_finite() && step != 0.0 => {
            ((end - start) / step).ceil()
        }
        [Some(_), Some(_), Some(_)] => f64::NAN,
        _ => return Err(c.error(format!("takes whole numbers for {dtype}"))),
    };
    if count.is_nan() || count < 0.0 {
        return Err(c.error(format!("cannot count from {start} to {end} by {step}")));
    }
    if count > MAX_ELEMENTS as f64 {
        return Err(c.error(format!("has too many elements from {start} to {end} by {step}")));
    }
    c.output(dtype, Shape::from_slice(&[count as usize]))
}

/// `start + index * step`, as the element type holds it: positions that become infinite are equal.
fn arange_element(c: &Call, _: usize, index: &[usize], _: &mut Fetch) -> Result<Number, EvalError> {
    let own = c.dtype("dtype").ok_or(EvalError::Unrepresentable)?;
    let dtype = own.accumulator();
    let number = |name| c.number(name, dtype).ok_or(EvalError::Unrepresentable);
    own.store(number("start")? + Number::Int(index[0] as i64) * number("step")?).ok_or(EvalError::Unrepresentable)
}

/// Element `at` of numbers at equal distances: counted from the nearer end, and rounded where PyTorch's decomposition rounds.
fn spaced(c: &Call, at: usize) -> f64 {
    let wide = c.dtype("dtype") == Some(DType::F64);
    let rounded = |value: f64| if wide { value } else { f64::from(value as f32) };
    let (start, end, steps) = (c.float("start"), c.float("end"), c.size("steps"));
    if steps == 1 {
        return start;
    }
    let step = rounded((end - start) / (steps - 1) as f64);
    match at < steps / 2 {
        true => rounded(rounded(start) + rounded(step * at as f64)),
        false => rounded(rounded(end) - rounded(step * (steps - 1 - at) as f64)),
    }
}

/// What the operators of this family have in common.
const CREATE: OpDef = OpDef { family: Family::Create, work: fills, ..OpDef::PLAIN };

/// What the places on one side of a diagonal have in common.
const TRIANGLE: OpDef = OpDef {
    attrs: &[
        attr("row", AttrKind::Int, Default::Required),
        attr("col", AttrKind::Int, Default::Required),
        attr("offset", AttrKind::Int, Default::Int(0)),
        attr("dtype", AttrKind::DType, Default::Required),
    ],
    infer: triangle_types,
    kernel: Kernel::Element(triangle_place),
    synthesis: Synthesis::Create,
    ..CREATE
};

/// The table entries of this family.
pub(super) static OPS: &[OpDef] = &[
    OpDef {
        name: "full",
        fold: Fold::Filled,
        doc: "A tensor whose elements are all `value`.",
        attrs: &[
            attr("shape", AttrKind::Ints, Default::Required),
            attr("value", AttrKind::Number, Default::Required),
            attr("dtype", AttrKind::DType, Default::Required),
        ],
        infer: |c| {
            let shape: Option<Shape> = c.ints("shape").iter().map(|&d| usize::try_from(d).ok()).collect();
            let dtype = wanted_dtype(c)?;
            if c.number("value", dtype).is_none() {
                return Err(c.error(format!("cannot fill {dtype} with {}", c.float("value"))));
            }
            c.output(dtype, shape.ok_or_else(|| c.error("needs sizes of 0 or more"))?)
        },
        kernel: Kernel::Element(|c, _, _, _| value(c)),
        aten: aten!("full", size: Attr("shape"), fill_value: Attr("value"); dtype, device: Device),
        replay: torch!(|r| r.full(r.c.ints("shape"))?),
        bounds: Bounds { range: |r| Interval::new(r.call.float("value"), r.call.float("value")), ..Bounds::UNKNOWN },
        hands_on: true,
        synthesis: Synthesis::Create,
        ..CREATE
    },
    OpDef {
        name: "number",
        fold: Fold::Filled,
        doc: "A number beside a tensor of type `dtype`, as in `mul(x, 0.1)`. PyTorch keeps it in the type that it computes in: \
              f32 for the narrow float types, whose elements it need not be.",
        attrs: &[attr("value", AttrKind::Number, Default::Required), attr("dtype", AttrKind::DType, Default::Required)],
        infer: |c| {
            let dtype = wanted_dtype(c)?;
            if c.number("value", dtype).is_none() {
                return Err(c.error(format!("{} is no value of {dtype}", c.float("value"))));
            }
            c.output(dtype, Shape::new())
        },
        kernel: Kernel::Element(|c, _, _, _| value(c)),
        work: |_, _| Work::NONE,
        aten: aten!(|c| super::aten_formulas::number_call(c)),
        replay: torch!(|r| r.full(&[])?),
        bounds: Bounds { range: |r| Interval::new(r.call.float("value"), r.call.float("value")), ..Bounds::UNKNOWN },
        hands_on: true,
        ..CREATE
    },
    OpDef {
        name: "arange",
        fold: Fold::Range,
        doc: "`start`, `start + step`, … up to, not including, `end`.",
        attrs: &[
            attr("start", AttrKind::Number, Default::Int(0)),
            attr("end", AttrKind::Number, Default::Required),
            attr("step", AttrKind::Number, Default::Int(1)),
            attr("dtype", AttrKind::DType, Default::Required),
        ],
        infer: arange_types,
        kernel: Kernel::Ordered(arange_element),
        aten: aten!("arange.start_step", start, end, step; dtype, device: Device),
        replay: torch!(|r| {
            let like = tch::Tensor::f_empty([0_i64], (r.kind()?, r.device))?;
            super::scalars::arange(r.created("start"), r.created("end"), r.created("step"), &like)?
        }),
        synthesis: Synthesis::Create,
        ..CREATE
    },
    OpDef {
        name: "tril_indices",
        doc: "Rows and columns of the places of a matrix with `row` rows and `col` columns that are not above diagonal number `offset`, row \
              by row: one line of rows, one of columns.",
        aten: aten!("tril_indices", row, col, offset; dtype, device: Device),
        replay: torch!(|r| {
            let options = (r.kind()?, r.device);
            tch::Tensor::f_tril_indices(r.c.int("row"), r.c.int("col"), r.c.int("offset"), options)?
        }),
        ..TRIANGLE
    },
    OpDef {
        name: "triu_indices",
        doc: "As `tril_indices`, of the places that are not below the diagonal.",
        aten: aten!("triu_indices", row, col, offset; dtype, device: Device),
        replay: torch!(|r| {
            let options = (r.kind()?, r.device);
            tch::Tensor::f_triu_indices(r.c.int("row"), r.c.int("col"), r.c.int("offset"), options)?
        }),
        ..TRIANGLE
    },
    OpDef {
        name: "linspace",
        doc: "`steps` numbers from `start` to `end`, at equal distances.",
        attrs: &[
            attr("start", AttrKind::Float, Default::Required),
            attr("end", AttrKind::Float, Default::Required),
            attr("steps", AttrKind::Int, Default::Required),
            attr("dtype", AttrKind::DType, Default::Required),
        ],
        infer: |c| {
            let (dtype, steps) = (wanted_dtype(c)?, usize::try_from(c.int("steps")));
            // Integers are rounded in ways that differ between devices.
            if !dtype.is_float() || !c.float("start").is_finite() || !c.float("end").is_finite() {
                return Err(c.error("takes finite numbers and a floating-point type"));
            }
            c.output(dtype, Shape::from_slice(&[steps.map_err(|_| c.error("needs 0 or more steps"))?]))
        },
        kernel: Kernel::Real(|c, _, index, _| Ok(spaced(c, index[0]))),
        aten: aten!("linspace", start, end, steps; dtype, device: Device),
        replay: torch!(|r| {
            let like = tch::Tensor::f_empty([0_i64], (r.kind()?, r.device))?;
            let end = |name| Number::float(r.c.float(name));
            super::scalars::linspace(end("start"), end("end"), r.c.int("steps"), &like)?
        }),
        ..CREATE
    },
    OpDef {
        name: "empty",
        doc: "Memory as it is found: nothing is known of its elements, and no two calls of one graph give the same.",
        attrs: &[attr("shape", AttrKind::Ints, Default::Required), attr("dtype", AttrKind::DType, Default::Required)],
        infer: |c| {
            let shape: Option<Shape> = c.ints("shape").iter().map(|&d| usize::try_from(d).ok()).collect();
            c.output(wanted_dtype(c)?, shape.ok_or_else(|| c.error("needs sizes of 0 or more"))?)
        },
        work: |_, _| Work::NONE,
        draws: Draws::Memory,
        aten: aten!("empty.memory_format", size: Attr("shape"); dtype, device: Device),
        replay: torch!(|r| tch::Tensor::f_empty(r.c.ints("shape"), (r.kind()?, r.device))?),
        ..CREATE
    },
];
