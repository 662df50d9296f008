//! Assumptions in words that a reader can look up: values of the graphs, with the place where they are made.

use indexmap::IndexMap;
use rustc_hash::FxHashMap;

use super::super::show::show_above;
use super::arena::{Side, TermArena, TermId};
use super::closure::Closure;
use super::graph::Values;
use super::range::Narrow;
use crate::ir::{DType, Graph, Node};
use crate::ops::Arithmetic;
use crate::rules::{Piece, Sentence};

/// Characters of an expression that stands for no value of a graph.
const MOST: usize = 80;

/// A value of a graph and its term.
#[derive(Clone, Copy)]
pub(crate) struct Made<'g> {
    pub term: TermId,
    pub node: &'g Node,
    pub slot: usize,
    /// None where there is only one graph.
    pub side: Option<Side>,
}

/// The values of a graph, with their terms.
pub(super) fn made<'g>(side: Side, graph: &'g Graph, values: &'g Values) -> impl Iterator<Item = Made<'g>> {
    graph.nodes().flat_map(move |(id, node)| {
        let slots = values[id.index()].iter().enumerate();
        slots.map(move |(slot, &term)| Made { term, node, slot, side: Some(side) })
    })
}

/// An assumption as a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    pub text: String,
    /// The same for assumptions of the same about other values.
    alike: String,
}

/// A value as a reader finds it.
struct NamedValue {
    side: Option<Side>,
    name: String,
    /// The source line.
    line: Option<String>,
}

impl Made<'_> {
    fn name(&self) -> String {
        if self.slot == 0 { self.node.name.to_string() } else { format!("{}.{}", self.node.name, self.slot) }
    }

    fn place(&self) -> NamedValue {
        NamedValue { side: self.side, name: self.name(), line: self.node.origin.line().map(ToString::to_string) }
    }
}

impl NamedValue {
    fn text(&self) -> String {
        let of = self.side.map_or(String::new(), |side| format!(" of {side}"));
        let line = self.line.as_ref().map_or(String::new(), |line| format!(" ({line})"));
        format!("`{}`{of}{line}", self.name)
    }
}

/// What the terms of graphs are called.
pub(crate) struct Places<'a> {
    arena: &'a TermArena,
    closure: &'a Closure,
    known: FxHashMap<TermId, Made<'a>>,
    /// A known term of every class.
    by_class: FxHashMap<TermId, TermId>,
    /// Known casts, by the class of what they cast and the type that they cast to.
    casts: FxHashMap<(TermId, DType), TermId>,
}

impl<'a> Places<'a> {
    /// `closure` knows which terms are equal.
    pub(crate) fn new(
        arena: &'a TermArena,
        closure: &'a Closure,
        values: impl IntoIterator<Item = Made<'a>>,
    ) -> Places<'a> {
        let (known, by_class, casts) = Default::default();
        let mut places = Places { arena, closure, known, by_class, casts };
        for made in values {
            let term = made.term;
            places.known.entry(term).or_insert(made);
            places.by_class.entry(closure.find(term)).or_insert(term);
            if arena.op(term).is_some_and(|(op, ..)| op.arithmetic() == Arithmetic::Cast) {
                let operand = closure.find(arena.term(term).operands[0]);
                places.casts.entry((operand, arena.ty(term).dtype)).or_insert(term);
            }
        }
        places
    }

    /// The value that a term is, or else one that equals it, or else the expression over values.
    fn of(&self, term: TermId) -> NamedValue {
        let equal = || self.by_class.get(&self.closure.find(term)).and_then(|t| self.known.get(t));
        if let Some(made) = self.known.get(&term).or_else(equal) {
            return made.place();
        }
        let name = |t| self.known.get(&t).map(Made::name);
        let text = show_above(self.arena, term, &|n| format!("input {n}"), &name);
        let side = self.arena.term(term).operands.iter().find_map(|o| self.known.get(o)?.side);
        let name = match text.char_indices().nth(MOST) {
            Some((at, _)) => format!("{}…", &text[..at]),
            None => text,
        };
        NamedValue { side, name, line: None }
    }

    /// The cast of a term to a type where a graph has one, since its line is where the value would leave the range; or else
    /// the term.
    fn of_cast(&self, term: TermId, dtype: DType) -> NamedValue {
        let cast = self.casts.get(&(self.closure.find(term), dtype)).copied();
        self.of(cast.unwrap_or(term))
    }

    /// The sentence as a text.
    pub(crate) fn said(&self, sentence: &Sentence<TermId>) -> Said {
        let mut said = Said { text: String::new(), alike: String::new() };
        for piece in sentence {
            let place = match piece {
                Piece::Text(words) => {
                    said.alike += words;
                    said.text += words;
                    continue;
                }
                Piece::Tensor(term) => self.of(*term),
                Piece::Cast(term, dtype) => self.of_cast(*term, *dtype),
            };
            said.alike += place.side.map_or("#", |side| if side == Side::A { "#A" } else { "#B" });
            said.text += &place.text();
        }
        said
    }
}

/// So many values of which the same is assumed are all named, each on a line of its own.
const EACH: usize = 3;

/// Every assumption once. Of the same about many values, as in every layer of a model, the first is named and the others are
/// counted.
pub(crate) fn grouped(all: impl IntoIterator<Item = Said>) -> Vec<String> {
    let mut groups: IndexMap<String, Vec<String>> = IndexMap::new();
    for Said { text, alike } in all {
        let group = groups.entry(alike).or_default();
        if !group.contains(&text) {
            group.push(text);
        }
    }
    let lines = |mut texts: Vec<String>| {
        if texts.len() > EACH {
            let others = texts.len() - 1;
            texts.truncate(1);
            texts.iter_mut().for_each(|first| *first += &format!(" (and so in {others} more places)"));
        }
        texts
    };
    let mut texts: Vec<String> = groups.into_values().flat_map(lines).collect();
    texts.sort();
    texts
}

/// That these values stay within the range of their types.
pub(crate) fn ranges<'a>(arena: &'a TermArena, narrow: &'a [Narrow]) -> impl Iterator<Item = Sentence<TermId>> + 'a {
    let within = |dtype: DType| Piece::Text(format!(" stays within the range of {dtype}"));
    narrow.iter().map(move |n| vec![Piece::Tensor(n.term), within(arena.ty(n.term).dtype)])
}
