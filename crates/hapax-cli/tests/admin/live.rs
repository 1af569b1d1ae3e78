//! The live tail of the events page: few messages, however fast events arrive.

use hapax_client::{Client, Target};
use hapax_core::Secret;
use hapax_testkit::Wire;
use serde_json::Value;

use super::site::{Site, TOKEN};

/// The test client supports only paths below `/api/v1`; a site without a token admits anyone on this machine.
async fn messages(site: &Site, query: &str) -> Wire {
    let host = ("host".to_owned(), site.address.to_string());
    let mut wire = Wire::open(site.address).await;
    let head = wire
        .ask("GET", &format!("/events/live?q={query}"), &[host], b"")
        .await;
    assert_eq!(head.status, 200, "{head:?}");
    wire
}

/// Reads until a message that holds `wanted` is complete.
async fn read_until(wire: &mut Wire, wanted: &str) -> String {
    wire.hear_until(wanted, |text| {
        text.split_once(wanted)
            .is_some_and(|(_, rest)| rest.contains("\n\n"))
    })
    .await
}

fn batches(text: &str) -> Vec<Value> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("data: "));
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn arrivals_come_in_batches_and_a_batch_keeps_only_what_a_page_can_show() {
    let site = Site::start_with(None).await;
    let mut tail = messages(&site, "").await;
    let arrivals = (0..600).map(|number| site.accept_quietly(format!("evt_{number}")));
    futures_util::future::join_all(arrivals).await;
    site.accept("evt_last").await;
    site.accept("evt_last").await;
    let found = batches(&read_until(&mut tail, "\"duplicate\"").await);
    let sum = |name: &str| {
        found
            .iter()
            .map(|batch| batch[name].as_u64().unwrap())
            .sum::<u64>()
    };
    let shown: Vec<usize> = found
        .iter()
        .map(|batch| batch["events"].as_array().unwrap().len())
        .collect();
    assert!(shown.iter().all(|shown| *shown <= 200), "{shown:?}");
    assert_eq!(
        shown.iter().sum::<usize>() as u64 + sum("more") + sum("missed"),
        602
    );
    assert!(found.len() < 60, "{} messages for 602 arrivals", found.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tail_shows_what_the_search_asks_for_and_refuses_what_it_cannot_judge() {
    let site = Site::start_with(None).await;
    let mut tail = messages(&site, "source:backup").await;
    site.accept("evt_1").await;
    site.accept("evt_1").await;
    site.accept_as("backup", "evt_2", "{}").await;
    let text = read_until(&mut tail, "evt_2").await;
    assert!(!text.contains("evt_1"));
    let refused = site.send("GET", "/events/live?q=status:dead", &[], "").await;
    assert_eq!(refused.status, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn tails_of_pages_and_of_the_api_share_one_limit() {
    let site = Site::start().await;
    let target = Target::at(&format!("http://{}", site.address), Some(Secret::new(TOKEN)));
    let client = Client::new(target.unwrap_or_else(|error| panic!("{error:?}"))).unwrap();
    let mut open = Vec::new();
    for _ in 0..64 {
        open.push(client.stream("events/stream").await.unwrap());
    }
    let login = site.send("POST", "/login", &[], &format!("token={TOKEN}")).await;
    let cookie = login.header("set-cookie").unwrap().split(';').next().unwrap();
    let refused = site.send("GET", "/events/live", &[("cookie", cookie)], "").await;
    assert_eq!(refused.status, 503);
}
