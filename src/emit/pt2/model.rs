//! The JSON of an exported program with another graph in it.

use std::io::{self, Read, Seek};

use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::{Map, Value as Json, json};
use smallvec::SmallVec;

use super::argument::{argument, meta, tensor};
use super::parts::{damaged, part};
use super::signature::outputs;
use crate::elements;
use crate::emit::EmitError;
use crate::emit::names::Names;
use crate::emit::program::{Program, Source, Step, uniform};
use crate::emit::values::Values;
use crate::frontend::pt2::{Original, Record};
use crate::ir::{Layout, Node, NodeId, NodeKind, Number, Origin, TensorType, layouts};

/// What is new in an archive.
pub(super) struct Written {
    /// Members that change, by name: the graph itself, and what describes and holds constants that the archive did not have.
    pub members: Vec<(String, Vec<u8>)>,
    /// What the archive calls the inputs of the graph that it did not have.
    pub names: FxHashMap<String, String>,
}

/// What of `original` changes with the graph of `program`, of whose inputs `computed` holds those that are constants now.
pub(super) fn model<R: Read + Seek>(
    program: &Program,
    computed: &Values,
    original: &mut Original<R>,
) -> Result<Written, EmitError> {
    let mut json = std::mem::take(&mut original.json);
    let mut model = Model::new(program, computed, &original.record, &json)?;
    for step in &program.steps {
        model.step(step)?;
    }
    let outputs = outputs(program, &original.record, &json, &model.names)?;
    let Model { nodes, metas, constants, device, .. } = model;
    let mut members = constant_members(original, &constants, &device)?;
    let module = part(&mut json, "graph_module")?;
    let specs = part(part(module, "signature")?, "input_specs")?.as_array_mut().ok_or_else(damaged)?;
    // Constants stand in front of what the caller gives.
    let first_user = specs.iter().position(|spec| spec.get("user_input").is_some()).unwrap_or(specs.len());
    let spec = |c: &Constant| match &c.input {
        Some(_) => json!({ "buffer": { "arg": tensor(&c.name), "buffer_name": c.name, "persistent": false } }),
        None => json!({ "tensor_constant": { "arg": tensor(&c.name), "tensor_constant_name": c.name } }),
    };
    specs.splice(first_user..first_user, constants.iter().map(spec));
    module["signature"]["output_specs"] = outputs.specs.into();
    // What calls of single modules took and gave are values of the old graph.
    for call in module.get_mut("module_call_graph").and_then(Json::as_array_mut).into_iter().flatten() {
        if call["fqn"].as_str() != Some("") {
            call["signature"] = Json::Null;
        }
    }
    let graph = part(module, "graph")?;
    let inputs = part(graph, "inputs")?.as_array_mut().ok_or_else(damaged)?;
    let place = first_user.min(inputs.len());
    inputs.splice(place..place, constants.iter().map(|c| json!({ "as_tensor": tensor(&c.name) })));
    let inputs: FxHashSet<String> = inputs.iter().filter_map(name_of).collect();
    graph["nodes"] = nodes.into();
    graph["outputs"] = outputs.values.into();
    let values = part(graph, "tensor_values")?.as_object_mut().ok_or_else(damaged)?;
    values.retain(|name, _| inputs.contains(name));
    values.extend(metas);
    let text = serde_json::to_vec(&json).map_err(io::Error::from)?;
    members.push((original.member.clone(), text));
    let names = constants.into_iter().filter_map(|c| Some((c.input?, c.name))).collect();
    Ok(Written { members, names })
}

/// The name of a tensor among inputs or outputs.
fn name_of(argument: &Json) -> Option<String> {
    argument.get("as_tensor")?.get("name")?.as_str().map(str::to_owned)
}

/// A constant that the archive did not have.
struct Constant {
    name: String,
    /// What the graph calls it, if it is an input there.
    input: Option<String>,
    ty: TensorType,
    bytes: Vec<u8>,
}

/// The graph while it is written.
struct Model<'p, 'g> {
    program: &'p Program<'g>,
    computed: &'p Values,
    /// What the file calls each tensor of the program.
    names: Vec<String>,
    taken: Names,
    device: Json,
    layouts: Vec<SmallVec<[Layout; 1]>>,
    /// What the old file says of where its nodes come from.
    origins: FxHashMap<&'p str, &'p Json>,
    nodes: Vec<Json>,
    metas: Map<String, Json>,
    constants: Vec<Constant>,
}

impl<'p, 'g> Model<'p, 'g> {
    fn new(program: &'p Program<'g>, computed: &'p Values, record: &Record, json: &'p Json) -> Result<Self, EmitError> {
        let graph = json.pointer("/graph_module/graph").ok_or_else(damaged)?;
        let list = |name: &str| graph[name].as_array().map(Vec::as_slice).unwrap_or_default();
        let placeholders: Vec<String> = list("inputs").iter().filter_map(name_of).collect();
        let first = placeholders.first().and_then(|name| graph["tensor_values"].get(name)?.get("device"));
        let origins = list("nodes").iter().filter_map(|node| {
            let first_output = || node.pointer("/outputs/0/as_tensor/name");
            Some((node["name"].as_str().or_else(|| first_output()?.as_str())?, &node["metadata"]))
        });
        let mut model = Model {
            program,
            computed,
            names: Vec::new(),
            taken: Names::default(),
            device: first.cloned().unwrap_or_else(|| json!({ "type": "cpu", "index": null })),
            layouts: layouts(program.graph),
            origins: origins.collect(),
            nodes: Vec::new(),
            metas: Map::new(),
            constants: Vec::new(),
        };
        placeholders.iter().for_each(|name| model.taken.keep(name));
        let old: FxHashMap<&str, &Node> = record.graph.nodes().map(|(_, node)| (&*node.name, node)).collect();
        let known = record.placeholders.iter().filter_map(|(own, name)| Some((&**own, (&**name, *old.get(&**own)?))));
        let known: FxHashMap<&str, (&str, &Node)> = known.collect();
        for id in 0..program.tensors.len() {
            let name = model.name(id, &known)?;
            model.names.push(name);
        }
        Ok(model)
    }

    /// What the file calls tensor `id`. Constants that it did not have are made.
    fn name(&mut self, id: usize, known: &FxHashMap<&str, (&str, &Node)>) -> Result<String, EmitError> {
        let held = &self.program.tensors[id];
        match held.source {
            Source::Call => {
                let name = self.taken.take(&held.name);
                self.describe(id, &name)?;
                Ok(name)
            }
            Source::Input(node) => {
                if let Some(data) = self.computed.get(&held.name) {
                    return self.constant(id, data, Some(held.name.clone()));
                }
                let name = known.get(&*self.program.graph.node(node).name);
                name.map(|(name, _)| (*name).to_owned())
                    .ok_or_else(|| EmitError::archive(format!("the archive has no input `{}`", held.name)))
            }
            Source::Literal(node) => {
                let own = self.program.graph.node(node);
                let same = |old: &Node| old.kind == own.kind && old.types == own.types;
                if let Some((name, _)) = known.get(&*own.name).filter(|(_, old)| same(old)) {
                    return Ok((*name).to_owned());
                }
                match &own.kind {
                    NodeKind::Literal(literal) if uniform(&literal.data).is_none() => {
                        self.constant(id, &literal.data, None)
                    }
                    _ => {
                        let name = self.taken.take(&held.name);
                        self.describe(id, &name)?;
                        self.filled(node, &name)?;
                        Ok(name)
                    }
                }
            }
        }
    }

    /// Makes a constant of tensor `id`, whose elements are `data`.
    fn constant(&mut self, id: usize, data: &[Number], input: Option<String>) -> Result<String, EmitError> {
        let held = &self.program.tensors[id];
        if input.is_some() && self.device["type"] == "meta" {
            let reason = "the program is on the device `meta`, where tensors have none".to_owned();
            return Err(EmitError::Values { name: held.name.clone(), reason });
        }
        // PyTorch keeps constants as attributes of a module, which has some of its own: `to`, `type`, `float`.
        let name = self.taken.take(&format!("constant_{}", held.name));
        self.describe(id, &name)?;
        let ty = held.ty.clone().ok_or_else(|| EmitError::archive(format!("`{name}` holds complex numbers")))?;
        let bytes = elements::bytes(ty.dtype, data);
        self.constants.push(Constant { name: name.clone(), input, ty, bytes });
        Ok(name)
    }

    /// Says what type tensor `id` has, and how it lies in memory.
    fn describe(&mut self, id: usize, name: &str) -> Result<(), EmitError> {
        let held = &self.program.tensors[id];
        let ty = held.ty.as_ref().ok_or_else(|| EmitError::archive(format!("`{name}` holds complex numbers")))?;
        let layout = held.value.and_then(|v| self.layouts.get(v.node.index())?.get(v.slot as usize));
        self.metas.insert(name.to_owned(), meta(ty, layout, &self.device)?);
        Ok(())
    }

    /// A tensor of one number.
    fn filled(&mut self, node: NodeId, name: &str) -> Result<(), EmitError> {
        use crate::ops::aten::Arg;
        let own = self.program.graph.node(node);
        let (NodeKind::Literal(literal), Some(ty)) = (&own.kind, own.types.first()) else { return Ok(()) };
        let value = match uniform(&literal.data) {
            Some(Number::Int(v)) => Arg::Int(v),
            Some(Number::Float(v)) => Arg::Float(v.0),
            None => return Ok(()),
        };
        let size = Arg::Ints(ty.shape.iter().map(|&d| d as i64).collect());
        let positional = [("size", size), ("fill_value", value)];
        let keyword = [("dtype", Arg::DType(ty.dtype)), ("device", Arg::Device)];
        let mut inputs = Vec::new();
        for (kind, (name, arg)) in positional.iter().map(|a| (1, a)).chain(keyword.iter().map(|a| (2, a))) {
            inputs.push(json!({ "name": name, "arg": argument(arg, &self.names, &self.device)?, "kind": kind }));
        }
        self.nodes.push(json!({
            "target": "torch.ops.aten.full.default",
            "inputs": inputs,
            "outputs": [{ "as_tensor": tensor(name) }],
            "metadata": {},
            "is_hop_single_tensor_return": null,
            "name": name,
        }));
        Ok(())
    }

    fn step(&mut self, step: &Step) -> Result<(), EmitError> {
        let call = &step.call;
        let mut inputs = Vec::new();
        let positional = call.positional.iter().map(|arg| (1, arg));
        for (kind, (name, arg)) in positional.chain(call.keyword.iter().map(|arg| (2, arg))) {
            inputs.push(json!({ "name": name, "arg": argument(arg, &self.names, &self.device)?, "kind": kind }));
        }
        let results: Vec<Json> = step.results.iter().map(|&id| tensor(&self.names[id])).collect();
        let name = match step.results.as_slice() {
            [one] if !call.list => self.names[*one].clone(),
            _ => self.taken.take(call.target.split('.').nth(1).unwrap_or("call")),
        };
        let outputs: Vec<Json> = match call.list {
            true => vec![json!({ "as_tensors": results })],
            false => results.into_iter().map(|result| json!({ "as_tensor": result })).collect(),
        };
        self.nodes.push(json!({
            "target": format!("torch.ops.{}", call.target),
            "inputs": inputs,
            "outputs": outputs,
            "metadata": self.metadata(self.program.graph.node(step.node)),
            "is_hop_single_tensor_return": null,
            "name": name,
        }));
        Ok(())
    }

    /// Where a node comes from: as the old file says of one of its name, else the lines of source.
    fn metadata(&self, node: &Node) -> Json {
        let mut metadata = Map::new();
        if let Some(old) = self.origins.get(&*node.name) {
            for key in ["stack_trace", "nn_module_stack"] {
                metadata.extend(old.get(key).map(|text| (key.to_owned(), text.clone())));
            }
        } else if !node.origin.frames.is_empty() {
            metadata.insert("stack_trace".to_owned(), stack_trace(&node.origin).into());
        }
        metadata.into()
    }
}

/// Source lines as Python prints them.
fn stack_trace(origin: &Origin) -> String {
    let frame = |frame: &crate::ir::Frame| {
        format!("  File \"{}\", line {}, in {}\n    {}\n", frame.file, frame.line, frame.function, frame.code)
    };
    origin.frames.iter().map(frame).collect()
}

/// The members that hold and describe new constants.
fn constant_members<R: Read + Seek>(
    original: &mut Original<R>,
    constants: &[Constant],
    device: &Json,
) -> Result<Vec<(String, Vec<u8>)>, EmitError> {
    if constants.is_empty() {
        return Ok(Vec::new());
    }
    let unknown = || EmitError::archive("the archive keeps its constants in an older way");
    let root = original.member.split_once("models/").map(|(root, _)| root.to_owned()).ok_or_else(unknown)?;
    let model = original.member.rsplit('/').next().and_then(|file| file.strip_suffix(".json")).ok_or_else(unknown)?;
    let folder = format!("{root}data/constants/");
    let described = format!("{folder}{model}_constants_config.json");
    let text = original.read(&described).ok_or_else(unknown)??;
    let mut config: Json = serde_json::from_slice(&text).map_err(io::Error::from)?;
    let entries = part(&mut config, "config")?.as_object_mut().ok_or_else(unknown)?;
    let mut members = Vec::new();
    let mut number = 0;
    for constant in constants {
        let path = loop {
            let path = format!("tensor_{number}");
            number += 1;
            if !original.has(&format!("{folder}{path}")) {
                break path;
            }
        };
        members.push((format!("{folder}{path}"), constant.bytes.clone()));
        let payload = json!({
            "path_name": path, "is_param": false, "use_pickle": false, "tensor_meta": meta(&constant.ty, None, device)?
        });
        if entries.insert(constant.name.clone(), payload).is_some() {
            return Err(EmitError::archive(format!("the archive has a constant `{}`", constant.name)));
        }
    }
    members.push((described, serde_json::to_vec(&config).map_err(io::Error::from)?));
    Ok(members)
}
