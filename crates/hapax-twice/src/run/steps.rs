//! The steps of the plans: a fresh event, an attempt, attempts until one is accepted, and the final evaluation.

use std::time::{Duration, Instant};

use super::{Runner, Stop, Subject};
use crate::client::HandlerResponse;
use crate::effect::Change;
use crate::error::Error;
use crate::event::{Delivery, Event};
use crate::finding::{Finding, FindingKind};

/// How long to retry until a 2xx: a handler that was killed must start again.
const ACCEPT_LIMIT: Duration = Duration::from_secs(30);
/// The pause between two attempts.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

impl Runner {
    pub(super) fn fresh(&self, event: &Event) -> Result<Delivery, Error> {
        let delivery = event.fresh(self.sender.provider);
        let checked = delivery.and_then(|delivery| self.sender.check(&delivery).map(|()| delivery));
        checked.map_err(|problem| Error::Event {
            name: event.name.clone(),
            problem,
        })
    }

    /// One attempt, signed now.
    pub(super) async fn deliver(&self, delivery: &Delivery) -> HandlerResponse {
        self.client.send(self.sender.sign(delivery)).await
    }

    /// Retries until a 2xx, as a provider does.
    pub(super) async fn until_accepted(&self, delivery: &Delivery) -> Result<(), Stop> {
        let start = Instant::now();
        loop {
            let answer = self.deliver(delivery).await;
            if answer.is_success() {
                return Ok(());
            }
            if start.elapsed() > ACCEPT_LIMIT {
                let detail = format!("after {ACCEPT_LIMIT:?} of attempts the last response was {answer}");
                return Err(Finding::new(FindingKind::NeverAccepted, detail).into());
            }
            tokio::time::sleep(RETRY_PAUSE).await;
        }
    }

    /// The changes since the last stable snapshot.
    pub(super) async fn settled_change(&mut self, names: &[(String, String)]) -> Result<Change, Error> {
        let now = self.snapshot.settled(self.settle).await?;
        let change = self.state.change_to(&now, names);
        self.state = now;
        Ok(change)
    }

    /// Checks that the plan had the effect of a single delivery, and that a further duplicate has none.
    pub(super) async fn conclude(
        &mut self,
        subject: &Subject,
        delivery: &Delivery,
        when: &str,
    ) -> Result<(), Stop> {
        let change = self.settled_change(&delivery.names).await?;
        if let Some(difference) = subject.reference.difference(&change) {
            return Err(Finding::new(difference.into(), when).with(change).into());
        }
        self.duplicate_is_harmless(delivery).await
    }

    pub(super) async fn duplicate_is_harmless(&mut self, delivery: &Delivery) -> Result<(), Stop> {
        let answer = self.deliver(delivery).await;
        if !answer.is_success() {
            let detail = format!("it got {answer}");
            return Err(Finding::new(FindingKind::DuplicateRefused, detail).into());
        }
        let change = self.settled_change(&delivery.names).await?;
        if change.is_empty() {
            return Ok(());
        }
        let detail = "the event was complete, and one more duplicate changed this";
        Err(Finding::new(FindingKind::Doubled, detail).with(change).into())
    }
}
