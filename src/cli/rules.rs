//! `rules`: list the rules that proofs are made of.

use std::path::PathBuf;

use super::args::Rules;
use super::{Answer, output};
use crate::rules::RuleSet;

pub fn run(command: &Rules) -> miette::Result<Answer> {
    match command {
        Rules::List { files } => list(files),
    }
}

fn list(files: &[PathBuf]) -> miette::Result<Answer> {
    let rules = RuleSet::library()?.with_files(files)?.describe();
    let width = rules.iter().map(|r| r.name.chars().count()).max().unwrap_or(0);
    let line = |r: &crate::rules::RuleInfo| {
        let (family, tier) = (&*r.family, r.tier.to_string());
        let arrow = if r.both_ways { "<=>" } else { "=>" };
        format!("{:width$}  {family:12} {tier:9} {arrow:3}  {}\n", &*r.name, first_line(&r.doc))
    };
    output::report(&rules.iter().map(line).collect::<String>())?;
    Ok(Answer::Yes)
}

fn first_line(doc: &str) -> &str {
    doc.lines().next().unwrap_or("")
}
