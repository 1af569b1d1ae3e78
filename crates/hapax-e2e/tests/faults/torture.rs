//! Torture on a real cluster of six: many events, each delivered one to five times to two replicas of Hapax, while a
//! master is killed and its replica takes over, and while slots move from one master to another.
//!
//! ```text
//! crowd ──► two replicas ──► app, later    every event is finally answered 2xx; both record its effect
//!               └──► cluster               three masters with a replica each, AOF always, `redis = { wait = 1 }`
//! ```

mod crowd;
mod site;
mod slots;

use std::time::{Duration, Instant};

use super::report::{self, Line};
use crowd::{Crowd, Tally};
use hapax_testkit::scaled;
use site::{Effects, Site};

/// Events of the run with the killed master.
const EVENTS: usize = 20_000;
/// The fewest events of the run with the moving slots, which lasts as long as they move; `./test` runs a part of them.
const EVENTS_MOVED_MAX: usize = 12_000;
/// Slots that are moved.
const SLOTS_MOVED: usize = 3;
/// How long a client waits for a response: as long as GitHub does.
const TIMEOUT: Duration = Duration::from_secs(10);
/// A short lease, so that deliveries which lost their worker in a failover are soon taken over.
const SHORT: &str = "max_attempts = 100\nlease = \"6s\"\ntimeout = \"5s\"";
/// A long lease: nothing is taken over while a slot moves.
const LONG: &str = "max_attempts = 100\nlease = \"120s\"\ntimeout = \"5s\"";
const STORE: &str = "Redis Cluster, two replicas";

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_answered_2xx_is_lost_when_a_master_is_killed_and_its_replica_takes_over() {
    let site = Site::start(SHORT).await;
    let crowd = Crowd::start(EVENTS, &site.addresses());
    crowd.until_durable(EVENTS / 4).await;
    site.pause().await;
    crowd.until_durable(EVENTS / 2).await;
    let held = site.held(EVENTS / 2);
    assert!(held > EVENTS / 8, "only {held} deliveries could be lost");
    let begun = Instant::now();
    let killed = site.cluster.kill_master(1).unwrap();
    site.until_agreed();
    let promoted = begun.elapsed().as_secs_f64();
    // The new master has no replica: writes that must reach one are refused until the old master is back as its
    // replica.
    crowd.until_refused().await;
    site.restart(killed);
    site.resume().await;
    let tally = crowd.end().await;
    let effects = site.until_worked_off(EVENTS).await;
    let waited = tally.longest_wait().as_secs_f64();
    let fault = format!(
        "a master killed, its replica promoted after {promoted:.1} s, longest wait for a 2xx {waited:.1} s"
    );
    report(&fault, 1, &tally, &effects);
    assert!(
        effects.lost.is_empty(),
        "answered 2xx and lost: {:?}",
        effects.lost
    );
    tally.assert_within(TIMEOUT);
    site.assert_whole();
    site.assert_duplicates_are_known(EVENTS).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn slots_that_move_to_another_master_under_load_lose_and_double_nothing() {
    let site = Site::start(LONG).await;
    let events = scaled(EVENTS_MOVED_MAX);
    let crowd = Crowd::endless(&site.addresses());
    crowd.until_durable(events / 10).await;
    let moved = slots::move_some(&site.cluster, SLOTS_MOVED, &crowd).await;
    assert_eq!(moved, SLOTS_MOVED);
    crowd.until_durable(events).await;
    crowd.stop();
    let tally = crowd.end().await;
    let effects = site.until_worked_off(tally.events()).await;
    report("slots moved to another master", moved, &tally, &effects);
    assert!(
        effects.lost.is_empty(),
        "answered 2xx and lost: {:?}",
        effects.lost
    );
    assert_eq!((effects.doubled, effects.keys), (0, 0));
    tally.assert_within(TIMEOUT);
    site.assert_whole();
    site.assert_duplicates_are_known(tally.events()).await;
}

fn report(fault: &str, injected: usize, tally: &Tally, effects: &Effects) {
    println!("{tally}");
    println!("{effects}");
    report::write_line(&Line {
        fault,
        store: STORE,
        injected,
        events: tally.events(),
        answers: tally.answers(),
        attempts: effects.attempts,
        lost: effects.lost.len(),
        doubled: effects.doubled,
        keys: effects.keys,
        backwards: None,
    });
}
