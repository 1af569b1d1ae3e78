//! Sends exports: one request each on the service's own client, limited in time and size.

use async_trait::async_trait;
use bytes::Bytes;
use http::header::HeaderMap;
use http::{HeaderValue, Request, Response};
use http_body_util::Full;
use opentelemetry_http::{HttpClient, HttpError};
use parking_lot::Mutex;

use hapax_config as config;
use hapax_outbound::client::Client;
use hapax_outbound::exchange::Bounds;
use hapax_outbound::words;

/// The largest response, in bytes. By the protocol, it is a few dozen.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// The exporter's HTTP client.
#[derive(Debug)]
pub(super) struct Post {
    client: Client,
    headers: HeaderMap,
    bounds: Bounds,
    /// Why the last request failed. The exporter itself reports only that it failed.
    failure: Mutex<Option<String>>,
}

impl Post {
    pub(super) fn new(client: Client, config: &config::Traces) -> Self {
        let mut headers = HeaderMap::new();
        for (name, secret) in &config.headers {
            // The configuration has already checked that the value is valid.
            if let Ok(mut value) = HeaderValue::from_str(secret.expose()) {
                value.set_sensitive(true);
                headers.insert(name.clone(), value);
            }
        }
        Self {
            client,
            headers,
            bounds: Bounds {
                timeout: config.timeout,
                answer_bytes_max: ANSWER_BYTES_MAX,
            },
            failure: Mutex::default(),
        }
    }

    /// Takes the reason why the last request failed.
    pub(super) fn failure(&self) -> Option<String> {
        self.failure.lock().take()
    }
}

#[async_trait]
impl HttpClient for Post {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (mut head, body) = request.into_parts();
        // Set here rather than in the exporter, whose debug output would show them.
        head.headers.extend(self.headers.clone());
        let request = Request::from_parts(head, Full::new(body));
        let answered = self.client.exchange(request, self.bounds).await;
        answered
            .inspect_err(|error| *self.failure.lock() = Some(words(error)))
            .map_err(Into::into)
    }
}
