//! From the text of a rule file to its syntax tree.

use std::ops::Range;

use miette::SourceSpan;
use pest::Parser;
use pest::error::{ErrorVariant, InputLocation};
use pest::iterators::Pair;
use rayon::prelude::*;

use super::Tier;
use super::ast::{Clauses, Expr, Given, Item, Name, OpItem, RuleItem, TestItem};
use super::error::{Problem, Reporter, nearest};
use crate::ir::{Shape, TensorType};

mod expr;

mod grammar {
    #[derive(pest_derive::Parser)]
    #[grammar = "../grammar/rules.pest"]
    pub(super) struct RuleGrammar;
}

use grammar::{Rule as R, RuleGrammar};

/// The largest rule file that is read, in bytes.
pub(super) const MAX_FILE: usize = 1 << 20;
/// The most brackets that may be open at once: the parser recurses once for each.
const MAX_DEPTH: usize = 48;
/// The most rules, ops and tests in a file.
const MAX_ITEMS: usize = 4096;
/// The most syntax errors that are reported of one file.
const MAX_PROBLEMS: usize = 50;
/// The most roots of a rule: the search tries every combination of places.
const MAX_ROOTS: usize = 6;

type Parsed<T> = Result<T, Problem>;

/// The items of a rule file, and everything that is wrong with the others.
pub(super) fn parse(report: &Reporter) -> (Vec<Item>, Vec<Problem>) {
    let text = report.file.text();
    if text.len() > MAX_FILE {
        return (Vec::new(), vec![report.problem("rules::too_large", None, "the file is larger than 1 MiB", "")]);
    }
    let read = |part: Range<usize>| {
        let offset = part.start;
        parse_part(&Reader { report, offset }, text.get(part).unwrap_or(""))
    };
    let parts: Vec<Parsed<Vec<Item>>> = parts(text).into_par_iter().map(read).collect();
    let (mut items, mut problems) = (Vec::new(), Vec::new());
    for part in parts {
        match part.and_then(|found| within_limit(report, items.len(), found)) {
            Ok(found) => items.extend(found),
            Err(problem) => {
                // What follows a file that is too large or nested too deeply is no rule file.
                let hopeless = matches!(problem.code, "rules::too_deep" | "rules::too_large");
                problems.push(problem);
                if hopeless || problems.len() == MAX_PROBLEMS {
                    break;
                }
            }
        }
    }
    (items, problems)
}

/// Refuses the item behind the last one that a file may have.
fn within_limit(report: &Reporter, before: usize, found: Vec<Item>) -> Parsed<Vec<Item>> {
    match found.get(MAX_ITEMS - before) {
        None => Ok(found),
        Some(item) => {
            let message = format!("the file has more than {MAX_ITEMS} items");
            Err(report.problem("rules::too_large", item.name().span, message, ""))
        }
    }
}

fn parse_part(reader: &Reader<'_>, text: &str) -> Parsed<Vec<Item>> {
    check_depth(reader, text)?;
    let mut pairs = RuleGrammar::parse(R::file, text).map_err(|e| syntax_error(reader, text, &e))?;
    let mut items = Vec::new();
    for pair in pairs.next().into_iter().flat_map(Pair::into_inner) {
        match pair.as_rule() {
            R::rule_def => items.push(Item::Rule(reader.rule(pair)?)),
            R::op_def => items.push(Item::Op(reader.op(pair)?)),
            R::test_def => items.push(Item::Test(reader.test(pair)?)),
            _ => {}
        }
    }
    Ok(items)
}

/// Cuts a file in front of every line that starts an item, with the documentation above it, so that a mistake in one
/// item does not hide those in the others.
fn parts(text: &str) -> Vec<Range<usize>> {
    let mut starts = vec![0];
    let (mut at, mut doc) = (0, None);
    let mut first = true;
    for line in text.split_inclusive('\n') {
        let content = line.trim_start();
        if content.starts_with("///") {
            doc.get_or_insert(at);
        } else if !content.is_empty() && !content.starts_with("//") {
            let word = content.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next();
            if matches!(word, Some("rule" | "op" | "test")) {
                if !first {
                    starts.push(doc.unwrap_or(at));
                }
                first = false;
            }
            doc = None;
        }
        at += line.len();
    }
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    starts.iter().zip(ends).map(|(&start, end)| start..end).collect()
}

/// Refuses deep nesting before a recursive parser sees it.
fn check_depth(reader: &Reader<'_>, text: &str) -> Parsed<()> {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (0, 0_usize);
    let skip = |from: usize, stop: &[u8]| {
        bytes[from..].iter().position(|b| stop.contains(b)).map_or(bytes.len(), |n| from + n)
    };
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'/' if bytes.get(at + 1) == Some(&b'/') => at = skip(at, b"\n"),
            b'"' => at = skip(at + 1, b"\"\n"),
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            let message = format!("more than {MAX_DEPTH} brackets are open here");
            let span = SourceSpan::from((reader.offset + at, 1));
            return Err(reader.report.problem("rules::too_deep", span, message, "nested too deeply"));
        }
        at += 1;
    }
    Ok(())
}

fn syntax_error(reader: &Reader<'_>, text: &str, error: &pest::error::Error<R>) -> Problem {
    let (start, end) = match error.location {
        InputLocation::Pos(at) => (at, at),
        InputLocation::Span(span) => span,
    };
    let next = text.get(start..).and_then(|t| t.chars().next());
    let length = (end - start).max(next.map_or(0, char::len_utf8));
    let expected = match &error.variant {
        ErrorVariant::ParsingError { positives, .. } => {
            let mut names: Vec<&str> = positives.iter().filter_map(|r| describe(*r)).collect();
            names.sort_unstable();
            names.dedup();
            names.join(", ")
        }
        ErrorVariant::CustomError { message } => message.clone(),
    };
    let label = if expected.is_empty() { "not expected here".to_owned() } else { format!("expected {expected}") };
    let message = match next {
        Some(c) => format!("`{c}` does not fit here"),
        None => "the item ends too early".to_owned(),
    };
    reader.report.problem("rules::syntax", SourceSpan::from((reader.offset + start, length)), message, label)
}

/// What the grammar's rules are called in messages; `None` for those that would only confuse.
fn describe(rule: R) -> Option<&'static str> {
    Some(match rule {
        R::kw_rule => "`rule`",
        R::kw_op => "`op`",
        R::kw_test => "`test`",
        R::kw_where | R::clause => "`where`, `guard`, `let` or `assume`",
        R::arrow => "`=>` or `<=>`",
        R::tier => "a tier",
        R::name | R::path | R::names => "a name",
        R::expr | R::call | R::side | R::element | R::elements => "an expression",
        R::infix => "an operator",
        R::arguments => "`(`",
        R::binding => "`name=value`",
        R::given => "`name: type` or `name=value`",
        R::r#type | R::types => "a type such as f32[2, 3]",
        R::size => "a size",
        R::number => "a number",
        R::ellipsis => "`...`",
        R::EOI => "the end of the file",
        _ => return None,
    })
}

fn doc_line(pair: &Pair<'_, R>) -> String {
    pair.as_str().trim_start_matches('/').trim().to_owned()
}

/// Reads the items of one part of a file.
struct Reader<'a> {
    report: &'a Reporter,
    /// Where the part starts in the file.
    offset: usize,
}

impl Reader<'_> {
    fn span(&self, pair: &Pair<'_, R>) -> SourceSpan {
        let text = pair.as_str().trim_end();
        SourceSpan::from((self.offset + pair.as_span().start(), text.len()))
    }

    fn name(&self, pair: &Pair<'_, R>) -> Name {
        Name { text: pair.as_str().to_owned(), span: self.span(pair) }
    }

    fn rule(&self, pair: Pair<'_, R>) -> Parsed<RuleItem> {
        let whole = self.span(&pair);
        let (mut doc, mut rule_name, mut tier, mut both_ways) = (Vec::new(), None, None, false);
        let (mut sides, mut clauses, mut template) = (Vec::new(), Clauses::default(), None);
        let mut shortcut = false;
        for part in pair.into_inner() {
            match part.as_rule() {
                R::doc => doc.push(doc_line(&part)),
                R::name => rule_name = Some(self.name(&part)),
                R::tier => tier = Some(self.tier(part)?),
                R::kw_shortcut => shortcut = true,
                R::template => {
                    let mut parts = part.into_inner().filter(|p| matches!(p.as_rule(), R::name | R::names));
                    template = parts
                        .next()
                        .map(|p| self.name(&p))
                        .zip(parts.next())
                        .map(|(from, ops)| (from, ops.into_inner().map(|p| self.name(&p)).collect()));
                }
                R::arrow => both_ways = part.as_str() == "<=>",
                R::side => sides.push(self.side(part)?),
                R::clause => self.clause(part, &mut clauses)?,
                _ => {}
            }
        }
        let (Some(rule_name), Some(tier), Some(rhs), Some(lhs)) = (rule_name, tier, sides.pop(), sides.pop()) else {
            return Err(self.broken(whole));
        };
        Ok(RuleItem { doc: doc.join(" "), name: rule_name, tier, shortcut, template, lhs, both_ways, rhs, clauses })
    }

    /// The grammar makes this impossible; still no reason to panic.
    fn broken(&self, span: SourceSpan) -> Problem {
        self.report.problem("rules::syntax", span, "this item is incomplete", "")
    }

    fn tier(&self, pair: Pair<'_, R>) -> Parsed<Tier> {
        let at = self.span(&pair);
        let mut parts = pair.into_inner();
        let word = parts.next().map_or("", |p| p.as_str());
        let number = parts.next().and_then(|p| p.as_str().parse::<f64>().ok());
        match (word, number) {
            ("exact", None) => Ok(Tier::Exact),
            ("real", None) => Ok(Tier::Real),
            ("rounding", None) => Ok(Tier::Rounding),
            ("approx", Some(e)) if e > 0.0 && e < 1.0 => Ok(Tier::Approx(e.into())),
            _ => {
                let problem = self.report.problem("rules::unknown_tier", at, format!("`{word}` is no tier"), "");
                Err(match nearest(word, ["exact", "real", "rounding", "approx"]) {
                    Some("approx") => problem.with_help("write the relative error: `approx(1e-3)`"),
                    Some(tier) if tier != word => problem.with_help(format!("did you mean `{tier}`?")),
                    _ => problem.with_help("tiers are exact, real, rounding and approx(ERROR)"),
                })
            }
        }
    }

    /// The roots of a side.
    fn side(&self, pair: Pair<'_, R>) -> Parsed<Vec<Expr>> {
        let at = self.span(&pair);
        match pair.into_inner().next() {
            Some(p) if p.as_rule() == R::roots => {
                let roots = p.into_inner().map(|p| self.expr(p)).collect::<Parsed<Vec<Expr>>>()?;
                if roots.len() > MAX_ROOTS {
                    let message = format!("a rule has at most {MAX_ROOTS} roots");
                    return Err(self.report.problem("rules::root_count", at, message, "too many"));
                }
                Ok(roots)
            }
            Some(p) => Ok(vec![self.expr(p)?]),
            None => Err(self.broken(at)),
        }
    }

    fn clause(&self, pair: Pair<'_, R>, clauses: &mut Clauses) -> Parsed<()> {
        let mut list = &mut clauses.conditions;
        for part in pair.into_inner() {
            match part.as_rule() {
                R::kw_guard => list = &mut clauses.guards,
                R::kw_assume => list = &mut clauses.assumptions,
                R::expr => list.push(self.expr(part)?),
                R::binding => clauses.lets.push(self.binding(part)?),
                _ => {}
            }
        }
        Ok(())
    }

    fn binding(&self, pair: Pair<'_, R>) -> Parsed<(Name, Expr)> {
        let at = self.span(&pair);
        let mut parts = pair.into_inner();
        match (parts.next(), parts.next()) {
            (Some(n), Some(e)) => Ok((self.name(&n), self.expr(e)?)),
            _ => Err(self.broken(at)),
        }
    }

    fn op(&self, pair: Pair<'_, R>) -> Parsed<OpItem> {
        let whole = self.span(&pair);
        let (mut doc, mut op_name, mut body, mut clauses) = (Vec::new(), None, None, Clauses::default());
        let (mut operands, mut attrs) = (Vec::new(), Vec::new());
        // `op f(; a)` has no operands: what stands in front of the names tells.
        let head = pair.as_str();
        let start = pair.as_span().start();
        for part in pair.into_inner() {
            match part.as_rule() {
                R::doc => doc.push(doc_line(&part)),
                R::path => op_name = Some(self.name(&part)),
                R::names => {
                    let before = head.get(..part.as_span().start() - start).unwrap_or("").trim_end();
                    let list = if before.ends_with(';') { &mut attrs } else { &mut operands };
                    list.extend(part.into_inner().map(|p| self.name(&p)));
                }
                R::side => body = Some(self.side(part)?),
                R::clause => self.clause(part, &mut clauses)?,
                _ => {}
            }
        }
        match (op_name, body) {
            (Some(op_name), Some(body)) => {
                Ok(OpItem { doc: doc.join(" "), name: op_name, operands, attrs, body, clauses })
            }
            _ => Err(self.broken(whole)),
        }
    }

    fn test(&self, pair: Pair<'_, R>) -> Parsed<TestItem> {
        let whole = self.span(&pair);
        let (mut test_name, mut given) = (None, Vec::new());
        for part in pair.into_inner() {
            match part.as_rule() {
                R::path => test_name = Some(self.name(&part)),
                R::given => {
                    let mut parts = part.into_inner();
                    let (Some(n), Some(value)) = (parts.next(), parts.next()) else { continue };
                    let value = match value.as_rule() {
                        R::r#type => Given::Tensor(self.tensor_type(value)?),
                        R::types => {
                            Given::List(value.into_inner().map(|t| self.tensor_type(t)).collect::<Parsed<_>>()?)
                        }
                        _ => Given::Attr(self.expr(value)?),
                    };
                    given.push((self.name(&n), value));
                }
                _ => {}
            }
        }
        test_name.map(|name| TestItem { name, given }).ok_or_else(|| self.broken(whole))
    }

    fn tensor_type(&self, pair: Pair<'_, R>) -> Parsed<TensorType> {
        let at = self.span(&pair);
        let mut parts = pair.into_inner();
        let word = parts.next().map_or("", |p| p.as_str());
        let wrong = |message: String| self.report.problem("rules::bad_type", at, message, "");
        let dtype = word.parse().map_err(|e: crate::ir::UnknownDType| {
            wrong(e.to_string()).nearest(word, crate::ir::DType::ALL.iter().map(|d| d.name()))
        })?;
        let sizes: Option<Shape> = parts.map(|p| p.as_str().parse::<usize>().ok()).collect();
        let sizes = sizes.filter(|s| s.iter().try_fold(1_usize, |n, &d| n.checked_mul(d)).is_some_and(|n| n <= 4096));
        let sizes = sizes.ok_or_else(|| wrong("tensors in tests have at most 4096 elements".into()))?;
        TensorType::new(dtype, sizes).map_err(|e| wrong(e.to_string()))
    }
}
