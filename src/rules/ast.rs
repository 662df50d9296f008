//! What a rule file says, as written.

use miette::SourceSpan;

use super::Tier;
use super::expr::{Arithmetic, Comparison};
use crate::ir::TensorType;

/// A name and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Name {
    pub text: String,
    pub span: SourceSpan,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Item {
    Rule(RuleItem),
    Op(OpItem),
    Test(TestItem),
}

/// `rule NAME [TIER] for F in OPS: LEFT => RIGHT …`
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RuleItem {
    pub doc: String,
    pub name: Name,
    pub tier: Tier,
    /// Its author says that it follows from others.
    pub shortcut: bool,
    /// A name that stands for each of these operators in turn.
    pub template: Option<(Name, Vec<Name>)>,
    /// One expression for each root.
    pub lhs: Vec<Expr>,
    pub both_ways: bool,
    pub rhs: Vec<Expr>,
    pub clauses: Clauses,
}

impl Item {
    pub(super) fn name(&self) -> &Name {
        match self {
            Item::Rule(rule) => &rule.name,
            Item::Op(op) => &op.name,
            Item::Test(test) => &test.name,
        }
    }

    /// The most rules that it stands for: one for each root, direction and operator of the template.
    pub(super) fn rules(&self) -> usize {
        match self {
            Item::Rule(rule) => {
                let operators = rule.template.as_ref().map_or(1, |(_, operators)| operators.len());
                rule.lhs.len() * operators * if rule.both_ways { 2 } else { 1 }
            }
            Item::Op(op) => 2 * op.body.len(),
            Item::Test(_) => 0,
        }
    }
}

/// `op NAME(OPERANDS; ATTRIBUTES) = BODY …`
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OpItem {
    pub doc: String,
    pub name: Name,
    pub operands: Vec<Name>,
    pub attrs: Vec<Name>,
    /// One expression for each output.
    pub body: Vec<Expr>,
    pub clauses: Clauses,
}

/// `test RULE { x: f32[2, 3], d=0 }`
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TestItem {
    pub name: Name,
    pub given: Vec<(Name, Given)>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Given {
    Tensor(TensorType),
    List(Vec<TensorType>),
    Attr(Expr),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Clauses {
    pub conditions: Vec<Expr>,
    /// Conditions that only keep the search small.
    pub guards: Vec<Expr>,
    pub assumptions: Vec<Expr>,
    pub lets: Vec<(Name, Expr)>,
}

/// Operands and attribute expressions share one form; the resolver tells them apart by where they stand.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Expr {
    pub span: SourceSpan,
    pub kind: ExprKind,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum ExprKind {
    Name(String),
    Int(i64),
    Float(f64),
    Str(String),
    Call(Call),
    List(Vec<Element>),
    Index(Box<Expr>, Box<Expr>),
    Slice(Box<Expr>, Option<Box<Expr>>, Option<Box<Expr>>),
    Neg(Box<Expr>),
    Not(Box<Expr>),
    Binary(Infix, Box<Expr>, Box<Expr>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Infix {
    And,
    Or,
    Compare(Comparison),
    Arithmetic(Arithmetic),
}

/// `name(operands; attributes).slot`
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Call {
    pub name: Name,
    pub operands: Vec<Element>,
    pub attrs: Vec<(Name, Expr)>,
    pub slot: usize,
}

/// An operand or list entry; `each` where three dots follow.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Element {
    pub expr: Expr,
    pub each: bool,
}

impl Expr {
    /// The same expression with calls of `from` calling `to`.
    pub(super) fn renamed(&self, from: &str, to: &Name) -> Expr {
        let one = |e: &Expr| Box::new(e.renamed(from, to));
        let all =
            |es: &[Element]| es.iter().map(|e| Element { expr: e.expr.renamed(from, to), each: e.each }).collect();
        let kind = match &self.kind {
            ExprKind::Call(call) => ExprKind::Call(Call {
                name: if call.name.text == from {
                    Name { text: to.text.clone(), span: call.name.span }
                } else {
                    call.name.clone()
                },
                operands: all(&call.operands),
                attrs: call.attrs.iter().map(|(n, e)| (n.clone(), e.renamed(from, to))).collect(),
                slot: call.slot,
            }),
            ExprKind::List(items) => ExprKind::List(all(items)),
            ExprKind::Index(a, b) => ExprKind::Index(one(a), one(b)),
            ExprKind::Slice(a, x, y) => ExprKind::Slice(one(a), x.as_ref().map(|e| one(e)), y.as_ref().map(|e| one(e))),
            ExprKind::Neg(a) => ExprKind::Neg(one(a)),
            ExprKind::Not(a) => ExprKind::Not(one(a)),
            ExprKind::Binary(infix, a, b) => ExprKind::Binary(*infix, one(a), one(b)),
            kind => kind.clone(),
        };
        Expr { span: self.span, kind }
    }
}
