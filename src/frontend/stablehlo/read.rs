//! From text to words and brackets, by the grammar in `grammar/stablehlo.pest`.

use std::borrow::Cow;

use pest::Parser;
use pest::error::{ErrorVariant, InputLocation};
use pest::iterators::Pair;

use super::ast::{Entry, File, Operation, Region, Tree, Use};
use super::error::Error;

#[derive(pest_derive::Parser)]
#[grammar = "../grammar/stablehlo.pest"]
struct Grammar;

/// How deep brackets may be nested: the grammar is recursive.
const DEEPEST_NESTING: usize = 64;

/// The most words outside of literals. Each takes some 200 bytes until the graph is built.
const MOST_WORDS: usize = 8 << 20;

/// Reads a whole file.
///
/// # Errors
/// The first place that the grammar does not admit, brackets nested too deeply, too many words.
pub(super) fn read(text: &str) -> Result<File<'_>, Error> {
    check_size(text)?;
    let pairs = Grammar::parse(Rule::file, text).map_err(syntax_error)?;
    let mut file = File::default();
    for pair in pairs.flat_map(Pair::into_inner) {
        match pair.as_rule() {
            Rule::operation => file.operations.push(operation(pair)),
            Rule::resources => file.resources.extend(trees(pair)),
            Rule::alias => {
                let mut inner = pair.into_inner();
                if let Some(name) = inner.next() {
                    file.aliases.push((name.as_str(), inner.filter_map(tree).collect()));
                }
            }
            _ => {}
        }
    }
    Ok(file)
}

/// Reads what stands between the brackets of an attribute.
pub(super) fn read_fields(text: &str) -> Option<Vec<Tree<'_>>> {
    check_size(text).ok()?;
    Grammar::parse(Rule::fields, text).ok()?.next().map(trees)
}

/// Refuses deep nesting and too many words before the recursive parser sees them.
fn check_size(text: &str) -> Result<(), Error> {
    let (mut depth, mut angles, mut words) = (0_usize, 0_usize, 0_usize);
    let (mut in_string, mut in_comment, mut escaped, mut in_word) = (false, false, false, false);
    let mut before = 0;
    for (at, byte) in text.bytes().enumerate() {
        let letter = byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'%' | b'$');
        let outside_words = in_string || in_comment || angles > 0 || byte.is_ascii_whitespace();
        let continues_word = letter && in_word;
        if !outside_words && !continues_word {
            words += 1;
        }
        in_word = letter;
        match byte {
            b'\n' => (in_comment, in_string, escaped) = (false, false, false),
            _ if in_comment => {}
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'/' if before == b'/' => in_comment = true,
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b'<' => angles += 1,
            b'>' if before != b'-' => angles = angles.saturating_sub(1),
            _ => {}
        }
        if depth + angles > DEEPEST_NESTING {
            return Err(Error::new(at, format!("brackets are nested more than {DEEPEST_NESTING} deep")));
        }
        if words > MOST_WORDS {
            return Err(Error::new(at, format!("the file has more than {MOST_WORDS} words")));
        }
        before = byte;
    }
    Ok(())
}

fn syntax_error(error: pest::error::Error<Rule>) -> Error {
    let at = match error.location {
        InputLocation::Pos(at) | InputLocation::Span((at, _)) => at,
    };
    let reason = match error.variant {
        ErrorVariant::CustomError { message } => message,
        ErrorVariant::ParsingError { .. } => "this is not expected here".to_owned(),
    };
    Error::new(at, reason).help("the text is that of an MLIR module, as `jax.jit(f).lower(…).as_text()` gives it")
}

fn operation(pair: Pair<'_, Rule>) -> Operation<'_> {
    let mut operation =
        Operation { at: pair.as_span().start(), results: Vec::new(), name: Cow::Borrowed(""), trees: Vec::new() };
    let mut named = false;
    for part in pair.into_inner() {
        match part.as_rule() {
            Rule::results => operation.results = part.into_inner().map(result).collect(),
            Rule::operation_name if !named => (operation.name, named) = (Cow::Borrowed(part.as_str()), true),
            Rule::string if !named => (operation.name, named) = (unquoted(part.as_str()), true),
            _ => operation.trees.extend(tree(part)),
        }
    }
    operation
}

/// A name and the number of results it stands for.
fn result(pair: Pair<'_, Rule>) -> (&str, usize) {
    let mut parts = pair.into_inner().map(|p| p.as_str());
    let name = parts.next().unwrap_or("");
    // A count that does not fit is met by no operation.
    (name, parts.next().map_or(1, |count| count.parse().unwrap_or(usize::MAX)))
}

fn trees(pair: Pair<'_, Rule>) -> Vec<Tree<'_>> {
    pair.into_inner().filter_map(tree).collect()
}

fn tree(pair: Pair<'_, Rule>) -> Option<Tree<'_>> {
    let text = pair.as_str();
    Some(match pair.as_rule() {
        Rule::value => {
            let mut parts = pair.into_inner().map(|p| p.as_str());
            let name = parts.next().unwrap_or("");
            Tree::Value(Use { name, index: parts.next().map_or(0, |index| index.parse().unwrap_or(usize::MAX)) })
        }
        Rule::symbol => {
            let name = text.trim_start_matches('@');
            Tree::Symbol(if name.starts_with('"') { unquoted(name) } else { Cow::Borrowed(name) })
        }
        Rule::word | Rule::successor => Tree::Word(text),
        Rule::number => Tree::Number(text),
        Rule::string => Tree::Text(unquoted(text)),
        Rule::angled => Tree::Angled(text),
        Rule::alias_name => Tree::Alias(text),
        Rule::applied => Tree::Applied(pair.into_inner().next().map_or("", |p| p.as_str())),
        Rule::group => Tree::Group(trees(pair)),
        Rule::list => Tree::List(trees(pair)),
        Rule::properties | Rule::dictionary => {
            let entries = pair.into_inner().filter(|p| p.as_rule() == Rule::entry);
            Tree::Dictionary(entries.filter_map(entry).collect())
        }
        Rule::region => Tree::Region(region(pair)),
        Rule::location => Tree::Location(trees(pair)),
        Rule::sign => Tree::Sign(text),
        Rule::comma => Tree::Comma,
        _ => return None,
    })
}

fn entry(pair: Pair<'_, Rule>) -> Option<Entry<'_>> {
    let mut parts = pair.into_inner();
    let key = parts.next()?;
    let key = if key.as_rule() == Rule::string { unquoted(key.as_str()) } else { Cow::Borrowed(key.as_str()) };
    Some(Entry { key, value: parts.filter_map(tree).collect() })
}

fn region(pair: Pair<'_, Rule>) -> Region<'_> {
    let mut region = Region { blocks: 1, ..Region::default() };
    for part in pair.into_inner() {
        match part.as_rule() {
            Rule::block_label => {
                if !region.operations.is_empty() {
                    region.blocks += 1;
                }
                let group = part.into_inner().find(|p| p.as_rule() == Rule::group);
                region.arguments.extend(group.map(trees).unwrap_or_default());
            }
            Rule::operation => region.operations.push(operation(part)),
            _ => {}
        }
    }
    region
}

/// What stands between quotes, with `\n`, `\t`, `\"`, `\\` and two hex digits resolved.
pub(super) fn unquoted(text: &str) -> Cow<'_, str> {
    let inner = text.strip_prefix('"').and_then(|t| t.strip_suffix('"')).unwrap_or(text);
    if !inner.contains('\\') {
        return Cow::Borrowed(inner);
    }
    let mut bytes = Vec::with_capacity(inner.len());
    let mut rest = inner.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'\\' {
            bytes.push(*first);
            continue;
        }
        match tail {
            [b'n', after @ ..] => (bytes.push(b'\n'), rest = after).0,
            [b't', after @ ..] => (bytes.push(b'\t'), rest = after).0,
            [high, low, after @ ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                let digit = |b: u8| (b as char).to_digit(16).unwrap_or(0) as u8;
                bytes.push(digit(*high) << 4 | digit(*low));
                rest = after;
            }
            [other, after @ ..] => (bytes.push(*other), rest = after).0,
            [] => {}
        }
    }
    Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
}
