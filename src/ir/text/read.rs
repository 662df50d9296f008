//! From text to the syntax tree, by the grammar in `grammar/mir.pest`.

use std::borrow::Cow;

use miette::SourceSpan;
use pest::Parser;
use pest::error::{ErrorVariant, InputLocation};
use pest::iterators::Pair;

use super::ast::{
    Binding, Body, CallExpr, Constant, Equality, File, Input, Name, Number, Operand, Returned, Setting, Statement,
    Typed,
};
use super::error::{MirError, nearest};
use crate::ir::{DType, Frame, Origin, Role, Shape, TensorType};

#[derive(pest_derive::Parser)]
#[grammar = "../grammar/mir.pest"]
struct Grammar;

/// Parses the text without looking at names and types.
pub fn read(source: &str) -> Result<File<'_>, Vec<MirError>> {
    let mut pairs = Grammar::parse(Rule::file, source).map_err(|e| vec![syntax_error(e)])?;
    let mut reader = Reader { errors: Vec::new() };
    // The grammar's start rule gives exactly one pair.
    let file = match pairs.next() {
        Some(pair) => reader.file(pair),
        None => return Err(Vec::new()),
    };
    if reader.errors.is_empty() { Ok(file) } else { Err(reader.errors) }
}

/// Parses a binding file, without looking at names and types.
pub fn read_equalities(source: &str) -> Result<Vec<Equality<'_>>, Vec<MirError>> {
    let pairs = Grammar::parse(Rule::equalities, source).map_err(|e| vec![syntax_error(e)])?;
    let mut reader = Reader { errors: Vec::new() };
    let lines = pairs.flat_map(Pair::into_inner).filter(|p| p.as_rule() == Rule::equality);
    let all = lines.map(|p| reader.equality(p)).collect();
    if reader.errors.is_empty() { Ok(all) } else { Err(reader.errors) }
}

fn syntax_error(error: pest::error::Error<Rule>) -> MirError {
    let span = match error.location {
        InputLocation::Pos(at) => (at, 0).into(),
        InputLocation::Span((start, end)) => (start, end - start).into(),
    };
    let message = match &error.variant {
        ErrorVariant::ParsingError { positives, .. } => {
            let mut wanted: Vec<&str> = positives.iter().map(describe).collect();
            wanted.sort_unstable();
            wanted.dedup();
            match wanted.as_slice() {
                [] => "this is not expected here".to_owned(),
                [one] => format!("expected {one}"),
                [most @ .., last] => format!("expected {} or {last}", most.join(", ")),
            }
        }
        ErrorVariant::CustomError { message } => message.clone(),
    };
    let help = "names that are reserved words or hold other characters than letters, digits, `_` and `.` are quoted";
    MirError::Syntax { message, span, help: Some(help.to_owned()) }
}

/// What a reader of an error message calls a grammar rule.
fn describe(rule: &Rule) -> &'static str {
    match rule {
        Rule::EOI => "the end of the file",
        Rule::identifier | Rule::name | Rule::binding | Rule::input | Rule::typed => "a name",
        Rule::returned | Rule::results | Rule::statement => "a name",
        Rule::word => "a word",
        Rule::tensor_type => "a type",
        Rule::string => "a string",
        Rule::float | Rule::integer | Rule::truth | Rule::scalar => "a number",
        Rule::numbers => "a list of numbers",
        Rule::constant => "a value",
        Rule::arguments => "`(`",
        Rule::operands => "an operand",
        Rule::attribute | Rule::attributes => "an attribute",
        Rule::equality => "`name = expression`",
        Rule::call => "a call",
        Rule::literal | Rule::kw_literal => "`literal`",
        Rule::opaque | Rule::kw_opaque => "`opaque`",
        Rule::origin => "`@`",
        Rule::frame | Rule::frames => "a source line",
        Rule::config | Rule::kw_config => "`config`",
        Rule::graph | Rule::kw_graph => "`graph`",
        Rule::result | Rule::kw_return => "`return`",
        Rule::role | Rule::kw_param | Rule::kw_buffer => "a role",
        Rule::kw_as => "`as`",
        Rule::kw_in => "`in`",
        Rule::kw_from => "`from`",
        Rule::function | Rule::kw_fn => "`fn`",
        Rule::code | Rule::kw_code => "`code`",
        Rule::kw_implicit => "`implicit`",
        _ => "something else",
    }
}

fn span(pair: &Pair<Rule>) -> SourceSpan {
    let span = pair.as_span();
    (span.start(), span.end() - span.start()).into()
}

/// Turns pest's pairs into the tree. Errors are collected; the tree then holds stand-ins and is thrown away.
struct Reader {
    errors: Vec<MirError>,
}

impl Reader {
    fn file<'s>(&mut self, pair: Pair<'s, Rule>) -> File<'s> {
        let name = Name::missing(span(&pair));
        let mut file = File { config: vec![], name, inputs: vec![], statements: vec![], returned: vec![] };
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::config => file.config.push(self.setting(part)),
                Rule::graph => self.graph(part, &mut file),
                _ => {}
            }
        }
        file
    }

    fn graph<'s>(&mut self, pair: Pair<'s, Rule>, file: &mut File<'s>) {
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::name => file.name = self.name(part),
                Rule::input => file.inputs.push(self.input(part)),
                Rule::statement => file.statements.push(self.statement(part)),
                Rule::result => {
                    let returned = part.into_inner().filter(|p| p.as_rule() == Rule::returned);
                    file.returned = returned.map(|p| self.returned(p)).collect();
                }
                _ => {}
            }
        }
    }

    fn input<'s>(&mut self, pair: Pair<'s, Rule>) -> Input<'s> {
        let mut input = Input {
            binding: Binding { local: Name::missing(span(&pair)), real: None },
            role: Role::User,
            ty: TensorType::scalar(DType::F32),
            origin: Origin::default(),
        };
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::binding => input.binding = self.binding(part),
                Rule::role => input.role = if part.as_str() == "param" { Role::Parameter } else { Role::Buffer },
                Rule::tensor_type => input.ty = self.tensor_type(part),
                Rule::origin => input.origin = self.origin(part),
                _ => {}
            }
        }
        input
    }

    fn binding<'s>(&mut self, pair: Pair<'s, Rule>) -> Binding<'s> {
        let mut binding = Binding { local: Name::missing(span(&pair)), real: None };
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::name => binding.local = self.name(part),
                Rule::string => binding.real = Some(Name { span: span(&part), text: self.string(part) }),
                _ => {}
            }
        }
        binding
    }

    fn statement<'s>(&mut self, pair: Pair<'s, Rule>) -> Statement<'s> {
        let whole = span(&pair);
        let mut results = Vec::new();
        let mut origin = Origin::default();
        let mut body = Body::Literal { ty: TensorType::scalar(DType::F32), data: vec![], span: whole };
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::results => results = part.into_inner().map(|p| self.typed(p)).collect(),
                Rule::origin => origin = self.origin(part),
                Rule::call => body = Body::Call(self.call(part)),
                Rule::opaque => body = self.opaque(part),
                Rule::literal => body = self.literal(part),
                _ => {}
            }
        }
        Statement { results, body, origin }
    }

    fn equality<'s>(&mut self, pair: Pair<'s, Rule>) -> Equality<'s> {
        let whole = span(&pair);
        let mut parts = pair.into_inner();
        let target = parts.next().map_or(Name::missing(whole), |p| self.name(p));
        let mut value = CallExpr { op: Name::missing(whole), operands: vec![], attrs: vec![], span: whole };
        if let Some(part) = parts.next() {
            value.span = span(&part);
            match part.as_rule() {
                Rule::call => value = self.call(part),
                // One tensor under two names.
                _ => {
                    value.op = Name { text: Cow::Borrowed("alias"), span: value.span };
                    value.operands = vec![Operand::Name(self.name(part))];
                }
            }
        }
        Equality { target, value }
    }

    fn typed<'s>(&mut self, pair: Pair<'s, Rule>) -> Typed<'s> {
        let mut typed = Typed { binding: Binding { local: Name::missing(span(&pair)), real: None }, stated: None };
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::binding => typed.binding = self.binding(part),
                Rule::tensor_type => typed.stated = Some((self.tensor_type(part.clone()), span(&part))),
                _ => {}
            }
        }
        typed
    }

    fn returned<'s>(&mut self, pair: Pair<'s, Rule>) -> Returned<'s> {
        let mut value = Name::missing(span(&pair));
        let mut names = pair.into_inner().filter(|p| p.as_rule() == Rule::name);
        if let Some(first) = names.next() {
            value = self.name(first);
        }
        Returned { value, name: names.next().map(|p| self.name(p)) }
    }

    fn literal<'s>(&mut self, pair: Pair<'s, Rule>) -> Body<'s> {
        let whole = span(&pair);
        let (mut ty, mut data) = (TensorType::scalar(DType::F32), Vec::new());
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::tensor_type => ty = self.tensor_type(part),
                Rule::numbers => data = self.numbers(part),
                _ => {}
            }
        }
        Body::Literal { ty, data, span: whole }
    }

    fn opaque<'s>(&mut self, pair: Pair<'s, Rule>) -> Body<'s> {
        let whole = span(&pair);
        let op = Name::missing(whole);
        let mut call = CallExpr { op, operands: vec![], attrs: vec![], span: whole };
        let mut types = Vec::new();
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::string => call.op = Name { span: span(&part), text: self.string(part) },
                Rule::arguments => self.arguments(part, &mut call),
                Rule::tensor_type => types.push(self.tensor_type(part)),
                _ => {}
            }
        }
        Body::Opaque { call, types }
    }

    fn call<'s>(&mut self, pair: Pair<'s, Rule>) -> CallExpr<'s> {
        let whole = span(&pair);
        let op = Name::missing(whole);
        let mut call = CallExpr { op, operands: vec![], attrs: vec![], span: whole };
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::identifier => call.op = Name { text: Cow::Borrowed(part.as_str()), span: span(&part) },
                Rule::arguments => self.arguments(part, &mut call),
                _ => {}
            }
        }
        call
    }

    fn arguments<'s>(&mut self, pair: Pair<'s, Rule>, call: &mut CallExpr<'s>) {
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::operands => call.operands = part.into_inner().filter_map(|p| self.operand(p)).collect(),
                Rule::attributes => call.attrs = part.into_inner().map(|p| self.setting(p)).collect(),
                _ => {}
            }
        }
    }

    fn operand<'s>(&mut self, pair: Pair<'s, Rule>) -> Option<Operand<'s>> {
        match pair.as_rule() {
            Rule::scalar => {
                let at = span(&pair);
                pair.into_inner().next().map(|p| Operand::Scalar(self.number(p), at))
            }
            Rule::call => Some(Operand::Call(self.call(pair))),
            Rule::name => Some(Operand::Name(self.name(pair))),
            _ => None,
        }
    }

    /// `name = value`, of an attribute or of the configuration.
    fn setting<'s>(&mut self, pair: Pair<'s, Rule>) -> Setting<'s> {
        let at = span(&pair);
        let mut setting = Setting { name: Name::missing(at), value: Constant::Word(""), span: at };
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::name => setting.name = self.name(part),
                Rule::identifier => setting.name = Name { text: Cow::Borrowed(part.as_str()), span: span(&part) },
                Rule::constant => {
                    setting.span = span(&part);
                    if let Some(inner) = part.into_inner().next() {
                        setting.value = self.constant(inner);
                    }
                }
                _ => {}
            }
        }
        setting
    }

    fn constant<'s>(&mut self, pair: Pair<'s, Rule>) -> Constant<'s> {
        match pair.as_rule() {
            Rule::string => Constant::Str(self.string(pair)),
            Rule::numbers => Constant::Numbers(self.numbers(pair)),
            Rule::word => Constant::Word(pair.as_str()),
            _ => Constant::Number(self.number(pair)),
        }
    }

    fn numbers(&mut self, pair: Pair<Rule>) -> Vec<Number> {
        pair.into_inner().map(|p| self.number(p)).collect()
    }

    fn number(&mut self, pair: Pair<Rule>) -> Number {
        let text = pair.as_str();
        match pair.as_rule() {
            Rule::truth => Number::Bool(text == "true"),
            Rule::integer => match text.parse() {
                Ok(v) => Number::Int(v),
                Err(_) => {
                    self.errors.push(MirError::Number { text: text.to_owned(), span: span(&pair) });
                    Number::Int(0)
                }
            },
            // The grammar admits only what `f64` parses, `inf` and `nan` included.
            _ => Number::Float(text.parse().unwrap_or(f64::NAN)),
        }
    }

    fn integer(&mut self, pair: Pair<Rule>) -> i64 {
        match self.number(pair) {
            Number::Int(v) => v,
            _ => 0,
        }
    }

    fn name<'s>(&mut self, pair: Pair<'s, Rule>) -> Name<'s> {
        let at = span(&pair);
        let text = match pair.into_inner().next() {
            Some(p) if p.as_rule() == Rule::string => self.string(p),
            Some(p) => Cow::Borrowed(p.as_str()),
            None => Cow::Borrowed(""),
        };
        Name { text, span: at }
    }

    fn string<'s>(&mut self, pair: Pair<'s, Rule>) -> Cow<'s, str> {
        let text = pair.as_str();
        let inner = text.get(1..text.len().saturating_sub(1)).unwrap_or("");
        if !inner.contains('\\') {
            return Cow::Borrowed(inner);
        }
        match unescape(inner) {
            Some(text) => Cow::Owned(text),
            None => {
                self.errors.push(MirError::Escape { span: span(&pair) });
                Cow::Borrowed("")
            }
        }
    }

    fn tensor_type(&mut self, pair: Pair<Rule>) -> TensorType {
        let at = span(&pair);
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

    fn origin(&mut self, pair: Pair<Rule>) -> Origin {
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
                        self.errors.push(MirError::Number { text: part.as_str().to_owned(), span: span(&part) });
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
