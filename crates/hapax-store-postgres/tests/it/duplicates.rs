//! The cost of a duplicate: one read, and no write.

use hapax_core::store::{AcceptRequest, Claim, Error, EventQuery};
use hapax_core::{Lane, NewDelivery, NewEvent, OnDead, Store};
use hapax_test_postgres::{Database, Server};

use crate::bench::{Maker, open, request};

/// On a private server, since transaction ids are shared by the whole server. Events with a lane are written step by
/// step, others in one statement.
#[tokio::test(flavor = "multi_thread")]
async fn duplicates_draw_neither_sequence_numbers_nor_transaction_ids() {
    let server = Server::private(&["autovacuum = off"]).unwrap();
    let database = server.database().await.unwrap();
    let store = open(&database).await;
    let maker = Maker::default();
    for in_lane in [true, false] {
        let requests: Vec<AcceptRequest> = (0..50)
            .map(|n| {
                let mut event = maker.event(&format!("evt_{n}_{in_lane}"));
                let mut shipping = NewDelivery::to("shipping");
                shipping.lane = in_lane.then(|| Lane {
                    key: "one".to_owned(),
                    on_dead: OnDead::Hold,
                });
                event.deliveries.push(shipping);
                request(event)
            })
            .collect();
        for answer in store.accept(requests.clone()).await {
            assert!(matches!(answer.unwrap()[0], Claim::New { .. }));
        }
        let before = drawn(&database).await;
        for _ in 0..3 {
            for answer in store.accept(requests.clone()).await {
                assert!(matches!(answer.unwrap()[0], Claim::Seen(_)));
            }
        }
        assert_eq!(drawn(&database).await, before, "numbers and transaction ids");
    }
}

/// If some of a batch are known, the others are stored completely all the same.
#[tokio::test(flavor = "multi_thread")]
async fn of_a_batch_of_old_and_new_events_the_new_ones_are_stored_in_order() {
    let database = Server::shared().unwrap().database().await.unwrap();
    let store = open(&database).await;
    let maker = Maker::default();
    let events: Vec<NewEvent> = (0..30).map(|n| maker.event(&format!("evt_{n}"))).collect();
    let some = |step: usize| events.iter().step_by(step).cloned().map(request).collect();
    let new = |answers: Vec<Result<Vec<Claim>, Error>>| {
        let claims = answers.into_iter().map(|answer| answer.unwrap().remove(0));
        claims.filter(|claim| matches!(claim, Claim::New { .. })).count()
    };
    assert_eq!(new(store.accept(some(3)).await), 10);
    assert_eq!(new(store.accept(some(1)).await), 20);
    assert_eq!(new(store.accept(some(1)).await), 0);
    let counts = store.counts().await.unwrap();
    assert_eq!((counts.events, counts.backlog[0].count), (30, 30));
    let listed = store.list(&EventQuery::default(), None, 100).await.unwrap();
    let mut listed: Vec<_> = listed.events.iter().map(|event| event.id).collect();
    listed.reverse();
    let (first, then): (Vec<_>, Vec<_>) = (0..30).partition(|n| n % 3 == 0);
    let accepted: Vec<_> = first
        .into_iter()
        .chain(then)
        .map(|n: usize| events[n].id)
        .collect();
    assert_eq!(listed, accepted, "in order of acceptance");
}

/// The last number of the sequence, and the next transaction id. Reading them draws neither.
async fn drawn(database: &Database) -> (i64, String) {
    let admin = database.client().await.unwrap();
    let row = admin
        .query_one(
            "SELECT last_value, pg_snapshot_xmax(pg_current_snapshot())::text FROM hapax.tokens",
            &[],
        )
        .await
        .unwrap();
    (row.get(0), row.get(1))
}
