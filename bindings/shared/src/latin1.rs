//! Header values that a language has decoded as Latin-1.

/// The bytes of a header's text: Latin-1, as WSGI and Node decode headers, or UTF-8 if the text is not Latin-1.
pub fn latin1(text: &str) -> Vec<u8> {
    let bytes: Result<Vec<u8>, _> = text.chars().map(u8::try_from).collect();
    bytes.unwrap_or_else(|_| text.as_bytes().to_vec())
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
}
