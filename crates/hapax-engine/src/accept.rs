//! Accept: claims, stores and enqueues arrivals in one durable write, then answers.
//!
//! Requests wait in one bounded queue, and a loop writes all queued requests together. The request's own future only
//! waits for the answer, so a client that hangs up can neither interrupt the write nor lose the deliveries that start
//! with it.

mod aliases;
mod arrival;
mod batches;
mod cached;
mod conflicts;
mod directed;
mod next_batch;
mod prepare;
mod queue;
mod recall;
mod refuse;
mod settle;

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hapax_core::{BodyHash, Fingerprinter, SourceName};
use tokio::sync::oneshot;

pub use directed::{ADDRESS_HEADER, DirectedEvent};
pub use recall::Recalled;
use refuse::RETRY_AFTER;

use crate::engine::{Engine, Inner};
use crate::incoming::{Accepted, IncomingEvent, Refusal, Untaken};
use crate::plan::{Plan, Source};
use crate::requests::{Aliased, Keyed, Prepared, Waiting};

impl Engine {
    /// Accepts the events of one request. Answers only when all of them are durable.
    ///
    /// # Errors
    /// A [`Refusal`]: nothing is promised, and the provider must retry.
    pub async fn accept(&self, arrivals: Vec<IncomingEvent>) -> Result<Vec<Accepted>, Refusal> {
        match self.begin_accept(arrivals, BodyFacts::default())? {
            Accepting::Answered(answers) => Ok(answers),
            Accepting::Waiting(answer) => answer.await,
        }
    }

    /// Begins to accept the events of one request. Known duplicates are answered immediately.
    ///
    /// # Errors
    /// A [`Refusal`]: nothing is promised, and the provider must retry.
    pub fn begin_accept(
        &self,
        arrivals: Vec<IncomingEvent>,
        facts: BodyFacts<'_>,
    ) -> Result<Accepting, Refusal> {
        let inner = &self.0;
        let now = inner.elapsed();
        let plan = inner.plan.load();
        let first = arrivals.first().ok_or(Refusal::UnknownSource)?;
        let source = inner.admit(&plan, &first.source, now)?;
        let mut arrivals: Vec<Keyed> = arrivals
            .into_iter()
            .map(|incoming| source.keyed(incoming))
            .collect();
        if let ([only], Some(raw_hash)) = (arrivals.as_slice(), facts.raw_hash) {
            only.know_raw_hash(raw_hash);
        }
        if let Some(answers) = inner.answer_from_cache(&mut arrivals, facts.fingerprints, now) {
            return Ok(Accepting::Answered(answers));
        }
        let (answer, answered) = oneshot::channel();
        if arrivals.iter().any(|keyed| !keyed.aliases.is_empty()) {
            inner.queue_look_up(Aliased {
                source: Arc::clone(source),
                arrivals,
                answer,
            });
        } else {
            let events = arrivals
                .into_iter()
                .map(|incoming| inner.prepare(source, incoming, now))
                .collect();
            inner.queue(Waiting { events, answer });
        }
        Ok(Accepting::Waiting(Answer(answered)))
    }

    /// Queues events to be written, and waits for the answer.
    async fn write(&self, events: Vec<Prepared>) -> Result<Vec<Accepted>, Untaken> {
        let (answer, answered) = oneshot::channel();
        self.0.queue(Waiting { events, answer });
        answered.await.unwrap_or_else(|_| Err(stopped()))
    }
}

impl Inner {
    /// The source of a request, if the engine and the source's rate admit one more.
    fn admit<'p>(
        &self,
        plan: &'p Plan,
        source: &SourceName,
        now: Duration,
    ) -> Result<&'p Arc<Source>, Refusal> {
        if self.is_stopping() {
            return Err(Refusal::ShuttingDown {
                retry_after: RETRY_AFTER,
            });
        }
        let source = plan.sources.get(source).ok_or(Refusal::UnknownSource)?;
        if let Some(bucket) = &source.bucket {
            bucket
                .take(1, now)
                .map_err(|retry_after| Refusal::RateLimited { retry_after })?;
        }
        Ok(source)
    }
}

/// What the caller knows about the body of a request with one event.
#[derive(Clone, Copy, Debug, Default)]
pub struct BodyFacts<'a> {
    /// Given if nothing but the body says which event it is. Then the body of a known duplicate is remembered, for
    /// [`Engine::recall`].
    pub fingerprints: Option<&'a Fingerprinter>,
    /// SHA-256 of the body, if the caller needed it.
    pub raw_hash: Option<BodyHash>,
}

/// A request that the engine has begun to accept.
#[derive(Debug)]
pub enum Accepting {
    /// All of its events are known duplicates.
    Answered(Vec<Accepted>),
    /// The store has to be asked. The write goes on if this is dropped.
    Waiting(Answer),
}

/// The future answer to a request. It comes only when all of its events are durable.
#[derive(Debug)]
pub struct Answer(oneshot::Receiver<Result<Vec<Accepted>, Untaken>>);

impl Future for Answer {
    type Output = Result<Vec<Accepted>, Refusal>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let answered = Pin::new(&mut self.0).poll(context);
        answered.map(|answer| answer.unwrap_or_else(|_| Err(stopped())).map_err(Refusal::from))
    }
}

/// Nobody answers a request once the loops have ended.
fn stopped() -> Untaken {
    Untaken::Refused(Refusal::ShuttingDown {
        retry_after: RETRY_AFTER,
    })
}
