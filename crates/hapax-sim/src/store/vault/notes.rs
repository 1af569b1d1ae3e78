//! The history entries that the vault writes.

use hapax_core::store::{Claim, ReplayJobId, Report, Rescued, Written};
use hapax_core::{AttemptOutcome as Wanted, DestinationId, EventId, NewEvent, Token};

use super::Vault;
use crate::executor::Process;
use crate::history::{AttemptEnd, Delivery, Fact};

impl Vault {
    pub(super) fn note_claim(&self, by: Process, event: &NewEvent, claim: &Claim) {
        let Claim::New { tokens, .. } = claim else { return };
        let name = event.identity.event_id.clone();
        self.rows.lock().names.insert(event.id, name.clone());
        self.history.note(Fact::Stored {
            event: name,
            id: event.id,
            lane: event
                .headers
                .get("lane")
                .map(|lane| String::from_utf8_lossy(lane).into_owned()),
            to: event
                .deliveries
                .iter()
                .map(|delivery| delivery.destination.clone())
                .collect(),
        });
        for (delivery, handed) in event.deliveries.iter().zip(tokens) {
            if let Some(handed) = handed {
                self.remember(event.id, &delivery.destination, handed.token);
                self.note_lease(by, event.id, &delivery.destination, handed.token);
            }
        }
    }

    pub(super) fn note_lease(&self, by: Process, event: EventId, destination: &DestinationId, token: Token) {
        let delivery = self.delivery(event, destination);
        self.history.note(Fact::Leased { by, delivery, token });
    }

    pub(super) fn note_rescued(&self, rescued: &[Rescued]) {
        for taken in rescued {
            self.history.note(Fact::Rescued {
                delivery: self.delivery(taken.event, &taken.destination),
                lost: taken.lost,
            });
        }
    }

    pub(super) fn note_put_back<'d>(
        &self,
        event: EventId,
        job: Option<ReplayJobId>,
        destinations: impl Iterator<Item = &'d DestinationId>,
    ) {
        for destination in destinations {
            let delivery = self.delivery(event, destination);
            self.history.note(Fact::PutBack { delivery, job });
        }
    }

    pub(super) fn note_end(&self, by: Process, report: &Report, written: Written) {
        let hold = &report.hold;
        let (delivery, token) = (self.delivery(hold.event, &hold.destination), hold.token);
        let verdict = match report.outcome {
            Wanted::Completed => AttemptEnd::Completed,
            Wanted::Retry { .. } => AttemptEnd::Retry,
            Wanted::Dead { .. } => AttemptEnd::Dead,
            Wanted::Release => AttemptEnd::Released,
        };
        self.history.note(match written {
            Written::Applied => Fact::Finished {
                by,
                delivery,
                token,
                verdict,
            },
            Written::LeaseLost => Fact::Late { by, delivery, token },
        });
    }

    pub(super) fn delivery(&self, id: EventId, destination: &DestinationId) -> Delivery {
        let event = self.rows.lock().names.get(&id).cloned().unwrap_or_default();
        Delivery {
            event,
            id,
            destination: destination.clone(),
        }
    }
}
