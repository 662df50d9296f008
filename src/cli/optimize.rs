//! `optimize`.

use miette::{IntoDiagnostic, WrapErr};

use super::args::Optimize;
use super::check::{conditions, load, options};
use super::{Answer, cache, output, progress};
use crate::files;
use crate::ir::text;
use crate::optimize::optimize;
use crate::prove::Context;
use crate::report::Report;

/// Looks for cheaper forms of one file's operators and prints them.
pub fn run(args: &Optimize) -> miette::Result<Answer> {
    let loaded = load(&args.file, "the workload", &args.config, &options(&args.sizes))?;
    loaded.assumptions.iter().for_each(|text| output::note(text));
    let graph = loaded.graph;
    let (rules, costs) = conditions(&args.under)?;
    let bar = progress::progress();
    let memory = cache::memory(args.under.no_cache);
    let context = Context { memory: memory.as_deref(), progress: &*bar, ..Context::under(&rules) };
    let found = optimize(&graph, &context, args.under.tier, &costs)?;
    drop(bar);
    output::show(&found.optimization, &found.optimization.findings(), &args.shown, false)?;
    if let Some(path) = &args.write {
        let rewritten = found.rewritten(&graph)?;
        files::write(path, text::print(&rewritten).as_bytes())
            .into_diagnostic()
            .wrap_err_with(|| format!("cannot write {}", path.display()))?;
    }
    Ok(Answer::Yes)
}
