//! Identifiers for what a graph names: valid in Python and in the graphs that PyTorch exports, and no two alike.

use rustc_hash::FxHashSet;

/// The words of Python.
const KEYWORDS: [&str; 38] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "case", "class", "continue", "def",
    "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "match",
    "nonlocal", "not", "or", "pass", "raise", "return", "try", "type", "while", "with", "yield",
];

/// Names that programs here use, and names that PyTorch's graphs keep for themselves.
const RESERVED: [&str; 21] = [
    "self",
    "torch",
    "aten",
    "device",
    "math",
    "inf",
    "nan",
    "NoneType",
    "INPUTS",
    "forward",
    "load",
    "constant",
    "float",
    "bytearray",
    "bytes",
    "dict",
    "callable",
    "isinstance",
    "input",
    "output",
    "getitem",
];

/// Whether a word means something to Python.
pub(super) fn is_keyword(word: &str) -> bool {
    KEYWORDS.contains(&word)
}

/// The longest identifier that is taken over.
const LONGEST: usize = 120;

/// The names of one program.
#[derive(Debug, Default)]
pub(super) struct Names {
    taken: FxHashSet<String>,
}

impl Names {
    /// Keeps a name for what has it already.
    pub(super) fn keep(&mut self, name: &str) {
        self.taken.insert(name.to_owned());
    }

    /// An identifier for what the graph calls `name`: the same where that is one and free.
    pub(super) fn take(&mut self, name: &str) -> String {
        let plain = identifier(name);
        let numbered = (1_u64..).map(|n| format!("{plain}_{n}"));
        let free = |own: &String| !is_keyword(own) && !RESERVED.contains(&own.as_str()) && !self.taken.contains(own);
        let own = std::iter::once(plain.clone()).chain(numbered).find(free).unwrap_or(plain);
        self.taken.insert(own.clone());
        own
    }
}

/// The name with an underscore for everything that no identifier has.
fn identifier(name: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let mut plain: String = name.chars().take(LONGEST).map(safe).collect();
    // Two underscores in front mean something to Python, in classes and as names of the language's own.
    if !plain.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') || plain.starts_with("__") {
        plain.insert_str(0, "v_");
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_are_identifiers() {
        let mut names = Names::default();
        let given = ["x", "x", "a.b", "a_b", "import os\nos.system('x')", "", "1", "class", "torch", "ü", "__import__"];
        let expected = [
            "x",
            "x_1",
            "a_b",
            "a_b_1",
            "import_os_os_system__x__",
            "v_",
            "v_1",
            "class_1",
            "torch_1",
            "_",
            "v___import__",
        ];
        assert_eq!(given.map(|name| names.take(name)), expected);
        names.keep("kept");
        assert_eq!(names.take("kept"), "kept_1");
    }
}
