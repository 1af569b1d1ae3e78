//! A replay job and the lanes that it locks: an accept into one of them waits for the whole portion.

use hapax_core::store::{ReplayMode, ReplayOrder, Replayed};
use hapax_core::{EventId, Lane, OnDead, Store as _};
use hapax_store_postgres::PostgresStore;
use hapax_test_postgres::Server;

use crate::bench::{LONG, Maker, accept, done, lease, open};

/// The number of statements for which a portion may hold its lanes, however many events it replays.
const STATEMENTS_MAX: usize = 20;

#[tokio::test(flavor = "multi_thread")]
async fn a_portion_of_a_replay_holds_its_lanes_for_a_fixed_number_of_statements() {
    let server = Server::private(&["log_statement = 'all'"]).unwrap();
    let database = server.database().await.unwrap();
    let store = open(&database).await;
    let maker = Maker::default();
    let mut counts = Vec::new();
    for portion in [2, 100] {
        let mut ids = Vec::new();
        for number in 0..portion {
            ids.push(completed_in_lane(&store, &maker, &format!("{portion}_{number}")).await);
        }
        for mode in [ReplayMode::All, ReplayMode::Force] {
            let before = server.log().unwrap().len();
            let orders = ids.iter().map(|id| order(*id, mode)).collect();
            let replayed = store.replay(orders).await.unwrap();
            assert!(replayed.iter().all(|one| matches!(one, Replayed::Again { .. })));
            counts.push(while_locked(&server.log().unwrap()[before..]));
            let again: Vec<_> = lease(&store, 1_000, LONG).await.leased;
            let reports = again.iter().map(|leased| done(leased.hold())).collect();
            store.finish(reports).await.unwrap();
        }
    }
    let (few, many) = counts.split_at(2);
    assert_eq!(few, many, "as many for two events as for a hundred");
    assert!(many.iter().all(|count| *count <= STATEMENTS_MAX), "{many:?}");
}

/// An event in its own lane, accepted twice, delivered once.
async fn completed_in_lane(store: &PostgresStore, maker: &Maker, name: &str) -> EventId {
    let mut event = maker.event(name);
    event.deliveries[0].lane = Some(Lane {
        key: name.to_owned(),
        on_dead: OnDead::Hold,
    });
    let id = event.id;
    for _ in 0..2 {
        accept(store, event.clone()).await.unwrap();
    }
    let leased = lease(store, 1, LONG).await.leased.remove(0);
    store.finish(vec![done(leased.hold())]).await.unwrap();
    id
}

const fn order(event: EventId, mode: ReplayMode) -> ReplayOrder {
    ReplayOrder {
        event,
        mode,
        to: None,
        job: None,
    }
}

/// Statements of a log from the one that locks lanes to the end of its transaction.
fn while_locked(log: &str) -> usize {
    let text: Vec<&str> = log
        .split("LOG:  ")
        .filter(|one| one.starts_with("execute") || one.starts_with("statement"))
        .collect();
    let lock = text
        .iter()
        .position(|one| one.contains("INSERT INTO hapax.lanes"));
    let rest = &text[lock.unwrap()..];
    let end = rest.iter().position(|one| one.contains("COMMIT")).unwrap();
    end + 1
}
