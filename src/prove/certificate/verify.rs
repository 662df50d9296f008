//! From a file to what it shows.

use rustc_hash::FxHashSet;

use super::super::bind::{Binding, BoundPair};
use super::super::kernel::arena::{TermArena, TermId};
use super::super::kernel::{
    ConstantPair, GraphLeaves, Lemma, OutputError, Outputs, Replay, Side, Values, chance_assumptions, graph_terms,
    pair_outputs,
};
use super::super::log::{self, Leaves, LogError, Type};
use super::super::math::math_tier;
use super::error::CertificateError;
use super::format::{Certificate, CertifiedVerdict};
use super::write::identity;
use crate::ir::{Graph, NodeId, TensorType, Value};
use crate::ops::Op;
use crate::rules::{RuleSet, Tier};

/// What a proof file shows of two graphs.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// What the file claims, as reports write it.
    pub claim: String,
    /// The weakest step that the outputs' equality needs; none if it does not follow.
    pub tier: Option<Tier>,
    /// Why the claim does not follow, if it does not.
    pub gap: Option<String>,
    /// What was taken for granted: how inputs are bound, and what the rules of the steps that are needed assume.
    pub assumptions: Vec<String>,
    /// Steps that were verified.
    pub steps: usize,
    /// Names of the rules of the steps that are needed, in the order of first use.
    pub rules: Vec<String>,
    /// Pairs of inner values that were shown equal too.
    pub cuts: usize,
}

impl Shown {
    /// Whether the graphs are shown to be equivalent, as well as the file claims.
    pub fn holds(&self) -> bool {
        self.gap.is_none()
    }
}

impl Certificate {
    /// Replays the proof on two graphs, which do not have to be those that it was made for. The binding of their inputs
    /// is not taken from the file; it has to be the one that the file was made under.
    ///
    /// # Errors
    /// Files that make no sense, and those with a step that is not valid. A file whose steps are valid but do not show
    /// what it claims is no error: see [`Shown::gap`].
    pub fn verify(&self, BoundPair { a, b, binding }: &BoundPair, rules: &RuleSet) -> Result<Shown, CertificateError> {
        let here = identity(rules);
        if self.rules != here {
            return Err(CertificateError::OtherRules { found: self.rules.clone(), here });
        }
        self.same_inputs('A', a, &self.binding.a, binding, &binding.a)?;
        self.same_inputs('B', b, &self.binding.b, binding, &binding.b)?;
        let mut assumptions = binding.assumptions.clone();
        // An operator outside the table is the same function wherever it stands.
        for (side, graph) in [(Side::A, a), (Side::B, b)] {
            let mut opaque: Vec<&str> = graph.operators().filter_map(|(_, n)| custom(&n.kind)).collect();
            opaque.sort_unstable();
            opaque.dedup();
            assumptions.extend(opaque.iter().map(|n| format!("`{n}` of {side} is one function of its operands")));
        }
        assumptions.extend(chance_assumptions(a, b));
        let mut arena = TermArena::default();
        let left = graph_terms(&mut arena, a, &GraphLeaves::compared(a, Side::A, &binding.a))?;
        let right = graph_terms(&mut arena, b, &GraphLeaves::compared(b, Side::B, &binding.b))?;
        let leaves = FileLeaves { types: &self.binding.types, a: &left, b: &right };
        let terms = self.log.terms(&mut arena, Vec::new(), &leaves)?;
        let lemmas = self.log.lemmas(&terms, rules)?;
        let replay =
            Replay::new((a, &binding.a), (b, &binding.b), &arena, &lemmas).map_err(CertificateError::Refused)?;

        let paired = pair_outputs((a, &binding.a), (b, &binding.b));
        let outputs: Vec<(Value, Value)> =
            paired.iter().flat_map(|all| &all.pairs).map(|pair| (pair.a.value, pair.b.value)).collect();
        let needed = paired.is_ok().then(|| replay.explain(&outputs)).flatten();
        let tier = needed.as_ref().map(|why| why.tier(&lemmas));
        let all = |graph: &Graph| graph.nodes().map(|(id, _)| id).collect::<Vec<_>>();
        let tier = tier.map(|t| math_tier((a, &all(a)), (b, &all(b))).map_or(t, |math| t.max(math)));
        let mut used: Vec<String> = Vec::new();
        let cuts = self.cut_values(a, b)?;
        let claims: Vec<(Value, Value)> = outputs.iter().chain(&cuts).copied().collect();
        let all = replay.explain(&claims).or_else(|| needed.clone());
        let all = all.map(|why| why.steps);
        let equal = if needed.is_some() { &outputs[..] } else { &[] };
        let shown = if replay.explain(&claims).is_some() { &cuts[..] } else { &[] };
        let assumed = replay.assumed([a, b], all.as_deref().unwrap_or_default(), equal, shown);
        let tier = tier.map(|t| if assumed.weakens { t.max(Tier::Rounding) } else { t });
        assumptions.extend(assumed.texts);
        for &n in all.iter().flatten() {
            let name = lemmas.get(n as usize).map_or("", Lemma::name);
            if !used.iter().any(|u| u == name) {
                used.push(name.to_owned());
            }
        }
        let mut seen = FxHashSet::default();
        assumptions.retain(|text| seen.insert(text.clone()));
        Ok(Shown {
            claim: self.claim_text(),
            gap: self.gap(tier, ([a, b], binding), &paired, &cuts, &replay),
            tier,
            assumptions,
            steps: all.map_or(0, |n| n.len()),
            rules: used,
            cuts: self.cuts.len(),
        })
    }

    fn claim_text(&self) -> String {
        match (self.claim.verdict, &self.claim.tier) {
            (CertifiedVerdict::Equivalent, Some(tier)) => format!("equivalent, tier {tier}"),
            (CertifiedVerdict::Equivalent, None) => "equivalent".to_owned(),
            (CertifiedVerdict::Different, _) => "different".to_owned(),
            (CertifiedVerdict::Unknown, _) => "unknown".to_owned(),
        }
    }

    /// The pairs of inner values that the file says are equal.
    fn cut_values(&self, a: &Graph, b: &Graph) -> Result<Vec<(Value, Value)>, CertificateError> {
        let read = |(number, &[x, i, y, j]): (usize, &[u32; 4])| {
            let value = |graph: &Graph, node: u32, slot: u32| {
                let id = NodeId::new(node as usize);
                let known = (node as usize) < graph.len() && (slot as usize) < graph.node(id).types.len();
                let refers = format!("output {slot} of node {node}");
                known.then(|| Value::new(id, slot)).ok_or(LogError::Reference { what: "cut", number, refers })
            };
            Ok((value(a, x, i)?, value(b, y, j)?))
        };
        self.cuts.iter().enumerate().map(read).collect()
    }

    /// What is missing between the steps and the claim.
    fn gap(
        &self,
        tier: Option<Tier>,
        ([a, b], binding): ([&Graph; 2], &Binding),
        outputs: &Result<Outputs, OutputError>,
        cuts: &[(Value, Value)],
        replay: &Replay,
    ) -> Option<String> {
        if let Some(&(x, y)) = cuts.iter().find(|(x, y)| !replay.equal(*x, *y)) {
            let (x, y) = (&a.node(x.node).name, &b.node(y.node).name);
            return Some(format!("the steps do not show that `{x}` of A equals `{y}` of B"));
        }
        if self.claim.verdict != CertifiedVerdict::Equivalent {
            return Some("the file does not claim that the graphs are equivalent".to_owned());
        }
        let outputs = match outputs {
            Ok(outputs) => outputs,
            Err(error) => return Some(error.to_string()),
        };
        if binding.is_contradicted(a, b) {
            return Some("the files hold different values for inputs that are taken to be the same".to_owned());
        }
        if let Some(ConstantPair { name, a, b }) = outputs.unequal.first() {
            return Some(format!("result `{name}` is {a} in A and {b} in B"));
        }
        let Some(tier) = tier else {
            let missing = outputs.pairs.iter().find(|pair| !replay.equal(pair.a.value, pair.b.value));
            let name = missing.map_or_else(String::new, |pair| pair.a.shown());
            return Some(format!("the steps do not show that output `{name}` is equal"));
        };
        let claimed = self.claim.tier.as_deref().unwrap_or("none");
        let within = match claimed.strip_prefix("approx(").and_then(|t| t.strip_suffix(')')) {
            Some(error) => error.parse::<f64>().is_ok_and(|e| tier <= Tier::Approx(e.into())),
            None => [Tier::Exact, Tier::Real, Tier::Rounding].iter().any(|t| t.to_string() == claimed && tier <= *t),
        };
        (!within).then(|| format!("the steps show tier {tier}, the file claims {claimed}"))
    }

    /// Whether the file has the graph's inputs under the numbers and with the types that the binding gives them.
    fn same_inputs(
        &self,
        side: char,
        graph: &Graph,
        stated: &[(String, u32)],
        binding: &Binding,
        numbers: &[u32],
    ) -> Result<(), CertificateError> {
        let refuse = |reason: String| CertificateError::Binding { side, reason };
        if graph.inputs().len() != stated.len() {
            return Err(refuse(format!("it names {}, the graph has {}", stated.len(), graph.inputs().len())));
        }
        for ((&id, &bound), (name, number)) in graph.inputs().iter().zip(numbers).zip(stated) {
            let node = graph.node(id);
            if *name != *node.name {
                return Err(refuse(format!("it names `{name}` where the graph has `{}`", node.name)));
            }
            let ty = self.binding.types.get(*number as usize).and_then(Type::read);
            if ty.as_ref() != Some(&node.types[0]) {
                return Err(refuse(format!("`{name}` is bound to an input that is not of type {}", node.types[0])));
            }
            if bound != *number {
                let other = binding.inputs.get(*number as usize).map_or("another input", |i| &i.name);
                return Err(refuse(format!("it binds `{name}` to `{other}`, to which it is not bound here")));
            }
        }
        Ok(())
    }
}

/// The leaves of a proof file: inputs have the types that it states, which are compared with those of the graphs.
struct FileLeaves<'a> {
    types: &'a [Type],
    a: &'a Values,
    b: &'a Values,
}

impl Leaves for FileLeaves<'_> {
    fn input(&self, number: u32) -> Option<TensorType> {
        self.types.get(number as usize).and_then(Type::read)
    }

    fn leaf(&self, side: log::Side, node: u32, slot: u32) -> Option<TermId> {
        let all = if side == log::Side::A { self.a } else { self.b };
        all.get(node as usize)?.get(slot as usize).copied()
    }
}

fn custom(kind: &crate::ir::NodeKind) -> Option<&str> {
    match kind {
        crate::ir::NodeKind::Op { op: Op::Custom(op), .. } => Some(&op.name),
        _ => None,
    }
}
