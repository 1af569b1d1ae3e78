//! Deliveries that are interrupted: `hang-up`, `slow`, `crash`.
//!
//! Whether a fault shows depends on how far the handler has progressed at that moment. So each plan is run several
//! times, with fresh events, and interrupts at different points of the time that the handler usually takes.

use std::time::Duration;

use tokio::task::JoinHandle;

use super::{Note, Runner, Stop, Subject};
use crate::client::HandlerResponse;
use crate::event::Delivery;
use crate::finding::{Finding, FindingKind};
use crate::snapshot::run_detached;

/// The state after a duplicate was answered 2xx.
enum Look {
    /// The event had been handled.
    Done,
    /// The first delivery was answered before the snapshot was complete, so it proves nothing.
    TooLate,
}

/// When to interrupt, in hundredths of the usual time.
const MOMENTS: [u32; 4] = [20, 45, 70, 90];

impl Runner {
    /// The provider disconnects before the response, and retries until it gets a 2xx.
    pub(super) async fn hang_up(&mut self, subject: &Subject) -> Result<Note, Stop> {
        let mut in_time = 0;
        for hundredths in MOMENTS {
            let delivery = self.fresh(&subject.event)?;
            let sending = self.start(&delivery);
            tokio::time::sleep(moment(subject, hundredths)).await;
            in_time += usize::from(!sending.is_finished());
            // The connection is dropped with the task, which closes it.
            sending.abort();
            self.until_accepted(&delivery).await?;
            let when = format!("the provider disconnected {}", after(subject, hundredths));
            self.conclude(subject, &delivery, &when).await?;
        }
        Ok(note(in_time))
    }

    /// A duplicate arrives while the first delivery is still being handled.
    pub(super) async fn slow(&mut self, subject: &Subject) -> Result<Note, Stop> {
        let (mut in_time, mut unseen) = (0, 0);
        for hundredths in MOMENTS {
            let delivery = self.fresh(&subject.event)?;
            let first = self.start(&delivery);
            tokio::time::sleep(moment(subject, hundredths)).await;
            in_time += usize::from(!first.is_finished());
            let second = self.deliver(&delivery).await;
            let look = if second.is_success() {
                self.look(subject, &delivery, &first).await
            } else {
                Ok(Look::Done)
            };
            // Always wait for it: changes that it still makes must not be attributed to the next plan.
            let answered = first.await.is_ok_and(|answer| answer.is_success());
            match look? {
                Look::Done => {}
                Look::TooLate => unseen += 1,
            }
            if !answered && !second.is_success() {
                self.until_accepted(&delivery).await?;
            }
            let when = format!("a duplicate arrived {}", after(subject, hundredths));
            self.conclude(subject, &delivery, &when).await?;
        }
        let too_late =
            "a snapshot takes too long to see whether duplicates are answered before the event is handled";
        Ok(note(in_time).or_else(|| (unseen > 0).then(|| too_late.to_owned())))
    }

    /// The command kills and restarts the handler in the middle of a delivery.
    pub(super) async fn crash(&mut self, subject: &Subject, command: &str) -> Result<Note, Stop> {
        let mut in_time = 0;
        for hundredths in MOMENTS {
            let delivery = self.fresh(&subject.event)?;
            let sending = self.start(&delivery);
            tokio::time::sleep(moment(subject, hundredths)).await;
            in_time += usize::from(!sending.is_finished());
            run_detached(command).await?;
            sending.abort();
            self.until_accepted(&delivery).await?;
            let when = format!("the handler was killed {}", after(subject, hundredths));
            self.conclude(subject, &delivery, &when).await?;
        }
        Ok(note(in_time))
    }

    /// A duplicate was answered 2xx. If the first delivery is not answered yet and the effect is not visible, that was
    /// too early. The first delivery is checked last: if it was answered in between, the snapshot would prove nothing.
    async fn look(
        &self,
        subject: &Subject,
        delivery: &Delivery,
        first: &JoinHandle<HandlerResponse>,
    ) -> Result<Look, Stop> {
        // A duplicate that is answered only after the first was done is fine.
        if first.is_finished() {
            return Ok(Look::Done);
        }
        let now = self.snapshot.take().await.map_err(crate::Error::from)?;
        let change = self.state.change_to(&now, &delivery.names);
        if subject.reference.difference(&change).is_none() {
            return Ok(Look::Done);
        }
        if first.is_finished() {
            return Ok(Look::TooLate);
        }
        let detail = "the first delivery was still being handled, and only this had changed";
        Err(Finding::new(FindingKind::AnsweredEarly, detail)
            .with(change)
            .into())
    }

    fn start(&self, delivery: &Delivery) -> JoinHandle<HandlerResponse> {
        let (client, signed) = (self.client.clone(), self.sender.sign(delivery));
        tokio::spawn(async move { client.send(signed).await })
    }
}

fn moment(subject: &Subject, hundredths: u32) -> Duration {
    subject.took * hundredths / 100
}

fn after(subject: &Subject, hundredths: u32) -> String {
    let milliseconds = moment(subject, hundredths).as_secs_f64() * 1e3;
    let took = subject.took.as_secs_f64() * 1e3;
    format!("{milliseconds:.1} ms after sending began; a response takes {took:.1} ms")
}

/// A handler that is too fast to be interrupted was not tested by this plan, and the report must say so.
fn note(in_time: usize) -> Note {
    let all = MOMENTS.len();
    (in_time < all).then(|| format!("only {in_time} of {all} came before the response: the handler is fast"))
}
