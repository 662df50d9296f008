//! `optimize`.

use std::fs;

use miette::{IntoDiagnostic, WrapErr};

use super::args::Optimize;
use super::check::{conditions, load};
use super::{Answer, cache, output, progress};
use crate::ir::text;
use crate::optimize::optimize;
use crate::prove::Context;
use crate::report;

/// Looks for cheaper forms of one file's operators and prints them.
pub fn run(args: &Optimize) -> miette::Result<Answer> {
    let (graph, _) = load(&args.file, "the workload", &args.config)?;
    let (rules, costs) = conditions(&args.under)?;
    let bar = progress::progress();
    let memory = cache::memory(args.under.no_cache);
    let context = Context { memory: memory.as_deref(), progress: &*bar, ..Context::under(&rules) };
    let found = optimize(&graph, &context, args.under.tier, &costs)?;
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
