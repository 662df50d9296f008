//! What a module says, before anything is known of what its operations mean.

use std::borrow::Cow;

/// A place in the text, in bytes.
pub(super) type Offset = usize;

/// Words and brackets, as the grammar finds them.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Tree<'s> {
    /// `%x#2`: result number 2 of what `%x` names.
    Value(Use<'s>),
    /// `@main`, without the `@`.
    Symbol(Cow<'s, str>),
    Word(&'s str),
    Number(&'s str),
    /// What stands between quotes, escapes resolved.
    Text(Cow<'s, str>),
    /// `tensor<2xf32>`, `dense<[1, 2]>`, `#stablehlo.gather<…>`.
    Angled(&'s str),
    /// `#loc1`, `!type`.
    Alias(&'s str),
    /// The reducer behind `applies`.
    Applied(&'s str),
    /// `(…)`
    Group(Vec<Tree<'s>>),
    /// `[…]`
    List(Vec<Tree<'s>>),
    /// `{a = 1}`, and the same between `<` and `>`.
    Dictionary(Vec<Entry<'s>>),
    Region(Region<'s>),
    /// What stands between the brackets of `loc(…)`.
    Location(Vec<Tree<'s>>),
    /// `:`, `->`, `=` and the like.
    Sign(&'s str),
    Comma,
}

/// A use of a result or of a block argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Use<'s> {
    /// With the `%`.
    pub name: &'s str,
    pub index: usize,
}

/// `key = value` in a dictionary; a key alone has an empty value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry<'s> {
    pub key: Cow<'s, str>,
    pub value: Vec<Tree<'s>>,
}

/// A region of one block: no operation that is read here has more.
#[derive(Clone, Debug, PartialEq, Default)]
pub(super) struct Region<'s> {
    /// What the label of the block holds between its brackets.
    pub arguments: Vec<Tree<'s>>,
    pub operations: Vec<Operation<'s>>,
    /// How many blocks there are.
    pub blocks: usize,
}

/// An operation in whatever form it was printed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Operation<'s> {
    /// Names with the `%`, and how many results each stands for.
    pub results: Vec<(&'s str, usize)>,
    pub name: Cow<'s, str>,
    pub trees: Vec<Tree<'s>>,
    pub at: Offset,
}

/// A file.
#[derive(Clone, Debug, Default)]
pub(super) struct File<'s> {
    /// Operations outside of all regions: modules and functions.
    pub operations: Vec<Operation<'s>>,
    /// `#name = …`
    pub aliases: Vec<(&'s str, Vec<Tree<'s>>)>,
    /// What stands between `{-#` and `#-}`: contents of `dense_resource` literals.
    pub resources: Vec<Tree<'s>>,
}

impl Tree<'_> {
    pub(super) fn is_sign(&self, sign: &str) -> bool {
        matches!(self, Tree::Sign(s) if *s == sign)
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        matches!(self, Tree::Word(w) if *w == word)
    }
}

/// The parts of `trees` between commas; none if there are no trees.
pub(super) fn parts<'t, 's>(trees: &'t [Tree<'s>]) -> impl Iterator<Item = &'t [Tree<'s>]> {
    let count = if trees.is_empty() { 0 } else { usize::MAX };
    trees.split(|t| *t == Tree::Comma).take(count)
}
