//! Operands and attribute expressions.

use miette::SourceSpan;
use pest::iterators::{Pair, Pairs};

use super::{Parsed, R, Reader};
use crate::rules::ast::{Call, Element, Expr, ExprKind, Infix};
use crate::rules::expr::{Arithmetic, Comparison};

/// The most operators and operands in one flat expression: the tree leans to the left.
const MAX_CHAIN: usize = 64;

impl Reader<'_> {
    pub(super) fn expr(&self, pair: Pair<'_, R>) -> Parsed<Expr> {
        let at = self.span(&pair);
        let parts: Vec<Pair<'_, R>> = pair.into_inner().collect();
        if parts.len() > MAX_CHAIN {
            let message = format!("this expression has more than {MAX_CHAIN} parts");
            return Err(self.report.problem("rules::too_deep", at, message, "too long"));
        }
        let mut parts = parts.into_iter().peekable();
        let first = self.operand(&mut parts, at)?;
        self.infixes(first, 0, &mut parts, at)
    }

    /// Precedence climbing; the chain is short, so the recursion is shallow.
    fn infixes<'i>(
        &self,
        mut left: Expr,
        least: u8,
        parts: &mut std::iter::Peekable<impl Iterator<Item = Pair<'i, R>>>,
        at: SourceSpan,
    ) -> Parsed<Expr> {
        while let Some((infix, level)) = parts.peek().and_then(|p| infix(p.as_str())) {
            if level < least {
                break;
            }
            parts.next();
            let mut right = self.operand(parts, at)?;
            while parts.peek().and_then(|p| self::infix(p.as_str())).is_some_and(|(_, next)| next > level) {
                right = self.infixes(right, level + 1, parts, at)?;
            }
            let whole = join(left.span, right.span);
            left = Expr { span: whole, kind: ExprKind::Binary(infix, Box::new(left), Box::new(right)) };
        }
        Ok(left)
    }

    fn operand<'i>(
        &self,
        parts: &mut std::iter::Peekable<impl Iterator<Item = Pair<'i, R>>>,
        at: SourceSpan,
    ) -> Parsed<Expr> {
        let mut signs = Vec::new();
        while let Some(p) = parts.next_if(|p| p.as_rule() == R::unary) {
            signs.push((p.as_str() == "-", self.span(&p)));
        }
        let mut expr = match parts.next() {
            Some(p) => self.primary(p)?,
            None => return Err(self.broken(at)),
        };
        while let Some(p) = parts.next_if(|p| p.as_rule() == R::bracket) {
            expr = self.bracket(expr, p)?;
        }
        for (minus, at) in signs.into_iter().rev() {
            let whole = join(at, expr.span);
            let kind = match (minus, expr.kind) {
                (true, ExprKind::Int(v)) => ExprKind::Int(-v),
                (true, ExprKind::Float(v)) => ExprKind::Float(-v),
                (true, kind) => ExprKind::Neg(Box::new(Expr { kind, ..expr })),
                (false, kind) => ExprKind::Not(Box::new(Expr { kind, ..expr })),
            };
            expr = Expr { span: whole, kind };
        }
        Ok(expr)
    }

    fn primary(&self, pair: Pair<'_, R>) -> Parsed<Expr> {
        let at = self.span(&pair);
        let text = pair.as_str();
        let kind = match pair.as_rule() {
            R::number => match (text.parse::<i64>(), text.parse::<f64>()) {
                (Ok(v), _) => ExprKind::Int(v),
                (_, Ok(v)) if v.is_finite() => ExprKind::Float(v),
                _ => return Err(self.report.problem("rules::bad_number", at, "this number is too large", "")),
            },
            R::string => ExprKind::Str(text.trim_matches('"').to_owned()),
            R::list => ExprKind::List(self.elements(pair)?),
            R::call => return self.call(pair),
            _ => return self.expr(pair),
        };
        Ok(Expr { span: at, kind })
    }

    fn elements(&self, pair: Pair<'_, R>) -> Parsed<Vec<Element>> {
        let inner = pair.into_inner().filter(|p| p.as_rule() == R::elements).flat_map(Pair::into_inner);
        inner.map(|p| self.element(p.into_inner())).collect()
    }

    fn element(&self, mut parts: Pairs<'_, R>) -> Parsed<Element> {
        match parts.next() {
            Some(p) => Ok(Element { expr: self.expr(p)?, each: parts.next().is_some() }),
            None => Err(self.broken(SourceSpan::from(0))),
        }
    }

    fn call(&self, pair: Pair<'_, R>) -> Parsed<Expr> {
        let at = self.span(&pair);
        let mut parts = pair.into_inner();
        let path = parts.next().map(|p| self.name(&p)).ok_or_else(|| self.broken(at))?;
        let Some(arguments) = parts.next() else {
            return Ok(Expr { span: at, kind: ExprKind::Name(path.text) });
        };
        let slot = parts.next().map_or(Ok(0), |p| p.as_str().trim_start_matches('.').parse::<usize>());
        let slot = slot.ok().filter(|&s| s < 64);
        let slot = slot.ok_or_else(|| self.report.problem("rules::bad_slot", at, "there is no such output", ""))?;
        let attrs = arguments.clone().into_inner().filter(|p| p.as_rule() == R::binding);
        let attrs = attrs.map(|p| self.binding(p)).collect::<Parsed<_>>()?;
        let operands = self.elements(arguments)?;
        Ok(Expr { span: at, kind: ExprKind::Call(Call { name: path, operands, attrs, slot }) })
    }

    fn bracket(&self, list: Expr, pair: Pair<'_, R>) -> Parsed<Expr> {
        let at = self.span(&pair);
        let (mut from, mut to, mut colon) = (None, None, false);
        for part in pair.into_inner() {
            match part.as_rule() {
                R::colon => colon = true,
                _ if colon => to = Some(Box::new(self.expr(part)?)),
                _ => from = Some(Box::new(self.expr(part)?)),
            }
        }
        let whole = join(list.span, at);
        let kind = match (colon, from) {
            (true, from) => ExprKind::Slice(Box::new(list), from, to),
            (false, Some(index)) => ExprKind::Index(Box::new(list), index),
            (false, None) => {
                return Err(self.report.problem(
                    "rules::syntax",
                    at,
                    "an index is missing",
                    "write `list[0]` or `list[1:]`",
                ));
            }
        };
        Ok(Expr { span: whole, kind })
    }
}

/// The span from the start of `a` to the end of `b`.
fn join(a: SourceSpan, b: SourceSpan) -> SourceSpan {
    let end = (b.offset() + b.len()).max(a.offset() + a.len());
    SourceSpan::from((a.offset(), end - a.offset()))
}

/// An infix operator and how tightly it binds.
fn infix(text: &str) -> Option<(Infix, u8)> {
    use Infix::{Arithmetic as A, Compare as C};
    Some(match text {
        "or" => (Infix::Or, 1),
        "and" => (Infix::And, 2),
        "==" => (C(Comparison::Eq), 4),
        "!=" => (C(Comparison::Ne), 4),
        "<" => (C(Comparison::Lt), 4),
        "<=" => (C(Comparison::Le), 4),
        ">" => (C(Comparison::Gt), 4),
        ">=" => (C(Comparison::Ge), 4),
        "+" => (A(Arithmetic::Add), 5),
        "-" => (A(Arithmetic::Sub), 5),
        "*" => (A(Arithmetic::Mul), 6),
        "/" => (A(Arithmetic::Div), 6),
        _ => return None,
    })
}
