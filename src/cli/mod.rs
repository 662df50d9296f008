//! The command line: reads arguments, calls the library, prints its report. Computes nothing itself.

mod answer;
mod args;
mod cache;
mod check;
mod corpus;
mod gate;
mod measure;
mod names;
mod optimize;
mod output;
mod profile;
mod progress;
mod proof;
mod read;
mod rules;
mod run;
mod witness;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use args::{Args, Command};

use crate::guard::guarded;
use answer::Answer;

/// Exit status of bad input and bad usage; clap uses the same.
const TROUBLE: u8 = 2;

/// The definition of the command line, which completions and manual pages are made from.
pub fn command() -> clap::Command {
    Args::command()
}

/// Runs the command that the process's arguments name.
pub fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|panic| output::warning(&format!("a mistake in magneton-ir: {panic}"))));
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return ExitCode::from(output::usage(&error)),
    };
    match guarded(|| run(&args.command)) {
        Ok(Ok(Answer::Yes)) => ExitCode::SUCCESS,
        Ok(Ok(Answer::No)) => ExitCode::from(1),
        Ok(Err(report)) => {
            output::diagnostic(&report);
            ExitCode::from(TROUBLE)
        }
        // The hook has said what.
        Err(_) => ExitCode::from(TROUBLE),
    }
}

fn run(command: &Command) -> miette::Result<Answer> {
    match command {
        Command::Check(args) => check::check(args),
        Command::Explain { compare, region, full, shown } => check::explain(compare, region, shown, *full),
        Command::Optimize(args) => optimize::run(args),
        Command::VerifyProof(args) => proof::verify(args),
        Command::Lower { file, sizes } => check::lower(file, sizes),
        Command::Run(args) => run::run(args),
        Command::Rules(command) => rules::run(command),
        Command::Corpus(command) => corpus::run(command),
        Command::Profile(command) => profile::run(command),
        Command::Measure(args) => measure::run(args),
    }
}
