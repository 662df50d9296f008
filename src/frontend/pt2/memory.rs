//! What the program's tensors hold while it runs: several names may stand for one piece of memory, and a write to one of
//! them shows in all.

use std::rc::Rc;

use super::lowering::Refusal;
use super::overlap::{Overlap, overlap};
use super::views::{self, Views};
use crate::ir::{Graph, Layout, Value};

/// A tensor of the program: a piece of memory, or a view of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tensor(usize);

/// A piece of memory.
#[derive(Clone)]
struct Storage {
    /// What it holds now.
    value: Value,
    /// How often it was written.
    version: u32,
    /// Whether another tensor may lie in the same memory, no one knows how.
    tangled: bool,
    /// How the tensor that stands for all of it lies there.
    layout: Option<Layout>,
}

/// How a tensor sees its memory.
#[derive(Clone)]
struct Seen {
    storage: usize,
    /// The operators that lead from what the storage holds to the tensor, as outputs of the nodes that applied them first.
    path: Rc<[Value]>,
    value: Value,
    /// The version of the storage that `value` shows.
    version: u32,
}

/// All tensors of the program so far.
#[derive(Clone, Default)]
pub(super) struct Memory {
    storages: Vec<Storage>,
    tensors: Vec<Seen>,
}

impl Memory {
    /// A tensor in memory of its own.
    pub(super) fn own(&mut self, value: Value, layout: Option<Layout>) -> Tensor {
        self.storages.push(Storage { value, version: 0, tangled: false, layout });
        self.see(self.storages.len() - 1, Rc::default(), value)
    }

    /// A view of `of`, which the operators on `path` lead to.
    pub(super) fn view(&mut self, of: Tensor, path: &[Value], value: Value) -> Tensor {
        let Seen { storage, path: before, .. } = &self.tensors[of.0];
        let path = before.iter().chain(path).copied().collect();
        self.see(*storage, path, value)
    }

    fn see(&mut self, storage: usize, path: Rc<[Value]>, value: Value) -> Tensor {
        let version = self.storages[storage].version;
        self.tensors.push(Seen { storage, path, value, version });
        Tensor(self.tensors.len() - 1)
    }

    /// Lets `tensor` show its memory as `other` does from now on.
    pub(super) fn reshape(&mut self, tensor: Tensor, other: Tensor) {
        self.tensors[tensor.0] = self.tensors[other.0].clone();
    }

    /// Notes that another tensor may lie in the memory of this one.
    pub(super) fn tangle(&mut self, tensor: Tensor) {
        let storage = self.tensors[tensor.0].storage;
        self.storages[storage].tangled = true;
    }

    pub(super) fn is_tangled(&self, tensor: Tensor) -> bool {
        self.storages[self.tensors[tensor.0].storage].tangled
    }

    /// What the tensor held when it was last brought up to date.
    pub(super) fn value(&self, tensor: Tensor) -> Value {
        self.tensors[tensor.0].value
    }

    /// How a tensor overlaps another one; `None` if one of them lies in its memory in a way that is not known.
    pub(super) fn overlap(&self, graph: &Graph, a: Tensor, b: Tensor) -> Option<Overlap> {
        let [seen_a, seen_b] = [a, b].map(|tensor| &self.tensors[tensor.0]);
        if seen_a.storage != seen_b.storage {
            return Some(Overlap::None);
        }
        // Places within what the memory holds, however that lies in memory.
        let whole = Layout::contiguous(&graph.ty(self.storages[seen_a.storage].value).shape);
        let place = |seen: &Seen| views::layout(graph, &seen.path, whole.clone());
        let shape = |seen: &Seen| &graph.ty(seen.value).shape;
        match (seen_a.path == seen_b.path, place(seen_a), place(seen_b)) {
            (true, ..) => Some(Overlap::Same),
            (false, Some(at_a), Some(at_b)) => Some(overlap((&at_a, shape(seen_a)), (&at_b, shape(seen_b)))),
            (false, ..) => None,
        }
    }

    /// What all of the memory holds that `tensor` lies in, and how it lies there.
    pub(super) fn whole(&self, tensor: Tensor) -> (Value, Option<&Layout>) {
        let storage = &self.storages[self.tensors[tensor.0].storage];
        (storage.value, storage.layout.as_ref())
    }

    /// Whether the memory of `tensor` was written.
    pub(super) fn is_written(&self, tensor: Tensor) -> bool {
        self.storages[self.tensors[tensor.0].storage].version > 0
    }

    /// What the tensor holds now: after a write to its memory, it is read from there anew.
    pub(super) fn read(&mut self, tensor: Tensor, views: &mut Views) -> Result<Value, Refusal> {
        let Seen { storage, path, value, version } = self.tensors[tensor.0].clone();
        let memory = &self.storages[storage];
        if memory.version == version {
            return Ok(value);
        }
        let value = path.iter().try_fold(memory.value, |from, &step| views.apply(step, from))?;
        let seen = &mut self.tensors[tensor.0];
        (seen.value, seen.version) = (value, memory.version);
        Ok(value)
    }

    /// Puts `value` in the place of the tensor's elements.
    pub(super) fn write(&mut self, tensor: Tensor, value: Value, views: &mut Views) -> Result<(), Refusal> {
        let Seen { storage, path, .. } = self.tensors[tensor.0].clone();
        let mut wholes = vec![self.storages[storage].value];
        for &step in path.iter().take(path.len().saturating_sub(1)) {
            let from = wholes[wholes.len() - 1];
            wholes.push(views.apply(step, from)?);
        }
        let back = path.iter().zip(&wholes).rev();
        let written = back.into_iter().try_fold(value, |part, (&step, &whole)| views.put(step, whole, part))?;
        let memory = &mut self.storages[storage];
        memory.value = written;
        memory.version += 1;
        let seen = &mut self.tensors[tensor.0];
        (seen.value, seen.version) = (value, memory.version);
        Ok(())
    }
}

/// How a result lies in memory.
pub(super) enum Sharing {
    /// In memory of its own.
    Own,
    /// As a view of a tensor, with the operators that lead to it.
    View(Tensor, Vec<Value>),
    /// Perhaps in that of an argument.
    Unknown,
}
