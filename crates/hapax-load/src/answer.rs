//! A minimal parser of HTTP/1.1 answers: status, length, and where the body is.
//!
//! It examines the bytes read so far and says whether an answer is complete. It costs a fraction of a general parser,
//! which matters because the load client shares its processor with the server it measures.

use std::ops::Range;

/// Longest head that is parsed; Hapax never sends a longer one.
pub(crate) const HEAD_BYTES_MAX: usize = 16 * 1024;

/// A complete answer, as positions in the buffer it was read into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WireResponse {
    pub status: u16,
    /// Where the body is; its end is the end of the answer.
    pub body: Range<usize>,
    pub next: Next,
}

/// What happens to the connection after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// The server accepts another request.
    Open,
    /// The server closes it.
    Close,
}

/// Why bytes are not an answer that can be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Malformed {
    /// It does not begin like an HTTP/1 answer.
    #[error("the response is not HTTP/1.1")]
    NotHttp,
    /// The head does not end within the limit.
    #[error("the response head is longer than {HEAD_BYTES_MAX} bytes")]
    HeadTooLong,
    /// It does not state its length.
    #[error("the response has no content-length, which this client requires")]
    NoLength,
}

/// What an answer means for the event that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// 2xx: new and stored.
    Accepted,
    /// 2xx: seen before.
    Duplicate,
    /// 2xx: known id, different body.
    Conflict,
    /// 2xx with an unknown body.
    OtherSuccess,
    /// Refused permanently: any status below 500 that is not 2xx or 429.
    Refused,
    /// Retry later: 429, 503.
    Unavailable,
    /// Any other failure.
    Failed,
}

impl Outcome {
    /// Derives the outcome from the status and the beginning of the body.
    pub fn of(status: u16, body: &[u8]) -> Self {
        match status {
            200..=299 => Self::of_success(body),
            429 | 503 => Self::Unavailable,
            0..=499 => Self::Refused,
            500.. => Self::Failed,
        }
    }

    fn of_success(body: &[u8]) -> Self {
        let Some(rest) = body.strip_prefix(br#"{"status":""#) else {
            return Self::OtherSuccess;
        };
        match rest.first() {
            Some(b'a') if rest.starts_with(b"accepted\"") => Self::Accepted,
            Some(b'd') if rest.starts_with(b"duplicate\"") => Self::Duplicate,
            Some(b'c') if rest.starts_with(b"conflict\"") => Self::Conflict,
            Some(_) | None => Self::OtherSuccess,
        }
    }
}

/// Parses an answer at the beginning of `bytes`; `None` while it is incomplete.
pub(crate) fn parse(bytes: &[u8]) -> Result<Option<WireResponse>, Malformed> {
    let mut lines = Lines { bytes, position: 0 };
    let Some(status_line) = lines.next() else {
        return unfinished(bytes);
    };
    let status = status_of(status_line).ok_or(Malformed::NotHttp)?;
    let mut length = None;
    let mut next = Next::Open;
    loop {
        let Some(line) = lines.next() else {
            return unfinished(bytes);
        };
        if line.is_empty() {
            break;
        }
        if let Some(value) = value_of(line, b"content-length") {
            length = Some(decimal(value).ok_or(Malformed::NoLength)?);
        } else if let Some(value) = value_of(line, b"connection")
            && value.eq_ignore_ascii_case(b"close")
        {
            next = Next::Close;
        }
    }
    let start = lines.position;
    let length = length.ok_or(Malformed::NoLength)?;
    let end = start.checked_add(length).ok_or(Malformed::NoLength)?;
    let answer = WireResponse {
        status,
        body: start..end,
        next,
    };
    Ok((bytes.len() >= end).then_some(answer))
}

fn unfinished(bytes: &[u8]) -> Result<Option<WireResponse>, Malformed> {
    if !bytes.is_empty() && !b"HTTP/1.1 ".starts_with(&bytes[..bytes.len().min(9)]) {
        return Err(Malformed::NotHttp);
    }
    if bytes.len() > HEAD_BYTES_MAX {
        Err(Malformed::HeadTooLong)
    } else {
        Ok(None)
    }
}

/// The lines of a head, each without its line ending.
struct Lines<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> Lines<'a> {
    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = &self.bytes[self.position..];
        let end = rest.iter().position(|byte| *byte == b'\n')?;
        self.position += end + 1;
        let line = &rest[..end];
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    }
}

fn status_of(line: &[u8]) -> Option<u16> {
    let digits = line.strip_prefix(b"HTTP/1.1 ")?.get(..3)?;
    let status = decimal(digits)?;
    (100..=999).contains(&status).then_some(status as u16)
}

fn value_of<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let (found, rest) = line.split_at_checked(name.len())?;
    if !found.eq_ignore_ascii_case(name) {
        return None;
    }
    rest.strip_prefix(b":").map(<[u8]>::trim_ascii)
}

fn decimal(digits: &[u8]) -> Option<usize> {
    if digits.is_empty() || digits.len() > 9 {
        return None;
    }
    digits.iter().try_fold(0, |number, digit| {
        digit
            .is_ascii_digit()
            .then(|| number * 10 + usize::from(digit - b'0'))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn answer_bytes(status: u16, headers: &[(String, String)], body: &[u8]) -> Vec<u8> {
        let mut bytes = format!("HTTP/1.1 {status} Some Reason\r\n").into_bytes();
        for (name, value) in headers {
            bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        bytes.extend_from_slice(format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes());
        bytes.extend_from_slice(body);
        bytes
    }

    proptest! {
        #[test]
        fn an_answer_is_found_whole_and_never_before_its_last_byte(
            status in 200_u16..600,
            headers in prop::collection::vec(("x-[a-z]{1,12}", "[ -~]{0,40}"), 0..6),
            body in prop::collection::vec(any::<u8>(), 0..300),
            surplus in prop::collection::vec(any::<u8>(), 0..20),
        ) {
            let mut bytes = answer_bytes(status, &headers, &body);
            let end = bytes.len();
            for cut in 0..end {
                prop_assert_eq!(parse(&bytes[..cut]), Ok(None), "cut at {}", cut);
            }
            bytes.extend_from_slice(&surplus);
            let answer = parse(&bytes).unwrap().unwrap();
            prop_assert_eq!(answer.status, status);
            prop_assert_eq!(answer.body.end, end);
            prop_assert_eq!(&bytes[answer.body], body.as_slice());
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = parse(&bytes);
            let _ = parse(&[b"HTTP/1.1 200 OK\r\n".as_slice(), &bytes].concat());
        }
    }

    #[test]
    fn what_is_not_http_is_refused_at_once() {
        assert_eq!(parse(b"SSH-2.0-"), Err(Malformed::NotHttp));
        assert_eq!(parse(b"HTTP/1.1 abc\r\n"), Err(Malformed::NotHttp));
    }

    #[test]
    fn an_answer_without_a_length_or_without_an_end_is_refused() {
        assert_eq!(parse(b"HTTP/1.1 200 OK\r\n\r\n"), Err(Malformed::NoLength));
        assert_eq!(
            parse(b"HTTP/1.1 200 OK\r\ncontent-length: 1e3\r\n\r\n"),
            Err(Malformed::NoLength)
        );
        let endless = [b"HTTP/1.1 200 OK\r\nx: ".as_slice(), &[b'y'; HEAD_BYTES_MAX]].concat();
        assert_eq!(parse(&endless), Err(Malformed::HeadTooLong));
    }

    #[test]
    fn a_server_that_closes_says_so() {
        let answer = parse(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nConnection: Close\r\n\r\n");
        assert_eq!(answer.unwrap().unwrap().next, Next::Close);
    }

    #[test]
    fn answers_are_told_apart_by_status_and_body() {
        assert_eq!(
            Outcome::of(200, br#"{"status":"accepted","id":"x"}"#),
            Outcome::Accepted
        );
        assert_eq!(Outcome::of(202, br#"{"status":"accepted"}"#), Outcome::Accepted);
        assert_eq!(Outcome::of(200, br#"{"status":"duplicate"}"#), Outcome::Duplicate);
        assert_eq!(Outcome::of(200, br#"{"status":"conflict"}"#), Outcome::Conflict);
        assert_eq!(Outcome::of(204, b""), Outcome::OtherSuccess);
        assert_eq!(Outcome::of(401, br#"{"status":"accepted"}"#), Outcome::Refused);
        assert_eq!(Outcome::of(429, b""), Outcome::Unavailable);
        assert_eq!(Outcome::of(503, b""), Outcome::Unavailable);
        assert_eq!(Outcome::of(500, b""), Outcome::Failed);
    }
}
