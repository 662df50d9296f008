//! Operations that stay opaque: equal only to themselves on equal operands.

use std::fmt::Write;
use std::rc::Rc;

use rustc_hash::FxHashMap;
use sha2::{Digest, Sha256};

use super::ast::{Region, Tree, Use};
use super::attribute::{Attribute, show, type_text};
use super::error::Error;
use super::form::{Form, called};
use super::lower::Lower;
use super::scope::{Foreign, Scope, ScopeValue};
use super::types::Type;
use crate::ir::{AttrValue, DType, TensorType, Value};
use crate::ops::DRAW;

/// A description that is longer stands as its SHA-256.
const LONGEST: usize = 200;

/// The most words of a region that stays opaque. Functions that call each other twice double it at every level.
const MOST_WORDS: usize = 1 << 20;

impl<'t, 's> Lower<'_, 't, 's> {
    /// Adds an operation as a node of that name without a meaning.
    pub(super) fn opaque(
        &mut self,
        scope: &Scope<'_, 's>,
        form: &Form<'t, 's>,
        operands: &[ScopeValue],
        name: &str,
    ) -> Result<Vec<ScopeValue>, Error> {
        let mut leaves: Vec<Value> = Vec::new();
        let mut foreign = false;
        let mut arguments = Vec::new();
        for operand in operands {
            arguments.push(match operand {
                ScopeValue::Tensor(value) => format!("#{}", leaf(&mut leaves, *value)),
                ScopeValue::Complex(parts) => {
                    foreign = true;
                    complex_over(*parts, &mut leaves)
                }
                ScopeValue::Foreign(other) => {
                    foreign = true;
                    text_over(other, &mut leaves)
                }
            });
        }
        let op = match called(form).filter(|_| form.is("custom_call")) {
            Some(name) => format!("custom_call.{name}"),
            None => form.name.to_owned(),
        };
        let mut attrs: Vec<(String, AttrValue)> = Vec::new();
        for (key, value) in form.attributes() {
            let value = match (value.trees(), value.ints()) {
                ([Tree::Number(n)], _) if n.parse::<i64>().is_ok() => AttrValue::Int(n.parse().unwrap_or_default()),
                (_, Some(all)) => AttrValue::Ints(all.into_iter().collect()),
                (trees, None) => AttrValue::str(&short(show(trees))),
            };
            attrs.push((key.to_owned(), value));
        }
        attrs.sort();
        attrs.dedup_by(|a, b| a.0 == b.0);
        let mut rest: Vec<String> =
            form.words.iter().filter(|w| called(form) != Some(w)).map(|w| (*w).to_owned()).collect();
        rest.extend(form.bare.iter().map(|t| show(std::slice::from_ref(*t))));
        rest.extend(form.applied.map(str::to_owned));
        for region in &form.regions {
            let mut seen =
                Described { text: String::new(), names: FxHashMap::default(), scope, leaves: &mut leaves, words: 0 };
            let own = self.block_arguments(form, region)?;
            seen.region(self, region, &own, 0).map_err(|reason| Error::new(form.at, reason))?;
            rest.push(seen.text);
        }
        if !rest.is_empty() {
            attrs.push(("form".to_owned(), AttrValue::str(&short(rest.join(" ")))));
        }
        // Which operand is which, where some are no tensors of the IR, or one stands twice.
        if foreign || arguments.len() != leaves.len() {
            attrs.push(("operands".to_owned(), AttrValue::str(&short(arguments.join(", ")))));
        }
        let effect = form.attribute(&["has_side_effect"]).and_then(Attribute::bool).unwrap_or(false);
        if form.is("rng") || effect {
            attrs.push((DRAW.to_owned(), AttrValue::Int(self.draws)));
            self.draws += 1;
        }
        let count = form.result_count();
        let mut types: Vec<Type> = form.types.iter().map(|t| self.ty(t)).collect();
        let texts: Vec<String> = form.types.iter().map(|t| type_text(t)).collect();
        let skip = types.len().saturating_sub(count);
        types.drain(..skip);
        let texts = &texts[skip..];
        if types.len() != count {
            return Err(Error::new(
                form.at,
                format!("`{}` states {} types for {count} results", form.name, types.len()),
            ));
        }
        // What computes values that the IR lacks stands in the descriptions of these; what gives nothing is there for its effect.
        let described = || {
            let attrs: Vec<String> = attrs.iter().map(|(key, value)| format!("{key}={value}")).collect();
            short(format!("{op}({}; {})", arguments.join(", "), attrs.join(", ")))
        };
        // Parts of complex numbers are results of their own.
        let known = types.iter().flat_map(|ty| match ty {
            Type::Tensor(ty) => vec![ty.clone()],
            Type::Complex(part) => vec![part.clone(); 2],
            Type::Foreign(_) => Vec::new(),
        });
        let known: Vec<TensorType> = known.collect();
        let mut values = Vec::new().into_iter();
        if !known.is_empty() || count == 0 {
            let origin = self.locations.origin(form.location);
            let mut attrs = attrs.clone();
            if types.iter().any(|ty| ty.tensor().is_none()) {
                attrs.push(("results".to_owned(), AttrValue::str(&short(texts.join(", ")))));
            }
            let given = if count == 0 { vec![TensorType::scalar(DType::Bool)] } else { known };
            let added = self.builder.lower(name, origin).opaque(&op, attrs, &leaves, given);
            let added = added.map_err(|refusal| self.refused(form, refusal))?;
            if count == 0 {
                self.effects.extend(added.first());
                return Ok(Vec::new());
            }
            values = added.into_vec().into_iter();
        }
        let text = described();
        let result = |(i, ty): (usize, &Type)| match ty {
            Type::Tensor(_) => values.next().map(ScopeValue::Tensor),
            Type::Complex(_) => Some(ScopeValue::Complex([values.next()?, values.next()?])),
            Type::Foreign(_) => {
                let text = format!("{text}.{i}: {}", texts[i]);
                Some(ScopeValue::Foreign(Rc::new(Foreign { text, leaves: leaves.clone() })))
            }
        };
        Ok(types.iter().enumerate().filter_map(result).collect())
    }
}

/// The number of a tensor among those that an operation is computed from.
fn leaf(leaves: &mut Vec<Value>, value: Value) -> usize {
    leaves.iter().position(|&v| v == value).unwrap_or_else(|| {
        leaves.push(value);
        leaves.len() - 1
    })
}

/// The description of complex numbers, over the leaves of what uses them.
fn complex_over(parts: [Value; 2], leaves: &mut Vec<Value>) -> String {
    let [re, im] = parts.map(|value| leaf(leaves, value));
    format!("complex(#{re}, #{im})")
}

/// The description of a value without a type of the IR, over the leaves of what uses it.
fn text_over(foreign: &Foreign, leaves: &mut Vec<Value>) -> String {
    let numbers: Vec<String> = foreign.leaves.iter().map(|&v| format!("#{}", leaf(leaves, v))).collect();
    short(format!("{{{}}} of {}", foreign.text, numbers.join(" ")))
}

/// The value as a node, for what has to stand in the graph: results.
pub(super) fn materialised(low: &mut Lower, foreign: &Foreign, name: &str) -> Result<Value, Error> {
    let attrs = vec![("of".to_owned(), AttrValue::str(&foreign.text))];
    let name = low.builder.names.fresh(name);
    let mut node = low.builder.lower(&name, crate::ir::Origin::default());
    let added = node.opaque("stablehlo.value", attrs, &foreign.leaves, [TensorType::scalar(DType::Bool)]);
    let added = added.map_err(|refusal| Error::refused(0, refusal))?;
    added.first().copied().ok_or_else(|| Error::new(0, "a result has no value"))
}

/// The text itself, or its hash if it is long.
fn short(text: String) -> String {
    if text.len() <= LONGEST {
        return text;
    }
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().fold("sha256:".to_owned(), |mut hex, byte| {
        // Writing into a string does not fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// A region as text in which names count up in the order in which they are met.
struct Described<'a, 'p, 's> {
    text: String,
    names: FxHashMap<Use<'s>, usize>,
    scope: &'a Scope<'p, 's>,
    leaves: &'a mut Vec<Value>,
    words: usize,
}

impl<'s> Described<'_, '_, 's> {
    fn region<'t>(
        &mut self,
        low: &Lower<'_, 't, 's>,
        region: &Region<'s>,
        arguments: &[&'s str],
        depth: usize,
    ) -> Result<(), String> {
        if depth > 64 || self.words > MOST_WORDS {
            return Err("has a region that is too large".to_owned());
        }
        self.text.push('{');
        for name in arguments {
            self.define(name, 1);
        }
        for operation in &region.operations {
            let form = Form::of(operation);
            self.words += operation.trees.len() + 1;
            for (name, count) in form.results {
                self.define(name, *count);
            }
            self.text += form.name;
            for operand in &form.operands {
                self.operand(*operand);
            }
            let mut rest: Vec<String> = form.attributes().map(|(k, v)| format!("{k} = {}", show(v.trees()))).collect();
            rest.sort();
            rest.extend(form.words.iter().map(|w| (*w).to_owned()));
            rest.extend(form.bare.iter().map(|t| show(std::slice::from_ref(*t))));
            rest.extend(form.applied.map(str::to_owned));
            rest.extend(form.types.iter().map(|t| type_text(t)));
            self.text += &format!(" {};", rest.join(" "));
            if matches!(form.name, "call" | "func.call")
                && let Some(function) = form.words.first().and_then(|name| low.module.get(name))
            {
                let own: Vec<&str> = function.arguments.iter().map(|a| a.name).collect();
                let outer = std::mem::take(&mut self.names);
                self.region(low, function.body, &own, depth + 1)?;
                self.names = outer;
            }
            for region in &form.regions {
                let own = low.block_arguments(&form, region).map_err(|e| e.reason)?;
                self.region(low, region, &own, depth + 1)?;
            }
        }
        self.text.push('}');
        Ok(())
    }

    fn define(&mut self, name: &'s str, count: usize) {
        // A count that no operation has is refused where the operation is lowered.
        for index in 0..count.min(1024) {
            let next = self.names.len();
            self.names.insert(Use { name, index }, next);
        }
    }

    fn operand(&mut self, name: Use<'s>) {
        let text = match (self.names.get(&name), self.scope.get(name)) {
            (Some(number), _) => format!(" %{number}"),
            (None, Some(ScopeValue::Tensor(value))) => format!(" #{}", leaf(self.leaves, *value)),
            (None, Some(ScopeValue::Complex(parts))) => format!(" {}", complex_over(*parts, self.leaves)),
            (None, Some(ScopeValue::Foreign(foreign))) => format!(" {}", text_over(foreign, self.leaves)),
            (None, None) => format!(" ?{}", name.name),
        };
        self.text += &text;
    }
}
