//! A small store of terms for rules on their own: to infer the types of defined operators and to try rules out.

use std::ops::ControlFlow;
use std::sync::{Arc, LazyLock};

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::definition::{Definitions, definition_of};
use super::terms::{Build, Terms, Visitor};
use crate::eval::{Constant, Program, Source, fold};
use crate::ir::{Attrs, DType, Number, TensorType};
use crate::ops::{Call, CustomOp, Op, Sign, TypeError, is_number};

/// A term of an [`InstanceArena`].
pub(crate) type TermId = u32;

/// What a term is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Term {
    /// A tensor of given elements, of which rules know nothing.
    Leaf(Arc<[Number]>),
    /// A tensor of known elements.
    Constant(Constant),
    Apply {
        op: Op,
        attrs: Attrs,
        slot: usize,
        operands: SmallVec<[TermId; 4]>,
    },
}

/// Operator, attributes, output slot, operands.
type Application = (Op, Attrs, usize, SmallVec<[TermId; 4]>);

/// Hash-consed terms. Operators that rules define are replaced by their definitions.
#[derive(Debug, Default)]
pub(crate) struct InstanceArena {
    terms: Vec<(Term, TensorType)>,
    /// The value of the term of the same number, if it is known.
    constants: Vec<Option<Constant>>,
    known: FxHashMap<Application, TermId>,
    definitions: Definitions,
    /// Definitions that are being expanded: a definition that uses itself has no end.
    depth: usize,
}

/// How deeply definitions may use each other.
const MAX_DEPTH: usize = 16;

impl InstanceArena {
    pub(crate) fn new(definitions: &Definitions) -> Self {
        InstanceArena { definitions: definitions.clone(), ..InstanceArena::default() }
    }

    /// A leaf of which rules know nothing but the type. Without data it cannot be evaluated.
    pub(crate) fn leaf(&mut self, ty: TensorType, data: Arc<[Number]>) -> TermId {
        self.push(Term::Leaf(data), ty, None)
    }

    /// A leaf with known elements.
    pub(crate) fn constant_leaf(&mut self, ty: TensorType, value: Constant) -> TermId {
        self.push(Term::Constant(value.clone()), ty, Some(value))
    }

    fn push(&mut self, term: Term, ty: TensorType, constant: Option<Constant>) -> TermId {
        self.terms.push((term, ty));
        self.constants.push(constant);
        (self.terms.len() - 1) as TermId
    }

    pub(crate) fn terms(&self) -> impl Iterator<Item = &Term> {
        self.terms.iter().map(|(term, _)| term)
    }

    pub(crate) fn types(&self) -> impl Iterator<Item = &TensorType> {
        self.terms.iter().map(|(_, ty)| ty)
    }

    pub(crate) fn term(&self, id: TermId) -> &Term {
        &self.terms[id as usize].0
    }

    fn expand(&mut self, op: &CustomOp, attrs: &Attrs, slot: usize, operands: &[TermId]) -> Result<TermId, TypeError> {
        let definition = definition_of(&self.definitions, op).filter(|_| self.depth < MAX_DEPTH).cloned();
        let definition = definition.ok_or_else(|| TypeError::new("custom operator", "has no definition"))?;
        self.depth += 1;
        let body = definition.apply(attrs, slot, operands, self);
        self.depth -= 1;
        body
    }
}

impl Terms for InstanceArena {
    type Id = TermId;

    fn visit(&self, id: TermId, f: &mut Visitor<'_, TermId>) -> ControlFlow<()> {
        match self.term(id) {
            Term::Apply { op, attrs, slot, operands } => f(op, attrs, *slot, operands),
            _ => ControlFlow::Continue(()),
        }
    }

    fn ty(&self, id: TermId) -> &TensorType {
        &self.terms[id as usize].1
    }

    fn constant(&self, id: TermId) -> Option<&Constant> {
        self.constants[id as usize].as_ref()
    }

    /// Of what a rule is tried on, whether it is finite. Of what is computed from that, nothing is known.
    fn sign(&self, id: TermId) -> Sign {
        let are_real = |elements: &[Number]| elements.iter().all(|number| number.to_f64().is_finite());
        let is_real = match self.term(id) {
            Term::Leaf(elements) => are_real(elements),
            Term::Constant(Constant::Uniform(number)) => are_real(&[*number]),
            Term::Constant(Constant::Dense(elements)) => are_real(elements),
            Term::Constant(_) | Term::Apply { .. } => false,
        };
        if is_real { Sign::Real } else { Sign::Unknown }
    }
}

impl Build for InstanceArena {
    fn apply(&mut self, op: &Op, attrs: &Attrs, slot: usize, operands: &[TermId]) -> Result<TermId, TypeError> {
        let key = (op.clone(), attrs.clone(), slot, SmallVec::from_slice(operands));
        if let Some(&id) = self.known.get(&key) {
            return Ok(id);
        }
        let def = match op {
            Op::Table(def) => def,
            Op::Custom(op) => {
                let body = self.expand(op, attrs, slot, operands)?;
                self.known.insert(key, body);
                return Ok(body);
            }
        };
        let ty = {
            let types: SmallVec<[&TensorType; 4]> = operands.iter().map(|&id| Terms::ty(self, id)).collect();
            let mut types = Call { op: def, attrs, operands: &types }.infer()?;
            if slot >= types.len() {
                return Err(TypeError::new(def.name, format!("has no output {slot}")));
            }
            types.swap_remove(slot)
        };
        let call = Call { op: def, attrs, operands: &[] };
        let constant = is_number(def).then(|| fold(&call, 0, &[], &ty)).flatten().map(|folded| folded.value);
        let (op, attrs, slot, operands) = key.clone();
        let id = self.push(Term::Apply { op, attrs, slot, operands }, ty, constant);
        self.known.insert(key, id);
        Ok(id)
    }
}

impl Program for InstanceArena {
    type Id = TermId;

    fn source(&self, id: TermId) -> Source<'_, TermId> {
        match self.term(id) {
            Term::Leaf(data) if data.len() == Terms::ty(self, id).numel() => Source::Data(data),
            Term::Leaf(_) => Source::Opaque,
            Term::Constant(constant) => Source::Constant(constant),
            Term::Apply { op: Op::Table(op), attrs, slot, operands } => Source::Call {
                op,
                attrs,
                types: operands.iter().map(|&o| Terms::ty(self, o)).collect(),
                slot: *slot,
                operands: operands.clone(),
            },
            Term::Apply { .. } => Source::Opaque,
        }
    }

    fn ty(&self, id: TermId) -> &TensorType {
        Terms::ty(self, id)
    }
}

/// No terms at all: what expressions without tensors are evaluated in.
pub(crate) struct NoTerms;

static NO_TYPE: LazyLock<TensorType> = LazyLock::new(|| TensorType::scalar(DType::Bool));

impl Terms for NoTerms {
    type Id = TermId;

    fn visit(&self, _: TermId, _: &mut Visitor<'_, TermId>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn ty(&self, _: TermId) -> &TensorType {
        &NO_TYPE
    }

    fn constant(&self, _: TermId) -> Option<&Constant> {
        None
    }
}
