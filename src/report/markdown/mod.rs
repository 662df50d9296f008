//! Reports as Markdown, for issues and pull requests: everything that the terminal shows, without limits on length.

mod comparison;
mod explanation;
mod optimization;

use std::fmt::{self, Write};

use comfy_table::Table;
use comfy_table::presets::ASCII_MARKDOWN;

use crate::printable::one_line;
use crate::report::{Difference, wording};

pub(super) use comparison::comparison;
pub(super) use explanation::explanation;
pub(super) use optimization::optimization;

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN).set_header(header).force_no_tty();
    table
}

/// Text in code quotes that survives in a table cell.
fn code(text: &str) -> String {
    format!("`{}`", one_line(text).replace('`', "'").replace('|', "\\|"))
}

/// The parts of a difference as a list.
fn difference(of: &str, difference: &Difference, times: f64, out: &mut String) -> fmt::Result {
    let whole = wording::energy(Some(difference.mj.abs() * times));
    writeln!(out, "{of}, {whole}:\n")?;
    wording::parts(difference, times).iter().try_for_each(|part| writeln!(out, "- {part}"))?;
    writeln!(out)
}
