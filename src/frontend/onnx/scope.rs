//! What names stand for inside of a graph, of the graphs around it, and of functions.

use rustc_hash::FxHashMap;

use super::held::Held;
use super::lowering::Attributes;
use super::proto;
use crate::frontend::builder::Refusal;

/// The names of one graph or function.
#[derive(Default)]
pub(super) struct Frame<'m> {
    values: FxHashMap<&'m str, Option<Held>>,
    /// Initializers that are not in use yet.
    pub tensors: FxHashMap<&'m str, &'m proto::Tensor>,
    pub sparse: FxHashMap<&'m str, &'m proto::SparseTensor>,
    /// The types that the file states.
    pub stated: FxHashMap<&'m str, &'m proto::ValueInfo>,
    /// Attributes of the call, for those that a function's body takes over.
    pub attributes: Attributes<'m>,
    /// Versions of the operator sets that a function imports.
    pub versions: Option<FxHashMap<&'m str, i64>>,
    /// Put in front of the names of nodes.
    pub prefix: String,
}

/// A graph with those around it, the innermost last.
#[derive(Default)]
pub(super) struct Scope<'m> {
    pub frames: Vec<Frame<'m>>,
}

impl<'m> Frame<'m> {
    pub(super) fn of_graph(graph: &'m proto::Graph, prefix: String) -> Frame<'m> {
        let infos = graph.input.iter().chain(&graph.value_info).chain(&graph.output);
        let name_of = |s: &'m proto::SparseTensor| s.values.as_ref().and_then(|v| v.name.as_deref()).unwrap_or("");
        Frame {
            tensors: graph.initializer.iter().map(|t| (t.name.as_deref().unwrap_or(""), t)).collect(),
            sparse: graph.sparse_initializer.iter().map(|s| (name_of(s), s)).collect(),
            stated: infos.filter_map(|info| Some((info.name.as_deref()?, info))).collect(),
            prefix,
            ..Frame::default()
        }
    }

    /// The names of a function, which sees nothing around it.
    pub(super) fn of_function(
        function: &'m proto::Function,
        versions: FxHashMap<&'m str, i64>,
        attributes: Attributes<'m>,
        prefix: String,
    ) -> Frame<'m> {
        Frame {
            stated: function.value_info.iter().filter_map(|info| Some((info.name.as_deref()?, info))).collect(),
            versions: Some(versions),
            attributes,
            prefix,
            ..Frame::default()
        }
    }

    /// Lets `name` stand for something; `None` for an input that is left out.
    pub(super) fn bind(&mut self, name: &'m str, held: Option<Held>) -> Result<(), Refusal> {
        match self.values.insert(name, held) {
            None => Ok(()),
            Some(_) => Err(Refusal::new(format!("defines `{name}` a second time")).help("the file is damaged")),
        }
    }
}

/// Where a name was found.
pub(super) enum Found<'m> {
    Held(Option<Held>),
    /// An initializer of a frame.
    Tensor(usize, &'m proto::Tensor),
    Sparse(usize, &'m proto::SparseTensor),
}

impl<'m> Scope<'m> {
    /// The innermost graph.
    pub(super) fn inner(&mut self) -> Option<&mut Frame<'m>> {
        self.frames.last_mut()
    }

    /// The frames that names of the innermost graph may mean. A function sees nothing around it.
    fn visible(&self) -> impl Iterator<Item = (usize, &Frame<'m>)> {
        let function = self.frames.iter().rposition(|f| f.versions.is_some()).unwrap_or(0);
        self.frames.iter().enumerate().skip(function).rev()
    }

    pub(super) fn find(&self, name: &str) -> Option<Found<'m>> {
        self.visible().find_map(|(i, frame)| {
            let value = frame.values.get(name).map(|held| Found::Held(held.clone()));
            let tensor = || frame.tensors.get(name).map(|t| Found::Tensor(i, t));
            value.or_else(tensor).or_else(|| frame.sparse.get(name).map(|s| Found::Sparse(i, s)))
        })
    }

    /// Lets an initializer of frame `i` stand for something.
    pub(super) fn settle(&mut self, i: usize, name: &'m str, held: Held) {
        if let Some(frame) = self.frames.get_mut(i) {
            frame.values.insert(name, Some(held));
        }
    }

    /// The version of an operator set for the innermost graph.
    pub(super) fn version(&self, domain: &str) -> Option<i64> {
        let versions = self.frames.iter().rev().find_map(|f| f.versions.as_ref())?;
        // Both names mean the standard's own operators.
        let domain = if domain == "ai.onnx" { "" } else { domain };
        versions.get(domain).or_else(|| versions.get("ai.onnx").filter(|_| domain.is_empty())).copied()
    }

    /// The attributes that the body of a function takes over.
    pub(super) fn attributes(&self) -> Option<&Attributes<'m>> {
        self.frames.iter().rev().find(|f| f.versions.is_some()).map(|f| &f.attributes)
    }

    pub(super) fn stated(&self, name: &str) -> Option<&'m proto::ValueInfo> {
        self.frames.last()?.stated.get(name).copied()
    }

    /// What stands in front of the names of nodes.
    pub(super) fn prefix(&self) -> &str {
        self.frames.last().map_or("", |f| &f.prefix)
    }
}
