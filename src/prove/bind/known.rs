//! One workload by itself, with the causal masks that its file holds as part of the program.

use super::constants::Reader;
use super::plan::{Plan, Slot};
use super::{share, statement};
use crate::ir::{Contents, Graph, Role};

/// Buffers of a workload that count as constants because its file holds causal masks for them.
pub(crate) struct KnownMasks {
    plan: Plan,
}

impl KnownMasks {
    /// Reads the buffers of `graph` that may be masks.
    pub(crate) fn read(graph: &Graph, contents: &mut dyn Contents) -> KnownMasks {
        let mut plan = Plan::new(graph, &Graph::new(graph.name.clone()));
        let mut reader = Reader::new();
        let may_be_known = |slot: &Slot| slot.live && slot.input.role == Role::Buffer && !slot.changes;
        for (i, slot) in plan.a.iter_mut().enumerate().filter(|(_, slot)| may_be_known(slot)) {
            slot.literal = reader.mask(slot, contents, i);
            slot.held_alike = slot.literal.is_some();
        }
        KnownMasks { plan }
    }

    /// `graph` with the constants in place of these buffers. Those are inputs still, which nothing reads.
    pub(crate) fn put_into(&self, graph: &Graph) -> Graph {
        share::with_constants(graph.clone(), &self.plan)
    }

    /// Forgets masks that a cheaper form of the graph computes, where it could read the buffer. Whether there were any.
    pub(crate) fn forget_computed(&mut self, form: &Graph) -> bool {
        let computed = |name: &str| form.nodes().any(|(_, node)| *node.name == *share::constant_name(name));
        let mut any = false;
        for slot in &mut self.plan.a {
            if slot.literal.is_some() && computed(&slot.input.name) {
                (slot.literal, slot.held_alike, any) = (None, false, true);
            }
        }
        any
    }

    /// What is taken for granted.
    pub(crate) fn assumption(&self) -> Option<String> {
        statement::known(&self.plan, "the file holds")
    }
}
