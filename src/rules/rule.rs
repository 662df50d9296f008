//! The compiled form of a rule: patterns over numbered variables.

use std::sync::Arc;

use miette::SourceSpan;
use smallvec::SmallVec;

use super::Tier;
use super::expr::Expr;
use super::vars::{AttrVar, ListVar, TensorVar, Vars};
use crate::ir::AttrValue;
use crate::ops::Op;

/// What an operand has to look like, or what is built in its place.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// Any tensor; the same one wherever the name stands again.
    Tensor(TensorVar),
    /// The list element that an enclosing [`Operand::Each`] is at.
    Element(ListVar),
    /// A constant of rank 0.
    Scalar(AttrPattern),
    Apply {
        op: Op,
        slot: usize,
        attrs: Vec<AttrPattern>,
        operands: Vec<Operand>,
    },
}

/// An entry in an operand list.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    One(Pattern),
    /// Any number of operands of this form, one for each element of the list variables inside.
    Each(Pattern),
}

/// What an attribute has to be, or what is built in its place.
#[derive(Clone, Debug, PartialEq)]
pub enum AttrPattern {
    /// This value. Negative dims count from the end of the first operand.
    Value(AttrValue),
    Var(AttrVar),
    /// Computed; only on the side that is built.
    Expr(Expr),
}

/// What a condition is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionKind {
    /// Without it, the rule is wrong.
    Needed,
    /// It only keeps the search from going in circles or from matching what is of no use.
    Guard,
    /// As [`ConditionKind::Needed`]; where it cannot be decided, it is assumed and reported.
    Assumed,
}

/// Something that has to hold before a rule may be applied.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    pub expr: Expr,
    pub kind: ConditionKind,
    /// As the rule file writes it.
    pub text: Arc<str>,
    /// Where it stands; `None` for what a pattern implies.
    pub span: Option<SourceSpan>,
}

/// One direction of a rule.
#[derive(Clone, Debug)]
pub struct Rule {
    pub name: Arc<str>,
    /// What `explain` prints for a step by this rule.
    pub doc: Arc<str>,
    pub tier: Tier,
    /// It follows from others and keeps proofs short, its author says.
    pub shortcut: bool,
    /// Stem of the file it comes from.
    pub family: Arc<str>,
    /// The right-to-left direction of a rule that goes both ways.
    pub reversed: bool,
    pub lhs: Pattern,
    /// How far below its root the left side looks.
    pub height: usize,
    /// The operators of the left side and the other roots: where one of them is missing, there is no match.
    pub operators: Vec<Op>,
    pub rhs: Pattern,
    /// The other roots of the left side: some terms have to match them with the same bindings. They choose where the
    /// rule is applied; that `lhs` equals `rhs` follows from the bindings alone.
    pub context: Vec<Pattern>,
    pub vars: Vars,
    /// Attribute variables that are computed once the left side has matched, in order.
    pub lets: Vec<(AttrVar, Expr)>,
    pub conditions: Vec<Condition>,
}

impl Rule {
    /// Whether an instance of the rule may hold under an assumption.
    pub fn assumes(&self) -> bool {
        self.conditions.iter().any(|c| c.kind == ConditionKind::Assumed)
    }

    /// The name of the operator at the root of the left side: the only terms worth searching.
    pub fn root_op(&self) -> Option<&str> {
        match &self.lhs {
            Pattern::Apply { op, .. } => Some(op.name()),
            _ => None,
        }
    }
}

/// What a rule says that tells a commutative operator to be associative.
#[derive(Clone, Debug)]
pub struct Associativity {
    pub op: Op,
    /// The variables of the three operands, in order.
    pub operands: [TensorVar; 3],
}

impl Rule {
    /// `f(f(x, y), z)` is `f(x, f(y, z))`, from either side, for a commutative `f`.
    pub fn associativity(&self) -> Option<Associativity> {
        let (op, [left, right]) = pair(&self.lhs)?;
        let (same, [first, last]) = pair(&self.rhs)?;
        let inner = |side| pair(side).filter(|(f, _)| *f == op).map(|(_, operands)| operands);
        let [x, y, z, u, v, w] = match (inner(left), inner(last), inner(right), inner(first)) {
            (Some([x, y]), Some([v, w]), ..) => [x, y, right, first, v, w],
            (.., Some([y, z]), Some([u, v])) => [left, y, z, u, v, last],
            _ => return None,
        };
        let operands = [variable(x)?, variable(y)?, variable(z)?];
        let again = [variable(u)?, variable(v)?, variable(w)?];
        let [x, y, z] = operands;
        let fits = operands == again && x != y && y != z && x != z;
        (fits && op == same && op.commutative() && self.context.is_empty())
            .then(|| Associativity { op: op.clone(), operands })
    }
}

/// An operator without attributes on two operands.
fn pair(pattern: &Pattern) -> Option<(&Op, [&Pattern; 2])> {
    match pattern {
        Pattern::Apply { op, slot: 0, attrs, operands } if attrs.is_empty() => match &operands[..] {
            [Operand::One(a), Operand::One(b)] => Some((op, [a, b])),
            _ => None,
        },
        _ => None,
    }
}

fn variable(pattern: &Pattern) -> Option<TensorVar> {
    match pattern {
        Pattern::Tensor(variable) => Some(*variable),
        _ => None,
    }
}

/// Whether the conditions of a rule hold for some bindings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Holds {
        /// Numbers of the conditions that could not be decided and are assumed.
        assumed: SmallVec<[usize; 2]>,
    },
    /// A condition asks for a value that is not known: of terms that may still turn out to have one, ask again.
    Open,
    Fails,
}
