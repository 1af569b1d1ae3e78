//! The run: learns what one delivery of each event does, then tries every plan on every event.
//!
//! # The method
//!
//! 1. Each event is delivered once to warm up, because the first may create what later ones change, and then twice more
//!    under fresh ids. These two are the reference: what one delivery does ([`crate::effect`]).
//! 2. A plan takes a fresh event of the same kind, delivers it in its own way, and makes sure that the handler has
//!    answered 2xx at last. Then it waits until the snapshot rests, and compares what changed with the reference. More
//!    is doubled, less is lost.
//! 3. One more plain copy is sent. It must be answered 2xx, and must change nothing at all.

mod copies;
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

/// Told of each result as soon as it is there.
pub(crate) type Watch = Box<dyn Fn(&PlanResult) + Send + Sync>;

/// Everything that a plan needs.
pub(crate) struct Runner {
    pub(crate) sender: Sender,
    pub(crate) client: Client,
    pub(crate) snapshot: Snapshot,
    /// How far apart two equal snapshots must be.
    pub(crate) settle: Duration,
    /// Told of each result.
    pub(crate) watch: Watch,
    /// What the last settled snapshot showed.
    pub(crate) state: State,
}

/// An event, and what one delivery of it does.
struct Subject {
    event: Event,
    reference: Reference,
    /// How long the handler takes to answer one.
    took: Duration,
}

/// Why a plan ended early.
enum Stop {
    /// It found a fault.
    Finding(Box<Finding>),
    /// It does not apply here.
    Skipped(&'static str),
    /// It could not be carried out.
    Error(Box<Error>),
}

/// What a plan that passed has to say.
type Note = Option<String>;

/// Runs every plan on every event.
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
    /// What one delivery of an event does.
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

    /// Tries one plan on one event. `None` where the plan has nothing to do with this event.
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
            Plan::Concurrent(copies) => self.concurrent(subject, *copies).await,
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
                    "it needs two events: put an older and a newer one into the folder",
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
                // What the fault left in progress must not be taken for the next plan's doing.
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
