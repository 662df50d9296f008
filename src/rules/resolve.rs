//! From the syntax tree of a rule to patterns over numbered variables.

use std::sync::Arc;

use miette::SourceSpan;

use super::Tier;
use super::ast::{self, Call, Clauses, Element, ExprKind};
use super::error::{Problem, Reporter};
use super::expr::{Expr, TensorRef};
use super::functions;
use super::rule::{AttrPattern, Condition, Operand, Pattern, Rule, Vars};
use super::scope::{Names, is_value_word};
use crate::ir::{AttrValue, DType};
use crate::ops::{self, Arity, AttrDef, AttrKind, CustomOp, Op};

/// The operators that rule files define, by name.
pub type Customs = std::collections::BTreeMap<String, Arc<CustomOp>>;

type Resolved<T> = Result<T, Problem>;

/// A rule item, or one direction of it, before its names are numbered.
pub struct Source<'a> {
    pub name: &'a ast::Name,
    pub doc: &'a str,
    pub tier: Tier,
    pub lhs: &'a ast::Expr,
    pub rhs: &'a ast::Expr,
    pub clauses: &'a Clauses,
    pub reversed: bool,
    /// Names that an op definition says are attributes.
    pub attrs: &'a [ast::Name],
}

/// Resolves one direction of a rule.
pub fn resolve(report: &Reporter, customs: &Customs, source: &Source<'_>) -> Resolved<Rule> {
    let mut names = Names::of(&[source.lhs, source.rhs], source.clauses);
    names.attrs.extend(source.attrs.iter().map(|n| n.text.clone()));
    let mut r = Resolver::new(report, customs, names, source.tier);
    if !matches!(source.lhs.kind, ExprKind::Call(_)) {
        let message = if source.reversed {
            "the right side of `<=>` is no operator, so it would match anything"
        } else {
            "the left side is no operator, so it would match anything"
        };
        let problem = report.problem("rules::matches_anything", source.lhs.span, message, "");
        return Err(if source.reversed { problem.with_help("write `=>`") } else { problem });
    }
    let lhs = r.pattern(source.lhs)?;
    let mut lets: Vec<(usize, Expr)> = Vec::new();
    r.take_lists_apart(&mut lets);
    for (name, value) in &source.clauses.lets {
        if r.names.lists.contains(&name.text) || lets.iter().any(|(v, _)| r.vars.attrs[*v].as_ref() == name.text) {
            let message = format!("`{}` is bound twice", name.text);
            return Err(report.problem("rules::bound_twice", name.span, message, "bound again here"));
        }
        let value = r.expr(value).map_err(|p| r.explain_direction(p, source))?;
        let var = r.attr_var(&name.text);
        r.bound.attrs.push(var);
        lets.push((var, value));
    }
    let mut conditions = Vec::new();
    for (var, expr) in std::mem::take(&mut r.hidden) {
        let (expr, text) = match expr {
            Hidden::Equal(e) => {
                let text = text(report, e.span);
                let e = r.expr(&e).map_err(|p| r.explain_direction(p, source))?;
                (Expr::Compare(super::expr::Comparison::Eq, Box::new(Expr::Attr(var)), Box::new(e)), text)
            }
            Hidden::Near(value) => {
                let near = functions::function("near")
                    .map(|near| Expr::Call(near, vec![Expr::Attr(var), Expr::Value(AttrValue::float(value))]));
                (near.unwrap_or(Expr::Value(AttrValue::Bool(false))), format!("the constant is {value}"))
            }
        };
        conditions.push(Condition { expr, assumed: false, text: text.into() });
    }
    for (assumed, e) in (source.clauses.conditions.iter().map(|e| (false, e)))
        .chain(source.clauses.assumptions.iter().map(|e| (true, e)))
    {
        let expr = r.expr(e).map_err(|p| r.explain_direction(p, source))?;
        r.check_condition(&expr, e.span)?;
        conditions.push(Condition { expr, assumed, text: text(report, e.span).into() });
    }
    r.left = false;
    let rhs = r.pattern(source.rhs).map_err(|p| r.explain_direction(p, source))?;
    if matches!(&rhs, Pattern::Scalar(_)) || rhs.takes_any_dtype() {
        let message = "the element type of the result is not known";
        let problem = report.problem("rules::no_dtype", source.rhs.span, message, "only scalars stand here");
        return Err(problem.with_help("write `full(; shape=[], value=V, dtype=D)`"));
    }
    Ok(Rule {
        name: source.name.text.as_str().into(),
        doc: source.doc.into(),
        tier: source.tier,
        family: report.file.family().into(),
        reversed: source.reversed,
        lhs,
        rhs,
        vars: r.vars,
        lets,
        conditions,
    })
}

/// The source text at `span` on one line.
fn text(report: &Reporter, span: SourceSpan) -> String {
    let text = report.file.text().get(span.offset()..span.offset() + span.len()).unwrap_or("");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[derive(Default)]
struct Bound {
    tensors: Vec<usize>,
    lists: Vec<usize>,
    attrs: Vec<usize>,
}

/// What a hidden attribute variable has to be.
enum Hidden {
    Equal(ast::Expr),
    Near(f64),
}

struct Resolver<'a> {
    report: &'a Reporter,
    customs: &'a Customs,
    names: Names,
    vars: Vars,
    bound: Bound,
    hidden: Vec<(usize, Hidden)>,
    /// Whether the side that is matched is being resolved: there, names are bound.
    left: bool,
    tier: Tier,
    /// Whether a form that is repeated for list elements is being resolved.
    each: bool,
}

fn number(names: &mut Vec<Arc<str>>, name: &str) -> usize {
    names.iter().position(|n| n.as_ref() == name).unwrap_or_else(|| {
        names.push(name.into());
        names.len() - 1
    })
}

impl<'a> Resolver<'a> {
    fn new(report: &'a Reporter, customs: &'a Customs, names: Names, tier: Tier) -> Self {
        Resolver {
            report,
            customs,
            names,
            vars: Vars::default(),
            bound: Bound::default(),
            hidden: Vec::new(),
            left: true,
            tier,
            each: false,
        }
    }

    fn attr_var(&mut self, name: &str) -> usize {
        number(&mut self.vars.attrs, name)
    }

    fn unbound(&self, name: &str, span: SourceSpan) -> Problem {
        let known = self.vars.tensors.iter().chain(&self.vars.lists).chain(&self.vars.attrs);
        let known: Vec<&str> = known.map(|n| n.as_ref()).filter(|&n| n != name).collect();
        let message = format!("`{name}` is not bound by the left side");
        self.report.problem("rules::unbound", span, message, "unknown here").nearest(name, known)
    }

    /// Says that it is the right-to-left direction that fails.
    fn explain_direction(&self, mut problem: Problem, source: &Source<'_>) -> Problem {
        if source.reversed && problem.code == "rules::unbound" {
            problem.message = problem.message.replace("the left side", "the right side, which `<=>` matches too");
            problem.help = Some("write `=>` if the rule goes one way only".into());
        }
        problem
    }

    fn pattern(&mut self, e: &ast::Expr) -> Resolved<Pattern> {
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
        Ok(Pattern::Scalar(AttrPattern::Value(AttrValue::float(number))))
    }

    /// `[d]` on the left side binds `d`, unless something else does.
    fn take_lists_apart(&mut self, lets: &mut Vec<(usize, Expr)>) {
        let mut parts = Vec::new();
        for (var, hidden) in &self.hidden {
            if let Hidden::Equal(ast::Expr { kind: ExprKind::List(items), .. }) = hidden {
                for (i, item) in items.iter().enumerate() {
                    if let ExprKind::Name(name) = &item.expr.kind
                        && self.names.attrs.contains(name)
                        && !self.names.lets.contains(name)
                    {
                        parts.push((name.clone(), *var, i));
                    }
                }
            }
        }
        for (name, list, i) in parts {
            let var = self.attr_var(&name);
            if !self.bound.attrs.contains(&var) {
                self.bound.attrs.push(var);
                let index = Box::new(Expr::Value(AttrValue::Int(i as i64)));
                lets.push((var, Expr::Index(Box::new(Expr::Attr(list)), index)));
            }
        }
    }

    fn hide(&mut self, hidden: Hidden) -> usize {
        let var = self.vars.attrs.len();
        self.vars.attrs.push(format!("${}", self.hidden.len()).into());
        self.bound.attrs.push(var);
        self.hidden.push((var, hidden));
        var
    }

    /// A constant, a variable, or (hidden behind a variable on the left) an expression.
    fn attr_pattern(&mut self, e: &ast::Expr) -> Resolved<AttrPattern> {
        match &e.kind {
            ExprKind::Name(name) if self.names.attrs.contains(name) => {
                if self.left && self.names.lets.contains(name) {
                    return Ok(AttrPattern::Var(self.hide(Hidden::Equal(e.clone()))));
                }
                let var = self.attr_var(name);
                if self.left {
                    self.bound.attrs.push(var);
                } else if !self.bound.attrs.contains(&var) {
                    return Err(self.unbound(name, e.span));
                }
                Ok(AttrPattern::Var(var))
            }
            _ if !mentions_names(e) => {
                let value = constant(&self.expr(e)?);
                value
                    .map(AttrPattern::Value)
                    .ok_or_else(|| self.report.problem("rules::no_value", e.span, "this expression has no value", ""))
            }
            _ if self.left => Ok(AttrPattern::Var(self.hide(Hidden::Equal(e.clone())))),
            _ => Ok(AttrPattern::Expr(self.expr(e)?)),
        }
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

    fn table_attr(&mut self, op: &str, def: &AttrDef, call: &Call) -> Resolved<AttrPattern> {
        let Some((_, e)) = call.attrs.iter().find(|(n, _)| n.text == def.name) else {
            return def.default.value().map(AttrPattern::Value).ok_or_else(|| {
                let message = format!("`{op}` needs the attribute `{}`", def.name);
                let problem = self.report.problem("rules::missing_attribute", call.name.span, message, "");
                problem.with_help(format!("`{}` has no default: bind it to a name to match any value", def.name))
            });
        };
        let pattern = self.attr_pattern(e)?;
        let AttrPattern::Value(value) = pattern else { return Ok(pattern) };
        match to_kind(def, value) {
            Some(value) => Ok(AttrPattern::Value(value)),
            None => {
                let message = format!("`{}` of `{op}` takes {}", def.name, kind_name(def.kind));
                Err(self.report.problem("rules::wrong_kind", e.span, message, ""))
            }
        }
    }

    fn custom_attrs(&mut self, custom: &CustomOp, call: &Call) -> Resolved<Vec<AttrPattern>> {
        for (name, _) in &call.attrs {
            if !custom.attrs.contains(&name.text) {
                let message = format!("`{}` has no attribute `{}`", custom.name, name.text);
                let problem = self.report.problem("rules::unknown_attribute", name.span, message, "");
                return Err(problem.nearest(&name.text, custom.attrs.iter().map(String::as_str)));
            }
        }
        let mut attrs = Vec::new();
        for wanted in &custom.attrs {
            match call.attrs.iter().find(|(n, _)| &n.text == wanted) {
                Some((_, e)) => attrs.push(self.attr_pattern(e)?),
                None => {
                    let message = format!("`{}` needs the attribute `{wanted}`", custom.name);
                    return Err(self.report.problem("rules::missing_attribute", call.name.span, message, ""));
                }
            }
        }
        Ok(attrs)
    }

    /// A condition asks about at most one list, and asks `not` of nothing that can only become known.
    fn check_condition(&self, expr: &Expr, span: SourceSpan) -> Resolved<()> {
        let mut lists = Vec::new();
        let mut negated = false;
        expr.walk(&mut |e| match e {
            Expr::Tensor(_, TensorRef::Element(l), _) if !lists.contains(l) => lists.push(*l),
            Expr::Not(inner) => inner.walk(&mut |e| {
                negated |= matches!(e, Expr::Tensor(f, ..) if f.name == "is_const");
            }),
            _ => {}
        });
        if negated {
            let message = "a condition cannot ask that something is unknown";
            return Err(self
                .report
                .problem("rules::not_monotone", span, message, "never holds")
                .with_help("what holds once has to hold for ever, and constants may become known later"));
        }
        if lists.len() > 1 {
            let message = "a condition can look at one list only";
            return Err(self.report.problem("rules::list", span, message, ""));
        }
        Ok(())
    }

    /// An attribute expression.
    fn expr(&mut self, e: &ast::Expr) -> Resolved<Expr> {
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
        let wrong_count = |this: &Self, wanted: usize| {
            let message = format!("`{name}` takes {wanted} arguments, {} are given", call.operands.len());
            this.report.problem("rules::argument_count", e.span, message, "")
        };
        if let Some(function) = functions::tensor_function(name) {
            let Some((tensor, rest)) = call.operands.split_first().filter(|(_, r)| r.len() == function.arity) else {
                return Err(wrong_count(self, function.arity + 1));
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
        if call.operands.len() != function.arity {
            return Err(wrong_count(self, function.arity));
        }
        let arguments = call.operands.iter().map(|a| self.expr(&a.expr)).collect::<Resolved<_>>()?;
        Ok(Expr::Call(function, arguments))
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

/// Whether an expression depends on what a rule binds.
fn mentions_names(e: &ast::Expr) -> bool {
    match &e.kind {
        ExprKind::Name(name) => !is_value_word(name),
        ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Str(_) => false,
        ExprKind::Call(call) => call.operands.iter().any(|o| mentions_names(&o.expr)),
        ExprKind::List(items) => items.iter().any(|i| mentions_names(&i.expr)),
        ExprKind::Index(a, b) | ExprKind::Binary(_, a, b) => mentions_names(a) || mentions_names(b),
        ExprKind::Slice(a, from, to) => mentions_names(a) || from.iter().chain(to).any(|e| mentions_names(e)),
        ExprKind::Neg(a) | ExprKind::Not(a) => mentions_names(a),
    }
}

/// The value of an expression that mentions no variables.
pub fn closed(report: &Reporter, e: &ast::Expr) -> Resolved<AttrValue> {
    let customs = Customs::default();
    let mut resolver = Resolver::new(report, &customs, Names::default(), Tier::Exact);
    let value = constant(&resolver.expr(e)?);
    value.ok_or_else(|| report.problem("rules::no_value", e.span, "this expression has no value", ""))
}

fn constant(e: &Expr) -> Option<AttrValue> {
    e.eval(&super::expr::Scope {
        terms: &super::arena::NoTerms,
        bindings: &super::rule::Bindings::default(),
        element: None,
    })
    .ok()
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

/// A literal as a value of the attribute's kind.
fn to_kind(def: &AttrDef, value: AttrValue) -> Option<AttrValue> {
    match (def.kind, &value) {
        (_, AttrValue::None) => (def.default == ops::Default::None).then_some(value),
        (AttrKind::Float, AttrValue::Int(v)) => Some(AttrValue::float(*v as f64)),
        (AttrKind::Bool, AttrValue::Bool(_))
        | (AttrKind::Int | AttrKind::Dim, AttrValue::Int(_))
        | (AttrKind::Float, AttrValue::Float(_))
        | (AttrKind::Str, AttrValue::Str(_))
        | (AttrKind::DType, AttrValue::DType(_))
        | (AttrKind::Ints | AttrKind::Dims, AttrValue::Ints(_)) => Some(value),
        _ => None,
    }
}

fn kind_name(kind: AttrKind) -> &'static str {
    match kind {
        AttrKind::Bool => "true or false",
        AttrKind::Int => "an integer",
        AttrKind::Float => "a number",
        AttrKind::Str => "a string",
        AttrKind::DType => "an element type",
        AttrKind::Ints => "a list of integers",
        AttrKind::Dim => "a dim",
        AttrKind::Dims => "a list of dims",
    }
}
