//! A proof read as one rewriting: term after term, each of which one step makes of the one before.
//!
//! Steps are equalities, and what follows from them follows by congruence. For a reader, a path through the proof forest of the
//! closure is written out: an edge is a step on the whole term, or the rewriting of operands.

use rustc_hash::FxHashMap;

use super::arena::{Head, TermArena, TermId};
use super::closure::{Closure, Reason};
use super::lemma::Lemma;

/// Steps of one rewriting. Nobody follows a longer one.
const MAX_STEPS: usize = 200;

/// Operators between a term and an operand that is rewritten below it.
const MAX_DEPTH: usize = 100;

/// One step of a rewriting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rewritten {
    /// The number of the lemma.
    pub lemma: usize,
    /// Whether its right side is replaced by its left one.
    pub is_reversed: bool,
    /// The whole term after the step.
    pub term: TermId,
}

/// How `lemmas` lead from a term to another one, without a look below `leaves`. `None` if they do not, or only in more steps or
/// deeper than a reader follows.
pub(crate) fn rewriting(
    arena: &mut TermArena,
    leaves: &[TermId],
    lemmas: &[Lemma],
    ends: [TermId; 2],
) -> Option<Vec<Rewritten>> {
    // A closure takes in all terms of an arena, and those of two graphs are many.
    let mut local = TermArena::default();
    let (mut into, mut back) = (FxHashMap::default(), FxHashMap::default());
    for (n, &leaf) in (0..).zip(leaves) {
        let copy = local.leaf_like(arena, leaf, Head::Input(n));
        into.insert(leaf, copy);
        back.insert(copy, leaf);
    }
    let mut import = |term| local.import(arena, term, &mut into);
    let lemmas: Vec<Lemma> = lemmas.iter().map(|lemma| lemma.map(&mut import)).collect();
    let [from, to] = ends.map(import);
    let mut closure = Closure::default();
    for (n, lemma) in (0..).zip(&lemmas) {
        closure.assume(&local, lemma.before, lemma.after, n);
    }
    closure.extend(&local);
    if !closure.equal(from, to) {
        return None;
    }
    let mut reader = Reader { arena: &mut local, closure: &closure, lemmas: &lemmas, known: FxHashMap::default() };
    let steps = without_detours(from, reader.between(from, to, 0)?);
    Some(steps.into_iter().map(|s| Rewritten { term: arena.import(&local, s.term, &mut back), ..s }).collect())
}

/// A step by a lemma, by its number and direction, or one from a constant to another form of it.
type By = Option<(usize, bool)>;

/// The steps of a rewriting, each with the term after it.
type Steps = Vec<(By, TermId)>;

struct Reader<'a> {
    arena: &'a mut TermArena,
    closure: &'a Closure,
    lemmas: &'a [Lemma],
    /// Rewritings between terms, so that what two operands share is rewritten in one way.
    known: FxHashMap<[TermId; 2], Steps>,
}

impl Reader<'_> {
    fn between(&mut self, from: TermId, to: TermId, depth: usize) -> Option<Steps> {
        if from == to {
            return Some(Steps::new());
        }
        if depth > MAX_DEPTH {
            return None;
        }
        if let Some(known) = self.known.get(&[from, to]) {
            return Some(known.clone());
        }
        let mut steps = Steps::new();
        for (x, y, reason) in self.closure.path(from, to) {
            match reason {
                Reason::Assumed(n) => {
                    let is_reversed = self.lemmas.get(n as usize)?.before != x;
                    steps.push((Some((n as usize, is_reversed)), y));
                }
                Reason::Constant => steps.push((None, y)),
                Reason::Congruent => steps.extend(self.inside(x, y, depth + 1)?),
            }
            if steps.len() > MAX_STEPS {
                return None;
            }
        }
        self.known.insert([from, to], steps.clone());
        Some(steps)
    }

    /// From `x` to `y` by the rewriting of operands.
    fn inside(&mut self, x: TermId, y: TermId, depth: usize) -> Option<Steps> {
        let pairs = self.closure.operand_pairs(self.arena, x, y);
        let mut timeline: Vec<(By, Vec<(usize, TermId)>)> = Vec::new();
        for (place, (from, to)) in pairs.into_iter().enumerate() {
            timeline = merge(timeline, place, self.between(from, to, depth)?);
        }
        let mut operands = self.arena.term(x).operands.clone();
        let (op, attrs, slot) = self.arena.op(x).map(|(op, attrs, slot)| (op.clone(), attrs.clone(), slot))?;
        let ty = self.arena.ty(x).clone();
        let mut steps = Steps::new();
        for (by, changes) in timeline {
            changes.into_iter().for_each(|(place, term)| operands[place] = term);
            steps.push((by, self.arena.call(&op, &attrs, slot, &operands, Some(&ty)).ok()?));
        }
        // What is left is the order of operands.
        match steps.last_mut() {
            Some((_, last)) => *last = y,
            None => steps.push((None, y)),
        }
        Some(steps)
    }
}

/// The steps of one more operand among those of others. What several need happens to all of them at once, as it does where they
/// share what is rewritten.
fn merge(timeline: Vec<(By, Vec<(usize, TermId)>)>, place: usize, steps: Steps) -> Vec<(By, Vec<(usize, TermId)>)> {
    let mut merged = Vec::with_capacity(timeline.len() + steps.len());
    let mut rest = steps.into_iter().peekable();
    for (by, mut changes) in timeline {
        let is_later = |rest: &mut std::iter::Peekable<std::vec::IntoIter<(By, TermId)>>| {
            rest.clone().any(|(other, _)| other == by)
        };
        while is_later(&mut rest) {
            let Some((other, term)) = rest.next() else { break };
            if other == by {
                changes.push((place, term));
                break;
            }
            merged.push((other, vec![(place, term)]));
        }
        merged.push((by, changes));
    }
    merged.extend(rest.map(|(by, term)| (by, vec![(place, term)])));
    merged
}

/// The steps by lemmas alone, without those that lead away and back again.
fn without_detours(from: TermId, steps: Steps) -> Vec<Rewritten> {
    let mut straight: Vec<Rewritten> = Vec::new();
    for (by, term) in steps {
        match by {
            Some((lemma, is_reversed)) => straight.push(Rewritten { lemma, is_reversed, term }),
            None => {
                if let Some(last) = straight.last_mut() {
                    last.term = term;
                }
            }
        }
        let before = straight.len().saturating_sub(1);
        if term == from {
            straight.clear();
        } else if let Some(at) = straight[..before].iter().position(|step| step.term == term) {
            straight.truncate(at + 1);
        }
    }
    straight
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::text;
    use crate::prove::{GraphLeaves, Side, graph_terms, show};

    /// The terms of `names`, which stand for lines over `x`, `y` and `z`.
    fn terms<const N: usize>(arena: &mut TermArena, lines: [&str; N]) -> [TermId; N] {
        lines.map(|line| {
            let source = format!("graph g(x: f32[2], y: f32[2], z: f32[2]) {{ r = {line} return r }}");
            let graph = text::parse("test.mir", &source).unwrap_or_else(|e| panic!("{e:?}"));
            let values = graph_terms(arena, &graph, &GraphLeaves::of(&graph, Side::A, &[0, 1, 2])).unwrap();
            values[graph.outputs()[0].value.node.index()][0]
        })
    }

    fn near(before: TermId, after: TermId) -> Lemma {
        Lemma { before, after, reason: crate::prove::Reason::SplitSlice }
    }

    fn shown(arena: &TermArena, steps: &[Rewritten]) -> Vec<String> {
        let name = |n: u32| ["x", "y", "z"][n as usize].to_owned();
        steps
            .iter()
            .map(|s| format!("{}{} {}", s.lemma, if s.is_reversed { "'" } else { "" }, show(arena, s.term, &name)))
            .collect()
    }

    #[test]
    fn a_part_that_is_used_twice_is_rewritten_once() {
        let mut arena = TermArena::default();
        let [from, to, exp, tanh] = terms(
            &mut arena,
            ["add(neg(exp(x)), abs(exp(x)))", "add(neg(tanh(x)), abs(tanh(x)))", "exp(x)", "tanh(x)"],
        );
        let steps = rewriting(&mut arena, &[], &[near(exp, tanh)], [from, to]).unwrap();
        assert_eq!(shown(&arena, &steps), ["0 add(neg(tanh(x)), abs(tanh(x)))"]);
    }

    #[test]
    fn the_second_half_of_a_proof_that_meets_in_the_middle_is_read_from_right_to_left() {
        let mut arena = TermArena::default();
        let [from, to, exp, tanh, abs] =
            terms(&mut arena, ["neg(exp(x))", "neg(abs(x))", "exp(x)", "tanh(x)", "abs(x)"]);
        let lemmas = [near(exp, tanh), near(abs, tanh)];
        let steps = rewriting(&mut arena, &[], &lemmas, [from, to]).unwrap();
        assert_eq!(shown(&arena, &steps), ["0 neg(tanh(x))", "1' neg(abs(x))"]);
        let back = rewriting(&mut arena, &[], &lemmas, [to, from]).unwrap();
        assert_eq!(shown(&arena, &back), ["1 neg(tanh(x))", "0' neg(exp(x))"]);
    }

    #[test]
    fn operands_are_rewritten_where_they_stand() {
        let mut arena = TermArena::default();
        // `exp(x)` stays where the other side has it too.
        let [from, to, exp, tanh] =
            terms(&mut arena, ["add(exp(x), neg(exp(x)))", "add(exp(x), neg(tanh(x)))", "exp(x)", "tanh(x)"]);
        let steps = rewriting(&mut arena, &[], &[near(exp, tanh)], [from, to]).unwrap();
        assert_eq!(shown(&arena, &steps), ["0 add(exp(x), neg(tanh(x)))"]);
        assert_eq!(rewriting(&mut arena, &[], &[], [from, to]), None);
    }

    #[test]
    fn nothing_is_looked_at_below_a_leaf() {
        let mut arena = TermArena::default();
        let [from, to, exp, tanh] = terms(&mut arena, ["neg(exp(x))", "neg(tanh(x))", "exp(x)", "tanh(x)"]);
        let lemmas = [near(exp, tanh)];
        let steps = rewriting(&mut arena, &[exp, tanh], &lemmas, [from, to]).unwrap();
        assert_eq!(shown(&arena, &steps), ["0 neg(tanh(x))"]);
    }
}
