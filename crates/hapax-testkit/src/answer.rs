//! An HTTP response, as a test reads it.

use bytes::Bytes;
use hapax_core::problem::Code;
use http::HeaderMap;
use serde_json::Value;

#[derive(Clone, Debug)]
pub struct HttpResponse {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl HttpResponse {
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
        self.field("detail")
    }
}
