//! Operators that are no single call of PyTorch, or one whose name or arguments depend on types and attributes.

use super::Call;
use super::aten::{Arg, Calls, Stated, Tensor, single};
use super::numbers::as_number;
use crate::ir::{DType, Ints, Number, Shape, TensorType};

/// The same elements under another shape.
fn shaped(ty: &TensorType, shape: Shape) -> Option<TensorType> {
    TensorType::new(ty.dtype, shape).ok()
}

/// The places that go with values.
fn places(values: &Option<TensorType>) -> Option<TensorType> {
    values.as_ref().map(|ty| ty.with_dtype(DType::I64))
}

fn ints(of: impl IntoIterator<Item = i64>) -> Arg<Tensor> {
    Arg::Ints(of.into_iter().collect())
}

/// PyTorch rounds a number to the element type before it compares. Where that changes it, both sides are compared in f32.
///
/// `overloads` are those of two tensors, of a tensor and a number, and of a tensor and a number that stood in front of it.
pub(super) fn compared(c: &mut Calls, overloads: (&'static str, &'static str, &'static str)) -> Stated {
    let dtype = c.ty(0)?.dtype;
    let rounded = |i: usize| {
        let number = c.number(i)?;
        dtype.is_float().then(|| dtype.element(number.to_f64()) != as_number(dtype, number))
    };
    let wide = dtype != DType::F64 && (rounded(0) == Some(true) || rounded(1) == Some(true));
    let mut sides = [Tensor::Operand(0), Tensor::Operand(1)];
    if wide {
        for (i, side) in sides.iter_mut().enumerate() {
            if c.number(i).is_none() {
                let ty = c.ty(i)?.with_dtype(DType::F32);
                *side =
                    c.one("to.dtype", &[("self", (*side).into()), ("dtype", Arg::DType(DType::F32))], &[], Some(ty));
            }
        }
    }
    let result = c.result();
    let (tensor, right, left) = overloads;
    let [x, y] = sides;
    let (target, arguments) = match (c.number(0), c.number(1)) {
        (None, Some(_)) => (right, [("self", x.into()), ("other", Arg::Either(y))]),
        (Some(_), None) => (left, [("self", y.into()), ("other", Arg::Either(x))]),
        _ => (tensor, [("self", x.into()), ("other", y.into())]),
    };
    single(c.one(target, &arguments, &[], result))
}

/// What becomes of a number in front of a tensor.
pub(super) enum NumberFirst {
    /// There is an overload for it.
    As(&'static str),
    /// It may as well stand behind.
    Swapped,
    /// It becomes a tensor.
    AsTensor,
}

/// Operators of two operands whose overload says which of them is a number: of two `tensors`, of a tensor and a number behind it.
pub(super) fn overloaded(c: &mut Calls, tensors: &'static str, behind: &'static str, first: NumberFirst) -> Stated {
    of_two(c, "other", tensors, Some(behind), first)
}

/// PyTorch refuses a negative whole number as an exponent, and takes a tensor of it.
pub(super) fn power_call(c: &mut Calls) -> Stated {
    let refused = matches!(c.number(1), Some(Number::Int(n)) if n < 0);
    let behind = if refused { None } else { Some("pow.Tensor_Scalar") };
    of_two(c, "exponent", "pow.Tensor_Tensor", behind, NumberFirst::As("pow.Scalar"))
}

fn of_two(
    c: &mut Calls,
    second: &'static str,
    tensors: &'static str,
    behind: Option<&'static str>,
    first: NumberFirst,
) -> Stated {
    let [x, y] = [Tensor::Operand(0), Tensor::Operand(1)];
    let (target, arguments) = match (c.number(0), c.number(1), behind, first) {
        (None, Some(_), Some(behind), _) => (behind, [("self", x.into()), (second, Arg::Either(y))]),
        (Some(_), None, _, NumberFirst::As(front)) => (front, [("self", Arg::Either(x)), (second, y.into())]),
        (Some(_), None, Some(behind), NumberFirst::Swapped) => (behind, [("self", y.into()), (second, Arg::Either(x))]),
        _ => (tensors, [("self", x.into()), (second, y.into())]),
    };
    let result = c.result();
    single(c.one(target, &arguments, &[], result))
}

/// Overloads of a choice: with a number in either place.
pub(super) fn chosen(c: &mut Calls) -> Stated {
    let [condition, x, y] = [0, 1, 2].map(Tensor::Operand);
    let (target, x, y) = match (c.number(1), c.number(2)) {
        (None, Some(_)) => ("where.ScalarOther", Arg::Tensor(x), Arg::Either(y)),
        (Some(_), None) => ("where.ScalarSelf", Arg::Either(x), Arg::Tensor(y)),
        _ => ("where.self", Arg::Tensor(x), Arg::Tensor(y)),
    };
    let result = c.result();
    single(c.one(target, &[("condition", condition.into()), ("self", x), ("other", y)], &[], result))
}

/// PyTorch limits a tensor by a number, and takes the larger of two tensors. Which zero that gives is open in either form.
pub(super) fn larger_or_smaller(c: &mut Calls, target: &'static str, bound: &'static str) -> Stated {
    let tensor = match (c.number(0), c.number(1)) {
        (None, Some(_)) => Some((0, 1)),
        (Some(_), None) => Some((1, 0)),
        _ => None,
    };
    let result = c.result();
    if let Some((x, number)) = tensor.filter(|_| result.as_ref().is_some_and(|ty| ty.dtype != DType::Bool)) {
        let number = Arg::Either(Tensor::Operand(number));
        let limits =
            if bound == "min" { [("min", number), ("max", Arg::None)] } else { [("min", Arg::None), ("max", number)] };
        let [min, max] = limits;
        return single(c.one("clamp", &[("self", Tensor::Operand(x).into()), min, max], &[], result));
    }
    let arguments = [("self", Tensor::Operand(0).into()), ("other", Tensor::Operand(1).into())];
    single(c.one(target, &arguments, &[], result))
}

/// From one tensor to another one by a weight, a number or a tensor of their type.
pub(super) fn between(c: &mut Calls) -> Stated {
    let is_number = c.number(2).is_some();
    let [x, y, weight] = [0, 1, 2].map(Tensor::Operand);
    let (target, weight) =
        if is_number { ("lerp.Scalar", Arg::Either(weight)) } else { ("lerp.Tensor", weight.into()) };
    let result = c.result();
    single(c.one(target, &[("self", x.into()), ("end", y.into()), ("weight", weight)], &[], result))
}

/// PyTorch takes one dimension at a time, or all: from the last on, so that the others keep their place.
pub(super) fn product_of_all(c: &mut Calls) -> Stated {
    let mut dims: Ints = c.c.ints("dim").into();
    dims.sort_unstable_by(|a, b| b.cmp(a));
    let keep = c.c.bool("keepdim");
    if dims.len() == c.ty(0)?.rank() && !keep {
        let result = c.result();
        return single(c.one("prod", &[("self", c.x())], &[], result));
    }
    let mut at = Tensor::Operand(0);
    let mut ty = c.ty(0)?.with_dtype(c.ty(0)?.dtype.accumulator());
    for dim in if dims.is_empty() { Ints::from_elem(0, 1) } else { dims } {
        let place = usize::try_from(dim).map_err(|_| "has a negative dimension".to_owned())?;
        match ty.shape.get_mut(place) {
            Some(size) if keep => *size = 1,
            Some(_) => {
                ty.shape.remove(place);
            }
            None => {}
        }
        let positional = [("self", at.into()), ("dim", Arg::Int(dim)), ("keepdim", Arg::Bool(keep))];
        at = c.one("prod.dim_int", &positional, &[], Some(ty.clone()));
    }
    single(at)
}

/// PyTorch numbers the ways to reduce a loss.
pub(super) fn cross_entropy_call(c: &mut Calls) -> Stated {
    let reduction = match c.c.str("reduction") {
        "none" => 0,
        "mean" => 1,
        _ => 2,
    };
    let positional = [
        ("self", c.x()),
        ("target", Tensor::Operand(1).into()),
        ("weight", Arg::None),
        ("reduction", Arg::Int(reduction)),
    ];
    let result = c.result();
    single(c.one("cross_entropy_loss", &positional, &[], result))
}

pub(super) fn median_call(c: &mut Calls) -> Stated {
    let positional = [("self", c.x()), ("dim", c.attr("dim")), ("keepdim", c.attr("keepdim"))];
    let values = c.result();
    let results = [values.clone(), places(&values)];
    single(c.several("median.dim", &positional, &[], results))
}

/// Beside the sums, PyTorch gives what their gradients need, whose shapes differ between devices.
pub(super) fn bag_call(c: &mut Calls) -> Stated {
    let positional = [
        ("weight", c.x()),
        ("indices", Tensor::Operand(1).into()),
        ("offsets", Tensor::Operand(2).into()),
        ("scale_grad_by_freq", Arg::Bool(false)),
        ("mode", Arg::Int(i64::from(c.c.str("mode") == "mean"))),
    ];
    let (bags, indices) = (c.ty(2)?.with_dtype(DType::I64), c.ty(1)?.with_dtype(DType::I64));
    let results = [c.result(), Some(indices), Some(bags.clone()), Some(bags)];
    single(c.several("embedding_bag", &positional, &[], results))
}

/// As models write it: a copy of an expanded view.
pub(super) fn repeated_heads(c: &mut Calls) -> Stated {
    let x = c.ty(0)?.clone();
    let times = c.c.int("times");
    let mut apart = x.shape.clone();
    if apart.len() < 2 {
        return Err("needs an operand with a head dimension".to_owned());
    }
    apart.insert(2, 1);
    let mut expanded = apart.clone();
    expanded[2] = c.c.size("times");
    let sizes = ints(expanded.iter().map(|&d| d as i64));
    let apart = c.one("unsqueeze", &[("self", c.x()), ("dim", Arg::Int(2))], &[], shaped(&x, apart));
    let expanded = c.one("expand", &[("self", apart.into()), ("size", sizes)], &[], shaped(&x, expanded));
    let heads = x.shape.iter().enumerate().map(|(d, &size)| size as i64 * if d == 1 { times } else { 1 });
    let result = c.result();
    single(c.one("reshape", &[("self", expanded.into()), ("shape", ints(heads))], &[], result))
}

/// PyTorch's kernel takes rows of 16 bytes at a time.
pub(super) fn grouped(c: &mut Calls) -> Stated {
    for operand in 0..2 {
        let ty = c.ty(operand)?;
        if !(ty.shape.last().copied().unwrap_or(1) * ty.dtype.bytes()).is_multiple_of(16) {
            return Err(format!("takes rows of a multiple of 16 bytes, not those of {ty}"));
        }
    }
    let [x, w, ends] = [0, 1, 2].map(|i| Arg::Tensor(Tensor::Operand(i)));
    let result = c.result();
    single(c.one("_grouped_mm", &[("self", x), ("mat2", w), ("offs", ends)], &[], result))
}

/// A number is another overload than a tensor without dimensions.
pub(super) fn filled(c: &mut Calls) -> Stated {
    let value = Tensor::Operand(2);
    let (target, value) = match c.number(2) {
        Some(_) => ("masked_fill.Scalar", Arg::Either(value)),
        None => ("masked_fill.Tensor", Arg::Tensor(value)),
    };
    let positional = [("self", c.x()), ("mask", Tensor::Operand(1).into()), ("value", value)];
    let result = c.result();
    single(c.one(target, &positional, &[], result))
}

/// The attribute `pad`, which PyTorch wants from the last dimension on.
fn innermost_first(c: &Call) -> Arg<Tensor> {
    ints(c.ints("pad").chunks_exact(2).rev().flatten().copied())
}

/// The one of three names that has as many spatial dimensions as the list `size` has numbers.
fn by_dimensions(size: &[i64], names: [&'static str; 3]) -> Result<&'static str, String> {
    let name = size.len().checked_sub(1).and_then(|i| names.get(i));
    name.copied().ok_or_else(|| format!("has no form for {} dimensions", size.len()))
}

pub(super) fn mean_call(c: &mut Calls) -> Stated {
    let names = ["adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d"];
    let target = by_dimensions(c.c.ints("output_size"), names)?;
    let (positional, result) = ([("self", c.x()), ("output_size", c.attr("output_size"))], c.result());
    single(c.one(target, &positional, &[], result))
}

pub(super) fn maximum_call(c: &mut Calls) -> Stated {
    let names = ["adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d"];
    let target = by_dimensions(c.c.ints("output_size"), names)?;
    let (positional, values) = ([("self", c.x()), ("output_size", c.attr("output_size"))], c.result());
    let results = [values.clone(), places(&values)];
    single(c.several(target, &positional, &[], results))
}

pub(super) fn nearest_call(c: &mut Calls) -> Stated {
    let names = match c.c.bool("exact") {
        false => ["upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d"],
        true => ["_upsample_nearest_exact1d", "_upsample_nearest_exact2d", "_upsample_nearest_exact3d"],
    };
    let target = by_dimensions(c.c.ints("size"), names)?;
    let (positional, result) = ([("self", c.x()), ("output_size", c.attr("size"))], c.result());
    single(c.one(target, &positional, &[], result))
}

pub(super) fn linear_call(c: &mut Calls) -> Stated {
    let names = ["upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d"];
    let target = by_dimensions(c.c.ints("size"), names)?;
    let positional = [("self", c.x()), ("output_size", c.attr("size")), ("align_corners", c.attr("align_corners"))];
    let result = c.result();
    single(c.one(target, &positional, &[], result))
}

pub(super) fn antialiased_call(c: &mut Calls) -> Stated {
    let target = if c.c.str("mode") == "cubic" { "_upsample_bicubic2d_aa" } else { "_upsample_bilinear2d_aa" };
    let positional = [("self", c.x()), ("output_size", c.attr("size")), ("align_corners", c.attr("align_corners"))];
    let result = c.result();
    single(c.one(target, &positional, &[], result))
}

/// The attribute `value` of a call that makes a number.
pub(super) fn number_call(c: &mut Calls) -> Stated {
    let positional = [("size", ints([])), ("fill_value", c.attr("value"))];
    let (keyword, result) = ([("dtype", c.attr("dtype")), ("device", Arg::Device)], c.result());
    single(c.one("full", &positional, &keyword, result))
}

/// A padding by `last`: an attribute, or how elements beyond the edge are found.
pub(super) fn padded_call(c: &mut Calls, target: &'static str, last: &'static str) -> Stated {
    let positional = [("self", c.x()), ("pad", innermost_first(c.c)), (last, c.attr(last))];
    let result = c.result();
    single(c.one(target, &positional, &[], result))
}

/// Real and imaginary parts of numbers that the IR has no type for.
pub(super) fn eigenvalues_call(c: &mut Calls) -> Stated {
    let result = c.result();
    let all = c.one("linalg_eigvals", &[("self", c.x())], &[], None);
    let real = c.one("real", &[("self", all.into())], &[], result.clone());
    let imaginary = c.one("imag", &[("self", all.into())], &[], result);
    Ok([real, imaginary].into_iter().collect())
}

/// A function of two complex numbers: pairs are views of these.
pub(super) fn complex_call(c: &mut Calls, target: &'static str) -> Stated {
    let x = as_complex(c, 0);
    let y = as_complex(c, 1);
    let result = c.one(target, &[("self", x.into()), ("other", y.into())], &[], None);
    as_pairs(c, result)
}

pub(super) fn polar_call(c: &mut Calls) -> Stated {
    let result = c.one("polar", &[("abs", c.x()), ("angle", Tensor::Operand(1).into())], &[], None);
    as_pairs(c, result)
}

/// A Fourier transform.
pub(super) fn fourier_call(c: &mut Calls) -> Stated {
    let (name, norm) = (c.c.op.name, Arg::Int(norm_code(c.c)));
    let x = if name == "fft_r2c" { Tensor::Operand(0) } else { as_complex(c, 0) };
    let given =
        |last: &'static str, arg| [("self", x.into()), ("dim", c.attr("dims")), ("normalization", norm), (last, arg)];
    match name {
        "fft_c2r" => {
            let args = given("last_dim_size", c.attr("length"));
            single(c.one("_fft_c2r", &args, &[], c.result()))
        }
        "fft_r2c" => {
            let args = given("onesided", c.attr("onesided"));
            let result = c.one("_fft_r2c", &args, &[], None);
            as_pairs(c, result)
        }
        _ => {
            let args = given("forward", c.attr("forward"));
            let result = c.one("_fft_c2c", &args, &[], None);
            as_pairs(c, result)
        }
    }
}

fn as_complex(c: &mut Calls, operand: usize) -> Tensor {
    c.one("view_as_complex", &[("self", Tensor::Operand(operand).into())], &[], None)
}

fn as_pairs(c: &mut Calls, complex: Tensor) -> Stated {
    let result = c.result();
    single(c.one("view_as_real", &[("self", complex.into())], &[], result))
}

/// PyTorch's code for the norm.
pub(super) fn norm_code(c: &Call) -> i64 {
    match c.str("norm") {
        "root_n" => 1,
        "n" => 2,
        _ => 0,
    }
}
