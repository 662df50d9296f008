//! A graph becomes a file, and takes its place only if it is proven to be what was asked for.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::values::{Values, values};
use super::{EmitError, Program, pt2, python};
use crate::extract::Once;
use crate::files::{self, Draft};
use crate::frontend::pt2::{Original, original};
use crate::frontend::{self, LoadError};
use crate::ir::{Content, Contents, Graph, NoContents, Number, text};
use crate::prove::{Context, Verdict, bind_with_contents, prove_bound};
use crate::rules::Tier;

/// What a file of a graph is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The text form of the IR.
    Mir,
    Python,
    /// An exported program.
    Pt2,
}

impl Format {
    /// The format of a file by the end of its name.
    ///
    /// # Errors
    /// Other ends than these.
    pub fn of(path: &Path) -> Result<Self, EmitError> {
        match path.extension().and_then(|e| e.to_str()) {
            Some("mir") => Ok(Format::Mir),
            Some("py") => Ok(Format::Python),
            Some("pt2") => Ok(Format::Pt2),
            _ => Err(EmitError::Format { path: path.to_owned() }),
        }
    }
}

/// A graph as it was read.
pub struct Workload<'w> {
    /// The file that it was read from.
    pub path: &'w Path,
    pub graph: &'w Graph,
    pub contents: &'w mut dyn Contents,
}

/// Whether a graph from the file `from` can be written to `path` at all: the end of its name says a format, an exported program
/// is made of another one, and a file can be made there.
///
/// # Errors
/// Why not.
pub fn can_be_written(from: &Path, path: &Path) -> Result<(), EmitError> {
    if Format::of(path)? == Format::Pt2 && !starts_an_archive(from)? {
        return Err(no_archive(from));
    }
    files::can_be_written(path).map_err(|source| EmitError::Write { path: path.to_owned(), source })
}

fn no_archive(from: &Path) -> EmitError {
    EmitError::archive(format!("{} is no exported program", from.display()))
}

fn open(path: &Path) -> Result<BufReader<File>, EmitError> {
    let file = File::open(path).map_err(|source| LoadError::Io { file: path.to_owned(), source })?;
    Ok(BufReader::new(file))
}

fn starts_an_archive(path: &Path) -> Result<bool, EmitError> {
    // What is no regular file can be read once only.
    let regular = std::fs::metadata(path).map_err(|source| LoadError::Io { file: path.to_owned(), source })?.is_file();
    Ok(regular && frontend::is_archive(&mut open(path)?)?)
}

/// Writes `graph`, a changed form of `workload`, to `path`, in the format that its end names; where `once` cuts it in two, the part
/// that every execution computes, and what the other part is. It is proven to be equivalent to the workload at `tier`; and so is what
/// was written, read back before it takes its place there, as far as there is a reader for it.
///
/// # Errors
/// What the format has no words for; a proof that does not succeed. Then nothing is written.
pub fn write(
    graph: &Graph,
    once: Option<&Once>,
    mut workload: Workload,
    path: &Path,
    context: &Context,
    tier: Tier,
) -> Result<(), EmitError> {
    let place = |source: io::Error| EmitError::Write { path: path.to_owned(), source };
    let format = Format::of(path)?;
    let mut draft = Draft::new(path).map_err(place)?;
    prove(graph.clone(), &mut NoContents, &mut workload, context, tier)?;
    let executed = once.map_or(graph, |once| &once.each);
    match format {
        Format::Mir => {
            // One graph, in which what is computed once is marked: what it is computed from is part of what the text says.
            let (whole, _) = whole(executed.clone(), once, str::to_owned)?;
            let text = text::print(&whole);
            draft.file().write_all(text.as_bytes()).map_err(place)?;
            let back = text::parse(&path.display().to_string(), &text).map_err(LoadError::from)?;
            prove(back, &mut NoContents, &mut workload, context, tier)?;
        }
        Format::Python => {
            let source = archive(workload.path)?;
            let record = source.as_ref().map(|original| &original.record);
            let before = once.map(|once| Program::new(&once.before, record)).transpose()?;
            let text = python(&Program::new(executed, record)?, before.as_ref())?;
            draft.file().write_all(text.as_bytes()).map_err(place)?;
        }
        Format::Pt2 => {
            let mut source = archive(workload.path)?.ok_or_else(|| no_archive(workload.path))?;
            let program = Program::new(executed, Some(&source.record))?;
            let computed = once.map(|once| values(once, workload.graph, workload.contents)).transpose()?;
            let computed = computed.unwrap_or_default();
            let mut target = BufWriter::new(draft.file());
            let names = pt2::write(&program, &computed, &mut source, &mut target)?;
            target.flush().map_err(place)?;
            drop(target);
            let mut back = frontend::load_with(draft.path(), &frontend::LoadOptions::default())?;
            back.graph.config = graph.config.clone();
            let name = |own: &str| names.get(own).cloned().unwrap_or_else(|| own.to_owned());
            compare(&back.graph, &mut *back.contents, &computed, name)?;
            let (whole, places) = whole(back.graph, once, name)?;
            prove(whole, &mut Picked { of: &mut *back.contents, places }, &mut workload, context, tier)?;
        }
    }
    draft.publish().map_err(place)
}

/// The graph that was written as `each`, with what is computed once in front of it, and where its inputs stand among those of `each`.
fn whole(each: Graph, once: Option<&Once>, name: impl Fn(&str) -> String) -> Result<(Graph, Vec<usize>), EmitError> {
    let Some(once) = once else {
        let places = (0..each.inputs().len()).collect();
        return Ok((each, places));
    };
    let unlike = || EmitError::Unproven { reason: "what was written has other inputs".to_owned(), nodes: Vec::new() };
    once.joined(&each, name).ok_or_else(unlike)
}

/// Compares the values that a written archive holds of what is computed once with those that were computed.
fn compare(
    written: &Graph,
    contents: &mut dyn Contents,
    computed: &Values,
    name: impl Fn(&str) -> String,
) -> Result<(), EmitError> {
    for (own, data) in computed {
        let own = name(own);
        let place = written.inputs().iter().position(|&id| *written.node(id).name == *own);
        // Bit for bit, but that a value that is no number differs from itself.
        let same = |x: &Number, y: &Number| x == y || (x.to_f64().is_nan() && y.to_f64().is_nan());
        let held = place.and_then(|place| contents.elements(place));
        if !held.is_some_and(|held| held.len() == data.len() && held.iter().zip(data).all(|(x, y)| same(x, y))) {
            let reason = format!("`{own}` was not written as it was computed");
            return Err(EmitError::Unproven { reason, nodes: Vec::new() });
        }
    }
    Ok(())
}

/// The contents of some inputs.
struct Picked<'c> {
    of: &'c mut dyn Contents,
    places: Vec<usize>,
}

impl Contents for Picked<'_> {
    fn holds(&mut self, input: usize) -> bool {
        self.places.get(input).is_some_and(|&place| self.of.holds(place))
    }

    fn checksum(&mut self, input: usize) -> Option<u32> {
        self.of.checksum(*self.places.get(input)?)
    }

    fn content(&mut self, input: usize) -> Option<Content> {
        self.of.content(*self.places.get(input)?)
    }

    fn tells_weights(&self) -> bool {
        self.of.tells_weights()
    }

    fn elements(&mut self, input: usize) -> Option<Vec<Number>> {
        self.of.elements(*self.places.get(input)?)
    }

    fn missing(&mut self, input: usize) -> Option<PathBuf> {
        self.of.missing(*self.places.get(input)?)
    }
}

/// The archive that a workload was read from; none if it is another kind of file.
fn archive(path: &Path) -> Result<Option<Original<BufReader<File>>>, EmitError> {
    if !starts_an_archive(path)? {
        return Ok(None);
    }
    let read = original(path, open(path)?)?;
    match &read.record.complex {
        Some(name) => Err(EmitError::Complex { name: name.clone() }),
        None => Ok(Some(read)),
    }
}

fn prove(
    written: Graph,
    contents: &mut dyn Contents,
    workload: &mut Workload,
    context: &Context,
    tier: Tier,
) -> Result<(), EmitError> {
    context.progress.stage("proving what is written");
    let rules = context.rules.up_to(tier);
    let context = Context { rules: &rules, ..*context };
    let bound = bind_with_contents(workload.graph.clone(), written, None, [&mut *workload.contents, contents]);
    let proof = prove_bound(&bound, &context)?;
    let reason = match proof.verdict {
        Verdict::Equivalent { tier: found } => tier.refuses(found, proof.output_error),
        Verdict::Different(witness) => Some(format!("the output `{}` differs", witness.output)),
        Verdict::Unknown => {
            let first = proof.unproven.first().map(|u| match u.b.first() {
                Some(&node) => format!("it is not proven what `{}` computes", bound.b.node(node).name),
                None => "it is not proven".to_owned(),
            });
            Some(first.unwrap_or_else(|| "it is not proven".to_owned()))
        }
    };
    match reason {
        None => Ok(()),
        Some(reason) => {
            let nodes = proof.unproven.iter().flat_map(|u| &u.b).map(|&id| bound.b.node(id).name.to_string());
            Err(EmitError::Unproven { reason, nodes: nodes.collect() })
        }
    }
}
