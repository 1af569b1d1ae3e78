//! Ten thousand silent connections.

use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::TcpStream;

use hapax_testkit::{Sender, Setup, Sink, eventually};

const WANTED: u64 = 10_000;
/// Descriptors that the service reserves for other uses; it raises its own limit as far as it may.
const OTHER: u64 = 1_024 + 200;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deliveries_go_on_promptly_beside_10_000_idle_connections() {
    let open_files = raise_open_files();
    let connections = WANTED.min(open_files - OTHER);
    if connections < WANTED {
        println!("the hard limit of {open_files} open files allows {connections} connections only");
    }
    let sink = Sink::start().await;
    let service = Setup::stripe_to(&sink)
        .table("[server.limits]\nconnections_per_peer = 16384")
        .start()
        .await;
    let before = service.resident_bytes();
    let mut idle = Vec::new();
    for _ in 0..connections {
        idle.push(TcpStream::connect(service.address()).await.unwrap());
    }

    let sender = Sender::of("stripe");
    let started = Instant::now();
    for number in 0..50 {
        service
            .deliver_twice(&sender.event(&format!("evt_{number}")))
            .await;
    }
    let took = started.elapsed();
    assert!(
        took < Duration::from_secs(10),
        "100 deliveries took {took:?} beside {connections} idle connections"
    );
    sink.until_effects(50, Duration::from_secs(10)).await;
    assert_eq!(sink.applications(), 50);
    let grown = service.resident_bytes().saturating_sub(before);
    assert!(
        grown < 64 << 20,
        "{connections} idle connections cost {grown} bytes"
    );
    drop(idle);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_connections_than_there_is_room_for_are_503_until_one_is_closed() {
    // Room for 550: half of the files, because fewer would be left after the reserve for other uses.
    let service = Setup::new()
        .source("stripe", "stripe", "")
        .before("ulimit -n 1100")
        .start()
        .await;
    let delivery = Sender::of("stripe").event("evt_1");
    let mut idle = Vec::new();
    for _ in 0..550 {
        idle.push(TcpStream::connect(service.address()).await.unwrap());
    }
    let refused = service.deliver(&delivery).await;
    refused.assert_problem(503, "overloaded");
    assert!(refused.header("retry-after").is_some());
    drop(idle);
    let accepted = eventually("there is room again", Duration::from_secs(10), async || {
        let answer = service.deliver(&delivery).await;
        answer.is_durable().then_some(answer)
    })
    .await;
    accepted.assert_durable("accepted");
    service.deliver(&delivery).await.assert_durable("duplicate");
}

/// Raises the limit as far as this process may; the service does the same for itself.
fn raise_open_files() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let wanted = WANTED + OTHER;
    let allowed = limit.maximum.map_or(wanted, |maximum| maximum.min(wanted));
    if limit.current.is_some_and(|current| current < allowed) {
        setrlimit(
            Resource::Nofile,
            Rlimit {
                current: Some(allowed),
                maximum: limit.maximum,
            },
        )
        .unwrap();
    }
    allowed
}
