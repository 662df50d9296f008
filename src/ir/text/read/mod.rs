//! From text to the syntax tree, by the grammar in `grammar/mir.pest`.

use std::borrow::Cow;

use miette::SourceSpan;
use pest::Parser;
use pest::iterators::Pair;

use self::grammar::{Grammar, Rule};
use self::syntax::syntax_error;
use super::ast::{Binding, Body, CallExpr, Constant, Equality, File, Input, Name, Operand, Setting, Statement, Typed};
use super::error::MirError;
use crate::ir::{DType, Origin, Role, TensorType};

mod grammar;
mod returned;
mod syntax;
mod words;

/// Parses the text without looking at names and types.
pub(super) fn read(source: &str) -> Result<File<'_>, Vec<MirError>> {
    let mut reader = Reader { errors: Vec::new(), offset: 0 };
    let mut file = File {
        config: vec![],
        name: Name::missing((0, 0).into()),
        inputs: vec![],
        given: vec![],
        statements: vec![],
        returned: vec![],
    };
    let mut piece = Rule::start;
    loop {
        let text = source.get(reader.offset..).unwrap_or_default();
        let mut pairs = Grammar::parse(piece, text).map_err(|e| vec![syntax_error(e, reader.offset)])?;
        // Each of these rules gives exactly one pair.
        let Some(pair) = pairs.next() else { return Err(Vec::new()) };
        let end = pair.as_span().end();
        match reader.piece(pair, &mut file) {
            Some(next) => piece = next,
            None if reader.errors.is_empty() => return Ok(file),
            None => return Err(reader.errors),
        }
        reader.offset += end;
    }
}

/// Parses a binding file, without looking at names and types.
pub(super) fn read_equalities(source: &str) -> Result<Vec<Equality<'_>>, Vec<MirError>> {
    let pairs = Grammar::parse(Rule::equalities, source).map_err(|e| vec![syntax_error(e, 0)])?;
    let mut reader = Reader { errors: Vec::new(), offset: 0 };
    let lines = pairs.flat_map(Pair::into_inner).filter(|p| p.as_rule() == Rule::equality);
    let all = lines.map(|p| reader.equality(p)).collect();
    if reader.errors.is_empty() { Ok(all) } else { Err(reader.errors) }
}

/// Turns pest's pairs into the tree. Errors are collected; the tree then holds stand-ins and is thrown away.
struct Reader {
    errors: Vec<MirError>,
    /// Where the piece that is read starts in the text.
    offset: usize,
}

impl Reader {
    fn span(&self, pair: &Pair<Rule>) -> SourceSpan {
        let span = pair.as_span();
        (self.offset + span.start(), span.end() - span.start()).into()
    }

    /// Takes in a piece of a file. Gives the rule of the next piece; `None` behind the last one.
    fn piece<'s>(&mut self, pair: Pair<'s, Rule>, file: &mut File<'s>) -> Option<Rule> {
        let mut next = Some(match pair.as_rule() {
            Rule::next_statement => Rule::next_statement,
            _ => Rule::next_input,
        });
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::config => file.config.push(self.setting(part)),
                Rule::name => file.name = self.name(part),
                Rule::input => file.inputs.push(self.input(part)),
                Rule::given => file.given.extend(self.given(part)),
                Rule::opening => next = Some(Rule::next_statement),
                Rule::statement => file.statements.push(self.statement(part)),
                Rule::result => {
                    let returned = part.into_inner().filter(|p| p.as_rule() == Rule::returned);
                    file.returned = returned.map(|p| self.returned(p)).collect();
                    next = None;
                }
                _ => {}
            }
        }
        next
    }

    fn input<'s>(&mut self, pair: Pair<'s, Rule>) -> Input<'s> {
        let mut input = Input {
            binding: Binding { local: Name::missing(self.span(&pair)), real: None },
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
        let mut binding = Binding { local: Name::missing(self.span(&pair)), real: None };
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::name => binding.local = self.name(part),
                Rule::string => binding.real = Some(Name { span: self.span(&part), text: self.string(part) }),
                _ => {}
            }
        }
        binding
    }

    fn statement<'s>(&mut self, pair: Pair<'s, Rule>) -> Statement<'s> {
        let whole = self.span(&pair);
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
        let whole = self.span(&pair);
        let mut parts = pair.into_inner();
        let target = parts.next().map_or(Name::missing(whole), |p| self.name(p));
        let mut value = CallExpr { op: Name::missing(whole), operands: vec![], attrs: vec![], span: whole };
        if let Some(part) = parts.next() {
            value.span = self.span(&part);
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
        let mut typed = Typed { binding: Binding { local: Name::missing(self.span(&pair)), real: None }, stated: None };
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::binding => typed.binding = self.binding(part),
                Rule::tensor_type => typed.stated = Some((self.tensor_type(part.clone()), self.span(&part))),
                _ => {}
            }
        }
        typed
    }

    fn literal<'s>(&mut self, pair: Pair<'s, Rule>) -> Body<'s> {
        let whole = self.span(&pair);
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
        let whole = self.span(&pair);
        let op = Name::missing(whole);
        let mut call = CallExpr { op, operands: vec![], attrs: vec![], span: whole };
        let mut types = Vec::new();
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::string => call.op = Name { span: self.span(&part), text: self.string(part) },
                Rule::arguments => self.arguments(part, &mut call),
                Rule::tensor_type => types.push(self.tensor_type(part)),
                _ => {}
            }
        }
        Body::Opaque { call, types }
    }

    fn call<'s>(&mut self, pair: Pair<'s, Rule>) -> CallExpr<'s> {
        let whole = self.span(&pair);
        let op = Name::missing(whole);
        let mut call = CallExpr { op, operands: vec![], attrs: vec![], span: whole };
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::identifier => call.op = Name { text: Cow::Borrowed(part.as_str()), span: self.span(&part) },
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
                let at = self.span(&pair);
                pair.into_inner().next().map(|p| Operand::Scalar(self.number(p), at))
            }
            Rule::call => Some(Operand::Call(self.call(pair))),
            Rule::name => Some(Operand::Name(self.name(pair))),
            _ => None,
        }
    }

    /// `name = value`, of an attribute or of the configuration.
    fn setting<'s>(&mut self, pair: Pair<'s, Rule>) -> Setting<'s> {
        let at = self.span(&pair);
        let mut setting = Setting { name: Name::missing(at), value: Constant::Word(""), span: at };
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::name => setting.name = self.name(part),
                Rule::identifier => setting.name = Name { text: Cow::Borrowed(part.as_str()), span: self.span(&part) },
                Rule::constant => {
                    setting.span = self.span(&part);
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
}
