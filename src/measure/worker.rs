//! A Python process that runs what is measured: requests and replies, one JSON object a line.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::load_plan::LoadPlan;
use super::operands::Operand;
use super::worker_error::WorkerError;
use crate::emit::torch_dtype;
use crate::ir::TensorType;
use crate::printable::one_line;

/// The program that the process runs. It comes with the command, so that the two always fit.
const PROGRAM: &str = include_str!("../../python/magneton_ir/_measure_worker.py");

/// Loading PyTorch from a cold disk takes a minute.
const START_LIMIT: Duration = Duration::from_secs(300);

/// What one request may take beside the time that it asks for.
pub(super) const REQUEST_LIMIT: Duration = Duration::from_secs(120);

/// How long a process that closes its output may take to end.
const END_LIMIT: Duration = Duration::from_secs(2);

/// Bytes of a reply, and of what is kept of that which the process says otherwise.
const MOST_BYTES: u64 = 1 << 20;
const LAST_WORDS: usize = 4096;

/// What the process is asked for.
#[derive(Debug, Serialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub(super) enum Request<'a> {
    TakeMemory {
        bytes: usize,
    },
    WarmUp {
        seconds: f64,
    },
    /// Makes a program and its operands ready, in place of what was loaded before.
    Load {
        program: &'a str,
        operands: &'a [Operand],
        gaps: &'a [Vec<usize>],
        spacers: &'a [usize],
        tf32: [bool; 2],
        results: Vec<(&'static str, &'a [usize])>,
    },
    Record {
        executions: usize,
    },
    Run {
        times: usize,
    },
}

impl<'a> Request<'a> {
    pub(super) fn load(program: &'a str, plan: &'a LoadPlan, results: &'a [TensorType]) -> Request<'a> {
        let results = results.iter().map(|ty| (torch_dtype(ty.dtype).trim_start_matches("torch."), &ty.shape[..]));
        Request::Load {
            program,
            operands: &plan.operands,
            gaps: &plan.gaps,
            spacers: &plan.spacers,
            tf32: plan.tf32,
            results: results.collect(),
        }
    }

    /// How long the reply may take.
    pub(super) fn limit(&self) -> Duration {
        match self {
            Request::WarmUp { seconds } => REQUEST_LIMIT + Duration::try_from_secs_f64(*seconds).unwrap_or_default(),
            _ => REQUEST_LIMIT,
        }
    }
}

/// What the process says first.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Greeting {
    /// The version of PyTorch.
    pub torch: String,
    pub cuda: String,
    /// Where the GPU sits, such as `0000:1b:00.0`.
    pub bus_id: Option<String>,
    /// The number of the process, which need not be that of the one that was started.
    pub process: u32,
}

/// Nothing but that it is done.
#[derive(Debug, Deserialize)]
pub(super) struct Done {}

#[derive(Debug, Deserialize)]
pub(super) struct IsRecorded {
    pub recorded: bool,
}

#[derive(Deserialize)]
struct Failure {
    failed: String,
    /// The process ends.
    over: bool,
}

/// A running process. It ends when this is dropped.
pub(super) struct Worker {
    child: Child,
    requests: ChildStdin,
    replies: Receiver<String>,
    /// The last that it said on standard error, once it has ended.
    words: Receiver<String>,
    pub(super) greeting: Greeting,
}

impl Worker {
    /// Starts the interpreter `python` with the program, for `device` as PyTorch names it.
    pub(super) fn start(python: &Path, device: &str) -> Result<Worker, WorkerError> {
        let name = one_line(&python.display().to_string()).into_owned();
        let no_python = |reason: String| WorkerError::NoPython { python: name.clone(), reason };
        let mut command = Command::new(python);
        command.args(["-c", PROGRAM, device]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|e| no_python(e.to_string()))?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(requests), Some(output), Some(errors)) = pipes else {
            return Err(no_python("it has no pipes".into()));
        };
        let greeting = Greeting { torch: String::new(), cuda: String::new(), bus_id: None, process: child.id() };
        let mut worker = Worker { child, requests, replies: replies(output), words: last_words(errors), greeting };
        worker.greeting = worker.receive(START_LIMIT).map_err(|error| match error {
            WorkerError::Failed(reason) | WorkerError::Over(reason) => {
                WorkerError::NoTorch { python: name.clone(), reason }
            }
            WorkerError::Ended { status, words } => no_python(format!("it ended ({status}){words}")),
            other => no_python(other.to_string()),
        })?;
        Ok(worker)
    }

    /// Asks, and waits for the reply.
    pub(super) fn ask<T: DeserializeOwned>(&mut self, request: &Request) -> Result<T, WorkerError> {
        self.send(request)?;
        self.receive(request.limit())
    }

    /// Asks without waiting: the process takes up the request as soon as it has answered those before.
    pub(super) fn send(&mut self, request: &Request) -> Result<(), WorkerError> {
        let line = serde_json::to_string(request).map_err(|e| WorkerError::Failed(e.to_string()))? + "\n";
        match self.requests.write_all(line.as_bytes()).and_then(|()| self.requests.flush()) {
            Ok(()) => Ok(()),
            Err(_) => Err(self.ended()),
        }
    }

    /// The reply to the earliest request that has none.
    pub(super) fn receive<T: DeserializeOwned>(&mut self, limit: Duration) -> Result<T, WorkerError> {
        let line = match self.replies.recv_timeout(limit) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => return Err(WorkerError::Late(limit.as_secs())),
            Err(RecvTimeoutError::Disconnected) => return Err(self.ended()),
        };
        if let Ok(Failure { failed, over }) = serde_json::from_str(&line) {
            let failed = one_line(&failed).into_owned();
            return Err(if over { WorkerError::Over(failed) } else { WorkerError::Failed(failed) });
        }
        serde_json::from_str(&line).map_err(|_| WorkerError::NoReply(one_line(line.trim()).chars().take(200).collect()))
    }

    /// How the process ended, which has closed its pipes.
    fn ended(&mut self) -> WorkerError {
        let since = Instant::now();
        let status = loop {
            match self.child.try_wait() {
                Ok(Some(status)) => break status.to_string(),
                Ok(None) if since.elapsed() < END_LIMIT => thread::sleep(Duration::from_millis(5)),
                Ok(None) => break "it is still there".to_owned(),
                Err(error) => break error.to_string(),
            }
        };
        let words = self.words.recv_timeout(END_LIMIT).unwrap_or_default();
        let last = words.lines().map(str::trim).rfind(|line| !line.is_empty());
        let words = last.map(|line| format!(": {}", one_line(line))).unwrap_or_default();
        WorkerError::Ended { status, words }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // One that has ended already cannot be killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads replies on a thread of their own, so that waiting for one can end.
fn replies(output: ChildStdout) -> Receiver<String> {
    let (sender, receiver) = sync_channel(4);
    thread::spawn(move || {
        let mut output = BufReader::new(output);
        let mut line = Vec::new();
        while let Ok(1..) = (&mut output).take(MOST_BYTES).read_until(b'\n', &mut line) {
            if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                return;
            }
            line.clear();
        }
    });
    receiver
}

/// Reads what the process says on standard error, so that it can go on saying it, and gives the end of that.
fn last_words(mut errors: ChildStderr) -> Receiver<String> {
    let (sender, receiver) = sync_channel(1);
    thread::spawn(move || {
        let (mut kept, mut part) = (Vec::new(), [0; 1024]);
        while let Ok(count @ 1..) = errors.read(&mut part) {
            kept.extend_from_slice(&part[..count]);
            kept.drain(..kept.len().saturating_sub(LAST_WORDS));
        }
        let _ = sender.send(String::from_utf8_lossy(&kept).into_owned());
    });
    receiver
}
