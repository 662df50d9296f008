//! Operators that nothing here covers: opaque nodes, equal only to themselves on equal operands.

use std::fmt::Write;

use rustc_hash::FxHashMap;

use super::held::Held;
use super::import::Importer;
use super::lowering::Attributes;
use super::proto;
use super::proto::target;
use super::scope::Scope;
use crate::frontend::builder::Refusal;
use crate::ir::{AttrValue, Ints, Origin, TensorType, Value};
use crate::ops::DRAW;

/// The domain in front of the names of the standard's own operators, so that they are told from those of other formats.
const DOMAIN: &str = "onnx";

/// Operators that draw.
const DRAWS: [&str; 7] =
    ["RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial", "Bernoulli", "Dropout"];

/// Whether a graph holds an operator that draws.
pub(super) fn draws(graph: &proto::Graph) -> bool {
    graph.node.iter().any(|node| {
        DRAWS.contains(&node.op_type.as_deref().unwrap_or(""))
            || node.attribute.iter().any(|a| a.g.iter().chain(&a.graphs).any(draws))
    })
}

impl<'m> Importer<'m> {
    /// A node named after the operator, with the output types that the file states.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn opaque(
        &mut self,
        scope: &mut Scope<'m>,
        node: &'m proto::Node,
        attributes: &Attributes<'m>,
        inputs: &[Option<Held>],
        types: Vec<Option<TensorType>>,
        name: &str,
        origin: Origin,
    ) -> Result<Vec<Held>, Refusal> {
        let mut operands = Vec::new();
        let mut given: Ints = Ints::new();
        for held in inputs {
            match held {
                Some(Held::List(all)) => {
                    given.push(all.len() as i64);
                    for part in all.iter() {
                        operands.push(self.sink.value(part)?);
                    }
                }
                Some(Held::Nothing) | None => given.push(0),
                Some(held) => {
                    given.push(1);
                    operands.push(self.sink.value(held)?);
                }
            }
        }
        let mut attrs: Vec<(String, AttrValue)> = Vec::new();
        if given.iter().any(|&count| count != 1) {
            attrs.push(("inputs".to_owned(), AttrValue::Ints(given)));
        }
        if let Some(version) = scope.version(node.domain.as_deref().unwrap_or("")) {
            attrs.push(("version".to_owned(), AttrValue::Int(version)));
        }
        let mut sorted: Vec<_> = attributes.iter().collect();
        sorted.sort_unstable_by_key(|(name, _)| **name);
        for (name, attribute) in sorted {
            let value = value_of(self, scope, attribute, &mut operands)?;
            attrs.push(((*name).to_owned(), value));
        }
        if DRAWS.contains(&node.op_type.as_deref().unwrap_or("")) || attributes.values().any(|a| a.g.iter().any(draws))
        {
            attrs.push((DRAW.to_owned(), AttrValue::Int(self.draws)));
            self.draws += 1;
        }
        let stated = types.into_iter().zip(&node.output).filter(|(_, name)| !name.is_empty());
        let types: Option<Vec<TensorType>> = stated.map(|(ty, _)| ty).collect();
        let types = types.ok_or_else(|| {
            Refusal::new("is not known, and the file does not state the type of its result")
                .help("add the types with `onnx.shape_inference.infer_shapes`, or export with static shapes")
        })?;
        let op = match target(node) {
            op if op.contains('.') => op,
            op => format!("{DOMAIN}.{op}"),
        };
        let mut values = self.sink.builder.lower(name, origin).opaque(&op, attrs, &operands, types)?.into_iter();
        // Outputs that nobody asked for have no type.
        Ok(node.output.iter().map(|n| if n.is_empty() { None } else { values.next() }).map(held).collect())
    }
}

fn held(value: Option<Value>) -> Held {
    value.map_or(Held::Nothing, Held::Value)
}

fn value_of<'m>(
    importer: &mut Importer<'m>,
    scope: &mut Scope<'m>,
    attribute: &'m proto::Attribute,
    operands: &mut Vec<Value>,
) -> Result<AttrValue, Refusal> {
    Ok(match attribute {
        proto::Attribute { i: Some(i), .. } => AttrValue::Int(*i),
        proto::Attribute { f: Some(f), .. } => AttrValue::float(f64::from(*f)),
        proto::Attribute { s: Some(s), .. } => AttrValue::str(&String::from_utf8_lossy(s)),
        proto::Attribute { g: Some(graph), .. } => {
            let mut text = Text { out: String::new(), names: FxHashMap::default() };
            text.graph(importer, scope, graph, operands)?;
            AttrValue::str(&text.out)
        }
        proto::Attribute { ints, .. } if !ints.is_empty() => AttrValue::Ints(ints.iter().copied().collect()),
        // The IR has no attributes of these kinds; the text tells different ones apart.
        other => AttrValue::str(&format!("{:?} {:?} {:?} {:?}", other.t, other.floats, other.strings, other.tensors)),
    })
}

/// What a graph inside of a node computes, as text: equal texts mean equal functions. Values are numbered in the order in
/// which they come to be, and those from outside become operands of the node.
struct Text<'m> {
    out: String,
    names: FxHashMap<&'m str, String>,
}

impl<'m> Text<'m> {
    fn define(&mut self, name: &'m str) {
        let number = format!("%{}", self.names.len());
        let _ = write!(self.out, " {number}");
        self.names.insert(name, number);
    }

    fn graph(
        &mut self,
        importer: &mut Importer<'m>,
        scope: &mut Scope<'m>,
        graph: &'m proto::Graph,
        operands: &mut Vec<Value>,
    ) -> Result<(), Refusal> {
        self.out.push('(');
        for info in &graph.input {
            self.define(info.name.as_deref().unwrap_or(""));
            let _ = write!(self.out, " {:?}", info.r#type);
        }
        self.out.push(')');
        for tensor in &graph.initializer {
            self.define(tensor.name.as_deref().unwrap_or(""));
            let nameless = proto::Tensor { name: None, ..tensor.clone() };
            let _ = write!(self.out, " = {nameless:?};");
        }
        for node in &graph.node {
            let _ = write!(self.out, " {}", target(node));
            for name in &node.input {
                self.uses(importer, scope, name, operands)?;
            }
            let mut sorted: Vec<_> = node.attribute.iter().collect();
            sorted.sort_unstable_by_key(|a| a.name.as_deref());
            for attribute in sorted {
                let _ = write!(self.out, " {}=", attribute.name.as_deref().unwrap_or(""));
                match &attribute.g {
                    Some(inner) => self.graph(importer, scope, inner, operands)?,
                    None => {
                        let _ = write!(self.out, "{attribute:?}");
                    }
                }
            }
            self.out.push_str(" ->");
            node.output.iter().for_each(|name| self.define(name));
            self.out.push(';');
        }
        for info in &graph.output {
            self.uses(importer, scope, info.name.as_deref().unwrap_or(""), operands)?;
        }
        Ok(())
    }

    fn uses(
        &mut self,
        importer: &mut Importer<'m>,
        scope: &mut Scope<'m>,
        name: &'m str,
        operands: &mut Vec<Value>,
    ) -> Result<(), Refusal> {
        if !name.is_empty() && !self.names.contains_key(name) {
            let held = importer.find(scope, name)?.ok_or_else(|| Refusal::new("uses what is left out"))?;
            operands.push(importer.sink.value(&held)?);
            self.names.insert(name, format!("operand {}", operands.len() - 1));
        }
        let _ = write!(self.out, " {}", self.names.get(name).map_or("none", String::as_str));
        Ok(())
    }
}
