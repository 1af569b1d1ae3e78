//! Sends exports: one request each on the service's own client, limited in time and size.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::header::HeaderMap;
use http::{HeaderValue, Request, Response};
use http_body_util::{BodyExt as _, Full, Limited};
use opentelemetry_http::{HttpClient, HttpError};
use parking_lot::Mutex;

use hapax_config as config;
use hapax_outbound::client::Client;
use hapax_outbound::words;

/// The largest response, in bytes. By the protocol, it is a few dozen.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// The exporter's HTTP client.
#[derive(Debug)]
pub(super) struct Post {
    client: Client,
    headers: HeaderMap,
    timeout: Duration,
    /// Why the last request failed. The exporter itself reports only that it failed.
    failure: Mutex<Option<String>>,
}

/// No response in time.
#[derive(Debug, thiserror::Error)]
#[error("no answer within {} ms", .0.as_millis())]
struct Late(Duration);

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
            timeout: config.timeout,
            failure: Mutex::default(),
        }
    }

    /// Takes the reason why the last request failed.
    pub(super) fn failure(&self) -> Option<String> {
        self.failure.lock().take()
    }

    async fn exchange(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (mut head, body) = request.into_parts();
        // Set here rather than in the exporter, whose debug output would show them.
        head.headers.extend(self.headers.clone());
        let asked = self.client.request(Request::from_parts(head, Full::new(body)));
        let (head, body) = asked.await?.into_parts();
        let body = Limited::new(body, ANSWER_BYTES_MAX).collect().await?;
        Ok(Response::from_parts(head, body.to_bytes()))
    }
}

#[async_trait]
impl HttpClient for Post {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let answered = tokio::time::timeout(self.timeout, self.exchange(request)).await;
        let answered = answered.unwrap_or_else(|_| Err(Late(self.timeout).into()));
        if let Err(error) = &answered {
            let mut failure = self.failure.lock();
            *failure = Some(words(&**error));
        }
        answered
    }
}
