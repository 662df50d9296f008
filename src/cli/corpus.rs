//! `corpus`: the published cases, and what comparing their sides comes to.

use std::path::Path;

use miette::Diagnostic;
use thiserror::Error;

use super::answer::Answer;
use super::args::{Corpus, CorpusFormat};
use super::{output, progress};
use crate::corpus::{self, Case};
use crate::energy::CostModel;
use crate::rules::RuleSet;

#[derive(Debug, Error, Diagnostic)]
#[error("there is no case `{asked}`")]
#[diagnostic(code(cli::case), help("there are {known}"))]
struct NoSuchCase {
    asked: String,
    known: String,
}

pub(super) fn run(command: &Corpus) -> miette::Result<Answer> {
    match command {
        Corpus::List { folder } => {
            output::report(&corpus::list(&corpus::read(folder)?, output::width()))?;
            Ok(Answer::Yes)
        }
        Corpus::Run { cases, folder, format } => compare(cases, folder, *format),
    }
}

fn compare(asked: &[String], folder: &Path, format: CorpusFormat) -> miette::Result<Answer> {
    let all = corpus::read(folder)?;
    let known = all.iter().map(|case| case.id.as_str()).collect::<Vec<_>>().join(", ");
    if let Some(asked) = asked.iter().find(|id| !all.iter().any(|case| case.id == **id)) {
        return Err(NoSuchCase { asked: asked.clone(), known }.into());
    }
    let chosen: Vec<&Case> = all.iter().filter(|case| asked.is_empty() || asked.contains(&case.id)).collect();
    let (rules, costs) = (RuleSet::library()?, CostModel::shipped()?);
    let bar = progress::progress();
    let results =
        chosen.into_iter().map(|case| corpus::run(case, &rules, &costs, &*bar)).collect::<Result<Vec<_>, _>>();
    drop(bar);
    let results = results?;
    match format {
        CorpusFormat::Human => output::report(&corpus::table(&results, output::width()))?,
        CorpusFormat::Markdown => output::report(&corpus::page(&results))?,
        CorpusFormat::Json => output::report(&output::as_json(&results)?)?,
    }
    Ok(if results.iter().all(|result| result.misses.is_empty()) { Answer::Yes } else { Answer::No })
}
