//! Matrix products.

use super::super::lowering::{Converted, NodeLowering, Scalar};
use super::super::target::Target;
use crate::frontend::einsum;

pub(super) fn convert(site: &mut NodeLowering, target: Target) -> Converted {
    let operands = match target.name {
        "matmul" | "linalg_matmul" => [site.tensor("self")?, site.tensor("other")?],
        "mm" | "bmm" if target.overload.is_empty() => [site.tensor("self")?, site.tensor("mat2")?],
        "mv" => [site.tensor("self")?, site.tensor("vec")?],
        "dot" => [site.tensor("self")?, site.tensor("tensor")?],
        // Of real numbers, it is the same.
        "vdot" => [site.tensor("self")?, site.tensor("other")?],
        "linear" => {
            let mut operands = vec![site.tensor("input")?, site.tensor("weight")?];
            operands.extend(site.maybe_tensor("bias")?);
            return site.emit("linear", &[], &operands);
        }
        "einsum" => return einsum(site),
        "_grouped_mm" if !site.given("bias") && !site.given("out_dtype") && site.given("offs") => {
            let operands = [site.tensor("self")?, site.tensor("mat2")?, site.tensor("offs")?];
            let ranks = (site.rank(operands[0]), site.rank(operands[1]));
            return if ranks == (2, 3) { site.emit("grouped_mm", &[], &operands) } else { Ok(None) };
        }
        "addmm" if target.overload.is_empty() => return biased(site, "addmm", ["mat1", "mat2"]),
        "baddbmm" if target.overload.is_empty() => return biased(site, "baddbmm", ["batch1", "batch2"]),
        _ => return Ok(None),
    };
    site.emit("matmul", &[], &operands)
}

/// `beta * self + alpha * (x @ y)`.
fn biased(site: &mut NodeLowering, op: &str, [x, y]: [&str; 2]) -> Converted {
    let operands = [site.tensor("self")?, site.tensor(x)?, site.tensor(y)?];
    let attrs = [
        ("beta", site.maybe_scalar("beta")?.unwrap_or(Scalar::Int(1)).value().into()),
        ("alpha", site.maybe_scalar("alpha")?.unwrap_or(Scalar::Int(1)).value().into()),
    ];
    site.emit(op, &attrs, &operands)
}

fn einsum(site: &mut NodeLowering) -> Converted {
    let Some(equation) = site.str("equation") else { return Ok(None) };
    let (path, tensors) = (site.maybe_ints("path")?, site.tensors("tensors")?);
    einsum::einsum(&mut site.lowering, equation, path.as_deref(), &tensors)
}
