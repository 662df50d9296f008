//! Profiles as text: what `profile show`, `profile diff` and `profile fit` print.

use comfy_table::{CellAlignment, Table, presets};

use super::estimate::Estimator;
use super::measured::Measured;
use super::merge::Difference;
use super::profile::Profile;

fn table(header: &[&str], left_columns: usize) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header.iter().copied());
    for column in table.column_iter_mut().skip(left_columns) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// `12.3 ± 0.4 %`.
fn with_error(m: &Measured) -> String {
    let half = ((m.high - m.mean).max(m.mean - m.low)) / m.mean * 100.0;
    format!("{} ±{half:.1} %", significant(m.mean))
}

/// Four significant digits.
fn significant(x: f64) -> String {
    let digits = if x > 0.0 { (3 - x.log10().floor() as i32).clamp(0, 9) as usize } else { 0 };
    format!("{x:.digits$}")
}

/// The header and every entry.
pub(crate) fn show(profile: &Profile) -> String {
    let d = &profile.device;
    let mut table = table(&["energy mJ", "time µs", "W", "°C", "MHz", "", "key"], 0);
    for (key, e) in &profile.entries {
        let mut notes = Vec::new();
        notes.extend(e.launch_bound.then(|| "launch-bound".to_owned()));
        notes.extend((!e.throttled.is_empty()).then(|| e.throttled.to_lowercase()));
        table.add_row([
            with_error(&e.energy_mj),
            with_error(&e.time_us),
            format!("{:.0}", e.watts),
            format!("{:.0}", e.temperature_c),
            e.sm_clock_mhz.to_string(),
            notes.join(", "),
            key.to_string(),
        ]);
    }
    if let Some(column) = table.column_mut(6) {
        column.set_cell_alignment(CellAlignment::Left);
    }
    format!(
        "{}, driver {}, libtorch {}, CUDA {}, {} entries of {} runs\n{table}\n",
        d.name,
        d.driver,
        d.libtorch,
        d.cuda,
        profile.entries.len(),
        profile.runs.len()
    )
}

/// What differs beyond the intervals, largest change first, and a count of what does not.
pub(crate) fn diff(differences: &[Difference]) -> String {
    let mut changed: Vec<&Difference> = differences.iter().filter(|d| d.ratio().is_some() && d.changed()).collect();
    let size = |d: &Difference| d.ratio().map_or(0.0, |r| r.ln().abs());
    changed.sort_by(|a, b| size(b).total_cmp(&size(a)));
    let mut table = table(&["right/left", "left mJ", "right mJ", "key"], 3);
    for d in &changed {
        let energy = |e: Option<&super::profile::Entry>| e.map_or(String::new(), |e| with_error(&e.energy_mj));
        let ratio = d.ratio().map_or(String::new(), |r| format!("{r:.3}"));
        table.add_row([ratio, energy(d.left), energy(d.right), d.key.to_string()]);
    }
    let both = differences.iter().filter(|d| d.ratio().is_some()).count();
    let (left, right) = (
        differences.iter().filter(|d| d.right.is_none()).count(),
        differences.iter().filter(|d| d.left.is_none()).count(),
    );
    format!(
        "{table}\n{} of {both} differ; {left} stand only in the left one, {right} only in the right one\n{}",
        changed.len(),
        repeat_error(differences).unwrap_or_default()
    )
}

/// Operators that run at least this long are bound by the device.
const LONG_US: f64 = 20.0;

/// How far the figures lie apart for what runs long enough to tell: how well they repeat, if both sides are one card.
fn repeat_error(differences: &[Difference]) -> Option<String> {
    let is_long = |d: &&Difference| d.left.is_some_and(|e| e.time_us.mean >= LONG_US);
    let mut errors: Vec<f64> =
        differences.iter().filter(is_long).filter_map(|d| Some((d.ratio()? - 1.0).abs() * 100.0)).collect();
    errors.sort_by(f64::total_cmp);
    let (middle, largest) = (errors.get(errors.len() / 2)?, errors.last()?);
    let within = errors.iter().filter(|e| **e <= 1.0).count();
    Some(format!(
        "{} in both take {LONG_US:.0} µs or more: energies lie {middle:.2} % apart in the median, {largest:.2} % at most, {within} of them within 1 %\n",
        errors.len()
    ))
}

/// Coefficients and errors of entries left out, by class of kernels.
pub(crate) fn fit(estimator: &Estimator) -> String {
    let header = ["class", "entries", "energy error", "sd", "time error", "GB/s", "launch µs", "base W"];
    let mut classes = table(&header, 1);
    let mut modes = table(&["class", "mode", "entries", "TFLOP/s", "memory W", "arithmetic W"], 2);
    for (class, c) in &estimator.classes {
        let name = class.name();
        classes.add_row([
            name.to_owned(),
            c.entries.to_string(),
            format!("{:.1} %", c.energy.median * 100.0),
            format!("{:.2}", c.energy.sd),
            format!("{:.1} %", c.time.median * 100.0),
            format!("{:.0}", c.bandwidth_gb_s),
            significant(c.launch_us),
            format!("{:.0}", c.base_w),
        ]);
        for (mode, m) in &c.modes {
            modes.add_row([
                name.to_owned(),
                mode.clone(),
                m.entries.to_string(),
                significant(m.tflop_s),
                format!("{:.0}", m.memory_w),
                format!("{:.0}", m.arithmetic_w),
            ]);
        }
    }
    let o = &estimator.overall;
    format!(
        "{classes}\n\n{modes}\n\nErrors are those of entries left out of the interpolation: medians, and the standard deviation of their logarithm\n\
         far from all other entries. Over all {} entries the energy is {:.1} % off in the median, and {:.0} % of them lie in their interval.\n",
        o.entries,
        o.median * 100.0,
        o.covered * 100.0
    )
}
