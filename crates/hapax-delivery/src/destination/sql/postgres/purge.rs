//! Removing what the inbox need not remember any more, portion by portion, each in a transaction of its own.

use std::time::{Duration, Instant, SystemTime};

use tokio_postgres::types::Type;

use super::super::failure::Failure;
use super::super::{Desk, PURGE_AGAIN, PURGE_EVERY, PURGE_ROWS, is_idle};
use super::Target;
use super::link::{Inbox, Link};

/// How often the inbox is looked through from its beginning: for rows that someone held, and for those of a destination
/// with a shorter `inbox_retention`.
const WHOLE_EVERY: Duration = Duration::from_secs(3600);

/// Rows that someone holds, because a replay extends them, are left alone. It begins where the last portion ended: the
/// index keeps what was removed before that until the next VACUUM, and would lead through all of it again.
const PURGE: &str = "
    WITH expired AS MATERIALIZED (
        SELECT ctid, expires_at FROM hapax_inbox
        WHERE expires_at < now() AND expires_at >= coalesce($2::timestamptz, '-infinity')
        ORDER BY expires_at LIMIT $1::int8 FOR UPDATE SKIP LOCKED),
    removed AS (DELETE FROM hapax_inbox WHERE ctid = ANY (ARRAY(SELECT ctid FROM expired)))
    SELECT count(*), CASE WHEN count(*) < $1::int8 THEN now() ELSE max(expires_at) END FROM expired";

/// How far it is.
#[derive(Debug)]
pub(super) struct Purge {
    due: Instant,
    /// Everything that expired before has gone; none at the beginning.
    from: Option<SystemTime>,
    /// When to begin again.
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

/// A portion, and more while no event waits.
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
                    "old rows of hapax_inbox were not removed; it is tried again later"
                );
            }
        }
    }
}

impl Purge {
    /// Removes one; how many rows it was.
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
