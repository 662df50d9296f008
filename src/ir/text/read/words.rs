//! Names, numbers, strings, types and source lines.

use std::borrow::Cow;

use pest::iterators::Pair;

use super::Reader;
use super::grammar::Rule;
use crate::ir::text::ast::{Name, Number};
use crate::ir::text::error::{MirError, nearest};
use crate::ir::{DType, Frame, Origin, Shape, TensorType};

impl Reader {
    pub(super) fn numbers(&mut self, pair: Pair<Rule>) -> Vec<Number> {
        pair.into_inner().map(|p| self.number(p)).collect()
    }

    pub(super) fn number(&mut self, pair: Pair<Rule>) -> Number {
        let text = pair.as_str();
        match pair.as_rule() {
            Rule::truth => Number::Bool(text == "true"),
            Rule::integer => match text.parse() {
                Ok(v) => Number::Int(v),
                Err(_) => {
                    self.errors.push(MirError::Number { text: text.to_owned(), span: self.span(&pair) });
                    Number::Int(0)
                }
            },
            // The grammar admits only what `f64` parses, `inf` and `nan` included.
            _ => Number::Float(text.parse().unwrap_or(f64::NAN)),
        }
    }

    pub(super) fn integer(&mut self, pair: Pair<Rule>) -> i64 {
        match self.number(pair) {
            Number::Int(v) => v,
            _ => 0,
        }
    }

    pub(super) fn name<'s>(&mut self, pair: Pair<'s, Rule>) -> Name<'s> {
        let at = self.span(&pair);
        let text = match pair.into_inner().next() {
            Some(p) if p.as_rule() == Rule::string => self.string(p),
            Some(p) => Cow::Borrowed(p.as_str()),
            None => Cow::Borrowed(""),
        };
        Name { text, span: at }
    }

    pub(super) fn string<'s>(&mut self, pair: Pair<'s, Rule>) -> Cow<'s, str> {
        let text = pair.as_str();
        let inner = text.get(1..text.len().saturating_sub(1)).unwrap_or("");
        if !inner.contains('\\') {
            return Cow::Borrowed(inner);
        }
        match unescape(inner) {
            Some(text) => Cow::Owned(text),
            None => {
                self.errors.push(MirError::Escape { span: self.span(&pair) });
                Cow::Borrowed("")
            }
        }
    }

    pub(super) fn tensor_type(&mut self, pair: Pair<Rule>) -> TensorType {
        let at = self.span(&pair);
        let mut refuse = |reason: String, help| self.errors.push(MirError::TensorType { reason, span: at, help });
        let (mut dtype, mut sizes) = (DType::F32, Vec::new());
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::word => match part.as_str().parse() {
                    Ok(d) => dtype = d,
                    Err(e) => {
                        refuse(format!("{e}"), nearest(part.as_str(), DType::ALL.map(DType::name)));
                        return TensorType::scalar(dtype);
                    }
                },
                _ => sizes.push(part.as_str().parse::<usize>()),
            }
        }
        let Ok(shape) = sizes.into_iter().collect::<Result<Shape, _>>() else {
            refuse("a size has to be a whole number from 0 up".to_owned(), None);
            return TensorType::scalar(dtype);
        };
        TensorType::new(dtype, shape).unwrap_or_else(|e| {
            refuse(e.to_string(), None);
            TensorType::scalar(dtype)
        })
    }

    pub(super) fn origin(&mut self, pair: Pair<Rule>) -> Origin {
        let mut origin = Origin::default();
        let mut frames: Vec<Frame> = Vec::new();
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::frames => {
                    let inner = part.into_inner().filter(|p| p.as_rule() == Rule::frame);
                    frames = inner.map(|p| self.frame(p)).collect();
                }
                Rule::string => origin.module = self.string(part).into(),
                Rule::kw_implicit => origin.implicit = true,
                Rule::once => origin.once = true,
                _ => {}
            }
        }
        // The text goes from the innermost line outwards, as a reader asks for it.
        frames.reverse();
        origin.frames = frames.into();
        origin
    }

    fn frame(&mut self, pair: Pair<Rule>) -> Frame {
        let mut frame = Frame { file: "".into(), line: 0, function: "".into(), code: "".into() };
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::string => frame.file = self.string(part).into(),
                Rule::integer => match u32::try_from(self.integer(part.clone())) {
                    Ok(line) => frame.line = line,
                    Err(_) => {
                        self.errors.push(MirError::Number { text: part.as_str().to_owned(), span: self.span(&part) });
                    }
                },
                Rule::function => frame.function = self.inner_string(part).into(),
                Rule::code => frame.code = self.inner_string(part).into(),
                _ => {}
            }
        }
        frame
    }

    fn inner_string<'s>(&mut self, pair: Pair<'s, Rule>) -> Cow<'s, str> {
        let string = pair.into_inner().find(|p| p.as_rule() == Rule::string);
        string.map_or(Cow::Borrowed(""), |p| self.string(p))
    }
}

/// Undoes the escapes of Rust's `{:?}` for strings.
fn unescape(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        out.push(match chars.next()? {
            c @ ('"' | '\\' | '\'') => c,
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            '0' => '\0',
            'u' => {
                let rest = chars.as_str().strip_prefix('{')?;
                let (digits, after) = rest.split_once('}')?;
                chars = after.chars();
                char::from_u32(u32::from_str_radix(digits, 16).ok()?)?
            }
            _ => return None,
        });
    }
    Some(out)
}
