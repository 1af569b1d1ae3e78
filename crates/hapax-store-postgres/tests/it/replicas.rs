//! Several replicas on one database share the deliveries and fence each other.

use std::collections::BTreeSet;
use std::time::Duration;

use hapax_core::store::{Candidates, Claim, LeaseOrder, Written};
use hapax_core::{Owner, Store};
use hapax_test_postgres::Server;

use crate::bench::{LONG, Maker, accept, done, lease, open};

#[tokio::test(flavor = "multi_thread")]
async fn two_replicas_share_leases_without_overlap() {
    let database = Server::shared().unwrap().database().await.unwrap();
    let replicas = [open(&database).await, open(&database).await];
    let maker = Maker::default();
    for n in 0..60 {
        accept(&replicas[n % 2], maker.event(&format!("evt_{n}")))
            .await
            .unwrap();
    }
    let tasks: Vec<_> = (0..6)
        .map(|worker| {
            let store = replicas[worker % 2].clone();
            tokio::spawn(async move {
                let mut mine = Vec::new();
                loop {
                    let leased = lease(&store, 4, LONG).await.leased;
                    if leased.is_empty() {
                        return mine;
                    }
                    let reports = leased.iter().map(|leased| done(leased.hold())).collect();
                    let written = store.finish(reports).await.unwrap();
                    assert!(written.iter().all(|written| *written == Written::Applied));
                    mine.extend(leased.into_iter().map(|leased| leased.event.id));
                }
            })
        })
        .collect();
    let mut all = Vec::new();
    for task in tasks {
        all.extend(task.await.unwrap());
    }
    assert_eq!(all.len(), 60);
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 60, "each ran once");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_thousand_duplicates_on_three_replicas_one_is_new() {
    let database = Server::shared().unwrap().database().await.unwrap();
    let replicas = [
        open(&database).await,
        open(&database).await,
        open(&database).await,
    ];
    let maker = Maker::default();
    let tasks: Vec<_> = (0..2_000)
        .map(|number| {
            let store = replicas[number % 3].clone();
            let event = maker.event("evt_1");
            tokio::spawn(async move { accept(&store, event).await.unwrap() })
        })
        .collect();
    let mut new = 0;
    let mut firsts = BTreeSet::new();
    for task in tasks {
        match task.await.unwrap() {
            Claim::New { .. } => new += 1,
            Claim::Seen(entry) => {
                firsts.insert(entry.id);
            }
        }
    }
    assert_eq!((new, firsts.len()), (1, 1));
    assert_eq!(lease(&replicas[0], 10, LONG).await.leased.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_zombie_is_fenced_by_the_replica_that_took_over() {
    let database = Server::shared().unwrap().database().await.unwrap();
    let (zombie, other) = (open(&database).await, open(&database).await);
    accept(&zombie, Maker::default().event("evt_1")).await.unwrap();
    let stale = lease(&zombie, 1, Duration::ZERO).await.leased.remove(0);
    // Until the server's clock has advanced by a microsecond.
    while other.rescue(10).await.unwrap().is_empty() {}
    let order = LeaseOrder {
        owner: Owner(2),
        destination: "billing".into(),
        limit: 1,
        lease_for: LONG,
        candidates: Candidates::Suspect,
    };
    let fresh = other.lease(order).await.unwrap().leased.remove(0);
    assert!(fresh.token > stale.token);
    assert_eq!(
        zombie.extend(vec![stale.hold()], LONG).await.unwrap(),
        [Written::LeaseLost]
    );
    assert_eq!(
        zombie.finish(vec![done(stale.hold())]).await.unwrap(),
        [Written::LeaseLost]
    );
    assert_eq!(
        other.finish(vec![done(fresh.hold())]).await.unwrap(),
        [Written::Applied]
    );
}

/// Its runtime is not driven any more: the process stands still, and its connections stay.
#[test]
fn what_a_frozen_replica_has_locked_is_free_before_those_who_wait_give_up() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build();
    let (zombies, others) = (runtime().unwrap(), runtime().unwrap());
    let database = others.block_on(Server::shared().unwrap().database()).unwrap();
    let (zombie, other) = (
        zombies.block_on(open(&database)),
        others.block_on(open(&database)),
    );
    let event = Maker::default().event("evt_1");
    let admin = others.block_on(database.client()).unwrap();
    // Nothing new can be stored while this lasts; claims can be made.
    let block = "BEGIN; LOCK TABLE hapax.work IN SHARE MODE";
    others.block_on(admin.batch_execute(block)).unwrap();
    let claimed = event.clone();
    zombies.spawn(async move { accept(&zombie, claimed).await });
    zombies.block_on(async {
        let watch = database.client().await.unwrap();
        let waits = "SELECT 1 FROM pg_stat_activity
                     WHERE datname = current_database() AND wait_event_type = 'Lock'";
        while watch.query(waits, &[]).await.unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
    });
    others.block_on(admin.batch_execute("ROLLBACK")).unwrap();
    let claim = others.block_on(accept(&other, event)).unwrap();
    assert!(matches!(claim, Claim::New { .. }), "{claim:?}");
}
