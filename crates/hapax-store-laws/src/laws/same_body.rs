//! Same body: if a source asks for it, an event whose body arrived before under another id waits for an operator.

use std::sync::Arc;
use std::time::Duration;

use hapax_core::store::{
    AcceptRequest, BodyNote, Disposal, EventQuery, Forgotten, PurgeOrder, ReplayMode, ReplayOrder,
    ReplayTarget, Replayed,
};
use hapax_core::{
    AttemptOutcome, BodyHash, DeliveryState, ErrorClass, EventId, EventStatus, Generation, Identity, OnDead,
};

use crate::bench::{Bench, Draft, LONG, Must};
use crate::clock::START;

const RELEASED: Replayed = Replayed::Again {
    deliveries: 1,
    generation: Generation(0),
};

/// The first runs, the second is held: stored, flagged, shown as held, and never leased.
pub async fn a_body_under_another_id_is_held(bench: &mut Bench) {
    let first = bench.stored(same(bench, "one").to("billing")).await;
    let second = bench
        .stored(same(bench, "two").handed_to("billing", LONG).to("mail"))
        .await;
    assert_eq!(bench.record(first).await.same_body_as, None);
    is_held(bench, second, first).await;
    assert_eq!(bench.lease_many("billing", 10).await.len(), 1);
    assert_eq!(bench.lease_many("mail", 10).await.len(), 0);
    let held = EventQuery {
        status: Some(EventStatus::Held),
        ..EventQuery::default()
    };
    let listed: Vec<EventId> = bench.list(&held, 10).await.iter().map(|one| one.id).collect();
    assert_eq!(listed, [second]);
    let dead = EventQuery {
        status: Some(EventStatus::Dead),
        ..EventQuery::default()
    };
    assert!(
        bench.list(&dead, 10).await.is_empty(),
        "there are no dead letters"
    );
}

/// Two never run: not in one request, not in one batch, and not when many arrive at once.
pub async fn of_one_body_under_many_ids_at_once_one_runs(bench: &mut Bench) {
    let drafts = (0..4).map(|number| same(bench, &format!("together {number}")).to("billing"));
    bench.accept_together(drafts.collect()).await;
    let request = |name: String| AcceptRequest {
        events: vec![same(bench, &name).to("billing").build()],
    };
    let batch = (0..4).map(|number| request(format!("batch {number}"))).collect();
    for answer in bench.store.accept(batch).await {
        answer.must();
    }
    let mut tasks = Vec::new();
    for number in 0..12 {
        let other = bench.event(&format!("race {number}")).body("other").to("race");
        let request = AcceptRequest {
            events: vec![other.holding_same_body().build()],
        };
        let store = Arc::clone(&bench.store);
        tasks.push(tokio::spawn(async move { store.accept(vec![request]).await }));
    }
    for task in tasks {
        task.await.must().remove(0).must();
    }
    assert_eq!(bench.lease_many("billing", 20).await.len(), 1);
    assert_eq!(bench.lease_many("race", 20).await.len(), 1);
}

/// A duplicate is a duplicate, of a running event and of a held one.
pub async fn duplicates_of_a_held_body_are_duplicates(bench: &mut Bench) {
    let first = bench.stored(same(bench, "one").to("billing")).await;
    let second = bench.stored(same(bench, "two").to("billing")).await;
    for (name, id) in [("one", first), ("two", second)] {
        bench.accept(same(bench, name).to("billing")).await;
        assert_eq!(bench.look_up(name).await.must().id, id);
    }
    is_held(bench, second, first).await;
    assert_eq!(bench.lease_many("billing", 10).await.len(), 1);
}

/// Scopes and bodies are separate, and sources that do not ask for it are not affected.
pub async fn only_the_same_body_of_a_scope_is_held(bench: &mut Bench) {
    bench.stored(same(bench, "one").to("billing")).await;
    let unlike = bench.event("unlike").body("unlike").holding_same_body();
    let elsewhere = bench.event_in("bank", "two").body("same").holding_same_body();
    let runs = bench.event("three").body("same");
    for draft in [unlike, elsewhere, runs] {
        let id = bench.stored(draft.to("mail")).await;
        assert_eq!(bench.record(id).await.status, EventStatus::Pending);
    }
    assert_eq!(bench.lease_many("mail", 10).await.len(), 3);
}

/// A body noted after the fact counts, too: a source may start to hold at any time.
pub async fn a_body_that_was_noted_is_held(bench: &mut Bench) {
    let first = bench.event("one").body("same").to("billing").build();
    bench.store.note_bodies(vec![BodyNote::of(&first)]).await.must();
    let id = bench.stored(Draft::from(first)).await;
    let second = bench.stored(same(bench, "two").to("mail")).await;
    is_held(bench, second, id).await;
}

/// It is released once, only by that order; then it runs like any other.
pub async fn a_held_event_runs_once_it_is_released(bench: &mut Bench) {
    bench.stored(same(bench, "one")).await;
    let held = bench.stored(same(bench, "two").to("billing")).await;
    for mode in [ReplayMode::Failed, ReplayMode::All, ReplayMode::Force] {
        assert_eq!(bench.replay(held, mode).await, Replayed::Nothing, "{mode:?}");
    }
    assert_eq!(bench.replay(held, ReplayMode::Held).await, RELEASED);
    assert_eq!(bench.replay(held, ReplayMode::Held).await, Replayed::Unfinished);
    assert_eq!(bench.run("billing", AttemptOutcome::Completed).await, held);
    assert_eq!(bench.record(held).await.status, EventStatus::Completed);
    assert_eq!(bench.replay(held, ReplayMode::Held).await, Replayed::Nothing);
}

/// Releasing affects nothing else.
pub async fn only_what_is_held_is_released(bench: &mut Bench) {
    let dead = bench.dead("dead", "billing").await;
    let done = bench.completed("done", "billing").await;
    for id in [dead, done] {
        assert_eq!(bench.replay(id, ReplayMode::Held).await, Replayed::Nothing);
    }
}

/// A replay of dead letters does not put back a discarded held event; a release does.
pub async fn a_discarded_held_event_stays_so(bench: &mut Bench) {
    bench.stored(same(bench, "one")).await;
    let held = bench.stored(same(bench, "two").to("billing")).await;
    let delivery = vec![(held, "billing".into())];
    let discarded = bench.store.dispose(delivery, Disposal::Discard).await.must();
    assert_eq!(discarded, 1);
    assert_eq!(bench.record(held).await.status, EventStatus::Completed);
    assert_eq!(bench.replay(held, ReplayMode::Failed).await, Replayed::Nothing);
    assert_eq!(bench.replay(held, ReplayMode::Held).await, RELEASED);
}

/// A held event does not block its lane, whatever dead ones do there, and is released at the position of its
/// acceptance.
pub async fn a_held_event_is_in_no_lanes_way(bench: &mut Bench) {
    let in_lane = |name: &str, body: &str| {
        let draft = bench.event(name).body(body.to_owned()).holding_same_body();
        draft.in_lane("orders", "7", OnDead::Hold)
    };
    let first = bench.stored(in_lane("one", "same")).await;
    let held = bench.stored(in_lane("two", "same")).await;
    let third = bench.stored(in_lane("three", "third")).await;
    let fourth = bench.stored(in_lane("four", "fourth")).await;
    assert_eq!(bench.run("orders", AttemptOutcome::Completed).await, first);
    let running = bench.lease("orders").await.must();
    assert_eq!(running.event.id, third);
    assert_eq!(bench.replay(held, ReplayMode::Held).await, RELEASED);
    bench.finished(&running, AttemptOutcome::Completed).await;
    for id in [held, fourth] {
        assert_eq!(bench.run("orders", AttemptOutcome::Completed).await, id);
    }
}

/// A forgotten identity may bring its own body again: that is not another id.
pub async fn a_forgotten_identity_keeps_its_body(bench: &mut Bench) {
    bench.stored(same(bench, "one").to("billing")).await;
    bench.run("billing", AttemptOutcome::Completed).await;
    let identity = Identity::new("shop", "one");
    for generation in [1, 2] {
        let next = Generation(generation);
        assert_eq!(
            bench.store.forget(&identity).await.must(),
            Forgotten::Done { next }
        );
        let again = bench.stored(same(bench, "one").to("billing")).await;
        assert_eq!(bench.run("billing", AttemptOutcome::Completed).await, again);
        let other = bench
            .stored(same(bench, &format!("other {generation}")).to("mail"))
            .await;
        is_held(bench, other, again).await;
    }
}

/// A held event is purged with the dead letters; the claim is purged with the window of the first event's ledger entry.
pub async fn a_held_event_is_kept_as_long_as_a_dead_letter(bench: &mut Bench) {
    bench.stored(same(bench, "one")).await;
    let held = bench.stored(same(bench, "two").to("billing")).await;
    let window = |dead_before| PurgeOrder {
        windows: vec![hapax_core::store::PurgeWindow {
            source: "shop".into(),
            payload_before: START.plus(Duration::from_secs(86_400)),
            dead_before,
        }],
        ledger_before: START,
        limit: 100,
    };
    bench.purge(&window(START)).await;
    is_stored(bench, held, true).await;
    let later = bench.now().await.plus(Duration::from_secs(3_600));
    bench.purge(&window(later)).await;
    is_stored(bench, held, false).await;
}

/// Held events and claims survive a restart.
pub async fn what_is_held_survives_a_restart(bench: &mut Bench) {
    let first = bench.stored(same(bench, "one").to("billing")).await;
    let held = bench.stored(same(bench, "two").to("billing")).await;
    bench.reopen().await;
    is_held(bench, held, first).await;
    let third = bench.stored(same(bench, "three").to("mail")).await;
    is_held(bench, third, first).await;
}

/// A replay to a named destination leaves a held delivery held.
pub async fn a_held_delivery_is_not_replayed_by_its_destination(bench: &mut Bench) {
    bench.stored(same(bench, "one")).await;
    let held = bench.stored(same(bench, "two").to("billing")).await;
    let order = ReplayOrder {
        event: held,
        mode: ReplayMode::All,
        to: Some(ReplayTarget {
            destination: "billing".into(),
            lane: None,
        }),
        job: None,
    };
    assert_eq!(bench.replay_order(order).await, Replayed::Nothing);
}

fn same(bench: &Bench, event_id: &str) -> Draft {
    bench.event(event_id).body("same").holding_same_body()
}

async fn is_held(bench: &Bench, id: EventId, earlier: EventId) {
    let record = bench.record(id).await;
    assert_eq!(
        (record.status, record.same_body_as),
        (EventStatus::Held, Some(earlier))
    );
    assert_eq!(record.event.raw_hash, BodyHash::of(&record.event.body));
    for delivery in &record.deliveries {
        assert_eq!(
            (delivery.state, delivery.error, delivery.attempts),
            (DeliveryState::Dead, Some(ErrorClass::SameBody), 0)
        );
    }
}

async fn is_stored(bench: &Bench, id: EventId, expected: bool) {
    assert_eq!(bench.store.get(id).await.must().is_some(), expected);
}
