//! `optimize`.

use super::answer::Answer;
use super::args::{ObjectiveArg, Optimize};
use super::read::{conditions, load, options};
use super::{cache, output, progress};
use crate::emit::{self, EmitError, Workload};
use crate::energy::CostModel;
use crate::frontend::Loaded;
use crate::ir::Graph;
use crate::optimize::{Optimized, optimize, with_known_masks};
use crate::prove::Context;
use crate::report::Report;
use miette::miette;

/// Looks for cheaper forms of one file's operators and prints them.
pub(super) fn run(args: &Optimize) -> miette::Result<Answer> {
    // Before the search, which takes a while.
    output::can_be_shown(&args.shown)?;
    if args.max_slowdown.is_some() && args.objective != ObjectiveArg::Energy {
        return Err(miette!(
            help = "leave one of the two out",
            "--max-slowdown is for forms that are chosen by energy, and --objective says otherwise"
        ));
    }
    args.frontier.as_deref().map(output::can_be_written).transpose()?;
    args.output.as_deref().map(|path| emit::can_be_written(&args.file, path)).transpose()?;
    let loaded = load(&args.file, "the workload", &args.config, &options(&args.sizes))?;
    loaded.assumptions.iter().for_each(|text| output::note(text));
    let Loaded { graph: plain, mut contents, .. } = loaded;
    let (rules, costs) = conditions(&args.search)?;
    let bar = progress::progress();
    let cache = cache::open(args.search.no_cache);
    let context = Context { cache: cache.as_deref(), progress: &*bar, ..Context::under(&rules) };
    let mut costs = costs;
    let search = |graph: &Graph, costs: &CostModel| -> miette::Result<Optimized> {
        let mut found = optimize(graph, &context, args.search.tier, args.objective.into(), costs)?;
        args.max_slowdown.map(|most| found.allow_slowdown(graph, most, costs)).transpose()?;
        Ok(found)
    };
    let (mut graph, mut found, mut assumption) = match costs.is_frozen() {
        true => with_known_masks(&plain, &mut *contents, |graph| search(graph, &costs))?,
        false => (plain.clone(), search(&plain, &costs)?, None),
    };
    if let Some(path) = &args.output {
        loop {
            let workload = Workload { path: &args.file, graph: &graph, contents: &mut *contents };
            match emit::write(&found.rewritten, found.once.as_ref(), workload, path, &context, args.search.tier) {
                // What cannot be computed here is neither written nor reported.
                Err(error @ EmitError::Values { .. }) if costs.is_frozen() => {
                    output::note(&format!("nothing is computed once: {error}"));
                    costs = costs.frozen(false);
                    (graph, found, assumption) = (plain.clone(), search(&plain, &costs)?, None);
                }
                // Each form has a proof of its own. One that the proof of the whole does not find is left out, here and below.
                Err(EmitError::Unproven { nodes, .. }) if found.leave_out(&graph, &nodes, &costs)? => {}
                written => break written?,
            }
        }
    }
    drop(bar);
    found.optimization.assumptions.extend(assumption);
    args.frontier.as_deref().map(|path| output::write(path, &found.optimization.frontier_svg())).transpose()?;
    output::show(&found.optimization, &found.optimization.findings(), &args.shown, false)?;
    Ok(Answer::Yes)
}
