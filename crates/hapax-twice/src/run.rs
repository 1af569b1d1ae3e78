//! The run: learns the effect of a single delivery of each event, then runs every plan for every event.
//!
//! # The method
//!
//! 1. Each event is delivered once to warm up, because the first delivery may create rows that later ones change, and
//!    then twice more under fresh ids. These two are the reference: the effect of a single delivery
//!    ([`crate::effect`]).
//! 2. A plan uses a fresh event of the same kind, delivers it in its own way, and makes sure that the handler finally
//!    answers 2xx. Then it waits until the snapshot is stable, and compares the change with the reference. If there is
//!    more, the effect was doubled; if there is less, it was lost.
//! 3. One more plain duplicate is sent. It must be answered 2xx, and must change nothing at all.

mod duplicates;
mod forged;
mod interrupted;
mod order;
mod outage;
mod steps;

use std::time::Duration;

use crate::client::Client;
use crate::effect::{Change, Reference, State};
use crate::error::Error;
use crate::event::Event;
use crate::finding::Finding;
use crate::plan::Plan;
use crate::report::{PlanOutcome, PlanResult, Report};
use crate::sender::{Forgery, Sender};
use crate::snapshot::Snapshot;

/// Called with each result as soon as it is available.
pub(crate) type Watch = Box<dyn Fn(&PlanResult) + Send + Sync>;

/// Everything that a plan needs.
pub(crate) struct Runner {
    pub(crate) sender: Sender,
    pub(crate) client: Client,
    pub(crate) snapshot: Snapshot,
    /// The time between two equal snapshots.
    pub(crate) settle: Duration,
    /// Called with each result.
    pub(crate) watch: Watch,
    /// The last stable snapshot.
    pub(crate) state: State,
}

/// An event, and the effect of a single delivery of it.
struct Subject {
    event: Event,
    reference: Reference,
    /// How long the handler takes to answer one delivery.
    took: Duration,
}

/// Why a plan ended early.
enum Stop {
    /// It found a fault.
    Finding(Box<Finding>),
    /// It does not apply.
    Skipped(&'static str),
    /// It could not be carried out.
    Error(Box<Error>),
}

/// A remark about a plan that passed.
type Note = Option<String>;

/// Runs every plan for every event.
pub(crate) async fn run(mut runner: Runner, events: Vec<Event>, plans: &[Plan]) -> Result<Report, Error> {
    runner.state = runner.snapshot.settled(runner.settle).await?;
    let mut subjects = Vec::with_capacity(events.len());
    for event in events {
        subjects.push(runner.learn(event).await?);
    }
    if subjects.iter().all(|subject| subject.reference.is_blind()) {
        return Err(Error::Blind);
    }
    let mut report = Report::new(
        runner.sender.provider,
        &subjects.iter().map(summary).collect::<Vec<_>>(),
    );
    for plan in plans {
        for at in 0..subjects.len() {
            if let Some(result) = runner.attempt(plan, &subjects, at).await? {
                (runner.watch)(&result);
                report.results.push(result);
            }
        }
    }
    Ok(report)
}

fn summary(subject: &Subject) -> (String, Change) {
    (subject.event.name.clone(), subject.reference.change.clone())
}

impl Runner {
    /// Learns the effect of a single delivery of an event.
    async fn learn(&mut self, event: Event) -> Result<Subject, Error> {
        self.once(&event).await?;
        let (first, first_took) = self.once(&event).await?;
        let (second, second_took) = self.once(&event).await?;
        let reference = Reference::learn(&first, second.clone()).ok_or_else(|| Error::Unsteady {
            event: event.name.clone(),
            first,
            second,
        })?;
        Ok(Subject {
            event,
            reference,
            took: first_took.min(second_took),
        })
    }

    async fn once(&mut self, event: &Event) -> Result<(Change, Duration), Error> {
        let delivery = self.fresh(event)?;
        let answer = self.deliver(&delivery).await;
        if !answer.is_success() {
            return Err(Error::Refused {
                event: event.name.clone(),
                answer: answer.to_string(),
            });
        }
        Ok((self.settled_change(&delivery.names).await?, answer.took))
    }

    /// Runs one plan for one event. `None` if the plan does not apply to this event.
    async fn attempt(
        &mut self,
        plan: &Plan,
        subjects: &[Subject],
        at: usize,
    ) -> Result<Option<PlanResult>, Error> {
        let subject = &subjects[at];
        let mut name = subject.event.name.clone();
        let outcome = match plan {
            Plan::Again => self.again(subject).await,
            Plan::Concurrent(times) => self.concurrent(subject, *times).await,
            Plan::HangUp => self.hang_up(subject).await,
            Plan::Slow => self.slow(subject).await,
            Plan::Late(others) => self.late(subject, subjects, *others).await,
            Plan::OutOfOrder => match subjects.get(at + 1) {
                Some(newer) => {
                    name = format!("{name} after {}", newer.event.name);
                    self.out_of_order(subject, newer).await
                }
                None if at > 0 => return Ok(None),
                None => Err(Stop::Skipped(
                    "it needs two events: add an older and a newer one to the folder",
                )),
            },
            Plan::Crash(command) => self.crash(subject, command).await,
            Plan::Outage(command) => self.outage(subject, command).await,
            Plan::Unsigned => self.forged(subject, Forgery::Unsigned).await,
            Plan::Tampered => self.forged(subject, Forgery::Tampered).await,
            Plan::Stale => self.forged(subject, Forgery::Stale).await,
        };
        let verdict = match outcome {
            Ok(note) => PlanOutcome::Passed { note },
            Err(Stop::Skipped(reason)) => PlanOutcome::Skipped {
                reason: reason.to_owned(),
            },
            Err(Stop::Error(error)) => return Err(*error),
            Err(Stop::Finding(finding)) => {
                // Changes that the fault still causes must not be attributed to the next plan.
                self.state = self.snapshot.settled(self.settle).await?;
                PlanOutcome::Failed(*finding)
            }
        };
        Ok(Some(PlanResult {
            plan: plan.clone(),
            event: name,
            outcome: verdict,
        }))
    }
}

impl From<Finding> for Stop {
    fn from(finding: Finding) -> Self {
        Self::Finding(Box::new(finding))
    }
}

impl<E: Into<Error>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Error(Box::new(error.into()))
    }
}
