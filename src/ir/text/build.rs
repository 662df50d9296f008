//! From the syntax tree to a typed graph: names, attributes, types. Reports every error that is not the consequence of another.

use std::sync::Arc;

use miette::SourceSpan;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::ast::{Binding, Body, CallExpr, Constant, File, Name, Number, Operand, Setting, Statement, Typed};
use super::attrs::{opaque_value, slice_bound, table_value};
use super::error::{MOST_ERRORS, MirError, nearest};
use super::order::path;
use crate::ir::{AttrValue, Attrs, DType, Graph, GraphError, NodeId, NodeKind, Origin, Value};
use crate::ops::{self, CustomOp, Default, Op, OpDef};

/// Builds the graph that the tree describes.
pub fn build(file: &File) -> Result<Graph, Vec<MirError>> {
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
    for (number, statement) in file.statements.iter().enumerate() {
        if builder.errors.len() >= MOST_ERRORS {
            break;
        }
        builder.statement(number, statement);
    }
    if builder.errors.len() < MOST_ERRORS {
        builder.outputs();
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
                let data: Arc<[f64]> = data.iter().map(|n| n.value()).collect();
                if let Some(v) = data.iter().find(|v| !ty.dtype.is_float() && v.fract() != 0.0) {
                    let reason = format!("{v} is no element of {ty}");
                    Err(self.report(MirError::Type { reason, span: *span, help: None }))
                } else {
                    let added = self.graph.add_literal(&name, ty.clone(), data, origin);
                    added.map_err(|e| self.report(graph_error(&e, *span)))
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
        for returned in &self.file.returned {
            let name = returned.name.as_ref().unwrap_or(&returned.value);
            if let Ok(value) = self.lookup(&returned.value, None) {
                self.graph.add_output(&name.text, value);
            }
        }
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

    /// Adds a call and the calls nested in it.
    fn call(
        &mut self,
        call: &CallExpr,
        name: &str,
        origin: Origin,
        number: usize,
        namer: &mut Namer,
    ) -> Result<NodeId, Reported> {
        let Some(def) = ops::find(&call.op.text) else {
            let names = ops::all().map(|d| d.name);
            let help = nearest(&call.op.text, names).unwrap_or_else(|| {
                format!("an operator that is not in the table is written `opaque {:?}(…) -> type`", call.op.text)
            });
            let error = MirError::UnknownOp { name: call.op.text.to_string(), span: call.op.span, help: Some(help) };
            return Err(self.report(error));
        };
        let operands = self.operands(call, number, namer)?;
        let attrs = self.attrs(call, def, &operands)?;
        let added = self.graph.add_op(name, def, attrs, &operands, origin);
        added.map_err(|e| self.report(graph_error(&e, call.span)))
    }

    fn opaque(&mut self, call: &CallExpr, number: usize, namer: &mut Namer) -> Result<(Op, Attrs, Operands), Reported> {
        let operands = self.operands(call, number, namer)?;
        let mut op = CustomOp { name: call.op.text.to_string(), attrs: Vec::new() };
        let mut attrs = Attrs::new();
        for setting in &call.attrs {
            self.refuse_repeat(setting, &call.attrs)?;
            let value = opaque_value(&setting.value).map_err(|reason| {
                let op = call.op.text.to_string();
                self.report(MirError::AttributeValue { op, reason, span: setting.span, help: None })
            })?;
            op.attrs.push(setting.name.text.to_string());
            attrs.push(value);
        }
        Ok((Op::Custom(Arc::new(op)), attrs, operands))
    }

    fn refuse_repeat(&mut self, setting: &Setting, all: &[Setting]) -> Result<(), Reported> {
        match all.iter().find(|s| s.name.text == setting.name.text) {
            Some(first) if first.name.span != setting.name.span => {
                let name = setting.name.text.to_string();
                Err(self.report(MirError::AttributeTwice { name, span: setting.name.span }))
            }
            _ => Ok(()),
        }
    }

    fn operands(&mut self, call: &CallExpr, number: usize, namer: &mut Namer) -> Result<Operands, Reported> {
        let mut values: SmallVec<[Result<Value, (Number, SourceSpan)>; 4]> = SmallVec::new();
        let mut broken = false;
        for operand in &call.operands {
            let value = match operand {
                Operand::Scalar(v, span) => {
                    values.push(Err((*v, *span)));
                    continue;
                }
                Operand::Name(name) => self.lookup(name, Some(number)),
                Operand::Call(inner) => self.nested(inner, number, namer),
            };
            match value {
                Ok(value) => values.push(Ok(value)),
                Err(Reported) => broken = true,
            }
        }
        if broken {
            return Err(Reported);
        }
        let dtypes = values.iter().filter_map(|v| v.as_ref().ok()).map(|&v| self.graph.ty(v).dtype);
        let anchor = scalar_dtype(dtypes);
        values.into_iter().map(|v| v.or_else(|(number, span)| self.scalar(number, span, anchor, namer))).collect()
    }

    fn nested(&mut self, call: &CallExpr, number: usize, namer: &mut Namer) -> Result<Value, Reported> {
        let name = namer.fresh(&self.taken);
        let node = self.call(call, &name, Origin::default(), number, namer)?;
        match self.graph.node(node).types.len() {
            1 => Ok(node.into()),
            found => {
                let what = format!("`{}`", call.op.text);
                let help = Some("give its outputs names in a statement of their own".to_owned());
                Err(self.report(MirError::OutputCount { what, found, named: 1, span: call.span, help }))
            }
        }
    }

    /// A number in operand position becomes a node that is no operator of the file.
    fn scalar(
        &mut self,
        number: Number,
        span: SourceSpan,
        anchor: Option<DType>,
        namer: &mut Namer,
    ) -> Result<Value, Reported> {
        let dtype = anchor.unwrap_or(natural_dtype(number));
        let value = number.value();
        if !dtype.is_float() && value.fract() != 0.0 {
            let reason = format!("{value} stands next to operands of type {dtype}");
            let help = Some("cast them to a floating-point type first, as PyTorch does".to_owned());
            return Err(self.report(MirError::Type { reason, span, help }));
        }
        let name = namer.fresh(&self.taken);
        let node = add_scalar(&mut self.graph, &name, value, dtype);
        node.map(Value::from).map_err(|e| self.report(graph_error(&e, span)))
    }

    fn attrs(&mut self, call: &CallExpr, def: &'static OpDef, operands: &[Value]) -> Result<Attrs, Reported> {
        let first = operands.first().map(|&v| self.graph.ty(v).clone());
        let mut values: SmallVec<[Option<AttrValue>; 4]> = def.attrs.iter().map(|a| a.default.value()).collect();
        let mut broken = false;
        for setting in &call.attrs {
            if self.refuse_repeat(setting, &call.attrs).is_err() {
                broken = true;
                continue;
            }
            let Some((i, attr)) = def.attrs.iter().enumerate().find(|(_, a)| a.name == setting.name.text) else {
                let (op, name) = (def.name.to_owned(), setting.name.text.to_string());
                let known = || def.attrs.iter().map(|a| a.name);
                let list = || match known().collect::<Vec<_>>() {
                    all if all.is_empty() => format!("`{op}` has no attributes"),
                    all => format!("its attributes are {}", all.join(", ")),
                };
                let help = Some(nearest(&name, known()).unwrap_or_else(list));
                self.errors.push(MirError::UnknownAttribute { op, name, span: setting.name.span, help });
                broken = true;
                continue;
            };
            match table_value(def, attr, &setting.value, first.as_ref()) {
                Ok(value) => values[i] = Some(value),
                Err(reason) => {
                    let op = def.name.to_owned();
                    self.errors.push(MirError::AttributeValue { op, reason, span: setting.span, help: None });
                    broken = true;
                }
            }
        }
        if def.name == "slice" {
            let dim = def.attr_index("dim").and_then(|i| values[i].clone());
            for bound in ["start", "end"] {
                if let Some(i) = def.attr_index(bound) {
                    values[i] = values[i].take().map(|v| slice_bound(v, dim.as_ref(), first.as_ref()));
                }
            }
        }
        for (attr, value) in def.attrs.iter().zip(&values) {
            let refused = call.attrs.iter().any(|s| s.name.text == attr.name);
            if value.is_none() && !refused && attr.default == Default::Required {
                let (op, reason) = (def.name.to_owned(), format!("needs the attribute `{}`", attr.name));
                let help = Some("attributes stand behind the operands: `op(x; name=value)`".to_owned());
                self.errors.push(MirError::AttributeValue { op, reason, span: call.span, help });
                broken = true;
            }
        }
        let values = values.into_iter().collect::<Option<Attrs>>();
        values.filter(|_| !broken).ok_or(Reported)
    }
}

type Operands = SmallVec<[Value; 4]>;

/// The element type of scalar operands: that of the first tensor that is not bool; with bool tensors only, none.
pub fn scalar_dtype(mut tensors: impl Iterator<Item = DType>) -> Option<DType> {
    tensors.find(|&d| d != DType::Bool)
}

/// The element type of a scalar that no tensor stands next to.
pub fn natural_dtype(number: Number) -> DType {
    match number {
        Number::Int(_) => DType::I64,
        Number::Float(_) => DType::F32,
        Number::Bool(_) => DType::Bool,
    }
}

/// The implicit node of a scalar operand.
fn add_scalar(graph: &mut Graph, name: &str, value: f64, dtype: DType) -> Result<NodeId, GraphError> {
    let typed = |source| GraphError::Type { node: name.to_owned(), source };
    let full = ops::find("full").ok_or_else(|| typed(ops::TypeError::new("full", "is not in the op table")))?;
    let given =
        [("shape", AttrValue::shape(&[])), ("value", AttrValue::float(value)), ("dtype", AttrValue::DType(dtype))];
    let attrs = full.attrs(&given).map_err(typed)?;
    graph.add_op(name, full, attrs, &[], Origin::implicit())
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
