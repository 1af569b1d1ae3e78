//! Operating: pauses, the audit trail, dead letters, and the probe.

use hapax_core::store::{AuditEntry, DeadQuery, Disposal, Pause};
use hapax_core::{AttemptOutcome, DeliveryState, DestinationId, ErrorClass, EventId};

use crate::Bench;
use crate::bench::{Must, dead};
use crate::clock::START;

/// A probe succeeds and changes nothing that matters.
pub async fn a_probe_changes_nothing_that_matters(bench: &mut Bench) {
    bench.stored(bench.event("evt_1").to("billing")).await;
    let before = bench.store.counts().await.must();
    bench.store.probe().await.must();
    let after = bench.store.counts().await.must();
    assert_eq!(
        (before.backlog, before.ledger, before.events),
        (after.backlog, after.ledger, after.events)
    );
}

/// Nothing is leased there until it is resumed; other destinations and running deliveries continue.
pub async fn a_paused_destination_gets_nothing_until_it_is_resumed(bench: &mut Bench) {
    for n in 0..2 {
        bench
            .stored(bench.event(&format!("evt_{n}")).to("billing").to("ledger"))
            .await;
    }
    let running = bench.lease("billing").await.must();
    bench.store.pause(pause("billing")).await.must();
    assert!(bench.lease("billing").await.is_none());
    assert_eq!(bench.lease_many("ledger", 10).await.len(), 2, "others continue");
    bench.finished(&running, AttemptOutcome::Completed).await;
    assert!(
        bench.store.resume(&"billing".into()).await.must(),
        "it was paused"
    );
    assert!(
        !bench.store.resume(&"billing".into()).await.must(),
        "it no longer is"
    );
    assert_eq!(bench.lease_many("billing", 10).await.len(), 1);
}

/// Who paused a destination, when and why, survives restarts.
pub async fn pauses_are_remembered_over_a_restart(bench: &mut Bench) {
    assert_eq!(bench.store.pauses().await.must(), []);
    bench.stored(bench.event("evt_1").to("billing")).await;
    bench.store.pause(pause("billing")).await.must();
    bench.store.pause(pause("ledger")).await.must();
    bench.reopen().await;
    let mut pauses = bench.store.pauses().await.must();
    pauses.sort_by(|one, other| one.destination.cmp(&other.destination));
    assert_eq!(pauses, [pause("billing"), pause("ledger")]);
    assert!(bench.lease("billing").await.is_none());
    assert!(bench.store.resume(&"billing".into()).await.must());
    bench.reopen().await;
    assert_eq!(bench.store.pauses().await.must(), [pause("ledger")]);
    assert!(bench.lease("billing").await.is_some());
}

/// Pausing twice is one pause.
pub async fn a_destination_is_paused_once(bench: &mut Bench) {
    bench.store.pause(pause("billing")).await.must();
    bench.store.pause(pause("billing")).await.must();
    assert_eq!(bench.store.pauses().await.must().len(), 1);
    assert!(bench.store.resume(&"billing".into()).await.must());
    assert_eq!(bench.store.pauses().await.must(), []);
}

/// Operators' actions, newest first, at the store's time, in pages, across restarts.
pub async fn the_audit_trail_is_kept_newest_first(bench: &mut Bench) {
    let before = bench.now().await;
    for n in 0..5 {
        bench.store.record(entry(n)).await.must();
        if n == 2 {
            bench.tick().await;
        }
    }
    let after = bench.now().await;
    bench.reopen().await;
    let mut found = Vec::new();
    let mut cursor = None;
    loop {
        let (page, next) = bench.store.audit(cursor, 2).await.must();
        assert!(page.len() <= 2);
        found.extend(page);
        cursor = next;
        if cursor.is_none() {
            break;
        }
        bench.store.record(entry(100)).await.must();
    }
    let entries: Vec<_> = found.iter().map(|record| record.entry.clone()).collect();
    assert_eq!(entries, [4, 3, 2, 1, 0].map(entry));
    assert!(
        found
            .iter()
            .all(|record| before <= record.at && record.at <= after)
    );
}

/// Dead letters, newest first, by destination, in pages, as `get` shows them.
pub async fn dead_letters_are_listed_newest_first(bench: &mut Bench) {
    let mut expected = Vec::new();
    for n in 0..5 {
        expected.insert(0, bench.dead(&format!("evt_{n}"), "billing").await);
        bench.tick().await;
    }
    let other = bench.dead("other", "ledger").await;
    bench.completed("fine", "billing").await;
    bench.stored(bench.event("pending").to("billing")).await;
    assert_eq!(
        finished(bench, DeliveryState::Dead, Some("billing"), 2).await,
        expected
    );
    assert_eq!(
        finished(bench, DeliveryState::Dead, Some("ledger"), 2).await,
        [other]
    );
    assert_eq!(finished(bench, DeliveryState::Dead, None, 3).await.len(), 6);
    assert_eq!(finished(bench, DeliveryState::Discarded, None, 3).await, []);
    let query = DeadQuery {
        state: DeliveryState::Dead,
        destination: Some("ledger".into()),
    };
    let (views, next) = bench.store.deliveries(&query, None, 10).await.must();
    assert_eq!(next, None);
    assert_eq!(views[0].error, Some(ErrorClass::Refused));
    assert_eq!(views, [bench.delivery(other, "ledger").await]);
}

/// Discarded and restored; only deliveries in the expected state change.
pub async fn dead_letters_can_be_discarded_and_restored(bench: &mut Bench) {
    let id = bench.dead("evt_1", "billing").await;
    let completed = bench.completed("evt_2", "billing").await;
    let pending = bench.stored(bench.event("evt_3").to("billing")).await;
    let died_at = bench.delivery(id, "billing").await.finished_at;
    let all = || -> Vec<(EventId, DestinationId)> {
        let absent = bench.id();
        [id, completed, pending, absent]
            .map(|id| (id, "billing".into()))
            .to_vec()
    };
    let store = &bench.store;
    assert_eq!(store.dispose(all(), Disposal::Restore).await.must(), 0);
    assert_eq!(store.dispose(all(), Disposal::Discard).await.must(), 1);
    assert_eq!(store.dispose(all(), Disposal::Discard).await.must(), 0);
    assert_eq!(finished(bench, DeliveryState::Discarded, None, 10).await, [id]);
    assert_eq!(finished(bench, DeliveryState::Dead, None, 10).await, []);
    assert_eq!(store.dispose(all(), Disposal::Restore).await.must(), 1);
    assert_eq!(finished(bench, DeliveryState::Dead, None, 10).await, [id]);
    let view = bench.delivery(id, "billing").await;
    assert_eq!(
        (view.state, view.error),
        (DeliveryState::Dead, Some(ErrorClass::Refused))
    );
    assert_eq!(view.finished_at, died_at, "when it died does not change");
    assert_eq!(
        bench.delivery(completed, "billing").await.state,
        DeliveryState::Completed
    );
    assert_eq!(
        bench.lease_many("billing", 10).await.len(),
        1,
        "the pending one is untouched"
    );
}

/// Of an event's deliveries, only the named one changes.
pub async fn a_disposal_is_for_one_destination(bench: &mut Bench) {
    let id = bench.stored(bench.event("evt_1").to("a").to("b")).await;
    bench.run("a", dead()).await;
    bench.run("b", dead()).await;
    bench
        .store
        .dispose(vec![(id, "a".into())], Disposal::Discard)
        .await
        .must();
    assert_eq!(bench.delivery(id, "a").await.state, DeliveryState::Discarded);
    assert_eq!(bench.delivery(id, "b").await.state, DeliveryState::Dead);
}

async fn finished(bench: &Bench, state: DeliveryState, to: Option<&str>, page: u32) -> Vec<EventId> {
    let query = DeadQuery {
        state,
        destination: to.map(DestinationId::from),
    };
    let mut found = Vec::new();
    let mut after = None;
    loop {
        let (views, next) = bench.store.deliveries(&query, after, page).await.must();
        assert!(views.len() <= page as usize);
        assert!(views.iter().all(|view| view.state == state));
        found.extend(views.into_iter().map(|view| view.event));
        after = next;
        if after.is_none() {
            return found;
        }
    }
}

fn pause(destination: &str) -> Pause {
    Pause {
        destination: destination.into(),
        at: START,
        by: "ops".to_owned(),
        why: "an \"upgrade\"; café".to_owned(),
    }
}

fn entry(n: u32) -> AuditEntry {
    AuditEntry {
        who: "ops".to_owned(),
        action: "replay".to_owned(),
        subject: format!("subject {n}"),
        detail: "{\"why\":\"café\"}".to_owned(),
    }
}
