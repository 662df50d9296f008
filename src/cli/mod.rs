//! The command line: reads arguments, calls the library, prints its report. Computes nothing itself.

mod args;
mod cache;
mod check;
#[cfg(feature = "torch")]
mod measure;
mod optimize;
mod output;
mod profile;
mod progress;
mod proof;
mod rules;
mod witness;

use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command};

/// What a run answers, as its exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Proven equivalent, or done.
    Yes,
    /// Not proven, or more waste than allowed.
    No,
}

/// Exit status of bad input and bad usage; clap uses the same.
const TROUBLE: u8 = 2;

/// Runs the command that the process's arguments name.
pub fn main() -> ExitCode {
    match run(&Args::parse().command) {
        Ok(Answer::Yes) => ExitCode::SUCCESS,
        Ok(Answer::No) => ExitCode::from(1),
        Err(report) => {
            output::diagnostic(&report);
            ExitCode::from(TROUBLE)
        }
    }
}

fn run(command: &Command) -> miette::Result<Answer> {
    match command {
        Command::Check(args) => check::check(args),
        Command::Explain { compare, region } => check::explain(compare, *region),
        Command::Optimize(args) => optimize::run(args),
        Command::VerifyProof(args) => proof::verify(args),
        Command::Lower { file } => check::lower(file),
        Command::Rules(command) => rules::run(command),
        Command::Profile(command) => profile::run(command),
        #[cfg(feature = "torch")]
        Command::Measure(args) => measure::run(args),
    }
}
