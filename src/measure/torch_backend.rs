//! A GPU with libtorch as a rig: operands, execution, memory.

use std::collections::VecDeque;
use std::time::Instant;

use tch::{Device as TorchDevice, Tensor};

use super::backend::{Backend, NoRun, Subject, Timing};
use super::cuda_graph::{CudaGraphs, Recorded};
use super::error::MeasureError;
use super::libtorch;
use super::measure_once::PROTOCOL;
use super::meter::{Change, MeterError, Poller};
use super::nvml::{Gpu, load_driver};
use super::operands::{self, Gaps};
use super::state::State;
use crate::energy::{CallParts, Device, KernelKey, MathMode, MeterKind};
use crate::ir::{Graph, NodeId, TensorType, layouts};
use crate::ops::replay::{ReplayError, replay};
use crate::ops::replay_graph::GraphReplay;
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

/// A GPU with libtorch.
pub struct TorchBackend {
    gpu: Gpu,
    poller: Poller,
    torch: TorchDevice,
    /// Bytes of device memory that were free before anything ran.
    memory: u64,
    /// `None` where the libraries have none.
    graphs: Option<CudaGraphs>,
}

impl TorchBackend {
    /// Opens GPU number `index`, as CUDA counts them.
    ///
    /// # Errors
    /// No driver, no such GPU, no meter; libtorch without its CUDA half or of another version.
    pub fn open(index: u32) -> Result<TorchBackend, MeasureError> {
        let driver = load_driver()?;
        libtorch::load_cuda()?;
        let count = u32::try_from(tch::Cuda::device_count()).unwrap_or(0);
        let gpu = Gpu::at(driver, &libtorch::bus_id(index).ok_or(MeterError::NoGpu { index, count })?)?;
        let memory = gpu.free_memory()?;
        let rig = TorchBackend {
            poller: Poller::start(gpu.counter()),
            torch: TorchDevice::Cuda(index as usize),
            gpu,
            memory,
            graphs: CudaGraphs::open(index as usize),
        };
        rig.take_memory();
        Ok(rig)
    }

    /// Takes the memory that loads may use from the driver, so that libtorch has it from then on: for seconds after the driver
    /// has handed out gigabytes, whatever goes through memory is up to a tenth slower. Where there is less, libtorch asks the
    /// driver as it goes.
    fn take_memory(&self) {
        let all = Tensor::f_zeros([self.room() as i64], (tch::Kind::Uint8, self.torch));
        drop(all);
        // A device that fails here says so of the first load.
        let _ = self.synchronize();
    }

    /// Waits until all work is done.
    ///
    /// # Errors
    /// A fault on the device, such as a kernel that read outside of its memory: nothing runs any more after that.
    fn synchronize(&self) -> Result<(), MeterError> {
        match libtorch::synchronize() {
            true => Ok(()),
            false => Err(MeterError::Lost("a kernel failed, and every call after it does too".to_owned())),
        }
    }

    /// After a failure: whether the device still computes. A fault on the device leaves every later call failing.
    fn after(&self, failure: &ReplayError) -> NoRun {
        let works = Tensor::f_zeros([8], (tch::Kind::Float, self.torch)).and_then(|x| x.f_sum(tch::Kind::Float));
        match works.and_then(|x| x.f_to_device(TorchDevice::Cpu)) {
            Ok(_) => NoRun::Skip(first_line(failure)),
            Err(error) => NoRun::Over(MeterError::Lost(first_line(&error))),
        }
    }

    /// How many sets of `per_set` bytes keep a load out of the cache, and lie in as many `places` as memory allows; an error
    /// if the memory does not hold the former.
    fn sets(&self, per_set: usize, places: u32) -> Result<usize, NoRun> {
        let rotate = (PROTOCOL.rotate_mib as usize) << 20;
        let sets = rotate.div_ceil(per_set.max(1)).clamp(1, MOST_SETS);
        // Room for one more output, and for a kernel's workspace of the size of its operands.
        let need = (sets + 2).saturating_mul(per_set);
        if need > self.room() {
            let mib = |bytes: u64| bytes >> 20;
            return Err(NoRun::Skip(format!(
                "needs {} MiB of device memory, {} MiB are free",
                mib(need as u64),
                mib(self.memory)
            )));
        }
        let room = self.room() / PASSES_APART / per_set.max(1);
        Ok(sets.max(room.min(places as usize)))
    }

    /// Bytes that one load may take, with what keeps memory from it.
    fn room(&self) -> usize {
        (self.memory as f64 * MEMORY_SHARE) as usize
    }

    fn operator(&self, key: &KernelKey, pass: u32) -> Result<TorchLoad, NoRun> {
        let parts = CallParts::of_key(key).ok_or_else(|| NoRun::Skip("not in the op table".to_owned()))?;
        let types: Vec<&TensorType> = parts.types.iter().collect();
        let call = Call { op: parts.def, attrs: &parts.attrs, operands: &types };
        let outputs = call.infer().map_err(|e| NoRun::Skip(e.to_string()))?;
        let inputs = key.operands.iter().zip(&parts.layouts);
        let inputs = inputs.map(|(o, l)| operands::span(&o.ty, l).saturating_mul(o.ty.dtype.bytes()));
        let blocks: Vec<usize> = inputs.chain(outputs.iter().map(TensorType::bytes)).collect();
        let sets = self.sets(blocks.iter().sum(), PROTOCOL.places)?;
        let mut kept_free = self.spacers(&blocks, sets, pass);
        let mut gaps = Gaps::new(self.torch, pass);
        let sets: Result<Vec<_>, _> = (0..sets).map(|_| operands::of_key(key, self.torch, &mut gaps)).collect();
        let sets = sets.map_err(|e| self.after(&e.into()))?;
        let tf32 = key.math == Some(MathMode::Tf32);
        let load = TorchLoad::new(Work::Operator(parts), sets, [tf32, tf32]);
        kept_free.extend(gaps.into_kept());
        Ok(TorchLoad { _kept_free: kept_free, ..load })
    }

    /// Takes the memory that `pass` passes before this one had, which libtorch keeps and would hand out again. Where the
    /// device has too little, what there is has to do.
    fn spacers(&self, blocks: &[usize], sets: usize, pass: u32) -> Vec<Tensor> {
        let per_pass = blocks.iter().sum::<usize>().saturating_mul(sets);
        let room = self.room() / per_pass.max(1);
        let passes = room.saturating_sub(2).min(pass as usize % PASSES_APART);
        let block = |&bytes: &usize| Tensor::f_empty([bytes as i64], (tch::Kind::Uint8, self.torch)).ok();
        (0..passes * sets).flat_map(|_| blocks.iter().filter_map(block)).collect()
    }

    fn part(&self, graph: &Graph, nodes: &[NodeId]) -> Result<TorchLoad, NoRun> {
        let replay = GraphReplay::new(graph, nodes, self.torch).map_err(|e| self.after(&e))?;
        let layouts = layouts(graph);
        let made: usize = nodes.iter().flat_map(|&n| &graph.node(n).types).map(TensorType::bytes).max().unwrap_or(0);
        let read: usize = replay.inputs().iter().map(|&v| graph.ty(v).bytes()).sum();
        let sets = self.sets(read + 4 * made, 1)?;
        let sets: Result<Vec<Vec<Tensor>>, _> =
            (0..sets).map(|_| operands::of_graph(graph, &layouts, replay.inputs(), self.torch)).collect();
        let sets = sets.map_err(|e| self.after(&e.into()))?;
        let config = &graph.config;
        let tf32 = [config.allow_tf32, !config.cudnn_tf32_off];
        let load = TorchLoad::new(Work::Part(replay), sets, tf32);
        load.check().map_err(|e| self.after(&e))?;
        Ok(load)
    }
}

enum Work {
    Operator(CallParts),
    Part(GraphReplay),
}

/// An operator or a part of a graph, with rotating operands.
pub struct TorchLoad {
    /// Goes before the tensors whose memory it uses.
    recorded: Option<Recorded>,
    work: Work,
    sets: Vec<Vec<Tensor>>,
    /// Whether cuBLAS and cuDNN may use TF32.
    tf32: [bool; 2],
    /// Outputs that are still alive, so that consecutive executions write to different memory.
    outputs: VecDeque<Vec<Tensor>>,
    next: usize,
    /// Memory that is kept from the operands.
    _kept_free: Vec<Tensor>,
}

impl TorchLoad {
    fn new(work: Work, sets: Vec<Vec<Tensor>>, tf32: [bool; 2]) -> TorchLoad {
        TorchLoad { recorded: None, work, sets, tf32, outputs: VecDeque::new(), next: 0, _kept_free: Vec::new() }
    }

    /// How many executions make a record; every set of operands is in it equally often. `None` if they are too many, or
    /// one of them must not be tried.
    fn record_length(&self) -> Option<usize> {
        // They read on the host whether it went well, which cannot be recorded, and the attempt leaves cuSOLVER failing in every
        // call that follows.
        let never = |op: &OpDef| op.kernels == KernelClass::Factorisation;
        let (operators, never) = match &self.work {
            Work::Operator(parts) => (1, never(parts.def)),
            Work::Part(part) => (part.operators().len(), part.operators().any(never)),
        };
        if never {
            return None;
        }
        let round = self.sets.len() * operators.max(1);
        (round <= MOST_RECORDED).then(|| self.sets.len() * LEAST_RECORDED.div_ceil(round))
    }

    fn execute(&self, device: TorchDevice, check: bool) -> Result<Vec<Tensor>, ReplayError> {
        let operands = &self.sets[self.next];
        match &self.work {
            Work::Operator(parts) => {
                let types: Vec<&TensorType> = parts.types.iter().collect();
                replay(&Call { op: parts.def, attrs: &parts.attrs, operands: &types }, operands, device)
            }
            Work::Part(part) => part.run(operands, check),
        }
    }

    fn check(&self) -> Result<(), ReplayError> {
        self.execute(TorchDevice::Cpu, true).map(drop)
    }

    fn once(&mut self, device: TorchDevice) -> Result<(), ReplayError> {
        let result = self.execute(device, false)?;
        self.next = (self.next + 1) % self.sets.len();
        if self.outputs.len() >= self.sets.len() {
            self.outputs.pop_front();
        }
        self.outputs.push_back(result);
        Ok(())
    }
}

impl Backend for TorchBackend {
    type Load = TorchLoad;

    fn device(&self) -> Result<Device, MeterError> {
        Ok(Device {
            name: self.gpu.name().to_owned(),
            driver: self.gpu.driver()?,
            libtorch: libtorch::VERSION.to_owned(),
            cuda: libtorch::cuda_version(),
        })
    }

    fn card(&self) -> String {
        self.gpu.card()
    }

    fn meter(&self) -> MeterKind {
        self.gpu.meter()
    }

    fn now_s(&self) -> f64 {
        self.gpu.now_s()
    }

    fn rest(&mut self, seconds: f64) {
        // A device that fails here says so of the next load.
        let _ = self.synchronize();
        std::thread::sleep(std::time::Duration::from_secs_f64(seconds));
    }

    fn warm_up(&mut self, seconds: f64) {
        let x = Tensor::f_randn([4096, 4096], (tch::Kind::BFloat16, self.torch));
        let started = Instant::now();
        while started.elapsed().as_secs_f64() < seconds {
            for _ in 0..50 {
                // A device that cannot do this says so of the first load.
                let Ok(Ok(_)) = x.as_ref().map(|x| x.f_matmul(x)) else { return };
            }
            if self.synchronize().is_err() {
                return;
            }
        }
    }

    fn changes_since(&mut self, time_s: f64) -> Result<Vec<Change>, MeterError> {
        self.poller.changes_since(time_s)
    }

    fn poll(&mut self, on: bool) {
        self.poller.pause(!on);
    }

    fn state(&self) -> Result<State, MeterError> {
        self.gpu.state()
    }

    fn states_since(&mut self, time_s: f64) -> Vec<State> {
        self.poller.states_since(time_s)
    }

    fn want_alone(&self) -> Result<(), MeterError> {
        self.gpu.want_alone()
    }

    fn load(&mut self, subject: Subject, pass: u32) -> Result<TorchLoad, NoRun> {
        match subject {
            Subject::Operator(key) => self.operator(key, pass),
            Subject::Part { graph, nodes } => self.part(graph, nodes),
        }
    }

    fn round(&self, load: &TorchLoad) -> usize {
        // A record has its memory to itself, since it was made.
        if load.recorded.is_some() { 1 } else { load.sets.len() }
    }

    fn record(&mut self, load: &mut TorchLoad) -> Result<Option<usize>, NoRun> {
        let Some((graphs, executions)) = self.graphs.zip(load.record_length()) else { return Ok(None) };
        load.next = 0;
        load.recorded = graphs.record(|| (0..executions).try_for_each(|_| load.once(self.torch)));
        if load.recorded.is_none() {
            // What could not be recorded shows up once more, as the failure of the next call.
            let _ = load.once(self.torch);
            self.synchronize()?;
        }
        Ok(load.recorded.as_ref().map(|_| executions))
    }

    fn run(&mut self, load: &mut TorchLoad, times: usize) -> Result<Timing, NoRun> {
        let [cublas, cudnn] = load.tf32;
        libtorch::allow_tf32(cublas, cudnn);
        let started = Instant::now();
        for _ in 0..times {
            match &load.recorded {
                Some(recorded) if recorded.launch() => {}
                Some(_) => return Err(NoRun::Over(MeterError::Lost("CUDA refuses to launch a graph".to_owned()))),
                None => load.once(self.torch).map_err(|e| self.after(&e))?,
            }
        }
        let queued_s = started.elapsed().as_secs_f64();
        self.synchronize()?;
        Ok(Timing { queued_s, total_s: started.elapsed().as_secs_f64() })
    }
}

/// libtorch's messages carry a stack trace below their first line.
fn first_line(error: &dyn std::error::Error) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}
