//! JSON as other software writes it: the same values with different spacing, order and escapes.
//!
//! Numbers stay as written, and so does the order of keys unless they are sorted. The text is therefore laid out again
//! token by token instead of being serialised from its values.

use serde_json::Value;

/// The spacing between tokens.
#[derive(Clone, Copy)]
enum Layout {
    /// `{"a":1,"b":2}`: JavaScript, PHP, Go.
    Compact,
    /// `{"a": 1, "b": 2}`: Python.
    Spaced,
    /// One line per entry, indented by this many spaces.
    Lines(usize),
}

/// How characters are escaped inside strings.
#[derive(Clone, Copy)]
enum Escapes {
    /// Only mandatory escapes.
    Least,
    /// Everything outside ASCII as `\u00e9`: Python.
    Ascii,
    /// The same with upper-case digits.
    AsciiUpper,
    /// `/` as `\/`.
    Slashes,
    /// Both: PHP.
    AsciiAndSlashes,
    /// `<`, `>` and `&` as `\u003c` and so on: Go, Ruby on Rails.
    Html,
}

const LAYOUTS: [Layout; 4] = [
    Layout::Compact,
    Layout::Spaced,
    Layout::Lines(2),
    Layout::Lines(4),
];

const ESCAPES: [Escapes; 6] = [
    Escapes::Least,
    Escapes::Ascii,
    Escapes::AsciiUpper,
    Escapes::Slashes,
    Escapes::AsciiAndSlashes,
    Escapes::Html,
];

/// The possible serialisations of a body, at most 48; none if it is not JSON.
pub(super) fn rewritings(body: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let texts = match serde_json::from_slice::<Value>(body) {
        Ok(value) => {
            // The library's maps are sorted by key.
            let as_it_is = std::str::from_utf8(body).unwrap_or_default().to_owned();
            vec![as_it_is, value.to_string()]
        }
        Err(_) => Vec::new(),
    };
    texts.into_iter().flat_map(|text| {
        let pieces = pieces(&text);
        let styles = LAYOUTS
            .into_iter()
            .flat_map(|layout| ESCAPES.map(|escapes| (layout, escapes)));
        let written = styles.map(|(layout, escapes)| write(&pieces, layout, escapes).into_bytes());
        written.collect::<Vec<_>>()
    })
}

/// A JSON token.
enum Piece {
    /// The value of a string.
    Text(String),
    /// A number or literal, as written.
    Word(String),
    /// `{`, `}`, `[`, `]`, `:` or `,`.
    Mark(char),
}

/// Splits valid JSON into tokens.
fn pieces(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '"' => string_length(rest),
            '{' | '}' | '[' | ']' | ':' | ',' => 1,
            _ => word_length(rest),
        };
        let (piece, after) = rest.split_at(length);
        pieces.push(match first {
            '"' => Piece::Text(serde_json::from_str(piece).unwrap_or_default()),
            '{' | '}' | '[' | ']' | ':' | ',' => Piece::Mark(first),
            _ => Piece::Word(piece.to_owned()),
        });
        rest = after.trim_start();
    }
    pieces
}

fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (index, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return index + 1,
            _ => {}
        }
    }
    text.len()
}

fn word_length(text: &str) -> usize {
    let ends = |character: char| "{}[]:,\"".contains(character) || character.is_whitespace();
    // At least one character, so that the remaining text always gets shorter.
    let first = text.chars().next().map_or(0, char::len_utf8);
    text[first..].find(ends).map_or(text.len(), |at| at + first)
}

fn write(pieces: &[Piece], layout: Layout, escapes: Escapes) -> String {
    let mut out = String::new();
    let mut depth: usize = 0;
    for (index, piece) in pieces.iter().enumerate() {
        let empty_inside = matches!(pieces.get(index + 1), Some(Piece::Mark('}' | ']')));
        let empty_before = index > 0 && matches!(pieces.get(index - 1), Some(Piece::Mark('{' | '[')));
        match piece {
            Piece::Text(text) => write_string(&mut out, text, escapes),
            Piece::Word(word) => out.push_str(word),
            Piece::Mark(mark @ ('{' | '[')) => {
                out.push(*mark);
                depth += 1;
                if !empty_inside {
                    break_line(&mut out, layout, depth);
                }
            }
            Piece::Mark(mark @ ('}' | ']')) => {
                depth = depth.saturating_sub(1);
                if !empty_before {
                    break_line(&mut out, layout, depth);
                }
                out.push(*mark);
            }
            Piece::Mark(mark) => separate(&mut out, *mark, layout, depth),
        }
    }
    out
}

fn separate(out: &mut String, mark: char, layout: Layout, depth: usize) {
    out.push(mark);
    match (layout, mark) {
        (Layout::Compact, _) => {}
        (Layout::Spaced, _) | (Layout::Lines(_), ':') => out.push(' '),
        (Layout::Lines(_), _) => break_line(out, layout, depth),
    }
}

fn break_line(out: &mut String, layout: Layout, depth: usize) {
    match layout {
        Layout::Compact | Layout::Spaced => {}
        Layout::Lines(indent) => {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', indent * depth));
        }
    }
}

fn write_string(out: &mut String, text: &str, escapes: Escapes) {
    out.push('"');
    for character in text.chars() {
        write_character(out, character, escapes);
    }
    out.push('"');
}

fn write_character(out: &mut String, character: char, escapes: Escapes) {
    match character {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        '/' if matches!(escapes, Escapes::Slashes | Escapes::AsciiAndSlashes) => out.push_str("\\/"),
        other if is_escaped(other, escapes) => write_units(out, other, escapes),
        other => out.push(other),
    }
}

fn is_escaped(character: char, escapes: Escapes) -> bool {
    let always = character < ' ';
    match escapes {
        Escapes::Least | Escapes::Slashes => always,
        Escapes::Ascii | Escapes::AsciiUpper | Escapes::AsciiAndSlashes => always || !character.is_ascii(),
        Escapes::Html => always || matches!(character, '<' | '>' | '&' | '\u{2028}' | '\u{2029}'),
    }
}

fn write_units(out: &mut String, character: char, escapes: Escapes) {
    let mut units = [0; 2];
    for unit in character.encode_utf16(&mut units) {
        let text = match escapes {
            Escapes::AsciiUpper => format!("\\u{unit:04X}"),
            Escapes::Least | Escapes::Ascii | Escapes::Slashes | Escapes::AsciiAndSlashes | Escapes::Html => {
                format!("\\u{unit:04x}")
            }
        };
        out.push_str(&text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(body: &str) -> Vec<String> {
        rewritings(body.as_bytes())
            .map(|text| String::from_utf8(text).unwrap())
            .collect()
    }

    #[test]
    fn the_usual_libraries_ways_are_among_the_rewritings() {
        let texts = rewritten("{\"b\": [1.50, {}], \"a\": \"\u{e9}/<\"}");
        for expected in [
            "{\"b\":[1.50,{}],\"a\":\"\u{e9}/<\"}",
            r#"{"b": [1.50, {}], "a": "\u00e9/<"}"#,
            r#"{"b":[1.50,{}],"a":"\u00e9\/<"}"#,
            "{\"b\":[1.50,{}],\"a\":\"\u{e9}/\\u003c\"}",
            "{\n  \"b\": [\n    1.50,\n    {}\n  ],\n  \"a\": \"\u{e9}/<\"\n}",
            "{\"a\":\"\u{e9}/<\",\"b\":[1.5,{}]}",
        ] {
            assert!(
                texts.iter().any(|text| text == expected),
                "{expected} in {texts:#?}"
            );
        }
        assert!(texts.len() <= 48);
    }

    #[test]
    fn what_is_no_json_has_no_rewritings_and_every_rewriting_has_the_same_values() {
        assert!(rewritten("{\"a\": tru").is_empty());
        let body = r#"{"x":["\ud83d\ude00","\u0001\"\\",-1e5,null],"é":{}}"#;
        let value: Value = serde_json::from_str(body).unwrap();
        for text in rewritten(body) {
            assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value, "{text}");
        }
    }
}
