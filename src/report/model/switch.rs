//! Where the call paths of two forms part, and what decides which way they go. Keys are a promise, as those of a comparison are.

use serde::Serialize;

/// The call paths of the operators that cost most on either side.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CallPaths {
    /// Calls that both paths go through, outermost first.
    pub common: Vec<Call>,
    /// What follows in A.
    pub a: Vec<Call>,
    /// What follows in B.
    pub b: Vec<Call>,
    /// Whether all operators that set the sides apart part there, not only those that cost most.
    #[serde(skip)]
    pub is_clear: bool,
}

impl CallPaths {
    /// Whether nothing is recorded.
    pub fn is_empty(&self) -> bool {
        self.common.is_empty() && self.a.is_empty() && self.b.is_empty()
    }
}

/// A call as the file records it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Call {
    /// The path of the source file.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The function that the line stands in; empty when unknown.
    pub function: String,
    /// The text of the line; empty when unknown.
    pub code: String,
}

/// What decides which way a call path goes, read off the source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Switch {
    /// How it is decided.
    pub kind: SwitchKind,
    /// The expression that decides: a look-up or a condition.
    pub expression: SourceText,
    /// The variables that it reads, each with where it is set.
    pub variables: Vec<Variable>,
    /// Where the source at hand is not the one that was recorded.
    pub note: Option<String>,
}

/// How a switch decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SwitchKind {
    /// A function or a class is looked up by a key.
    Dispatch,
    /// A condition is tested.
    Branch,
}

/// A piece of a source file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SourceText {
    /// The path of the file as it was found.
    pub file: String,
    /// The line on which it begins, from 1.
    pub line: u32,
    /// The text, on one line.
    pub text: String,
    /// The line on which it begins, without the blanks around it.
    pub code: String,
    /// The bytes of that line that it takes: from, and up to.
    pub columns: [usize; 2],
}

/// A variable that decides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Variable {
    /// As it is read, such as `self.config._attn_implementation`.
    pub name: String,
    /// Where it is set, and the object that it belongs to: what is nearest first.
    pub set: Vec<SourceText>,
}
