//! What can be wrong with a `.mir` file, with the place in the text.

use std::sync::Arc;

use miette::{Diagnostic, NamedSource, SourceSpan};
use thiserror::Error;

use crate::printable::of_same_length;

/// Everything that is wrong with one file.
#[derive(Debug, Error, Diagnostic)]
#[error("{} does not parse: {}", source_code.name(), count(errors.len()))]
#[diagnostic(code(mir::invalid))]
pub struct MirErrors {
    #[source_code]
    source_code: NamedSource<Arc<str>>,
    /// In the order of the text, at most [`MOST_ERRORS`].
    #[related]
    pub errors: Vec<MirError>,
}

/// After this many errors the rest of the file is not looked at: one slip often causes many.
pub const MOST_ERRORS: usize = 40;

fn count(errors: usize) -> String {
    match errors {
        1 => "1 error".to_owned(),
        n if n >= MOST_ERRORS => format!("{n} errors and perhaps more"),
        n => format!("{n} errors"),
    }
}

impl MirErrors {
    pub(super) fn new(file: &str, source: &str, mut errors: Vec<MirError>) -> Self {
        errors.truncate(MOST_ERRORS);
        MirErrors { source_code: NamedSource::new(file, Arc::from(of_same_length(source))), errors }
    }
}

/// One thing that is wrong with a `.mir` file.
#[derive(Debug, Clone, PartialEq, Error, Diagnostic)]
#[allow(missing_docs, reason = "the message of each variant says it")]
pub enum MirError {
    #[error("{message}")]
    #[diagnostic(code(mir::syntax))]
    Syntax {
        message: String,
        #[label("here")]
        span: SourceSpan,
        #[help]
        help: Option<String>,
    },
    #[error("the file has {size} bytes, the limit is {limit}")]
    #[diagnostic(code(mir::too_large))]
    TooLarge { size: usize, limit: usize },
    #[error("brackets are nested more than {limit} deep")]
    #[diagnostic(code(mir::too_deep), help("give inner calls a name of their own"))]
    TooDeep {
        limit: usize,
        #[label("one level too many")]
        span: SourceSpan,
    },
    #[error("`{text}` is out of range")]
    #[diagnostic(code(mir::number))]
    Number {
        text: String,
        #[label("does not fit")]
        span: SourceSpan,
    },
    #[error("unknown escape in a string")]
    #[diagnostic(code(mir::escape), help(r#"known are \" \\ \' \n \r \t \0 and \u{{…}}"#))]
    Escape {
        #[label("here")]
        span: SourceSpan,
    },
    #[error("{reason}")]
    #[diagnostic(code(mir::tensor_type))]
    TensorType {
        reason: String,
        #[label("not a usable type")]
        span: SourceSpan,
        #[help]
        help: Option<String>,
    },
    #[error("{reason}")]
    #[diagnostic(code(mir::config))]
    Config {
        reason: String,
        #[label("here")]
        span: SourceSpan,
        #[help]
        help: Option<String>,
    },
    #[error("there is no operator `{name}`")]
    #[diagnostic(code(mir::unknown_op))]
    UnknownOp {
        name: String,
        #[label("not in the op table")]
        span: SourceSpan,
        #[help]
        help: Option<String>,
    },
    #[error("`{op}` has no attribute `{name}`")]
    #[diagnostic(code(mir::unknown_attribute))]
    UnknownAttribute {
        op: String,
        name: String,
        #[label("unknown")]
        span: SourceSpan,
        #[help]
        help: Option<String>,
    },
    #[error("`{name}` cannot be computed once: it may change between executions")]
    #[diagnostic(
        code(mir::not_fixed),
        help(
            "`once` is for what depends on literals, parameters and buffers that the graph does not write, without chance and outside of training"
        )
    )]
    NotFixed {
        name: String,
        #[label("marked `once`")]
        span: SourceSpan,
    },
    #[error("`{name}` is given twice")]
    #[diagnostic(code(mir::attribute_twice))]
    AttributeTwice {
        name: String,
        #[label("the second time")]
        span: SourceSpan,
    },
    #[error("`{op}` {reason}")]
    #[diagnostic(code(mir::attribute_value))]
    AttributeValue {
        op: String,
        reason: String,
        #[label("here")]
        span: SourceSpan,
        #[help]
        help: Option<String>,
    },
    #[error("nothing is called `{name}`")]
    #[diagnostic(code(mir::unknown_name))]
    UnknownName {
        name: String,
        #[label("not defined in this graph")]
        span: SourceSpan,
        #[help]
        help: Option<String>,
    },
    #[error("`{name}` is used before it is defined")]
    #[diagnostic(code(mir::used_before_definition), help("move the definition up"))]
    UsedBeforeDefinition {
        name: String,
        #[label("used here")]
        span: SourceSpan,
        #[label("defined here")]
        definition: SourceSpan,
    },
    #[error("the definitions form a cycle: {}", path.join(" → "))]
    #[diagnostic(code(mir::cycle), help("an operator graph has no loops: unroll them or cut the graph there"))]
    Cycle {
        /// Names along the cycle; the first and the last are the same.
        path: Vec<String>,
        #[label("this use closes the cycle")]
        span: SourceSpan,
    },
    #[error("`{name}` is defined twice")]
    #[diagnostic(code(mir::defined_twice))]
    DefinedTwice {
        name: String,
        #[label("the second time")]
        span: SourceSpan,
        #[label("the first time")]
        first: SourceSpan,
    },
    #[error("{reason}")]
    #[diagnostic(code(mir::type_error))]
    Type {
        reason: String,
        #[label("in this call")]
        span: SourceSpan,
        #[help]
        help: Option<String>,
    },
    #[error("`{name}` is {found}, not {stated}")]
    #[diagnostic(code(mir::stated_type), help("the type may be left out"))]
    StatedType {
        name: String,
        stated: String,
        found: String,
        #[label("stated here")]
        span: SourceSpan,
    },
    #[error("{what} gives {found} outputs, {named} are named")]
    #[diagnostic(code(mir::output_count))]
    OutputCount {
        what: String,
        found: usize,
        named: usize,
        #[label("here")]
        span: SourceSpan,
        #[help]
        help: Option<String>,
    },
}

/// "did you mean …", if some candidate is near enough.
pub(super) fn nearest<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<String> {
    // A name this long is data, not a slip of the pen, and distances cost the product of the lengths.
    const LONGEST: usize = 100;
    if name.len() > LONGEST {
        return None;
    }
    let best = candidates
        .into_iter()
        .filter(|c| c.len() <= LONGEST)
        .map(|c| (strsim::damerau_levenshtein(name, c), c))
        .min_by_key(|&(distance, _)| distance)?;
    (best.0 <= 1 + name.len() / 4).then(|| format!("did you mean `{}`?", best.1))
}
