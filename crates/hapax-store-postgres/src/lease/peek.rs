//! Peeking at due deliveries before anything is locked.

use futures_util::future::join3;
use hapax_core::Timestamp;

use crate::bind::bind;
use crate::failure::Failure;
use crate::rows::{Class, time_at};
use crate::session::Session;

const PAUSED: &str = "SELECT p.at FROM hapax.pauses p WHERE p.destination = $1::text";

// The comparison covers the whole order of the index, so that it stops at the first row.
const NEXT: &str = "
    SELECT w.wake_at FROM hapax.work w /* every bucket */
    WHERE w.destination = $1::text AND w.class = $2::int2 AND w.class <> 1 ORDER BY w.wake_at, w.id LIMIT 1";

/// What is known before anything is locked.
pub(super) struct Seen {
    pub(super) now: Timestamp,
    pub(super) paused: bool,
    pub(super) next_due: Option<Timestamp>,
}

/// Begins a transaction and peeks, in one round trip. A distributed database cannot answer about two tables in one select
/// list. Most polls find nothing and end here.
pub(super) async fn begin(session: &Session, destination: &str, class: Class) -> Result<Seen, Failure> {
    let peek = async {
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
    };
    session.begin_with(peek).await
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
