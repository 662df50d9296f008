//! Sums with products of vectors and matrices in them, and powers of matrices.

use super::super::lowering::{Converted, NodeLowering, Refusal, Scalar, int, ints};
use super::super::target::Target;
use crate::ir::{AttrValue, DType, Value};

/// The largest power that is written out.
const LARGEST_POWER: i64 = 64;

pub(super) fn convert(site: &mut NodeLowering, target: Target) -> Converted {
    match (target.name, target.overload) {
        ("addr", "") => {
            let (a, b) = (site.tensor("vec1")?, site.tensor("vec2")?);
            if !of_one_type(site, &["self", "vec1", "vec2"])? {
                return Ok(None);
            }
            let column = site.implicit("column", "unsqueeze", &[("dim", int(1))], &[a])?;
            let product = if site.dtype(a) == DType::Bool { "logical_and" } else { "mul" };
            let product = site.implicit("product", product, &[], &[column, b])?;
            weighed(site, product)
        }
        ("addmv", "") if of_one_type(site, &["self", "mat", "vec"])? => {
            let (a, b) = (site.tensor("mat")?, site.tensor("vec")?);
            let product = site.step("matmul", &[], &[a, b])?;
            weighed(site, product)
        }
        ("addbmm", "") if of_one_type(site, &["self", "batch1", "batch2"])? => {
            let (a, b) = (site.tensor("batch1")?, site.tensor("batch2")?);
            let products = site.step("matmul", &[], &[a, b])?;
            let sum = site.implicit("sum", "sum", &[("dim", ints(&[0]))], &[products])?;
            weighed(site, sum)
        }
        ("linalg_matrix_power" | "matrix_power", "") => power(site),
        ("linalg_vander", "") => powers(site),
        _ => Ok(None),
    }
}

fn of_one_type(site: &NodeLowering, names: &[&str]) -> Result<bool, Refusal> {
    let first = site.dtype(site.tensor(names[0])?);
    for name in names {
        let dtype = site.dtype(site.tensor(name)?);
        if dtype != first {
            return Ok(false);
        }
    }
    Ok(true)
}

/// `beta * self + alpha * product`; where `beta` is 0, `self` is not read.
fn weighed(site: &mut NodeLowering, product: Value) -> Converted {
    let (x, dtype, shape) = (site.tensor("self")?, site.dtype(product), site.ty(product).shape);
    let factor = |site: &NodeLowering, name| Ok::<_, Refusal>(site.maybe_scalar(name)?.unwrap_or(Scalar::Int(1)));
    let (beta, alpha) = (factor(site, "beta")?, factor(site, "alpha")?);
    let is = |factor: Scalar, n: f64| factor.value().to_f64() == n;
    if dtype == DType::Bool {
        return match (is(beta, 0.0), is(alpha, 0.0)) {
            (false, false) => site.emit("logical_or", &[], &[x, product]),
            (true, false) => site.emit("alias", &[], &[product]),
            _ => Ok(None),
        };
    }
    let scaled = |site: &mut NodeLowering, part: &str, value: Value, factor: Scalar| {
        if is(factor, 1.0) {
            return Ok(value);
        }
        let factor = site.literal(part, factor, dtype)?;
        site.implicit(part, "mul", &[], &[value, factor])
    };
    let product = scaled(site, "alpha", product, alpha)?;
    if is(beta, 0.0) {
        return site.emit("expand", &[("shape", AttrValue::shape(&shape))], &[product]);
    }
    let x = scaled(site, "beta", x, beta)?;
    site.emit_fused("add", &[], &[x, product])
}

/// A product of a matrix with itself, in the order that PyTorch takes: squares, and the squares that the power has bits for.
fn power(site: &mut NodeLowering) -> Converted {
    let x = site.tensor(if site.given("A") { "A" } else { "self" })?;
    let n = site.int("n")?;
    let is_square = matches!(site.ty(x).shape[..], [.., a, b] if a == b);
    if !(1..=LARGEST_POWER).contains(&n) || !is_square {
        return Ok(None);
    }
    if n == 1 {
        return site.emit("clone", &[], &[x]);
    }
    let times = |site: &mut NodeLowering, a: Value, b: Value| site.implicit("product", "matmul", &[], &[a, b]);
    if n == 3 {
        let square = times(site, x, x)?;
        return site.emit("matmul", &[], &[square, x]);
    }
    let (mut square, mut result, mut left) = (x, None, n);
    loop {
        if left & 1 == 1 {
            result = match result {
                None => Some(square),
                Some(result) if left == 1 => return site.emit("matmul", &[], &[result, square]),
                Some(result) => Some(times(site, result, square)?),
            };
        }
        left >>= 1;
        if left == 1 && result.is_none() {
            return site.emit("matmul", &[], &[square, square]);
        }
        square = times(site, square, square)?;
    }
}

/// The powers of each element from 0 upwards, in a last dimension.
fn powers(site: &mut NodeLowering) -> Converted {
    let x = site.tensor("x")?;
    let (shape, dtype) = (site.stated(0)?.shape, site.dtype(x));
    let Some(&count) = shape.last().filter(|&&count| count > 1) else { return Ok(None) };
    if !(dtype.is_float() || dtype == DType::I64) || site.rank(x) + 1 != shape.len() {
        return Ok(None);
    }
    let (last, mut ones) = (site.rank(x) as i64, shape.clone());
    let mut repeated = shape.clone();
    if let (Some(one), Some(others)) = (ones.last_mut(), repeated.last_mut()) {
        (*one, *others) = (1, count - 1);
    }
    let one = Scalar::Int(1).beside(dtype).into();
    let attrs = [("shape", AttrValue::shape(&ones)), ("value", one), ("dtype", AttrValue::DType(dtype))];
    let first = site.implicit("first", "full", &attrs, &[])?;
    let each = site.implicit("each", "unsqueeze", &[("dim", int(last))], &[x])?;
    let each = site.implicit("each", "expand", &[("shape", AttrValue::shape(&repeated))], &[each])?;
    let rest = site.implicit("rest", "cumprod", &[("dim", int(last))], &[each])?;
    if site.dtype(rest) != dtype {
        return Ok(None);
    }
    site.emit("concat", &[("dim", int(last))], &[first, rest])
}
