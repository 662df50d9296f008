//! A progress bar on standard error, for work that takes long enough to wonder.

use std::cell::RefCell;
use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::progress::{Progress, Silent};

/// Work shorter than this shows nothing.
const PATIENCE: Duration = Duration::from_secs(1);

/// A bar if standard error is a terminal, else nothing.
pub fn progress() -> Box<dyn Progress> {
    if io::stderr().is_terminal() {
        Box::new(Bar(RefCell::new(State { start: Instant::now(), stage: String::new(), bar: None })))
    } else {
        Box::new(Silent)
    }
}

struct Bar(RefCell<State>);

struct State {
    start: Instant,
    stage: String,
    /// Drawn once patience is over.
    bar: Option<ProgressBar>,
}

impl Progress for Bar {
    fn stage(&self, name: &str) {
        let mut state = self.0.borrow_mut();
        state.stage = name.to_owned();
        if let Some(bar) = &state.bar {
            bar.set_message(state.stage.clone());
        }
    }

    fn tick(&self, done: u64, total: u64) {
        let mut state = self.0.borrow_mut();
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
        if let Some(bar) = &self.0.borrow().bar {
            bar.finish_and_clear();
        }
    }
}
