//! Tensors made from nothing.

use super::{AttrKind, Call, Default, Family, Kernel, LayoutRule, OpDef, TypeError, Types, Unit, Work, attr};
use crate::ir::{DType, MAX_ELEMENTS, Shape, TensorType};

fn fills(c: &Call, outputs: &[TensorType]) -> Work {
    Work::streaming(c, outputs, 0.0, Unit::Vector)
}

fn wanted_dtype(c: &Call) -> Result<DType, TypeError> {
    c.dtype("dtype").ok_or_else(|| c.error("needs the attribute `dtype`"))
}

fn arange_types(c: &Call) -> Result<Types, TypeError> {
    let dtype = wanted_dtype(c)?;
    let (start, end, step) = (c.float("start"), c.float("end"), c.float("step"));
    if dtype == DType::Bool {
        return Err(c.error("counts no bools"));
    }
    if !dtype.is_float() && [start, end, step].iter().any(|v| v.fract() != 0.0) {
        return Err(c.error(format!("takes whole numbers for {dtype}")));
    }
    let count = ((end - start) / step).ceil();
    if !start.is_finite() || !step.is_finite() || step == 0.0 || count.is_nan() || count < 0.0 {
        return Err(c.error(format!("cannot count from {start} to {end} by {step}")));
    }
    if count > MAX_ELEMENTS as f64 {
        return Err(c.error(format!("has too many elements from {start} to {end} by {step}")));
    }
    c.output(dtype, Shape::from_slice(&[count as usize]))
}

/// The table entries of this family.
pub const OPS: &[OpDef] = &[
    OpDef {
        name: "full",
        doc: "A tensor whose elements are all `value`.",
        family: Family::Create,
        operands: &[],
        attrs: &[
            attr("shape", AttrKind::Ints, Default::Required),
            attr("value", AttrKind::Float, Default::Required),
            attr("dtype", AttrKind::DType, Default::Required),
        ],
        commutative: false,
        infer: |c| {
            let shape: Option<Shape> = c.ints("shape").iter().map(|&d| usize::try_from(d).ok()).collect();
            let dtype = wanted_dtype(c)?;
            if !dtype.is_float() && !c.float("value").is_finite() {
                return Err(c.error(format!("cannot fill {dtype} with {}", c.float("value"))));
            }
            c.output(dtype, shape.ok_or_else(|| c.error("needs sizes of 0 or more"))?)
        },
        kernel: Kernel::Element(|c, _, _, _| {
            let value = c.float("value");
            Ok(c.dtype("dtype").filter(|d| !d.is_float()).map_or(value, |d| d.round(value)))
        }),
        layout: LayoutRule::Contiguous,
        work: fills,
    },
    OpDef {
        name: "arange",
        doc: "`start`, `start + step`, … up to, not including, `end`.",
        family: Family::Create,
        operands: &[],
        attrs: &[
            attr("start", AttrKind::Float, Default::Float(0.0)),
            attr("end", AttrKind::Float, Default::Required),
            attr("step", AttrKind::Float, Default::Float(1.0)),
            attr("dtype", AttrKind::DType, Default::Required),
        ],
        commutative: false,
        infer: arange_types,
        kernel: Kernel::Element(|c, _, index, _| Ok(c.float("start") + index[0] as f64 * c.float("step"))),
        layout: LayoutRule::Contiguous,
        work: fills,
    },
];
