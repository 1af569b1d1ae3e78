//! `name=value,name=value`, percent-encoded: the list format of OpenTelemetry's variables for headers and attributes.

use percent_encoding::percent_decode_str;

/// The most pairs in one variable; the rest are ignored.
const PAIRS_MAX: usize = 64;

/// The pairs in a string. Malformed pairs are ignored, as the specification requires.
pub(super) fn read(text: &str) -> Vec<(String, String)> {
    let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
    pairs
        .map(|(name, value)| (decoded(name.trim()), decoded(value.trim())))
        .filter(|(name, _)| !name.is_empty())
        .take(PAIRS_MAX)
        .collect()
}

/// `%20` is a space; a plus sign is literal.
fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_read_as_opentelemetry_writes_them() {
        let read = read("authorization=Basic%20aGk+, x-team = ops ,broken,=nobody,half=%4");
        let expected = [("authorization", "Basic aGk+"), ("x-team", "ops"), ("half", "%4")];
        let expected: Vec<(String, String)> = expected
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        assert_eq!(read, expected);
    }
}
