//! What a graph returns, where it goes, and the constants that it was made for.

use std::sync::Arc;

use pest::iterators::Pair;

use super::Reader;
use super::grammar::Rule;
use crate::ir::text::ast::{Name, Number, Purpose, Returned, Yielded};
use crate::ir::{AttrValue, Path, Step};

impl Reader {
    pub(super) fn returned<'s>(&mut self, pair: Pair<'s, Rule>) -> Returned<'s> {
        let (mut value, mut name) = (Name::missing(self.span(&pair)), None);
        let mut constant = None;
        let mut named = false;
        let mut target = Purpose::Result(None);
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::fixed => constant = Some(self.fixed(part)),
                Rule::name if named => name = Some(self.name(part)),
                Rule::name => (value, named) = (self.name(part), true),
                Rule::target => target = self.target(part),
                _ => {}
            }
        }
        let value = constant.map_or(Yielded::Tensor { value, name }, Yielded::Constant);
        Returned { value, target }
    }

    /// `name = constant` among the inputs.
    pub(super) fn given<'s>(&mut self, pair: Pair<'s, Rule>) -> Option<(Name<'s>, AttrValue)> {
        let mut parts = pair.into_inner();
        let name = self.name(parts.next()?);
        Some((name, self.fixed(parts.next()?)))
    }

    fn fixed(&mut self, pair: Pair<Rule>) -> AttrValue {
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::integer | Rule::float | Rule::truth => {
                    return match self.number(part) {
                        Number::Int(v) => AttrValue::Int(v),
                        Number::Float(v) => AttrValue::float(v),
                        Number::Bool(v) => AttrValue::Bool(v),
                    };
                }
                Rule::string => return AttrValue::str(&self.string(part)),
                _ => {}
            }
        }
        AttrValue::None
    }

    fn target<'s>(&mut self, pair: Pair<'s, Rule>) -> Purpose<'s> {
        let missing = Name::missing(self.span(&pair));
        let Some(purpose) = pair.into_inner().next() else { return Purpose::Result(None) };
        let rule = purpose.as_rule();
        let mut parts = purpose.into_inner();
        match rule {
            Rule::place => Purpose::Result(parts.find_map(|p| self.path(p))),
            Rule::loss => {
                let place = parts.find(|p| p.as_rule() == Rule::place);
                Purpose::Loss(place.and_then(|p| p.into_inner().find_map(|p| self.path(p))))
            }
            _ => {
                let name = parts.find(|p| p.as_rule() == Rule::name).map_or(missing, |p| self.name(p));
                if rule == Rule::writes { Purpose::Write(name) } else { Purpose::Gradient(name) }
            }
        }
    }

    fn path(&mut self, pair: Pair<Rule>) -> Option<Path> {
        if pair.as_rule() != Rule::path {
            return None;
        }
        let mut steps = Vec::new();
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::field => steps.push(Step::Name(part.as_str().into())),
                Rule::string => steps.push(Step::Name(Arc::from(&*self.string(part)))),
                _ => steps.push(Step::Index(self.integer(part))),
            }
        }
        Some(Path(steps))
    }
}
