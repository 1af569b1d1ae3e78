//! A captured body under other ids: GitHub signs the body but not the id, so one captured delivery is enough to forge
//! others. With `same_body = "hold"` one of them runs; the others wait for an operator.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use super::report;
use hapax_testkit::{Delivery, Repeated, Sender, Service, Setup, Sink, deliver_all};

/// Ids under which the same body arrives.
const IDS: usize = 51;
/// How often each of them arrives.
const EACH: usize = 2;
const EFFECT_LIMIT: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_under_fifty_other_ids_takes_effect_once_on_sqlite() {
    one_effect("sqlite", |setup| setup).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_under_fifty_other_ids_takes_effect_once_on_postgres() {
    let server = hapax_test_postgres::Server::shared().unwrap();
    let database = server.database().await.unwrap();
    one_effect("postgres", |setup| setup.database(&database.url())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_under_fifty_other_ids_takes_effect_once_on_redis() {
    let server = hapax_test_redis::Server::shared().unwrap();
    let url = server.url_with_prefix(&hapax_test_redis::fresh_prefix());
    one_effect("redis", |setup| setup.database(&url)).await;
}

async fn one_effect(store: &str, with_store: impl FnOnce(Setup) -> Setup) {
    let sink = Sink::start().await;
    let setup = Setup::new()
        .source(
            "github",
            "github",
            "deliver_to = [\"app\"]\nsame_body = \"hold\"\n",
        )
        .http("app", &sink.url(), "");
    let service = with_store(setup).start().await;
    let sender = Sender::of("github");
    let body = json!({"action": "opened", "number": 7}).to_string();
    let captured = |number| sender.with_body(&format!("delivery-{number}"), body.clone());
    let deliveries: Vec<Delivery> = (0..IDS).map(captured).collect();
    let copies = Repeated {
        deliveries,
        each: EACH,
        connections: 20,
    };
    let answers = deliver_all(service.address(), copies).await;
    let accepted = answers.into_values().flatten();
    let accepted = accepted
        .filter(|answer| answer.field("status") == "accepted")
        .count();
    sink.until_effects(1, EFFECT_LIMIT).await;
    let held = held(&service).await;
    report::write(
        &format!("same-body-{store}"),
        &format!("one GitHub body under {IDS} ids at once, each {EACH} times"),
        &format!(
            "{accepted} answered as accepted, {} took effect, {} held",
            sink.effects().len(),
            held.len()
        ),
    );
    assert_eq!(
        (accepted, held.len()),
        (IDS, IDS - 1),
        "each is stored, one is not held"
    );
    let first = same_body_as(&service, &held[0]).await;
    for id in &held {
        assert_eq!(same_body_as(&service, id).await, first);
    }
    let shown = service.hapax(&["events", "show", &held[0]]).await;
    assert!(
        shown.stdout.contains("held") && shown.stdout.contains(&first),
        "{}",
        shown.stdout
    );
    only_what_an_operator_releases(&service, &sink, &held).await;
}

async fn only_what_an_operator_releases(service: &Service, sink: &Sink, held: &[String]) {
    // A replay of dead letters does not release them.
    let replayed = service.hapax(&["replay", &held[0]]).await;
    assert!(replayed.stderr.contains("--mode held"), "{}", replayed.stderr);
    for (released, id) in held[..3].iter().enumerate() {
        assert_eq!(sink.effects().len(), released + 1, "only what was released");
        let done = service
            .hapax(&["replay", id, "--mode", "held", "--why", "seen at GitHub"])
            .await;
        done.assert_code(0);
        sink.until_effects(released + 2, EFFECT_LIMIT).await;
    }
    let discarded = service.hapax(&["dead", "discard", &held[3]]).await;
    discarded.assert_code(0);
    assert_eq!(self::held(service).await, held[4..]);
    assert_eq!((sink.effects().len(), sink.applications()), (4, 4));
    let trail = service.api("audit?limit=10").await.to_string();
    assert!(
        trail.contains("mode held") && trail.contains("seen at GitHub"),
        "{trail}"
    );
}

/// The ids of the held events, in list order.
async fn held(service: &Service) -> Vec<String> {
    let page = service.api("events?q=status:held&limit=100").await;
    let events = page["events"].as_array().unwrap();
    let ids: Vec<String> = events.iter().map(|event| text(&event["id"])).collect();
    let distinct: BTreeSet<&String> = ids.iter().collect();
    assert_eq!(distinct.len(), ids.len());
    ids
}

async fn same_body_as(service: &Service, id: &str) -> String {
    text(&service.api(&format!("events/{id}")).await["same_body_as"])
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}
