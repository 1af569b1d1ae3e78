//! Strings as header values: characters that a header cannot carry are percent-encoded.

use http::HeaderValue;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

/// Under a signature neither a dot, which would let one signature fit two requests, nor a bare `%`.
const SIGNED: &AsciiSet = &CONTROLS.add(b'%').add(b'.');

/// The string with control characters and non-ASCII characters percent-encoded. An event id already has its own `%`
/// escaped, so decoding restores the provider's id.
pub fn header_value(text: &str) -> HeaderValue {
    let is_plain = text.is_ascii() && text.trim() == text;
    if is_plain && let Ok(value) = HeaderValue::from_str(text) {
        return value;
    }
    HeaderValue::try_from(encoded(text, CONTROLS)).unwrap_or_else(|_| HeaderValue::from_static(""))
}

/// The same as an RFC 9651 string (structured fields), as the IETF draft for `Idempotency-Key` requires.
pub(crate) fn quoted(text: &str) -> HeaderValue {
    let value = header_value(text);
    let mut quoted = Vec::with_capacity(value.len() + 2);
    quoted.push(b'"');
    for byte in value.as_bytes() {
        if matches!(byte, b'"' | b'\\') {
            quoted.push(b'\\');
        }
        quoted.push(*byte);
    }
    quoted.push(b'"');
    HeaderValue::from_bytes(&quoted).unwrap_or(value)
}

/// The string as the id in a Standard Webhooks signature.
pub(crate) fn signed_id(text: &str) -> String {
    encoded(text, SIGNED)
}

/// Percent-encoded, including a space at either end: it would be trimmed in transit, and two ids would become one.
fn encoded(text: &str, set: &'static AsciiSet) -> String {
    let mut encoded = utf8_percent_encode(text, set).to_string();
    if encoded.starts_with(' ') {
        encoded.replace_range(..1, "%20");
    }
    if encoded.ends_with(' ') {
        encoded.replace_range(encoded.len() - 1.., "%20");
    }
    encoded
}

#[cfg(test)]
mod tests {
    use percent_encoding::percent_decode;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_a_header_cannot_carry_is_percent_encoded() {
        for (text, expected) in [
            ("evt_1", "evt_1"),
            ("a b", "a b"),
            (" a ", "%20a%20"),
            ("  a  ", "%20 a %20"),
            (" ", "%20"),
            ("é", "%C3%A9"),
            ("a\u{7f}\n", "a%7F%0A"),
            ("100%25", "100%25"),
            ("", ""),
        ] {
            assert_eq!(header_value(text), expected, "{text}");
        }
    }

    #[test]
    fn a_quoted_text_is_one_string_whatever_is_in_it() {
        for (text, expected) in [
            ("8e03978e40d5", "\"8e03978e40d5\""),
            ("a b", "\"a b\""),
            ("say \"hi\" \\", "\"say \\\"hi\\\" \\\\\""),
            ("é", "\"%C3%A9\""),
            ("", "\"\""),
        ] {
            assert_eq!(quoted(text), expected, "{text}");
        }
    }

    #[test]
    fn the_id_under_a_signature_has_no_dot_and_no_two_texts_have_the_same() {
        for (text, expected) in [
            ("receipt-7", "receipt-7"),
            ("a b", "a b"),
            ("a.1", "a%2E1"),
            ("a%2E1", "a%252E1"),
            (" é", "%20%C3%A9"),
        ] {
            assert_eq!(signed_id(text), expected, "{text}");
        }
    }

    proptest! {
        /// Escaped as event ids are: `%` and control characters.
        #[test]
        fn decoding_a_header_restores_the_id(id in "( |%25|%0A|[a.:]|é){0,8}") {
            let value = header_value(&id.replace('%', "%25"));
            let decoded = percent_decode(value.as_bytes()).decode_utf8().unwrap();
            prop_assert_eq!(decoded, id);
        }
    }
}
