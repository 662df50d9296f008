//! Which results of an operator lie in the memory of its arguments.

use super::argument::{Argument, Number};
use super::convert;
use super::import::Importer;
use super::lowering::Refusal;
use super::memory::Sharing;
use super::mutation;
use super::schema;
use super::scope::Scope;
use super::target::{TRITON, Target};
use super::views;
use crate::ir::{Layout, NodeKind, Value};
use crate::ops::Op;

/// Operators whose result is a copy although the operators of the table that stand for them are views.
fn copies(name: &str) -> bool {
    name.ends_with("_copy") || matches!(name, "clone" | "copy" | "fill" | "native_dropout" | "full_like")
}

impl<'a> Importer<'a> {
    /// How result `name`, which is `value`, lies in memory. The nodes that stand for the operator start at number `first`.
    pub(super) fn sharing(
        &self,
        scope: &Scope<'a>,
        node: &'a schema::Node,
        name: &str,
        value: Value,
        first: usize,
    ) -> Result<Sharing, Refusal> {
        let effects = mutation::effects_of(node);
        let takes_tensors = node.inputs.iter().any(|i| !i.arg.tensors().is_empty());
        let on_copies = [convert::FUNCTIONALISED, TRITON].contains(&node.target.as_str());
        let fresh = effects.is_some_and(|e| e.fresh) || on_copies;
        if !takes_tensors || fresh {
            return Ok(Sharing::Own);
        }
        if matches!(self.builder.graph.node(value.node).kind, NodeKind::Op { op: Op::Custom(_), .. }) {
            return Ok(Sharing::Unknown);
        }
        let named = |argument: &str| match &node.inputs.iter().find(|i| i.name == argument)?.arg {
            Argument::Tensor(name) => Some(name.as_str()),
            Argument::Tensors(names) => match &names[..] {
                [name] => Some(name.as_str()),
                _ => None,
            },
            _ => None,
        };
        let Some((source, path)) = views::path(&self.builder.graph, value, first) else {
            // A view that is written out in another way, such as one by strides, or a conjugate, which only says how it is to be read.
            // What is converted to another type is a copy, although the schema names a view.
            for argument in effects.into_iter().flat_map(|e| &e.views).filter_map(|&argument| named(argument)) {
                let shown = self.memory.value(scope.tensor(argument)?);
                if self.builder.graph.ty(shown).dtype == self.builder.graph.ty(value).dtype {
                    return Ok(Sharing::Unknown);
                }
            }
            return Ok(Sharing::Own);
        };
        if copies(Target::of(&node.target).name) || is_set(node, "copy") {
            return Ok(Sharing::Own);
        }
        let shown = effects.into_iter().flat_map(|e| &e.views).chain(gives_back(node));
        for argument in shown.filter_map(|&argument| named(argument)) {
            let tensor = scope.tensor(argument)?;
            if self.memory.value(tensor) != source {
                continue;
            }
            let (Some(from), Some(to)) = (scope.layout(argument), scope.layout(name)) else { break };
            if !scope.same_device(argument, name) {
                return Ok(Sharing::Own);
            }
            let Some(reached) = views::layout(&self.builder.graph, &path, from) else { return Ok(Sharing::Own) };
            let shape = &self.builder.graph.ty(value).shape;
            let normal = |mut layout: Layout| {
                layout.forget_ones(shape);
                layout.strides
            };
            // A conversion to the type that the tensor has is a copy where it changes the order of the dimensions.
            return Ok(match normal(reached) == normal(to) {
                true => Sharing::View(tensor, path),
                false if Target::of(&node.target).name == "to" => Sharing::Own,
                false => Sharing::Unknown,
            });
        }
        Ok(Sharing::Unknown)
    }
}

/// The argument that the operator itself gives back, or a view of it, which its schema does not say: dropout that is switched off, or drops
/// nothing, a conversion to the type that the tensor has, and `einsum` where it only moves dimensions.
fn gives_back(node: &schema::Node) -> Option<&'static &'static str> {
    match Target::of(&node.target).name {
        "type_as" => return Some(&"self"),
        "einsum" => return Some(&"tensors"),
        _ => {}
    }
    let names = ["dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout"];
    let drops = names.contains(&Target::of(&node.target).name);
    let drops_nothing = node.inputs.iter().any(|i| match (i.name.as_str(), &i.arg) {
        ("train", Argument::Bool(Number::Known(train))) => !train,
        ("p", Argument::Float(Number::Known(p))) => *p == 0.0,
        ("p", Argument::Int(Number::Known(p))) => *p == 0,
        _ => false,
    });
    (drops && drops_nothing).then_some(&"input")
}

fn is_set(node: &schema::Node, name: &str) -> bool {
    node.inputs.iter().any(|i| i.name == name && matches!(i.arg, Argument::Bool(Number::Known(true))))
}
