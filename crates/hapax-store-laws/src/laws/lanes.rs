//! Lanes: one at a time, in order of acceptance, per destination and key.

use std::sync::Arc;

use hapax_core::store::{AcceptRequest, Candidates};
use hapax_core::{AttemptOutcome, DeliveryState, EventId, Lane, OnDead};

use crate::Bench;
use crate::bench::{LONG, Must, again, dead, order};

/// Deliveries behind the head wait, and are shown as waiting.
pub async fn only_the_head_of_a_lane_is_due(bench: &mut Bench) {
    let ids = line(bench, 3, OnDead::Hold).await;
    let leased = bench.lease_many("orders", 10).await;
    assert_eq!(leased.len(), 1);
    assert_eq!(leased[0].event.id, ids[0]);
    let lane = Lane {
        key: "customer".to_owned(),
        on_dead: OnDead::Hold,
    };
    assert_eq!(leased[0].lane, Some(lane));
    for id in &ids[1..] {
        let view = bench.delivery(*id, "orders").await;
        assert_eq!((view.state, view.due_at), (DeliveryState::Pending, None));
        assert_eq!(view.lane.as_deref(), Some("customer"));
    }
}

/// Each completion makes the next one due, in order of acceptance.
pub async fn completion_promotes_the_next_in_order_of_acceptance(bench: &mut Bench) {
    let ids = line(bench, 5, OnDead::Hold).await;
    for id in ids {
        let leased = bench.lease_many("orders", 10).await;
        assert_eq!(leased.len(), 1, "one at a time");
        assert_eq!(leased[0].event.id, id);
        bench.finished(&leased[0], AttemptOutcome::Completed).await;
    }
    assert!(bench.lease("orders").await.is_none());
}

/// The events of one request keep their order.
pub async fn events_of_one_request_keep_their_order_in_a_lane(bench: &mut Bench) {
    let drafts: Vec<_> = (0..8)
        .map(|n| {
            bench
                .event(&format!("item_{n}"))
                .in_lane("orders", "customer", OnDead::Hold)
        })
        .collect();
    let ids: Vec<EventId> = drafts.iter().map(|draft| draft.clone().build().id).collect();
    bench.accept_together(drafts).await;
    for id in ids {
        assert_eq!(bench.run("orders", AttemptOutcome::Completed).await, id);
    }
}

/// A head that fails, waits or is released keeps its position; other keys continue.
pub async fn a_failing_head_blocks_its_own_key_only(bench: &mut Bench) {
    let ids = line(bench, 2, OnDead::Hold).await;
    let other = bench
        .stored(
            bench
                .event("other")
                .in_lane("orders", "another customer", OnDead::Hold),
        )
        .await;
    assert_eq!(
        bench.run("orders", AttemptOutcome::Retry { after: LONG }).await,
        ids[0]
    );
    let leased = bench.lease_many("orders", 10).await;
    assert_eq!(
        leased.iter().map(|leased| leased.event.id).collect::<Vec<_>>(),
        [other]
    );
}

/// A head that is released or retried is still the head.
pub async fn a_head_that_is_tried_again_is_still_the_head(bench: &mut Bench) {
    let ids = line(bench, 2, OnDead::Hold).await;
    assert_eq!(bench.run("orders", again()).await, ids[0]);
    assert_eq!(bench.run("orders", AttemptOutcome::Release).await, ids[0]);
    bench.lease_briefly("orders").await;
    bench.expire().await;
    assert_eq!(bench.rescue().await.len(), 1);
    assert!(
        bench.lease("orders").await.is_none(),
        "the second waits behind a suspect"
    );
    let suspect = bench.lease_briefly("orders").await;
    assert_eq!(suspect.event.id, ids[0]);
    bench.finished(&suspect, AttemptOutcome::Completed).await;
    assert_eq!(bench.run("orders", AttemptOutcome::Completed).await, ids[1]);
}

/// The same key at another destination is another lane.
pub async fn lanes_of_two_destinations_are_independent(bench: &mut Bench) {
    let mut ids = Vec::new();
    for n in 0..2 {
        let draft = bench
            .event(&format!("evt_{n}"))
            .in_lane("orders", "customer", OnDead::Hold)
            .in_lane("stock", "customer", OnDead::Hold);
        ids.push(bench.stored(draft).await);
    }
    assert_eq!(bench.run("orders", dead()).await, ids[0]);
    assert!(bench.lease("orders").await.is_none());
    assert_eq!(bench.run("stock", AttemptOutcome::Completed).await, ids[0]);
    assert_eq!(bench.run("stock", AttemptOutcome::Completed).await, ids[1]);
}

/// Deliveries without a lane are not blocked by those with one, nor by each other.
pub async fn work_without_a_lane_waits_for_nobody(bench: &mut Bench) {
    line(bench, 2, OnDead::Hold).await;
    bench.stored(bench.event("free_1").to("orders")).await;
    bench.stored(bench.event("free_2").to("orders")).await;
    assert_eq!(
        bench.lease_many("orders", 10).await.len(),
        3,
        "the head and the two without a lane"
    );
}

/// While many accept and many work, no lane ever has two running, and none is left behind.
pub async fn a_lane_runs_one_at_a_time_while_many_accept(bench: &mut Bench) {
    const ACCEPTORS: usize = 6;
    const EACH: usize = 8;
    let mut acceptors = Vec::new();
    for acceptor in 0..ACCEPTORS {
        let events: Vec<_> = (0..EACH)
            .map(|n| {
                bench
                    .event(&format!("evt_{acceptor}_{n}"))
                    .in_lane("orders", "customer", OnDead::Hold)
                    .build()
            })
            .collect();
        let store = Arc::clone(&bench.store);
        acceptors.push(tokio::spawn(async move {
            for event in events {
                let request = AcceptRequest { events: vec![event] };
                store.accept(vec![request]).await.remove(0).must();
            }
        }));
    }
    let mut done = Vec::new();
    let mut all_accepted = false;
    loop {
        let leased = bench
            .store
            .lease(order("orders", 10, LONG, Candidates::Fresh))
            .await
            .must()
            .leased;
        assert!(leased.len() <= 1, "one at a time");
        if let Some(leased) = leased.first() {
            assert!(
                bench.lease("orders").await.is_none(),
                "nothing runs alongside the head"
            );
            done.push(leased.event.identity.event_id.clone());
            bench.finished(leased, AttemptOutcome::Completed).await;
        } else if all_accepted {
            break;
        } else {
            all_accepted = acceptors.iter().all(tokio::task::JoinHandle::is_finished);
            tokio::task::yield_now().await;
        }
    }
    for acceptor in acceptors {
        acceptor.await.must();
    }
    assert_eq!(done.len(), ACCEPTORS * EACH, "none is left behind");
    for acceptor in 0..ACCEPTORS {
        let prefix = format!("evt_{acceptor}_");
        let own: Vec<_> = done.iter().filter(|id| id.starts_with(&prefix)).collect();
        assert!(own.is_sorted(), "in order of acceptance: {own:?}");
    }
}

/// Order survives a restart.
pub async fn a_lane_keeps_its_order_over_a_restart(bench: &mut Bench) {
    let ids = line(bench, 3, OnDead::Hold).await;
    assert_eq!(bench.run("orders", AttemptOutcome::Completed).await, ids[0]);
    bench.reopen().await;
    let late = bench
        .stored(bench.event("late").in_lane("orders", "customer", OnDead::Hold))
        .await;
    for id in [ids[1], ids[2], late] {
        assert_eq!(bench.run("orders", AttemptOutcome::Completed).await, id);
    }
}

pub(super) async fn line(bench: &Bench, length: usize, on_dead: OnDead) -> Vec<EventId> {
    let mut ids = Vec::new();
    for n in 0..length {
        let draft = bench
            .event(&format!("evt_{n}"))
            .in_lane("orders", "customer", on_dead);
        ids.push(bench.stored(draft).await);
        bench.tick().await;
    }
    ids
}

/// Due deliveries run one at a time, in this order, and then nothing is due.
pub(super) async fn runs_in_order(bench: &Bench, expected: &[EventId]) {
    for id in expected {
        let leased = bench.lease_many("orders", 10).await;
        let found: Vec<EventId> = leased.iter().map(|leased| leased.event.id).collect();
        assert_eq!(found, [*id], "one at a time, in order of acceptance");
        bench.finished(&leased[0], AttemptOutcome::Completed).await;
    }
    assert!(bench.lease("orders").await.is_none());
}
