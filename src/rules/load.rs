//! From rule files to a rule set.

use std::collections::BTreeMap;
use std::hash::Hasher;
use std::sync::Arc;

use rustc_hash::FxHasher;

use super::ast::{Expr, Given, Item, OpItem, RuleItem, TestItem};
use super::definition::Definition;
use super::error::{Problem, Reporter, RuleError, RuleFile};
use super::parser;
use super::resolve::{Customs, Source, resolve};
use super::rule::Rule;
use super::{RuleSet, Tier};
use crate::ir::{AttrValue, TensorType};
use crate::ops::{self, CustomOp};

/// A `test` item: one instance of a rule.
#[derive(Clone, Debug)]
pub struct RuleTest {
    pub rule: String,
    pub tensors: BTreeMap<String, TensorType>,
    pub lists: BTreeMap<String, Vec<TensorType>>,
    pub attrs: BTreeMap<String, AttrValue>,
    pub span: miette::SourceSpan,
}

/// Where a rule stands, for diagnostics.
#[derive(Clone, Debug)]
pub struct Place {
    pub report: Reporter,
    pub span: miette::SourceSpan,
}

/// The most rules of a set, every direction and every instance of a template counted.
const MAX_RULES: usize = 10_000;

/// Adds the rules of `files` to `base`.
pub fn load(base: &RuleSet, files: &[Arc<RuleFile>]) -> Result<RuleSet, RuleError> {
    let mut problems = Vec::new();
    let mut items = Vec::new();
    for file in files {
        let report = Reporter { file: file.clone() };
        match parser::parse(&report) {
            Ok(parsed) => items.extend(parsed.into_iter().map(|i| (report.clone(), i))),
            Err(problem) => problems.push(problem),
        }
    }
    let mut set = base.clone();
    let mut customs: Customs = base.definitions.iter().map(|d| (d.op.name.clone(), d.op.clone())).collect();
    for (report, item) in &items {
        if let Item::Op(op) = item
            && let Err(problem) = declare(report, op, &mut customs)
        {
            problems.push(problem);
        }
    }
    for (report, item) in &items {
        let added = match item {
            Item::Rule(rule) => add_rule(&mut set, report, &customs, rule),
            Item::Op(op) => add_op(&mut set, report, &customs, op),
            Item::Test(_) => Ok(()),
        };
        problems.extend(added.err());
    }
    for (report, item) in &items {
        if let Item::Test(test) = item {
            match resolve_test(&set, report, test) {
                Ok(test) => set.tests.push((report.clone(), test)),
                Err(problem) => problems.push(problem),
            }
        }
    }
    if !problems.is_empty() {
        return Err(RuleError { problems });
    }
    let mut hasher = FxHasher::default();
    hasher.write_u64(base.fingerprint);
    for file in files {
        hasher.write(file.text().as_bytes());
    }
    set.fingerprint = hasher.finish();
    Ok(set)
}

fn declare(report: &Reporter, op: &OpItem, customs: &mut Customs) -> Result<(), Problem> {
    let name = &op.name.text;
    if ops::find(name).is_some() || customs.contains_key(name) {
        let message = format!("there is an operator `{name}` already");
        return Err(report.problem("rules::defined_twice", op.name.span, message, "defined again here"));
    }
    let attrs = op.attrs.iter().map(|n| n.text.clone()).collect();
    customs.insert(name.clone(), Arc::new(CustomOp { name: name.clone(), attrs }));
    Ok(())
}

fn want_doc(report: &Reporter, doc: &str, name: &super::ast::Name) -> Result<(), Problem> {
    if !doc.is_empty() {
        return Ok(());
    }
    Err(report
        .problem("rules::no_doc", name.span, format!("`{}` has no documentation", name.text), "")
        .with_help("say in a line that starts with `///` what the rule means; `explain` prints it"))
}

fn add_rule(set: &mut RuleSet, report: &Reporter, customs: &Customs, item: &RuleItem) -> Result<(), Problem> {
    if set.rules.iter().any(|r| r.name.as_ref() == item.name.text) {
        let message = format!("there is a rule `{}` already", item.name.text);
        return Err(report.problem("rules::defined_twice", item.name.span, message, "defined again here"));
    }
    want_doc(report, &item.doc, &item.name)?;
    let Some((from, ops)) = &item.template else { return add_sides(set, report, customs, item, &item.lhs, &item.rhs) };
    for op in ops {
        add_sides(set, report, customs, item, &item.lhs.renamed(&from.text, op), &item.rhs.renamed(&from.text, op))?;
    }
    Ok(())
}

fn add_sides(
    set: &mut RuleSet,
    report: &Reporter,
    customs: &Customs,
    item: &RuleItem,
    lhs: &Expr,
    rhs: &Expr,
) -> Result<(), Problem> {
    let source = Source {
        name: &item.name,
        doc: &item.doc,
        tier: item.tier,
        lhs,
        rhs,
        clauses: &item.clauses,
        reversed: false,
        attrs: &[],
    };
    add(set, report, customs, &source)?;
    if item.both_ways {
        add(set, report, customs, &Source { lhs: rhs, rhs: lhs, reversed: true, ..source })?;
    }
    Ok(())
}

fn add(set: &mut RuleSet, report: &Reporter, customs: &Customs, source: &Source<'_>) -> Result<Arc<Rule>, Problem> {
    if set.rules.len() >= MAX_RULES {
        let message = format!("there are more than {MAX_RULES} rules");
        return Err(report.problem("rules::too_large", source.name.span, message, ""));
    }
    let rule = Arc::new(resolve(report, customs, source)?);
    set.rules.push(rule.clone());
    set.places.push(Place { report: report.clone(), span: source.name.span });
    Ok(rule)
}

/// A definition is a rule in both directions. How a kernel rounds inside is not known, so its tier is `rounding`.
fn add_op(set: &mut RuleSet, report: &Reporter, customs: &Customs, item: &OpItem) -> Result<(), Problem> {
    let Some(op) = customs.get(&item.name.text) else { return Ok(()) };
    want_doc(report, &item.doc, &item.name)?;
    let name =
        |n: &super::ast::Name| super::ast::Expr { span: n.span, kind: super::ast::ExprKind::Name(n.text.clone()) };
    let call = super::ast::Call {
        name: item.name.clone(),
        operands: item.operands.iter().map(|n| super::ast::Element { expr: name(n), each: false }).collect(),
        attrs: item.attrs.iter().map(|n| (n.clone(), name(n))).collect(),
        slot: 0,
    };
    let head = super::ast::Expr { span: item.name.span, kind: super::ast::ExprKind::Call(call) };
    let source = Source {
        name: &item.name,
        doc: &item.doc,
        tier: Tier::Rounding,
        lhs: &head,
        rhs: &item.body,
        clauses: &item.clauses,
        reversed: false,
        attrs: &item.attrs,
    };
    let rule = add(set, report, customs, &source)?;
    set.definitions.push(Arc::new(Definition { op: op.clone(), rule }));
    let source = Source { lhs: &item.body, rhs: &head, reversed: true, ..source };
    match resolve(report, customs, &source) {
        Ok(rule) => {
            set.rules.push(Arc::new(rule));
            set.places.push(Place { report: report.clone(), span: item.name.span });
            Ok(())
        }
        // An attribute that the body does not show cannot be read back from it: such an operator is only expanded.
        Err(problem) if problem.code == "rules::unbound" => Ok(()),
        Err(problem) => Err(problem),
    }
}

fn resolve_test(set: &RuleSet, report: &Reporter, item: &TestItem) -> Result<RuleTest, Problem> {
    let rule = set.rules.iter().find(|r| r.name.as_ref() == item.name.text).ok_or_else(|| {
        let message = format!("there is no rule `{}`", item.name.text);
        let names = set.rules.iter().map(|r| r.name.as_ref());
        report.problem("rules::unknown_rule", item.name.span, message, "").nearest(&item.name.text, names)
    })?;
    let mut test = RuleTest {
        rule: item.name.text.clone(),
        tensors: BTreeMap::new(),
        lists: BTreeMap::new(),
        attrs: BTreeMap::new(),
        span: item.name.span,
    };
    for (name, given) in &item.given {
        let vars = match given {
            Given::Tensor(_) => &rule.vars.tensors,
            Given::List(_) => &rule.vars.lists,
            Given::Attr(_) => &rule.vars.attrs,
        };
        if !vars.iter().any(|v| v.as_ref() == name.text) {
            let kind = match given {
                Given::Tensor(_) => "tensor",
                Given::List(_) => "list",
                Given::Attr(_) => "attribute",
            };
            let message = format!("`{}` has no {kind} `{}`", rule.name, name.text);
            let known = vars.iter().map(|v| v.as_ref());
            return Err(report.problem("rules::unbound", name.span, message, "").nearest(&name.text, known));
        }
        match given {
            Given::Tensor(ty) => {
                test.tensors.insert(name.text.clone(), ty.clone());
            }
            Given::List(types) => {
                test.lists.insert(name.text.clone(), types.clone());
            }
            Given::Attr(e) => {
                let value = super::resolve::closed(report, e)?;
                test.attrs.insert(name.text.clone(), value);
            }
        }
    }
    Ok(test)
}
