//! The proof checker: replays a lemma log by congruence closure, without egg and without the search.
//!
//! Both graphs are read again as raw terms, with no normal forms. Every lemma is then verified on its own (it is an
//! instance of its rule and the conditions hold, or both constants have one value, ...) and assumed. What is equal
//! in the end follows from verified steps and congruence alone.

use miette::Diagnostic;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use thiserror::Error;

use super::arena::{Arena, TermId};
use super::closure::Closure;
use super::lemma::{Lemma, Reason};
use super::normalise::split_slice;
use super::sweep::{Side, Values, raw_terms};
use super::window::Instances;
use crate::ir::{Graph, unflatten};
use crate::ops::{Call, EvalError, Kernel, Op, TypeError};
use crate::rules::{Build, Outcome, Rule};

/// Elements of a folded constant that are computed again.
const CONSTANT_SAMPLES: usize = 64;

/// Why a proof is not accepted. Each of these is a bug in the search, never in the user's input.
#[derive(Debug, Clone, PartialEq, Error, Diagnostic)]
pub enum CheckError {
    #[error("step {step} (`{name}`) is no instance of its rule")]
    #[diagnostic(code(proof::not_an_instance))]
    NotAnInstance { step: usize, name: String },
    #[error("step {step} (`{name}`): a condition of the rule does not hold")]
    #[diagnostic(code(proof::condition))]
    Condition { step: usize, name: String },
    #[error("step {step} (`{name}`) joins terms of different types")]
    #[diagnostic(code(proof::types))]
    Types { step: usize, name: String },
    #[error("a folded constant is not what its operator computes")]
    #[diagnostic(code(proof::constants))]
    Constants,
    #[error("the steps do not make {what} equal")]
    #[diagnostic(code(proof::incomplete))]
    Incomplete { what: String },
    #[error(transparent)]
    #[diagnostic(code(proof::graph))]
    Graph(#[from] TypeError),
}

/// A replayed log over both graphs.
pub struct Replay {
    arena: Arena,
    closure: Closure,
    a: Values,
    b: Values,
}

impl Replay {
    /// Verifies every lemma of `log`, whose terms live in `source`, and assumes it.
    pub fn new(a: (&Graph, &[u32]), b: (&Graph, &[u32]), source: &Arena, log: &[Lemma]) -> Result<Replay, CheckError> {
        let mut arena = Arena::default();
        let left = raw_graph(&mut arena, a.0, Side::A, a.1)?;
        let right = raw_graph(&mut arena, b.0, Side::B, b.1)?;
        let mut closure = Closure::default();
        closure.extend(&arena);
        let mut imported = FxHashMap::default();
        for (step, lemma) in log.iter().enumerate() {
            let lemma = lemma.map(|t| arena.import(source, t, &mut imported));
            verify(&mut arena, &lemma, step)?;
            closure.assume(&arena, lemma.before, lemma.after, step as u32);
        }
        // Constants are joined by value. Every value is computed again from those of its operands.
        if !(0..arena.len()).map(|n| arena.nth(n)).all(|t| arena.constant(t).is_none() || recomputed(&arena, t)) {
            return Err(CheckError::Constants);
        }
        Ok(Replay { arena, closure, a: left, b: right })
    }

    /// Whether it follows that value `x` of A equals value `y` of B.
    pub fn equal(&self, x: crate::ir::Value, y: crate::ir::Value) -> bool {
        let (s, t) = (self.a[x.node.index()][x.slot as usize], self.b[y.node.index()][y.slot as usize]);
        self.closure.equal(s, t)
    }

    /// The steps from which it follows that value `x` of A equals value `y` of B.
    pub fn explain(&self, x: crate::ir::Value, y: crate::ir::Value) -> Option<Vec<u32>> {
        let (s, t) = (self.a[x.node.index()][x.slot as usize], self.b[y.node.index()][y.slot as usize]);
        self.closure.explain(&self.arena, s, t)
    }
}

fn raw_graph(arena: &mut Arena, graph: &Graph, side: Side, inputs: &[u32]) -> Result<Values, TypeError> {
    let mut values = Values::with_capacity(graph.len());
    for (id, _) in graph.nodes() {
        let terms = raw_terms(arena, graph, id, side, inputs, &values)?;
        values.push(terms);
    }
    Ok(values)
}

/// Checks one step by itself.
fn verify(arena: &mut Arena, lemma: &Lemma, step: usize) -> Result<(), CheckError> {
    let name = || lemma.name().to_owned();
    if arena.ty(lemma.before) != arena.ty(lemma.after) {
        return Err(CheckError::Types { step, name: name() });
    }
    match &lemma.reason {
        Reason::Rule { rule, bindings } => {
            let mut bindings = bindings.clone();
            let mut terms = Instances { arena };
            match rule.check_conditions(&terms, &mut bindings) {
                Outcome::Holds { .. } => {}
                Outcome::Fails => return Err(CheckError::Condition { step, name: name() }),
            }
            let instance = instance(rule, &bindings, &mut terms);
            if instance != Some((lemma.before, lemma.after)) {
                return Err(CheckError::NotAnInstance { step, name: name() });
            }
        }
        Reason::SplitSlice => {
            if split_slice(arena, lemma.before) != Some(lemma.after) {
                return Err(CheckError::NotAnInstance { step, name: name() });
            }
        }
    }
    Ok(())
}

fn instance<T: Build<Id = TermId>>(
    rule: &Rule,
    bindings: &crate::rules::Bindings<TermId>,
    terms: &mut T,
) -> Option<(TermId, TermId)> {
    let before = rule.build_lhs(bindings, terms).ok()?;
    let after = rule.build_rhs(bindings, terms).ok()?;
    Some((before, after))
}

/// Whether the operator's own semantics give the folded value, at sampled elements.
fn recomputed(arena: &Arena, term: TermId) -> bool {
    let (Some(folded), Some((Op::Table(def), attrs, slot))) = (arena.constant(term), arena.op(term)) else {
        // A literal of the file: its elements are the constant.
        return arena.constant(term).is_some();
    };
    let operands = arena.term(term).operands.clone();
    let types: SmallVec<[&crate::ir::TensorType; 4]> = operands.iter().map(|&o| arena.ty(o)).collect();
    let call = Call { op: def, attrs, operands: &types };
    let ty = arena.ty(term);
    let numel = ty.numel();
    let mut fetch = |i: usize, index: &[usize]| -> Result<f64, EvalError> {
        let constant = arena.constant(operands[i]).ok_or_else(|| EvalError::NoSemantics(def.name.into()))?;
        Ok(constant.at(types[i], index))
    };
    let stride = (numel / CONSTANT_SAMPLES).max(1);
    for flat in (0..numel).step_by(stride).chain(numel.checked_sub(1)) {
        let index = unflatten(&ty.shape, flat);
        let value = match def.kernel {
            Kernel::Element(f) => f(&call, slot as usize, &index, &mut fetch),
            Kernel::Lane { axes, lane } => {
                let axes = axes(&call);
                let mut base = index.clone();
                let mut at = 0;
                for &d in &axes {
                    at = at * ty.shape[d] + index[d];
                    base[d] = 0;
                }
                lane(&call, slot as usize, &base, &mut fetch).map(|values| values.get(at).copied().unwrap_or(f64::NAN))
            }
            Kernel::Opaque => return false,
        };
        let scalar = def.name == "full" && ty.rank() == 0;
        match value {
            Ok(v) if (if scalar { v } else { ty.dtype.round(v) }) == folded.at(ty, &index) => {}
            _ => return false,
        }
    }
    true
}
