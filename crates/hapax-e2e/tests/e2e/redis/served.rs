//! Two replicas on one store: each event is new once, takes effect once, and is found by both.

use std::time::Duration;

use hapax_test_redis::{Cluster, Server, fresh_prefix};

use hapax_testkit::{Repeated, Reply, Sender, Service, Setup, Sink, deliver_all};

const LIMIT: Duration = Duration::from_secs(60);
/// Events, and the duplicates of each.
const EVENTS: usize = 40;
const COPIES: usize = 5;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn duplicates_at_two_replicas_on_one_redis_take_effect_once() {
    let server = Server::shared().unwrap();
    once_over_two(&server.url_with_prefix(&fresh_prefix())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn duplicates_at_two_replicas_on_a_cluster_take_effect_once() {
    let cluster = Cluster::shared().unwrap();
    once_over_two(&cluster.url_with(&fresh_prefix(), 8)).await;
}

async fn once_over_two(url: &str) {
    let sink = Sink::start().await;
    // Both at once: they create the same empty store.
    let mut replicas = [0, 1].map(|_| Setup::stripe_to(&sink).database(url).spawn());
    for replica in &mut replicas {
        replica.until_ready().await;
    }
    let sender = Sender::of("stripe");
    let deliveries: Vec<_> = (0..EVENTS).map(|n| sender.event(&format!("evt_{n}"))).collect();
    let copies = || Repeated {
        deliveries: deliveries.clone(),
        each: COPIES,
        connections: 4,
    };
    let [one, two] = &replicas;
    let (at_one, at_two) = tokio::join!(
        deliver_all(one.address(), copies()),
        deliver_all(two.address(), copies())
    );
    let answers: Vec<_> = at_one.values().chain(at_two.values()).flatten().collect();
    let new = answers
        .iter()
        .filter(|answer| answer.field("status") == "accepted")
        .count();
    assert_eq!((new, answers.len()), (EVENTS, EVENTS * COPIES * 2));

    sink.until_effects(EVENTS, LIMIT).await;
    assert_eq!(sink.applications(), EVENTS, "each took effect once");
    sink.assert_one_key_for_each_event();
    for replica in &replicas {
        let found = replica.api("events?limit=100").await;
        assert_eq!(found["events"].as_array().unwrap().len(), EVENTS, "{found}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_after_the_work_comes_when_the_work_is_done() {
    let sink = Sink::that_first(|| Reply::Status(500)).await;
    let url = Server::shared().unwrap().url_with_prefix(&fresh_prefix());
    let service: Service = Setup::new()
        .source("stripe", "stripe", "deliver_to = [\"app\"]\nack = \"processed\"")
        .http("app", &sink.url(), "backoff = { first = \"20s\", cap = \"20s\" }")
        .database(&url)
        .start()
        .await;
    let delivery = Sender::of("stripe").event("evt_1");
    assert_eq!(service.deliver(&delivery).await.status, 500, "the work failed");
    // The provider's next delivery triggers the next attempt, long before the backoff ends.
    let second = service.deliver(&delivery).await;
    assert!(second.is_durable(), "{}", second.text());
    assert_eq!(sink.applications(), 1);
    sink.assert_one_key_for_each_event();
}
