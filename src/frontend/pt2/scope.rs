//! Names of one graph of a file, and what they stand for.

use rustc_hash::{FxHashMap, FxHashSet};

use super::argument::Argument;
use super::autocast::Autocast;
use super::lowering::Refusal;
use super::memory::{Memory, Tensor};
use super::{dtype, schema};
use crate::ir::{Layout, TensorType, Value};

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
