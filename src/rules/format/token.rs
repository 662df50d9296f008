//! The words of a rule file, comments included.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// `///`
    Doc,
    /// `//`
    Comment,
    Name,
    Number,
    String,
    Punctuation,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'t> {
    pub kind: TokenKind,
    pub text: &'t str,
    /// It is the first of its line.
    pub line_before: bool,
    /// An empty line stands above it.
    pub blank_before: bool,
}

impl Token<'_> {
    pub(super) fn starts_item(&self) -> bool {
        self.kind == TokenKind::Name && matches!(self.text, "rule" | "op" | "test")
    }

    pub(super) fn starts_clause(&self) -> bool {
        self.kind == TokenKind::Name && matches!(self.text, "where" | "guard" | "let" | "assume")
    }
}

/// All words in order. The text is one that the parser accepts.
pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens: Vec<Token<'_>> = Vec::new();
    let mut rest = text;
    let mut newlines = 1;
    while let Some(first) = rest.chars().next() {
        if first.is_whitespace() {
            newlines += usize::from(first == '\n');
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let (kind, length) = next(rest);
        let (word, tail) = rest.split_at(length);
        tokens.push(Token {
            kind,
            text: word.trim_end(),
            line_before: newlines > 0,
            blank_before: newlines > 1 && !tokens.is_empty(),
        });
        newlines = 0;
        rest = tail;
    }
    tokens
}

/// Kind and length of the first word.
fn next(text: &str) -> (TokenKind, usize) {
    let line = text.find('\n').unwrap_or(text.len());
    if text.starts_with("///") {
        return (TokenKind::Doc, line);
    }
    if text.starts_with("//") {
        return (TokenKind::Comment, line);
    }
    let bytes = text.as_bytes();
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let run = |from: usize, fits: &dyn Fn(u8) -> bool| {
        bytes.get(from..).unwrap_or(&[]).iter().take_while(|&&b| fits(b)).count()
    };
    match bytes[0] {
        b'"' => (TokenKind::String, text[1..].find(['"', '\n']).map_or(text.len(), |n| n + 2)),
        b if b.is_ascii_digit() => {
            let mut length = run(0, &|b| b.is_ascii_digit());
            let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
            if bytes.get(length) == Some(&b'.') && digit(length + 1) {
                length += 1 + run(length + 1, &|b| b.is_ascii_digit());
            }
            if matches!(bytes.get(length), Some(b'e' | b'E')) {
                let sign = usize::from(matches!(bytes.get(length + 1), Some(b'+' | b'-')));
                if digit(length + 1 + sign) {
                    length += 1 + sign + run(length + 1 + sign, &|b| b.is_ascii_digit());
                }
            }
            (TokenKind::Number, length)
        }
        b if word(b) => {
            let mut length = run(0, &word);
            while bytes.get(length) == Some(&b'.') && bytes.get(length + 1).is_some_and(|&b| word(b)) {
                length += 1 + run(length + 1, &word);
            }
            (TokenKind::Name, length)
        }
        // The slot of an operator with several outputs.
        b'.' if bytes.get(1).is_some_and(u8::is_ascii_digit) => {
            (TokenKind::Punctuation, 1 + run(1, &|b| b.is_ascii_digit()))
        }
        _ => {
            let known = ["...", "<=>", "=>", "==", "!=", "<=", ">="];
            let length = known.iter().find(|p| text.starts_with(**p)).map(|p| p.len());
            (TokenKind::Punctuation, length.unwrap_or_else(|| text.chars().next().map_or(1, char::len_utf8)))
        }
    }
}
