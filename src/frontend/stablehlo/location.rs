//! Where an operation comes from: source lines, and the names of arguments.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::ast::Tree;
use crate::ir::{Frame, Origin};

/// How many locations may stand inside of each other.
const DEEPEST: usize = 64;

/// How many are looked at for one operation: call sites that name each other twice double them at every level.
const MOST: usize = 1 << 10;

/// The locations of a file, by the name that stands for each.
#[derive(Default)]
pub(super) struct Locations<'t, 's> {
    aliases: FxHashMap<&'s str, &'t [Tree<'s>]>,
    known: FxHashMap<&'s str, Origin>,
    strings: FxHashMap<&'t str, Arc<str>>,
}

/// What is found of one operation.
struct Found<'f> {
    frames: &'f mut Vec<Frame>,
    /// How many locations are still looked at.
    left: usize,
}

impl<'t, 's> Locations<'t, 's> {
    pub(super) fn new(aliases: &'t [(&'s str, Vec<Tree<'s>>)]) -> Self {
        let location = |(name, trees): &'t (&'s str, Vec<Tree<'s>>)| match &trees[..] {
            [Tree::Location(inner), ..] => Some((*name, &inner[..])),
            _ => None,
        };
        Locations { aliases: aliases.iter().filter_map(location).collect(), ..Locations::default() }
    }

    /// The source lines that a location names, and the innermost module path.
    pub(super) fn origin(&mut self, location: Option<&'t [Tree<'s>]>) -> Origin {
        let Some(location) = location else { return Origin::default() };
        if let [Tree::Alias(name)] = location
            && let Some(known) = self.known.get(name)
        {
            return known.clone();
        }
        let mut frames = Vec::new();
        self.frames(location, "", 0, &mut Found { frames: &mut frames, left: MOST });
        let origin = Origin { frames: frames.into(), ..Origin::default() };
        if let [Tree::Alias(name)] = location {
            self.known.insert(name, origin.clone());
        }
        origin
    }

    /// Adds the frames of a location, outermost first. `function` is the name around it.
    fn frames(&mut self, location: &'t [Tree<'s>], function: &'t str, depth: usize, found: &mut Found) {
        if depth > DEEPEST || found.left == 0 {
            return;
        }
        found.left -= 1;
        match location {
            [Tree::Alias(name)] => {
                if let Some(&inner) = self.aliases.get(name) {
                    self.frames(inner, function, depth + 1, found);
                }
            }
            // `"model.py":12:4 to :20`
            [Tree::Text(file), Tree::Sign(":"), Tree::Number(line), ..] => {
                let (file, function) = (self.intern(file), self.intern(function));
                let line = line.parse().unwrap_or(0);
                found.frames.push(Frame { file, line, function, code: Arc::default() });
            }
            // `"name"(inner)`: what JAX gives a frame is the function, what it gives an operator its path.
            [Tree::Text(name), Tree::Group(inner)] => {
                let function = if name.contains('/') { function } else { name };
                self.frames(inner, function, depth + 1, found);
            }
            [Tree::Word("callsite"), Tree::Group(inner)] => {
                let Some(at) = inner.iter().position(|t| t.is_word("at")) else { return };
                self.frames(&inner[at + 1..], "", depth + 1, found);
                self.frames(&inner[..at], function, depth + 1, found);
            }
            // Several places became one operator: the first one speaks for all.
            [Tree::Word("fused"), .., Tree::List(inner)] => {
                if let Some(first) = super::ast::parts(inner).next() {
                    self.frames(first, function, depth + 1, found);
                }
            }
            _ => {}
        }
    }

    /// The name that a location gives an argument.
    pub(super) fn name(&self, location: Option<&'t [Tree<'s>]>) -> Option<&'t str> {
        let mut location = location?;
        for _ in 0..DEEPEST {
            match location {
                [Tree::Alias(name)] => location = self.aliases.get(name).copied()?,
                [Tree::Text(name)] => return Some(name),
                _ => return None,
            }
        }
        None
    }

    fn intern(&mut self, text: &'t str) -> Arc<str> {
        self.strings.entry(text).or_insert_with(|| text.into()).clone()
    }
}

/// The path of a leaf of a pytree with dots between its steps: `params.h.0.attn` for `params['h'][0]['attn']`.
pub(super) fn dotted(path: &str) -> String {
    path.split(['[', ']', '\'', '"', '.']).filter(|step| !step.is_empty()).collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_leaves_have_dots() {
        assert_eq!(dotted("params['h'][0]['c_attn']['bias']"), "params.h.0.c_attn.bias");
        assert_eq!(dotted("state.params[\"w\"]"), "state.params.w");
        assert_eq!(dotted("ids"), "ids");
    }
}
