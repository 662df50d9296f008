//! Text from files as a terminal may get it: nothing in a name, a path or a source line moves the cursor, hides or reorders
//! what is around it.

use std::borrow::Cow;

/// Whether a character does something to a terminal other than to show itself. Ends of lines and tabs do no harm.
fn acts(c: char) -> bool {
    c.is_control() && c != '\n' && c != '\t'
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn replaced(text: &str, which: impl Fn(char) -> bool, by: impl Fn(char) -> char) -> Cow<'_, str> {
    if !text.contains(&which) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(|c| if which(c) { by(c) } else { c }).collect())
}

/// Whether nothing in the text acts on a terminal.
pub(crate) fn is_clean(text: &str) -> bool {
    // Most texts are ASCII, and bytes are quicker to look at than characters.
    let plain = |byte: u8| (b' '..0x7f).contains(&byte) || byte == b'\n' || byte == b'\t';
    text.bytes().all(plain) || !text.contains(acts)
}

/// The sign that stands for a control character: ␛ for escape.
fn picture(c: char) -> char {
    match c {
        '\0'..='\u{1f}' => char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}'),
        '\u{7f}' => '\u{2421}',
        _ => '\u{fffd}',
    }
}

/// The text with signs in place of control characters. Lines stay lines.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    replaced(text, acts, picture)
}

/// The same on one line: a name with a line end in it is no line of the report.
pub(crate) fn one_line(text: &str) -> Cow<'_, str> {
    replaced(text, |c| acts(c) || c == '\n' || c == '\t', picture)
}

/// The same where places in the text are counted in bytes: every character takes as many as before.
pub(crate) fn of_same_length(text: &str) -> String {
    let sign = |c: char| match c.len_utf8() {
        1 => '?',
        2 => '\u{bf}',
        _ => '\u{fffd}',
    };
    replaced(text, acts, sign).into_owned()
}

/// JSON with the same meaning and no control characters. They stand in strings only, where an escape means the same.
pub(crate) fn escaped(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if acts(c) {
            out += &format!("\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "a\u{1b}]0;t\u{7}b\r\u{9b}31m\u{7f}\u{202e}c\nd\te";

    #[test]
    fn nothing_is_left_that_acts() {
        assert_eq!(printable(HOSTILE), "a␛]0;t␇b␍\u{fffd}31m␡\u{fffd}c\nd\te");
        assert_eq!(one_line(HOSTILE), "a␛]0;t␇b␍\u{fffd}31m␡\u{fffd}c␊d␉e");
        assert!(matches!(printable("plain äöü 中 ×"), Cow::Borrowed(_)));
    }

    #[test]
    fn places_in_bytes_stay() {
        let text = of_same_length(HOSTILE);
        assert_eq!(text.len(), HOSTILE.len());
        assert_eq!(text.find('d'), HOSTILE.find('d'));
        assert_eq!(printable(&text), text);
    }

    #[test]
    fn escaped_json_means_the_same() {
        let json = serde_json::to_string(HOSTILE).unwrap();
        let safe = escaped(&json);
        assert_eq!(printable(&safe), safe);
        assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), HOSTILE);
    }
}
