//! A GPU with libtorch as a rig: operands, execution, memory.

use std::collections::VecDeque;
use std::time::Instant;

use tch::{Device as TorchDevice, Tensor};

use super::backend::{Backend, NoRun, Subject, Timing};
use super::cuda_graph::{CudaGraphs, Recorded};
use super::error::MeasureError;
use super::load_plan::{LoadPlan, Memory};
use super::meter::{Change, MeterError, Poller};
use super::nvml::{Gpu, load_driver};
use super::state::State;
use super::torch_operands;
use crate::energy::{BackendKind, CallParts, Device, KernelKey, MeterKind};
use crate::ir::{Graph, NodeId, TensorType};
use crate::libtorch;
use crate::ops::Call;
use crate::ops::replay::{ReplayError, replay};
use crate::ops::replay_graph::GraphReplay;

/// A GPU with libtorch.
pub struct TorchBackend {
    gpu: Gpu,
    poller: Poller,
    torch: TorchDevice,
    memory: Memory,
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
        let memory = Memory { free: gpu.free_memory()? };
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
        let all = Tensor::f_zeros([self.memory.room() as i64], (tch::Kind::Uint8, self.torch));
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

    /// The operands of a plan, and the memory that is kept from them.
    fn made(&self, plan: &LoadPlan) -> Result<(Vec<Vec<Tensor>>, Vec<Tensor>), NoRun> {
        let block = |bytes: usize| Tensor::f_empty([bytes as i64], (tch::Kind::Uint8, self.torch)).ok();
        let mut kept: Vec<Tensor> = plan.spacers.iter().filter_map(|&bytes| block(bytes)).collect();
        let mut sets = Vec::new();
        for gaps in &plan.gaps {
            let mut set = Vec::new();
            for (operand, &gap) in plan.operands.iter().zip(gaps) {
                if gap > 0 {
                    kept.extend(block(gap));
                }
                set.push(torch_operands::made(operand, self.torch).map_err(|e| self.after(&e.into()))?);
            }
            sets.push(set);
        }
        Ok((sets, kept))
    }

    fn operator(&self, key: &KernelKey, pass: u32) -> Result<TorchLoad, NoRun> {
        let (parts, plan) = self.memory.operator(key, pass)?;
        let (sets, kept) = self.made(&plan)?;
        Ok(TorchLoad::new(Work::Operator(parts), sets, kept, &plan))
    }

    fn part(&self, graph: &Graph, nodes: &[NodeId]) -> Result<TorchLoad, NoRun> {
        let replay = GraphReplay::new(graph, nodes, self.torch).map_err(|e| self.after(&e))?;
        let plan = self.memory.part(graph, nodes, replay.inputs(), replay.operators())?;
        let (sets, kept) = self.made(&plan)?;
        let load = TorchLoad::new(Work::Part(replay), sets, kept, &plan);
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
    /// How many executions make a record, if one may be tried.
    record_length: Option<usize>,
    /// Outputs that are still alive, so that consecutive executions write to different memory.
    outputs: VecDeque<Vec<Tensor>>,
    next: usize,
    /// Memory that is kept from the operands.
    _kept_free: Vec<Tensor>,
}

impl TorchLoad {
    fn new(work: Work, sets: Vec<Vec<Tensor>>, kept_free: Vec<Tensor>, plan: &LoadPlan) -> TorchLoad {
        let (outputs, record_length, tf32) = (VecDeque::new(), plan.record, plan.tf32);
        TorchLoad { recorded: None, work, sets, tf32, record_length, outputs, next: 0, _kept_free: kept_free }
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

    fn kind(&self) -> BackendKind {
        BackendKind::Libtorch
    }

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
        self.gpu.want_alone(None)
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
        let Some((graphs, executions)) = self.graphs.zip(load.record_length) else { return Ok(None) };
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
