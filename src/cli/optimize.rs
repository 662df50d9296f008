//! `optimize`.

use std::fs;

use miette::{Context, IntoDiagnostic};

use super::args::Optimize;
use super::check::{conditions, load};
use super::{Answer, output, progress};
use crate::ir::text;
use crate::optimize::optimize;
use crate::report;

/// Looks for cheaper forms of one file's operators and prints them.
pub fn run(args: &Optimize) -> miette::Result<Answer> {
    let (graph, _) = load(&args.file, "the workload", &args.config)?;
    let (rules, costs) = conditions(&args.under)?;
    let bar = progress::progress();
    let found = optimize(&graph, &rules, args.under.tier, &costs, &*bar)?;
    drop(bar);
    if let Some(path) = &args.write {
        let rewritten = found.rewritten(&graph)?;
        fs::write(path, text::print(&rewritten))
            .into_diagnostic()
            .wrap_err_with(|| format!("cannot write {}", path.display()))?;
    }
    let report = match args.json {
        true => report::json(&found.optimization).into_diagnostic()? + "\n",
        false => found.optimization.human(output::width()),
    };
    output::report(&report)?;
    Ok(Answer::Yes)
}
