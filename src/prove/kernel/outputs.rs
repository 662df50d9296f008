//! Which outputs of two graphs belong together: by what they are to a caller, not by their order.

use std::fmt;

use miette::Diagnostic;
use rustc_hash::FxHashMap;
use thiserror::Error;

use super::Side;
use crate::ir::{AttrValue, Graph, Output, Path, ResultPosition, Target, Value};

/// The outputs of two graphs, side by side.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Outputs {
    pub pairs: Vec<OutputPair>,
    /// Results that are constants, and other ones in A than in B.
    pub unequal: Vec<ConstantPair>,
    /// What was taken for granted, one sentence each.
    pub notes: Vec<String>,
}

/// Two tensors that have to be equal.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OutputPair {
    pub a: Output,
    pub b: Output,
}

/// Two constants that are not equal.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ConstantPair {
    /// What reports call it.
    pub name: String,
    pub a: AttrValue,
    pub b: AttrValue,
}

/// Two graphs do not give the same kinds of values.
#[derive(Clone, Debug, PartialEq, Eq, Error, Diagnostic)]
#[error("A and B do not give the same outputs: {}", .0.join("; "))]
#[diagnostic(
    code(prove::outputs),
    help("compare graphs that return the same structure, and that change the same inputs")
)]
pub struct OutputError(pub Vec<String>);

/// A tensor or a constant among the results.
#[derive(Clone, Copy)]
enum Leaf<'g> {
    Tensor(&'g Output),
    Constant(&'g AttrValue, &'g ResultPosition),
}

/// A graph with the common numbers of its inputs.
type Numbered<'g> = (&'g Graph, &'g [u32]);

/// Brings the outputs of two graphs together, whose inputs have common numbers.
///
/// - A result, by its path in the structure that is returned. If one of the files does not say the structure, by position. A value
///   that is returned by itself is the only leaf of a structure.
/// - A write, by the input that it changes. A graph that does not write to an input leaves it as it is.
/// - A gradient, by the input that it belongs to.
///
/// # Errors
/// Lists what has no counterpart and what is of another type.
pub(crate) fn pair_outputs(a: Numbered, b: Numbered) -> Result<Outputs, OutputError> {
    let mut pairing = Pairing::default();
    pairing.results(a.0, b.0);
    let [written_a, written_b] =
        [(a, Side::A), (b, Side::B)].map(|(graph, side)| pairing.of_inputs(graph, side, written));
    pairing.by_input(a, b, [written_a, written_b], true);
    let [of_a, of_b] = [(a, Side::A), (b, Side::B)].map(|(graph, side)| pairing.of_inputs(graph, side, gradient));
    pairing.by_input(a, b, [of_a, of_b], false);
    for OutputPair { a: x, b: y } in &pairing.found.pairs {
        let (s, t) = (a.0.ty(x.value), b.0.ty(y.value));
        if s != t {
            pairing.wrong.push(format!("`{}` is {s} in A and {t} in B", x.shown()));
        }
    }
    if pairing.wrong.is_empty() { Ok(pairing.found) } else { Err(OutputError(pairing.wrong)) }
}

#[derive(Default)]
struct Pairing {
    found: Outputs,
    wrong: Vec<String>,
}

impl Pairing {
    fn results(&mut self, a: &Graph, b: &Graph) {
        let [of_a, of_b] = [a, b].map(leaves);
        let structured = |leaves: &[Leaf]| leaves.iter().all(|leaf| leaf.place().path.is_some());
        let wrapped = |x: &Leaf, y: &Leaf| [x, y].into_iter().any(|leaf| leaf.path().is_whole());
        match (of_a.as_slice(), of_b.as_slice()) {
            ([x], [y]) if x.path() != y.path() && structured(&of_a) && structured(&of_b) && wrapped(x, y) => {
                let (x_path, y_path) = (x.path(), y.path());
                self.found.notes.push(format!(
                    "A returns its one result as `{x_path}` and B as `{y_path}` (`.` is the value itself); they are compared"
                ));
                self.leaf(x, y);
            }
            (x, y) if structured(x) && structured(y) => self.by_path(x, y),
            (x, y) if x.len() == y.len() => x.iter().zip(y).for_each(|(x, y)| self.leaf(x, y)),
            (x, y) => self.wrong.push(format!("A returns {} values and B {}", x.len(), y.len())),
        }
    }

    fn by_path(&mut self, a: &[Leaf], b: &[Leaf]) {
        let [of_a, mut left] = [(a, Side::A), (b, Side::B)].map(|(leaves, side)| {
            let mut by_path: FxHashMap<&Path, &Leaf> = FxHashMap::default();
            for leaf in leaves {
                if by_path.insert(leaf.path(), leaf).is_some() {
                    self.wrong.push(format!("{side} returns `{}` twice", leaf.path()));
                }
            }
            by_path
        });
        for x in a.iter().filter(|x| of_a.get(x.path()).is_some_and(|last| std::ptr::eq(*last, *x))) {
            match left.remove(x.path()) {
                Some(y) => self.leaf(x, y),
                None => self.wrong.push(format!("only A returns `{}`", x.path())),
            }
        }
        let only = b.iter().filter(|y| left.contains_key(y.path()));
        self.wrong.extend(only.map(|y| format!("only B returns `{}`", y.path())));
    }

    fn leaf(&mut self, x: &Leaf, y: &Leaf) {
        match (x, y) {
            (Leaf::Tensor(x), Leaf::Tensor(y)) if x.is_loss() == y.is_loss() => self.pair((*x).clone(), (*y).clone()),
            // The text of a constant tells it from every other one: NaN from NaN of no kind, 1 from 1.0, 0.0 from -0.0.
            (Leaf::Constant(x, place), Leaf::Constant(y, _)) => {
                if x.to_string() != y.to_string() {
                    let pair = ConstantPair { name: place.to_string(), a: (*x).clone(), b: (*y).clone() };
                    self.found.unequal.push(pair);
                }
            }
            _ => self.wrong.push(format!("`{}` is {x} in A and {y} in B", x.place())),
        }
    }

    fn pair(&mut self, a: Output, b: Output) {
        self.found.pairs.push(OutputPair { a, b });
    }

    /// The outputs of a graph that belong to inputs, by the numbers of those.
    fn of_inputs<'g>(
        &mut self,
        (graph, numbers): Numbered<'g>,
        side: Side,
        input: fn(&Output) -> Option<&str>,
    ) -> Vec<(u32, &'g Output)> {
        let mut found: Vec<(u32, &Output)> = Vec::new();
        for output in graph.outputs() {
            let Some(name) = input(output) else { continue };
            let mut inputs = graph.inputs().iter().zip(numbers);
            match inputs.find(|(id, _)| *graph.node(**id).name == *name) {
                Some((_, &number)) if found.iter().any(|(n, _)| *n == number) => {
                    self.wrong.push(format!("{side} gives {} twice", output.shown()));
                }
                Some((_, &number)) => found.push((number, output)),
                None => self.wrong.push(format!("{side} gives {}, which is bound to an expression", output.shown())),
            }
        }
        found
    }

    /// Brings together what belongs to one input. `kept`: where a side does not give it, the input itself is meant.
    fn by_input(&mut self, a: Numbered, b: Numbered, [of_a, mut of_b]: [Vec<(u32, &Output)>; 2], kept: bool) {
        for (number, x) in of_a {
            let own = of_b.iter().position(|(n, _)| *n == number).map(|i| of_b.remove(i).1.clone());
            match own.or_else(|| unchanged(b, number).filter(|_| kept)) {
                Some(y) => self.pair(x.clone(), y),
                None => self.wrong.push(format!("only A gives {}", x.shown())),
            }
        }
        for (number, y) in of_b {
            match unchanged(a, number).filter(|_| kept) {
                Some(x) => self.pair(x, y.clone()),
                None => self.wrong.push(format!("only B gives {}", y.shown())),
            }
        }
    }
}

/// What a graph that does not write to an input leaves there.
fn unchanged((graph, numbers): Numbered, number: u32) -> Option<Output> {
    let (&id, _) = graph.inputs().iter().zip(numbers).find(|(_, n)| **n == number)?;
    let name = graph.node(id).name.clone();
    Some(Output { name: name.clone(), value: Value::from(id), target: Target::Write(name) })
}

fn written(output: &Output) -> Option<&str> {
    if let Target::Write(name) = &output.target { Some(name) } else { None }
}

fn gradient(output: &Output) -> Option<&str> {
    if let Target::Gradient(name) = &output.target { Some(name) } else { None }
}

/// The results of a graph, in order.
fn leaves(graph: &Graph) -> Vec<Leaf<'_>> {
    let tensors = graph.outputs().iter().filter(|o| o.place().is_some()).map(Leaf::Tensor);
    let constants = graph.constant_outputs().iter().map(|c| Leaf::Constant(&c.value, &c.place));
    let mut all: Vec<Leaf> = tensors.chain(constants).collect();
    all.sort_by_key(|leaf| leaf.place().position);
    all
}

impl<'g> Leaf<'g> {
    fn place(&self) -> &'g ResultPosition {
        const NOWHERE: &ResultPosition = &ResultPosition { position: 0, path: None };
        match self {
            Leaf::Tensor(output) => output.place().unwrap_or(NOWHERE),
            Leaf::Constant(_, place) => place,
        }
    }

    fn path(&self) -> &'g Path {
        const WHOLE: &Path = &Path(Vec::new());
        self.place().path.as_ref().unwrap_or(WHOLE)
    }
}

impl fmt::Display for Leaf<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Leaf::Tensor(output) if output.is_loss() => f.write_str("a loss"),
            Leaf::Tensor(_) => f.write_str("a tensor"),
            Leaf::Constant(value, _) => write!(f, "the constant {value}"),
        }
    }
}
