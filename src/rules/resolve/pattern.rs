//! Operators and operands.

use super::{Hidden, Resolved, Resolver, number};
use crate::ir::DType;
use crate::ops::{self, Arity, Op};
use crate::rules::Tier;
use crate::rules::ast::{self, Call, Element, ExprKind};
use crate::rules::functions;
use crate::rules::rule::{AttrPattern, Operand, Pattern};
use crate::rules::scope::is_value_word;

impl Resolver<'_> {
    pub(super) fn pattern(&mut self, e: &ast::Expr) -> Resolved<Pattern> {
        match &e.kind {
            ExprKind::Name(name) if self.names.lists.contains(name) => {
                if !self.each {
                    let message = format!("`{name}` is a list");
                    return Err(self
                        .report
                        .problem("rules::list", e.span, message, "one tensor is wanted here")
                        .with_help(format!("lists stand in brackets: `[{name}...]`")));
                }
                let var = number(&mut self.vars.lists, name);
                if self.left {
                    self.bound.lists.push(var);
                } else if !self.bound.lists.contains(&var) {
                    return Err(self.unbound(name, e.span));
                }
                Ok(Pattern::Element(var))
            }
            ExprKind::Name(name) if self.names.attrs.contains(name) || is_value_word(name) => self.scalar(e),
            ExprKind::Name(name) => {
                let var = number(&mut self.vars.tensors, name);
                if self.left {
                    self.bound.tensors.push(var);
                } else if !self.bound.tensors.contains(&var) {
                    self.vars.tensors.pop();
                    return Err(self.unbound(name, e.span));
                }
                Ok(Pattern::Tensor(var))
            }
            ExprKind::Call(call) => self.apply(e, call),
            ExprKind::List(_) => {
                Err(self.report.problem("rules::list", e.span, "a list stands where one tensor is wanted", ""))
            }
            ExprKind::Str(_) | ExprKind::Not(_) => {
                Err(self.report.problem("rules::not_an_operand", e.span, "this is neither a tensor nor a number", ""))
            }
            _ => self.scalar(e),
        }
    }

    /// A number, or an expression for one, in operand position.
    fn scalar(&mut self, e: &ast::Expr) -> Resolved<Pattern> {
        let pattern = self.attr_pattern(e)?;
        let AttrPattern::Value(value) = pattern else { return Ok(Pattern::Scalar(pattern)) };
        let Some(number) = value.as_float() else {
            return Err(self.report.problem("rules::not_an_operand", e.span, "this is no number", ""));
        };
        // A constant with many digits is matched as people type it; short ones are meant exactly.
        let many_digits = number.is_finite() && DType::BF16.round(number) != number;
        if self.left && many_digits && self.tier > Tier::Exact {
            let var = self.hide(Hidden::Near(number));
            return Ok(Pattern::Scalar(AttrPattern::Var(var)));
        }
        Ok(Pattern::Scalar(AttrPattern::Value(value)))
    }

    fn apply(&mut self, e: &ast::Expr, call: &Call) -> Resolved<Pattern> {
        let op = self.op(call)?;
        let operands = self.operands(&op, call)?;
        if let Some(def) = op.def() {
            let (least, most) = def.operand_count();
            let lists = operands.iter().filter(|o| matches!(o, Operand::Each(_))).count();
            let fixed = operands.len() - lists;
            if fixed > most || fixed < least && lists == 0 {
                let wanted = if least == most { least.to_string() } else { format!("{least} to {most}") };
                let message = format!("`{}` takes {wanted} operands, {} are given", def.name, operands.len());
                return Err(self.report.problem("rules::operand_count", e.span, message, ""));
            }
        }
        for (i, (name, _)) in call.attrs.iter().enumerate() {
            if call.attrs[..i].iter().any(|(n, _)| n.text == name.text) {
                let message = format!("`{}` is given twice", name.text);
                return Err(self.report.problem("rules::given_twice", name.span, message, "given again here"));
            }
        }
        let attrs = match &op {
            Op::Table(def) => {
                for (name, _) in &call.attrs {
                    if def.attr_index(&name.text).is_none() {
                        let message = format!("`{}` has no attribute `{}`", def.name, name.text);
                        let problem = self.report.problem("rules::unknown_attribute", name.span, message, "");
                        return Err(problem.nearest(&name.text, def.attrs.iter().map(|a| a.name)));
                    }
                }
                def.attrs.iter().map(|a| self.table_attr(def.name, a, call)).collect::<Resolved<Vec<_>>>()?
            }
            Op::Custom(custom) => self.custom_attrs(custom, call)?,
        };
        Ok(Pattern::Apply { op, slot: call.slot, attrs, operands })
    }

    fn op(&self, call: &Call) -> Resolved<Op> {
        let name = &call.name.text;
        if let Some(def) = ops::find(name) {
            return Ok(Op::Table(def));
        }
        if let Some(custom) = self.customs.get(name) {
            return Ok(Op::Custom(custom.clone()));
        }
        let message = format!("there is no operator `{name}`");
        let problem = self.report.problem("rules::unknown_op", call.name.span, message, "unknown operator");
        if functions::function(name).is_some() || functions::tensor_function(name).is_some() {
            return Err(problem.with_help("functions of attributes stand after `;`, or in `where` and `let`"));
        }
        let known = ops::all().map(|d| d.name).chain(self.customs.keys().map(String::as_str));
        Err(problem.nearest(name, known))
    }

    fn operands(&mut self, op: &Op, call: &Call) -> Resolved<Vec<Operand>> {
        let list_at = op.def().and_then(|d| d.operands.iter().position(|o| o.arity == Arity::Many));
        let mut operands = Vec::new();
        for (i, element) in call.operands.iter().enumerate() {
            if let (ExprKind::List(items), Some(at)) = (&element.expr.kind, list_at)
                && i == at
            {
                for item in items {
                    operands.push(self.operand(item)?);
                }
            } else if list_at == Some(i) {
                return Err(self
                    .report
                    .problem("rules::list", element.expr.span, format!("`{}` takes a list here", op.name()), "")
                    .with_help("write `[x, y]` or `[xs...]`"));
            } else if element.each {
                let span = element.expr.span;
                return Err(self.report.problem("rules::list", span, "`...` stands in lists only", ""));
            } else {
                operands.push(Operand::One(self.pattern(&element.expr)?));
            }
        }
        if operands.iter().filter(|o| matches!(o, Operand::Each(_))).count() > 1 {
            let message = "only one entry of a list may have `...`";
            return Err(self.report.problem("rules::list", call.name.span, message, ""));
        }
        Ok(operands)
    }

    fn operand(&mut self, element: &Element) -> Resolved<Operand> {
        if !element.each {
            return Ok(Operand::One(self.pattern(&element.expr)?));
        }
        self.each = true;
        let pattern = self.pattern(&element.expr);
        self.each = false;
        let pattern = pattern?;
        let mut lists = Vec::new();
        pattern.elements(&mut lists);
        if lists.is_empty() {
            let message = "nothing in here is a list";
            return Err(self
                .report
                .problem("rules::list", element.expr.span, message, "repeated for each element of what?")
                .with_help("a list has to stand as `[xs...]` somewhere in the rule"));
        }
        Ok(Operand::Each(pattern))
    }
}
