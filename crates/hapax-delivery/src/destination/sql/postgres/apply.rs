//! Applies events in a transaction: first the claims, then the statements of the new events, then the commit.

use std::time::Duration;

use futures_util::future::join;
use tokio_postgres::IsolationLevel;

use super::super::failure::{Broken, Kind};
use super::super::outcome::Outcome;
use super::super::parts::Patience;
use super::super::{Job, Plan};
use super::link::Link;
use super::one_by_one;

/// The longest wait for a lock while other events wait: a locked event must not hold them up.
const SHORT_LOCK_TIMEOUT: Duration = Duration::from_secs(1);

impl Link {
    /// Applies all events or none. A statement error of a single event counts only if it recurs after the tables were
    /// examined again.
    pub(super) async fn apply(&mut self, jobs: &[Job], patience: Patience) -> Result<Vec<Outcome>, Broken> {
        match self.together(jobs, patience).await {
            Err(broken) if jobs.len() == 1 && broken.failure.kind == Kind::Statement => {
                self.refresh().await?;
                self.together(jobs, patience).await
            }
            applied => applied,
        }
    }

    async fn together(&mut self, jobs: &[Job], patience: Patience) -> Result<Vec<Outcome>, Broken> {
        let plan = std::sync::Arc::clone(&self.plan);
        let limits = limits(&plan, patience);
        let is_deferrable = self.seen.is_deferrable;
        let (client, runner) = self.parts();
        let transaction = client
            .build_transaction()
            .isolation_level(IsolationLevel::ReadCommitted)
            .start()
            .await?;
        let (limited, claims) = join(
            transaction.batch_execute(&limits),
            runner.claim(&transaction, jobs),
        )
        .await;
        limited?;
        let mut outcomes: Vec<Option<Outcome>> = claims?.into_iter().map(Outcome::of_claim).collect();
        let new: Vec<usize> = (0..outcomes.len())
            .filter(|number| outcomes[*number].is_none())
            .collect();
        let runs = new.iter().map(|number| runner.run(&transaction, &jobs[*number]));
        // The first failure is the reason; later ones only say that something had failed.
        for (number, rows) in new.iter().zip(one_by_one::join(runs.collect()).await) {
            let rows = rows.map_err(|failure| failure.at(*number))?;
            outcomes[*number] = Some(Outcome::Applied(rows));
        }
        if is_deferrable {
            // Deferred constraints run now, while `statement_timeout` applies: it does not apply to COMMIT.
            transaction.batch_execute("SET CONSTRAINTS ALL IMMEDIATE").await?;
        }
        // After a failure here it is unknown whether the transaction was committed. The inbox tells the next attempt.
        fail::fail_point!("sql.before_commit");
        transaction.commit().await?;
        fail::fail_point!("sql.after_commit");
        Ok(outcomes.into_iter().flatten().collect())
    }
}

/// Set in the transaction, not in the session: a pooler shares sessions.
fn limits(plan: &Plan, patience: Patience) -> String {
    let (whole, statement) = (plan.timeout, plan.statement_timeout(patience));
    let lock = match patience {
        Patience::Full => whole,
        Patience::Short => statement.min(SHORT_LOCK_TIMEOUT),
    };
    format!(
        "SET LOCAL statement_timeout = {}; SET LOCAL lock_timeout = {}; \
         SET LOCAL idle_in_transaction_session_timeout = {}",
        statement.as_millis(),
        lock.as_millis(),
        whole.as_millis()
    )
}
