//! Formats JSON over several lines without changing its content: numbers, escapes and strings stay as sent.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use hapax_core::json_pointer::json_text;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

/// Values nested deeper than this stay on one line: the provider controls the depth, and the stack is limited.
const DEPTH_MAX: usize = 64;
/// Maximum size of a body to format. A larger one is shown as is. A page shows only the beginning.
const LAID_OUT_BYTES_MAX: usize = 4 * 1024 * 1024;
/// The indentation of one level.
const INDENT: &str = "  ";

/// Keys in their original order, each on a line; `None` if the body is not JSON or too large.
pub fn as_sent(body: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(readable(body)?).ok()?;
    serde_json::from_str::<IgnoredAny>(text).ok()?;
    let mut pretty = String::with_capacity(text.len() * 2);
    let (mut depth, mut is_in_text, mut is_escaped) = (0_usize, false, false);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if is_in_text {
            pretty.push(letter);
            is_in_text = is_escaped || letter != '"';
            is_escaped = letter == '\\' && !is_escaped;
            continue;
        }
        match letter {
            '{' | '[' => {
                pretty.push(letter);
                while letters.next_if(char::is_ascii_whitespace).is_some() {}
                if let Some(end) = letters.next_if(|next| matches!(next, '}' | ']')) {
                    pretty.push(end);
                } else {
                    depth += 1;
                    break_line(&mut pretty, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                break_line(&mut pretty, depth);
                pretty.push(letter);
            }
            ',' => {
                pretty.push(',');
                break_line(&mut pretty, depth);
            }
            ':' => pretty.push_str(": "),
            _ if letter.is_ascii_whitespace() => {}
            _ => {
                is_in_text = letter == '"';
                pretty.push(letter);
            }
        }
    }
    Some(pretty)
}

/// Keys sorted, so that equal bodies look the same; `None` if the body is not JSON or too large.
pub(crate) fn sorted(body: &[u8]) -> Option<String> {
    let value: &RawValue = serde_json::from_slice(readable(body)?).ok()?;
    let mut pretty = String::with_capacity(body.len() * 2);
    push(&mut pretty, value.get(), 0);
    Some(pretty)
}

fn readable(body: &[u8]) -> Option<&[u8]> {
    (body.len() <= LAID_OUT_BYTES_MAX).then(|| json_text(body))
}

fn push(pretty: &mut String, value: &str, depth: usize) {
    let inner = depth + 1;
    match value.as_bytes().first() {
        Some(b'{') if depth < DEPTH_MAX => {
            let fields: BTreeMap<String, &RawValue> = serde_json::from_str(value).unwrap_or_default();
            let entries = fields.into_iter().map(|(key, value)| {
                let key = serde_json::Value::String(key).to_string();
                (format!("{key}: "), value)
            });
            push_all(pretty, ('{', '}'), entries.collect(), inner);
        }
        Some(b'[') if depth < DEPTH_MAX => {
            let items: Vec<&RawValue> = serde_json::from_str(value).unwrap_or_default();
            let entries = items.into_iter().map(|value| (String::new(), value));
            push_all(pretty, ('[', ']'), entries.collect(), inner);
        }
        _ => pretty.push_str(value),
    }
}

fn push_all(pretty: &mut String, ends: (char, char), entries: Vec<(String, &RawValue)>, depth: usize) {
    pretty.push(ends.0);
    let last = entries.len();
    for (number, (key, value)) in entries.into_iter().enumerate() {
        break_line(pretty, depth);
        // Writing to a String cannot fail.
        let _ = write!(pretty, "{key}");
        push(pretty, value.get(), depth);
        if number + 1 < last {
            pretty.push(',');
        }
    }
    if last > 0 {
        break_line(pretty, depth - 1);
    }
    pretty.push(ends.1);
}

/// The indentation is limited; otherwise the size would grow with the square of the depth.
fn break_line(pretty: &mut String, depth: usize) {
    pretty.push('\n');
    for _ in 0..depth.min(DEPTH_MAX) {
        pretty.push_str(INDENT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str = r#"{"b":[1.50,{}, [] ],"a":"x\"{,}:\\","n":12345678901234567890123}"#;

    #[test]
    fn what_is_sent_is_shown_in_its_order_and_with_its_numbers() {
        assert_eq!(
            as_sent(BODY.as_bytes()).unwrap(),
            "{\n  \"b\": [\n    1.50,\n    {},\n    []\n  ],\n  \"a\": \"x\\\"{,}:\\\\\",\n  \"n\": 12345678901234567890123\n}"
        );
        assert_eq!(as_sent(b"{"), None);
        assert_eq!(as_sent(b"\xff"), None);
        assert_eq!(as_sent(b" [ ] ").unwrap(), "[]");
    }

    #[test]
    fn sorted_json_differs_only_where_it_says_something_else() {
        let other = r#"{ "n":12345678901234567890123,"a":"x\"{,}:\\", "b":[ 1.50,{},[]] }"#;
        assert_eq!(sorted(BODY.as_bytes()), sorted(other.as_bytes()));
        let other = BODY.replace("0123}", "0124}");
        assert_ne!(sorted(BODY.as_bytes()), sorted(other.as_bytes()));
    }

    #[test]
    fn a_body_of_brackets_neither_overflows_the_stack_nor_grows_without_bound() {
        let depth = 20_000;
        let body = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let grown = sorted(body.as_bytes()).map_or(0, |text| text.len());
        assert!(grown < body.len() * 3, "{grown}");
        let grown = as_sent(body.as_bytes()).map_or(0, |text| text.len());
        assert!(grown <= body.len() * (DEPTH_MAX + 2) * INDENT.len(), "{grown}");
    }
}
