//! What the region of a reduction, a scatter or a sort computes.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use super::super::ast::{Region, Tree, Use};
use super::super::form::{Form, arguments};
use super::super::lowering::NodeLowering;

/// How two elements are joined. All are associative and commutative over the real numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Monoid {
    Add,
    Multiply,
    Maximum,
    Minimum,
    And,
    Or,
}

impl Monoid {
    fn of(name: &str) -> Option<Monoid> {
        Some(match name {
            "add" => Monoid::Add,
            "multiply" => Monoid::Multiply,
            "maximum" => Monoid::Maximum,
            "minimum" => Monoid::Minimum,
            "and" => Monoid::And,
            "or" => Monoid::Or,
            _ => return None,
        })
    }

    /// On bools, sums and products are those of logic.
    pub(crate) fn on(self, is_bool: bool) -> Monoid {
        match self {
            Monoid::Add | Monoid::Maximum if is_bool => Monoid::Or,
            Monoid::Multiply | Monoid::Minimum if is_bool => Monoid::And,
            other => other,
        }
    }
}

/// The most operations of a region that is looked into.
const LARGEST: usize = 64;

/// The values that a region gives, as expressions over its arguments `#0`, `#1`, … in one spelling: operands of commutative
/// operations stand in alphabetical order. `None` if something else than arguments and constants is used.
pub(in super::super) fn expressions(region: &Region, shared: &[&str]) -> Option<Vec<String>> {
    let mut names: FxHashMap<Use, String> = FxHashMap::default();
    let own = arguments(&region.arguments)?;
    let own = own.iter().map(|a| a.name);
    let all: Vec<&str> = if region.arguments.is_empty() { shared.to_vec() } else { own.collect() };
    for (i, name) in all.iter().enumerate() {
        names.insert(Use { name, index: 0 }, format!("#{i}"));
    }
    if region.operations.len() > LARGEST || region.blocks > 1 {
        return None;
    }
    for operation in &region.operations {
        let form = Form::of(operation);
        let operands: Option<Vec<String>> = form.operands.iter().map(|o| names.get(o).cloned()).collect();
        let mut operands = operands?;
        let name = form.stable_name()?;
        if name == "return" {
            return Some(operands);
        }
        let mut text = name.to_owned();
        match name {
            "constant" => text = format!("constant {}", constant(&form)?),
            "compare" => {
                let words = form.words.iter().copied().map(Cow::Borrowed);
                let kept = ["comparison_direction", "compare_type"];
                let attributes = kept.iter().filter_map(|k| form.attribute(&[k])?.word().map(Cow::Borrowed));
                let words: Vec<_> = words.chain(attributes).collect();
                text = words
                    .iter()
                    .filter(|w| !matches!(&***w, "FLOAT" | "SIGNED" | "UNSIGNED"))
                    .fold(text, |text, w| format!("{text} {w}"));
                if words.iter().any(|w| matches!(&**w, "EQ" | "NE")) {
                    operands.sort();
                }
            }
            "add" | "multiply" | "maximum" | "minimum" | "and" | "or" | "xor" => operands.sort(),
            "select" => {}
            _ => return None,
        }
        let text = if operands.is_empty() { text } else { format!("{text}({})", operands.join(", ")) };
        // Expressions of expressions may double in length with every operation.
        if text.len() > 4096 {
            return None;
        }
        if let [(name, 1)] = form.results {
            names.insert(Use { name, index: 0 }, text);
        }
    }
    None
}

/// A number that is the same in every spelling.
fn constant(form: &Form) -> Option<String> {
    let literal = form.bare.first().copied().or_else(|| form.attribute(&["value"])?.trees().first())?;
    let Tree::Angled(text) = literal else { return None };
    let Some(Tree::Angled(ty)) = form.types.first().copied() else { return None };
    let ty = super::super::types::read(ty).tensor()?.clone();
    match super::super::literal::read(text, &ty, &Default::default()).ok()? {
        super::super::literal::Elements::Splat(number) => Some(number.to_string()),
        super::super::literal::Elements::Dense(all) => all.first().filter(|_| all.len() == 1).map(ToString::to_string),
    }
}

/// How the region of an operation joins each of `count` pairs of elements, if it joins each by itself.
pub(in super::super) fn monoids(site: &NodeLowering, count: usize) -> Option<Vec<Monoid>> {
    let form = site.form;
    if let Some(applied) = form.applied {
        let name = applied.strip_prefix("stablehlo.").or_else(|| applied.strip_prefix("mhlo."))?;
        return (count == 1).then(|| Monoid::of(name).map(|m| vec![m]))?;
    }
    let region = form.regions.first()?;
    let results = expressions(region, &form.arguments)?;
    if results.len() != count {
        return None;
    }
    let monoid = |(i, text): (usize, &String)| {
        let (name, operands) = text.split_once('(')?;
        let mut both = [format!("#{i}"), format!("#{}", i + count)];
        both.sort();
        (operands.strip_suffix(')')? == both.join(", ")).then(|| Monoid::of(name))?
    };
    results.iter().enumerate().map(monoid).collect()
}
