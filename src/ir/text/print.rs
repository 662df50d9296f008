//! A graph as `.mir` text.

use std::fmt::{self, Display, Formatter, Write};

use rustc_hash::FxHashSet;

use super::build::{natural_dtype, scalar_dtype};
use crate::ir::{
    AttrValue, Attrs, DType, Frame, Graph, MathConfig, Node, NodeId, NodeKind, Number, Origin, Role, Target, Value,
};
use crate::ops::{Default, Op, is_number};

/// The graph as text that [`parse`](super::parse) reads back as the same graph.
pub fn print(graph: &Graph) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = Printer::new(graph).write(&mut out);
    out
}

struct Printer<'g> {
    graph: &'g Graph,
    /// Scalars that are written at their only use.
    inlined: FxHashSet<NodeId>,
    /// Names of nodes; names of second and later outputs keep clear of them.
    names: FxHashSet<&'g str>,
}

impl<'g> Printer<'g> {
    fn new(graph: &'g Graph) -> Self {
        let mut printer = Printer {
            graph,
            inlined: FxHashSet::default(),
            names: graph.nodes().map(|(_, node)| &*node.name).collect(),
        };
        let returned: FxHashSet<NodeId> = graph.outputs().iter().map(|o| o.value.node).collect();
        let once = |id: NodeId| graph.users(id).count() == 1 && !returned.contains(&id);
        for (id, node) in graph.nodes() {
            if scalar_value(node).is_some() && once(id) {
                printer.inlined.insert(id);
            }
        }
        // A scalar whose type the reader would guess otherwise is written out.
        for (id, node) in graph.nodes().filter(|(_, n)| matches!(n.kind, NodeKind::Op { .. })) {
            if node.origin.implicit && printer.inlined.contains(&id) {
                continue;
            }
            printer.keep_odd_scalars(id);
        }
        printer
    }

    fn keep_odd_scalars(&mut self, user: NodeId) {
        let operands = self.graph.operands(user);
        // Whether a scalar may stand inline depends on which of its neighbours do; one that may not is
        // a tensor like any other in the next round.
        loop {
            let anchor = self.anchor(&operands);
            let odd = operands.iter().find(|v| {
                let node = self.graph.node(v.node);
                let dtype = node.types[0].dtype;
                let natural = |value| if dtype == DType::Bool { dtype } else { natural_dtype(value) };
                self.inlined.contains(&v.node)
                    && scalar_value(node).is_some_and(|n| anchor.unwrap_or(natural(n)) != dtype)
            });
            match odd {
                Some(v) => self.inlined.remove(&v.node),
                None => return,
            };
        }
    }

    fn anchor(&self, operands: &[Value]) -> Option<DType> {
        let tensors = operands.iter().filter(|v| !self.inlined.contains(&v.node));
        scalar_dtype(tensors.map(|&v| self.graph.ty(v).dtype))
    }

    fn write(&self, out: &mut String) -> fmt::Result {
        let defaults = MathConfig::default().flags();
        for (flag, default) in self.graph.config.flags().into_iter().zip(defaults) {
            if flag != default {
                writeln!(out, "config {} = {}", flag.0, flag.1)?;
            }
        }
        write!(out, "graph {}(", Quoted(&self.graph.name))?;
        for (i, &id) in self.graph.inputs().iter().enumerate() {
            let node = self.graph.node(id);
            let role = match node.kind {
                NodeKind::Input { role: Role::Parameter } => "param ",
                NodeKind::Input { role: Role::Buffer } => "buffer ",
                _ => "",
            };
            let separator = if i == 0 { "\n" } else { ",\n" };
            write!(out, "{separator}  {}: {role}{}{}", Quoted(&node.name), node.types[0], OriginText(&node.origin))?;
        }
        for (i, given) in self.graph.constant_inputs().iter().enumerate() {
            let separator = if i + self.graph.inputs().len() == 0 { "\n" } else { ",\n" };
            write!(out, "{separator}  {} = {}", Quoted(&given.name), Fixed(&given.value))?;
        }
        let bare = self.graph.inputs().is_empty() && self.graph.constant_inputs().is_empty();
        out.push_str(if bare { ") {\n" } else { "\n) {\n" });
        for (id, node) in self.graph.nodes() {
            let skipped = matches!(node.kind, NodeKind::Input { .. }) || self.inlined.contains(&id);
            if !skipped {
                self.statement(id, node, out)?;
            }
        }
        out.push_str("  return");
        self.returned(out)?;
        out.push_str("\n}\n");
        Ok(())
    }

    /// Outputs in their order, with each constant at its position among the results.
    fn returned(&self, out: &mut String) -> fmt::Result {
        let mut separator = " ";
        let mut constants = self.graph.constant_outputs().iter().peekable();
        let mut constants_before = |position: usize, separator: &mut &str, out: &mut String| -> fmt::Result {
            while let Some(constant) = constants.next_if(|c| c.place.position < position) {
                write!(out, "{separator}{}{}", Fixed(&constant.value), At(&constant.place))?;
                *separator = ", ";
            }
            Ok(())
        };
        for output in self.graph.outputs() {
            if let Some(place) = output.place() {
                constants_before(place.position, &mut separator, out)?;
            }
            let name = self.value_name(output.value);
            write!(out, "{separator}{}", Quoted(&name))?;
            separator = ", ";
            if *name != *output.name {
                write!(out, " as {}", Quoted(&output.name))?;
            }
            match &output.target {
                Target::Result(place) => write!(out, "{}", At(place))?,
                Target::Loss(place) => write!(out, " loss{}", At(place))?,
                Target::Write(input) => write!(out, " writes {}", Quoted(input))?,
                Target::Gradient(input) => write!(out, " gradient {}", Quoted(input))?,
            }
        }
        constants_before(usize::MAX, &mut separator, out)
    }

    fn statement(&self, id: NodeId, node: &Node, out: &mut String) -> fmt::Result {
        out.push_str("  ");
        if node.types.is_empty() {
            write!(out, "{}", Quoted(&node.name))?;
        }
        for (slot, ty) in node.types.iter().enumerate() {
            let name = self.value_name(Value::new(id, slot as u32));
            write!(out, "{}{}: {ty}", if slot == 0 { "" } else { ", " }, Quoted(&name))?;
        }
        out.push_str(" = ");
        match &node.kind {
            NodeKind::Literal(literal) => {
                let dtype = node.types[0].dtype;
                write!(out, "literal {} [", node.types[0])?;
                for (i, &v) in literal.data.iter().enumerate() {
                    write!(out, "{}{}", if i == 0 { "" } else { ", " }, Shown(v, dtype))?;
                }
                out.push(']');
            }
            NodeKind::Op { op, attrs } => self.call(id, node, op, attrs, out)?,
            // Inputs stand in the head of the graph.
            NodeKind::Input { .. } => {}
        }
        writeln!(out, "{}", OriginText(&node.origin))
    }

    fn call(&self, id: NodeId, node: &Node, op: &Op, attrs: &Attrs, out: &mut String) -> fmt::Result {
        match op {
            Op::Table(def) => out.push_str(def.name),
            Op::Custom(custom) => write!(out, "opaque {}", Text(&custom.name))?,
        }
        out.push('(');
        for (i, value) in self.graph.operands(id).into_iter().enumerate() {
            let separator = if i == 0 { "" } else { ", " };
            let source = self.graph.node(value.node);
            match scalar_value(source).filter(|_| self.inlined.contains(&value.node)) {
                Some(v) => write!(out, "{separator}{}", Shown(v, source.types[0].dtype))?,
                None => write!(out, "{separator}{}", Quoted(&self.value_name(value)))?,
            }
        }
        let mut separator = "; ";
        for (i, value) in attrs.iter().enumerate() {
            let default = op.def().and_then(|d| d.attrs.get(i)).map_or(Default::Required, |a| a.default);
            if default.value().is_some_and(|d| d.is_same(value)) {
                continue;
            }
            write!(out, "{separator}{}={}", Quoted(op.attr_name(i).unwrap_or_default()), Attribute(value))?;
            separator = ", ";
        }
        out.push(')');
        if op.def().is_none() {
            match node.types.as_slice() {
                [ty] => write!(out, " -> {ty}")?,
                all => {
                    let all: Vec<String> = all.iter().map(ToString::to_string).collect();
                    write!(out, " -> ({})", all.join(", "))?;
                }
            }
        }
        Ok(())
    }

    /// The name of a value: its node's, with a number behind it from the second output on.
    fn value_name(&self, value: Value) -> String {
        let node = &*self.graph.node(value.node).name;
        if value.slot == 0 {
            return node.to_owned();
        }
        let mut name = format!("{node}.{}", value.slot);
        while self.names.contains(name.as_str()) {
            name.push('_');
        }
        name
    }
}

/// The value of a node that stands for a number in operand position.
fn scalar_value(node: &Node) -> Option<Number> {
    let NodeKind::Op { op: Op::Table(def), attrs } = &node.kind else { return None };
    let value = attrs.get(def.attr_index("value")?)?.as_number()?;
    (is_number(def) && node.origin == Origin::implicit()).then_some(value)
}

/// A number as an element of a type: so that it reads back the same, and looks like its type.
struct Shown(Number, DType);

impl Display for Shown {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.text(self.1))
    }
}

struct Attribute<'a>(&'a crate::ir::AttrValue);

impl Display for Attribute<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            crate::ir::AttrValue::Str(v) => write!(f, "{}", Text(v)),
            other => write!(f, "{other}"),
        }
    }
}

/// A constant among inputs or outputs.
struct Fixed<'a>(&'a AttrValue);

impl Display for Fixed<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            AttrValue::Str(text) => write!(f, "text {}", Text(text)),
            other => write!(f, "{other}"),
        }
    }
}

/// The path of a result, if there is one.
struct At<'a>(&'a crate::ir::ResultPosition);

impl Display for At<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.path.as_ref().map_or(Ok(()), |path| write!(f, " at {path}"))
    }
}

/// A name, in quotes unless it is a plain identifier.
struct Quoted<'a>(&'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if super::is_identifier(self.0) { f.write_str(self.0) } else { write!(f, "{}", Text(self.0)) }
    }
}

/// A name as it stands in text: in quotes unless it is a plain identifier.
pub fn name(name: &str) -> String {
    Quoted(name).to_string()
}

/// A string in quotes.
struct Text<'a>(&'a str);

impl Display for Text<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

/// Where a node comes from, from the innermost line outwards.
struct OriginText<'a>(&'a Origin);

impl Display for OriginText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if *self.0 == Origin::default() {
            return Ok(());
        }
        f.write_str(" @")?;
        for (i, frame) in self.0.frames.iter().rev().enumerate() {
            let Frame { file, line, function, code } = frame;
            write!(f, "{}{}:{line}", if i == 0 { " " } else { " from " }, Text(file))?;
            if !function.is_empty() {
                write!(f, " fn {}", Text(function))?;
            }
            if !code.is_empty() {
                write!(f, " code {}", Text(code))?;
            }
        }
        if !self.0.module.is_empty() {
            write!(f, " in {}", Text(&self.0.module))?;
        }
        if self.0.implicit {
            f.write_str(" implicit")?;
        }
        if self.0.once {
            f.write_str(" once")?;
        }
        Ok(())
    }
}
