//! Accept: claims, stores and enqueues arrivals in one durable write, then answers.
//!
//! Requests wait in one bounded queue, and a loop writes all queued requests together. The request's own future only
//! waits for the answer, so a client that hangs up can neither interrupt the write nor lose the deliveries that start
//! with it.

mod aliases;
mod batches;
mod cached;
mod conflicts;
mod directed;
mod next_batch;
mod prepare;
mod queue;
mod refuse;
mod settle;

use std::sync::Arc;

use tokio::sync::oneshot;

pub use directed::{ADDRESS_HEADER, DirectedEvent};
use refuse::RETRY_AFTER;

use crate::engine::Engine;
use crate::incoming::{Accepted, IncomingEvent, Refusal, Untaken};
use crate::requests::{Aliased, Keyed, Prepared, Waiting};

impl Engine {
    /// Accepts the events of one request. Answers only when all of them are durable.
    ///
    /// # Errors
    /// A [`Refusal`]: nothing is promised, and the provider must retry.
    pub async fn accept(&self, arrivals: Vec<IncomingEvent>) -> Result<Vec<Accepted>, Refusal> {
        let inner = &self.0;
        if inner.is_stopping() {
            return Err(Refusal::ShuttingDown {
                retry_after: RETRY_AFTER,
            });
        }
        let now = inner.elapsed();
        let plan = inner.plan.load();
        let first = arrivals.first().ok_or(Refusal::UnknownSource)?;
        let source = plan.sources.get(&first.source).ok_or(Refusal::UnknownSource)?;
        if let Some(bucket) = &source.bucket {
            bucket
                .take(1, now)
                .map_err(|retry_after| Refusal::RateLimited { retry_after })?;
        }
        let arrivals: Vec<Keyed> = arrivals
            .into_iter()
            .map(|incoming| source.keyed(incoming))
            .collect();
        if let Some(answers) = inner.answer_from_cache(&arrivals, now) {
            return Ok(answers);
        }
        if arrivals.iter().any(|keyed| !keyed.aliases.is_empty()) {
            let (answer, answered) = oneshot::channel();
            inner.queue_look_up(Aliased {
                source: Arc::clone(source),
                arrivals,
                answer,
            });
            drop(plan);
            return answer_of(answered).await.map_err(Refusal::from);
        }
        let events = arrivals
            .into_iter()
            .map(|incoming| inner.prepare(source, incoming, now))
            .collect();
        drop(plan);
        self.write(events).await.map_err(Refusal::from)
    }

    /// Queues events to be written, and waits for the answer.
    async fn write(&self, events: Vec<Prepared>) -> Result<Vec<Accepted>, Untaken> {
        let (answer, answered) = oneshot::channel();
        self.0.queue(Waiting { events, answer });
        answer_of(answered).await
    }
}

type Answered = oneshot::Receiver<Result<Vec<Accepted>, Untaken>>;

async fn answer_of(answered: Answered) -> Result<Vec<Accepted>, Untaken> {
    let stopped = Refusal::ShuttingDown {
        retry_after: RETRY_AFTER,
    };
    answered.await.unwrap_or(Err(Untaken::Refused(stopped)))
}
