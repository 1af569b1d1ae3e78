//! A PostgreSQL target: several workers, each with its own connection.

mod apply;
mod link;
mod one_by_one;
mod purge;
mod value;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hapax_core::Secret;
use hapax_store_postgres::Connector;

use super::failure::{Broken, Failure, Kind};
use super::outcome::{Outcome, tell, tell_all};
use super::parts::{Part, Parts, Patience};
use super::{Desk, Job, Plan, waiting};
use hapax_config::destination::sql::Sql;
use link::Link;
use purge::Purge;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

struct Target {
    plan: Arc<Plan>,
    connector: Connector,
    /// Whether statements are prepared. Not behind a pooler that gives every transaction another session.
    prepares: AtomicBool,
    /// Held by the worker that purges: only one does at a time.
    purge: tokio::sync::Mutex<Purge>,
}

/// Starts the workers; they end when the last sender of the desk is dropped.
pub(super) fn start(url: &Secret, plan: &Arc<Plan>, desk: &Desk, connections: u32) -> Result<(), String> {
    let target = Arc::new(Target {
        plan: Arc::clone(plan),
        connector: Connector::new(url, CONNECT_TIMEOUT, plan.timeout)?,
        prepares: AtomicBool::new(true),
        purge: tokio::sync::Mutex::default(),
    });
    for _ in 0..connections {
        tokio::spawn(work(Arc::clone(&target), Arc::clone(desk)));
    }
    Ok(())
}

/// Whether the database is reachable and accepts the statements; none of them is run.
pub(super) async fn probe(sql: &Sql, url: &Secret) -> Result<(), String> {
    let plan = Arc::new(Plan::new(&"doctor".into(), CONNECT_TIMEOUT, sql)?);
    let target = Target {
        connector: Connector::new(url, CONNECT_TIMEOUT, CONNECT_TIMEOUT)?,
        plan,
        prepares: AtomicBool::new(true),
        purge: tokio::sync::Mutex::default(),
    };
    match Link::open(&target).await {
        Ok(_) => Ok(()),
        Err(failure) => Err(failure.message),
    }
}

async fn work(target: Arc<Target>, desk: Desk) {
    let mut place = None;
    loop {
        let mut jobs = Vec::new();
        let taken = desk
            .lock()
            .await
            .recv_many(&mut jobs, target.plan.pace.together())
            .await;
        if taken == 0 {
            return;
        }
        apply_all(&target, &mut place, (jobs, &desk)).await;
        purge::purge(&target, &mut place, &desk).await;
    }
}

/// Applies events: together if that succeeds, otherwise in parts, so that one that fails does not affect the others.
async fn apply_all(target: &Target, place: &mut Option<Link>, (jobs, desk): (Vec<Job>, &Desk)) {
    let mut parts = Parts::new(jobs);
    let (mut is_whole, mut has_looked) = (true, false);
    while let Some(Part { jobs, patience }) = parts.next(Job::is_waited_for) {
        // Only once, so that the slow one gets its turn.
        if patience == Patience::Full && !is_whole && !std::mem::replace(&mut has_looked, true) {
            parts.put_before(Part { jobs, patience }, waiting(desk));
            continue;
        }
        let link = match place.take().filter(Link::is_usable) {
            Some(link) => link,
            None => match Link::open(target).await {
                Ok(link) => link,
                // This failure is not about any of the events.
                Err(failure) => {
                    return tell_all(jobs.into_iter().chain(parts.rest()), &failure);
                }
            },
        };
        let link = place.insert(link);
        let started = Instant::now();
        let applied = apply(target, link, &jobs, patience).await;
        // A part of a failed transaction is small and says nothing about the pace.
        if std::mem::take(&mut is_whole) {
            target.plan.pace.took(started.elapsed(), jobs.len());
        }
        match applied {
            Ok(outcomes) => {
                for (job, outcome) in jobs.into_iter().zip(outcomes) {
                    tell(job, outcome.answer());
                }
            }
            Err(broken) => {
                if broken.failure.loses_the_link() {
                    *place = None;
                }
                let is_over = broken.at.is_none() && started.elapsed() >= target.plan.timeout;
                match broken.failure.kind {
                    Kind::Unprepared => {
                        note_pooler(target);
                        parts.put_back(Part { jobs, patience });
                    }
                    // Its time is up, and so is that of all the others.
                    Kind::Timeout if is_over => tell_all(jobs, &broken.failure),
                    Kind::Connection | Kind::Timeout | Kind::Contention | Kind::Statement => {
                        if let Some(jobs) = parts.failed(Part { jobs, patience }, &broken) {
                            tell_all(jobs, &broken.failure);
                        }
                    }
                }
            }
        }
    }
}

/// Runs one transaction within its time limit.
async fn apply(
    target: &Target,
    link: &mut Link,
    jobs: &[Job],
    patience: Patience,
) -> Result<Vec<Outcome>, Broken> {
    let limit = target.plan.timeout;
    let applied = tokio::time::timeout(limit, link.apply(jobs, patience))
        .await
        .unwrap_or_else(|_| {
            let message = format!("the transaction did not finish within {} ms", limit.as_millis());
            Err(Failure::timeout(message).into())
        });
    applied.map_err(|broken| Broken {
        failure: link.explain(broken.failure),
        ..broken
    })
}

fn note_pooler(target: &Target) {
    if target.prepares.swap(false, Ordering::AcqRel) {
        tracing::info!(
            delivery = target.plan.inbox.consumer(),
            "the target's pooler does not keep prepared statements; each statement is sent in full every time"
        );
    }
}
