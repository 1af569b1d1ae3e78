//! The ingest listener: `POST /in/<source>`, from raw bytes to an answer that means *durable*.
//!
//! This is the hot path: plain hyper, no router, no parsing beyond what the source's rule names. What is accepted is
//! written by the engine's own loop; this future only waits for the answer, so a client that hangs up tears nothing.

mod answer;
mod body;
mod budget;
mod diagnosis;
mod handshake;
pub mod keys;
mod limits;
mod refused;
mod source;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use bytes::Bytes;
use hapax_core::{BodyHash, Clock, ContentHash, EventIds, Headers, Identity, Random, Timestamp};
use hapax_engine::{Accepted, Arrival, Engine, Processed};
use hapax_verify::{Envelope, EventBody, Identification, Rejection, Verdict};
use http::request::Parts as Head;
use http::{Method, Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::{Service, service_fn};

use crate::config::Ack;
use crate::telemetry::Metrics;
use crate::telemetry::metrics::UNKNOWN_SOURCE;

use super::problem::Problem;
use budget::Budget;
use diagnosis::Case;
use keys::KeyFetcher;
pub use limits::Limits;
pub use source::{AckStatus, Source, Sources};

/// What stands before a source's name in a path.
const PREFIX: &str = "/in/";

/// What an id begins with that was made here, because the sender has none: such an event is never a duplicate.
const GENERATED_ID_PREFIX: &str = "generated:";

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
    keys: KeyFetcher,
    pace: diagnosis::Pace,
}

/// What the ingest service is made of.
pub struct Parts {
    /// Takes what was verified.
    pub engine: Engine,
    /// Who may send.
    pub sources: Sources,
    /// Counts.
    pub metrics: Arc<Metrics>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub random: Arc<dyn Random>,
    /// Everything has a limit.
    pub limits: Limits,
    /// Fetches the keys that senders publish.
    pub keys: KeyFetcher,
}

type Answer = Response<Full<Bytes>>;

/// The ingest service as a listener sees it.
pub trait IngestService:
    Service<Request<Incoming>, Response = Answer, Error = Infallible, Future: Send>
    + Clone
    + Send
    + Sync
    + 'static
{
}

impl<S> IngestService for S where
    S: Service<Request<Incoming>, Response = Answer, Error = Infallible, Future: Send>
        + Clone
        + Send
        + Sync
        + 'static
{
}

impl Ingest {
    /// Puts the service together.
    pub fn new(parts: Parts) -> Self {
        Self(Arc::new(Inner {
            engine: parts.engine,
            sources: ArcSwap::from_pointee(parts.sources),
            metrics: parts.metrics,
            clock: parts.clock,
            random: parts.random,
            ids: EventIds::default(),
            budget: Arc::new(Budget::new(parts.limits.body_bytes_in_flight_max)),
            limits: parts.limits,
            keys: parts.keys,
            pace: diagnosis::Pace::default(),
        }))
    }

    /// What a listener serves.
    pub fn service(&self) -> impl IngestService {
        let inner = Arc::clone(&self.0);
        service_fn(move |request| {
            let inner = Arc::clone(&inner);
            async move { Ok(inner.handle(request).await) }
        })
    }

    /// Serves these sources from the next request on; requests that run go on with what they found.
    pub fn reconfigure(&self, sources: Sources) {
        self.0.sources.store(Arc::new(sources));
        self.0.keys.clear();
    }
}

impl Inner {
    async fn handle(&self, request: Request<Incoming>) -> Answer {
        let started = self.clock.elapsed();
        let source = match self.find(request.uri().path()) {
            Ok(source) => source,
            Err(problem) => {
                self.metrics.rejected(UNKNOWN_SOURCE, problem.code());
                return problem.into_response();
            }
        };
        let outcome = match *request.method() {
            Method::POST => self.receive(&source, request).await,
            _ => handshake::answer(&source, &request, self.clock.now()),
        };
        match outcome {
            Ok(answer) => {
                source
                    .meter
                    .acknowledged(self.clock.elapsed().saturating_sub(started));
                answer
            }
            Err(problem) => {
                self.note(&source, &problem);
                problem.into_response()
            }
        }
    }

    fn find(&self, path: &str) -> Result<Arc<Source>, Problem> {
        let name = path
            .strip_prefix(PREFIX)
            .ok_or_else(|| refused::unknown_path(path))?;
        self.sources
            .load()
            .get(name)
            .ok_or_else(|| refused::unknown_source(name))
    }

    /// One delivery: read, verify, identify, accept, answer.
    async fn receive(&self, source: &Source, request: Request<Incoming>) -> Result<Answer, Problem> {
        // The time of arrival is that of the head: a slow body must not make a fresh signature old.
        let received_at = self.clock.now();
        let (head, incoming) = request.into_parts();
        // Held until the answer: what waits to be written counts too.
        let mut share = budget::Share::of(&self.budget);
        let body = body::read(incoming, source.body_limit, self.limits.body_timeout, &mut share)
            .await
            .map_err(|error| refused::body(&error, source.body_limit))?;
        let envelopes = match self.verdict(source, &head, &body, received_at).await? {
            Verdict::Events(envelopes) => envelopes,
            Verdict::Handshake(answer) => return Ok(handshake::response(answer)),
            Verdict::NeedsKey(request) => return Err(refused::key_unavailable(&request.key_id)),
            Verdict::Registration(_) | Verdict::Confirmation(_) => return Err(refused::key_unknown("")),
        };
        if envelopes.is_empty() {
            return Ok(answer::empty());
        }
        let headers = Headers::pack(
            head.headers
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_bytes())),
        );
        let is_batch = envelopes.iter().any(|envelope| envelope.batch_index.is_some());
        let arrivals = self.arrivals(source, envelopes, received_at, &headers, &body);
        drop(body);
        let accepted = self
            .engine
            .accept(arrivals)
            .await
            .map_err(|refusal| refused::refusal(&refusal))?;
        if let Ack::Processed { limit } = source.ack {
            self.until_processed(&accepted, limit).await?;
        }
        match accepted.as_slice() {
            [one] if !is_batch => Ok(answer::one(one, source.ack_status)),
            several => Ok(answer::batch(several)),
        }
    }

    /// What the request is. A key that is needed for that is fetched, once.
    async fn verdict(
        &self,
        source: &Source,
        head: &http::request::Parts,
        body: &Bytes,
        received_at: Timestamp,
    ) -> Result<Verdict, Problem> {
        let url = source.url(&head.uri);
        let judge = || {
            let keys = self.keys.keys_of(&source.name);
            let request = hapax_verify::Request::new(&head.headers, body, received_at.as_seconds())
                .url(&url)
                .query(head.uri.query().unwrap_or_default())
                .keys(&keys);
            source.verifier.verify(&request).map_err(|rejection| {
                self.explain(&rejection, source, head, body, received_at);
                refused::rejection(&rejection)
            })
        };
        let request = match judge()? {
            Verdict::NeedsKey(request) => request,
            verdict => return Ok(verdict),
        };
        let key_id = request.key_id.clone();
        match self.keys.fetch(&source.name, request).await {
            keys::Outcome::Known => judge(),
            keys::Outcome::Unknown => Err(refused::key_unknown(&key_id)),
            keys::Outcome::Unavailable => Err(refused::key_unavailable(&key_id)),
        }
    }

    /// Waits for the work. Everything is durable already: whatever is answered, nothing is lost.
    async fn until_processed(&self, accepted: &[Accepted], limit: Duration) -> Result<(), Problem> {
        match self.engine.processed(accepted, limit).await {
            Ok(Processed::Done) => Ok(()),
            Ok(Processed::Failed) => Err(refused::handler_failed()),
            Ok(Processed::InFlight) => Err(refused::in_flight()),
            Err(_) => Err(refused::store_unavailable()),
        }
    }

    fn arrivals(
        &self,
        source: &Source,
        envelopes: Vec<Envelope>,
        received_at: Timestamp,
        headers: &Headers,
        body: &Bytes,
    ) -> Vec<Arrival> {
        let mut batch_id = None;
        envelopes
            .into_iter()
            .map(|envelope| {
                let event_id = match envelope.identification {
                    Identification::BySender | Identification::Missing => envelope.event_id,
                    Identification::Never => format!(
                        "{GENERATED_ID_PREFIX}{}",
                        self.fresh_id(source, &envelope.event_id, received_at)
                    ),
                };
                let batch = envelope.batch_index.map(|index| {
                    let id = *batch_id.get_or_insert_with(|| self.fresh_id(source, &event_id, received_at));
                    (id, index)
                });
                Arrival {
                    source: source.name.clone(),
                    event_id,
                    event_type: envelope.event_type,
                    signed_at: envelope.signed_at.map(Timestamp::from_seconds),
                    secret_index: envelope.secret_index.and_then(|index| u16::try_from(index).ok()),
                    received_at,
                    headers: headers.clone(),
                    body: match envelope.body {
                        EventBody::Whole => body.clone(),
                        EventBody::Part(range) => body.slice(range),
                        EventBody::Pieces(ranges) => {
                            ranges.into_iter().flat_map(|range| body.slice(range)).collect()
                        }
                    },
                    content_hash: envelope.content_hash.map(|content| ContentHash {
                        rule: content.rule,
                        hash: BodyHash::from_bytes(content.hash),
                    }),
                    batch,
                }
            })
            .collect()
    }

    fn fresh_id(&self, source: &Source, event_id: &str, now: Timestamp) -> hapax_core::EventId {
        let key = Identity::new(source.name.as_str(), event_id).key();
        self.ids.next(now, key, &*self.random)
    }

    /// Finds out why a request is refused, for the log, if it was not done just now.
    fn explain(
        &self,
        rejection: &Rejection,
        source: &Source,
        head: &Head,
        body: &Bytes,
        received_at: Timestamp,
    ) {
        if !diagnosis::is_open(rejection, body) || !self.pace.admits(self.clock.elapsed()) {
            return;
        }
        let case = Case {
            sources: self.sources.load_full(),
            source: source.name.clone(),
            verifier: Arc::clone(&source.verifier),
            url: source.url(&head.uri).into_owned(),
            head: head.clone(),
            body: body.clone(),
            received_at,
            code: rejection.code(),
        };
        case.explain_later();
    }

    fn note(&self, source: &Source, problem: &Problem) {
        self.metrics.rejected(source.name.as_str(), problem.code());
        if problem.status().is_server_error() {
            self.metrics.unavailable(problem.code());
        }
        tracing::info!(
            source = %source.name,
            status = problem.status().as_u16(),
            code = problem.code(),
            detail = problem.detail(),
            "request refused"
        );
    }
}

impl std::fmt::Debug for Ingest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ingest").finish_non_exhaustive()
    }
}
