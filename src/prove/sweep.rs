//! The sweep: both graphs as terms in one arena. One graph leads; the values of the other one, which follows, are met with its values in
//! topological order. Which one leads depends on the graphs alone, so that exchanging A and B changes no answer.
//!
//! A value whose normal form over already met values is one of the leader's is equal by construction. For the
//! rest, fingerprints propose a partner and a window proves it.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::arena::{TermArena, TermId, TypeId};
use super::candidates::{Among, Candidates};
use super::cone::{Boundary, Cone, ConeKey, cone};
use super::fingerprint::{self, Effort};
use super::kernel::{GraphLeaves, Side, Values, moves_all_of, near, raw_terms};
use super::lemma::{Lemma, Reason};
use super::newest::Newest;
use super::normalise::Normaliser;
use super::pair_solver::{Answer, PairProof, PairSolver, Proved, read_alike};
use super::view_equivalence::{View, views};
use crate::ir::{DType, Graph, NodeId, NodeKind, Value};
use crate::ops::TypeError;
use crate::progress::Progress;
use crate::result_cache::ResultCache;
use crate::rules::{RuleSet, Tier};

/// Operators in the cone of a candidate pair.
const CONE_LIMIT: usize = 96;

/// Shared values that a cone may pass before its proof is given up.
const MAX_DEPTH: usize = 3;

/// Operators below two outputs that are looked at as a whole.
const WHOLE_LIMIT: usize = 256;

/// Outputs that are looked at as a whole.
const MAX_WHOLE: usize = 4;

/// Operators of a pair that is looked at again over what its leaves are computed from, although it differs over these.
const SMALL_CONE: usize = 24;

/// Partners tried for one value.
const MAX_CANDIDATES: usize = 48;

/// Partners in another shape or order tried for one value.
const MAX_TWINS: usize = 4;

/// The state of a sweep.
pub(super) struct Sweep<'r> {
    pub arena: TermArena,
    pub answers: PairSolver<'r>,
    normaliser: Normaliser,
    /// Terms of the follower that were proven equal to a term of the leader.
    merged: FxHashMap<TermId, TermId>,
    in_leader: FxHashSet<TermId>,
    in_follower: FxHashSet<TermId>,
    /// What values of either side are views of, without being values themselves: the normal form of a linear layer over three
    /// dimensions is a view of a product over two.
    viewed_in_leader: FxHashSet<TermId>,
    viewed_in_follower: FxHashSet<TermId>,
    /// Values of the leader by type.
    of_type: Candidates<TypeId>,
    /// Values of the leader by element type and number of elements.
    of_size: Candidates<(DType, usize)>,
    newest: Newest,
    /// Values of the leader inside a proven window: no longer candidates.
    passed: FxHashSet<TermId>,
    /// In which view, if any, the first side of a cone agrees with the second one.
    view_memo: FxHashMap<ConeKey, Option<View>>,
    /// What is left of the budget for fingerprints of twins.
    view_evaluations: usize,
    /// All steps of all proofs so far.
    pub lemmas: Vec<Lemma>,
    /// Proofs of pairs that needed a window, by the follower's term.
    pub proofs: FxHashMap<TermId, PairProof>,
    /// Views of values of the leader that values of the follower were proven equal to, with the leader's value and the view.
    pub views: FxHashMap<TermId, (TermId, View)>,
    /// Whether constants that are apart by rounding are taken for equal.
    pub takes_near: bool,
    /// The side that leads.
    pub leader: Side,
}

impl Boundary for Sweep<'_> {
    fn representative(&self, mut t: TermId) -> TermId {
        // What a value was merged with may have been merged with another since.
        while let Some(&merged) = self.merged.get(&t) {
            t = merged;
        }
        t
    }

    fn is_shared(&self, t: TermId) -> bool {
        let known = |values: &FxHashSet<TermId>, viewed: &FxHashSet<TermId>| values.contains(&t) || viewed.contains(&t);
        known(&self.in_leader, &self.viewed_in_leader) && known(&self.in_follower, &self.viewed_in_follower)
    }
}

/// The side that leads: the one with more operators. Between graphs of one size, an order of their operators decides, with
/// attributes and operands, and between graphs of the same operators it makes no difference.
fn leader((a, of_a): (&Graph, &[u32]), (b, of_b): (&Graph, &[u32])) -> Side {
    let count = |graph: &Graph| graph.nodes().filter(|(_, node)| matches!(node.kind, NodeKind::Op { .. })).count();
    let order = count(a).cmp(&count(b)).then_with(|| described(a, of_a).cmp(described(b, of_b)));
    if order.is_lt() { Side::B } else { Side::A }
}

/// Where an operand comes from: an input, by its number, or output `slot` of the node at a place among those that are no inputs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Origin {
    Input(u32),
    Node { place: usize, slot: u32 },
}

/// The nodes of a graph that are no inputs, without their names: two graphs are the same if these are.
fn described<'g>(graph: &'g Graph, inputs: &[u32]) -> impl Iterator<Item = impl Ord + use<'g>> {
    let mut sources = vec![Origin::Node { place: 0, slot: 0 }; graph.len()];
    let nodes = || graph.nodes().filter(|(_, node)| !matches!(node.kind, NodeKind::Input { .. }));
    for (place, (id, _)) in nodes().enumerate() {
        sources[id.index()] = Origin::Node { place, slot: 0 };
    }
    for (&id, &number) in graph.inputs().iter().zip(inputs) {
        sources[id.index()] = Origin::Input(number);
    }
    nodes().map(move |(id, node)| {
        let what = match &node.kind {
            NodeKind::Input { .. } => ("", &[][..], &[][..]),
            NodeKind::Literal(literal) => ("", &[][..], &literal.data[..]),
            NodeKind::Op { op, attrs } => (op.name(), &attrs[..], &[][..]),
        };
        let types: Vec<String> = node.types.iter().map(ToString::to_string).collect();
        let of = |value: &Value| match sources[value.node.index()] {
            Origin::Node { place, .. } => Origin::Node { place, slot: value.slot },
            input @ Origin::Input(_) => input,
        };
        let operands: Vec<Origin> = graph.operands(id).iter().map(of).collect();
        (what, types, operands)
    })
}

impl<'r> Sweep<'r> {
    /// Takes in both graphs, whose inputs have these numbers. Gives the classes of the values of A and of B.
    pub(super) fn both(
        &mut self,
        (a, of_a): (&Graph, &[u32]),
        (b, of_b): (&Graph, &[u32]),
        progress: &dyn Progress,
    ) -> Result<[Values; 2], TypeError> {
        let leaves_a = GraphLeaves::compared(a, Side::A, of_a);
        let leaves_b = GraphLeaves::compared(b, Side::B, of_b);
        self.leader = leader((a, of_a), (b, of_b));
        Ok(match self.leader {
            Side::A => {
                let values_a = self.lead(a, &leaves_a)?;
                progress.stage("proving");
                [values_a, self.follow(b, &leaves_b, progress)?]
            }
            Side::B => {
                let values_b = self.lead(b, &leaves_b)?;
                progress.stage("proving");
                [self.follow(a, &leaves_a, progress)?, values_b]
            }
        })
    }

    /// Proves outputs equal that one side made of values of its own: values of the leader are not compared with each other, so
    /// that `x` and a detour from `x` to `x` on one side stay two classes, although the other side returns `x` for both. What
    /// is computed from them may follow, which is why all are looked at until no more are met.
    pub(super) fn meet_outputs(&mut self, pairs: &[(Value, Value)], values: &mut [Values; 2]) {
        let terms: Vec<[TermId; 2]> = pairs
            .iter()
            .map(|&(a, b)| {
                [(a, 0), (b, 1)].map(|(v, side): (Value, usize)| values[side][v.node.index()][v.slot as usize])
            })
            .collect();
        self.meet_all(&terms);
        let mut looks = MAX_WHOLE;
        for &[x, y] in &terms {
            if self.meet_whole(self.representative(x), self.representative(y), &mut looks) {
                self.meet_all(&terms);
            }
        }
        for term in values.iter_mut().flatten().flatten() {
            *term = self.representative(*term);
        }
    }

    fn meet_all(&mut self, outputs: &[[TermId; 2]]) {
        while outputs.iter().any(|&[x, y]| self.meet_output(self.representative(x), self.representative(y))) {}
    }

    /// The leader's term and the other one of two outputs that are not met yet.
    fn leader_first(&self, x: TermId, y: TermId) -> Option<(TermId, TermId)> {
        match [x, y].map(|t| self.in_leader.contains(&t)) {
            _ if x == y => None,
            [true, false] => Some((x, y)),
            [false, true] => Some((y, x)),
            // Terms are numbered as they are made: the later one is the detour.
            [true, true] => Some((x.min(y), x.max(y))),
            [false, false] => None,
        }
    }

    /// Whether two outputs are found equal that were not yet.
    fn meet_output(&mut self, x: TermId, y: TermId) -> bool {
        let Some((candidate, other)) = self.leader_first(x, y) else { return false };
        let cone = cone(&self.arena, self, &[candidate, other], 0, CONE_LIMIT);
        let met = cone.is_some_and(|cone| self.try_pair(candidate, other, cone));
        if met {
            self.in_follower.insert(candidate);
        }
        met
    }

    /// Whether two outputs are found equal by all that they are computed from. Where many values in between have no counterpart,
    /// other searches end before they come to the outputs, or look at too little below them.
    fn meet_whole(&mut self, x: TermId, y: TermId, looks: &mut usize) -> bool {
        let Some((candidate, other)) = self.leader_first(x, y).filter(|_| *looks > 0) else { return false };
        let Some(cone) = cone(&self.arena, self, &[candidate, other], usize::MAX, WHOLE_LIMIT) else { return false };
        if matches!(self.answers.known(&cone.key), Some(Answer::Differs)) {
            return false;
        }
        *looks -= 1;
        let (local, roots) = cone.localise(&self.arena, self, &[candidate, other]);
        let Some(proved) = self.answers.last_look(local, [roots[0], roots[1]]) else { return false };
        self.adopt(candidate, other, &cone, &proved);
        self.in_follower.insert(candidate);
        true
    }

    pub(super) fn new(rules: &'r RuleSet, cache: Option<&'r dyn ResultCache>) -> Self {
        Sweep {
            arena: TermArena::default(),
            answers: PairSolver::new(rules, cache),
            normaliser: Normaliser::new(rules),
            merged: FxHashMap::default(),
            in_leader: FxHashSet::default(),
            in_follower: FxHashSet::default(),
            viewed_in_leader: FxHashSet::default(),
            viewed_in_follower: FxHashSet::default(),
            of_type: Candidates::default(),
            of_size: Candidates::default(),
            newest: Newest::default(),
            passed: FxHashSet::default(),
            view_memo: FxHashMap::default(),
            view_evaluations: fingerprint::ALL_VIEWS,
            lemmas: Vec::new(),
            proofs: FxHashMap::default(),
            views: FxHashMap::default(),
            takes_near: rules.weakest() >= Tier::Rounding,
            leader: Side::A,
        }
    }

    /// The class that a value counts as when the graphs are cut: of a view, what it is a view of.
    pub(super) fn cut(&self, term: TermId) -> TermId {
        self.views.get(&term).map_or(term, |(original, _)| *original)
    }

    /// What a term is a view of, view by view.
    fn viewed(&self, t: TermId) -> SmallVec<[TermId; 4]> {
        std::iter::successors(Some(t), |&t| Some(self.representative(moves_all_of(&self.arena, t)?))).skip(1).collect()
    }

    /// Takes in the graph that leads.
    fn lead(&mut self, graph: &Graph, leaves: &GraphLeaves) -> Result<Values, TypeError> {
        let mut values = Values::with_capacity(graph.len());
        for (id, _) in graph.nodes() {
            let terms = self.lower(graph, id, leaves, &values)?;
            for &t in &terms {
                if self.in_leader.insert(t) {
                    let viewed = self.viewed(t);
                    self.viewed_in_leader.extend(viewed);
                    let newest = self.newest.of(&self.arena, t);
                    self.of_type.push(self.arena.term(t).ty, newest, t);
                    let ty = self.arena.ty(t);
                    self.of_size.push((ty.dtype, ty.numel()), newest, t);
                }
            }
            values.push(terms);
        }
        Ok(values)
    }

    /// Takes in the graph that follows and proves its values equal to the leader's where it can.
    fn follow(&mut self, graph: &Graph, leaves: &GraphLeaves, progress: &dyn Progress) -> Result<Values, TypeError> {
        let mut values = Values::with_capacity(graph.len());
        for (id, _) in graph.nodes() {
            progress.tick(id.index() as u64 + 1, graph.len() as u64);
            let mut terms = self.lower(graph, id, leaves, &values)?;
            for t in &mut terms {
                if !self.in_leader.contains(t) {
                    if self.arena.value(*t).is_some() {
                        if self.takes_near {
                            self.meet_near(*t);
                        }
                    } else if self.closes(*t) {
                        let is_view = self.is_view_of_met(*t);
                        [Among::Alike, Among::Others]
                            .into_iter()
                            .any(|among| self.meet(*t, among) || !is_view && self.meet_view(*t, among));
                    }
                    *t = self.representative(*t);
                }
                self.in_follower.insert(*t);
                let viewed = self.viewed(*t);
                self.viewed_in_follower.extend(viewed);
            }
            values.push(terms);
        }
        Ok(values)
    }

    fn lower(
        &mut self,
        graph: &Graph,
        id: NodeId,
        leaves: &GraphLeaves,
        values: &Values,
    ) -> Result<SmallVec<[TermId; 1]>, TypeError> {
        raw_terms(&mut self.arena, graph, id, leaves, values)?
            .into_iter()
            .map(|raw| {
                let normal = self.normaliser.normal(&mut self.arena, raw);
                self.lemmas.append(&mut self.normaliser.lemmas);
                self.answers.busiest.append(&mut self.normaliser.endless);
                Ok(self.representative(normal))
            })
            .collect()
    }

    /// Looks for a value of the leader that the follower's value `t` equals.
    fn meet(&mut self, t: TermId, among: Among) -> bool {
        let ty = self.arena.term(t).ty;
        let newest = self.newest.of(&self.arena, t);
        let kind = (ty, newest, among);
        let (mut tried, mut place) = (0, 0);
        while let Some((at, candidate)) = self.of_type.next(kind, place, [&self.in_follower, &self.passed]) {
            place = at + 1;
            // A cone that does not close belongs to a later part of the graph.
            let Some(cone) = cone(&self.arena, self, &[candidate, t], 0, CONE_LIMIT) else { continue };
            tried += 1;
            if tried > MAX_CANDIDATES {
                break;
            }
            if self.try_pair(candidate, t, cone) {
                self.pass_inside(candidate);
                return true;
            }
        }
        false
    }

    /// Looks for a constant of the leader that is apart by rounding from the follower's constant `t`.
    fn meet_near(&mut self, t: TermId) {
        let kind = (self.arena.term(t).ty, self.newest.of(&self.arena, t), Among::Alike);
        let mut place = 0;
        while let Some((at, candidate)) = self.of_type.next(kind, place, [&self.in_follower, &self.passed]) {
            place = at + 1;
            if near(&self.arena, candidate, t).is_some() {
                self.lemmas.push(Lemma { before: candidate, after: t, reason: Reason::Near });
                self.merged.insert(t, candidate);
                return;
            }
        }
    }

    /// Looks for a value of the leader that has the elements of the follower's value `t` in another shape or order.
    fn meet_view(&mut self, t: TermId, among: Among) -> bool {
        let ty = self.arena.ty(t);
        let size = (ty.dtype, ty.numel());
        let newest = self.newest.of(&self.arena, t);
        let kind = (size, newest, among);
        let (mut tried, mut place) = (0, 0);
        while let Some((at, candidate)) = self.of_size.next(kind, place, [&self.in_follower, &self.passed]) {
            place = at + 1;
            let Some(seen) = cone(&self.arena, self, &[candidate, t], 0, CONE_LIMIT) else { continue };
            tried += 1;
            if tried > MAX_TWINS {
                break;
            }
            let Some(view) = self.agreeing_view(candidate, t, &seen) else { continue };
            let (arena, normaliser) = (&mut self.arena, &mut self.normaliser);
            let Ok(viewed) = view.of(arena, candidate, |arena, term| normaliser.normal(arena, term)) else { continue };
            self.lemmas.append(&mut self.normaliser.lemmas);
            let Some(cone) = cone(&self.arena, self, &[viewed, t], 0, CONE_LIMIT) else { continue };
            if self.try_pair(viewed, t, cone) {
                self.views.insert(viewed, (candidate, view));
                self.in_follower.insert(candidate);
                self.pass_inside(candidate);
                return true;
            }
        }
        false
    }

    /// Whether values that are met lie near enough for a proof. Behind a large part that cannot be proven they do not,
    /// whatever partner is tried.
    fn closes(&self, t: TermId) -> bool {
        cone(&self.arena, self, &[t], 0, CONE_LIMIT).is_some()
    }

    /// Whether a value has the elements of one that is met, as its form says: another view of that would say no more.
    fn is_view_of_met(&self, t: TermId) -> bool {
        let mut below = std::iter::successors(Some(t), |&t| moves_all_of(&self.arena, t));
        below.any(|t| self.is_shared(self.representative(t)))
    }

    /// The view in which sampled elements of `a` are those of `b`.
    fn agreeing_view(&mut self, a: TermId, b: TermId, cone: &Cone) -> Option<View> {
        if let Some(known) = self.view_memo.get(&cone.key) {
            return known.clone();
        }
        if self.answers.has_given_up() {
            return None;
        }
        let (mut local, roots) = cone.localise(&self.arena, self, &[a, b]);
        let alike = read_alike(self.answers.rules, &local, [roots[0], roots[1]]);
        let budget = &mut self.view_evaluations;
        let all = match alike {
            true => views(&self.arena.ty(a).shape, &self.arena.ty(b).shape),
            false => Vec::new(),
        };
        let likely = fingerprint::likely_views(&local, roots[0], roots[1], all, budget);
        let agreeing = likely.into_iter().find(|view| {
            let viewed = view.of(&mut local, roots[0], |_, term| term);
            let budget = &mut self.view_evaluations;
            viewed.is_ok_and(|t| fingerprint::agree(&local, t, roots[1], fingerprint::ONE_VIEW, budget) == Some(true))
        });
        self.view_memo.insert(cone.key.clone(), agreeing.clone());
        agreeing
    }

    /// Tries to prove `candidate` (of the leader) and `t` (of the follower) equal, with wider and wider windows.
    pub(super) fn try_pair(&mut self, candidate: TermId, t: TermId, first: Cone) -> bool {
        let mut current = first;
        let mut effort = fingerprint::PROPOSAL;
        for depth in 0..=MAX_DEPTH {
            match self.answer(candidate, t, &current, effort) {
                Answer::Proven(proved) => {
                    self.adopt(candidate, t, &current, &proved);
                    return true;
                }
                Answer::Unevaluated => return false,
                Answer::Differs | Answer::Unproven { .. } if depth == MAX_DEPTH => {}
                // Values that part over free leaves may still be equal over what those leaves are, but a
                // proposal needs agreement: where that takes much, only the first widening is tried for those.
                Answer::Differs if depth >= 1 && current.size > SMALL_CONE => return false,
                answer => {
                    match answer {
                        Answer::Differs => effort = fingerprint::DOUBT,
                        Answer::Unproven { too_much: true, .. } => effort = fingerprint::UNEVALUATED,
                        _ => {}
                    }
                    let Some(wider) = cone(&self.arena, self, &[candidate, t], depth + 1, CONE_LIMIT) else {
                        return false;
                    };
                    if wider.key == current.key {
                        return false;
                    }
                    current = wider;
                }
            }
        }
        false
    }

    /// The answer for a cone whose first two values these are.
    fn answer(&mut self, a: TermId, b: TermId, cone: &Cone, effort: Effort) -> Answer {
        if let Some(known) = self.answers.known(&cone.key) {
            return known;
        }
        let (local, roots) = cone.localise(&self.arena, self, &[a, b]);
        self.answers.find(&cone.key, local, [roots[0], roots[1]], effort)
    }

    /// Puts the leaves of this pair into a remembered proof, logs it, and joins the two terms.
    fn adopt(&mut self, a: TermId, b: TermId, cone: &Cone, proved: &Proved) {
        let mut map: FxHashMap<TermId, TermId> = FxHashMap::default();
        for (n, &leaf) in cone.leaves.iter().enumerate() {
            map.insert(proved.arena.nth(n), leaf);
        }
        let arena = &mut self.arena;
        let mut import = |t| arena.import(&proved.arena, t, &mut map);
        let lemmas: Vec<Lemma> = proved.lemmas.iter().map(|lemma| lemma.map(&mut import)).collect();
        let ends = proved.ends.map(import);
        self.lemmas.extend(lemmas.iter().cloned());
        self.proofs.insert(b, PairProof { ends, leaves: cone.leaves.clone(), lemmas });
        // A view may be the value itself, or one that was merged before: classes are joined, so that none is behind itself.
        let (kept, joined) = (self.representative(a), self.representative(b));
        if kept != joined {
            self.merged.insert(joined, kept);
        }
    }

    /// Values of the leader between a proven one and the last shared ones have no counterpart to look for.
    fn pass_inside(&mut self, proven: TermId) {
        let mut stack: Vec<TermId> = self.arena.term(proven).operands.to_vec();
        while let Some(t) = stack.pop() {
            if self.in_leader.contains(&t) && !self.in_follower.contains(&t) && self.passed.insert(t) {
                stack.extend(self.arena.term(t).operands.iter().copied());
            }
        }
    }
}
