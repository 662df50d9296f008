//! The syntax tree of a `.mir` file: what stands in the text, before names and types are looked at.

use std::borrow::Cow;

use miette::SourceSpan;

use crate::ir::{self, AttrValue, Origin, Path, Role, TensorType};

/// A name with its place.
#[derive(Clone, Debug)]
pub(super) struct Name<'s> {
    pub text: Cow<'s, str>,
    pub span: SourceSpan,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Number {
    Int(i64),
    Float(f64),
    Bool(bool),
}

impl Name<'_> {
    /// Stands in until the name is read.
    pub(super) fn missing(span: SourceSpan) -> Self {
        Name { text: Cow::Borrowed(""), span }
    }
}

impl Number {
    pub(super) fn value(self) -> ir::Number {
        match self {
            Number::Int(v) => v.into(),
            Number::Float(v) => v.into(),
            Number::Bool(v) => v.into(),
        }
    }
}

/// The right side of `name = …` in attributes and configuration.
#[derive(Clone, Debug)]
pub(super) enum Constant<'s> {
    Number(Number),
    Str(Cow<'s, str>),
    Numbers(Vec<Number>),
    /// `none`, or an element type.
    Word(&'s str),
}

#[derive(Clone, Debug)]
pub(super) struct Setting<'s> {
    pub name: Name<'s>,
    pub value: Constant<'s>,
    /// Of the value.
    pub span: SourceSpan,
}

#[derive(Debug)]
pub(super) struct Binding<'s> {
    /// What the text calls it.
    pub local: Name<'s>,
    /// What the node is called, where the two differ.
    pub real: Option<Name<'s>>,
}

impl<'s> Binding<'s> {
    pub(super) fn node_name(&self) -> &Name<'s> {
        self.real.as_ref().unwrap_or(&self.local)
    }
}

#[derive(Debug)]
pub(super) struct Input<'s> {
    pub binding: Binding<'s>,
    pub role: Role,
    pub ty: TensorType,
    pub origin: Origin,
}

#[derive(Debug)]
pub(super) struct Typed<'s> {
    pub binding: Binding<'s>,
    pub stated: Option<(TensorType, SourceSpan)>,
}

#[derive(Clone, Debug)]
pub(super) enum Operand<'s> {
    Scalar(Number, SourceSpan),
    Name(Name<'s>),
    Call(CallExpr<'s>),
}

#[derive(Clone, Debug)]
pub(super) struct CallExpr<'s> {
    pub op: Name<'s>,
    pub operands: Vec<Operand<'s>>,
    pub attrs: Vec<Setting<'s>>,
    pub span: SourceSpan,
}

#[derive(Debug)]
pub(super) enum Body<'s> {
    Call(CallExpr<'s>),
    Opaque { call: CallExpr<'s>, types: Vec<TensorType> },
    Literal { ty: TensorType, data: Vec<Number>, span: SourceSpan },
}

#[derive(Debug)]
pub(super) struct Statement<'s> {
    pub results: Vec<Typed<'s>>,
    pub body: Body<'s>,
    pub origin: Origin,
}

/// A line of a binding file.
#[derive(Debug)]
pub(super) struct Equality<'s> {
    pub target: Name<'s>,
    pub value: CallExpr<'s>,
}

/// What is returned, and where it goes.
#[derive(Debug)]
pub(super) struct Returned<'s> {
    pub value: Yielded<'s>,
    pub target: Purpose<'s>,
}

#[derive(Debug)]
pub(super) enum Yielded<'s> {
    /// The value of that name, under another name or its own.
    Tensor {
        value: Name<'s>,
        name: Option<Name<'s>>,
    },
    Constant(AttrValue),
}

/// See [`Target`](crate::ir::Target).
#[derive(Debug)]
pub(super) enum Purpose<'s> {
    Result(Option<Path>),
    Loss(Option<Path>),
    Write(Name<'s>),
    Gradient(Name<'s>),
}

#[derive(Debug)]
pub(super) struct File<'s> {
    pub config: Vec<Setting<'s>>,
    pub name: Name<'s>,
    pub inputs: Vec<Input<'s>>,
    /// Constants among the inputs.
    pub given: Vec<(Name<'s>, AttrValue)>,
    pub statements: Vec<Statement<'s>>,
    pub returned: Vec<Returned<'s>>,
}
