//! What came in: the request as the caller read it, borrowed and never copied.

use crate::{Keys, NoKeys};

/// One incoming request.
pub struct Request<'a> {
    /// The HTTP method, in upper case.
    pub method: &'a str,
    /// The public URL as configured, `""` if it is not known. Never taken from `Host` or `X-Forwarded-*`: whoever sends
    /// the request chooses those.
    pub url: &'a str,
    /// The query as it came, without its `?`. Whoever sends the request chooses it, signed or not.
    pub query: &'a str,
    /// All headers.
    pub headers: &'a dyn Headers,
    /// The raw body after transfer decoding, byte for byte.
    pub body: &'a [u8],
    /// When the request arrived, in unix seconds on the host's clock.
    pub received_at: i64,
    /// Keys that were fetched before.
    pub keys: &'a dyn Keys,
}

impl<'a> Request<'a> {
    /// A POST with nothing but headers and a body, which is all that most senders need.
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

    /// The same with another method.
    #[must_use]
    pub fn method(self, method: &'a str) -> Self {
        Request { method, ..self }
    }

    /// The same at this public URL, whose query is the request's.
    #[must_use]
    pub fn url(self, url: &'a str) -> Self {
        let query = url.split_once('?').map_or("", |(_, query)| query);
        Request { url, query, ..self }
    }

    /// The same with this query.
    #[must_use]
    pub fn query(self, query: &'a str) -> Self {
        Request { query, ..self }
    }

    /// The bytes that carry the events: the body, or of a GET its query, which is then a form.
    pub fn content(&self) -> &'a [u8] {
        match self.method {
            "GET" => self.query.as_bytes(),
            _ => self.body,
        }
    }

    /// The same with these keys at hand.
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

/// A body to be read as JSON: without the byte-order mark that a few senders write before it. What is signed, hashed and
/// delivered keeps it.
pub(crate) fn json_text(body: &[u8]) -> &[u8] {
    body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body)
}

/// Access to headers by lower-case name.
///
/// Where a header occurs several times the first value counts, here and in what is signed.
pub trait Headers {
    /// The first value of the header, or `None` if it is absent. `name` is in lower case.
    fn get(&self, name: &str) -> Option<&[u8]>;

    /// Visits every value of the header, for the few senders that repeat one; the first alone unless implemented.
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
