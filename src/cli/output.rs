//! Writing reports to standard output and diagnostics to standard error.

use std::io::{self, ErrorKind, Write};

use miette::{Context, IntoDiagnostic};

/// Columns of a report where standard output is no terminal.
const WIDTH: usize = 100;

/// Writes a report. Styles are kept only on a terminal, and not if `NO_COLOR` is set. A reader that has
/// seen enough and closed the pipe is no error.
pub fn report(text: &str) -> miette::Result<()> {
    let mut out = anstream::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => Err(e).into_diagnostic().wrap_err("cannot write the report"),
        _ => Ok(()),
    }
}

/// Writes why the program gives up. With standard error closed there is nobody to tell.
pub fn diagnostic(report: &miette::Report) {
    let _ = writeln!(io::stderr(), "{report:?}");
}

/// Writes what a user should know although the program goes on.
pub fn warning(text: &str) {
    let _ = writeln!(io::stderr(), "warning: {text}");
}

/// Columns of the terminal that the report goes to.
pub fn width() -> usize {
    terminal_size::terminal_size_of(io::stdout()).map_or(WIDTH, |(width, _)| usize::from(width.0).max(60))
}
