//! `measure`: replay what a profile does not hold yet on this machine's GPU.

use std::io::{self, Write};
use std::time::{SystemTime, UNIX_EPOCH};

use indexmap::IndexSet;
use miette::{IntoDiagnostic, WrapErr, miette};

use super::args::Measure;
use super::{Answer, output};
use crate::energy::{Key, Options, Outcome, graph_keys, measure, read_keys};
use crate::frontend;

pub fn run(args: &Measure) -> miette::Result<Answer> {
    let mut keys: IndexSet<Key> = IndexSet::new();
    for file in &args.files {
        keys.extend(graph_keys(&frontend::load(file)?));
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
    let keys: Vec<Key> = keys.into_iter().collect();
    let options = Options {
        device: args.device,
        profile: args.profile.clone(),
        key_budget_s: args.key_seconds,
        budget_s: args.seconds,
        date: today(),
    };
    let summary = measure(&keys, &options, &mut |p| {
        if let Outcome::Skipped(reason) = p.outcome {
            // With standard error closed there is nobody to tell.
            let _ = writeln!(io::stderr(), "{}/{}: skipped {}: {reason}", p.done, p.total, p.key);
        }
    })?;
    output::report(&format!(
        "{} measured, {} known before, {} skipped, {} left; {}\n",
        summary.measured,
        summary.known,
        summary.skipped,
        summary.left,
        args.profile.display()
    ))?;
    Ok(Answer::Yes)
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
