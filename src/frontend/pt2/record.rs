//! Which operators the nodes of a file call with which arguments, for whoever writes it again.

use std::ops::Range;

use smallvec::SmallVec;

use super::argument::{Argument, Number};
use super::dtype::dtype;
use super::memory::Memory;
use super::schema::{Device, Node, POSITIONAL};
use super::scope::Scope;
use super::target::Target;
use crate::ir::{TensorType, Value};
use crate::ops::aten::{Arg, Made};

/// What a node of the file calls.
pub struct Recorded {
    /// The operator with its arguments.
    pub call: Made<Value>,
    /// Per result of the call: the value of the graph that it is.
    pub results: SmallVec<[Option<Value>; 1]>,
    /// The places of the nodes that the graph has for it.
    pub nodes: Range<usize>,
}

/// What `node` calls; none where its arguments are of kinds that are not taken over.
pub(super) fn recorded(
    node: &Node,
    scope: &Scope,
    memory: &Memory,
    values: &[Value],
    nodes: Range<usize>,
) -> Option<Recorded> {
    let target = Target::of(&node.target);
    // Views by strides, which a rewritten operand need not have; complex numbers, which are pairs in the graph.
    if scope.autocast.is_on()
        || scope.handles_complex(node)
        || target.name.starts_with("as_strided")
        || target.namespace.is_empty()
    {
        return None;
    }
    let overload = if target.overload.is_empty() { "default" } else { target.overload };
    // The words of the call become part of programs.
    if ![target.namespace, target.name, overload].into_iter().all(is_identifier) {
        return None;
    }
    let (mut positional, mut keyword) = (Vec::new(), Vec::new());
    for input in &node.inputs {
        if !is_identifier(&input.name) {
            return None;
        }
        let Some(arg) = argument(&input.arg, scope, memory)? else { continue };
        let list = if input.kind == Some(POSITIONAL) { &mut positional } else { &mut keyword };
        list.push((input.name.clone().into(), arg));
    }
    let list = matches!(node.outputs[..], [Argument::Tensors(_)]);
    let names: Vec<&str> = match &node.outputs[..] {
        [Argument::Tensors(names)] => names.iter().map(String::as_str).collect(),
        all => all
            .iter()
            .map(|o| if let Argument::Tensor(name) = o { Some(name.as_str()) } else { None })
            .collect::<Option<_>>()?,
    };
    let results: SmallVec<[Option<TensorType>; 1]> = names.iter().map(|name| scope.stated(name).ok()).collect();
    let target = format!("{}.{}.{overload}", target.namespace, target.name).into();
    Some(Recorded {
        call: Made { target, positional, keyword, results, list },
        results: (0..names.len()).map(|slot| values.get(slot).copied()).collect(),
        nodes,
    })
}

fn is_identifier(word: &str) -> bool {
    let mut letters = word.chars();
    letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && letters.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn device(device: &Device) -> String {
    match device.index {
        Some(index) => format!("{}:{index}", device.kind),
        None => device.kind.clone(),
    }
}

fn known<T: Copy>(all: &[Number<T>]) -> Option<Vec<T>> {
    all.iter().map(|n| if let Number::Known(n) = n { Some(*n) } else { None }).collect()
}

/// An argument as it is written again: none where it is not taken over, and nothing where it need not be given.
fn argument(arg: &Argument, scope: &Scope, memory: &Memory) -> Option<Option<Arg<Value>>> {
    let tensor = |name: &String| scope.tensor(name).ok().map(|t| memory.value(t));
    Some(Some(match arg {
        Argument::None => Arg::None,
        Argument::Tensor(name) => Arg::Tensor(tensor(name)?),
        Argument::Tensors(names) => Arg::Tensors(names.iter().map(tensor).collect::<Option<_>>()?),
        Argument::OptionalTensors(names) => {
            let each = names.iter().map(|name| match name {
                Some(name) => tensor(name).map(Some),
                None => Some(None),
            });
            Arg::OptionalTensors(each.collect::<Option<_>>()?)
        }
        Argument::Int(Number::Known(v)) => Arg::Int(*v),
        Argument::Ints(all) => Arg::Ints(known(all)?.into()),
        Argument::Float(Number::Known(v)) => Arg::Float(*v),
        Argument::Floats(all) => Arg::Floats(known(all)?),
        Argument::Bool(Number::Known(v)) => Arg::Bool(*v),
        Argument::Bools(all) => Arg::Bools(all.clone()),
        Argument::Str(text) => Arg::Str(text.clone()),
        Argument::ScalarType(code) => Arg::DType(dtype(*code).ok()?),
        Argument::MemoryFormat(code) => Arg::MemoryFormat(*code),
        Argument::Device(given) if scope.main_device() == Some(given) => Arg::Device,
        Argument::Device(given) => Arg::On(device(given)),
        // Only the ordinary layout is read.
        Argument::Layout => return Some(None),
        _ => return None,
    }))
}
