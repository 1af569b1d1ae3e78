//! Senders that behave like providers: they retry until they receive 2xx, whatever happens in between.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::answer::Outcome;
use crate::connection::Reconnecting;
use crate::prepare::Prepared;
use hapax_terminal::progress::Progress;

const SENDERS: usize = 32;
const ANSWER_LIMIT: Duration = Duration::from_secs(10);
/// A sender that has not received 2xx after this time gives up; the event then counts as unanswered.
const GIVE_UP_AFTER: Duration = Duration::from_secs(60);
const RETRY_MS_FIRST: u64 = 20;
const RETRY_MS_MAX: u64 = 500;
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// All senders and the answers they received.
pub(crate) struct Senders {
    shared: Arc<Shared>,
}

/// The answers for one event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Heard {
    /// Answers that said it is new.
    pub accepted: u32,
    /// Answers that said it is a duplicate.
    pub duplicate: u32,
    /// Other 2xx answers.
    pub odd: u32,
    /// Answers that refused it permanently.
    pub refused: u32,
    /// Deliveries that never got an answer.
    pub unanswered: u32,
}

impl Heard {
    /// Whether the service has promised that the event will take effect.
    pub(crate) fn is_acknowledged(self) -> bool {
        self.accepted + self.duplicate + self.odd > 0
    }
}

struct Shared {
    address: SocketAddr,
    prepared: Prepared,
    heard: Mutex<Vec<Heard>>,
    requests: AtomicU64,
    answered: watch::Sender<usize>,
}

impl Senders {
    /// Senders for these events.
    pub(crate) fn new(address: SocketAddr, prepared: Prepared) -> Self {
        let heard = Mutex::new(vec![Heard::default(); prepared.count()]);
        let shared = Shared {
            address,
            prepared,
            heard,
            requests: AtomicU64::new(0),
            answered: watch::Sender::new(0),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Sends these events, each until it is answered.
    pub(crate) async fn send(&self, numbers: &[usize], progress: &Progress) {
        let queue = Arc::new(Queue {
            numbers: numbers.to_vec(),
            next: AtomicUsize::new(0),
        });
        let mut tasks = JoinSet::new();
        for _ in 0..SENDERS {
            tasks.spawn(drive(Arc::clone(&self.shared), Arc::clone(&queue)));
        }
        let mut tick = tokio::time::interval(PROGRESS_EVERY);
        loop {
            tokio::select! {
                ended = tasks.join_next() => if ended.is_none() { break },
                _ = tick.tick() => progress.set(*self.shared.answered.borrow() as u64),
            }
        }
    }

    /// The number of deliveries that have ended.
    pub(crate) fn answered(&self) -> watch::Receiver<usize> {
        self.shared.answered.subscribe()
    }

    /// The number of events that the service has acknowledged.
    pub(crate) fn acknowledged(&self) -> usize {
        self.heard()
            .iter()
            .filter(|heard| heard.is_acknowledged())
            .count()
    }

    /// The answers, by event.
    pub(crate) fn heard(&self) -> Vec<Heard> {
        self.shared.heard().clone()
    }

    pub(crate) fn event_id(&self, number: usize) -> String {
        self.shared.prepared.event_id(number).unwrap_or_default()
    }

    /// Requests sent, including those repeated for lack of an answer.
    pub(crate) fn requests(&self) -> u64 {
        self.shared.requests.load(Ordering::Relaxed)
    }
}

impl Shared {
    fn heard(&self) -> MutexGuard<'_, Vec<Heard>> {
        self.heard.lock()
    }
}

struct Queue {
    numbers: Vec<usize>,
    next: AtomicUsize,
}

impl Queue {
    fn take(&self) -> Option<usize> {
        self.numbers
            .get(self.next.fetch_add(1, Ordering::Relaxed))
            .copied()
    }
}

/// How one delivery ended.
enum End {
    Answered(Outcome),
    GivenUp,
}

async fn drive(shared: Arc<Shared>, queue: Arc<Queue>) {
    let mut connection = Reconnecting::new(shared.address, ANSWER_LIMIT);
    let mut request = shared.prepared.blank();
    while let Some(number) = queue.take() {
        shared.prepared.fill(number, &mut request);
        let end = deliver(&shared, &mut connection, &request).await;
        if let Some(heard) = shared.heard().get_mut(number) {
            match end {
                End::Answered(Outcome::Accepted) => heard.accepted += 1,
                End::Answered(Outcome::Duplicate) => heard.duplicate += 1,
                End::Answered(Outcome::Conflict | Outcome::OtherSuccess) => heard.odd += 1,
                End::Answered(Outcome::Refused | Outcome::Unavailable | Outcome::Failed) => {
                    heard.refused += 1;
                }
                End::GivenUp => heard.unanswered += 1,
            }
        }
        shared.answered.send_modify(|answered| *answered += 1);
    }
}

async fn deliver(shared: &Shared, connection: &mut Reconnecting, request: &[u8]) -> End {
    let started = Instant::now();
    let mut wait_ms = RETRY_MS_FIRST;
    while started.elapsed() < GIVE_UP_AFTER {
        shared.requests.fetch_add(1, Ordering::Relaxed);
        match connection.exchange(request, Outcome::of).await {
            // Without an answer, or with one that asks for a retry, the event may or may not have been stored. Send it
            // again.
            Err(_) | Ok(Outcome::Unavailable | Outcome::Failed) => {}
            Ok(
                outcome @ (Outcome::Accepted
                | Outcome::Duplicate
                | Outcome::Conflict
                | Outcome::OtherSuccess
                | Outcome::Refused),
            ) => return End::Answered(outcome),
        }
        tokio::time::sleep(Duration::from_millis(fastrand::u64(1..=wait_ms))).await;
        wait_ms = (wait_ms * 2).min(RETRY_MS_MAX);
    }
    End::GivenUp
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;

    use super::*;
    use crate::prepare::Recipe;

    /// Refuses every other request with 503, and accepts the rest.
    async fn flaky(
        axum::extract::State(count): axum::extract::State<Arc<AtomicUsize>>,
    ) -> (StatusCode, &'static str) {
        match count.fetch_add(1, Ordering::SeqCst) % 2 {
            0 => (StatusCode::SERVICE_UNAVAILABLE, ""),
            _ => (StatusCode::OK, r#"{"status":"accepted"}"#),
        }
    }

    #[tokio::test]
    async fn a_sender_comes_back_until_it_hears_success() {
        let count = Arc::new(AtomicUsize::new(0));
        let router = axum::Router::new().fallback(flaky).with_state(Arc::clone(&count));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await });
        let recipe = Recipe {
            address,
            path: "/",
            secret: "whsec_x",
            count: 10,
            seed: 1,
            conflicting_ids: None,
        };
        let senders = Senders::new(address, Prepared::new(&recipe).unwrap());
        let numbers: Vec<usize> = (0..10).collect();
        senders.send(&numbers, &Progress::new(10)).await;
        assert_eq!(senders.acknowledged(), 10);
        assert!(senders.heard().iter().all(|heard| *heard
            == Heard {
                accepted: 1,
                ..Heard::default()
            }));
        assert_eq!(senders.requests(), count.load(Ordering::SeqCst) as u64);
        assert!(senders.requests() >= 20);
        assert_eq!(*senders.answered().borrow(), 10);
    }
}
