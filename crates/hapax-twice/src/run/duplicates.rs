//! Duplicates that find the handler idle or arrive all at once: `again`, `concurrent`, `late`.

use std::sync::Arc;

use futures_util::future::join_all;
use tokio::sync::Barrier;

use super::{Note, Runner, Stop, Subject};
use crate::finding::{Finding, FindingKind};

/// A race does not show every time, so it is run this often, each time with a fresh event.
const RACES: u32 = 3;

impl Runner {
    /// A duplicate right after the first delivery was answered.
    pub(super) async fn again(&mut self, subject: &Subject) -> Result<Note, Stop> {
        let delivery = self.fresh(&subject.event)?;
        self.until_accepted(&delivery).await?;
        let answer = self.deliver(&delivery).await;
        if !answer.is_success() {
            let detail = format!("the duplicate right after the first delivery got {answer}");
            return Err(Finding::new(FindingKind::DuplicateRefused, detail).into());
        }
        self.conclude(
            subject,
            &delivery,
            "after a duplicate right after the first delivery",
        )
        .await?;
        Ok(None)
    }

    /// This many duplicates at the same moment. While one is being handled, the others may be refused.
    pub(super) async fn concurrent(&mut self, subject: &Subject, times: u32) -> Result<Note, Stop> {
        for _ in 0..RACES {
            let delivery = self.fresh(&subject.event)?;
            let opening = join_all((0..times).map(|_| self.client.open())).await;
            let open: Vec<_> = opening.into_iter().filter_map(Result::ok).collect();
            let gate = Arc::new(Barrier::new(open.len().max(1)));
            let race = open.into_iter().map(|connection| {
                connection.exchange_together(self.sender.sign(&delivery), Arc::clone(&gate))
            });
            let answers = join_all(race).await;
            if !answers.iter().any(crate::client::HandlerResponse::is_success) {
                self.until_accepted(&delivery).await?;
            }
            let succeeded = answers.iter().filter(|answer| answer.is_success()).count();
            let when = format!(
                "after {} simultaneous duplicates, of which {succeeded} were answered 2xx",
                answers.len()
            );
            self.conclude(subject, &delivery, &when).await?;
        }
        Ok(None)
    }

    /// A duplicate after this many other events.
    pub(super) async fn late(
        &mut self,
        subject: &Subject,
        all: &[Subject],
        others: u32,
    ) -> Result<Note, Stop> {
        let delivery = self.fresh(&subject.event)?;
        self.until_accepted(&delivery).await?;
        self.conclude(subject, &delivery, "after one delivery").await?;
        for other in all.iter().cycle().take(others as usize) {
            let other = self.fresh(&other.event)?;
            self.until_accepted(&other).await?;
        }
        self.settled_change(&[]).await?;
        self.duplicate_is_harmless(&delivery).await?;
        Ok(None)
    }
}
