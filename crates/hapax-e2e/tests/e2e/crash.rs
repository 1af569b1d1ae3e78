//! Crashes: SIGKILL at random moments under load. An event that was answered 2xx is never lost, and never gets a second
//! key.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;

use hapax_testkit::{
    Connection, Received, Repeated, Reply, Sender, Service, Setup, Sink, deliver_all, eventually, seed,
    within,
};

const ROUNDS: u32 = 20;
const CLIENTS: usize = 8;
/// The number of responses in a round after which the service dies.
const ANSWERS: std::ops::RangeInclusive<usize> = 40..=200;
const DELIVERED_LIMIT: Duration = Duration::from_secs(90);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_event_answered_2xx_is_delivered_after_any_of_20_kills() {
    let mut random = fastrand::Rng::with_seed(seed());
    let sink = Sink::that(unreliable).await;
    // No attempt limit may be within reach: every failure here is caused by the sink.
    let mut service = Setup::stripe_to_with(&sink, "max_attempts = 100\nlease = \"2s\"\ntimeout = \"1s\"")
        .start()
        .await;
    let mut answered = BTreeSet::new();
    for round in 0..ROUNDS {
        let kill_after = random.usize(ANSWERS);
        answered.extend(load_and_kill(&mut service, round, kill_after).await);
        service.start_again().await;
        // Every second time the backlog is processed first: a delivery that is in progress at three kills in a row
        // counts as their cause, and is dead by contract.
        if round % 2 == 1 {
            until_worked_off(&service).await;
            let missing: Vec<_> = answered.difference(&sink.events_applied()).cloned().collect();
            assert!(missing.is_empty(), "answered 2xx and lost: {missing:?}");
        }
    }

    sink.assert_one_key_for_each_event();
    let dead = service.api("deliveries?status=dead").await;
    assert_eq!(dead["deliveries"].as_array().map(Vec::len), Some(0), "{dead}");
    assert_duplicates_are_known(&service, &answered).await;
}

async fn until_worked_off(service: &Service) {
    eventually("the backlog is worked off", DELIVERED_LIMIT, async || {
        let stats = service.api("stats").await;
        let destinations = stats["destinations"].as_array()?;
        destinations
            .iter()
            .all(|destination| destination["oldest_unfinished_at"].is_null())
            .then_some(())
    })
    .await;
}

/// Sends new events, each twice, until the service has been killed. Returns the ids that were answered 2xx.
async fn load_and_kill(service: &mut Service, round: u32, kill_after: usize) -> BTreeSet<String> {
    let (count, mut counted) = watch::channel(0_usize);
    let (count, number) = (Arc::new(count), Arc::new(AtomicUsize::new(0)));
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        let (address, count, number) = (service.address(), Arc::clone(&count), Arc::clone(&number));
        clients.spawn(async move {
            let sender = Sender::of("stripe");
            let mut connection = Connection::to(address);
            let mut answered = Vec::new();
            loop {
                let delivery =
                    sender.event(&format!("evt_{round}_{}", number.fetch_add(1, Ordering::Relaxed)));
                for _ in 0..2 {
                    let Ok(answer) = connection.try_deliver(&delivery).await else {
                        return answered;
                    };
                    if answer.is_durable() {
                        answered.push(delivery.event_id.clone());
                        count.send_modify(|count| *count += 1);
                    }
                }
            }
        });
    }
    let enough = counted.wait_for(|count| *count >= kill_after);
    within("the load is answered", Duration::from_secs(30), enough)
        .await
        .unwrap();
    service.kill().await;
    let ended = within("the clients notice", Duration::from_secs(60), clients.join_all()).await;
    ended.into_iter().flatten().collect()
}

/// A sink that occasionally fails, drops connections or lies after applying, or is slow.
fn unreliable(received: &Received) -> Reply {
    let digit = received.key.bytes().last().unwrap_or_default();
    match (digit, received.nth) {
        (b'0', 1 | 2) => Reply::Status(500),
        (b'1', 1) => Reply::DropAfterApplying,
        (b'2', 1) => Reply::Slow(Duration::from_millis(20), 200),
        (b'3', 1) => Reply::LieAfterApplying(500),
        _ => Reply::Status(200),
    }
}

async fn assert_duplicates_are_known(service: &Service, answered: &BTreeSet<String>) {
    let sender = Sender::of("stripe");
    let deliveries = answered.iter().map(|id| sender.event(id)).collect();
    let answers = deliver_all(
        service.address(),
        Repeated {
            deliveries,
            each: 1,
            connections: CLIENTS,
        },
    )
    .await;
    for answer in answers.values().flatten() {
        answer.assert_durable("duplicate");
    }
}
