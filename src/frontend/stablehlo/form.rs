//! Brings the generic form of an operation and the forms in which operations print themselves to one.

use super::ast::{Offset, Operation, Region, Tree, Use, parts};
use super::attribute::Attribute;

/// An operation, whichever way it was printed. Borrows from the trees `'t` of the text `'s`.
#[derive(Clone, Debug, Default)]
pub(super) struct Form<'t, 's> {
    pub name: &'t str,
    pub results: &'t [(&'s str, usize)],
    pub operands: Vec<Use<'s>>,
    pub listed: Vec<(&'t str, Attribute<'t, 's>)>,
    /// Words and symbols that stand by themselves: `LT`, `SIGNED`, the name of what is called.
    pub words: Vec<&'t str>,
    /// Lists and literals that stand by themselves: the limits of a slice, the contents of a constant.
    pub bare: Vec<&'t Tree<'s>>,
    /// Names of block arguments that stand outside of the regions, for all of them.
    pub arguments: Vec<&'s str>,
    pub regions: Vec<&'t Region<'s>>,
    /// Types behind `->`, or all types if there is no arrow.
    pub types: Vec<&'t Tree<'s>>,
    /// Types in front of `->`.
    pub operand_types: Vec<&'t Tree<'s>>,
    pub location: Option<&'t [Tree<'s>]>,
    /// The operator behind `applies`.
    pub applied: Option<&'t str>,
    pub at: Offset,
}

impl<'t, 's> Form<'t, 's> {
    pub(super) fn of(operation: &'t Operation<'s>) -> Self {
        let mut form = Form { name: &operation.name, results: &operation.results, at: operation.at, ..Form::default() };
        let trees = &operation.trees[..];
        let colon = trees.iter().position(|t| t.is_sign(":")).unwrap_or(trees.len());
        let (before, after) = trees.split_at(colon);
        form.items(before);
        let behind = form.signature(after.get(1..).unwrap_or_default());
        form.items(behind);
        if form.is("reduce") && form.operands.len() == operation_pairs(before) {
            // `(x init: a), (y init: b)` is `x, y, a, b` in the generic form.
            let (values, inits): (Vec<_>, Vec<_>) = form.operands.iter().enumerate().partition(|(i, _)| i % 2 == 0);
            form.operands = values.into_iter().chain(inits).map(|(_, &operand)| operand).collect();
        }
        if form.is("reduce") && form.arguments.len() == form.operands.len() {
            // `reducer(a, b) (c, d)` are the pairs of each operand; a block has `a, c, b, d`.
            let (first, second): (Vec<_>, Vec<_>) = form.arguments.iter().enumerate().partition(|(i, _)| i % 2 == 0);
            form.arguments = first.into_iter().chain(second).map(|(_, &name)| name).collect();
        }
        form
    }

    /// Whether it is the operation of that name in one of the dialects that are read.
    pub(super) fn is(&self, name: &str) -> bool {
        self.stable_name() == Some(name)
    }

    /// The name without the dialect, if the dialect is StableHLO or its predecessor.
    pub(super) fn stable_name(&self) -> Option<&'t str> {
        self.name.strip_prefix("stablehlo.").or_else(|| self.name.strip_prefix("mhlo."))
    }

    /// The attribute of the first of these names that there is.
    pub(super) fn attribute(&self, names: &[&str]) -> Option<Attribute<'t, 's>> {
        names.iter().find_map(|name| self.listed.iter().find(|(key, _)| key == name)).map(|(_, value)| *value)
    }

    pub(super) fn attributes(&self) -> impl Iterator<Item = (&'t str, Attribute<'t, 's>)> + '_ {
        self.listed.iter().copied()
    }

    /// How many results the operation names.
    pub(super) fn result_count(&self) -> usize {
        self.results.iter().fold(0_usize, |sum, (_, count)| sum.saturating_add(*count))
    }

    /// Everything but types.
    fn items(&mut self, trees: &'t [Tree<'s>]) {
        let mut rest = trees;
        while let [first, tail @ ..] = rest {
            rest = tail;
            match first {
                Tree::Word(key) if tail.first().is_some_and(|t| t.is_sign("=")) => {
                    let value = &tail[1..];
                    let ends = |(i, t): (usize, &Tree)| match t {
                        Tree::Comma | Tree::Location(_) | Tree::Region(_) => true,
                        // Behind a value stand the other attributes.
                        Tree::Dictionary(_) => i > 0,
                        _ => false,
                    };
                    let mut end = value.iter().enumerate().position(ends).unwrap_or(value.len());
                    if matches!(value.first(), Some(Tree::Dictionary(_))) {
                        end = 1;
                    }
                    let (value, behind) = value.split_at(end);
                    self.listed.push((key, Attribute::new(value)));
                    rest = behind;
                }
                Tree::Value(operand) => self.operands.push(*operand),
                Tree::Word(word) => self.words.push(word),
                Tree::Symbol(name) => self.words.push(name),
                Tree::Applied(name) => self.applied = Some(name),
                Tree::Text(_) | Tree::Angled(_) | Tree::List(_) | Tree::Number(_) | Tree::Alias(_) => {
                    self.bare.push(first);
                }
                Tree::Group(inner) => self.group(inner),
                Tree::Dictionary(entries) => {
                    self.listed.extend(entries.iter().map(|e| (&*e.key, Attribute::new(&e.value))));
                }
                Tree::Region(region) => self.regions.push(region),
                Tree::Location(inner) => self.location = Some(inner),
                Tree::Sign(_) | Tree::Comma => {}
            }
        }
    }

    /// Operands, regions, or the arguments of a block.
    fn group(&mut self, trees: &'t [Tree<'s>]) {
        for part in parts(trees) {
            match part {
                // `%iterArg = %arg0`
                [Tree::Value(argument), Tree::Sign("="), Tree::Value(operand)] => {
                    self.arguments.push(argument.name);
                    self.operands.push(*operand);
                }
                // `%arg2: tensor<f32>`, behind `reducer`; there may be a location.
                [Tree::Value(argument), Tree::Sign(":"), ..] => self.arguments.push(argument.name),
                part => self.items(part),
            }
        }
    }

    /// Types, up to what is no type any more.
    fn signature(&mut self, trees: &'t [Tree<'s>]) -> &'t [Tree<'s>] {
        let mut rest = trees;
        while let [first, tail @ ..] = rest {
            match first {
                Tree::Group(inner) => self.types.extend(inner.iter().filter(|t| is_type(t))),
                Tree::Sign("->") => self.operand_types = std::mem::take(&mut self.types),
                Tree::Comma => {}
                // Words such as `i32` are types, `cond`, `reducer` and `attributes` are not.
                Tree::Word("cond" | "do" | "reducer" | "attributes") => break,
                tree if is_type(tree) => self.types.push(tree),
                _ => break,
            }
            rest = tail;
        }
        rest
    }
}

fn is_type(tree: &Tree) -> bool {
    matches!(tree, Tree::Angled(_) | Tree::Alias(_) | Tree::Word(_))
}

/// How many operands stand in pairs of a value and the number it starts from.
fn operation_pairs(trees: &[Tree]) -> usize {
    let is_pair = |t: &&Tree| matches!(t, Tree::Group(inner) if inner.iter().any(|t| t.is_word("init")));
    2 * trees.iter().filter(is_pair).count()
}

/// The names and types of the arguments that a block or a function lists, and what else stands there.
pub(super) struct Argument<'t, 's> {
    pub name: &'s str,
    pub ty: &'t Tree<'s>,
    pub attributes: Vec<(&'t str, Attribute<'t, 's>)>,
    pub location: Option<&'t [Tree<'s>]>,
}

/// Arguments such as `%arg0: tensor<2xf32> {jax.arg_info = "x"} loc("x")`.
pub(super) fn arguments<'t, 's>(trees: &'t [Tree<'s>]) -> Option<Vec<Argument<'t, 's>>> {
    parts(trees)
        .map(|part| match part {
            [Tree::Value(value), Tree::Sign(":"), ty, rest @ ..] => {
                let mut argument = Argument { name: value.name, ty, attributes: Vec::new(), location: None };
                for tree in rest {
                    match tree {
                        Tree::Dictionary(entries) => {
                            let entries = entries.iter().map(|e| (&*e.key, Attribute::new(&e.value)));
                            argument.attributes.extend(entries);
                        }
                        Tree::Location(inner) => argument.location = Some(inner),
                        _ => {}
                    }
                }
                Some(argument)
            }
            _ => None,
        })
        .collect()
}

/// The name of the function that a `custom_call` calls.
pub(super) fn called<'t>(form: &Form<'t, '_>) -> Option<&'t str> {
    let given = form.attribute(&["call_target_name"]).and_then(Attribute::text);
    given.or_else(|| form.words.first().copied())
}
