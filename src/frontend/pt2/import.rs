//! Walks the nodes of the file in order and builds the graph.

use std::path::Path;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::argument::Argument;
use super::autocast::{Autocast, Casts};
use super::constants::Constants;
use super::lowering::{NodeLowering, Refusal, Values};
use super::memory::{Memory, Sharing, Tensor};
use super::overlap::Overlap;
use super::record::{self, Recorded};
use super::schema::{self, ExportedProgram, InputSpec, node_name};
use super::scope::Scope;
use super::structure;
use super::target::{Target, gives_only_numbers, is_check, is_transparent};
use super::views::{self, Views};
use super::weights::Stored;
use super::{convert, mutation, nested};
use crate::frontend::LoadError;
use crate::frontend::builder::Builder;
use crate::frontend::kernels::show_kernels;
use crate::frontend::names::Names;
use crate::frontend::origins::Origins;
use crate::ir::{Graph, NodeKind, Origin, Role, Value};
use crate::ops::{Arithmetic, Family, Op};

/// The graph under construction.
pub(super) struct Importer<'a> {
    pub builder: Builder,
    /// Per input of the graph: what the archive calls its values.
    pub stored: Vec<Option<Stored>>,
    origins: Origins<'a>,
    pub memory: Memory,
    pub inputs: Vec<Input<'a>>,
    /// What the graph calls an input, by its role and by what the file calls it.
    pub input_names: FxHashMap<(Role, &'a str), Arc<str>>,
    /// How many random operators the program has called so far.
    pub draws: i64,
    /// What the graph calls its inputs and constants, and what the file's graph calls them.
    pub placeholders: Vec<(Arc<str>, &'a str)>,
    /// What the nodes of the file call, if that is asked for.
    calls: Option<Vec<Recorded>>,
    /// Nodes that loops have become so far, see [`Importer::unroll`].
    pub unrolled: usize,
}

/// See [`Importer::state`].
pub(super) type State = (Graph, Names, Memory, i64, usize);

/// An input of the program that it may write.
pub(super) struct Input<'a> {
    pub spec: &'a InputSpec,
    /// What reports call it.
    pub shown: String,
    pub tensor: Tensor,
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
        unrolled: 0,
    };
    let module = &program.graph_module;
    let mut scope = Scope::new(&module.graph, Autocast::default());
    for node in &module.graph.nodes {
        // The name of a dissolved graph is free for the node that computes its result.
        if !is_transparent(&node.target) && !importer.builder.names.take(node_name(node)) {
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
    show_kernels(&mut importer.builder.graph);
    Ok(Imported { graph: importer.builder.graph, stored: importer.stored, written, placeholders, calls })
}

/// Builds the graph. A constant that the program writes becomes an input: it is state, and holds something else in the next run.
pub(super) fn imported(
    path: &Path,
    program: &ExportedProgram,
    constants: &mut Constants,
    records: bool,
) -> Result<Imported, LoadError> {
    loop {
        let imported = import(path, program, constants, records)?;
        if imported.written.iter().filter(|of| constants.forget(&of.name)).count() == 0 {
            return Ok(imported);
        }
    }
}

impl<'a> Importer<'a> {
    /// Brings what `name` holds up to date, for the node of that name.
    pub(super) fn read(
        &mut self,
        scope: &Scope<'a>,
        name: &str,
        node: &str,
        origin: &Origin,
    ) -> Result<Value, Refusal> {
        let tensor = scope.tensor(name)?;
        let mut views = Views(self.builder.lower(node, origin.clone()));
        self.memory.read(tensor, &mut views)
    }

    /// Where the node was written.
    pub(super) fn origin(&mut self, node: &'a schema::Node) -> Origin {
        self.origins.of(node.metadata.stack_trace.as_deref(), node.metadata.nn_module_stack.as_deref())
    }

    /// What taking over a node changes, to come back to.
    pub(super) fn state(&self) -> State {
        let calls = self.calls.as_ref().map_or(0, Vec::len);
        (self.builder.graph.clone(), self.builder.names.clone(), self.memory.clone(), self.draws, calls)
    }

    pub(super) fn restore(&mut self, state: State) {
        let calls;
        (self.builder.graph, self.builder.names, self.memory, self.draws, calls) = state;
        self.calls.iter_mut().for_each(|all| all.truncate(calls));
    }

    /// Takes over one node. `name` is unique in the graph.
    pub(super) fn node(&mut self, scope: &mut Scope<'a>, node: &'a schema::Node, name: &str) -> Result<(), LoadError> {
        if is_transparent(&node.target) {
            return self.inline(scope, node, name);
        }
        if self.unroll(scope, node, name)? {
            return Ok(());
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
        if is_check(&node.target) || gives_only_numbers(node) {
            return Ok(());
        }
        let symbol = node.outputs.iter().find_map(Argument::symbol);
        if let Some(symbol) = symbol {
            return Err(refused(self, Refusal::symbolic(symbol)));
        }
        if let Some(refusal) = convert::refusal(&node.target) {
            return Err(refused(self, refusal));
        }
        let names: Vec<&'a str> = node.outputs.iter().flat_map(Argument::tensors).collect();
        let written = mutation::written(node).map_err(|refusal| refused(self, refusal))?;
        // What gives nothing that is used was kept for something else that it does; PyTorch's own operators do nothing else.
        let unused = !names.iter().any(|name| scope.used.contains(name));
        let foreign = !Target::of(&node.target).is_pytorch();
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
        let origin = self.origin(node);
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
        if !written.is_empty() {
            self.reads_apart(scope, node, &written, first).map_err(|refusal| refused(self, refusal))?;
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

    /// Refuses an operator that reads what it writes at other places: what it computes depends on the order in which its kernel does.
    /// The nodes that stand for it start at number `first`.
    fn reads_apart(
        &self,
        scope: &Scope<'a>,
        node: &schema::Node,
        written: &[&str],
        first: usize,
    ) -> Result<(), Refusal> {
        let graph = &self.builder.graph;
        let by_place = || {
            graph.nodes().skip(first).all(|(_, node)| match &node.kind {
                NodeKind::Op { op: Op::Table(def), .. } => {
                    def.arithmetic() != Arithmetic::Other || matches!(def.family, Family::View | Family::Create)
                }
                NodeKind::Op { .. } => false,
                NodeKind::Input { .. } | NodeKind::Literal(_) => true,
            })
        };
        let written_by_name: Vec<&str> = mutation::effects_of(node)
            .into_iter()
            .flat_map(|effects| effects.writes(|name| mutation::given(node, name)))
            .copied()
            .collect();
        let read = node.inputs.iter().filter(|i| !written_by_name.contains(&&*i.name)).flat_map(|i| i.arg.tensors());
        for &argument in written {
            let tensor = scope.tensor(argument)?;
            for other in read.clone() {
                let is_apart = match self.memory.overlap(graph, tensor, scope.tensor(other)?) {
                    Some(Overlap::None) => true,
                    Some(Overlap::Same) => by_place(),
                    Some(Overlap::Partial) | None => false,
                };
                if !is_apart {
                    let reason = format!("writes `{argument}`, and reads the same memory as `{other}`");
                    let help = "what it computes depends on the order in which it does: pass a copy (`.clone()`) of what it reads";
                    return Err(Refusal::new(reason).help(help));
                }
            }
        }
        Ok(())
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
