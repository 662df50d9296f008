//! What a campaign measures: the operators of graphs, and keys listed in a file.

use std::sync::Arc;

use indexmap::IndexSet;
use miette::{Diagnostic, NamedSource, SourceSpan};
use smallvec::SmallVec;
use thiserror::Error;

use crate::energy::{KernelKey, KeyError, key_of};
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
pub fn graph_keys(graph: &Graph) -> Vec<KernelKey> {
    let layouts = layouts(graph);
    let launched = graph.operators().filter_map(|(id, _)| launched_key(graph, &layouts, id));
    launched.collect::<IndexSet<KernelKey>>().into_iter().collect()
}

/// The key of a node that launches something; `layouts` by node index.
pub fn launched_key(graph: &Graph, layouts: &[SmallVec<[Layout; 1]>], node: NodeId) -> Option<KernelKey> {
    let key = key_of(graph, layouts, node).filter(|_| !graph.node(node).origin.implicit);
    key.filter(KernelKey::can_be_measured)
}

/// The operators that give a GPU a whole profile: every kind of kernel over sizes, element types and layouts.
///
/// # Errors
/// A line that is no key, which a test excludes.
pub fn designed_spread() -> Result<Vec<KernelKey>, KeyFileError> {
    read_keys("the designed spread", include_str!("../../corpus/energy/quick.keys"))
}

/// The distinct keys of a file, in its order. Empty lines and lines that start with `#` are left out.
pub fn read_keys(name: &str, text: &str) -> Result<Vec<KernelKey>, KeyFileError> {
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
            keys.insert(content.parse::<KernelKey>().map_err(error)?);
        }
        offset += line.len();
    }
    Ok(keys.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::energy::WorkWithLayout;
    use crate::ops::{LayoutRule, OpDef};

    #[test]
    fn key_files_are_read_and_bad_lines_named() {
        let keys = read_keys("k", "# a comment\n\nneg(f32[4])\nneg(f32[4])\nadd(f32[4], f32[4])\n").unwrap();
        assert_eq!(keys.len(), 2);
        let error = read_keys("k", "neg(f32[4])\nnope(f32[4])\n").unwrap_err();
        assert_eq!((error.line.offset(), error.line.len()), (12, 12));
    }

    /// So that no operator is priced by physical bounds alone on a GPU that was measured quickly.
    #[test]
    fn the_designed_spread_holds_every_operator_that_runs_a_kernel() {
        let keys = designed_spread().unwrap();
        let mut wrong = Vec::new();
        for key in &keys {
            if WorkWithLayout::of_key(key).is_none_or(|w| w.launches == 0) {
                wrong.push(key.to_string());
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
        let present: rustc_hash::FxHashSet<&str> = keys.iter().map(|k| k.op.as_str()).collect();
        let is_view = |def: &OpDef| matches!(def.layout, LayoutRule::View(_));
        let absent = crate::ops::all().filter(|def| !is_view(def) && !present.contains(def.name));
        // Canonical keys state `linear` and the repetitions in terms of another operator, `fused` stands for kernels of any kind, the next
        // two run nothing, and eigenvalues wait for the host.
        let expected =
            ["linear", "fused", "repeat_heads", "repeat_interleave", "number", "empty", "eigvals", "eigvalsh"];
        assert_eq!(absent.map(|def| def.name).collect::<Vec<_>>(), expected);
    }

    /// A run once measured `fused` of three tensors as a kernel that takes nothing, which made the estimates of all kernels like it worthless.
    #[test]
    fn a_kernel_of_other_operators_is_not_measured_by_itself() {
        for (key, can) in
            [("fused(f32[64], f32[64])", false), ("add(f32[64], f32[64])", true), ("alias(f32[64])", false)]
        {
            assert_eq!(key.parse::<KernelKey>().unwrap().can_be_measured(), can, "{key}");
        }
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
