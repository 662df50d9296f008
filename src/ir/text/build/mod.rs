//! From the syntax tree to a typed graph: names, attributes, types. Reports every error that is not the consequence of another.

use std::sync::Arc;

use miette::SourceSpan;
use rustc_hash::{FxHashMap, FxHashSet};

use super::ast::{Binding, Body, Constant, File, Name, Number, Purpose, Returned, Statement, Typed, Yielded};
use super::error::{MOST_ERRORS, MirError, nearest};
use super::order::path;
use crate::ir::{Fixed, Graph, GraphError, Node, NodeId, NodeKind, Output, Target, Value};

mod calls;

pub(super) use calls::{natural_dtype, scalar_dtype};

/// Builds the graph that the tree describes.
pub(super) fn build(file: &File) -> Result<Graph, Vec<MirError>> {
    let mut builder = Builder {
        graph: Graph::new(&*file.name.text),
        file,
        names: FxHashMap::default(),
        taken: FxHashSet::default(),
        cycles: FxHashSet::default(),
        errors: Vec::new(),
    };
    builder.collect_names();
    builder.configure();
    for input in &file.inputs {
        let name = &input.binding.node_name().text;
        let node = builder.graph.add_input(name, input.role, input.ty.clone(), input.origin.clone());
        builder.define(&input.binding.local, Some(node.into()));
    }
    for (name, value) in &file.given {
        builder.graph.add_constant_input(&name.text, value.clone());
    }
    for (number, statement) in file.statements.iter().enumerate() {
        if builder.errors.len() >= MOST_ERRORS {
            break;
        }
        builder.statement(number, statement);
    }
    if builder.errors.len() < MOST_ERRORS {
        builder.outputs();
    }
    if builder.errors.is_empty() {
        builder.check_once();
    }
    if builder.errors.is_empty() { Ok(builder.graph) } else { Err(builder.errors) }
}

/// What a name of the text stands for.
struct Entry {
    /// The defining statement; none for inputs.
    statement: Option<usize>,
    span: SourceSpan,
    state: State,
}

enum State {
    /// Defined further down.
    Later,
    Known(Value),
    /// Its definition has an error, so that its uses say nothing new.
    Broken,
}

/// The error has been reported; what depends on it stays silent.
struct Reported;

struct Builder<'f, 's> {
    graph: Graph,
    file: &'f File<'s>,
    names: FxHashMap<&'f str, Entry>,
    /// Every name of the text: generated names keep clear of them.
    taken: FxHashSet<String>,
    /// Cycles already reported, as sorted statement numbers.
    cycles: FxHashSet<Vec<usize>>,
    errors: Vec<MirError>,
}

impl<'f, 's> Builder<'f, 's> {
    /// Enters every name of the text, so that a use before the definition can be told from a slip of the pen.
    fn collect_names(&mut self) {
        let file = self.file;
        let inputs = file.inputs.iter().map(|i| (None, &i.binding));
        let statements = file.statements.iter().enumerate();
        let results = statements.flat_map(|(i, s)| s.results.iter().map(move |r| (Some(i), &r.binding)));
        let mut nodes: FxHashMap<&str, SourceSpan> = FxHashMap::default();
        for (statement, binding) in inputs.chain(results) {
            self.collect(statement, binding, &mut nodes);
        }
    }

    fn collect(
        &mut self,
        statement: Option<usize>,
        binding: &'f Binding<'s>,
        nodes: &mut FxHashMap<&'f str, SourceSpan>,
    ) {
        let local = &binding.local;
        let twice = |name: &Name, first| MirError::DefinedTwice { name: name.text.to_string(), span: name.span, first };
        if let Some(first) = self.names.get(&*local.text) {
            let error = twice(local, first.span);
            self.errors.push(error);
            return;
        }
        self.names.insert(&local.text, Entry { statement, span: local.span, state: State::Later });
        self.taken.insert(local.text.to_string());
        let real = binding.node_name();
        if let Some(&first) = nodes.get(&*real.text) {
            self.errors.push(twice(real, first));
        }
        nodes.insert(&real.text, real.span);
        self.taken.insert(real.text.to_string());
    }

    fn configure(&mut self) {
        for setting in &self.file.config {
            let value = match &setting.value {
                Constant::Number(Number::Bool(v)) => serde_json::Value::from(*v),
                Constant::Number(Number::Int(v)) => serde_json::Value::from(*v),
                Constant::Number(Number::Float(v)) => serde_json::Value::from(*v),
                Constant::Str(v) => serde_json::Value::from(&**v),
                Constant::Word(v) => serde_json::Value::from(*v),
                Constant::Numbers(_) => serde_json::Value::Null,
            };
            if let Err(e) = self.graph.config.set(&setting.name.text, value) {
                let help = nearest(&setting.name.text, e.known.iter().map(String::as_str));
                self.errors.push(MirError::Config { reason: e.to_string(), span: setting.name.span, help });
            }
        }
    }

    fn define(&mut self, local: &'f Name<'s>, value: Option<Value>) {
        if let Some(entry) = self.names.get_mut(&*local.text).filter(|e| e.span == local.span) {
            entry.state = value.map_or(State::Broken, State::Known);
        }
    }

    fn statement(&mut self, number: usize, statement: &'f Statement<'s>) {
        let Some(first) = statement.results.first() else { return };
        let mut namer = Namer { base: first.binding.node_name().text.to_string(), next: 1 };
        let name = namer.base.clone();
        let origin = statement.origin.clone();
        let node = match &statement.body {
            Body::Literal { ty, data, span } => {
                let element = |n: &Number| match ty.dtype.number(n.value()) {
                    Some(value) => ty.dtype.store(value).ok_or(n.value()),
                    None => Err(n.value()),
                };
                match data.iter().map(element).collect::<Result<Arc<[_]>, _>>() {
                    Err(v) => {
                        let reason = format!("{v} is no element of {ty}");
                        Err(self.report(MirError::Type { reason, span: *span, help: None }))
                    }
                    Ok(data) => {
                        let added = self.graph.add_literal(&name, ty.clone(), data, origin);
                        added.map_err(|e| self.report(graph_error(&e, *span)))
                    }
                }
            }
            Body::Opaque { call, types } => self.opaque(call, number, &mut namer).and_then(|(op, attrs, operands)| {
                let added = self.graph.add_custom(&name, op, attrs, &operands, types.iter().cloned(), origin);
                added.map_err(|e| self.report(graph_error(&e, call.span)))
            }),
            Body::Call(call) => self.call(call, &name, origin, number, &mut namer),
        };
        self.name_results(&statement.results, node.ok());
    }

    /// Binds the left side's names, after comparing count and stated types.
    fn name_results(&mut self, results: &'f [Typed<'s>], node: Option<NodeId>) {
        let node = node.filter(|&node| {
            let found = self.graph.node(node).types.len();
            let fits = found.max(1) == results.len();
            if let Some(last) = results.last().filter(|_| !fits) {
                let what = match &self.graph.node(node).kind {
                    NodeKind::Op { op, .. } => format!("`{}`", op.name()),
                    _ => "a literal".to_owned(),
                };
                let (named, span) = (results.len(), last.binding.local.span);
                self.errors.push(MirError::OutputCount { what, found, named, span, help: None });
            }
            fits
        });
        for (slot, result) in results.iter().enumerate() {
            let ty = node.and_then(|n| self.graph.node(n).types.get(slot));
            if let (Some((stated, span)), Some(found)) = (&result.stated, ty)
                && stated != found
            {
                let name = result.binding.local.text.to_string();
                let (stated, found) = (stated.to_string(), found.to_string());
                self.errors.push(MirError::StatedType { name, stated, found, span: *span });
            }
            let value = ty.is_some().then_some(node).flatten().map(|n| Value::new(n, slot as u32));
            self.define(&result.binding.local, value);
        }
    }

    fn outputs(&mut self) {
        for Returned { value, target } in &self.file.returned {
            match value {
                Yielded::Tensor { value, name } => {
                    let Ok(found) = self.lookup(value, None) else { continue };
                    let Ok(target) = self.target(target, found) else { continue };
                    let name = name.as_ref().unwrap_or(value).text.as_ref().into();
                    self.graph.push_output(Output { name, value: found, target });
                }
                Yielded::Constant(value) => match target {
                    Purpose::Result(path) | Purpose::Loss(path) => {
                        self.graph.add_constant_output(value.clone(), path.clone());
                    }
                    Purpose::Write(name) | Purpose::Gradient(name) => {
                        let reason = "a constant is no tensor".to_owned();
                        self.errors.push(MirError::Type { reason, span: name.span, help: None });
                    }
                },
            }
        }
    }

    /// What is marked `once` has to be the same at every execution.
    fn check_once(&mut self) {
        let marked = |node: &Node| node.origin.once;
        if !self.graph.nodes().any(|(_, node)| marked(node)) {
            return;
        }
        let fixed = Fixed::of(&self.graph, true);
        let changing = self.graph.nodes().filter(|&(id, node)| marked(node) && fixed.made_of(id).is_none());
        let names: FxHashSet<Arc<str>> = changing.map(|(_, node)| node.name.clone()).collect();
        let inputs = self.file.inputs.iter().map(|input| &input.binding);
        let results = self.file.statements.iter().filter_map(|s| s.results.first()).map(|r| &r.binding);
        for binding in inputs.chain(results).filter(|b| names.contains(&*b.node_name().text)) {
            let (name, span) = (binding.local.text.to_string(), binding.local.span);
            self.errors.push(MirError::NotFixed { name, span });
        }
    }

    fn target(&mut self, target: &Purpose, value: Value) -> Result<Target, Reported> {
        Ok(match target {
            Purpose::Result(path) => Target::Result(self.graph.next_place(path.clone())),
            Purpose::Loss(path) => Target::Loss(self.graph.next_place(path.clone())),
            Purpose::Write(name) => Target::Write(self.changed(name, value)?),
            Purpose::Gradient(name) => Target::Gradient(self.changed(name, value)?),
        })
    }

    /// The real name of the input `name`, which `value` is a new value of, or the gradient of.
    fn changed(&mut self, name: &Name, value: Value) -> Result<Arc<str>, Reported> {
        let input = self.lookup(name, None)?;
        let node = self.graph.node(input.node);
        let (wanted, found) = (&node.types[0], self.graph.ty(value));
        let reason = match &node.kind {
            NodeKind::Input { .. } if wanted == found => return Ok(node.name.clone()),
            NodeKind::Input { .. } => format!("`{}` is {wanted}, not {found}", name.text),
            _ => format!("`{}` is no input", name.text),
        };
        Err(self.report(MirError::Type { reason, span: name.span, help: None }))
    }

    fn report(&mut self, error: MirError) -> Reported {
        self.errors.push(error);
        Reported
    }

    /// The value that a name stands for, as seen from statement `number`.
    fn lookup(&mut self, name: &Name, number: Option<usize>) -> Result<Value, Reported> {
        let error = match self.names.get(&*name.text) {
            Some(Entry { state: State::Known(value), .. }) => return Ok(*value),
            Some(Entry { state: State::Broken, .. }) => return Err(Reported),
            Some(Entry { statement, span, .. }) => {
                let cycle = number.zip(*statement).and_then(|(here, there)| {
                    let numbers = path(self.file, |n| self.names.get(n).and_then(|e| e.statement), there, here)?;
                    let mut key = numbers.clone();
                    key.sort_unstable();
                    Some((numbers, key))
                });
                match cycle {
                    // The same cycle seen from another of its uses.
                    Some((_, key)) if self.cycles.contains(&key) => return Err(Reported),
                    Some((numbers, key)) => {
                        self.cycles.insert(key);
                        let label = |&n: &usize| {
                            let first = self.file.statements.get(n).and_then(|s| s.results.first());
                            first.map_or(String::new(), |r| r.binding.local.text.to_string())
                        };
                        let mut path: Vec<String> = numbers.last().into_iter().chain(&numbers).map(label).collect();
                        path.dedup_by(|a, b| a == b && numbers.len() > 1);
                        MirError::Cycle { path, span: name.span }
                    }
                    None => MirError::UsedBeforeDefinition {
                        name: name.text.to_string(),
                        span: name.span,
                        definition: *span,
                    },
                }
            }
            None => MirError::UnknownName {
                name: name.text.to_string(),
                span: name.span,
                help: nearest(&name.text, self.names.keys().copied()),
            },
        };
        Err(self.report(error))
    }
}

fn graph_error(error: &GraphError, span: SourceSpan) -> MirError {
    let reason = match error {
        GraphError::Type { source, .. } => source.to_string(),
        other => other.to_string(),
    };
    MirError::Type { reason, span, help: None }
}

/// Makes names for nested calls and scalars out of the name of their statement.
struct Namer {
    base: String,
    next: usize,
}

impl Namer {
    fn fresh(&mut self, taken: &FxHashSet<String>) -> String {
        loop {
            let name = format!("{}.{}", self.base, self.next);
            self.next += 1;
            if !taken.contains(&name) {
                return name;
            }
        }
    }
}
