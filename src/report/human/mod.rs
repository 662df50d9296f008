//! Reports for a terminal, with styles; whoever prints them strips those where they are not wanted.

mod comparison;
mod explanation;
mod optimization;
mod proof;
mod snippet;

use std::fmt::{self, Write};

use comfy_table::presets::NOTHING;
use comfy_table::{ContentArrangement, Table};
use textwrap::{Options, WordSeparator, WordSplitter, wrap};

use crate::printable::one_line;

pub(super) use comparison::comparison;
pub(super) use explanation::explanation;
pub(super) use optimization::optimization;

/// How much of the report is shown.
#[derive(Clone, Copy, Debug)]
pub struct HumanOptions {
    /// Characters in a line.
    pub width: usize,
    /// Groups of regions in the table.
    pub regions: usize,
    /// The longest list of notes, such as assumptions.
    pub notes: usize,
    /// Whether nothing is left out, however long it is.
    pub full: bool,
}

impl Default for HumanOptions {
    fn default() -> Self {
        HumanOptions { width: 100, regions: 5, notes: 4, full: false }
    }
}

/// Text in lines of at most `width` characters, the first one after `head`, the others after `indent`.
fn paragraph(width: usize, head: &str, indent: &str, text: &str, out: &mut String) -> fmt::Result {
    let text = one_line(text);
    // Names and expressions break at blanks only.
    let options =
        Options::new(width).word_separator(WordSeparator::AsciiSpace).word_splitter(WordSplitter::NoHyphenation);
    let options = options.initial_indent(head).subsequent_indent(indent);
    wrap(text.trim(), options).iter().try_for_each(|line| writeln!(out, "{line}"))
}

/// Characters in the widest cell of every column.
fn widths<const N: usize>(rows: &[[String; N]]) -> [usize; N] {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    widths
}

/// A table without lines, in at most `width` characters.
fn plain(width: usize) -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Dynamic).force_no_tty();
    table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
    table
}

/// The table's text without blanks at the ends of lines.
fn trimmed(table: &Table) -> String {
    table.lines().map(|l| format!(" {}", l.trim_end())).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests;
