//! The live tail.

use hapax_api::views::Phase;
use hapax_client::{Client, Error, Target};
use hapax_config::Role;
use hapax_core::Secret;

use super::site::{Site, TOKEN, token};

fn client(site: &Site) -> Client {
    client_with(site, TOKEN)
}

fn client_with(site: &Site, token: &str) -> Client {
    let target = Target::at(&format!("http://{}", site.address), Some(Secret::new(token)));
    Client::new(target.unwrap_or_else(|error| panic!("{error:?}"))).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_arrives_is_streamed_as_it_arrives_and_filters_apply() {
    let site = Site::start().await;
    let client = client(&site);
    let mut all = client.stream("events/stream").await.unwrap();
    let mut some = client
        .stream("events/stream?source=backup&type=invoice.*")
        .await
        .unwrap();
    let id = site.accept("evt_1").await.id();
    site.accept("evt_1").await;
    site.accept_as("backup", "evt_2", "{}").await;
    let mut seen = Vec::new();
    for _ in 0..3 {
        let message = all.next().await.unwrap().unwrap();
        assert_eq!(message.event, "arrival");
        seen.push(serde_json::from_str::<serde_json::Value>(&message.data).unwrap());
    }
    assert_eq!(seen[0]["id"], id.to_string());
    let statuses: Vec<_> = seen.iter().map(|one| one["status"].as_str().unwrap()).collect();
    assert_eq!(statuses, ["accepted", "duplicate", "accepted"]);
    let message = some.next().await.unwrap().unwrap();
    assert!(message.data.contains("\"evt_2\""), "{}", message.data);
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_end_when_the_process_stops_and_their_number_is_limited() {
    let site = Site::start().await;
    let client = client(&site);
    let mut open = Vec::new();
    for _ in 0..64 {
        open.push(client.stream("events/stream").await.unwrap());
    }
    let Err(Error::Refused { code, .. }) = client.stream("events/stream").await else {
        panic!("one too many")
    };
    assert_eq!(code, "too_many_streams");
    site.readiness.enter(Phase::Stopping);
    for stream in &mut open {
        assert_eq!(stream.next().await.unwrap(), None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_lags_is_told_how_much_it_missed() {
    let site = Site::start().await;
    let client = client(&site);
    let mut messages = client.stream("events/stream").await.unwrap();
    // The tail keeps 1,024 lines and the sockets some more; nothing is read until all events have arrived.
    let long = "x".repeat(200);
    for round in 0..40 {
        let arrivals = (0..500).map(|number| site.accept_quietly(format!("{long}_{round}_{number}")));
        futures_util::future::join_all(arrivals).await;
    }
    let lagged = loop {
        let message = messages.next().await.unwrap().unwrap();
        if message.event == "lagged" {
            break message;
        }
    };
    assert!(lagged.data.starts_with("{\"missed\":"), "{}", lagged.data);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_shows_only_the_sources_of_its_token_and_ends_with_it() {
    let site = Site::start().await;
    let limited = "limited-0123456789abcdef";
    let sees =
        |sources: Option<&[&str]>| site.admit(TOKEN, vec![token("limited", limited, Role::Read, sources)]);
    sees(Some(&["backup"]));
    let client = client_with(&site, limited);
    let mut messages = client.stream("events/stream").await.unwrap();
    for _ in 0..2 {
        site.accept("evt_hidden").await;
        site.accept_as("backup", "evt_theirs", "{}").await;
    }
    for status in ["accepted", "duplicate"] {
        let message = messages.next().await.unwrap().unwrap();
        assert!(message.data.contains("\"evt_theirs\""), "{}", message.data);
        assert!(message.data.contains(status), "{}", message.data);
    }
    sees(Some(&["payments"]));
    assert_eq!(messages.next().await.unwrap(), None, "it sees other sources now");
    let mut messages = client.stream("events/stream").await.unwrap();
    site.admit(TOKEN, Vec::new());
    assert_eq!(messages.next().await.unwrap(), None, "the token is gone");
}
