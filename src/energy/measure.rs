//! The measuring campaign: replays operators on libtorch, reads the meter, keeps a profile on disk.

use std::collections::VecDeque;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use miette::Diagnostic;
use serde::{Deserialize, Serialize};
use tch::{Device as TorchDevice, TchError, Tensor};
use thiserror::Error;

use super::key::{Key, MathMode};
use super::libtorch;
use super::meter::{Mark, MeterError, Point, Poller, Reckoning, points, reckon};
use super::nvml::Gpu;
use super::operands::{build, span};
use super::profile::{Device, Entry, Profile, ProfileError, Protocol, Run};
use super::work::CallParts;
use crate::ir::TensorType;
use crate::ops::Call;
use crate::ops::replay::replay;

/// How figures are taken.
pub const PROTOCOL: Protocol = Protocol {
    version: 1,
    least_changes: 14,
    warm_up_s: 0.25,
    queue_ms: 20.0,
    rotate_mib: 256,
    least_half_width: 0.005,
};

/// Share of the free device memory that one key may take.
const MEMORY_SHARE: f64 = 0.8;
/// The most operand sets that are rotated.
const MOST_SETS: usize = 64;
/// Launches in the test of whether the host keeps up; below the depth of the device's queue, which would block it.
const LAUNCH_TEST: usize = 200;

/// What to measure and how long it may take.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which GPU.
    pub device: u32,
    /// The profile that is read, if it exists, and written.
    pub profile: PathBuf,
    /// The most seconds for one key, warm-up left out.
    pub key_budget_s: f64,
    /// The most seconds in all.
    pub budget_s: f64,
    /// The day, as `2026-11-21`.
    pub date: String,
}

/// What became of one key.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Stood in the profile already.
    Known,
    Measured(Reckoning),
    /// Not measured, and why.
    Skipped(String),
}

/// Where a campaign stands, after each key.
#[derive(Clone, Debug)]
pub struct Progress<'a> {
    pub done: usize,
    pub total: usize,
    pub elapsed_s: f64,
    pub key: &'a Key,
    pub outcome: &'a Outcome,
}

/// What a campaign came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    pub measured: usize,
    pub known: usize,
    pub skipped: usize,
    /// Keys that the budget left no time for.
    pub left: usize,
}

/// Why a campaign stopped.
#[derive(Debug, Error, Diagnostic)]
pub enum MeasureError {
    #[error("libtorch_cuda.so cannot be loaded")]
    #[diagnostic(
        code(measure::no_cuda_library),
        help("put the `lib` folder of a CUDA build of libtorch {} on LD_LIBRARY_PATH", libtorch::VERSION)
    )]
    NoCudaLibrary,
    #[error("libtorch sees no GPU")]
    #[diagnostic(code(measure::no_cuda), help("see whether `nvidia-smi` lists one and CUDA_VISIBLE_DEVICES shows it"))]
    NoCuda,
    #[error(transparent)]
    #[diagnostic(transparent)]
    Meter(#[from] MeterError),
    #[error(transparent)]
    #[diagnostic(transparent)]
    Profile(#[from] ProfileError),
    #[error("{}: {source}", path.display())]
    #[diagnostic(code(measure::io), help("finished entries are kept; the next run goes on from them"))]
    Io {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
}

/// The raw points of one key, one line each in the file beside the profile.
#[derive(Debug, Serialize, Deserialize)]
pub struct RawWindows {
    pub key: String,
    pub points: Vec<Point>,
}

/// Measures the keys that the profile does not hold yet. Every finished entry is on disk before the next key starts, so a
/// campaign that is stopped goes on where it was.
///
/// # Errors
/// No GPU, no meter, a device lost midway, a profile of another device, a full disk. A key that cannot run is no
/// error: it is skipped with the reason.
pub fn measure(keys: &[Key], options: &Options, progress: &mut dyn FnMut(&Progress)) -> Result<Summary, MeasureError> {
    let started = Instant::now();
    let gpu = Gpu::open(options.device)?;
    gpu.want_alone()?;
    libtorch::load_cuda()?;
    let device = Device {
        name: gpu.name().to_owned(),
        driver: gpu.driver()?,
        libtorch: libtorch::VERSION.to_owned(),
        cuda: libtorch::cuda_version(),
    };
    let mut bench =
        Bench { poller: Poller::start(gpu.counter()), torch: TorchDevice::Cuda(options.device as usize), gpu };
    let mut profile = open_profile(options, device)?;
    if profile.runs.is_empty() {
        let idle_w = bench.idle_watts()?;
        profile.runs.push(Run { id: 1, date: options.date.clone(), idle_w, against_first: None });
    }
    bench.warm_up(2.0);
    let mut summary = Summary::default();
    for (i, key) in keys.iter().enumerate() {
        let outcome = if profile.entries.contains_key(key) {
            Outcome::Known
        } else if started.elapsed().as_secs_f64() > options.budget_s {
            summary.left = keys[i..].iter().filter(|k| !profile.entries.contains_key(*k)).count();
            break;
        } else {
            bench.key(key, options, &mut profile)?
        };
        match outcome {
            Outcome::Known => summary.known += 1,
            Outcome::Measured(_) => summary.measured += 1,
            Outcome::Skipped(_) => summary.skipped += 1,
        }
        let elapsed_s = started.elapsed().as_secs_f64();
        progress(&Progress { done: i + 1, total: keys.len(), elapsed_s, key, outcome: &outcome });
    }
    Ok(summary)
}

/// The profile that the campaign goes on from, or a new one.
fn open_profile(options: &Options, device: Device) -> Result<Profile, MeasureError> {
    if options.profile.exists() {
        let profile = Profile::load(&options.profile)?;
        super::merge::same_device(&profile.device, &device)?;
        return Ok(Profile { estimator: None, ..profile });
    }
    Ok(Profile { device, protocol: PROTOCOL, ..Profile::default() })
}

struct Bench {
    gpu: Gpu,
    poller: Poller,
    torch: TorchDevice,
}

/// A key ready to run: its call and rotating operands.
struct Load {
    parts: CallParts,
    sets: Vec<Vec<Tensor>>,
    device: TorchDevice,
    /// Outputs that are still alive, so that consecutive executions write to different memory.
    outputs: VecDeque<Vec<Tensor>>,
    next: usize,
}

impl Load {
    fn run(&mut self) -> Result<(), String> {
        let types: Vec<&TensorType> = self.parts.types.iter().collect();
        let call = Call { op: self.parts.def, attrs: &self.parts.attrs, operands: &types };
        let result = replay(&call, &self.sets[self.next], self.device).map_err(|e| first_line(&e))?;
        self.next = (self.next + 1) % self.sets.len();
        if self.outputs.len() >= self.sets.len() {
            self.outputs.pop_front();
        }
        self.outputs.push_back(result);
        Ok(())
    }
}

impl Bench {
    fn synchronize(&self) {
        if let TorchDevice::Cuda(i) = self.torch {
            tch::Cuda::synchronize(i as i64);
        }
    }

    /// Power with a context open and nothing running.
    fn idle_watts(&mut self) -> Result<f64, MeterError> {
        self.synchronize();
        std::thread::sleep(std::time::Duration::from_millis(500));
        let from = self.gpu.now_s();
        std::thread::sleep(std::time::Duration::from_millis(1500));
        let changes = self.poller.changes_since(from)?;
        match (changes.first(), changes.last()) {
            (Some(a), Some(b)) if b.time_s > a.time_s => Ok((b.joules - a.joules) / (b.time_s - a.time_s)),
            _ => Err(MeterError::TooShort(changes.len())),
        }
    }

    /// Brings the clocks up with matrix products.
    fn warm_up(&self, seconds: f64) {
        let x = Tensor::randn([4096, 4096], (tch::Kind::BFloat16, self.torch));
        let started = Instant::now();
        while started.elapsed().as_secs_f64() < seconds {
            for _ in 0..50 {
                let _ = x.matmul(&x);
            }
            self.synchronize();
        }
    }

    fn key(&mut self, key: &Key, options: &Options, profile: &mut Profile) -> Result<Outcome, MeasureError> {
        let mut load = match self.load(key) {
            Ok(load) => load,
            Err(reason) => return Ok(Outcome::Skipped(reason)),
        };
        libtorch::allow_tf32(key.math == Some(MathMode::Tf32));
        let result = self.take(&mut load, options);
        libtorch::allow_tf32(false);
        let (points, launch_bound) = match result? {
            Ok(taken) => taken,
            Err(reason) => return Ok(Outcome::Skipped(reason)),
        };
        let reckoning = match reckon(&points, profile.protocol.least_half_width) {
            Ok(reckoning) => reckoning,
            Err(error) => return Ok(Outcome::Skipped(error.to_string())),
        };
        let state = self.gpu.state()?;
        let entry = Entry {
            energy_mj: reckoning.energy_mj,
            time_us: reckoning.time_us,
            watts: reckoning.watts,
            executions: reckoning.executions as u64,
            windows: reckoning.windows as u32,
            temperature_c: state.temperature_c,
            sm_clock_mhz: state.sm_clock_mhz,
            launch_bound,
            throttled: state.throttled,
            run: profile.runs.last().map_or(1, |r| r.id),
        };
        keep_points(&options.profile, key, points)?;
        profile.entries.insert(key.clone(), entry);
        profile.save(&options.profile)?;
        Ok(Outcome::Measured(reckoning))
    }

    /// Builds the operands of a key, in as many sets as keep them out of the cache.
    fn load(&self, key: &Key) -> Result<Load, String> {
        let parts = CallParts::of_key(key).ok_or("not in the op table")?;
        let types: Vec<&TensorType> = parts.types.iter().collect();
        let call = Call { op: parts.def, attrs: &parts.attrs, operands: &types };
        let outputs = call.infer().map_err(|e| e.to_string())?;
        let spans = key.operands.iter().zip(&parts.layouts).map(|(o, l)| span(o, l) * o.ty.dtype.bytes());
        let inputs: usize = spans.sum();
        let per_set = inputs + outputs.iter().map(TensorType::bytes).sum::<usize>();
        let rotate = (PROTOCOL.rotate_mib as usize) << 20;
        let sets = rotate.div_ceil(per_set.max(1)).clamp(1, MOST_SETS);
        let free = self.gpu.free_memory().map_err(|e| e.to_string())?;
        // Room for one more output, and for a kernel's workspace of the size of its operands.
        let need = (sets + 2) * per_set;
        if need as f64 > free as f64 * MEMORY_SHARE {
            return Err(format!("needs {} MiB of device memory, {} MiB are free", need >> 20, free >> 20));
        }
        let sets: Result<Vec<_>, TchError> = (0..sets).map(|_| build(key, self.torch)).collect();
        Ok(Load {
            parts,
            sets: sets.map_err(|e| first_line(&e))?,
            device: self.torch,
            outputs: VecDeque::new(),
            next: 0,
        })
    }

    /// Runs the load until enough counter changes fell into it; gives the points and whether the host was the slower
    /// side. The inner error says why the load does not run.
    fn take(&mut self, load: &mut Load, options: &Options) -> Result<Result<(Vec<Point>, bool), String>, MeasureError> {
        for _ in 0..3 {
            if let Err(reason) = load.run() {
                return Ok(Err(reason));
            }
        }
        self.synchronize();
        let launch_bound = match self.host_is_slower(load) {
            Ok(slower) => slower,
            Err(reason) => return Ok(Err(reason)),
        };
        let (started, mut batch) = (Instant::now(), 1_usize);
        let mut marks: Vec<Mark> = Vec::new();
        let (mut from_s, mut executions) = (f64::INFINITY, 0.0);
        loop {
            let before = self.gpu.now_s();
            for _ in 0..batch {
                if let Err(reason) = load.run() {
                    return Ok(Err(reason));
                }
            }
            self.synchronize();
            let now = self.gpu.now_s();
            if marks.is_empty() {
                let each = (now - before).max(1e-7) / batch as f64;
                batch = ((PROTOCOL.queue_ms * 1e-3 / each) as usize).clamp(1, batch * 8);
                if started.elapsed().as_secs_f64() < PROTOCOL.warm_up_s {
                    continue;
                }
                from_s = now;
            } else {
                executions += batch as f64;
            }
            marks.push(Mark { time_s: now, executions });
            let changes = self.poller.changes_since(from_s)?;
            if changes.len() >= PROTOCOL.least_changes as usize || now - from_s > options.key_budget_s {
                return Ok(Ok((points(&changes, &marks), launch_bound)));
            }
        }
    }

    /// Whether queueing an execution takes the host about as long as the device needs to run it.
    fn host_is_slower(&self, load: &mut Load) -> Result<bool, String> {
        let started = Instant::now();
        for _ in 0..LAUNCH_TEST {
            load.run()?;
            // A long operator answers the question at once.
            if started.elapsed().as_millis() > 200 {
                self.synchronize();
                return Ok(false);
            }
        }
        let queued = started.elapsed().as_secs_f64();
        self.synchronize();
        Ok(queued > 0.8 * started.elapsed().as_secs_f64())
    }
}

/// Where the raw points of a profile are kept: beside it, one line per key.
pub fn points_path(profile: &Path) -> PathBuf {
    profile.with_extension("points.jsonl")
}

fn keep_points(profile: &Path, key: &Key, points: Vec<Point>) -> Result<(), MeasureError> {
    let path = points_path(profile);
    let line = serde_json::to_string(&RawWindows { key: key.to_string(), points }).unwrap_or_default();
    let append = || {
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(&path)?;
        writeln!(file, "{line}")
    };
    append().map_err(|source| MeasureError::Io { path: path.clone(), source })
}

/// libtorch's messages carry a stack trace below their first line.
fn first_line(error: &dyn std::error::Error) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}
