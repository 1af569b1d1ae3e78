//! A PostgreSQL target: some workers, each with a connection of its own.

mod apply;
mod link;
mod one_by_one;
mod value;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hapax_core::Secret;
use hapax_store_postgres::Connector;

use super::failure::{Failure, Kind};
use super::outcome::tell;
use super::{Desk, Job, Plan};
use link::Link;

/// How long making a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How often rows that have outlived their time are removed from the inbox, at most.
const PURGE_EVERY: Duration = Duration::from_secs(600);

/// What the workers of one target share.
struct Target {
    plan: Arc<Plan>,
    connector: Connector,
    /// Whether statements are prepared. Not behind a pooler that gives every transaction another session.
    prepares: AtomicBool,
    purged: std::sync::Mutex<Instant>,
}

/// Starts the workers; they end with the last sender of the desk.
pub(super) fn start(url: &Secret, plan: &Arc<Plan>, desk: &Desk, connections: u32) -> Result<(), String> {
    let target = Arc::new(Target {
        plan: Arc::clone(plan),
        connector: Connector::new(url, CONNECT_TIMEOUT, plan.timeout)?,
        prepares: AtomicBool::new(true),
        purged: std::sync::Mutex::new(Instant::now()),
    });
    for _ in 0..connections {
        tokio::spawn(work(Arc::clone(&target), Arc::clone(desk)));
    }
    Ok(())
}

/// Whether the database is there, and takes the statements: none of them is run.
pub(crate) async fn probe(sql: &crate::config::Sql, url: &Secret) -> Result<(), String> {
    let plan = Arc::new(Plan::new(&"doctor".into(), CONNECT_TIMEOUT, sql)?);
    let target = Target {
        connector: Connector::new(url, CONNECT_TIMEOUT, CONNECT_TIMEOUT)?,
        plan,
        prepares: AtomicBool::new(true),
        purged: std::sync::Mutex::new(Instant::now()),
    };
    match Link::open(&target).await {
        Ok(_) => Ok(()),
        Err(failure) => Err(failure.message),
    }
}

async fn work(target: Arc<Target>, desk: Desk) {
    let mut link = None;
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
        // Whoever gave up waiting will come again.
        jobs.retain(|job| !job.answer.is_closed());
        apply_all(&target, &mut link, jobs).await;
    }
}

/// Applies events: together if that goes well, and otherwise so that one that fails does not harm the others.
async fn apply_all(target: &Target, link: &mut Option<Link>, jobs: Vec<Job>) {
    if jobs.is_empty() {
        return;
    }
    let started = Instant::now();
    let count = jobs.len();
    match on_link(target, link, async |link| link.together(&jobs).await).await {
        Ok(outcomes) => {
            target.plan.pace.took(started.elapsed(), count);
            for (job, outcome) in jobs.into_iter().zip(outcomes) {
                tell(job, outcome.answer());
            }
            purge(target, link).await;
        }
        Err(failure) => after_failure(target, link, jobs, &failure).await,
    }
}

async fn after_failure(target: &Target, link: &mut Option<Link>, jobs: Vec<Job>, failure: &Failure) {
    match failure.kind {
        Kind::Unprepared => {
            if target.prepares.swap(false, Ordering::AcqRel) {
                tracing::info!(
                    delivery = target.plan.inbox.consumer(),
                    "the target's pooler does not keep prepared statements; they are sent anew each time"
                );
            }
            Box::pin(apply_all(target, link, jobs)).await;
        }
        Kind::Contention if jobs.len() > 1 => {
            for job in jobs {
                Box::pin(apply_all(target, link, vec![job])).await;
            }
        }
        Kind::Statement if jobs.len() > 1 => apart(target, link, jobs).await,
        Kind::Connection | Kind::Timeout | Kind::Contention | Kind::Statement => {
            for job in jobs {
                tell(job, failure.answer());
            }
        }
    }
}

/// One transaction, and each event under a savepoint of its own.
async fn apart(target: &Target, link: &mut Option<Link>, jobs: Vec<Job>) {
    let results = on_link(target, link, async |link| link.apart(&jobs).await).await;
    match results {
        Ok(results) => {
            for (job, result) in jobs.into_iter().zip(results) {
                let answer = result.map_or_else(|failure| failure.answer(), |outcome| outcome.answer());
                tell(job, answer);
            }
        }
        Err(failure) => {
            for job in jobs {
                tell(job, failure.answer());
            }
        }
    }
}

/// Does something on the worker's connection, which is made if there is none and thrown away if anything is odd: its
/// transaction then ends with it.
async fn on_link<T>(
    target: &Target,
    place: &mut Option<Link>,
    step: impl AsyncFnOnce(&mut Link) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let mut link = match place.take().filter(Link::is_usable) {
        Some(link) => link,
        None => Link::open(target).await?,
    };
    let limit = target.plan.timeout;
    let result = tokio::time::timeout(limit, step(&mut link))
        .await
        .unwrap_or_else(|_| {
            Err(Failure::timeout(format!(
                "the transaction had not ended after {} ms",
                limit.as_millis()
            )))
        });
    let result = result.map_err(|failure| link.explain(failure));
    match &result {
        Ok(_) => *place = Some(link),
        Err(failure) => match failure.kind {
            Kind::Connection | Kind::Timeout | Kind::Unprepared => {}
            // The transaction was rolled back when it was dropped.
            Kind::Contention | Kind::Statement => *place = Some(link),
        },
    }
    result
}

/// Removes what the inbox need not remember any more, now and then, in a transaction of its own.
async fn purge(target: &Target, place: &mut Option<Link>) {
    let due = {
        let mut purged = target
            .purged
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let due = purged.elapsed() >= PURGE_EVERY;
        if due {
            *purged = Instant::now();
        }
        due
    };
    if !due {
        return;
    }
    if let Err(failure) = on_link(target, place, async |link| link.purge().await).await {
        tracing::warn!(
            delivery = target.plan.inbox.consumer(),
            error = failure.message,
            "old rows of hapax_inbox were not removed; it is tried again later"
        );
    }
}
