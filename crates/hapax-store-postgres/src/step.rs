//! Running a step to its end on its own connection, and again where that helps.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::failure::{Failure, Remedy};
use crate::pool::Pool;
use crate::session::{Session, Terms};

/// How many times a step runs when others get in its way.
const TRIES_MAX: u32 = 8;
/// How long a rollback may take before the connection is discarded instead.
const ROLLBACK_TIMEOUT: Duration = Duration::from_secs(2);

/// A step over an input: it begins and commits its own transaction.
pub(crate) type Step<I, O> = for<'a> fn(&'a Session, &'a I) -> BoxFuture<'a, Result<O, Failure>>;

/// What steps run with.
#[derive(Clone)]
pub(crate) struct Runner {
    pub(crate) pool: Arc<Pool>,
    pub(crate) terms: Terms,
    pub(crate) step_timeout: Duration,
}

impl Runner {
    /// Runs a step to its end. It is run again after a deadlock or if rows changed under it.
    pub(crate) async fn run<I, O>(&self, input: &I, step: Step<I, O>) -> Result<O, Failure> {
        let mut tries = 1;
        loop {
            let outcome = self.once(input, step).await;
            match outcome {
                Err(failure) if failure.remedy().is_again() && tries < TRIES_MAX => {
                    tracing::debug!(%failure, tries, "a step is run again");
                    tries += 1;
                    tokio::time::sleep(Duration::from_millis(fastrand::u64(1..=u64::from(tries) * 4))).await;
                }
                other => return other,
            }
        }
    }

    async fn once<I, O>(&self, input: &I, step: Step<I, O>) -> Result<O, Failure> {
        let session = Session::new(self.pool.acquire().await?, &self.pool, self.terms.clone());
        let outcome = tokio::time::timeout(self.step_timeout, step(&session, input))
            .await
            .unwrap_or_else(|_| Err(Failure::Unavailable("the database does not respond".to_owned())));
        let keep = match &outcome {
            Ok(_) => true,
            Err(failure) => match failure.remedy() {
                Remedy::Discard | Remedy::Afresh => false,
                Remedy::Unprepared => {
                    self.pool.stop_preparing();
                    false
                }
                Remedy::Again | Remedy::Bisect | Remedy::Tell => undo(&session).await,
            },
        };
        let (lent, in_transaction) = session.into_parts();
        if keep && !in_transaction {
            self.pool.give_back(lent);
        } else {
            self.pool.discard(lent);
        }
        outcome
    }
}

/// Rolls back. Returns whether the connection is good afterwards.
async fn undo(session: &Session) -> bool {
    matches!(
        tokio::time::timeout(ROLLBACK_TIMEOUT, session.rollback()).await,
        Ok(Ok(()))
    )
}
