//! A key is rotated under load, replica by replica: nothing is lost, nothing happens twice, and no row is left behind.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use hapax_test_postgres::Server;

use super::LIMIT;
use hapax_testkit::{Connection, Sender, Service, Setup, Sink, eventually};

const OLD: &str = "the old key of a rotation, long enough";
const NEW: &str = "the new key of a rotation, long enough";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_is_rotated_under_load_and_every_event_takes_effect_once() {
    let sink = Sink::start().await;
    let server = Server::shared().unwrap();
    let database = server.database().await.unwrap();
    let mut replicas = Vec::new();
    for _ in 0..2 {
        let setup = Setup::stripe_to(&sink).database(&database.url());
        replicas.push(setup.encrypted(&[OLD]).start().await);
    }
    let load = Load::to(&replicas);
    let rotate = async {
        load.until_more().await;
        // First every replica learns the new key, then one after the other writes with it.
        for keys in [&[OLD, NEW], &[NEW, OLD]] {
            for replica in &mut replicas {
                replica.restart_with(|setup| setup.encrypted(keys)).await;
                load.until_more().await;
            }
        }
        load.is_over.store(true, Ordering::Relaxed);
    };
    let (sent, ()) = tokio::join!(load.run(), rotate);
    sink.until_effects(sent, LIMIT).await;
    assert_eq!(sink.applications(), sent, "each event took effect once");
    sink.assert_one_key_for_each_event();
    // Every row is under the new key, and the first events are still known.
    let counted = eventually("every row is under the new key", LIMIT * 2, async || {
        let encryption = replicas[1].api("stats").await["store"]["encryption"].clone();
        let first = encryption["first"].as_str().unwrap().to_owned();
        let values = encryption["values"].as_object()?;
        (values.len() == 1 && values.contains_key(&first)).then_some(encryption)
    })
    .await;
    assert!(
        counted["values"]
            .as_object()
            .unwrap()
            .values()
            .all(|count| count.as_u64() >= Some(sent as u64))
    );
    let copy = replicas[0].deliver(&event(0)).await;
    assert_eq!(copy.field("status"), "duplicate");
    let payload = replicas[1]
        .admin(&format!("/api/v1/events/{}/payload", copy.field("id")))
        .await;
    assert_eq!(payload.status, 200);
}

fn event(number: usize) -> hapax_testkit::Delivery {
    Sender::of("stripe").event(&format!("evt_{number}"))
}

/// A provider that never stops, and sends everything twice: to either replica until both have answered.
struct Load {
    addresses: [SocketAddr; 2],
    sent: AtomicUsize,
    is_over: AtomicBool,
}

impl Load {
    fn to(replicas: &[Service]) -> Self {
        Self {
            addresses: [replicas[0].address(), replicas[1].address()],
            sent: AtomicUsize::new(0),
            is_over: AtomicBool::new(false),
        }
    }

    /// Returns how many events were sent.
    async fn run(&self) -> usize {
        while !self.is_over.load(Ordering::Relaxed) {
            let number = self.sent.load(Ordering::Relaxed);
            for turn in 0..2 {
                self.deliver(number, turn).await;
            }
            self.sent.fetch_add(1, Ordering::Relaxed);
        }
        self.sent.load(Ordering::Relaxed)
    }

    async fn deliver(&self, number: usize, turn: usize) {
        let delivery = event(number);
        eventually("a replica takes the event", LIMIT, async || {
            for other in 0..2 {
                let address = self.addresses[(number + turn + other) % 2];
                let answer = Connection::to(address).try_deliver(&delivery).await;
                if answer.is_ok_and(|answer| answer.is_durable()) {
                    return Some(());
                }
            }
            None
        })
        .await;
    }

    /// Waits for some more events.
    async fn until_more(&self) {
        let before = self.sent.load(Ordering::Relaxed);
        eventually("some events were sent", LIMIT, async || {
            (self.sent.load(Ordering::Relaxed) >= before + 30).then_some(())
        })
        .await;
    }
}
