//! What a handler receives: the transaction, and the event that it applies.

use std::ops::{Deref, DerefMut};

use crate::claim::{Claim, Mark};
use crate::database::{Transaction, sealed};
use crate::driver::Driver;
use crate::error::Invalid;
use crate::staged::{Origin, Staged};

/// The transaction in which a handler applies an event. It dereferences to the type on which the driver runs
/// statements:
///
/// | driver | dereferences to | a statement |
/// |---|---|---|
/// | `Sqlx` | `PgConnection` | `query.execute(&mut *tx)` |
/// | `TokioPostgres` | `tokio_postgres::Transaction` | `tx.execute(…)` |
/// | `Rusqlite` | `rusqlite::Transaction` | `tx.execute(…)` |
///
/// Do not COMMIT or ROLLBACK in it, and do not call other systems over the network. Stage such calls with
/// [`crate::outbox::stage`], which numbers the calls of a run, so that a run after a rollback stages them with the same
/// keys.
#[derive(Debug)]
pub struct Handling<'t, D: Driver> {
    handle: D::Handle<'t>,
    origin: &'t Origin,
    staged: u32,
}

impl<'t, D: Driver> Handling<'t, D> {
    pub(crate) const fn new(handle: D::Handle<'t>, origin: &'t Origin) -> Self {
        Self {
            handle,
            origin,
            staged: 0,
        }
    }
}

impl<'t, D: Driver> Deref for Handling<'t, D> {
    type Target = <D::Handle<'t> as Deref>::Target;

    fn deref(&self) -> &Self::Target {
        &self.handle
    }
}

impl<'t, D: Driver<Handle<'t>: DerefMut>> DerefMut for Handling<'t, D> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.handle
    }
}

impl<D: Driver> sealed::Sealed for Handling<'_, D> {}

impl<'h, D: Driver> Transaction for Handling<'h, D> {
    type Answer<'t, A: Send + 't>
        = <D::Handle<'h> as Transaction>::Answer<'t, A>
    where
        Self: 't;

    fn claim(&mut self, mark: Mark) -> Self::Answer<'_, Claim> {
        self.handle.claim(mark)
    }

    fn once(&mut self, mark: Result<Mark, Invalid>) -> Self::Answer<'_, bool> {
        self.handle.once(mark)
    }

    fn stage(&mut self, row: Staged) -> Self::Answer<'_, ()> {
        let number = self.staged;
        self.staged += 1;
        self.handle.stage(row.from(self.origin, number))
    }
}
