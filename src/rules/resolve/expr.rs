//! Attribute expressions.

use miette::SourceSpan;

use super::{Resolved, Resolver};
use crate::ir::AttrValue;
use crate::rules::ast::{self, Call, Element, ExprKind};
use crate::rules::error::Problem;
use crate::rules::expr::{Expr, TensorRef};
use crate::rules::functions;

impl Resolver<'_> {
    /// An attribute expression.
    pub(super) fn expr(&mut self, e: &ast::Expr) -> Resolved<Expr> {
        let boxed = |r: &mut Self, e: &ast::Expr| r.expr(e).map(Box::new);
        Ok(match &e.kind {
            ExprKind::Int(v) => Expr::Value(AttrValue::Int(*v)),
            ExprKind::Float(v) => Expr::Value(AttrValue::float(*v)),
            ExprKind::Str(v) => Expr::Value(AttrValue::str(v)),
            ExprKind::Name(name) if self.names.attrs.contains(name) => {
                let var = self.vars.attrs.iter().position(|n| n.as_ref() == name);
                match var.filter(|v| self.bound.attrs.contains(v)) {
                    Some(var) => Expr::Attr(var),
                    None => return Err(self.unbound(name, e.span)),
                }
            }
            ExprKind::Name(name) => match value_word(name) {
                Some(value) => Expr::Value(value),
                None => return Err(self.tensor_as_value(name, e.span)),
            },
            ExprKind::Call(call) => self.function(e, call)?,
            ExprKind::List(items) => Expr::List(items.iter().map(|i| self.expr(&i.expr)).collect::<Resolved<_>>()?),
            ExprKind::Index(a, b) => Expr::Index(boxed(self, a)?, boxed(self, b)?),
            ExprKind::Slice(a, from, to) => {
                let from = from.as_ref().map(|e| boxed(self, e)).transpose()?;
                let to = to.as_ref().map(|e| boxed(self, e)).transpose()?;
                Expr::Slice(boxed(self, a)?, from, to)
            }
            ExprKind::Neg(a) => Expr::Neg(boxed(self, a)?),
            ExprKind::Not(a) => Expr::Not(boxed(self, a)?),
            ExprKind::Binary(infix, a, b) => {
                let (a, b) = (boxed(self, a)?, boxed(self, b)?);
                match infix {
                    ast::Infix::And => Expr::And(a, b),
                    ast::Infix::Or => Expr::Or(a, b),
                    ast::Infix::Compare(how) => Expr::Compare(*how, a, b),
                    ast::Infix::Arithmetic(how) => Expr::Arithmetic(*how, a, b),
                }
            }
        })
    }

    fn tensor_as_value(&self, name: &str, span: SourceSpan) -> Problem {
        self.report
            .problem("rules::tensor_as_value", span, format!("`{name}` is a tensor, not a value"), "")
            .with_help(format!("ask about it: `rank({name})`, `dim({name}, 0)`, `value({name})`, …"))
    }

    fn function(&mut self, e: &ast::Expr, call: &Call) -> Resolved<Expr> {
        let name = call.name.text.as_str();
        if let Some((attr, _)) = call.attrs.first() {
            let message = "functions have no attributes";
            return Err(self.report.problem("rules::unknown_attribute", attr.span, message, ""));
        }
        if let ("len", [Element { expr: ast::Expr { kind: ExprKind::Name(list), .. }, .. }]) =
            (name, &call.operands[..])
            && self.names.lists.contains(list)
        {
            let var = self.vars.lists.iter().position(|n| n.as_ref() == list);
            return var.map(Expr::Count).ok_or_else(|| self.unbound(list, e.span));
        }
        if let ("same", [Element { expr, .. }]) = (name, &call.operands[..]) {
            return self.same(expr);
        }
        let wrong_count = |this: &Self, wanted: usize| {
            let message = format!("`{name}` takes {wanted} arguments, {} are given", call.operands.len());
            this.report.problem("rules::argument_count", e.span, message, "")
        };
        if let Some(function) = functions::tensor_function(name) {
            let Some((tensor, rest)) = call.operands.split_first().filter(|(_, r)| r.len() == function.arguments.len())
            else {
                return Err(wrong_count(self, function.arguments.len() + 1));
            };
            let tensor = self.tensor_ref(&tensor.expr)?;
            let rest = rest.iter().map(|a| self.expr(&a.expr)).collect::<Resolved<_>>()?;
            return Ok(Expr::Tensor(function, tensor, rest));
        }
        let Some(function) = functions::function(name) else {
            let message = format!("there is no function `{name}`");
            let problem = self.report.problem("rules::unknown_function", call.name.span, message, "");
            return Err(problem.nearest(name, functions::names()));
        };
        if call.operands.len() != function.arguments.len() {
            return Err(wrong_count(self, function.arguments.len()));
        }
        let arguments = call.operands.iter().map(|a| self.expr(&a.expr)).collect::<Resolved<_>>()?;
        Ok(Expr::Call(function, arguments))
    }

    /// `same(dim(xs, d))`: the value is the same for every tensor of the list.
    fn same(&mut self, e: &ast::Expr) -> Resolved<Expr> {
        let value = self.expr(e)?;
        let mut lists = Vec::new();
        value.walk(&mut |e| {
            if let Expr::Tensor(_, TensorRef::Element(l), _) = e
                && !lists.contains(l)
            {
                lists.push(*l);
            }
        });
        match lists[..] {
            [list] => Ok(Expr::Same(list, Box::new(value))),
            _ => Err(self
                .report
                .problem("rules::list", e.span, "`same` looks at the tensors of one list", "")
                .with_help("as in `same(dtype(xs))`, where `xs` stands as `[xs...]` in the rule")),
        }
    }

    fn tensor_ref(&self, e: &ast::Expr) -> Resolved<TensorRef> {
        let ExprKind::Name(name) = &e.kind else {
            let message = "a function looks at a tensor variable, not at an expression";
            return Err(self.report.problem("rules::not_a_tensor", e.span, message, ""));
        };
        if self.names.attrs.contains(name) {
            let message = format!("`{name}` is an attribute, not a tensor");
            let problem = self.report.problem("rules::not_a_tensor", e.span, message, "a tensor is wanted here");
            return Err(
                problem.with_help("a name that stands for a value anywhere in a rule is an attribute everywhere")
            );
        }
        let list = self.vars.lists.iter().position(|n| n.as_ref() == name).map(TensorRef::Element);
        let tensor = self.vars.tensors.iter().position(|n| n.as_ref() == name).map(TensorRef::Var);
        list.or(tensor).ok_or_else(|| self.unbound(name, e.span))
    }
}

fn value_word(name: &str) -> Option<AttrValue> {
    Some(match name {
        "true" => AttrValue::Bool(true),
        "false" => AttrValue::Bool(false),
        "none" => AttrValue::None,
        "inf" => AttrValue::float(f64::INFINITY),
        "nan" => AttrValue::float(f64::NAN),
        _ => AttrValue::DType(name.parse().ok()?),
    })
}
