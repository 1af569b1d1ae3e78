//! Upgrades without downtime: replicas that are restarted in turn, behind a load balancer that tries the next one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hapax_test_postgres::Server;

use hapax_testkit::{Connection, Delivery, HttpResponse, Sender, Service, Setup, Sink};

const LIMIT: Duration = Duration::from_secs(60);
const CLIENTS: usize = 4;

/// Acts as a load balancer: it skips a replica that refuses.
struct Balancer(Vec<Connection>);

impl Balancer {
    async fn deliver(&mut self, delivery: &Delivery) -> HttpResponse {
        let mut refusals = Vec::new();
        // Twice: the second time, a connection that a restart closed is opened again.
        for _ in 0..2 {
            for replica in &mut self.0 {
                match replica.try_deliver(delivery).await {
                    Ok(answer) if answer.is_durable() => return answer,
                    Ok(answer) => refusals.push(answer.text()),
                    Err(error) => refusals.push(format!("{error:#}")),
                }
            }
        }
        panic!("no replica took {}: {refusals:?}", delivery.event_id);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_replicas_restart_in_turn_one_always_answers_and_nothing_is_lost_or_doubled() {
    let sink = Sink::start().await;
    let server = Server::shared().unwrap();
    let database = server.database().await.unwrap();
    let spawn = || Setup::stripe_to(&sink).database(&database.url()).spawn();
    let mut replicas: Vec<Service> = (0..2).map(|_| spawn()).collect();
    for replica in &mut replicas {
        replica.until_ready().await;
    }
    let addresses: Vec<_> = replicas.iter().map(Service::address).collect();
    let is_over = Arc::new(AtomicBool::new(false));
    let mut clients = tokio::task::JoinSet::new();
    for client in 0..CLIENTS {
        let (mut addresses, is_over) = (addresses.clone(), Arc::clone(&is_over));
        addresses.rotate_left(client % 2);
        clients.spawn(async move {
            let sender = Sender::of("stripe");
            let mut balancer = Balancer(addresses.into_iter().map(Connection::to).collect());
            let mut answered = Vec::new();
            while !is_over.load(Ordering::Relaxed) {
                let delivery = sender.event(&format!("evt_{client}_{}", answered.len()));
                balancer.deliver(&delivery).await;
                assert_eq!(balancer.deliver(&delivery).await.field("status"), "duplicate");
                answered.push(delivery.event_id);
            }
            answered
        });
    }
    sink.until_effects(20, LIMIT).await;
    for replica in &mut replicas {
        replica.restart().await;
    }
    is_over.store(true, Ordering::Relaxed);
    let answered: Vec<String> = clients.join_all().await.into_iter().flatten().collect();
    sink.until("every answered event took effect", LIMIT, |sink| {
        let applied = sink.events_applied();
        answered.iter().all(|id| applied.contains(id))
    })
    .await;
    assert_eq!(sink.applications(), answered.len(), "each took effect once");
    sink.assert_one_key_for_each_event();
}
