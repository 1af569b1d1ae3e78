//! SIGHUP: the new configuration applies from the next request on, and no request is dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::task::JoinSet;

use hapax_testkit::{Connection, Sender, Setup, Sink, eventually};

const LIMIT: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reload_under_load_drops_no_request_and_new_events_reach_the_new_destination() {
    let (first, second) = (Sink::start().await, Sink::start().await);
    let mut service = Setup::stripe_to(&first).start().await;
    let stop = Arc::new(AtomicBool::new(false));
    let number = Arc::new(AtomicUsize::new(0));
    let mut clients = JoinSet::new();
    for _ in 0..4 {
        let (address, stop, number) = (service.address(), Arc::clone(&stop), Arc::clone(&number));
        clients.spawn(async move {
            let (sender, mut connection) = (Sender::of("stripe"), Connection::to(address));
            while !stop.load(Ordering::Relaxed) {
                let delivery = sender.event(&format!("evt_{}", number.fetch_add(1, Ordering::Relaxed)));
                connection.deliver(&delivery).await.assert_durable("accepted");
                connection.deliver(&delivery).await.assert_durable("duplicate");
            }
        });
    }
    first.until_effects(50, LIMIT).await;
    let second_url = second.url();
    service.reload(|setup| {
        let old = setup
            .tables()
            .replace("deliver_to = [\"app\"]", "deliver_to = [\"app\", \"second\"]");
        setup.with_tables(&old).http("second", &second_url, "")
    });
    second.until_effects(50, LIMIT).await;
    stop.store(true, Ordering::Relaxed);
    while let Some(client) = clients.join_next().await {
        client.unwrap();
    }
    let total = number.load(Ordering::Relaxed);
    first.until_effects(total, LIMIT).await;
    assert_eq!(first.applications(), total);
    // Routing is fixed on accept: earlier events go only to their original destinations.
    assert!(second.received_for("evt_0").is_empty());
}

#[tokio::test]
async fn a_reload_with_a_mistake_changes_nothing_and_is_said_in_the_log() {
    let sink = Sink::start().await;
    let mut service = Setup::stripe_to(&sink).start().await;
    let sender = Sender::of("stripe");
    service.deliver_twice(&sender.event("evt_1")).await;
    service.reload(|setup| setup.table("[sources.broken]\nsecretz = 1"));
    eventually("the log says what is wrong", LIMIT, async || {
        service.log().contains("secretz").then_some(())
    })
    .await;
    service.deliver_twice(&sender.event("evt_2")).await;
    sink.until_effects(2, LIMIT).await;
}

#[tokio::test]
async fn a_reload_takes_a_new_source_and_new_secrets_and_lets_old_ones_go() {
    let mut service = Setup::new().table(&source("whsec_first_secret")).start().await;
    let old = Sender::with_secret("stripe", "stripe", "whsec_first_secret");
    let new = Sender::with_secret("stripe", "stripe", "whsec_second_secret");
    service.deliver_twice(&old.event("evt_1")).await;
    service.reload(|setup| {
        setup
            .with_tables(&source("whsec_second_secret"))
            .source("github", "github", "")
    });
    eventually("the new secret holds", LIMIT, async || {
        service
            .deliver(&new.event("evt_1"))
            .await
            .is_durable()
            .then_some(())
    })
    .await;
    service
        .deliver(&old.event("evt_2"))
        .await
        .assert_problem(401, "signature_invalid");
    service.deliver_twice(&Sender::of("github").event("guid")).await;
    service
        .deliver(&new.event("evt_1"))
        .await
        .assert_durable("duplicate");
}

fn source(secret: &str) -> String {
    format!("[sources.stripe]\nprovider = \"stripe\"\nsecrets = [\"{secret}\"]\n")
}
