//! Where a node comes from: its name in the file, the source lines, the module path.

use std::fmt;
use std::sync::Arc;

/// One Python stack frame.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The path of the source file.
    pub file: Arc<str>,
    /// The line, from 1.
    pub line: u32,
    /// The function the line stands in; empty when unknown.
    pub function: Arc<str>,
    /// The text of the line; empty when unknown.
    pub code: Arc<str>,
}

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// Where a node comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// Source frames, outermost first.
    pub frames: Arc<[Frame]>,
    /// Module path, such as `model.layers.0.mlp`; empty when unknown.
    pub module: Arc<str>,
    /// The node stands for no operator of the input file: a literal scalar, or a cast that the
    /// operator's kernel does on the fly. It is not counted, launches nothing and costs nothing.
    pub implicit: bool,
    /// The node is computed before the first execution, and its result kept: it depends on nothing that changes between executions.
    pub once: bool,
}

impl Origin {
    /// An origin for a node that no operator of the file stands for.
    pub fn implicit() -> Self {
        Origin { implicit: true, ..Origin::default() }
    }

    /// The innermost frame: the line that called the operator.
    pub fn line(&self) -> Option<&Frame> {
        self.frames.last()
    }

    /// Whether the node was called on this line, or from it. `file` may leave out leading folders.
    pub fn stands_at(&self, file: &str, line: u32) -> bool {
        let is_file = |path: &str| path.strip_suffix(file).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'));
        self.frames.iter().any(|frame| frame.line == line && is_file(&frame.file))
    }
}
