//! Deliveries that must be refused: `unsigned`, `tampered`, `stale`. The genuine event must be accepted afterwards: a
//! forged delivery that leaves its id behind would block it.

use super::{Note, Runner, Stop, Subject};
use crate::finding::{Finding, FindingKind};
use crate::sender::Forgery;

impl Runner {
    pub(super) async fn forged(&mut self, subject: &Subject, forgery: Forgery) -> Result<Note, Stop> {
        if forgery == Forgery::Stale && !self.sender.signs_the_time() {
            return Err(Stop::Skipped("this provider does not sign the time"));
        }
        let delivery = self.fresh(&subject.event)?;
        if self.sender.passes(&delivery, forgery) {
            return Err(Stop::Skipped(
                "it cannot be distinguished from a genuine one: this provider does not sign that part",
            ));
        }
        let answer = self.client.send(self.sender.forge(&delivery, forgery)).await;
        let change = self.settled_change(&delivery.names).await?;
        if answer.is_success() {
            let detail = format!("it got {answer}");
            return Err(Finding::new(FindingKind::ForgeryAccepted, detail)
                .with(change)
                .into());
        }
        if !change.is_empty() {
            let detail = format!("it got {answer}");
            return Err(Finding::new(FindingKind::ForgeryTookEffect, detail)
                .with(change)
                .into());
        }
        self.until_accepted(&delivery).await?;
        self.conclude(subject, &delivery, "the genuine event followed the forged one")
            .await?;
        Ok(None)
    }
}
