//! The steps of a proof as an argument for a person: parts that are used more than once get a name, so that each step shows
//! what changes and little else.

use rustc_hash::{FxHashMap, FxHashSet};

use super::order::post_order;
use super::passage::Applied;
use super::prices::{Prices, StepPrices};
use crate::prove::{Head, Lemma, Reason, TermArena, TermId, assumed, show_above};
use crate::report::{Definition, Step};
use crate::rules::Piece;

/// An expression of so many characters needs no name.
const SHORT: usize = 24;

/// A longer expression gets names for its operands.
const LONG: usize = 120;

/// Operators between a step's expressions and what is left out as `…`, where nothing in between has a name.
const DEPTH: usize = 8;

/// What terms are called before the argument starts.
pub(super) struct Known<'a> {
    pub arena: &'a TermArena,
    /// The name of input `n`.
    pub input: &'a dyn Fn(u32) -> String,
    /// The name of a value that the proof builds on. The flag says whether the term is what a step is about: such a term is
    /// only called by the name that it has itself, never by that of an equal one.
    pub given: &'a dyn Fn(TermId, bool) -> Option<String>,
    /// The name of a value in between, where it has one.
    pub between: &'a dyn Fn(TermId) -> Option<String>,
    /// What terms cost; none where steps are shown without.
    pub prices: Option<&'a Prices<'a>>,
}

/// The steps, in order, with the names that each introduces.
pub(super) fn argument(known: &Known, steps: &[Applied]) -> Vec<Step> {
    let subjects = steps.iter().flat_map(Applied::sides).collect();
    let rewritten = steps.iter().map(|step| step.sides()[0]).collect();
    let mut argument = Argument {
        known,
        subjects,
        rewritten,
        names: FxHashMap::default(),
        taken: 0,
        depth: DEPTH,
        cut: FxHashSet::default(),
        priced: known.prices.map(|prices| StepPrices::new(prices, known.arena)),
    };
    steps.iter().map(|step| argument.step(step)).collect()
}

/// An expression by itself, all of it, after the names for parts that make it short.
pub(super) fn expression(known: &Known, term: TermId) -> (Vec<Definition>, String) {
    // What a part is called must not be what an input is called.
    let inputs = (0..known.arena.len()).map(|t| known.arena.nth(t)).filter_map(|t| match known.arena.head(t) {
        Head::Input(n) => Some((t, (known.input)(*n))),
        _ => None,
    });
    let mut argument = Argument {
        known,
        subjects: FxHashSet::from_iter([term]),
        rewritten: FxHashSet::default(),
        names: inputs.collect(),
        taken: 0,
        depth: usize::MAX,
        cut: FxHashSet::default(),
        priced: None,
    };
    let definitions = argument.definitions(&[term]);
    (definitions, argument.text(term))
}

struct Argument<'a> {
    known: &'a Known<'a>,
    /// What the steps are about.
    subjects: FxHashSet<TermId>,
    /// Those that a step replaces.
    rewritten: FxHashSet<TermId>,
    /// Names that steps have introduced.
    names: FxHashMap<TermId, String>,
    /// How many of them were made up.
    taken: usize,
    /// Operators between an expression and what is left out of it.
    depth: usize,
    /// What is too far below the present step to be shown.
    cut: FxHashSet<TermId>,
    priced: Option<StepPrices<'a>>,
}

impl Argument<'_> {
    fn step(&mut self, applied: &Applied) -> Step {
        let (lemma, [from, to]) = (applied.lemma, applied.sides());
        // Where a step ends in something that has a name already, the name says all.
        let ends = (!self.rewritten.contains(&to)).then(|| (self.known.given)(to, false)).flatten();
        let sides = if ends.is_some() { vec![from] } else { vec![from, to] };
        let definitions = self.definitions(&sides);
        let mj = self.priced.as_mut().and_then(|priced| priced.step(from, to));
        Step {
            rule: lemma.name().to_owned(),
            tier: lemma.tier().to_string(),
            doc: doc(lemma),
            definitions,
            before: self.inline_definitions(from),
            after: ends.unwrap_or_else(|| self.inline_definitions(to)),
            assumes: self.assumptions(lemma),
            before_mj: mj.map(|[before, _]| before),
            after_mj: mj.map(|[_, after]| after),
            reversed: applied.is_reversed,
            whole_mj: applied.whole_mj,
        }
    }

    fn name(&self, term: TermId) -> Option<String> {
        let given = (self.known.given)(term, self.subjects.contains(&term));
        let name = given.or_else(|| self.names.get(&term).cloned());
        name.or_else(|| self.cut.contains(&term).then(|| "…".to_owned()))
    }

    fn inline_definitions(&self, term: TermId) -> String {
        show_above(self.known.arena, term, self.known.input, &|t| self.name(t))
    }

    fn text(&self, term: TermId) -> String {
        self.name(term).unwrap_or_else(|| self.inline_definitions(term))
    }

    /// Names what the two sides of a step share, and what would make an expression too long.
    fn definitions(&mut self, sides: &[TermId]) -> Vec<Definition> {
        let Below { terms, users, cut } = self.below(sides);
        self.cut = cut.into_iter().collect();
        let mut definitions = Vec::new();
        // Operands come before their users, so that texts are short by the time they are part of others.
        for term in terms {
            self.shorten(term, &mut definitions);
            if users.get(&term).is_some_and(|&n| n > 1) {
                self.define(term, &mut definitions);
            }
        }
        definitions
    }

    /// What expressions consist of, as far as it has no name.
    fn below(&self, sides: &[TermId]) -> Below {
        let mut found = Below::default();
        let mut seen: FxHashSet<TermId> = sides.iter().copied().collect();
        let mut layer: Vec<TermId> = seen.iter().copied().collect();
        for depth in 0.. {
            let mut next = Vec::new();
            for term in layer {
                found.terms.push(term);
                for &operand in &self.known.arena.term(term).operands {
                    *found.users.entry(operand).or_default() += 1;
                    if self.name(operand).is_none() && seen.insert(operand) {
                        next.push(operand);
                    }
                }
            }
            if next.is_empty() || depth == self.depth {
                found.cut = next;
                break;
            }
            layer = next;
        }
        let whole: FxHashSet<TermId> = found.terms.drain(..).collect();
        found.terms = post_order(self.known.arena, sides, |term| whole.contains(&term));
        found
    }

    /// Names operands of an expression until it is short enough, the longest first.
    fn shorten(&mut self, term: TermId, definitions: &mut Vec<Definition>) {
        while self.inline_definitions(term).chars().count() > LONG {
            let operands = &self.known.arena.term(term).operands;
            let open = operands.iter().filter(|&&o| self.name(o).is_none());
            let Some(&longest) = open.max_by_key(|&&o| self.text(o).chars().count()) else { break };
            if !self.define(longest, definitions) {
                break;
            }
        }
    }

    /// Gives an expression a name if that makes anything shorter.
    fn define(&mut self, term: TermId, definitions: &mut Vec<Definition>) -> bool {
        if self.name(term).is_some() {
            return false;
        }
        let text = self.inline_definitions(term);
        if text.chars().count() <= SHORT {
            return false;
        }
        let name = (self.known.between)(term).filter(|name| !self.names.values().any(|n| n == name));
        let name = name.unwrap_or_else(|| {
            loop {
                self.taken += 1;
                let name = format!("t{}", self.taken);
                if !self.names.values().any(|n| *n == name) {
                    break name;
                }
            }
        });
        self.names.insert(term, name.clone());
        definitions.push(Definition { name, text });
        true
    }

    /// What the step's rule assumes of the tensors that it is applied to.
    fn assumptions(&self, lemma: &Lemma) -> Vec<String> {
        let Reason::Rule { rule, .. } = &lemma.reason else { return Vec::new() };
        if !rule.assumes() {
            return Vec::new();
        }
        // Conditions may have to build terms to be judged.
        let mut arena = self.known.arena.clone();
        let piece = |piece: Piece<TermId>| match piece {
            Piece::Text(text) => text,
            Piece::Tensor(term) | Piece::Cast(term, _) => format!("`{}`", self.text(term)),
        };
        let (sentences, _) = assumed(&mut arena, std::slice::from_ref(lemma));
        sentences.into_iter().map(|sentence| sentence.into_iter().map(piece).collect()).collect()
    }
}

/// What two expressions consist of.
#[derive(Default)]
struct Below {
    /// In ascending order.
    terms: Vec<TermId>,
    /// How many of them use each.
    users: FxHashMap<TermId, usize>,
    /// Too far below to be shown.
    cut: Vec<TermId>,
}

fn doc(lemma: &Lemma) -> String {
    match &lemma.reason {
        Reason::Rule { rule, .. } => rule.doc.to_string(),
        Reason::SplitSlice => "One part of a split is a slice.".to_owned(),
        Reason::PushedDown => {
            "Each element, or each place along a dimension, is computed by itself: elements can be moved before that or after it."
                .to_owned()
        }
        Reason::Near => "Both constants are roundings of the same numbers.".to_owned(),
        Reason::Elements { .. } => "Every element is the same formula over elements of the tensors below.".to_owned(),
    }
}
