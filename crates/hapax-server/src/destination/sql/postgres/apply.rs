//! Applying events in a transaction: the claims first, then the statements of those that are new, then the commit.

use std::time::Duration;

use futures_util::future::join;
use hapax::Event;
use tokio_postgres::{IsolationLevel, Transaction};

use super::super::failure::{Failure, Kind};
use super::super::outcome::Outcome;
use super::super::{Job, Plan};
use super::link::{Link, Runner};
use super::one_by_one;

/// How long events that share a transaction wait for a lock, before each of them runs alone: one that is locked must
/// not hold up the others.
const SHARED_LOCK_TIMEOUT: Duration = Duration::from_secs(1);
/// Rows of the inbox that are removed in one transaction.
const PURGE_ROWS: u32 = 1_000;

impl Link {
    /// All of them, or none: any failure is the whole transaction's.
    pub(super) async fn together(&mut self, jobs: &[Job]) -> Result<Vec<Outcome>, Failure> {
        let plan = std::sync::Arc::clone(&self.plan);
        let limits = limits(&plan, jobs.len());
        let events: Vec<Event> = jobs.iter().map(|job| job.event.clone()).collect();
        let (client, runner) = self.parts();
        let transaction = client
            .build_transaction()
            .isolation_level(IsolationLevel::ReadCommitted)
            .start()
            .await?;
        let (limited, claims) = join(
            transaction.batch_execute(&limits),
            plan.inbox.claim_many(&transaction, &events),
        )
        .await;
        limited?;
        let claims: Vec<Option<Outcome>> = claims?.into_iter().map(Outcome::of_claim).collect();
        let new = jobs.iter().zip(&claims).filter(|(_, claim)| claim.is_none());
        let applied = one_by_one::join(new.map(|(job, _)| runner.run(&transaction, job)).collect()).await;
        let mut applied = applied.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter();
        // After a failure here it is not known whether it was committed. The inbox tells the next attempt.
        fail::fail_point!("sql.before_commit");
        transaction.commit().await?;
        fail::fail_point!("sql.after_commit");
        let outcome = |claim: Option<Outcome>| claim.or_else(|| applied.next().map(Outcome::Applied));
        Ok(claims.into_iter().filter_map(outcome).collect())
    }

    /// Each under a savepoint: one that fails leaves nothing behind, and the others are committed.
    pub(super) async fn apart(&mut self, jobs: &[Job]) -> Result<Vec<Result<Outcome, Failure>>, Failure> {
        let plan = std::sync::Arc::clone(&self.plan);
        let (client, runner) = self.parts();
        let mut transaction = client
            .build_transaction()
            .isolation_level(IsolationLevel::ReadCommitted)
            .start()
            .await?;
        transaction.batch_execute(&limits(&plan, jobs.len())).await?;
        let mut results = Vec::with_capacity(jobs.len());
        for job in jobs {
            let mut savepoint = transaction.savepoint("hapax_event").await?;
            let result = apply_one(&plan, runner, &mut savepoint, job).await;
            match &result {
                Ok(_) => savepoint.commit().await?,
                Err(failure) => match failure.kind {
                    Kind::Statement | Kind::Contention => savepoint.rollback().await?,
                    Kind::Connection | Kind::Timeout | Kind::Unprepared => return Err(failure.clone()),
                },
            }
            results.push(result);
        }
        transaction.commit().await?;
        Ok(results)
    }

    /// Removes what has expired from the inbox, a little at a time.
    pub(super) async fn purge(&self) -> Result<(), Failure> {
        while hapax::inbox::purge(&self.client, PURGE_ROWS).await? >= u64::from(PURGE_ROWS) {}
        Ok(())
    }
}

async fn apply_one(
    plan: &Plan,
    runner: Runner<'_>,
    savepoint: &mut Transaction<'_>,
    job: &Job,
) -> Result<Outcome, Failure> {
    let claim = plan.inbox.claim(savepoint, &job.event).await?;
    match Outcome::of_claim(claim) {
        Some(outcome) => Ok(outcome),
        None => runner.run(savepoint, job).await.map(Outcome::Applied),
    }
}

/// In the transaction and not in the session: behind a pooler, sessions are shared.
fn limits(plan: &Plan, jobs: usize) -> String {
    let timeout = plan.timeout.as_millis();
    let lock_timeout = match jobs {
        0 | 1 => plan.timeout,
        _ => plan.timeout.min(SHARED_LOCK_TIMEOUT),
    };
    format!(
        "SET LOCAL statement_timeout = {timeout}; SET LOCAL lock_timeout = {}; \
         SET LOCAL idle_in_transaction_session_timeout = {timeout}",
        lock_timeout.as_millis()
    )
}
