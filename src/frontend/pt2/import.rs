//! Walks the nodes of the file in order and builds the graph.

use std::path::Path;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::argument::Argument;
use super::autocast::{Autocast, Casts};
use super::constants::Constants;
use super::memory::{Memory, Tensor};
use super::record::{self, Recorded};
use super::schema::{self, ExportedProgram, InputSpec, OutputSpec};
use super::sharing::Sharing;
use super::site::{NodeLowering, Refusal, Values};
use super::structure::{self, Structure};
use super::views::{self, Views};
use super::weights::{Folder, Stored};
use super::{convert, dtype, inline, mutation, nested};
use crate::frontend::LoadError;
use crate::frontend::builder::Builder;
use crate::frontend::names::Names;
use crate::frontend::origins::Origins;
use crate::ir::{AttrValue, Graph, Layout, Origin, Output, ResultPosition, Role, Step, Target, TensorType, Value};

/// The names of one graph of the file. A nested graph has names of its own.
pub(super) struct Scope<'a> {
    graph: &'a schema::Graph,
    by_name: FxHashMap<&'a str, Tensor>,
    /// Names that some node or output of the graph uses.
    pub used: FxHashSet<&'a str>,
    /// What autocast does to the operators of the graph.
    pub autocast: Autocast,
}

impl<'a> Scope<'a> {
    pub(super) fn new(graph: &'a schema::Graph, autocast: Autocast) -> Self {
        let arguments = graph.nodes.iter().flat_map(|n| n.inputs.iter().map(|i| &i.arg));
        let used = arguments.chain(&graph.outputs).flat_map(Argument::tensors).collect();
        Scope { graph, by_name: FxHashMap::default(), used, autocast }
    }

    /// The tensor that `name` stands for.
    pub(super) fn tensor(&self, name: &str) -> Result<Tensor, Refusal> {
        if let Some(&tensor) = self.by_name.get(name) {
            return Ok(tensor);
        }
        let computed = |n: &schema::Node| n.outputs.iter().flat_map(Argument::tensors).any(|o| o == name);
        Err(if self.graph.nodes.iter().any(computed) {
            Refusal::new(format!("uses `{name}` before it is computed"))
                .help("the nodes form a cycle or are out of order; the file is damaged")
        } else {
            Refusal::new(format!("uses `{name}`, which nothing computes")).help("the file is damaged")
        })
    }

    /// Lets `name` stand for a tensor.
    pub(super) fn bind(&mut self, name: &'a str, tensor: Tensor) -> Result<(), Refusal> {
        match self.by_name.insert(name, tensor) {
            None => Ok(()),
            Some(_) => Err(Refusal::new(format!("defines `{name}` a second time")).help("the file is damaged")),
        }
    }

    /// The type that the file states for `name`.
    pub(super) fn stated(&self, name: &str) -> Result<TensorType, Refusal> {
        let meta = self.graph.tensor_values.get(name);
        let meta = meta.ok_or_else(|| Refusal::new(format!("has no type for `{name}`")).help("the file is damaged"))?;
        dtype::tensor_type(meta).map_err(|e| Refusal { reason: format!("`{name}` {}", e.reason), help: e.help })
    }

    /// The strides that the file records for `name`.
    pub(super) fn strides(&self, name: &str) -> Option<Vec<usize>> {
        self.graph.tensor_values.get(name).and_then(dtype::strides)
    }

    /// Where the file says that the elements of `name` lie in its memory.
    pub(super) fn layout(&self, name: &str) -> Option<Layout> {
        self.graph.tensor_values.get(name).and_then(dtype::layout)
    }

    /// Whether `name` is a tensor of complex numbers, which are pairs here.
    pub(super) fn is_complex(&self, name: &str) -> bool {
        self.graph.tensor_values.get(name).is_some_and(|meta| dtype::complex_part(meta.dtype).is_some())
    }

    /// Whether an argument or a result of `node` is a tensor of complex numbers.
    pub(super) fn handles_complex(&self, node: &schema::Node) -> bool {
        let arguments = node.inputs.iter().map(|i| &i.arg);
        arguments.chain(&node.outputs).flat_map(Argument::tensors).any(|name| self.is_complex(name))
    }

    /// The kind of device that `name` lies on.
    pub(super) fn device(&self, name: &str) -> Option<&'a str> {
        self.graph.tensor_values.get(name).map(|meta| meta.device.kind.as_str())
    }

    /// The device that the inputs lie on: that of the first.
    pub(super) fn main_device(&self) -> Option<&'a schema::Device> {
        let first = self.graph.inputs.iter().flat_map(Argument::tensors).next()?;
        self.graph.tensor_values.get(first).map(|meta| &meta.device)
    }

    pub(super) fn same_device(&self, a: &str, b: &str) -> bool {
        let device = |name: &str| self.graph.tensor_values.get(name).map(|meta| &meta.device);
        device(a) == device(b)
    }

    /// What all of the memory holds that `name` lies in, and how it lies there; `None` if that is not known.
    pub(super) fn storage(&self, memory: &Memory, name: &str) -> Result<Option<(Value, Layout)>, Refusal> {
        let tensor = self.tensor(name)?;
        let (value, layout) = memory.whole(tensor);
        Ok(layout.map(|layout| (value, layout.clone())))
    }
}

/// The graph under construction.
pub(super) struct Importer<'a> {
    pub builder: Builder,
    /// Per input of the graph: what the archive calls its values.
    stored: Vec<Option<Stored>>,
    origins: Origins<'a>,
    pub memory: Memory,
    inputs: Vec<Input<'a>>,
    /// What the graph calls an input, by its role and by what the file calls it.
    input_names: FxHashMap<(Role, &'a str), Arc<str>>,
    /// How many random operators the program has called so far.
    pub draws: i64,
    /// What the graph calls its inputs and constants, and what the file's graph calls them.
    placeholders: Vec<(Arc<str>, &'a str)>,
    /// What the nodes of the file call, if that is asked for.
    calls: Option<Vec<Recorded>>,
}

/// See [`Importer::state`].
pub(super) type State = (Graph, Names, Memory, i64);

/// An input of the program that it may write.
struct Input<'a> {
    spec: &'a InputSpec,
    /// What reports call it.
    shown: String,
    tensor: Tensor,
}

/// The graph of a program.
pub(super) struct Imported {
    pub graph: Graph,
    /// Per input of the graph: what the archive calls its values.
    pub stored: Vec<Option<Stored>>,
    /// What the archive calls the values that the program writes in place.
    pub written: Vec<Stored>,
    /// What the graph calls its inputs and constants, and what the file's graph calls them.
    pub placeholders: Vec<(Arc<str>, String)>,
    /// What the nodes of the file call, if that was asked for.
    pub calls: Vec<Recorded>,
}

/// Builds the graph of `program`. With `records`, it is kept what each node calls.
pub(super) fn import(
    path: &Path,
    program: &ExportedProgram,
    constants: &Constants,
    records: bool,
) -> Result<Imported, LoadError> {
    let mut importer = Importer {
        builder: Builder::new(path),
        stored: Vec::new(),
        origins: Origins::default(),
        memory: Memory::default(),
        inputs: Vec::new(),
        input_names: FxHashMap::default(),
        draws: 0,
        placeholders: Vec::new(),
        calls: records.then(Vec::new),
    };
    let module = &program.graph_module;
    let mut scope = Scope::new(&module.graph, Autocast::default());
    for node in &module.graph.nodes {
        // The name of a dissolved graph is free for the node that computes its result.
        if !inline::is_transparent(&node.target) && !importer.builder.names.take(node_name(node)) {
            let reason = "has the same name as another node".to_owned();
            return Err(importer.builder.refused(node_name(node), &node.target, Refusal { reason, help: None }));
        }
    }
    for spec in &module.signature.input_specs {
        importer.input(&mut scope, spec, constants)?;
    }
    for node in &module.graph.nodes {
        importer.node(&mut scope, node, node_name(node))?;
    }
    let written = importer.writes(&mut scope, &module.signature.output_specs)?;
    importer.outputs(&scope, &module.signature.output_specs, structure::returned(module))?;
    let placeholders = importer.placeholders.into_iter().map(|(shown, name)| (shown, name.to_owned())).collect();
    let calls = importer.calls.unwrap_or_default();
    Ok(Imported { graph: importer.builder.graph, stored: importer.stored, written, placeholders, calls })
}

/// What stands behind the path of a container for the data that it holds beside its parts, and of a result for what its type
/// does not say.
const CONTEXT: &str = "(context)";

/// What a caller sees beside the pairs that a result of complex numbers is.
const COMPLEX: &str = "complex numbers";

/// What reports call a node. Files of older versions name only the outputs.
pub(super) fn node_name(node: &schema::Node) -> &str {
    node.name.as_deref().or_else(|| node.outputs.iter().flat_map(Argument::tensors).next()).unwrap_or(&node.target)
}

impl<'a> Importer<'a> {
    fn input(&mut self, scope: &mut Scope<'a>, spec: &'a InputSpec, constants: &Constants) -> Result<(), LoadError> {
        // The name in the program, the name that reports and the archive use, the role.
        let (name, given, role) = match spec {
            InputSpec::UserInput { arg: Argument::Tensor(name) } => (name, name, Role::User),
            InputSpec::UserInput { arg } => {
                // What has no name of its own goes by its place among all inputs.
                let name =
                    format!("input {}", self.builder.graph.inputs().len() + self.builder.graph.constant_inputs().len());
                return self.constant_input(&name, arg);
            }
            InputSpec::ConstantInput { name, value } => return self.constant_input(name, value),
            InputSpec::Parameter { arg, parameter_name } => (&arg.name, parameter_name, Role::Parameter),
            InputSpec::Buffer { arg, buffer_name, .. } => (&arg.name, buffer_name, Role::Buffer),
            InputSpec::TensorConstant { arg, tensor_constant_name } => (&arg.name, tensor_constant_name, Role::Buffer),
            InputSpec::CustomObj { .. } | InputSpec::Token { .. } => return Ok(()),
        };
        let shown = if self.builder.names.take(given) { given.clone() } else { self.builder.names.fresh(name) };
        let added = scope.stated(name).and_then(|ty| {
            let literal = match spec {
                InputSpec::TensorConstant { tensor_constant_name, .. } => constants.get(tensor_constant_name),
                _ => None,
            };
            let literal = literal.filter(|data| data.len() == ty.numel());
            let id = match literal {
                Some(data) => self.builder.graph.add_literal(&shown, ty, data.to_vec(), Origin::default())?,
                None => {
                    self.stored.push(stored(spec));
                    self.builder.graph.add_input(&shown, role, ty, Origin::default())
                }
            };
            let tensor = self.memory.own(id.into(), scope.layout(name));
            self.inputs.push(Input { spec, shown: shown.clone(), tensor });
            scope.bind(name, tensor)
        });
        if role == Role::User && scope.is_complex(name) {
            self.builder.graph.add_constant_input(&format!("elements of {shown}"), AttrValue::str(COMPLEX));
        }
        let shown: Arc<str> = shown.into();
        self.placeholders.push((shown.clone(), name));
        self.input_names.insert((role, given.as_str()), shown);
        added.map_err(|refusal| self.builder.refused(name, "", refusal))
    }

    fn constant_input(&mut self, name: &str, value: &Argument) -> Result<(), LoadError> {
        let value = value.constant().map_err(|refusal| self.builder.refused("inputs", "", refusal))?;
        self.builder.graph.add_constant_input(name, value);
        Ok(())
    }

    /// Brings every output up to date, and adds the inputs as outputs that the program writes and its signature does not list: a
    /// caller sees these writes all the same. Gives what the archive calls their values.
    fn writes(&mut self, scope: &mut Scope<'a>, specs: &'a [OutputSpec]) -> Result<Vec<Stored>, LoadError> {
        let outputs = "outputs";
        let mut written = Vec::new();
        for name in specs.iter().flat_map(tensors_of) {
            self.read(scope, name, outputs, &Origin::default()).map_err(|r| self.builder.refused(outputs, "", r))?;
        }
        for input in std::mem::take(&mut self.inputs) {
            if !self.memory.is_written(input.tensor) {
                continue;
            }
            written.extend(stored(input.spec));
            let listed = specs.iter().find(|&output| is_written_by(input.spec, output));
            let mut views = Views(self.builder.lower(outputs, Origin::default()));
            let value = self.memory.read(input.tensor, &mut views).map_err(|r| self.builder.refused(outputs, "", r))?;
            match listed.and_then(|output| tensors_of(output).into_iter().next()) {
                None => {
                    let name: Arc<str> = input.shown.as_str().into();
                    self.builder.graph.push_output(Output { name: name.clone(), value, target: Target::Write(name) });
                }
                Some(name) => {
                    let tensor = scope.tensor(name).map_err(|r| self.builder.refused(outputs, "", r))?;
                    if self.memory.value(tensor) != value {
                        let reason = format!("writes `{}` in place and lists another value for it", input.shown);
                        return Err(self.builder.refused(outputs, "", Refusal::new(reason)));
                    }
                }
            }
        }
        Ok(written)
    }

    /// Brings what `name` holds up to date, for the node of that name.
    fn read(&mut self, scope: &Scope<'a>, name: &str, node: &str, origin: &Origin) -> Result<Value, Refusal> {
        let tensor = scope.tensor(name)?;
        let mut views = Views(self.builder.lower(node, origin.clone()));
        self.memory.read(tensor, &mut views)
    }

    /// What taking over a node changes, to come back to.
    pub(super) fn state(&self) -> State {
        (self.builder.graph.clone(), self.builder.names.clone(), self.memory.clone(), self.draws)
    }

    pub(super) fn restore(&mut self, state: State) {
        (self.builder.graph, self.builder.names, self.memory, self.draws) = state;
    }

    /// Adds all outputs. Of the results, `structure` says where each stands.
    fn outputs(
        &mut self,
        scope: &Scope<'a>,
        specs: &'a [OutputSpec],
        structure: Option<Structure>,
    ) -> Result<(), LoadError> {
        let is_result =
            |spec: &&OutputSpec| matches!(spec, OutputSpec::UserOutput { .. } | OutputSpec::LossOutput { .. });
        let results = specs.iter().filter(is_result).count();
        // A spec of another number of leaves says nothing of these.
        let structure = structure.filter(|s| s.leaves.len() == results);
        let mut leaves = structure.iter().flat_map(|s| s.leaves.iter().cloned());
        let graph = &self.builder.graph;
        let types: FxHashMap<Arc<str>, TensorType> =
            graph.inputs().iter().map(|&id| (graph.node(id).name.clone(), graph.ty(id.into()).clone())).collect();
        let beside = structure.iter().flat_map(|s| &s.contexts);
        let mut contexts: Vec<_> = beside.map(|(path, text)| (Some(path.clone()), text.clone())).collect();
        for spec in specs {
            let refused = |importer: &Self, refusal| importer.builder.refused("outputs", "", refusal);
            let path = if is_result(&spec) { leaves.next() } else { None };
            let (name, target) = match spec {
                OutputSpec::UserOutput { arg: Argument::Tensor(name) } => {
                    (name, Target::Result(self.builder.graph.next_place(path)))
                }
                OutputSpec::UserOutput { arg } => {
                    let constant = arg.constant().map_err(|refusal| refused(self, refusal))?;
                    self.builder.graph.add_constant_output(constant, path);
                    continue;
                }
                OutputSpec::LossOutput { arg } => (&arg.name, Target::Loss(self.builder.graph.next_place(path))),
                OutputSpec::BufferMutation { arg, buffer_name: of } => {
                    (&arg.name, Target::Write(self.input_name(Role::Buffer, of)))
                }
                OutputSpec::ParameterMutation { arg, parameter_name: of } => {
                    (&arg.name, Target::Write(self.input_name(Role::Parameter, of)))
                }
                OutputSpec::UserInputMutation { arg, user_input_name: of } => {
                    (&arg.name, Target::Write(self.input_name(Role::User, of)))
                }
                OutputSpec::GradientToParameter { arg, parameter_name: of } => {
                    (&arg.name, Target::Gradient(self.input_name(Role::Parameter, of)))
                }
                OutputSpec::GradientToUserInput { arg, user_input_name: of } => {
                    (&arg.name, Target::Gradient(self.input_name(Role::User, of)))
                }
                OutputSpec::Token { .. } => continue,
            };
            let tensor = scope.tensor(name).map_err(|refusal| refused(self, refusal))?;
            let mut value = self.memory.value(tensor);
            if let Target::Write(of) = &target
                && let Some(ty) = types.get(of)
            {
                value = self.copied(name, value, ty).map_err(|refusal| refused(self, refusal))?;
            }
            if let Target::Result(ResultPosition { path, .. }) | Target::Loss(ResultPosition { path, .. }) = &target
                && scope.is_complex(name)
            {
                contexts.push((path.clone(), COMPLEX.to_owned()));
            }
            self.builder.graph.push_output(Output { name: name.as_str().into(), value, target });
        }
        // Data that a container holds beside its leaves is returned too.
        for (path, text) in contexts {
            let path = path.map(|path| path.then(Step::Name(CONTEXT.into())));
            self.builder.graph.add_constant_output(AttrValue::str(&text), path);
        }
        Ok(())
    }

    /// What a tensor of type `ty` holds once the value `name` was copied into it, as PyTorch does at the end of a run.
    fn copied(&mut self, name: &str, value: Value, ty: &TensorType) -> Result<Value, Refusal> {
        let mut lowering = self.builder.lower(name, Origin::default());
        let value = lowering.cast("cast", value, ty.dtype)?;
        if lowering.ty(value).shape == ty.shape {
            return Ok(value);
        }
        lowering.implicit("expand", "expand", &[("shape", AttrValue::shape(&ty.shape))], &[value])
    }

    /// What the graph calls the input that the file calls `name`.
    fn input_name(&self, role: Role, name: &str) -> Arc<str> {
        self.input_names.get(&(role, name)).cloned().unwrap_or_else(|| name.into())
    }

    /// Takes over one node. `name` is unique in the graph.
    pub(super) fn node(&mut self, scope: &mut Scope<'a>, node: &'a schema::Node, name: &str) -> Result<(), LoadError> {
        if inline::is_transparent(&node.target) {
            return self.inline(scope, node, name);
        }
        self.operator(scope, node, name)
    }

    /// Takes over one node as an operator, also if its nested graph could be dissolved.
    pub(super) fn operator(
        &mut self,
        scope: &mut Scope<'a>,
        node: &'a schema::Node,
        name: &str,
    ) -> Result<(), LoadError> {
        let refused = |importer: &Self, refusal| importer.builder.refused(name, &node.target, refusal);
        // Whoever computes with a number that is known only when the model runs is refused.
        if convert::is_check(&node.target) || convert::gives_only_numbers(node) {
            return Ok(());
        }
        let symbol = node.outputs.iter().find_map(Argument::symbol);
        if let Some(symbol) = symbol {
            return Err(refused(self, Refusal::symbolic(symbol)));
        }
        let names: Vec<&'a str> = node.outputs.iter().flat_map(Argument::tensors).collect();
        let written = mutation::written(node).map_err(|refusal| refused(self, refusal))?;
        // What gives nothing that is used was kept for something else that it does; PyTorch's own operators do nothing else.
        let unused = !names.iter().any(|name| scope.used.contains(name));
        let foreign = !convert::Target::of(&node.target).is_pytorch();
        if written.is_empty() && (names.is_empty() || (foreign && unused)) {
            let what = if names.is_empty() { "no output" } else { "no output that is used" };
            let refusal = Refusal::new(format!("has {what}, so it can only have a side effect"));
            return Err(refused(self, refusal.help("a graph here computes values and does nothing else")));
        }
        if let Some(writer) = nested::writes_outside(node) {
            let reason =
                format!("calls `{}` in a nested graph, which may write a tensor from outside of it", writer.target);
            return Err(refused(self, Refusal::new(reason).help(mutation::HELP)));
        }
        let origin = self.origins.of(node.metadata.stack_trace.as_deref(), node.metadata.nn_module_stack.as_deref());
        for operand in node.inputs.iter().flat_map(|i| i.arg.tensors()) {
            self.read(scope, operand, name, &origin).map_err(|refusal| refused(self, refusal))?;
        }
        let first = self.builder.graph.len();
        if mutation::effects_of(node).is_some_and(|effects| effects.reshapes) {
            return self.reshape(scope, node, name, origin).map_err(|refusal| refused(self, refusal));
        }
        let values = self.convert(scope, node, name, &written, origin.clone()).map_err(|r| refused(self, r))?;
        for (&output, &value) in names.iter().zip(&values) {
            let stated = scope.stated(output).map_err(|refusal| refused(self, refusal))?;
            self.builder.check_type(name, &node.target, output, value, stated)?;
        }
        let end = self.builder.graph.len();
        if let Some(calls) = self.calls.as_mut().filter(|_| written.is_empty()) {
            calls.extend(record::recorded(node, scope, &self.memory, &values, first..end));
        }
        let bound = match written.is_empty() {
            true => self.bind_outputs(scope, node, &names, &values, first),
            false => self.write(scope, node, name, &written, &values, origin),
        };
        bound.map_err(|refusal| refused(self, refusal))
    }

    fn convert(
        &mut self,
        scope: &Scope<'a>,
        node: &'a schema::Node,
        name: &str,
        written: &[&str],
        origin: Origin,
    ) -> Result<Values, Refusal> {
        let written =
            written.iter().map(|n| Ok(self.memory.value(scope.tensor(n)?))).collect::<Result<Vec<_>, Refusal>>()?;
        let lowering = self.builder.lower(name, origin);
        let mut site =
            NodeLowering { lowering, scope, memory: &self.memory, node, casts: Casts::default(), bare: false };
        site.casts = scope.autocast.casts(&mut site)?;
        convert::convert(&mut site, &mut self.draws, &written)
    }

    /// Takes over an operator such as `transpose_`: its argument shows the same memory in another way from now on.
    fn reshape(
        &mut self,
        scope: &mut Scope<'a>,
        node: &'a schema::Node,
        name: &str,
        origin: Origin,
    ) -> Result<(), Refusal> {
        let unknown = || Refusal::new("changes how its argument lies in memory").help(mutation::HELP);
        let Some(Argument::Tensor(argument)) = node.inputs.first().map(|i| &i.arg) else { return Err(unknown()) };
        let tensor = scope.tensor(argument)?;
        let first = self.builder.graph.len();
        let lowering = self.builder.lower(name, origin);
        let mut site =
            NodeLowering { lowering, scope, memory: &self.memory, node, casts: Casts::default(), bare: false };
        let values = convert::reshaped(&mut site)?.ok_or_else(unknown)?;
        let ([value], [output]) =
            (&values[..], &node.outputs.iter().flat_map(Argument::tensors).collect::<Vec<_>>()[..])
        else {
            return Err(unknown());
        };
        let path =
            views::path(&self.builder.graph, *value, first).filter(|(source, _)| *source == self.memory.value(tensor));
        let (_, path) = path.ok_or_else(unknown)?;
        let stated = scope.stated(output)?;
        if *self.builder.graph.ty(*value) != stated {
            return Err(Refusal::new(format!("gives {}, and the file states {stated}", self.builder.graph.ty(*value))));
        }
        let other = self.memory.view(tensor, &path, *value);
        self.memory.reshape(tensor, other);
        scope.bind(output, tensor)
    }

    /// Puts the new contents of what the operator writes into its place, and binds its results.
    fn write(
        &mut self,
        scope: &mut Scope<'a>,
        node: &'a schema::Node,
        name: &str,
        written: &[&str],
        values: &[Value],
        origin: Origin,
    ) -> Result<(), Refusal> {
        let names: Vec<&'a str> = node.outputs.iter().flat_map(Argument::tensors).collect();
        let in_place = values.len() == 1 && written.len() == 1 && names.len() == 1;
        let (results, contents) = match in_place {
            true => (&[][..], values),
            false => values.split_at(values.len().saturating_sub(written.len())),
        };
        if contents.len() != written.len() || results.len() != if in_place { 0 } else { names.len() } {
            return Err(Refusal::new("has another number of results than its schema says"));
        }
        for (&argument, &value) in written.iter().zip(contents) {
            let tensor = scope.tensor(argument)?;
            let (old, new) = (self.builder.graph.ty(self.memory.value(tensor)), self.builder.graph.ty(value));
            if old != new {
                return Err(Refusal::new(format!("writes {new} into `{argument}`, which is {old}")));
            }
            if self.memory.is_tangled(tensor) {
                let reason = format!("writes `{argument}`, which may share memory with another tensor");
                return Err(Refusal::new(reason).help(mutation::HELP));
            }
            let mut views = Views(self.builder.lower(name, origin.clone()));
            self.memory.write(tensor, value, &mut views)?;
        }
        if mutation::effects_of(node).is_some_and(|effects| effects.fresh) {
            for (&output, &value) in names.iter().zip(results) {
                let tensor = self.memory.own(value, scope.layout(output));
                scope.bind(output, tensor)?;
            }
            return Ok(());
        }
        // What it gives is what it wrote.
        if names.len() > written.len() {
            return Err(Refusal::new("has results that its schema does not tell apart from what it writes"));
        }
        for (&output, argument) in names.iter().zip(written) {
            let tensor = scope.tensor(argument)?;
            let (given, stated) = (self.builder.graph.ty(self.memory.value(tensor)), scope.stated(output)?);
            if *given != stated {
                return Err(Refusal::new(format!("gives {given} as `{output}`, and the file states {stated}")));
            }
            scope.bind(output, tensor)?;
        }
        Ok(())
    }

    fn bind_outputs(
        &mut self,
        scope: &mut Scope<'a>,
        node: &'a schema::Node,
        names: &[&'a str],
        values: &[Value],
        first: usize,
    ) -> Result<(), Refusal> {
        for (slot, &name) in names.iter().enumerate() {
            let Some(&value) = values.get(slot) else {
                if scope.used.contains(name) {
                    return Err(Refusal::new(format!("computes no `{name}`")));
                }
                continue;
            };
            let tensor = match self.sharing(scope, node, name, value, first)? {
                Sharing::Own => self.memory.own(value, scope.layout(name)),
                Sharing::View(of, path) => self.memory.view(of, &path, value),
                Sharing::Unknown => {
                    for operand in node.inputs.iter().flat_map(|i| i.arg.tensors()) {
                        self.memory.tangle(scope.tensor(operand)?);
                    }
                    let tensor = self.memory.own(value, None);
                    self.memory.tangle(tensor);
                    tensor
                }
            };
            scope.bind(name, tensor)?;
        }
        Ok(())
    }
}

/// What the archive calls the values of an input.
fn stored(input: &InputSpec) -> Option<Stored> {
    let (folder, name) = match input {
        InputSpec::Parameter { parameter_name, .. } => (Folder::Weights, parameter_name),
        InputSpec::Buffer { buffer_name, persistent: true, .. } => (Folder::Weights, buffer_name),
        InputSpec::Buffer { buffer_name, .. } => (Folder::Constants, buffer_name),
        InputSpec::TensorConstant { tensor_constant_name, .. } => (Folder::Constants, tensor_constant_name),
        _ => return None,
    };
    Some(Stored { folder, name: name.clone() })
}

/// The tensors that an output holds.
fn tensors_of(output: &OutputSpec) -> Vec<&str> {
    match output {
        OutputSpec::UserOutput { arg } => arg.tensors(),
        OutputSpec::LossOutput { arg }
        | OutputSpec::BufferMutation { arg, .. }
        | OutputSpec::ParameterMutation { arg, .. }
        | OutputSpec::UserInputMutation { arg, .. }
        | OutputSpec::GradientToParameter { arg, .. }
        | OutputSpec::GradientToUserInput { arg, .. } => vec![arg.name.as_str()],
        OutputSpec::Token { .. } => Vec::new(),
    }
}

/// Whether `output` is what the program leaves in `input`.
fn is_written_by(input: &InputSpec, output: &OutputSpec) -> bool {
    match (input, output) {
        (InputSpec::Buffer { buffer_name: a, .. }, OutputSpec::BufferMutation { buffer_name: b, .. })
        | (InputSpec::Parameter { parameter_name: a, .. }, OutputSpec::ParameterMutation { parameter_name: b, .. })
        | (
            InputSpec::UserInput { arg: Argument::Tensor(a) },
            OutputSpec::UserInputMutation { user_input_name: b, .. },
        ) => a == b,
        _ => false,
    }
}
