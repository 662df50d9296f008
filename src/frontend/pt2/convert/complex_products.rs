//! Products of complex matrices: four products of real ones.

use super::super::lowering::{Converted, NodeLowering, Refusal, int};
use super::super::target::Target;
use super::complex_parts::part;
use crate::frontend::builder::Lowering;
use crate::frontend::einsum;
use crate::ir::Value;

/// Converts a product of two complex tensors. The library's kernel adds in an order of its own.
pub(super) fn convert(site: &mut NodeLowering, target: Target) -> Converted {
    let Some((equation, operands)) = product(site, target)? else { return Ok(None) };
    let [x, y] = operands;
    let [x_real, x_imaginary] = [part(site, "part", x, 0)?, part(site, "part", x, 1)?];
    let [y_real, y_imaginary] = [part(site, "part", y, 0)?, part(site, "part", y, 1)?];
    let mut of = |x: Value, y: Value| real_product(site, &equation, [x, y]);
    let products =
        [of(x_real, y_real)?, of(x_imaginary, y_imaginary)?, of(x_real, y_imaginary)?, of(x_imaginary, y_real)?];
    let [Some(a), Some(b), Some(c), Some(d)] = products else { return Ok(None) };
    let real = site.implicit("real", "sub", &[], &[a, b])?;
    let imaginary = site.implicit("imaginary", "add", &[], &[c, d])?;
    let last = [("dim", int(site.rank(real) as i64))];
    let real = site.implicit("real", "unsqueeze", &last, &[real])?;
    let imaginary = site.implicit("imaginary", "unsqueeze", &last, &[imaginary])?;
    site.emit_fused("concat", &last, &[real, imaginary])
}

/// The sum of products that the operator is, over dimensions without that of the parts, and its operands.
fn product(site: &mut NodeLowering, target: Target) -> Result<Option<(String, [Value; 2])>, Refusal> {
    let (equation, operands) = match (target.name, target.overload) {
        ("einsum", "") => {
            let names: Vec<&str> = site.node.inputs.iter().flat_map(|i| i.arg.tensors()).collect();
            if !names.iter().all(|name| site.scope.is_complex(name)) {
                return Ok(None);
            }
            let Some(equation) = site.str("equation") else { return Ok(None) };
            (equation.to_owned(), site.tensors("tensors")?)
        }
        ("mm" | "bmm" | "matmul", "") => {
            let names = ["self", if target.name == "matmul" { "other" } else { "mat2" }];
            if !names.iter().all(|name| site.argument_is_complex(name)) {
                return Ok(None);
            }
            let operands = [site.tensor(names[0])?, site.tensor(names[1])?];
            // With the dimension of the parts.
            if operands.iter().any(|&x| site.rank(x) < 3) {
                return Ok(None);
            }
            ("...ij,...jk->...ik".to_owned(), operands.to_vec())
        }
        _ => return Ok(None),
    };
    Ok(<[Value; 2]>::try_from(operands).ok().map(|operands| (equation, operands)))
}

fn real_product(site: &mut NodeLowering, equation: &str, operands: [Value; 2]) -> Result<Option<Value>, Refusal> {
    let own = &mut site.lowering;
    let name = own.names.fresh(&format!("{}.product", own.name));
    let mut lowering = Lowering { graph: own.graph, names: own.names, name: &name, origin: own.origin.clone() };
    Ok(einsum::einsum(&mut lowering, equation, None, &operands)?.and_then(|values| values.first().copied()))
}
