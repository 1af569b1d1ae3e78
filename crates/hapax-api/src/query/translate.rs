//! Saved searches are stored as typed, some of them by earlier versions: this renames their old keys.

use super::token::tokens;
use crate::renamed::{Kind, renamed};

/// A stored query with the key names of this version.
pub fn translate(text: &str) -> String {
    let mut translated = text.to_owned();
    // A query that cannot be tokenized was refused when it was saved. Back to front, so that offsets stay valid.
    for token in tokens(text).unwrap_or_default().iter().rev() {
        let key = token.key.as_deref().unwrap_or_default();
        if let Some(new) = renamed(Kind::SearchKey, key) {
            translated.replace_range(token.at..token.at + key.len(), new);
        }
    }
    translated
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_keys_are_renamed_and_nothing_else_is() {
        let old = "copies:>1  id:copies:2 \"copies:3\" body:/a=\"copies:4\" copies:many é copies:5";
        let new =
            "duplicates:>1  id:copies:2 \"copies:3\" body:/a=\"copies:4\" duplicates:many é duplicates:5";
        assert_eq!(translate(old), new);
        assert_eq!(translate(new), new);
        assert_eq!(translate("copies:\"open"), "copies:\"open");
    }
}
