//! Cheaper forms of one workload.

use std::fmt::{self, Write};

use anstyle::Style;
use serde::Serialize;

use crate::printable::one_line;

use super::{Figure, LeftOut, Step, wording};

/// What the rules find for one workload. Energies are in millijoules, times in microseconds, both per execution.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Optimization {
    /// Always [`Optimization::SCHEMA`].
    pub schema: &'static str,
    pub file: String,
    /// Operators of the file.
    pub ops: usize,
    pub energy_mj: Figure,
    /// Operators that nothing is known of, which the energy leaves out.
    pub left_out: Vec<LeftOut>,
    pub time_us: Option<f64>,
    /// With all cheaper forms in place.
    pub best_energy_mj: Figure,
    pub best_time_us: Option<f64>,
    /// Those that save most come first.
    pub cheaper: Vec<Cheaper>,
    /// What the rules of the proofs assume.
    pub assumptions: Vec<String>,
    /// Where measured figures come from: device and software. None where the profile is empty.
    pub profile: Option<String>,
}

/// A cheaper form of some operators, wherever they stand alike.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cheaper {
    /// Names of the operators that it replaces, once for every place.
    pub ops: Vec<Vec<String>>,
    /// Operators of the IR: `matmul`, `add`.
    pub from: Vec<String>,
    /// The cheaper form in the first place, over the names of the values that it reads.
    pub to: String,
    /// The same over letters.
    pub pattern: String,
    /// What it saves in one place, beyond doubt.
    pub saves_mj: f64,
    pub saves_us: f64,
    /// It is cheaper and more than 1 % slower.
    pub trade_off: bool,
    /// The proof that both forms are equal, over the letters of `pattern`.
    pub steps: Vec<Step>,
    pub tier: String,
    /// The source line of the first place, as `file:line code`.
    pub source: Option<String>,
}

impl Cheaper {
    /// What it saves in all places, in millijoules.
    pub fn total_mj(&self) -> f64 {
        self.saves_mj * self.ops.len() as f64
    }
}

const BOLD: Style = Style::new().bold();
const FAINT: Style = Style::new().dimmed();

impl Optimization {
    /// The version of the JSON form.
    pub const SCHEMA: &'static str = "magneton-ir/optimize/1";

    /// The fraction of the energy that the cheaper forms save; none where it is not known.
    pub fn saves(&self) -> Option<f64> {
        let now = self.energy_mj.value.filter(|&e| e > 0.0)?;
        Some(self.cheaper.iter().map(Cheaper::total_mj).sum::<f64>() / now)
    }

    /// The report as text with terminal styles, in lines of at most `width` characters where words allow.
    pub fn human(&self, width: usize) -> String {
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = self.write(width, &mut out);
        out
    }

    fn write(&self, width: usize, out: &mut String) -> fmt::Result {
        let (now, time) = (wording::figure(&self.energy_mj), wording::time(self.time_us));
        writeln!(out, "{BOLD}{}: {} operators{BOLD:#}\n\n  now   {now}, {time}", one_line(&self.file), self.ops)?;
        if let Some(left_out) = wording::left_out(&self.left_out) {
            writeln!(out, "        {left_out}")?;
        }
        if self.cheaper.is_empty() {
            writeln!(out, "  the rules know no form that costs less beyond doubt")?;
        } else {
            let (best, time) = (wording::figure(&self.best_energy_mj), wording::time(self.best_time_us));
            let saves =
                self.saves().map_or(String::new(), |s| format!("; {BOLD}saves {}{BOLD:#}", wording::percent(s)));
            writeln!(out, "  best  {best}, {time}{saves}")?;
        }
        if let Some(profile) = &self.profile {
            writeln!(out, "  {FAINT}per execution; figures for {}{FAINT:#}", one_line(profile))?;
        }
        for (i, c) in self.cheaper.iter().enumerate() {
            let times = if c.ops.len() > 1 { format!(", {} times", c.ops.len()) } else { String::new() };
            let slower = if c.trade_off { ", slower: a trade-off" } else { "" };
            let total = wording::energy(Some(c.total_mj()));
            writeln!(out, "\n{BOLD}{}. saves {total}{times}{slower}{BOLD:#}, tier {}", i + 1, c.tier)?;
            let room = width.saturating_sub(11);
            writeln!(out, "  now      {}", wording::shorten(&c.from.join(", "), room))?;
            writeln!(out, "  cheaper  {}", wording::shorten(&c.pattern, room))?;
            if let Some(source) = &c.source {
                writeln!(out, "  at       {}", wording::shorten_start(source, room))?;
            }
            let mut rules: Vec<&str> = c.steps.iter().map(|s| s.rule.as_str()).collect();
            rules.dedup();
            writeln!(out, "  by       {}", wording::shorten(&rules.join(", "), room))?;
        }
        if !self.assumptions.is_empty() {
            out.push('\n');
        }
        for (text, _) in wording::grouped(&self.assumptions) {
            writeln!(out, "  assumed: {}", one_line(text))?;
        }
        Ok(())
    }
}
