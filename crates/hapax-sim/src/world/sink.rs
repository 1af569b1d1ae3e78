//! The destinations: they fail, are slow, or hang up after taking effect; and they apply each event once, by its
//! idempotency key or in one step with a note in their inbox.

use std::collections::BTreeSet;
use std::time::Duration;

use hapax_core::{ErrorClass, Leased};
use hapax_engine::AttemptResult;
use parking_lot::Mutex;

use super::settings::{BY_INBOX, Settings};
use crate::executor::Executor;
use crate::history::{Delivery, Fact, History};
use crate::mutation::Mutation;
use crate::random::Dice;
use crate::store::{Fate, Network};

/// The delay between the check and the note, under the mutation that separates them.
const APART: Duration = Duration::from_millis(10);

/// Every destination.
pub struct Sinks {
    executor: Executor,
    history: History,
    network: Network,
    dice: Dice,
    mutation: Option<Mutation>,
    failure_percent: u64,
    slow_percent: u64,
    slow_max: Duration,
    /// Applied deliveries: the destination, and the key or the identity.
    applied: Mutex<BTreeSet<(String, String)>>,
}

impl Sinks {
    /// Destinations that have applied nothing yet.
    pub fn new(
        executor: Executor,
        history: History,
        network: Network,
        dice: Dice,
        settings: &Settings,
        mutation: Option<Mutation>,
    ) -> Self {
        Self {
            executor,
            history,
            network,
            dice,
            mutation,
            failure_percent: settings.failure_percent,
            slow_percent: settings.slow_percent,
            slow_max: settings.deadline * 3 / 2,
            applied: Mutex::default(),
        }
    }

    /// One attempt, from the moment it is sent. Returns nothing if no answer comes back.
    pub async fn receive(&self, leased: &Leased) -> Option<AttemptResult> {
        let fate = self.network.fate();
        self.network.travel().await;
        if fate == Fate::Lost {
            self.network.silence().await;
            return None;
        }
        if fate == Fate::Twice {
            self.handle(leased).await;
        }
        let answer = self.handle(leased).await;
        self.network.travel().await;
        (fate != Fate::Unanswered).then_some(answer)
    }

    async fn handle(&self, leased: &Leased) -> AttemptResult {
        self.history.note(Fact::Attempted {
            delivery: delivery(leased),
            generation: leased.generation,
            key: leased.idempotency_key,
        });
        self.take_time().await;
        if self.fails() {
            return failed();
        }
        if leased.destination.as_str() == BY_INBOX {
            self.apply_by_inbox(leased).await
        } else {
            self.apply_once(leased, leased.idempotency_key.to_string());
            AttemptResult::done(200)
        }
    }

    async fn take_time(&self) {
        let slow = !self.network.is_calm() && self.dice.chance(self.slow_percent);
        let longest = if slow {
            self.slow_max
        } else {
            Duration::from_millis(20)
        };
        let time = self.dice.time(Duration::ZERO, longest);
        self.executor.sleep(time).await;
    }

    fn fails(&self) -> bool {
        !self.network.is_calm() && self.dice.chance(self.failure_percent)
    }

    /// Applies the effect and records it in one step, or separately under the mutation that separates them.
    async fn apply_by_inbox(&self, leased: &Leased) -> AttemptResult {
        let identity = format!("{}/{}", leased.event.identity.event_id, leased.generation);
        match self.mutation {
            Some(Mutation::EffectThenMark) => {
                if !self.is_applied(leased, &identity) {
                    self.take_effect(leased);
                    self.executor.sleep(APART).await;
                    if self.fails() {
                        return failed();
                    }
                    self.mark(leased, identity);
                }
            }
            Some(Mutation::MarkThenEffect) => {
                if self.mark(leased, identity) {
                    self.executor.sleep(APART).await;
                    if self.fails() {
                        return failed();
                    }
                    self.take_effect(leased);
                }
            }
            Some(_) | None => self.apply_once(leased, identity),
        }
        AttemptResult::done(200)
    }

    fn apply_once(&self, leased: &Leased, by: String) {
        if self.mark(leased, by) {
            self.take_effect(leased);
        }
    }

    fn is_applied(&self, leased: &Leased, by: &str) -> bool {
        self.applied
            .lock()
            .contains(&(leased.destination.to_string(), by.to_owned()))
    }

    /// Records it. Returns whether it was new.
    fn mark(&self, leased: &Leased, by: String) -> bool {
        self.applied.lock().insert((leased.destination.to_string(), by))
    }

    fn take_effect(&self, leased: &Leased) {
        self.history.note(Fact::Effect {
            delivery: delivery(leased),
            generation: leased.generation,
        });
    }
}

fn delivery(leased: &Leased) -> Delivery {
    Delivery {
        event: leased.event.identity.event_id.clone(),
        id: leased.event.id,
        destination: leased.destination.clone(),
    }
}

fn failed() -> AttemptResult {
    let mut answer = AttemptResult::failed(ErrorClass::Status, "HTTP 500");
    answer.status = Some(500);
    answer
}
