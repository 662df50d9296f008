//! Turns operators of the file into operators of the op table, one file per family.
//!
//! Every family function gets the operator's name without its overload, and gives `None` for what it does not cover.
//! An operator that no family covers becomes an opaque node.

mod aliases;
mod assembled;
mod attention;
mod backward;
mod complex;
mod complex_parts;
mod complex_products;
mod compositions;
mod conv;
mod create;
mod custom;
mod elementwise;
mod formula;
mod fourier;
mod functions;
mod gradients;
mod index;
mod length;
mod linear;
mod losses;
mod margins;
mod norm;
mod pairs;
mod places;
mod pointwise;
mod products;
mod promote;
mod quantise;
mod real;
mod rearrange;
mod recurrent;
mod reduce;
mod sequence;
mod signs;
mod solvers;
mod spans;
mod storage;
mod triton;
mod view;
mod windows;

pub(super) use custom::FUNCTIONALISED;
pub(super) use triton::refusal;

use super::lowering::{Converted, NodeLowering, Refusal, Values};
use super::mutation::functional_name;
use super::target::Target;
use crate::ir::Value;

/// Converts one operator. `draws` counts the calls so far that draw, and `written` holds what tensors hold that the operator
/// writes.
///
/// What an operator writes follows its results. In-place operators are converted as what they compute; the caller puts the
/// result where it belongs.
pub(super) fn convert(site: &mut NodeLowering, draws: &mut i64, written: &[Value]) -> Result<Values, Refusal> {
    let target = aliases::usual(Target::of(&site.node.target));
    if let Some(values) = triton::kernel(site)? {
        return Ok(values);
    }
    if target.namespace != "aten" || site.casts.happen_inside {
        return custom::opaque(site, target, draws, written);
    }
    let in_place = functional_name(target.name).filter(|_| site.output_names().count() == 1);
    match (in_place, written) {
        (None, []) => match families(site, target)? {
            Some(values) => Ok(values),
            None => custom::opaque(site, target, draws, written),
        },
        (Some(functional), [_]) => {
            let target = Target { name: &functional, ..target };
            let values = match families(site, target)? {
                Some(values) => values,
                None => custom::opaque(site, target, draws, &[])?,
            };
            // The result is stored in the element type of what it replaces.
            let dtype = site.stated(0)?.dtype;
            match values[..] {
                [value] => Ok(Values::from_elem(site.cast("stored", value, dtype)?, 1)),
                _ => Ok(values),
            }
        }
        (None, [old]) => {
            let functional = without_out(site, target).filter(|_| site.output_names().count() == 1);
            let values = match functional {
                Some(functional) if fits_out(site, *old)? => families(site, functional)?,
                _ => None,
            };
            match values.as_deref() {
                // In the element type of what it is written to, and in its place, as of an operator that works in place.
                Some(&[value]) => Ok(Values::from_elem(site.cast("stored", value, site.ty(*old).dtype)?, 1)),
                _ => custom::opaque(site, target, draws, written),
            }
        }
        _ => match norm::keeping_statistics(site, target)? {
            Some(values) => Ok(values),
            None => custom::opaque(site, target, draws, written),
        },
    }
}

/// The operator that gives what this one writes to `out`, if it is of that kind.
fn without_out<'t>(site: &NodeLowering, target: Target<'t>) -> Option<Target<'t>> {
    let overload = match target.overload {
        // The one of two tensors has a name of its own.
        "out" if site.given("other") => "other",
        "out" => "",
        named => named.strip_suffix("_out").or_else(|| named.strip_prefix("out_"))?,
    };
    Some(Target { overload, ..target })
}

/// Whether the result has the type of `old`, to which it is written, and the operands its element type. Another shape resizes
/// that tensor, which is then no view any more; in another element type, the operator may compute in that one.
fn fits_out(site: &NodeLowering, old: Value) -> Result<bool, Refusal> {
    let ty = site.ty(old);
    for name in site.node.inputs.iter().flat_map(|input| input.arg.tensors()) {
        if site.ty(site.value(name)?).dtype != ty.dtype {
            return Ok(false);
        }
    }
    Ok(site.stated(0)? == ty)
}

/// Converts an operator that changes the shape of its argument and not its elements. `None` if it is not known as a view.
pub(super) fn reshaped(site: &mut NodeLowering) -> Converted {
    let target = Target::of(&site.node.target);
    match functional_name(target.name) {
        Some(functional) if target.namespace == "aten" => families(site, Target { name: &functional, ..target }),
        _ => Ok(None),
    }
}

fn families(site: &mut NodeLowering, target: Target) -> Converted {
    match site.scope.handles_complex(site.node) {
        true => complex::convert(site, target),
        false => real::convert(site, target),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_split_into_their_parts() {
        let parts = |t| {
            let Target { namespace, name, overload } = Target::of(t);
            [namespace, name, overload]
        };
        assert_eq!(parts("torch.ops.aten.add.Tensor"), ["aten", "add", "Tensor"]);
        assert_eq!(parts("torch.ops.vllm.silu_and_mul.default"), ["vllm", "silu_and_mul", ""]);
        assert_eq!(parts("torch.ops.higher_order.cond"), ["higher_order", "cond", ""]);
        assert_eq!(parts("nonsense"), ["", "nonsense", ""]);
    }
}
