//! A request from a provider: its path, its headers, its body. Sent again, it is a duplicate.

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request};
use http_body_util::Full;

/// A delivery, ready to be sent any number of times.
#[derive(Clone, Debug)]
pub struct Delivery {
    pub event_id: String,
    pub path: String,
    pub headers: Vec<(String, Vec<u8>)>,
    pub body: Bytes,
}

impl Delivery {
    /// Adds a header.
    pub fn with_header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.push((name.to_owned(), value.as_ref().to_vec()));
        self
    }

    pub fn without_header(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| known != name);
        self
    }

    /// Replaces the value of a header.
    pub fn with_other_header(self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.without_header(name).with_header(name, value)
    }

    pub fn at_path(mut self, path: &str) -> Self {
        path.clone_into(&mut self.path);
        self
    }

    pub fn request(&self, host: &str) -> Request<Full<Bytes>> {
        let mut request = Request::post(&self.path)
            .header("host", host)
            .body(Full::new(self.body.clone()))
            .unwrap();
        for (name, value) in &self.headers {
            let name: HeaderName = name.parse().unwrap();
            request
                .headers_mut()
                .append(name, HeaderValue::from_bytes(value).unwrap());
        }
        request
    }

    /// The bytes on the wire, for tests that send them in their own way.
    pub fn head(&self, more: &str) -> Vec<u8> {
        let mut head = format!("POST {} HTTP/1.1\r\nhost: e2e\r\n", self.path).into_bytes();
        for (name, value) in &self.headers {
            head.extend_from_slice(name.as_bytes());
            head.extend_from_slice(b": ");
            head.extend_from_slice(value);
            head.extend_from_slice(b"\r\n");
        }
        head.extend_from_slice(more.as_bytes());
        head.extend_from_slice(b"\r\n");
        head
    }
}
