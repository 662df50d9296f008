//! What makes `check` answer 1.

use std::fs;
use std::path::{Path, PathBuf};

use miette::Diagnostic;
use thiserror::Error;

use super::args::{Check, FailOn, SideArg};
use crate::report::{Baseline, BaselineError, Comparison, Finding, FindingKind, Form, Report};

/// The largest baseline that is read, in bytes.
const LARGEST_FILE: u64 = 64 << 20;

#[derive(Debug, Error, Diagnostic)]
enum GateError {
    #[error("cannot read the baseline {}: {source}", path.display())]
    #[diagnostic(code(cli::read_baseline))]
    Read {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("the baseline {} is larger than {} MiB", path.display(), LARGEST_FILE >> 20)]
    #[diagnostic(code(cli::baseline_too_large))]
    TooLarge { path: PathBuf },
    #[error("{} is no baseline: {source}", path.display())]
    #[diagnostic(code(cli::baseline), help("write one with `check A B --format sarif --report FILE`"))]
    Baseline {
        path: PathBuf,
        #[source]
        source: BaselineError,
    },
}

/// Which findings count.
pub(super) struct Gate {
    pub fail_on: FailOn,
    threshold: f64,
    sides: Vec<Form>,
    baseline: Option<Baseline>,
}

impl Gate {
    /// The gate that the command line asks for.
    pub(super) fn new(args: &Check) -> Result<Gate, miette::Report> {
        let sides = match args.waste_of {
            None => vec![Form::A, Form::B],
            Some(SideArg::A) => vec![Form::A],
            Some(SideArg::B) => vec![Form::B],
        };
        let baseline = args.baseline.as_deref().map(read).transpose()?;
        Ok(Gate { fail_on: args.fail_on, threshold: args.threshold, sides, baseline })
    }

    /// The findings of a comparison with what counts against it, and whether its waste does.
    pub(super) fn judge(&self, comparison: &Comparison) -> (Vec<Finding>, bool) {
        let mut findings = comparison.findings();
        for finding in &mut findings {
            finding.is_known = self.baseline.as_ref().map(|baseline| baseline.has(finding));
        }
        let known: Vec<Finding> = findings.iter().filter(|f| f.is_known == Some(true)).cloned().collect();
        let exceeded = |side: &Form| comparison.waste(*side, &known) > self.threshold;
        let wasted: Vec<Form> = self.sides.iter().copied().filter(exceeded).collect();
        let wasteful = self.fail_on == FailOn::Waste && !wasted.is_empty();
        for finding in &mut findings {
            finding.fails = match (finding.kind, finding.saving) {
                (FindingKind::Waste, Some(saving)) => {
                    wasteful && finding.is_known != Some(true) && saving.side.is_none_or(|side| wasted.contains(&side))
                }
                (FindingKind::Unproven, _) => self.fail_on >= FailOn::Unknown,
                _ => true,
            };
        }
        (findings, wasteful)
    }
}

fn read(path: &Path) -> Result<Baseline, GateError> {
    let io = |source| GateError::Read { path: path.to_owned(), source };
    if fs::metadata(path).map_err(io)?.len() > LARGEST_FILE {
        return Err(GateError::TooLarge { path: path.to_owned() });
    }
    let text = fs::read_to_string(path).map_err(io)?;
    Baseline::from_sarif(&text).map_err(|source| GateError::Baseline { path: path.to_owned(), source })
}
