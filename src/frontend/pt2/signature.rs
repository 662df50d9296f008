//! What a program is given and what it returns.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::argument::Argument;
use super::constants::Constants;
use super::import::{Importer, Input};
use super::lowering::Refusal;
use super::schema::{InputSpec, OutputSpec};
use super::scope::Scope;
use super::structure::Structure;
use super::views::Views;
use super::weights::{Folder, Stored};
use crate::frontend::LoadError;
use crate::frontend::builder::{COMPLEX, CONTEXT};
use crate::ir::{AttrValue, Origin, Output, ResultPosition, Role, Step, Target, TensorType, Value};

impl<'a> Importer<'a> {
    pub(super) fn input(
        &mut self,
        scope: &mut Scope<'a>,
        spec: &'a InputSpec,
        constants: &Constants,
    ) -> Result<(), LoadError> {
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

    pub(super) fn constant_input(&mut self, name: &str, value: &Argument) -> Result<(), LoadError> {
        let value = value.constant().map_err(|refusal| self.builder.refused("inputs", "", refusal))?;
        self.builder.graph.add_constant_input(name, value);
        Ok(())
    }

    /// Brings every output up to date, and adds the inputs as outputs that the program writes and its signature does not list: a
    /// caller sees these writes all the same. Gives what the archive calls their values.
    pub(super) fn writes(&mut self, scope: &mut Scope<'a>, specs: &'a [OutputSpec]) -> Result<Vec<Stored>, LoadError> {
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

    /// Adds all outputs. Of the results, `structure` says where each stands.
    pub(super) fn outputs(
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
