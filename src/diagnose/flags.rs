//! Flags that select between forms of the same computation: a table, and what has to be seen before one is named.
//!
//! A wrong cause is worse than none. A math flag is named where the workloads' recorded values differ and the op table says
//! that some operator of the region computes differently for it. Any other flag is named where the operators of either side
//! are those of one of its values, and where the deciding ones come from calls that run through the same file of the framework
//! and end there: code of the user's own that does the same by hand is no flag of the framework. Where the source is at hand, a
//! flag is also known by the variable that the framework reads on the line where the calls of both sides part.

use std::sync::LazyLock;

use rustc_hash::FxHashSet;
use serde::Deserialize;

use super::part::Part;
use crate::ir::{Frame, MathConfig, Node, NodeId};
use crate::ops::{MathMode, Op};

/// The table, which is part of the program.
static TABLE: LazyLock<Result<Table, toml::de::Error>> =
    LazyLock::new(|| toml::from_str(include_str!("../../corpus/flags.toml")));

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    flag: Vec<Flag>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Flag {
    #[allow(dead_code, reason = "tells readers of the table whose flag it is")]
    framework: String,
    name: String,
    set: String,
    governs: String,
    config: Option<String>,
    dispatch: Option<Dispatch>,
    variable: Option<Read>,
}

/// A flag that a framework's source reads where the calls of two sides part.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Read {
    files: Vec<String>,
    names: Vec<String>,
}

/// A flag that decides which operators a call into a framework makes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Dispatch {
    files: Vec<String>,
    #[serde(default)]
    functions: Vec<String>,
    values: Vec<Choice>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Choice {
    value: String,
    has: Vec<String>,
    lacks: Vec<String>,
}

/// A flag that sets the two sides of a region apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Setting {
    pub name: &'static str,
    /// What it governs, in a few words.
    pub governs: &'static str,
    /// How it is set.
    pub set: &'static str,
    /// The values of A and of B.
    pub values: [String; 2],
}

fn flags() -> impl Iterator<Item = &'static Flag> {
    TABLE.as_ref().map(|table| table.flag.as_slice()).unwrap_or_default().iter()
}

/// The math flag whose values make operators of the two sides compute differently.
pub(super) fn math(a: Part, b: Part) -> Option<Setting> {
    flags().find_map(|flag| {
        let field = flag.config.as_deref()?;
        let (of_a, of_b) = (value(&a.graph.config, field)?, value(&b.graph.config, field)?);
        if of_a == of_b {
            return None;
        }
        let mut changed = a.graph.config.clone();
        changed.set(field, of_b).ok()?;
        let matters = a.nodes.iter().any(|&n| mode(a, n, &a.graph.config) != mode(a, n, &changed));
        matters.then(|| setting(flag, [is_tf32(a), is_tf32(b)].map(|on| on.to_string())))
    })
}

fn value(config: &MathConfig, field: &str) -> Option<serde_json::Value> {
    config.flags().into_iter().find(|(name, _)| name == field).map(|(_, value)| value)
}

fn mode(part: Part, node: NodeId, config: &MathConfig) -> Option<MathMode> {
    let crate::ir::NodeKind::Op { op: Op::Table(def), .. } = &part.graph.node(node).kind else { return None };
    let operands = part.graph.operands(node);
    let types: Vec<_> = operands.iter().map(|&v| part.graph.ty(v)).collect();
    def.math_mode(&types, config)
}

fn is_tf32(part: Part) -> bool {
    part.nodes.iter().any(|&n| mode(part, n, &part.graph.config) == Some(MathMode::Tf32))
}

/// The flag that made a framework call other operators on the two sides.
pub(super) fn dispatched(a: Part, b: Part) -> Option<Setting> {
    flags().find_map(|flag| {
        let dispatch = flag.dispatch.as_ref()?;
        let (choice_a, files_a) = dispatch.choice(a)?;
        let (choice_b, files_b) = dispatch.choice(b)?;
        let differs = choice_a.value != choice_b.value && !files_a.is_disjoint(&files_b);
        differs.then(|| setting(flag, [choice_a, choice_b].map(|choice| choice.value.clone())))
    })
}

/// The name of the flag that a variable of a framework's source file holds, and how it is set.
pub(super) fn read_as(file: &str, variable: &str) -> Option<(&'static str, &'static str)> {
    let is_name = |name: &String| {
        variable.strip_suffix(name.as_str()).is_some_and(|owner| owner.is_empty() || owner.ends_with('.'))
    };
    let flag = flags().find(|flag| {
        let read = flag.variable.as_ref();
        read.is_some_and(|r| r.files.iter().any(|part| is_within(file, part)) && r.names.iter().any(is_name))
    })?;
    Some((&flag.name, &flag.set))
}

fn setting(flag: &'static Flag, values: [String; 2]) -> Setting {
    Setting { name: &flag.name, governs: &flag.governs, set: &flag.set, values }
}

impl Dispatch {
    /// The value that a side shows, and the files of the framework that all of its deciding operators come through.
    fn choice<'p>(&self, part: Part<'p>) -> Option<(&Choice, FxHashSet<&'p str>)> {
        let choice = self
            .values
            .iter()
            .find(|choice| choice.has.iter().all(|op| part.has(op)) && !choice.lacks.iter().any(|op| part.has(op)))?;
        let deciding = part.calls().filter(|(_, op, _)| choice.has.iter().any(|name| name == op.name()));
        let mut common: Option<FxHashSet<&str>> = None;
        for (node, ..) in deciding {
            let files = self.files_of(node)?;
            common = Some(match common {
                Some(known) => known.intersection(&files).copied().collect(),
                None => files,
            });
        }
        common.map(|files| (choice, files))
    }

    /// The files of the framework that a call runs through; none unless it ends in the framework or in PyTorch below it.
    fn files_of<'p>(&self, node: &'p Node) -> Option<FxHashSet<&'p str>> {
        let frames = &node.origin.frames;
        let last = frames.iter().rposition(|frame| self.is_choice(frame))?;
        let below = frames.get(last + 1..)?;
        let ends_there = below.iter().all(|f| is_within(&f.file, "torch/"));
        let files = frames.iter().filter(|f| self.files.iter().any(|part| is_within(&f.file, part)));
        ends_there.then(|| files.map(|f| &*f.file).collect())
    }

    fn is_choice(&self, frame: &Frame) -> bool {
        let in_file = self.files.iter().any(|part| is_within(&frame.file, part));
        in_file && (self.functions.is_empty() || self.functions.iter().any(|f| **f == *frame.function))
    }
}

/// Whether `part`, which begins with the name of a folder, is a part of the path.
fn is_within(path: &str, part: &str) -> bool {
    path.match_indices(part).any(|(at, _)| at == 0 || path.get(..at).is_some_and(|before| before.ends_with('/')))
}

#[cfg(test)]
#[path = "flags_tests.rs"]
mod tests;
