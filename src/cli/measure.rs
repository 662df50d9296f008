//! `measure`: replay what a profile does not hold yet on this machine's GPU.

use std::io::{self, Write};
use std::time::{SystemTime, UNIX_EPOCH};

use indexmap::IndexSet;
use miette::{IntoDiagnostic, WrapErr, miette};

use super::args::Measure;
use super::{Answer, output};
use crate::energy::{
    Campaign, CostModel, Key, Options, Outcome, Profile, Progress, Rig, Summary, TorchRig, graph_costs, graph_keys,
    read_keys, sum_to_whole,
};
use crate::frontend;
use crate::ir::{Graph, NodeId};
use crate::progress::Silent;
use crate::prove::{RegionKind, prove};
use crate::rules::RuleSet;

pub fn run(args: &Measure) -> miette::Result<Answer> {
    let mut graphs = Vec::new();
    let mut keys: IndexSet<Key> = IndexSet::new();
    for file in &args.files {
        let graph = frontend::load(file)?;
        keys.extend(graph_keys(&graph));
        graphs.push(graph);
    }
    for file in &args.keys {
        let name = file.display().to_string();
        let text = std::fs::read_to_string(file).into_diagnostic().wrap_err_with(|| format!("cannot read {name}"))?;
        keys.extend(read_keys(&name, &text)?);
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
        key_budget_s: args.key_budget,
        budget_s: args.budget,
        date: today(),
    };
    let mut campaign = Campaign::open(TorchRig::open(args.device)?, options)?;
    let again = campaign.overlap().to_vec();
    let keys: Vec<Key> = again.into_iter().chain(keys).collect::<IndexSet<Key>>().into_iter().collect();
    let (missing, seconds) = campaign.estimate(&keys);
    tell(&format!("{missing} of {} operators to measure, about {}", keys.len(), duration(seconds)));
    let summary = campaign.operators(&keys, &mut |p| tell_progress(p))?;
    if let (Some(trials), Some(key)) = (args.trials, keys.first()) {
        self_test(&mut campaign, key, trials)?;
    }
    if args.whole {
        for graph in &graphs {
            let nodes: Vec<NodeId> = graph.nodes().map(|(id, _)| id).collect();
            replay(&mut campaign, &graph.name, graph, &nodes)?;
        }
    }
    if let (true, [a, b]) = (args.regions, &graphs[..]) {
        regions(&mut campaign, a, b)?;
    }
    output::report(&ending(&summary, &args.profile.display().to_string()))?;
    Ok(Answer::Yes)
}

fn ending(s: &Summary, file: &str) -> String {
    format!("{} measured, {} known before, {} skipped, {} left; {file}\n", s.measured, s.known, s.skipped, s.left)
}

/// A line on standard error. With it closed there is nobody to tell.
fn tell(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

fn tell_progress(p: &Progress) {
    let place = format!("{}/{}", p.done, p.total);
    match p.outcome {
        Outcome::Known => {}
        Outcome::Measured(e) => tell(&format!(
            "{place}, {} left: {:.4} mJ ±{:.1} %, {:.1} µs, {:.0} W: {}",
            duration(p.left_s),
            e.energy_mj.mean,
            e.energy_mj.half_width() * 100.0,
            e.time_us.mean,
            e.watts,
            p.what
        )),
        Outcome::Skipped(reason) => tell(&format!("{place}: skipped {}: {reason}", p.what)),
    }
}

/// Replays a part of a graph in one piece and sets it against the sum of its operators.
fn replay<R: Rig>(campaign: &mut Campaign<R>, name: &str, graph: &Graph, nodes: &[NodeId]) -> miette::Result<()> {
    if let Outcome::Skipped(reason) = campaign.replay(name, graph, nodes)? {
        tell(&format!("skipped {name}: {reason}"));
        return Ok(());
    }
    let costs = graph_costs(graph, &CostModel::new(campaign.known()));
    let sum: crate::energy::Cost = nodes.iter().map(|n| costs[n.index()]).sum();
    let Some(whole) = campaign.profile().replays.get(name) else { return Ok(()) };
    let ratio = match sum_to_whole(&sum.energy_mj, &sum.time_us, whole) {
        Some((energy, time)) => format!("sum of operators / whole: energy {energy:.3}, time {time:.3}"),
        None => "not all of its operators have a figure".to_owned(),
    };
    output::report(&format!("{name}: {:.3} mJ, {:.1} µs; {ratio}\n", whole.energy_mj.mean, whole.time_us.mean))
}

/// Replays both sides of every proven region, one of each kind.
fn regions<R: Rig>(campaign: &mut Campaign<R>, a: &Graph, b: &Graph) -> miette::Result<()> {
    let rules = RuleSet::library()?;
    let proof = prove(a, b, &rules, &Silent)?;
    let regions = proof.partition.regions.iter().filter(|r| r.kind == RegionKind::Proven);
    let mut seen = IndexSet::new();
    for (i, region) in regions.enumerate() {
        for (graph, nodes) in [(a, &region.a), (b, &region.b)] {
            let keys = part_keys(graph, nodes);
            // Layers repeat; a single operator has its figure already.
            if keys.len() > 1 && seen.insert(keys) {
                replay(
                    campaign,
                    &format!("{}: region {} of {} and {}", graph.name, i + 1, a.name, b.name),
                    graph,
                    nodes,
                )?;
            }
        }
    }
    Ok(())
}

/// The operators of a part that launch something, in order.
fn part_keys(graph: &Graph, nodes: &[NodeId]) -> Vec<Key> {
    let layouts = crate::ir::layouts(graph);
    nodes.iter().filter_map(|&n| crate::energy::launched_key(graph, &layouts, n)).collect()
}

/// A-against-A trials of the first key, and what polling the meter costs.
fn self_test<R: Rig>(campaign: &mut Campaign<R>, key: &Key, trials: u32) -> miette::Result<()> {
    if let Outcome::Skipped(reason) = campaign.trials(key, trials)? {
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

/// The day in UTC, as `2026-11-21`.
fn today() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    civil(seconds / 86_400)
}

/// The date of a day counted from 1970-01-01, by the algorithm of Howard Hinnant ("chrono-compatible low-level date algorithms").
fn civil(day: u64) -> String {
    let z = day + 719_468;
    let (era, of_era) = (z / 146_097, z % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{:02}", of_year - (153 * shifted + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::civil;

    #[test]
    fn days_have_dates() {
        assert_eq!([0, 59, 11_016, 20_778].map(civil), ["1970-01-01", "1970-03-01", "2000-02-29", "2026-11-21"]);
    }
}
