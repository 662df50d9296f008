//! Operators outside of the op table: opaque nodes, equal only to themselves on equal operands.

use super::super::target::Target;
use crate::frontend::pt2::argument::{Argument, Number};
use crate::frontend::pt2::dtype::{complex_part, dtype};
use crate::frontend::pt2::lowering::{NodeLowering, Refusal, Values};
use crate::frontend::pt2::nested;
use crate::frontend::pt2::schema::POSITIONAL;
use crate::ir::{AttrValue, Value};
use crate::ops::DRAW;

/// A node named after the operator, with the output types that the file states. Tensor arguments are its operands,
/// everything else its attributes. The new contents of what it writes are further outputs.
pub(super) fn opaque(
    site: &mut NodeLowering,
    target: Target,
    draws: &mut i64,
    written: &[Value],
) -> Result<Values, Refusal> {
    let mut operands: Vec<Value> = Vec::new();
    let mut attrs: Vec<(String, AttrValue)> = Vec::new();
    let mut by_name: Vec<&str> = Vec::new();
    let functionalised = functionalised(site);
    let target = functionalised.as_deref().map_or(target, Target::of);
    for (position, input) in site.node.inputs.iter().enumerate().skip(usize::from(functionalised.is_some())) {
        // Arguments of higher-order operators have no names.
        let name = if input.name.is_empty() { format!("arg{position}") } else { input.name.clone() };
        let arg = &input.arg;
        if let Some(symbol) = arg.symbol() {
            return Err(Refusal::symbolic(symbol));
        }
        if matches!(arg, Argument::Tensor(_)) && input.kind != Some(POSITIONAL) && functionalised.is_none() {
            by_name.push(&input.name);
        }
        match arg {
            // Where a tensor lies does not change what is computed.
            Argument::Device(_) | Argument::Layout => {}
            _ if name == "pin_memory" => {}
            _ => argument(site, &name, arg, &mut operands, &mut attrs)?,
        }
    }
    if !by_name.is_empty() && by_name != ["self"] {
        // Which argument a tensor is: those in between may be left out.
        attrs.push(("by_name".to_owned(), AttrValue::str(&by_name.join(" "))));
    }
    if target.name.starts_with("as_strided") {
        storage(site, &mut operands, &mut attrs)?;
    }
    let complex = complex_places(site);
    if !complex.is_empty() {
        attrs.push(("complex".to_owned(), AttrValue::str(&complex)));
    }
    if let Some(mode) = &site.casts.mode {
        attrs.push(("autocast".to_owned(), AttrValue::str(mode)));
    }
    if nested::draws(site.node) {
        attrs.push((DRAW.to_owned(), AttrValue::Int(*draws)));
        *draws += 1;
    }
    let results = site.output_names().map(|name| site.scope.stated(name)).collect::<Result<Vec<_>, _>>()?;
    let types: Vec<_> = results.into_iter().chain(written.iter().map(|&v| site.ty(v))).collect();
    site.opaque(&target.full_name(), attrs, &operands, types)
}

/// Which of the tensors that go in and come out hold complex numbers: pairs alone could as well be real numbers.
fn complex_places(site: &NodeLowering) -> String {
    let named =
        site.node.inputs.iter().flat_map(|i| i.arg.tensors()).enumerate().map(|(i, name)| (format!("in {i}"), name));
    let results = site.output_names().enumerate().map(|(i, name)| (format!("out {i}"), name));
    let complex = named.chain(results).filter(|(_, name)| site.scope.is_complex(name)).map(|(place, _)| place);
    complex.collect::<Vec<_>>().join(", ")
}

/// Calls another operator on copies of what that one writes, and gives its results and then the new contents of the copies. No
/// result shares memory with an argument. The arguments are given by name, in the order of the operator's schema.
pub(in crate::frontend::pt2) const FUNCTIONALISED: &str = "torch.ops.higher_order.auto_functionalized";

/// The operator that [`FUNCTIONALISED`] calls.
fn functionalised(site: &NodeLowering) -> Option<String> {
    let first = site.node.inputs.first().filter(|_| site.node.target == FUNCTIONALISED)?;
    match &first.arg {
        Argument::Other(tag, text) if tag == "as_operator" => serde_json::from_str(text).ok(),
        _ => None,
    }
}

fn argument(
    site: &NodeLowering,
    name: &str,
    arg: &Argument,
    operands: &mut Vec<Value>,
    attrs: &mut Vec<(String, AttrValue)>,
) -> Result<(), Refusal> {
    let attr = match arg {
        Argument::Tensor(tensor) => {
            operands.push(site.value(tensor)?);
            return Ok(());
        }
        // The length tells where this list ends and the next operand begins.
        Argument::Tensors(tensors) => AttrValue::Int(tensors.len() as i64),
        Argument::OptionalTensors(tensors) => AttrValue::Ints(tensors.iter().map(|t| i64::from(t.is_some())).collect()),
        Argument::NestedTensors(all) => AttrValue::Ints(all.iter().map(|l| l.len() as i64).collect()),
        Argument::Map(all) => {
            for (key, arg) in all {
                let name = format!("{name}.{key}");
                if let Argument::Tensor(_) = arg {
                    attrs.push((name.clone(), AttrValue::str("tensor")));
                }
                argument(site, &name, arg, operands, attrs)?;
            }
            return Ok(());
        }
        _ => attribute(arg)?,
    };
    operands.extend(site_values(site, arg)?);
    attrs.push((name.to_owned(), attr));
    Ok(())
}

/// `as_strided` reads memory by position, whatever view of it is given: its operand is all of the memory.
fn storage(site: &NodeLowering, operands: &mut [Value], attrs: &mut Vec<(String, AttrValue)>) -> Result<(), Refusal> {
    let unknown = || Refusal::new("reads memory by position, and it is not known how its operand lies there");
    let first = site.node.inputs.first().map(|i| &i.arg);
    let (Some(Argument::Tensor(name)), Some(operand)) = (first, operands.first_mut()) else { return Err(unknown()) };
    let (whole, lies) = site.scope.storage(site.memory, name)?.ok_or_else(unknown)?;
    let own = site.scope.layout(name).ok_or_else(unknown)?;
    *operand = whole;
    attrs.push(("memory".to_owned(), AttrValue::shape(&lies.strides)));
    attrs.push(("from".to_owned(), AttrValue::shape(&[lies.offset, own.offset])));
    Ok(())
}

fn site_values(site: &NodeLowering, arg: &Argument) -> Result<Vec<Value>, Refusal> {
    arg.tensors().into_iter().map(|name| site.value(name)).collect()
}

fn attribute(arg: &Argument) -> Result<AttrValue, Refusal> {
    Ok(match arg {
        Argument::None => AttrValue::None,
        Argument::Int(Number::Known(n)) => AttrValue::Int(*n),
        Argument::Float(Number::Known(f)) => AttrValue::float(*f),
        Argument::Bool(Number::Known(b)) => AttrValue::Bool(*b),
        Argument::Str(text) => AttrValue::str(text),
        Argument::ScalarType(code) => match complex_part(*code) {
            Some(part) => AttrValue::str(&format!("complex of {part}")),
            None => AttrValue::DType(dtype(*code)?),
        },
        Argument::Ints(all) => AttrValue::Ints(
            all.iter()
                .map(|n| match n {
                    Number::Known(n) => Ok(*n),
                    Number::Symbolic(name) => Err(Refusal::symbolic(name)),
                })
                .collect::<Result<_, _>>()?,
        ),
        Argument::Graph(g) => AttrValue::str(&nested::text(&g.graph)?),
        // The IR has no attributes of these kinds; the text tells different arguments apart.
        other => AttrValue::str(&other.literal()?),
    })
}
