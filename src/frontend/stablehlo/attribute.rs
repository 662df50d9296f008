//! The values of attributes, in every spelling.

use std::borrow::Cow;

use super::ast::{Tree, parts};
use super::literal;
use super::read::read_fields;

/// What stands behind `key =`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attribute<'t, 's>(&'t [Tree<'s>]);

impl<'t, 's> Attribute<'t, 's> {
    pub(super) fn new(trees: &'t [Tree<'s>]) -> Self {
        Attribute(trees)
    }

    pub(super) fn trees(self) -> &'t [Tree<'s>] {
        self.0
    }

    pub(super) fn int(self) -> Option<i64> {
        match self.0.first()? {
            Tree::Number(n) => n.parse().ok(),
            _ => match self.ints()?[..] {
                [one] => Some(one),
                _ => None,
            },
        }
    }

    pub(super) fn bool(self) -> Option<bool> {
        match self.0.first() {
            // A unit attribute is true by being there.
            None => Some(true),
            Some(Tree::Word("true")) => Some(true),
            Some(Tree::Word("false")) => Some(false),
            _ => None,
        }
    }

    /// Integers and bools: `[1, 2]`, `array<i64: 1, 2>`, `dense<[1, 2]> : tensor<2xi64>`, nested ones flat.
    pub(super) fn ints(self) -> Option<Vec<i64>> {
        match self.0 {
            [Tree::List(inner), ..] => list_of_ints(inner),
            [Tree::Angled(text), rest @ ..] => match text.strip_prefix("array<").and_then(|t| t.strip_suffix('>')) {
                Some(array) => {
                    let Some((_, values)) = array.split_once(':') else { return Some(Vec::new()) };
                    values.split(',').map(|v| number_or_truth(v.trim())).collect()
                }
                None => {
                    let [Tree::Sign(":"), Tree::Angled(ty), ..] = rest else { return None };
                    literal::ints(text, ty)
                }
            },
            _ => None,
        }
    }

    /// A word such as `DEFAULT`, alone or as in `#stablehlo<precision DEFAULT>` and `#stablehlo.precision<DEFAULT>`.
    pub(super) fn word(self) -> Option<&'t str> {
        match self.0.first()? {
            Tree::Word(word) => Some(word),
            Tree::Angled(text) => text.trim_end_matches('>').rsplit([' ', '<']).next(),
            _ => None,
        }
    }

    pub(super) fn text(self) -> Option<&'t str> {
        match self.0.first()? {
            Tree::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A symbol, without its `@`.
    pub(super) fn symbol(self) -> Option<&'t str> {
        match self.0.first()? {
            Tree::Symbol(name) => Some(name),
            _ => None,
        }
    }

    pub(super) fn float(self) -> Option<f64> {
        match self.0.first()? {
            Tree::Number(n) => n.parse().ok(),
            _ => None,
        }
    }

    /// The lists of `[0, 1] x [2]` or `[b, 0, f]x[0, i, o]->[b, 0, f]`, as words.
    pub(super) fn lists(self) -> Vec<Vec<&'t str>> {
        let words = |inner: &'t Vec<Tree<'s>>| inner.iter().filter_map(word).collect();
        self.0
            .iter()
            .filter_map(|t| match t {
                Tree::List(inner) => Some(words(inner)),
                _ => None,
            })
            .collect()
    }

    /// The value of `key` in a dictionary.
    pub(super) fn get(self, key: &str) -> Option<Attribute<'t, 's>> {
        match self.0.first()? {
            Tree::Dictionary(entries) => entries.iter().find(|e| e.key == key).map(|e| Attribute(&e.value)),
            _ => None,
        }
    }

    /// What stands between the angle brackets of an attribute.
    pub(super) fn fields(self) -> Option<Fields<'s>> {
        match self.0.first()? {
            Tree::Angled(text) => {
                let start = text.find('<')?;
                Some(Fields(read_fields(text.get(start + 1..text.len().checked_sub(1)?)?)?))
            }
            _ => None,
        }
    }
}

/// `offset_dims = [2], collapsed_slice_dims = [0]`, and words or lists without a key.
pub(super) struct Fields<'s>(Vec<Tree<'s>>);

impl<'s> Fields<'s> {
    pub(super) fn all(&self) -> Attribute<'_, 's> {
        Attribute(&self.0)
    }

    pub(super) fn get(&self, key: &str) -> Option<Attribute<'_, 's>> {
        parts(&self.0).find_map(|part| match part {
            [Tree::Word(name), Tree::Sign("="), value @ ..] if *name == key => Some(Attribute(value)),
            _ => None,
        })
    }

    /// The list called `key`; empty where there is none.
    pub(super) fn ints(&self, key: &str) -> Option<Vec<i64>> {
        self.get(key).map_or(Some(Vec::new()), Attribute::ints)
    }
}

fn word<'t>(tree: &'t Tree) -> Option<&'t str> {
    match tree {
        Tree::Word(w) | Tree::Number(w) | Tree::Sign(w @ ("?" | "*")) => Some(w),
        Tree::Angled(text) => text.trim_end_matches('>').rsplit([' ', '<']).next(),
        _ => None,
    }
}

fn list_of_ints(trees: &[Tree]) -> Option<Vec<i64>> {
    let mut all = Vec::new();
    for part in parts(trees) {
        match part {
            [Tree::List(inner)] => all.extend(list_of_ints(inner)?),
            [Tree::Number(word) | Tree::Word(word), ..] => all.push(number_or_truth(word)?),
            _ => return None,
        }
    }
    Some(all)
}

fn number_or_truth(word: &str) -> Option<i64> {
    match word {
        "true" => Some(1),
        "false" => Some(0),
        _ => word.parse().ok(),
    }
}

/// Trees as text of one spelling, without locations.
pub(super) fn show(trees: &[Tree]) -> String {
    let words = trees.iter().filter(|t| !matches!(t, Tree::Location(_))).map(|tree| match tree {
        Tree::Value(v) => Cow::Owned(format!("{}#{}", v.name, v.index)),
        Tree::Symbol(s) => Cow::Owned(format!("@{s:?}")),
        Tree::Word(s) | Tree::Number(s) | Tree::Angled(s) | Tree::Alias(s) | Tree::Applied(s) | Tree::Sign(s) => {
            Cow::Borrowed(*s)
        }
        Tree::Text(s) => Cow::Owned(format!("{s:?}")),
        Tree::Group(inner) => Cow::Owned(format!("({})", show(inner))),
        Tree::List(inner) => Cow::Owned(format!("[{}]", show(inner))),
        Tree::Dictionary(entries) => {
            let entries: Vec<_> = entries.iter().map(|e| format!("{:?} = {}", e.key, show(&e.value))).collect();
            Cow::Owned(format!("{{{}}}", entries.join(", ")))
        }
        Tree::Region(_) => Cow::Borrowed("{…}"),
        Tree::Location(_) => Cow::Borrowed(""),
        Tree::Comma => Cow::Borrowed(","),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// A type as text.
pub(super) fn type_text(tree: &Tree) -> String {
    show(std::slice::from_ref(tree))
}
