//! From rule files to a rule set.

use std::collections::BTreeMap;
use std::hash::Hasher;
use std::sync::Arc;

use miette::SourceSpan;
use rayon::prelude::*;
use rustc_hash::FxHasher;

use super::ast::{Call, Element, Expr, ExprKind, Given, Item, Name, OpItem, RuleItem, TestItem};
use super::definition::Definition;
use super::error::{Problem, Reporter, RuleError, RuleFile};
use super::parser;
use super::resolve::{Customs, Source, resolve};
use super::rule::Rule;
use super::set::{RuleLocation, RuleTest};
use super::{RuleSet, Tier};
use crate::ops::{self, CustomOp};

/// The most rules of a set, every direction and every instance of a template counted.
const MAX_RULES: usize = 10_000;

/// The first rule of each name.
#[derive(Default)]
struct ByName(BTreeMap<Arc<str>, Arc<Rule>>);

impl ByName {
    fn add(&mut self, rules: &[Arc<Rule>]) {
        for rule in rules {
            self.0.entry(rule.name.clone()).or_insert_with(|| rule.clone());
        }
    }
}

/// Adds the rules of `files` to `base`, all or none.
pub(super) fn load(base: &RuleSet, files: &[Arc<RuleFile>]) -> Result<RuleSet, RuleError> {
    let (set, problems) = load_good(base, files);
    if problems.is_empty() { Ok(set) } else { Err(RuleError { problems }) }
}

/// Adds those rules of `files` to `base` that are well formed, and says what is wrong with the others.
pub(super) fn load_good(base: &RuleSet, files: &[Arc<RuleFile>]) -> (RuleSet, Vec<Problem>) {
    let mut problems = Vec::new();
    let mut items = Vec::new();
    let reports = files.par_iter().map(|file| Reporter { file: file.clone() });
    let parsed: Vec<_> = reports.map(|report| (parser::parse(&report), report)).collect();
    for ((parsed, wrong), report) in parsed {
        items.extend(parsed.into_iter().map(|i| (report.clone(), i)));
        problems.extend(wrong);
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
    let mut count = set.rules.len();
    let rules_up_to: Vec<usize> = items
        .iter()
        .map(|(_, item)| {
            count += item.rules();
            count
        })
        .collect();
    let resolved: Vec<_> = items
        .par_iter()
        .zip(rules_up_to)
        .map(|((report, item), count)| match item {
            Item::Rule(rule) if count > MAX_RULES => Err(vec![too_many(report, rule.name.span)]),
            Item::Op(op) if count > MAX_RULES => Err(vec![too_many(report, op.name.span)]),
            Item::Rule(rule) => resolve_rule(report, &customs, rule),
            Item::Op(op) => resolve_op(report, &customs, op),
            Item::Test(_) => Ok(Vec::new()),
        })
        .collect();
    let mut by_name = ByName::default();
    by_name.add(&base.rules);
    for ((report, item), resolved) in items.iter().zip(resolved) {
        let known = set.rules.len();
        let added = match item {
            Item::Rule(rule) => add_rule(&mut set, &by_name, report, rule, resolved),
            Item::Op(op) => add_op(&mut set, report, &customs, op, resolved),
            Item::Test(_) => Ok(()),
        };
        by_name.add(&set.rules[known..]);
        problems.extend(added.err().into_iter().flatten());
    }
    let named: Vec<&str> = items
        .iter()
        .filter_map(|(_, i)| match i {
            Item::Rule(rule) => Some(rule.name.text.as_str()),
            Item::Op(op) => Some(op.name.text.as_str()),
            Item::Test(_) => None,
        })
        .collect();
    for (report, item) in &items {
        if let Item::Test(test) = item {
            match resolve_test(&by_name, report, test) {
                Ok(test) => set.tests.push((report.clone(), test)),
                // The rule is there, and what is wrong with it has been said.
                Err(problem) if problem.code == "rules::unknown_rule" && named.contains(&test.name.text.as_str()) => {}
                Err(problem) => problems.push(problem),
            }
        }
    }
    // In the order of the file, whichever step found them.
    problems.sort_by_key(|p| {
        let file = files.iter().position(|f| Arc::ptr_eq(f, &p.file));
        (file, p.span.map(|s| s.offset()))
    });
    let mut hasher = FxHasher::default();
    hasher.write_u64(base.fingerprint);
    for file in files {
        hasher.write(file.text().as_bytes());
    }
    set.fingerprint = hasher.finish();
    (set, problems)
}

fn declare(report: &Reporter, op: &OpItem, customs: &mut Customs) -> Result<(), Problem> {
    let name = &op.name.text;
    if ops::find(name).is_some() || customs.contains_key(name) {
        let message = format!("there is an operator `{name}` already");
        return Err(report.problem("rules::defined_twice", op.name.span, message, "defined again here"));
    }
    let attrs = op.attrs.iter().map(|n| n.text.clone()).collect();
    customs.insert(name.clone(), Arc::new(CustomOp::new(name, attrs)));
    Ok(())
}

fn want_doc(report: &Reporter, doc: &str, name: &Name) -> Result<(), Problem> {
    if !doc.is_empty() {
        return Ok(());
    }
    Err(report
        .problem("rules::no_doc", name.span, format!("`{}` has no documentation", name.text), "")
        .with_help("say in a line that starts with `///` what the rule means; `explain` prints it"))
}

/// Adds the rules that an item stands for.
fn add_rule(
    set: &mut RuleSet,
    by_name: &ByName,
    report: &Reporter,
    item: &RuleItem,
    resolved: Result<Vec<Rule>, Vec<Problem>>,
) -> Result<(), Vec<Problem>> {
    if by_name.0.contains_key(item.name.text.as_str()) {
        let message = format!("there is a rule `{}` already", item.name.text);
        return Err(vec![report.problem("rules::defined_twice", item.name.span, message, "defined again here")]);
    }
    for rule in resolved? {
        push(set, report, item.name.span, rule);
    }
    Ok(())
}

/// The rules that an item stands for, of every instance of its template.
fn resolve_rule(report: &Reporter, customs: &Customs, item: &RuleItem) -> Result<Vec<Rule>, Vec<Problem>> {
    let mut problems: Vec<Problem> = want_doc(report, &item.doc, &item.name).err().into_iter().collect();
    if item.lhs.len() != item.rhs.len() {
        let (left, right) = (item.lhs.len(), item.rhs.len());
        let message = format!("`{}` has {left} roots on the left and {right} on the right", item.name.text);
        let problem = report.problem("rules::root_count", item.name.span, message, "");
        problems.push(problem.with_help("each root on the left is equal to the one at the same place on the right"));
        return Err(problems);
    }
    let mut rules = Vec::new();
    let sides: Vec<(Vec<Expr>, Vec<Expr>)> = match &item.template {
        None => vec![(item.lhs.clone(), item.rhs.clone())],
        Some((from, ops)) => {
            let renamed = |side: &[Expr], op| side.iter().map(|e| e.renamed(&from.text, op)).collect();
            ops.iter().map(|op| (renamed(&item.lhs, op), renamed(&item.rhs, op))).collect()
        }
    };
    for (lhs, rhs) in &sides {
        match both_directions(report, customs, item, lhs, rhs) {
            Ok(found) => rules.extend(found),
            // The instances of a template fail alike, except where an operator does not exist.
            Err(found) => problems.extend(found.into_iter().filter(|p| !problems.contains(p)).collect::<Vec<_>>()),
        }
    }
    if problems.is_empty() { Ok(rules) } else { Err(problems) }
}

/// The rules that an item stands for: one for each root and direction.
fn both_directions(
    report: &Reporter,
    customs: &Customs,
    item: &RuleItem,
    lhs: &[Expr],
    rhs: &[Expr],
) -> Result<Vec<Rule>, Vec<Problem>> {
    let directions: &[(&[Expr], &[Expr], bool)] =
        if item.both_ways { &[(lhs, rhs, false), (rhs, lhs, true)] } else { &[(lhs, rhs, false)] };
    let mut rules = Vec::new();
    for &(lhs, rhs, reversed) in directions {
        for root in 0..lhs.len() {
            let (name, doc, tier, clauses) = (&item.name, item.doc.as_str(), item.tier, &item.clauses);
            let shortcut = item.shortcut;
            rules.push(resolve(
                report,
                customs,
                &Source { name, doc, tier, shortcut, lhs, rhs, root, clauses, reversed, attrs: &[] },
            )?);
        }
    }
    Ok(rules)
}

fn too_many(report: &Reporter, span: SourceSpan) -> Problem {
    report.problem("rules::too_large", span, format!("there are more than {MAX_RULES} rules"), "")
}

fn push(set: &mut RuleSet, report: &Reporter, span: SourceSpan, rule: Rule) -> Arc<Rule> {
    let rule = Arc::new(rule);
    set.rules.push(rule.clone());
    set.places.push(RuleLocation { report: report.clone(), span });
    rule
}

/// Adds an operator with its rules.
fn add_op(
    set: &mut RuleSet,
    report: &Reporter,
    customs: &Customs,
    item: &OpItem,
    resolved: Result<Vec<Rule>, Vec<Problem>>,
) -> Result<(), Vec<Problem>> {
    let rules = resolved?.into_iter().map(|rule| push(set, report, item.name.span, rule));
    let mut rules: Vec<Arc<Rule>> = rules.collect();
    rules.truncate(item.body.len());
    if let Some(op) = customs.get(&item.name.text) {
        Arc::make_mut(&mut set.definitions).push(Arc::new(Definition { op: op.clone(), rules }));
    }
    Ok(())
}

/// A definition is a rule in both directions, first one that expands each output. How a kernel rounds inside is not
/// known, so its tier is `rounding`.
fn resolve_op(report: &Reporter, customs: &Customs, item: &OpItem) -> Result<Vec<Rule>, Vec<Problem>> {
    want_doc(report, &item.doc, &item.name).map_err(|p| vec![p])?;
    let name = |n: &Name| Expr { span: n.span, kind: ExprKind::Name(n.text.clone()) };
    let call = |slot: usize| {
        let kind = ExprKind::Call(Call {
            name: item.name.clone(),
            operands: item.operands.iter().map(|n| Element { expr: name(n), each: false }).collect(),
            attrs: item.attrs.iter().map(|n| (n.clone(), name(n))).collect(),
            slot,
        });
        Expr { span: item.name.span, kind }
    };
    let heads: Vec<Expr> = (0..item.body.len()).map(call).collect();
    let mut rules = Vec::new();
    for (head, body) in heads.iter().zip(&item.body) {
        let source = Source {
            name: &item.name,
            doc: &item.doc,
            tier: Tier::Rounding,
            shortcut: false,
            lhs: std::slice::from_ref(head),
            rhs: std::slice::from_ref(body),
            root: 0,
            clauses: &item.clauses,
            reversed: false,
            attrs: &item.attrs,
        };
        rules.push(resolve(report, customs, &source)?);
    }
    for root in 0..heads.len() {
        let source = Source {
            name: &item.name,
            doc: &item.doc,
            tier: Tier::Rounding,
            shortcut: false,
            lhs: &item.body,
            rhs: &heads,
            root,
            clauses: &item.clauses,
            reversed: true,
            attrs: &item.attrs,
        };
        match resolve(report, customs, &source) {
            Ok(rule) => rules.push(rule),
            // An attribute that the body does not show cannot be read back from it, and a body that is one of the
            // operands fits anything: such an operator is only expanded.
            Err(problems)
                if problems
                    .iter()
                    .all(|p| matches!(p.code, "rules::unbound" | "rules::matches_anything" | "rules::roots_apart")) => {
            }
            Err(problems) => return Err(problems),
        }
    }
    Ok(rules)
}

fn resolve_test(by_name: &ByName, report: &Reporter, item: &TestItem) -> Result<RuleTest, Problem> {
    let rule = by_name.0.get(item.name.text.as_str()).ok_or_else(|| {
        let message = format!("there is no rule `{}`", item.name.text);
        let names = by_name.0.keys().map(AsRef::as_ref);
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
            let known = vars.iter().map(AsRef::as_ref);
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
