//! The head of a request, whichever framework has read it.

use http::HeaderMap;
use http::request::Parts;

/// The parts of a request's head by which a provider may prove its identity.
#[derive(Clone, Copy, Debug)]
pub struct Head<'r> {
    /// The HTTP method, in upper case.
    pub method: &'r str,
    /// The query as it arrived, without its `?`.
    pub query: &'r str,
    /// All headers.
    pub headers: &'r HeaderMap,
}

impl<'r> From<&'r Parts> for Head<'r> {
    fn from(parts: &'r Parts) -> Self {
        Self {
            method: parts.method.as_str(),
            query: parts.uri.query().unwrap_or_default(),
            headers: &parts.headers,
        }
    }
}
