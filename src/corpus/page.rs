//! Cases and what was found of them, for a terminal and as a page of the documentation.

use std::fmt::{self, Write};

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ContentArrangement, Table};

use super::{Case, CaseResult, Status};
use crate::printable::one_line;
use crate::report::{energy, percent};

/// One line for each case.
pub fn list(cases: &[Case], width: usize) -> String {
    let mut table = plain(width);
    table.set_header(["case", "name", "system", "kind", "pairs", "published"]);
    for case in cases {
        let published = case.paper.as_ref().map_or("–".to_owned(), |paper| percent(paper.saving));
        let pairs = match case.status {
            Status::Open => "open".to_owned(),
            Status::Closed => case.pair.len().to_string(),
        };
        let cells = [&case.id, &case.name, &case.system, &case.kind, &pairs, &published];
        table.add_row(cells.map(|cell| one_line(cell).into_owned()));
    }
    lines(&table)
}

/// What was found, one line for each case, and below it what was not found as the files say.
pub fn table(results: &[CaseResult], width: usize) -> String {
    let mut table = plain(width);
    table.set_header(["case", "verdict", "tier", "cause", "A", "B", "cheapest", "B saves", "published"]);
    for result in results {
        let [id, _, verdict, tier, cells @ ..] = row(result);
        // How large an error is matters less here than that there is one.
        let tier = tier.split('(').next().unwrap_or_default().to_owned();
        table.add_row([id, verdict, tier].into_iter().chain(cells).map(|cell| one_line(&cell).into_owned()));
    }
    for column in 4..9 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut out = lines(&table);
    out += &format!("\n{}\n", summary(results));
    for result in results {
        out.extend(result.misses.iter().map(|miss| format!("{}: {}\n", one_line(&result.id), one_line(miss))));
    }
    out
}

/// The page of the documentation.
pub fn page(results: &[CaseResult]) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_page(results, &mut out);
    out
}

fn write_page(results: &[CaseResult], out: &mut String) -> fmt::Result {
    out.push_str("| case | system | verdict | tier | cause | A | B | cheapest | B saves | published |\n");
    out.push_str("|---|---|---|---|---|--:|--:|--:|--:|--:|\n");
    for result in results {
        let [id, name, verdict, tier, cause, figures @ ..] = row(result);
        let cells = [format!("{id} {name}"), result.system.clone(), verdict, tier, cause];
        let cells: Vec<String> = cells.iter().chain(&figures).map(|cell| escaped(cell)).collect();
        writeln!(out, "| {} |", cells.join(" | "))?;
    }
    writeln!(out, "\n{}", summary(results))?;
    for result in results {
        writeln!(out, "\n## {}: {}\n", escaped(&result.id), escaped(&result.name))?;
        writeln!(out, "{}, {}.\n\n{}\n", escaped(&result.system), escaped(&result.kind), paragraph(&result.facts))?;
        if let Some(open) = &result.open {
            writeln!(out, "Not judged: {}\n", paragraph(open))?;
        }
        if let Some(cause) = &result.cause {
            let flag = cause.flag.as_ref().map_or(String::new(), |flag| format!("; flag `{}`", escaped(flag)));
            let text = if cause.text.is_empty() { &cause.kind } else { &cause.text };
            writeln!(out, "Found: {}{flag}.\n", escaped(text.trim_end_matches('.')))?;
        }
        match (result.published, &result.published_of) {
            (Some(saving), Some(of)) => writeln!(out, "Published: {} of the {}.", percent(saving), escaped(of))?,
            _ => writeln!(out, "Published: no figure.")?,
        }
        if let Some(differs) = &result.differs {
            writeln!(out, "{}", paragraph(differs))?;
        }
        for miss in &result.misses {
            writeln!(out, "\nNot as it should be: {}", escaped(miss))?;
        }
    }
    Ok(())
}

/// The cells of a case: number, name, verdict, tier, cause, A, B, cheapest, saving, published.
fn row(result: &CaseResult) -> [String; 10] {
    let none = || "–".to_owned();
    let joules = |mj: Option<f64>| if result.verdict.is_some() { energy(mj) } else { none() };
    let cause = result.cause.as_ref().map(|cause| {
        let right = if result.cause_is_right == Some(false) { " (wrong)" } else { "" };
        format!("{}{right}", cause.kind.replace('_', " "))
    });
    [
        result.id.clone(),
        result.name.clone(),
        result.verdict.map_or_else(|| "not judged".to_owned(), str::to_owned),
        result.tier.clone().unwrap_or_else(none),
        cause.unwrap_or_else(none),
        joules(result.a_mj),
        joules(result.b_mj),
        result.best_mj.map_or_else(none, |mj| energy(Some(mj))),
        result.saving.map_or_else(none, percent),
        result.published.map_or_else(none, percent),
    ]
}

fn summary(results: &[CaseResult]) -> String {
    let with_cause = results.iter().filter(|r| r.cause_is_right.is_some()).count();
    let right = results.iter().filter(|r| r.cause_is_right == Some(true)).count();
    let as_stated = results.iter().filter(|r| r.misses.is_empty() && r.open.is_none()).count();
    let open = results.iter().filter(|r| r.open.is_some()).count();
    let plural = if results.len() == 1 { "case" } else { "cases" };
    format!(
        "{} {plural}: {as_stated} as their files say, {open} not judged; the right cause by name in {right} of the {with_cause} whose files name one.",
        results.len()
    )
}

/// Text of a file on one line of a table.
fn escaped(text: &str) -> String {
    one_line(&text.replace('\n', " ")).replace('|', "\\|").replace('<', "&lt;")
}

/// Text of a file as a paragraph.
fn paragraph(text: &str) -> String {
    text.trim().lines().map(|line| one_line(line).replace('<', "&lt;")).collect::<Vec<_>>().join("\n")
}

fn plain(width: usize) -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Dynamic).force_no_tty();
    table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
    table
}

fn lines(table: &Table) -> String {
    table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}
