//! Walks the nodes of the file in order and builds the graph.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::held::{Constant, Held, Sink};
use super::lowering::{Attributes, Given, Initialized, NodeLowering};
use super::operators;
use super::proto::{self, DimensionValue, TypeValue, entry};
use super::proto::{shown, target};
use super::scope::{Found, Frame, Scope};
use super::{constant, tensor};
use crate::frontend::builder::{Builder, Refusal};
use crate::frontend::kernels::show_kernels;
use crate::frontend::origins::Origins;
use crate::frontend::{LoadError, LoadOptions};
use crate::ir::{Graph, Origin, Role, Shape, TensorType};

/// The most nodes that are taken over, those of functions and of the rounds of loops counted each time.
const MAX_NODES: usize = 1 << 20;

/// Functions and graphs that stand inside of each other.
const MAX_DEPTH: usize = 32;

/// The versions of the standard's operators that are read.
const VERSIONS: std::ops::RangeInclusive<i64> = 1..=28;

/// The domain of the standard's own operators.
const STANDARD: &str = "";

/// The graph of a model.
pub(super) struct Imported {
    pub graph: Graph,
    /// By input of the graph: its initializer.
    pub initializers: Vec<Option<proto::Tensor>>,
    /// What was taken for granted, one sentence each.
    pub assumptions: Vec<String>,
}

/// Builds the graph of `model`.
pub(super) fn import(path: &Path, model: &proto::Model, options: &LoadOptions) -> Result<Imported, LoadError> {
    let mut importer = Importer {
        sink: Sink::new(Builder::new(path)),
        functions: functions(model),
        initialized: Initialized::default(),
        given: Given::default(),
        initializers: Vec::new(),
        folder: path.parent().unwrap_or(Path::new("")).to_owned(),
        options,
        assumed: Vec::new(),
        origins: Origins::default(),
        left: MAX_NODES,
        draws: 0,
    };
    let Some(graph) = &model.graph else {
        return Err(importer.refused("graph", "", Refusal::new("is missing").help("the file is damaged")));
    };
    let versions = importer.versions(&model.opset_import).map_err(|r| importer.refused("opset_import", "", r))?;
    let mut scope = Scope::default();
    let mut frame = Frame::of_graph(graph, String::new());
    frame.versions = Some(versions);
    scope.frames.push(frame);
    importer.inputs(&mut scope, graph)?;
    importer.nodes(&mut scope, &graph.node)?;
    importer.outputs(&mut scope, graph)?;
    let assumptions = importer.assumptions();
    show_kernels(&mut importer.sink.builder.graph);
    let initializers = importer.initializers.into_iter().map(Option::<&_>::cloned).collect();
    Ok(Imported { graph: importer.sink.builder.graph, initializers, assumptions })
}

/// What names a function: its domain, its name, and which of several.
type FunctionName<'m> = (&'m str, &'m str, &'m str);

fn functions(model: &proto::Model) -> FxHashMap<FunctionName<'_>, &proto::Function> {
    fn name_of(f: &proto::Function) -> FunctionName<'_> {
        (f.domain.as_deref().unwrap_or(""), f.name.as_deref().unwrap_or(""), f.overload.as_deref().unwrap_or(""))
    }
    model.functions.iter().map(|f| (name_of(f), f)).collect()
}

/// The graph under construction.
pub(super) struct Importer<'m> {
    pub sink: Sink,
    functions: FxHashMap<FunctionName<'m>, &'m proto::Function>,
    initialized: Initialized<'m>,
    /// Inputs whose values the graph is read for.
    given: Given,
    /// By input of the graph: its initializer.
    initializers: Vec<Option<&'m proto::Tensor>>,
    folder: PathBuf,
    options: &'m LoadOptions,
    /// Symbolic sizes that were given a value.
    assumed: Vec<String>,
    origins: Origins<'m>,
    /// Nodes that may still be taken over.
    left: usize,
    /// How many random operators the model has called so far.
    pub draws: i64,
}

impl<'m> Importer<'m> {
    pub(super) fn refused(&self, node: &str, target: &str, refusal: Refusal) -> LoadError {
        self.sink.builder.refused(node, target, refusal)
    }

    fn versions(&self, sets: &'m [proto::OperatorSet]) -> Result<FxHashMap<&'m str, i64>, Refusal> {
        let mut versions = FxHashMap::default();
        for set in sets {
            let domain = set.domain.as_deref().unwrap_or(STANDARD);
            let version = set.version.unwrap_or(1);
            if matches!(domain, STANDARD | "ai.onnx") && !VERSIONS.contains(&version) {
                let (first, last) = (VERSIONS.start(), VERSIONS.end());
                let reason = format!("names version {version} of the standard's operators");
                return Err(Refusal::new(reason).help(format!("versions {first} to {last} are read")));
            }
            versions.insert(domain, version);
        }
        Ok(versions)
    }

    /// The sentences for sizes that were stated on the command line.
    fn assumptions(&self) -> Vec<String> {
        let file = self.sink.builder.graph.name.clone();
        let shown = |name: &String| {
            let size = self.options.size(name).unwrap_or(0);
            format!("the size `{name}` of {file} is {size} (stated); nothing is said of others")
        };
        self.assumed.iter().map(shown).collect()
    }

    /// The type that a value is stated to have; `None` where the file leaves something of it open.
    fn stated(&mut self, info: &'m proto::ValueInfo, must: bool) -> Result<Option<TensorType>, Refusal> {
        let name = info.name.as_deref().unwrap_or("");
        let tensor = match info.r#type.as_ref().and_then(|t| t.value.as_ref()) {
            Some(TypeValue::Tensor(tensor)) => tensor,
            Some(_) if must => {
                return Err(
                    Refusal::new("is no tensor").help("sequences, maps and sparse tensors are not read as inputs")
                );
            }
            _ => return Ok(None),
        };
        if tensor.elem_type.unwrap_or(0) == 0 && !must {
            return Ok(None);
        }
        let dtype = match tensor::dtype(tensor.elem_type.unwrap_or(0)) {
            Ok((dtype, _)) => dtype,
            Err(refusal) if must => return Err(refusal),
            Err(_) => return Ok(None),
        };
        let Some(shape) = &tensor.shape else {
            return match must {
                true => Err(Refusal::new("has no shape").help("only tensors of a known rank are read")),
                false => Ok(None),
            };
        };
        let mut sizes = Shape::new();
        for (i, dim) in shape.dim.iter().enumerate() {
            let symbol = match &dim.value {
                Some(DimensionValue::Size(size)) => {
                    let size = usize::try_from(*size).map_err(|_| Refusal::new(format!("has the size {size}")))?;
                    sizes.push(size);
                    continue;
                }
                Some(DimensionValue::Symbol(symbol)) if !symbol.is_empty() => symbol.clone(),
                _ => format!("{name}.{i}"),
            };
            match self.options.size(&symbol) {
                Some(size) => {
                    if !self.assumed.contains(&symbol) {
                        self.assumed.push(symbol);
                    }
                    sizes.push(size);
                }
                None if must => {
                    let reason = format!("has the symbolic size `{symbol}`");
                    return Err(Refusal::new(reason).help(format!("state it: --shape {symbol}=SIZE")));
                }
                None => return Ok(None),
            }
        }
        tensor::tensor_type(dtype, sizes).map(Some)
    }

    fn inputs(&mut self, scope: &mut Scope<'m>, graph: &'m proto::Graph) -> Result<(), LoadError> {
        for tensor in &graph.initializer {
            if let Some(name) = &tensor.name {
                self.sink.builder.names.take(name);
            }
        }
        for info in &graph.input {
            let name = info.name.as_deref().unwrap_or("");
            // Before IR version 4, initializers had to be inputs too.
            if scope.inner().is_some_and(|f| f.tensors.contains_key(name) || f.sparse.contains_key(name)) {
                continue;
            }
            let added = self.input(scope, info, name);
            added.map_err(|refusal| self.refused(name, "", refusal))?;
        }
        Ok(())
    }

    fn input(&mut self, scope: &mut Scope<'m>, info: &'m proto::ValueInfo, name: &'m str) -> Result<(), Refusal> {
        // What nothing holds is no tensor of the graph.
        if matches!(info.r#type.as_ref().and_then(|t| t.value.as_ref()), Some(TypeValue::Optional(_))) {
            return Err(Refusal::new("may be left out, which is not supported"));
        }
        let given = self.options.values.get(name);
        let ty = match given {
            // Sizes that the file leaves open are those of the value.
            Some(array) if self.stated(info, false)?.is_none() => array.ty.clone(),
            _ => self.stated(info, true)?.ok_or_else(|| Refusal::new("has no type"))?,
        };
        let unique = self.sink.builder.names.fresh(name);
        let node = self.sink.builder.graph.add_input(&unique, Role::User, ty.clone(), Origin::default());
        self.initializers.push(None);
        let value = node.into();
        let held = match given.filter(|array| array.ty == ty && array.data.len() <= tensor::MAX_KNOWN) {
            Some(array) if ty.dtype.is_float() => {
                self.given.insert(value, Rc::new(Constant { name: unique, ty, data: array.data.as_slice().into() }));
                Held::Value(value)
            }
            Some(array) => Constant::held(&unique, ty, array.data.clone()),
            None => Held::Value(value),
        };
        match scope.inner() {
            Some(frame) => frame.bind(name, Some(held)),
            None => Ok(()),
        }
    }

    fn outputs(&mut self, scope: &mut Scope<'m>, graph: &'m proto::Graph) -> Result<(), LoadError> {
        for info in &graph.output {
            let name = info.name.as_deref().unwrap_or("");
            let found = self.find(scope, name).and_then(|held| {
                let held = held.ok_or_else(|| Refusal::new("gives nothing"))?;
                self.sink.value(&held)
            });
            let value = found.map_err(|refusal| self.refused(name, "", refusal))?;
            if let Some(stated) = self.stated(info, false).map_err(|r| self.refused(name, "", r))? {
                self.sink.builder.check_type(name, "", name, value, stated)?;
            }
            self.sink.builder.graph.add_output(name, value);
        }
        Ok(())
    }

    /// What `name` stands for; `None` for an input of a function that is left out.
    pub(super) fn find(&mut self, scope: &mut Scope<'m>, name: &str) -> Result<Option<Held>, Refusal> {
        match scope.find(name) {
            Some(Found::Held(held)) => Ok(held),
            Some(Found::Tensor(frame, tensor)) => {
                let held = self.initializer(tensor).map_err(|r| named(r, name))?;
                scope.settle(frame, tensor.name.as_deref().unwrap_or(""), held.clone());
                Ok(Some(held))
            }
            Some(Found::Sparse(frame, sparse)) => {
                let (ty, data) = tensor::dense(sparse, &self.folder).map_err(|r| named(r, name))?;
                let held = Constant::held(name, ty, data);
                let own = sparse.values.as_ref().and_then(|v| v.name.as_deref()).unwrap_or("");
                scope.settle(frame, own, held.clone());
                Ok(Some(held))
            }
            None => Err(Refusal::new(format!("uses `{name}`, which nothing computes before it"))
                .help("the nodes form a cycle or are out of order, or the file is damaged")),
        }
    }

    /// Numbers and small tensors of integers are constants; everything else may be a weight, which is an input. Where no input
    /// of the other side is the same, its elements count after all.
    fn initializer(&mut self, tensor: &'m proto::Tensor) -> Result<Held, Refusal> {
        use crate::ir::DType::{Bool, I32, I64};
        let ty = tensor::type_of(tensor)?;
        let name = tensor.name.as_deref().unwrap_or("");
        let counts = matches!(ty.dtype, I64 | I32 | Bool);
        if counts || ty.rank() == 0 {
            match tensor::known(tensor, &ty, &self.folder) {
                Ok(Some(data)) => return Ok(Constant::held(&self.sink.builder.names.fresh(name), ty, data)),
                // A number that lies in a file that is missing may be a weight.
                Err(refusal) if counts => return Err(refusal),
                Ok(None) | Err(_) => {}
            }
        }
        // What is damaged is said now, not when somebody asks for the elements.
        if let tensor::DataLocation::Inside = tensor::place(tensor, &self.folder)? {
            tensor::bytes(tensor, &ty, &self.folder)?;
        }
        let role = if counts { Role::Buffer } else { Role::Parameter };
        let unique = if self.sink.builder.graph.nodes().any(|(_, n)| *n.name == *name) {
            self.sink.builder.names.fresh(name)
        } else {
            name.to_owned()
        };
        let node = self.sink.builder.graph.add_input(&unique, role, ty, Origin::default());
        self.initializers.push(Some(tensor));
        self.initialized.insert(node.into(), tensor);
        Ok(Held::Value(node.into()))
    }

    /// Takes over nodes in their order.
    pub(super) fn nodes(&mut self, scope: &mut Scope<'m>, nodes: &'m [proto::Node]) -> Result<(), LoadError> {
        nodes.iter().try_for_each(|node| self.node(scope, node))
    }

    fn node(&mut self, scope: &mut Scope<'m>, node: &'m proto::Node) -> Result<(), LoadError> {
        let shown = shown(node);
        let refused = |importer: &Self, refusal| importer.refused(&shown, &target(node), refusal);
        self.left = match self.left.checked_sub(1) {
            Some(left) => left,
            None => return Err(refused(self, Refusal::new(format!("is more than node {MAX_NODES}")))),
        };
        let mut inputs = Vec::with_capacity(node.input.len());
        for name in &node.input {
            let held = if name.is_empty() { Ok(None) } else { self.find(scope, name) };
            inputs.push(held.map_err(|refusal| refused(self, refusal))?);
        }
        // Inputs at the end may be left out by empty names too.
        while inputs.last().is_some_and(Option::is_none) {
            inputs.pop();
        }
        let attributes = attributes(scope, node).map_err(|refusal| refused(self, refusal))?;
        let outputs = self.operator(scope, node, &attributes, inputs)?;
        for (name, held) in node.output.iter().zip(outputs) {
            if name.is_empty() {
                continue;
            }
            if let Held::Value(value) = &held
                && let Some(info) = scope.stated(name)
                && let Some(stated) = self.stated(info, false).map_err(|refusal| refused(self, refusal))?
            {
                self.sink.builder.check_type(&shown, &target(node), name, *value, stated)?;
            }
            let bound = scope.inner().map_or(Ok(()), |frame| frame.bind(name, Some(held)));
            bound.map_err(|refusal| refused(self, refusal))?;
        }
        Ok(())
    }

    fn operator(
        &mut self,
        scope: &mut Scope<'m>,
        node: &'m proto::Node,
        attributes: &Attributes<'m>,
        inputs: Vec<Option<Held>>,
    ) -> Result<Vec<Held>, LoadError> {
        let refused = |importer: &Self, refusal| importer.refused(&shown(node), &target(node), refusal);
        let (domain, op) = (node.domain.as_deref().unwrap_or(STANDARD), node.op_type.as_deref().unwrap_or(""));
        let domain = if domain == "ai.onnx" { STANDARD } else { domain };
        if let Some(&function) = self.functions.get(&(domain, op, node.overload.as_deref().unwrap_or(""))) {
            return self.function(scope, node, function, attributes, inputs);
        }
        if domain.is_empty()
            && let Some(outputs) = self.flow(scope, node, attributes, &inputs)?
        {
            return Ok(outputs);
        }
        let version = scope.version(domain).unwrap_or(1);
        let name =
            format!("{}{}", scope.prefix(), node.output.iter().find(|n| !n.is_empty()).map_or(op, String::as_str));
        let unique = self.sink.builder.names.fresh(&name);
        let origin = self.origin(node);
        if let Some(lower) = operators::find(domain, op, version) {
            let mut site = NodeLowering {
                sink: &mut self.sink,
                node,
                attributes,
                inputs: &inputs,
                version,
                name: &unique,
                origin: origin.clone(),
                initialized: &self.initialized,
                given: &self.given,
                folder: &self.folder,
            };
            if let Some(outputs) = constant::fold(&site, lower) {
                return Ok(outputs);
            }
            let lowered = lower(&mut site);
            if let Some(outputs) = lowered.map_err(|refusal| refused(self, refusal))? {
                return Ok(outputs);
            }
        }
        let mut types = Vec::new();
        for name in &node.output {
            let info = scope.stated(name);
            let ty = info.map(|info| self.stated(info, false)).transpose().map_err(|refusal| refused(self, refusal))?;
            types.push(ty.flatten());
        }
        let made = self.opaque(scope, node, attributes, &inputs, types, &unique, origin.clone());
        made.map_err(|refusal| refused(self, refusal))
    }

    fn origin(&mut self, node: &'m proto::Node) -> Origin {
        let trace = entry(&node.metadata_props, "pkg.torch.onnx.stack_trace");
        let scopes = entry(&node.metadata_props, "pkg.torch.onnx.name_scopes");
        let module: Arc<str> = match scopes {
            Some(scopes) => innermost(scopes).into(),
            None => module_of(node.name.as_deref().unwrap_or("")).into(),
        };
        Origin { module, ..self.origins.of(trace, None) }
    }
}

fn named(refusal: Refusal, tensor: &str) -> Refusal {
    Refusal { reason: format!("uses `{tensor}`, which {}", refusal.reason), ..refusal }
}

/// The attributes of a node. Inside of a function's body, some stand for attributes of the call; those that the call leaves
/// out are left out here too.
fn attributes<'m>(scope: &Scope<'m>, node: &'m proto::Node) -> Result<Attributes<'m>, Refusal> {
    let mut all = Attributes::default();
    for attribute in &node.attribute {
        let name = attribute.name.as_deref().unwrap_or("");
        let meant = match attribute.ref_attr_name.as_deref().filter(|r| !r.is_empty()) {
            None => Some(attribute),
            Some(outer) => scope.attributes().and_then(|of_call| of_call.get(outer).copied()),
        };
        let Some(meant) = meant else { continue };
        if all.insert(name, meant).is_some() {
            return Err(Refusal::new(format!("has the attribute `{name}` twice")).help("the file is damaged"));
        }
    }
    Ok(all)
}

/// The module that the last but one of the scopes of a node names: `['', 'model.layers.0', 'view']`.
fn innermost(scopes: &str) -> &str {
    let mut names = scopes.trim_matches(['[', ']']).rsplit(", ");
    names.nth(1).unwrap_or("").trim_matches(['\'', '"'])
}

/// The module path in the name of a node, as the older exporter of PyTorch writes it: `/layers.0/attn/MatMul`.
fn module_of(name: &str) -> String {
    match name.strip_prefix('/').and_then(|rest| rest.rsplit_once('/')) {
        Some((path, _)) => path.replace('/', "."),
        None => String::new(),
    }
}

impl<'m> Importer<'m> {
    /// Goes into a function or a graph inside of a node.
    ///
    /// # Errors
    /// If there are too many around it, as where a function calls itself.
    pub(super) fn enter(&mut self, scope: &mut Scope<'m>, frame: Frame<'m>) -> Result<(), Refusal> {
        if scope.frames.len() > MAX_DEPTH {
            return Err(Refusal::new(format!("stands inside of more than {MAX_DEPTH} functions and graphs"))
                .help("a function may not call itself"));
        }
        scope.frames.push(frame);
        Ok(())
    }

    /// The versions of operator sets that a function imports.
    pub(super) fn function_versions(&self, function: &'m proto::Function) -> Result<FxHashMap<&'m str, i64>, Refusal> {
        self.versions(&function.opset_import)
    }
}
