//! Peeking at due deliveries before anything is locked.

use futures_util::future::{join, join3};
use hapax_core::Timestamp;

use crate::Spread;
use crate::bind::bind;
use crate::failure::Failure;
use crate::rows::{Class, optional_time_at, time_at};
use crate::session::Session;

// Most polls find nothing and end here. The comparison covers the whole order of the index, so that it stops at the
// first row.
const PEEK: &str = "
    SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::int8,
           EXISTS (SELECT 1 FROM hapax.pauses p WHERE p.destination = $1::text),
           (SELECT w.wake_at FROM hapax.work w WHERE w.destination = $1::text AND w.class = $2::int2 AND w.class <> 1
            ORDER BY w.wake_at, w.id LIMIT 1)";

const PAUSED: &str = "SELECT p.at FROM hapax.pauses p WHERE p.destination = $1::text";

const NEXT: &str = "
    SELECT w.wake_at FROM hapax.work w /* every bucket */
    WHERE w.destination = $1::text AND w.class = $2::int2 AND w.class <> 1 ORDER BY w.wake_at, w.id LIMIT 1";

/// What is known before anything is locked.
pub(super) struct Seen {
    pub(super) now: Timestamp,
    pub(super) paused: bool,
    pub(super) next_due: Option<Timestamp>,
}

/// Begins a transaction and peeks, in one round trip.
pub(super) async fn begin(session: &Session, destination: &str, class: Class) -> Result<Seen, Failure> {
    // The first future is polled first, and so sent first.
    let (begun, seen) = join(session.begin(), peek(session, destination, class)).await;
    begun?;
    seen
}

/// Peeks. A distributed database cannot answer about two tables in one select list.
async fn peek(session: &Session, destination: &str, class: Class) -> Result<Seen, Failure> {
    match session.spread() {
        Spread::Whole => {
            let row = session.one(PEEK, bind![destination, class.code()]).await?;
            Ok(Seen {
                now: time_at(&row, 0)?,
                paused: row.try_get(1)?,
                next_due: optional_time_at(&row, 2)?,
            })
        }
        Spread::ByBucket => {
            let (now, paused, next_due) = join3(
                session.now(),
                session.optional(PAUSED, bind![destination]),
                next_due(session, destination, class),
            )
            .await;
            Ok(Seen {
                now: now?,
                paused: paused?.is_some(),
                next_due: next_due?,
            })
        }
    }
}

/// When the next delivery of a class is due.
pub(super) async fn next_due(
    session: &Session,
    destination: &str,
    class: Class,
) -> Result<Option<Timestamp>, Failure> {
    let row = session.optional(NEXT, bind![destination, class.code()]).await?;
    row.as_ref().map(|row| time_at(row, 0)).transpose()
}
