//! The relay of one outbox: rounds of claiming, accepting and marking, frequent under load and rare when idle.
//! Alongside, it deletes old rows and reads the table's status.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use hapax_core::{Clock, DestinationId};
use hapax_engine::{Accepted, DirectedEvent, Engine, Refusal};
use tokio_util::sync::CancellationToken;

use super::row::Row;
use super::status::Status;
use super::table::{ClaimOrder, End, Table, TableError};
use hapax_config::Outbox;
use hapax_telemetry::traces::{Ended, context};
use hapax_telemetry::{Metrics, Tracer};

/// How long a claim lasts: far longer than a round takes. If a relay is killed, its rows wait this long.
const CLAIM_FOR: Duration = Duration::from_secs(10);
/// The first wait after an empty round; it doubles up to `poll`.
const WAIT_MIN: Duration = Duration::from_millis(10);
/// The longest wait while the database cannot be used.
const TROUBLE_WAIT_MAX: Duration = Duration::from_secs(5);
/// How long to wait before the next search for old relayed rows, once there are none.
const PURGE_EVERY: Duration = Duration::from_secs(10);
/// Rows deleted in one statement.
const PURGE_ROWS: i64 = 1_000;
/// How often to search for rows that can be brought forward.
const TEND_EVERY: Duration = Duration::from_secs(1);
/// How often the table's status is read. The pause is also at least `LOOK_PAUSE` times as long as reading it took.
const LOOK_EVERY: Duration = Duration::from_secs(5);
const LOOK_PAUSE: u32 = 20;
/// How long a row waits if its source is not known yet: a reload is in progress.
const UNKNOWN_WAIT: Duration = Duration::from_secs(1);

pub(super) struct Relay {
    pub(super) outbox: Outbox,
    pub(super) table: Arc<dyn Table>,
    pub(super) engine: Engine,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) tracer: Tracer,
    pub(super) metrics: Arc<Metrics>,
    pub(super) status: Arc<Status>,
    pub(super) destinations: Arc<HashMap<String, DestinationId>>,
}

impl Relay {
    /// Relays, purges and reads the status until stopped; each at its own pace, so that none waits for the others.
    pub(super) async fn run(self, stop: CancellationToken) {
        // The relay creates the table if it is missing; the other tasks wait for it.
        let is_usable = CancellationToken::new();
        tokio::join!(
            self.relay(&stop, &is_usable),
            stop.run_until_cancelled(async {
                is_usable.cancelled().await;
                tokio::join!(self.purge(), self.look())
            }),
        );
    }

    async fn relay(&self, stop: &CancellationToken, is_usable: &CancellationToken) {
        let mut wait = WAIT_MIN;
        let (mut tended, mut tend_from) = (Instant::now(), None);
        while !stop.is_cancelled() {
            let round = self.round().await;
            let is_news = self
                .status
                .relayed(round.as_ref().map(|_| ()), self.clock.elapsed());
            match &round {
                Ok(_) if is_news => tracing::info!(outbox = self.outbox.name, "the outbox is relayed again"),
                Err(error) if is_news => {
                    tracing::warn!(outbox = self.outbox.name, %error, "the outbox is not relayed; retrying");
                }
                Ok(_) | Err(_) => {}
            }
            if round.is_ok() {
                is_usable.cancel();
            }
            if round.is_ok() && tended.elapsed() >= TEND_EVERY {
                tended = Instant::now();
                // The next round reports problems with the table.
                tend_from = self.table.tend(tend_from).await.unwrap_or_default();
            }
            wait = match round {
                Ok(0) => (wait * 2).min(self.outbox.poll),
                Ok(_) => {
                    wait = WAIT_MIN;
                    continue;
                }
                Err(_) => (wait * 2).min(TROUBLE_WAIT_MAX),
            };
            stop.run_until_cancelled(tokio::time::sleep(wait)).await;
        }
    }

    /// One batch, from the claim to the mark. Returns how many rows it had, including those that were set back to make
    /// way.
    async fn round(&self) -> Result<u64, TableError> {
        let order = ClaimOrder {
            limit: i64::from(self.outbox.batch),
            token: fastrand::i64(1..),
            lease_for: CLAIM_FOR,
        };
        let rows = self.table.claim(order).await?;
        let count = rows.len() as u64;
        if count > 0 {
            fail::fail_point!("outbox.after_claim");
            // No two of them have the same order key, so they may run concurrently.
            let ends = join_all(rows.into_iter().map(|row| self.relay_row(row))).await;
            fail::fail_point!("outbox.before_settle");
            self.table.settle(order.token, ends).await?;
            fail::fail_point!("outbox.after_settle");
        }
        // A full batch means that nothing was in its way.
        if count < u64::from(self.outbox.batch) {
            return Ok(count + self.table.make_way().await?);
        }
        Ok(count)
    }

    async fn relay_row(&self, row: Row) -> (i64, End) {
        let id = row.id;
        let end = match row.directed_event(&self.outbox.name, &self.destinations, &*self.clock) {
            Ok(directed_event) => self.accept(directed_event).await,
            Err(why) => End::Refused(why),
        };
        self.metrics.outbox_row(&self.outbox.name, end.as_str());
        if let End::Refused(why) = &end {
            tracing::warn!(
                outbox = self.outbox.name,
                row = id,
                why,
                "a row of the outbox was refused"
            );
        }
        (id, end)
    }

    async fn accept(&self, directed_event: DirectedEvent) -> End {
        let source = directed_event.incoming.source.clone();
        let (began_at, began) = (self.clock.now(), self.clock.elapsed());
        let parent = directed_event.incoming.headers.get(context::TRACEPARENT);
        let mut journey = self.tracer.journey(parent, began_at);
        let answer = self.engine.accept_for(directed_event).await;
        let took = self.clock.elapsed().saturating_sub(began);
        if let Ok(accepted) = &answer {
            journey.accepted(&source, std::slice::from_ref(accepted), began_at, took);
        }
        let end = end_of(answer);
        let result = end.as_str();
        journey.ended(&source, took, Ended::Row { result });
        end
    }

    /// Deletes old relayed rows as fast as they expire: in small steps while there are any, each followed by a pause as
    /// long as the step took, so that the application always gets its turn.
    async fn purge(&self) {
        loop {
            let started = Instant::now();
            let purged = self.table.purge(self.outbox.retention, PURGE_ROWS).await;
            let is_news = self
                .status
                .purged(purged.as_ref().map(|_| ()), self.clock.elapsed());
            let wait = match purged {
                Ok(0) => PURGE_EVERY,
                Ok(rows) => {
                    tracing::debug!(outbox = self.outbox.name, rows, "old relayed rows were deleted");
                    if rows as i64 >= PURGE_ROWS {
                        started.elapsed()
                    } else {
                        PURGE_EVERY
                    }
                }
                Err(error) => {
                    if is_news {
                        tracing::warn!(outbox = self.outbox.name, %error, "old relayed rows were not deleted; retrying");
                    }
                    PURGE_EVERY
                }
            };
            tokio::time::sleep(wait).await;
        }
    }

    /// Reads the table's status from time to time, for alerts, metrics and the overview.
    async fn look(&self) {
        loop {
            let started = Instant::now();
            let counted = self.table.counts().await;
            self.status.looked(counted, self.clock.elapsed());
            let pause = (started.elapsed() * LOOK_PAUSE).max(LOOK_EVERY);
            tokio::time::sleep(pause).await;
        }
    }
}

/// What the engine's result means for the row.
fn end_of(answer: Result<Accepted, Refusal>) -> End {
    match answer {
        // A duplicate is either a row that we accepted before and whose mark was lost, or another row with the same
        // key, target and body.
        Ok(Accepted::New { id, .. } | Accepted::Duplicate { id, .. } | Accepted::Quarantined { id, .. }) => {
            End::Relayed(id)
        }
        Ok(Accepted::Conflict { id, .. }) => End::Refused(format!(
            "event {id} was relayed to this target under this idempotency_key with another body: give this row its own \
             key"
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
