//! What a load takes: how many sets of operands, where in memory they lie, how many executions make a record.
//!
//! Both backends follow the same plan, since all of this changes what an execution takes.

use super::backend::NoRun;
use super::measure_once::PROTOCOL;
use super::operands::{self, Operand};
use crate::energy::{CallParts, KernelKey, MathMode};
use crate::eval::random::mix;
use crate::ir::{Graph, NodeId, TensorType, Value, layouts};
use crate::ops::{Call, KernelClass, OpDef};

/// Share of the device memory that one load may take.
const MEMORY_SHARE: f64 = 0.8;

/// The most operand sets that are rotated to keep out of the cache.
const MOST_SETS: usize = 64;

/// Passes that find their operands at addresses of their own: each may take this part of the memory.
const PASSES_APART: usize = 4;

/// Operators that a record holds at least, so that launching it takes the host no time to speak of, and at most.
const LEAST_RECORDED: usize = 512;
const MOST_RECORDED: usize = 16384;

/// What libtorch aligns large tensors to, and the size from which on it takes them for such.
const LARGE: usize = 2 << 20;

/// The widest gap, in steps of the alignment.
const WIDEST: u64 = 32;

/// What a load takes.
#[derive(Clone, Debug)]
pub(super) struct LoadPlan {
    /// The operands of one set.
    pub operands: Vec<Operand>,
    pub sets: usize,
    /// Bytes of memory that are left unused before each operand, by set. Without, the sets lie alike, and what that does to an
    /// operator's power and time is the same for all of them. Small tensors share pages, as they do in a model.
    pub gaps: Vec<Vec<usize>>,
    /// Bytes of blocks that are kept from the operands: those that the passes before had, which libtorch would hand out again.
    pub spacers: Vec<usize>,
    /// Whether cuBLAS and cuDNN may use TF32.
    pub tf32: [bool; 2],
    /// How many executions make a record; every set of operands is in it equally often. `None` if they are too many, or
    /// one of them must not be tried.
    pub record: Option<usize>,
}

/// The memory of a device that loads share, one after another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Memory {
    /// Bytes that were free before anything ran.
    pub free: u64,
}

impl Memory {
    /// Bytes that one load may take, with what keeps memory from it.
    pub(super) fn room(self) -> usize {
        (self.free as f64 * MEMORY_SHARE) as usize
    }

    /// A plan for one operator. Each `pass` has the operands at other addresses than those before, as far as memory goes.
    pub(super) fn operator(self, key: &KernelKey, pass: u32) -> Result<(CallParts, LoadPlan), NoRun> {
        let parts = CallParts::of_key(key).ok_or_else(|| NoRun::Skip("not in the op table".to_owned()))?;
        let types: Vec<&TensorType> = parts.types.iter().collect();
        let call = Call { op: parts.def, attrs: &parts.attrs, operands: &types };
        let outputs = call.infer().map_err(|e| NoRun::Skip(e.to_string()))?;
        let operands = operands::of_key(key, &parts);
        let blocks: Vec<usize> =
            operands.iter().map(Operand::bytes).chain(outputs.iter().map(TensorType::bytes)).collect();
        let sets = self.sets(blocks.iter().copied().fold(0, usize::saturating_add), PROTOCOL.places)?;
        let spacers = self.spacers(&blocks, sets, pass);
        let tf32 = key.math == Some(MathMode::Tf32);
        let record = record_length(sets, std::iter::once(parts.def));
        let gaps = gaps(&operands, sets, pass);
        Ok((parts, LoadPlan { operands, sets, gaps, spacers, tf32: [tf32, tf32], record }))
    }

    /// A plan for nodes of a graph that read `inputs` and call `operators`.
    pub(super) fn part(
        self,
        graph: &Graph,
        nodes: &[NodeId],
        inputs: &[Value],
        operators: impl ExactSizeIterator<Item = &'static OpDef>,
    ) -> Result<LoadPlan, NoRun> {
        let operands = operands::of_graph(graph, &layouts(graph), inputs);
        let made: usize = nodes.iter().flat_map(|&n| &graph.node(n).types).map(TensorType::bytes).max().unwrap_or(0);
        let read: usize = inputs.iter().map(|&v| graph.ty(v).bytes()).fold(0, usize::saturating_add);
        let sets = self.sets(read.saturating_add(made.saturating_mul(4)), 1)?;
        let gaps = vec![vec![0; operands.len()]; sets];
        let tf32 = [graph.config.allow_tf32, !graph.config.cudnn_tf32_off];
        Ok(LoadPlan { operands, sets, gaps, spacers: Vec::new(), tf32, record: record_length(sets, operators) })
    }

    /// How many sets of `per_set` bytes keep a load out of the cache, and lie in as many `places` as memory allows; an error
    /// if the memory does not hold the former.
    fn sets(self, per_set: usize, places: u32) -> Result<usize, NoRun> {
        let rotate = (PROTOCOL.rotate_mib as usize) << 20;
        let sets = rotate.div_ceil(per_set.max(1)).clamp(1, MOST_SETS);
        // Room for one more output, and for a kernel's workspace of the size of its operands.
        let need = (sets + 2).saturating_mul(per_set);
        if need > self.room() {
            let mib = |bytes: u64| bytes >> 20;
            return Err(NoRun::Skip(format!(
                "needs {} MiB of device memory, {} MiB are free",
                mib(need as u64),
                mib(self.free)
            )));
        }
        let room = self.room() / PASSES_APART / per_set.max(1);
        Ok(sets.max(room.min(places as usize)))
    }

    /// The memory that `pass` passes before this one had. Where the device has too little, what there is has to do.
    fn spacers(self, blocks: &[usize], sets: usize, pass: u32) -> Vec<usize> {
        let per_pass = blocks.iter().sum::<usize>().saturating_mul(sets);
        let room = self.room() / per_pass.max(1);
        let passes = room.saturating_sub(2).min(pass as usize % PASSES_APART);
        (0..passes * sets).flat_map(|_| blocks.iter().copied()).collect()
    }
}

/// Uneven gaps before large operands, of widths of their own for each `pass`.
fn gaps(operands: &[Operand], sets: usize, pass: u32) -> Vec<Vec<usize>> {
    let mut left = 0;
    let mut before = |operand: &Operand| {
        if operand.bytes() < LARGE {
            return 0;
        }
        left += 1;
        (1 + mix(u64::from(pass), left - 1) % WIDEST) as usize * LARGE
    };
    (0..sets).map(|_| operands.iter().map(&mut before).collect()).collect()
}

fn record_length(sets: usize, mut operators: impl ExactSizeIterator<Item = &'static OpDef>) -> Option<usize> {
    let round = sets * operators.len().max(1);
    // Factorisations read on the host whether it went well, which cannot be recorded, and the attempt leaves cuSOLVER failing
    // in every call that follows.
    let never = operators.any(|op| op.kernels == KernelClass::Factorisation);
    (!never && round <= MOST_RECORDED).then(|| sets * LEAST_RECORDED.div_ceil(round))
}
