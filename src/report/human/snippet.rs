//! A line of source with carets below what matters in it.

use miette::{
    Diagnostic, GraphicalReportHandler, GraphicalTheme, MietteError, MietteSpanContents, SourceCode, SourceSpan,
    SpanContents, ThemeCharacters, ThemeStyles,
};
use thiserror::Error;

use crate::printable::one_line;
use crate::report::SourceText;
use crate::report::wording::place;

/// One line of a file.
#[derive(Debug)]
struct Line {
    place: String,
    /// From 0.
    number: usize,
    code: String,
}

impl SourceCode for Line {
    fn read_span<'a>(
        &'a self,
        _: &SourceSpan,
        _: usize,
        _: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let all = SourceSpan::from((0, self.code.len()));
        let contents = MietteSpanContents::new_named(self.place.clone(), self.code.as_bytes(), all, self.number, 0, 1);
        Ok(Box::new(contents))
    }
}

#[derive(Debug, Error, Diagnostic)]
#[error("{message}")]
#[diagnostic(severity(Advice))]
struct Shown {
    message: String,
    #[source_code]
    line: Line,
    #[label]
    at: SourceSpan,
}

/// `message` with the line of `at` below it, in at most `width` columns; none where the line is too long or holds what is not to be
/// printed.
pub(super) fn snippet(message: &str, at: &SourceText, width: usize) -> Option<String> {
    let [start, end] = at.columns;
    let number = usize::try_from(at.line).ok()?.checked_sub(1)?;
    let is_sound = one_line(&at.code) == at.code && at.code.get(start..end).is_some_and(|part| !part.is_empty());
    // The number and the bar take less than that.
    if !is_sound || at.code.chars().count() + 12 > width {
        return None;
    }
    let file = place(at);
    let file = file.rsplit_once(':').map_or(file.as_str(), |(file, _)| file).to_owned();
    let shown = Shown {
        message: one_line(message).into_owned(),
        line: Line { place: file, number, code: at.code.clone() },
        at: SourceSpan::from((start, end - start)),
    };
    let characters = ThemeCharacters { advice: "·".to_owned(), underline: '^', ..ThemeCharacters::unicode() };
    let theme = GraphicalTheme { characters, styles: ThemeStyles::none() };
    let handler = GraphicalReportHandler::new_themed(theme).with_width(width).with_context_lines(0).with_links(false);
    let mut out = String::new();
    handler.render_report(&mut out, &shown).ok()?;
    let lines = out.lines().map(str::trim_end).filter(|line| !line.is_empty());
    Some(lines.map(|line| format!("{line}\n")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(code: &str, columns: [usize; 2]) -> SourceText {
        SourceText {
            file: "lib/site-packages/pkg/model.py".into(),
            line: 42,
            text: "x".into(),
            code: code.into(),
            columns,
        }
    }

    #[test]
    fn carets_stand_below_what_matters() {
        let shown = snippet("looked up by", &at("kernel = TABLE[self.kind]", [9, 25]), 100).unwrap();
        let lines: Vec<&str> = shown.lines().collect();
        assert!(lines[0].ends_with("looked up by") && shown.contains("site-packages/pkg/model.py:42"), "{shown}");
        let code = lines.iter().position(|line| line.contains("TABLE[self.kind]")).unwrap();
        let column = |line: &str, c: &str| line.find(c).map(|byte| line[..byte].chars().count());
        assert!(lines[code].contains("42"), "{shown}");
        assert_eq!(column(lines[code + 1], "^"), column(lines[code], "TABLE"), "{shown}");
    }

    #[test]
    fn what_cannot_be_shown_whole_is_not_shown() {
        assert_eq!(snippet("m", &at(&"x".repeat(95), [0, 3]), 100), None);
        assert_eq!(snippet("m", &at("short", [2, 9]), 100), None);
        assert_eq!(snippet("m", &at("a\u{1b}[31mb", [0, 1]), 100), None);
        assert_eq!(snippet("m", &at("", [0, 0]), 100), None);
    }
}
