//! An incoming request as the caller read it, borrowed and never copied.

use crate::keys::{Keys, NoKeys};
use crate::setup::SetupError;

/// One incoming request.
pub struct Request<'a> {
    /// The HTTP method, in upper case.
    pub method: &'a str,
    /// The configured public URL; `""` if unknown. Never taken from `Host` or `X-Forwarded-*`, which the client
    /// chooses.
    pub url: &'a str,
    /// The query as it arrived, without its `?`. The client chooses it, whether it is signed or not.
    pub query: &'a str,
    /// All headers.
    pub headers: &'a dyn Headers,
    /// The raw body after transfer decoding, byte for byte.
    pub body: &'a [u8],
    /// When the request arrived, in Unix seconds on the host's clock.
    pub received_at: i64,
    /// Keys that were fetched before.
    pub keys: &'a dyn Keys,
}

impl<'a> Request<'a> {
    /// A POST with only headers and a body, which is all that most providers need.
    pub fn new(headers: &'a dyn Headers, body: &'a [u8], received_at: i64) -> Self {
        Request {
            method: "POST",
            url: "",
            query: "",
            headers,
            body,
            received_at,
            keys: &NoKeys,
        }
    }

    /// Sets the method.
    #[must_use]
    pub fn method(self, method: &'a str) -> Self {
        Request { method, ..self }
    }

    /// Sets the public URL; its query becomes the request's.
    #[must_use]
    pub fn url(self, url: &'a str) -> Self {
        let query = url.split_once('?').map_or("", |(_, query)| query);
        Request { url, query, ..self }
    }

    /// Sets the query.
    #[must_use]
    pub fn query(self, query: &'a str) -> Self {
        Request { query, ..self }
    }

    /// The bytes that contain the events: the body, or for a GET its query, which is then a form.
    pub fn content(&self) -> &'a [u8] {
        match self.method {
            "GET" => self.query.as_bytes(),
            _ => self.body,
        }
    }

    /// Sets the available keys.
    #[must_use]
    pub fn keys(self, keys: &'a dyn Keys) -> Self {
        Request { keys, ..self }
    }
}

/// The first value of a name in a query or a form body.
pub(crate) fn query_value(query: &str, name: &str) -> Option<String> {
    form_value(query.as_bytes(), name)
}

/// The first value of a name in a form body.
pub(crate) fn form_value(form: &[u8], name: &str) -> Option<String> {
    form_urlencoded::parse(form)
        .find(|(key, _)| key == name)
        .map(|(_, value)| value.into_owned())
}

/// The body without the byte-order mark that a few providers write before JSON. The signed, hashed and delivered body
/// keeps it.
pub(crate) fn json_text(body: &[u8]) -> &[u8] {
    body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body)
}

/// Access to headers by lower-case name.
///
/// If a header occurs several times, the first value counts, here and in signed content.
pub trait Headers {
    /// The first value of the header, or `None` if it is absent. `name` is in lower case.
    fn get(&self, name: &str) -> Option<&[u8]>;

    /// Visits every value of the header, for the few providers that repeat one. The default visits only the first.
    fn each(&self, name: &str, visit: &mut dyn FnMut(&[u8])) {
        if let Some(value) = self.get(name) {
            visit(value);
        }
    }
}

impl Headers for http::HeaderMap {
    fn get(&self, name: &str) -> Option<&[u8]> {
        http::HeaderMap::get(self, name).map(http::HeaderValue::as_bytes)
    }

    fn each(&self, name: &str, visit: &mut dyn FnMut(&[u8])) {
        self.get_all(name)
            .iter()
            .for_each(|value| visit(value.as_bytes()));
    }
}

impl<N: AsRef<str>, V: AsRef<[u8]>> Headers for Vec<(N, V)> {
    fn get(&self, name: &str) -> Option<&[u8]> {
        first(self, name)
    }

    fn each(&self, name: &str, visit: &mut dyn FnMut(&[u8])) {
        every(self, name, visit);
    }
}

impl<N: AsRef<str>, V: AsRef<[u8]>> Headers for &[(N, V)] {
    fn get(&self, name: &str) -> Option<&[u8]> {
        first(self, name)
    }

    fn each(&self, name: &str, visit: &mut dyn FnMut(&[u8])) {
        every(self, name, visit);
    }
}

impl<N: AsRef<str>, V: AsRef<[u8]>, const LENGTH: usize> Headers for [(N, V); LENGTH] {
    fn get(&self, name: &str) -> Option<&[u8]> {
        first(self, name)
    }

    fn each(&self, name: &str, visit: &mut dyn FnMut(&[u8])) {
        every(self, name, visit);
    }
}

impl<N: AsRef<str>, V: AsRef<[u8]>> Headers for [(N, V)] {
    fn get(&self, name: &str) -> Option<&[u8]> {
        first(self, name)
    }

    fn each(&self, name: &str, visit: &mut dyn FnMut(&[u8])) {
        every(self, name, visit);
    }
}

fn first<'a, N: AsRef<str>, V: AsRef<[u8]>>(headers: &'a [(N, V)], name: &str) -> Option<&'a [u8]> {
    headers
        .iter()
        .find(|(candidate, _)| candidate.as_ref().eq_ignore_ascii_case(name))
        .map(|(_, value)| value.as_ref())
}

fn every<N: AsRef<str>, V: AsRef<[u8]>>(headers: &[(N, V)], name: &str, visit: &mut dyn FnMut(&[u8])) {
    headers
        .iter()
        .filter(|(candidate, _)| candidate.as_ref().eq_ignore_ascii_case(name))
        .for_each(|(_, value)| visit(value.as_ref()));
}

/// A header name in lower case, or an error if HTTP does not allow it.
pub(crate) fn header_name(text: &str) -> Result<String, SetupError> {
    http::HeaderName::from_bytes(text.as_bytes())
        .map(|name| name.as_str().to_owned())
        .map_err(|_| SetupError::HeaderName {
            name: text.to_owned(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_any_case_and_the_first_value_counts() {
        let headers = vec![("X-Id", "one"), ("x-id", "two")];
        assert_eq!(Headers::get(&headers, "x-id"), Some(b"one".as_slice()));
        assert_eq!(Headers::get(&headers, "x-other"), None);
    }

    #[test]
    fn a_header_map_is_read_in_place() {
        let mut headers = http::HeaderMap::new();
        headers.insert("X-Id", http::HeaderValue::from_static("one"));
        assert_eq!(Headers::get(&headers, "x-id"), Some(b"one".as_slice()));
    }
}
