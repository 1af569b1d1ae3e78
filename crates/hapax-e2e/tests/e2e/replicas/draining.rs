//! A replica that leaves a backlog behind: the other drains it as fast as a newly started process would, oldest first.

use std::time::{Duration, Instant};

use super::{LIMIT, Replicas};
use hapax_testkit::{
    Connection, Delivery, Gate, Received, Repeated, Reply, Sender, Service, Sink, deliver_all,
};

const EVENTS: usize = 240;
/// Most of the backlog, but not all of it: no new event has arrived by then, which would wake the replica.
const MEASURED: usize = 150;
const EACH: Duration = Duration::from_millis(50);
/// Four slots. The timeout is longer than it takes to fill the store, during which handlers wait.
const DESTINATION: &str = "concurrency = 4\nlease = \"12s\"\ntimeout = \"11s\"";
/// How far ahead of its turn an event may arrive: those in the slots may change places.
const AHEAD_MAX: usize = 8;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_stopped_replica_left_is_drained_as_fast_as_by_a_fresh_process_and_oldest_first() {
    compare(async |replica, gate| {
        gate.open();
        replica.stop().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_killed_replica_left_is_drained_as_fast_as_by_a_fresh_process_and_oldest_first() {
    compare(async |replica, gate| {
        replica.kill().await;
        gate.open();
    })
    .await;
}

/// One of two replicas leaves and the other drains its backlog; then the other drains a second one after a restart.
async fn compare(leave: impl AsyncFn(&mut Service, &Gate)) {
    let sink = Sink::start().await;
    let mut replicas = Replicas::start(2, &sink, DESTINATION).await;
    let [leaves, stays] = &mut replicas.services[..] else {
        unreachable!("two were started");
    };
    let gate = fill(leaves, &sink, "left").await;
    leave(leaves, &gate).await;
    let beside = drained(stays, &sink, "left").await;

    let gate = fill(stays, &sink, "fresh").await;
    gate.open();
    stays.restart().await;
    let fresh = drained(stays, &sink, "fresh").await;
    println!("{beside:.1}/s beside another, {fresh:.1}/s when fresh");
    assert!(
        beside >= fresh / 2.0,
        "{beside:.1}/s, where {fresh:.1}/s are possible"
    );
}

/// Fills the store, one event after the other, while handlers wait at a gate. Later ones take their time.
async fn fill(replica: &Service, sink: &Sink, name: &str) -> Gate {
    let gate = Gate::closed();
    let behind = gate.clone();
    sink.behave(move |_| Reply::Behind(behind.clone(), 200));
    let deliveries: Vec<Delivery> = (0..EVENTS).map(|number| event(name, number)).collect();
    let mut connection = Connection::to(replica.address());
    for delivery in &deliveries {
        connection.deliver(delivery).await.assert_durable("accepted");
    }
    let copies = Repeated {
        deliveries,
        each: 1,
        connections: 8,
    };
    for answer in deliver_all(replica.address(), copies).await.values().flatten() {
        answer.assert_durable("duplicate");
    }
    sink.behave(|_| Reply::Slow(EACH, 200));
    gate
}

fn event(name: &str, number: usize) -> Delivery {
    Sender::of("stripe").event(&event_id(name, number))
}

fn event_id(name: &str, number: usize) -> String {
    format!("evt_{name}_{number}")
}

fn number(received: &Received) -> usize {
    let (_, number) = received.event_id.rsplit_once('_').unwrap();
    number.parse().unwrap()
}

/// Waits until all events have taken effect, in order, including one more that arrives when most of them are done and
/// waits behind the others. Returns the events per second.
async fn drained(replica: &Service, sink: &Sink, name: &str) -> f64 {
    let (begun, before) = (Instant::now(), sink.received().len());
    sink.until_received(before + MEASURED, LIMIT).await;
    let took = begun.elapsed();
    replica.deliver_twice(&event(name, EVENTS)).await;
    sink.until("everything took effect", LIMIT, |sink| {
        let applied = sink.events_applied();
        (0..=EVENTS).all(|number| applied.contains(&event_id(name, number)))
    })
    .await;
    let mut arrived = sink.received().split_off(before);
    // Attempts that were in progress are repeated when their leases expire.
    arrived.retain(|one| one.nth == 1);
    let mut in_order: Vec<usize> = arrived.iter().map(number).collect();
    in_order.sort_unstable();
    for (place, one) in arrived.iter().enumerate() {
        let turn = in_order.binary_search(&number(one)).unwrap();
        assert!(
            turn <= place + AHEAD_MAX,
            "{} came as number {place} instead of {turn}",
            one.event_id
        );
    }
    MEASURED as f64 / took.as_secs_f64()
}
