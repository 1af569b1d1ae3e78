//! Strangers at the ingest port: whatever they send, a well-signed source is not affected.
//!
//! They connect from 127.0.0.2, and the source from 127.0.0.1. `hapax attack` and `hapax load` are the helpers of
//! `hapax bench --hostile`.

use std::net::SocketAddr;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpSocket, TcpStream};
use tokio::process::Child;

use super::report;
use hapax_testkit::{Sender, Service, Setup, command_in, secret_of, within};

const LARGE_BODY_BYTES: usize = (5 << 20) - 1;
const STALLED: usize = 26;
const HEADS: usize = 500;
const HOSTILE: usize = 500;
const LIMIT: Duration = Duration::from_secs(60);
/// In the format of Stripe's, so that only verifying it reveals the forgery.
const BAD_SIGNATURE: &str = "stripe-signature: t=1700000000,v1=00\r\n";

async fn stranger(address: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.2:0".parse().unwrap()).unwrap();
    socket.connect(address).await.unwrap()
}

/// A connection that has sent all but the last byte of a large body, or as much of it as was accepted.
async fn stalled(address: SocketAddr, signature: &str) -> TcpStream {
    let mut stream = stranger(address).await;
    let head = format!(
        "POST /in/stripe HTTP/1.1\r\nhost: e2e\r\n{signature}content-length: {}\r\n\r\n",
        LARGE_BODY_BYTES + 1
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    // A connection that was already refused may be closed.
    let _ = stream.write_all(&vec![b'x'; LARGE_BODY_BYTES]).await;
    stream
}

/// A delivery to the other source, twice, with a body that needs its share of the memory.
async fn deliver_to_the_other(service: &Service, number: usize) -> Vec<u16> {
    let body = format!(r#"{{"id":"evt_{number}","data":"{}"}}"#, "x".repeat(4 << 20));
    let sender = Sender::to_source("stripe", "other");
    let delivery = sender.with_body(&format!("evt_{number}"), body);
    let first = service.deliver(&delivery).await;
    let second = service.deliver(&delivery).await;
    vec![first.status, second.status]
}

async fn two_sources() -> Service {
    Setup::new()
        .source("stripe", "stripe", "")
        .source("other", "stripe", "")
        .start()
        .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_bodies_that_stall_take_nothing_from_another_source() {
    for (attack, signature) in [
        ("border-stalled-unsigned", ""),
        ("border-stalled-bad-signature", BAD_SIGNATURE),
    ] {
        let service = two_sources().await;
        let mut held = Vec::new();
        for _ in 0..STALLED {
            let sending = stalled(service.address(), signature);
            held.push(within("the stranger has sent", LIMIT, sending).await);
        }
        let mut statuses = Vec::new();
        for number in 0..10 {
            statuses.extend(deliver_to_the_other(&service, number).await);
        }
        let refused = statuses.iter().filter(|status| **status != 200).count();
        report::write(
            attack,
            &format!(
                "{STALLED} connections send 5 MiB − 1 to one source, {}, and stall",
                match signature {
                    "" => "unsigned",
                    _ => "with a bad signature",
                }
            ),
            &format!(
                "{refused} of {} deliveries to another source refused",
                statuses.len()
            ),
        );
        assert_eq!(refused, 0, "{statuses:?}");
        drop(held);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unfinished_heads_cost_little_memory() {
    let service = two_sources().await;
    service.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
    let before = service.resident_bytes();
    let mut heads = Vec::new();
    for _ in 0..HEADS {
        let mut stream = stranger(service.address()).await;
        let beginning = format!("POST /in/stripe HTTP/1.1\r\nx-slow: {}", "x".repeat(15 << 10));
        stream.write_all(beginning.as_bytes()).await.unwrap();
        heads.push(stream);
    }
    // Answered after all of those were read: a listener accepts connections in order.
    service.deliver_twice(&Sender::of("stripe").event("evt_2")).await;
    let each = service.resident_bytes().saturating_sub(before) / HEADS as u64;
    report::write(
        "border-heads",
        &format!("{HEADS} connections send 15 KiB of a head and stop"),
        &format!("{:.1} KiB each", each as f64 / 1024.0),
    );
    assert!(each < 64 << 10, "{each} bytes each");
    drop(heads);
}

/// One run of the load client: `rate` requests per second, or as fast as they are answered.
async fn load(service: &Service, seconds: u32, rate: Option<u32>, seed: u32) -> Value {
    let distinct = rate.map_or(30_000, |rate| rate + 1) * seconds;
    let mut command = command_in(service.setup.directory.path());
    command
        .args(["load", "--address", &service.address().to_string()])
        .args(["--connections", "64", "--seconds", &seconds.to_string()])
        .args(["--distinct", &distinct.to_string(), "--seed", &seed.to_string()])
        .env("HAPAX_LOAD_SECRET", secret_of("stripe"));
    if let Some(rate) = rate {
        command.args(["--rate", &rate.to_string()]);
    }
    let output = within("the load client ends", LIMIT, command.output())
        .await
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The strangers, once all of them are connected; dropping the handle ends them.
async fn attack(service: &Service) -> Child {
    let mut child = command_in(service.setup.directory.path())
        .args(["attack", "--address", &service.address().to_string()])
        .args(["--connections", &HOSTILE.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = within("the strangers connect", LIMIT, lines.next_line())
        .await
        .unwrap();
    assert_eq!(line.as_deref(), Some("attacking"));
    child
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_well_signed_source_keeps_its_rate_among_500_hostile_connections() {
    let service = two_sources().await;
    let rate_of = |report: &Value| report["per_second"].as_f64().unwrap();
    let peak = rate_of(&load(&service, 4, None, 1).await);
    let half = Some(((peak / 2.0) as u32).max(1));
    let alone = rate_of(&load(&service, 6, half, 2).await);
    let strangers = attack(&service).await;
    let started = Instant::now();
    let attacked = load(&service, 15, half, 3).await;
    let took = started.elapsed();
    drop(strangers);
    let ratio = rate_of(&attacked) / alone;
    let counts = &attacked["counts"];
    report::write(
        "border-flood",
        &format!(
            "{HOSTILE} connections from another address: slow heads, slow and stalled bodies, bad signatures"
        ),
        &format!(
            "{:.0}/s of {alone:.0}/s (half of the peak): {ratio:.3}; p99 {} ms; {} × 503",
            rate_of(&attacked),
            attacked["latency"]["p99_us"].as_u64().unwrap() / 1000,
            counts["unavailable"]
        ),
    );
    assert_eq!(counts["unavailable"], 0, "{attacked}");
    assert_eq!(counts["broken"], 0, "{attacked}");
    assert!(ratio >= 0.9, "{ratio} in {took:?}: {attacked}");
    service.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
}
