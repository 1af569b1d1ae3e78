//! The text form of an event id; the rules are documented in the parent module.
//!
//! Escaped here and not with `percent-encoding`: that crate encodes every non-ASCII byte and knows no mark for a missing
//! part. Stored ids depend on every byte of this.

use std::borrow::Cow;
use std::fmt::Write as _;

use aws_lc_rs::digest;

use crate::limits::EVENT_ID_BYTES_MAX;

const MISSING_PART: &str = "%-";
const HASH_MARK: &str = "sha256:";

/// The prefixes of ids that Hapax makes, and how a provider's own id with such a prefix is written.
const RESERVED: [(&str, &str); 3] = [
    (HASH_MARK, "%73ha256:"),
    (super::UNIDENTIFIED, "%75nidentified:"),
    ("generated:", "%67enerated:"),
];

/// The text of an id from one location.
pub(crate) fn single(id: &str) -> String {
    let mut text = String::with_capacity(id.len());
    escape_into(&mut text, id, |character| {
        character == '%' || character.is_control()
    });
    finish(text)
}

/// The text of an id with several parts.
pub(crate) fn composite(parts: &[Option<Cow<'_, str>>]) -> String {
    let mut text = String::new();
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            text.push(':');
        }
        match part {
            None => text.push_str(MISSING_PART),
            Some(part) => escape_into(&mut text, part, |character| {
                character == '%' || character == ':' || character.is_control()
            }),
        }
    }
    finish(text)
}

/// A readable form of an id: the parts of a composite joined with `:`, without escapes. Different ids may look the
/// same.
pub fn plain(event_id: &str) -> String {
    let mut bytes = Vec::with_capacity(event_id.len());
    let mut rest = event_id.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        if *byte != b'%' {
            bytes.push(*byte);
        } else if let Some(missing) = after.strip_prefix(b"-") {
            rest = missing;
        } else if let Some((escaped, after)) = after.split_at_checked(2) {
            bytes.extend(hex::decode(escaped).unwrap_or_default());
            rest = after;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The SHA-256 of some bytes, in hexadecimal.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    hex::encode(digest::digest(&digest::SHA256, bytes))
}

fn escape_into(text: &mut String, part: &str, must_escape: fn(char) -> bool) {
    let mut rest = part;
    while let Some(at) = rest.find(must_escape) {
        text.push_str(&rest[..at]);
        let length = rest[at..].chars().next().map_or(1, char::len_utf8);
        for byte in &rest.as_bytes()[at..at + length] {
            // Writing to a String cannot fail.
            let _ = write!(text, "%{byte:02X}");
        }
        rest = &rest[at + length..];
    }
    text.push_str(rest);
}

fn finish(text: String) -> String {
    let reserved = RESERVED
        .iter()
        .find_map(|(mark, escaped)| Some((text.strip_prefix(mark)?, escaped)));
    let text = match reserved {
        Some((rest, escaped)) => format!("{escaped}{rest}"),
        None => text,
    };
    if text.len() <= EVENT_ID_BYTES_MAX {
        return text;
    }
    format!("{HASH_MARK}{}", sha256_hex(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parts<'a>(texts: &[Option<&'a str>]) -> Vec<Option<Cow<'a, str>>> {
        texts.iter().map(|text| text.map(Cow::Borrowed)).collect()
    }

    #[test]
    fn a_single_id_stays_readable() {
        assert_eq!(single("evt_1"), "evt_1");
        assert_eq!(single("urn:event:1"), "urn:event:1");
        assert_eq!(single("Zoë"), "Zoë");
        assert_eq!(single("100%\n"), "100%25%0A");
        assert_eq!(single("\u{85}"), "%C2%85");
    }

    #[test]
    fn a_composite_escapes_its_separator_and_marks_what_is_missing() {
        assert_eq!(composite(&parts(&[Some("a"), Some("b")])), "a:b");
        assert_eq!(composite(&parts(&[Some("a:b"), Some("c%")])), "a%3Ab:c%25");
        assert_eq!(composite(&parts(&[Some("a"), None, Some("")])), "a:%-:");
        assert_eq!(composite(&parts(&[Some("%-"), None])), "%25-:%-");
    }

    #[test]
    fn a_long_id_is_replaced_by_its_hash_visibly() {
        let longest = "x".repeat(EVENT_ID_BYTES_MAX);
        assert_eq!(single(&longest), longest);
        let hashed = single(&format!("{longest}x"));
        assert!(
            hashed.starts_with("sha256:") && hashed.len() == 7 + 64,
            "{hashed}"
        );
        assert_ne!(hashed, single(&format!("{longest}y")));
        // A provider can choose neither the text of a hash nor an id with a reserved prefix.
        assert_eq!(single("unidentified:0"), "%75nidentified:0");
        assert_eq!(single("generated:0"), "%67enerated:0");
        assert_ne!(single(&hashed), hashed);
        assert_ne!(composite(&parts(&[Some("sha256"), Some(&hashed[7..])])), hashed);
    }

    #[test]
    fn no_sender_can_write_the_mark_of_another_content_under_its_id() {
        assert_eq!(single("a%conflict:0"), "a%25conflict:0");
        assert_eq!(
            composite(&parts(&[Some("a%conflict"), Some("0")])),
            "a%25conflict:0"
        );
    }

    /// Parses a text; injective means that it can be parsed in only one way.
    fn parts_of(text: &str) -> Vec<Option<String>> {
        text.split(':').map(part_of).collect()
    }

    fn part_of(text: &str) -> Option<String> {
        if text == MISSING_PART {
            return None;
        }
        let mut bytes = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find('%') {
            bytes.extend_from_slice(&rest.as_bytes()[..at]);
            bytes.push(u8::from_str_radix(&rest[at + 1..at + 3], 16).unwrap());
            rest = &rest[at + 3..];
        }
        bytes.extend_from_slice(rest.as_bytes());
        Some(String::from_utf8(bytes).unwrap())
    }

    proptest! {
        #[test]
        fn a_composite_can_be_read_back_in_one_way_only(
            list in proptest::collection::vec(
                proptest::option::of("(sha256|%73ha256|unidentified|%-|[a:%3A\n\u{85}é]){0,4}"),
                1..5,
            ),
        ) {
            let borrowed: Vec<_> = list.iter().map(|part| part.as_deref().map(Cow::Borrowed)).collect();
            prop_assert_eq!(parts_of(&composite(&borrowed)), list);
        }

        #[test]
        fn a_single_id_can_be_read_back_in_one_way_only(id in "(sha256:|%73ha256:|unidentified:|generated:|%-|[a:%3A\n\u{85}é]){0,6}") {
            let text = single(&id);
            prop_assume!(text != MISSING_PART);
            prop_assert_eq!(part_of(&text), Some(id));
        }

        #[test]
        fn the_text_of_an_id_fits_a_header_and_the_ledger(id in any::<String>()) {
            let text = single(&id);
            prop_assert!(text.len() <= EVENT_ID_BYTES_MAX);
            prop_assert!(!text.chars().any(char::is_control));
        }
    }
}
