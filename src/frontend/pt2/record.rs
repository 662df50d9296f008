//! What a file says beyond its graph, for whoever writes it again: which operators its nodes call with which arguments, and what
//! it calls inputs.

use std::io::{Read, Seek};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use smallvec::SmallVec;

use super::archive::Archive;
use super::argument::{Argument, Number};
use super::constants::Constants;
use super::dtype::{complex_part, dtype};
use super::memory::Memory;
use super::schema::{Device, Node, POSITIONAL};
use super::scope::Scope;
use super::target::Target;
use super::{imported, json_error, parse};
use crate::frontend::LoadError;
use crate::ir::{Graph, TensorType, Value};
use crate::ops::aten::{Arg, Made};

/// What a node of the file calls.
pub struct Recorded {
    /// The operator with its arguments.
    pub call: Made<Value>,
    /// Per result of the call: the value of the graph that it is.
    pub results: SmallVec<[Option<Value>; 1]>,
    /// The places of the nodes that the graph has for it.
    pub nodes: Range<usize>,
}

/// What a file says beyond its graph.
pub struct Record {
    /// The graph as it was read.
    pub graph: Graph,
    /// What the graph calls its inputs and constants, and what the file's graph calls them.
    pub placeholders: Vec<(Arc<str>, String)>,
    /// In the order of the file.
    pub calls: Vec<Recorded>,
    /// The first input or output that holds complex numbers, which are pairs in the graph.
    pub complex: Option<String>,
}

/// An archive that is to be written again.
pub struct Original<R> {
    /// What its operators were.
    pub record: Record,
    /// The member that holds the graph, and its contents.
    pub member: String,
    /// The program as it stands in the archive.
    pub json: serde_json::Value,
    archive: Archive<R>,
}

/// A member of an archive as it is copied.
pub struct Copied {
    /// Its name in the archive.
    pub name: String,
    /// Bytes unpacked.
    pub size: u64,
    /// Whether it is compressed.
    pub deflated: bool,
}

/// Reads an archive together with what is needed to write it again.
///
/// # Errors
/// As [`read_archive`](super::read_archive).
pub fn original<R: Read + Seek>(path: &Path, source: R) -> Result<Original<R>, LoadError> {
    let mut archive = Archive::open(path, source)?;
    let member = archive.model()?;
    let json = archive.read(&member)?;
    let program = parse(path, &member, &json)?;
    let mut constants = Constants::read(path, &mut archive, &member, &program)?;
    let read = imported(path, &program, &mut constants, true)?;
    let module = &program.graph_module.graph;
    let is_complex = |name: &&str| module.tensor_values.get(*name).is_some_and(|m| complex_part(m.dtype).is_some());
    let complex = module.inputs.iter().chain(&module.outputs).flat_map(Argument::tensors).find(is_complex);
    let complex = complex.map(str::to_owned);
    let record = Record { graph: read.graph, placeholders: read.placeholders, calls: read.calls, complex };
    let json = serde_json::from_slice(&json).map_err(|error| json_error(path, &member, &error))?;
    Ok(Original { record, member, json, archive })
}

impl<R: Read + Seek> Original<R> {
    /// The members, in the order of the archive; none if one of them is packed as only hostile archives are.
    pub fn members(&mut self) -> Option<Vec<Copied>> {
        let names = self.archive.names();
        let copied = |name: String| {
            let size = self.archive.member(&name)?.size;
            let deflated = self.archive.packing(&name)? != zip::CompressionMethod::Stored;
            Some(Copied { name, size, deflated })
        };
        names.into_iter().map(copied).collect()
    }

    /// The bytes of a member, at most as many as it declares.
    pub fn stream(&mut self, member: &Copied) -> Option<impl Read> {
        Some(self.archive.stream(&member.name)?.take(member.size))
    }

    /// Whether the archive has a member of that name.
    pub fn has(&self, name: &str) -> bool {
        self.archive.has(name)
    }

    /// All bytes of a small member; none if there is no such.
    pub fn read(&mut self, name: &str) -> Option<Result<Vec<u8>, LoadError>> {
        self.archive.has(name).then(|| self.archive.read(name))
    }
}

/// What `node` calls; none where its arguments are of kinds that are not taken over.
pub(super) fn recorded(
    node: &Node,
    scope: &Scope,
    memory: &Memory,
    values: &[Value],
    nodes: Range<usize>,
) -> Option<Recorded> {
    let target = Target::of(&node.target);
    // Views by strides, which a rewritten operand need not have; complex numbers, which are pairs in the graph.
    if scope.autocast.is_on()
        || scope.handles_complex(node)
        || target.name.starts_with("as_strided")
        || target.namespace.is_empty()
    {
        return None;
    }
    let overload = if target.overload.is_empty() { "default" } else { target.overload };
    // The words of the call become part of programs.
    if ![target.namespace, target.name, overload].into_iter().all(is_identifier) {
        return None;
    }
    let (mut positional, mut keyword) = (Vec::new(), Vec::new());
    for input in &node.inputs {
        if !is_identifier(&input.name) {
            return None;
        }
        let Some(arg) = argument(&input.arg, scope, memory)? else { continue };
        let list = if input.kind == Some(POSITIONAL) { &mut positional } else { &mut keyword };
        list.push((input.name.clone().into(), arg));
    }
    let list = matches!(node.outputs[..], [Argument::Tensors(_)]);
    let names: Vec<&str> = match &node.outputs[..] {
        [Argument::Tensors(names)] => names.iter().map(String::as_str).collect(),
        all => all
            .iter()
            .map(|o| if let Argument::Tensor(name) = o { Some(name.as_str()) } else { None })
            .collect::<Option<_>>()?,
    };
    let results: SmallVec<[Option<TensorType>; 1]> = names.iter().map(|name| scope.stated(name).ok()).collect();
    let target = format!("{}.{}.{overload}", target.namespace, target.name).into();
    Some(Recorded {
        call: Made { target, positional, keyword, results, list },
        results: (0..names.len()).map(|slot| values.get(slot).copied()).collect(),
        nodes,
    })
}

fn is_identifier(word: &str) -> bool {
    let mut letters = word.chars();
    letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && letters.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn device(device: &Device) -> String {
    match device.index {
        Some(index) => format!("{}:{index}", device.kind),
        None => device.kind.clone(),
    }
}

fn known<T: Copy>(all: &[Number<T>]) -> Option<Vec<T>> {
    all.iter().map(|n| if let Number::Known(n) = n { Some(*n) } else { None }).collect()
}

/// An argument as it is written again: none where it is not taken over, and nothing where it need not be given.
fn argument(arg: &Argument, scope: &Scope, memory: &Memory) -> Option<Option<Arg<Value>>> {
    let tensor = |name: &String| scope.tensor(name).ok().map(|t| memory.value(t));
    Some(Some(match arg {
        Argument::None => Arg::None,
        Argument::Tensor(name) => Arg::Tensor(tensor(name)?),
        Argument::Tensors(names) => Arg::Tensors(names.iter().map(tensor).collect::<Option<_>>()?),
        Argument::OptionalTensors(names) => {
            let each = names.iter().map(|name| match name {
                Some(name) => tensor(name).map(Some),
                None => Some(None),
            });
            Arg::OptionalTensors(each.collect::<Option<_>>()?)
        }
        Argument::Int(Number::Known(v)) => Arg::Int(*v),
        Argument::Ints(all) => Arg::Ints(known(all)?.into()),
        Argument::Float(Number::Known(v)) => Arg::Float(*v),
        Argument::Floats(all) => Arg::Floats(known(all)?),
        Argument::Bool(Number::Known(v)) => Arg::Bool(*v),
        Argument::Bools(all) => Arg::Bools(all.clone()),
        Argument::Str(text) => Arg::Str(text.clone()),
        Argument::ScalarType(code) => Arg::DType(dtype(*code).ok()?),
        Argument::MemoryFormat(code) => Arg::MemoryFormat(*code),
        Argument::Device(given) if scope.main_device() == Some(given) => Arg::Device,
        Argument::Device(given) => Arg::On(device(given)),
        // Only the ordinary layout is read.
        Argument::Layout => return Some(None),
        _ => return None,
    }))
}
