//! A GPU that a Python process works with: PyTorch as the user has it, running the programs that the tool writes.

use std::path::{Path, PathBuf};

use super::backend::{Backend, NoRun, Subject, Timing};
use super::emitted::{self, Emitted, EmittedError};
use super::error::MeasureError;
use super::load_plan::{LoadPlan, Memory};
use super::meter::{Change, MeterError, Poller};
use super::nvml::{Gpu, load_driver};
use super::state::State;
use super::worker::{Done, IsRecorded, REQUEST_LIMIT, Request, Worker};
use super::worker_error::WorkerError;
use crate::energy::{BackendKind, Device, KernelKey, MeterKind};
use crate::ir::{Graph, NodeId};

/// What takes longer than this is not begun before it is asked for.
const MOST_AHEAD_S: f64 = 0.1;

/// A GPU with a Python process.
pub struct PythonBackend {
    python: PathBuf,
    /// The device as PyTorch names it.
    device: String,
    gpu: Gpu,
    poller: Poller,
    memory: Memory,
    /// Or why it has ended. The next load starts another.
    worker: Result<Worker, WorkerError>,
    /// Versions of PyTorch and of its CUDA.
    torch: String,
    cuda: String,
    /// Executions of a run that nobody has asked for yet.
    ahead: Option<usize>,
    /// How long the last run took.
    last_s: f64,
}

/// An operator or a part of a graph that the process has ready.
pub struct PythonLoad {
    plan: LoadPlan,
    is_recorded: bool,
}

impl PythonBackend {
    /// Opens GPU number `index`, as CUDA counts them, for the interpreter `python`.
    ///
    /// # Errors
    /// No driver, no such GPU, no meter; no such interpreter, none with PyTorch 2.5 or later that has CUDA.
    pub fn open(python: &Path, index: u32) -> Result<PythonBackend, MeasureError> {
        let driver = load_driver()?;
        let device = format!("cuda:{index}");
        let worker = Worker::start(python, &device).map_err(MeterError::from)?;
        let no_gpu = || {
            let python = python.display().to_string();
            MeterError::from(WorkerError::NoTorch {
                python,
                reason: "the driver does not say where the GPU is".to_owned(),
            })
        };
        let bus_id = worker.greeting.bus_id.clone().ok_or_else(no_gpu)?;
        let gpu = Gpu::at(driver, &bus_id)?;
        Ok(PythonBackend::with(python, &device, worker, gpu)?)
    }

    fn with(python: &Path, device: &str, worker: Worker, gpu: Gpu) -> Result<PythonBackend, MeterError> {
        let mut backend = PythonBackend {
            python: python.to_owned(),
            device: device.to_owned(),
            poller: Poller::start(gpu.counter()),
            memory: Memory { free: gpu.free_memory()? },
            gpu,
            torch: worker.greeting.torch.clone(),
            cuda: worker.greeting.cuda.clone(),
            worker: Ok(worker),
            ahead: None,
            last_s: 0.0,
        };
        backend.take_memory();
        Ok(backend)
    }

    /// Has PyTorch take the memory that loads may use from the driver, so that it has it from then on: for seconds after the
    /// driver has handed out gigabytes, whatever goes through memory is up to a tenth slower. Where there is less, PyTorch asks
    /// the driver as it goes.
    fn take_memory(&mut self) {
        let bytes = self.memory.room();
        let _: Result<Done, _> = self.ask(&Request::TakeMemory { bytes });
    }

    /// Waits for the run that nobody has asked for. Whether it went well counts for nothing, as long as the process goes on.
    fn settle(&mut self) -> Result<(), WorkerError> {
        if self.ahead.take().is_none() {
            return Ok(());
        }
        match self.through(|worker| worker.receive::<Timing>(REQUEST_LIMIT)) {
            Err(error) if !error.goes_on() => Err(error),
            _ => Ok(()),
        }
    }

    fn ask<T: serde::de::DeserializeOwned>(&mut self, request: &Request) -> Result<T, WorkerError> {
        self.settle()?;
        self.through(|worker| worker.ask(request))
    }

    /// What `ask` says; a process that answers no more is given up.
    fn through<T>(&mut self, ask: impl FnOnce(&mut Worker) -> Result<T, WorkerError>) -> Result<T, WorkerError> {
        let answer = match &mut self.worker {
            Ok(worker) => ask(worker),
            Err(error) => return Err(error.clone()),
        };
        if let Err(error) = &answer
            && !error.goes_on()
        {
            self.worker = Err(error.clone());
        }
        answer
    }

    /// Starts another process in place of one that has ended. That it starts shows that the GPU still works.
    fn want_worker(&mut self) -> Result<(), MeterError> {
        if self.worker.is_err() {
            self.worker = Ok(Worker::start(&self.python, &self.device)?);
            self.ahead = None;
            self.take_memory();
        }
        Ok(())
    }

    fn ready(&mut self, emitted: &Emitted, plan: LoadPlan) -> Result<PythonLoad, NoRun> {
        let Done {} = self.ask(&Request::load(&emitted.text, &plan, &emitted.results))?;
        Ok(PythonLoad { plan, is_recorded: false })
    }

    fn operator(&mut self, key: &KernelKey, pass: u32) -> Result<PythonLoad, NoRun> {
        let (parts, plan) = self.memory.operator(key, pass)?;
        self.ready(&emitted::operator(&parts)?, plan)
    }

    fn part(&mut self, graph: &Graph, nodes: &[NodeId]) -> Result<PythonLoad, NoRun> {
        let emitted = emitted::part(graph, nodes)?;
        let plan = self.memory.part(graph, nodes, &emitted.inputs, emitted.operators.iter().copied())?;
        self.ready(&emitted, plan)
    }
}

/// Whatever the process cannot do, another one may.
impl From<WorkerError> for NoRun {
    fn from(error: WorkerError) -> Self {
        NoRun::Skip(error.to_string())
    }
}

impl From<EmittedError> for NoRun {
    fn from(error: EmittedError) -> Self {
        NoRun::Skip(error.to_string())
    }
}

impl Backend for PythonBackend {
    type Load = PythonLoad;

    fn kind(&self) -> BackendKind {
        BackendKind::Python
    }

    fn device(&self) -> Result<Device, MeterError> {
        Ok(Device {
            name: self.gpu.name().to_owned(),
            driver: self.gpu.driver()?,
            libtorch: self.torch.clone(),
            cuda: self.cuda.clone(),
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
        // A process that fails here says so of the next load.
        let _ = self.settle();
        std::thread::sleep(std::time::Duration::from_secs_f64(seconds));
    }

    fn warm_up(&mut self, seconds: f64) {
        // As above.
        let _: Result<Done, _> = self.ask(&Request::WarmUp { seconds });
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
        self.gpu.want_alone(self.worker.as_ref().ok().map(|worker| worker.greeting.process))
    }

    fn load(&mut self, subject: Subject, pass: u32) -> Result<PythonLoad, NoRun> {
        self.want_worker()?;
        match subject {
            Subject::Operator(key) => self.operator(key, pass),
            Subject::Part { graph, nodes } => self.part(graph, nodes),
        }
    }

    fn round(&self, load: &PythonLoad) -> usize {
        if load.is_recorded { 1 } else { load.plan.sets }
    }

    fn record(&mut self, load: &mut PythonLoad) -> Result<Option<usize>, NoRun> {
        let Some(executions) = load.plan.record else { return Ok(None) };
        let IsRecorded { recorded } = self.ask(&Request::Record { executions })?;
        load.is_recorded = recorded;
        Ok(recorded.then_some(executions))
    }

    fn run(&mut self, _: &mut PythonLoad, times: usize) -> Result<Timing, NoRun> {
        let timing: Timing = self.ask(&Request::Run { times })?;
        self.last_s = timing.total_s;
        Ok(timing)
    }

    /// The GPU does not wait while the command and the process talk to each other: the next run is asked for before this one is
    /// done.
    fn run_on(&mut self, load: &mut PythonLoad, times: usize) -> Result<Timing, NoRun> {
        if self.last_s > MOST_AHEAD_S {
            return self.run(load, times);
        }
        if self.ahead != Some(times) {
            self.settle()?;
            self.through(|worker| worker.send(&Request::Run { times }))?;
        }
        self.ahead = None;
        self.through(|worker| worker.send(&Request::Run { times }))?;
        let timing = self.through(|worker| worker.receive::<Timing>(REQUEST_LIMIT))?;
        self.ahead = Some(times);
        self.last_s = timing.total_s;
        Ok(timing)
    }
}

#[cfg(test)]
#[path = "python_backend_tests.rs"]
mod tests;
