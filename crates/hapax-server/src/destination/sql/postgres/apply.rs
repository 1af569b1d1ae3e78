//! Applying events in a transaction: the claims first, then the statements of those that are new, then the commit.

use std::time::Duration;

use futures_util::future::join;

use super::super::Job;
use super::super::failure::{Failure, Kind};
use super::super::outcome::Outcome;
use super::link::Link;
use super::{inbox, one_by_one};

/// How long events that share a transaction wait for a lock, before each of them runs alone: one that is locked must
/// not hold up the others.
const SHARED_LOCK_TIMEOUT: Duration = Duration::from_secs(1);

impl Link {
    /// All of them, or none: any failure is the whole transaction's.
    pub(super) async fn together(&self, jobs: &[Job]) -> Result<Vec<Outcome>, Failure> {
        let lock_timeout = match jobs {
            [_] => self.plan.timeout,
            _ => self.plan.timeout.min(SHARED_LOCK_TIMEOUT),
        };
        let opening = self.begin(lock_timeout);
        let all: Vec<&Job> = jobs.iter().collect();
        let (begun, claims) = join(
            self.client.batch_execute(&opening),
            inbox::claim(&self.client, &self.plan, &all),
        )
        .await;
        begun?;
        let claims = claims?;
        let new = jobs.iter().zip(&claims).filter(|(_, claim)| claim.is_none());
        let applied = one_by_one::join(new.map(|(job, _)| self.run(job)).collect()).await;
        let mut applied = applied.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter();
        self.commit().await?;
        let outcome = |claim: Option<Outcome>| claim.or_else(|| applied.next().map(Outcome::Applied));
        Ok(claims.into_iter().filter_map(outcome).collect())
    }

    /// Each under a savepoint: one that fails leaves nothing behind, and the others are committed.
    pub(super) async fn apart(&self, jobs: &[Job]) -> Result<Vec<Result<Outcome, Failure>>, Failure> {
        self.client
            .batch_execute(&self.begin(SHARED_LOCK_TIMEOUT))
            .await?;
        let mut results = Vec::with_capacity(jobs.len());
        for job in jobs {
            let (saved, result) = join(
                self.client.batch_execute("SAVEPOINT hapax_event"),
                self.apply_one(job),
            )
            .await;
            saved?;
            let end = match &result {
                Ok(_) => "RELEASE SAVEPOINT hapax_event",
                Err(failure) => match failure.kind {
                    Kind::Statement | Kind::Contention => {
                        "ROLLBACK TO SAVEPOINT hapax_event; RELEASE SAVEPOINT hapax_event"
                    }
                    Kind::Connection | Kind::Timeout | Kind::Unprepared => return Err(failure.clone()),
                },
            };
            self.client.batch_execute(end).await?;
            results.push(result);
        }
        self.commit().await?;
        Ok(results)
    }

    /// Removes what has expired from the inbox.
    pub(super) async fn purge(&self) -> Result<(), Failure> {
        inbox::purge(&self.client).await
    }

    async fn apply_one(&self, job: &Job) -> Result<Outcome, Failure> {
        let claims = inbox::claim(&self.client, &self.plan, &[job]).await?;
        match claims.into_iter().next().flatten() {
            Some(outcome) => Ok(outcome),
            None => self.run(job).await.map(Outcome::Applied),
        }
    }

    fn begin(&self, lock_timeout: Duration) -> String {
        let timeout = self.plan.timeout.as_millis();
        // In the transaction and not in the session: behind a pooler, sessions are shared.
        format!(
            "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL statement_timeout = {timeout}; \
             SET LOCAL lock_timeout = {}; SET LOCAL idle_in_transaction_session_timeout = {timeout}",
            lock_timeout.as_millis()
        )
    }

    /// After a failure here it is not known whether it was committed. The inbox tells the next attempt.
    async fn commit(&self) -> Result<(), Failure> {
        self.client.batch_execute("COMMIT").await.map_err(Failure::from)
    }
}
