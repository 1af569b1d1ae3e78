//! Shared by both PostgreSQL drivers: how a transaction begins and ends, and the claim.

use std::future::Future;
use std::pin::Pin;

use super::Driver;
use crate::claim::{Claim, Mark};
use crate::database::sealed;
use crate::error::{DatabaseError, Error, Invalid, Trouble};
use crate::limits::CLAIM_ATTEMPTS_MAX;
use crate::staged::Staged;

/// An asynchronous result.
pub(crate) type Pending<'t, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 't>>;

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
    if let Some(bound) = &mark.bound
        && claim_row(session, bound).await? == Claim::OtherBody
    {
        return Ok(Claim::OtherBody);
    }
    claim_row(session, mark).await
}

async fn claim_row<S: Session>(session: &mut S, mark: &Mark) -> Result<Claim, DatabaseError> {
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
