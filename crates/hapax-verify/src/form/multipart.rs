//! `multipart/form-data` (RFC 7578): the parts of a body, borrowed from it.
//!
//! The parser is strict and bounded: lines end with CR LF, the number of parts and the length of their headers are
//! limited, and a truncated or malformed part ends the form.

use crate::limits::{FORM_FIELDS_MAX, PART_HEADER_BYTES_MAX};

/// The maximum length that RFC 2046 allows.
const BOUNDARY_BYTES_MAX: usize = 70;

const LINE_END: &[u8] = b"\r\n";
const HEADERS_END: &[u8] = b"\r\n\r\n";

/// The boundary of a `multipart/form-data` content type; `None` for any other.
pub(super) fn boundary(content_type: &[u8]) -> Option<&[u8]> {
    let parameters = after_kind(content_type, "multipart/form-data")?;
    let boundary = parameters.named("boundary")?;
    let has_length = (1..=BOUNDARY_BYTES_MAX).contains(&boundary.len());
    has_length.then_some(boundary)
}

pub(super) struct Part<'a> {
    /// The raw headers.
    pub(super) headers: &'a [u8],
    /// The raw content.
    pub(super) content: &'a [u8],
}

impl<'a> Part<'a> {
    /// The name, if this is a field. A part with a file name is a file.
    pub(super) fn field_name(&self) -> Option<&'a str> {
        let parameters = after_kind(self.disposition()?, "form-data")?;
        if parameters.named("filename").is_some() || parameters.named("filename*").is_some() {
            return None;
        }
        std::str::from_utf8(parameters.named("name")?).ok()
    }

    fn disposition(&self) -> Option<&'a [u8]> {
        let lines = self.headers.split(|byte| *byte == b'\n');
        let mut named = lines.filter_map(|line| split_once(line, b':'));
        let (_, value) = named.find(|(name, _)| name.eq_ignore_ascii_case(b"content-disposition"))?;
        Some(value.trim_ascii())
    }
}

pub(super) struct Parts<'a> {
    /// The bytes after the last delimiter; `None` after the end.
    rest: Option<&'a [u8]>,
    delimiter: Delimiter,
    left: usize,
    /// Whether the final delimiter was reached and every part was well-formed.
    pub(super) is_complete: bool,
}

impl<'a> Parts<'a> {
    pub(super) fn new(body: &'a [u8], boundary: &[u8]) -> Self {
        let delimiter = Delimiter::new([b"\r\n--", boundary].concat());
        // The first delimiter has no line ending before it, unless a preamble precedes it.
        let first = body.strip_prefix(&delimiter.bytes[LINE_END.len()..]);
        Parts {
            rest: first.or_else(|| Some(delimiter.cut(body)?.1)),
            delimiter,
            left: FORM_FIELDS_MAX,
            is_complete: false,
        }
    }
}

impl<'a> Iterator for Parts<'a> {
    type Item = Part<'a>;

    fn next(&mut self) -> Option<Part<'a>> {
        // After any error from here on, no further part follows. The final delimiter ends with `--`.
        let rest = self.rest.take()?;
        self.is_complete = rest.starts_with(b"--");
        self.left = self.left.checked_sub(1)?;
        let blanks = rest
            .iter()
            .take_while(|byte| matches!(byte, b' ' | b'\t'))
            .count();
        let rest = rest[blanks..].strip_prefix(LINE_END)?;
        let (headers, rest) = match rest.strip_prefix(LINE_END) {
            Some(rest) => (&rest[..0], rest),
            None => split_headers(rest)?,
        };
        let (content, rest) = self.delimiter.cut(rest)?;
        self.rest = Some(rest);
        Some(Part { headers, content })
    }
}

fn split_headers(part: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut beginnings = part.windows(HEADERS_END.len()).take(PART_HEADER_BYTES_MAX);
    let end = beginnings.position(|window| window == HEADERS_END)?;
    Some((&part[..end], &part[end + HEADERS_END.len()..]))
}

/// The delimiter before each part. It is searched with Horspool's algorithm, which examines only a few of a large
/// file's bytes.
struct Delimiter {
    bytes: Vec<u8>,
    /// For the last byte of a possible match: how far to advance.
    skips: [usize; 256],
}

impl Delimiter {
    fn new(bytes: Vec<u8>) -> Self {
        let mut skips = [bytes.len(); 256];
        let before_last = bytes.len().saturating_sub(1);
        for (index, byte) in bytes[..before_last].iter().enumerate() {
            skips[usize::from(*byte)] = before_last - index;
        }
        Delimiter { bytes, skips }
    }

    /// The bytes before the first delimiter, and those after it.
    fn cut<'a>(&self, text: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
        let mut at = 0;
        loop {
            let end = at + self.bytes.len();
            let window = text.get(at..end)?;
            if window == self.bytes {
                return Some((&text[..at], &text[end..]));
            }
            at += self.skips[usize::from(*window.last()?)];
        }
    }
}

/// `; name=value; name="value"`, as in content types and dispositions.
#[derive(Clone)]
struct Parameters<'a>(&'a [u8]);

impl<'a> Parameters<'a> {
    /// The first parameter with this name: a second one may be part of an unescaped value, such as a file name chosen
    /// by a stranger.
    fn named(&self, wanted: &str) -> Option<&'a [u8]> {
        self.clone()
            .find(|(name, _)| name.eq_ignore_ascii_case(wanted.as_bytes()))
            .map(|(_, value)| value)
    }
}

impl<'a> Iterator for Parameters<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.0.trim_ascii_start().strip_prefix(b";")?;
        let (name, rest) = split_once(rest, b'=')?;
        let (value, rest) = if let Some(quoted) = rest.strip_prefix(b"\"") {
            quoted.split_at(quoted_length(quoted)?)
        } else {
            let end = rest.iter().position(|byte| *byte == b';').unwrap_or(rest.len());
            (rest[..end].trim_ascii(), &rest[end..])
        };
        self.0 = rest.strip_prefix(b"\"").unwrap_or(rest);
        Some((name.trim_ascii(), value))
    }
}

/// The length up to the unescaped closing quote. Escapes are not decoded: the names and boundaries that matter contain
/// none.
fn quoted_length(text: &[u8]) -> Option<usize> {
    let mut is_escaped = false;
    text.iter().position(|byte| {
        let is_end = *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        is_end
    })
}

/// The parameters of a header, if it has this kind.
fn after_kind<'a>(value: &'a [u8], kind: &str) -> Option<Parameters<'a>> {
    let end = value.iter().position(|byte| *byte == b';').unwrap_or(value.len());
    let (found, parameters) = value.split_at(end);
    let is_kind = found.trim_ascii().eq_ignore_ascii_case(kind.as_bytes());
    is_kind.then_some(Parameters(parameters))
}

fn split_once(text: &[u8], separator: u8) -> Option<(&[u8], &[u8])> {
    let at = text.iter().position(|byte| *byte == separator)?;
    Some((&text[..at], &text[at + 1..]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fields(body: &[u8]) -> Vec<(String, Vec<u8>)> {
        Parts::new(body, b"B")
            .filter_map(|part| Some((part.field_name()?.to_owned(), part.content.to_vec())))
            .collect()
    }

    fn names(body: &str) -> Vec<String> {
        fields(body.as_bytes())
            .into_iter()
            .map(|(name, _)| name)
            .collect()
    }

    fn part(disposition: &str, content: &str) -> String {
        format!("--B\r\nContent-Disposition: {disposition}\r\n\r\n{content}\r\n")
    }

    #[test]
    fn a_boundary_is_taken_from_the_content_type_of_a_form_in_parts() {
        for (content_type, expected) in [
            ("multipart/form-data; boundary=xYzZY", Some("xYzZY")),
            (
                "Multipart/Form-Data ;charset=utf-8; Boundary=\"a b;c\"",
                Some("a b;c"),
            ),
            ("multipart/form-data; boundary=x ; charset=utf-8", Some("x")),
            ("multipart/form-data; boundary=", None),
            ("multipart/form-data; boundary=\"open", None),
            ("multipart/form-data", None),
            ("multipart/mixed; boundary=x", None),
            ("application/x-www-form-urlencoded", None),
            ("", None),
        ] {
            let found = boundary(content_type.as_bytes());
            assert_eq!(found, expected.map(str::as_bytes), "{content_type}");
        }
        let long = |length| format!("multipart/form-data; boundary={}", "x".repeat(length));
        assert!(boundary(long(70).as_bytes()).is_some());
        assert!(boundary(long(71).as_bytes()).is_none());
    }

    #[test]
    fn fields_are_read_and_files_are_not() {
        let body = [
            "before the first part\r\n".to_owned(),
            part("form-data; name=\"a\"", "1"),
            part("Form-Data;NAME=b", ""),
            part("form-data; name=\"c\"; filename=\"c.txt\"", "file"),
            part("form-data; name=\"d\"; filename*=utf-8''d.txt", "file"),
            part("attachment; name=\"e\"", "other"),
            "--B\r\n\r\nwithout headers\r\n".to_owned(),
            "--B \t\r\nX: y\r\nCONTENT-DISPOSITION: form-data; name=\"f\"\r\nContent-Type: text/plain\r\n\r\nmore\r\nlines\r\n"
                .to_owned(),
            "--B--\r\nafter the last".to_owned(),
        ];
        assert_eq!(
            fields(body.concat().as_bytes()),
            [
                ("a".to_owned(), b"1".to_vec()),
                ("b".to_owned(), Vec::new()),
                ("f".to_owned(), b"more\r\nlines".to_vec()),
            ]
        );
    }

    #[test]
    fn a_name_is_the_first_whatever_a_file_is_called() {
        let injected = part("form-data; name=\"attachment-1\"; x=\"\"; name=\"token\"", "evil");
        assert_eq!(names(&format!("{injected}--B--")), ["attachment-1"]);
        let escaped = part("form-data; name=\"a\\\"; filename=\\\"b\"", "1");
        assert_eq!(names(&format!("{escaped}--B--")), ["a\\\"; filename=\\\"b"]);
    }

    #[test]
    fn what_is_cut_off_or_out_of_form_ends_the_form_there() {
        let first = part("form-data; name=\"a\"", "1");
        for rest in [
            "",
            "--B",
            "--B\r\nContent-Disposition: form-data; name=\"b\"",
            "--B\r\nContent-Disposition: form-data; name=\"b\"\r\n\r\n2",
            "--B\nContent-Disposition: form-data; name=\"b\"\n\n2\n--B--",
            "--Bx\r\nContent-Disposition: form-data; name=\"b\"\r\n\r\n2\r\n--B--",
        ] {
            let found = names(&format!("{first}{rest}"));
            assert!(found.is_empty() || found == ["a"], "{rest}: {found:?}");
        }
        assert_eq!(names(&format!("{first}--B--")), ["a"]);
        assert!(names("no form at all").is_empty());
    }

    #[test]
    fn the_number_of_parts_and_the_length_of_headers_have_limits() {
        let many = part("form-data; name=\"a\"", "1").repeat(FORM_FIELDS_MAX + 1);
        assert_eq!(names(&format!("{many}--B--")).len(), FORM_FIELDS_MAX);
        let padded = |length: usize| {
            let padding = "x".repeat(length);
            part(&format!("form-data; name=\"a\"\r\nx: {padding}"), "1") + "--B--"
        };
        assert_eq!(names(&padded(100)), ["a"]);
        assert!(names(&padded(PART_HEADER_BYTES_MAX)).is_empty());
    }

    proptest! {
        #[test]
        fn any_content_comes_back_as_it_was(contents in proptest::collection::vec("[B\\-\r\na-c ]{0,20}", 0..8)) {
            let boundary = "B-B";
            prop_assume!(contents.iter().all(|content| !content.contains("--B-B")));
            let parts = contents.iter().map(|content| part("form-data; name=\"a\"", content).replacen("--B", "--B-B", 1));
            let body = parts.collect::<String>() + "--B-B--\r\n";
            let found: Vec<&[u8]> = Parts::new(body.as_bytes(), boundary.as_bytes()).map(|part| part.content).collect();
            let expected: Vec<&[u8]> = contents.iter().map(String::as_bytes).collect();
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn no_bytes_make_the_reader_panic(body in proptest::collection::vec(any::<u8>(), 0..200), boundary in "[B-]{1,4}") {
            let joined = [b"--".as_slice(), boundary.as_bytes(), b"\r\n", &body].concat();
            for bytes in [&body, &joined] {
                let _ = Parts::new(bytes, boundary.as_bytes()).filter_map(|part| part.field_name()).count();
            }
        }
    }
}
