//! Proof files: `check --proof` and `verify-proof`.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use miette::Diagnostic;
use thiserror::Error;

use super::answer::Answer;
use super::args::VerifyProof;
use super::read::bound;
use super::{output, progress};
use crate::files;
use crate::prove::{Certificate, Shown};
use crate::rules::{RuleSet, Tier};

/// The largest proof file that is read, in bytes.
const LARGEST_FILE: u64 = 256 << 20;

#[derive(Debug, Error, Diagnostic)]
enum ProofFileError {
    #[error("cannot write the proof to {}", file.display())]
    #[diagnostic(code(proof::write))]
    Write { file: PathBuf, source: std::io::Error },
    #[error("cannot read the proof in {}", file.display())]
    #[diagnostic(code(proof::read))]
    Read { file: PathBuf, source: std::io::Error },
    #[error("the proof in {} is larger than {} MiB", file.display(), LARGEST_FILE >> 20)]
    #[diagnostic(code(proof::too_large))]
    TooLarge { file: PathBuf },
}

/// Writes a proof file.
pub(super) fn write(path: &Path, proof: &Certificate) -> miette::Result<()> {
    let text = proof.to_json() + "\n";
    Ok(files::write(path, text.as_bytes()).map_err(|source| ProofFileError::Write { file: path.to_owned(), source })?)
}

/// Replays a proof file on two graphs and says what it shows.
pub(super) fn verify(args: &VerifyProof) -> miette::Result<Answer> {
    let proof = Certificate::from_json(&read(&args.proof)?)?;
    let rules = RuleSet::library()?.with_files(&args.rules)?;
    let graphs = bound(&args.pair, &*progress::progress())?;
    let shown = proof.verify(&graphs, &rules)?;
    output::report(&describe(&shown))?;
    Ok(if shown.holds() { Answer::Yes } else { Answer::No })
}

fn read(path: &Path) -> Result<String, ProofFileError> {
    let io = |source| ProofFileError::Read { file: path.to_owned(), source };
    let mut text = String::new();
    File::open(path).map_err(io)?.take(LARGEST_FILE + 1).read_to_string(&mut text).map_err(io)?;
    if text.len() as u64 > LARGEST_FILE {
        return Err(ProofFileError::TooLarge { file: path.to_owned() });
    }
    Ok(text)
}

fn describe(shown: &Shown) -> String {
    let mut out = match (&shown.gap, shown.tier) {
        (None, Some(tier @ Tier::Approx(_))) => {
            format!("shown: equivalent, tier {tier}: an error of each step, not of the outputs\n")
        }
        (None, Some(tier)) => format!("shown: equivalent, tier {tier}\n"),
        (gap, _) => format!("not shown: {}\n", gap.as_deref().unwrap_or("the outputs are equal")),
    };
    out += &format!("  the file claims: {}\n", shown.claim);
    out += &format!("  {} steps, {} inner values shown equal\n", shown.steps, shown.cuts);
    if !shown.rules.is_empty() {
        out += &format!("  rules: {}\n", shown.rules.join(", "));
    }
    for text in &shown.assumptions {
        out += &format!("  assumed: {text}\n");
    }
    out
}
