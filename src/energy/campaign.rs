//! What a campaign measures: the operators of graphs, and keys listed in a file.

use std::sync::Arc;

use indexmap::IndexSet;
use miette::{Diagnostic, NamedSource, SourceSpan};
use smallvec::SmallVec;
use thiserror::Error;

use super::key::{Key, key_of};
use super::key_parse::KeyError;
use super::work::WorkWithLayout;
use crate::ir::{Graph, Layout, NodeId, layouts};
use crate::printable::of_same_length;

/// A line of a key file that is no key.
#[derive(Debug, Error, Diagnostic)]
#[error("{source}")]
#[diagnostic(code(measure::key_file), help("one key a line, such as `add(f32[8, 4], f32[4])`; `#` starts a comment"))]
pub struct KeyFileError {
    #[source]
    pub source: KeyError,
    #[source_code]
    pub text: Arc<NamedSource<String>>,
    #[label("this line")]
    pub line: SourceSpan,
}

/// The distinct keys of a graph's operators that launch something, in the order in which they run.
pub fn graph_keys(graph: &Graph) -> Vec<Key> {
    let layouts = layouts(graph);
    let launched = graph.operators().filter_map(|(id, _)| launched_key(graph, &layouts, id));
    launched.collect::<IndexSet<Key>>().into_iter().collect()
}

/// The key of a node that launches something; `layouts` as for [`key_of`].
pub fn launched_key(graph: &Graph, layouts: &[SmallVec<[Layout; 1]>], node: NodeId) -> Option<Key> {
    let key = key_of(graph, layouts, node).filter(|_| !graph.node(node).origin.implicit);
    key.filter(|key| WorkWithLayout::of_key(key).is_some_and(|w| w.launches > 0))
}

/// The distinct keys of a file, in its order. Empty lines and lines that start with `#` are left out.
pub fn read_keys(name: &str, text: &str) -> Result<Vec<Key>, KeyFileError> {
    let mut keys = IndexSet::new();
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let content = line.trim();
        if !content.is_empty() && !content.starts_with('#') {
            let error = |source| KeyFileError {
                source,
                text: Arc::new(NamedSource::new(name, of_same_length(text))),
                line: (offset, line.trim_end().len()).into(),
            };
            keys.insert(content.parse::<Key>().map_err(error)?);
        }
        offset += line.len();
    }
    Ok(keys.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_files_are_read_and_bad_lines_named() {
        let keys = read_keys("k", "# a comment\n\nneg(f32[4])\nneg(f32[4])\nadd(f32[4], f32[4])\n").unwrap();
        assert_eq!(keys.len(), 2);
        let error = read_keys("k", "neg(f32[4])\nnope(f32[4])\n").unwrap_err();
        assert_eq!((error.line.offset(), error.line.len()), (12, 12));
    }

    #[test]
    fn the_campaign_reads_and_every_key_counts_work() {
        let keys = read_keys("campaign", include_str!("../../corpus/energy/campaign.keys")).unwrap();
        for key in &keys {
            let work = WorkWithLayout::of_key(key);
            assert!(work.is_some_and(|w| w.launches > 0), "{key}");
        }
        assert!(keys.len() > 300);
    }
}
