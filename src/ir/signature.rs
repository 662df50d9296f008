//! What a caller sees of a graph beside its tensors: where each output goes, and the constants among inputs and outputs.

use std::fmt;
use std::sync::Arc;

use super::{AttrValue, Value};

/// One step from a structure to one of its parts.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// Of a tuple, of a list, or of a dict whose keys are integers.
    Index(i64),
    /// The key of a dict, or the name of a field.
    Name(Arc<str>),
}

/// Where a leaf stands in the structure that a program returns. The empty path is the returned value itself. Which kind of
/// container holds a part does not matter, only how it is reached: a tuple is the same as a list, a dict the same as an object
/// with such fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Path(pub Vec<Step>);

impl Path {
    /// The path of a part of what stands here.
    pub fn then(&self, step: Step) -> Path {
        Path(self.0.iter().cloned().chain([step]).collect())
    }

    /// Whether this is the returned value itself.
    pub fn is_whole(&self) -> bool {
        self.0.is_empty()
    }
}

/// As `.mir` text has it: `.logits`, `[0]["odd key"]`, and `.` for the returned value itself.
impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str(".");
        }
        self.0.iter().try_for_each(|step| match step {
            Step::Index(i) => write!(f, "[{i}]"),
            Step::Name(name) if is_plain(name) => write!(f, ".{name}"),
            Step::Name(name) => write!(f, "[{name:?}]"),
        })
    }
}

/// Whether a name may stand in a path without quotes.
fn is_plain(name: &str) -> bool {
    let mut chars = name.chars();
    let first = chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    first && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Where an output goes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// Returned to the caller.
    Result(ResultPosition),
    /// Returned to the caller, as the value that a training step minimises.
    Loss(ResultPosition),
    /// The new value of an input of this name: a buffer, a parameter or a user's tensor that the program changes in place.
    Write(Arc<str>),
    /// The gradient with respect to the input of this name.
    Gradient(Arc<str>),
}

/// Where a result stands among the results.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ResultPosition {
    /// Its number among all results, constants included.
    pub position: usize,
    /// Its path, where the file says what structure is returned.
    pub path: Option<Path>,
}

impl fmt::Display for ResultPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.path {
            Some(path) => write!(f, "{path}"),
            None => write!(f, "number {}", self.position),
        }
    }
}

/// A tensor that the graph gives, with the name that reports call it by.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// Its name in the file.
    pub name: Arc<str>,
    /// What it gives.
    pub value: Value,
    /// What becomes of it.
    pub target: Target,
}

impl Output {
    /// Where it stands among the results, if it is one.
    pub fn place(&self) -> Option<&ResultPosition> {
        match &self.target {
            Target::Result(place) | Target::Loss(place) => Some(place),
            Target::Write(_) | Target::Gradient(_) => None,
        }
    }

    /// Whether it is the loss of a training graph.
    pub fn is_loss(&self) -> bool {
        matches!(self.target, Target::Loss(_))
    }

    /// What reports call it: its path in what is returned, or what it does to which input.
    pub fn shown(&self) -> String {
        match &self.target {
            Target::Result(place) | Target::Loss(place) => match place.path.as_ref().filter(|p| !p.is_whole()) {
                Some(path) => path.to_string(),
                None => self.name.to_string(),
            },
            Target::Write(input) => format!("the new value of `{input}`"),
            Target::Gradient(input) => format!("the gradient of `{input}`"),
        }
    }
}

/// A number, a text or nothing that the graph returns whatever its inputs are.
#[derive(Clone, Debug, PartialEq)]
pub struct ConstantOutput {
    /// The constant.
    pub value: AttrValue,
    /// Where it stands among the results.
    pub place: ResultPosition,
}

/// A number, a text or nothing that was given when the graph was made: the graph holds for this value only.
#[derive(Clone, Debug, PartialEq)]
pub struct ConstantInput {
    /// Its name in the file.
    pub name: Arc<str>,
    /// The constant that it has to be.
    pub value: AttrValue,
}
