//! Triton kernels of the user's, as files of PyTorch call them.
//!
//! A call names the kernel by its name and by a hash over its code and the numbers that it was compiled for. Numbers that it is
//! given when it runs are left out of the file: two calls that look alike may compute different things. A kernel reads memory,
//! so that what it computes depends on how its operands lie there, too.

use crate::frontend::pt2::argument::{Argument, Number};
use crate::frontend::pt2::lowering::{Converted, NodeLowering, Refusal};
use crate::frontend::pt2::target::TRITON;
use crate::ir::{AttrValue, Value};

/// Says neither which kernel it calls, but for a number of the process that wrote the file, nor which tensors that one writes.
const UNNAMED: &str = "torch.ops.higher_order.triton_kernel_wrapper_mutation";

/// Attributes of every call. A parameter of one of these names is called after its position.
const ABOUT: [&str; 4] = ["kernel", "grid", "strides", "call"];

/// Digits of the hash behind the name.
const HASH: usize = 64;

/// Why a call cannot be read, if so.
pub(in crate::frontend::pt2) fn refusal(target: &str) -> Option<Refusal> {
    let unnamed = || Refusal::new("calls a Triton kernel, and the file says neither which one nor what it writes");
    (target == UNNAMED).then(|| unnamed().help("export with `run_decompositions({})`, whose files name the kernel"))
}

/// The call of a kernel as an operator `triton.NAME`. Its operands are the tensors in the order of the kernel's parameters,
/// its results the new contents of those that it writes.
pub(super) fn kernel(site: &mut NodeLowering) -> Converted {
    if site.node.target != TRITON {
        return Ok(None);
    }
    let parameters = match argument(site, "kernel_param_names") {
        Some(Argument::Other(_, text)) => serde_json::from_str::<Vec<String>>(text).ok(),
        _ => None,
    };
    let (name, hash) = match argument(site, "name") {
        Some(Argument::Str(full_name)) => named(full_name),
        _ => ("unnamed", ""),
    };
    let mut attrs = vec![("kernel".to_owned(), AttrValue::str(hash))];
    if let Some(Argument::Ints(grid)) = argument(site, "grid") {
        let known = |size: &Number<i64>| match size {
            Number::Known(size) => Ok(*size),
            Number::Symbolic(name) => Err(Refusal::symbolic(name)),
        };
        attrs.push(("grid".to_owned(), AttrValue::Ints(grid.iter().map(known).collect::<Result<_, _>>()?)));
    }
    let mut operands: Vec<Value> = Vec::new();
    let mut strides = Some(Vec::new());
    let given = site.node.inputs.iter().filter(|input| input.name.is_empty()).map(|input| &input.arg);
    for (place, arg) in given.clone().enumerate() {
        let name = parameters.as_ref().and_then(|all| all.get(place)).filter(|name| !ABOUT.contains(&name.as_str()));
        let name = name.cloned().unwrap_or_else(|| format!("arg{place}"));
        match arg {
            Argument::Tensor(tensor) => {
                let value = site.value(tensor)?;
                operands.push(value);
                match (site.scope.layout(tensor), &mut strides) {
                    (Some(layout), Some(_)) if layout.is_contiguous(&site.ty(value).shape) => {}
                    (Some(layout), Some(all)) => all.push(format!("{name}: {:?}", layout.strides)),
                    _ => strides = None,
                }
            }
            number => attrs.push((name, number.constant()?)),
        }
    }
    let is_known = strides.is_some();
    attrs.push(("strides".to_owned(), AttrValue::str(&strides.unwrap_or_default().join(", "))));
    if hash.is_empty() || !is_known || parameters.is_none_or(|all| all.len() != given.count()) {
        // Equal to itself only: the same call of the same file.
        let call = format!("{} {}", site.graph.name, site.name);
        attrs.push(("call".to_owned(), AttrValue::str(&call)));
    }
    let types = site.output_names().map(|name| site.scope.stated(name)).collect::<Result<Vec<_>, _>>()?;
    site.opaque(&format!("triton.{name}"), attrs, &operands, types).map(Some)
}

fn argument<'s>(site: &NodeLowering<'s, '_>, name: &str) -> Option<&'s Argument> {
    site.node.inputs.iter().find(|input| input.name == name).map(|input| &input.arg)
}

/// A kernel's name and the hash behind it, which is empty if there is none.
fn named(full_name: &str) -> (&str, &str) {
    let is_hash = |text: &str| text.len() == HASH && text.bytes().all(|b| b.is_ascii_hexdigit());
    full_name.rsplit_once('_').filter(|(_, hash)| is_hash(hash)).unwrap_or((full_name, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_no_part_of_the_name() {
        let hash = "6da7dc6db46212dd2c4b30871fb414838dd737fff7ad4963f48d627995a9f839";
        assert_eq!(named(&format!("scaled_sum_{hash}")), ("scaled_sum", hash));
        assert_eq!(named("scaled_sum"), ("scaled_sum", ""));
        assert_eq!(named(&hash[1..]), (&hash[1..], ""));
    }
}
