//! The cost of a duplicate: one read, and no write.

use hapax_core::Store;
use hapax_core::store::{AcceptRequest, Claim};
use hapax_core::{Lane, NewDelivery, OnDead};
use hapax_test_postgres::{Database, Server};

use crate::bench::{Maker, open, request};

/// On a private server, since transaction ids are shared by the whole server.
#[tokio::test(flavor = "multi_thread")]
async fn duplicates_draw_neither_sequence_numbers_nor_transaction_ids() {
    let server = Server::private(&["autovacuum = off"]).unwrap();
    let database = server.database().await.unwrap();
    let store = open(&database).await;
    let maker = Maker::default();
    let requests: Vec<AcceptRequest> = (0..50)
        .map(|n| {
            let mut event = maker.event(&format!("evt_{n}"));
            let mut in_lane = NewDelivery::to("shipping");
            in_lane.lane = Some(Lane {
                key: "one".to_owned(),
                on_dead: OnDead::Hold,
            });
            event.deliveries.push(in_lane);
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
