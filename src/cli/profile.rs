//! `profile`: look at measured energies, join and compare them.

use std::path::{Path, PathBuf};

use super::answer::Answer;
use super::args::ProfileCommand;
use super::output;
use crate::energy::{Estimator, Profile, tables};
use crate::measure::RunLog;

pub(super) fn run(command: &ProfileCommand) -> miette::Result<Answer> {
    let text = match command {
        ProfileCommand::Show { file } => tables::show(&load(file.as_ref())?),
        ProfileCommand::Fit { file, write } => {
            let mut profile = load(file.as_ref())?;
            match file {
                Some(path) if *write => {
                    profile.fit();
                    profile.save(path)?;
                }
                _ => {}
            }
            tables::fit(&Estimator::fit(&profile))
        }
        ProfileCommand::Diff { left, right } => tables::diff(&Profile::load(left)?.diff(&Profile::load(right)?)),
        ProfileCommand::Merge { files, output } => {
            let mut joined = Profile::default();
            for file in files {
                for profile in profiles(file)? {
                    joined.merge(profile)?;
                }
            }
            joined.fit();
            joined.save(output)?;
            format!("{} entries in {}\n", joined.entries.len(), output.display())
        }
    };
    output::report(&text)?;
    Ok(Answer::Yes)
}

/// The profile of a file, or those that raw windows give.
fn profiles(path: &Path) -> miette::Result<Vec<Profile>> {
    if !path.extension().is_some_and(|e| e == "jsonl" || e == "zip") {
        return Ok(vec![Profile::load(path)?]);
    }
    let name = path.display().to_string();
    RunLog::load(path)?.iter().map(|run| Ok(run.profile(&name)?)).collect()
}

/// The file's profile, or the one that the program carries.
fn load(file: Option<&PathBuf>) -> miette::Result<Profile> {
    Ok(match file {
        Some(path) => Profile::load(path)?,
        None => Profile::shipped()?,
    })
}
