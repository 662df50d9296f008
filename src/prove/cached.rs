//! Questions and answers of searches as text, so that a [`ResultCache`] can keep them. Steps that come from there are verified
//! like all others.

use std::fmt::Write;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::arena::{Head, TermArena, TermId};
use super::kernel::shows;
use super::lemma::Lemma;
use super::log::{Leaves, Log, Side, Writer};
use crate::ir::TensorType;
use crate::ops::Op;
use crate::result_cache::ResultCache;
use crate::rules::RuleSet;

/// A question about the terms of an arena under some rules: the same text for two arenas if and only if they have the same
/// terms in the same order. `asked` says what is asked of which terms.
pub(crate) fn question(asked: &str, arena: &TermArena, rules: &RuleSet) -> String {
    let mut text = format!("{asked}\nrules {:016x} up to {}\n", rules.fingerprint(), rules.weakest());
    for n in 0..arena.len() {
        let id = arena.nth(n);
        // Writing into a string cannot fail.
        let _ = match arena.head(id) {
            Head::Input(n) => write!(text, "input {n} {:?}", arena.term(id).sign),
            Head::Literal(data) => write!(text, "literal {data:?}"),
            Head::Random(draw) => write!(text, "random {draw:?}"),
            Head::Apply { op: Op::Table(def), attrs, slot } => write!(text, "{} {attrs:?} {slot}", def.name),
            Head::Apply { op: Op::Custom(op), attrs, slot } => write!(text, "{op:?} {attrs:?} {slot}"),
        };
        let operands = arena.term(id).operands.iter().map(|o| o.index());
        let _ = writeln!(
            text,
            " {:?} {} {:?}",
            operands.collect::<Vec<_>>(),
            arena.ty(id),
            arena.value(id).map(|v| (v, arena.constant(id).is_some()))
        );
    }
    text
}

/// Asks for the answer to a question. One that cannot be read counts as forgotten.
pub(crate) fn get<T: DeserializeOwned>(cache: &dyn ResultCache, question: &str) -> Option<T> {
    let answer = serde_json::from_str(&cache.get(question)?);
    answer.inspect_err(|_| cache.invalid(question)).ok()
}

/// Keeps an answer.
pub(crate) fn put<T: Serialize>(cache: &dyn ResultCache, question: &str, answer: &T) {
    if let Ok(text) = serde_json::to_string(answer) {
        cache.put(question, &text);
    }
}

/// Steps that make two terms equal, over the terms of a question.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Steps {
    log: Log,
    ends: [u32; 2],
}

impl Steps {
    /// The steps for a file. The first `known` terms of `arena` are those of the question.
    pub(crate) fn write(
        arena: &TermArena,
        known: usize,
        lemmas: &[Lemma],
        ends: [TermId; 2],
        rules: &RuleSet,
    ) -> Steps {
        let mut writer = Writer::new(arena, rules, &[], known);
        lemmas.iter().for_each(|lemma| writer.push(lemma));
        let ends = ends.map(|t| writer.term(t));
        Steps { log: writer.finish(), ends }
    }

    /// The steps in memory, with the terms that they make equal; what they speak of is added to `arena`, which has the
    /// terms of the question. `None` if a step is not valid or the steps do not show it.
    pub(crate) fn read(&self, arena: &mut TermArena, rules: &RuleSet) -> Option<(Vec<Lemma>, [TermId; 2])> {
        let known = (0..arena.len()).map(|n| arena.nth(n)).collect();
        let terms = self.log.terms(arena, known, &NoLeaves).ok()?;
        let lemmas = self.log.lemmas(&terms, rules).ok()?;
        let [a, b] = self.ends.map(|n| terms.get(n as usize).copied());
        let ends = [a?, b?];
        shows(arena, &lemmas, ends[0], ends[1]).then_some((lemmas, ends))
    }
}

/// All leaves are terms of the question.
struct NoLeaves;

impl Leaves for NoLeaves {
    fn input(&self, _: u32) -> Option<TensorType> {
        None
    }

    fn leaf(&self, _: Side, _: u32, _: u32) -> Option<TermId> {
        None
    }
}
