//! Unused ids, in the format of the ids that they replace.

use hapax_verify::identity::ValuePath;

/// Enough to be unique, and only letters: digits would be treated as numbers in a snapshot.
const LETTERS: usize = 20;

/// New letters.
pub(super) fn letters() -> String {
    std::iter::repeat_with(|| fastrand::char('a'..='z'))
        .take(LETTERS)
        .collect()
}

/// An id in the same format, because a handler may validate it.
pub(super) fn like(known: Option<&str>, place: Option<&ValuePath>) -> String {
    match (known, place) {
        (Some(known), _) if is_uuid(known) => uuid(),
        (Some(known), _) if !known.is_empty() && known.bytes().all(|byte| byte.is_ascii_digit()) => number(),
        (Some(known), _) => {
            let prefix = known.rfind(['_', '-', ':']).map_or("", |at| &known[..=at]);
            format!("{prefix}{}", letters())
        }
        (None, Some(ValuePath::Header(_))) => uuid(),
        (None, Some(_) | None) => format!("evt_{}", letters()),
    }
}

/// Small enough for the number types of every language.
fn number() -> String {
    fastrand::u64(1_000_000_000_000_000..9_000_000_000_000_000).to_string()
}

fn uuid() -> String {
    let hex = format!("{:032x}", fastrand::u128(..));
    // The version and variant digits of a random UUID.
    format!(
        "{}-{}-4{}-a{}-{}",
        &hex[..8],
        &hex[8..12],
        &hex[13..16],
        &hex[17..20],
        &hex[20..]
    )
}

fn is_uuid(text: &str) -> bool {
    let lengths: Vec<usize> = text.split('-').map(str::len).collect();
    lengths == [8, 4, 4, 4, 12] && text.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fresh_id_has_the_form_of_the_known_one() {
        assert!(like(Some("evt_1N2x"), None).starts_with("evt_"));
        assert!(is_uuid(&like(Some("72d3162e-cc78-11e3-81ab-4c9367dc0958"), None)));
        assert!(like(Some("12345"), None).parse::<u64>().is_ok());
        assert_ne!(like(None, None), like(None, None));
    }
}
