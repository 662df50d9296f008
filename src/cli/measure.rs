//! `measure`: run what a profile does not hold yet on this machine's GPU.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use indexmap::IndexSet;
use indicatif::{ProgressBar, ProgressStyle};
use miette::{IntoDiagnostic, WrapErr, miette};
use rustc_hash::FxHashSet;

use super::answer::Answer;
use super::args::Measure;
use super::output;
use crate::energy::{CostModel, KernelKey, Profile, at_power_cap, graph_calls};
use crate::extract::undecided;
use crate::frontend;
use crate::ir::{Graph, NodeId};
#[cfg(feature = "torch")]
use crate::measure::TorchBackend;
use crate::measure::{
    Backend, Campaign, Options, Outcome, PROTOCOL, Progress, PythonBackend, QUICK_PROTOCOL, Summary, designed_spread,
    graph_keys, launched_key, read_keys, sum_to_whole,
};
use crate::progress::Silent;
use crate::prove::{Context, RegionKind, prove};
use crate::rules::RuleSet;

/// How often measured figures may raise new questions about cheaper forms.
const ROUNDS: usize = 6;

pub(super) fn run(args: &Measure) -> miette::Result<Answer> {
    let mut graphs = Vec::new();
    let mut keys: IndexSet<KernelKey> = IndexSet::new();
    for file in &args.files {
        let graph = loaded(file)?;
        keys.extend(graph_keys(&graph));
        graphs.push(graph);
    }
    for file in &args.keys {
        let name = file.display().to_string();
        let text = std::fs::read_to_string(file).into_diagnostic().wrap_err_with(|| format!("cannot read {name}"))?;
        keys.extend(read_keys(&name, &text)?);
    }
    if args.quick {
        keys.extend(designed_spread()?);
    }
    if keys.is_empty() {
        return Err(miette!(
            code = "cli::nothing_to_measure",
            "no operators are given: name graphs, or keys with --keys"
        ));
    }
    if args.regions && graphs.len() != 2 {
        return Err(miette!(code = "cli::no_pair", "--regions wants the two graphs of a comparison"));
    }
    let options = Options {
        profile: args.profile.clone(),
        known: args.known.as_ref().map(|path| Profile::load(path)).transpose()?,
        protocol: if args.quick { QUICK_PROTOCOL } else { PROTOCOL },
        passes: if args.quick { 1 } else { args.passes },
        key_budget_s: args.key_budget,
        budget_s: args.budget,
        date: jiff::Timestamp::now().strftime("%F").to_string(),
        stop: stopped_by_interrupt()?,
    };
    let work = Work { args, graphs, keys };
    match &args.python {
        #[cfg(feature = "torch")]
        None => work.run(TorchBackend::open(args.device)?, options),
        python => {
            let python = python.clone().unwrap_or_else(|| ACTIVE_PYTHON.into());
            work.run(PythonBackend::open(&python, args.device)?, options)
        }
    }
}

/// The graph of a file, under the name of the file: what is measured in one piece is kept under it, and graphs in two files may
/// have one name.
fn loaded(file: &Path) -> miette::Result<Graph> {
    let mut graph = frontend::load(file)?;
    graph.name = file.display().to_string();
    Ok(graph)
}

/// The Python of the active environment, which stands first where programs are looked for.
const ACTIVE_PYTHON: &str = "python3";

/// What is to be measured.
struct Work<'a> {
    args: &'a Measure,
    graphs: Vec<Graph>,
    keys: IndexSet<KernelKey>,
}

impl Work<'_> {
    fn run<R: Backend>(self, rig: R, options: Options) -> miette::Result<Answer> {
        let Work { args, graphs, keys } = self;
        let mut campaign = Campaign::open(rig, options)?;
        let again = campaign.overlap().to_vec();
        let keys: Vec<KernelKey> = again.into_iter().chain(keys).collect::<IndexSet<KernelKey>>().into_iter().collect();
        // One replay says more about a graph than any sum of its operators, so that a short run begins with it.
        let whole: Vec<&Graph> = graphs.iter().filter(|_| args.whole).collect();
        for graph in &whole {
            replay(&mut campaign, &graph.name, graph, &all_nodes(graph))?;
        }
        let mut summary = measure(&mut campaign, &keys)?;
        for graph in whole {
            compare_with_sum(&campaign, &graph.name, graph, &all_nodes(graph))?;
        }
        if let (Some(trials), Some(key)) = (args.trials, keys.first()) {
            self_test(&mut campaign, key, trials)?;
        }
        if !args.no_alternatives && !args.quick {
            summary = alternatives(&mut campaign, &graphs, summary)?;
        }
        if let (true, [a, b]) = (args.regions, &graphs[..]) {
            regions(&mut campaign, a, b)?;
        }
        output::report(&ending(&summary, &args.profile.display().to_string()))?;
        Ok(Answer::Yes)
    }
}

/// A flag that Ctrl-C sets; a second one ends the process at once. Finished figures are on disk either way.
fn stopped_by_interrupt() -> miette::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = stop.clone();
    ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::Relaxed) {
            std::process::exit(INTERRUPTED);
        }
        tell("stopping after this measurement; the same command goes on from there");
    })
    .into_diagnostic()?;
    Ok(stop)
}

/// The exit status that shells know for a process that Ctrl-C ended.
const INTERRUPTED: i32 = 130;

fn ending(s: &Summary, file: &str) -> String {
    format!("{} measured, {} known before, {} skipped, {} left; {file}\n", s.measured, s.known, s.skipped, s.left)
}

/// A line on standard error.
fn tell(line: &str) {
    output::note(line);
}

/// Measures operators, with a bar below the figures if standard error is a terminal.
fn measure<R: Backend>(campaign: &mut Campaign<R>, keys: &[KernelKey]) -> miette::Result<Summary> {
    let (missing, seconds) = campaign.estimate(keys);
    tell(&format!("{} operators, {missing} measurements of them to take, about {}", keys.len(), duration(seconds)));
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template("{pos}/{len} {wide_bar} {msg}") {
        bar.set_style(style);
    }
    let summary = campaign.operators(keys, &mut |p| {
        bar.set_length(p.total as u64);
        bar.set_position(p.done as u64);
        bar.set_message(format!("{} left", duration(p.left_s)));
        if let Some(line) = told(p) {
            bar.suspend(|| tell(&line));
        }
    })?;
    bar.finish_and_clear();
    Ok(summary)
}

/// What became of one operator; nothing for one that was known.
fn told(p: &Progress) -> Option<String> {
    let place = format!("{}/{}", p.done, p.total);
    match p.outcome {
        Outcome::Known => None,
        Outcome::Measured(e) => Some(format!(
            "{place}, {} left: {:.4} mJ ±{:.1} %, {:.1} µs, {:.0} W: {}",
            duration(p.left_s),
            e.energy_mj.mean,
            e.energy_mj.half_width() * 100.0,
            e.time_us.mean,
            e.watts,
            p.what
        )),
        Outcome::Skipped(reason) => Some(format!("{place}: skipped {}: {reason}", p.what)),
        Outcome::Disturbed(reason) => Some(format!("{place}: not kept, {}: {reason}", p.what)),
    }
}

/// Measures operators of forms that the rules find and that could save energy, until it is known whether they do.
fn alternatives<R: Backend>(
    campaign: &mut Campaign<R>,
    graphs: &[Graph],
    mut summary: Summary,
) -> miette::Result<Summary> {
    let rules = RuleSet::library()?;
    let mut asked: FxHashSet<KernelKey> = FxHashSet::default();
    for _ in 0..ROUNDS {
        // What was asked for and has no figure cannot be measured.
        let model = CostModel::new(campaign.known()).optimistic(asked.clone());
        let mut keys = IndexSet::new();
        for graph in graphs {
            keys.extend(undecided(graph, &Context::under(&rules), &model).into_diagnostic()?);
        }
        if keys.is_empty() || campaign.is_over() {
            break;
        }
        let keys: Vec<KernelKey> = keys.into_iter().collect();
        tell("operators of forms that could be cheaper:");
        summary = summary.and(measure(campaign, &keys)?);
        asked.extend(keys);
    }
    Ok(summary)
}

/// Replays a part of a graph in one piece.
fn replay<R: Backend>(campaign: &mut Campaign<R>, name: &str, graph: &Graph, nodes: &[NodeId]) -> miette::Result<()> {
    if let Outcome::Skipped(reason) | Outcome::Disturbed(reason) = campaign.replay(name, graph, nodes)? {
        tell(&format!("skipped {name}: {reason}"));
    }
    Ok(())
}

/// Prints what a part took in one piece, if it was replayed, and how that compares with the sum of its operators.
fn compare_with_sum<R: Backend>(
    campaign: &Campaign<R>,
    name: &str,
    graph: &Graph,
    nodes: &[NodeId],
) -> miette::Result<()> {
    let Some(whole) = campaign.profile().replays.get(name) else { return Ok(()) };
    let model = CostModel::new(campaign.known());
    let calls = graph_calls(graph, &model);
    let calls: Vec<_> = nodes.iter().map(|n| calls[n.index()].clone()).collect();
    let sum = at_power_cap(&calls, &model);
    let ratio = match sum_to_whole(&sum.energy_mj, &sum.time_us, whole) {
        Some((energy, time)) => format!("sum of operators / whole: energy {energy:.3}, time {time:.3}"),
        None => "not all of its operators have a figure".to_owned(),
    };
    output::report(&format!("{name}: {:.3} mJ, {:.1} µs; {ratio}\n", whole.energy_mj.mean, whole.time_us.mean))
}

fn all_nodes(graph: &Graph) -> Vec<NodeId> {
    graph.nodes().map(|(id, _)| id).collect()
}

/// Replays both sides of every proven region, one of each kind.
fn regions<R: Backend>(campaign: &mut Campaign<R>, a: &Graph, b: &Graph) -> miette::Result<()> {
    let rules = RuleSet::library()?;
    let proof = prove(a, b, &rules, &Silent)?;
    let regions = proof.partition.regions.iter().filter(|r| r.kind == RegionKind::Proven);
    let mut seen = IndexSet::new();
    for region in regions {
        for (graph, nodes) in [(a, &region.a), (b, &region.b)] {
            let keys = part_keys(graph, nodes);
            // Layers repeat; a single operator has its figure already.
            if keys.len() > 1 && seen.insert(keys) {
                let name = part_name(graph, nodes);
                replay(campaign, &name, graph, nodes)?;
                compare_with_sum(campaign, &name, graph, nodes)?;
            }
        }
    }
    Ok(())
}

/// What a part is kept under: its first and last node, since the numbers of regions change with the rules.
fn part_name(graph: &Graph, nodes: &[NodeId]) -> String {
    let name = |id: Option<&NodeId>| id.map_or("", |&id| &*graph.node(id).name);
    format!("{}: {} to {}", graph.name, name(nodes.first()), name(nodes.last()))
}

/// The operators of a part that launch something, in order.
fn part_keys(graph: &Graph, nodes: &[NodeId]) -> Vec<KernelKey> {
    let layouts = crate::ir::layouts(graph);
    nodes.iter().filter_map(|&n| launched_key(graph, &layouts, n)).collect()
}

/// A-against-A trials of the first key, and what polling the meter costs.
fn self_test<R: Backend>(campaign: &mut Campaign<R>, key: &KernelKey, trials: u32) -> miette::Result<()> {
    if let Outcome::Skipped(reason) | Outcome::Disturbed(reason) = campaign.trials(key, trials)? {
        tell(&format!("skipped the trials: {reason}"));
    }
    if let Some((polled, alone)) = campaign.overhead(key)? {
        let percent = (polled / alone - 1.0) * 100.0;
        output::report(&format!("polled {polled:.3} µs, alone {alone:.3} µs an execution: {percent:+.2} %\n"))?;
    }
    Ok(())
}

/// `40 s`, `12 min`.
fn duration(seconds: f64) -> String {
    if seconds < 90.0 { format!("{seconds:.0} s") } else { format!("{:.0} min", seconds / 60.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_files_with_graphs_of_one_name_are_two_graphs() {
        let folder = tempfile::tempdir().unwrap();
        let names = ["a.mir", "b.mir"].map(|name| {
            let file = folder.path().join(name);
            std::fs::write(&file, "graph \"g\"(x: f32[2]) {\n  y: f32[2] = relu(x)\n  return y\n}\n").unwrap();
            loaded(&file).unwrap().name
        });
        assert_ne!(names[0], names[1]);
    }
}
