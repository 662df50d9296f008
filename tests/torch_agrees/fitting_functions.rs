//! Calls that should fit: less common functions, views, lengths.

use magneton_ir::ir::{AttrValue, DType, Ints, Number, Shape};
use magneton_ir::ops::OpDef;

use super::draw::{Case, Draw, Fill, int};

const NUMBERS: &[DType] = &[DType::F64, DType::F64, DType::F32, DType::I64, DType::I32, DType::U8, DType::I8];
const INTEGERS: &[DType] = &[DType::I64, DType::I32, DType::U8, DType::I8];

/// As [`super::fitting::fitting`].
pub(crate) fn fitting(op: &OpDef, d: &mut Draw) -> Option<Case> {
    let special = if d.chance(3) { Fill::Special } else { Fill::Any };
    let mut attrs: Vec<(&'static str, AttrValue)> = Vec::new();
    let operands = match op.name {
        "ceil" | "trunc" | "sign" => {
            let (dtype, shape) = (d.pick(NUMBERS), d.shape(0, 4));
            vec![d.operand(dtype, &shape, special)]
        }
        "tan" | "asin" | "acos" | "atan" | "sinh" | "cosh" | "asinh" | "acosh" | "atanh" | "exp2" | "log2"
        | "log10" | "erfc" | "erfinv" | "lgamma" => {
            let (dtype, shape) = (d.float(), d.shape(0, 4));
            vec![d.operand(dtype, &shape, special)]
        }
        "softplus" | "elu" | "leaky_relu" | "hardsigmoid" | "hardswish" | "mish" | "log_sigmoid" => {
            let usual = d.chance(2);
            for def in op.attrs.iter().filter(|_| !usual) {
                attrs.push((def.name, AttrValue::float(d.pick(&[1.0, 0.5, 2.0, 3.0]))));
            }
            let (dtype, shape) = (d.float(), d.shape(0, 4));
            vec![d.operand(dtype, &shape, Fill::Any)]
        }
        "atan2" | "hypot" | "power" | "fmod" => {
            let dtype = if matches!(op.name, "atan2" | "hypot") { d.float() } else { d.pick(NUMBERS) };
            let full = d.shape(0, 3);
            let (x, y) = (d.weakened(&full), d.weakened(&full));
            let second = match op.name {
                "fmod" if dtype.is_int() => Fill::Range(1, 5),
                "power" if dtype.is_int() => Fill::Range(if dtype == DType::U8 { 0 } else { -3 }, 5),
                _ => special,
            };
            vec![d.operand(dtype, &x, special), d.operand(dtype, &y, second)]
        }
        "bitwise_not" => {
            let (dtype, shape) = (d.pick(&[DType::I64, DType::I32, DType::U8, DType::I8, DType::Bool]), d.shape(0, 3));
            vec![d.operand(dtype, &shape, Fill::Any)]
        }
        "bitwise_and" | "bitwise_or" | "bitwise_xor" | "shift_left" | "shift_right" | "gcd" => {
            let dtype = d.pick(INTEGERS);
            let full = d.shape(0, 3);
            let (x, y) = (d.weakened(&full), d.weakened(&full));
            let fill = if dtype == DType::U8 { Fill::Range(0, 100) } else { Fill::Range(-40, 41) };
            vec![d.operand(dtype, &x, fill), d.operand(dtype, &y, fill)]
        }
        "glu" => {
            let (dtype, mut x) = (d.float(), d.shape(1, 3));
            let dim = d.below(x.len());
            x[dim] *= 2;
            attrs.push(("dim", int(dim)));
            vec![d.operand(dtype, &x, Fill::Any)]
        }
        "addcmul" | "addcdiv" => {
            let dtype = if op.name == "addcdiv" { d.float() } else { d.pick(NUMBERS) };
            attrs.push(("value", AttrValue::float(d.pick(&[1.0, 2.0, 3.0]))));
            let full = d.shape(0, 3);
            (0..3)
                .map(|_| {
                    let shape = d.weakened(&full);
                    d.operand(dtype, &shape, Fill::Any)
                })
                .collect()
        }
        "add_scaled" | "lerp" => {
            let (dtype, full) = (d.float(), d.shape(0, 3));
            if op.name == "add_scaled" {
                attrs.push(("alpha", AttrValue::float(d.pick(&[-0.5, 2.0, 3.0]))));
            }
            (0..op.operands.len())
                .map(|_| {
                    let shape = d.weakened(&full);
                    d.operand(dtype, &shape, Fill::Any)
                })
                .collect()
        }
        "complex_mul" | "complex_div" | "polar" => {
            let dtype = d.pick(&[DType::F32, DType::F64]);
            let full = d.shape(0, 3);
            let pairs = op.name != "polar";
            let operand = |d: &mut Draw| {
                let mut shape = if pairs { d.weakened(&full) } else { full.clone() };
                shape.extend(pairs.then_some(2));
                d.operand(dtype, &shape, if pairs { Fill::Any } else { special })
            };
            vec![operand(d), operand(d)]
        }
        "fft_c2c" | "fft_r2c" | "fft_c2r" => {
            let (dtype, mut x) = (d.pick(&[DType::F32, DType::F64]), d.shape(1, 3));
            x.iter_mut().for_each(|size| *size = (*size).max(1));
            let mut dims = vec![d.below(x.len())];
            let more = d.below(x.len());
            dims.extend((!dims.contains(&more)).then_some(more));
            let last = dims[dims.len() - 1];
            attrs.push(("dims", AttrValue::Ints(dims.iter().map(|&d| d as i64).collect())));
            attrs.push(("norm", AttrValue::str(d.pick(&["none", "root_n", "n"]))));
            match op.name {
                "fft_c2c" => attrs.push(("forward", d.flag())),
                "fft_r2c" => attrs.push(("onesided", d.flag())),
                _ => {
                    let length = d.size().max(1);
                    x[last] = length / 2 + 1;
                    attrs.push(("length", int(length)));
                }
            }
            if op.name != "fft_r2c" {
                x.push(2);
            }
            vec![d.operand(dtype, &x, Fill::Any)]
        }
        "diagonal" => {
            let (dtype, x) = (d.dtype(), d.shape(2, 4));
            let first = d.below(x.len());
            let second = (first + 1 + d.below(x.len() - 1)) % x.len();
            attrs.extend([("offset", AttrValue::Int(d.range(-4, 5))), ("dim1", int(first)), ("dim2", int(second))]);
            vec![d.operand(dtype, &x, special)]
        }
        "unfold" => {
            let (dtype, x) = (d.dtype(), d.shape(1, 3));
            let dim = d.below(x.len());
            attrs.extend([("dim", int(dim)), ("size", int(d.below(x[dim] + 1))), ("step", int(1 + d.below(3)))]);
            vec![d.operand(dtype, &x, special)]
        }
        "vector_norm" => {
            let (dtype, x) = (d.float(), d.shape(0, 4));
            let ord = d.pick(&[2.0, 2.0, 1.0, 0.0, 3.0, 0.5, f64::INFINITY, f64::NEG_INFINITY]);
            let dims = if x.is_empty() { Ints::new() } else { d.dims(x.len()) };
            attrs.extend([("ord", AttrValue::float(ord)), ("dim", AttrValue::Ints(dims)), ("keepdim", d.flag())]);
            vec![d.operand(dtype, &x, special)]
        }
        "median" | "cummax" | "cummin" | "logcumsumexp" => {
            let dtype = if op.name == "logcumsumexp" { d.float() } else { d.pick(NUMBERS) };
            let mut x = d.shape(1, 3);
            let dim = d.below(x.len());
            x[dim] = x[dim].max(1);
            attrs.push(("dim", int(dim)));
            if op.name == "median" {
                attrs.push(("keepdim", d.flag()));
            }
            vec![d.operand(dtype, &x, special)]
        }
        "cdist" => {
            let dtype = d.pick(&[DType::F64, DType::F64, DType::F32]);
            let full = d.shape(0, 2);
            let (mut x, mut y, width) = (d.weakened(&full), d.weakened(&full), d.size());
            x.extend([d.size(), width]);
            y.extend([d.size(), width]);
            attrs.push(("p", AttrValue::float(d.pick(&[2.0, 1.0, 0.0, 3.0, f64::INFINITY]))));
            vec![d.operand(dtype, &x, Fill::Any), d.operand(dtype, &y, Fill::Any)]
        }
        "embedding_bag" => {
            let dtype = d.pick(&[DType::F64, DType::F64, DType::F32]);
            let (rows, count, bags) = (d.size(), d.size(), d.size());
            let mut starts = d.operand(DType::I64, &[bags], Fill::Range(0, count as i64 + 1));
            starts.data.sort();
            starts.data[0] = Number::Int(0);
            attrs.push(("mode", AttrValue::str(d.pick(&["sum", "mean"]))));
            let indices = d.operand(DType::I64, &[count], Fill::Range(0, rows as i64));
            let width = d.size();
            vec![d.operand(dtype, &[rows, width], Fill::Any), indices, starts]
        }
        "batch_norm_training" => {
            let dtype = d.pick(&[DType::F64, DType::F64, DType::F32]);
            let mut x: Shape = d.shape(2, 4);
            x.iter_mut().for_each(|size| *size = (*size).max(1));
            x[0] += 1;
            let parameters = d.below(3);
            let mut all = vec![d.operand(dtype, &x, Fill::Any)];
            all.extend((0..parameters).map(|_| d.operand(dtype, &x[1..2], Fill::Any)));
            all
        }
        "linspace" => {
            let dtype = d.pick(&[DType::F64, DType::F32]);
            attrs.extend([("start", AttrValue::float(d.range(-3, 4) as f64)), ("steps", int(d.below(8)))]);
            attrs.extend([("end", AttrValue::float(d.range(-3, 9) as f64 / 2.0)), ("dtype", AttrValue::DType(dtype))]);
            vec![]
        }
        _ => return super::fitting_windows::fitting(op, d),
    };
    Some(Case { attrs, operands })
}
