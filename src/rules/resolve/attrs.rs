//! Attributes of operators.

use super::{Resolved, Resolver};
use crate::ir::AttrValue;
use crate::ops::{self, AttrDef, AttrKind, CustomOp};
use crate::rules::ast::Call;
use crate::rules::rule::AttrPattern;

impl Resolver<'_> {
    pub(super) fn table_attr(&mut self, op: &str, def: &AttrDef, call: &Call) -> Resolved<AttrPattern> {
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

    pub(super) fn custom_attrs(&mut self, custom: &CustomOp, call: &Call) -> Resolved<Vec<AttrPattern>> {
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
}

/// A literal as a value of the attribute's kind.
fn to_kind(def: &AttrDef, value: AttrValue) -> Option<AttrValue> {
    match (def.kind, &value) {
        (_, AttrValue::None) => (def.default == ops::Default::None).then_some(value),
        (AttrKind::Float, AttrValue::Int(v)) => Some(AttrValue::float(*v as f64)),
        (AttrKind::Bool, AttrValue::Bool(_))
        | (AttrKind::Int | AttrKind::Dim, AttrValue::Int(_))
        | (AttrKind::Float, AttrValue::Float(_))
        | (AttrKind::Number, AttrValue::Int(_) | AttrValue::Float(_))
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
        AttrKind::Float | AttrKind::Number => "a number",
        AttrKind::Str => "a string",
        AttrKind::DType => "an element type",
        AttrKind::Ints => "a list of integers",
        AttrKind::Dim => "a dim",
        AttrKind::Dims => "a list of dims",
    }
}
