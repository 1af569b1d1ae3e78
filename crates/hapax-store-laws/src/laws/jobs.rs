//! Replay jobs: stored jobs that resume after a restart and stop when cancelled.

use std::time::Duration;

use hapax_core::store::{
    BodyTerm, Driver, DuplicateCount, EventQuery, Has, ReplayJob, ReplayJobId, ReplayJobState, ReplayMode,
    ReplayTally,
};
use hapax_core::{ErrorClass, EventStatus, Owner};

use crate::Bench;
use crate::bench::Must;
use crate::clock::START;

/// The driver, where it does not matter.
const ONE: Driver = Driver {
    owner: Owner(1),
    lease_for: Duration::from_secs(60),
};

/// A job is returned as it was created, across restarts.
pub async fn a_job_is_kept_over_a_restart(bench: &mut Bench) {
    let job = job(bench);
    bench.store.create_replay(job.clone()).await.must();
    bench.reopen().await;
    assert_eq!(bench.store.replay_job(job.id).await.must(), Some(job.clone()));
    assert_eq!(bench.store.unfinished_replays().await.must(), [job]);
    assert_eq!(bench.store.replay_job(ReplayJobId(bench.id())).await.must(), None);
}

/// Progress is stored, across restarts; a finished job is not listed as unfinished.
pub async fn a_job_advances_to_its_end(bench: &mut Bench) {
    let mut job = job(bench);
    bench.store.create_replay(job.clone()).await.must();
    job.cursor = Some(u64::MAX >> 1);
    job.tally.replayed = 40;
    assert!(bench.store.advance_replay(&job, ONE).await.must());
    bench.reopen().await;
    assert_eq!(bench.store.unfinished_replays().await.must(), [job.clone()]);
    job.state = ReplayJobState::Done;
    assert!(bench.store.advance_replay(&job, ONE).await.must());
    assert_eq!(bench.store.unfinished_replays().await.must(), []);
    assert_eq!(bench.store.replay_job(job.id).await.must(), Some(job.clone()));
    assert!(!bench.store.cancel_replay(job.id).await.must(), "it has ended");
    assert_eq!(
        bench.store.replay_job(job.id).await.must().must().state,
        ReplayJobState::Done
    );
}

/// Once a job is cancelled, no progress is stored: the worker learns that it must stop.
pub async fn a_cancelled_job_does_not_advance(bench: &mut Bench) {
    let mut job = job(bench);
    bench.store.create_replay(job.clone()).await.must();
    assert!(bench.store.cancel_replay(job.id).await.must(), "it was running");
    assert!(!bench.store.cancel_replay(job.id).await.must(), "it no longer is");
    job.tally.replayed = 99;
    for state in [ReplayJobState::Running, ReplayJobState::Done] {
        job.state = state;
        assert!(!bench.store.advance_replay(&job, ONE).await.must());
    }
    bench.reopen().await;
    let kept = bench.store.replay_job(job.id).await.must().must();
    assert_eq!(kept.state, ReplayJobState::Cancelled);
    assert_ne!(kept.tally.replayed, 99);
    assert_eq!(bench.store.unfinished_replays().await.must(), []);
}

/// A job that was never created can neither advance nor be cancelled.
pub async fn an_unknown_job_is_not_made_up(bench: &mut Bench) {
    let job = job(bench);
    assert!(!bench.store.advance_replay(&job, ONE).await.must());
    assert!(!bench.store.cancel_replay(job.id).await.must());
    assert_eq!(bench.store.replay_job(job.id).await.must(), None);
}

/// One driver holds a job until its claim expires without renewal. Its writes do not count after another driver has
/// claimed the job. Nobody holds a finished job.
pub async fn a_job_is_driven_by_one_at_a_time(bench: &mut Bench) {
    let mut job = job(bench);
    bench.store.create_replay(job.clone()).await.must();
    let other = Driver {
        owner: Owner(2),
        ..ONE
    };
    assert_eq!(
        bench.store.claim_replay(job.id, ONE).await.must(),
        Some(job.clone())
    );
    assert_eq!(bench.store.claim_replay(job.id, other).await.must(), None);
    assert!(
        !bench.store.advance_replay(&job, other).await.must(),
        "not its job"
    );
    job.tally.replayed = 7;
    let shortly = Driver {
        lease_for: bench.short(),
        ..ONE
    };
    assert!(bench.store.advance_replay(&job, shortly).await.must());
    bench.pass(shortly.lease_for).await;
    assert_eq!(
        bench.store.claim_replay(job.id, other).await.must(),
        Some(job.clone())
    );
    assert_eq!(bench.store.claim_replay(job.id, ONE).await.must(), None);
    assert!(!bench.store.advance_replay(&job, ONE).await.must(), "no longer");
    job.state = ReplayJobState::Done;
    assert!(bench.store.advance_replay(&job, other).await.must());
    assert_eq!(bench.store.claim_replay(job.id, other).await.must(), None);
}

/// When a driver releases a job, another can claim it at once.
pub async fn a_job_that_is_given_up_is_free(bench: &mut Bench) {
    let job = job(bench);
    bench.store.create_replay(job.clone()).await.must();
    assert!(bench.store.claim_replay(job.id, ONE).await.must().is_some());
    let given_up = Driver {
        lease_for: Duration::ZERO,
        ..ONE
    };
    assert!(bench.store.claim_replay(job.id, given_up).await.must().is_some());
    let other = Driver {
        owner: Owner(2),
        ..ONE
    };
    assert_eq!(bench.store.claim_replay(job.id, other).await.must(), Some(job));
}

/// Jobs that share a destination run one after another, oldest first, whichever driver holds them.
pub async fn jobs_that_share_a_destination_run_one_after_another(bench: &mut Bench) {
    let early = ReplayJobId(bench.id());
    let mut made = Vec::new();
    for to in [Some("billing"), Some("billing"), Some("stock"), None] {
        let job = ReplayJob {
            to: to.map(Into::into),
            ..job(bench)
        };
        bench.store.create_replay(job.clone()).await.must();
        made.push(job);
        bench.tick().await;
    }
    let driver = |owner| Driver {
        owner: Owner(owner),
        ..ONE
    };
    let claim = async |number: usize, owner| {
        let claimed = bench.store.claim_replay(made[number].id, driver(owner)).await;
        claimed.must().is_some()
    };
    assert!(!claim(1, 2).await, "an older one waits");
    assert!(claim(0, 1).await);
    assert!(!claim(1, 2).await, "an older one is in progress");
    assert!(claim(2, 2).await, "another destination");
    assert!(!claim(3, 3).await, "it reaches every destination");
    let done = |number: usize| ReplayJob {
        state: ReplayJobState::Done,
        ..made[number].clone()
    };
    assert!(bench.store.advance_replay(&done(0), driver(1)).await.must());
    assert!(claim(1, 1).await);
    assert!(bench.store.cancel_replay(made[1].id).await.must());
    assert!(!claim(3, 3).await);
    assert!(bench.store.advance_replay(&done(2), driver(2)).await.must());
    assert!(claim(3, 3).await);
    // An older job that is seen only now does not start alongside one that is in progress.
    let late = ReplayJob {
        id: early,
        ..job(bench)
    };
    bench.store.create_replay(late).await.must();
    assert_eq!(bench.store.claim_replay(early, driver(1)).await.must(), None);
    assert!(claim(3, 3).await, "it continues");
}

pub async fn unfinished_jobs_are_listed_oldest_first(bench: &mut Bench) {
    let mut expected = Vec::new();
    for _ in 0..4 {
        let job = job(bench);
        bench.store.create_replay(job.clone()).await.must();
        expected.push(job);
        bench.tick().await;
    }
    bench.store.cancel_replay(expected.remove(1).id).await.must();
    assert_eq!(bench.store.unfinished_replays().await.must(), expected);
}

/// Every job, finished or not, newest first, page by page.
pub async fn all_jobs_are_listed_newest_first(bench: &mut Bench) {
    let mut expected = Vec::new();
    for number in 0..5 {
        let mut job = job(bench);
        bench.store.create_replay(job.clone()).await.must();
        if number % 2 == 0 {
            job.state = ReplayJobState::Done;
            assert!(bench.store.advance_replay(&job, ONE).await.must());
        }
        expected.insert(0, job);
        bench.tick().await;
    }
    bench.reopen().await;
    let mut found = Vec::new();
    let mut after = None;
    loop {
        let (jobs, next) = bench.store.replay_jobs(after, 2).await.must();
        assert!(jobs.len() <= 2);
        found.extend(jobs);
        after = next;
        if after.is_none() {
            break;
        }
        bench.store.create_replay(job(bench)).await.must();
    }
    assert_eq!(found, expected);
}

fn job(bench: &Bench) -> ReplayJob {
    ReplayJob {
        id: ReplayJobId(bench.id()),
        query: EventQuery {
            source: Some("shop".into()),
            status: Some(EventStatus::Dead),
            event_type: Some("café.*".to_owned()),
            to: Some("billing".into()),
            error: Some(ErrorClass::Timeout),
            duplicates: Some(DuplicateCount { min: 1, max: None }),
            has: Some(Has::Conflict),
            body: vec![BodyTerm {
                pointer: "/id".to_owned(),
                value: "ord_1".to_owned(),
            }],
            since: Some(START),
            ..EventQuery::default()
        },
        mode: ReplayMode::Force,
        to: Some("billing".into()),
        rate_per_second: 50,
        as_of: START,
        cursor: None,
        state: ReplayJobState::Running,
        who: "ops".to_owned(),
        why: "the \"outage\"".to_owned(),
        tally: ReplayTally {
            matched: 1,
            replayed: 2,
            unfinished: 3,
            skipped: 4,
            bodies_read: 5,
        },
    }
}
