//! The hot path.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use hapax_core::store::{
    AcceptRequest, AliveReport, Claim, ConflictRecorded, ConflictView, ConflictingBody, Counts, Cursor,
    Error, EventPage, EventQuery, EventRecord, Forgotten, LeaseBatch, LeaseOrder, LedgerEntry, PurgeOrder,
    Purged, ReadStored, ReplayOrder, Replayed, Report, Rescued, StoredBodies, Written,
};
use hapax_core::{AttemptOutcome, EventId, Hold, Identity, Leased, Store};

use super::Sealed;
use crate::texts;

/// When to retry a delivery whose event cannot be opened here: the key may be on its way to this replica.
const UNOPENED_AFTER: Duration = Duration::from_secs(60);

#[async_trait]
impl Store for Sealed {
    async fn accept(&self, requests: Vec<AcceptRequest>) -> Vec<Result<Vec<Claim>, Error>> {
        let count = requests.len();
        let claimed = requests.iter().flat_map(|request| &request.events);
        let claimed = claimed.filter_map(|event| event.claimed_body.clone());
        if let Err(error) = self.bring_over(claimed.collect()).await {
            return refuse_all(&error, count);
        }
        let sealed: Result<Vec<AcceptRequest>, Error> = requests
            .into_iter()
            .map(|request| {
                let events = request
                    .events
                    .into_iter()
                    .map(|event| self.contents.seal_new(event));
                Ok(AcceptRequest {
                    events: events.collect::<Result<_, _>>()?,
                })
            })
            .collect();
        match sealed {
            Ok(sealed) => self
                .inner
                .accept(sealed)
                .await
                .into_iter()
                .map(|answer| self.claims(answer))
                .collect(),
            Err(error) => refuse_all(&error, count),
        }
    }

    async fn record_conflicts(
        &self,
        other_bodies: Vec<ConflictingBody>,
    ) -> Vec<Result<ConflictRecorded, Error>> {
        let count = other_bodies.len();
        let mut sealed = Vec::with_capacity(count);
        for other_body in other_bodies {
            match self.conflicting_body_to_keep(other_body).await {
                Ok(other_body) => sealed.push(other_body),
                Err(error) => return refuse_all(&error, count),
            }
        }
        self.inner.record_conflicts(sealed).await
    }

    async fn lease(&self, order: LeaseOrder) -> Result<LeaseBatch, Error> {
        let mut batch = self.inner.lease(order).await?;
        let mut unopened = Vec::new();
        for leased in std::mem::take(&mut batch.leased) {
            let hold = leased.hold();
            match self.contents.open_stored(leased.event) {
                Ok(event) => batch.leased.push(Leased { event, ..leased }),
                Err(error) => {
                    tracing::error!(error = &error as &dyn std::error::Error, "a delivery waits");
                    unopened.push(Report {
                        hold,
                        attempt: None,
                        outcome: AttemptOutcome::Retry {
                            after: UNOPENED_AFTER,
                        },
                    });
                }
            }
        }
        if !unopened.is_empty() {
            self.inner.finish(unopened).await?;
        }
        Ok(batch)
    }

    async fn extend(&self, holds: Vec<Hold>, lease_for: Duration) -> Result<Vec<Written>, Error> {
        self.inner.extend(holds, lease_for).await
    }

    async fn finish(&self, reports: Vec<Report>) -> Result<Vec<Written>, Error> {
        let sealed = reports.into_iter().map(|report| {
            let Report {
                hold,
                attempt,
                outcome,
            } = report;
            let at = (&hold.destination, hold.token);
            let attempt =
                attempt.map(|attempt| texts::seal_attempt(&self.contents.keys, hold.event, at, attempt));
            Ok(Report {
                attempt: attempt.transpose()?,
                hold,
                outcome,
            })
        });
        self.inner.finish(sealed.collect::<Result<_, Error>>()?).await
    }

    async fn rescue(&self, limit: u32) -> Result<Vec<Rescued>, Error> {
        self.inner.rescue(limit).await
    }

    async fn report_alive(&self, report: AliveReport) -> Result<Vec<Rescued>, Error> {
        self.inner.report_alive(report).await
    }

    fn shards(&self) -> usize {
        self.inner.shards()
    }

    fn shard_of(&self, event: EventId) -> usize {
        self.inner.shard_of(event)
    }

    async fn hasten(&self, event: EventId) -> Result<u32, Error> {
        self.inner.hasten(event).await
    }

    async fn replay(&self, orders: Vec<ReplayOrder>) -> Result<Vec<Replayed>, Error> {
        self.inner.replay(orders).await
    }

    async fn forget(&self, identity: &Identity) -> Result<Forgotten, Error> {
        self.inner.forget(identity).await
    }

    async fn look_up(&self, identity: &Identity) -> Result<Option<LedgerEntry>, Error> {
        let entry = self.inner.look_up(identity).await?;
        Ok(entry.map(|entry| self.contents.open_entry(entry)))
    }

    async fn get(&self, id: EventId) -> Result<Option<EventRecord>, Error> {
        let Some(mut record) = self.inner.get(id).await? else {
            return Ok(None);
        };
        record.event = self.contents.open_stored(record.event)?;
        if record.event.headers.is_erased() {
            let entry = self.look_up(&record.event.identity).await?;
            let plain = self.rows().plain;
            record.event = self.contents.open_erased(record.event, entry.as_ref(), plain);
        }
        texts::open_attempts(&self.contents.keys, id, &mut record.attempts)?;
        for view in &mut record.conflicts {
            self.open_view(id, view).await?;
        }
        Ok(Some(record))
    }

    async fn list(&self, query: &EventQuery, after: Option<Cursor>, limit: u32) -> Result<EventPage, Error> {
        let mut query = query.clone();
        query.stored = StoredBodies::read_by(Arc::clone(&self.contents) as Arc<dyn ReadStored>);
        self.inner.list(&query, after, limit).await
    }

    async fn counts(&self) -> Result<Counts, Error> {
        self.inner.counts().await
    }

    async fn purge(&self, order: PurgeOrder) -> Result<Purged, Error> {
        self.inner.purge(order).await
    }

    fn connection_epoch(&self) -> u64 {
        self.inner.connection_epoch()
    }
}

impl Sealed {
    fn claims(&self, answer: Result<Vec<Claim>, Error>) -> Result<Vec<Claim>, Error> {
        let claims = answer?.into_iter().map(|claim| match claim {
            Claim::New { .. } => claim,
            Claim::Seen(entry) => Claim::Seen(self.contents.open_entry(entry)),
        });
        Ok(claims.collect())
    }

    /// A conflicting body as stored. One that is already stored keeps its form, so that it is counted there.
    async fn conflicting_body_to_keep(&self, other_body: ConflictingBody) -> Result<ConflictingBody, Error> {
        let (first, hash) = (other_body.first, other_body.raw_hash);
        let kept_in_plain = |writes_plain| writes_plain != self.contents.writes_plain();
        if kept_in_plain(true) && self.rows().plain && self.inner.conflict(first, hash).await?.is_some() {
            return Ok(other_body);
        }
        let digest = self.contents.seal_body_hash(first, hash);
        if kept_in_plain(false) && self.inner.conflict(first, digest).await?.is_some() {
            return self.contents.seal_with_first(other_body);
        }
        self.contents.seal_conflicting_body(other_body)
    }

    /// A conflict's hash and length. Conflicts are few, so the row itself is read to see whether it is sealed.
    async fn open_view(&self, first: EventId, view: &mut ConflictView) -> Result<(), Error> {
        if let Some(other_body) = self.inner.conflict(first, view.raw_hash).await? {
            let opened = self.contents.open_conflicting_body(other_body)?;
            view.raw_hash = opened.raw_hash;
            view.body_bytes = opened.body.len() as u64;
        }
        Ok(())
    }
}

/// None of them was written.
fn refuse_all<T>(error: &Error, count: usize) -> Vec<Result<T, Error>> {
    let message = error.to_string();
    let refusal = || Error::Unavailable {
        message: message.clone(),
        source: None,
    };
    (0..count).map(|_| Err(refusal())).collect()
}
