//! A receiver over HTTP: one request through the destinations' client, which calls no forbidden address and follows no
//! redirect.

use std::time::Duration;

use bytes::Bytes;
use hapax_verify::sign::Signer;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue, USER_AGENT};
use http::{HeaderMap, Method, Request};
use http_body_util::Full;

use super::super::row::Tried;
use super::Endpoint;
use hapax_outbound::exchange::CallError;

impl Endpoint {
    pub(super) async fn post(
        &self,
        id: &str,
        signer: Option<&Signer>,
        body: String,
        limit: Duration,
    ) -> Tried {
        let body = Bytes::from(body);
        let mut request = Request::new(Full::new(body.clone()));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.url.clone();
        *request.headers_mut() = self.headers(id, signer, &body);
        match self.client.head(request, limit).await {
            Ok(response) if response.status().is_success() => Tried::Delivered,
            Ok(response) => Tried::Refused(format!("it answered {}", response.status())),
            Err(error @ CallError::Connect(_)) => Tried::Refused(error.to_string()),
            Err(error) => Tried::Unclear(error.to_string()),
        }
    }

    /// The Standard Webhooks headers; without a secret, only the id.
    fn headers(&self, id: &str, signer: Option<&Signer>, body: &[u8]) -> HeaderMap {
        let proof = signer.map_or_else(
            || vec![("webhook-id".to_owned(), id.to_owned())],
            |signer| signer.sign(id, self.clock.now().as_seconds(), "POST", "", body),
        );
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(USER_AGENT, HeaderValue::from_static("hapax-alerts"));
        for (name, value) in proof {
            if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
                headers.insert(name, value);
            }
        }
        headers
    }
}
