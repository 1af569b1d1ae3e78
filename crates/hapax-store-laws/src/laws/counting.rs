//! Statuses and counts follow from the states of deliveries.

use std::time::Duration;

use hapax_core::store::{Disposal, EventQuery, ReplayMode, ReplayOrder, ReplayTarget};
use hapax_core::{AttemptOutcome, DeliveryState, EventId, EventStatus};

use crate::Bench;
use crate::bench::{LONG, Must, again, dead};

/// An event's status follows from its deliveries, in `get` and in `list`.
pub async fn a_status_follows_from_the_deliveries(bench: &mut Bench) {
    let id = bench.stored(bench.event("evt_1").to("a").to("b")).await;
    has_status(bench, id, EventStatus::Pending).await;
    bench.run("a", again()).await;
    has_status(bench, id, EventStatus::Failed).await;
    let second = bench.lease("a").await.must();
    has_status(bench, id, EventStatus::Failed).await;
    bench.finished(&second, AttemptOutcome::Release).await;
    has_status(bench, id, EventStatus::Failed).await;
    bench.run("a", dead()).await;
    has_status(bench, id, EventStatus::Pending).await;
    bench.run("b", AttemptOutcome::Completed).await;
    has_status(bench, id, EventStatus::Dead).await;
    bench
        .store
        .dispose(vec![(id, "a".into())], Disposal::Discard)
        .await
        .must();
    has_status(bench, id, EventStatus::Completed).await;
    bench.replay(id, ReplayMode::Failed).await;
    has_status(bench, id, EventStatus::Pending).await;
    bench.run("a", AttemptOutcome::Completed).await;
    has_status(bench, id, EventStatus::Completed).await;
    let ignored = bench.stored(bench.event("evt_2")).await;
    has_status(bench, ignored, EventStatus::Ignored).await;
}

/// An event without its own id is quarantined until it is sent somewhere.
pub async fn an_event_without_an_id_is_quarantined_until_it_is_sent_somewhere(bench: &mut Bench) {
    let id = bench.stored(bench.event("unidentified:00ff")).await;
    has_status(bench, id, EventStatus::Quarantined).await;
    let order = ReplayOrder {
        event: id,
        mode: ReplayMode::All,
        to: Some(ReplayTarget {
            destination: "billing".into(),
            lane: None,
        }),
        job: None,
    };
    bench.store.replay(vec![order]).await.must();
    has_status(bench, id, EventStatus::Pending).await;
    bench.run("billing", AttemptOutcome::Completed).await;
    has_status(bench, id, EventStatus::Completed).await;
}

/// A lost or merely running lease is not a failure.
pub async fn a_lost_lease_is_not_a_failed_attempt(bench: &mut Bench) {
    let id = bench.stored(bench.event("evt_1").to("billing")).await;
    bench.lease_briefly("billing").await;
    has_status(bench, id, EventStatus::Pending).await;
    bench.expire().await;
    bench.rescue().await;
    has_status(bench, id, EventStatus::Pending).await;
}

/// Counts of unfinished deliveries and dead letters, by destination and state.
pub async fn counts_say_how_much_there_is_of_each_state(bench: &mut Bench) {
    assert_eq!(bench.store.counts().await.must().events, 0);
    for n in 0..6 {
        bench
            .stored(bench.event(&format!("evt_{n}")).to("billing").to("ledger"))
            .await;
        bench.tick().await;
    }
    bench.run("billing", AttemptOutcome::Completed).await;
    bench.run("billing", dead()).await;
    let discarded = bench.run("billing", dead()).await;
    bench
        .store
        .dispose(vec![(discarded, "billing".into())], Disposal::Discard)
        .await
        .must();
    bench.run("billing", AttemptOutcome::Retry { after: LONG }).await;
    bench.lease("billing").await.must();
    assert_eq!(count(bench, "billing", DeliveryState::Pending).await, 1);
    assert_eq!(count(bench, "billing", DeliveryState::Running).await, 1);
    assert_eq!(count(bench, "billing", DeliveryState::Retrying).await, 1);
    assert_eq!(count(bench, "billing", DeliveryState::Dead).await, 1);
    assert_eq!(count(bench, "ledger", DeliveryState::Pending).await, 6);
    assert_eq!(bench.store.counts().await.must().events, 6);
}

/// The oldest delivery of each state is reported by its acceptance time.
pub async fn counts_name_the_oldest(bench: &mut Bench) {
    let before = bench.now().await;
    let draft = bench.event("old").to("billing").received_at(before);
    bench.stored(draft).await;
    let after = bench.now().await;
    bench.pass(Duration::from_millis(20)).await;
    let draft = bench.event("young").to("billing").received_at(bench.now().await);
    bench.stored(draft).await;
    let counts = bench.store.counts().await.must();
    let row = counts.backlog.iter().find(|row| row.count > 0).must();
    let oldest = row.oldest.must();
    // A store may keep the time of acceptance to the millisecond, in the event's id.
    let tolerance = Duration::from_millis(1);
    assert!(
        before.minus(tolerance) <= oldest && oldest <= after.plus(tolerance),
        "{oldest}"
    );
}

/// The ledger is counted per scope.
pub async fn counts_of_the_ledger_are_by_scope(bench: &mut Bench) {
    for n in 0..3 {
        bench.stored(bench.event_in("shop", &format!("evt_{n}"))).await;
    }
    bench.stored(bench.event_in("bank", "evt_0")).await;
    bench.accept(bench.event_in("bank", "evt_0")).await;
    let mut ledger: Vec<_> = bench
        .store
        .counts()
        .await
        .must()
        .ledger
        .into_iter()
        .map(|row| (row.scope.to_string(), row.entries))
        .collect();
    ledger.sort_unstable();
    assert_eq!(ledger, [("bank".to_owned(), 1), ("shop".to_owned(), 3)]);
}

/// While no connection breaks, cached answers stay valid.
pub async fn the_connection_epoch_stays_while_nothing_breaks(bench: &mut Bench) {
    let epoch = bench.store.connection_epoch();
    bench.completed("evt_1", "billing").await;
    assert_eq!(bench.store.connection_epoch(), epoch);
}

async fn has_status(bench: &Bench, id: EventId, status: EventStatus) {
    assert_eq!(bench.record(id).await.status, status);
    for asked in EventStatus::ALL {
        let query = EventQuery {
            status: Some(asked),
            ..EventQuery::default()
        };
        let listed = bench.list(&query, 10).await;
        let found = listed.iter().find(|event| event.id == id);
        assert_eq!(found.is_some(), asked == status, "listed as {asked}, is {status}");
        assert!(listed.iter().all(|event| event.status == asked));
    }
}

async fn count(bench: &Bench, destination: &str, state: DeliveryState) -> u64 {
    let counts = bench.store.counts().await.must();
    let fitting = counts
        .backlog
        .iter()
        .filter(|row| row.destination.as_str() == destination && row.state == state);
    fitting.map(|row| row.count).sum()
}
