//! Shared by both PostgreSQL drivers: how a transaction begins and ends, the statements, the claim, and the meaning of
//! each SQLSTATE.

use std::future::Future;
use std::pin::Pin;

use super::Driver;
use crate::claim::{Claim, Mark};
use crate::database::sealed;
use crate::error::{DatabaseError, Error, Invalid, Trouble};
use crate::staged::Staged;

/// How often a claim is retried when the row that won is purged at the same moment.
pub(crate) const CLAIM_ATTEMPTS_MAX: usize = 3;

/// An asynchronous result.
pub(crate) type Pending<'t, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 't>>;

pub(crate) const CREATE: [&str; 2] = [crate::tables::POSTGRES_INBOX, crate::tables::POSTGRES_OUTBOX];

/// Waits for another transaction that has inserted the same row; affects 0 rows if that one commits.
pub(crate) const CLAIM: &str = "
    INSERT INTO hapax_inbox (scope, event_id, consumer, generation, body_hash, expires_at)
    VALUES ($1, $2, $3, $4, $5, now() + make_interval(secs => $6))
    ON CONFLICT (scope, event_id, consumer, generation) DO NOTHING";

/// A separate statement: the claim may have waited for a row that its own snapshot does not show.
pub(crate) const LOOK_UP: &str = "
    SELECT body_hash FROM hapax_inbox
    WHERE scope = $1 AND event_id = $2 AND consumer = $3 AND generation = $4";

pub(crate) const EXTEND: &str = "
    UPDATE hapax_inbox SET expires_at = now() + make_interval(secs => $5)
    WHERE scope = $1 AND event_id = $2 AND consumer = $3 AND generation = $4
      AND expires_at < now() + make_interval(secs => $5)";

/// Skips rows that are locked because a replay extends them.
pub(crate) const PURGE: &str = "
    DELETE FROM hapax_inbox WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM hapax_inbox WHERE expires_at < now() LIMIT $1 FOR UPDATE SKIP LOCKED))";

/// `coalesce` keeps the table's default for a call without a key.
pub(crate) const STAGE: &str = "
    INSERT INTO hapax_outbox
        (consumer, scope, event_id, kind, target, headers, body, idempotency_key, order_key)
    VALUES ($1, $2, $3, $4, $5, $6::text::jsonb, $7, coalesce($8, gen_random_uuid()::text), $9)";

/// Returns the old value, and sets the new one for the rest of the transaction.
pub(crate) const SWAP_LOCK_TIMEOUT: &str =
    "SELECT current_setting('lock_timeout'), set_config('lock_timeout', $1, true)";

/// Where a transaction can be begun: `&sqlx::PgPool` and `&mut tokio_postgres::Client`.
pub trait Begin: sealed::Sealed {
    /// The type of its transactions.
    type Transaction: Open;

    #[doc(hidden)]
    fn begin(self) -> impl Future<Output = Result<Self::Transaction, DatabaseError>> + Send;
}

/// A transaction that this crate began and must end.
pub trait Open: Send + Sized {
    /// The driver of the transaction.
    type Driver: Driver;

    #[doc(hidden)]
    fn handle(&mut self) -> <Self::Driver as Driver>::Handle<'_>;

    #[doc(hidden)]
    fn session(&mut self) -> impl Session;

    #[doc(hidden)]
    fn commit(self) -> impl Future<Output = Result<(), DatabaseError>> + Send;

    #[doc(hidden)]
    fn roll_back(self) -> impl Future<Output = Result<(), DatabaseError>> + Send;
}

/// A driver's statements inside a transaction.
pub trait Session: Send {
    #[doc(hidden)]
    fn insert(&mut self, mark: &Mark) -> impl Future<Output = Result<u64, DatabaseError>> + Send;

    #[doc(hidden)]
    fn look_up(
        &mut self,
        mark: &Mark,
    ) -> impl Future<Output = Result<Option<Option<Vec<u8>>>, DatabaseError>> + Send;

    #[doc(hidden)]
    fn extend(&mut self, mark: &Mark) -> impl Future<Output = Result<(), DatabaseError>> + Send;

    #[doc(hidden)]
    fn insert_call(&mut self, row: &Staged) -> impl Future<Output = Result<(), DatabaseError>> + Send;

    #[doc(hidden)]
    fn swap_lock_timeout(&mut self, to: String)
    -> impl Future<Output = Result<String, DatabaseError>> + Send;

    #[doc(hidden)]
    fn batch(&mut self, sql: String) -> impl Future<Output = Result<(), DatabaseError>> + Send;
}

/// [`crate::database::Transaction::claim`] on any session.
pub(crate) fn claiming<'t>(mut session: impl Session + 't, mark: Mark) -> Pending<'t, Claim> {
    Box::pin(async move { Ok(claim(&mut session, &mark).await?) })
}

/// [`crate::database::Transaction::once`] on any session.
pub(crate) fn opening<'t>(mut session: impl Session + 't, mark: Result<Mark, Invalid>) -> Pending<'t, bool> {
    Box::pin(async move { Ok(claim(&mut session, &mark?).await? == Claim::First) })
}

/// [`crate::database::Transaction::stage`] on any session.
pub(crate) fn staging<'t>(mut session: impl Session + 't, row: Staged) -> Pending<'t, ()> {
    Box::pin(async move {
        row.check()?;
        Ok(session.insert_call(&row).await?)
    })
}

/// Claims the event, or reports the row that was there.
pub(crate) async fn claim<S: Session>(session: &mut S, mark: &Mark) -> Result<Claim, DatabaseError> {
    for _ in 0..CLAIM_ATTEMPTS_MAX {
        if session.insert(mark).await? == 1 {
            return Ok(Claim::First);
        }
        if let Some(stored) = session.look_up(mark).await? {
            if mark.extends() {
                session.extend(mark).await?;
            }
            return Ok(mark.against(stored.as_deref()));
        }
        // The row was purged between the two statements, so it can be claimed now.
    }
    Err(vanished())
}

/// A claim that neither succeeded nor found the row that prevented it.
pub(crate) fn vanished() -> DatabaseError {
    DatabaseError {
        trouble: Trouble::Busy,
        source: "the row of this event was repeatedly deleted by a purge".into(),
    }
}

/// The meaning of a server error; `None` is a connection error.
pub(crate) fn trouble(state: Option<&str>) -> Trouble {
    let Some(state) = state else {
        return Trouble::Unavailable;
    };
    match (state.get(..2).unwrap_or_default(), state) {
        (_, "55P03") => Trouble::Busy,
        (_, "40001" | "40P01") => Trouble::Victim,
        ("08" | "53" | "58" | "XX", _) | (_, "25006" | "57P01" | "57P02" | "57P03" | "57P05") => {
            Trouble::Unavailable
        }
        (_, _) => Trouble::Refused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_may_pass_is_worth_another_try() {
        for (state, expected) in [
            (Some("55P03"), Trouble::Busy),
            (Some("40001"), Trouble::Victim),
            (Some("40P01"), Trouble::Victim),
            (Some("57P01"), Trouble::Unavailable),
            (Some("08006"), Trouble::Unavailable),
            (Some("XX000"), Trouble::Unavailable),
            (None, Trouble::Unavailable),
            (Some("23505"), Trouble::Refused),
            (Some("42P01"), Trouble::Refused),
        ] {
            assert_eq!(trouble(state), expected, "{state:?}");
        }
    }
}
