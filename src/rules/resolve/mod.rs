//! From the syntax tree of a rule to patterns over numbered variables.

mod attrs;
mod expr;
mod pattern;
mod roots;

use std::sync::Arc;

use miette::SourceSpan;

use super::Tier;
use super::ast::{self, Clauses, ExprKind};
use super::error::{Problem, Reporter};
use super::expr::{Expr, TensorRef};
use super::functions;
use super::rule::{AttrPattern, Condition, ConditionKind, Pattern, Rule};
use super::scope::{Names, is_value_word};
use super::vars::{Bindings, Vars};
use crate::ir::AttrValue;
use crate::ops::{CustomOp, Op};

/// The operators that rule files define, by name.
pub(super) type Customs = std::collections::BTreeMap<String, Arc<CustomOp>>;

type Resolved<T> = Result<T, Problem>;

/// A rule item, or one direction of it, before its names are numbered.
pub(super) struct Source<'a> {
    pub name: &'a ast::Name,
    pub doc: &'a str,
    pub tier: Tier,
    pub shortcut: bool,
    /// The roots of the side that is matched.
    pub lhs: &'a [ast::Expr],
    /// The roots of the side that is built.
    pub rhs: &'a [ast::Expr],
    /// Which of the roots the rule rewrites; the others say where.
    pub root: usize,
    pub clauses: &'a Clauses,
    pub reversed: bool,
    /// Names that an op definition says are attributes.
    pub attrs: &'a [ast::Name],
}

/// Resolves one direction of a rule for one of its roots. The error is everything that is wrong with it.
pub(super) fn resolve(report: &Reporter, customs: &Customs, source: &Source<'_>) -> Result<Rule, Vec<Problem>> {
    let sides: Vec<&ast::Expr> = source.lhs.iter().chain(source.rhs).collect();
    let mut names = Names::of(&sides, source.clauses);
    names.attrs.extend(source.attrs.iter().map(|n| n.text.clone()));
    let mut r = Resolver::new(report, customs, names, source.tier);
    let mut problems = Vec::new();
    let roots = r.left_side(source, &mut problems);
    // What the left side binds is not known if it is wrong, so that names tell nothing.
    let left_is_wrong = !problems.is_empty();
    let mut lets: Vec<(usize, Expr)> = Vec::new();
    r.take_lists_apart(&mut lets);
    for (name, value) in &source.clauses.lets {
        match r.bind_let(name, value, &lets) {
            Ok(bound) => lets.push(bound),
            Err(problem) => problems.push(r.explain_direction(problem, source)),
        }
    }
    let mut conditions = Vec::new();
    for (var, hidden) in std::mem::take(&mut r.hidden) {
        match r.hidden_condition(var, hidden) {
            Ok(condition) => conditions.push(condition),
            Err(problem) => problems.push(r.explain_direction(problem, source)),
        }
    }
    let clauses = source.clauses;
    let all = [
        (ConditionKind::Needed, &clauses.conditions),
        (ConditionKind::Guard, &clauses.guards),
        (ConditionKind::Assumed, &clauses.assumptions),
    ];
    for (kind, e) in all.into_iter().flat_map(|(kind, list)| list.iter().map(move |e| (kind, e))) {
        match r.condition(e, kind) {
            Ok(condition) => conditions.push(condition),
            Err(problem) => problems.push(r.explain_direction(problem, source)),
        }
    }
    r.left = false;
    let rhs = source.rhs.get(source.root).map(|e| r.right_side(e));
    let rhs = match rhs {
        Some(Ok(rhs)) => Some(rhs),
        Some(Err(problem)) => {
            problems.push(r.explain_direction(problem, source));
            None
        }
        None => None,
    };
    if left_is_wrong {
        problems.retain(|p| !matches!(p.code, "rules::unbound" | "rules::tensor_as_value"));
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let mut roots = roots;
    let (Some(rhs), true) = (rhs, source.root < roots.len()) else { return Err(problems) };
    let lhs = roots.remove(source.root);
    Ok(Rule {
        name: source.name.text.as_str().into(),
        doc: source.doc.into(),
        tier: source.tier,
        shortcut: source.shortcut,
        family: report.file.family().into(),
        reversed: source.reversed,
        height: lhs.height(),
        operators: operators(roots.iter().chain([&lhs])),
        lhs,
        rhs,
        context: roots,
        vars: r.vars,
        lets,
        conditions,
    })
}

/// The operators of some patterns.
fn operators<'p>(patterns: impl Iterator<Item = &'p Pattern>) -> Vec<Op> {
    let mut all = Vec::new();
    patterns.for_each(|pattern| pattern.operators(&mut all));
    all
}

/// The source text at `span` on one line.
fn text(report: &Reporter, span: SourceSpan) -> String {
    let text = report.file.text().get(span.offset()..span.offset() + span.len()).unwrap_or("");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[derive(Default)]
struct BoundVars {
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
    bound: BoundVars,
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
            bound: BoundVars::default(),
            hidden: Vec::new(),
            left: true,
            tier,
            each: false,
        }
    }

    /// The patterns of the side that is matched.
    fn left_side(&mut self, source: &Source<'_>, problems: &mut Vec<Problem>) -> Vec<Pattern> {
        let mut roots = Vec::new();
        for root in source.lhs {
            if !matches!(root.kind, ExprKind::Call(_)) {
                let message = if source.reversed {
                    "the right side of `<=>` is no operator, so it would match anything"
                } else {
                    "the left side is no operator, so it would match anything"
                };
                let problem = self.report.problem("rules::matches_anything", root.span, message, "");
                problems.push(if source.reversed { problem.with_help("write `=>`") } else { problem });
                continue;
            }
            match self.pattern(root) {
                Ok(pattern) => roots.push(pattern),
                Err(problem) => problems.push(self.explain_direction(problem, source)),
            }
        }
        if problems.is_empty() && !roots::connected(&roots) {
            let at = source.lhs.last().map(|e| e.span);
            let message = "the roots share no tensor, so that they would match any two places of a graph";
            problems.push(
                self.report
                    .problem("rules::roots_apart", at, message, "this root has nothing to do with the others")
                    .with_help("write one rule for each root"),
            );
        }
        roots
    }

    fn bind_let(&mut self, name: &ast::Name, value: &ast::Expr, lets: &[(usize, Expr)]) -> Resolved<(usize, Expr)> {
        if self.names.lists.contains(&name.text) || lets.iter().any(|(v, _)| *self.vars.attrs[*v] == *name.text) {
            let message = format!("`{}` is bound twice", name.text);
            return Err(self.report.problem("rules::bound_twice", name.span, message, "bound again here"));
        }
        let value = self.expr(value)?;
        let var = self.attr_var(&name.text);
        self.bound.attrs.push(var);
        Ok((var, value))
    }

    /// What a written-out value or expression on the left side asks of the variable that stands for it.
    fn hidden_condition(&mut self, var: usize, hidden: Hidden) -> Resolved<Condition> {
        let (expr, text) = match hidden {
            Hidden::Equal(e) => {
                let text = text(self.report, e.span);
                let e = self.expr(&e)?;
                (Expr::Compare(crate::rules::expr::Comparison::Eq, Box::new(Expr::Attr(var)), Box::new(e)), text)
            }
            Hidden::Near(value) => {
                let near = functions::function("near")
                    .map(|near| Expr::Call(near, vec![Expr::Attr(var), Expr::Value(AttrValue::float(value))]));
                (near.unwrap_or(Expr::Value(AttrValue::Bool(false))), format!("the constant is {value}"))
            }
        };
        Ok(Condition { expr, kind: ConditionKind::Needed, text: text.into(), span: None })
    }

    fn condition(&mut self, e: &ast::Expr, kind: ConditionKind) -> Resolved<Condition> {
        let expr = self.expr(e)?;
        self.check_condition(&expr, e.span)?;
        Ok(Condition { expr, kind, text: text(self.report, e.span).into(), span: Some(e.span) })
    }

    fn right_side(&mut self, e: &ast::Expr) -> Resolved<Pattern> {
        let rhs = self.pattern(e)?;
        if matches!(&rhs, Pattern::Scalar(_)) || rhs.takes_any_dtype() {
            let message = "the element type of the result is not known";
            let problem = self.report.problem("rules::no_dtype", e.span, message, "only scalars stand here");
            return Err(problem.with_help("write `full(; shape=[], value=V, dtype=D)`"));
        }
        Ok(rhs)
    }

    fn attr_var(&mut self, name: &str) -> usize {
        number(&mut self.vars.attrs, name)
    }

    fn unbound(&self, name: &str, span: SourceSpan) -> Problem {
        let known = self.vars.tensors.iter().chain(&self.vars.lists).chain(&self.vars.attrs);
        let known: Vec<&str> = known.map(AsRef::as_ref).filter(|&n| n != name).collect();
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
pub(super) fn closed(report: &Reporter, e: &ast::Expr) -> Resolved<AttrValue> {
    let customs = Customs::default();
    let mut resolver = Resolver::new(report, &customs, Names::default(), Tier::Exact);
    let value = constant(&resolver.expr(e)?);
    value.ok_or_else(|| report.problem("rules::no_value", e.span, "this expression has no value", ""))
}

fn constant(e: &Expr) -> Option<AttrValue> {
    e.eval(&crate::rules::expr::Scope {
        terms: &crate::rules::arena::NoTerms,
        bindings: &Bindings::default(),
        element: None,
    })
    .ok()
}
