//! The `http` destination: one request per attempt, as INTERFACE.md describes it.
//!
//! Redirects are not followed, and no connection is made to an address that the guard forbids, whichever name resolves
//! to it.

mod answer;
mod headers;
mod reach;
mod retry_after;
mod sign;

use std::collections::HashMap;
use std::error::Error as StdError;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use hapax_core::{Clock, ErrorClass, Leased, SourceName};
use hapax_engine::{AttemptResult, Reply, Transport};
use hapax_verify::sign::Signer;
use http::{Method, Request, Uri};
use http_body_util::Full;
use tokio::time::{Instant, timeout_at};

use super::{BatchHeaders, DestinationKind, SetupError, Shared, Unreachable, excerpt};
use crate::outbox::{TARGET_HEADER, is_outbox, webhook_id};
use hapax_config::destination::http::Http;
use hapax_config::{Destination, KeyForm};
use hapax_outbound::client::Client;
use hapax_outbound::guard::Blocked;
use hapax_outbound::words;
use hapax_telemetry::traces::SpanTarget;
use hapax_telemetry::traces::context::Propagation;
pub use sign::signer;

#[async_trait]
impl DestinationKind for Http {
    fn start(&self, destination: &Destination, shared: &Shared) -> Result<Arc<dyn Transport>, SetupError> {
        let secret = self.secret.as_ref();
        let signer = secret.map(|secret| signer(&destination.name, secret.expose()));
        Ok(Arc::new(HttpTarget {
            url: Address::Fixed(self.url.clone()),
            signer: signer.transpose()?,
            timeout: destination.timeout,
            client: shared.client.clone(),
            clock: Arc::clone(&shared.clock),
            key_form: self.key_form,
            batch_headers: Arc::clone(&shared.batch_headers),
            propagation: shared.propagation,
        }))
    }

    async fn check(&self) -> Result<String, Unreachable> {
        reach::check(&self.url).await
    }

    fn span_target(&self) -> SpanTarget {
        SpanTarget::http(&self.url)
    }

    fn remembers(&self) -> Option<Duration> {
        None
    }
}

#[derive(Clone, Debug)]
pub enum Address {
    Fixed(Uri),
    /// The URL that each event names: every row of an outbox has its own.
    OfEvent,
}

impl Address {
    fn of(&self, delivery: &Leased) -> Option<Uri> {
        match self {
            Self::Fixed(url) => Some(url.clone()),
            // A webhook may carry any header, so its headers never choose a URL.
            Self::OfEvent if !is_outbox(&delivery.event.source) => None,
            Self::OfEvent => {
                let target = delivery.event.headers.get(TARGET_HEADER)?;
                Uri::try_from(target).ok()
            }
        }
    }
}

pub struct HttpTarget {
    pub url: Address,
    /// Signs requests if the destination has a secret.
    pub signer: Option<Signer>,
    pub timeout: Duration,
    /// The connection pool: shared by all destinations, but not with outbox rows.
    pub client: Client,
    pub clock: Arc<dyn Clock>,
    /// How it expects `Idempotency-Key` to be written.
    pub key_form: KeyForm,
    /// The headers of each source that must not reach a destination.
    pub batch_headers: Arc<HashMap<SourceName, BatchHeaders>>,
    /// Whether and how the event's trace context is passed on.
    pub propagation: Propagation,
}

#[async_trait]
impl Transport for HttpTarget {
    async fn deliver(&self, delivery: &Leased) -> AttemptResult {
        // The relay accepts no row without one.
        let Some(url) = self.url.of(delivery) else {
            return AttemptResult::failed(ErrorClass::Protocol, "the event has no URL to call");
        };
        let deadline = Instant::now() + self.timeout;
        let request = self.request(delivery, url);
        match timeout_at(deadline, self.client.request(request)).await {
            Err(_) => AttemptResult::failed(
                ErrorClass::Timeout,
                format!("no answer within {} ms", self.timeout.as_millis()),
            ),
            Ok(Err(error)) => self.failure(&error),
            Ok(Ok(response)) => {
                let (head, body) = response.into_parts();
                let excerpt = excerpt::read(body, deadline).await;
                answer::judge(head.status, &head.headers, excerpt, &*self.clock)
            }
        }
    }
}

impl HttpTarget {
    fn failure(&self, error: &hyper_util::client::legacy::Error) -> AttemptResult {
        let class = if find::<Blocked>(error).is_some() {
            ErrorClass::Blocked
        } else if find::<std::io::Error>(error).is_some_and(|io| io.kind() == std::io::ErrorKind::TimedOut) {
            ErrorClass::Timeout
        } else if error.is_connect() {
            ErrorClass::Connect
        } else {
            ErrorClass::Protocol
        };
        let failed = AttemptResult::failed(class, words(error));
        match (&self.url, class) {
            // Someone has to change the row or the configuration; retrying changes nothing.
            (Address::OfEvent, ErrorClass::Blocked) => AttemptResult {
                reply: Reply::Refused {
                    class,
                    message: words(error),
                },
                ..failed
            },
            _ => failed,
        }
    }

    fn request(&self, delivery: &Leased, url: Uri) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(delivery.event.body.clone()));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = url;
        *request.headers_mut() = headers::build(
            delivery,
            self.propagation,
            self.key_form,
            self.batch_headers.get(&delivery.event.source),
            self.signature(delivery),
        );
        request
    }

    /// The Standard Webhooks headers. Their id is the idempotency key, or the key that the writer of an outbox row
    /// chose: stable across attempts, and without a dot.
    fn signature(&self, delivery: &Leased) -> Vec<(String, String)> {
        self.signer.as_ref().map_or_else(Vec::new, |signer| {
            let id = webhook_id(delivery);
            signer.sign(
                &id,
                self.clock.now().as_seconds(),
                "POST",
                "",
                &delivery.event.body,
            )
        })
    }
}

impl std::fmt::Debug for HttpTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Only the host of the URL: its query may hold a token.
        let host = match &self.url {
            Address::Fixed(url) => url.host(),
            Address::OfEvent => None,
        };
        f.debug_struct("HttpTarget")
            .field("host", &host)
            .finish_non_exhaustive()
    }
}

fn find<'a, E: StdError + 'static>(error: &'a (dyn StdError + 'static)) -> Option<&'a E> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(found) = error.downcast_ref::<E>() {
            return Some(found);
        }
        // An `io::Error` shows its cause's cause and hides the cause itself.
        let inner = error
            .downcast_ref::<std::io::Error>()
            .and_then(std::io::Error::get_ref);
        if let Some(found) = inner.and_then(|inner| inner.downcast_ref::<E>()) {
            return Some(found);
        }
        cause = error.source();
    }
    None
}
