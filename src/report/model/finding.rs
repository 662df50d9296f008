//! What of a report asks for a change.

use std::collections::BTreeMap;

use super::region::Form;

/// Something that a person should look at.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// What it is about.
    pub kind: FindingKind,
    /// What was found, as a sentence.
    pub text: String,
    /// Where: lines of source, or a workload's file where no line is known. Never empty.
    pub places: Vec<SourceLine>,
    /// What a cheaper form saves.
    pub saving: Option<Saving>,
    /// The same for the same finding in a later report, though lines may have moved.
    pub fingerprint: String,
    /// Whether it counts against the workloads, as far as the exit status is concerned.
    pub fails: bool,
    /// Whether the earlier report that serves as the baseline has it; none where there is no such report.
    pub is_known: Option<bool>,
}

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FindingKind {
    /// The outputs part on some input.
    Different,
    /// Neither proven equal nor found different.
    Unproven,
    /// A proven equivalent costs less.
    Waste,
}

impl FindingKind {
    /// Every kind, the worst first.
    pub const ALL: [FindingKind; 3] = [FindingKind::Different, FindingKind::Unproven, FindingKind::Waste];

    /// The name that reports for programs use.
    pub fn id(self) -> &'static str {
        match self {
            FindingKind::Different => "different",
            FindingKind::Unproven => "unproven",
            FindingKind::Waste => "waste",
        }
    }

    /// What it means.
    pub fn meaning(self) -> &'static str {
        match self {
            FindingKind::Different => "The outputs of the two workloads part on some input.",
            FindingKind::Unproven => "Two parts were neither proven equal nor found different.",
            FindingKind::Waste => "A form that is proven equal costs less energy.",
        }
    }
}

/// What a cheaper form saves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Saving {
    /// In all places together, per execution.
    pub energy_mj: f64,
    /// The side that wastes it; none where both do, or where there is only one.
    pub side: Option<Form>,
    /// It is also slower, so it is a trade-off.
    pub trade_off: bool,
}

/// A line of a source file, or a whole file.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceLine {
    /// The path as recorded.
    pub file: String,
    /// The line, from 1, if one is known.
    pub line: Option<u32>,
}

impl SourceLine {
    /// Reads `file:line`.
    pub(crate) fn parse(text: &str) -> SourceLine {
        let line = text.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse().ok()?)));
        match line {
            Some((file, line)) => SourceLine { file: file.to_owned(), line: Some(line) },
            None => SourceLine { file: text.to_owned(), line: None },
        }
    }
}

/// Waste that an earlier report has: millijoules by fingerprint.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Baseline(pub BTreeMap<String, f64>);

impl Baseline {
    /// Whether the finding stands in the earlier report, with no less waste.
    pub fn has(&self, finding: &Finding) -> bool {
        let saves = finding.saving.map_or(0.0, |s| s.energy_mj);
        // Prices of another profile differ in the last digits.
        self.0.get(&finding.fingerprint).is_some_and(|&known| saves <= known * 1.01)
    }
}
