//! A progress bar on standard error, for work that takes long enough to wonder.

use std::io::{self, IsTerminal};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::progress::{Progress, Silent};

/// Work shorter than this shows nothing.
const PATIENCE: Duration = Duration::from_secs(1);

/// A bar if standard error is a terminal, else nothing.
pub(super) fn progress() -> Box<dyn Progress> {
    if io::stderr().is_terminal() {
        Box::new(Bar(Mutex::new(State { start: Instant::now(), stage: String::new(), bar: None })))
    } else {
        Box::new(Silent)
    }
}

struct Bar(Mutex<State>);

struct State {
    start: Instant,
    stage: String,
    /// Drawn once patience is over.
    bar: Option<ProgressBar>,
}

impl Bar {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Progress for Bar {
    fn stage(&self, name: &str) {
        let mut state = self.state();
        name.clone_into(&mut state.stage);
        if let Some(bar) = &state.bar {
            bar.set_message(state.stage.clone());
        }
    }

    fn tick(&self, done: u64, total: u64) {
        let mut state = self.state();
        if state.bar.is_none() && state.start.elapsed() > PATIENCE {
            let bar = ProgressBar::new(total).with_message(state.stage.clone());
            if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len}") {
                bar.set_style(style);
            }
            state.bar = Some(bar);
        }
        if let Some(bar) = &state.bar {
            bar.set_length(total);
            bar.set_position(done);
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = &self.state().bar {
            bar.finish_and_clear();
        }
    }
}
