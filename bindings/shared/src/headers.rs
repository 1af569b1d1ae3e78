//! The headers of a request, from the forms in which the languages have them.

use std::borrow::Cow;

use http::{HeaderMap, HeaderName, HeaderValue};

/// Headers as they arrived: one that occurs twice is kept twice. What is not a header in HTTP cannot have arrived, and
/// proves nothing.
pub fn headers<N: AsRef<[u8]>, V: AsRef<[u8]>>(pairs: impl IntoIterator<Item = (N, V)>) -> HeaderMap {
    let pairs = pairs.into_iter();
    let mut map = HeaderMap::with_capacity(pairs.size_hint().0.clamp(16, 256));
    for (name, value) in pairs {
        if let (Ok(name), Ok(value)) = (
            HeaderName::from_bytes(name.as_ref()),
            HeaderValue::from_bytes(value.as_ref()),
        ) {
            // Fails beyond 32,768 headers, which no framework lets through.
            let _ = map.try_append(name, value);
        }
    }
    map
}

/// The headers in `name\nvalue\nname\nvalue…`, which no name or value in HTTP can contain.
pub fn joined_headers(text: &str) -> HeaderMap {
    let mut lines = text.split('\n');
    headers(std::iter::from_fn(|| {
        Some((lines.next()?, latin1(lines.next()?)))
    }))
}

/// The bytes of a value that a language has as text with one character for each byte. Any other text is UTF-8.
pub fn latin1(text: &str) -> Cow<'_, [u8]> {
    if text.is_ascii() {
        return Cow::Borrowed(text.as_bytes());
    }
    let bytes: Result<Vec<u8>, _> = text.chars().map(u8::try_from).collect();
    bytes.map_or(Cow::Borrowed(text.as_bytes()), Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_of_the_request_come_back() {
        assert_eq!(latin1("Ã©"), "é".as_bytes());
        assert_eq!(latin1("€"), "€".as_bytes());
        assert_eq!(latin1("t=1,v1=ab"), b"t=1,v1=ab".as_slice());
    }

    #[test]
    fn joined_headers_come_apart_again() {
        let expected = headers([("a", "1"), ("b", ""), ("c", "é"), ("a", "2")]);
        assert_eq!(joined_headers("a\n1\nb\n\nc\nÃ©\na\n2"), expected);
        assert_eq!(expected.get_all("a").iter().count(), 2);
        assert!(joined_headers("").is_empty());
    }
}
