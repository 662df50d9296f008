//! Walks the nodes of the file in order and builds the graph.

use std::path::Path;

use rustc_hash::{FxHashMap, FxHashSet};

use super::argument::Argument;
use super::constants::Constants;
use super::names::Names;
use super::origin::Origins;
use super::schema::{self, ExportedProgram, InputSpec, OutputSpec};
use super::site::{Refusal, Site, Values};
use super::{convert, dtype, inline, mutation};
use crate::frontend::LoadError;
use crate::ir::{Graph, NodeKind, Origin, Role, TensorType, Value};
use crate::ops::{LayoutRule, Op};

/// A tensor as in-place operators see it: they put another value into the cell, and every name that stands for the
/// cell sees it from then on.
pub(super) struct Cell {
    pub value: Value,
    /// Why the tensor cannot be changed in place without changing others; `None` if it can.
    pub shared: Option<&'static str>,
}

pub(super) const INPUT: &str = "is an input";
pub(super) const VIEW: &str = "may share memory with another tensor";

/// The names of one graph of the file. A nested graph has names of its own.
pub(super) struct Scope<'a> {
    graph: &'a schema::Graph,
    cells: Vec<Cell>,
    by_name: FxHashMap<&'a str, usize>,
    /// Names that some node or output of the graph uses.
    pub used: FxHashSet<&'a str>,
    /// Whether the graph runs under autocast.
    pub autocast: bool,
}

impl<'a> Scope<'a> {
    pub fn new(graph: &'a schema::Graph) -> Self {
        let arguments = graph.nodes.iter().flat_map(|n| n.inputs.iter().map(|i| &i.arg));
        let used = arguments.chain(&graph.outputs).flat_map(Argument::tensors).collect();
        Scope { graph, cells: Vec::new(), by_name: FxHashMap::default(), used, autocast: false }
    }

    /// The cell that `name` stands for.
    pub fn cell(&self, name: &str) -> Result<usize, Refusal> {
        if let Some(&cell) = self.by_name.get(name) {
            return Ok(cell);
        }
        let computed = |n: &schema::Node| n.outputs.iter().flat_map(Argument::tensors).any(|o| o == name);
        Err(if self.graph.nodes.iter().any(computed) {
            Refusal::new(format!("uses `{name}` before it is computed"))
                .help("the nodes form a cycle or are out of order; the file is damaged")
        } else {
            Refusal::new(format!("uses `{name}`, which nothing computes")).help("the file is damaged")
        })
    }

    /// What `name` holds at this point of the program.
    pub fn value(&self, name: &str) -> Result<Value, Refusal> {
        self.cell(name).map(|cell| self.cells[cell].value)
    }

    pub fn at(&mut self, cell: usize) -> &mut Cell {
        &mut self.cells[cell]
    }

    /// Lets `name` stand for a new cell.
    pub fn bind(&mut self, name: &'a str, value: Value, shared: Option<&'static str>) -> Result<(), Refusal> {
        self.cells.push(Cell { value, shared });
        self.bind_cell(name, self.cells.len() - 1)
    }

    /// Lets `name` stand for a cell that other names stand for too.
    pub fn bind_cell(&mut self, name: &'a str, cell: usize) -> Result<(), Refusal> {
        match self.by_name.insert(name, cell) {
            None => Ok(()),
            Some(_) => Err(Refusal::new(format!("defines `{name}` a second time")).help("the file is damaged")),
        }
    }

    /// The type that the file states for `name`.
    pub fn stated(&self, name: &str) -> Result<TensorType, Refusal> {
        let meta = self.graph.tensor_values.get(name);
        let meta = meta.ok_or_else(|| Refusal::new(format!("has no type for `{name}`")).help("the file is damaged"))?;
        dtype::tensor_type(meta).map_err(|e| Refusal { reason: format!("`{name}` {}", e.reason), help: e.help })
    }

    /// The strides that the file records for `name`.
    pub fn strides(&self, name: &str) -> Option<Vec<usize>> {
        self.graph.tensor_values.get(name).and_then(dtype::strides)
    }
}

/// The graph under construction.
pub(super) struct Importer<'a> {
    path: &'a Path,
    pub graph: Graph,
    /// Per input of the graph: what the archive calls its values.
    stored: Vec<Option<String>>,
    pub names: Names,
    origins: Origins<'a>,
    /// How many random operators the program has called so far.
    pub draws: i64,
}

/// Builds the graph of `program`. With it comes, per input, what the archive calls its values.
pub(super) fn import(
    path: &Path,
    program: &ExportedProgram,
    constants: &Constants,
) -> Result<(Graph, Vec<Option<String>>), LoadError> {
    let mut importer = Importer {
        path,
        graph: Graph::new(path.display().to_string()),
        stored: Vec::new(),
        names: Names::default(),
        origins: Origins::default(),
        draws: 0,
    };
    let module = &program.graph_module;
    let mut scope = Scope::new(&module.graph);
    for node in &module.graph.nodes {
        // The name of a dissolved graph is free for the node that computes its result.
        if !inline::is_transparent(&node.target) && !importer.names.take(node_name(node)) {
            let reason = "has the same name as another node".to_owned();
            return Err(importer.refused(node_name(node), &node.target, Refusal { reason, help: None }));
        }
    }
    for spec in &module.signature.input_specs {
        importer.input(&mut scope, spec, constants)?;
    }
    for node in &module.graph.nodes {
        importer.node(&mut scope, node, node_name(node))?;
    }
    for spec in &module.signature.output_specs {
        importer.output(&scope, spec)?;
    }
    Ok((importer.graph, importer.stored))
}

/// What reports call a node. Files of older versions name only the outputs.
pub(super) fn node_name(node: &schema::Node) -> &str {
    node.name.as_deref().or_else(|| node.outputs.iter().flat_map(Argument::tensors).next()).unwrap_or(&node.target)
}

impl<'a> Importer<'a> {
    pub fn refused(&self, node: &str, target: &str, refusal: Refusal) -> LoadError {
        LoadError::Node {
            file: self.path.to_owned(),
            node: node.to_owned(),
            target: target.to_owned(),
            reason: refusal.reason,
            help: refusal.help,
        }
    }

    fn input(&mut self, scope: &mut Scope<'a>, spec: &'a InputSpec, constants: &Constants) -> Result<(), LoadError> {
        // The name in the program, the name that reports and the archive use, the role.
        let (name, given, role) = match spec {
            InputSpec::UserInput { arg: Argument::Tensor(name) } => (name, name, Role::User),
            InputSpec::UserInput { arg } => match arg.symbol() {
                Some(symbol) => return Err(self.refused("inputs", "", Refusal::symbolic(symbol))),
                None => return Ok(()),
            },
            InputSpec::Parameter { arg, parameter_name } => (&arg.name, parameter_name, Role::Parameter),
            InputSpec::Buffer { arg, buffer_name } => (&arg.name, buffer_name, Role::Buffer),
            InputSpec::TensorConstant { arg, tensor_constant_name } => (&arg.name, tensor_constant_name, Role::Buffer),
            InputSpec::CustomObj { .. } | InputSpec::Token { .. } | InputSpec::ConstantInput { .. } => return Ok(()),
        };
        let shown = if self.names.take(given) { given.clone() } else { self.names.fresh(name) };
        let added = scope.stated(name).and_then(|ty| {
            let literal = match spec {
                InputSpec::TensorConstant { tensor_constant_name, .. } => constants.get(tensor_constant_name),
                _ => None,
            };
            let literal = literal.filter(|data| data.len() == ty.numel());
            let id = match literal {
                Some(data) => self.graph.add_literal(&shown, ty, data.to_vec(), Origin::default())?,
                None => {
                    self.stored.push((role != Role::User).then(|| given.clone()));
                    self.graph.add_input(&shown, role, ty, Origin::default())
                }
            };
            scope.bind(name, id.into(), Some(INPUT))
        });
        added.map_err(|refusal| self.refused(name, "", refusal))
    }

    fn output(&mut self, scope: &Scope<'a>, spec: &'a OutputSpec) -> Result<(), LoadError> {
        let names = match spec {
            OutputSpec::UserOutput { arg } => match arg.symbol() {
                Some(symbol) => return Err(self.refused("outputs", "", Refusal::symbolic(symbol))),
                None => arg.tensors(),
            },
            OutputSpec::LossOutput { arg }
            | OutputSpec::BufferMutation { arg }
            | OutputSpec::ParameterMutation { arg }
            | OutputSpec::UserInputMutation { arg }
            | OutputSpec::GradientToParameter { arg }
            | OutputSpec::GradientToUserInput { arg } => vec![arg.name.as_str()],
            OutputSpec::Token { .. } => return Ok(()),
        };
        for name in names {
            let value = scope.value(name).map_err(|refusal| self.refused("outputs", "", refusal))?;
            self.graph.add_output(name, value);
        }
        Ok(())
    }

    /// Takes over one node. `name` is unique in the graph.
    pub fn node(&mut self, scope: &mut Scope<'a>, node: &'a schema::Node, name: &str) -> Result<(), LoadError> {
        if inline::is_transparent(&node.target) {
            return self.inline(scope, node, name);
        }
        let refused = |importer: &Self, refusal| importer.refused(name, &node.target, refusal);
        let symbol = node.outputs.iter().find_map(Argument::symbol);
        if let Some(symbol) = symbol {
            return Err(refused(self, Refusal::symbolic(symbol)));
        }
        if convert::is_check(&node.target) {
            return Ok(());
        }
        let names: Vec<&'a str> = node.outputs.iter().flat_map(Argument::tensors).collect();
        if names.is_empty() {
            let refusal = Refusal::new("has no output, so it can only have a side effect");
            return Err(refused(self, refusal.help("a graph here computes values and does nothing else")));
        }
        let values = self.convert(scope, node, name).map_err(|refusal| refused(self, refusal))?;
        for (&output, &value) in names.iter().zip(&values) {
            let stated = scope.stated(output).map_err(|refusal| refused(self, refusal))?;
            let inferred = self.graph.ty(value);
            if *inferred != stated {
                return Err(LoadError::TypeMismatch {
                    file: self.path.to_owned(),
                    node: name.to_owned(),
                    target: node.target.clone(),
                    value: output.to_owned(),
                    stated: Box::new(stated),
                    inferred: Box::new(inferred.clone()),
                });
            }
        }
        self.bind_outputs(scope, node, &names, &values).map_err(|refusal| refused(self, refusal))
    }

    fn convert(&mut self, scope: &Scope<'a>, node: &'a schema::Node, name: &str) -> Result<Values, Refusal> {
        let origin = self.origins.of(&node.metadata);
        let (graph, names, draws) = (&mut self.graph, &mut self.names, &mut self.draws);
        let mut site = Site { graph, names, scope, node, name, origin };
        convert::convert(&mut site, draws)
    }

    fn bind_outputs(
        &mut self,
        scope: &mut Scope<'a>,
        node: &'a schema::Node,
        names: &[&'a str],
        values: &[Value],
    ) -> Result<(), Refusal> {
        if let Some(cell) = mutation::mutated_cell(scope, node)? {
            let ([name], [value]) = (names, values) else {
                return Err(Refusal::new("changes its operand in place and has more than one output"));
            };
            scope.at(cell).value = *value;
            return scope.bind_cell(name, cell);
        }
        let shared = values.iter().any(|&v| self.may_alias(v)).then_some(VIEW);
        if shared.is_some() {
            for operand in node.inputs.iter().flat_map(|i| i.arg.tensors()) {
                let cell = scope.cell(operand)?;
                scope.at(cell).shared.get_or_insert(VIEW);
            }
        }
        for (slot, name) in names.iter().enumerate() {
            match values.get(slot) {
                Some(&value) => scope.bind(name, value, shared)?,
                None if scope.used.contains(name) => {
                    return Err(Refusal::new(format!("computes no `{name}`")));
                }
                None => {}
            }
        }
        Ok(())
    }

    /// Whether `value` may lie in the same memory as an operand of its node.
    fn may_alias(&self, value: Value) -> bool {
        match &self.graph.node(value.node).kind {
            NodeKind::Op { op: Op::Table(def), .. } if def.name == "cast" => {
                self.graph.operands(value.node).iter().any(|&x| self.graph.ty(x).dtype == self.graph.ty(value).dtype)
            }
            NodeKind::Op { op: Op::Table(def), .. } => matches!(def.layout, LayoutRule::View(_)),
            // Memory of its own, whatever the operand is.
            NodeKind::Op { op: Op::Custom(op), .. } if op.name.starts_with("aten.empty") => false,
            _ => true,
        }
    }
}
