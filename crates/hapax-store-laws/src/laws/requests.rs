//! Requests: several events each, answered in order, each failing alone, never half written.

use std::time::Duration;

use hapax_core::store::{AcceptRequest, Claim};
use hapax_core::{EventIds, Identity, NewEvent, SystemRandom};

use crate::Bench;
use crate::bench::{Draft, Must};

/// One answer per request, one claim per event, in the given order.
pub async fn answers_come_in_the_order_of_requests_and_events(bench: &mut Bench) {
    let known = bench.stored(bench.event("known")).await;
    let request = |bench: &Bench, names: &[&str]| AcceptRequest {
        events: names.iter().map(|name| bench.event(name).build()).collect(),
    };
    let requests = vec![
        request(bench, &["z", "known", "a"]),
        request(bench, &["known"]),
        request(bench, &["m", "b"]),
    ];
    let answers = bench.store.accept(requests).await;
    let shape: Vec<Vec<bool>> = answers
        .into_iter()
        .map(|answer| {
            answer
                .must()
                .iter()
                .map(|claim| is_seen_as(claim, known))
                .collect()
        })
        .collect();
    assert_eq!(shape, [vec![false, true, false], vec![true], vec![false, false]]);
}

/// A redelivered request adds the events that were missing, and only those.
pub async fn a_redelivered_request_adds_only_what_is_missing(bench: &mut Bench) {
    bench.stored(bench.event("b").to("billing")).await;
    let drafts = ["a", "b", "c"].map(|name| bench.event(name).to("billing"));
    let claims = bench.accept_together(drafts.to_vec()).await;
    let new: Vec<bool> = claims
        .iter()
        .map(|claim| matches!(claim, Claim::New { .. }))
        .collect();
    assert_eq!(new, [true, false, true]);
    let drafts = ["a", "b", "c"].map(|name| bench.event(name).to("billing"));
    let claims = bench.accept_together(drafts.to_vec()).await;
    assert!(claims.iter().all(|claim| matches!(claim, Claim::Seen(_))));
    assert_eq!(bench.lease_many("billing", 100).await.len(), 3);
}

/// A request that cannot be written does not fail its neighbours. In every store, a request with a Hapax id that
/// already belongs to another event is such a request.
pub async fn a_request_that_fails_fails_alone(bench: &mut Bench) {
    let taken = bench.stored(bench.event("taken").body("taken")).await;
    let poison = bench
        .event("poison")
        .to("billing")
        .with(|event| event.id = taken)
        .build();
    let before = bench.event("before").to("billing").build();
    let after = bench.event("after").to("billing").build();
    let requests = [before.clone(), poison, after.clone()]
        .map(|event| AcceptRequest { events: vec![event] })
        .to_vec();
    let mut answers = bench.store.accept(requests).await;
    assert_eq!(answers.len(), 3);
    assert!(matches!(answers.remove(2).must()[0], Claim::New { .. }));
    let Err(error) = answers.remove(1) else {
        panic!("an id belongs to one event");
    };
    assert!(!error.is_retryable(), "this item can never be written");
    assert!(matches!(answers.remove(0).must()[0], Claim::New { .. }));
    assert_eq!(bench.look_up("poison").await, None, "nothing of it was written");
    assert_eq!(bench.record(taken).await.event.body, "taken");
    let leased: Vec<_> = bench.lease_many("billing", 10).await;
    assert_eq!(leased.len(), 2, "only the neighbours have deliveries");
}

/// Ids of two processes may have the same time and counter: both events are stored and found.
pub async fn ids_of_the_same_moment_do_not_collide(bench: &mut Bench) {
    let random = SystemRandom::new();
    let draft = |name: &str| Draft::new(&EventIds::default(), &random, Identity::new("shop", name));
    let mut ids = Vec::new();
    for name in ["a", "b", "c", "d"] {
        let event = draft(name).to("billing").body(name.to_owned()).build();
        ids.push(event.id);
        bench.stored(Draft::from(event)).await;
    }
    assert!(
        ids.iter().all(|id| id.order() == ids[0].order()),
        "the law's own premise"
    );
    for (id, name) in ids.iter().zip(["a", "b", "c", "d"]) {
        assert_eq!(bench.record(*id).await.event.body, name);
    }
    let mut listed: Vec<_> = bench
        .list(&hapax_core::store::EventQuery::default(), 1)
        .await
        .into_iter()
        .map(|event| event.id)
        .collect();
    listed.sort_unstable();
    ids.sort_unstable();
    assert_eq!(listed, ids, "pages neither skip nor repeat");
    assert_eq!(bench.lease_many("billing", 10).await.len(), 4);
}

/// If the caller disappears, an event is stored completely or not at all.
pub async fn an_accept_whose_caller_is_gone_happens_whole_or_not_at_all(bench: &mut Bench) {
    for round in 0..20 {
        let event = bench
            .event(&format!("evt_{round}"))
            .to("billing")
            .to("ledger")
            .build();
        let patience = Duration::from_micros(round * 40);
        let request = vec![AcceptRequest {
            events: vec![event.clone()],
        }];
        // The future is dropped at an arbitrary point: the step happens or not.
        let _dropped = tokio::time::timeout(patience, bench.store.accept(request)).await;
        finds_itself_whole(bench, event).await;
    }
}

async fn finds_itself_whole(bench: &Bench, event: NewEvent) {
    let id = event.id;
    match bench.accept(Draft::from(event)).await {
        Claim::New { .. } => {}
        Claim::Seen(entry) => assert_eq!(entry.id, id),
    }
    assert_eq!(bench.record(id).await.deliveries.len(), 2);
}

fn is_seen_as(claim: &Claim, id: hapax_core::EventId) -> bool {
    match claim {
        Claim::Seen(entry) => entry.id == id,
        Claim::New { .. } => false,
    }
}
