//! Matrix products.

use super::super::site::{Converted, Site};
use super::Target;
use crate::ir::AttrValue;

pub(super) fn convert(site: &mut Site, target: Target) -> Converted {
    let operands = match target.name {
        "matmul" | "linalg_matmul" => [site.tensor("self")?, site.tensor("other")?],
        "mm" | "bmm" if target.overload.is_empty() => [site.tensor("self")?, site.tensor("mat2")?],
        "mv" => [site.tensor("self")?, site.tensor("vec")?],
        "dot" => [site.tensor("self")?, site.tensor("tensor")?],
        "linear" => {
            let mut operands = vec![site.tensor("input")?, site.tensor("weight")?];
            operands.extend(site.maybe_tensor("bias")?);
            return site.explicit("linear", &[], &operands);
        }
        "addmm" if target.overload.is_empty() => return biased(site, "addmm", ["mat1", "mat2"]),
        "baddbmm" if target.overload.is_empty() => return biased(site, "baddbmm", ["batch1", "batch2"]),
        _ => return Ok(None),
    };
    site.explicit("matmul", &[], &operands)
}

/// `beta * self + alpha * (x @ y)`.
fn biased(site: &mut Site, op: &str, [x, y]: [&str; 2]) -> Converted {
    let operands = [site.tensor("self")?, site.tensor(x)?, site.tensor(y)?];
    let attrs = [
        ("beta", AttrValue::float(site.float_or("beta", 1.0)?)),
        ("alpha", AttrValue::float(site.float_or("alpha", 1.0)?)),
    ];
    site.explicit(op, &attrs, &operands)
}
