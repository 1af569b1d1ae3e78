//! The `http` destination: one request for each attempt, as INTERFACE.md describes it.
//!
//! Redirects are not followed, and no connection is made to an address that its guard forbids, whatever name leads there.

mod headers;

use std::collections::HashMap;
use std::error::Error as StdError;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hapax_core::{Clock, ErrorClass, Leased, SourceName};
use hapax_engine::{AttemptResult, Reply};
use hapax_verify::sign::Signer;
use http::{Method, Request, Uri};
use http_body_util::Full;
use tokio::time::{Instant, timeout_at};

use super::{BatchHeaders, answer, excerpt};
use crate::outbox::{TARGET_HEADER, is_outbox, webhook_id};
use hapax_config::KeyForm;
use hapax_outbound::client::Client;
use hapax_outbound::guard::Blocked;
use hapax_outbound::words;
use hapax_telemetry::traces::context::Propagation;

/// Where a target is.
#[derive(Clone, Debug)]
pub enum Address {
    /// At one URL.
    Fixed(Uri),
    /// Where each event says: a row of an outbox has a URL of its own.
    OfEvent,
}

impl Address {
    fn of(&self, delivery: &Leased) -> Option<Uri> {
        match self {
            Self::Fixed(url) => Some(url.clone()),
            // A sender may write any header into a webhook, and names nothing by it.
            Self::OfEvent if !is_outbox(&delivery.event.source) => None,
            Self::OfEvent => {
                let target = delivery.event.headers.get(TARGET_HEADER)?;
                Uri::try_from(target).ok()
            }
        }
    }
}

/// An HTTP endpoint.
pub struct HttpTarget {
    /// Where it is.
    pub url: Address,
    /// Signs what is sent, if the destination has a secret.
    pub signer: Option<Signer>,
    /// After this long an attempt has failed.
    pub timeout: Duration,
    /// The connections: shared by all destinations, but not with the rows of an outbox.
    pub client: Client,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// How it wants `Idempotency-Key` written.
    pub key_form: KeyForm,
    /// The headers of each source that are not for a destination.
    pub batch_headers: Arc<HashMap<SourceName, BatchHeaders>>,
    /// What it is told of an event's trace.
    pub propagation: Propagation,
}

impl HttpTarget {
    pub(super) async fn deliver(&self, delivery: &Leased) -> AttemptResult {
        // The relay lets no row pass without one.
        let Some(url) = self.url.of(delivery) else {
            return AttemptResult::failed(ErrorClass::Protocol, "the event names no URL to call");
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
            // Someone has to change the row or the configuration; asking again changes nothing.
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

    /// The Standard Webhooks headers. Their id is the idempotency key, or the one that the writer of an outbox's row
    /// chose: stable over attempts, and without a dot.
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
        // Of the URL only the host: its query may hold a token.
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
        // An `io::Error` shows the cause of its cause, and hides its own.
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
