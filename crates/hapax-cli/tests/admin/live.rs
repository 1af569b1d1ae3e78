//! The live tail of the events page: few messages, however fast events arrive.

use hapax_cli::client::{Client, Target};
use hapax_core::Secret;
use serde_json::Value;

use super::site::{Site, TOKEN};

/// The test client supports only paths below `/api/v1`; a site without a token admits anyone on this machine.
async fn messages(site: &Site, query: &str) -> tokio::net::TcpStream {
    use tokio::io::AsyncWriteExt as _;
    let mut stream = tokio::net::TcpStream::connect(site.address).await.unwrap();
    let request = format!(
        "GET /events/live?q={query} HTTP/1.1\r\nhost: {}\r\n\r\n",
        site.address
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

/// Reads until the text contains `wanted` and the message that holds it is complete.
async fn read_until(stream: &mut tokio::net::TcpStream, text: &mut String, wanted: &str) {
    use tokio::io::AsyncReadExt as _;
    let is_there = |text: &str| {
        let rest = text.split_once(wanted).map(|(_, rest)| rest);
        rest.is_some_and(|rest| wanted.ends_with("\r\n") || rest.contains("\n\n"))
    };
    while !is_there(text) {
        let mut some = vec![0; 16 * 1024];
        let read = tokio::time::timeout(std::time::Duration::from_secs(20), stream.read(&mut some))
            .await
            .unwrap_or_else(|_| panic!("never came: {wanted}"))
            .unwrap();
        assert!(read > 0, "the stream ended before `{wanted}`: {text}");
        text.push_str(&String::from_utf8_lossy(&some[..read]));
    }
}

fn batches(text: &str) -> Vec<Value> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("data: "));
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn arrivals_come_in_batches_and_a_batch_keeps_only_what_a_page_can_show() {
    let site = Site::start_with(None).await;
    let mut stream = messages(&site, "").await;
    let mut text = String::new();
    read_until(&mut stream, &mut text, "\r\n\r\n").await;
    let arrivals = (0..600).map(|number| site.accept_quietly(format!("evt_{number}")));
    futures_util::future::join_all(arrivals).await;
    site.accept("evt_last").await;
    site.accept("evt_last").await;
    read_until(&mut stream, &mut text, "\"duplicate\"").await;
    let found = batches(&text);
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
    let mut stream = messages(&site, "source:backup").await;
    let mut text = String::new();
    read_until(&mut stream, &mut text, "\r\n\r\n").await;
    site.accept("evt_1").await;
    site.accept("evt_1").await;
    site.accept_as("backup", "evt_2", "{}").await;
    read_until(&mut stream, &mut text, "evt_2").await;
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
