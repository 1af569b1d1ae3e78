//! The outbox: rows that an application wrote in its own transactions take effect once, in order, whatever dies.

mod app;
mod health;
mod identity;
mod volume;

use std::time::Duration;

use hapax_test_postgres::{Server, Stop};

use self::app::{App, Row};
use hapax_testkit::{Received, Reply, Service, Setup, Sink, eventually};

const LIMIT: Duration = Duration::from_secs(60);

/// A service that relays an application's outbox and also has a destination `app`.
fn setup(app: &App, sink: &Sink) -> Setup {
    setup_with(app, sink, "")
}

/// The same with more lines for the outbox.
fn setup_with(app: &App, sink: &Sink, lines: &str) -> Setup {
    Setup::stripe_to(sink).table(&format!(
        "[outbox.shop]\nurl = \"{}\"\npoll = \"50ms\"\nbatch = 20\nmax_attempts = 100\nallow_targets = [\"127.0.0.1\"]\n\
         backoff = {{ first = \"50ms\", cap = \"200ms\" }}\n{lines}",
        app.url()
    ))
}

/// Occasionally fails, or disconnects before it can respond.
fn unreliable(received: &Received) -> Reply {
    match (received.key.bytes().last().unwrap_or_default() % 5, received.nth) {
        (0, 1) => Reply::Status(500),
        (1, 1) => Reply::DropAfterApplying,
        _ => Reply::Status(200),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_committed_row_takes_effect_once_through_kills_of_the_relay() {
    for app in [App::postgres().await, App::sqlite()] {
        let sink = Sink::that(unreliable).await;
        let mut service = setup(&app, &sink).start().await;
        let mut written = Vec::new();
        for round in 0..6 {
            for n in 0..50 {
                let row = Row::http(&sink.url(), &format!("row {round}-{n}"));
                app.write(&row).await;
                app.write_and_roll_back(&Row::http(&sink.url(), &format!("never {round}-{n}")))
                    .await;
                written.push(row);
            }
            // While the rows that were just written are being relayed.
            service.kill().await;
            service.start_again().await;
            // A delivery that is lost three times is dead, so no row may be there for a third kill.
            if round % 2 == 1 {
                sink.until_effects(written.len(), LIMIT).await;
            }
        }
        app.until_relayed(written.len() * 2, LIMIT).await;
        sink.until_effects(written.len(), LIMIT).await;
        let keys: std::collections::BTreeSet<String> = written.iter().map(Row::key).collect();
        assert_eq!(
            sink.effects(),
            keys,
            "each row's own key, and nothing that was rolled back"
        );
        let row = sink
            .received()
            .into_iter()
            .find(|one| one.key == "row 0-0")
            .unwrap();
        assert_eq!(
            (&row.body[..], row.header("x-from")),
            (&b"body of row 0-0"[..], Some("shop"))
        );
        let shown = service.hapax(&["outbox", "list", "--json"]).await.json();
        let shown = &shown["outboxes"][0];
        assert_eq!(
            (&shown["name"], &shown["relayed"]),
            (&"shop".into(), &(written.len() * 2).into()),
            "{shown}"
        );
        assert_eq!(
            (&shown["pending"], &shown["refused"]),
            (&0.into(), &0.into()),
            "{shown}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_of_one_order_key_keep_their_order_over_two_replicas() {
    let sink = Sink::that(unreliable).await;
    let app = App::postgres().await;
    let store = Server::shared().unwrap().database().await.unwrap();
    let mut replicas: Vec<Service> = (0..2)
        .map(|_| setup(&app, &sink).database(&store.url()).spawn())
        .collect();
    for replica in &mut replicas {
        replica.until_ready().await;
    }
    let mut count = 0;
    for n in 0..20 {
        for order_key in ["a", "b", "c", "d", "e"] {
            let row = Row::http(&sink.url(), &format!("{order_key}{n:02}"));
            app.write(&row.in_order(order_key)).await;
            count += 1;
        }
    }
    sink.until_effects(count, LIMIT).await;
    let mut applied = sink.order_applied();
    // A request that was applied but whose response was lost is retried under its key: the first counts.
    let mut seen = std::collections::BTreeSet::new();
    applied.retain(|id| seen.insert(id.clone()));
    for order_key in ["a", "b", "c", "d", "e"] {
        let own: Vec<&String> = applied.iter().filter(|id| id.starts_with(order_key)).collect();
        assert_eq!(own.len(), 20);
        assert!(own.is_sorted(), "{own:?}");
    }
    drop(replicas);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_row_says_what_to_do_holds_its_order_key_only_and_can_be_retried() {
    for app in [App::postgres().await, App::sqlite()] {
        let sink = Sink::start().await;
        let service = setup(&app, &sink).start().await;
        app.write(&Row::destination("nowhere", "bad").in_order("a")).await;
        app.write(&Row::http(&sink.url(), "behind").in_order("a")).await;
        app.write(&Row::http(&sink.url(), "beside").in_order("b")).await;
        app.write(&Row::http("http://169.254.169.254/", "blocked")).await;
        sink.until_effects(1, LIMIT).await;
        let shown = eventually("two are refused", LIMIT, async || {
            let shown = service.hapax(&["outbox", "list", "--json"]).await.json();
            // Each was written twice: of the ordered ones, the second waits behind the first.
            (shown["outboxes"][0]["refused"] == 3).then_some(shown)
        })
        .await;
        let rows = shown["outboxes"][0]["refused_rows"].as_array().unwrap().clone();
        assert_eq!(
            (&rows[0]["idempotency_key"], &rows[0]["order_key"]),
            (&"bad".into(), &"a".into()),
            "{shown}"
        );
        assert!(
            rows[0]["error"]
                .as_str()
                .unwrap()
                .contains("[destinations.nowhere]"),
            "{shown}"
        );
        assert!(rows[1]["error"].as_str().unwrap().contains("metadata"), "{shown}");
        assert_eq!(sink.events_applied().into_iter().collect::<Vec<_>>(), ["beside"]);

        app.redirect("nowhere", "app").await;
        let id = rows[0]["id"].to_string();
        service.hapax(&["outbox", "retry", &id]).await.assert_code(0);
        sink.until_effects(3, LIMIT).await;
        assert_eq!(sink.order_applied(), ["beside", "bad", "behind"]);
        service.hapax(&["outbox", "retry", &id]).await.assert_code(4);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_call_is_listed_and_replayed_under_its_own_key() {
    let sink = Sink::that(|_| Reply::Status(410)).await;
    let app = App::sqlite();
    let service = setup(&app, &sink).start().await;
    app.write(&Row::http(&sink.url(), "charge-7")).await;
    let dead = eventually("the call is dead", LIMIT, async || {
        let dead = service.hapax(&["dead", "list", "--json"]).await.json();
        dead["deliveries"]
            .as_array()
            .filter(|list| !list.is_empty())
            .cloned()
    })
    .await;
    assert_eq!(dead[0]["destination"], "outbox.shop", "{dead:?}");
    let id = dead[0]["event"].as_str().unwrap().to_owned();
    assert_eq!(app.event_of("charge-7").await, id);
    sink.behave(|_| Reply::Status(200));
    service.hapax(&["replay", &id]).await.assert_code(0);
    let event = service.until_event_is(&id, "completed", LIMIT).await;
    assert_eq!(event["source"], "outbox.shop", "{event}");
    assert_eq!(event["deliveries"][0]["idempotency_key"], "charge-7", "{event}");
    let keys: Vec<String> = sink.received().into_iter().map(|one| one.key).collect();
    assert_eq!(keys, ["charge-7", "charge-7"]);
    assert_eq!(sink.received()[0].path, "/hook");
    assert!(sink.received()[0].header("hapax-outbox-target").is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_for_a_destination_goes_there_and_only_there() {
    let (named, other) = (Sink::start().await, Sink::start().await);
    let app = App::postgres().await;
    let service = setup(&app, &other)
        .http("mail", &named.url(), "events = [\"never.*\"]")
        .start()
        .await;
    app.write(&Row::destination("mail", "letter")).await;
    named.until_effects(1, LIMIT).await;
    let event = service
        .until_event_is(&app.event_of("letter").await, "completed", LIMIT)
        .await;
    assert_eq!(event["deliveries"].as_array().map(Vec::len), Some(1), "{event}");
    assert_eq!(event["deliveries"][0]["destination"], "mail", "{event}");
    assert_eq!(named.received()[0].key, "letter");
    assert!(other.received().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_of_the_applications_database_loses_and_doubles_nothing() {
    let sink = Sink::start().await;
    let server = Server::private(&[]).unwrap();
    let app = App::on(&server).await;
    let service = setup(&app, &sink).start().await;
    let mut count = 0;
    for _ in 0..3 {
        for _ in 0..40 {
            app.write(&Row::http(&sink.url(), &format!("row {count}"))).await;
            count += 1;
        }
        server.stop(Stop::Immediate).unwrap();
        server.start().unwrap();
        app.reconnect().await;
    }
    app.until_relayed(count * 2, LIMIT).await;
    sink.until_effects(count, LIMIT).await;
    assert_eq!(sink.applications(), count, "no row was handed over twice");
    assert!(
        service.log().contains("the outbox is relayed again"),
        "it noticed"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outbox_can_be_added_and_taken_away_by_a_reload() {
    let sink = Sink::start().await;
    let app = App::sqlite();
    let mut service = Setup::stripe_to(&sink).start().await;
    app.write(&Row::http(&sink.url(), "first")).await;
    let with_outbox = setup(&app, &sink).tables();
    service.reload(|setup| setup.with_tables(&with_outbox));
    sink.until_effects(1, LIMIT).await;
    app.until_relayed(2, LIMIT).await;
    let without = Setup::stripe_to(&sink).tables();
    service.reload(|setup| setup.with_tables(&without));
    eventually("no outbox is relayed", LIMIT, async || {
        let shown = service.hapax(&["outbox", "list", "--json"]).await.json();
        shown["outboxes"].as_array()?.is_empty().then_some(())
    })
    .await;
    app.write(&Row::http(&sink.url(), "second")).await;
    service.restart().await;
    service.reload(|setup| setup.with_tables(&with_outbox));
    app.until_relayed(4, LIMIT).await;
    sink.until_effects(2, LIMIT).await;
    assert_eq!(sink.order_applied(), ["first", "second"]);
}
