//! From a file to what it shows.

use std::sync::Arc;

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::super::bind::{Binding, Bound};
use super::super::kernel::arena::{self, Arena, Operands, TermId};
use super::super::kernel::{Lemma, Reason, Replay, Side, Values, graph_terms};
use super::super::math::math_tier;
use super::error::CertificateError;
use super::format::{self, Certificate, Head, Step, Verdict};
use super::write::identity;
use crate::ir::{AttrValue, Attrs, Graph, NodeId, Value};
use crate::ops::{self, AttrKind, CustomOp, Op, OpDef};
use crate::rules::{Bindings, Rule, RuleSet, Tier};

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
    pub fn verify(&self, Bound { a, b, binding }: &Bound, rules: &RuleSet) -> Result<Shown, CertificateError> {
        let here = identity(rules);
        if self.rules.fingerprint != here {
            return Err(CertificateError::OtherRules { found: self.rules.fingerprint.clone(), here });
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
        let mut arena = Arena::default();
        let left = graph_terms(&mut arena, a, Side::A, &binding.a)?;
        let right = graph_terms(&mut arena, b, Side::B, &binding.b)?;
        let terms = self.terms(&mut arena, &left, &right)?;
        let lemmas = self.lemmas(&terms, rules)?;
        let replay =
            Replay::new((a, &binding.a), (b, &binding.b), &arena, &lemmas).map_err(CertificateError::Refused)?;

        let outputs: Vec<(Value, Value)> =
            a.outputs().iter().zip(b.outputs()).map(|(x, y)| (x.value, y.value)).collect();
        let needed = (a.outputs().len() == b.outputs().len()).then(|| replay.explain(&outputs)).flatten();
        let tier = needed.as_ref().map(|steps| {
            steps.iter().filter_map(|&n| lemmas.get(n as usize)).map(Lemma::tier).max().unwrap_or(Tier::Exact)
        });
        let all = |graph: &Graph| graph.nodes().map(|(id, _)| id).collect::<Vec<_>>();
        let tier = tier.map(|t| math_tier((a, &all(a)), (b, &all(b))).map_or(t, |math| t.max(math)));
        let mut used: Vec<String> = Vec::new();
        let cuts = self.cut_values(a, b)?;
        let claims: Vec<(Value, Value)> = outputs.iter().chain(&cuts).copied().collect();
        let all = replay.explain(&claims).or_else(|| needed.clone());
        for &n in all.iter().flatten() {
            assumptions.extend(replay.assumed(n).iter().cloned());
            let name = lemmas.get(n as usize).map_or("", Lemma::name);
            if !used.iter().any(|u| u == name) {
                used.push(name.to_owned());
            }
        }
        let mut seen = FxHashSet::default();
        assumptions.retain(|text| seen.insert(text.clone()));
        Ok(Shown {
            claim: self.claim_text(),
            gap: self.gap(tier, [a, b], &outputs, &cuts, &replay),
            tier,
            assumptions,
            steps: all.map_or(0, |n| n.len()),
            rules: used,
            cuts: self.cuts.len(),
        })
    }

    fn claim_text(&self) -> String {
        match (self.claim.verdict, &self.claim.tier) {
            (Verdict::Equivalent, Some(tier)) => format!("equivalent, tier {tier}"),
            (Verdict::Equivalent, None) => "equivalent".to_owned(),
            (Verdict::Different, _) => "different".to_owned(),
            (Verdict::Unknown, _) => "unknown".to_owned(),
        }
    }

    /// The pairs of inner values that the file says are equal.
    fn cut_values(&self, a: &Graph, b: &Graph) -> Result<Vec<(Value, Value)>, CertificateError> {
        let read = |(number, &[x, i, y, j]): (usize, &[u32; 4])| {
            let value = |graph: &Graph, node: u32, slot: u32| {
                let id = NodeId::new(node as usize);
                let known = (node as usize) < graph.len() && (slot as usize) < graph.node(id).types.len();
                let missing = || reference("cut", number, format!("output {slot} of node {node}"));
                if known { Ok(Value::new(id, slot)) } else { Err(missing()) }
            };
            Ok((value(a, x, i)?, value(b, y, j)?))
        };
        self.cuts.iter().enumerate().map(read).collect()
    }

    /// What is missing between the steps and the claim.
    fn gap(
        &self,
        tier: Option<Tier>,
        [a, b]: [&Graph; 2],
        outputs: &[(Value, Value)],
        cuts: &[(Value, Value)],
        replay: &Replay,
    ) -> Option<String> {
        if let Some(&(x, y)) = cuts.iter().find(|(x, y)| !replay.equal(*x, *y)) {
            let (x, y) = (&a.node(x.node).name, &b.node(y.node).name);
            return Some(format!("the steps do not show that `{x}` of A equals `{y}` of B"));
        }
        if self.claim.verdict != Verdict::Equivalent {
            return Some("the file does not claim that the graphs are equivalent".to_owned());
        }
        if a.outputs().len() != b.outputs().len() {
            return Some(format!("A has {} outputs and B has {}", a.outputs().len(), b.outputs().len()));
        }
        let Some(tier) = tier else {
            let missing = a.outputs().iter().zip(outputs).find(|(_, pair)| !replay.equal(pair.0, pair.1));
            let name = missing.map_or("", |(output, _)| &output.name);
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
            let ty = self.binding.types.get(*number as usize).and_then(format::Type::read);
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

    /// The file's terms in `arena`.
    fn terms(&self, arena: &mut Arena, a: &Values, b: &Values) -> Result<Vec<TermId>, CertificateError> {
        let values = self
            .values
            .iter()
            .enumerate()
            .map(|(number, value)| value.read().ok_or_else(|| nonsense("value", number, "its text is no number")));
        let values: Vec<AttrValue> = values.collect::<Result<_, _>>()?;
        let heads: Vec<Root> = self
            .heads
            .iter()
            .enumerate()
            .map(|(n, head)| self.root(n, head, &values, a, b))
            .collect::<Result<_, _>>()?;
        let mut terms: Vec<TermId> = Vec::with_capacity(self.terms.len());
        for (number, row) in self.terms.iter().enumerate() {
            let refers = |to: String| reference("term", number, to);
            let Some((head, operands)) = row.split_first() else {
                return Err(nonsense("term", number, "it is empty"));
            };
            let head = heads.get(*head as usize).ok_or_else(|| refers(format!("head {head}")))?;
            let operand = |o: &u32| terms.get(*o as usize).copied().ok_or_else(|| refers(format!("term {o}")));
            let operands: Operands = operands.iter().map(operand).collect::<Result<_, _>>()?;
            let built = match head {
                Root::Term(term) if operands.is_empty() => Ok(*term),
                Root::Input(input, ty) if operands.is_empty() => Ok(arena.leaf(arena::Head::Input(*input), ty, None)),
                Root::Term(_) | Root::Input(..) => return Err(nonsense("term", number, "a leaf has no operands")),
                Root::Call { op, attrs, slot, stated } => arena.call(op, attrs, *slot, &operands, stated.as_ref()),
            };
            terms.push(built.map_err(|e| nonsense("term", number, &e.to_string()))?);
        }
        Ok(terms)
    }

    fn root(
        &self,
        number: usize,
        head: &Head,
        values: &[AttrValue],
        a: &Values,
        b: &Values,
    ) -> Result<Root, CertificateError> {
        let value = |n: &u32| {
            let missing = || reference("head", number, format!("value {n}"));
            values.get(*n as usize).cloned().ok_or_else(missing)
        };
        match head {
            Head::Input(n) => {
                let ty = self.binding.types.get(*n as usize).and_then(format::Type::read);
                let ty = ty.ok_or_else(|| reference("head", number, format!("input {n}")))?;
                Ok(Root::Input(*n, ty))
            }
            Head::Leaf(side, node, slot) => {
                let all = if *side == format::Side::A { a } else { b };
                let term = all.get(*node as usize).and_then(|slots| slots.get(*slot as usize));
                let missing = || reference("head", number, format!("output {slot} of node {node}"));
                term.copied().map(Root::Term).ok_or_else(missing)
            }
            Head::Op { op, slot, attrs } => {
                let def = ops::find(op).ok_or_else(|| reference("head", number, format!("operator {op:?}")))?;
                let attrs = attrs.iter().map(value).collect::<Result<Attrs, _>>()?;
                if !stored_form(def, &attrs) {
                    return Err(nonsense("head", number, "a dimension is counted from the end"));
                }
                Ok(Root::Call { op: Op::Table(def), attrs, slot: *slot, stated: None })
            }
            Head::Custom { op, slot, attrs, result } => {
                if ops::find(op).is_some() {
                    return Err(nonsense("head", number, "an operator of the table has no stated type"));
                }
                let names = attrs.iter().map(|(name, _)| name.clone()).collect();
                let op = Op::Custom(Arc::new(CustomOp { name: op.clone(), attrs: names }));
                let attrs = attrs.iter().map(|(_, n)| value(n)).collect::<Result<Attrs, _>>()?;
                let stated = result.read().ok_or_else(|| nonsense("head", number, "its type is too large"))?;
                Ok(Root::Call { op, attrs, slot: *slot, stated: Some(stated) })
            }
        }
    }

    fn lemmas(&self, terms: &[TermId], rules: &RuleSet) -> Result<Vec<Lemma>, CertificateError> {
        let used: Vec<&Arc<Rule>> = self.rules.used.iter().map(|name| find(rules, name)).collect::<Result<_, _>>()?;
        let values: Vec<Option<AttrValue>> = self.values.iter().map(format::Value::read).collect();
        let lemma = |(number, step): (usize, &Step)| {
            let refers = |to: String| reference("step", number, to);
            let term = |t: &u32| terms.get(*t as usize).copied().ok_or_else(|| refers(format!("term {t}")));
            let maybe = |t: &Option<u32>| t.as_ref().map(term).transpose();
            match step {
                Step::Rule { rule, before, after, tensors, lists, attrs } => {
                    let rule = used.get(*rule as usize).ok_or_else(|| refers(format!("rule {rule}")))?;
                    let vars = &rule.vars;
                    if (tensors.len(), lists.len(), attrs.len())
                        != (vars.tensors.len(), vars.lists.len(), vars.attrs.len())
                    {
                        return Err(nonsense("step", number, "its bindings are not those of the rule"));
                    }
                    let list = |l: &Option<Vec<u32>>| {
                        l.as_ref().map(|l| l.iter().map(term).collect::<Result<Vec<_>, _>>()).transpose()
                    };
                    let value = |v: &Option<u32>| {
                        let found = |n: &u32| {
                            let value = values.get(*n as usize).cloned().flatten();
                            value.ok_or_else(|| refers(format!("value {n}")))
                        };
                        v.as_ref().map(found).transpose()
                    };
                    let bindings = Bindings {
                        tensors: tensors.iter().map(maybe).collect::<Result<SmallVec<_>, _>>()?,
                        lists: lists.iter().map(list).collect::<Result<SmallVec<_>, _>>()?,
                        attrs: attrs.iter().map(value).collect::<Result<SmallVec<_>, _>>()?,
                    };
                    let reason = Reason::Rule { rule: (*rule).clone(), bindings: bindings.into() };
                    Ok(Lemma { before: term(before)?, after: term(after)?, reason })
                }
                Step::SplitSlice { before, after } => {
                    Ok(Lemma { before: term(before)?, after: term(after)?, reason: Reason::SplitSlice })
                }
            }
        };
        self.steps.iter().enumerate().map(lemma).collect()
    }
}

/// A head that was read.
enum Root {
    Input(u32, crate::ir::TensorType),
    Term(TermId),
    Call { op: Op, attrs: Attrs, slot: u32, stated: Option<crate::ir::TensorType> },
}

/// Whether dimensions are non-negative, as in every graph that was read.
fn stored_form(def: &OpDef, attrs: &[AttrValue]) -> bool {
    def.attrs.iter().zip(attrs).all(|(attr, value)| match (attr.kind, value) {
        (AttrKind::Dim, AttrValue::Int(d)) => *d >= 0,
        (AttrKind::Dims, AttrValue::Ints(dims)) => dims.iter().all(|d| *d >= 0),
        _ => true,
    })
}

fn find<'r>(rules: &'r RuleSet, name: &format::RuleName) -> Result<&'r Arc<Rule>, CertificateError> {
    let mut same = rules.rules().iter().filter(|r| *r.name == *name.name && r.reversed == name.reversed);
    same.nth(name.instance as usize).ok_or_else(|| CertificateError::UnknownRule(name.name.clone()))
}

fn custom(kind: &crate::ir::NodeKind) -> Option<&str> {
    match kind {
        crate::ir::NodeKind::Op { op: Op::Custom(op), .. } => Some(&op.name),
        _ => None,
    }
}

fn reference(what: &'static str, number: usize, refers: String) -> CertificateError {
    CertificateError::Reference { what, number, refers }
}

fn nonsense(what: &'static str, number: usize, reason: &str) -> CertificateError {
    CertificateError::Nonsense { what, number, reason: reason.to_owned() }
}
