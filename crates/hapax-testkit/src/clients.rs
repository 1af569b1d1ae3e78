//! Many connections at once, each with its share of the deliveries.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::task::JoinSet;

use super::{Connection, Delivery, HttpResponse};

/// The load: every event this often, in any order, over this many connections.
pub struct Repeated {
    pub deliveries: Vec<Delivery>,
    pub each: usize,
    pub connections: usize,
}

/// Sends everything, and returns every response under its event id.
pub async fn deliver_all(address: SocketAddr, copies: Repeated) -> BTreeMap<String, Vec<HttpResponse>> {
    let mut all: Vec<Delivery> = copies
        .deliveries
        .iter()
        .flat_map(|one| vec![one.clone(); copies.each])
        .collect();
    fastrand::shuffle(&mut all);
    let (all, next) = (Arc::new(all), Arc::new(AtomicUsize::new(0)));
    let mut clients = JoinSet::new();
    for _ in 0..copies.connections {
        let (all, next) = (Arc::clone(&all), Arc::clone(&next));
        clients.spawn(async move {
            let mut connection = Connection::to(address);
            let mut answers = Vec::new();
            while let Some(delivery) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                answers.push((delivery.event_id.clone(), connection.deliver(delivery).await));
            }
            answers
        });
    }
    let mut answers: BTreeMap<String, Vec<HttpResponse>> = BTreeMap::new();
    while let Some(finished) = clients.join_next().await {
        for (id, answer) in finished.unwrap() {
            answers.entry(id).or_default().push(answer);
        }
    }
    answers
}
