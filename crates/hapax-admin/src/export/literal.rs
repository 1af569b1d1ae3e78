//! Quotes a provider's bytes as literals of a program, whatever they contain.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Maximum length of a provider's string in a comment.
const COMMENT_CHARACTERS_MAX: usize = 80;
/// Length of a line of base64.
const BASE64_LINE: usize = 76;

/// A string that is safe in a comment: one line of printable ASCII.
pub(super) fn in_comment(text: &str) -> String {
    let plain = |letter: char| {
        if letter == ' ' || letter.is_ascii_graphic() {
            letter
        } else {
            '?'
        }
    };
    text.chars().take(COMMENT_CHARACTERS_MAX).map(plain).collect()
}

/// The body as text, if all of its characters are visible.
pub(super) fn plain(body: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(body).ok()?;
    let is_seen = |letter: char| matches!(letter, '\n' | '\t') || !(letter.is_control() || reorders(letter));
    text.chars().all(is_seen).then_some(text)
}

/// Whether a character can make text look like something else.
const fn reorders(letter: char) -> bool {
    matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// A quoted word of a shell command.
pub(super) fn shell(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// A byte string literal of Rust or Python: bytes that are not printable ASCII are escaped.
pub(super) fn byte_string(body: &[u8]) -> String {
    format!("b\"{}\"", body.escape_ascii())
}

/// A JavaScript string literal.
pub(super) fn javascript(text: &str) -> String {
    serde_json::Value::String(text.to_owned()).to_string()
}

/// A JavaScript expression for a buffer with these bytes: readable, if they are text.
pub(super) fn javascript_bytes(body: &[u8]) -> String {
    if let Some(text) = plain(body) {
        return format!("Buffer.from({}, \"utf8\")", javascript(text));
    }
    let lines: Vec<String> = base64_lines(body)
        .iter()
        .map(|line| format!("  \"{line}\","))
        .collect();
    format!("Buffer.from([\n{}\n].join(\"\"), \"base64\")", lines.join("\n"))
}

pub(super) fn base64_lines(body: &[u8]) -> Vec<String> {
    let encoded = STANDARD.encode(body);
    let lines = encoded.as_bytes().chunks(BASE64_LINE);
    lines
        .map(|line| String::from_utf8_lossy(line).into_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_has_no_end_of_line_in_it() {
        assert_eq!(in_comment("a\nb\u{2028}c*/\r"), "a?b?c*/?");
        assert_eq!(in_comment(&"x".repeat(1_000)).len(), COMMENT_CHARACTERS_MAX);
    }

    #[test]
    fn what_cannot_be_seen_is_not_plain() {
        assert_eq!(plain("{\"ä\": 1}\n".as_bytes()), Some("{\"ä\": 1}\n"));
        for body in ["a\u{202e}b", "a\0", "a\rb", "a\u{1b}[0m"] {
            assert_eq!(plain(body.as_bytes()), None, "{body:?}");
        }
        assert_eq!(plain(b"\xff"), None);
    }

    #[test]
    fn quotes_do_not_end_a_word() {
        assert_eq!(shell("it's"), r"'it'\''s'");
        assert_eq!(byte_string(b"\"\\\n\xff"), r#"b"\"\\\n\xff""#);
    }
}
