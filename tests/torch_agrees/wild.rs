//! Calls that most likely do not fit.

use magneton_ir::ir::{AttrValue, DType, Shape, TensorType};
use magneton_ir::ops::{AttrDef, AttrKind, Default, OpDef};

use super::draw::{Case, Draw, Fill};
use super::fitting::fitting;

/// A call with operands and attributes that know nothing of each other.
pub(crate) fn wild(op: &OpDef, d: &mut Draw) -> Case {
    let usual = d.dtype();
    let common = d.shape(0, 4);
    let (least, most) = op.operand_count();
    let count = least + d.below(most.min(least + 3) - least + 1);
    let operands = (0..count)
        .map(|_| {
            let dtype = match d.below(6) {
                0 => d.pick(&[DType::F16, DType::BF16, DType::I16]),
                1 => d.dtype(),
                _ => usual,
            };
            let shape = match d.below(4) {
                0 => d.shape(0, 4),
                1 => d.weakened(&common),
                2 => common.iter().rev().copied().collect(),
                _ => common.clone(),
            };
            d.operand(dtype, &shape, Fill::Any)
        })
        .collect();
    let attrs = op.attrs.iter().map(|a| (a.name, wild_value(a, &common, d))).collect();
    Case { attrs, operands }
}

fn wild_value(a: &AttrDef, common: &[usize], d: &mut Draw) -> AttrValue {
    if a.default == Default::None && d.chance(2) {
        return AttrValue::None;
    }
    match a.kind {
        AttrKind::Bool => d.flag(),
        AttrKind::Int => AttrValue::Int(d.range(-2, 6)),
        AttrKind::Float | AttrKind::Number => {
            AttrValue::float(d.pick(&[0.0, 1.0, 2.0, -1.0, 0.5, 1e-5, 7.0, f64::INFINITY, f64::NAN]))
        }
        AttrKind::Str => AttrValue::str(d.pick(&["none", "tanh", "mean", "sum", "other"])),
        AttrKind::DType => AttrValue::DType(d.dtype()),
        AttrKind::Dim => AttrValue::Int(d.range(0, 5)),
        AttrKind::Dims => {
            let count = d.below(4);
            d.ints(count, 0, 4)
        }
        AttrKind::Ints if d.chance(2) => AttrValue::shape(common),
        AttrKind::Ints => {
            let count = d.below(6);
            d.ints(count, -1, 5)
        }
    }
}

/// A fitting call in which one thing is changed.
pub(crate) fn spoiled(op: &OpDef, d: &mut Draw) -> Case {
    let Some(mut case) = fitting(op, d) else { return wild(op, d) };
    let common = case.operands.first().map_or_else(Shape::new, |o| o.ty.shape.clone());
    if !op.attrs.is_empty() && d.chance(2) {
        let def = &op.attrs[d.below(op.attrs.len())];
        let value = wild_value(def, &common, d);
        case.attrs.retain(|(name, _)| *name != def.name);
        case.attrs.push((def.name, value));
    } else if !case.operands.is_empty() {
        let at = d.below(case.operands.len());
        let TensorType { mut dtype, mut shape } = case.operands[at].ty.clone();
        match (d.below(4), shape.len()) {
            (0, _) => dtype = d.dtype(),
            (1, rank) if rank > 0 => shape.truncate(rank - 1),
            (2, rank) if rank > 0 => {
                let dim = d.below(rank);
                shape[dim] = d.below(5);
            }
            _ => shape.insert(0, 2),
        }
        case.operands[at] = d.operand(dtype, &shape, Fill::Any);
    }
    case
}
