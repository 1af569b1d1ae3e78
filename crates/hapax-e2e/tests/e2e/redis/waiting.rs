//! `redis = { wait = … }`: an event is acknowledged once replicas have it.

use std::time::Duration;

use hapax_test_redis::{Server, fresh_prefix};

use hapax_testkit::{Sender, Setup, Sink, eventually};

const LIMIT: Duration = Duration::from_secs(30);
const WAIT: &str = "deliver_to = [\"app\"]\nredis = { wait = 1 }";

fn setup(sink: &Sink, url: &str, source: &str) -> Setup {
    Setup::new()
        .source("stripe", "stripe", source)
        // An event that was stored but not acknowledged is processed when the lease of the failed accept expires.
        .http("app", &sink.url(), "lease = \"2s\"\ntimeout = \"1s\"")
        .database(url)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_replica_nothing_is_answered_2xx_until_the_source_waits_for_none() {
    let sink = Sink::start().await;
    let url = Server::shared().unwrap().url_with_prefix(&fresh_prefix());
    let mut service = setup(&sink, &url, WAIT).start().await;
    let delivery = Sender::of("stripe").event("evt_1");
    let answer = service.deliver(&delivery).await;
    let detail = answer.assert_problem(503, "store_unavailable");
    assert!(!detail.is_empty());
    assert!(
        service.log().contains("replicas"),
        "the log says why: {}",
        service.log()
    );

    // The source's setting changes while the service runs.
    let tables = setup(&sink, &url, "deliver_to = [\"app\"]").tables();
    service.reload(|setup| setup.with_tables(&tables));
    eventually("the delivery is answered", LIMIT, async || {
        service.deliver(&delivery).await.is_durable().then_some(())
    })
    .await;
    service.deliver(&delivery).await.assert_durable("duplicate");
    sink.until_effects(1, LIMIT).await;
    assert_eq!(
        sink.applications(),
        1,
        "it took effect once, however often it was refused"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_a_replica_it_is_answered_and_without_it_again_not() {
    let sink = Sink::start().await;
    let master = Server::start(&["--repl-diskless-sync-delay", "0"]).unwrap();
    let port = master.port().to_string();
    let replica = Server::start(&["--replicaof", "127.0.0.1", &port]).unwrap();
    eventually("the replica follows", LIMIT, async || {
        let status = replica.info("master_link_status").unwrap();
        (status.as_deref() == Some("up")).then_some(())
    })
    .await;
    let service = setup(&sink, &master.url(), WAIT).start().await;
    let sender = Sender::of("stripe");
    service.deliver_twice(&sender.event("evt_1")).await;
    sink.until_effects(1, LIMIT).await;

    replica.kill().unwrap();
    let late = sender.event("evt_2");
    service
        .deliver(&late)
        .await
        .assert_problem(503, "store_unavailable");
    replica.restart().unwrap();
    eventually("the replica has it", LIMIT, async || {
        service.deliver(&late).await.is_durable().then_some(())
    })
    .await;
    sink.until_effects(2, LIMIT).await;
    assert_eq!(sink.applications(), 2);
}
