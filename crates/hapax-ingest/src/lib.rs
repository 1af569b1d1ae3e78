//! The ingest listener: `POST /in/<source>`, from raw bytes to a response that means *durable*.
//!
//! This is the hot path: plain hyper, no router, and no parsing beyond the fields that the source's rule names. The
//! engine's own loop writes accepted events. This future only waits for the result, so a client that disconnects
//! interrupts nothing.

mod answer;
mod body;
mod budget;
mod confirm;
mod deadline;
mod diagnosis;
pub mod earlier_ids;
pub(crate) mod handover;
mod handshake;
mod incoming;
pub mod keys;
mod refusal_rate;
mod refused;
mod source;
mod take;
mod transmission;
mod verify;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use bytes::Bytes;
use hapax_core::{Clock, EventId, EventIds, Random, Timestamp};
use hapax_engine::Engine;
use http::request::Parts as Head;
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::service::{Service, service_fn};
use tokio::time::{Instant, sleep};

use hapax_telemetry::metrics::UNKNOWN_SOURCE;
use hapax_telemetry::traces::{Ended, Journey, context};
use hapax_telemetry::{Metrics, Refusal, Tracer};

use body::Reading;
use budget::{Budget, Share};
use deadline::Deadline;
use hapax_api::problem::{Code, Problem};
pub use hapax_config::limits::ingest::Limits;
use hapax_listen::{Peer, RequestBody};
use keys::KeyFetcher;
use refusal_rate::RefusalRate;
pub use source::{AckStatus, PublicUrl, Source, Sources};
use verify::Verified;

/// The path before a source's name.
const PREFIX: &str = "/in/";

/// The service behind the ingest listener. Clones share it.
#[derive(Clone)]
pub struct Ingest(Arc<Inner>);

struct Inner {
    engine: Engine,
    sources: ArcSwap<Sources>,
    metrics: Arc<Metrics>,
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    ids: EventIds,
    limits: Limits,
    budget: Arc<Budget>,
    refusal_rate: RefusalRate,
    pace: diagnosis::Pace,
    keys: KeyFetcher,
    tracer: Tracer,
}

/// The components of the ingest service.
pub struct Parts {
    pub engine: Engine,
    pub sources: Sources,
    pub metrics: Arc<Metrics>,
    pub clock: Arc<dyn Clock>,
    pub random: Arc<dyn Random>,
    pub limits: Limits,
    /// Fetches the keys that providers publish.
    pub keys: KeyFetcher,
    pub tracer: Tracer,
}

type HttpResponse = Response<Full<Bytes>>;

/// The ingest service as a listener sees it.
pub trait IngestService:
    Service<Request<RequestBody>, Response = HttpResponse, Error = Infallible, Future: Send>
    + Clone
    + Send
    + Sync
    + 'static
{
}

impl<S> IngestService for S where
    S: Service<Request<RequestBody>, Response = HttpResponse, Error = Infallible, Future: Send>
        + Clone
        + Send
        + Sync
        + 'static
{
}

impl Ingest {
    pub fn new(parts: Parts) -> Self {
        let budget = Budget::new(&parts.limits, parts.sources.count());
        Self(Arc::new(Inner {
            engine: parts.engine,
            sources: ArcSwap::from_pointee(parts.sources),
            metrics: parts.metrics,
            clock: parts.clock,
            random: parts.random,
            ids: EventIds::default(),
            budget: Arc::new(budget),
            refusal_rate: RefusalRate::new(&parts.limits),
            limits: parts.limits,
            pace: diagnosis::Pace::default(),
            keys: parts.keys,
            tracer: parts.tracer,
        }))
    }

    /// The service for a listener.
    pub fn service(&self) -> impl IngestService {
        let inner = Arc::clone(&self.0);
        service_fn(move |request| {
            let inner = Arc::clone(&inner);
            async move { Ok(inner.handle(request).await) }
        })
    }

    /// Uses these sources from the next request on. Requests in progress continue with the old ones.
    pub fn reconfigure(&self, sources: Sources) {
        self.0
            .keys
            .reconfigure(|source| sources.get(source.as_str()).is_some());
        self.0.budget.divide_among(sources.count());
        self.0.sources.store(Arc::new(sources));
    }
}

/// A request that was read and verified.
struct VerifiedRequest {
    head: Head,
    body: Bytes,
    verified: Verified,
    deadline: Deadline,
}

/// A request with a successful response.
struct HandledRequest {
    answer: HttpResponse,
    /// The request's first event.
    event: Option<EventId>,
}

impl From<HttpResponse> for HandledRequest {
    fn from(answer: HttpResponse) -> Self {
        Self { answer, event: None }
    }
}

impl Inner {
    async fn handle(&self, request: Request<RequestBody>) -> HttpResponse {
        let started = self.clock.elapsed();
        let peer = request.body().peer();
        let source = match self.find(request.uri().path()) {
            Ok(source) => source,
            Err(problem) => {
                self.note_stranger(&problem);
                drop(request);
                sleep(self.refusal_rate.charge(peer, 0, Instant::now())).await;
                return problem.into_response();
            }
        };
        // A request arrives with its head: a slow body must not make a fresh signature expire.
        let received_at = self.clock.now();
        let method = request.method().clone();
        let mut journey = self.journey(&request, received_at);
        let mut share = Share::of(&self.budget, &source.name, peer);
        let verified = self
            .verified(&source, request, received_at, peer, &mut share)
            .await;
        let held_back = self.held_back(&verified, peer, &share);
        let outcome = match verified {
            Ok(verified) => {
                self.take(&source, verified, received_at, share, &mut journey)
                    .await
            }
            Err(problem) => {
                drop(share);
                Err(problem)
            }
        };
        let ended = self.clock.elapsed();
        let took = ended.saturating_sub(started);
        let (answer, code) = match outcome {
            Ok(HandledRequest { answer, event }) => {
                source.meter.acknowledged(took, ended, event);
                (answer, None)
            }
            Err(problem) => {
                self.count(&source, &problem, received_at);
                // Delayed refusals are counted but not logged, so that a flood cannot fill the log.
                if held_back.is_zero() {
                    log(&source, &problem);
                }
                let code = problem.code();
                (answer::refused(problem, &source.answer), Some(code))
            }
        };
        let status = answer.status();
        journey.ended(&source.name, took, Ended::Request { method, status, code });
        if !held_back.is_zero() {
            sleep(held_back).await;
        }
        answer
    }

    /// How long to delay the response to a request that is not authenticated.
    fn held_back(&self, verified: &Result<VerifiedRequest, Problem>, peer: Peer, share: &Share) -> Duration {
        let is_strange = match verified {
            Ok(request) => !request.verified.is_proven(),
            // A genuine but unusable request is 400, and so is a client that disconnected.
            Err(problem) => problem.status() != StatusCode::BAD_REQUEST,
        };
        if is_strange {
            self.refusal_rate.charge(peer, share.bytes(), Instant::now())
        } else {
            Duration::ZERO
        }
    }

    fn journey(&self, request: &Request<RequestBody>, received_at: Timestamp) -> Journey {
        let parent = || request.headers().get(context::TRACEPARENT);
        let parent = self.tracer.is_on().then(parent).flatten();
        self.tracer
            .journey(parent.map(HeaderValue::as_bytes), received_at)
    }

    fn find(&self, path: &str) -> Result<Arc<Source>, Problem> {
        let name = path
            .strip_prefix(PREFIX)
            .ok_or_else(|| refused::unknown_path(path))?;
        // Some providers append a slash to every URL. They sign the URL as they call it.
        let name = name.strip_suffix('/').unwrap_or(name);
        self.sources
            .load()
            .get(name)
            .ok_or_else(|| refused::unknown_source(name))
    }

    /// Reads and verifies a request. All of it may come from an attacker.
    async fn verified(
        &self,
        source: &Source,
        request: Request<RequestBody>,
        received_at: Timestamp,
        peer: Peer,
        share: &mut Share,
    ) -> Result<VerifiedRequest, Problem> {
        let (head, incoming) = request.into_parts();
        source.check_peer(peer)?;
        verify::check_method(&head.method)?;
        let reading = Reading {
            limit: source.body_limit,
            limits: &self.limits,
            wait: |now| self.refusal_rate.wait(peer, now),
        };
        let refused = |error| refused::body(&error, source.body_limit);
        reading.check_announced(&incoming).map_err(refused)?;
        self.check_head(source, &head, received_at)?;
        let body = reading.read(incoming, share).await.map_err(refused)?;
        // From here on, the provider waits for us.
        let deadline = Deadline::of(source);
        let verified = self.verify(source, &head, &body, received_at, deadline).await?;
        Ok(VerifiedRequest {
            head,
            body,
            verified,
            deadline,
        })
    }

    /// A misspelt source name is a common mistake and is recorded. Other unknown paths on this port are noise and only
    /// counted.
    fn note_stranger(&self, problem: &Problem) {
        self.metrics.rejected(UNKNOWN_SOURCE, problem.code());
        if problem.code() == Code::UnknownSource {
            self.metrics.strange(refusal(problem, self.clock.now()));
        }
    }

    fn count(&self, source: &Source, problem: &Problem, received_at: Timestamp) {
        self.metrics.rejected(source.name.as_str(), problem.code());
        source.meter.refused(refusal(problem, received_at));
        if problem.status().is_server_error() {
            self.metrics.unavailable(problem.code());
        }
    }
}

fn log(source: &Source, problem: &Problem) {
    tracing::info!(
        source = %source.name,
        status = problem.status().as_u16(),
        code = problem.code().as_str(),
        detail = problem.detail(),
        "request refused"
    );
}

fn refusal(problem: &Problem, received_at: Timestamp) -> Refusal {
    Refusal {
        at: received_at,
        code: problem.code(),
        detail: problem.detail().to_owned(),
        likely: None,
    }
}

impl std::fmt::Debug for Ingest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ingest").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes of the future that a service returns.
    const fn future_bytes<'a, S: IngestService>(_: fn(&'a Ingest) -> S) -> usize {
        size_of::<S::Future>()
    }

    #[test]
    fn a_request_that_waits_is_small() {
        let bytes = future_bytes(Ingest::service);
        assert!(bytes <= 8192, "{bytes} bytes");
    }
}
