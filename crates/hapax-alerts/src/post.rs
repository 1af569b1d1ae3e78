//! Sends the messages that are owed: to each receiver one after the other, and to all receivers concurrently, so that
//! one that hangs delays no other.
//!
//! ```text
//! claim (in the store) ──► send ──► settle (in the store)
//! ```
//!
//! A crash in between leaves a claim that expires; then the message is sent again, under the same id.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use hapax_core::{Backoff, Clock, Random as _, SystemRandom};
use parking_lot::Mutex;
use tokio_util::task::TaskTracker;

use super::kept::{Kept, Shelf};
use super::message::Message;
use super::receiver::Receiver;
use super::row::{Claim, Tried};
use hapax_telemetry::Metrics;

const BACKOFF: Backoff = Backoff {
    first: Duration::from_secs(10),
    cap: Duration::from_secs(300),
};
/// How much longer than an attempt its claim lasts: time to settle.
const CLAIM_GRACE: Duration = Duration::from_secs(10);
/// The most messages that one receiver is sent in one step.
const MESSAGES_MAX: usize = 50;
/// How often settling is retried because another process changed the alert at the same time.
const ROUNDS_MAX: u32 = 20;
/// How long a step waits for sending; slower sends continue in the background.
const WAIT_MAX: Duration = Duration::from_secs(2);

/// Sends messages. Clones share their state.
#[derive(Clone)]
pub(super) struct Post {
    pub(super) shelf: Shelf,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) metrics: Arc<Metrics>,
    owner: u64,
    random: Arc<SystemRandom>,
    /// Receivers that a message is being sent to.
    busy: Arc<Mutex<BTreeSet<String>>>,
    tasks: TaskTracker,
}

impl Post {
    pub(super) fn new(shelf: Shelf, clock: Arc<dyn Clock>, metrics: Arc<Metrics>) -> Self {
        let random = Arc::new(SystemRandom::new());
        Self {
            shelf,
            clock,
            metrics,
            owner: random.next_u64(),
            random,
            busy: Arc::default(),
            tasks: TaskTracker::new(),
        }
    }

    /// Sends everything that is due, and waits briefly for it.
    pub(super) async fn send(&self, receivers: &BTreeMap<String, Arc<Receiver>>, alerts: &[Kept]) {
        let now = self.clock.now();
        let mut sending = Vec::new();
        for (name, receiver) in receivers {
            let is_due = |kept: &&Kept| kept.row.next_for(name).is_some_and(|owed| owed.is_due(now));
            let due: Vec<Kept> = alerts.iter().filter(is_due).take(MESSAGES_MAX).cloned().collect();
            if due.is_empty() {
                continue;
            }
            if let Some(busy) = Busy::begin(&self.busy, name) {
                let (post, receiver) = (self.clone(), Arc::clone(receiver));
                sending.push(self.tasks.spawn(async move {
                    post.send_to(&busy.receiver, &receiver, due).await;
                }));
            }
        }
        let all = futures_util::future::join_all(sending);
        // Dropping the handles does not stop the tasks.
        let _ = tokio::time::timeout(WAIT_MAX, all).await;
    }

    /// Waits until nothing is being sent, but not for long.
    pub(super) async fn rest(&self) {
        self.tasks.close();
        let _ = tokio::time::timeout(WAIT_MAX, self.tasks.wait()).await;
    }

    async fn send_to(&self, name: &str, receiver: &Receiver, due: Vec<Kept>) {
        for kept in due {
            // If one fails, the others would, too: the next step sends them.
            if !self.send_one(name, receiver, kept).await {
                return;
            }
        }
    }

    /// Sends the next message of one alert to one receiver; returns whether it arrived.
    async fn send_one(&self, name: &str, receiver: &Receiver, kept: Kept) -> bool {
        let claim = Claim {
            owner: self.owner,
            until: self.clock.now().plus(receiver.timeout + CLAIM_GRACE),
        };
        let claimed = kept.row.claimed(name, claim);
        let Some(message) = claimed.next_for(name).map(|owed| owed.message(&claimed)) else {
            return true;
        };
        // Another process was faster, or the alert has changed: the next step handles it.
        let Some(Some(kept)) = self.shelf.change(&kept, Some(claimed)).await else {
            return true;
        };
        let tried = receiver.tell(&message).await;
        self.note(name, &message, &tried);
        self.settle(name, kept, &tried).await;
        tried == Tried::Delivered
    }

    async fn settle(&self, name: &str, kept: Kept, tried: &Tried) {
        let mut kept = kept;
        for _ in 0..ROUNDS_MAX {
            let attempt = kept.row.next_for(name).map_or(1, |owed| owed.tries);
            let delay = BACKOFF.delay(attempt, &*self.random);
            let next_at = self.clock.now().plus(delay);
            let row = kept.row.settled(name, self.owner, tried, next_at);
            if self.shelf.change(&kept, row).await.is_some() {
                return;
            }
            match self.shelf.one(&kept.name).await {
                Ok(Some(changed)) => kept = changed,
                Ok(None) => return,
                // Its claim expires on its own.
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
    }

    fn note(&self, receiver: &str, message: &Message, tried: &Tried) {
        let (rule, subject) = (message.rule.as_str(), message.subject.as_str());
        match tried {
            Tried::Delivered => {
                self.metrics.alert_message(receiver, "delivered");
                tracing::info!(receiver, alert = rule, subject, "alert message delivered");
            }
            Tried::Refused(why) | Tried::Unclear(why) => {
                self.metrics.alert_message(receiver, "failed");
                tracing::warn!(
                    receiver,
                    alert = rule,
                    subject,
                    why,
                    "alert message not delivered; it will be retried"
                );
            }
        }
    }
}

/// Marks a receiver as busy until this is dropped.
struct Busy {
    receiver: String,
    all: Arc<Mutex<BTreeSet<String>>>,
}

impl Busy {
    /// `None` if it is already busy.
    fn begin(all: &Arc<Mutex<BTreeSet<String>>>, receiver: &str) -> Option<Self> {
        let is_free = all.lock().insert(receiver.to_owned());
        is_free.then(|| Self {
            receiver: receiver.to_owned(),
            all: Arc::clone(all),
        })
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.all.lock().remove(&self.receiver);
    }
}
