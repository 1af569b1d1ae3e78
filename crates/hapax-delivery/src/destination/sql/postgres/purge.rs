//! Removes expired rows from the inbox, batch by batch, each in its own transaction.

use std::time::{Duration, Instant, SystemTime};

use tokio_postgres::types::Type;

use super::super::failure::Failure;
use super::super::{Desk, PURGE_AGAIN, PURGE_EVERY, PURGE_ROWS, is_idle};
use super::Target;
use super::link::{Inbox, Link};

/// How often the inbox is scanned from the beginning: for rows that were locked, and for those of a destination with a
/// shorter `inbox_retention`.
const WHOLE_EVERY: Duration = Duration::from_secs(3600);

/// Rows that are locked because a replay extends them are skipped. The scan starts where the last batch ended: until
/// the next VACUUM the index keeps the entries of removed rows, and would lead through all of them again.
const PURGE: &str = "
    WITH expired AS MATERIALIZED (
        SELECT ctid, expires_at FROM hapax_inbox
        WHERE expires_at < now() AND expires_at >= coalesce($2::timestamptz, '-infinity')
        ORDER BY expires_at LIMIT $1::int8 FOR UPDATE SKIP LOCKED),
    removed AS (DELETE FROM hapax_inbox WHERE ctid = ANY (ARRAY(SELECT ctid FROM expired)))
    SELECT count(*), CASE WHEN count(*) < $1::int8 THEN now() ELSE max(expires_at) END FROM expired";

/// The progress of a purge.
#[derive(Debug)]
pub(super) struct Purge {
    due: Instant,
    /// Everything that expired earlier is gone; `None` at the beginning.
    from: Option<SystemTime>,
    /// When to start from the beginning again.
    whole_due: Instant,
}

impl Default for Purge {
    fn default() -> Self {
        let now = Instant::now();
        Self {
            due: now,
            from: None,
            whole_due: now + WHOLE_EVERY,
        }
    }
}

/// Removes a batch, and more while no event waits.
pub(super) async fn purge(target: &Target, place: &mut Option<Link>, desk: &Desk) {
    let Ok(mut purge) = target.purge.try_lock() else {
        return;
    };
    while Instant::now() >= purge.due {
        let Some(link) = place.as_mut() else { return };
        let limit = target.plan.timeout;
        let portion = tokio::time::timeout(limit, purge.portion(link));
        let overrun = |_| {
            Err(Failure::timeout(format!(
                "it took longer than {} ms",
                limit.as_millis()
            )))
        };
        match portion.await.unwrap_or_else(overrun) {
            Ok(removed) if removed >= i64::from(PURGE_ROWS) => {
                if !is_idle(desk) {
                    return;
                }
            }
            Ok(_) => purge.due = Instant::now() + PURGE_EVERY,
            Err(failure) => {
                purge.due = Instant::now() + PURGE_AGAIN;
                if failure.loses_the_link() {
                    *place = None;
                }
                tracing::warn!(
                    delivery = target.plan.inbox.consumer(),
                    error = failure.message,
                    "old rows of hapax_inbox were not removed; retrying later"
                );
            }
        }
    }
}

impl Purge {
    /// Removes one batch and returns its number of rows.
    async fn portion(&mut self, link: &Link) -> Result<i64, Failure> {
        let rows_max = PURGE_ROWS;
        if link.seen.inbox == Inbox::Unordered {
            return Ok(hapax::inbox::purge(&link.client, rows_max).await?.cast_signed());
        }
        if Instant::now() >= self.whole_due {
            self.from = None;
            self.whole_due = Instant::now() + WHOLE_EVERY;
        }
        let row = link
            .client
            .query_typed_one(
                PURGE,
                &[
                    (&i64::from(rows_max), Type::INT8),
                    (&self.from, Type::TIMESTAMPTZ),
                ],
            )
            .await?;
        self.from = row.try_get(1)?;
        Ok(row.try_get(0)?)
    }
}
