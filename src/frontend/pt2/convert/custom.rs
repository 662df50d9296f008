//! Operators outside of the op table: opaque nodes, equal only to themselves on equal operands.

use std::sync::Arc;

use super::Target;
use crate::frontend::pt2::argument::{Argument, Number};
use crate::frontend::pt2::dtype::dtype;
use crate::frontend::pt2::mutation;
use crate::frontend::pt2::site::{Refusal, Site, Values};
use crate::ir::{AttrValue, Attrs, Value};
use crate::ops::{CustomOp, Op};

/// Operators that draw random numbers, or give memory as they find it: two calls with the same arguments give different
/// tensors.
fn is_random(name: &str) -> bool {
    const RANDOM: [&str; 18] = [
        "alpha_dropout",
        "bernoulli",
        "binomial",
        "cauchy",
        "dropout",
        "exponential",
        "feature_alpha_dropout",
        "feature_dropout",
        "geometric",
        "log_normal",
        "multinomial",
        "native_dropout",
        "normal",
        "normal_functional",
        "poisson",
        "random",
        "rrelu",
        "uniform",
    ];
    let attention = name.contains("scaled_dot_product");
    let starts = ["empty", "new_empty", "rand", "_philox"].into_iter().any(|start| name.starts_with(start));
    RANDOM.contains(&name) || starts || attention
}

/// A node named after the operator, with the output types that the file states. Tensor arguments are its operands,
/// everything else its attributes.
pub(super) fn opaque(site: &mut Site, target: Target, draws: &mut i64) -> Result<Values, Refusal> {
    if target.namespace != "aten" && mutation::functional_name(target.name).is_some() {
        return Err(Refusal::new("changes its argument in place, by its name")
            .help("only PyTorch's own in-place operators are understood; use a functional form"));
    }
    let mut operands: Vec<Value> = Vec::new();
    let mut names: Vec<String> = Vec::new();
    let mut attrs = Attrs::new();
    let mut attr = |name: &str, value: AttrValue| {
        names.push(name.to_owned());
        attrs.push(value);
    };
    for (position, input) in site.node.inputs.iter().enumerate() {
        // Arguments of higher-order operators have no names.
        let name = if input.name.is_empty() { format!("arg{position}") } else { input.name.clone() };
        let arg = &input.arg;
        if let Some(symbol) = arg.symbol() {
            return Err(Refusal::symbolic(symbol));
        }
        match arg {
            Argument::Tensor(tensor) => operands.push(site.scope.value(tensor)?),
            Argument::Tensors(_) => {
                let tensors = site_values(site, arg)?;
                // The length tells where this list ends and the next operand begins.
                attr(&name, AttrValue::Int(tensors.len() as i64));
                operands.extend(tensors);
            }
            Argument::OptionalTensors(tensors) => {
                let given = tensors.iter().map(|t| i64::from(t.is_some())).collect();
                attr(&name, AttrValue::Ints(given));
                operands.extend(site_values(site, arg)?);
            }
            // Where a tensor lies does not change what is computed.
            Argument::Device | Argument::Layout => {}
            _ if name == "pin_memory" => {}
            _ => attr(&name, attribute(arg)?),
        }
    }
    if target.namespace == "aten" && is_random(target.name) {
        attr("draw", AttrValue::Int(*draws));
        *draws += 1;
    }
    let types = site.output_names().map(|name| site.scope.stated(name)).collect::<Result<Vec<_>, _>>()?;
    let name = match target {
        Target { namespace: "", name, .. } => name.to_owned(),
        Target { namespace, name, overload: "" } => format!("{namespace}.{name}"),
        Target { namespace, name, overload } => format!("{namespace}.{name}.{overload}"),
    };
    let op = Op::Custom(Arc::new(CustomOp { name, attrs: names }));
    let id = site.graph.add_custom(site.name, op, attrs, &operands, types, site.origin.clone())?;
    Ok((0..site.graph.node(id).types.len() as u32).map(|slot| Value::new(id, slot)).collect())
}

fn site_values(site: &Site, arg: &Argument) -> Result<Vec<Value>, Refusal> {
    arg.tensors().into_iter().map(|name| site.scope.value(name)).collect()
}

fn attribute(arg: &Argument) -> Result<AttrValue, Refusal> {
    Ok(match arg {
        Argument::None => AttrValue::None,
        Argument::Int(Number::Known(n)) => AttrValue::Int(*n),
        Argument::Float(Number::Known(f)) => AttrValue::float(*f),
        Argument::Bool(Number::Known(b)) => AttrValue::Bool(*b),
        Argument::Str(text) => AttrValue::str(text),
        Argument::ScalarType(code) => AttrValue::DType(dtype(*code)?),
        Argument::Ints(all) => AttrValue::Ints(
            all.iter()
                .map(|n| match n {
                    Number::Known(n) => Ok(*n),
                    Number::Symbolic(name) => Err(Refusal::symbolic(name)),
                })
                .collect::<Result<_, _>>()?,
        ),
        // The IR has no attributes of these kinds; the text tells different arguments apart.
        Argument::Bools(all) => AttrValue::str(&format!("{all:?}")),
        Argument::Other(tag, text) => AttrValue::str(&format!("{tag} {text}")),
        Argument::Graph(g) => {
            AttrValue::str(&format!("{:?} {:?} {:?}", g.graph.inputs, g.graph.nodes, g.graph.outputs))
        }
        other => AttrValue::str(&format!("{other:?}")),
    })
}
