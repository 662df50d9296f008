//! The verdict on two graphs, with the proof behind it.

use std::collections::BTreeMap;
use std::sync::Arc;

use miette::Diagnostic;
use rustc_hash::{FxHashMap, FxHashSet};
use thiserror::Error;

use super::arena::{TermArena, TermId};
use super::bind::{Binding, BoundPair, bind};
use super::bound::output_error;
use super::certificate::{Certificate, Claim, Contents};
use super::classes::Accepted;
use super::cone::Boundary;
use super::context::Context;
use super::difference::{difference, parts_in_types};
use super::kernel::{
    CheckError, ConstantPair, OutputError, Outputs, Refused, Replay, Side, Values, chance_assumptions, pair_outputs,
};
use super::lemma::{Lemma, NEAR};
use super::math::math_tier;
use super::pair_solver::{Caught, PairProof};
use super::refute::{self, Met, Question, met};
use super::regions::{Classes, Partition, Region, RegionKind, partition};
use super::sweep::Sweep;
use super::unproven::{Unproven, smallest_unproven};
use super::witness::{Verdict, Witness};
use crate::ir::{AttrValue, Graph, NodeId, NodeKind, Number, Value};
use crate::ops::{CustomOp, Op, TypeError};
use crate::progress::Progress;
use crate::rules::{RuleSet, Tier};

/// What is known of two graphs.
pub struct Proof {
    /// What it comes to.
    pub verdict: Verdict,
    /// How inputs were paired.
    pub binding: Binding,
    /// Which operators are equal to which.
    pub partition: Partition,
    /// What the rules that were used assumed, and which values have to stay within the range of their types.
    pub assumed: Vec<String>,
    /// How far the outputs are apart at most, in the norm of the approximate step that they come from; none where nothing
    /// bounds all of them.
    pub output_error: Option<f64>,
    /// The operators whose results would leave the range of their types first.
    narrow: Vec<(Side, NodeId)>,
    /// Pairs that should be equal and are not proven so.
    pub unproven: Vec<Unproven>,
    /// All steps, over the terms of `arena`.
    pub lemmas: Vec<Lemma>,
    /// Numbers of the lemmas that the report's claims need.
    pub needed: Vec<u32>,
    /// Values of A and of B that are equal, where regions end.
    pub cuts: Vec<(Value, Value)>,
    /// The terms of both graphs.
    pub arena: TermArena,
    /// Class of each value of A and of B.
    pub values_a: Values,
    /// The term of each value of the second graph.
    pub values_b: Values,
    /// The side whose values others were proven equal to.
    pub leader: Side,
    /// Proofs of single values, by the class that they end in.
    pub proofs: FxHashMap<TermId, Vec<PairProof>>,
    /// What the checker did not accept. Nothing here rests on it.
    pub rejected: Option<Rejected>,
    /// Steps that cannot be right. Nothing here rests on them.
    pub caught: Vec<Caught>,
    /// Rules that used up the budget of a window.
    pub busiest: Vec<Arc<str>>,
}

/// Why two graphs cannot be compared.
#[derive(Debug, Error, Diagnostic)]
#[allow(missing_docs, reason = "the message of each variant says it")]
pub enum ProveError {
    #[error(transparent)]
    #[diagnostic(transparent)]
    Outputs(#[from] OutputError),
    #[error(transparent)]
    #[diagnostic(code(prove::graph))]
    Graph(#[from] TypeError),
}

/// What of a proof did not hold: an inconsistency in this program, never in its input.
#[derive(Clone, Debug, PartialEq)]
pub struct Rejected {
    /// The rule of the step, or the operator of the constant. None where it is no single step.
    pub step: Option<String>,
    /// Why the step was refused.
    pub reason: String,
}

impl From<Refused> for Rejected {
    fn from(refused: Refused) -> Self {
        Rejected { step: Some(refused.step), reason: refused.error.to_string() }
    }
}

/// Compares two graphs under `rules`, with inputs bound by name and by position.
///
/// # Errors
/// Outputs that cannot be paired, or a node without a type.
pub fn prove(a: &Graph, b: &Graph, rules: &RuleSet, progress: &dyn Progress) -> Result<Proof, ProveError> {
    prove_bound(&bind(a, b), &Context { progress, ..Context::under(rules) })
}

/// Compares two graphs whose inputs are bound already.
///
/// # Errors
/// As [`prove`].
pub fn prove_bound(bound: &BoundPair, context: &Context) -> Result<Proof, ProveError> {
    let proof = prove_taking(bound, context, true)?;
    let contradicts = |rejected: &Rejected| rejected.step.as_deref() == Some(NEAR);
    if proof.rejected.as_ref().is_some_and(contradicts) { prove_taking(bound, context, false) } else { Ok(proof) }
}

/// As [`prove_bound`]. `near` says whether constants that are apart by rounding may be taken for equal.
fn prove_taking(bound: &BoundPair, context: &Context, near: bool) -> Result<Proof, ProveError> {
    let Context { rules, cache, progress, .. } = *context;
    let BoundPair { a, b, binding } = bound;
    let outputs = pair_outputs((a, &binding.a), (b, &binding.b))?;
    let mut sweep = Sweep::new(rules, cache);
    sweep.takes_near &= near;
    let mut values = sweep.both((a, &binding.a), (b, &binding.b), progress)?;
    let pairs: Vec<(Value, Value)> = outputs.pairs.iter().map(|pair| (pair.a.value, pair.b.value)).collect();
    sweep.meet_outputs(&pairs, &mut values);
    let [values_a, values_b] = values;
    conclude(bound, context, &outputs, sweep, values_a, values_b)
}

/// What follows from a finished sweep, as far as the checker agrees.
fn conclude(
    bound: &BoundPair,
    context: &Context,
    outputs: &Outputs,
    mut sweep: Sweep,
    values_a: Values,
    values_b: Values,
) -> Result<Proof, ProveError> {
    let Context { rules, progress, .. } = *context;
    let BoundPair { a, b, binding } = bound;
    progress.stage("checking the proof");
    let checked = check(bound, outputs, &sweep, [&values_a, &values_b], context.seed)?;
    let Checked { tier, output_error, mut partition, ends, cuts, needed, assumed, doubt, narrow, rejected, complete } =
        checked;

    let mut binding = binding.clone();
    let (verdict, unproven) = match (outputs.unequal.first(), tier) {
        (Some(constants), _) => (Verdict::Different(constants_witness(constants, context.seed)), Vec::new()),
        (None, Some(tier)) if binding.is_contradicted(a, b) => {
            let text = format!("the sides would be equivalent at tier {tier} if both files held the same values");
            binding.assumptions.push(text);
            (Verdict::Unknown, Vec::new())
        }
        (None, Some(tier)) => {
            // What holds for few inputs is no equality of programs that take others, too.
            let found = match doubt {
                Doubt::None => None,
                _ => difference(bound, context, refute::IN_DOUBT, &mut partition, &mut binding.assumptions),
            };
            let unless_found = || match doubt {
                Doubt::Unmet(text) => {
                    binding.assumptions.push(text);
                    Verdict::Unknown
                }
                _ if tier > Tier::Exact && parts_in_types(bound, context, &mut binding.assumptions) => Verdict::Unknown,
                _ => Verdict::Equivalent { tier },
            };
            (found.unwrap_or_else(unless_found), Vec::new())
        }
        (None, None) => {
            progress.stage("looking for a difference");
            // What the sweep takes for equal is no pair that it could not prove.
            let unproven = match complete {
                true => smallest_unproven(a, b, outputs, &partition, &values_a, &values_b, &sweep),
                false => Vec::new(),
            };
            let found = difference(bound, context, refute::TOTAL, &mut partition, &mut binding.assumptions);
            (found.unwrap_or(Verdict::Unknown), unproven)
        }
    };
    binding.assumptions.extend(chance_assumptions(a, b));
    note_opaque(a, b, rules, &mut binding.assumptions);
    let mut proofs: FxHashMap<TermId, Vec<PairProof>> = FxHashMap::default();
    for (t, end) in ends {
        proofs.entry(end).or_default().extend(sweep.proofs.remove(&t));
    }
    Ok(Proof {
        verdict,
        binding,
        partition,
        assumed,
        output_error,
        narrow,
        unproven,
        lemmas: sweep.lemmas,
        needed,
        cuts,
        arena: sweep.arena,
        values_a,
        values_b,
        leader: sweep.leader,
        proofs,
        rejected,
        caught: sweep.answers.caught,
        busiest: sweep.answers.busiest,
    })
}

/// That a result is one constant in A and another one in B: no input makes them the same.
fn constants_witness(ConstantPair { name, a, b }: &ConstantPair, seed: u64) -> Witness {
    let number = |value: &AttrValue| match value {
        AttrValue::Bool(v) => Number::Int(i64::from(*v)),
        other => other.as_number().unwrap_or(Number::float(f64::NAN)),
    };
    let (x, y) = (number(a), number(b));
    Witness {
        seed,
        output: name.clone(),
        output_number: None,
        index: Vec::new(),
        a: x,
        b: y,
        constants: Some(Box::new([a.clone(), b.clone()])),
        max_abs_error: (x.to_f64() - y.to_f64()).abs(),
        region: None,
        first_a: None,
        first_b: None,
        inputs: Vec::new(),
    }
}

/// Whether inputs meet what a proof assumes.
enum Doubt {
    None,
    /// An input of real numbers has one sign only by what is assumed, or not all inputs that were tried meet it.
    Some,
    /// None that was tried meets what is assumed of one value: which, in words.
    Unmet(String),
}

/// What the checker, which shares nothing with the search, says of a sweep's proof.
struct Checked {
    /// How equal the outputs are, if they are.
    tier: Option<Tier>,
    /// See [`Proof::output_error`].
    output_error: Option<f64>,
    /// Both graphs, cut where the checker agrees that they are equal.
    partition: Partition,
    /// The class that each of the sweep's proofs of single values ends in.
    ends: BTreeMap<TermId, TermId>,
    /// See [`Proof::cuts`].
    cuts: Vec<(Value, Value)>,
    /// See [`Proof::needed`].
    needed: Vec<u32>,
    /// See [`Proof::assumed`].
    assumed: Vec<String>,
    /// Whether inputs meet what is assumed.
    doubt: Doubt,
    /// See [`Proof::narrow`].
    narrow: Vec<(Side, NodeId)>,
    /// See [`Proof::rejected`].
    rejected: Option<Rejected>,
    /// Whether all that the sweep takes for equal is.
    complete: bool,
}

/// Replays the sweep's steps, and finds those that the report's claims rest on. A claim that does not follow from valid steps is
/// dropped.
fn check(
    bound: &BoundPair,
    outputs: &Outputs,
    sweep: &Sweep,
    [values_a, values_b]: [&Values; 2],
    seed: u64,
) -> Result<Checked, TypeError> {
    let BoundPair { a, b, binding } = bound;
    let (mut replay, refused) = Replay::of_valid((a, &binding.a), (b, &binding.b), &sweep.arena, &sweep.lemmas)?;
    let mut rejected = refused.map(Rejected::from);
    let (refused, gap) = refused_classes([(a, values_a), (b, values_b)], sweep, &mut replay);
    let complete = refused.is_empty();
    rejected = rejected.or(gap.map(|gap| Rejected { step: None, reason: gap.to_string() }));

    let classes = Accepted::new(sweep, &replay, [values_a, values_b], refused);
    let (of_a, of_b) = (classes.of(values_a), classes.of(values_b));
    let partition = partition((a, &of_a), (b, &of_b), &classes);
    let end = |&t: &TermId| (t, classes.cut(classes.class(sweep.representative(t))));
    let ends = sweep.proofs.keys().map(end).collect();
    let outputs: Vec<(Value, Value)> = outputs.pairs.iter().map(|pair| (pair.a.value, pair.b.value)).collect();
    let tier = replay.explain(&outputs).map(|why| why.tier(&sweep.lemmas));
    let all = |graph: &Graph| graph.nodes().map(|(id, _)| id).collect::<Vec<_>>();
    let tier = tier.map(|t| math_tier((a, &all(a)), (b, &all(b))).map_or(t, |math| t.max(math)));
    // What the report says is equal: the ends of regions, and the outputs if they are.
    let mut cuts = cuts(&partition, &of_a, &of_b);
    cuts.retain(|&(x, y)| replay.equal(x, y));
    let mut claims = cuts.clone();
    if tier.is_some() {
        claims.extend(&outputs);
    }
    let needed = replay.explain(&claims).map_or_else(Vec::new, |why| why.steps);
    let equal_outputs = if tier.is_some() { &outputs[..] } else { &[] };
    // Only a proof with approximate steps has an error to bound.
    let rough = matches!(tier, Some(Tier::Approx(_)));
    let output_error = if rough { output_error([a, b], &replay, &needed, &outputs) } else { None };
    let assumed = replay.assumed([a, b], &needed, equal_outputs, &cuts);
    let tier = tier.map(|t| if assumed.weakens { t.max(Tier::Rounding) } else { t });
    let narrow = replay.weakening(&assumed.narrow);
    let question = Question { graphs: [a, b], binding, seed, effort: 0, unproven: [&[], &[]] };
    let limits = if tier.is_some() { &assumed.limits[..] } else { &[] };
    let doubt = match met(&question, replay.arena(), limits) {
        Met::Never(term) => Doubt::Unmet(replay.says_never([a, b], &needed, term)),
        Met::AtOnce if !assumed.one_sign => Doubt::None,
        Met::AtOnce | Met::InDoubt => Doubt::Some,
    };
    let assumed = assumed.texts;
    Ok(Checked { tier, output_error, partition, ends, cuts, needed, assumed, doubt, narrow, rejected, complete })
}

/// The classes in which the sweep puts values that are not equal by valid steps, and what is missing for the first of them.
fn refused_classes(
    sides: [(&Graph, &Values); 2],
    sweep: &Sweep,
    replay: &mut Replay,
) -> (FxHashSet<TermId>, Option<CheckError>) {
    let seen: FxHashSet<TermId> = sweep.views.values().map(|(original, _)| *original).collect();
    let mut first: FxHashMap<TermId, (Side, Value)> = FxHashMap::default();
    let (mut refused, mut gap) = (FxHashSet::default(), None);
    for ((graph, values), side) in sides.into_iter().zip([Side::A, Side::B]) {
        for (id, node) in graph.nodes() {
            for (slot, &t) in (0..).zip(&values[id.index()]) {
                let value = (side, Value::new(id, slot));
                // Values that one side holds a view of only, and those views, have no value of the other side to be compared with.
                let accepted = if seen.contains(&t) || sweep.views.contains_key(&t) {
                    replay.equals_term(value, &sweep.arena, t)
                } else {
                    !sweep.is_shared(t) || replay.same(*first.entry(t).or_insert(value), value)
                };
                if !accepted {
                    refused.insert(sweep.cut(t));
                    gap.get_or_insert_with(|| {
                        let what = format!("`{}` of {side} and what it was taken for", node.name);
                        CheckError::Incomplete { what }
                    });
                }
            }
        }
    }
    (refused, gap)
}

/// The pairs of values that regions end in.
fn cuts(partition: &Partition, a: &Values, b: &Values) -> Vec<(Value, Value)> {
    let mut cuts = Vec::new();
    for region in &partition.regions {
        let values = |nodes: &[NodeId], all: &Values| -> Vec<(TermId, Value)> {
            let slots = nodes.iter().flat_map(|&n| {
                all[n.index()].iter().enumerate().map(move |(slot, &t)| (t, Value::new(n, slot as u32)))
            });
            slots.collect()
        };
        let right: FxHashMap<TermId, Value> = values(&region.b, b).into_iter().collect();
        let ends = values(&region.a, a).into_iter().filter(|(t, _)| region.ends.contains(t));
        cuts.extend(ends.filter_map(|(t, x)| right.get(&t).map(|&y| (x, y))));
    }
    cuts
}

/// Operators that are not in the table: what they compute stands in a rule file, or is not known.
fn note_opaque(a: &Graph, b: &Graph, rules: &RuleSet, assumptions: &mut Vec<String>) {
    for (side, graph) in [("A", a), ("B", b)] {
        // By name and attributes: whether any of them reads floats.
        let mut opaque: BTreeMap<&CustomOp, bool> = BTreeMap::new();
        for (id, node) in graph.operators() {
            if let NodeKind::Op { op: Op::Custom(op), .. } = &node.kind {
                let floats = graph.operands(id).iter().any(|v| graph.ty(*v).dtype.is_float());
                *opaque.entry(op).or_default() |= floats;
            }
        }
        let mut said: Vec<String> = Vec::new();
        for (op, floats) in opaque {
            let n = &op.name;
            // A proof takes all NaNs for one value. What looks at their bits, as a view in another type, tells them apart.
            let equal = if floats { "equal operands, of which all NaN are one value" } else { "equal operands" };
            let definition = rules.definitions().iter().find(|d| d.op.name == *n);
            if definition.is_some_and(|d| *d.op == *op) {
                said.push(format!("`{n}` of {side} computes what its definition says"));
                continue;
            }
            let foreign = if is_foreign(n) { ", and taken to write and to draw nothing" } else { "" };
            let other = definition.map(|d| {
                let (has, named) = (op.attrs.join(", "), d.op.attrs.join(", "));
                format!("; its definition is for the attributes ({named}), and it has ({has})")
            });
            let other = other.unwrap_or_default();
            said.push(format!("`{n}` of {side} is opaque: equal only to itself on {equal}{foreign}{other}"));
        }
        said.dedup();
        assumptions.extend(said);
    }
}

/// Whether no schema of PyTorch says what the operator writes and draws.
fn is_foreign(name: &str) -> bool {
    let namespace = name.split('.').next().unwrap_or_default();
    !["aten", "prims", "higher_order", "quantized", "_quantized"].contains(&namespace)
}

impl Proof {
    /// What is known where proving broke off: nothing.
    pub fn broken_off(bound: &BoundPair, reason: String) -> Proof {
        let operators = |graph: &Graph| graph.operators().map(|(id, _)| id).collect();
        Proof {
            verdict: Verdict::Unknown,
            binding: bound.binding.clone(),
            partition: Partition {
                regions: Vec::new(),
                unmatched_a: operators(&bound.a),
                unmatched_b: operators(&bound.b),
            },
            assumed: Vec::new(),
            output_error: None,
            narrow: Vec::new(),
            unproven: Vec::new(),
            lemmas: Vec::new(),
            needed: Vec::new(),
            cuts: Vec::new(),
            arena: TermArena::default(),
            values_a: Values::new(),
            values_b: Values::new(),
            leader: Side::A,
            proofs: FxHashMap::default(),
            rejected: Some(Rejected { step: None, reason }),
            caught: Vec::new(),
            busiest: Vec::new(),
        }
    }

    /// The proof as a file: what the report claims, and the steps that it needs.
    pub fn certificate(&self, a: &Graph, b: &Graph, rules: &RuleSet) -> Certificate {
        Certificate::write(&Contents {
            graphs: [a, b],
            binding: &self.binding,
            rules,
            arena: &self.arena,
            lemmas: &self.lemmas,
            needed: &self.needed,
            cuts: &self.cuts,
            claim: match &self.verdict {
                Verdict::Equivalent { tier } => Claim::equivalent(*tier),
                Verdict::Different(_) => Claim::different(),
                Verdict::Unknown => Claim::unknown(),
            },
        })
    }

    /// How equal the two sides of a region are: the weakest step of the proofs that end in it.
    pub fn region_tier(&self, region: &Region) -> Tier {
        let tier = self.region_lemmas(region).map(Lemma::tier).max().unwrap_or(Tier::Exact);
        let inside = |(side, node): &(Side, NodeId)| match side {
            Side::A => region.a.contains(node),
            Side::B => region.b.contains(node),
        };
        if tier == Tier::Real && self.narrow.iter().any(inside) { Tier::Rounding } else { tier }
    }

    /// The steps that prove a region, beyond normal forms.
    pub fn region_lemmas<'p>(&'p self, region: &'p Region) -> impl Iterator<Item = &'p Lemma> {
        self.region_proofs(region).flat_map(|p| p.lemmas.iter())
    }

    /// The proofs of a region's ends that are more than normal forms.
    pub(crate) fn region_proofs<'p>(&'p self, region: &'p Region) -> impl Iterator<Item = &'p PairProof> {
        region.ends.iter().filter_map(|t| self.proofs.get(t)).flatten()
    }

    /// Operators of the file in proven regions: of A, of B.
    pub fn covered(&self, a: &Graph, b: &Graph) -> (usize, usize) {
        let explicit =
            |graph: &Graph, nodes: &[NodeId]| nodes.iter().filter(|&&n| !graph.node(n).origin.implicit).count();
        let sum = |side: fn(&Region) -> &[NodeId], graph: &Graph| {
            let proven = self.partition.regions.iter().filter(|r| r.kind != RegionKind::Divergent);
            proven.map(|r| explicit(graph, side(r))).sum()
        };
        (sum(|r| &r.a, a), sum(|r| &r.b, b))
    }
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
