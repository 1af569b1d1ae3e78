//! Migration: a store that a service has filled is migrated to Postgres, through a kill in the middle, or to Redis, and
//! is served there.

use std::process::Stdio;
use std::time::Duration;

use hapax_core::store::Census;
use hapax_test_postgres::{Database, Server};
use hapax_test_redis::{Server as Redis, fresh_prefix};
use rustix::process::Signal;
use serde_json::json;

use hapax_testkit::{
    Delivery, Outcome, Received, Repeated, Reply, Sender, Service, Setup, Sink, command_in, deliver_all,
    eventually, run,
};

const LIMIT: Duration = Duration::from_secs(60);
const ORDERED: &str =
    "order_by = \"body:/data/object/id\"\nmax_attempts = 100\nbackoff = { first = \"50ms\", cap = \"2s\" }";
/// Enough that a migration of one record at a time takes a while.
const DONE: usize = 150;
/// The name of a saved search.
const VIEW: &str = "given up";

/// All events, and the sink that they go to.
struct World {
    sink: Sink,
    done: Vec<Delivery>,
    dead: Vec<Delivery>,
    retried: Vec<Delivery>,
    lane: Vec<Delivery>,
    other_body: Delivery,
}

impl World {
    async fn new() -> Self {
        let sender = Sender::of("stripe");
        let events = |prefix: &str, count: usize| -> Vec<Delivery> {
            (0..count)
                .map(|n| {
                    let id = format!("{prefix}_{n}");
                    sender.stripe_event(&id, "app", &json!({ "id": id }))
                })
                .collect()
        };
        let lane =
            (0..3).map(|n| sender.stripe_event(&format!("lane_{n}"), "orders", &json!({ "id": "one" })));
        Self {
            sink: Sink::that(mood).await,
            done: events("done", DONE),
            dead: events("dead", 4),
            retried: events("retry", 4),
            lane: lane.collect(),
            other_body: sender.stripe_event("done_1", "app", &json!({ "id": "something else" })),
        }
    }

    fn setup(&self) -> Setup {
        Setup::new()
            .source("stripe", "stripe", "deliver_to = [\"app\", \"orders\"]")
            .http(
                "app",
                &self.sink.url(),
                "events = [\"app\"]\nmax_attempts = 100\nbackoff = { first = \"50ms\", cap = \"2s\" }",
            )
            .http(
                "orders",
                &self.sink.url(),
                &format!("events = [\"orders\"]\n{ORDERED}"),
            )
    }

    fn all(&self) -> Vec<Delivery> {
        let groups = [&self.done, &self.dead, &self.retried, &self.lane];
        groups.into_iter().flatten().cloned().collect()
    }

    /// A store with some of everything, with no service on it.
    async fn filled(&self) -> Setup {
        let mut service = self.setup().start().await;
        self.fill(&service).await;
        let saved = service.hapax(&["searches", "save", VIEW, "status:dead"]).await;
        saved.assert_code(0);
        service.signal(Signal::TERM);
        assert_eq!(service.ended(LIMIT).await.code(), Some(0));
        service.into_setup()
    }

    /// Delivers everything twice and waits until each event is completed, dead, or failing repeatedly.
    async fn fill(&self, service: &Service) {
        for delivery in &self.lane {
            service.deliver_twice(delivery).await;
        }
        let twice = Repeated {
            deliveries: [&self.done, &self.dead, &self.retried]
                .into_iter()
                .flatten()
                .cloned()
                .collect(),
            each: 2,
            connections: 4,
        };
        deliver_all(service.address(), twice).await;
        let answer = service.deliver(&self.other_body).await;
        assert_eq!(answer.field("status"), "conflict", "{}", answer.text());
        self.sink
            .until("the good ones are done", LIMIT, |sink| {
                sink.effects().len() == DONE
            })
            .await;
        eventually("the bad ones are dead, and the others fail", LIMIT, async || {
            let dead = service.api("deliveries?status=dead").await;
            let failed = service.api("events?status=failed").await;
            let counts = (
                dead["deliveries"].as_array()?.len(),
                failed["events"].as_array()?.len(),
            );
            (counts == (self.dead.len(), self.retried.len() + 1)).then_some(())
        })
        .await;
    }
}

/// Before the migration: some are completed, some are refused for good, the others fail.
fn mood(received: &Received) -> Reply {
    match received.event_id.split('_').next() {
        Some("done") => Reply::Status(200),
        Some("dead") => Reply::Status(410),
        _ => Reply::Status(500),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_copy_goes_on_and_postgres_takes_over_without_losing_or_doubling() {
    let world = World::new().await;
    let server = Server::shared().unwrap();
    let database = server.database().await.unwrap();
    let url = database.url();
    let setup = world.filled().await;

    kill_midway(&setup, &database, world.all().len()).await;
    let setup = setup.database(&url);
    let refused = setup.refusal().await;
    refused.assert_code(1);
    assert!(
        refused.stderr.contains("unfinished store migration"),
        "{refused:#?}"
    );

    let copied = migrate(&setup, &url).await.json();
    assert_eq!(
        (&copied["resumed"], &copied["verified"]),
        (&true.into(), &true.into()),
        "{copied}"
    );
    assert_eq!(copied["counts"]["identities"], world.all().len(), "{copied}");
    assert_eq!(
        copied["counts"]["unfinished_deliveries"],
        world.retried.len() + world.lane.len(),
        "{copied}"
    );
    assert_eq!(copied["counts"]["conflicts"], 1, "{copied}");
    what_people_look_at_came_along(&database).await;
    let again = migrate(&setup, &url).await;
    assert!(again.assert_code(1).stderr.contains("not empty"), "{again:#?}");

    serve_on(&world, setup).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_takes_over_from_a_file_without_losing_or_doubling_and_goes_back_to_one() {
    let world = World::new().await;
    let url = Redis::shared().unwrap().url_with_prefix(&fresh_prefix());
    let setup = world.filled().await;
    let copied = migrate(&setup, &url).await.json();
    assert_eq!(copied["verified"], true, "{copied}");
    assert_eq!(copied["counts"]["identities"], world.all().len(), "{copied}");
    let again = migrate(&setup, &url).await;
    assert!(again.assert_code(1).stderr.contains("not empty"), "{again:#?}");
    serve_on(&world, setup.database(&url)).await;
}

/// Repeated the file's store to this one.
async fn migrate(setup: &Setup, to: &str) -> Outcome {
    let file = "sqlite:hapax.db";
    let arguments = ["store", "migrate", "--from", file, "--to", to, "--json"];
    run(setup.path(), &arguments).await
}

/// The saved search, the traffic and the search index were migrated.
async fn what_people_look_at_came_along(database: &Database) {
    let client = database.client().await.unwrap();
    for (table, at_least) in [("views", 1), ("traffic", 1), ("noted", 1)] {
        let count = format!("SELECT count(*) FROM hapax.{table}");
        let row = client.query_one(count.as_str(), &[]).await.unwrap();
        assert!(row.get::<_, i64>(0) >= at_least, "{table}");
    }
    let query = "SELECT query FROM hapax.views WHERE name = $1";
    let row = client.query_one(query, &[&VIEW]).await.unwrap();
    assert_eq!(row.get::<_, &str>(0), "status:dead");
}

/// Starts the migration, one record at a time, stops it in the middle, and kills it there.
async fn kill_midway(setup: &Setup, database: &Database, total: usize) {
    let client = database.client().await.unwrap();
    let mut copy = command_in(setup.path())
        .args(["store", "migrate", "--to", &database.url(), "--page", "1"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    eventually("the copy is under way", LIMIT, async || {
        let begun = client
            .query_one("SELECT to_regclass('hapax.import') IS NOT NULL", &[])
            .await
            .unwrap();
        if !begun.get::<_, bool>(0) {
            return None;
        }
        let copied = client
            .query_one("SELECT count(*) FROM hapax.ledger", &[])
            .await
            .unwrap();
        (copied.get::<_, i64>(0) >= 20).then_some(())
    })
    .await;
    // Nothing more can be written while this lock is held: the migration is in the middle of a record when it dies.
    client
        .batch_execute("BEGIN; LOCK TABLE hapax.ledger IN SHARE MODE")
        .await
        .unwrap();
    copy.kill().await.unwrap();
    client.batch_execute("COMMIT").await.unwrap();
    let copied = client
        .query_one("SELECT count(*) FROM hapax.ledger", &[])
        .await
        .unwrap();
    assert!(
        (20..total as i64).contains(&copied.get::<_, i64>(0)),
        "killed in the middle"
    );
}

/// The service on the migrated store: every event is known, and unfinished deliveries take effect once, in order.
async fn serve_on(world: &World, setup: Setup) {
    world.sink.behave(|received| {
        let status = if received.event_id.starts_with("dead") {
            410
        } else {
            200
        };
        Reply::Status(status)
    });
    let mut service = setup.start().await;
    let twice = Repeated {
        deliveries: world.all(),
        each: 2,
        connections: 4,
    };
    for answer in deliver_all(service.address(), twice).await.values().flatten() {
        answer.assert_durable("duplicate");
    }
    let conflict = service.deliver(&world.other_body).await;
    assert_eq!(conflict.field("status"), "conflict", "{}", conflict.text());
    let expected = world.all().len() - world.dead.len();
    world.sink.until_effects(expected, LIMIT).await;
    eventually("nothing is left to do", LIMIT, async || {
        let pending = service.api("events?status=pending").await;
        let failed = service.api("events?status=failed").await;
        (pending["events"].as_array()?.is_empty() && failed["events"].as_array()?.is_empty()).then_some(())
    })
    .await;
    assert_eq!(world.sink.applications(), expected, "each took effect once");
    world.sink.assert_one_key_for_each_event();
    let order = world.sink.order_applied();
    let lane: Vec<&String> = order.iter().filter(|id| id.starts_with("lane")).collect();
    assert_eq!(lane, ["lane_0", "lane_1", "lane_2"]);

    world.sink.behave(|_| Reply::Status(200));
    service
        .hapax(&["replay", "--status", "dead", "--yes"])
        .await
        .assert_code(0);
    world.sink.until_effects(world.all().len(), LIMIT).await;
    world.sink.assert_one_key_for_each_event();

    service.signal(Signal::TERM);
    assert_eq!(service.ended(LIMIT).await.code(), Some(0));
    let back = ["store", "migrate", "--to", "sqlite:back.db", "--json"];
    let copied = service.hapax(&back).await.json();
    assert_eq!(copied["verified"], true, "{copied}");
    assert_eq!(copied["counts"]["unfinished_deliveries"], 0, "{copied}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_that_differs_is_named_and_not_served() {
    let world = World::new().await;
    let database = Server::shared().unwrap().database().await.unwrap();
    let setup = world.filled().await;
    kill_midway(&setup, &database, world.all().len()).await;
    let client = database.client().await.unwrap();
    let sql =
        "UPDATE hapax.events SET body = 'other' WHERE id = (SELECT id FROM hapax.events ORDER BY id LIMIT 1)
               RETURNING event_id";
    let tampered: String = client.query_one(sql, &[]).await.unwrap().get(0);
    let copied = run(setup.path(), &["store", "migrate", "--to", &database.url()]).await;
    let expected = format!("event {tampered} of stripe is not the same in both");
    assert!(copied.assert_code(5).stderr.contains(&expected), "{copied:#?}");
    let refused = setup.database(&database.url()).refusal().await;
    assert!(
        refused
            .assert_code(1)
            .stderr
            .contains("unfinished store migration"),
        "{refused:#?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_is_served_is_not_copied_and_a_missing_one_is_not_made() {
    let sink = Sink::start().await;
    let service = Setup::stripe_to(&sink).start().await;
    service.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
    let refused = service
        .hapax(&["store", "migrate", "--to", "sqlite:copy.db"])
        .await;
    assert!(
        refused
            .assert_code(1)
            .stderr
            .contains("in use by another process"),
        "{refused:#?}"
    );
    let same = service
        .hapax(&["store", "migrate", "--to", "sqlite:hapax.db"])
        .await;
    same.assert_code(2);
    let missing = [
        "store",
        "migrate",
        "--from",
        "sqlite:nowhere.db",
        "--to",
        "sqlite:copy.db",
    ];
    service.hapax(&missing).await.assert_code(4);
    assert!(!service.setup.path().join("nowhere.db").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unfinished_copy_goes_on_only_from_the_store_it_was_begun_from_as_it_was_then() {
    let sink = Sink::start().await;
    let database = Server::shared().unwrap().database().await.unwrap();
    let mut service = Setup::stripe_to(&sink).start().await;
    service.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
    sink.until_effects(1, LIMIT).await;
    service.signal(Signal::TERM);
    service.ended(LIMIT).await;
    let arguments = ["store", "migrate", "--to", &database.url()];
    let copied = service.hapax(&arguments).await;
    assert!(
        copied
            .assert_code(0)
            .stdout
            .contains("[store]\nurl = \"postgres://"),
        "{copied:#?}"
    );

    let client = database.client().await.unwrap();
    client
        .batch_execute("CREATE TABLE hapax.import (mark text NOT NULL)")
        .await
        .unwrap();
    let own = origin_of(&service);
    let marks = [
        ("{}".to_owned(), "cannot be read"),
        (mark(own.wrapping_add(1)), "of another store"),
        (mark(own), "was changed since"),
    ];
    for (mark, reason) in marks {
        let sql = format!("TRUNCATE hapax.import; INSERT INTO hapax.import VALUES ('{mark}')");
        client.batch_execute(&sql).await.unwrap();
        let refused = service.hapax(&arguments).await;
        assert!(refused.assert_code(1).stderr.contains(reason), "{refused:#?}");
    }
}

fn origin_of(service: &Service) -> i64 {
    let file = rusqlite::Connection::open(service.setup.store_path()).unwrap();
    file.query_row("SELECT value FROM meta WHERE key = 'origin'", [], |row| {
        row.get(0)
    })
    .unwrap()
}

/// The progress mark of a migration that began when its source was empty.
fn mark(origin: i64) -> String {
    let census = Census::default();
    json!({ "origin": origin, "census": census, "reached": "identities" }).to_string()
}
