//! What comparing the sides of a case came to.

use serde::Serialize;

use super::{Case, CorpusError, Pair};
use crate::check::compare;
use crate::energy::CostModel;
use crate::frontend;
use crate::progress::Progress;
use crate::report::{Comparison, Region, ReportedVerdict};
use crate::rules::{RuleSet, Tier};

/// A case with what was found. Energies are those of the kernels, in millijoules per execution.
#[derive(Clone, Debug, Serialize)]
pub struct CaseResult {
    /// The number of the case.
    pub id: String,
    /// The project and the number of the issue.
    pub name: String,
    /// The system that it was found in.
    pub system: String,
    /// The kind of mistake, as it was published.
    pub kind: String,
    /// What happens on either side.
    pub facts: String,
    /// Why it is not judged; none where it is.
    pub open: Option<String>,
    /// The verdict on the pair that stands for the case.
    pub verdict: Option<&'static str>,
    /// The weakest tier of its proof.
    pub tier: Option<String>,
    /// What sets its sides apart most.
    pub cause: Option<FoundCause>,
    /// Whether the case file says which cause is the right one, and this is it.
    pub cause_is_right: Option<bool>,
    /// Energy of A.
    pub a_mj: Option<f64>,
    /// Energy of B.
    pub b_mj: Option<f64>,
    /// Energy of the cheapest form that is known.
    pub best_mj: Option<f64>,
    /// What B saves of A; negative where it costs more.
    pub saving: Option<f64>,
    /// The published saving.
    pub published: Option<f64>,
    /// The whole that the published saving is a part of.
    pub published_of: Option<String>,
    /// Why the two differ.
    pub differs: Option<String>,
    /// What was found otherwise than the case file says, a line each, over all pairs.
    pub misses: Vec<String>,
}

/// The cause of the region that sets two sides apart most.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FoundCause {
    /// A word for the kind of cause.
    pub kind: String,
    /// One sentence.
    pub text: String,
    /// The flag that makes the difference, if one does.
    pub flag: Option<String>,
}

/// Compares all pairs of a case.
///
/// # Errors
/// A workload that cannot be read or compared.
pub fn run(case: &Case, rules: &RuleSet, costs: &CostModel, progress: &dyn Progress) -> miette::Result<CaseResult> {
    let mut result = CaseResult::unjudged(case);
    for (i, pair) in case.pair.iter().enumerate() {
        let load = |file: &str| frontend::load(case.folder.join(file));
        let (a, b) = (load(&pair.a)?, load(&pair.b)?);
        let accepted = pair.error.map_or(Tier::Rounding, |e| Tier::Approx(e.into()));
        let compared = compare(&a, &b, rules, accepted, costs, progress);
        let found = compared.map_err(|source| {
            let (id, a, b) = (case.id.clone(), pair.a.clone(), pair.b.clone());
            CorpusError::Compare { id, a, b, source }
        })?;
        let found = found.comparison;
        let misses = misses(pair, &found);
        result.misses.extend(misses.into_iter().map(|miss| format!("{} {}: {miss}", pair.a, pair.b)));
        if i == 0 {
            result.add(pair, &found);
        }
    }
    Ok(result)
}

impl CaseResult {
    /// Of a case that nothing has been compared of.
    fn unjudged(case: &Case) -> CaseResult {
        CaseResult {
            id: case.id.clone(),
            name: case.name.clone(),
            system: case.system.clone(),
            kind: case.kind.clone(),
            facts: case.facts.trim().to_owned(),
            open: case.reason.as_ref().map(|reason| reason.trim().to_owned()),
            verdict: None,
            tier: None,
            cause: None,
            cause_is_right: None,
            a_mj: None,
            b_mj: None,
            best_mj: None,
            saving: None,
            published: case.paper.as_ref().map(|paper| paper.saving),
            published_of: case.paper.as_ref().map(|paper| paper.of.clone()),
            differs: case.differs.as_ref().map(|text| text.trim().to_owned()),
            misses: Vec::new(),
        }
    }

    /// Takes over what was found of the pair that stands for the case.
    fn add(&mut self, pair: &Pair, found: &Comparison) {
        self.verdict = Some(verdict(found));
        self.tier.clone_from(&found.tier);
        self.cause = cause(found);
        self.cause_is_right = pair.cause.is_some().then(|| wrong_cause(pair, self.cause.as_ref()).is_none());
        (self.a_mj, self.b_mj) = (found.a.energy_mj.value, found.b.energy_mj.value);
        self.best_mj = found.best.energy_mj;
        let both = self.a_mj.zip(self.b_mj).filter(|&(a, _)| a > 0.0);
        self.saving = both.map(|(a, b)| 1.0 - b / a);
    }
}

fn verdict(found: &Comparison) -> &'static str {
    match found.verdict {
        ReportedVerdict::Equivalent => "equivalent",
        ReportedVerdict::Different => "different",
        ReportedVerdict::Unknown => "unknown",
    }
}

/// The cause of the region that sets the energies of the sides apart most; where none of that is known, of one that names a flag or
/// another implementation.
fn cause(found: &Comparison) -> Option<FoundCause> {
    let apart = |r: &&Region| r.cause.kind != "same" && r.same_as.is_none();
    let gap = |r: &Region| r.a.energy_mj.zip(r.b.energy_mj).map(|(a, b)| (a - b).abs() * r.repeats as f64);
    // What has no known energy may set the sides apart by any amount.
    let weight = |r: &Region| gap(r).unwrap_or(f64::INFINITY);
    let most = found.regions.iter().filter(apart).max_by(|x, y| weight(x).total_cmp(&weight(y)))?;
    let cause = &most.cause;
    Some(FoundCause { kind: cause.kind.clone(), text: cause.text.clone(), flag: cause.flag.clone() })
}

/// Why a cause is not the one that the case file says; none where it is.
fn wrong_cause(pair: &Pair, found: Option<&FoundCause>) -> Option<String> {
    let wanted = pair.cause.as_deref()?;
    let kind = found.map_or("none", |cause| cause.kind.as_str());
    if kind != wanted {
        return Some(format!("cause: {wanted} wanted, {kind} found"));
    }
    let name = pair.names.as_deref()?;
    let said = found
        .is_some_and(|cause| [Some(&cause.text), cause.flag.as_ref()].into_iter().flatten().any(|t| t.contains(name)));
    (!said).then(|| format!("cause: it does not name {name}"))
}

/// What the comparison found against what the case wants, one line for each that differs.
fn misses(pair: &Pair, found: &Comparison) -> Vec<String> {
    let mut misses = Vec::new();
    let mut miss = |what: &str, wanted: &str, got: &str| {
        if wanted != got {
            misses.push(format!("{what}: {wanted} wanted, {got} found"));
        }
    };
    miss("verdict", &pair.verdict, verdict(found));
    miss("tier", pair.tier.as_deref().unwrap_or("none"), found.tier.as_deref().unwrap_or("none"));
    if let Some(text) = &pair.assumes {
        let got = found.assumptions.iter().any(|a| a.contains(text.as_str()));
        miss("assumption", text, if got { text } else { "none" });
    }
    if let Some(side) = &pair.cheaper {
        let sum = |of: fn(&Region) -> (f64, f64)| {
            found.regions.iter().map(of).fold((0.0, 0.0), |(b, f), (x, y)| (b + x, f + y))
        };
        let (a, b) = (sum(|r| (r.a.bytes, r.a.flops)), sum(|r| (r.b.bytes, r.b.flops)));
        let got = match (b.0 < a.0 && b.1 <= a.1, a.0 < b.0 && a.1 <= b.1) {
            (true, _) => "b",
            (_, true) => "a",
            _ => "neither by work counts",
        };
        miss("cheaper", side, got);
    }
    misses.extend(wrong_cause(pair, cause(found).as_ref()));
    misses
}
