//! HTML entities in a secret: WooCommerce stores its secrets escaped and unescapes them before it signs.
//!
//! Only the five characters that WordPress escapes are decoded, each in the spellings that WordPress knows, in one
//! pass: the result of one entity is never read as the beginning of another.

/// The text with its entities decoded; any other `&` is kept.
pub(super) fn decode(text: &str) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        decoded.push_str(&rest[..at]);
        rest = &rest[at..];
        let entity = rest.find(';').map(|end| &rest[1..end]);
        if let Some((name, character)) = entity.and_then(|name| Some((name, character(name)?))) {
            decoded.push(character);
            rest = &rest[name.len() + 2..];
        } else {
            decoded.push('&');
            rest = &rest[1..];
        }
    }
    decoded.push_str(rest);
    decoded
}

fn character(name: &str) -> Option<char> {
    match name {
        "amp" => return Some('&'),
        "lt" => return Some('<'),
        "gt" => return Some('>'),
        "quot" => return Some('"'),
        _ => {}
    }
    let number = name.strip_prefix('#')?;
    if let Some(hexadecimal) = number.strip_prefix(['x', 'X']) {
        return match hexadecimal.trim_start_matches('0') {
            "26" => Some('&'),
            "22" => Some('"'),
            "27" => Some('\''),
            _ => None,
        };
    }
    match number.trim_start_matches('0') {
        "38" => Some('&'),
        "60" => Some('<'),
        "62" => Some('>'),
        "34" => Some('"'),
        "39" => Some('\''),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_characters_that_wordpress_escapes_are_decoded_once() {
        for (text, decoded) in [
            ("plain", "plain"),
            ("a&amp;b&lt;c&gt;d&quot;e&#039;f", "a&b<c>d\"e'f"),
            ("&#38;&#x26;&#0060;&#62;&#34;&#x22;&#X27;", "&&<>\"\"'"),
            ("&amp;lt;", "&lt;"),
            ("&&amp;;", "&&;"),
        ] {
            assert_eq!(decode(text), decoded, "{text}");
        }
    }

    #[test]
    fn what_is_no_such_entity_stays_as_it_is() {
        for text in [
            "&", "a&b", "&eacute;", "&#65;", "&amp", "&#;", "&;", "&AMP;", "é&é",
        ] {
            assert_eq!(decode(text), text);
        }
    }
}
