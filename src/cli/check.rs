//! `check`, `explain` and `lower`.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use miette::Diagnostic;
use thiserror::Error;

use super::answer::Answer;
use super::args::{Check, Compare, FailOn, Format, Shown, Sizes};
use super::gate::Gate;
use super::read::{bound, conditions, options};
use super::{cache, output, progress, proof};
use crate::check::{Checked, compare_bound};
use crate::diagnose::name_switches;
use crate::energy::CostModel;
use crate::explain::Explainer;
use crate::frontend::{self};
use crate::ir::{Graph, text};
use crate::prove::Verdict::Different;
use crate::prove::{BoundPair, Context};
use crate::report::{Comparison, Report, ReportedVerdict};
use crate::rules::RuleSet;
use crate::source::Sources;

#[derive(Debug, Error, Diagnostic)]
enum UsageError {
    #[error("the price of a side is incomplete, so that `--fail-on waste` cannot say whether it wastes anything")]
    #[diagnostic(
        code(cli::incomplete_price),
        help("the report names what is left out: define it by a rule (`define`), or compare without `--fail-on`")
    )]
    Incomplete,
    #[error("there is no region {asked}")]
    #[diagnostic(
        code(cli::region),
        help(
            "`check` found {count}, numbered from 1; an operator goes by its name in the file, a source line by model.py:12"
        )
    )]
    Region { asked: String, count: usize },
}

/// Compares two files and prints the report.
pub(super) fn check(args: &Check) -> miette::Result<Answer> {
    output::can_be_shown(&args.shown)?;
    let gate = Gate::new(args)?;
    let Compared { a, b, rules, costs, mut checked } = compared(&args.compare)?;
    if args.shown.format == Format::Html {
        let details = Explainer::new(&checked, &a, &b, &costs).details();
        checked.comparison.details = Some(Box::new(details));
    }
    let Checked { comparison, proof, .. } = checked;
    if let Some(path) = &args.proof {
        proof::write(path, &proof.certificate(&a, &b, &rules))?;
    }
    let (findings, wasteful) = gate.judge(&comparison);
    output::show(&comparison, &findings, &args.shown, false)?;
    // The verdict stands, and is the exit status, whatever becomes of the witness.
    if let (Some(folder), Different(witness)) = (&args.write_witness, &proof.verdict) {
        let [written_a, written_b] = [&a, &b].map(|graph| rules.inline_definitions(graph).map(|w| w.graph));
        let sides = [written_a.as_ref().unwrap_or(&a), written_b.as_ref().unwrap_or(&b)];
        if let Err(error) = super::witness::write(folder, sides, &proof.binding, witness) {
            output::diagnostic(&error.into());
        }
    }
    if gate.fail_on == FailOn::Waste && !wasteful && comparison.is_incomplete() {
        return Err(UsageError::Incomplete.into());
    }
    let fails = match comparison.verdict {
        ReportedVerdict::Different => true,
        ReportedVerdict::Unknown => gate.fail_on >= FailOn::Unknown,
        ReportedVerdict::Equivalent => wasteful,
    };
    Ok(if fails { Answer::No } else { Answer::Yes })
}

/// Prints one region in full.
pub(super) fn explain(args: &Compare, region: &str, shown: &Shown, full: bool) -> miette::Result<Answer> {
    output::can_be_shown(shown)?;
    let Compared { a, b, costs, checked, .. } = compared(args)?;
    let count = checked.comparison.regions.len();
    let explainer = Explainer::new(&checked, &a, &b, &costs);
    let found = explainer.find(region);
    let first = found.first().and_then(|&id| explainer.region(id));
    let explanation = first.ok_or_else(|| UsageError::Region { asked: region.to_owned(), count })?;
    if found.len() > 1 {
        let others: Vec<String> = found.iter().skip(1).take(8).map(usize::to_string).collect();
        let more = if found.len() > 9 { ", …" } else { "" };
        let text = format!(
            "{} regions are there; this is one that costs most, others are {}{more}",
            found.len(),
            others.join(", ")
        );
        output::note(&text);
    }
    output::show(&explanation, &explanation.findings(), shown, full)?;
    Ok(if checked.comparison.verdict == ReportedVerdict::Equivalent { Answer::Yes } else { Answer::No })
}

/// Prints a file's graph.
pub(super) fn lower(file: &Path, sizes: &Sizes) -> miette::Result<Answer> {
    let loaded = frontend::load_with(file, &options(sizes))?;
    loaded.assumptions.iter().for_each(|text| output::note(text));
    output::report(&text::print(&loaded.graph))?;
    Ok(Answer::Yes)
}

struct Compared {
    a: Graph,
    b: Graph,
    rules: RuleSet,
    costs: CostModel,
    checked: Checked,
}

fn compared(args: &Compare) -> miette::Result<Compared> {
    let start = Instant::now();
    let bar = progress::progress();
    let (bound, conditions) = rayon::join(|| bound(&args.pair, &*bar), || conditions(&args.search));
    let (bound, (rules, costs)) = (bound?, conditions?);
    let read = start.elapsed();
    let cache = cache::open(args.search.no_cache);
    let context = Context { rules: &rules, seed: args.seed, cache: cache.as_deref(), progress: &*bar };
    let mut checked = compare_bound(&bound, &context, args.search.tier, &costs)?;
    name_switches(&mut checked.comparison.regions, &sources(&args.source));
    add_reading(&mut checked.comparison, read);
    let BoundPair { a, b, .. } = bound;
    Ok(Compared { a, b, rules, costs, checked })
}

/// The Python sources at hand: below these folders, and in the environment that is active.
fn sources(folders: &[PathBuf]) -> Sources {
    let environment = std::env::var_os("VIRTUAL_ENV").map(PathBuf::from);
    let lib = environment.and_then(|folder| std::fs::read_dir(folder.join("lib")).ok());
    let installed = lib.into_iter().flatten().flatten().map(|python| python.path());
    Sources::new(folders.iter().cloned().chain(installed).collect())
}

fn add_reading(comparison: &mut Comparison, read: Duration) {
    comparison.timing_ms.read = read.as_secs_f64() * 1e3;
    comparison.timing_ms.total += comparison.timing_ms.read;
}
