//! Leasing: who gets which delivery, in which order, under which token.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use hapax_core::store::{AcceptRequest, Candidates, Claim, ReplayMode};
use hapax_core::{AttemptOutcome, DeliveryState, EventId, Generation, Hold, Token};

use crate::Bench;
use crate::bench::{LONG, Must, again, dead, order};

/// A lease has everything that a worker needs, and ends when it says.
pub async fn a_lease_carries_the_event_its_key_and_its_end(bench: &mut Bench) {
    let event = bench.event("evt_1").to("billing").build();
    bench.stored(event.clone().into()).await;
    let before = bench.now().await;
    let leased = bench.lease("billing").await.must();
    let after = bench.now().await;
    assert_eq!(leased.event.id, event.id);
    assert_eq!(leased.event.body, event.body);
    assert_eq!(leased.destination.as_str(), "billing");
    assert_eq!(leased.generation, Generation(0));
    assert_eq!(
        leased.idempotency_key,
        event.identity.idempotency_key(Generation(0), &"billing".into())
    );
    assert_eq!((leased.attempt, leased.lost), (1, 0));
    assert_eq!(leased.lane, None);
    assert!(before.plus(LONG) <= leased.lease_until && leased.lease_until <= after.plus(LONG));
    let view = bench.delivery(event.id, "billing").await;
    assert_eq!((view.state, view.attempts), (DeliveryState::Running, 1));
    assert_eq!(view.idempotency_key, leased.idempotency_key);
}

/// A delivery leased at accept is running, its first attempt counted, under a valid token.
pub async fn a_handed_over_delivery_runs_under_its_token(bench: &mut Bench) {
    let before = bench.now().await;
    let draft = bench.event("evt_1").handed_to("billing", LONG).to("ledger");
    let id = draft.clone().build().id;
    let Claim::New { tokens, .. } = bench.accept(draft).await else {
        panic!("the event is new");
    };
    assert_eq!(tokens.len(), 2, "one answer for each delivery");
    assert_eq!(tokens[1], None, "only the requested delivery is leased");
    let handed = tokens[0].must();
    assert!(handed.lease_until >= before.plus(LONG));
    let view = bench.delivery(id, "billing").await;
    assert_eq!((view.state, view.attempts), (DeliveryState::Running, 1));
    assert!(bench.lease("billing").await.is_none(), "it is not leased again");
    let hold = Hold {
        event: id,
        destination: "billing".into(),
        token: handed.token,
    };
    assert_eq!(
        bench.finish(&hold, AttemptOutcome::Completed).await,
        hapax_core::store::Written::Applied
    );
    assert_eq!(bench.lease("ledger").await.must().event.id, id);
}

/// A running delivery is not due.
pub async fn a_leased_delivery_is_not_leased_again(bench: &mut Bench) {
    bench.stored(bench.event("evt_1").to("billing")).await;
    assert!(bench.lease("billing").await.is_some());
    assert!(bench.lease("billing").await.is_none());
}

/// The longest due first, however a delivery became due.
pub async fn the_longest_due_is_leased_first(bench: &mut Bench) {
    let mut expected = Vec::new();
    for n in 0..6 {
        expected.push(bench.stored(bench.event(&format!("evt_{n}")).to("billing")).await);
        bench.tick().await;
    }
    // The first goes to the back of the queue: it is due last now.
    let first = bench.lease("billing").await.must();
    assert_eq!(first.event.id, expected[0]);
    bench.finished(&first, again()).await;
    expected.rotate_left(1);
    let leased: Vec<EventId> = bench
        .lease_many("billing", 100)
        .await
        .iter()
        .map(|leased| leased.event.id)
        .collect();
    assert_eq!(leased, expected);
}

/// Never more than requested.
pub async fn the_limit_of_a_lease_is_kept(bench: &mut Bench) {
    for n in 0..5 {
        bench.stored(bench.event(&format!("evt_{n}")).to("billing")).await;
    }
    assert_eq!(bench.lease_many("billing", 0).await.len(), 0);
    assert_eq!(bench.lease_many("billing", 3).await.len(), 3);
    assert_eq!(bench.lease_many("billing", 3).await.len(), 2);
}

/// A lease is for one destination; ids of destinations compare as bytes.
pub async fn destinations_do_not_see_each_others_work(bench: &mut Bench) {
    let id = bench
        .stored(bench.event("evt_1").to("billing").to("ledger"))
        .await;
    assert!(bench.lease("Billing").await.is_none());
    assert!(bench.lease("bill%").await.is_none());
    let billing = bench.lease("billing").await.must();
    let ledger = bench.lease("ledger").await.must();
    assert_ne!(billing.token, ledger.token);
    assert_ne!(billing.idempotency_key, ledger.idempotency_key);
    bench.finished(&billing, AttemptOutcome::Completed).await;
    assert_eq!(bench.delivery(id, "ledger").await.state, DeliveryState::Running);
}

/// `next_due` says when to ask again.
pub async fn a_lease_says_when_the_next_is_due(bench: &mut Bench) {
    let ask = |limit| order("billing", limit, LONG, Candidates::Fresh);
    assert_eq!(bench.store.lease(ask(1)).await.must().next_due, None);
    for n in 0..2 {
        bench.stored(bench.event(&format!("evt_{n}")).to("billing")).await;
    }
    let batch = bench.store.lease(ask(1)).await.must();
    assert!(batch.next_due.must() <= bench.now().await, "more are due now");
    let second = bench.lease("billing").await.must();
    assert_eq!(
        bench.store.lease(ask(1)).await.must().next_due,
        None,
        "a running delivery is not due"
    );
    let before = bench.now().await;
    bench
        .finished(&second, AttemptOutcome::Retry { after: LONG })
        .await;
    let after = bench.now().await;
    let batch = bench.store.lease(ask(10)).await.must();
    assert!(batch.leased.is_empty());
    let next_due = batch.next_due.must();
    assert!(before.plus(LONG) <= next_due && next_due <= after.plus(LONG));
}

/// Deliveries whose lease was lost are requested separately.
pub async fn fresh_and_suspect_work_are_leased_apart(bench: &mut Bench) {
    let suspect = bench.stored(bench.event("suspect").to("billing")).await;
    bench.lease_briefly("billing").await;
    bench.expire().await;
    bench.rescue().await;
    let fresh = bench.stored(bench.event("fresh").to("billing")).await;
    let as_fresh = bench.lease_as("billing", 10, LONG, Candidates::Fresh).await;
    assert_eq!(
        as_fresh.iter().map(|leased| leased.event.id).collect::<Vec<_>>(),
        [fresh]
    );
    let as_suspect = bench.lease_as("billing", 10, LONG, Candidates::Suspect).await;
    assert_eq!(
        as_suspect
            .iter()
            .map(|leased| leased.event.id)
            .collect::<Vec<_>>(),
        [suspect]
    );
    assert_eq!(as_suspect[0].lost, 1);
}

/// Many workers ask at once; each delivery goes to one of them.
pub async fn of_many_concurrent_leases_each_delivery_goes_to_one(bench: &mut Bench) {
    for n in 0..40 {
        bench.stored(bench.event(&format!("evt_{n}")).to("billing")).await;
    }
    let mut tasks = Vec::new();
    for _ in 0..8 {
        let store = Arc::clone(&bench.store);
        tasks.push(tokio::spawn(async move {
            let mut mine = Vec::new();
            loop {
                let batch = store
                    .lease(order("billing", 3, LONG, Candidates::Fresh))
                    .await
                    .must();
                if batch.leased.is_empty() {
                    return mine;
                }
                mine.extend(
                    batch
                        .leased
                        .into_iter()
                        .map(|leased| (leased.event.id, leased.token)),
                );
            }
        }));
    }
    let mut leased = Vec::new();
    for task in tasks {
        leased.extend(task.await.must());
    }
    assert_eq!(leased.len(), 40);
    assert_eq!(
        leased.iter().map(|(id, _)| *id).collect::<BTreeSet<_>>().len(),
        40
    );
    assert_eq!(
        leased
            .iter()
            .map(|(_, token)| *token)
            .collect::<BTreeSet<_>>()
            .len(),
        40
    );
}

/// No two deliveries get the same token, wherever they are stored.
pub async fn no_token_is_issued_twice(bench: &mut Bench) {
    let events = (0..400).map(|n| {
        bench
            .event(&format!("evt_{n}"))
            .handed_to("billing", LONG)
            .build()
    });
    let requests = events.map(|event| AcceptRequest { events: vec![event] });
    let claims = bench.store.accept(requests.collect()).await;
    let tokens = claims.into_iter().map(|claims| match claims.must().remove(0) {
        Claim::New { tokens, .. } => tokens[0].must().token,
        other @ Claim::Seen(_) => panic!("{other:?}"),
    });
    assert_eq!(tokens.collect::<BTreeSet<_>>().len(), 400);
}

/// Every token that is ever issued is greater than all before it.
pub async fn tokens_increase_over_everything(bench: &mut Bench) {
    let mut seen = vec![Token(0)];
    let handed = bench.event("handed").handed_to("other", bench.short());
    if let Claim::New { tokens, .. } = bench.accept(handed).await {
        seen.push(tokens[0].must().token);
    }
    let id = bench.stored(bench.event("evt_1").to("billing")).await;
    for outcome in [again(), AttemptOutcome::Release, AttemptOutcome::Completed] {
        let leased = bench.lease("billing").await.must();
        seen.push(leased.token);
        bench.finished(&leased, outcome).await;
    }
    bench.replay(id, ReplayMode::All).await;
    seen.push(bench.lease_briefly("billing").await.token);
    bench.expire().await;
    bench.rescue().await;
    let rescued = bench.lease_briefly("billing").await;
    seen.push(rescued.token);
    bench.finished(&rescued, dead()).await;
    bench.reopen().await;
    bench.replay(id, ReplayMode::Force).await;
    seen.push(bench.lease_briefly("billing").await.token);
    bench.reopen().await;
    if let Claim::New { tokens, .. } = bench.accept(bench.event("late").handed_to("other", LONG)).await {
        seen.push(tokens[0].must().token);
    }
    assert!(seen.is_sorted_by(|earlier, later| earlier < later), "{seen:?}");
}

/// A lease that has already expired when it begins is still a lease.
pub async fn a_lease_of_no_time_can_be_taken_back_at_once(bench: &mut Bench) {
    bench.stored(bench.event("evt_1").to("billing")).await;
    bench
        .lease_as("billing", 1, Duration::ZERO, Candidates::Fresh)
        .await;
    bench.tick().await;
    assert_eq!(bench.rescue().await.len(), 1);
}
