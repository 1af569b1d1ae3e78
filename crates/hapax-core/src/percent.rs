//! Strict percent-decoding, for the URLs of stores.

use percent_encoding::percent_decode_str;

/// The text is not percent-encoded UTF-8. It is not quoted: it may be a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a `%` does not begin an escape of two hexadecimal digits, or the decoded text is not UTF-8")]
pub struct NotPercentEncoded;

/// The decoded text. Other decoders leave an incomplete escape as it is; here it is refused, because a password must not
/// change silently.
///
/// # Errors
/// A `%` is not followed by two hexadecimal digits, or the decoded bytes are not UTF-8.
pub fn decode(text: &str) -> Result<String, NotPercentEncoded> {
    let is_whole = |after: &str| {
        let digits = after.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    if !text.split('%').skip(1).all(is_whole) {
        return Err(NotPercentEncoded);
    }
    let decoded = percent_decode_str(text).decode_utf8();
    decoded.map(Into::into).map_err(|_| NotPercentEncoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_escapes_of_utf8_are_decoded() {
        for (text, decoded) in [
            ("", Some("")),
            ("p%40ss", Some("p@ss")),
            ("%c3%A9", Some("é")),
            ("a+b", Some("a+b")),
            ("%2540", Some("%40")),
            ("100%", None),
            ("%4", None),
            ("%%40", None),
            ("%+4", None),
            ("%zz", None),
            ("%é", None),
            ("%ff", None),
        ] {
            assert_eq!(decode(text).ok().as_deref(), decoded, "{text}");
        }
    }
}
