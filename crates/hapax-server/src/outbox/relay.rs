//! The relay of one outbox: rounds of claiming, accepting and marking, often while there is work and seldom while not.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use hapax_core::{Clock, DestinationId};
use hapax_engine::{Accepted, Engine, Parcel, Refusal};
use tokio_util::sync::CancellationToken;

use super::row::Row;
use super::table::{ClaimOrder, End, Table, TableError};
use crate::config::Outbox;
use crate::telemetry::Tracer;
use crate::telemetry::traces::{Ended, context};

/// How long a claim holds: far longer than a round takes, and how long rows wait whose relay was killed.
const CLAIM_FOR: Duration = Duration::from_secs(10);
/// The first wait after a round without work; it doubles up to `poll`.
const WAIT_MIN: Duration = Duration::from_millis(10);
/// The longest wait while the database cannot be used.
const TROUBLE_WAIT_MAX: Duration = Duration::from_secs(5);
/// How often relayed rows that are old are looked for.
const PURGE_EVERY: Duration = Duration::from_secs(10);
/// Rows deleted at one time.
const PURGE_ROWS: i64 = 1_000;
/// How long a row waits whose source is not known yet: a reload is under way.
const UNKNOWN_WAIT: Duration = Duration::from_secs(1);

/// Everything a relay needs.
pub(super) struct Relay {
    pub(super) outbox: Outbox,
    pub(super) table: Arc<dyn Table>,
    pub(super) engine: Engine,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) tracer: Tracer,
    /// Destinations by name.
    pub(super) destinations: Arc<HashMap<String, DestinationId>>,
}

impl Relay {
    /// Relays until it is stopped.
    pub(super) async fn run(self, stop: CancellationToken) {
        let mut wait = WAIT_MIN;
        let mut trouble: Option<TableError> = None;
        let mut purged = Instant::now();
        while !stop.is_cancelled() {
            match self.round().await {
                Ok(relayed) => {
                    if trouble.take().is_some() {
                        tracing::info!(outbox = self.outbox.name, "the outbox is relayed again");
                    }
                    wait = if relayed > 0 {
                        WAIT_MIN
                    } else {
                        (wait * 2).min(self.outbox.poll)
                    };
                    if relayed > 0 {
                        continue;
                    }
                }
                Err(error) => {
                    // The same trouble is told once.
                    if trouble.as_ref() != Some(&error) {
                        tracing::warn!(outbox = self.outbox.name, %error, "the outbox is not relayed; it is tried again");
                    }
                    trouble = Some(error);
                    wait = (wait * 2).min(TROUBLE_WAIT_MAX);
                }
            }
            if trouble.is_none() && purged.elapsed() >= PURGE_EVERY {
                purged = Instant::now();
                self.purge().await;
            }
            tokio::select! {
                () = stop.cancelled() => {}
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    /// One batch, from the claim to the mark; how many rows it had.
    async fn round(&self) -> Result<usize, TableError> {
        let order = ClaimOrder {
            limit: i64::from(self.outbox.batch),
            token: fastrand::i64(1..),
            lease_for: CLAIM_FOR,
        };
        let rows = self.table.claim(order).await?;
        if rows.is_empty() {
            return Ok(0);
        }
        let count = rows.len();
        fail::fail_point!("outbox.after_claim");
        // No two of them have the same order key, so that they may go together.
        let ends = join_all(rows.into_iter().map(|row| self.hand_over(row))).await;
        fail::fail_point!("outbox.before_settle");
        self.table.settle(order.token, ends).await?;
        fail::fail_point!("outbox.after_settle");
        Ok(count)
    }

    async fn hand_over(&self, row: Row) -> (i64, End) {
        let id = row.id;
        let end = match row.parcel(&self.outbox.name, &self.destinations, &*self.clock) {
            Ok(parcel) => self.accept(parcel).await,
            Err(why) => End::Refused(why),
        };
        if let End::Refused(why) = &end {
            tracing::warn!(
                outbox = self.outbox.name,
                row = id,
                why,
                "a row of the outbox is refused"
            );
        }
        (id, end)
    }

    async fn accept(&self, parcel: Parcel) -> End {
        let source = parcel.arrival.source.clone();
        let (began_at, began) = (self.clock.now(), self.clock.elapsed());
        let parent = parcel.arrival.headers.get(context::TRACEPARENT);
        let mut journey = self.tracer.journey(parent, began_at);
        let answer = self.engine.accept_for(parcel).await;
        let took = self.clock.elapsed().saturating_sub(began);
        if let Ok(accepted) = &answer {
            journey.accepted(&source, std::slice::from_ref(accepted), began_at, took);
        }
        let end = end_of(answer);
        let result = match &end {
            End::Relayed(_) => "relayed",
            End::Refused(_) => "refused",
            End::Again(_) => "later",
        };
        journey.ended(&source, took, Ended::Row { result });
        end
    }

    async fn purge(&self) {
        match self.table.purge(self.outbox.retention, PURGE_ROWS).await {
            Ok(0) => {}
            Ok(rows) => tracing::debug!(outbox = self.outbox.name, rows, "old relayed rows were deleted"),
            Err(error) => {
                tracing::warn!(outbox = self.outbox.name, %error, "old relayed rows were not deleted; it is tried again");
            }
        }
    }
}

/// What the engine's answer means to the row.
fn end_of(answer: Result<Accepted, Refusal>) -> End {
    match answer {
        // A duplicate is our own hand-over, whose mark was lost, or another row with the same key and body.
        Ok(Accepted::New { id, .. } | Accepted::Duplicate { id, .. } | Accepted::Quarantined { id, .. }) => {
            End::Relayed(id)
        }
        Ok(Accepted::Conflict { id, .. }) => End::Refused(format!(
            "event {id} was relayed under this idempotency_key with another body: give this row a key of its own"
        )),
        Err(Refusal::Rejected { message }) => End::Refused(message),
        Err(Refusal::UnknownSource) => End::Again(UNKNOWN_WAIT),
        Err(
            Refusal::RateLimited { retry_after }
            | Refusal::Overloaded { retry_after }
            | Refusal::Unavailable { retry_after, .. }
            | Refusal::Unsupported { retry_after, .. }
            | Refusal::ShuttingDown { retry_after },
        ) => End::Again(retry_after),
    }
}
