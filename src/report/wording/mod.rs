//! Numbers and lists as a person reads them.

mod chain;
mod difference;
mod optimization;
mod switch;

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::{
    BasisShares, BestForm, Comparison, Cost, Figure, Launched, LeftOut, Precomputed, Region, Rejected, ReportedVerdict,
    Rewrite, Setting, Side,
};
use crate::ops::{self, Family};
use crate::printable::one_line;

pub(super) use chain::{chain, changes_nothing, figures, rule};
pub(super) use difference::{main_parts, only_made, part, parts, shown_parts};
pub(super) use optimization::{change, forms, frontier, less, max_slowdown, more_time, saved, saves};
pub(super) use switch::{decides, paths, place, switch, variables};

/// What two processes had set differently, the first `most` of it.
pub(super) fn settings(all: &[Setting], most: usize) -> String {
    let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "not set".to_owned());
    let text = |s: &Setting| format!("{} ({} in A, {} in B)", s.name, value(&s.a), value(&s.b));
    let mut shown: Vec<String> = all.iter().take(most).map(text).collect();
    if all.len() > most {
        shown.push(format!("{} more", all.len() - most));
    }
    shown.join(", ")
}

/// Three significant digits.
pub(super) fn digits(value: f64) -> String {
    let magnitude = value.abs();
    match magnitude {
        m if m == 0.0 || !m.is_finite() => format!("{value}"),
        m if m >= 99.95 => format!("{value:.0}"),
        m if m >= 9.995 => format!("{value:.1}"),
        m if m >= 0.9995 => format!("{value:.2}"),
        m if m >= 0.0009995 => format!("{value:.4}").trim_end_matches('0').to_owned(),
        _ => format!("{value:.1e}"),
    }
}

/// Divisor and unit in which an energy of this size is written.
fn energy_unit(mj: f64) -> (f64, &'static str) {
    match mj.abs() {
        m if m >= 1_000.0 => (1e3, "J"),
        m if m > 0.0 && m < 0.1 => (1e-3, "µJ"),
        _ => (1.0, "mJ"),
    }
}

/// An energy with its unit.
pub(crate) fn energy(mj: Option<f64>) -> String {
    mj.map_or("unknown".to_owned(), |mj| {
        let (divisor, unit) = energy_unit(mj);
        format!("{} {unit}", digits(mj / divisor))
    })
}

/// An energy with its interval and its source: `812 mJ (798 to 827, measured)`.
pub(super) fn figure(f: &Figure) -> String {
    let source = format!("{:?}", f.source).to_lowercase();
    match (f.value, f.low, f.high) {
        (Some(value), Some(low), Some(high)) => {
            let (divisor, unit) = energy_unit(value);
            let scaled = |v: f64| digits(v / divisor);
            format!("{} {unit} ({} to {}, {source})", scaled(value), scaled(low), scaled(high))
        }
        (_, Some(low), _) => format!("at least {}", energy(Some(low))),
        _ => "energy unknown".to_owned(),
    }
}

/// Interval and source of an energy: `798 to 827 mJ, measured`.
pub(super) fn figure_range(f: &Figure) -> String {
    match (f.value, f.low, f.high) {
        (Some(value), Some(low), Some(high)) => {
            let (divisor, unit) = energy_unit(value);
            let source = format!("{:?}", f.source).to_lowercase();
            format!("{} to {} {unit}, {source}", digits(low / divisor), digits(high / divisor))
        }
        (_, Some(low), _) => format!("at least {}", energy(Some(low))),
        _ => "energy unknown".to_owned(),
    }
}

/// What an energy leaves out, with names in quotes: left out: `lstm` (×2, 4.19 MB pass through it). Nothing where it is complete.
pub(super) fn left_out(all: &[LeftOut]) -> Option<String> {
    let one = |l: &LeftOut| {
        let times = if l.count > 1 { format!("×{}, ", l.count) } else { String::new() };
        format!("`{}` ({times}{} pass through it)", one_line(&l.op).replace('`', "'"), amount(l.bytes, "B"))
    };
    (!all.is_empty()).then(|| format!("left out: {}", all.iter().map(one).collect::<Vec<_>>().join(", ")))
}

/// What an energy rests on: `62 % measured, 30 % interpolated, 8 % from models of kernels`; nothing where all was measured.
pub(super) fn basis(shares: &BasisShares) -> Option<String> {
    let parts = [
        (shares.measured, "measured"),
        (shares.interpolated, "between measured sizes"),
        (shares.class, "from like kernels"),
        (shares.bounds, "from the device's bounds"),
    ];
    let total: f64 = parts.iter().map(|(share, _)| share).sum();
    let shown = parts.iter().filter(|(share, _)| *share > 0.0005 * total);
    let text: Vec<String> = shown.map(|(share, what)| format!("{} {what}", percent(share / total))).collect();
    (shares.measured < total && total > 0.0).then(|| text.join(", "))
}

/// What of an energy goes into waiting, and what it would be without: `600 mJ waiting for the host, 75 %; recorded as a CUDA graph:
/// 203 mJ`. Nothing where it is next to none.
pub(super) fn waiting(launched: Option<&Launched>, kernels: &Figure) -> Option<String> {
    let launched = launched?;
    let share = launched.share()?;
    let waiting = format!("{} waiting for the host, {}", energy(launched.waiting_mj.value), percent(share));
    let recorded = || format!("; recorded as a CUDA graph: {}", energy(kernels.value));
    Some(if launched.should_be_recorded() { waiting + &recorded() } else { waiting })
}

/// The same of a side, and what else is to be said of its energy.
pub(super) fn energy_facts(side: &Side) -> impl Iterator<Item = String> {
    let waiting = waiting(side.launched.as_ref(), &side.energy_mj);
    let kernels = if waiting.is_some() { "of the kernels, " } else { "" };
    let basis = basis(&side.energy_basis_mj).map(|basis| format!("{kernels}{basis}"));
    [waiting, basis, left_out(&side.left_out)].into_iter().flatten()
}

/// What the cheapest form of the whole saves, as it is run: `14.6 % of A`.
pub(super) fn savings(c: &Comparison) -> Vec<String> {
    let [vs_a, vs_b] = c.best.saves_as_run();
    let waits = [&c.a, &c.b].iter().any(|side| side.launched.as_ref().is_some_and(|l| l.share().is_some()));
    let host = if waits { ANY_HOST } else { "" };
    let one = |(saves, name): (Option<f64>, &str)| {
        saves.filter(|&s| s > 0.0).map(|s| format!("{} of {name}{host}", percent(s)))
    };
    [(vs_a, "A"), (vs_b, "B")].into_iter().filter_map(one).collect()
}

/// What is computed once, in all: `14 tensors of 12.6 MB`; none where nothing is.
pub(super) fn precomputed(all: &[Precomputed]) -> Option<String> {
    let (count, bytes) = all
        .iter()
        .fold((0, 0_u64), |(count, bytes), one| (count + one.names.len(), bytes.saturating_add(one.total_bytes())));
    let tensors = if count == 1 { "tensor" } else { "tensors" };
    (count > 0).then(|| format!("{count} {tensors} of {}", amount(bytes as f64, "B")))
}

/// What tensors that are made alike are, and what they are made of: `12 × f32[768] of w, b: mul, add`.
pub(super) fn precomputed_alike(one: &Precomputed) -> String {
    let times = if one.names.len() > 1 { format!("{} × ", one.names.len()) } else { String::new() };
    let of = if one.from.is_empty() { "of constants".to_owned() } else { format!("of {}", names(&one.from, 6)) };
    let size = amount(one.total_bytes() as f64, "B");
    format!("{times}{} ({size}) {of}: {}", one.ty, names(&one.by, 8))
}

/// What holds of a saving where waiting for the host is part of the energy: the best form may save more.
const ANY_HOST: &str = " on any host";

/// A time with its unit.
pub(crate) fn time(us: Option<f64>) -> String {
    match us {
        None => "time unknown".to_owned(),
        Some(us) if us >= 1e6 => format!("{} s", digits(us / 1e6)),
        Some(us) if us >= 1e3 => format!("{} ms", digits(us / 1e3)),
        Some(us) => format!("{} µs", digits(us)),
    }
}

/// A count with a decimal prefix: `1.61 GB`.
pub(crate) fn amount(value: f64, unit: &str) -> String {
    let (scale, prefix) = match value {
        v if v >= 1e12 => (1e12, "T"),
        v if v >= 1e9 => (1e9, "G"),
        v if v >= 1e6 => (1e6, "M"),
        v if v >= 1e3 => (1e3, "k"),
        _ => (1.0, ""),
    };
    format!("{} {prefix}{unit}", digits(value / scale))
}

pub(crate) fn percent(fraction: f64) -> String {
    format!("{} %", digits(100.0 * fraction))
}

/// Whether sampled elements of two values are the same.
pub(super) fn agreement(agrees: Option<bool>) -> &'static str {
    match agrees {
        Some(true) => "samples agree",
        Some(false) => "samples differ",
        None => "cannot be evaluated",
    }
}

/// What a tier promises.
pub(super) fn tier_meaning(tier: &str) -> &'static str {
    match tier {
        "exact" => "bit for bit, if no element depends on strides or tiling",
        "real" => "equal over the real numbers; floating-point order may differ",
        "rounding" => "equal when intermediate rounding is ignored",
        _ => "an error of each step, not of the outputs",
    }
}

/// What of a search was not accepted.
pub(super) fn rejected(r: &Rejected) -> String {
    let reason = one_line(&r.reason);
    match &r.step {
        Some(step) => format!("the proof was not accepted by the checker, at step `{step}`: {reason}"),
        None => format!("the proof was not accepted: {reason}"),
    }
}

/// What to do about it.
pub(super) const HOW_TO_REPORT: &str = "nothing here rests on it; it is a bug in magneton-ir: please open an issue with both files and what \
                                 `check --no-cache --format json` prints";

/// The verdict as a sentence.
pub(super) fn verdict(c: &Comparison) -> String {
    match (c.verdict, &c.tier) {
        (ReportedVerdict::Equivalent, Some(tier)) if c.output_error.is_some() => {
            format!("equivalent, tier {tier}: no output is further off")
        }
        (ReportedVerdict::Equivalent, Some(tier)) => format!("equivalent, tier {tier}: {}", tier_meaning(tier)),
        (ReportedVerdict::Equivalent, None) => "equivalent".to_owned(),
        (ReportedVerdict::Different, _) => "different: an input was found on which the outputs part".to_owned(),
        (ReportedVerdict::Unknown, _) => "unknown: neither proven equal nor found different".to_owned(),
    }
}

/// Operators in a few words: those that compute before those that only move elements; repeats are counted,
/// what does not fit is counted too.
pub(super) fn operators(kinds: &[String], width: usize) -> String {
    let moves = |kind: &&String| ops::find(kind).is_some_and(|def| def.family == Family::View);
    let (moving, computing): (Vec<&String>, Vec<&String>) = kinds.iter().partition(moves);
    let mut runs: Vec<(&str, usize)> = Vec::new();
    for kind in computing.into_iter().chain(moving) {
        match runs.last_mut() {
            Some((last, count)) if *last == kind => *count += 1,
            _ => runs.push((kind, 1)),
        }
    }
    if runs.is_empty() {
        return "–".to_owned();
    }
    let mut text = String::new();
    let mut shown = 0;
    for (i, (kind, count)) in runs.iter().enumerate() {
        let repeat = if *count > 1 { format!(" ×{count}") } else { String::new() };
        let part = format!("{}{kind}{repeat}", if i == 0 { "" } else { ", " });
        let rest = kinds.len() - shown - count;
        let room = if rest == 0 { 0 } else { format!(", +{rest}").len() };
        if i > 0 && text.chars().count() + part.chars().count() + room > width {
            break;
        }
        text += &part;
        shown += count;
    }
    if shown < kinds.len() {
        text += &format!(", +{}", kinds.len() - shown);
    }
    one_line(&text).into_owned()
}

/// The text on one line, in at most `width` characters.
pub(super) fn shorten(text: &str, width: usize) -> String {
    let text = &one_line(text);
    if text.chars().count() <= width {
        return text.to_string();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// The end of the text on one line, in at most `width` characters: of a path, the part that tells most.
pub(super) fn shorten_start(text: &str, width: usize) -> String {
    let text = &one_line(text);
    let count = text.chars().count();
    if count <= width {
        return text.to_string();
    }
    let kept: String = text.chars().skip(count - width.saturating_sub(1)).collect();
    format!("…{}", kept.trim_start())
}

/// Cheaper forms that are the same in every layer, together; those that save most first.
pub(super) fn alike(rewrites: &[Rewrite]) -> Vec<Vec<&Rewrite>> {
    let mut groups: Vec<Vec<&Rewrite>> = Vec::new();
    for rewrite in rewrites {
        let same = |g: &&mut Vec<&Rewrite>| {
            g.first().is_some_and(|f| {
                f.pattern == rewrite.pattern && f.from == rewrite.from && f.saves_mj == rewrite.saves_mj
            })
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(rewrite),
            None => groups.push(vec![rewrite]),
        }
    }
    let total = |g: &Vec<&Rewrite>| g.iter().map(|r| r.saves_mj).sum::<f64>();
    groups.sort_by(|x, y| total(y).total_cmp(&total(x)));
    groups
}

/// The same texts, each once with how often it stands there, in order of first appearance.
pub(super) fn grouped(texts: &[String]) -> Vec<(&str, usize)> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut order = Vec::new();
    for text in texts {
        let count = counts.entry(text).or_default();
        if *count == 0 {
            order.push(text.as_str());
        }
        *count += 1;
    }
    order.into_iter().map(|text| (text, counts[text])).collect()
}

/// Which side a saving is a saving of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SideName {
    A,
    B,
}

/// A group of equal regions that says something about cost.
pub(super) struct Line<'c> {
    pub region: &'c Region,
    /// The larger saving over all repeats, in mJ, and the side it is a saving of.
    pub saving: Option<(f64, SideName)>,
    /// What each side could save, over all repeats.
    savings: [Option<f64>; 2],
    /// Distance of the sides' energies over all repeats, in mJ.
    gap: f64,
    /// The same of their bytes read and written: ranks what has no known energy.
    traffic_gap: f64,
}

impl Line<'_> {
    /// The saving in words: `12.3 mJ, 1.5 % of A`; percentages are of the whole side.
    pub(super) fn saving_text(&self, c: &Comparison) -> String {
        let Some((mj, side)) = self.saving else { return "–".to_owned() };
        let (whole, name) = match side {
            SideName::A => (c.a.as_run().0.value, "A"),
            SideName::B => (c.b.as_run().0.value, "B"),
        };
        let share = whole.filter(|&w| w > 0.0).map_or(String::new(), |w| format!(", {} of {name}", percent(mj / w)));
        let slower = if self.region.best.trade_off { ", slower" } else { "" };
        format!("{}{share}{slower}", energy(Some(mj)))
    }

    /// The saving, or the distance of the sides where that is more.
    pub(super) fn weight_mj(&self) -> f64 {
        self.saving.map_or(0.0, |(mj, _)| mj).max(self.gap)
    }

    /// What one side could save over all repeats, in mJ.
    pub(super) fn saving_of(&self, side: SideName) -> Option<f64> {
        let [a, b] = self.savings;
        if side == SideName::A { a } else { b }
    }

    /// Energy of one side over all repeats.
    pub(crate) fn energy(&self, of_one: Option<f64>) -> String {
        energy(of_one.map(|mj| mj * self.region.repeats as f64))
    }
}

/// The groups in which the sides differ in cost or by a flag, or in which something can be saved, with most to save first.
pub(super) fn lines(c: &Comparison) -> Vec<Line<'_>> {
    let mut lines: Vec<Line> = c.regions.iter().filter(|r| r.same_as.is_none()).map(line).collect();
    let differs = |r: &Region| r.a_kinds != r.b_kinds || r.cause.flag.is_some() || r.cause.kind == "different";
    lines.retain(|l| l.saving.is_some() || l.gap > 0.0 || differs(l.region));
    let weight = |l: &Line| [l.saving.map_or(0.0, |(mj, _)| mj), l.gap, l.traffic_gap];
    lines.sort_by(|x, y| {
        let pairs = weight(y).into_iter().zip(weight(x));
        pairs.fold(Ordering::Equal, |order, (y, x)| order.then(y.total_cmp(&x)))
    });
    lines
}

fn line(region: &Region) -> Line<'_> {
    let Region { a, b, best, repeats, .. } = region;
    let times = *repeats as f64;
    let saved = |fraction: Option<f64>, whole: Option<f64>| {
        fraction.zip(whole).map(|(f, w)| f * w * times).filter(|&mj| mj > 0.0)
    };
    let savings = [saved(best.saves_vs_a, a.energy_mj), saved(best.saves_vs_b, b.energy_mj)];
    let sides = savings.into_iter().zip([SideName::A, SideName::B]);
    let saving = sides.filter_map(|(mj, side)| Some((mj?, side))).max_by(|x, y| x.0.total_cmp(&y.0));
    let gap = a.energy_mj.zip(b.energy_mj).map_or(0.0, |(a, b)| (a - b).abs() * times);
    let traffic_gap = (a.bytes - b.bytes).abs() * times;
    Line { region, saving, savings, gap, traffic_gap }
}

/// Energy with its interval and source, and time: `energy 931 mJ (876 mJ to 988 mJ, measured), 1.46 ms`.
pub(super) fn energy_and_time(cost: &Cost) -> String {
    let range = cost.energy_range_mj.map_or(String::new(), |[low, high]| {
        let source = format!("{:?}", cost.energy_source).to_lowercase();
        format!(" ({} to {}, {source})", energy(Some(low)), energy(Some(high)))
    });
    format!("energy {}{range}, {}", energy(cost.energy_mj), time(cost.time_us))
}

/// `kernels 6, arithmetic 70.2 GFLOP, memory traffic 3.30 GB`
pub(super) fn work(cost: &Cost) -> String {
    let (flops, bytes) = (amount(cost.flops, "FLOP"), amount(cost.bytes, "B"));
    format!("kernels {}, arithmetic {flops}, memory traffic {bytes}", cost.launches)
}

/// What the cheapest form costs, and what it saves: `165 mJ, 221 µs, saves 82.3 % of A`.
pub(super) fn best(best: &BestForm) -> String {
    let savings = [(best.saves_vs_a, "A"), (best.saves_vs_b, "B")];
    let savings = savings.into_iter().filter_map(|(s, n)| s.filter(|&s| s > 0.0).map(|s| (s, n)));
    let savings: String = savings.map(|(s, n)| format!(", saves {} of {n}", percent(s))).collect();
    let slower = if best.trade_off { "; slower: a trade-off" } else { "" };
    format!("{}, {}{savings}{slower}", energy(best.energy_mj), time(best.time_us))
}

/// Which side has the cheapest form, or that neither has.
pub(super) fn cheapest_side(region: &Region) -> &'static str {
    match region.best.form {
        _ if region.best.energy_mj.is_none() => "–",
        super::Form::A => "A",
        super::Form::B => "B",
        super::Form::Other => "neither",
    }
}

/// A list of names, the first `most` of them.
pub(super) fn names(all: &[String], most: usize) -> String {
    let shown = all.iter().take(most).map(String::as_str).collect::<Vec<_>>().join(", ");
    if all.len() > most { format!("{shown} and {} more", all.len() - most) } else { shown }
}

/// The cheapest form in a few words.
pub(super) fn cheapest(region: &Region, width: usize) -> String {
    if region.best.energy_mj.is_none() {
        return "–".to_owned();
    }
    match region.best.form {
        super::Form::A => "A".to_owned(),
        super::Form::B => "B".to_owned(),
        super::Form::Other => shorten(&region.best.text, width),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        let shown = [0.0, 0.00012, 0.0345, 0.5, 3.14259, 42.42, 812.4, 12_345.0, 0.9999].map(digits);
        assert_eq!(shown, ["0", "1.2e-4", "0.0345", "0.5", "3.14", "42.4", "812", "12345", "1.00"]);
        assert_eq!(energy(Some(0.0042)), "4.20 µJ");
        assert_eq!(energy(Some(12_345.0)), "12.3 J");
        assert_eq!(time(Some(1234.0)), "1.23 ms");
    }

    #[test]
    fn operators_are_counted_when_they_do_not_fit() {
        let kinds: Vec<String> = ["mul", "mul", "permute", "matmul", "softmax", "matmul"].map(str::to_owned).into();
        assert_eq!(operators(&kinds, 80), "mul ×2, matmul, softmax, matmul, permute");
        assert_eq!(operators(&kinds, 20), "mul ×2, matmul, +3");
        assert_eq!(operators(&[], 20), "–");
    }

    #[test]
    fn equal_texts_are_grouped() {
        let texts: Vec<String> = ["x", "y", "x"].map(str::to_owned).into();
        assert_eq!(grouped(&texts), [("x", 2), ("y", 1)]);
    }
}
