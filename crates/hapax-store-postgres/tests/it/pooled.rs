//! Behind a real pgbouncer in transaction mode, without prepared statements, and with deliveries distributed by bucket.

use std::collections::BTreeSet;
use std::sync::Arc;

use hapax_core::Store;
use hapax_core::store::{Claim, EventQuery, Written};
use hapax_store_postgres::{Options, PostgresStore, Preparing, Spread};
use hapax_test_postgres::Server;

use crate::bench::{LONG, Maker, accept, done, lease};
use crate::proxy::Proxy;

#[tokio::test(flavor = "multi_thread")]
async fn everything_works_without_prepared_statements() {
    let database = Server::shared().unwrap().database().await.unwrap();
    let url = format!("{}&prepared_statements=false", database.url());
    let store = PostgresStore::open(Options::new(url)).await.unwrap();
    goes_through(&store).await;
    assert!(!store.prepares());
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_works_spread_by_bucket() {
    let database = Server::shared().unwrap().database().await.unwrap();
    let mut options = Options::new(database.url());
    options.spread = Some(Spread::ByBucket);
    let store = PostgresStore::open(options).await.unwrap();
    goes_through(&store).await;
    assert!(store.prepares(), "there is no pooler in between");
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_works_behind_pgbouncer_in_transaction_mode() {
    let server = Server::shared().unwrap();
    let database = server.database().await.unwrap();
    let pooler = server.pooler().unwrap();
    let options = Options::new(pooler.url(&database));
    let store = PostgresStore::open(options).await.unwrap();
    goes_through(&store).await;
    assert!(!store.prepares());
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_works_behind_a_proxy_that_takes_no_options_at_the_start() {
    let server = Server::shared().unwrap();
    // pgbouncer reports a protocol violation, RDS Proxy an unsupported feature.
    for refusal in ["08P01", "0A000"] {
        let database = server.database().await.unwrap();
        let proxy = Proxy::start(server.port(), refusal).await;
        let store = PostgresStore::open(Options::new(proxy.url(&database)))
            .await
            .unwrap();
        goes_through(&store).await;
        assert!(!store.prepares(), "{refusal}: it may share its connections");
    }
}

/// Two replicas that name their statements alike: without detecting the pooler, one would run the other's statements.
#[tokio::test(flavor = "multi_thread")]
async fn two_replicas_behind_pgbouncer_share_the_work_without_overlap() {
    let server = Server::shared().unwrap();
    let database = server.database().await.unwrap();
    let pooler = server.pooler().unwrap();
    let mut replicas = Vec::new();
    for _ in 0..2 {
        let options = Options::new(pooler.url(&database));
        replicas.push(Arc::new(PostgresStore::open(options).await.unwrap()));
    }
    let maker = Arc::new(Maker::default());
    let tasks: Vec<_> = (0..8)
        .map(|worker| {
            let (store, maker) = (Arc::clone(&replicas[worker % 2]), Arc::clone(&maker));
            tokio::spawn(async move {
                let mut new = 0;
                // Every event is sent by two workers, one on each replica.
                for n in 0..20 {
                    let event = maker.event(&format!("evt_{}_{n}", worker / 2));
                    match accept(&store, event).await.unwrap() {
                        Claim::New { .. } => new += 1,
                        Claim::Seen(_) => {}
                    }
                }
                let mut ran = Vec::new();
                for leased in lease(&store, 100, LONG).await.leased {
                    let written = store.finish(vec![done(leased.hold())]).await.unwrap();
                    assert_eq!(written, [Written::Applied]);
                    ran.push(leased.event.id);
                }
                (new, ran)
            })
        })
        .collect();
    let (mut new, mut ran) = (0, Vec::new());
    for task in tasks {
        let (found, mine) = task.await.unwrap();
        new += found;
        ran.extend(mine);
    }
    ran.extend(
        lease(&replicas[0], 100, LONG)
            .await
            .leased
            .iter()
            .map(|leased| leased.event.id),
    );
    assert_eq!((new, ran.len()), (80, 80));
    assert_eq!(ran.iter().collect::<BTreeSet<_>>().len(), 80, "each ran once");
}

/// A pooler that hides itself: a statement that cannot be prepared is run again unprepared, and the caller never
/// notices.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_wrongly_prepares_behind_pgbouncer_finds_out() {
    let server = Server::shared().unwrap();
    let database = server.database().await.unwrap();
    let pooler = server.pooler().unwrap();
    let mut options = Options::new(pooler.url(&database));
    options.preparing = Preparing::Always;
    let store = Arc::new(PostgresStore::open(options).await.unwrap());
    let maker = Arc::new(Maker::default());
    let tasks: Vec<_> = (0..8)
        .map(|worker| {
            let (store, maker) = (Arc::clone(&store), Arc::clone(&maker));
            tokio::spawn(async move {
                for n in 0..20 {
                    let event = maker.event(&format!("evt_{worker}_{n}"));
                    assert!(matches!(
                        accept(&store, event.clone()).await.unwrap(),
                        Claim::New { .. }
                    ));
                    assert!(matches!(accept(&store, event).await.unwrap(), Claim::Seen(_)));
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(store.counts().await.unwrap().events, 160);
    assert!(!store.prepares());
}

/// Settings are the session's where it is our own, and the transaction's where it is shared.
#[tokio::test(flavor = "multi_thread")]
async fn transactions_that_write_have_the_same_settings_with_and_without_a_pooler() {
    let server = Server::shared().unwrap();
    let database = server.database().await.unwrap();
    let pooler = server.pooler().unwrap();
    let unprepared = format!("{}&prepared_statements=false", database.url());
    let mut stores = Vec::new();
    for url in [database.url(), unprepared, pooler.url(&database)] {
        stores.push(PostgresStore::open(Options::new(url)).await.unwrap());
    }
    let admin = database.client().await.unwrap();
    admin.batch_execute(NOTICE).await.unwrap();
    let maker = Maker::default();
    for (n, store) in stores.iter().enumerate() {
        for _ in 0..2 {
            accept(store, maker.event(&format!("evt_{n}"))).await.unwrap();
        }
    }
    let noticed = admin.query("SELECT settings FROM noticed", &[]).await.unwrap();
    let noticed: Vec<String> = noticed.iter().map(|row| row.get(0)).collect();
    let expected = "enable_bitmapscan=off enable_hashjoin=off enable_material=off enable_mergejoin=off \
                    enable_seqscan=off enable_sort=off idle_in_transaction_session_timeout=5s jit=off \
                    lock_timeout=10s statement_timeout=30s transaction_isolation=read committed";
    assert_eq!(noticed, [expected; 3]);
}

/// Notes the settings under which events are stored.
const NOTICE: &str = "
    CREATE TABLE noticed (settings text);
    CREATE FUNCTION notice() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO public.noticed
        SELECT string_agg(name || '=' || current_setting(name), ' ' ORDER BY name)
        FROM unnest(ARRAY['enable_bitmapscan', 'enable_hashjoin', 'enable_material', 'enable_mergejoin',
                          'enable_seqscan', 'enable_sort', 'idle_in_transaction_session_timeout', 'jit',
                          'lock_timeout', 'statement_timeout', 'transaction_isolation']) AS name;
        RETURN NEW;
    END $$;
    CREATE TRIGGER notice BEFORE INSERT ON hapax.events FOR EACH ROW EXECUTE FUNCTION notice()";

async fn goes_through(store: &PostgresStore) {
    let maker = Maker::default();
    for n in 0..20 {
        let event = maker.event(&format!("evt_{n}"));
        assert!(matches!(
            accept(store, event.clone()).await.unwrap(),
            Claim::New { .. }
        ));
        assert!(matches!(accept(store, event).await.unwrap(), Claim::Seen(_)));
    }
    assert_eq!(lease(store, 7, LONG).await.leased.len(), 7);
    let rest = lease(store, 100, LONG).await;
    assert_eq!((rest.leased.len(), rest.next_due), (13, None));
    let reports = rest.leased.iter().map(|leased| done(leased.hold())).collect();
    let written = store.finish(reports).await.unwrap();
    assert!(written.iter().all(|written| *written == Written::Applied));
    let listed = store.list(&EventQuery::default(), None, 100).await.unwrap();
    assert_eq!(listed.events.len(), 20);
    let counts = store.counts().await.unwrap();
    assert_eq!((counts.events, counts.backlog[0].count), (20, 7));
}
