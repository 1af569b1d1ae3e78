//! Problem documents (RFC 9457): the one format in which both listeners report errors.
//!
//! Every [`Code`] is stable, and `hapax explain CODE` prints its page of `docs/errors/`.

use std::time::Duration;

use bytes::Bytes;
use http::header::{ALLOW, CONNECTION, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};

pub use hapax_core::problem::{Code, Port};

/// The media type of a problem document.
pub const MEDIA_TYPE: &str = "application/problem+json";

/// An error as a client sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    code: Code,
    detail: String,
    retry_after: Option<Duration>,
    allow: Option<&'static str>,
    connection: Connection,
}

/// Whether the connection stays open after the response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Connection {
    Kept,
    Closed,
}

impl Problem {
    /// A problem with its stable code and the details of this occurrence.
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Self {
            code,
            detail: detail.into(),
            retry_after: None,
            allow: None,
            connection: Connection::Kept,
        }
    }

    /// Adds a `Retry-After` header, in whole seconds, at least one.
    #[must_use]
    pub const fn retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    /// Adds an `Allow` header with the accepted methods.
    #[must_use]
    pub const fn allow(mut self, methods: &'static str) -> Self {
        self.allow = Some(methods);
        self
    }

    /// Closes the connection after the response, so that the next request reaches another process.
    #[must_use]
    pub const fn closing(mut self) -> Self {
        self.connection = Connection::Closed;
        self
    }

    /// The HTTP status of its code.
    pub fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// The stable code.
    pub const fn code(&self) -> Code {
        self.code
    }

    /// The details of this occurrence.
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// The JSON document.
    pub fn document(&self) -> String {
        self.code.document(&self.detail)
    }

    /// The complete response, for any body type that can be made from bytes.
    pub fn into_response<B: From<Bytes>>(self) -> Response<B> {
        let mut response = Response::new(B::from(Bytes::from(self.document())));
        *response.status_mut() = self.status();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
        if let Some(wait) = self.retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(whole_seconds(wait)));
        }
        if let Some(methods) = self.allow {
            headers.insert(ALLOW, HeaderValue::from_static(methods));
        }
        match self.connection {
            Connection::Kept => {}
            Connection::Closed => {
                headers.insert(CONNECTION, HeaderValue::from_static("close"));
            }
        }
        response
    }
}

/// Rounded up, so that a client that waits this long is never too early.
fn whole_seconds(wait: Duration) -> u64 {
    let more = u64::from(wait.subsec_nanos() > 0);
    wait.as_secs().saturating_add(more).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_a_document_with_its_code_and_how_to_read_more() {
        let problem = Problem::new(Code::UnknownSource, "no \"x\"\n");
        let document: serde_json::Value = serde_json::from_str(&problem.document()).unwrap();
        assert_eq!(document["code"], "unknown_source");
        assert_eq!(
            (&document["status"], &document["title"]),
            (&404.into(), &"Unknown source".into())
        );
        assert_eq!(document["detail"], "no \"x\"\n");
        assert_eq!(document["type"], "urn:hapax:problem:unknown_source");
        assert_eq!(document["explain"], "hapax explain unknown_source");
    }

    #[test]
    fn a_wait_is_rounded_up_to_whole_seconds() {
        for (wait_ms, seconds) in [(0, 1), (1, 1), (1000, 1), (1001, 2)] {
            assert_eq!(whole_seconds(Duration::from_millis(wait_ms)), seconds);
        }
    }
}
