//! The door to the outside: all that the program prints goes through here. Names, paths and source lines come from files that
//! others wrote; control characters in them never reach a terminal.

use std::fmt;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::Path;

use anstream::adapter::strip_str;
use anstream::{AutoStream, ColorChoice};
use miette::{Context, Diagnostic, IntoDiagnostic, MietteHandler, MietteHandlerOpts, ReportHandler};
use serde::Serialize;
use serde_json::ser::{CharEscape, Formatter};

use super::args::{Format, Shown};
use crate::files;
use crate::printable::{escaped, is_clean, printable};
use crate::report::{Finding, HumanOptions, Report, junit, sarif};

/// Columns of a report where standard output is no terminal.
const WIDTH: usize = 100;

/// Writes a text without styles.
pub(super) fn report(text: &str) -> miette::Result<()> {
    print(&printable(text))
}

/// Writes a report in the format and to the place that the command line names. `findings` are the report's.
pub(super) fn show(report: &impl Report, findings: &[Finding], shown: &Shown, full: bool) -> miette::Result<()> {
    let width = if shown.report.is_some() { WIDTH } else { width() };
    let default = HumanOptions::default();
    // Only a screen is short of lines.
    let is_screen = shown.report.is_none() && io::stdout().is_terminal();
    let notes = if is_screen { default.notes } else { usize::MAX };
    let options = HumanOptions { width, full, notes, ..default };
    let text = match shown.format {
        Format::Human => styled(report.human(&options), report)?,
        Format::Json => json(report)?,
        Format::Markdown => printable(&report.markdown()).into_owned(),
        Format::Html => printable(&report.html()).into_owned(),
        Format::Sarif => escaped(&sarif(findings)) + "\n",
        Format::Junit => printable(&junit(&report.subject(), findings).into_diagnostic()?).into_owned(),
    };
    if let Some(path) = &shown.write_json {
        write(path, &json(report)?)?;
    }
    match &shown.report {
        None => print(&text),
        Some(path) => write(path, &strip_str(&text).to_string()),
    }
}

/// A text with styles that was made of `model`, without them if something in the model could be taken for one. They are printed
/// only on a terminal, and not if `NO_COLOR` is set.
fn styled(text: String, model: &impl Serialize) -> miette::Result<String> {
    if AutoStream::choice(&io::stdout()) == ColorChoice::Never {
        return Ok(printable(&strip_str(&text).to_string()).into_owned());
    }
    let mut clean = true;
    model.serialize(&mut serde_json::Serializer::with_formatter(io::sink(), Inspect(&mut clean))).into_diagnostic()?;
    Ok(if clean { text } else { printable(&strip_str(&text).to_string()).into_owned() })
}

/// Notes whether the texts of a model are clean, and writes none of them.
struct Inspect<'c>(&'c mut bool);

impl Formatter for Inspect<'_> {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, _: &mut W, fragment: &str) -> io::Result<()> {
        *self.0 &= is_clean(fragment);
        Ok(())
    }

    fn write_char_escape<W: ?Sized + Write>(&mut self, _: &mut W, escape: CharEscape) -> io::Result<()> {
        use CharEscape::{LineFeed, Quote, ReverseSolidus, Solidus, Tab};
        *self.0 &= matches!(escape, LineFeed | Tab | Quote | Solidus | ReverseSolidus);
        Ok(())
    }
}

/// Data as JSON.
pub(super) fn as_json(data: &impl Serialize) -> miette::Result<String> {
    Ok(escaped(&serde_json::to_string_pretty(data).into_diagnostic()?) + "\n")
}

fn json(report: &impl Report) -> miette::Result<String> {
    Ok(escaped(&report.json().into_diagnostic()?) + "\n")
}

/// Writes a text to a file.
pub(super) fn write(path: &Path, text: &str) -> miette::Result<()> {
    written(path, files::write(path, text.as_bytes()))
}

/// Refuses a file that could not be written in the end, before work that takes a while.
pub(super) fn can_be_written(path: &Path) -> miette::Result<()> {
    written(path, files::can_be_written(path))
}

/// The same for all files that a report goes to.
pub(super) fn can_be_shown(shown: &Shown) -> miette::Result<()> {
    [&shown.report, &shown.write_json].into_iter().flatten().try_for_each(|path| can_be_written(path))
}

fn written(path: &Path, result: io::Result<()>) -> miette::Result<()> {
    result.into_diagnostic().wrap_err_with(|| format!("cannot write {}", path.display()))
}

/// A reader that has seen enough and closed the pipe is no error.
fn print(text: &str) -> miette::Result<()> {
    let mut out = anstream::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => Err(e).into_diagnostic().wrap_err("cannot write the report"),
        _ => Ok(()),
    }
}

/// A diagnostic without colours.
struct Plain<'r>(&'r dyn Diagnostic, MietteHandler);

impl fmt::Debug for Plain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.1.debug(self.0, f)
    }
}

/// Writes why the program gives up. With standard error closed there is nobody to tell.
pub(super) fn diagnostic(report: &miette::Report) {
    let handler = MietteHandlerOpts::new().color(false).terminal_links(false).build();
    let plain = format!("{:?}", Plain(report.as_ref(), handler));
    // Colours of a clean text are ours.
    let clean = is_clean(&plain);
    let _ = if clean { writeln!(io::stderr(), "{report:?}") } else { writeln!(io::stderr(), "{}", printable(&plain)) };
}

/// Writes what the command line got wrong, or the help that it asked for. Gives the exit status.
pub(super) fn usage(error: &clap::Error) -> u8 {
    let plain = error.render().to_string();
    if is_clean(&plain) {
        let _ = error.print();
    } else {
        let _ = write!(io::stderr(), "{}", printable(&plain));
    }
    u8::try_from(error.exit_code()).unwrap_or(2)
}

/// Writes what a user should know although the program goes on.
pub(super) fn warning(text: &str) {
    note(&format!("warning: {text}"));
}

/// Writes a line to standard error.
pub(super) fn note(text: &str) {
    let _ = writeln!(io::stderr(), "{}", printable(text));
}

/// Columns of the terminal that the report goes to.
pub(super) fn width() -> usize {
    terminal_size::terminal_size_of(io::stdout()).map_or(WIDTH, |(width, _)| usize::from(width.0).max(60))
}
