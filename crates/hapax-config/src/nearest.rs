//! Finds the known word that was probably meant.

/// The entry of `known` closest to `word`, if any is close enough.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Up to a third of the letters may be wrong. Beyond that it is a different word.
    let distance_max = (word.chars().count() / 3).max(1);
    known
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(word, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= distance_max || is_short_for(word, candidate))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// `; did you mean …?`, or an empty string.
pub(super) fn suggestion<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, known).map_or_else(String::new, |meant| format!("; did you mean `{meant}`?"))
}

/// Whether one is a prefix of the other: `payload` for `payload_retention`, `secrets` for `secret`.
fn is_short_for(word: &str, candidate: &str) -> bool {
    word.len() >= 3 && (candidate.starts_with(word) || word.starts_with(candidate))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_word_and_nonsense_finds_none() {
        let known = ["listen", "admin_listen", "admin_token", "body_limit"];
        assert_eq!(nearest("lisen", known), Some("listen"));
        assert_eq!(nearest("admin_tokne", known), Some("admin_token"));
        assert_eq!(nearest("body", known), Some("body_limit"));
        assert_eq!(nearest("zebra", known), None);
        assert_eq!(nearest("", known), None);
    }
}
