//! Headers that a language has decoded as Latin-1.

use crate::HeaderList;

/// The bytes of a header's text: Latin-1, as WSGI and Node decode headers, or UTF-8 if the text is not Latin-1.
pub fn latin1(text: &str) -> Vec<u8> {
    let bytes: Result<Vec<u8>, _> = text.chars().map(u8::try_from).collect();
    bytes.unwrap_or_else(|_| text.as_bytes().to_vec())
}

/// The headers in `name\nvalue\nname\nvalue…`, which no name or value in HTTP can contain.
pub fn joined_headers(text: &str) -> HeaderList {
    let mut lines = text.split('\n');
    let mut headers = Vec::new();
    while let (Some(name), Some(value)) = (lines.next(), lines.next()) {
        headers.push((name.to_owned(), latin1(value)));
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_of_the_request_come_back() {
        assert_eq!(latin1("Ã©"), "é".as_bytes());
        assert_eq!(latin1("€"), "€".as_bytes());
        assert_eq!(latin1("t=1,v1=ab"), b"t=1,v1=ab");
    }

    #[test]
    fn joined_headers_come_apart_again() {
        let headers = joined_headers("a\n1\nb\n\nc\nÃ©");
        let expected = [("a", "1"), ("b", ""), ("c", "é")];
        assert_eq!(
            headers,
            expected.map(|(name, value)| (name.to_owned(), value.as_bytes().to_vec()))
        );
        assert!(joined_headers("").is_empty());
    }
}
