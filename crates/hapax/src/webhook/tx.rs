//! The transaction as an extractor, for handlers behind [`super::InboxLayer`].

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use axum_core::extract::FromRequestParts;
use axum_core::response::{IntoResponse, Response};
use http::request::Parts;
use sqlx::{PgConnection, Postgres, Transaction as SqlxTransaction};
use tokio::sync::{Mutex, OwnedMappedMutexGuard, OwnedMutexGuard};

use crate::answer::{Answer, Code};
use crate::claim::{Claim, Mark};
use crate::database::{Transaction, sealed};
use crate::driver::postgres::{self, Pending};
use crate::error::Invalid;
use crate::staged::{Origin, Staged};

/// The open transaction of the event that is being handled. It dereferences to `PgConnection`, accepts staged calls
/// ([`crate::outbox::stage`]), and is committed by the layer when the handler answers 2xx.
///
/// Drop it before the handler returns: a `Tx` that outlives the handler, in a task or in a streamed body, is rolled
/// back.
#[derive(Debug)]
pub struct Tx(OwnedMappedMutexGuard<Option<Work>, Work>);

/// The transaction in progress.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) transaction: SqlxTransaction<'static, Postgres>,
    pub(super) origin: Origin,
    pub(super) staged: u32,
}

/// Where the layer stores the transaction and takes it back.
#[derive(Clone, Debug)]
pub(super) struct Slot(Arc<Mutex<Option<Work>>>);

impl Slot {
    pub(super) fn new(work: Work) -> Self {
        Self(Arc::new(Mutex::new(Some(work))))
    }

    /// The transaction, unless it is still in use.
    pub(super) fn take(&self) -> Option<SqlxTransaction<'static, Postgres>> {
        let work = self.0.try_lock().ok()?.take()?;
        Some(work.transaction)
    }
}

/// Why `Tx` could not be extracted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoTransaction {
    /// The route is not behind the layer.
    #[error("this route has no transaction; put it behind `InboxLayer`")]
    NoLayer,
    /// The handler extracted it before.
    #[error("the transaction of this request was extracted before; extract `Tx` only once")]
    Taken,
}

impl IntoResponse for NoTransaction {
    fn into_response(self) -> Response {
        Answer::problem(Code::HandlerFailed, &self.to_string()).into_response()
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Tx {
    type Rejection = NoTransaction;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, NoTransaction> {
        let Slot(slot) = parts.extensions.get().ok_or(NoTransaction::NoLayer)?;
        let guard = Arc::clone(slot)
            .try_lock_owned()
            .map_err(|_| NoTransaction::Taken)?;
        let held = OwnedMutexGuard::try_map(guard, Option::as_mut).map_err(|_| NoTransaction::Taken)?;
        Ok(Self(held))
    }
}

impl Deref for Tx {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        &self.0.transaction
    }
}

impl DerefMut for Tx {
    fn deref_mut(&mut self) -> &mut PgConnection {
        &mut self.0.transaction
    }
}

impl sealed::Sealed for Tx {}

impl Transaction for Tx {
    type Answer<'t, T: Send + 't>
        = Pending<'t, T>
    where
        Self: 't;

    fn claim(&mut self, mark: Mark) -> Pending<'_, Claim> {
        postgres::claiming(&mut **self, mark)
    }

    fn once(&mut self, mark: Result<Mark, Invalid>) -> Pending<'_, bool> {
        postgres::opening(&mut **self, mark)
    }

    fn stage(&mut self, row: Staged) -> Pending<'_, ()> {
        let work = &mut *self.0;
        let number = work.staged;
        work.staged += 1;
        let row = row.from(&work.origin, number);
        postgres::staging(&mut *work.transaction, row)
    }
}
