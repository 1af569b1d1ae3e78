//! Names of sources, scopes and destinations. They appear in URLs, keys and metrics.

/// The longest name, in bytes.
pub(super) const NAME_BYTES_MAX: usize = 64;

/// The rule, for error messages.
pub(super) const RULE: &str =
    "a name has 1 to 64 lower-case letters, digits, `-` and `_`, and begins with a letter or digit";

/// Whether a source, scope or destination may have this name.
pub fn is_valid_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    name.len() <= NAME_BYTES_MAX
        && name.bytes().next().is_some_and(is_plain)
        && name
            .bytes()
            .all(|byte| is_plain(byte) || byte == b'-' || byte == b'_')
}

pub(super) fn parse_name(text: &str) -> Result<String, String> {
    if is_valid_name(text) {
        Ok(text.to_owned())
    } else {
        Err(format!("{text:?} cannot be used: {RULE}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_safe_in_a_path() {
        for name in ["stripe", "a", "0", "stripe-eu_2", &"a".repeat(64)] {
            assert!(is_valid_name(name), "{name}");
        }
        for name in [
            "",
            "Stripe",
            "-a",
            "_a",
            "a b",
            "a/b",
            "..",
            "a.b",
            "ä",
            &"a".repeat(65),
        ] {
            assert!(!is_valid_name(name), "{name}");
        }
    }
}
