//! `rules`: list the rules that proofs are made of, try them out, run their tests, write new ones, lay files out.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use miette::{Context, IntoDiagnostic};

use super::answer::Answer;
use super::args::Rules;
use super::output;
use crate::files;
use crate::frontend;
use crate::progress::Silent;
use crate::prove::{derivation, prove, rule_between};
use crate::rules::check::{self, Coverage, Effort};
use crate::rules::{RuleError, RuleFile, RuleInfo, RuleSet, format, read_files};

pub(super) fn run(command: &Rules) -> miette::Result<Answer> {
    match command {
        Rules::List { files, used } => list(files, used),
        Rules::Check { files, table } => check(files, *table),
        Rules::Test { files } => test(files),
        Rules::New { a, b, name } => new(a, b, name),
        Rules::Fmt { files, check } => fmt(files, *check),
    }
}

fn list(files: &[PathBuf], used: &[PathBuf]) -> miette::Result<Answer> {
    let set = RuleSet::library()?.with_sources(&read_files(files)?)?;
    let mut rules: Vec<(Option<usize>, RuleInfo)> = set.describe().into_iter().map(|r| (None, r)).collect();
    if let [a, b] = used {
        let fired = fired(&set, a, b)?;
        rules.iter_mut().for_each(|(count, r)| *count = fired.get(&*r.name).copied());
        rules.retain(|(count, _)| count.is_some());
        rules.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    }
    let width = rules.iter().map(|(_, r)| r.name.chars().count()).max().unwrap_or(0);
    let line = |(count, r): &(Option<usize>, RuleInfo)| {
        let (family, tier) = (&*r.family, r.tier.to_string());
        let arrow = if r.both_ways { "<=>" } else { "=>" };
        let count = count.map_or_else(String::new, |n| format!("{n:4}  "));
        format!("{count}{:width$}  {family:12} {tier:9} {arrow:3}  {}\n", &*r.name, first_line(&r.doc))
    };
    output::report(&rules.iter().map(line).collect::<String>())?;
    Ok(Answer::Yes)
}

/// How often each rule is applied in what is proven of two workloads.
fn fired(set: &RuleSet, a: &Path, b: &Path) -> miette::Result<BTreeMap<String, usize>> {
    let proof = prove(&frontend::load(a)?, &frontend::load(b)?, set, &Silent)?;
    let mut counts = BTreeMap::new();
    for lemma in &proof.lemmas {
        *counts.entry(lemma.name().to_owned()).or_default() += 1;
    }
    Ok(counts)
}

fn check(files: &[PathBuf], table: bool) -> miette::Result<Answer> {
    let sources = RuleSet::read(files)?;
    let set = &sources.set;
    let found = check::find(set, sources.first, Effort::default());
    let mut warnings = Vec::new();
    warnings.extend(check::idle_conditions(set, &found.holding));
    warnings.extend(check::redundant(set, &found.holding, derivation));
    warnings.into_iter().for_each(|w| output::diagnostic(&w.into()));
    if table {
        output::report(&coverage(&found.coverage))?;
    }
    let mut problems = sources.problems;
    problems.extend(found.problems);
    if !problems.is_empty() {
        output::diagnostic(&RuleError { problems }.into());
        return Ok(Answer::No);
    }
    let plural = if found.holding.len() == 1 { "rule passes" } else { "rules pass" };
    output::report(&format!("{} {plural}\n", found.holding.len()))?;
    Ok(Answer::Yes)
}

/// One line a rule: what its instances covered.
fn coverage(rules: &[Coverage]) -> String {
    let width = rules.iter().map(|c| c.name.chars().count()).max().unwrap_or(0).max(4);
    let mut text = format!(
        "{:width$}  {:9} {:>9} {:>5}  {:11} {:17} element types\n",
        "rule", "tier", "instances", "empty", "ranks", "sizes"
    );
    for c in rules {
        let list = |numbers: &std::collections::BTreeSet<usize>| {
            numbers.iter().map(usize::to_string).collect::<Vec<_>>().join(" ")
        };
        let dtypes: Vec<&str> = c.seen.dtypes.iter().map(|d| d.name()).collect();
        let (ranks, sizes) = (list(&c.seen.ranks), list(&c.seen.sizes));
        let (tier, count, empty) = (c.tier.to_string(), c.seen.instances, c.seen.empty);
        let dtypes = dtypes.join(" ");
        text += &format!("{:width$}  {tier:9} {count:9} {empty:5}  {ranks:11} {sizes:17} {dtypes}\n", &*c.name);
    }
    text
}

fn test(files: &[PathBuf]) -> miette::Result<Answer> {
    let sources = RuleSet::read(files)?;
    if !sources.problems.is_empty() {
        output::diagnostic(&RuleError { problems: sources.problems }.into());
        return Ok(Answer::No);
    }
    let results = check::run_tests(&sources.set, sources.first_test);
    let mut problems = Vec::new();
    let mut text = String::new();
    for result in &results {
        let verdict = if result.problem.is_none() { "passes" } else { "fails" };
        text += &format!("{}  {verdict}\n", result.rule);
        problems.extend(result.problem.clone());
    }
    let plural = if results.len() == 1 { "test" } else { "tests" };
    output::report(&format!("{text}{} {plural}, {} failed\n", results.len(), problems.len()))?;
    if problems.is_empty() {
        return Ok(Answer::Yes);
    }
    output::diagnostic(&RuleError { problems }.into());
    Ok(Answer::No)
}

fn new(a: &Path, b: &Path, name: &str) -> miette::Result<Answer> {
    let stub = rule_between(name, &frontend::load(a)?, &frontend::load(b)?).into_diagnostic()?;
    let stub = stub.ok_or_else(|| {
        let help = "each side has to have one output, and one of them has to use all inputs that the other one uses";
        miette::miette!(code = "rules::no_stub", help = help, "no rule can say that these two are equal")
    })?;
    // A name that the language cannot read, and nothing else, makes the text one that it refuses.
    let file = RuleFile::new("the new rule", &stub);
    output::report(&format::format(&file)?)?;
    Ok(Answer::Yes)
}

fn fmt(paths: &[PathBuf], check: bool) -> miette::Result<Answer> {
    let mut other = Vec::new();
    for (path, file) in paths.iter().zip(read_files(paths)?) {
        let text = format::format(&file)?;
        if text == file.text() {
            continue;
        }
        if !check {
            files::write(path, text.as_bytes())
                .into_diagnostic()
                .wrap_err_with(|| format!("cannot write {}", path.display()))?;
        }
        other.push(path.display().to_string());
    }
    let done = if check { "has another layout" } else { "laid out" };
    output::report(&other.iter().map(|p| format!("{p}  {done}\n")).collect::<String>())?;
    Ok(if check && !other.is_empty() { Answer::No } else { Answer::Yes })
}

fn first_line(doc: &str) -> &str {
    doc.lines().next().unwrap_or("")
}
