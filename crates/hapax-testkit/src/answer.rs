//! An HTTP response, as a test reads it.

use bytes::Bytes;
use hapax_core::problem::Code;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

/// The most headers that any response here has.
const HEADERS_MAX: usize = 64;

#[derive(Clone, Debug)]
pub struct HttpResponse {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl HttpResponse {
    /// The first response in these bytes and how many of them it takes; `None` while some are missing.
    /// A response without a `Content-Length` ends with its head.
    pub(crate) fn parse(bytes: &[u8]) -> Option<(Self, usize)> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut head = httparse::Response::new(&mut headers);
        let parsed = head.parse(bytes);
        let parsed = parsed.unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(bytes)));
        let httparse::Status::Complete(body_at) = parsed else {
            return None;
        };
        let headers: HeaderMap = head.headers.iter().map(owned).collect();
        let length = headers
            .get("content-length")
            .map_or(0, |length| length.to_str().unwrap().parse().unwrap());
        let response = Self {
            status: head.code.unwrap(),
            headers,
            body: Bytes::copy_from_slice(bytes.get(body_at..body_at + length)?),
        };
        Some((response, body_at + length))
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {} {}", self.status, self.text()))
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// The document of a 2xx.
    #[track_caller]
    pub fn ok(&self) -> Value {
        assert!(self.is_durable(), "{} {}", self.status, self.text());
        self.json()
    }

    /// One field of the document, as text.
    pub fn field(&self, name: &str) -> String {
        match &self.json()[name] {
            Value::String(text) => text.clone(),
            other => panic!("`{name}` is {other} in {} {}", self.status, self.text()),
        }
    }

    pub fn is_durable(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Asserts a 2xx whose `status` is this word.
    #[track_caller]
    pub fn assert_durable(&self, status: &str) {
        assert!(self.is_durable(), "{} {}", self.status, self.text());
        assert_eq!(self.field("status"), status, "{}", self.text());
    }

    /// Asserts a complete problem document (RFC 9457) with this code, and returns its detail.
    #[track_caller]
    pub fn assert_problem(&self, status: u16, code: &str) -> String {
        assert_eq!(self.status, status, "{}", self.text());
        assert_eq!(self.header("content-type"), Some("application/problem+json"));
        let document = self.json();
        assert_eq!(document["code"], code, "{document}");
        assert_eq!(document["status"], status, "{document}");
        let known: Code = code.parse().unwrap();
        assert_eq!(
            (known.status(), document["title"].as_str()),
            (status, Some(known.title())),
            "{document}"
        );
        assert_eq!(
            document["type"],
            format!("urn:hapax:problem:{code}"),
            "{document}"
        );
        assert_eq!(document["explain"], format!("hapax explain {code}"), "{document}");
        let detail = self.field("detail");
        assert!(!detail.is_empty(), "{document}");
        detail
    }
}

fn owned(header: &httparse::Header<'_>) -> (HeaderName, HeaderValue) {
    (
        header.name.parse().unwrap(),
        HeaderValue::from_bytes(header.value).unwrap(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_is_read_once_it_is_whole_and_what_follows_is_left() {
        let bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndoneHTTP/1.1 100 Continue\r\n\r\n";
        let first = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone".len();
        for missing in 0..first {
            assert!(HttpResponse::parse(&bytes[..missing]).is_none(), "{missing}");
        }
        let (response, length) = HttpResponse::parse(bytes).unwrap();
        assert_eq!((response.status, response.text().as_str()), (200, "done"));
        assert_eq!(response.header("content-length"), Some("4"));
        assert_eq!(length, first);
        let (next, length) = HttpResponse::parse(&bytes[first..]).unwrap();
        assert_eq!((next.status, first + length), (100, bytes.len()));
    }
}
