//! An upgrade that changes how a source's ids are read: earlier events are still recognised, for one ledger window.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hapax_config::Config;
use hapax_core::Secret;
use hapax_core::store::ValueSpace;
use hapax_server::{Server, Tuning};
use hapax_testkit::Sink;
use hapax_testkit::wire::post;
use hapax_verify::{FieldList, IdentityRule, Verifier};

use super::day::clock::DayClock;
use super::site::{configuration, inhouse_headers};

const DAY: Duration = Duration::from_secs(86_400);

/// With the id rule of the old release.
fn old_release(folder: &Path, sink: &Sink, window: &str) -> Config {
    let text = format!(
        "[sources.shop]\nverify = {{ scheme = \"hmac-sha256\", header = \"x-signature\" }}\nevent_id = \"body:/id\"\n\
         secrets = [\"env:SECRET\"]\ndeliver_to = [\"app\"]\nledger_window = \"{window}\"\n\
         [destinations.app]\nkind = \"http\"\nurl = \"{}\"\n",
        sink.url()
    );
    configuration(folder, &text)
}

/// With the id rule of the new release, where the kind is part of the id.
fn new_release(folder: &Path, sink: &Sink, window: &str) -> Config {
    let mut config = old_release(folder, sink, window);
    let source = config.sources.get_mut("shop").unwrap();
    let fields = ["body:/id", "body:/kind"].map(|place| place.parse().unwrap());
    let earlier = source.recipe.identity.clone();
    source.recipe.identity = IdentityRule {
        version: 2,
        earlier: Some(earlier.event_id.clone()),
        ..earlier.with_event_id(FieldList::new(fields.to_vec()).unwrap())
    };
    let secrets: Vec<&str> = source.secrets.iter().map(Secret::expose).collect();
    source.verifier = Arc::new(Verifier::new(&source.recipe, &secrets, &source.options).unwrap());
    config
}

async fn start(config: Config, clock: &Arc<DayClock>) -> Server {
    let tuning = Tuning {
        clock: clock.clone(),
        ..Tuning::default()
    };
    Server::start(config, tuning).await.unwrap()
}

/// Delivers an event; returns its status and its id.
async fn deliver(server: &Server, id: &str, kind: &str) -> (String, String) {
    let body = format!(r#"{{"id":"{id}","kind":"{kind}"}}"#);
    let headers = inhouse_headers(body.as_bytes());
    let reply = post(server.ingest_address(), "/in/shop", &headers, body.as_bytes()).await;
    let [status, event_id] =
        ["status", "event_id"].map(|name| reply.json()[name].as_str().unwrap().to_owned());
    (status, event_id)
}

fn told(status: &str, event_id: &str) -> (String, String) {
    (status.to_owned(), event_id.to_owned())
}

#[tokio::test]
async fn retries_of_what_came_before_an_upgrade_are_duplicates_for_one_ledger_window() {
    let clock = Arc::new(DayClock::that_ends_now(40 * DAY));
    let (folder, mut sink) = (tempfile::tempdir().unwrap(), Sink::start().await);
    let old = start(old_release(folder.path(), &sink, "90d"), &clock).await;
    for status in ["accepted", "duplicate"] {
        assert_eq!(deliver(&old, "a", "paid").await, told(status, "a"));
    }
    sink.next().await;
    old.stop().await;

    let config = || new_release(folder.path(), &sink, "30d");
    let new = start(config(), &clock).await;
    for _ in 0..2 {
        assert_eq!(deliver(&new, "a", "paid").await, told("duplicate", "a"));
    }
    for status in ["accepted", "duplicate"] {
        assert_eq!(
            deliver(&new, "a", "void").await,
            told(status, "a:void"),
            "other content"
        );
        assert_eq!(deliver(&new, "b", "paid").await, told(status, "b:paid"));
    }
    new.stop().await;

    // Neither a restart nor a reload starts another window.
    clock.advance(20 * DAY);
    let new = start(config(), &clock).await;
    assert_eq!(deliver(&new, "a", "paid").await, told("duplicate", "a"));
    clock.advance(9 * DAY);
    new.reload(config()).await;
    assert_eq!(deliver(&new, "a", "paid").await, told("duplicate", "a"));
    // The ledger still has the old id, but it is no longer looked up.
    clock.advance(2 * DAY);
    for status in ["accepted", "duplicate"] {
        assert_eq!(deliver(&new, "a", "paid").await, told(status, "a:paid"));
    }
    new.stop().await;
}

#[tokio::test]
async fn a_new_source_has_nothing_to_look_up() {
    let clock = Arc::new(DayClock::that_ends_now(DAY));
    let (folder, sink) = (tempfile::tempdir().unwrap(), Sink::start().await);
    let server = start(new_release(folder.path(), &sink, "30d"), &clock).await;
    for status in ["accepted", "duplicate"] {
        assert_eq!(deliver(&server, "a", "paid").await, told(status, "a:paid"));
    }
    let store = server.engine().store();
    let sources = store.sources_with_values().await.unwrap();
    let [source] = sources.try_into().unwrap();
    let values = store.values(&ValueSpace::Source(source)).await.unwrap();
    let values = values.iter().map(|value| String::from_utf8_lossy(&value.value));
    assert_eq!(values.collect::<Vec<_>>(), ["- 2 0"]);
    server.stop().await;
}
