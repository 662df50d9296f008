//! One item on its lines.

use super::token::{Token, TokenKind};

/// Columns of a line.
const WIDTH: usize = 120;
const INDENT: usize = 4;
/// A line that goes on with the one above.
const CONTINUED: usize = 6;
/// The last column at which a line may start.
const DEEPEST: usize = 60;

/// Appends a comment line or an item, each line ended.
pub(super) fn block(tokens: &[Token<'_>], out: &mut String) {
    if let [comment] = tokens
        && comment.kind == TokenKind::Comment
    {
        out.push_str(comment.text);
        out.push('\n');
        return;
    }
    let mut at = 0;
    while let Some(token) = tokens.get(at).filter(|t| !t.starts_item()) {
        match token.kind {
            TokenKind::Doc => out.push_str(&doc(token.text)),
            _ => out.push_str(token.text),
        }
        out.push('\n');
        at += 1;
    }
    let item = &tokens[at..];
    for (n, part) in parts(item).into_iter().enumerate() {
        lines(part, if n == 0 { 0 } else { INDENT }, out);
    }
}

fn doc(text: &str) -> String {
    let content = text.trim_start_matches('/').trim();
    if content.is_empty() { "///".to_owned() } else { format!("/// {content}") }
}

/// The head of an item, its body, and each clause.
fn parts<'a, 't>(item: &'a [Token<'t>]) -> Vec<&'a [Token<'t>]> {
    let mut starts = vec![0];
    let mut depth = 0_i32;
    let words: Vec<usize> = (0..item.len()).filter(|&i| item[i].kind != TokenKind::Comment).collect();
    let is_test = item.first().is_some_and(|t| t.text == "test");
    for (n, &i) in words.iter().enumerate() {
        let token = &item[i];
        let next = words.get(n + 1).copied();
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            // The head ends with the first colon or `=` outside of brackets.
            ":" | "=" if depth == 0 && starts.len() == 1 && !is_test => starts.extend(next),
            _ => {}
        }
        // `where` is an operator too: then a bracket follows at once.
        let operator = token.text == "where" && next.is_some_and(|j| item[j].text == "(" && adjacent(token, &item[j]));
        if depth == 0 && n > 0 && token.starts_clause() && !operator {
            starts.push(i);
        }
    }
    // Comments in front of a part belong to it, unless they stand on the last line of the part before.
    for start in starts.iter_mut().skip(1) {
        while *start > 0 && item[*start - 1].kind == TokenKind::Comment && item[*start - 1].line_before {
            *start -= 1;
        }
    }
    let ends = starts.iter().skip(1).copied().chain([item.len()]);
    starts.iter().zip(ends).map(|(&start, end)| &item[start..end]).collect()
}

fn adjacent(a: &Token<'_>, b: &Token<'_>) -> bool {
    std::ptr::eq(a.text.as_bytes().as_ptr_range().end, b.text.as_ptr())
}

/// A part with its comments: those behind its last word on its line stay there, all others go above it.
fn lines(part: &[Token<'_>], indent: usize, out: &mut String) {
    let words: Vec<Token<'_>> = part.iter().copied().filter(|t| t.kind != TokenKind::Comment).collect();
    let last = part.iter().rposition(|t| t.kind != TokenKind::Comment).unwrap_or(0);
    let margin = " ".repeat(indent);
    let behind = part.get(last + 1).filter(|t| t.kind == TokenKind::Comment && !t.line_before);
    let above = |i: usize| i < last || behind.is_none() || i > last + 1;
    for (_, comment) in part.iter().enumerate().filter(|(i, t)| t.kind == TokenKind::Comment && above(*i)) {
        out.push_str(&format!("{margin}{}\n", comment.text));
    }
    let mut text = fitted(&words, indent).join("\n");
    if let Some(comment) = behind {
        text.push(' ');
        text.push_str(comment.text);
    }
    out.push_str(&text);
    out.push('\n');
}

/// The words on one line if they fit, else broken in front of the arrow and then behind commas.
fn fitted(words: &[Token<'_>], indent: usize) -> Vec<String> {
    let whole = format!("{}{}", " ".repeat(indent), spaced(words));
    if whole.chars().count() <= WIDTH {
        return vec![whole];
    }
    let arrow = words.iter().position(|t| matches!(t.text, "=>" | "<=>")).filter(|&at| at > 0);
    match arrow {
        Some(at) => {
            let mut lines = wrapped(words, 0..at, indent, indent + INDENT);
            lines.extend(wrapped(words, at..words.len(), CONTINUED, CONTINUED + INDENT));
            lines
        }
        None => wrapped(words, 0..words.len(), indent, indent + INDENT),
    }
}

/// Where a line could end: in front of the word at `end`.
#[derive(Clone, Copy)]
struct Break {
    /// Open brackets there, and 1 more in front of an operator: better behind a comma.
    depth: usize,
    end: usize,
    /// Where the next line starts.
    indent: usize,
}

/// Fills lines, breaking behind commas and semicolons and in front of `and` and the like, as far out as fits. What goes on
/// within a bracket starts below the bracket's content.
fn wrapped(words: &[Token<'_>], range: std::ops::Range<usize>, first: usize, rest: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut start = range.start;
    let mut indent = first;
    let mut open: Vec<usize> = Vec::new();
    while start < range.end {
        let width = |end: usize| indent + pieces(words, start, end).chars().count();
        let mut best: Option<Break> = None;
        if width(range.end) > WIDTH {
            let mut inside = open.clone();
            for at in start..range.end {
                if at > start && width(at) > WIDTH {
                    break;
                }
                let margin = inside.last().copied().filter(|&column| column <= DEEPEST).unwrap_or(rest);
                let mut offer = |depth: usize, end: usize| {
                    let fits = end > start && end < range.end && width(end) <= WIDTH;
                    if fits && best.is_none_or(|b| depth <= b.depth) {
                        best = Some(Break { depth, end, indent: margin });
                    }
                };
                if at > start && joins_terms(words, at) {
                    offer(2 * inside.len() + 1, at);
                }
                match words[at].text {
                    "," | ";" => offer(2 * inside.len(), at + 1),
                    "(" | "[" | "{" => inside.push(width(at + 1)),
                    ")" | "]" | "}" => {
                        inside.pop();
                    }
                    _ => {}
                }
            }
        }
        // A line without a place to break stays long.
        let end = best.map_or(range.end, |b| b.end);
        for (at, word) in words.iter().enumerate().take(end).skip(start) {
            match word.text {
                "(" | "[" | "{" => open.push(width(at + 1)),
                ")" | "]" | "}" => {
                    open.pop();
                }
                _ => {}
            }
        }
        lines.push(format!("{}{}", " ".repeat(indent), pieces(words, start, end)));
        (start, indent) = (end, best.map_or(rest, |b| b.indent));
    }
    lines
}

/// Whether a line may break in front of the word at `at`.
fn joins_terms(words: &[Token<'_>], at: usize) -> bool {
    is_infix(words, at) && matches!(words[at].text, "and" | "or" | "+" | "-")
}

/// The words from `start` to `end` with the blanks that stand between them in the whole.
fn pieces(words: &[Token<'_>], start: usize, end: usize) -> String {
    let mut text = String::new();
    for at in start..end {
        if at > start && space_before(words, at) {
            text.push(' ');
        }
        text.push_str(words[at].text);
    }
    text
}

fn spaced(words: &[Token<'_>]) -> String {
    pieces(words, 0, words.len())
}

/// Whether an operator stands between two operands here.
fn is_infix(words: &[Token<'_>], at: usize) -> bool {
    match words[at].text {
        "+" | "*" | "/" | "==" | "!=" | "<" | "<=" | ">" | ">=" | "=>" | "<=>" => true,
        "and" | "or" => words[at].kind == TokenKind::Name,
        "-" => at > 0 && ends_operand(&words[at - 1]),
        _ => false,
    }
}

fn ends_operand(token: &Token<'_>) -> bool {
    match token.kind {
        TokenKind::Name => !matches!(token.text, "and" | "or" | "not" | "where" | "let" | "guard" | "assume"),
        TokenKind::Number | TokenKind::String => true,
        _ => matches!(token.text, ")" | "]") || token.text.starts_with('.'),
    }
}

fn space_before(words: &[Token<'_>], at: usize) -> bool {
    let (before, token) = (&words[at - 1], &words[at]);
    let head = words[0].starts_item();
    match (before.text, token.text) {
        ("{", _) | (_, "{" | "}") => true,
        (_, ")" | "]" | "," | ";") | ("(" | "[", _) => false,
        ("," | ";", _) => true,
        // The name of a rule is followed by its tier, that of anything else by its operands or sizes.
        (_, "[") if head && words[0].text == "rule" => true,
        // `where` is an operator too.
        ("where", "(") => !adjacent(before, token),
        (_, "=") | ("=", _) => {
            let equals = if token.text == "=" { at } else { at - 1 };
            depth_at(words, equals) == 0
        }
        (_, ":") => false,
        (":", _) => !in_index(words, at - 1),
        ("-", _) => is_infix(words, at - 1),
        (_, "(" | "[") => !ends_operand(before),
        (_, text) if text.starts_with('.') => false,
        _ => true,
    }
}

/// Whether the colon at `at` cuts a list, as in `p[1:]`.
fn in_index(words: &[Token<'_>], at: usize) -> bool {
    let mut depth = 0;
    for i in (0..at).rev() {
        match words[i].text {
            ")" | "]" | "}" => depth += 1,
            "(" | "[" | "{" if depth > 0 => depth -= 1,
            "[" => return i > 0 && ends_operand(&words[i - 1]),
            "(" | "{" => return false,
            _ => {}
        }
    }
    false
}

fn depth_at(words: &[Token<'_>], at: usize) -> i32 {
    words[..at].iter().fold(0, |depth, t| match t.text {
        "(" | "[" | "{" => depth + 1,
        ")" | "]" | "}" => depth - 1,
        _ => depth,
    })
}
