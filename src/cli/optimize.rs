//! `optimize`.

use super::args::Optimize;
use super::check::{conditions, load, options};
use super::{Answer, cache, output, progress};
use crate::emit::{self, Workload};
use crate::frontend::Loaded;
use crate::optimize::optimize;
use crate::prove::Context;
use crate::report::Report;

/// Looks for cheaper forms of one file's operators and prints them.
pub fn run(args: &Optimize) -> miette::Result<Answer> {
    // Before the search, which takes a while.
    args.output.as_deref().map(|path| emit::can_be_written(&args.file, path)).transpose()?;
    let loaded = load(&args.file, "the workload", &args.config, &options(&args.sizes))?;
    loaded.assumptions.iter().for_each(|text| output::note(text));
    let Loaded { graph, mut contents, .. } = loaded;
    let (rules, costs) = conditions(&args.under)?;
    let bar = progress::progress();
    let memory = cache::memory(args.under.no_cache);
    let context = Context { memory: memory.as_deref(), progress: &*bar, ..Context::under(&rules) };
    let found = optimize(&graph, &context, args.under.tier, &costs)?;
    if let Some(path) = &args.output {
        let rewritten = found.rewritten(&graph)?;
        let workload = Workload { path: &args.file, graph: &graph, contents: &mut *contents };
        emit::write(&rewritten, workload, path, &context, args.under.tier)?;
    }
    drop(bar);
    output::show(&found.optimization, &found.optimization.findings(), &args.shown, false)?;
    Ok(Answer::Yes)
}
