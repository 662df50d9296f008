//! What can be wrong with a rule file.

use std::fmt;
use std::sync::Arc;

use miette::{Diagnostic, LabeledSpan, NamedSource, Severity, SourceCode, SourceSpan};
use thiserror::Error;

use crate::printable::of_same_length;

/// One thing that is wrong with a rule file, with the place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Such as `rules::unknown_op`.
    pub code: &'static str,
    /// What is wrong, in one sentence.
    pub message: String,
    /// What is written at the place.
    pub label: Box<str>,
    /// The place in the file.
    pub span: Option<SourceSpan>,
    /// The way out.
    pub help: Option<Box<str>>,
    /// Whether the file is refused.
    pub severity: Severity,
    /// The file that it is about.
    pub file: Arc<RuleFile>,
}

/// The name and the text of a rule file.
#[derive(Debug, PartialEq, Eq)]
pub struct RuleFile {
    /// The path, or the name of a library file.
    pub name: String,
    text: String,
    /// What a report shows of the text.
    source: NamedSource<String>,
}

impl RuleFile {
    /// A file with that text.
    pub fn new(name: &str, text: &str) -> Arc<Self> {
        let source = NamedSource::new(name, of_same_length(text));
        Arc::new(RuleFile { name: name.to_owned(), text: text.to_owned(), source })
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether this is the file name, directories left aside.
    pub fn is_called(&self, name: &str) -> bool {
        self.name.rsplit(['/', '\\']).next() == Some(name)
    }

    /// File name without directories and ending.
    pub fn family(&self) -> &str {
        let name = self.name.rsplit(['/', '\\']).next().unwrap_or(&self.name);
        name.strip_suffix(".rules").unwrap_or(name)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Problem {}

impl Diagnostic for Problem {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.code))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.as_ref().map(|h| Box::new(h) as Box<dyn fmt::Display>)
    }

    fn severity(&self) -> Option<Severity> {
        Some(self.severity)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.file.source)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let span = self.span?;
        let label = (!self.label.is_empty()).then(|| self.label.to_string());
        Some(Box::new(std::iter::once(LabeledSpan::new_with_span(label, span))))
    }
}

/// Why rules cannot be used: everything that was found wrong.
#[derive(Debug, Clone, Error, Diagnostic)]
#[error("{}", headline(.problems))]
#[diagnostic(code(rules::refused))]
pub struct RuleError {
    /// Everything that is wrong, in the order of the file.
    #[related]
    pub problems: Vec<Problem>,
}

fn headline(problems: &[Problem]) -> String {
    let files: std::collections::BTreeSet<&str> = problems.iter().map(|p| p.file.name.as_str()).collect();
    let files: Vec<&str> = files.into_iter().collect();
    format!("{} cannot be used", files.join(", "))
}

impl From<Problem> for RuleError {
    fn from(problem: Problem) -> Self {
        RuleError { problems: vec![problem] }
    }
}

/// Makes problems of one file.
#[derive(Clone, Debug)]
pub(super) struct Reporter {
    pub file: Arc<RuleFile>,
}

impl Reporter {
    pub(super) fn problem(
        &self,
        code: &'static str,
        span: impl Into<Option<SourceSpan>>,
        message: impl Into<String>,
        label: impl Into<Box<str>>,
    ) -> Problem {
        Problem {
            code,
            message: message.into(),
            label: label.into(),
            span: span.into(),
            help: None,
            severity: Severity::Error,
            file: self.file.clone(),
        }
    }
}

impl Problem {
    /// The problem with a way out.
    pub fn with_help(mut self, help: impl Into<Box<str>>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Something to look at that is no reason to refuse the file.
    pub fn warning(self) -> Self {
        Problem { severity: Severity::Warning, ..self }
    }

    /// Adds the nearest of `names` to the help, if one is near.
    pub fn nearest<'a>(self, wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Self {
        match nearest(wrong, names) {
            Some(name) => self.with_help(format!("did you mean `{name}`?")),
            None => self,
        }
    }
}

/// The name most like `wrong`, if any is like it at all.
pub(super) fn nearest<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let scored = names.into_iter().map(|n| (strsim::jaro_winkler(wrong, n), n));
    scored.filter(|(score, _)| *score > 0.75).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, n)| n)
}
