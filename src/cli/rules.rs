//! `rules`: list the rules that proofs are made of, and try them out.

use std::path::PathBuf;

use super::args::Rules;
use super::{Answer, output};
use crate::rules::check::{Effort, check_from};
use crate::rules::{RuleSet, read_files};

pub fn run(command: &Rules) -> miette::Result<Answer> {
    match command {
        Rules::List { files } => list(files),
        Rules::Check { files } => check(files),
    }
}

fn list(files: &[PathBuf]) -> miette::Result<Answer> {
    let rules = RuleSet::library()?.with_sources(&read_files(files)?)?.describe();
    let width = rules.iter().map(|r| r.name.chars().count()).max().unwrap_or(0);
    let line = |r: &crate::rules::RuleInfo| {
        let (family, tier) = (&*r.family, r.tier.to_string());
        let arrow = if r.both_ways { "<=>" } else { "=>" };
        format!("{:width$}  {family:12} {tier:9} {arrow:3}  {}\n", &*r.name, first_line(&r.doc))
    };
    output::report(&rules.iter().map(line).collect::<String>())?;
    Ok(Answer::Yes)
}

fn check(files: &[PathBuf]) -> miette::Result<Answer> {
    let checked = if files.is_empty() {
        let library = RuleSet::library()?;
        check_from(&library, 0, Effort::default()).map(|()| library.describe())
    } else {
        read_files(files)?;
        RuleSet::check_files(files)
    };
    match checked {
        Ok(rules) => {
            let plural = if rules.len() == 1 { "rule passes" } else { "rules pass" };
            output::report(&format!("{} {plural}\n", rules.len()))?;
            Ok(Answer::Yes)
        }
        Err(refused) => {
            output::diagnostic(&refused.into());
            Ok(Answer::No)
        }
    }
}

fn first_line(doc: &str) -> &str {
    doc.lines().next().unwrap_or("")
}
